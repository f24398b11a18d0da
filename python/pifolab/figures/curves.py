"""Figures over a parameter, over flow sizes, over shares and over queues, as in a paper's evaluation.

Each takes a polars frame with a column `scheduler`. Where the frame has the limits of intervals, they are drawn as a
band (bars: as whiskers); where it has several seeds instead, lines are means over the seeds and the band goes from the
smallest to the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pifolab.errors import InputError
from pifolab.figures.palette import INK, Look, look
from pifolab.figures.style import COLUMN_INCHES, figure_style, quantity, readable_log, subplots
from pifolab.lazy import np, pl

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Numbers = np.ndarray[Any, Any]

#: The most points that are distinguishable in one column's width.
CDF_POINTS = 400

#: The label of queue numbers, if queues are served in this order.
QUEUES = "Queue (0 leaves first)"

#: The most values that each have a tick.
_FEW_TICKS = 8

#: Classes of flow sizes in a decade, and the fewest completed flows of which a class is drawn.
_CLASSES_PER_DECADE, _FEWEST_FLOWS = 3, 5


def against(
    frame: pl.DataFrame,
    x: str,
    value: str,
    *,
    x_label: str,
    label: str,
    low: str | None = None,
    high: str | None = None,
    order: Sequence[str] | None = None,
    log_y: bool = False,
    x_ticks: bool = True,
) -> Figure:
    """Return a line for each scheduler: `value` against `x`, with a band from `low` to `high`.

    Parameters
    ----------
    frame : polars.DataFrame
        Columns `scheduler` (str), `x` and `value` (numeric), and, if given, `low` and `high` (numeric). Without those,
        several rows of one scheduler and `x` (seeds, say) are drawn as their mean with a band over all of them.
    x, value : str
        The columns to draw.
    x_label, label : str
        The labels of the axes, with their units.
    low, high : str, optional
        The columns with the limits of the interval.
    order : sequence of str, optional
        The schedulers in the order of the legend. Default: as they come.
    log_y : bool
        Whether the vertical axis is logarithmic; otherwise it starts at 0.
    x_ticks : bool
        Whether each value of `x` has its tick, if they are few.

    Raises
    ------
    InputError
        The frame lacks a column.
    """
    _need(frame, "scheduler", x, value, *[column for column in (low, high) if column is not None])
    names = list(order) if order is not None else schedulers_of(frame)
    with figure_style():
        figure, axes = subplots(figsize=(COLUMN_INCHES, 2.2))
        for name in names:
            points = (
                frame.filter(pl.col("scheduler") == name)
                .drop_nulls(value)
                .group_by(x)
                .agg(
                    pl.col(value).mean().alias("_value"),
                    (pl.col(low).mean() if low is not None else pl.col(value).min()).alias("_low"),
                    (pl.col(high).mean() if high is not None else pl.col(value).max()).alias("_high"),
                )
                .sort(x)
            )
            # A single seed has no interval: its band has no width.
            ends = [points[end].fill_nan(None).fill_null(points["_value"]).to_numpy() for end in ("_low", "_high")]
            drawn = look(name, names)
            means = points["_value"].to_numpy()
            draw_line(axes, points[x].to_numpy(), means, (ends[0], ends[1]), drawn, marker=drawn.marker)
        if log_y:
            readable_log(axes, "y")
        else:
            axes.set_ylim(bottom=0)
        values = frame[x].drop_nulls().unique().sort().to_list()
        if x_ticks and 1 < len(values) <= _FEW_TICKS:
            axes.set_xticks(values, [f"{at:g}" for at in values])
        axes.set_xlabel(x_label)
        axes.set_ylabel(label)
        legend_above(axes, len(names))
        return figure


def fct_against_load(
    frame: pl.DataFrame,
    value: str = "mean_ns",
    *,
    flows: str = "all flows",
    low: str | None = None,
    high: str | None = None,
    order: Sequence[str] | None = None,
) -> Figure:
    """Return completion times against offered load, a line for each scheduler.

    Parameters
    ----------
    frame : polars.DataFrame
        Columns `scheduler` (str), `load` (a share, from 0 to 1), `value` (in nanoseconds; a slowdown if its name ends
        in ``slowdown``), and perhaps `seed` or the columns `low` and `high`.
    value : str
        Such as ``mean_ns``, ``p99_ns`` or ``mean_slowdown``, as the table ``fct`` calls them.
    flows : str
        Which flows these are, for the label: ``flows < 100 KB``.
    low, high, order
        As for `against`.
    """
    statistic = value.split("_")[0]
    statistic = {"mean": "Mean", "p50": "Median", "p99": "99th-percentile", "p999": "99.9th-percentile"}.get(
        statistic, statistic
    )
    columns = [column for column in (value, low, high) if column is not None]
    _need(frame, "scheduler", "load", *columns)
    slowdown = value.endswith("slowdown")
    scale = 1.0 if slowdown else 1e6
    scaled = frame.with_columns(pl.col("load") * 100, *(pl.col(column) / scale for column in columns))
    what = "slowdown" if slowdown else "FCT (ms)"
    return against(
        scaled,
        "load",
        value,
        x_label="Offered load (% of the hosts' links)",
        label=f"{statistic} {what},\n{flows}",
        low=low,
        high=high,
        order=order,
    )


def cdf(frame: pl.DataFrame, value: str, *, label: str, scale: float = 1.0, share: str = "Share") -> Figure:
    """Return the cumulative distribution of `value`, a line for each scheduler, over all seeds.

    Parameters
    ----------
    frame : polars.DataFrame
        Columns `scheduler` (str) and `value` (numeric; null counts for nothing).
    value : str
        The column.
    label, share : str
        The labels of the axes: what `value` is, with its unit, and of what the share is.
    scale : float
        What `value` is divided by to have the unit of the label: 1e6 from nanoseconds to milliseconds.
    """
    _need(frame, "scheduler", value)
    names = schedulers_of(frame)
    with figure_style():
        figure, axes = subplots(figsize=(COLUMN_INCHES, 2.2))
        for name in names:
            found = frame.filter(pl.col("scheduler") == name)[value].drop_nulls().drop_nans()
            if not len(found):
                continue
            values = np.sort(found.to_numpy()) / scale
            shares = np.linspace(0, 1, min(len(values), CDF_POINTS))
            drawn = look(name, names)
            axes.plot(np.quantile(values, shares), shares, color=drawn.colour, linestyle=drawn.dash, label=drawn.label)
        readable_log(axes, "x")
        axes.set_xlabel(label)
        axes.set_ylabel(share)
        axes.set_ylim(0, 1)
        if axes.has_data():
            legend_above(axes, len(names))
        return figure


def fct_by_size(flows: pl.DataFrame) -> Figure:
    """Return mean completion times against flow size, a line for each scheduler.

    `flows` has the columns `scheduler` (str), `size_bytes` (int), `fct_ns` (int, null if unfinished), and `seed` (int)
    if there are several. Sizes are gathered into classes, three to a decade; classes with few completed flows are left
    out.
    """
    _need(flows, "scheduler", "size_bytes", "fct_ns")
    # A size on the border of two classes belongs to the upper one, whatever its logarithm is rounded to.
    edge = (pl.col("size_bytes").log10() * _CLASSES_PER_DECADE + 1e-9).floor()
    keys = ["scheduler", "_class", *(["seed"] if "seed" in flows.columns else [])]
    classes = (
        flows.drop_nulls("fct_ns")
        .with_columns(edge.alias("_class"))
        .group_by(keys, maintain_order=True)
        .agg((pl.col("fct_ns").mean() / 1e6).alias("_value"), pl.len().alias("_flows"))
        .filter(pl.col("_flows") >= _FEWEST_FLOWS)
        .with_columns((10 ** ((pl.col("_class") + 0.5) / _CLASSES_PER_DECADE) / 1e3).alias("_size"))
    )
    figure = against(
        classes,
        "_size",
        "_value",
        x_ticks=False,
        x_label="Flow size (KB)",
        label="Mean FCT (ms)",
        order=schedulers_of(flows),
        log_y=classes.height > 0,
    )
    if classes.height:
        readable_log(figure.axes[0], "x")
    return figure


def has_sizes(flows: pl.DataFrame) -> bool:
    """Return whether flows of different sizes are complete, enough of each for `fct_by_size`."""
    classes = flows.drop_nulls("fct_ns").group_by("scheduler", pl.col("size_bytes").log10().floor().alias("_decade"))
    return classes.len().filter(pl.col("len") >= _FEWEST_FLOWS)["_decade"].n_unique() > 1


def by_queue(
    frame: pl.DataFrame,
    value: str,
    label: str,
    *,
    queue_label: str = QUEUES,
    of: str = "queue",
) -> Figure:
    """Return bars of `value` for each queue, or each value of the column `of`, side by side for the schedulers.

    Parameters
    ----------
    frame : polars.DataFrame
        Columns `scheduler` (str), `queue` (int, 0 leaves first; null for packets of no queue), `value` (numeric),
        and `seed` (int) if there are several. Rows of one scheduler, seed and queue (ports, say) are added up; whiskers
        go from the smallest to the largest of the seeds.
    value : str
        The column to draw, such as ``dropped_packets`` or ``sent_packets``.
    label : str
        The label of the vertical axis, with its unit.
    queue_label : str, optional
        The label of the horizontal axis. The default is for queues of which the first goes before all others.
    """
    _need(frame, "scheduler", of, value)
    names = schedulers_of(frame)
    keys = ["scheduler", of, *(["seed"] if "seed" in frame.columns else [])]
    sums = frame.group_by(keys).agg(pl.col(value).sum())
    bars = sums.group_by("scheduler", of).agg(
        pl.col(value).mean().alias("_value"),
        pl.col(value).min().alias("_low"),
        pl.col(value).max().alias("_high"),
    )
    queues = frame[of].unique(maintain_order=True).to_list()
    if of == "queue":
        queues.sort(key=lambda queue: (queue is None, queue))
    with figure_style():
        figure, axes = subplots(figsize=(COLUMN_INCHES, 2.0))
        width = 0.8 / max(len(names), 1)
        for place, name in enumerate(names):
            rows = {row[of]: row for row in bars.filter(pl.col("scheduler") == name).iter_rows(named=True)}
            at = np.arange(len(queues)) + (place - (len(names) - 1) / 2) * width
            found = [rows.get(queue, {"_value": 0, "_low": 0, "_high": 0}) for queue in queues]
            heights = [row["_value"] for row in found]
            drawn = look(name, names)
            axes.bar(at, heights, width, color=drawn.colour, label=drawn.label)
            if any(row["_high"] > row["_low"] for row in found):
                whiskers = [
                    [max(row["_value"] - row["_low"], 0) for row in found],
                    [max(row["_high"] - row["_value"], 0) for row in found],
                ]
                axes.errorbar(at, heights, whiskers, fmt="none", ecolor=INK, elinewidth=0.6)
        axes.set_xticks(range(len(queues)), ["none" if queue is None else str(queue) for queue in queues])
        axes.set_xlabel(queue_label)
        axes.set_ylabel(label)
        # Matplotlib would write a power of ten where the legend is.
        axes.yaxis.set_major_formatter(lambda value, _: quantity(value))
        legend_above(axes, len(names))
        return figure


def schedulers_of(frame: pl.DataFrame) -> list[str]:
    """Return the schedulers of a frame, as they come."""
    return frame["scheduler"].unique(maintain_order=True).to_list()


def draw_line(
    axes: Axes, x: Numbers, value: Numbers, band: tuple[Numbers, Numbers], drawn: Look, **properties: Any
) -> None:
    """Draw the line of a scheduler, and its band from one end to the other; `properties` are more of the line's."""
    axes.plot(x, value, color=drawn.colour, linestyle=drawn.dash, label=drawn.label, **properties)
    axes.fill_between(x, *band, color=drawn.colour, alpha=0.2, linewidth=0)


def legend_above(axes: Axes, entries: int) -> None:
    """Put the legend above the panel, where it hides nothing."""
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.0, 1, 0.1),
        mode="expand" if entries > 1 else None,
        ncols=max(min(entries, 3), 1),
        borderaxespad=0.2,
    )


def _need(frame: pl.DataFrame, *columns: str) -> None:
    missing: list[Any] = [column for column in columns if column not in frame.columns]
    if missing:
        raise InputError(f"the table has no column {missing[0]}; it has {', '.join(frame.columns)}")
