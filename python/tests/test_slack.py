"""`pifolab.slack`: schedulers on identical packets, judged by more than inversions."""

from __future__ import annotations

import polars as pl
import pytest

import pifolab
from pifolab.errors import InputError
from pifolab.slack import ARRIVALS, DISTRIBUTIONS, SCHEDULERS, judge
from pifolab.slack.measure import at_load
from pifolab.slack.page import means

PACKETS = 120_000


def inversions(distribution: str, labels: tuple[str, ...]) -> dict[str, float]:
    chosen = {label: SCHEDULERS[label] for label in labels}
    rows = means(judge(distribution, schedulers=chosen, packets=PACKETS, seeds=[1]))
    return {label: rows[label]["inversions"] for label in labels}


@pytest.mark.parametrize("arrivals", list(ARRIVALS))
def test_every_arrival_process_has_its_load(arrivals: str) -> None:
    run = judge("uniform", arrivals, schedulers={"FIFO": ("fifo", {})}, packets=20_000, seeds=[1])
    assert run["arrived"].to_list() == pytest.approx([20_000, 20_000], rel=0.03)


@pytest.mark.parametrize("distribution", [name for name in DISTRIBUTIONS if name != "shifting"])
def test_geometric_slack_has_fewer_inversions_than_packs_on_every_distribution_of_the_papers(distribution: str) -> None:
    found = inversions(distribution, ("PACKS, window 1000", "Slack-SP", "PACKS, geometric"))
    assert found["Slack-SP"] < 0.95 * found["PACKS, window 1000"]
    assert found["PACKS, geometric"] < 0.85 * found["PACKS, window 1000"]


def test_the_geometric_map_drops_what_packs_drops() -> None:
    rows = means(judge("uniform", packets=PACKETS, seeds=[1, 2]))
    for column in ("drops", "misdrops"):
        assert rows["PACKS, geometric"][column] == rows["PACKS, window 1000"][column]
    assert rows["PIFO"]["misdrops"] == rows["PIFO"]["inversions"] == 0


def test_misdrops_are_counted_rank_by_rank() -> None:
    run = judge("exponential", schedulers={"SP-PIFO": SCHEDULERS["SP-PIFO"]}, packets=20_000, seeds=[4])
    row = run.filter(pl.col("scheduler") == "SP-PIFO").to_dicts()[0]
    assert row["drops"] > row["misdrops"] > 0


def test_packs_drops_at_a_load_of_80_percent_and_a_headroom_ends_that() -> None:
    schedulers = {f"k = {k}": ("packs", {"window": 1000, "k": k}) for k in (0, 0.5)}
    rows = means(at_load(0.8, schedulers, packets=100_000, seeds=[1]))
    assert rows["PIFO"]["drops"] == rows["k = 0.5"]["drops"] == 0
    assert 0.008 < rows["k = 0"]["drops"] / rows["k = 0"]["arrived"] < 0.02


def test_names_that_do_not_exist_are_refused() -> None:
    with pytest.raises(InputError, match='unknown distribution "unifrom"; did you mean uniform'):
        judge("unifrom")
    with pytest.raises(InputError, match="unknown arrivals"):
        judge("uniform", "sometimes")
    with pytest.raises(InputError, match=r"queues = 5: expected one of 4, 8, 16, 32, or a depth"):
        judge("uniform", queues=5)


def test_classes_have_fractions_where_schedulers_have_numbers() -> None:
    scheduler = pifolab.SlackSp(queues=2, step=0.25, admission_gain="1/3")
    assert "step=0.25" in repr(scheduler)
    assert len(pifolab.Spring(speed=2)) == 0
