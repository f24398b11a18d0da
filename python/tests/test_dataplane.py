"""The commands that hand over to the data plane's own program, with a program made up for the purpose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pifolab.cli import main

VECTOR = {
    "scheduler": "fifo",
    "config": {"capacity": 1},
    "ops": [["enq", 0, 5], ["deq"]],
    "expect": [["adm", 0], ["deq", 0]],
}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where a program notes its arguments; `status.kernel` beside it is what it ends with for the kernel."""
    notes = tmp_path / "arguments"
    script = tmp_path / "program"
    script.write_text(
        f'#!/bin/sh\necho "$@" >> {notes}\ncase "$*" in *kernel*) exit $(cat {tmp_path}/status.kernel);; esac\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PIFOLAB_DATAPLANE", str(script))
    return notes


@pytest.mark.parametrize("kernel", [0, 1, 3])
def test_conformance_replays_through_all_that_is_named_and_ends_with_the_worst_status(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kernel: int
) -> None:
    (tmp_path / "status.kernel").write_text(str(kernel))
    file = tmp_path / "fifo.json"
    file.write_text(json.dumps(VECTOR))
    assert main(["conformance", "--through", "library,kernel,switch", str(file)]) == kernel
    assert capsys.readouterr().out == "library: 1 vectors, 2 operations, 0 mismatches\n"
    assert program.read_text().splitlines() == [
        f"conformance --through kernel {file}",
        f"conformance --through switch {file}",
    ]


def test_an_unknown_place_to_replay_through_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "--through", "swich", "x.json"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "swich" in error
    assert "switch" in error


def test_a_program_that_is_nowhere_is_said_with_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIFOLAB_DATAPLANE", str(tmp_path / "nothing"))
    assert main(["conformance", "--through", "switch", "x.json"]) == 2
    assert "no program is there" in capsys.readouterr().err
