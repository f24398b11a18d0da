"""The bar for ``slack-sp`` with ``map = shares``: from half the link's rate to twice it, beside the five and Spring.

``python -m slack.shares lab/pages`` measures what lab/pages/slack-bar/loads.json does not hold yet, and writes
slack-shares.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pifolab.export import write_text
from pifolab.lazy import pl
from slack.measure import DEPTHS, measured

__all__ = ["Cell", "cells", "main", "measure", "page"]

PACKETS = 15_000
#: Nothing was tuned on them.
SEEDS = (401, 402, 403)
LOADS = (0.5, 0.9, 1.05, 1.1, 1.5, 2.0)
ARRIVALS = ("constant", "Poisson", "on-off")
RANKS = (
    "uniform",
    "exponential",
    "inverse exponential",
    "Poisson",
    "convex",
    "bimodal",
    "lognormal",
    "Pareto",
    "Weibull",
    "two ranks",
    "Zipf",
    "drifting",
)
QUEUES = (4, 8, 16)
SLACK = "slack-sp"
#: The five papers' schedulers; PACKS with the window of its hardware and with that of its simulations.
FIVE: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "SP-PIFO": ("sp-pifo", {}),
    "AIFO": ("aifo", {}),
    "PACKS, window 20": ("packs", {"window": 20}),
    "PACKS, window 1000": ("packs", {"window": 1000}),
    "RIFO": ("rifo", {}),
    "Exp-PIFO": ("exp-pifo", {}),
}
SCHEDULERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    **FIVE,
    "Spring": ("spring", {}),
    SLACK: ("slack-sp", {"map": "shares"}),
}
#: Beside which it is said how much is sent.
SENT = ("SP-PIFO", "PACKS, window 20", "PACKS, window 1000", "Spring")
#: `magnitude`: inversions weighted by how many ranks a packet lay above the lowest that waited.
MEASURES = ("inversions", "misdrops", "drops", "pairs", "magnitude")


class Cell(NamedTuple):
    """A setting: the link's load and how packets come, their ranks, and the queues."""

    arrivals: str
    load: float
    ranks: str
    queues: int


def cells() -> Iterator[Cell]:
    """Yield all settings in which packets wait; bursts at half the link's rate are those at 0.9 with longer pauses."""
    for arrivals in ARRIVALS:
        for load in LOADS:
            if (arrivals == "constant" and load < 1) or (arrivals == "on-off" and load < 0.9):
                continue
            for ranks in RANKS:
                for queues in QUEUES:
                    yield Cell(arrivals, load, ranks, queues)


def _workload(arrivals: str, load: float) -> str:
    if arrivals != "on-off":
        return f'arrivals = "{arrivals.lower()}"\nrate_bps = {round(load * 1e10)}'
    # 64 packets at four times the link's rate take 19.2 us.
    off = round(19200 * (4 / load - 1))
    return f'arrivals = "on-off"\nrate_gbps = 40\non_ns = 19200\noff_ns = {off}\nperiods = "fixed"'


def measure(cell: Cell, seeds: Sequence[int] = SEEDS, packets: int = PACKETS) -> dict[str, list[float]]:
    """Run all schedulers on the same packets; by label the means over seeds of `MEASURES`."""
    arrivals = _workload(cell.arrivals, cell.load)
    frame = measured(
        cell.ranks, cell.load, arrivals, SCHEDULERS, cell.queues, DEPTHS[cell.queues], packets, seeds, None
    )
    means = frame.group_by("scheduler").agg(pl.col(MEASURES).mean()).to_dicts()
    return {row["scheduler"]: [row[measure] for measure in MEASURES] for row in means}


def main(argv: Sequence[str]) -> int:
    """Measure what is missing and write the page."""
    parser = argparse.ArgumentParser(prog="python -m slack.shares", description=__doc__)
    parser.add_argument("folder", type=Path, help="where slack-shares.md and the folder slack-bar are")
    arguments = parser.parse_args(argv)
    path = arguments.folder / "slack-bar/loads.json"
    stored = json.loads(path.read_text()) if path.exists() else []
    for cell in list(cells())[len(stored) :]:
        stored.append([*cell, measure(cell)])
        # What was measured stays when the rest is stopped.
        write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in stored) + "\n]\n", path)
    write_text(page({Cell(*row[:4]): row[4] for row in stored}), arguments.folder / "slack-shares.md")
    return 0


class Judged(NamedTuple):
    """A cell's inversions and misdrops over those of the best of the five, and weighted inversions over the fewest."""

    cell: Cell
    best: str
    inversions: float
    misdrops: float
    weighted: float


def judge(found: Mapping[Cell, Mapping[str, Sequence[float]]], like_drops: bool) -> list[Judged]:
    """Compare each cell in which packets of another rank waited with the best of the five in inversions.

    With `like_drops` the best is that of those which lose no more than half as much again beyond PIFO as the one that
    loses least, and at most a packet in a hundred that came.
    """
    judged = []
    for cell, by_label in found.items():
        among = {label: by_label[label] for label in FIVE}
        if like_drops:
            least = min(of[1] for of in among.values())
            among = {label: of for label, of in among.items() if of[1] <= max(1.5 * least, PACKETS / 100)}
        best = min(among, key=lambda label: among[label][0])
        if among[best][0] == 0:
            continue
        inversions, misdrops = (by_label[SLACK][place] / max(among[best][place], 1) for place in (0, 1))
        # The fewest weighted inversions may be those of another one.
        weighted = by_label[SLACK][4] / max(min(of[4] for of in among.values()), 1)
        judged.append(Judged(cell, best, inversions, misdrops, weighted))
    return judged


def _summary(judged: Sequence[Judged]) -> list[str]:
    lines = [
        "| arrivals | load | fewer inversions | worst ratio | median | weighted, median | misdrops, median |",
        "|---|---|---|---|---|---|---|",
    ]
    for arrivals in ARRIVALS:
        for load in LOADS:
            of = [one for one in judged if (one.cell.arrivals, one.cell.load) == (arrivals, load)]
            if not of:
                continue
            ratios = sorted(one.inversions for one in of)
            misdrops = sorted(one.misdrops for one in of)
            weighted = sorted(one.weighted for one in of)
            worst = max(of, key=lambda one: one.inversions)
            where = f"{worst.cell.ranks}, {worst.cell.queues} queues, {worst.best}"
            fewer = sum(ratio < 1 for ratio in ratios)
            lines.append(
                f"| {arrivals} | {load:g} | {fewer} of {len(of)} | {worst.inversions:.2f} ({where}) "
                f"| {ratios[len(of) // 2]:.2f} | {weighted[len(of) // 2]:.2f} | {misdrops[len(of) // 2]:.2f} |"
            )
    return lines


def _verdict(judged: Sequence[Judged]) -> str:
    fewer = sum(one.inversions < 1 for one in judged)
    within = sum(one.inversions <= 1.05 for one in judged)
    misdrops = sum(one.misdrops <= 1.05 for one in judged)
    return (
        f"Of {len(judged)} cells with inversions, it has fewer than the best of the five in {fewer}, at most 1.05\n"
        f"times as many in {within}, and at most 1.05 times its misdrops in {misdrops}."
    )


def _beyond(judged: Sequence[Judged]) -> list[str]:
    far = [one for one in judged if one.inversions > 1.05]
    if not far:
        return ["No cell has more than 1.05 times the inversions.", ""]
    shown = sorted(far, key=lambda one: -one.inversions)[:24]
    rows = [
        f"| {one.cell.arrivals} {one.cell.load:g} | {one.cell.ranks} | {one.cell.queues} | {one.best} "
        f"| {one.inversions:.2f} | {one.misdrops:.2f} |"
        for one in shown
    ]
    return [
        f"Cells with more than 1.05 times the inversions: {len(far)}; the farthest:",
        "",
        "| arrivals | ranks | queues | best | inversions | misdrops |",
        "|---|---|---|---|---|---|",
        *rows,
        "",
    ]


def less_sent(by_label: Mapping[str, Sequence[float]], other: str) -> float:
    """Return by what share slack-sp sends less than another scheduler; below 0 if it sends more."""
    return (by_label[SLACK][2] - by_label[other][2]) / (PACKETS - by_label[other][2])


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    return one[0] <= other[0] and one[1] <= other[1]


def _sent(found: Mapping[Cell, Mapping[str, Sequence[float]]]) -> list[str]:
    lines = [f"| arrivals | load | {' | '.join(SENT)} |", "|---|---|" + "---|" * len(SENT)]
    for arrivals in ARRIVALS:
        for load in LOADS:
            of = [by for cell, by in found.items() if (cell.arrivals, cell.load) == (arrivals, load)]
            if not of:
                continue
            less = {other: sorted(100 * less_sent(by, other) for by in of) for other in SENT}
            shown = " | ".join(f"{sum(some) / len(some):.2f} (at most {some[-1]:.2f})" for some in less.values())
            lines.append(f"| {arrivals} | {load:g} | {shown} |")
    return lines


def page(found: Mapping[Cell, Mapping[str, Sequence[float]]]) -> str:
    """Return lab/pages/slack-shares.md from what was stored."""
    every, like = judge(found, like_drops=False), judge(found, like_drops=True)
    packs = [
        (of[SLACK][0] / of["PACKS, window 1000"][0], cell)
        for cell, of in found.items()
        if of["PACKS, window 1000"][0] and cell.load > 1.1
    ]
    spring = [of[SLACK][0] <= of["Spring"][0] for of in found.values() if of["Spring"][0]]
    kept = [
        min(by["SP-PIFO"][2], by["PACKS, window 20"][2]) + PACKETS / 100 >= by[SLACK][2]
        for cell, by in found.items()
        if cell.load < 1 or cell.arrivals == "on-off"
    ]
    # Among the five is one with no more inversions and no more misdrops; or it is so beside one of them.
    judged = [by for by in found.values() if any(by[label][0] for label in FIVE)]
    behind = sum(any(_beats(by[label], by[SLACK]) for label in FIVE) for by in judged)
    ahead = sum(any(_beats(by[SLACK], by[label]) for label in FIVE) for by in judged)
    most = max(less_sent(by, "PACKS, window 1000") for cell, by in found.items())
    weighted = [one.weighted <= 1 for one in like]
    head = _HEAD.format(
        kept=f"{sum(kept)} of {len(kept)}",
        most=f"{100 * most:.2f} %",
        behind=f"{behind} of {len(judged)}",
        ahead=ahead,
        weighted=f"{sum(weighted)} of {len(weighted)}",
        seeds=f"{SEEDS[0]} to {SEEDS[-1]}",
        packets=PACKETS,
        like=_verdict(like),
        every=_verdict(every),
        packs=f"{min(packs)[0]:.2f} to {max(packs)[0]:.2f}",
        spring=f"{sum(spring)} of {len(spring)}",
    )
    lines = [head, "## What it sends", "", _SENT, "", *_sent(found), ""]
    lines += ["## At like drops", "", *_summary(like), "", *_beyond(like)]
    lines += ["## Whatever is dropped", "", _EVERY, "", *_summary(every), "", *_beyond(every)]
    return "\n".join(lines) + _TAIL


_SENT = """By how many percent slack-sp sends less than each, in the mean over the cells and in the worst; below 0 it
sends more. Under overload the difference is in part what waits when a run ends, which is not counted as dropped."""

_EVERY = """Exp-PIFO and SP-PIFO may have the fewest inversions since they drop what the others keep: a packet that is
not there is not overtaken."""

_HEAD = """# Shares of the room and of what the link carries

This page judges `map = shares` of [slack-sp](../../docs/schedulers/slack-sp.md): at most 16 registers, from half the
link's rate to twice it. All schedulers get the same packets: seeds {seeds}, on which nothing was tuned, {packets:,}
packets each; 4 queues of 20, 8 of 10, 16 of 5. The five are SP-PIFO, AIFO, PACKS (windows of 20 and 1000), RIFO and
Exp-PIFO with their defaults. A ratio is that of the means over seeds.

**At like drops**, which leaves out schedulers that lose half as much again beyond PIFO as another, if that is more than
one packet in a hundred. {like}

**Whatever is dropped.** {every}

**Both at once.** One of the five has no more inversions and no more misdrops than slack-sp in {behind} cells;
slack-sp has no more of either than one of the five in {ahead}.

Above a load of 1.1 it has {packs} times the inversions of PACKS with a window of 1000. It has no more
inversions than Spring in {spring} cells.

**What it sends.** A packet that finds nothing waiting is always admitted. Below saturation and in bursts it drops no
more than SP-PIFO or PACKS with a window of 20, whichever drops less, and one packet in a hundred, in {kept} cells.
It never sends more than {most} less than PACKS with a window of 1000. It has no more weighted inversions than any of
those at like drops in {weighted} cells.

`python -m slack.shares lab/pages` writes this page from lab/pages/slack-bar/loads.json, and measures what is missing.

## The algorithm

    for a packet of rank r, when F of all B places are free:
        quantile q of r: interpolated between 9 registers, each of which follows a quantile of the ranks and moves by
                                                     # 1 / (M + 20) of the local distance
        M += 1, at most 4096;  M -= M / (4096 p) if r lies above the last register, whose quantile is 1 - p
        c += ((no packet left since the last arrival) - c) / 16;  burst = c > 0.65
        e = 1 if F = B, else e - e / 256             # how lately nothing waited
        o = how full the parked queues are, the last quarter of all
        s += (0.6 - o) / (M + 512) + (1 / 64 if F = B), at most 1.05
                                                     # the share of the ranks that the link carries
        l = min(1, 2 (1 - s)), at least 0            # 0: the link carries all; 1: half of the ranks, or less
        limit of room A = F / B / (1 - (0.7 if burst else 0.2) e), at most 1
        limit of link A' = s (1.2 - o / 3)
        if q > (1 - l) A + l A' and F < B: refuse
        ends of room E_k = A (the sum over j <= k of w_j (free places of j)) / (the sum over all j)
        ends of link E'_k = s (1 - 0.1^(k / m)) for the m queues that are not parked; up to A' for the others
        queue k: the first with room for which q <= (1 - l) E_k + l E'_k; if there is none, drop
        unless burst, for each of the last 3 admitted packets whose queue j still holds packets:
            k >= j if its rank is at most r, k < j if it is higher

The weights w_j shrink by equal factors, the last one to `last_weight` (3/5) of the first; in a burst they grow to twice
the first.

## Why it works

- **Overload.** PACKS refuses the quantiles above F / B. At twice the link's rate half of the buffer has to be full for
  that, of packets that the last queues never send; the other half of the queues sort what is carried. Here the link's
  share s is a register of its own, an integral controller on the occupancy of the last quarter of the queues, and all
  other queues sort what is carried, with the slack between them shrinking geometrically ([slack.md](slack.md) has the
  derivation: equal ratios of slack are the optimum of a stationary priority queue, and
  [slack-optimum.md](slack-optimum.md) how far it is from the exact one). A measured load instead of s, an
  average of departures per arrival, was tried: it is too noisy, and ends that move to and fro leave packets of low rank
  behind those of higher ranks.
- **Below saturation** few packets wait, and what matters is their order among themselves. The last three admitted
  packets tell it: SP-PIFO has that knowledge in its bounds, each the rank of the packet that came last, and beats PACKS
  there.
- **The fraction.** A rank is compared with a register after a fraction in [0, 1) was added to it. Without it the share
  of ranks below a register would jump at each whole rank ([slack-dithered.md](slack-dithered.md)).
- **What is admitted.** PACKS refuses the quantiles above F / B: at a load of 0.9 that drops packets which the link
  would have sent. While the link has idle times there is no reason to: what is kept free, 1 - 0.2 e or 1 - 0.7 e of the
  buffer, is all of it only once nothing has run empty for some hundred arrivals. With a load from the occupancy alone
  instead of e, constant arrivals just above the link's rate had up to 20 times PACKS's inversions.
- **Order of registers.** Registers that pass one another find no distance between their neighbours and stop moving:
  ranks that drift then lie above all registers, and are refused. None passes the one below it.
- **Memory.** While the share p of the ranks lies above the last register, as it should, M stays near 4096; if more
  do, it falls in proportion, down to 4096 p = 38 for 80 places. With a constant memory start tags, which rise by their
  range in some hundred packets, all lay above the registers and were refused: small flows took up to 2.27 times as long
  as with the best of the five ([slack-times.md](slack-times.md)).
- **No queue before its own.** While s falls, at the start of an overload, all queues but the first fill with ranks that
  the link will hardly carry. Ranks that found only the first queue with room went there, before the best ranks: with
  Pareto ranks at twice the rate nine tenths of all inversions of a run, 12 to 45 times those of PACKS.

"""

_TAIL = """
## What does not hold

- **Bursts.** At four times the link's rate it has more inversions than PACKS, which drops four to ten times as much
  there, and than Exp-PIFO, which drops more still: a packet that is not there is not overtaken.
- **Few ranks.** With Pareto ranks at twice the link's rate 38 % of the packets have rank 0 and 13 % rank 1, so that the
  link carries rank 0 and nearly all of rank 1. PACKS with a window of 1000 has some ten inversions in a run there, and
  this scheduler some fifty, nearly all in the first 5,000 packets. With two ranks, nine tenths of one, most of the five
  have no inversion at all; this scheduler has a few while its registers find the ranks.
- **Drift.** Ranks that drift by their whole range in a run leave it behind PACKS with constant arrivals at 1.05 times
  the rate with 16 queues. Only ranks above all registers shorten the memory: ranks that fall are followed slowly.
- **Start.** s starts at 1 and needs about a thousand packets to fall to one half; registers start evenly spread over
  `ranks`.
- **Hardware.** The step of a register reads its neighbours, the occupancy of the parked queues comes from egress, and a
  quantile takes a division. There is neither an eBPF nor a P4 program of this form.
- **Tuning.** What is kept free, the targets and the number of recent packets were chosen in another program, on other
  seeds (11 to 51) and a part of these distributions; the form was chosen there, too. The memory and the drop of what
  finds only better queues were found on Pareto ranks (seeds 1, 2, 11, 12) and on completion times (seeds 31, 32).
"""


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
