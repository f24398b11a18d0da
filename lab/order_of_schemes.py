"""Measures how the papers' schemes rank by the mean completion time of small flows.

Writes lab/pages/order-of-schemes.md.

Usage: python lab/order_of_schemes.py [--quick | --share X] [--seeds N] [--only FIGURE] [--store DIR] [--out FILE]

SP-PIFO Fig. 8, AIFO Fig. 7, PACKS Fig. 12, RIFO Fig. 6 and Exp-PIFO Fig. 5, at loads of 0.3, 0.5 and 0.7, each in two
readings: what the paper's text says, and what its public code (or that of the paper whose settings it takes over) does.
The scenarios are those of `pifolab reproduce`. What is finished lies in the store and is not run again.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import polars as pl

from pifolab.export import table_lines, write_text
from pifolab.figures.palette import look
from pifolab.statistics import FEW_SEEDS, interval_or_range, ratio_interval
from pifolab.store import Store
from pifolab.sweep import run_sweep
from pifolab_papers.execute import experiments_folder, sweeps_of
from pifolab_papers.registry import Axis, Depth, Experiment, Registry, Variant, load_registry

ROOT = Path(__file__).resolve().parent.parent
LOADS = (0.3, 0.5, 0.7)
SMALL = "< 100 KB"


@dataclass(frozen=True)
class Figure:
    """One figure of a paper.

    `stated` are groups of schemes, the fastest first; what a paper calls close, similar or best together is one group,
    and within a group it states no order.
    """

    experiment: str
    title: str
    stated: tuple[tuple[str, ...], ...]
    quote: str
    #: The reading by the public code, where the registry has none.
    code: Mapping[str, object] | None = None
    code_length: str = ""
    code_note: str = ""
    #: Why the order differs, where it does and the reason has been measured.
    why: str = ""


FIGURES = (
    Figure(
        "sp-fig8",
        "SP-PIFO, Fig. 8",
        (("pifo",), ("sp-pifo",), ("dctcp",), ("tcp",)),
        "SP-PIFO is 16.54 to 32.5 % behind PIFO, 1.3 to 4.4 times ahead of DCTCP and 4.7 to 16.7 times ahead of TCP "
        "(section 6.1.1).",
    ),
    Figure(
        "ai-fig7",
        "AIFO, Fig. 7",
        (("pifo", "pieo", "sp-pifo", "aifo"), ("dctcp", "tcp")),
        "AIFO, PIFO, PIEO and SP-PIFO are much lower than TCP and DCTCP, especially at high load; PIFO and PIEO are "
        "the best, SP-PIFO is close to PIFO, AIFO close to both (section 5.1).",
        why="The reasons for the differences, measured with `experiments/aifo/fig7.toml` over 0.03 s:\n\n"
        "- *DCTCP*: the paper's own simulator, at its lowest load, ranks the schemes in the same order "
        "(`crates/sim/tests/reference/fig7-36000.csv.gz`): DCTCP 0.052, PIFO 0.061, SP-PIFO 0.067, AIFO 0.105, TCP "
        "0.130 ms.\n"
        "- *PIFO behind SP-PIFO*: in that simulator a receiver ignores data that overtakes the last segment of the "
        "handshake, which has the largest rank of its flow. At load 0.5 this makes 22 % of the small flows under PIFO "
        "wait for a timer. With `transport.accept_data_in_handshake = true` PIFO's mean at load 0.7 falls from 0.089 "
        "to 0.035 ms and SP-PIFO's from 0.087 to 0.076; DCTCP's stays at 0.106.\n"
        "- *AIFO*: with one packet in 15 sampled, its window lags behind. At load 0.5 its mean is 0.137 ms; with every "
        "packet in the window it is 0.104, and with 80 packets of buffer in addition, as the others have, 0.094.",
    ),
    Figure(
        "pk-fig12",
        "PACKS, Fig. 12",
        (("pifo",), ("packs",), ("sp-pifo",), ("aifo",), ("fifo",)),
        "PACKS is 5 to 9 % behind PIFO; ahead of SP-PIFO by 11 to 33 %, of AIFO by 2.25 to 2.6 times, of FIFO by "
        "3.2 to 9.2 times (section 6.2).",
    ),
    Figure(
        "ri-fig6",
        "RIFO, Fig. 6",
        (("rifo", "aifo", "sp-pifo", "pifo"),),
        "RIFO, AIFO, SP-PIFO and PIFO have a similar mean for small flows regardless of the load; PIFO's rises "
        "slightly at high load (section VI.B).",
        code={
            "topology.access_rate_gbps": 10,
            "topology.fabric_rate_gbps": 40,
            "port.idle": "bypass",
            "scheduler.pifo.capacity_packets": 79,
        },
        code_length="fabric-10g",
        code_note="10/40 Gb/s; loads as the published arrival rates came to; an idle port bypasses its scheduler; PIFO "
        "holds one packet fewer",
        why="The reason why AIFO differs from the others, measured with `experiments/rifo/fig6.toml` over 0.003 s with "
        "two seeds at load 0.7: its mean is 0.0200 ms; with every packet in its window instead of one in 15 it is "
        "0.0182, and with 80 packets of buffer in addition, as PIFO and SP-PIFO have, 0.0133. PIFO's mean rises most "
        "with the load, as the text says.",
    ),
    Figure(
        "ex-fig5",
        "Exp-PIFO, Fig. 5",
        (("exp-pifo", "pifo", "sp-pifo"),),
        "For this figure the text compares only large flows.",
    ),
)


def readings(figure: Figure, registry: Registry) -> list[Variant]:
    """Return the variants of the figure's experiment: the text's, and that of the public code."""
    experiment = registry.experiments[figure.experiment]
    if len(experiment.variants) > 1 or figure.code is None:
        return list(experiment.variants)
    paper = experiment.variants[0]
    maps = registry.experiments["ai-fig7"].variants[1].axes
    code = replace(
        paper,
        name="artefact",
        axes=maps,
        overrides={**paper.overrides, **figure.code},
        note=figure.code_note,
        length=figure.code_length,
    )
    return [paper, code]


def planned(registry: Registry, share: float, seeds: int) -> Registry:
    """Return the registry with a depth of our own, called `order`."""
    rows = registry.depths["default"].lengths
    lengths = {
        name: replace(
            row, duration_s=row.duration_s and round(share * row.duration_s, 9), seeds=seeds, artefact_seeds=seeds
        )
        for name, row in rows.items()
    }
    return replace(registry, depths={**registry.depths, "order": Depth("order", "", "", lengths)})


def measured(
    figure: Figure, variant: Variant, registry: Registry, store: Store, workers: int
) -> dict[float, dict[str, dict[int, float]]]:
    """Run what is missing; return mean completion times in ms by load, scheme and seed."""
    experiment: Experiment = replace(registry.experiments[figure.experiment], tables=("fct",))
    axes: tuple[Axis, ...] = tuple(replace(axis, values={"order": LOADS}) for axis in variant.axes)
    found: dict[float, dict[str, dict[int, float]]] = {}
    for sweep in sweeps_of(experiment, replace(variant, axes=axes), registry, "order", experiments_folder()):
        result = run_sweep(sweep, store, workers)
        for failure in result.failures:
            raise SystemExit(f"{failure.name}: {failure.reason}")
        rows = result.table("fct").filter(pl.col("class") == SMALL)
        for load, scheme, seed, mean_ns in rows.select("load", "scheduler", "seed", "mean_ns").iter_rows():
            found.setdefault(float(load), {}).setdefault(scheme, {})[seed] = mean_ns / 1e6
    return found


def name_of(scheme: str) -> str:
    """Return what readers call a scheme."""
    return {"tcp": "TCP", "dctcp": "DCTCP"}.get(scheme, look(scheme).label)


def apart(one: Mapping[int, float], other: Mapping[int, float]) -> bool:
    """Return whether every seed has `one` below `other`, and an interval of their ratio, if there is one, agrees."""
    below = all(one[seed] < other[seed] for seed in one)
    ratio = ratio_interval(other, one)
    return below and not ratio.low <= 1


def order(schemes: Mapping[str, Mapping[int, float]]) -> str:
    """Return the schemes from the fastest to the slowest; a wavy sign stands where seeds disagree."""
    ranked = sorted(schemes, key=lambda scheme: sum(schemes[scheme].values()))
    words = []
    for place, scheme in enumerate(ranked):
        if place:
            words.append("<" if apart(schemes[ranked[place - 1]], schemes[scheme]) else "~")
        words.append(f"{name_of(scheme)} {shown(schemes[scheme])}")
    return " ".join(words)


def shown(values: Mapping[int, float]) -> str:
    """Return a mean with its interval, or the range of few seeds."""
    estimate = interval_or_range(list(values.values()))
    return f"{estimate.value:.3g} [{estimate.low:.3g}, {estimate.high:.3g}]"


def against(figure: Figure, schemes: Mapping[str, Mapping[int, float]]) -> str:
    """Return what of the stated order does not hold."""
    pairs = [
        (faster, slower)
        for first, second in combinations(figure.stated, 2)
        for faster in first
        for slower in second
        if faster in schemes and slower in schemes
    ]
    wrong = []
    for faster, slower in pairs:
        if not apart(schemes[faster], schemes[slower]):
            ratio = sum(schemes[slower].values()) / sum(schemes[faster].values())
            sign = "behind" if apart(schemes[slower], schemes[faster]) else "not apart from"
            wrong.append(f"{name_of(faster)} is {sign} {name_of(slower)} (x{1 / ratio:.2f})")
    spread = []
    for group in figure.stated:
        means = [sum(schemes[scheme].values()) for scheme in group if scheme in schemes]
        if len(means) > 1:
            names = ", ".join(name_of(scheme) for scheme in group if scheme in schemes)
            spread.append(f"{names} within x{max(means) / min(means):.2f}")
    verdict = "; ".join(wrong) if wrong else ("as stated" if pairs else "")
    return "; ".join(part for part in (verdict, *spread) if part)


def page(registry: Registry, store: Store, arguments: argparse.Namespace) -> str:
    """Run everything and return the page."""
    seeds = arguments.seeds
    interval = "95 % intervals over the seeds" if seeds >= FEW_SEEDS else "the range of the seeds"
    lines = [
        "# How the schemes rank, by the mean completion time of small flows",
        "",
        *textwrap.wrap(
            f"Written by `python lab/order_of_schemes.py --share {arguments.share:g} --seeds {seeds}`. The tables "
            "rank the schemes by the mean completion time of web search flows below 100 KB that completed before the "
            f"end, in milliseconds with {interval}. `<` means that two schemes are in this order in every seed, `~` "
            "that they are not. `x1.09` is the ratio of two means. Settings are those of `pifolab reproduce`. "
            f"Simulated times are {arguments.share:g} of its default depth: {arguments.share:g} s at 1 Gb/s, a tenth "
            "of that at 10 Gb/s, and a hundredth at 100 Gb/s.",
            120,
        ),
    ]
    for figure in FIGURES:
        if arguments.only and figure.experiment not in arguments.only:
            continue
        lines += ["", f"## {figure.title}", "", figure.quote]
        for variant in readings(figure, registry):
            text = variant.name == "paper"
            reading = "Settings of the paper's text" if text else f"Settings of the public code: {variant.note}"
            rows = []
            found = measured(figure, variant, registry, store, arguments.workers)
            for load in sorted(found):
                rows.append([f"{load:g}", order(found[load]), against(figure, found[load])])
                print(f"{figure.title}, {variant.name}, {load:g}: {order(found[load])}", flush=True)
            head = ["load", "order, fastest first (ms)", "compared with the paper"]
            lines += ["", f"{reading}.", "", *table_lines(head, rows)]
        if figure.why:
            lines += ["", figure.why]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", dest="share", action="store_const", const=0.12, help="as --share 0.12")
    length.add_argument("--share", type=float, default=1.0, help="of the default depth of pifolab reproduce; default 1")
    parser.add_argument("--seeds", type=int, default=2, help="seeds 1 to N; default 2")
    parser.add_argument("--only", action="append", metavar="FIGURE", choices=[one.experiment for one in FIGURES])
    parser.add_argument("--workers", type=int, default=1, help="processes; default 1")
    parser.add_argument(
        "--store", type=Path, default=ROOT / "out" / "order-of-schemes", help="the folder of finished runs"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "lab/pages/order-of-schemes.md", help="the page to write")
    arguments = parser.parse_args()
    if arguments.seeds < 1 or arguments.share <= 0:
        parser.error("--seeds: expected at least 1; --share: expected a number above 0")
    registry = planned(load_registry(), arguments.share, arguments.seeds)
    write_text(page(registry, Store(arguments.store), arguments), arguments.out)


if __name__ == "__main__":
    main()
