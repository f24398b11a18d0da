"""What `make` says: one line for each step, what is missing before anything is compiled, and a last line."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "scripts"))
import run_tests  # noqa: E402

PYTEST = "....\nFAILED python/tests/test_x.py::test_y\n1 failed, 20 passed, 2 skipped, 5 deselected, 1 error in 3.20s\n"
CARGO = (
    "test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.1s\n"
    "skipped the example: there is no C compiler cc\n"
    "test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n"
)


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)), cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | environment
    )


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder for PATH with what a build needs, but for what a test replaces."""
    for name in ("bash", "sed", "sort", "head", "printf", "dirname", "env", "sh"):
        found = subprocess.run(["sh", "-c", f"command -v {name}"], capture_output=True, text=True).stdout.strip()
        if found.startswith("/"):
            (tmp_path / name).symlink_to(found)
    program(tmp_path, "rustc", "echo 'rustc 1.95.0 (abc 2026-01-01)'")
    program(tmp_path, "cargo", "exit 0")
    program(tmp_path, "cc", "exit 0")
    return tmp_path


def checked(tools: Path, python: str = sys.executable) -> tuple[int, str]:
    environment = {key: value for key, value in os.environ.items() if key != "CC"} | {"PATH": str(tools)}
    script = ROOT / "scripts" / "check_tools.sh"
    done = subprocess.run([tools / "bash", script, python], capture_output=True, text=True, env=environment)
    return done.returncode, done.stderr


def test_a_machine_that_has_everything_hears_nothing(tools: Path):
    assert checked(tools) == (0, "")


def test_an_old_rust_is_named_with_its_version(tools: Path):
    program(tools, "rustc", "echo 'rustc 1.70.0 (abc 2023-01-01)'")
    assert checked(tools) == (1, "pifolab needs Rust 1.89 or later, this is 1.70.0: rustup update stable\n")


def test_everything_that_is_missing_is_said_at_once(tools: Path):
    for name in ("rustc", "cargo", "cc"):
        (tools / name).unlink()
    status, said = checked(tools, "/nonexistent")
    assert status == 1
    assert said.splitlines() == [
        "pifolab needs Rust 1.89 or later: https://rustup.rs",
        "pifolab needs a C linker, and cc is not there; on Debian and Ubuntu: apt-get install gcc libc6-dev",
        "pifolab needs Python 3.10 or later, and /nonexistent does not run; say which to use: make PYTHON=python3.12",
    ]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ("echo 3.9", "pifolab needs Python 3.10 or later, {} is 3.9; say which to use: make PYTHON=python3.12"),
        (
            'case "$2" in *ensurepip*) exit 1;; esac; echo 3.12',
            "pifolab needs Python's virtual environments; on Debian and Ubuntu: apt-get install python3-venv",
        ),
    ],
)
def test_a_python_that_is_too_old_or_has_no_environments_is_named(tools: Path, answers: str, message: str):
    program(tools, "python-of-mine", answers)
    mine = str(tools / "python-of-mine")
    assert checked(tools, mine) == (1, message.format(mine) + "\n")


def test_a_step_is_one_line_and_shows_its_output_only_where_it_fails():
    done = run("scripts/step.sh", "Sums", "sh", "-c", "echo noise; echo more >&2")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"Sums \.\.\. \d+ s\n", done.stdout)
    done = run("scripts/step.sh", "Sums", "sh", "-c", "echo noise; exit 7")
    assert done.returncode == 7
    assert re.fullmatch(r"Sums \.\.\. failed after \d+ s\nnoise\n", done.stdout)


def test_a_step_beside_another_is_printed_whole_at_its_end():
    both = '(scripts/step.sh Slow sh -c "sleep 1; echo why; exit 3" || echo $?) & scripts/step.sh Quick true; wait'
    done = run("sh", "-c", both, STEP_WHOLE="1")
    assert re.fullmatch(r"Quick \.\.\. \d+ s\nSlow \.\.\. failed after \d+ s\nwhy\n3\n", done.stdout)


PIP_OR_MATURIN = """case "$0 $*" in
    *"-m venv "*) mkdir -p $3/bin && cp $0 $3/bin/python && cp $0 $3/bin/maturin;;
    *maturin*|*" -r .venv/.packages.txt "*) what=${0##*/}; echo said by $what; [ $what != "$FAILS" ];;
    *" -m pip "*) ;;
    *) exec python3 "$@";;
esac"""


@pytest.mark.parametrize("fails", ["python", "maturin", ""])
def test_packages_and_compilation_side_by_side_each_have_their_line_and_their_error(tmp_path: Path, fails: str):
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "scripts", tree / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Makefile", "Cargo.toml", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tree)
    (tree / "Cargo.lock").touch()
    (tree / "crates").mkdir()
    program(tmp_path, "python-of-mine", PIP_OR_MATURIN)
    command = ("make", "--directory", tree, "side-by-side", f"PYTHON={tmp_path / 'python-of-mine'}")
    done = run(*command, FAILS=fails, MAKEFLAGS="")
    assert (done.returncode != 0) == bool(fails), done.stderr
    said = re.sub(r"\d+ s$", "N s", done.stdout, flags=re.MULTILINE)
    assert "Python packages ... N s\n" in said
    for what, program_name in (("Developers' packages", "python"), ("Compiled module", "maturin")):
        failed = f"{what} ... failed after N s\nsaid by {program_name}\n"
        assert (failed if program_name == fails else f"{what} ... N s\n") in said
    assert said.count("said by") == bool(fails)
    assert (tree / ".venv" / ".built").exists() == (fails != "maturin")
    assert (tree / ".venv" / ".packages").exists() == (fails != "python")


def test_tests_of_cargo_and_pytest_are_counted_and_what_is_skipped_is_kept():
    counts = run_tests.Counts()
    assert counts.add(CARGO) == "test result: FAILED. 16 passed; 1 failed; 3 ignored"
    assert counts.add(PYTEST) == "1 failed, 20 passed, 2 skipped, 5 deselected, 1 error in 3.20s"
    assert counts.add("nothing to count\n") == ""
    assert (counts.passed, counts.failed, counts.skipped) == (36, 3, 5)
    assert counts.said == ["skipped the example: there is no C compiler cc"]


def test_the_last_line_says_what_passed_and_what_did_not_run():
    counts = run_tests.Counts(1234, 0, 5, ["skipped Miri: no nightly"])
    assert run_tests.summary(counts, [], ["Rust"], 83.4) == (
        "All passed. Tests that passed: 1,234; skipped: 5, and 1 reasons above; not run again: Rust. 1 min 23 s"
    )
    assert run_tests.summary(run_tests.Counts(3, 2, 0), ["Rust", "Python"], [], 5.0) == (
        "FAILED: Rust, Python (2 tests; the output is above). Tests that passed: 3; skipped: 0. 0 min 5 s"
    )


def test_a_step_is_run_again_if_a_file_that_it_reads_changed(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    monkeypatch.setattr(run_tests, "LOGS", tmp_path / "target")
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "read").mkdir()
    source = tmp_path / "read" / "source"
    source.write_text("good")
    script = "if grep -q good read/source; then echo '3 passed in 0.10s'; else echo '1 failed in 0.10s'; exit 1; fi"
    monkeypatch.setattr(run_tests, "STEPS", (run_tests.Step("Mine", ("sh", "-c", script), ("read",)),))

    def last(status: int) -> str:
        assert run_tests.main([]) == status
        return capsys.readouterr().out.splitlines()[-1]

    assert last(0).startswith("All passed. Tests that passed: 3;")
    assert "not run again: Mine" in last(0)
    source.write_text("worse")
    assert last(1).startswith("FAILED: Mine (1 tests")
    # A failure is no success that could be kept.
    assert last(1).startswith("FAILED: Mine")
    source.write_text("good again")
    assert last(0).startswith("All passed. Tests that passed: 3;")


def test_an_unknown_step_is_one_line_with_those_that_there_are(capsys):
    for arguments in (["--all", "rost"], ["rust"]):
        with pytest.raises(SystemExit, match="2"):
            run_tests.main(arguments)
        assert (
            f'unknown step "{arguments[-1]}": expected --all and one of rust, plain, python,' in capsys.readouterr().err
        )


@pytest.mark.parametrize(
    ("step", "what"), [("fuzzing", "fuzzing"), ("sanitizer", "the address sanitizer"), ("miri", "Miri")]
)
def test_a_step_without_an_end_of_its_own_is_bounded_and_says_what_it_left(tmp_path: Path, step: str, what: str):
    (tmp_path / "librustc_rt.asan.a").touch()
    program(tmp_path, "rustc", f"echo {tmp_path}")
    program(tmp_path, "cargo", 'case "$*" in *--version*) exit 0;; esac; sleep 600')
    path = f"{tmp_path}:{os.environ['PATH']}"
    seconds = {f"{name}_SECONDS": "1" for name in ("FUZZING", "SANITIZER", "MIRI")}
    done = run(ROOT / "scripts" / "test_elsewhere.sh", step, PATH=path, **seconds)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"skipped what is left of {what}: 1 seconds are over")


@pytest.mark.parametrize("compiling_s", [0, 3])
def test_every_fuzz_target_has_an_equal_share_of_the_time_that_compiling_leaves(tmp_path: Path, compiling_s: int):
    calls = tmp_path / "calls"
    build = f"sleep {compiling_s}; exit 0"
    said = f'echo "$SCHEDULER $*" >> {calls}'
    program(tmp_path, "cargo", f'case "$*" in *--version*) exit 0;; *"fuzz build"*) {build};; esac; {said}')
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = run(ROOT / "scripts" / "test_elsewhere.sh", "fuzzing", PATH=path, FUZZING_SECONDS="200")
    assert (done.returncode, "skipped" in done.stdout) == (0, False), done.stderr
    ran = calls.read_text().splitlines()
    seconds = {int(line.split("-max_total_time=")[1].split()[0]) for line in ran}
    (share,) = seconds
    targets = {line.split("--fuzz-dir fuzz ")[1].split()[0] for line in ran}
    assert targets == {file.stem for file in (ROOT / "fuzz" / "fuzz_targets").glob("*.rs")}
    oracles = {file.stem.replace("_", "-") for file in (ROOT / "crates" / "testkit" / "src" / "oracles").glob("*.rs")}
    assert {line.split()[0] for line in ran if "sched_ops" in line} == oracles
    left = 200 - compiling_s
    assert left / 2 < len(ran) * (share + 1) <= left


def test_make_help_has_a_line_for_every_target_that_is_described():
    makefile = (ROOT / "Makefile").read_text()
    shown = run("make", "--no-print-directory", "help").stdout.splitlines()
    targets = {line.split()[1] for line in shown if line.startswith("make ")}
    assert {"build", "test", "test-all", "check", "help", "clean", "lab", "wheel", "msrv", "sanitize"} <= targets
    assert {"miri", "test-wasm", "site"} <= targets
    assert max(map(len, shown)) <= 100
    assert all(f"\n{target}:" in makefile for target in targets)
    assert all(len(line.split(maxsplit=2)) == 3 for line in shown if line.startswith("make "))


def test_cleaning_leaves_results_where_they_are():
    commands = run("make", "--dry-run", "clean").stdout
    assert "cargo clean" in commands
    assert not any(word.startswith(("out", "./out")) for word in commands.split())
