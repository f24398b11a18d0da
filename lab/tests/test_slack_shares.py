"""`slack.shares`: the bar for the option of the library, and its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from pifolab.adversary import attack
from slack.shares import FIVE, SLACK, Cell, main, measure

PAGES = Path(__file__).parents[1] / "pages"


@pytest.mark.parametrize(
    "cell",
    [
        Cell("Poisson", 0.5, "exponential", 8),
        Cell("constant", 1.1, "lognormal", 8),
        Cell("Poisson", 1.5, "bimodal", 16),
        Cell("Poisson", 2.0, "drifting", 4),
    ],
)
def test_sixteen_registers_have_fewer_inversions_than_each_of_the_five_at_any_load(cell: Cell) -> None:
    found = measure(cell, seeds=(51, 52), packets=20_000)
    for name in FIVE:
        assert found[SLACK][0] < found[name][0], name


def test_the_page_of_shares_is_what_the_stored_counts_say(tmp_path: Path) -> None:
    (tmp_path / "slack-bar").symlink_to(PAGES / "slack-bar")
    assert main([str(tmp_path)]) == 0
    assert (tmp_path / "slack-shares.md").read_text() == (PAGES / "slack-shares.md").read_text()


@pytest.mark.parametrize(
    ("metric", "load", "gaps"), [("WD", None, (6, 6)), ("WI", None, (31, 33)), ("WD", 2, (2, 4)), ("WI", 2, (22, 28))]
)
def test_the_worst_cases_of_shares_and_packs_are_those_of_the_page(
    metric: str, load: int | None, gaps: tuple[int, int]
) -> None:
    queues = {"queues": 2, "queue_capacity_packets": 3}
    options = {"slack-sp": {**queues, "map": "shares", "ranks": 5}, "packs": {**queues, "window": 4, "k": 0}}
    found = tuple(
        attack(
            name,
            "pifo",
            metric=metric,
            packets=8,
            ranks=(1, 4),
            a_options=options[name],
            b_options={"capacity_packets": 6},
            load=load,
        ).gap
        for name in options
    )
    assert found == gaps
