"""Figures of runs on one link: inversions and drops per rank, queue bounds over time, the comparison of schedulers.

Each takes a polars frame with a column `scheduler`; where there are several seeds, lines are means over seeds and the
band goes from the smallest to the largest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pifolab.figures.curves import QUEUES, legend_above, schedulers_of
from pifolab.figures.palette import INK, Look, look, queue_groups
from pifolab.figures.style import (
    COLUMN_INCHES,
    PAGE_INCHES,
    figure_style,
    legend_outside,
    quantity,
    readable_log,
    subplots,
    time_axis,
)
from pifolab.lazy import np, pl

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More ranks than this are gathered into bins of equal width; of equal ratio on a logarithmic axis.
MAX_POINTS = 200
#: Ranks that reach this many times as far as the smallest are drawn on a logarithmic axis, if half of them lie in the
#: first tenth of what they span, as sizes do; ranks that are known to be sizes from a smaller ratio on.
LOG_RATIO, LOG_RATIO_OF_SIZES = 100, 5
#: Up to this many ranks are all marked, however far apart they lie.
FEW_RANKS = 16


def per_rank(
    frame: pl.DataFrame,
    value: str,
    label: str,
    order: Sequence[str] | None = None,
    *,
    rank_label: str = "Rank",
    sizes: bool = False,
) -> Figure:
    """Return a line for each scheduler: the sum of the column `value` against rank. A rank without a row counts as 0.

    `order` has the schedulers, also those without a row, in the order of the legend (default: as they come). Ranks that
    are `sizes` are drawn on a logarithmic axis; others are if they are spread like sizes.
    """
    names = list(order) if order is not None else schedulers_of(frame)
    present = np.unique(frame["rank"].to_numpy())
    log = _is_log(present, sizes=sizes)
    edges = _bins(present, log=log)
    # A few far ranks are drawn as they are; those between them occur nowhere.
    few = len(edges) - 1 == len(present)
    centres = present.astype(float) if few else (edges[:-1] + edges[1:] - 1) / 2
    with figure_style():
        figure, axes = subplots(figsize=(COLUMN_INCHES, 2.2))
        for name in names:
            lines = []
            for _, of_seed in _by_seed(frame.filter(scheduler=name)):
                ranks, values = of_seed["rank"].to_numpy(), of_seed[value].to_numpy()
                lines.append(np.histogram(ranks, bins=edges, weights=values)[0])
            _line(axes, centres, np.vstack(lines or [np.zeros(len(centres))]), look(name, names))
        binned = len(centres) < len(present)
        axes.set_xlabel(f"{rank_label} ({len(centres)} bins)" if binned else rank_label)
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.set_xlim(centres[0], centres[-1] if len(centres) > 1 else centres[0] + 1)
        if log:
            readable_log(axes, "x", from_zero=present[0] == 0)
        elif centres[-1] >= 10_000:
            # Labels of five digits and more, such as sizes of flows that are nearly the same, would meet one another.
            axes.locator_params(axis="x", nbins=4)
        legend_above(axes, len(names))
        return figure


def bounds_over_time(frame: pl.DataFrame) -> Figure:
    """Return a panel for each scheduler with queue bounds, and a line for each queue (0 has the highest priority)."""
    names = schedulers_of(frame)
    with figure_style():
        rows = max(len(names), 1)
        figure, panels = subplots(
            rows, 1, figsize=(COLUMN_INCHES, 0.4 + 1.25 * rows), sharex=True, squeeze=False, layout="constrained"
        )
        groups = queue_groups(int(frame["queue"].max() or 0) + 1 if len(frame) else 1)  # type: ignore[arg-type]
        lines: dict[str, Any] = {}
        for axes, name in zip(panels[:, 0], names, strict=True):
            mine = frame.filter(scheduler=name)
            for label, colour, queues in groups:
                for queue in queues:
                    line = mine.filter(queue=queue).sort("time_ns")
                    (lines[label],) = axes.step(
                        line["time_ns"] / 1e6, line["bound"], where="post", color=colour, linewidth=0.8
                    )
            axes.set_title(look(name, names).label, loc="left", pad=2)
            axes.set_ylabel("Bound (rank)")
            # Matplotlib would write a power of ten where the title is.
            axes.yaxis.set_major_formatter(lambda value, _: quantity(value))
        time_axis(panels[-1, 0])
        if len(lines) > 1:
            legend_outside(figure, lines, "upper", 8, labelcolor=INK, title=QUEUES)
        return figure


def _mean(values: pl.Series) -> float:
    """Return the mean of what was measured; NaN if nothing was."""
    known = values.drop_nulls()
    return float(known.mean()) if known.len() else float("nan")  # type: ignore[arg-type]


def comparison(
    frame: pl.DataFrame, columns: Sequence[tuple[str, str]], names: Sequence[str] = (), width: float = PAGE_INCHES
) -> Figure:
    """Return a table drawn as bars: a row for each scheduler, a column for each metric, the numbers beside the bars.

    `columns` are names of columns with their headings and units; `names` are all schedulers that colours tell apart,
    where some have no row; `width` is in inches.
    """
    every = schedulers_of(frame)
    looks = [look(name, list(names) or every) for name in every]
    with figure_style():
        figure, panels = subplots(
            1,
            len(columns),
            figsize=(width, 0.55 + 0.24 * len(every)),
            sharey=True,
            squeeze=False,
            layout="constrained",
        )
        for axes, (column, heading) in zip(panels[0], columns, strict=True):
            means = [_mean(frame.filter(scheduler=name)[column]) for name in every]
            _bars(axes, heading, means, [one.colour for one in looks])
        panels[0][0].set_yticks(range(len(every)), [one.label for one in looks])
        panels[0][0].invert_yaxis()
        return figure


def _bars(axes: Axes, heading: str, values: Sequence[float], colours: Sequence[str]) -> None:
    """Draw a bar for each of the `values` at the places 0, 1, ...; of one that is not finite there is a dash."""
    top = max([value for value in values if math.isfinite(value)], default=0.0) or 1.0
    for place, (value, colour) in enumerate(zip(values, colours, strict=True)):
        if not math.isfinite(value):
            axes.text(0, place, "-", va="center", fontsize=6.5, color=INK)
            continue
        axes.barh(place, value, color=colour, height=0.62)
        axes.text(value + top * 0.03, place, quantity(value), va="center", fontsize=6.5, color=INK)
    axes.set_xlim(0, top * 1.45)
    axes.set_title(heading, loc="left", pad=4, fontsize=7)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.grid(visible=False)
    axes.tick_params(left=False)


def _by_seed(frame: pl.DataFrame) -> list[tuple[Any, pl.DataFrame]]:
    if "seed" not in frame.columns:
        return [(None, frame)]
    return [(key, part) for key, part in frame.group_by("seed", maintain_order=True)]


def _is_log(ranks: np.ndarray[Any, Any], *, sizes: bool) -> bool:
    """Return whether the sorted `ranks` belong on a logarithmic axis."""
    if len(ranks) < 2:
        return False
    low, high = int(ranks[0]), int(ranks[-1])
    if sizes:
        return high > LOG_RATIO_OF_SIZES * max(low, 1)
    return high > LOG_RATIO * max(low, 1) and float(np.median(ranks)) < low + (high - low) / 10


def _bins(ranks: np.ndarray[Any, Any], *, log: bool) -> np.ndarray[Any, Any]:
    """Return the edges of bins that hold all of the sorted `ranks`."""
    if len(ranks) == 0:
        return np.array([0.0, 1.0])
    low, high = int(ranks[0]), int(ranks[-1])
    if len(ranks) <= FEW_RANKS:
        return np.append(ranks, high + 1).astype(float)
    if log:
        edges = np.geomspace(max(low, 1), high + 1, MAX_POINTS // 4 + 1)
        edges[0] = low
        return np.unique(np.round(edges))
    if high - low < MAX_POINTS:
        return np.arange(low, high + 2, dtype=float)
    return np.linspace(low, high + 1, MAX_POINTS + 1)


def _line(axes: Axes, x: np.ndarray[Any, Any], lines: np.ndarray[Any, Any], drawn: Look) -> None:
    every = max(len(x) // 8, 1) if len(x) > FEW_RANKS else 1
    # Markers of different lines start at different places, so that they do not hide each other.
    start = sum(map(ord, drawn.label)) % every
    axes.plot(
        x,
        lines.mean(axis=0),
        color=drawn.colour,
        linestyle=drawn.dash,
        marker=drawn.marker,
        markevery=(start, every),
        label=drawn.label,
    )
    if len(lines) > 1:
        axes.fill_between(x, lines.min(axis=0), lines.max(axis=0), color=drawn.colour, alpha=0.2, linewidth=0)
