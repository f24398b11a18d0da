"""The exact program for the stationary queue: the fixed bounds with the fewest inversions, by load and allowed drops.

``python -m slack.optimum lab/pages`` writes slack-optimum.md, beside the counts of lab/pages/slack-bar/loads.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from pifolab.export import table_lines
from pifolab.lazy import np
from pifolab.text import read_text
from slack.measure import DEPTHS
from slack.page import write_page
from slack.shares import PACKETS, SLACK

__all__ = ["LAWS", "Bounds", "evaluate", "optimum", "page"]

#: Bounds are multiples of this share of the link.
GRID = 1 / 48
#: Ranks are uniform, and so many. Equal ranks are no inversion.
RANKS = 100
#: Packets of higher queues count together, up to so many.
HIGHER = 40
#: No queue takes ranks beyond this load.
HIGHEST = 1.25
LOADS = (0.5, 0.9, 1.05, 1.1, 1.5, 2.0)
#: The drops that are allowed beyond the fewest possible with these queues, as a share of the packets.
BUDGET = 0.005
QUEUES = (8, 16)


class Bounds(NamedTuple):
    """Fixed bounds as loads: queue k takes the ranks between bounds k - 1 and k. Counts are per service."""

    bounds: tuple[float, ...]
    inversions: float
    drops: float


@cache
def _queue(low: float, high: float, places: int) -> tuple[Any, float]:
    """Return how often the queue is served while it holds 1, 2, .. packets, and how many packets it drops.

    The state is the number of packets in higher queues and in this one, when a service ends. A service takes one unit
    of time, in which Poisson numbers of packets arrive. A packet that finds the link idle waits in no queue.
    """
    if low >= 1:
        return np.zeros(places), high - low
    above, own = _arrivals(low, HIGHER), _arrivals(high - low, places)
    served = [np.maximum(np.arange(most + 1) - 1, 0) for most in (HIGHER, places)]
    chain = np.empty((HIGHER + 1, places + 1, HIGHER + 1, places + 1))
    for higher in range(HIGHER + 1):
        chain[higher] = np.einsum("i,lj->lij", above[served[0][higher]], own if higher else own[served[1]])
    states = (HIGHER + 1) * (places + 1)
    # The last equation is replaced: all shares make 1.
    equations = chain.reshape(states, states).T - np.eye(states)
    equations[-1] = 1
    shares = np.linalg.solve(equations, np.eye(states)[-1]).reshape(HIGHER + 1, places + 1)
    held = shares[1:].sum(axis=0)
    held[:-1] += shares[0, 1:]
    held[0] += shares[0, 0]
    arrivals = np.arange(places + 1)
    lost = [high - low - own[packets] @ (arrivals - packets) for packets in arrivals]
    return shares[0, 1:], float(held @ lost)


def _arrivals(load: float, places: int) -> Any:
    """Return the chance to go from one number of packets to another in a unit of time; what does not fit is lost."""
    counts = np.arange(places + 1)
    chances = np.cumprod(np.where(counts > 0, load / np.maximum(counts, 1), np.exp(-load)))
    moves = np.zeros((places + 1, places + 1))
    for packets in counts:
        moves[packets, packets:] = chances[: places + 1 - packets]
        moves[packets, places] += 1 - moves[packets].sum()
    return moves


@cache
def _inverted(ranks: float, places: int) -> Any:
    """Return the chance that the first of 1, 2, .. packets of so many ranks has a lower one behind it."""
    whole = max(int(ranks), 1)
    behind = np.arange(places)

    def chance(among: int) -> Any:
        not_lower = (np.arange(among, 0, -1) / among)[:, None] ** behind
        return 1 - not_lower.mean(axis=0)

    part = max(ranks - whole, 0.0)
    return (1 - part) * chance(whole) + part * chance(whole + 1)


def _cost(low: float, high: float, load: float, places: int) -> tuple[float, float]:
    served, drops = _queue(low, high, places)
    return float(served @ _inverted(round(RANKS * (high - low) / load, 6), places)), drops


def evaluate(bounds: Sequence[float], load: float, places: int) -> Bounds:
    """Return what bounds cost; packets above the last one are refused."""
    costs = [_cost(low, high, load, places) for low, high in pairwise((0.0, *bounds)) if high > low]
    inversions, drops = (sum(cost[which] for cost in costs) for which in (0, 1))
    return Bounds(tuple(bounds), inversions, drops + load - bounds[-1])


def for_price(price: float, load: float, queues: int, places: int) -> Bounds:
    """Return the bounds for which inversions and `price` times the drops are least: a program over right ends."""
    most = min(load, HIGHEST)
    ends = [round(step * GRID, 9) for step in range(int(most / GRID - 1e-9) + 1)] + [most]

    def cost(low: int, high: int) -> float:
        inversions, drops = _cost(ends[low], ends[high], load, places) if low < high else (0.0, 0.0)
        return inversions + price * (drops - ends[high] + ends[low])

    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for _ in range(queues):
        best = {
            high: min((before + cost(low, high), (*path, high)) for low, (before, path) in best.items() if low <= high)
            for high in range(len(ends))
        }
    return evaluate([ends[end] for end in min(best.values())[1]], load, places)


def optimum(load: float, queues: int, places: int, drops: float | None = None) -> Bounds:
    """Return the bounds with the fewest inversions that drop so many packets per service, or `BUDGET` beyond the least.

    The bounds are those for the lowest price of a drop that suffices.
    """
    low, high = -10.0, 10.0
    best = for_price(2**high, load, queues, places)
    allowed = best.drops + BUDGET * load if drops is None else drops
    while high - low > 0.1:
        middle = (low + high) / 2
        found = for_price(2**middle, load, queues, places)
        if found.drops <= allowed:
            best, high = found, middle
        else:
            low = middle
    return best


def _weighted(load: float, queues: int, last: float) -> list[float]:
    weights = np.cumsum(last ** (np.arange(queues) / (queues - 1)))
    return [float(weight) for weight in min(load, 1) * weights / weights[-1]]


def _of_link(load: float, queues: int) -> list[float]:
    parked = max(queues // 4, 1)
    ahead = queues - parked
    ends = [1 - 0.1 ** (queue / ahead) for queue in range(1, ahead + 1)]
    return [min(load, 1) * end for end in (*ends, *(0.9 + 0.1 * queue / parked for queue in range(1, parked + 1)))]


#: The bounds of a load and a number of queues: PACKS's shares, and slack-sp's two rules, up to what the link carries.
LAWS = {
    "equal": lambda load, queues: _weighted(load, queues, 1),
    "of the room": lambda load, queues: _weighted(load, queues, 0.6),
    "of the link": _of_link,
}


def page(stored: Sequence[Sequence[Any]]) -> str:
    """Return lab/pages/slack-optimum.md, beside stored counts of the bar."""
    counts = {tuple(row[:4]): row[4] for row in stored}
    lines = [_HEAD.format(grid=round(1 / GRID), budget=100 * BUDGET)]
    for queues in QUEUES:
        places = DEPTHS[queues]
        best = {load: optimum(load, queues, places) for load in LOADS}
        rows = []
        for load, least in best.items():
            row = [f"{load:g}", f"{100 * least.inversions:.2f}", f"{100 * least.drops / load:.2f} %"]
            for law in LAWS.values():
                own = evaluate(law(load, queues), load, places)
                row.append(f"{own.inversions / optimum(load, queues, places, own.drops).inversions:.2f}")
            by_label: Mapping[str, Sequence[float]] = counts.get(("Poisson", load, "uniform", queues), {})
            for label in (SLACK, "PACKS, window 1000"):
                inversions, _, drops, *_ = by_label[label]
                row.append(f"{inversions / (PACKETS - drops) / least.inversions:.2f}")
            rows.append(row)
        head = ["load", "fewest", "drops", *LAWS, "slack-sp, measured", "PACKS, measured"]
        lines += [f"## {queues} queues of {places}", "", *table_lines(head, rows), ""]
        for load in (0.9, 2.0):
            shown = " ".join(f"{bound:.2f}" for bound in best[load].bounds)
            lines += [f"Bounds at a load of {load:g}, as loads: {shown}.", ""]
    return "\n".join(lines) + _TAIL


_HEAD = """# The optimum of the stationary queue

How far are the shares of [slack-sp](../../docs/schedulers/slack-sp.md) from the best fixed bounds? Poisson arrivals,
{ranks} uniform ranks, strict-priority queues without fall-through. For each pair of ends a Markov chain gives the
inversions and the drops of the queue between them; a dynamic program over queues and right ends finds the bounds with
the fewest inversions. Ends are multiples of 1/{grid} of the link. The chain is exact but for one thing: packets of
higher queues count together, up to {higher}.

*Fewest*: inversions of 100 sent packets with the best bounds that drop {budget:g} % of the packets beyond the fewest
drops possible. *equal*, *of the room*, *of the link*: what PACKS's shares and the two rules of slack-sp have as fixed
bounds, over the optimum at their own drops. *measured*: inversions in the bar
([slack-shares.md](slack-shares.md)) over the fewest. `python -m slack.optimum lab/pages` writes this page.

""".replace("{ranks}", str(RANKS)).replace("{higher}", str(HIGHER))

_TAIL = """## What follows

- **The law stays.** The ends of the link, s (1 - 0.1^(k / m)), are within 3 % of the optimum from a load of 0.9 on; a
  ratio below 1 is the error of the grid. The best bounds leave slack that shrinks by nearly equal factors, down to some
  tenth: what the derivation in [slack.md](slack.md) says of infinite queues. No other shrinking was read from it.
- **Shares of the room** are up to 6 % above the optimum while the link carries all, and equal shares up to 18 %.
- **Up to the link's rate slack-sp is below the optimum of fixed bounds**, because ends follow the free places, and the
  last admitted packets order the next one. That optimum is no bound for it.
- **Under overload it is above.** At twice the rate it has 1.20 times the fewest inversions with 8 queues and 1.76 times
  with 16, at ends that are right: what is left is the start, in which s falls, and the error of nine registers.
"""


def main(argv: Sequence[str]) -> int:
    """Write the page."""
    stored = json.loads(read_text(Path(argv[0]) / "slack-bar/loads.json")) if argv else []
    return write_page(argv, "slack-optimum.md", lambda _: page(stored))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
