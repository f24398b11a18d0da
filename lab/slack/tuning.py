"""What Slack-SP's eps and step change in the completion times of flows, and which of them are best.

``python -m slack.tuning lab/pages`` runs a grid of both in the settings of four figures, with other seeds than
lab/pages/slack-flows.md, and writes lab/pages/slack-tuning.md. What is finished lies in the store and is not run again.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pifolab.export import table_lines, write_text
from slack.flows import FIGURES, LOADS, MEASURES, Times, run_arguments, sweep, table_of, times

__all__ = ["DURATION_S", "KINDS", "SEEDS", "best", "grid", "page", "ratios"]

SEEDS = (101, 102, 103)
DURATION_S = 0.1
PACKET = 1500 * 1024
#: By kind of ranks: the figures, the values of eps, and the steps with what they are called.
KINDS: Mapping[str, tuple[Sequence[str], Sequence[str], Mapping[str, Any]]] = {
    "bytes": (
        ("packs-12", "sp-pifo-7", "sp-pifo-8"),
        ("0.03", "0.06", "0.1", "0.2"),
        {f"1/{part}": f"1/{part}" for part in (128, 64, 32, 16)},
    ),
    "start tags": (
        ("packs-13",),
        ("0.02", "0.05", "0.1", "0.2"),
        {f"{packets} packet{'s' * (packets > 1)}": packets * PACKET for packets in (1, 4, 8, 16)},
    ),
}

#: The ratios to PACKS by scheduler and measure.
Ratios = dict[str, dict[str, float]]


def grid(kind: str) -> dict[str, dict[str, Any]]:
    """Return by label the settings that are compared."""
    _, shares, steps = KINDS[kind]
    return {f"{eps}, {called}": {"eps": eps, "step": step} for eps in shares for called, step in steps.items()}


def _schedulers(name: str, kind: str) -> list[dict[str, Any]]:
    figure = FIGURES[name]
    queues = {"queues": figure.queues, "queue_capacity_packets": figure.depth}
    slack = [{"name": "slack-sp", "label": label, **queues, **figure.slack, **own} for label, own in grid(kind).items()]
    return [{"name": "packs", **queues, "window": figure.window, "k": figure.k}, *slack]


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def ratios(found: Times) -> Ratios:
    """Return by scheduler and measure the ratio to PACKS of the means over the seeds, geometric mean over the loads."""
    of: dict[str, dict[str, list[float]]] = {}
    for measure, loads in found.items():
        for of_load in loads.values():
            base = sum(of_load["packs"].values()) / len(of_load["packs"])
            for scheduler, seeds in of_load.items():
                mean = sum(seeds.values()) / len(seeds)
                of.setdefault(scheduler, {}).setdefault(measure, []).append(mean / base)
    return {
        scheduler: {measure: _mean(values) for measure, values in measures.items()}
        for scheduler, measures in of.items()
    }


def best(found: Mapping[str, Ratios], kind: str) -> str:
    """Return the setting with the least ratios of small flows, geometric mean over the measures and figures."""
    small = [measure for measure, *_ in MEASURES if measure.startswith("small")]
    return min(grid(kind), key=lambda label: _mean([of[label][measure] for of in found.values() for measure in small]))


def page(found: Mapping[str, Ratios], seeds: Sequence[int] = SEEDS, duration_s: float = DURATION_S) -> str:
    """Return lab/pages/slack-tuning.md from the ratios, by figure."""
    loads = ", ".join(f"{load:g}" for load in LOADS)
    lines = [_HEAD.format(seeds=f"{seeds[0]} to {seeds[-1]}", duration_s=duration_s, loads=loads)]
    for kind, (figures, _, _) in KINDS.items():
        of_kind = {name: found[name] for name in figures}
        chosen = best(of_kind, kind)
        lines += [f"## Ranks are {kind}", "", f"Best for small flows: eps {chosen.replace(', ', ', step ')}.", ""]
        titles = [f"{FIGURES[name].title}: {measure}" for name in figures for measure, *_ in MEASURES]
        rows = []
        for label in grid(kind):
            cells = [f"{of_kind[name][label][measure]:.3f}" for name in figures for measure, *_ in MEASURES]
            rows.append([f"**{label}**" if label == chosen else label, *cells])
        lines += [*table_lines(["eps, step", *titles], rows), ""]
    return "\n".join(lines)


_HEAD = """# What eps and the step change in completion times

Slack-SP with bounds in the settings of [slack-flows.md](slack-flows.md): ratios of completion times to those of PACKS,
geometric means over loads {loads}, of the means of seeds {seeds} with {duration_s:g} s each. That page
judges the best of them on other seeds. PACKS is not the best of the five in every cell, so that ratios below 1 here may
be above 1 there.

A step is by how much a bound moves: a part of itself for ranks in bytes, packets of 1500 bytes for start tags. With
small steps bounds follow too late, and with large ones they miss the quantile by more. A large eps makes the first
queues narrow and the last one wide. `python -m slack.tuning lab/pages` writes this page.
"""


def main(argv: Sequence[str]) -> int:
    """Run what is missing and write the page."""
    parser = argparse.ArgumentParser(prog="python -m slack.tuning", description=__doc__)
    parser.add_argument("folder", type=Path, help="where slack-tuning.md is written")
    run_arguments(parser, "slack-tuning")
    arguments = parser.parse_args(argv)
    found = {}
    for kind, (figures, _, _) in KINDS.items():
        for name in figures:
            settings = {"scheduler": _schedulers(name, kind)}
            planned = sweep(name, LOADS, SEEDS, DURATION_S, settings=settings)
            found[name] = ratios(times(table_of(planned, arguments, "fct")))
    write_text(page(found), arguments.folder / "slack-tuning.md")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
