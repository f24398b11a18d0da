"""Completion times of flows under ``slack-sp`` with ``map = shares``, by size class, beside the five in small fabrics.

``python -m slack.times lab/pages`` measures what lab/pages/slack-bar/times.json does not hold yet, and writes
slack-times.md.
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
from pifolab.runs import complete, run_text
from pifolab.scenario import inline_toml

__all__ = ["Setting", "main", "measure", "page", "settings"]

SEEDS = (401, 402)
DURATION_S = 0.1
LOADS = (0.3, 0.5, 0.8)
#: The rank of a packet, and the transport that goes with it.
RANKS: Mapping[str, str] = {
    "pFabric": '[transport]\nname = "pfabric"\n',
    "STFQ": '[transport]\nname = "dctcp"\n[port]\necn_threshold_bytes = 30_000\n[rank]\nname = "stfq"\n',
}
SIZES = ("web-search", "data-mining")
#: The smallest size of a class in bytes, and one beyond the largest.
CLASSES: Mapping[str, tuple[float, float]] = {
    "small": (0, 1e5),
    "middle": (1e5, 1e6),
    "large": (1e6, float("inf")),
}
SLACK = "slack-sp"
QUEUES: Mapping[str, Any] = {"queues": 8, "queue_capacity_packets": 10}
WHOLE: Mapping[str, Any] = {"capacity_packets": 80}
#: How far ranks reach when registers start, in bytes that are left, and in tags of 1024 per byte.
REACH = {"pFabric": 1_000_000, "STFQ": 100 * 1500 * 1024}


class Setting(NamedTuple):
    """What ranks are, the sizes of flows, and the load."""

    rank: str
    sizes: str
    load: float


def settings() -> Iterator[Setting]:
    """Yield all settings."""
    for rank in RANKS:
        for sizes in SIZES:
            for load in LOADS:
                yield Setting(rank, sizes, load)


def _scenario(setting: Setting, duration_s: float) -> str:
    schedulers: Sequence[tuple[str, Mapping[str, Any]]] = (
        ("pifo", WHOLE),
        ("sp-pifo", QUEUES),
        ("aifo", {**WHOLE, "window": 20, "k": "0.1"}),
        ("packs", {**QUEUES, "window": 20, "k": "0.1"}),
        ("rifo", {**WHOLE, "tracking_range_packets": 1000, "k": "0.1"}),
        ("exp-pifo", {**QUEUES, "window_packets": 5000, "r_min": 1500}),
        (SLACK, {**QUEUES, "map": "shares", "ranks": REACH[setting.rank]}),
    )
    tables = []
    for name, keys in schedulers:
        tables.append(
            "\n".join(["[[scheduler]]", f'name = "{name}"', *(f"{k} = {inline_toml(v)}" for k, v in keys.items())])
        )
    return f"""duration_s = {duration_s}
[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 6
access_rate_gbps = 1
fabric_rate_gbps = 3
delay_ns = 20
{RANKS[setting.rank]}[workload.flows]
arrivals = "poisson"
load = {setting.load}
sizes = "{setting.sizes}"
interpolation = "step-lower"
pairs = "uniform"
""" + "\n".join(tables)


def measure(
    setting: Setting, seeds: Sequence[int] = SEEDS, duration_s: float = DURATION_S
) -> dict[str, dict[str, list[float]]]:
    """Return by class and scheduler how many flows completed under every scheduler, and their mean time in ms."""
    run = complete(run_text(_scenario(setting, duration_s), f"{setting}", seeds=list(seeds)))
    flows = run.common_flows()
    found: dict[str, dict[str, list[float]]] = {}
    for label, (least, most) in CLASSES.items():
        within = flows.filter((pl.col("size_bytes") >= least) & (pl.col("size_bytes") < most))
        means = within.group_by("scheduler").agg(pl.len(), (pl.col("fct_ns").mean() / 1e6).alias("mean"))
        found[label] = {name: [count, mean] for name, count, mean in means.sort("scheduler").iter_rows()}
    return found


Found = Mapping[Setting, Mapping[str, Mapping[str, Sequence[float]]]]


def ratios(found: Found) -> Iterator[tuple[Setting, str, int, str, float]]:
    """Yield for each setting and class how many flows there are, the best of the five, and the ratio to it."""
    for setting, classes in found.items():
        for label, by_name in classes.items():
            five = {name: of[1] for name, of in by_name.items() if name not in (SLACK, "pifo")}
            if five:
                best = min(five, key=lambda name: five[name])
                yield setting, label, int(by_name[SLACK][0]), best, by_name[SLACK][1] / five[best]


def page(found: Found) -> str:
    """Return lab/pages/slack-times.md from what was stored."""
    rows = list(ratios(found))
    within = sum(ratio <= 1.02 for *_, ratio in rows)
    fewer = sum(ratio < 1 for *_, ratio in rows)
    worst = max(rows, key=lambda row: row[-1])
    where = f"{worst[0].rank}, {worst[0].sizes}, load {worst[0].load:g}, {worst[1]} flows, beside {worst[3]}"
    lines = [
        _HEAD.format(
            within=within,
            fewer=fewer,
            all=len(rows),
            worst=f"{worst[-1]:.2f} ({where})",
            seconds=DURATION_S,
            seeds=", ".join(map(str, SEEDS)),
        ),
        "| ranks | sizes | load | " + " | ".join(CLASSES) + " |",
        "|---|---|---|" + "---|" * len(CLASSES),
    ]
    by = {(setting, label): (count, best, ratio) for setting, label, count, best, ratio in rows}
    for setting in found:
        cells = []
        for label in CLASSES:
            count, best, ratio = by.get((setting, label), (0, "", 0.0))
            cells.append(f"{ratio:.2f} ({best}; {count})" if count else "-")
        lines.append(f"| {setting.rank} | {setting.sizes} | {setting.load:g} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


_HEAD = """# Completion times with shares

Mean completion times of flows under `map = shares` of [slack-sp](../../docs/schedulers/slack-sp.md), over those of the
best of SP-PIFO, AIFO, PACKS, RIFO and Exp-PIFO in each class of sizes: below 100 kB, below 1 MB, and larger. A small
fabric (4 leaves, 2 spines, 24 hosts at 1 Gb/s), {seconds} s, seeds {seeds}; eight queues of 10 packets, or one of 80;
windows of 20 and k = 0.1. Only flows that complete under every scheduler count; in brackets the best of the five and
how many flows there are. A class of a few flows says little.

Of {all} means it has at most 1.02 times the best in {within}, and less in {fewer}. The worst: {worst}.

Start tags (STFQ) rise with the virtual time of a port by their range in some hundred packets. Registers follow because
their memory shortens while ranks lie above all of them ([slack-shares.md](slack-shares.md)).

`python -m slack.times lab/pages` measures what slack-bar/times.json lacks, and writes this page.
"""


def main(argv: Sequence[str]) -> int:
    """Measure what is missing and write the page."""
    parser = argparse.ArgumentParser(prog="python -m slack.times", description=__doc__)
    parser.add_argument("folder", type=Path, help="where slack-times.md and the folder slack-bar are")
    arguments = parser.parse_args(argv)
    path = arguments.folder / "slack-bar/times.json"
    stored = json.loads(path.read_text()) if path.exists() else []
    for setting in list(settings())[len(stored) :]:
        stored.append([*setting, measure(setting)])
        write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in stored) + "\n]\n", path)
    write_text(page({Setting(*row[:3]): row[3] for row in stored}), arguments.folder / "slack-times.md")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
