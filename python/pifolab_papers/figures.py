"""Draws an experiment as its paper does: the same axes and curves, with our intervals as bands or whiskers.

What the paper states in numbers is marked by brackets in the colour of the scheduler that it is about. A number that
compares two schedulers is marked where it puts the first one, from what was measured of the second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab.figures.curves import draw_line, schedulers_of
from pifolab.figures.palette import INK, flow_colours, look, rank_colour
from pifolab.figures.style import PAGE_INCHES, figure_style, legend_outside, readable_log, save, subplots
from pifolab.lazy import np, pl
from pifolab.statistics import interval_or_range
from pifolab_papers.execute import Measured
from pifolab_papers.registry import Claim, Mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAMES = {"tcp": "TCP", "dctcp": "DCTCP"}

#: What brackets are called in a legend.
_BRACKET = "stated by the paper"

#: Bars of a paper's stated range.
_STATED = "#d62728"


def write_figures(
    measured: Mapping[tuple[str, str], Measured], folder: Path, claims: Iterable[Claim] = ()
) -> dict[tuple[str, str], str]:
    """Draw every experiment into `folder`, as PNG, SVG and PDF; return the names by experiment and variant.

    What `claims` state is marked.
    """
    names = {}
    claims = list(claims)
    for (experiment, variant), one in measured.items():
        name = f"{experiment}-{variant}"
        with figure_style():
            drawn = draw_experiment(one, _marks_of(claims, experiment))
        if drawn is not None:
            save(drawn, folder / name)
            names[experiment, variant] = name
    return names


def _marks_of(claims: Iterable[Claim], experiment: str) -> list[Mark]:
    """Return what `claims` state about the figure of one experiment."""
    parts = [part for claim in claims for part in claim.parts if part.experiment == experiment]
    return [part.mark for part in parts if part.mark is not None]


def draw_experiment(one: Measured, marks: Sequence[Mark] = ()) -> Figure | None:
    """Return the figure of one variant of an experiment, None where nothing was measured or nothing is drawn."""
    plot = dict(one.experiment.plot)
    kind = str(plot.pop("kind", ""))
    if kind not in _PAINTERS or not one.frames:
        return None
    figure = _PAINTERS[kind](one, plot, marks)
    variant = "" if one.variant.name == "paper" else f" ({one.variant.name})"
    figure.suptitle(f"{one.experiment.figure}: {one.experiment.title}{variant}", fontsize=8, x=0.01, ha="left")
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        entries |= dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    if entries:
        legend_outside(figure, entries, "lower", 6, markerscale=6 if kind == "arrivals" else None)
    return figure


def _panels(labels: Sequence[tuple[str, str]], height: float = 2.3) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel for each of `labels`, those of its two axes."""
    width = PAGE_INCHES if len(labels) > 1 else PAGE_INCHES * 0.6
    figure, grid = subplots(1, len(labels), figsize=(width, height), squeeze=False, layout="constrained")
    for axes, (x, y) in zip(grid[0], labels, strict=True):
        axes.set_xlabel(x)
        axes.set_ylabel(y)
    return figure, list(grid[0])


def _by_scheduler(frame: pl.DataFrame, x: str, y: str) -> tuple[Figure, list[tuple[Axes, str, pl.DataFrame]]]:
    """Return a figure with a panel for each scheduler, and with each panel its name and its rows."""
    names = schedulers_of(frame)
    figure, panels = _panels([(x, y)] * len(names))
    for axes, name in zip(panels, names, strict=True):
        axes.set_title(_label(name), loc="left")
    return figure, [(axes, name, frame.filter(scheduler=name)) for axes, name in zip(panels, names, strict=True)]


def _label(name: str) -> str:
    return _NAMES.get(name, look(name).label)


def _interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return mean, low and high: the 95 % interval, or the range of fewer than three seeds."""
    estimate = interval_or_range(values)
    return estimate.value, estimate.low, estimate.high


def _range(values: Sequence[float]) -> tuple[float, float, float]:
    return math.fsum(values) / len(values), min(values), max(values)


def _curves(
    axes: Axes,
    frame: pl.DataFrame,
    x: str,
    y: str,
    names: list[str],
    scale: float = 1.0,
    *,
    of: Callable[[Sequence[float]], tuple[float, float, float]] = _interval,
    marked: bool = True,
) -> None:
    """Draw each scheduler's mean over `x` with its band, which `of` returns for the values of several seeds."""
    for name in names:
        rows = frame.filter(scheduler=name).drop_nulls(y).group_by(x).agg(pl.col(y).cast(pl.Float64)).sort(x)
        if rows.height:
            mean, low, high = np.array([of(values) for values in rows[y].to_list()]).T * scale
            drawn = replace(look(name, names), label=_label(name))
            more = {"marker": drawn.marker} if marked else {}
            draw_line(axes, rows[x].to_numpy(), mean, (low, high), drawn, **more)


def _first_seed(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(frame["seed"] == frame["seed"].min())


def _thinned(rows: pl.DataFrame, most: int = 800) -> pl.DataFrame:
    return rows.gather_every(max(1, rows.height // most))


def _fct(one: Measured, plot: Mapping[str, Any], marks: Sequence[Mark]) -> Figure:
    frame, names = one.frames["fct"], list(plot["schedulers"])
    wanted: list[tuple[str, str]] = []
    for size in plot["sizes"]:
        wanted.append((size, "mean_ns"))
        if size == "small":
            wanted.append((size, "p99_ns"))
    labels = [(size, "mean" if column == "mean_ns" else "p99") for size, column in wanted]
    figure, panels = _panels([("load", f"{size} flows, {what} (ms)") for size, what in labels])
    for axes, (size, column) in zip(panels, wanted, strict=True):
        rows = frame.filter(size=size)
        _curves(axes, rows, plot["x"], column, names, 1e-6)
        stated = [one for one in marks if one.about == {"size": size, "column": column}]
        readable_log(axes, "y")
        _brackets(axes, rows, stated, plot["x"], column, names, 1e-6)
    return figure


def _brackets(
    axes: Axes, frame: pl.DataFrame, marks: Sequence[Mark], x: str, y: str, names: list[str], scale: float = 1.0
) -> None:
    """Mark stated ranges on curves over `x`, a little beside each other so that none hides another."""
    from matplotlib.transforms import offset_copy

    for place, mark in enumerate(marks):
        rows = frame.filter(scheduler=mark.over or mark.scheduler)
        colour = look(mark.scheduler, names).colour
        beside = offset_copy(axes.transData, axes.get_figure(root=True), x=3.0 * (place + 1), units="points")
        for at in sorted(rows[x].unique().to_list()) if mark.at is None else mark.at:
            measured = rows.filter(rows[x] == at)[y].drop_nulls().to_list()
            if not measured:
                continue
            unit = math.fsum(measured) / len(measured) * scale if mark.over else scale
            ends = [mark.low * unit, mark.high * unit]
            axes.plot([at, at], ends, color=colour, linewidth=0.9, marker="_", markersize=4, clip_on=False,
                      transform=beside)  # fmt: skip
            axes.update_datalim([(at, end) for end in ends])
    if marks:
        axes.autoscale_view()
        axes.plot([], [], color=INK, linewidth=0.9, marker="|", markersize=5, label=_BRACKET)


def _bars(one: Measured, plot: Mapping[str, Any], marks: Sequence[Mark]) -> Figure:
    frame, column = one.frames["schedulers"], plot["column"]
    names = schedulers_of(frame)
    figure, (axes,) = _panels([(plot["label"], "")], max(1.2, 0.28 * len(names) + 0.7))
    for place, name in enumerate(names):
        values = frame.filter(scheduler=name)[column].drop_nulls().to_list()
        if values:
            mean, low, high = _interval([float(value) for value in values])
            axes.barh(place, mean, color=look(name, names).colour, height=0.7)
            axes.plot([low, high], [place, place], color=INK, linewidth=1)
    count: dict[str, int] = {}
    for mark in marks:
        if mark.about != {"column": column} or mark.at is not None:
            continue
        measured = frame.filter(scheduler=mark.over)[column].drop_nulls().to_list() if mark.over else [1.0]
        if mark.scheduler not in names or not measured:
            continue
        unit = math.fsum(measured) / len(measured)
        # Several of one scheduler lie below each other.
        count[mark.scheduler] = count.get(mark.scheduler, 0) + 1
        at = names.index(mark.scheduler) - 0.45 + 0.18 * count[mark.scheduler]
        axes.plot([mark.low * unit, mark.high * unit], [at, at], color=_STATED, linewidth=1.2, marker="|", markersize=5)
    if count:
        axes.plot([], [], color=_STATED, linewidth=1.2, marker="|", markersize=5, label=_BRACKET)
    axes.set_yticks(range(len(names)), [_label(name) for name in names])
    axes.invert_yaxis()
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    return figure


def _lines(one: Measured, plot: Mapping[str, Any], marks: Sequence[Mark]) -> Figure:
    frame, x, column = one.frames["schedulers"], str(plot["x"]), plot["column"]
    names = schedulers_of(frame)
    figure, (axes,) = _panels([(x.replace("_", " "), plot["label"])])
    _curves(axes, frame, x, column, names)
    _brackets(axes, frame, [one for one in marks if one.about == {"column": column}], x, column, names)
    return figure


def _per_rank(one: Measured, plot: Mapping[str, Any], marks: Sequence[Mark]) -> Figure:
    frame, column = one.frames["ranks"], plot["column"]
    names = schedulers_of(frame)
    columns = [(column, plot["label"])] + ([("dropped", "dropped (packets)")] if column == "inversions" else [])
    figure, panels = _panels([("rank", label) for _, label in columns])
    for axes, (what, _) in zip(panels, columns, strict=True):
        _curves(axes, frame, "rank", what, names, of=_range, marked=False)
        if what == "dropped":
            _lowest_ranks(axes, marks, names)
    return figure


def _lowest_ranks(axes: Axes, marks: Sequence[Mark], names: list[str]) -> None:
    """Mark the lowest ranks that are stated to be dropped at the top, one row for each scheduler."""
    stated = [one for one in marks if one.about == {"column": "lowest_dropped_rank"} and one.over is None]
    for place, mark in enumerate(stated):
        height = 0.97 - 0.05 * place
        axes.plot([mark.low, mark.high], [height] * 2, transform=axes.get_xaxis_transform(), marker="|",
                  markersize=5, color=look(mark.scheduler, names).colour, linewidth=1.2)  # fmt: skip
    if stated:
        axes.plot([], [], color=INK, linewidth=1.2, marker="|", markersize=5, label="lowest dropped rank, stated")


def _over_time(one: Measured, plot: Mapping[str, Any], _marks: Sequence[Mark]) -> Figure:
    first, column = _first_seed(one.frames[plot["table"]]), plot["column"]
    axis = one.variant.axes[0].name if one.variant.axes else None
    figure, (axes,) = _panels([("time (ms)", plot["label"])])
    names = schedulers_of(first)
    for (of, *_), rows in first.group_by(axis or "scheduler", maintain_order=True):
        shown = _thinned(rows)
        label, colour = (f"{of:g} {axis}", None) if axis else (_label(str(of)), look(str(of), names).colour)
        axes.plot(shown["time_ns"] / 1e6, shown[column], label=label, color=colour, linewidth=0.9)
    if column == "unpifoness":
        readable_log(axes, "y")
    return figure


def _bandwidth(one: Measured, plot: Mapping[str, Any], marks: Sequence[Mark]) -> Figure:
    frame = one.frames["throughput"]
    figure, panels = _by_scheduler(_first_seed(frame), "time (ms)", "sent (Gb/s)")
    interval_ns = 1_000_000
    times = frame.select(pl.col("start_ns").unique().sort())
    for axes, name, sent in panels:
        for flow in sorted(frame["flow"].unique().to_list()):
            rows = times.join(sent.filter(flow=flow), on="start_ns", how="left").fill_null(0)
            (drawn,) = axes.plot(rows["start_ns"] / 1e6, rows["bytes"] * 8 / interval_ns, label=f"flow {flow + 1}")
            for mark in marks:
                if (mark.scheduler, mark.about.get("flow")) == (name, flow):
                    _share(axes, sent, mark, drawn.get_color())
    return figure


def _share(axes: Axes, sent: pl.DataFrame, mark: Mark, colour: Any) -> None:
    """Mark a stated share of the link over the interval that it is about."""
    start, end = float(mark.about["from_ns"]), float(mark.about["to_ns"])
    during = sent.filter(sent["start_ns"] >= start, sent["start_ns"] < end)
    whole = float(during["bytes"].sum()) * 8 / (end - start)
    for edge in {mark.low, mark.high}:
        axes.plot([start / 1e6, end / 1e6], [edge * whole] * 2, color=colour, linestyle=(0, (1, 1)), linewidth=1.6)
    axes.plot([], [], color=INK, linestyle=(0, (1, 1)), linewidth=1.6, label=_BRACKET)


def _by_size(one: Measured, plot: Mapping[str, Any], marks: Sequence[Mark]) -> Figure:
    frame, names = one.frames["flows"], list(plot["schedulers"])
    means = frame.drop_nulls("fct_ns").group_by("scheduler", "seed", "size_bytes").agg(pl.col("fct_ns").mean())
    figure, (axes,) = _panels([("flow size (bytes)", "mean completion time (ms)")])
    _curves(axes, means, "size_bytes", "fct_ns", names, 1e-6)
    readable_log(axes, "x")
    readable_log(axes, "y")
    stated = [one for one in marks if one.about == {"column": "fct_ns"}]
    _brackets(axes, means, stated, "size_bytes", "fct_ns", names, 1e-6)
    return figure


def _bounds(one: Measured, plot: Mapping[str, Any], _marks: Sequence[Mark]) -> Figure:
    figure, panels = _by_scheduler(_first_seed(one.frames["queue_samples"]), "time (ms)", "bound (rank)")
    for axes, _, rows in panels:
        for queue in sorted(rows["queue"].unique().to_list()):
            shown = _thinned(rows.filter(queue=queue))
            axes.plot(shown["time_ns"] / 1e6, shown["bound"], linewidth=0.7, label=f"queue {queue + 1}")
    return figure


def _delivered(one: Measured, plot: Mapping[str, Any], _marks: Sequence[Mark]) -> Figure:
    frame = one.frames["flows"]
    names = schedulers_of(frame)
    figure, (axes,) = _panels([("flow, in order of start", "delivered (Gb/s)")])
    width = 0.8 / len(names)
    early, late = min(frame["until_ms"]), max(frame["until_ms"])
    for place, name in enumerate(names):
        rows = frame.filter(scheduler=name)
        for flow in sorted(rows["flow"].unique().to_list()):
            both = rows.filter(flow=flow)
            gone = both.filter(until_ms=late)["acknowledged_bytes"] - both.filter(until_ms=early)["acknowledged_bytes"]
            rate = float(gone.mean()) * 8e-6 / (late - early)
            label = _label(name) if flow == 0 else None
            axes.bar(flow + 1 + place * width, rate, width, color=look(name, names).colour, label=label)
    axes.set_xticks(range(1, 1 + len(frame["flow"].unique())))
    return figure


def _queues(one: Measured, plot: Mapping[str, Any], _marks: Sequence[Mark]) -> Figure:
    """Draw the share of the drops that each queue has, a stack for each point of the axis."""
    x, frame = str(plot["x"]), one.frames["port_queues"]
    queues = frame["queue"].unique().sort(nulls_last=True).to_list()
    figure, panels = _by_scheduler(frame, x, "share of the drops")
    for axes, _, of_scheduler in panels:
        rows = of_scheduler.group_by(x, "queue").agg(pl.col("dropped_packets").sum())
        points = sorted(rows[x].unique().to_list())
        totals = [max(rows.filter(pl.col(x) == point)["dropped_packets"].sum(), 1) for point in points]
        bottom = [0.0] * len(points)
        for place, queue in enumerate(queues):
            found = dict(rows.filter(pl.col("queue").eq_missing(queue)).select(x, "dropped_packets").iter_rows())
            shares = [found.get(point, 0) / total for point, total in zip(points, totals, strict=True)]
            label = "none" if queue is None else f"queue {queue + 1}"
            colour = rank_colour(place / max(len(queues) - 1, 1))
            axes.bar([f"{point:g}" for point in points], shares, bottom=bottom, color=colour, label=label)
            bottom = [low + share for low, share in zip(bottom, shares, strict=True)]
    return figure


def _arrivals(one: Measured, plot: Mapping[str, Any], _marks: Sequence[Mark]) -> Figure:
    """Draw the rank of each data packet in order of arrival, a colour for each flow (first seed)."""
    frame = _first_seed(one.frames["arrival_order"])
    flows = sorted(frame["flow"].unique().to_list())
    figure, panels = _by_scheduler(frame, "packets, in order of arrival", "rank (millions)")
    for axes, _, of_scheduler in panels:
        rows = of_scheduler.head(int(plot["most"])).with_row_index("place")
        for flow, colour in zip(flows, flow_colours(len(flows)), strict=True):
            mine = _thinned(rows.filter(flow=flow), 1500)
            axes.plot(mine["place"], mine["rank"] / 1e6, ".", markersize=1, color=colour, label=f"flow {flow + 1}")
    return figure


_PAINTERS: Mapping[str, Callable[[Measured, Mapping[str, Any], Sequence[Mark]], Figure]] = {
    "fct": _fct, "bars": _bars, "lines": _lines, "per-rank": _per_rank, "over-time": _over_time,
    "bandwidth": _bandwidth, "by-size": _by_size, "bounds": _bounds, "delivered": _delivered, "queues": _queues,
    "arrivals": _arrivals,
}  # fmt: skip
