"""Figures of runs on a network: completion times by flow size, and where packets were lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pifolab.figures.curves import by_queue, cdf
from pifolab.lazy import pl

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: With more kinds of ports than this, their names are slanted.
_FEW_KINDS = 4


def fct_cdf(flows: pl.DataFrame, below_bytes: int | None = None) -> Figure:
    """Return the cumulative distribution of the completion times of flows, or only of those below `below_bytes`."""
    label, share = "Completion time (ms)", "Share of completed flows"
    if below_bytes is None:
        return cdf(flows, "fct_ns", label=label, scale=1e6, share=share)
    # A flow that is too large counts for nothing, but its scheduler keeps its colour.
    small = pl.when(pl.col("size_bytes") < below_bytes).then("fct_ns").alias("fct_ns")
    label = f"Completion time of flows < {below_bytes / 1e3:g} KB (ms)"
    return cdf(flows.with_columns(small), "fct_ns", label=label, scale=1e6, share=share)


def drops_by_port(ports: pl.DataFrame) -> Figure:
    """Return bars of the packets lost at each kind of port, for each scheduler."""
    figure = by_queue(ports, "dropped_packets", "Drops (packets)", queue_label="", of="kind")
    if ports["kind"].n_unique() > _FEW_KINDS:
        axes = figure.axes[0]
        axes.tick_params(axis="x", labelrotation=30)
        for text in axes.get_xticklabels():
            text.set(ha="right", rotation_mode="anchor")
    return figure
