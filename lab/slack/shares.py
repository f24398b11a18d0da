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

PACKETS = 30_000
#: Nothing was tuned on them.
SEEDS = (201, 202, 203, 204, 205)
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
MEASURES = ("inversions", "misdrops", "drops", "pairs")


class Cell(NamedTuple):
    """A setting: the link's load and how packets come, their ranks, and the queues."""

    arrivals: str
    load: float
    ranks: str
    queues: int


def cells() -> Iterator[Cell]:
    """Yield all settings."""
    for arrivals in ARRIVALS:
        for load in LOADS:
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
    missing = list(cells())[len(stored) :]
    for cell in missing:
        stored.append([*cell, measure(cell)])
    if missing:
        write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in stored) + "\n]\n", path)
    write_text(page({Cell(*row[:4]): row[4] for row in stored}), arguments.folder / "slack-shares.md")
    return 0


class Judged(NamedTuple):
    """A cell's inversions and misdrops over those of the best of the five, and which that is."""

    cell: Cell
    best: str
    inversions: float
    misdrops: float


def judge(found: Mapping[Cell, Mapping[str, Sequence[float]]], like_drops: bool) -> list[Judged]:
    """Compare each cell in which packets of another rank waited with the best of the five in inversions.

    With `like_drops` the best is that of those which lose no more than half as much again beyond PIFO as the one that
    loses least, and at most a packet in a hundred that came.
    """
    judged = []
    for cell, by_label in found.items():
        among = {label: by_label[label] for label in FIVE}
        if like_drops:
            least = min(misdrops for _, misdrops, _, _ in among.values())
            among = {label: of for label, of in among.items() if of[1] <= max(1.5 * least, PACKETS / 100)}
        best = min(among, key=lambda label: among[label][0])
        if among[best][0] == 0:
            continue
        inversions, misdrops = (by_label[SLACK][place] / max(among[best][place], 1) for place in (0, 1))
        judged.append(Judged(cell, best, inversions, misdrops))
    return judged


def _summary(judged: Sequence[Judged]) -> list[str]:
    lines = [
        "| arrivals | load | fewer inversions | worst ratio | median | misdrops, median |",
        "|---|---|---|---|---|---|",
    ]
    for arrivals in ARRIVALS:
        for load in LOADS:
            of = [one for one in judged if (one.cell.arrivals, one.cell.load) == (arrivals, load)]
            if not of:
                continue
            ratios = sorted(one.inversions for one in of)
            misdrops = sorted(one.misdrops for one in of)
            worst = max(of, key=lambda one: one.inversions)
            where = f"{worst.cell.ranks}, {worst.cell.queues} queues, {worst.best}"
            fewer = sum(ratio < 1 for ratio in ratios)
            lines.append(
                f"| {arrivals} | {load:g} | {fewer} of {len(of)} | {worst.inversions:.2f} ({where}) "
                f"| {ratios[len(of) // 2]:.2f} | {misdrops[len(of) // 2]:.2f} |"
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


def page(found: Mapping[Cell, Mapping[str, Sequence[float]]]) -> str:
    """Return lab/pages/slack-shares.md from what was stored."""
    every, like = judge(found, like_drops=False), judge(found, like_drops=True)
    packs = [
        (of[SLACK][0] / of["PACKS, window 1000"][0], cell)
        for cell, of in found.items()
        if of["PACKS, window 1000"][0] and cell.load > 1.1
    ]
    spring = [of[SLACK][0] <= of["Spring"][0] for of in found.values() if of["Spring"][0]]
    # By how much less is sent than by PACKS: the link is idle where the buffer has run empty.
    base = "PACKS, window 1000"
    idle = {cell: (of[SLACK][2] - of[base][2]) / (PACKETS - of[base][2]) for cell, of in found.items()}
    worst = max(idle, key=lambda cell: idle[cell])
    head = _HEAD.format(
        idle=f"{100 * idle[worst]:.1f} % ({worst.arrivals} {worst.load:g}, {worst.ranks}, {worst.queues} queues)",
        seeds=f"{SEEDS[0]} to {SEEDS[-1]}",
        packets=PACKETS,
        like=_verdict(like),
        every=_verdict(every),
        packs=f"{min(packs)[0]:.2f} to {max(packs)[0]:.2f}",
        spring=f"{sum(spring)} of {len(spring)}",
    )
    lines = [head, "## At like drops", "", *_summary(like), "", *_beyond(like)]
    lines += ["## Whatever is dropped", "", _EVERY, "", *_summary(every), "", *_beyond(every)]
    return "\n".join(lines) + _TAIL


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

Above a load of 1.1 it has {packs} times the inversions of PACKS with a window of 1000. It has no more
inversions than Spring in {spring} cells. On-off loads of 0.5 and 0.9 differ in the pauses alone, and give the same
counts.

Where it sends least, it sends less than PACKS with a window of 1000 by {idle}. Under
overload it keeps fewer packets waiting, and where ranks drift its registers are late and it refuses more, so that the
link is idle at times.

`python -m slack.shares lab/pages` writes this page from lab/pages/slack-bar/loads.json, and measures what is missing.

## The algorithm

    for a packet of rank r, when F of all B places are free:
        quantile q of r: interpolated between 10 registers, each of which follows a quantile of the ranks
        c += ((no packet left since the last arrival) - c) / 16;  burst = c > 0.65
        o = how full the parked queues are, the last quarter of all
        s += (0.4 - o) / 4096, at most 1.05          # the share of the ranks that the link carries; faster at the start
        l = min(1, 2 (1 - s)), at least 0            # 0: the link carries all; 1: half of the ranks, or less
        limit of room A = (F + (-0.4 if burst else 2)) / B
        limit of link A' = s (1.1 - o / 4)
        if q > (1 - l) A + l A': refuse
        ends of room E_k = the sum over j <= k of w_j (free places of j)
        ends of link E'_k = s (1 - 0.1^(k / m)) for the m queues that are not parked; up to A' for the others
        queue k: the first with room for which q <= (1 - l) E_k + l E'_k
        unless burst, for each of the last 3 admitted packets whose queue j still holds packets:
            k >= j if its rank is at most r, k < j if it is higher

The weights w_j shrink by equal factors, the last one to `last_weight` (3/5) of the first; in a burst they grow to twice
the first. They are scaled so that an empty buffer takes every quantile.

## Why it works

- **Overload.** PACKS refuses the quantiles above F / B. At twice the link's rate half of the buffer has to be full for
  that, of packets that the last queues never send; the other half of the queues sort what is carried. Here the link's
  share s is a register of its own, an integral controller on the occupancy of the last quarter of the queues, and all
  other queues sort what is carried, with the slack between them shrinking geometrically ([slack.md](slack.md) has the
  derivation: equal ratios of slack are the optimum of a stationary priority queue). A measured load instead of s, an
  average of departures per arrival, was tried: it is too noisy, and ends that move to and fro leave packets of low rank
  behind those of higher ranks.
- **Below saturation** few packets wait, and what matters is their order among themselves. The last three admitted
  packets tell it: SP-PIFO has that knowledge in its bounds, each the rank of the packet that came last, and beats PACKS
  there.
- **The fraction.** A rank is compared with a register after a fraction in [0, 1) was added to it. Without it the share
  of ranks below a register would jump at each whole rank ([slack-dithered.md](slack-dithered.md)).
- **The margin of two places** costs inversions where the link is nearly saturated, and saves most of what PACKS drops
  below saturation.

"""

_TAIL = """
## What does not hold

- **Bursts.** At four times the link's rate nothing is gained over PACKS with exact quantiles while a burst lasts; gains
  there come from sustained overload. Exp-PIFO has fewer inversions, and drops one to three times as much beyond PIFO
  below saturation, and 5 to 23 times as much at a load of 1.5.
- **Few ranks.** Pareto ranks at twice the link's rate, constant arrivals: 38 % of the packets have rank 0 and 13 %
  rank 1, so that the link carries rank 0 and nearly all of rank 1. PACKS with a window of 1000 has some ten inversions
  in 30,000 packets there, and this scheduler over a hundred, at two to three times the misdrops. The line between
  registers is wrong inside a rank that many packets have.
- **Start.** s starts at 1 and needs about a thousand packets to fall to one half; registers start evenly spread over
  `ranks`. Under drifting ranks with constant arrivals at 1.05 times the link's rate they stay behind.
- **Misdrops below saturation** are with Poisson arrivals fewer than those of PACKS with a window of 1000 (a tenth at a
  load of 0.5, 0.6 times as many at 0.9), but more than those of PACKS with a window of 20 and of SP-PIFO, which drops
  only when its queues are full. In bursts they are up to 1.3 times those of PACKS with a window of 1000.
- **Completion times** were not measured with this form; those of [slack-flows.md](slack-flows.md) are of an earlier
  one.
- **Hardware.** The step of a register reads its neighbours, the occupancy of the parked queues comes from egress. There
  is neither an eBPF nor a P4 program of this form.
- **Tuning.** The margins, the target of 2/5 and the number of recent packets were chosen in another program with exact
  quantiles, on uniform and inverse exponential ranks with other seeds, under constant, Poisson and on-off arrivals; the
  form was chosen there, too.
"""


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
