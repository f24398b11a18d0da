"""Run every test that lab/guarantees.md names; fail if one fails, does not exist, or did not run.

One call of cargo for each crate, one of pytest, and scripts/test_dataplane.sh for the data plane, by its rules: what
this machine cannot test is skipped and said, and is a failure where DATAPLANE_REQUIRE asks for it.

    scripts/test_guarantees.py [--list]
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "lab" / "guarantees.md"
ROOMS = ("Library", "Store and sweeps", "Simulator", "Reports and judging", "Data plane")

DATA_PLANE = "dataplane/linux"
_GUARANTEE = re.compile(r"- \*\*(?P<sentence>[^*]+\.)\*\* (?P<tests>`[^`]+`(?:, `[^`]+`)*)")
_TEST = re.compile(
    r"(?P<crate>pifolab-[a-z0-9]+)::(?P<rust>[a-z0-9_]+)"
    r"|(?P<file>python/tests/test_[a-z0-9_]+\.py)::(?P<python>test_[a-z0-9_]+)"
    rf"|{DATA_PLANE} (?P<plane>[a-z0-9_]+)"
)
# `test module::name ... ok` of cargo; the reason of an ignored test follows its word.
_RESULT = re.compile(r"^test (?:\S+::)?(?P<name>\w+)(?: - should panic)? \.\.\. (?P<result>ok|FAILED|ignored)", re.M)


class BadPageError(Exception):
    """A line of the page that is not of its form, or a test on it that does not exist."""


class Test(NamedTuple):
    """A test as the page names it: `group` is a crate, a file of Python tests or the data plane."""

    group: str
    name: str

    def __str__(self) -> str:
        return f"{self.group} {self.name}" if self.group == DATA_PLANE else f"{self.group}::{self.name}"


class Guarantee(NamedTuple):
    """One line of the page."""

    line: int
    room: str
    sentence: str
    tests: tuple[Test, ...]


def read(text: str) -> list[Guarantee]:
    """Return the guarantees of a page; raises `BadPageError` for what is not of the form that the page states."""
    guarantees: list[Guarantee] = []
    rooms: list[str] = []
    for number, entry in _entries(text):
        if entry.startswith("## "):
            rooms.append(entry[3:])
        elif rooms:
            match = _GUARANTEE.fullmatch(entry)
            if match is None:
                raise BadPageError(f"line {number}: expected `- **Sentence.** \\`test\\``, got {entry!r}")
            tests = tuple(_test(number, name) for name in re.findall("`([^`]+)`", match["tests"]))
            guarantees.append(Guarantee(number, rooms[-1], match["sentence"], tests))
    if [room for room in rooms if room in ROOMS] != list(ROOMS):
        raise BadPageError(f"expected the headings {', '.join(ROOMS)} and perhaps others, got {', '.join(rooms)}")
    empty = [room for room in rooms if room not in {guarantee.room for guarantee in guarantees}]
    if empty:
        raise BadPageError(f"{', '.join(empty)}: a room needs at least one guarantee")
    return guarantees


def missing(tests: Iterable[Test], root: Path = ROOT) -> list[Test]:
    """Return the tests of which no source file has a function by that name."""
    sources: dict[str, str] = {}
    absent = []
    for test in tests:
        if test.group not in sources:
            sources[test.group] = "\n".join(path.read_text(encoding="utf-8") for path in _files(test.group, root))
        keyword = "def" if test.group.endswith(".py") else "fn"
        if not re.search(rf"\b{keyword} {test.name}\b", sources[test.group]):
            absent.append(test)
    return absent


def results_of_cargo(output: str) -> dict[str, str]:
    """Return `passed`, `failed` or `skipped` of each test in the output of `cargo test`; of equal names the worst."""
    words = {"ok": "passed", "ignored": "skipped", "FAILED": "failed"}
    found: dict[str, str] = {}
    for match in _RESULT.finditer(output):
        _keep_worst(found, match["name"], words[match["result"]])
    return found


def results_of_pytest(report: Path) -> dict[tuple[str, str], str]:
    """Return the result of each test, by file and name, in a JUnit report; one case that ran makes a test run."""
    found: dict[tuple[str, str], str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        key = (case.get("classname", "").replace(".", "/") + ".py", case.get("name", "").partition("[")[0])
        failed = case.find("failure") is not None or case.find("error") is not None
        _keep_worst(found, key, "failed" if failed else "passed" if case.find("skipped") is None else "skipped")
    return found


def _entries(text: str) -> list[tuple[int, str]]:
    """Headings of rooms and items of lists with the lines that continue them, each with the number of its line."""
    entries: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("  ") and entries:
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {line.strip()}")
        elif line.startswith("## ") or (line.strip() and entries):
            entries.append((number, line.rstrip()))
    return entries


def _test(number: int, name: str) -> Test:
    match = _TEST.fullmatch(name)
    if match is None:
        raise BadPageError(
            f"line {number}: `{name}` names no test; expected `pifolab-CRATE::NAME`, `python/tests/test_FILE.py::NAME` "
            f"or `{DATA_PLANE} NAME`"
        )
    if match["plane"]:
        return Test(DATA_PLANE, match["plane"])
    return Test(match["crate"], match["rust"]) if match["crate"] else Test(match["file"], match["python"])


def _files(group: str, root: Path) -> list[Path]:
    if group.endswith(".py"):
        return [path for path in (root / group,) if path.is_file()]
    folder = root / group if group == DATA_PLANE else root / "crates" / group.removeprefix("pifolab-")
    return sorted(path for part in ("src", "tests", "build") for path in (folder / part).rglob("*.rs"))


def _keep_worst(found: dict, key: object, result: str) -> None:
    order = ("skipped", "passed", "failed")
    found[key] = max(found.get(key, result), result, key=order.index)


def _names(tests: Iterable[Test], group: str) -> list[str]:
    return sorted({test.name for test in tests if test.group == group})


def _run(command: list[str]) -> tuple[str, int]:
    """Run a command in the root, show what it prints as it comes, and return that with the exit status."""
    print("$", " ".join(command[:8]), "..." if len(command) > 8 else "", flush=True)
    lines = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return "".join(lines), process.returncode


def _run_rust(group: str, names: list[str]) -> dict[str, str]:
    """Tests marked as slow run too: a guarantee that is named is a guarantee that is tested."""
    command = ["cargo", "test", "--locked", "--package", group, "--tests", "--no-fail-fast", "--"]
    output, _ = _run([*command, "--include-ignored", *names])
    return results_of_cargo(output)


def _run_python(tests: list[Test]) -> dict[tuple[str, str], str]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        _run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-o",
                "junit_family=xunit1",
                f"--junit-xml={report}",
                "-m",
                "not slow and not p4",
                *sorted({str(test) for test in tests}),
            ]
        )
        return results_of_pytest(report) if report.exists() else {}


def _run_data_plane(names: list[str]) -> dict[str, str]:
    """What the script skips on this machine is skipped here; it fails by itself where that is not allowed."""
    output, status = _run(["scripts/test_dataplane.sh", *names])
    found = results_of_cargo(output)
    if status == 0 and re.search(r"^data plane: skipped", output, re.M):
        return {name: found.get(name, "skipped") for name in names}
    return found


def _results(tests: list[Test]) -> dict[Test, str]:
    """Run all tests; those that did not run are absent."""
    found: dict[Test, str] = {}
    for crate in sorted({test.group for test in tests if test.group.startswith("pifolab-")}):
        found |= {Test(crate, name): result for name, result in _run_rust(crate, _names(tests, crate)).items()}
    python = [test for test in tests if test.group.endswith(".py")]
    if python:
        found |= {Test(file, name): result for (file, name), result in _run_python(python).items()}
    plane = _names(tests, DATA_PLANE)
    if plane:
        found |= {Test(DATA_PLANE, name): result for name, result in _run_data_plane(plane).items()}
    return found


def main(arguments: list[str]) -> int:
    """Run what the page names, or list it; returns the exit status."""
    try:
        guarantees = read(PAGE.read_text(encoding="utf-8"))
        tests = [test for guarantee in guarantees for test in guarantee.tests]
        if absent := missing(tests):
            raise BadPageError(f"{', '.join(map(str, absent))}: the tests are named but do not exist")
    except BadPageError as fault:
        print(f"{PAGE.relative_to(ROOT)}: {fault}", file=sys.stderr)
        return 2
    if arguments == ["--list"]:
        print("\n".join(map(str, tests)))
        return 0
    results = _results(tests)
    print()
    broken = 0
    for guarantee in guarantees:
        for test in guarantee.tests:
            result = results.get(test, "did not run")
            allowed = result == "passed" or (result == "skipped" and test.group == DATA_PLANE)
            if not allowed:
                broken += 1
                print(f"{guarantee.room}: {guarantee.sentence} {test}: {result}")
    skipped = sum(results.get(test) == "skipped" for test in tests if test.group == DATA_PLANE)
    print(
        f"{len(guarantees)} guarantees, {len(set(tests))} tests: {broken} not held"
        + (f"; {skipped} of the data plane skipped on this machine" if skipped else "")
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
