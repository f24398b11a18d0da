"""Completion times of flows: Slack-SP and Spring beside the five of the papers, in the settings of four figures.

``python -m slack.flows lab/pages`` runs PACKS Fig. 12 and 13 and SP-PIFO Fig. 7 and 8 as far as lab/pages/slack-flows
does not hold their times yet, and writes slack-flows.md from these files. What is finished of a figure lies in the
store and is not run again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pifolab.errors import InputError
from pifolab.export import table_lines, write_text
from pifolab.lazy import pl
from pifolab.statistics import Verdict, judge, ratio_interval
from pifolab.store import Store
from pifolab.sweep import Sweep, run_sweep
from pifolab.text import read_text
from pifolab_papers.execute import experiments_folder

__all__ = [
    "FIGURES",
    "FIVE",
    "LOADS",
    "MEASURES",
    "SHARES",
    "TUNED",
    "Figure",
    "Measured",
    "Times",
    "best_of_five",
    "load",
    "page",
    "says",
    "store",
    "sweep",
    "times",
]

LOADS = (0.2, 0.5, 0.8)
FIVE = ("sp-pifo", "packs", "aifo", "rifo", "exp-pifo")
#: slack-sp with map = shares.
SHARES = "slack-sp, shares"
#: slack-sp with the settings of slack-tuning.md.
TUNED = "slack-sp, tuned"
BEYOND = ("slack-sp", TUNED, SHARES, "spring")
#: What is compared: the papers' classes of sizes, the column of the table, and by how much it may be larger.
MEASURES = (
    ("small flows, mean", "< 100 KB", "mean_ns", 1.0),
    ("small flows, 99th percentile", "< 100 KB", "p99_ns", 1.0),
    ("large flows, mean", ">= 1 MB", "mean_ns", 1.05),
)

#: By measure, load, scheduler and seed.
Times = dict[str, dict[float, dict[str, dict[int, float]]]]


@dataclass(frozen=True)
class Figure:
    """The setting of a published figure, and what the schedulers are made with there."""

    title: str
    scenario: str
    queues: int
    depth: int
    #: PACKS's and AIFO's window and k.
    window: int
    k: str
    #: Slack-SP's and Spring's, by the kind of ranks.
    slack: Mapping[str, Any]
    tuned: Mapping[str, Any]
    spring: Mapping[str, Any]
    sizes: str
    #: How many seeds, from 1 on, and how much simulated time the page has.
    seeds: int = 2
    duration_s: float = 0.1
    #: Another start of a figure's registers: it has a table of its own, and does not count in the totals.
    is_variation: bool = False

    def shares(self) -> dict[str, Any]:
        """Return the options with shares: registers that start where Slack-SP's bounds do."""
        return {"map": "shares", "ranks": self.slack["ranks"]}

    def schedulers(self) -> list[dict[str, Any]]:
        """Return the table of schedulers of a scenario."""
        queues = {"queues": self.queues, "queue_capacity_packets": self.depth}
        whole = {"capacity_packets": self.queues * self.depth}
        window = {"window": self.window, "k": self.k}
        return [
            {"name": "pifo", **whole},
            {"name": "sp-pifo", **queues, "push_down": "cost", "on_full": "keep"},
            {"name": "packs", **queues, **window},
            {"name": "aifo", **whole, **window},
            {"name": "rifo", **whole, "tracking_range_packets": 1000, "k": self.k},
            {"name": "exp-pifo", **queues, "window_packets": 5000, "r_min": 1500},
            {"name": "slack-sp", **queues, **self.slack},
            {"name": "slack-sp", "label": TUNED, **queues, **self.slack, **self.tuned},
            {"name": "slack-sp", "label": SHARES, **queues, **self.shares()},
            {"name": "spring", **queues, **self.spring},
        ]


#: Ranks in bytes that are left: a bound moves in proportion, and starts below 1 MB.
_BYTES = (
    {"steps": "proportional", "step": "1/128", "ranks": 1_000_000},
    {"eps": "0.03", "step": "1/16"},
    {"speed": 10_000},
)
#: Start tags of 1024 per byte: a step is a packet of 1500 bytes.
_TAGS = (
    {"step": 1500 * 1024, "ranks": 100 * 1500 * 1024},
    {"eps": "0.2", "step": 4 * 1500 * 1024},
    {"speed": 1500 * 1024},
)

FIGURES: Mapping[str, Figure] = {
    "packs-12": Figure("PACKS Fig. 12", "packs/fig12.toml", 4, 10, 20, "0.1", *_BYTES, "web-search", 5, 0.15),
    "packs-13": Figure("PACKS Fig. 13", "packs/fig13.toml", 32, 10, 10, "0.2", *_TAGS, "web-search", 5),
    "sp-pifo-7": Figure("SP-PIFO Fig. 7", "sp-pifo/fig7.toml", 8, 10, 20, "0.1", *_BYTES, "data-mining", 5),
    "sp-pifo-8": Figure("SP-PIFO Fig. 8", "sp-pifo/fig7.toml", 8, 10, 20, "0.1", *_BYTES, "web-search", 5),
    "sp-pifo-8-near": Figure(
        "SP-PIFO Fig. 8 (registers start below 50 kB)",
        "sp-pifo/fig7.toml",
        8,
        10,
        20,
        "0.1",
        {**_BYTES[0], "ranks": 50_000},
        *_BYTES[1:],
        "web-search",
        5,
        is_variation=True,
    ),
}


def sweep(
    name: str,
    loads: Sequence[float],
    seeds: Sequence[int],
    duration_s: float,
    tables: Sequence[str] = ("fct",),
    settings: Mapping[str, Any] | None = None,
) -> Sweep:
    """Return the runs of one figure, with `settings` of the scenario in place of the figure's."""
    figure = FIGURES[name]
    written = {
        "scenario": str((experiments_folder() / figure.scenario).absolute()),
        "title": f"{figure.title}, and a scheduler beyond the five",
        "seeds": list(seeds),
        "axis": {"load": {"key": "workload.flows.load", "values": list(loads)}},
        "set": {
            "duration_s": duration_s,
            "workload.flows.sizes": figure.sizes,
            "scheduler": figure.schedulers(),
            **(settings or {}),
        },
        "tables": list(tables),
        "metrics": [],
    }
    return Sweep.from_dict(written, file=name)


def times(table: pl.DataFrame) -> Times:
    """Return completion times in milliseconds out of the runs' table `fct`."""
    found: Times = {}
    for label, sizes, column, _ in MEASURES:
        rows = table.filter(pl.col("class") == sizes).select("load", "scheduler", "seed", column)
        for load, scheduler, seed, value in rows.iter_rows():
            if value is not None:
                of_load = found.setdefault(label, {}).setdefault(float(load), {})
                of_load.setdefault(scheduler, {})[seed] = value / 1e6
    return found


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)


def best_of_five(of_load: Mapping[str, Mapping[int, float]]) -> str:
    """Return which of the five has the least mean over the seeds."""
    return min((name for name in FIVE if name in of_load), key=lambda name: _mean(of_load[name].values()))


#: What stands on both sides of a ratio whose interval is allowed as a whole, in part, or not at all.
_MARKS = {Verdict.REPRODUCED: "**", Verdict.INCONCLUSIVE: "*", Verdict.NOT_REPRODUCED: ""}


def _verdict(of: Mapping[int, float], best: Mapping[int, float], allowed: float) -> tuple[Verdict, str]:
    """Return the verdict on the ratio to the best of the five, and the ratio with its interval for a table."""
    common = sorted(of.keys() & best.keys())
    if len(common) < 2:
        return Verdict.NOT_REPRODUCED, "-"
    found = ratio_interval({seed: of[seed] for seed in common}, {seed: best[seed] for seed in common})
    verdict = judge(found, stated_high=allowed).finding
    mark = _MARKS[verdict]
    return verdict, f"{mark}{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]{mark}"


def _counts(verdicts: Sequence[Verdict]) -> str:
    met, inconclusive, missed = map(verdicts.count, _MARKS)
    return f"meets {met} of {len(verdicts)} rows, misses {missed}, and {inconclusive} are inconclusive"


@dataclass(frozen=True)
class Measured:
    """The times of a figure, and from what."""

    times: Times
    seeds: int
    duration_s: float
    revision: str

    def lacks(self, figure: Figure) -> list[str]:
        """Return the schedulers of the figure of which there are no times."""
        stored = {scheduler for loads in self.times.values() for of_load in loads.values() for scheduler in of_load}
        return sorted({row.get("label", row["name"]) for row in figure.schedulers()} - stored)


def store(path: Path, measured: Measured) -> None:
    """Write the times of a figure, each seed's, with what they were measured from."""
    rows = [
        [label, load, scheduler, seed, value]
        for label, loads in measured.times.items()
        for load, of_load in sorted(loads.items())
        for scheduler, seeds in of_load.items()
        for seed, value in sorted(seeds.items())
    ]
    about = {"revision": measured.revision, "seeds": measured.seeds, "duration_s": measured.duration_s}
    lines = ",\n".join(json.dumps(row) for row in rows)
    write_text(f'{json.dumps(about)[:-1]}, "milliseconds": [\n{lines}\n]}}\n', path)


def load(folder: Path) -> dict[str, Measured]:
    """Return by figure what lies in the folder.

    Raises
    ------
    InputError
        A file cannot be read, or is not such a file.
    """
    found = {}
    for name in FIGURES:
        path = folder / f"{name}.json"
        if not path.exists():
            continue
        try:
            written = json.loads(read_text(path))
            of_figure: Times = {}
            for label, load_, scheduler, seed, value in written["milliseconds"]:
                of_figure.setdefault(label, {}).setdefault(load_, {}).setdefault(scheduler, {})[seed] = value
            found[name] = Measured(of_figure, written["seeds"], written["duration_s"], written["revision"])
            if absent := found[name].lacks(FIGURES[name]):
                raise ValueError(f"no data about {', '.join(absent)}; --only {name} runs the figure anew")
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: expected times of flows, as this command stores them: {error}") from None
    return found


def page(found: Mapping[str, Measured]) -> str:
    """Return lab/pages/slack-flows.md from what was measured, by figure."""
    ran = ", ".join(FIGURES[name].title for name in found if not FIGURES[name].is_variation)
    if absent := [figure.title for name, figure in FIGURES.items() if name not in found]:
        ran += f" (not run: {', '.join(absent)})"
    revisions = ", ".join(dict.fromkeys(measured.revision for measured in found.values()))
    lines = [_HEAD.format(figures=ran, revisions=revisions)]
    for name, measured in found.items():
        figure = FIGURES[name]
        lines += [f"## {figure.title}, {measured.seeds} seeds of {measured.duration_s:g} s", ""]
        lines += [f"{figure.queues} queues of {figure.depth}, {figure.sizes};"]
        lines += [f"PACKS and AIFO with a window of {figure.window}, k = {figure.k}.", ""]
        rows = []
        for label, _, _, allowed in MEASURES:
            for at, of_load in sorted(measured.times.get(label, {}).items()):
                best = best_of_five(of_load)
                row = [label, f"{at:g}", f"{_mean(of_load['pifo'].values()):.3g}"]
                row += [f"{best} {_mean(of_load[best].values()):.3g}"]
                rows.append(row + [_verdict(of_load[beyond], of_load[best], allowed)[1] for beyond in BEYOND])
        lines += [*table_lines(["", "load", "PIFO (ms)", "best of the five (ms)", *BEYOND], rows), ""]
    lines += ["## What it says", ""]
    for beyond in BEYOND:
        lines += [*says(found, beyond), ""]
    return "\n".join(lines) + "\n" + _TAIL


def says(found: Mapping[str, Measured], scheduler: str) -> list[str]:
    """Return what is met by a scheduler, by figure and in all, and between which values the ratios are."""
    lines: list[str] = []
    counted: list[Verdict] = []
    met: list[str] = []
    between = ";\n  "
    for name, measured in found.items():
        verdicts, ranges = [], []
        for label, _, _, allowed in MEASURES:
            loads = measured.times.get(label, {}).values()
            pairs = [(of_load[scheduler], of_load[best_of_five(of_load)]) for of_load in loads]
            verdicts += [_verdict(*pair, allowed)[0] for pair in pairs]
            ratios = sorted(_mean(of.values()) / _mean(best.values()) for of, best in pairs)
            if ratios:
                ranges.append(f"{label}: {ratios[0]:.2f} to {ratios[-1]:.2f}")
        lines += [f"- {FIGURES[name].title}: {_counts(verdicts)}.", f"  Ratios of {between.join(ranges)}."]
        if all(verdict is Verdict.REPRODUCED for verdict in verdicts):
            met.append(FIGURES[name].title)
        counted += [] if FIGURES[name].is_variation else verdicts
    whole = f"It meets {', '.join(met)} as a whole." if met else "It meets no figure as a whole."
    return [f"In all, `{scheduler}` {_counts(counted)}. {whole}", "", *lines]


_HEAD = """# Completion times of flows: beyond the five

The bar of [slack.md](slack.md) has a second part, about the completion times of flows. Small flows (below 100 KB) must
complete no later than with the best of the five (SP-PIFO, PACKS, AIFO, RIFO, Exp-PIFO), in the mean and at the 99th
percentile. Large flows (1 MB and more) may take 5 % longer. The settings are those of published figures:
{figures}.
The seeds are 1 to N, and the simulated time is a fraction of the papers'; each heading names both.

Each cell is the ratio to the best of the five at that load with its 95 % interval, paired by seed. It is bold if the
whole interval is allowed (met), plain if none of it is (missed), and in italics else (inconclusive). Only flows that
complete within the run count. A row of the bar is a measure at a load. With five seeds intervals are an indication.

`python -m slack.flows lab/pages` writes this page from the times in lab/pages/slack-flows (measured at revision
{revisions}), and runs what is not there. `--only FIGURE` runs a figure anew; `--seeds N` and `--duration-s S` choose
more seeds or more time for it.

- `slack-sp` has bounds, and was not tuned here: eps is 0.1. For ranks in bytes the bounds move by 1/128 of themselves
  and start spread over 1 MB. For start tags (STFQ) they move by one packet of 1500 bytes, and start spread over 100.
- `slack-sp, tuned` has the eps and the step that were best on other seeds ([slack-tuning.md](slack-tuning.md)).
- `slack-sp, shares` is `map = shares` as it was at that revision, without the rules for overload, recent packets
  and idle times of [slack-shares.md](slack-shares.md); [slack-times.md](slack-times.md) has its present form. Its
  registers start spread over the same ranks as the bounds of slack-sp.
- `spring` was not tuned either: its speed is 10 kB, or one packet.
- RIFO tracks 1000 packets, and Exp-PIFO adapts every 5000.

The last table is a variation: SP-PIFO Fig. 8 with bounds and registers that start spread over 50 kB, to see what their
start does. It does not count in the totals.

"""

_TAIL = """Why rows are missed: [slack-tuning.md](slack-tuning.md) has what eps and the step change. In PACKS Fig. 13
start tags grow for ever, and bounds that move by one packet follow them too late; with faster bounds most of the loss
is gone, and some remains.
"""


def table_of(planned: Sweep, arguments: argparse.Namespace, table: str) -> pl.DataFrame:
    """Run a sweep as `--store` and `--workers` say, and return one of its tables."""
    result = run_sweep(planned, Store(arguments.store), arguments.workers)
    for failure in result.failures:
        raise InputError(f"{failure.name}: {failure.reason}")
    return result.table(table)


def run_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Declare `--store` and `--workers` of the command that writes the page `name`."""
    parser.add_argument("--workers", type=int, default=1, help="processes; default 1")
    parser.add_argument("--store", type=Path, default=Path("out") / name, help="the folder of finished runs")


def main(argv: Sequence[str]) -> int:
    """Run what is missing and write the page."""
    parser = argparse.ArgumentParser(prog="python -m slack.flows", description=__doc__)
    parser.add_argument("folder", type=Path, help="where slack-flows.md and the folder slack-flows are")
    parser.add_argument(
        "--only", action="append", metavar="FIGURE", choices=list(FIGURES), help="run this figure anew; may repeat"
    )
    parser.add_argument("--seeds", type=int, help="seeds 1 to N; default: as on the page")
    parser.add_argument("--duration-s", type=float, help="simulated seconds; default: as on the page")
    run_arguments(parser, "slack-flows")
    parser.add_argument("--revision", default="not given", help="the revision of the sources; stored with the times")
    arguments = parser.parse_args(argv)
    if arguments.seeds is not None and arguments.seeds < 2:
        raise InputError("--seeds: expected at least 2")
    if arguments.duration_s is not None and not 0 < arguments.duration_s < float("inf"):
        raise InputError("--duration-s: expected a number above 0")
    data = arguments.folder / "slack-flows"
    data.mkdir(parents=True, exist_ok=True)
    for name in arguments.only or [name for name in FIGURES if not (data / f"{name}.json").exists()]:
        seeds = arguments.seeds or FIGURES[name].seeds
        duration_s = arguments.duration_s or FIGURES[name].duration_s
        planned = sweep(name, LOADS, range(1, seeds + 1), duration_s)
        completed = times(table_of(planned, arguments, "fct"))
        store(data / f"{name}.json", Measured(completed, seeds, duration_s, arguments.revision))
    write_text(page(load(data)), arguments.folder / "slack-flows.md")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
