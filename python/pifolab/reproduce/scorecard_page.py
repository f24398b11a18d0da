"""The scorecard as tables: for the terminal, as Markdown, and as a page of HTML that needs nothing but itself."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab import _pifolab, info
from pifolab.adversary.worst_cases import METRICS as WORST
from pifolab.export import table_lines
from pifolab.figures.palette import INK, look
from pifolab.figures.style import PAGE_INCHES, figure_style, save, subplots
from pifolab.report import html
from pifolab.report.words import glossary
from pifolab.reproduce import hardware
from pifolab.reproduce.scorecard import COLUMNS, NETWORKS, SETTINGS, Scorecard
from pifolab.statistics import Estimate
from pifolab.statistics.intervals import ENOUGH_SEEDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["conclusion_lines", "markdown", "page", "setup_lines", "tables"]

#: The tables of the page: heading, and the scenarios whose columns are in it.
_GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Order and drops on one link", ("uniform", "poisson", "exponential", "inverse-exponential")),
    (
        "Arrivals at random, below saturation and above",
        ("below-saturation", "poisson-arrivals-95", "poisson-arrivals-110"),
    ),
    ("Traffic that the scheduler has not seen", ("shift", "burst", "adversarial")),
    ("Fairness", ("fairness",)),
    ("Flows in a data centre", ("web-search", "data-mining", "hadoop")),
)

#: What is counted of a scheduler in a switch.
_STATE = ("registers", "table bytes", "state bits", "operations")

#: The metrics of which more is better; of all others less.
_MORE = ("lowest", "jain", "completed")

_METRICS = {heading: metric for heading, _, metric in COLUMNS}

#: What the figure shows.
_DRAWN = (
    "inversions (%), uniform", "Delta to PIFO, uniform", "inversions (%), shifting ranks",
    "inversions (%), adversarial order", "small FCT (ms), web search", "small p99 (ms), data mining",
)  # fmt: skip

#: What the columns mean.
_WORDS = (
    "inversions", "pairs", "magnitude", "misdrops", "lowest_dropped_rank", "delta", "reordered_packets", "jain", "fct",
    "registers", "operations", "worst", "interval",
)  # fmt: skip


def markdown(card: Scorecard) -> str:
    """Return the scorecard as Markdown: a column for each scheduler."""
    about = (
        f"Written by `pifolab scorecard` with pifolab {_pifolab.__version__}: {card.seeds} seeds, {_spans(card)} of "
        "`experiments/scorecard/`. Every scheduler has a buffer of 80 packets. Cells are means, with the 95 % interval "
        "in brackets if the seeds differ. Less is better, except for the lowest dropped rank, the Jain index and "
        "completed flows."
    )
    words = (
        "*Magnitude*: the rank of a packet that was sent minus the lowest rank that waited, summed over inversions.",
        "*Misdrops*: drops beyond those of PIFO, counted for each rank.",
        "*Registers* (of 32 bits) and *table bytes* are counted from the algorithms.",
        "*Operations*: comparisons with registers, look-ups and changes of registers for one packet, in the most "
        "expensive case.",
        "*Worst-case gaps* are proven: the largest over all traces of eight packets with ranks 1 to 4 and six packets "
        "of buffer ([worst-cases.md](worst-cases.md)).",
    )
    rows = [
        [heading, *(_shown(card.cells.get((name, heading))) for name in card.schedulers)]
        for heading, _, _ in COLUMNS
        if any((name, heading) in card.cells for name in card.schedulers)
    ]
    for key in (*_STATE, *(f"worst-case {metric} gap to PIFO" for metric in WORST)):
        rows.append([key, *("-" if row[key] is None else f"{row[key]:g}" for row in card.rows())])
    lines = [
        "# Scorecard: every scheduler on the same traffic",
        "",
        *textwrap.wrap(about, 120, break_on_hyphens=False),
        "",
        *(line for word in words for line in textwrap.wrap(f"- {word}", 120, subsequent_indent="  ")),
        "",
        *table_lines(["", *card.schedulers], rows),
    ]
    return "\n".join(lines) + "\n"


def page(card: Scorecard, folder: Path) -> str:
    """Return the scorecard as one page of HTML; its figure is written to `folder` and is part of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    sections = [html.Section("What was run", [html.listed(setup_lines(card))])]
    drawn = _draw(card)
    if drawn is not None:
        save(drawn, folder / "scorecard")
        caption = "Means and 95 % intervals; less is better."
        sections.append(html.Section("At a glance", [html.figure(folder / "scorecard.png", caption, wide=True)]))
    names = list(card.schedulers)
    for title, headings in _groups(card):
        best = {heading: _best(card, heading) for heading in headings}
        rows = [
            [
                html.scheduler_name(name, names),
                *(_page_cell(card.cells.get((name, heading)), name in best[heading]) for heading in headings),
            ]
            for name in names
        ]
        sections.append(html.Section(title, [html.table(["scheduler", *headings], rows)]))
    state = [[html.scheduler_name(row["scheduler"], names), *(row[key] for key in _STATE)] for row in card.rows()]
    about = "<p>Counted from the algorithms; a dash where nothing of the kind fits a switch.</p>"
    sections.append(html.Section("State in a switch", [about, html.table(["scheduler", *_STATE], state)]))
    sections.append(html.Section("Words", [glossary(_WORDS)]))
    sections.append(html.Section("What follows from it", [html.listed(conclusion_lines(card))]))
    lead = (
        f"pifolab {_pifolab.__version__}. Cells are means; in brackets the 95 % interval, where the seeds differ. The "
        "best of a column is bold; PIFO and PIEO, which no switch has, do not count."
    )
    return html.page("Scorecard: every scheduler on the same traffic", lead, sections)


def setup_lines(card: Scorecard) -> list[str]:
    """Return what was run, in a few lines."""
    return [
        f"{len(card.schedulers)} schedulers, each on the same packets or flows: {', '.join(card.schedulers)}",
        f"scenarios of experiments/scorecard/: {', '.join(card.seconds)}",
        f"{_spans(card)}; {_seeds(card)}; 80 packets of buffer for every scheduler",
    ]


def conclusion_lines(card: Scorecard) -> list[str]:
    """Return what follows from the numbers: which scheduler is best in how many columns, where, and how surely."""
    best = {heading: _best(card, heading) for heading, _, _ in COLUMNS}
    measured = [heading for heading, names in best.items() if names]
    if not measured:
        return ["Nothing that a switch could have was measured."]
    count = {name: sum(name in best[heading] for heading in measured) for name in card.schedulers}
    order = [name for name in sorted(count, key=lambda name: -count[name]) if count[name]]
    lines = [
        f"Best in how many of the {len(measured)} columns, ties counted for each: "
        + ", ".join(f"{name} {count[name]}" for name in order)
        + "."
    ]
    for heading in (one for one in _DRAWN if one in measured):
        winner = best[heading][0]
        own = card.cells[winner, heading]
        assert own is not None
        level = [
            name
            for name in card.schedulers
            if name not in best[heading] and not _is_ideal(name) and _meet(own, card.cells.get((name, heading)))
        ]
        also = f"; the intervals of {', '.join(level)} meet its own" if level else ""
        lines.append(f"{heading[0].upper()}{heading[1:]}: {', '.join(best[heading])} is best ({_shown(own)}){also}.")
    if card.seeds < ENOUGH_SEEDS:
        lines.append(f"{_seeds(card)} give intervals that are too narrow: run at least {ENOUGH_SEEDS}, better 10.")
    return lines


def _seeds(card: Scorecard) -> str:
    return "1 seed" if card.seeds == 1 else f"{card.seeds} seeds"


def _meet(one: Estimate, other: Estimate | None) -> bool:
    return other is not None and max(one.low, other.low) <= min(one.high, other.high)


def tables(card: Scorecard) -> Iterator[tuple[str, list[str], list[list[Any]]]]:
    """Return what a terminal shows: title, headings, and a row of means for each scheduler, table by table."""
    for title, headings in _groups(card):
        rows = [[name, *(_mean(card.cells.get((name, heading))) for heading in headings)] for name in card.schedulers]
        yield title, ["scheduler", *headings], rows
    worst = [f"worst-case {metric} gap to PIFO" for metric in WORST]
    state = [[row["scheduler"], *(row[key] for key in (*_STATE, *worst))] for row in card.rows()]
    yield "State in a switch, and the worst cases that are proven", ["scheduler", *_STATE, *worst], state


def _groups(card: Scorecard) -> Iterator[tuple[str, list[str]]]:
    """Return the columns that were measured, group by group."""
    for title, scenarios in _GROUPS:
        headings = [
            heading
            for heading, scenario, _ in COLUMNS
            if scenario in scenarios and any((name, heading) in card.cells for name in card.schedulers)
        ]
        if headings:
            yield title, headings


def _mean(one: Estimate | None) -> str | None:
    return None if one is None else f"{one.value:.3g}"


def _is_ideal(name: str) -> bool:
    """Whether it is a scheduler of the library that no switch has."""
    known = any(about.name == name for about in info.schedulers())
    return known and hardware.cost(name, SETTINGS.get(name)) is None


def _best(card: Scorecard, heading: str) -> list[str]:
    """Return the schedulers with the best mean, without the ideal ones."""
    means = {
        name: one.value
        for name in card.schedulers
        if not _is_ideal(name) and (one := card.cells.get((name, heading))) is not None
    }
    if not means:
        return []
    best = (max if _METRICS[heading] in _MORE else min)(means.values())
    return [name for name, mean in means.items() if mean == best]


def _page_cell(one: Estimate | None, best: bool) -> html.Html:
    shown = html.escape(_shown(one))
    return html.Html(f"<strong>{shown}</strong>" if best else shown)


def _draw(card: Scorecard) -> Figure | None:
    """Draw bars for each scheduler, a panel for each of a few columns; None if none of them was measured."""
    names = list(card.schedulers)
    headings = [heading for heading in _DRAWN if any((name, heading) in card.cells for name in names)]
    if not headings:
        return None
    with figure_style():
        rows = math.ceil(len(headings) / 3)
        figure, axes = subplots(
            rows, min(3, len(headings)), figsize=(PAGE_INCHES, 0.19 * len(names) * rows + 0.6 * rows), squeeze=False,
            sharey=True, layout="constrained",
        )  # fmt: skip
        panels = list(axes.flat)
        for panel, heading in zip(panels, headings, strict=False):
            for place, name in enumerate(names):
                one = card.cells.get((name, heading))
                if one is None:
                    continue
                panel.barh(place, one.value, height=0.7, color=look(name, names).colour)
                if one.low == one.low:
                    panel.plot([one.low, one.high], [place, place], color=INK, linewidth=1)
            panel.set_title(heading, loc="left", fontsize=7)
            panel.grid(visible=True, axis="x")
            panel.grid(visible=False, axis="y")
        for panel in panels[len(headings) :]:
            panel.set_visible(False)
        panels[0].set_yticks(range(len(names)), [look(name, names).label for name in names])
        panels[0].invert_yaxis()
    return figure


def _spans(card: Scorecard) -> str:
    """Return how long the scenarios of either kind ran."""
    kinds = {
        f"{length:g} s of each scenario on {'a network' if name in NETWORKS else 'one link'}"
        for name, length in card.seconds.items()
    }
    return " and ".join(sorted(kinds, reverse=True))


def _shown(one: Estimate | None) -> str:
    return "-" if one is None else f"{one:.3g}"
