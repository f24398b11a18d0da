"""Variants of Slack-SP with at most 16 registers, tuned on one half of the traffic and judged on the other.

``python -m slack.variants lab/pages`` writes lab/pages/slack-variants.md. Those of the library are parameters of
``slack-sp``; `SharesOfRoom` is a prototype in Python.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pifolab import Packet
from pifolab.bounds import rank_weights
from pifolab.custom import PythonScheduler
from pifolab.errors import InputError
from pifolab.export import table_lines
from pifolab.lazy import np
from slack.measure import ARRIVALS, DEPTHS, judge
from slack.page import is_met, means, ratio, shown_pair, write_page

__all__ = ["JUDGED", "LIBRARY", "PROTOTYPES", "TUNED", "SharesOfRoom", "cells", "page", "quantile_errors", "ratios"]

#: What is tuned on, and what is judged on: distributions and seeds.
TUNED = (("uniform", "inverse exponential"), (1, 2))
JUDGED = (("exponential", "Poisson", "convex"), tuple(range(11, 21)))
#: Packets of a run.
PACKETS = 10_000
REGISTERS = 16
BASE = "PACKS, window 1000"

#: Parameters of slack-sp, by label.
LIBRARY: Mapping[str, Mapping[str, Any]] = {
    "slack-sp, eps 0.1 (default)": {},
    "slack-sp, eps 0.02": {"eps": "0.02"},
    "slack-sp, eps 0.3": {"eps": "0.3"},
    "slack-sp, eps 0.1, step 1/8": {"eps": "0.1", "step": "1/8"},
    "slack-sp, eps 0.1, admission": {"eps": "0.1", "admission_gain": "1/4", "target_packets": 0.8},
}

#: What `SharesOfRoom` is made with, by label.
PROTOTYPES: Mapping[str, Mapping[str, Any]] = {
    "shares of room, equal": {},
    "shares of room, dense registers, w 0.93": {"shrink": 0.93, "dense": 0.1},
    "shares of room, w 0.97, admit 1.016": {"shrink": 0.97, "admit": 1.016},
    "shares of room, w 0.93, admit 1.016": {"shrink": 0.93, "admit": 1.016},
    "shares of room, w 0.85, admit 1.016": {"shrink": 0.85, "admit": 1.016},
    "shares of room, w 0.93, admit 1.016, move up": {"shrink": 0.93, "admit": 1.016, "move_up": True},
    "shares of room, w 0.85, admit 1.016, move up": {"shrink": 0.85, "admit": 1.016, "move_up": True},
}


class SharesOfRoom(PythonScheduler):
    """PACKS's admission and map on a few quantile registers in place of a window, with geometric shares.

    Registers b_1..b_m follow quantiles of the ranks as those of Slack-SP do; one more holds the highest rank seen. The
    quantile of a rank is interpolated between them. A packet is refused if its quantile is above `admit` times the
    share of the buffer that is free. Queue i takes the quantiles up to the sum of w_j (free places of queue j / its
    places) over j <= i; the weights are `shrink` to the power j, scaled to a sum of 1 (`shrink` = 1 is PACKS).
    Registers stand at even quantiles, or with `dense` < 1 closer at high ones.

    With `move_up` each queue has one more register, the highest rank that went in since it was empty. A packet whose
    queue has had a higher rank goes up one queue, and again, if that one has had none. Deciding this reads a register
    before it is known whether it is written, so that a pipeline would visit it twice.
    """

    def __init__(
        self,
        queues: int,
        depth: int,
        *,
        shrink: float = 1.0,
        dense: float = 1.0,
        move_up: bool = False,
        admit: float = 1.0,
        step: float = 0.125,
        ranks: int = 100,
    ) -> None:
        self.queues = queues
        self._depth = depth
        # One register is the highest rank.
        registers = (REGISTERS - queues if move_up else REGISTERS) - 1
        if registers < 2:
            raise InputError(f"queues = {queues}: expected at most {REGISTERS - 3} with move_up")
        self._held: list[deque[Packet]] = [deque() for _ in range(queues)]
        self._room = queues * depth
        weights = [float(shrink**place) for place in range(queues)]
        self._weights = [weight / sum(weights) / depth for weight in weights]
        evenly = [(place + 1) / (registers + 1) for place in range(registers)]
        self._quantiles: list[float] = evenly if dense == 1 else [(1 - dense**part) / (1 - dense) for part in evenly]
        self._at = [ranks * part for part in evenly]
        self._top = 0
        self._moves = ([step * part for part in self._quantiles], [step * (part - 1) for part in self._quantiles])
        self._admit = admit / (queues * depth)
        self._highest = [-1] * queues if move_up else None

    def quantile(self, rank: int) -> float:
        """Return the share of ranks below `rank` by the registers, which then move."""
        self._top = max(self._top, rank)
        known = [0.0, *sorted(self._at), self._top + 1.0]
        place = min(bisect_right(known, rank), len(known) - 1) - 1
        shares = [0.0, *self._quantiles, 1.0]
        low, high = known[place], known[place + 1]
        inside = (rank - low) / (high - low) if high > low else 0.0
        self._at = [at + (up if rank >= at else down) for at, up, down in zip(self._at, *self._moves, strict=True)]
        return shares[place] + (shares[place + 1] - shares[place]) * min(max(inside, 0.0), 1.0)

    def enqueue(self, packet: Packet, now_ns: int) -> int | Packet:
        """Refuse the packet, or take it into a queue."""
        rank = packet.rank
        quantile = self.quantile(rank)
        if quantile > self._room * self._admit:
            return packet
        queue, reached = None, 0.0
        for number, held in enumerate(self._held):
            free = self._depth - len(held)
            reached += self._weights[number] * free
            if quantile <= reached and free:
                queue = number
                break
        if queue is None:
            with_room = [number for number, held in enumerate(self._held) if len(held) < self._depth]
            if not with_room:
                return packet
            queue = with_room[-1]
        if self._highest is not None:
            queue = self._moved_up(rank, queue, self._highest)
        self._held[queue].append(packet)
        self._room -= 1
        return queue

    def _moved_up(self, rank: int, queue: int, highest: list[int]) -> int:
        for number, held in enumerate(self._held):
            if not held:
                highest[number] = -1
        while queue and highest[queue] > rank >= highest[queue - 1] and len(self._held[queue - 1]) < self._depth:
            queue -= 1
        highest[queue] = max(highest[queue], rank)
        return queue

    def dequeue(self, now_ns: int) -> Packet | None:
        """Serve the first queue that holds a packet."""
        for held in self._held:
            if held:
                self._room += 1
                return held.popleft()
        return None


def ratios(
    distribution: str,
    arrivals: str,
    schedulers: Mapping[str, tuple[str, Mapping[str, Any]]],
    *,
    queues: int,
    packets: int,
    seeds: Sequence[int],
    makers: Mapping[str, Callable[[], PythonScheduler]],
) -> dict[str, tuple[float, float]]:
    """Return for every scheduler the ratios to PACKS (window 1000) of inversions and misdrops, means of the seeds."""
    run = means(
        judge(
            distribution,
            arrivals,
            schedulers={BASE: ("packs", {"window": 1000}), **schedulers},
            queues=queues,
            packets=packets,
            seeds=seeds,
            makers=makers,
        )
    )
    base = run[BASE]

    def beside(label: str, what: str) -> float:
        return ratio(run[label][what], base[what])

    return {label: (beside(label, "inversions"), beside(label, "misdrops")) for label in schedulers}


def cells(
    distributions: Sequence[str],
    seeds: Sequence[int],
    queues: int,
    packets: int = PACKETS,
    prototypes: Mapping[str, Mapping[str, Any]] = PROTOTYPES,
) -> dict[str, dict[tuple[str, str], tuple[float, float]]]:
    """Return for every variant the ratios to PACKS of inversions and misdrops, by distribution and arrivals.

    A variant that would need more than 16 registers with so many queues is left out.
    """
    depth = DEPTHS[queues]
    schedulers: dict[str, tuple[str, Mapping[str, Any]]] = {}
    makers: dict[str, Callable[[], PythonScheduler]] = {}
    for label, parameters in LIBRARY.items():
        extra = dict(parameters)
        registers = queues - 1
        if "target_packets" in extra:
            extra["target_packets"] = round(extra["target_packets"] * queues * depth)
            registers += 2
        if registers <= REGISTERS:
            schedulers[label] = ("slack-sp", extra)
    for number, (label, settings) in enumerate(prototypes.items()):
        if not settings.get("move_up") or queues <= REGISTERS - 3:
            name = f"shares-of-room-{number}"
            makers[name] = partial(SharesOfRoom, queues, depth, **settings)
            schedulers[label] = (name, {})
    found: dict[str, dict[tuple[str, str], tuple[float, float]]] = {}
    for distribution in distributions:
        for arrivals in ARRIVALS:
            of = ratios(distribution, arrivals, schedulers, queues=queues, packets=packets, seeds=seeds, makers=makers)
            for label, pair in of.items():
                found.setdefault(label, {})[distribution, arrivals] = pair
    return found


def draw_ranks(distribution: str, count: int, draw: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return so many ranks of one of the papers' five distributions, as the scenarios of `judge` draw them."""
    shares = rank_shares(distribution)
    return draw.choice(len(shares), count, p=shares)


def rank_shares(distribution: str) -> np.ndarray[Any, Any]:
    """Return the probabilities of ranks 0 to 100; inverse exponential ranks are 1 to 100, the others end at 99."""
    ranks = 100 if distribution == "uniform" else 101
    weights = np.array(rank_weights(distribution.lower().replace(" ", "-"), ranks=ranks), dtype=float)
    shares: np.ndarray[Any, Any] = np.append(weights, [0.0] * (101 - ranks)) / weights.sum()
    return shares


def quantile_errors(packets: int = 30_000, seed: int = 1) -> dict[str, tuple[float, float]]:
    """Return by distribution the mean error of estimated quantiles of the highest sixteenth of ranks, and of the rest.

    Fifteen registers and the highest rank; the first third of the packets is not counted.
    """
    draw = np.random.default_rng(seed)
    streams = {name: draw_ranks(name, packets, draw) for name in (*TUNED[0], *JUDGED[0])}
    found = {}
    for name, ranks in streams.items():
        scheduler = SharesOfRoom(16, 5)
        shares = np.searchsorted(np.sort(ranks), ranks) / packets
        told = np.array([scheduler.quantile(int(rank)) for rank in ranks])
        errors, shares = (told - shares)[packets // 3 :], shares[packets // 3 :]
        top = shares >= 1 - 1 / REGISTERS
        found[name] = (float(errors[top].mean()), float(errors[~top].mean()))
    return found


def _count(of_variant: Mapping[Any, tuple[float, float]]) -> str:
    met = sum(is_met(*pair) for pair in of_variant.values())
    return f"{met} of {len(of_variant)}, {max(pair[0] for pair in of_variant.values()):.2f}"


def page(counts: Sequence[int] = tuple(DEPTHS), packets: int = PACKETS) -> str:
    """Return lab/pages/slack-variants.md."""
    tuned = {count: cells(*TUNED, count, packets) for count in counts}
    chosen = {}
    for count, of in tuned.items():
        pairs = {label: of[label].values() for label in PROTOTYPES if label in of}
        # Of those that meet as many cells, the one whose inversions are fewest where it is worst.
        chosen[count] = max(
            pairs,
            key=lambda label: (sum(is_met(*pair) for pair in pairs[label]), -max(pair[0] for pair in pairs[label])),
        )
    judged = {count: cells(*JUDGED, count, packets, {label: PROTOTYPES[label]}) for count, label in chosen.items()}
    lines = [_HEAD.format(packets=packets)]
    for title, (distributions, seeds), halves in (("Tuned on", TUNED, tuned), ("Judged on", JUDGED, judged)):
        lines += [f"## {title} {', '.join(distributions)}; seeds {seeds[0]} to {seeds[-1]}", ""]
        rows = [
            [label, *(_count(of[label]) if label in of else "-" for of in halves.values())]
            for label in [*LIBRARY, *PROTOTYPES]
            if any(label in of for of in halves.values())
        ]
        lines += [_ABOUT, *table_lines(["", *(f"{count} queues" for count in counts)], rows), ""]
    lines += [
        "## Every cell of the variant that is best where it was tuned",
        "",
        "Ratios of inversions and of misdrops.",
        "",
    ]
    every: list[tuple[float, float]] = []
    for count, label in chosen.items():
        of_variant = judged[count][label]
        every += of_variant.values()
        judged_rows = ([name, *(shown_pair(of_variant[name, arrivals]) for arrivals in ARRIVALS)] for name in JUDGED[0])
        lines += [f"{count} queues of {DEPTHS[count]}, {label}:", "", *table_lines(["", *ARRIVALS], judged_rows), ""]
    met = sum(is_met(*pair) for pair in every)
    fewer, like = sum(pair[0] < 1 for pair in every), sum(pair[1] <= 1.05 for pair in every)
    worst = max(pair[0] for pair in every)
    lines += [
        f"In all {met} of {len(every)} cells are met on the half that was not tuned on ({fewer} have fewer inversions,",
        f"{like} no more misdrops); inversions are {worst:.2f} times PACKS's where they are worst.",
        "",
    ]
    errors = quantile_errors()
    rows = [
        [which, *(f"{pair[place]:+.3f}" for pair in errors.values())]
        for place, which in enumerate(("highest sixteenth of ranks", "the rest"))
    ]
    lines += ["Mean errors of the quantile that 15 registers and the highest rank tell:", ""]
    lines += [*table_lines(["", *errors], rows), ""]
    return "\n".join(lines)


_ABOUT = """Cells met of all, and the largest ratio of inversions to PACKS's; a dash where 16 registers are not
enough or the prototype was not chosen.
"""

_HEAD = """# Variants of Slack-SP against the bar

[slack.md](slack.md) has the bar: fewer inversions than PACKS with a window of 1000 at no more misdrops (5 %), with at
most 16 registers. Here variants are tuned on two distributions and judged on three others with other seeds; five
arrival processes each, runs of {packets:,} packets, ratios of means over seeds. Written by `python -m
slack.variants lab/pages`.

**Variants.** Those called slack-sp are parameters of [slack-sp](../../docs/schedulers/slack-sp.md). *Shares of room*
(`slack.variants.SharesOfRoom`, a prototype in Python) keeps 15 registers at evenly spaced quantiles and one
for the highest rank, and interpolates the quantile of a rank between them. It refuses a packet whose quantile is
above `admit` times the free share of the buffer. Queue i gets a share of the quantiles: its weight w^i times the free
share of its places. *Equal* is w = 1, which is PACKS without its window. *Move up* uses n of the registers for the
highest rank that each queue has had since it was empty: a packet that would wait behind a higher rank goes up one
queue, unless it is lower than the highest rank of that queue.
"""


_TAIL = """
## Why

- **The bar is missed, and the half that was tuned on promised more than held.** Refusals are decided by the highest
  sixteenth of ranks, above the last register, where the quantile is interpolated up to the highest rank seen. On the
  ranks that were tuned on this errs upwards, on exponential and Poisson ranks, which have a thin tail there,
  downwards: by more than the 1/80 of one place of the buffer for Poisson ranks. At a load of 0.8 the prototype then
  has at most a third of PACKS's misdrops on these, and more to order. Registers closer at high quantiles (*dense*)
  drop too much instead. PACKS's window has neither error, which is what its thousand registers are for.
- **Where the quantile is right, 16 registers sort as well as PACKS with a window of 1000**: equal shares with up to
  16 queues, on the ranks that were tuned on. With 32 queues the share of one rank is wider than a queue's.
- **Shrinking shares help where packets come one by one** ([slack.md](slack.md) has the derivation), and multiply
  inversions if they shrink too fast for the number of queues: weights are w^i, so that the last of 32 queues has
  0.93^31, a tenth of the first, and the last of 4 queues 0.8 of it.
- **They cannot help in a burst.** If N packets come in random order before any leaves, a queue that takes m of them
  has m (m - 1) / 4 inverted pairs on average. The sum over the queues is smallest for equal m, which PACKS's map aims
  at: w = 0.85 and 8 queues have 1.13 times as many. No fixed shares of the quantiles can have fewer than equal ones.
- **Moving up helps most below saturation**, when the queue in front is empty. It saves a packet from waiting behind a
  higher rank, but the quantiles lose as many registers as there are queues, which costs misdrops. Above saturation,
  when all queues hold packets, it gains little, and with 4 queues it does harm: a packet that has moved up is then
  ahead of lower ranks that arrive later in that queue.
- **Registers are noisy**, which costs misdrops on inverse exponential ranks under constant arrivals. A register that
  moves by D keeps a variance of about D q (1 - q) / (2 f), where f is the share of arrivals at a rank beside it. With
  D = 1/8 and f = 0.04 at the highest of inverse exponential ranks that is 0.3 ranks, or 0.012 of the quantile: one
  place of a buffer of 80. Smaller steps are quieter, and slower from a wrong start, which short runs count as well.
- **Stricter admission means fewer inversions**: a scheduler that drops more has less to sort. `admit` was set so that
  misdrops are about equal. Without it the denser registers at high quantiles (*dense*) drop more, and only for that
  reason have fewer inversions.

## What does not hold

- The prototype uses floating point and sorts its registers. It is in Python, with neither an oracle nor a program for
  a switch. The interpolation is a division, for which a switch would use a table.
- With *move up* a register is read before it is known whether it will be written: this is more than one stateful
  operation per packet.
- Runs are shorter than those of [slack.md](slack.md), and start with registers spread evenly over ranks 0 to 99.
- Completion times and worst cases of these variants were not measured.
"""


if __name__ == "__main__":
    raise SystemExit(write_page(sys.argv[1:], "slack-variants.md", lambda _: page() + _TAIL))
