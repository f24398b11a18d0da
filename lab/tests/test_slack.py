"""`slack`: schedulers on identical packets, judged by more than inversions."""

from __future__ import annotations

import random

import polars as pl
import pytest

import pifolab
from pifolab.errors import InputError
from slack import ARRIVALS, DISTRIBUTIONS, SCHEDULERS, judge
from slack.measure import at_load
from slack.page import means
from slack.variants import SharesOfRoom, cells, page, quantile_errors

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


def test_fifteen_registers_and_the_highest_rank_tell_the_quantile_of_a_rank() -> None:
    scheduler, draw = SharesOfRoom(8, 10), random.Random(1)
    # Half of the ranks are 0..9, the others 10..99.
    ranks = [draw.randrange(10) if draw.random() < 0.5 else draw.randrange(10, 100) for _ in range(20_000)]
    for rank in ranks:
        scheduler.quantile(rank)
    for rank, share in ((5, 0.25), (10, 0.5), (55, 0.75), (99, 0.99)):
        assert scheduler.quantile(rank) == pytest.approx(share, abs=0.05)


def test_shares_of_room_come_close_to_packs_without_its_window_and_geometric_ones_below_it() -> None:
    variants = {"equal": {}, "geometric": {"shrink": 0.85, "admit": 1.016}}
    found = cells(("uniform",), (1,), 8, 10_000, variants)
    for arrivals in ARRIVALS:
        inversions, misdrops = found["equal"]["uniform", arrivals]
        assert 0.85 < inversions < 1.15
        assert misdrops < 1.4
    inversions, misdrops = found["geometric"]["uniform", "constant 1.1"]
    assert inversions < 0.9
    assert misdrops < 1.1
    assert found["geometric"]["uniform", "Poisson 0.8"][1] < 1


def test_a_packet_does_not_wait_behind_a_higher_rank_where_the_queue_before_has_had_none() -> None:
    # 90 and 80 belong to the same queue; the one before it is empty.
    for move_up, order in ((False, [90, 80]), (True, [80, 90])):
        scheduler = SharesOfRoom(2, 5, move_up=move_up)
        assert [scheduler.enqueue(pifolab.Packet(rank), 0) for rank in (90, 80)] == ([1, 0] if move_up else [1, 1])
        served = [scheduler.dequeue(0) for _ in range(2)]
        assert [packet.rank for packet in served if packet is not None] == order
        assert scheduler.dequeue(0) is None
    with pytest.raises(InputError, match="queues = 14: expected at most 13 with move_up"):
        SharesOfRoom(14, 10, move_up=True)


def test_the_page_of_variants_shows_every_variant_and_what_is_met() -> None:
    text = page((32,), 300)
    assert "32 queues of 10" in text
    assert "| slack-sp" not in text, "31 registers are more than 16"
    assert "of 15 cells are met on the half that was not tuned on" in text


def test_quantiles_above_the_last_register_err_upwards_where_tuned_and_downwards_on_thin_tails() -> None:
    errors = {name: top for name, (top, _) in quantile_errors(9000).items()}
    assert errors["uniform"] > 0 < errors["inverse exponential"]
    assert errors["Poisson"] < errors["exponential"] < 0
    assert errors["Poisson"] < -1 / 80
