"""Figures of runs on a network: completion times by flow size, and where packets were lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pifolab.figures.palette import look
from pifolab.figures.style import COLUMN_INCHES, figure_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CDF_POINTS", "drops_by_port", "fct_cdf"]

#: More points than this cannot be told apart in one column's width.
CDF_POINTS = 400


def fct_cdf(flows: pl.DataFrame, below_bytes: int) -> Figure:
    """Return the cumulative distribution of the completion times of flows smaller than `below_bytes`.

    Parameters
    ----------
    flows : polars.DataFrame
        Columns `scheduler` (str), `size_bytes` (int) and `fct_ns` (int, null if unfinished), over all seeds.
    below_bytes : int
        The limit of small flows.
    """
    names = flows["scheduler"].unique(maintain_order=True).to_list()
    with figure_style():
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(COLUMN_INCHES, 2.2))
        for name in names:
            small = flows.filter(pl.col("scheduler") == name, pl.col("size_bytes") < below_bytes)["fct_ns"].drop_nulls()
            if not len(small):
                continue
            times = np.sort(small.to_numpy()) / 1e6
            share = np.linspace(0, 1, min(len(times), CDF_POINTS))
            drawn = look(name, names)
            axes.plot(np.quantile(times, share), share, color=drawn.colour, linestyle=drawn.dash, label=drawn.label)
        axes.set_xscale("log")
        axes.set_xlabel(f"Completion time of flows < {below_bytes / 1e3:g} KB (ms)")
        axes.set_ylabel("Share of completed flows")
        axes.set_ylim(0, 1)
        if axes.has_data():
            axes.legend(loc="lower right")
        return figure


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
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(COLUMN_INCHES, 2.0))
        width = 0.8 / len(names)
        for place, name in enumerate(names):
            mine = dict(means.filter(scheduler=name).select("kind", "dropped_packets").iter_rows())
            at = np.arange(len(kinds)) + (place - (len(names) - 1) / 2) * width
            axes.bar(at, [mine.get(kind, 0) for kind in kinds], width, color=look(name, names).colour)
            axes.plot([], [], "s", color=look(name, names).colour, label=look(name, names).label)
        axes.set_xticks(range(len(kinds)), kinds)
        axes.set_ylabel("Drops (packets)")
        axes.legend(loc="upper right")
        return figure
