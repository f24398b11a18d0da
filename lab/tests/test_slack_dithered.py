"""`slack.dithered` and `slack.limits`: quantiles without a bias, and what they come to."""

from __future__ import annotations

import numpy as np
import pytest

import pifolab
from slack.dithered import DitheredShares
from slack.limits import ExactShares, shares_below, traces
from slack.measure import judge
from slack.page import FIVE
from slack.variants import draw_ranks


def errors(distribution: str, *, dither: bool) -> tuple[float, float]:
    """Return the mean error of the highest sixteenth of ranks, and the mean size of all errors, after 5000 packets."""
    scheduler = DitheredShares(16, 5, dither=dither)
    ranks = draw_ranks(distribution, 15_000, np.random.default_rng(3))
    exact = shares_below(distribution)[ranks]
    found = (np.array([scheduler.quantile(int(rank)) for rank in ranks]) - exact)[5000:]
    return float(found[exact[5000:] >= 15 / 16].mean()), float(np.abs(found).mean())


def test_registers_that_see_a_fraction_tell_quantiles_without_a_bias() -> None:
    with_it, without = (errors("inverse exponential", dither=dither) for dither in (True, False))
    assert abs(with_it[0]) < 0.005
    assert without[0] > 0.015
    for distribution in ("uniform", "convex"):
        assert errors(distribution, dither=True)[1] < 0.8 * errors(distribution, dither=False)[1]


def test_exact_quantiles_of_a_rank_are_the_share_below_it() -> None:
    assert ExactShares(8, 10, "uniform", 1.0).quantile(50) == pytest.approx(0.5, abs=0.003)
    assert shares_below("exponential")[0] == 0


@pytest.mark.parametrize("distribution", FIVE)
def test_exact_quantiles_are_those_of_the_ranks_that_runs_draw(distribution: str) -> None:
    seen: list[int] = []

    class Recorder(ExactShares):
        def quantile(self, rank: int) -> float:
            seen.append(rank)
            return super().quantile(rank)

    makers = {"recorder": lambda: Recorder(4, 20, distribution, 1.0)}
    judge(distribution, schedulers={"recorder": ("recorder", {})}, packets=20_000, seeds=[1], queues=4, makers=makers)
    drawn = np.searchsorted(np.sort(seen), np.arange(101)) / len(seen)
    assert np.abs(drawn - shares_below(distribution)).max() < 0.015


def test_a_full_buffer_refuses_and_packets_leave_in_the_order_of_queues() -> None:
    scheduler = DitheredShares(2, 1)
    packets = [pifolab.Packet(rank) for rank in (0, 0, 0)]
    assert [scheduler.enqueue(packet, 0) for packet in packets] == [0, 1, packets[2]]
    assert [scheduler.dequeue(0) for _ in range(3)] == [packets[0], packets[1], None]


def test_there_is_a_trace_for_each_way_to_fail() -> None:
    text = "\n".join(traces())
    assert text.count("proven; ranks") == 3
