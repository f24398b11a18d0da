"""The report of a sweep: settings, means with intervals, figures, ratios with verdicts, conclusions, words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.figures.choice import FigureChoice
from pifolab.figures.style import save
from pifolab.folder import whole_folder, write_json
from pifolab.quantities import count_text
from pifolab.report import html
from pifolab.statistics.intervals import ENOUGH_SEEDS
from pifolab.sweep.figure import Drawing, draw_metrics, figure_name
from pifolab.sweep.results import Compared, Group, LeftOut, groups_frame, statistics_rows

#: More reasons why runs are left out are not shown.
_MOST_LEFT_OUT = 20


def write_sweep_report(
    folder: Path,
    title: str,
    setup: Sequence[str],
    groups: Sequence[Group],
    compared: Sequence[Compared],
    left_out: Sequence[LeftOut],
    *,
    x: str | None = None,
    panel: str | None = None,
    choice: FigureChoice | None = None,
    drawings: Sequence[Drawing] = (),
    force: bool = False,
) -> Path:
    """Write report.html, statistics.json and figures/ to `folder`, completely or not at all, and return the report.

    The folder may not exist yet, unless `force` and all in it is what pifolab wrote. `setup` says what was run; `x`,
    `panel` and `choice` go before the study's own `drawings`.
    """
    chosen = choice or FigureChoice()
    figures = draw_metrics(groups, x, panel, chosen, drawings)
    with whole_folder(folder, force=force) as unfinished:
        (unfinished / "figures").mkdir()
        drawn = []
        for metric, figure in figures.items():
            name = figure_name(metric)
            save(figure, unfinished / "figures" / name)
            caption = f"{chosen.labels.get(metric, metric)}: means and 95 % intervals over the seeds."
            drawn.append(html.figure(unfinished / "figures" / f"{name}.png", caption, wide=len(figure.axes) > 1))
        headings, rows = statistics_rows(groups, chosen.labels)
        stated = any(one.verdict is not None for one in compared)
        words = ["interval", *(["ratio"] if compared else []), *(["verdict_ratio"] if stated else [])]
        sections = [
            html.Section("What was run", [html.listed([*setup, *_left(left_out)])]),
            html.Section("Means", [html.scheduler_table(headings, rows)]),
            html.Section("Figures", ['<div class="figures">', *drawn, "</div>"]),
            *([html.Section("Ratios", [html.listed(list(map(str, compared)))])] if compared else []),
            html.Section("Words", [html.glossary(words)]),
            html.Section("What follows from it", [html.listed(conclusion_lines(groups, compared))]),
        ]
        about = {"pifolab": _pifolab.__version__, "title": title, "setup": list(setup)}
        means = groups_frame(list(groups)).to_dicts()
        write_json(unfinished / "statistics.json", about | {"means": means})
        html.write_page(unfinished / "report.html", title, f"A sweep of pifolab {_pifolab.__version__}.", sections)
    return folder / "report.html"


def conclusion_lines(groups: Sequence[Group], compared: Sequence[Compared]) -> list[str]:
    """Return the conclusions: the verdicts, and the distances between the means."""
    lines = []
    verdicts = [one.verdict.verdict for one in compared if one.verdict is not None]
    if verdicts:
        counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
        lines.append(f"Of {count_text(len(verdicts), 'stated ratio')}: {counts}.")
    for metric in dict.fromkeys(group.metric for group in groups):
        mine = [group for group in groups if group.metric == metric]
        low, high = (pick(mine, key=_mean) for pick in (min, max))
        if len({group.scheduler for group in mine}) > 1:
            lines.append(f"{metric}: {_most_often(mine, min, 'smallest')}, {_most_often(mine, max, 'largest')}.")
        elif low is high:
            lines.append(f"{metric}: {low.estimate}.")
        else:
            apart = not low.random or low.estimate.high < high.estimate.low
            sure = "" if apart else "; their intervals overlap, so that chance may be the difference"
            lines.append(f"{metric}: from {low.estimate} ({low.name}) to {high.estimate} ({high.name}){sure}.")
    few = [group for group in groups if group.random and group.estimate.seeds < ENOUGH_SEEDS]
    if few:
        which = f"{len(few)} of {len(groups)} intervals come from fewer than {ENOUGH_SEEDS} seeds"
        lines.append(f"{which} and are too narrow: add some.")
    return lines


def _mean(group: Group) -> float:
    return group.estimate.value


def _most_often(groups: Sequence[Group], pick: Callable[..., Group], what: str) -> str:
    """Return which scheduler `pick` finds in most combinations of the axes that all groups have, and in how many.

    It counts where its interval overlaps with that of no other scheduler: elsewhere chance may be the difference.
    """
    shared = [
        axis for axis in groups[0].axes if axis != "scheduler" and all(one.axes[axis] is not None for one in groups)
    ]
    places: dict[tuple[Any, ...], list[Group]] = {}
    for group in groups:
        places.setdefault(tuple(group.axes[axis] for axis in shared), []).append(group)
    found = []
    for here in places.values():
        one = pick(here, key=_mean)
        others = [other for other in here if other.scheduler != one.scheduler]
        if others and all(one.apart(other) for other in others):
            alone = not shared and all(other is one or one.apart(other) for other in here)
            found.append(one.name if alone else one.scheduler)
    if not found:
        return f"none is the {what} for sure (the intervals overlap)"
    name = max(dict.fromkeys(found), key=found.count)
    where = "" if len(places) == 1 else f" (in {found.count(name)} of {len(places)} combinations)"
    return f"{what} with {name}{where}"


def _left(left_out: Sequence[LeftOut]) -> list[str]:
    lines = [f"left out: {one.name or one.run[:12]}: {one.reason}" for one in left_out[:_MOST_LEFT_OUT]]
    more = len(left_out) - len(lines)
    return [*lines, *([f"left out besides: {count_text(more, 'run')}"] if more > 0 else [])]
