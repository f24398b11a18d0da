"""Figures of a sweep from its store, with bands for the 95 % intervals; at any time, also half-way."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pifolab import _pifolab
from pifolab.catalogue import study_keys
from pifolab.errors import InputError
from pifolab.figures.choice import FigureChoice, Scale
from pifolab.figures.palette import MOST_DASHES, MOST_SHADES, Look, look, setting, share_a_hue
from pifolab.figures.style import COLUMN_INCHES, few_labels, figure_style, legend_outside, readable_log, subplots
from pifolab.section import Section, below
from pifolab.text import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pifolab.sweep.results import Group

#: From this ratio of the largest to the smallest value on, an axis is logarithmic.
_LOGARITHMIC = 30

#: A figure with more panels than this cannot be read.
_MOST_PANELS = 12

#: The least height in inches that a legend leaves for the panels.
_LEAST_INCHES = 1.0

#: How many labels the axis that is a ramp of one hue may have, and that which is the dash.
_MOST = (MOST_SHADES, MOST_DASHES)

#: A vertical label with more letters has several lines.
_LONGEST_LABEL = 32


@dataclass(frozen=True)
class Drawing:
    """How a study draws one of its metrics.

    Attributes
    ----------
    metric : str
        Its name.
    x, panel : str, optional
        As for `draw_metric`.
    x_scale, y_scale : "linear" or "log", optional
        The scales of the axes.
    labels : mapping of str to str
        What to call schedulers and the metric.
    """

    metric: str
    x: str | None
    panel: str | None
    x_scale: Scale | None
    y_scale: Scale | None
    labels: Mapping[str, str]

    @classmethod
    def read(cls, written: Any, place: str, metrics: Collection[str] | None, axes: Collection[str]) -> Drawing:
        """Read the table of a study file, given the names of `metrics` (None: unknown)."""
        section = Section(below(place), written, study_keys()["figure"])
        metric = section.text("metric")
        if metrics is not None and metric not in metrics:
            raise InputError(f"{section.at('metric')}: {_pifolab.unknown_name('metric', metric, list(metrics))}")
        texts: dict[str, Any] = {key: section.text(key) if key in section else None for key in ("x", "panel")}
        for key, axis in texts.items():
            if axis is not None and axis not in axes:
                raise InputError(f"{section.at(key)}: {_pifolab.unknown_name('axis', axis, list(axes))}")
        for key in ("x_scale", "y_scale"):
            texts[key] = section.text(key) if key in section else None
            if texts[key] not in (None, "linear", "log"):
                raise section.fault(key, "expected linear or log")
        labels = section.table.get("labels", {})
        if not isinstance(labels, Mapping) or not all(isinstance(text, str) for text in labels.values()):
            raise section.fault("labels", "expected a table of texts")
        return cls(metric, **texts, labels=dict(labels))


def draw_metrics(
    groups: Sequence[Group],
    x: str | None,
    panel: str | None,
    choice: FigureChoice,
    drawings: Sequence[Drawing] = (),
) -> dict[str, Figure]:
    """Draw every metric of `groups` as `draw_metric` does, and return the figures by metric.

    Settings that are not chosen here are those of the study's `drawings`.
    """
    check_labels(groups, choice.labels)
    figures = {}
    for metric in dict.fromkeys(group.metric for group in groups):
        mine = [group for group in groups if group.metric == metric]
        usual = Drawing(metric, None, None, None, None, {})
        here = next((one for one in drawings if one.metric == metric), usual)
        chosen = replace(
            choice,
            labels={**here.labels, **choice.labels},
            x_scale=choice.x_scale or here.x_scale,
            y_scale=choice.y_scale or here.y_scale,
        )
        figures[metric] = draw_metric(mine, x or here.x, panel or here.panel, chosen)
    return figures


def check_labels(groups: Sequence[Group], labels: Mapping[str, str]) -> None:
    """Refuse labels of names that are no scheduler, metric or axis of `groups`: they would have no effect."""
    known = dict.fromkeys(name for group in groups for name in (group.scheduler, group.metric, *group.axes) if name)
    for name in labels:
        if name not in known:
            raise InputError(f"--label {name}: {_pifolab.unknown_name('scheduler, metric or axis', name, list(known))}")


def figure_name(metric: str) -> str:
    """Return the part of a file's name that names the metric of a figure."""
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in metric)


def draw_metric(
    groups: Sequence[Group], x: str | None = None, panel: str | None = None, choice: FigureChoice | None = None
) -> Figure:
    """Draw one metric over the axis `x`: a line for each scheduler and other axis, a band for its interval.

    The hue says which scheduler a line is, its shade and marker the value on one more axis, its dash that on a second
    one. Further axes, and such with more values than can be told apart, have panels.

    Parameters
    ----------
    groups : sequence of Group
        The metric, for each combination and scheduler.
    x : str, optional
        An axis with numbers. Default: the first one that has several; without one, points side by side.
    panel : str, optional
        An axis with a panel for each value. Default: the first axis that is neither `x` nor the scheduler. A scheduler
        that does not have the axis is in every panel.
    choice : FigureChoice, optional
        What to call schedulers and the metric; scales (default: vertically linear, horizontally logarithmic where
        values differ by a factor of 30); and the size (default: one column of a paper, or a page for several panels).
    """
    choice = choice or FigureChoice()
    named = choice.labels
    if not groups:
        raise InputError("nothing to draw: no run has finished")
    names = [axis for axis in groups[0].axes if axis != "scheduler"]
    several = [axis for axis in names if len(_labels(groups, axis)) > 1]
    numeric = [axis for axis in several if _is_numeric(groups, axis)]
    for name, chosen in (("--x", x), ("--panel", panel)):
        if chosen is not None and chosen not in names:
            raise InputError(f"{name} {chosen}: expected one of the axes {', '.join(names) or '(there are none)'}")
    if x is None:
        x = numeric[0] if numeric else None
    elif not _is_numeric(groups, x):
        raise InputError(f"--x {x}: has no numbers; expected one of {', '.join(numeric) or '(there are none)'}")
    if panel is None:
        panel = next((axis for axis in several if axis != x), None)
    axes = [panel] if panel is not None else []
    # Points side by side have their names below them.
    series = _series(groups, x, axes) if x is None else _told_apart(groups, x, axes)
    panels = _panels(groups, axes)
    if len(panels) > _MOST_PANELS:
        raise InputError(
            f"--panel {', '.join(axes)}: has {len(panels)} values; expected at most {_MOST_PANELS} (--where chooses)"
        )
    with figure_style():
        columns = min(len(panels), 3)
        rows = math.ceil(len(panels) / columns)
        default = (COLUMN_INCHES if len(panels) == 1 else 2.6 * columns, 2.3 * rows)
        figure, grid = subplots(
            rows, columns, figsize=choice.size or default, squeeze=False, sharey=True, layout="constrained"
        )
        plots = [plot for row in grid for plot in row]
        looks = _looks(series, named, told_apart=x is not None)
        for plot, labels in zip(plots, panels, strict=False):
            here: dict[_Series, list[Group]] = {}
            for one, members in series.items():
                if drawn_here := [group for group in members if _is_in(group, axes, labels)]:
                    here[one] = drawn_here
            if x is None:
                _draw_points(plot, here, looks)
            else:
                _draw_lines(plot, here, x, looks)
            shown = [(axis, label) for axis, label in zip(axes, labels, strict=True) if label is not None]
            if shown:
                plot.set_title(drawn(", ".join(f"{named.get(axis, axis)} {label}" for axis, label in shown)))
        # Panels share the axis, whose range is known after the last panel is drawn.
        used = plots[: len(panels)]
        _vertical(used, groups, choice.y_scale)
        if x is not None:
            _horizontal(used, groups, x, named, choice.x_scale)
        for plot in plots[len(panels) :]:
            plot.set_visible(False)
        for row in grid:
            label = drawn(named.get(groups[0].metric, groups[0].metric.replace("_", " ")))
            row[0].set_ylabel("\n".join(textwrap.wrap(label, _LONGEST_LABEL)))
        if x is not None:
            handles = dict(pair for plot in used for pair in zip(*plot.get_legend_handles_labels()[::-1], strict=True))
            order = [one.label for one in looks.values()]
            entries = dict(sorted(handles.items(), key=lambda entry: order.index(entry[0])))
            height = legend_outside(figure, entries, "upper", 5, handlelength=3.0)
            wide, high = figure.get_size_inches()
            if choice.size is None:
                figure.set_size_inches(wide, high + height)
            elif high < height + _LEAST_INCHES:
                raise InputError(
                    f"size {wide:g}x{high:g}: the legend of {len(entries)} entries is {height:.1f} inches high; "
                    f"expected a height of at least {height + _LEAST_INCHES:.1f}"
                )
    return figure


class _Series(NamedTuple):
    """One line: a scheduler, and its labels on the axes that are neither horizontal nor have panels."""

    scheduler: str | None
    settings: tuple[tuple[str, Any], ...]

    @property
    def name(self) -> str:
        return self.called(self.scheduler, {})

    def called(self, scheduler: str | None, named: Mapping[str, str]) -> str:
        parts = [scheduler] if scheduler else []
        for axis, label in self.settings:
            known = named.get(axis, axis)
            parts.append(f"without {known}" if label is None else f"{known} {label}")
        return ", ".join(parts) or "all"


def _told_apart(groups: Sequence[Group], x: str | None, panels: list[str]) -> dict[_Series, list[Group]]:
    """Return the lines; axes that no shade or dash can show are added to `panels`."""
    while True:
        series = _series(groups, x, panels)
        levels = _levels(series)
        if len(levels) <= len(_MOST) and all(
            len(found) <= most for found, most in zip(levels.values(), _MOST, strict=False)
        ):
            return series
        movable = [axis for axis in levels if axis not in (x, *panels)]
        if not movable:
            raise InputError(f"{', '.join(levels)}: too many lines to be told apart; choose some with --where")
        panels.append(movable[0])


def _series(groups: Sequence[Group], x: str | None, panels: Sequence[str]) -> dict[_Series, list[Group]]:
    placed = (*panels, x)
    # A scheduler may have an axis in some combinations only: without it, it is another line.
    partly = {
        (group.scheduler, axis) for group in groups for axis in placed if axis and group.axes.get(axis) is not None
    }
    series: dict[_Series, list[Group]] = {}
    for group in groups:
        settings = tuple(
            (axis, label)
            for axis, label in group.axes.items()
            if axis != "scheduler"
            and ((label is None and (group.scheduler, axis) in partly) if axis in placed else label is not None)
        )
        series.setdefault(_Series(group.scheduler, settings), []).append(group)
    return series


def _levels(series: Iterable[_Series]) -> dict[str, list[Any]]:
    """Return the axes in which lines of one scheduler differ, with their labels; most labels first."""
    labels: dict[str, dict[str | None, dict[Any, None]]] = {}
    every = list(series)
    for axis in dict.fromkeys(axis for one in every for axis, _ in one.settings):
        for one in every:
            labels.setdefault(axis, {}).setdefault(one.scheduler, {})[dict(one.settings).get(axis, ...)] = None
    levels = {}
    for axis, of in labels.items():
        if any(len(found) > 1 for found in of.values()):
            found = list(dict.fromkeys(label for one in of.values() for label in one if label is not ...))
            numbers = all(isinstance(label, (int, float)) for label in found)
            levels[axis] = sorted(found) if numbers else found
    return dict(sorted(levels.items(), key=lambda level: -len(level[1])))


def _looks(series: Iterable[_Series], named: Mapping[str, str], *, told_apart: bool) -> dict[_Series, Look]:
    """Return the style of each line: a hue for the scheduler, a shade or dash for its settings."""
    every = list(series)
    names = list(dict.fromkeys(one.scheduler or "all" for one in every))
    levels = _levels(every) if told_apart else {}
    # An axis takes the shades.
    shades = not (levels and share_a_hue(names))
    looks: dict[_Series, Look] = {}
    for one in every:
        base = look(one.scheduler or "all", names, shades=shades)
        place: list[int | None] = [None, None]
        for at, (axis, labels) in enumerate(levels.items()):
            label = dict(one.settings).get(axis, ...)
            place[at] = None if label is ... else labels.index(label)
        ramp = len(next(iter(levels.values()), []))
        called = one.called(named.get(one.scheduler, base.label) if one.scheduler else None, named)
        looks[one] = replace(setting(base, place[0], ramp, place[1]), label=drawn(called))
    for what, of in (
        ("are called", lambda one: one.label),
        ("look", lambda one: (one.colour, one.dash, one.marker)),
    ):
        first: dict[Any, _Series] = {}
        for one, seen in looks.items():
            if told_apart and first.setdefault(of(seen), one) is not one:
                raise InputError(f"{first[of(seen)].name} and {one.name} {what} the same in a figure; leave one out")
    return looks


def _panels(groups: Sequence[Group], axes: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the labels of each panel. A line to which the axis does not apply is in every panel."""
    keys = list(dict.fromkeys(tuple(group.axes[axis] for axis in axes) for group in groups))
    return [key for key in keys if not any(_fits(key, other) for other in keys if other != key)]


def _is_in(group: Group, axes: Sequence[str], panel: tuple[Any, ...]) -> bool:
    return _fits(tuple(group.axes[axis] for axis in axes), panel)


def _fits(labels: tuple[Any, ...], panel: tuple[Any, ...]) -> bool:
    return all(label is None or label == there for label, there in zip(labels, panel, strict=True))


def _vertical(plots: Sequence[Axes], groups: Sequence[Group], scale: Scale | None) -> None:
    """Let the shared vertical axis hold every mean and interval, from 0 on or logarithmically."""
    means = [group.estimate.value for group in groups]
    ends = [end for group in groups for end in (group.estimate.low, group.estimate.high) if math.isfinite(end)]
    if scale == "log":
        if min(means) <= 0:
            raise InputError(f"--y-scale log: {groups[0].metric} is {min(means):g} for one: expected values above 0")
        above = [end for end in (*means, *ends) if end > 0]
        for plot in plots:
            plot.set_ylim(min(above) / 1.5, max(above) * 1.5)
            readable_log(plot, "y")
    elif min((*means, *ends)) >= 0:
        for plot in plots:
            plot.set_ylim(bottom=0)


def _horizontal(
    plots: Sequence[Axes], groups: Sequence[Group], x: str, named: Mapping[str, str], scale: Scale | None
) -> None:
    """Give all panels the same horizontal axis, which holds every value."""
    values = [group.axes[x] for group in groups if group.axes[x] is not None]
    positive = bool(values) and min(values) > 0
    if scale == "log" and values and not positive:
        raise InputError(f"--x-scale log: {x} has the value {min(values):g}: expected values above 0")
    logarithmic = positive and (scale == "log" or (scale is None and max(values) / min(values) >= _LOGARITHMIC))
    for plot in plots:
        if values and min(values) < max(values):
            low, high = min(values), max(values)
            edge = (high / low) ** 0.05 if logarithmic else (high - low) * 0.05
            plot.set_xlim(*((low / edge, high * edge) if logarithmic else (low - edge, high + edge)))
        if logarithmic:
            readable_log(plot, "x")
        elif values:
            few_labels(plot, values)
        plot.set_xlabel(drawn(named.get(x, x.replace("_", " "))))


def _draw_lines(plot: Axes, series: Mapping[_Series, list[Group]], x: str, looks: Mapping[_Series, Look]) -> None:
    # Where the axis does not apply (SP-PIFO has no window) the line goes from end to end.
    for one, members in series.items():
        style = looks[one]
        points = sorted(((group.axes[x], group.estimate) for group in members), key=lambda point: point[0] or 0)
        if points[0][0] is None:
            estimate = points[0][1]
            plot.axhline(estimate.value, color=style.colour, ls=style.dash, label=style.label)
            if math.isfinite(estimate.low):
                plot.axhspan(estimate.low, estimate.high, color=style.colour, alpha=0.2, lw=0)
            continue
        at = [value for value, _ in points]
        means = [estimate.value for _, estimate in points]
        # A single seed has no interval; its band is as thin as its line.
        low = [estimate.low if math.isfinite(estimate.low) else estimate.value for _, estimate in points]
        high = [estimate.high if math.isfinite(estimate.high) else estimate.value for _, estimate in points]
        plot.plot(at, means, color=style.colour, ls=style.dash, marker=style.marker, label=style.label)
        plot.fill_between(at, low, high, color=style.colour, alpha=0.2, lw=0)


def _draw_points(plot: Axes, series: Mapping[_Series, list[Group]], looks: Mapping[_Series, Look]) -> None:
    for at, (one, members) in enumerate(series.items()):
        style, (group,) = looks[one], members
        estimate = group.estimate
        error = None
        if math.isfinite(estimate.low):
            error = [[estimate.value - estimate.low], [estimate.high - estimate.value]]
        plot.errorbar([at], [estimate.value], yerr=error, color=style.colour, marker=style.marker, ls="none", capsize=2)
    plot.set_xticks(range(len(series)), [looks[one].label for one in series], rotation=60, ha="right")


def _labels(groups: Sequence[Group], axis: str) -> list[Any]:
    return list(dict.fromkeys(group.axes[axis] for group in groups if group.axes[axis] is not None))


def _is_numeric(groups: Sequence[Group], axis: str) -> bool:
    return all(isinstance(label, (int, float)) and not isinstance(label, bool) for label in _labels(groups, axis))
