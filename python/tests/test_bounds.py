"""`pifolab bounds optimal` and `pifolab.optimal_bounds`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pifolab
from pifolab.cli import main

#: Optimal static bounds for Poisson ranks of mean 50, cut off at 99, on eight queues: published with Spring.
PUBLISHED = [
    ("upper", "sum", "0 34 42 47 51 55 60 68"),
    ("exact", "sum", "0 41 45 48 51 54 57 61"),
    ("upper", "max", "0 36 42 46 50 54 59 66"),
]


@pytest.mark.parametrize(("cost", "combine", "row"), PUBLISHED)
def test_the_published_bounds_come_out_to_the_digit(
    cost: str, combine: str, row: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bounds", "--ranks", "poisson", "--cost", cost, "--combine", combine]) == 0
    assert capsys.readouterr().out.strip() == row


def test_ranks_of_a_file_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ranks = tmp_path / "ranks.txt"
    ranks.write_text("1\n1\n2\n3\n4\n4\n5\n")
    assert main(["bounds", "--file", str(ranks), "--queues", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"bounds": [0, 3]}
    assert pifolab.optimal_bounds({1: 2, 2: 1, 3: 1, 4: 2, 5: 1}, 2) == [0, 3]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--ranks", "poison"], 'unknown distribution "poison"; did you mean poisson?'),
        (
            ["--ranks", "poisson", "--cost", "uper"],
            'cost = "uper": expected one of difference, one, upper, exact',
        ),
        (["--ranks", "poisson", "--combine", "most"], 'combine = "most": expected one of sum, max'),
        (["--ranks", "poisson", "--queues", "5000"], "queues = 5000: expected an integer from 1 to 1024"),
        (["--ranks", "poisson", "--mean", "-3"], "mean = -3: expected a number above 0"),
        (["--file", "{file}"], "{file}:2: 'x': expected a rank from 0 to 65535"),
        (["--file", "{file}", "--mean", "3"], "--mean has no effect with --file: remove it"),
    ],
)
def test_what_cannot_be_computed_is_one_line(
    arguments: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ranks.txt"
    file.write_text("3\nx\n")
    written = [argument.replace("{file}", str(file)) for argument in arguments]
    assert main(["bounds", *written]) == 2
    said = capsys.readouterr().err
    assert line.replace("{file}", str(file)) in said
    assert said.count("\n") == 1
