"""Draws an experiment as its paper does: the same axes and curves, with our intervals as bands or whiskers.

What the paper states in numbers is marked by brackets in the colour of the scheduler that it is about. A number that
compares two schedulers is marked where it puts the first one, from what was measured of the second.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab.figures.palette import INK, flow_colours, look, rank_colour
from pifolab.figures.style import PAGE_INCHES, figure_style, legend_outside, readable_log, save, subplots
from pifolab.lazy import pl
from pifolab.reproduce.execute import Measured
from pifolab.reproduce.registry import Claim, Mark
from pifolab.reproduce.verdict import ClaimVerdict
from pifolab.statistics import interval_or_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_claim", "draw_experiment", "write_figures"]

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
    painters: Mapping[str, Callable[[Measured, Mapping[str, Any], Sequence[Mark]], Figure]] = {
        "fct": _fct,
        "bars": _bars,
        "lines": _lines,
        "per-rank": _per_rank,
        "over-time": _over_time,
        "bandwidth": _bandwidth,
        "by-size": _by_size,
        "bounds": _bounds,
        "delivered": _delivered,
        "queues": _queues,
        "arrivals": _arrivals,
    }
    if kind not in painters or not one.frames:
        return None
    figure = painters[kind](one, plot, marks)
    variant = "" if one.variant.name == "paper" else f" ({one.variant.name})"
    figure.suptitle(f"{one.experiment.figure}: {one.experiment.title}{variant}", fontsize=8, x=0.01, ha="left")
    return figure


def _panels(count: int, height: float = 2.3) -> tuple[Figure, list[Axes]]:
    width = PAGE_INCHES if count > 1 else PAGE_INCHES * 0.6
    figure, axes = subplots(1, count, figsize=(width, height), squeeze=False, layout="constrained")
    return figure, list(axes[0])


def _label(name: str) -> str:
    return _NAMES.get(name, look(name).label)


def _summary(values: Sequence[float]) -> tuple[float, float, float]:
    """Return mean, low and high: the 95 % interval, or the range of fewer than three seeds."""
    estimate = interval_or_range(values)
    return estimate.value, estimate.low, estimate.high


def _curve(axes: Axes, frame: pl.DataFrame, x: str, y: str, name: str, names: list[str], scale: float = 1.0) -> None:
    """Draw one scheduler's mean over `x` with its band."""
    points = []
    for value in sorted(frame[x].unique().to_list()):
        numbers = [number * scale for number in frame.filter(frame[x] == value)[y].drop_nulls().to_list()]
        if numbers:
            points.append((value, *_summary(numbers)))
    if not points:
        return
    drawn = look(name, names)
    at = [point[0] for point in points]
    axes.plot(at, [point[1] for point in points], color=drawn.colour, linestyle=drawn.dash, marker=drawn.marker,
              label=_label(name))  # fmt: skip
    axes.fill_between(at, [point[2] for point in points], [point[3] for point in points], color=drawn.colour,
                      alpha=0.18, linewidth=0)  # fmt: skip


def _fct(one: Measured, plot: Mapping[str, Any], marks: Sequence[Mark]) -> Figure:
    frame, names = one.frames["fct"], list(plot["schedulers"])
    wanted: list[tuple[str, str]] = []
    for size in plot["sizes"]:
        wanted.append((size, "mean_ns"))
        if size == "small":
            wanted.append((size, "p99_ns"))
    figure, panels = _panels(len(wanted))
    for axes, (size, column) in zip(panels, wanted, strict=True):
        for name in names:
            _curve(axes, frame.filter(scheduler=name, size=size), plot["x"], column, name, names, 1e-6)
        stated = [one for one in marks if one.about == {"size": size, "column": column}]
        readable_log(axes, "y")
        _brackets(axes, frame.filter(size=size), stated, plot["x"], column, names, 1e-6)
        axes.set_xlabel("load")
        axes.set_ylabel(f"{size} flows, {'mean' if column == 'mean_ns' else 'p99'} (ms)")
    _legend(figure, *panels)
    return figure


def _brackets(
    axes: Axes, frame: pl.DataFrame, marks: Sequence[Mark], x: str, y: str, names: list[str], scale: float = 1.0
) -> None:
    """Mark stated ranges on curves over `x`, a little beside each other so that none hides another."""
    for place, mark in enumerate(marks):
        rows = frame.filter(scheduler=mark.over or mark.scheduler)
        colour = look(mark.scheduler, names).colour
        for at in sorted(rows[x].unique().to_list()) if mark.at is None else mark.at:
            measured = rows.filter(rows[x] == at)[y].drop_nulls().to_list()
            if not measured:
                continue
            unit = math.fsum(measured) / len(measured) * scale if mark.over else scale
            ends = [mark.low * unit, mark.high * unit]
            axes.plot([at, at], ends, color=colour, linewidth=0.9, marker="_", markersize=4, clip_on=False,
                      transform=_shifted(axes, 3.0 * (place + 1)))  # fmt: skip
            axes.update_datalim([(at, end) for end in ends])
    if marks:
        axes.autoscale_view()
        axes.plot([], [], color=INK, linewidth=0.9, marker="|", markersize=5, label=_BRACKET)


def _shifted(axes: Axes, points: float) -> Any:
    """Return data coordinates moved to the right."""
    from matplotlib.transforms import offset_copy

    return offset_copy(axes.transData, axes.get_figure(root=True), x=points, units="points")


def _legend(figure: Figure, *panels: Axes) -> None:
    """Draw one legend for all panels, each name once."""
    entries = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if entries:
        legend_outside(figure, entries, "lower", 6)


def _bars(one: Measured, plot: Mapping[str, Any], marks: Sequence[Mark]) -> Figure:
    frame, column = one.frames["schedulers"], plot["column"]
    names = frame["scheduler"].unique(maintain_order=True).to_list()
    figure, (axes,) = _panels(1, max(1.2, 0.28 * len(names) + 0.7))
    for place, name in enumerate(names):
        values = frame.filter(scheduler=name)[column].drop_nulls().to_list()
        if values:
            mean, low, high = _summary([float(value) for value in values])
            drawn = look(name, names)
            axes.barh(place, mean, color=drawn.colour, height=0.7)
            axes.plot([low, high], [place, place], color=INK, linewidth=1)
    _bar_brackets(axes, frame, marks, column, names)
    axes.set_yticks(range(len(names)), [_label(name) for name in names])
    axes.invert_yaxis()
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(plot["label"])
    _legend(figure, axes)
    return figure


def _bar_brackets(axes: Axes, frame: pl.DataFrame, marks: Sequence[Mark], column: str, names: list[str]) -> None:
    """Mark stated ranges at the bars, several of one scheduler below each other."""
    count: dict[str, int] = {}
    for mark in marks:
        if mark.about != {"column": column} or mark.at is not None:
            continue
        measured = frame.filter(scheduler=mark.over)[column].drop_nulls().to_list() if mark.over else [1.0]
        if mark.scheduler not in names or not measured:
            continue
        unit = math.fsum(measured) / len(measured)
        count[mark.scheduler] = count.get(mark.scheduler, 0) + 1
        at = names.index(mark.scheduler) - 0.45 + 0.18 * count[mark.scheduler]
        axes.plot([mark.low * unit, mark.high * unit], [at, at], color=_STATED, linewidth=1.2, marker="|", markersize=5)
    if count:
        axes.plot([], [], color=_STATED, linewidth=1.2, marker="|", markersize=5, label=_BRACKET)


def _lines(one: Measured, plot: Mapping[str, Any], marks: Sequence[Mark]) -> Figure:
    frame = one.frames["schedulers"]
    names = frame["scheduler"].unique(maintain_order=True).to_list()
    figure, (axes,) = _panels(1)
    for name in names:
        _curve(axes, frame.filter(scheduler=name), plot["x"], plot["column"], name, names)
    stated = [one for one in marks if one.about == {"column": plot["column"]}]
    _brackets(axes, frame, stated, plot["x"], plot["column"], names)
    axes.set_xlabel(str(plot["x"]).replace("_", " "))
    axes.set_ylabel(plot["label"])
    _legend(figure, axes)
    return figure


def _per_rank(one: Measured, plot: Mapping[str, Any], marks: Sequence[Mark]) -> Figure:
    frame, column = one.frames["ranks"], plot["column"]
    names = frame["scheduler"].unique(maintain_order=True).to_list()
    columns = [(column, plot["label"])] + ([("dropped", "dropped (packets)")] if column == "inversions" else [])
    figure, panels = _panels(len(columns))
    for axes, (what, label) in zip(panels, columns, strict=True):
        for name in names:
            rows = frame.filter(scheduler=name).group_by("rank").agg(
                pl.col(what).mean().alias("mean"), pl.col(what).min().alias("low"), pl.col(what).max().alias("high")
            ).sort("rank")  # fmt: skip
            drawn = look(name, names)
            axes.plot(rows["rank"], rows["mean"], color=drawn.colour, linestyle=drawn.dash, label=_label(name))
            axes.fill_between(rows["rank"], rows["low"], rows["high"], color=drawn.colour, alpha=0.18, linewidth=0)
        if what == "dropped":
            _lowest_ranks(axes, marks, names)
        axes.set_xlabel("rank")
        axes.set_ylabel(label)
    _legend(figure, *panels)
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
    frame, column = one.frames[plot["table"]], plot["column"]
    first = frame.filter(frame["seed"] == frame["seed"].min())
    axis = one.variant.axes[0].name if one.variant.axes else None
    figure, (axes,) = _panels(1)
    names = first["scheduler"].unique(maintain_order=True).to_list()
    for name in names:
        rows = first.filter(scheduler=name)
        for value in sorted(rows[axis].unique().to_list()) if axis else [None]:
            shown = rows if axis is None or value is None else rows.filter(rows[axis] == value)
            shown = shown.gather_every(max(1, shown.height // 800))
            label = _label(name) if value is None else f"{value:g} {axis}"
            colour = look(name, names).colour if value is None else None
            axes.plot(shown["time_ns"] / 1e6, shown[column], label=label, color=colour, linewidth=0.9)
    axes.set_xlabel("time (ms)")
    axes.set_ylabel(plot["label"])
    if column == "unpifoness":
        readable_log(axes, "y")
    _legend(figure, axes)
    return figure


def _bandwidth(one: Measured, plot: Mapping[str, Any], marks: Sequence[Mark]) -> Figure:
    frame = one.frames["throughput"]
    names = frame["scheduler"].unique(maintain_order=True).to_list()
    figure, panels = _panels(len(names))
    flows = sorted(frame["flow"].unique().to_list())
    interval_ns = 1_000_000
    first = frame.filter(frame["seed"] == frame["seed"].min())
    times = pl.DataFrame({"start_ns": sorted(frame["start_ns"].unique().to_list())})
    for axes, name in zip(panels, names, strict=True):
        for flow in flows:
            rows = times.join(first.filter(scheduler=name, flow=flow), on="start_ns", how="left").fill_null(0)
            (drawn,) = axes.plot(rows["start_ns"] / 1e6, rows["bytes"] * 8 / interval_ns, label=f"flow {flow + 1}")
            for mark in marks:
                if (mark.scheduler, mark.about.get("flow")) == (name, flow):
                    _share(axes, first.filter(scheduler=name), mark, drawn.get_color())
        axes.set_title(_label(name), loc="left")
        axes.set_xlabel("time (ms)")
        axes.set_ylabel("sent (Gb/s)")
    _legend(figure, *panels)
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
    figure, (axes,) = _panels(1)
    for name in names:
        _curve(axes, means.filter(scheduler=name), "size_bytes", "fct_ns", name, names, 1e-6)
    readable_log(axes, "x")
    readable_log(axes, "y")
    stated = [one for one in marks if one.about == {"column": "fct_ns"}]
    _brackets(axes, means, stated, "size_bytes", "fct_ns", names, 1e-6)
    axes.set_xlabel("flow size (bytes)")
    axes.set_ylabel("mean completion time (ms)")
    _legend(figure, axes)
    return figure


def _bounds(one: Measured, plot: Mapping[str, Any], _marks: Sequence[Mark]) -> Figure:
    frame = one.frames["queue_samples"]
    names = frame["scheduler"].unique(maintain_order=True).to_list()
    first = frame.filter(frame["seed"] == frame["seed"].min())
    figure, panels = _panels(len(names))
    for axes, name in zip(panels, names, strict=True):
        rows = first.filter(scheduler=name)
        for queue in sorted(rows["queue"].unique().to_list()):
            shown = rows.filter(queue=queue)
            shown = shown.gather_every(max(1, shown.height // 800))
            axes.plot(shown["time_ns"] / 1e6, shown["bound"], linewidth=0.7, label=f"queue {queue + 1}")
        axes.set_title(_label(name), loc="left")
        axes.set_xlabel("time (ms)")
        axes.set_ylabel("bound (rank)")
    _legend(figure, panels[0])
    return figure


def _delivered(one: Measured, plot: Mapping[str, Any], _marks: Sequence[Mark]) -> Figure:
    frame = one.frames["flows"]
    names = frame["scheduler"].unique(maintain_order=True).to_list()
    figure, (axes,) = _panels(1)
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
    axes.set_xlabel("flow, in order of start")
    axes.set_ylabel("delivered (Gb/s)")
    axes.set_xticks(range(1, 1 + len(frame["flow"].unique())))
    _legend(figure, axes)
    return figure


def _queues(one: Measured, plot: Mapping[str, Any], _marks: Sequence[Mark]) -> Figure:
    """Draw the share of the drops that each queue has, a stack for each point of the axis."""
    x, frame = plot["x"], one.frames["port_queues"]
    names = frame["scheduler"].unique(maintain_order=True).to_list()
    queues = frame["queue"].unique().sort(nulls_last=True).to_list()
    figure, panels = _panels(len(names))
    for axes, name in zip(panels, names, strict=True):
        rows = frame.filter(scheduler=name).group_by(x, "queue").agg(pl.col("dropped_packets").sum())
        points = sorted(rows[x].unique().to_list())
        totals = [max(rows.filter(pl.col(x) == point)["dropped_packets"].sum(), 1) for point in points]
        bottom = [0.0] * len(points)
        for place, queue in enumerate(queues):
            mine = rows.filter(pl.col("queue").eq_missing(queue))
            found = dict(mine.select(x, "dropped_packets").iter_rows())
            shares = [found.get(point, 0) / total for point, total in zip(points, totals, strict=True)]
            label = "none" if queue is None else f"queue {queue + 1}"
            colour = rank_colour(place / max(len(queues) - 1, 1))
            axes.bar([f"{point:g}" for point in points], shares, bottom=bottom, color=colour, label=label)
            bottom = [low + share for low, share in zip(bottom, shares, strict=True)]
        axes.set_title(_label(name), loc="left")
        axes.set_xlabel(str(x))
        axes.set_ylabel("share of the drops")
    _legend(figure, panels[0])
    return figure


def _arrivals(one: Measured, plot: Mapping[str, Any], _marks: Sequence[Mark]) -> Figure:
    """Draw the rank of each data packet in order of arrival, a colour for each flow (first seed)."""
    frame = one.frames["arrival_order"]
    frame = frame.filter(frame["seed"] == frame["seed"].min())
    names = frame["scheduler"].unique(maintain_order=True).to_list()
    flows = sorted(frame["flow"].unique().to_list())
    figure, panels = _panels(len(names))
    for axes, name in zip(panels, names, strict=True):
        rows = frame.filter(scheduler=name).head(int(plot["most"])).with_row_index("place")
        for flow, colour in zip(flows, flow_colours(len(flows)), strict=True):
            mine = rows.filter(flow=flow)
            mine = mine.gather_every(max(1, mine.height // 1500))
            axes.plot(mine["place"], mine["rank"] / 1e6, ".", markersize=1, color=colour, label=f"flow {flow + 1}")
        axes.set_title(_label(name), loc="left")
        axes.set_xlabel("packets, in order of arrival")
        axes.set_ylabel("rank (millions)")
    handles, labels = panels[0].get_legend_handles_labels()
    legend_outside(figure, dict(zip(labels, handles, strict=True)), "lower", len(labels), markerscale=6)
    return figure


def draw_claim(verdict: ClaimVerdict) -> Figure | None:
    """Return a figure of a claim's numbers beside what the paper states, None where there is nothing to show.

    Each row has a scale of its own: the stated range with its tolerance takes the middle third.
    """
    rows = [part for part in verdict.parts if part.measured]
    if not rows:
        return None
    names = [_wrapped(row.part.what) for row in rows]
    lines = max(name.count("\n") + 1 for name in names)
    with figure_style():
        height = max(0.32, 0.14 * lines + 0.06)
        figure, axes = subplots(figsize=(PAGE_INCHES, height * len(rows) + 0.6), layout="constrained")
        for place, row in enumerate(rows):
            low, high = (end if math.isfinite(end) else None for end in row.accepted)
            if low is None and high is None:
                continue
            span = (high - low) if low is not None and high is not None and high > low else 0.0
            unit = span or max(abs(high if low is None else low), abs(row.value), 1e-9) * 0.5  # type: ignore[arg-type]
            centre = (low + high) / 2 if low is not None and high is not None else (high if low is None else low)
            assert centre is not None

            def at(value: float, centre: float = centre, unit: float = unit) -> float:
                return max(-1.45, min(1.45, (value - centre) / unit))

            left = -1.5 if low is None else at(low)
            right = 1.5 if high is None else at(high)
            axes.barh(place, max(right - left, 0.012), left=left, height=0.62, color=_STATED, alpha=0.22)
            for end in (row.part.low, row.part.high):
                if math.isfinite(end):
                    axes.plot([at(end)] * 2, [place - 0.31, place + 0.31], color=_STATED, linewidth=1)
            axes.plot([at(row.low), at(row.high)], [place, place], color=INK, linewidth=1.4)
            axes.plot(at(row.value), place, marker="o", color=INK)
            axes.text(1.55, place, f"{row.value:.4g}", va="center", fontsize=7)
        axes.set_yticks(range(len(rows)), names)
        axes.set_xticks([])
        axes.set_xlim(-1.5, 1.9)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(visible=False)
        axes.spines["bottom"].set_visible(False)
    return figure


def _wrapped(text: str) -> str:
    """Return the text in lines that leave room for the figure beside it."""
    return textwrap.fill(text, 48, break_long_words=False)
