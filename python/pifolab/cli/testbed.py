"""`pifolab dataplane testbed`: the papers' experiments in network namespaces, then figure, table, verdicts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from pifolab.dataplane import p4_tools, run_program, testbed_tools

#: The data plane of the P4 programs, in BMv2.
_P4 = "p4"


def run_testbed(arguments: Sequence[str]) -> int:
    """Run the experiment; with `--out` report on its results, even if it was interrupted."""
    folder, p4 = _read(arguments)
    # If no report can be written, this fails before anything runs.
    testbed = testbed_tools("results") if folder is not None else None
    given = ["testbed", *(arguments or ["--help"])]
    status = p4_tools("testbed_command").run_p4_testbed(arguments) if p4 else run_program(given, dies_with_this=True)
    # 2 and 3: wrong arguments, or an unsuitable machine; an existing folder may be that of an earlier run.
    if folder is None or testbed is None or status not in (0, 1):
        return status
    if status == 1 and not (Path(folder) / testbed.SUMMARY).exists():
        # Interrupted or failed before the first run was finished: the program has printed that.
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


def _read(arguments: Sequence[str]) -> tuple[str | None, bool]:
    """Return the folder of ``--out``, and whether ``--data-plane`` names P4; the program checks the rest."""
    known = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    known.add_argument("--out", nargs="?")
    known.add_argument("--data-plane", nargs="?", action="append", default=[])
    given, _ = known.parse_known_args(arguments)
    return given.out, any(_P4 in planes.split(",") for planes in given.data_plane if planes)
