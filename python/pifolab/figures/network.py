"""Figures of runs on a network: completion times by flow size, and where packets were lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pifolab.figures.curves import cdf, legend_above
from pifolab.figures.palette import look
from pifolab.figures.style import COLUMN_INCHES, figure_style, subplots
from pifolab.lazy import np, pl

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: With more kinds of ports than this, their names are slanted.
_FEW_KINDS = 4


def fct_cdf(flows: pl.DataFrame, below_bytes: int | None = None) -> Figure:
    """Return the cumulative distribution of the completion times of flows, or only of those below `below_bytes`.

    Parameters
    ----------
    flows : polars.DataFrame
        Columns `scheduler` (str), `size_bytes` (int) and `fct_ns` (int, null if unfinished), over all seeds.
    below_bytes : int, optional
        The limit of small flows. Default: all flows.
    """
    label, share = "Completion time (ms)", "Share of completed flows"
    if below_bytes is None:
        return cdf(flows, "fct_ns", label=label, scale=1e6, share=share)
    # A flow that is too large counts for nothing, but its scheduler keeps its colour.
    small = pl.when(pl.col("size_bytes") < below_bytes).then("fct_ns").alias("fct_ns")
    label = f"Completion time of flows < {below_bytes / 1e3:g} KB (ms)"
    return cdf(flows.with_columns(small), "fct_ns", label=label, scale=1e6, share=share)


def drops_by_port(ports: pl.DataFrame) -> Figure:
    """Return bars of the packets lost at each kind of port, for each scheduler: means over the seeds.

    Parameters
    ----------
    ports : polars.DataFrame
        Columns `scheduler` (str), `seed` (int), `kind` (str) and `dropped_packets` (int).
    """
    names = ports["scheduler"].unique(maintain_order=True).to_list()
    kinds = ports["kind"].unique(maintain_order=True).to_list()
    sums = ports.group_by("scheduler", "seed", "kind").agg(pl.col("dropped_packets").sum())
    means = sums.group_by("scheduler", "kind").agg(pl.col("dropped_packets").mean())
    with figure_style():
        figure, axes = subplots(figsize=(COLUMN_INCHES, 2.0))
        width = 0.8 / len(names)
        for place, name in enumerate(names):
            mine = dict(means.filter(scheduler=name).select("kind", "dropped_packets").iter_rows())
            at = np.arange(len(kinds)) + (place - (len(names) - 1) / 2) * width
            axes.bar(at, [mine.get(kind, 0) for kind in kinds], width, color=look(name, names).colour)
            axes.plot([], [], "s", color=look(name, names).colour, label=look(name, names).label)
        axes.set_xticks(range(len(kinds)), kinds)
        if len(kinds) > _FEW_KINDS:
            axes.tick_params(axis="x", labelrotation=30)
            for text in axes.get_xticklabels():
                text.set(ha="right", rotation_mode="anchor")
        axes.set_ylabel("Drops (packets)")
        legend_above(axes, len(names))
        return figure
