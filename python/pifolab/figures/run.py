"""All figures of a run, from its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from pifolab.figures.network import drops_by_port, fct_cdf
from pifolab.figures.one_link import bounds_over_time, comparison, per_rank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pifolab.runs import Run

__all__ = ["CAPTIONS", "draw_run"]

#: What each figure shows, by the name of its file.
CAPTIONS = {
    "comparison": "The schedulers side by side: means over the seeds.",
    "inversions-per-rank": "Packets sent while a packet of a lower rank was waiting, by the rank of the packet sent.",
    "drops-per-rank": "Packets refused or pushed out, by rank.",
    "bounds-over-time": "Queue bounds over the start of the run (first seed).",
    "fct-small-flows": "Completion times of small flows that were complete at the end, all seeds.",
    "drops-by-port": "Packets lost by kind of port: at hosts, and in the fabric on the way up and down.",
}

_COMPARED = (
    ("inversions", "Inversions (packets)"),
    ("dropped_packets", "Drops (packets)"),
    ("lowest_dropped_rank", "Lowest dropped rank"),
    ("delta", "Delta to PIFO"),
)

# More samples than a line of one column's width can show only blur it.
_BOUND_SAMPLES = 120


def draw_run(run: Run) -> dict[str, Figure]:
    """Return the figures that make sense for this run, by the name of the file that each is for."""
    if run.manifest["kind"] == "network":
        return _draw_network(run)
    figures: dict[str, Figure] = {}
    schedulers = run.tables["schedulers"]
    shown = [(column, heading) for column, heading in _COMPARED if schedulers[column].null_count() < schedulers.height]
    figures["comparison"] = comparison(schedulers, shown)
    ranks = run.tables["ranks"]
    if ranks.height:
        order = schedulers["scheduler"].unique(maintain_order=True).to_list()
        figures["inversions-per-rank"] = per_rank(ranks, "inversions", "Inversions (packets)", order)
        figures["drops-per-rank"] = per_rank(ranks, "dropped", "Drops (packets)", order)
    bounds = _bounds(run)
    if bounds.height:
        figures["bounds-over-time"] = bounds_over_time(bounds)
    return figures


def _draw_network(run: Run) -> dict[str, Figure]:
    smallest = int(run.manifest["spec"]["metrics"]["size_classes_bytes"][0])
    figures = {}
    if run.tables["flows"].height:
        figures["fct-small-flows"] = fct_cdf(run.tables["flows"], smallest)
    if run.tables["ports"]["dropped_packets"].sum():
        figures["drops-by-port"] = drops_by_port(run.tables["ports"])
    return figures


def _bounds(run: Run) -> pl.DataFrame:
    """Return the first samples of the queue bounds of each scheduler that has bounds that move."""
    samples = run.tables["queue_samples"].filter(seed=run.seeds[0]).drop_nulls("bound")
    moving = samples.group_by("scheduler", "queue").agg(pl.col("bound").n_unique()).filter(pl.col("bound") > 1)
    samples = samples.filter(pl.col("scheduler").is_in(moving["scheduler"].unique().to_list()))
    times = samples["time_ns"].unique().sort().head(_BOUND_SAMPLES)
    return samples.filter(pl.col("time_ns").is_in(times.to_list()))
