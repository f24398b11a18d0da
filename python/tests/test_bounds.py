"""`pifolab.optimal_bounds`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import pifolab
from pifolab.bounds import rank_weights
from pifolab.cli import main
from pifolab.errors import InputError

#: Optimal static bounds for Poisson ranks of mean 50, cut off at 99, on eight queues: published with Spring.
PUBLISHED = [
    ("upper", "sum", [0, 34, 42, 47, 51, 55, 60, 68]),
    ("exact", "sum", [0, 41, 45, 48, 51, 54, 57, 61]),
    ("upper", "max", [0, 36, 42, 46, 50, 54, 59, 66]),
]


@pytest.mark.parametrize(("cost", "combine", "bounds"), PUBLISHED)
def test_the_published_bounds_come_out_to_the_digit(cost: str, combine: str, bounds: list[int]) -> None:
    assert pifolab.optimal_bounds(rank_weights("poisson"), cost=cost, combine=combine) == bounds


def test_weights_by_rank_are_those_of_all_ranks_up_to_the_highest() -> None:
    assert pifolab.optimal_bounds({1: 2, 2: 1, 3: 1, 4: 2, 5: 1}, 2) == [0, 3]


@pytest.mark.parametrize(
    ("computed", "line"),
    [
        (lambda: rank_weights("poison"), 'unknown distribution "poison"; did you mean poisson?'),
        (
            lambda: pifolab.optimal_bounds([1, 2], cost="uper"),
            'cost = "uper": expected one of difference, one, upper, exact',
        ),
        (lambda: pifolab.optimal_bounds([1, 2], combine="most"), 'combine = "most": expected one of sum, max'),
        (lambda: pifolab.optimal_bounds([1, 2], 5000), "queues = 5000: expected an integer from 1 to 1024"),
        (lambda: rank_weights("poisson", mean=-3), "mean = -3: expected a number above 0"),
    ],
)
def test_what_cannot_be_computed_is_one_line(computed: Callable[[], object], line: str) -> None:
    with pytest.raises(InputError) as error:
        computed()
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_the_command_of_before_names_the_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bounds", "--ranks", "poisson"]) == 2
    assert capsys.readouterr().err.startswith("pifolab: bounds: is a function now: pifolab.optimal_bounds(")
