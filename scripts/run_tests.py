"""Run the tests, one line for each step with its time, and say at the end what passed and what was skipped.

    python scripts/run_tests.py          `make test`: what a change can break, in minutes
    python scripts/run_tests.py --all    `make test-all`: all of it; or of its steps those that are named

Steps of `make test` whose files are those of their last success are not run again. Whatever a step prints goes to
target/tests/STEP.log, and is shown if the step fails; the other steps run all the same.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "target" / "tests"

_PYTEST = (sys.executable, "-m", "pytest", "--numprocesses", "auto", "--maxprocesses", "4", "--dist", "worksteal")
#: The tests in Python, those of examples in docstrings included.
_PYTHON = (
    "python/tests",
    "python/pifolab",
    "python/pifolab_papers",
    "dataplane/p4/pifolab_p4",
    "dataplane/linux/pifolab_testbed",
)
#: What tests in Rust read beside the crates.
_READ = (
    "Cargo.toml",
    "Cargo.lock",
    "conformance",
    "crates",
    "docs",
    "python/pifolab/data",
    "python/pifolab/experiments",
)

_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
_PYTEST_END = re.compile(r"^[= ]*\d+ (?:passed|failed|error|skipped)[^;\n]* in [\d.]+s.*$", re.MULTILINE)
#: What a step says that it left out.
_SKIPPED = re.compile(r"^(?:data plane: skipped|P4: skipped|skipped |not run: ).*$", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """One command of the tests; `reads` are the files and folders on which its result depends."""

    name: str
    command: Sequence[str]
    reads: Sequence[str] = ()


STEPS = (
    Step("rust", ("cargo", "test", "--locked", "--workspace", "--no-fail-fast"), _READ),
    Step("python", _PYTEST),
    Step(
        "dataplane",
        ("scripts/test_dataplane.sh", "quick"),
        ("dataplane", "python/tests/test_dpdk.py", "scripts/test_dataplane.sh", *_READ),
    ),
)
STEPS_OF_ALL = (
    STEPS[0],
    Step(
        "plain",
        (
            "env",
            "PIFOLAB_PLAIN=1",
            "cargo",
            "test",
            "--locked",
            "--package",
            "pifolab-scenario",
            "--package",
            "pifolab-c",
        ),
    ),
    Step("python", (*_PYTEST, "-m", "not slow and not p4 and not dpdk", *_PYTHON, "lab")),
    Step("dataplane", ("scripts/test_dataplane.sh",)),
    Step("p4", ("scripts/test_p4.sh", "say")),
    Step("wasm", ("scripts/test_elsewhere.sh", "wasm")),
    Step("i686", ("scripts/test_elsewhere.sh", "i686")),
    Step("wheel", ("scripts/test_elsewhere.sh", "wheel")),
    Step("dependencies", ("scripts/test_elsewhere.sh", "dependencies")),
    Step("sanitizer", ("scripts/test_elsewhere.sh", "sanitizer")),
    Step("fuzzing", ("scripts/test_elsewhere.sh", "fuzzing")),
    Step("miri", ("scripts/test_elsewhere.sh", "miri")),
)


@dataclass
class Counts:
    """Tests of all steps."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    said: list[str] = field(default_factory=list)

    def add(self, output: str) -> str:
        """Count what a step has printed, and return it as one line of its own tool."""
        cargo = [tuple(map(int, found)) for found in _CARGO.findall(output)]
        pytest = _PYTEST_END.findall(output)
        self.said += _SKIPPED.findall(output)
        line = ""
        if cargo:
            passed, failed, ignored = map(sum, zip(*cargo, strict=True))
            line = f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed; {ignored} ignored"
            self._more(passed, failed, ignored)
        if pytest:
            line = pytest[-1].strip("= ")
            number = {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|errors?|skipped)", line)}
            errors = number.get("error", 0) + number.get("errors", 0)
            self._more(number.get("passed", 0), number.get("failed", 0) + errors, number.get("skipped", 0))
        return line

    def _more(self, passed: int, failed: int, skipped: int) -> None:
        self.passed += passed
        self.failed += failed
        self.skipped += skipped


def state(reads: Sequence[str]) -> str:
    """Return a digest of names, sizes and times of all files that git knows, or would add, below `reads`."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *reads]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        return ""
    digest = hashlib.sha256()
    for name in sorted(set(listed.stdout.split(b"\0")) - {b""}):
        path = ROOT / os.fsdecode(name)
        about = path.lstat() if path.is_symlink() or path.exists() else None
        digest.update(name + (b"%d %d\0" % (about.st_size, about.st_mtime_ns) if about else b"gone\0"))
    return digest.hexdigest()


def run(step: Step, log: Path) -> int:
    """Run a step; on a terminal the seconds count while it runs."""
    start = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(step.command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        while True:
            try:
                return process.wait(timeout=1)
            except subprocess.TimeoutExpired:
                if sys.stdout.isatty():
                    print(f"\r{step.name} ... {time.monotonic() - start:.0f} s", end="", flush=True)


def main(argv: Sequence[str]) -> int:
    """Run all steps and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="everything, also what did not change")
    parser.add_argument("steps", nargs="*", help=f"of --all: {', '.join(step.name for step in STEPS_OF_ALL)}")
    given = parser.parse_args(argv)
    everything, named = given.all, {step.name: step for step in STEPS_OF_ALL}
    for name in given.steps:
        if not everything or name not in named:
            parser.error(f'unknown step "{name}": expected --all and one of {", ".join(named)}')
    chosen = [named[name] for name in given.steps] or (STEPS_OF_ALL if everything else STEPS)
    LOGS.mkdir(parents=True, exist_ok=True)
    counts, failed, unchanged = Counts(), [], []
    begin = time.monotonic()
    for step in chosen:
        log, stamp = LOGS / f"{step.name}.log", LOGS / f"{step.name}.passed"
        now = state(step.reads) if step.reads else ""
        if not everything and now and stamp.exists() and stamp.read_text() == now:
            unchanged.append(step.name)
            print(f"{step.name}: nothing changed since its tests passed")
            continue
        stamp.unlink(missing_ok=True)
        print(f"{step.name} ... ", end="", flush=True)
        start = time.monotonic()
        status = run(step, log)
        output = log.read_text(encoding="utf-8", errors="replace")
        line = counts.add(output)
        shown = f"\r{step.name} ... " if sys.stdout.isatty() else ""
        print(f"{shown}{time.monotonic() - start:.0f} s" + (f": {line}" if line else ""), flush=True)
        if status == 0:
            if now and now == state(step.reads):
                stamp.write_text(now)
        else:
            failed.append(step.name)
            print(output, flush=True)
    for said in dict.fromkeys(counts.said):
        print(said)
    print(summary(counts, failed, unchanged, time.monotonic() - begin))
    return 1 if failed else 0


def summary(counts: Counts, failed: Sequence[str], unchanged: Sequence[str], seconds: float) -> str:
    """Return the last line."""
    result = f"FAILED: {', '.join(failed)} ({counts.failed} tests; the output is above)" if failed else "All passed"
    line = f"{result}. Tests that passed: {counts.passed:,}; skipped: {counts.skipped:,}"
    if counts.said:
        line += f", and {len(dict.fromkeys(counts.said))} reasons above"
    if unchanged:
        line += f"; not run again: {', '.join(unchanged)}"
    return f"{line}. {seconds // 60:.0f} min {seconds % 60:.0f} s"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
