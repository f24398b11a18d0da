"""What more registers could not mend: the shares of room with exact quantiles, and a trace for each way to fail.

``python -m slack.limits lab/pages`` writes lab/pages/slack-limits.md.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from pifolab.adversary import attack
from pifolab.export import table_lines
from pifolab.lazy import np
from pifolab.quantities import number
from slack.measure import ARRIVALS, DEPTHS
from slack.page import is_met, write_page
from slack.variants import JUDGED, TUNED, SharesOfRoom, rank_shares, ratios

__all__ = ["WEIGHTS", "ExactShares", "cells", "page"]

DISTRIBUTIONS = (*TUNED[0], *JUDGED[0])
#: How the shares of the queues shrink: 1 is PACKS's own map.
WEIGHTS = (1.0, 0.93, 0.85)
SEEDS = (21, 22)
PACKETS = 10_000

#: By queues and weight: the ratios to PACKS of inversions and misdrops, by distribution and arrivals.
Cells = dict[tuple[str, str], tuple[float, float]]


class ExactShares(SharesOfRoom):
    """Shares of room that know the distribution of ranks: as if there were any number of registers, without noise."""

    def __init__(self, queues: int, depth: int, distribution: str, shrink: float) -> None:
        super().__init__(queues, depth, shrink=shrink)
        self._shares = shares_below(distribution)

    def quantile(self, rank: int) -> float:
        """Return the share of ranks below `rank`."""
        return float(self._shares[min(rank, len(self._shares) - 1)])


@cache
def shares_below(distribution: str) -> np.ndarray[Any, Any]:
    """Return the share of ranks below 0, 1, .. 100."""
    shares = rank_shares(distribution)
    below: np.ndarray[Any, Any] = np.cumsum(shares) - shares
    return below


def cells(
    queues: int,
    distributions: Sequence[str] = DISTRIBUTIONS,
    weights: Sequence[float] = WEIGHTS,
    seeds: Sequence[int] = SEEDS,
    packets: int = PACKETS,
) -> dict[float, Cells]:
    """Return for every weight the ratios to PACKS of inversions and misdrops, by distribution and arrivals."""
    found: dict[float, Cells] = {weight: {} for weight in weights}
    for distribution in distributions:
        makers = {
            f"exact-{place}": partial(ExactShares, queues, DEPTHS[queues], distribution, weight)
            for place, weight in enumerate(weights)
        }
        for arrivals in ARRIVALS:
            of = ratios(
                distribution,
                arrivals,
                {name: (name, {}) for name in makers},
                queues=queues,
                packets=packets,
                seeds=seeds,
                makers=makers,
            )
            for weight, name in zip(weights, makers, strict=True):
                found[weight][distribution, arrivals] = of[name]
    return found


def page(counts: Sequence[int] = tuple(DEPTHS), seeds: Sequence[int] = SEEDS, packets: int = PACKETS) -> str:
    """Return lab/pages/slack-limits.md."""
    every = {queues: cells(queues, seeds=seeds, packets=packets) for queues in counts}
    head = ["", *(f"{queues} queues" for queues in counts)]
    met = []
    for weight in WEIGHTS:
        row = [f"w = {weight:g}"]
        for queues in counts:
            pairs = every[queues][weight].values()
            row.append(f"{sum(is_met(*pair) for pair in pairs)} of {len(pairs)}, {max(pair[0] for pair in pairs):.2f}")
        met.append(row)
    best = {
        queues: {cell: min(of[weight][cell][0] for weight in WEIGHTS if weight < 1) for cell in of[1.0]}
        for queues, of in every.items()
    }
    any_met = {
        queues: {cell for cell in of[1.0] if any(is_met(*of[weight][cell]) for weight in WEIGHTS)}
        for queues, of in every.items()
    }
    total = sum(len(of[1.0]) for of in every.values())
    inversions = []
    for arrivals in ARRIVALS:
        row = [arrivals]
        for queues in counts:
            values = [best[queues][name, arrivals] for name in DISTRIBUTIONS]
            row.append(f"{sum(values) / len(values):.2f}")
        inversions.append(row)
    lines = [
        _HEAD.format(seeds=len(seeds), packets=packets),
        *table_lines(head, met),
        "",
        f"Even if the weight is chosen anew for each cell, {sum(map(len, any_met.values()))} of {total} cells are met.",
        "",
        "Inversions beside PACKS's, the smaller of w = 0.93 and w = 0.85, the mean over the five distributions:",
        "",
        *table_lines(head, inversions),
        "",
        *traces(),
    ]
    return "\n".join(lines) + _TAIL


def traces() -> list[str]:
    """Return the section with a trace for each way to fail, found and proven by the exact search."""
    lines = [_TRACES]
    for title, metric, a, b in (
        ("More inversions than PACKS", "WI", "slack-sp", "packs"),
        ("More drops of low ranks than PACKS", "WD", "slack-sp", "packs"),
        ("The other way round", "WI", "packs", "slack-sp"),
    ):
        options = {"queues": 2, "queue_capacity_packets": 3}
        own = {"slack-sp": options | {"ranks": 5}, "packs": options | {"window": 4, "k": 0}}
        answer = attack(a, b, metric=metric, packets=8, ranks=(1, 4), a_options=own[a], b_options=own[b])
        shrunk = answer.shrink()
        proof = "proven" if answer.proven else "the largest found"
        trace = " ".join(map(str, shrunk.trace))
        lines.append(f"- *{title}* ({metric}): {number(answer.gap)}, {proof}; ranks {trace}.")
    lines.append("")
    return lines


_HEAD = """# Why the bar is missed: what more registers would not change

The variants with 16 registers in [slack-variants.md](slack-variants.md) and [slack-dithered.md](slack-dithered.md)
miss the bar. Either the registers know the ranks too inaccurately, or this knowledge is used badly. This page
separates the two: the same shares of room get the exact distribution of ranks, as if from any number of registers
without noise, and PACKS's own admission. What still fails does not depend on the amount of state. {seeds} seeds of
{packets:,} packets, all five distributions and five arrival processes. Written by `python -m slack.limits
lab/pages`.

Cells met of all, and the largest ratio of inversions to PACKS's; w = 1 is PACKS's map:

"""

_TRACES = """## A trace for each way to fail

Eight packets of ranks 1 to 4 arrive, then all leave; two queues of three; PACKS with an empty window of four and k = 0.
The largest gap over all traces, and the fewest packets that keep it:
"""

_TAIL = """
## What follows

- **Most missed cells are due to the error of the registers and to using one weight for all cells.** With exact
  quantiles, many cells that the registers of [slack-dithered.md](slack-dithered.md) miss are met if the weight is
  chosen for each cell afterwards. No single one of these weights meets nine tenths. [slack-bar.md](slack-bar.md) has
  every cell, also with w = 0.97.
- **PACKS's own map with exact quantiles (w = 1) has at most a tenth more inversions than PACKS.** A window of 1000 is
  thus about as good as knowing the distribution, and is not exact either: the standard error of a quantile q, the
  root of q (1 - q) / 1000, is up to 0.016, which is more than one place of a buffer of 80.
- **In bursts equal shares, which are PACKS's map, are best on average.** If N packets come in random order before any
  leaves, a queue that takes m of them has m (m - 1) / 4 inverted pairs on average, and the sum over the queues is
  smallest for equal m. This is an average over orders. A fifth of the cells are bursts, and a map by shares of the
  quantiles meets one only through the error of PACKS's window, or by dropping up to 5 % more.
- **Under Poisson arrivals shrinking shares have fewer inversions than PACKS on average**, with about the same drops.
  The exception is a load of 0.8 with 32 queues, where the share of one rank is wider than a queue's. **Under constant
  arrivals they gain most**, as the derivation in slack.md predicts: it was made for this setting.
- This bound applies to one family of schedulers (quantiles to queues by shares, PACKS's admission), and not to every
  scheduler with 16 registers. It was measured, not proven. A scheduler that looks at the packets in the queues (*move
  up* in slack-variants.md) is not in this family.
"""


if __name__ == "__main__":
    raise SystemExit(write_page(sys.argv[1:], "slack-limits.md", lambda _: page()))
