"""Figures of a sweep from its store, with bands for the 95 % intervals; at any time, also half-way."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.figures.choice import FigureChoice, Scale
from pifolab.figures.palette import look
from pifolab.figures.style import COLUMN_INCHES, figure_style, readable_log, subplots
from pifolab.section import Section, below
from pifolab.text import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pifolab.sweep.results import Group

__all__ = ["Drawing", "draw_metric", "draw_metrics", "figure_name"]

#: From this ratio of the largest to the smallest value on, an axis is logarithmic.
_LOGARITHMIC = 30

#: A figure with more panels than this cannot be read.
_MOST_PANELS = 12

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
        """Read what a study file says, where `metrics` are known (None: they are not).

        Raises
        ------
        InputError
            Something is wrong with it; the text begins with `place`.
        """
        section = Section(below(place), written, ("metric", "x", "panel", "x_scale", "y_scale", "labels"))
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

    What is not chosen here is as the study's `drawings` say.
    """
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


def figure_name(metric: str) -> str:
    """Return the part of a file's name that says which metric a figure shows."""
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in metric)


def draw_metric(
    groups: Sequence[Group], x: str | None = None, panel: str | None = None, choice: FigureChoice | None = None
) -> Figure:
    """Draw one metric over the axis `x`: a line for each scheduler and other axis, a band for its interval.

    Parameters
    ----------
    groups : sequence of Group
        The metric, for each combination and scheduler.
    x : str, optional
        An axis with numbers. Default: the first one that has several; without one, points side by side.
    panel : str, optional
        An axis with a panel for each value. Default: the first axis that is neither `x` nor the scheduler.
    choice : FigureChoice, optional
        What to call schedulers and the metric; scales (default: vertically linear, horizontally logarithmic where
        values differ by a factor of 30); and the size (default: one column of a paper, or a page for several panels).

    Raises
    ------
    InputError
        An axis is unknown, `x` has no numbers, or a scale is logarithmic for values that are not above 0.
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
    panels: list[Any] = _labels(groups, panel) if panel is not None else [None]
    if len(panels) > _MOST_PANELS:
        raise InputError(f"--panel {panel}: has {len(panels)} values; expected at most {_MOST_PANELS}")
    with figure_style():
        columns = min(len(panels), 3)
        rows = math.ceil(len(panels) / columns)
        default = (COLUMN_INCHES if len(panels) == 1 else 2.6 * columns, 2.3 * rows + 0.4)
        figure, grid = subplots(
            rows, columns, figsize=choice.size or default, squeeze=False, sharey=True, layout="constrained"
        )
        plots = [plot for row in grid for plot in row]
        for plot, label in zip(plots, panels, strict=False):
            here = [group for group in groups if panel is None or group.axes[panel] == label]
            if x is None:
                _draw_points(plot, here, panel, named)
            else:
                _draw_lines(plot, here, x, panel, named, choice.x_scale)
            if panel is not None:
                plot.set_title(drawn(f"{panel} {label}"))
        if choice.y_scale == "log":
            # Panels share the axis, which is linear until the last of them is drawn.
            for plot in plots[: len(panels)]:
                _logarithmic(plot, groups)
        for plot in plots[len(panels) :]:
            plot.set_visible(False)
        for row in grid:
            label = drawn(named.get(groups[0].metric, groups[0].metric.replace("_", " ")))
            row[0].set_ylabel("\n".join(textwrap.wrap(label, _LONGEST_LABEL)))
        if x is not None:
            handles = dict(pair for plot in plots for pair in zip(*plot.get_legend_handles_labels()[::-1], strict=True))
            figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=min(len(handles), 5))
    return figure


def _logarithmic(plot: Axes, groups: Sequence[Group]) -> None:
    """Make the vertical axis of a plot logarithmic, from below the smallest mean."""
    means = [group.estimate.value for group in groups]
    if min(means) <= 0:
        raise InputError(f"--y-scale log: {groups[0].metric} is {min(means):g} for one: expected values above 0")
    plot.set_ylim(min(means) / 1.5, max(means) * 1.5)
    readable_log(plot, "y")


def _draw_lines(
    plot: Axes, groups: list[Group], x: str, panel: str | None, named: Mapping[str, str], scale: Scale | None
) -> None:
    series: dict[str, list[Group]] = {}
    for group in groups:
        series.setdefault(_series_name(group, (x, panel)), []).append(group)
    # Where the axis does not apply (SP-PIFO has no window) the line goes from end to end.
    for name, members in series.items():
        style = look(members[0].scheduler or name, list(series))
        label = style.label if name == members[0].scheduler else drawn(name)
        if (chosen := named.get(name) or named.get(members[0].scheduler or "")) is not None:
            label = drawn(
                chosen if name in (*named, members[0].scheduler) else name.replace(members[0].scheduler or "", chosen)
            )
        flat = all(group.axes[x] is None for group in members)
        if flat:
            estimate = members[0].estimate
            plot.axhline(estimate.value, color=style.colour, ls=style.dash, label=label)
            if math.isfinite(estimate.low):
                plot.axhspan(estimate.low, estimate.high, color=style.colour, alpha=0.2, lw=0)
            continue
        known = [(group.axes[x], group.estimate) for group in members if group.axes[x] is not None]
        points = sorted(known, key=lambda point: point[0])
        at = [value for value, _ in points]
        means = [estimate.value for _, estimate in points]
        # A single seed has no interval; its band is as thin as its line.
        low = [estimate.low if math.isfinite(estimate.low) else estimate.value for _, estimate in points]
        high = [estimate.high if math.isfinite(estimate.high) else estimate.value for _, estimate in points]
        plot.plot(at, means, color=style.colour, ls=style.dash, marker=style.marker, label=label)
        plot.fill_between(at, low, high, color=style.colour, alpha=0.2, lw=0)
    values = [group.axes[x] for group in groups if group.axes[x] is not None]
    positive = bool(values) and min(values) > 0
    if scale == "log" and values and not positive:
        raise InputError(f"--x-scale log: {x} has the value {min(values):g}: expected values above 0")
    if positive and (scale == "log" or (scale is None and max(values) / min(values) >= _LOGARITHMIC)):
        readable_log(plot, "x")
    plot.set_xlabel(drawn(x.replace("_", " ")))
    plot.set_ylim(bottom=min(0.0, *(group.estimate.value for group in groups)))


def _draw_points(plot: Axes, groups: list[Group], panel: str | None, named: Mapping[str, str]) -> None:
    names = [_series_name(group, (panel,)) for group in groups]
    for at, group in enumerate(groups):
        style = look(group.scheduler or names[at], names)
        estimate = group.estimate
        error = None
        if math.isfinite(estimate.low):
            error = [[estimate.value - estimate.low], [estimate.high - estimate.value]]
        plot.errorbar([at], [estimate.value], yerr=error, color=style.colour, marker=style.marker, ls="none", capsize=2)
    plot.set_xticks(range(len(names)), [drawn(named.get(name, name)) for name in names], rotation=60, ha="right")
    plot.set_ylim(bottom=min(0.0, *(group.estimate.value for group in groups)))


def _series_name(group: Group, left_out: tuple[str | None, ...]) -> str:
    others = [
        f"{axis} {label}"
        for axis, label in group.axes.items()
        if label is not None and axis != "scheduler" and axis not in left_out
    ]
    return ", ".join([*([group.scheduler] if group.scheduler else []), *others]) or "all"


def _labels(groups: Sequence[Group], axis: str) -> list[Any]:
    return list(dict.fromkeys(group.axes[axis] for group in groups if group.axes[axis] is not None))


def _is_numeric(groups: Sequence[Group], axis: str) -> bool:
    return all(isinstance(label, (int, float)) and not isinstance(label, bool) for label in _labels(groups, axis))
