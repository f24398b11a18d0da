"""Figures over time: throughput of flows, fairness, queue occupancy, and the order in which packets arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pifolab.figures.curves import QUEUES, draw_line, legend_above, schedulers_of
from pifolab.figures.palette import GREY, INK, flow_colours, look, queue_groups
from pifolab.figures.style import COLUMN_INCHES, PAGE_INCHES, figure_style, legend_outside, subplots, time_axis
from pifolab.lazy import np, pl
from pifolab.text import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More lines than this in one panel cannot be followed.
MOST_FLOWS = 6
#: More points than this blur a panel.
MOST_POINTS = 4000


def throughput_over_time(
    throughput: pl.DataFrame, interval_ns: int, flows: Sequence[int] | None = None, names: Sequence[str] = ()
) -> Figure:
    """Return a panel for each scheduler: what each of some flows gets, interval by interval of `interval_ns`.

    `throughput` has the columns `scheduler`, `start_ns`, `flow`, `bytes`, and no row where nothing came. `flows` are
    drawn, by default those with the most bytes over all schedulers; the legend calls them by `names`, by default by
    their numbers.
    """
    schedulers = schedulers_of(throughput)
    if flows is None:
        totals = throughput.group_by("flow").agg(pl.col("bytes").sum()).sort("bytes", "flow", descending=[True, False])
        flows = totals["flow"].head(MOST_FLOWS).to_list()
    times = np.arange(int(throughput["start_ns"].max() or 0) // interval_ns + 1)  # type: ignore[arg-type]
    with figure_style():
        figure, panels = _panels(len(schedulers))
        colours = flow_colours(len(flows))
        for axes, name in zip(panels, schedulers, strict=True):
            mine = throughput.filter(pl.col("scheduler") == name)
            for place, flow in enumerate(flows):
                gbps = _bytes_of(mine, flow, interval_ns, len(times)) * 8 / interval_ns
                label = drawn(names[place]) if place < len(names) else f"flow {flow}"
                # The last interval ends where it ends, not where it begins.
                ends = np.append(times, len(times)) * interval_ns / 1e6
                axes.step(ends, np.append(gbps, gbps[-1]), where="post", color=colours[place], label=label)
            axes.set_title(look(name, schedulers).label, loc="left", pad=2)
            axes.set_ylabel("Rate (Gb/s)")
        _from_zero(panels)
        time_axis(panels[-1])
        _legend_of(figure, panels[0])
        return figure


def fairness(throughput: pl.DataFrame, interval_ns: int) -> pl.DataFrame:
    """Return Jain's index of each interval, for each scheduler (and seed): 1 is an equal share for every flow.

    A flow counts from the first to the last interval in which it gets anything, also where it gets nothing in between.

    Parameters
    ----------
    throughput : polars.DataFrame
        As for `throughput_over_time`, with `seed` (int) if there are several.
    interval_ns : int
        The length of the intervals.

    Returns
    -------
    polars.DataFrame
        `seed` if there was one, `scheduler`, `start_ns`, `flows` (how many count), `fairness` (0 to 1).

    Examples
    --------
    >>> frame = pl.DataFrame({"scheduler": ["a"] * 3, "start_ns": [0, 0, 10], "flow": [1, 2, 1], "bytes": [30, 10, 5]})
    >>> fairness(frame, 10).select("flows", "fairness").rows()
    [(2, 0.8), (1, 1.0)]
    """
    keys = [*(["seed"] if "seed" in throughput.columns else []), "scheduler"]
    spans = throughput.group_by([*keys, "flow"], maintain_order=True).agg(
        pl.int_ranges(pl.col("start_ns").min(), pl.col("start_ns").max() + 1, interval_ns).alias("start_ns")
    )
    every = spans.explode("start_ns").join(throughput, on=[*keys, "flow", "start_ns"], how="left")
    got = pl.col("bytes").fill_null(0).cast(pl.Float64)
    squares = pl.len() * (got**2).sum()
    return (
        every.group_by([*keys, "start_ns"])
        .agg(
            pl.len().cast(pl.Int64).alias("flows"),
            pl.when(squares > 0).then(got.sum() ** 2 / squares).otherwise(None).alias("fairness"),
        )
        .sort([*keys, "start_ns"])
    )


def fairness_over_time(throughput: pl.DataFrame, interval_ns: int) -> Figure:
    """Return Jain's index over time, a line for each scheduler; with several seeds their mean and range.

    The parameters are those of `fairness`.
    """
    schedulers = schedulers_of(throughput)
    index = fairness(throughput, interval_ns).drop_nulls("fairness")
    with figure_style():
        figure, axes = subplots(figsize=(COLUMN_INCHES, 2.2))
        for name in schedulers:
            line = (
                index.filter(pl.col("scheduler") == name)
                .group_by("start_ns")
                .agg(
                    pl.col("fairness").mean().alias("mean"),
                    pl.col("fairness").min().alias("low"),
                    pl.col("fairness").max().alias("high"),
                )
                .sort("start_ns")
            )
            mean, low, high = (line[column].to_numpy() for column in ("mean", "low", "high"))
            draw_line(axes, line["start_ns"].to_numpy() / 1e6, mean, (low, high), look(name, schedulers))
        axes.set_ylim(0, 1.02)
        time_axis(axes)
        axes.set_ylabel("Fairness (Jain's index)")
        legend_above(axes, len(schedulers))
        return figure


def occupancy_over_time(samples: pl.DataFrame, *, queue_label: str = QUEUES) -> Figure:
    """Return a panel for each scheduler: the packets that wait, queue upon queue.

    `samples` has the columns `scheduler`, `time_ns`, `queue` (0 leaves first), `packets`, and `port` if there are
    several; of these the one that held the most packets is drawn. `queue_label` says what the colours are; the default
    is for queues of which the first goes before all others.
    """
    samples, title = _of_port(samples)
    schedulers = schedulers_of(samples)
    with figure_style():
        figure, panels = _panels(len(schedulers))
        groups = queue_groups(int(samples["queue"].max() or 0) + 1)  # type: ignore[arg-type]
        bands: dict[str, Any] = {}
        for axes, name in zip(panels, schedulers, strict=True):
            mine = samples.filter(pl.col("scheduler") == name)
            # A single queue has no place in an order: it is grey beside schedulers that have several.
            alone = [("the only one", GREY, range(1))] if not mine["queue"].max() and len(groups) > 1 else groups
            table = mine.pivot(on="queue", index="time_ns", values="packets", aggregate_function="mean").sort("time_ns")
            counts = {int(column): table[column].fill_null(0).to_numpy() for column in table.columns[1:]}
            held = [
                sum((counts[queue] for queue in queues if queue in counts), np.zeros(len(table)))
                for *_, queues in alone
            ]
            drawn_bands = axes.stackplot(
                table["time_ns"].to_numpy() / 1e6,
                *held,
                colors=[colour for _, colour, _ in alone],
                step="post",
                linewidth=0,
            )
            bands |= {label: band for (label, _, _), band in zip(alone, drawn_bands, strict=True)}
            axes.set_title(look(name, schedulers).label + title, loc="left", pad=2)
            axes.set_ylabel("Packets")
            axes.margins(x=0)
        _from_zero(panels)
        time_axis(panels[-1])
        if len(groups) > 1:
            entries = {
                label: bands[label] for label in [*(label for label, _, _ in groups), "the only one"] if label in bands
            }
            legend_outside(figure, entries, "upper", 8, labelcolor=INK, title=queue_label)
        return figure


def arrival_order(order: pl.DataFrame) -> Figure:
    """Return a panel for each scheduler: which part of its flow each data packet brings, in order of arrival.

    A packet that comes after a later part of its flow is out of order, and marked; so are retransmissions. `order` has
    the columns `scheduler`, `time_ns`, `flow`, `seq_bytes`, in order of arrival. The flows with the most packets out of
    order, over all schedulers, are drawn.
    """
    late = pl.col("seq_bytes") < pl.col("seq_bytes").cum_max().over("scheduler", "flow")
    order = order.with_columns(late.alias("late"))
    schedulers = schedulers_of(order)
    counts = order.group_by("flow").agg(pl.col("late").sum(), pl.len())
    flows = counts.sort("late", "len", "flow", descending=[True, True, False])["flow"].head(MOST_FLOWS).to_list()
    with figure_style():
        figure, panels = _panels(len(schedulers))
        colours = flow_colours(len(flows))
        for axes, name in zip(panels, schedulers, strict=True):
            mine = order.filter(pl.col("scheduler") == name)
            every = mine.height
            shown = mine.filter(pl.col("flow").is_in(list(flows)))
            for place, flow in enumerate(flows):
                packets = shown.filter((pl.col("flow") == flow) & ~pl.col("late")).head(MOST_POINTS)
                at, part = packets["time_ns"].to_numpy() / 1e6, packets["seq_bytes"].to_numpy() / 1e3
                axes.plot(at, part, ".", color=colours[place], markersize=1.8, label=f"flow {flow}")
            packets = shown.filter("late").head(MOST_POINTS)
            at, part = packets["time_ns"].to_numpy() / 1e6, packets["seq_bytes"].to_numpy() / 1e3
            axes.plot(at, part, "x", color=INK, markersize=2.6, markeredgewidth=0.7, label="out of order")
            count = int(mine["late"].sum())
            title = f"{look(name, schedulers).label}: {count:,} of {every:,} packets out of order"
            axes.set_title(title, loc="left", pad=2)
            axes.set_ylabel("Byte (KB)")
        _from_zero(panels)
        panels[-1].set_xlabel("Arrival (ms)")
        _legend_of(figure, panels[0])
        return figure


def _panels(count: int) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure with a panel for each scheduler, one below the other."""
    rows = max(count, 1)
    wide = PAGE_INCHES if rows == 1 else COLUMN_INCHES * 1.3
    figure, panels = subplots(
        rows, 1, figsize=(wide, 0.6 + 1.3 * rows), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    return figure, list(panels[:, 0])


def _from_zero(panels: Sequence[Axes]) -> None:
    """Let the common vertical axis begin at 0; to be called when all is drawn, since it stops the axis from growing."""
    panels[0].set_ylim(0, max(axes.dataLim.y1 for axes in panels) * 1.05 or 1)


def _legend_of(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        legend_outside(figure, dict(zip(labels, handles, strict=True)), "upper", 4, labelcolor=INK)


def _bytes_of(frame: pl.DataFrame, flow: int, interval_ns: int, count: int) -> np.ndarray[Any, Any]:
    rows = frame.filter(pl.col("flow") == flow)
    return np.bincount((rows["start_ns"] // interval_ns).to_numpy(), weights=rows["bytes"].to_numpy(), minlength=count)[
        :count
    ]


def _of_port(samples: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Return the samples of the port that held the most packets, and what titles call it."""
    if "port" not in samples.columns:
        return samples, ""
    at_once = samples.group_by("scheduler", "port", "time_ns").agg(pl.col("packets").sum())
    busiest = at_once.group_by("port").agg(pl.col("packets").max()).sort("packets", "port", descending=[True, False])
    if not busiest.height:
        return samples, ""
    port = int(busiest["port"][0])
    return samples.filter(pl.col("port") == port), f", port {port}"
