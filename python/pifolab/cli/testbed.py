"""`pifolab dataplane testbed`: the papers' experiments in network namespaces, then figure, table, verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pifolab.dataplane import p4_tools, run_program, testbed_tools


def run_testbed(arguments: Sequence[str]) -> int:
    """Run the experiment; with `--out` report on what it left, also when it was interrupted."""
    p4 = _names_p4(arguments)
    folder = _out(arguments)
    # Where no report can be written, it is said before anything runs.
    testbed = testbed_tools("results") if folder is not None else None
    given = ["testbed", *(arguments or ["--help"])]
    status = p4_tools("testbed_command").run_p4_testbed(arguments) if p4 else run_program(given, dies_with_this=True)
    # 2 and 3: wrong arguments, or a machine that cannot; a folder there is may be that of an earlier run.
    if folder is None or testbed is None or status not in (0, 1):
        return status
    if status == 1 and not (Path(folder) / testbed.SUMMARY).exists():
        # Interrupted, or failed, before the first run was finished: the program has said so.
        return status
    page = testbed.report(folder)
    results = testbed.read(folder)
    for compared in testbed.beside_linux(results):
        print(compared)
    for verdict in testbed.verdicts(results):
        mark = " (provisional)" if verdict.provisional else ""
        print(f"{verdict.label}: {verdict.verdict}{mark}")
    print(f"report: {page}")
    return int(status)


def _out(arguments: Sequence[str]) -> str | None:
    for place, argument in enumerate(arguments):
        if argument.startswith("--out="):
            return argument.removeprefix("--out=")
        if argument == "--out" and place + 1 < len(arguments):
            return arguments[place + 1]
    return None


def _names_p4(arguments: Sequence[str]) -> bool:
    """Say whether the arguments of `pifolab dataplane testbed` ask for the P4 data plane."""
    joined = list(zip(arguments, [*arguments[1:], ""], strict=True))
    given = [following for first, following in joined if first == "--data-plane"]
    given += [first.removeprefix("--data-plane=") for first, _ in joined if first.startswith("--data-plane=")]
    plane = "p4"
    return any(plane in planes.split(",") for planes in given)
