"""All figures of a run, from its tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pifolab import _pifolab, info
from pifolab.errors import InputError, parameter_error
from pifolab.figures.choice import FigureChoice, with_labels
from pifolab.figures.curves import QUEUES, by_queue, fct_by_size, has_sizes
from pifolab.figures.network import drops_by_port, fct_cdf
from pifolab.figures.one_link import bounds_over_time, comparison, per_rank
from pifolab.figures.over_time import (
    MOST_FLOWS,
    arrival_order,
    fairness_over_time,
    occupancy_over_time,
    throughput_over_time,
)
from pifolab.figures.paths import by_path, leaves_of
from pifolab.figures.style import drawing_into
from pifolab.interruption import interruptible
from pifolab.lazy import pl

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pifolab.runs import Run

#: The caption of each figure, by the name of its file.
CAPTIONS = {
    "comparison": "The schedulers side by side: means over the seeds.",
    "inversions-per-rank": "Packets sent while a packet of a lower rank was waiting, by the rank of the packet sent.",
    "drops-per-rank": "Packets refused or pushed out, by rank.",
    "misdrops-per-rank": "Drops beyond those of the reference (PIFO unless said otherwise), by rank.",
    "bounds-over-time": "Queue bounds over the run (first seed), at evenly spaced instants if there are many.",
    "fct-small-flows": "Completion times of small flows that were complete at the end, all seeds.",
    "fct-cdf": "Completion times of all flows that were complete at the end, all seeds.",
    "fct-by-size": "Mean completion time by flow size, of flows that were complete at the end.",
    "drops-by-port": "Packets lost by kind of port: at hosts, and in the fabric on the way up and down. Means over the "
    "seeds, whiskers over all of them.",
    "packets-by-queue": "Packets sent from each queue: means over the seeds, whiskers over all of them.",
    "drops-by-queue": "Packets lost by the queue that refused them or that they were pushed out of; none: refused "
    "before a queue was chosen. Means over the seeds, whiskers over all of them.",
    "occupancy-over-time": "Packets that wait, queue upon queue (first seed).",
    "throughput-over-time": "What the largest flows get, interval by interval (first seed).",
    "throughput-by-path": "What each leaf of the first tree gets, interval by interval (first seed).",
    "fairness-over-time": "Jain's index over the flows that are under way: 1 is an equal share for each.",
    "arrival-order": "Which part of its flow each data packet brings, in order of arrival (first seed).",
}

#: The part of captions that applies only to several seeds.
_OF_SEVERAL_SEEDS = re.compile(
    r" \(first seed\)|, all seeds|[:,]? means over the seeds(?:, whiskers over all of them)?"
    r"|(?<=\.) Means over the seeds, whiskers over all of them\."
)

_COMPARED = (
    ("inversions", "Inversions (packets)"),
    ("dropped_packets", "Drops (packets)"),
    ("lowest_dropped_rank", "Lowest dropped rank"),
    ("delta", "Delta to PIFO"),
)

# The number of samples that a line of one column's width can show; more blur the line.
_BOUND_SAMPLES = 120
_OCCUPANCY_SAMPLES = 600


#: Figures that draw one number against another; users can choose their scales.
_SCALED = {
    "inversions-per-rank",
    "drops-per-rank",
    "misdrops-per-rank",
    "fct-small-flows",
    "fct-cdf",
    "fct-by-size",
}


#: A function that draws a figure.
Drawing = Callable[[], "Figure"]


def draw_run(run: Run, choice: FigureChoice | None = None) -> dict[str, Figure]:
    """Return the figures that make sense for this run, by the name of the file that each is for."""
    return {name: drawing() for name, drawing in _chosen(run, choice or FigureChoice()).items()}


def draw_one(run: Run, name: str | None, choice: FigureChoice, axes: Axes | None = None) -> Figure:
    """Return the figure `name` of this run, by default the first, drawn into `axes` if they are given."""
    drawings = _chosen(run, choice)
    if not drawings:
        raise InputError("plot: the run does not have figures")
    if name is not None and name not in drawings:
        raise InputError(_pifolab.unknown_name("figure", name, list(drawings)))
    with drawing_into(axes):
        return drawings[name or next(iter(drawings))]()


def _chosen(run: Run, choice: FigureChoice) -> dict[str, Drawing]:
    """Return the function that draws each figure of this run, with the chosen settings."""
    _check(choice, run.tables["schedulers"]["scheduler"].unique(maintain_order=True).to_list())
    # Drops beyond those of the reference need the reference, even if it is not chosen.
    beyond = None if run.manifest["kind"] == "network" else misdrops_by_rank(run)
    if choice.schedulers is not None:
        run = replace(run, tables={name: _only(frame, choice.schedulers) for name, frame in run.tables.items()})
        beyond = None if beyond is None else _only(beyond, choice.schedulers)
    drawings = _drawings(run, beyond)
    # The report shows every figure that has a caption.
    unsaid = drawings.keys() - CAPTIONS.keys()
    assert not unsaid, f"CAPTIONS says nothing of {', '.join(sorted(unsaid))}"
    return {name: partial(_drawn, name, drawing, choice) for name, drawing in drawings.items()}


def _drawn(name: str, drawing: Drawing, choice: FigureChoice) -> Figure:
    with with_labels(choice.labels):
        figure = drawing()
    choice.applied(figure, scales=name in _SCALED)
    return figure


def _check(choice: FigureChoice, known: Sequence[str]) -> None:
    """Check that there are all schedulers that a choice names."""
    for key, names in (("schedulers", choice.schedulers or ()), ("labels", choice.labels)):
        for name in names:
            if name not in known:
                problem = _pifolab.unknown_name("scheduler", name, list(known))
                raise parameter_error(key, f": {problem}")


def _only(frame: pl.DataFrame, schedulers: Sequence[str]) -> pl.DataFrame:
    """Return the rows of these schedulers, in their order."""
    if "scheduler" not in frame.columns:
        return frame
    order = pl.DataFrame({"scheduler": list(schedulers), "_place": range(len(schedulers))})
    order = order.with_columns(pl.col("scheduler").cast(frame["scheduler"].dtype))
    return frame.join(order, on="scheduler", maintain_order="left").sort("_place", maintain_order=True).drop("_place")


def _drawings(run: Run, beyond: pl.DataFrame | None) -> dict[str, Drawing]:
    if run.manifest["kind"] == "network":
        return _of_network(run)
    figures: dict[str, Drawing] = {}
    schedulers = run.tables["schedulers"]
    shown = [(column, heading) for column, heading in _COMPARED if schedulers[column].null_count() < schedulers.height]
    figures["comparison"] = partial(comparison, schedulers, shown)
    ranks = run.tables["ranks"]
    if ranks.height:
        order = schedulers["scheduler"].unique(maintain_order=True).to_list()
        size = _size_of((run.manifest["spec"].get("rank") or {}).get("name"))
        of_rank: dict[str, Any] = {"sizes": size is not None, "rank_label": f"Rank: {size} (bytes)" if size else "Rank"}
        figures["inversions-per-rank"] = partial(
            per_rank, ranks, "inversions", "Inversions (packets)", order, **of_rank
        )
        figures["drops-per-rank"] = partial(per_rank, ranks, "dropped", "Drops (packets)", order, **of_rank)
        if beyond is not None and beyond.height and beyond["misdrops"].sum():
            figures["misdrops-per-rank"] = partial(per_rank, beyond, "misdrops", "Misdrops (packets)", order, **of_rank)
    figures.update(_by_queue(run, run.tables["queues"]))
    figures.update(_over_time(run, "queue_samples", None))
    figures.update(_by_path(run))
    return figures


def _size_of(function: str | None) -> str | None:
    """Return the object whose size the ranks of a rank function measure; None if they do not count bytes."""
    return next((about.size_of for about in info.ranks() if about.name == function), None)


def misdrops_by_rank(run: Run) -> pl.DataFrame | None:
    """Return the drops of each rank beyond those of the reference: `seed`, `scheduler`, `rank`, `misdrops`.

    None if nothing of the run is the reference.
    """
    reference = run.manifest["spec"]["metrics"].get("delta_to")
    ranks = run.tables["ranks"]
    if reference is None or not ranks.height:
        return None
    base = ranks.filter(scheduler=reference).select("seed", "rank", pl.col("dropped").alias("spared"))
    beyond = (pl.col("dropped") - pl.col("spared").fill_null(0)).clip(lower_bound=0)
    joined = ranks.filter(pl.col("scheduler") != reference).join(
        base, on=["seed", "rank"], how="left", maintain_order="left"
    )
    return joined.select("seed", "scheduler", "rank", beyond.alias("misdrops"))


def captions(run: Run) -> dict[str, str]:
    """Return the caption of each figure of this run, by the name of its file."""
    texts = dict(CAPTIONS)
    samples = run.tables.get("port_queue_samples")
    if samples is not None and (port := _port_of_bounds(samples.filter(seed=run.seeds[0]))) is not None:
        ends = run.tables["ports"].filter(port=port).select("from", "to").row(0)
        place = f"Queue bounds of port {port}, from node {ends[0]} to node {ends[1]},"
        texts["bounds-over-time"] = f"{place} from when it is first used (first seed)."
    return texts if len(run.seeds) > 1 else {name: _OF_SEVERAL_SEEDS.sub("", text) for name, text in texts.items()}


def _of_network(run: Run) -> dict[str, Drawing]:
    smallest = int(run.manifest["spec"]["metrics"]["size_classes_bytes"][0])
    figures: dict[str, Drawing] = {}
    flows = run.tables["flows"]
    if flows.height:
        figures["fct-small-flows"] = partial(fct_cdf, flows, smallest)
        figures["fct-cdf"] = partial(fct_cdf, flows)
        if has_sizes(flows):
            figures["fct-by-size"] = partial(fct_by_size, flows)
    if run.tables["ports"]["dropped_packets"].sum():
        figures["drops-by-port"] = partial(drops_by_port, run.tables["ports"])
    queues = run.tables.get("port_queues")
    if queues is not None and queues.height:
        # Hosts have another kind of queue.
        switches = run.tables["ports"].filter(pl.col("kind") != "host").select("seed", "scheduler", "port")
        queues = queues.join(switches, on=["seed", "scheduler", "port"], how="semi", maintain_order="left")
        figures.update(_by_queue(run, queues))
    order = run.tables.get("arrival_order")
    if order is not None and order.height:
        figures["arrival-order"] = partial(arrival_order, order.filter(seed=run.seeds[0]))
    figures.update(_over_time(run, "port_queue_samples", flows))
    return figures


def _by_queue(run: Run, queues: pl.DataFrame) -> dict[str, Drawing]:
    """Return the packets that each queue sent and lost, if a scheduler has several queues."""
    if int(queues["queue"].max() or 0) == 0:  # type: ignore[arg-type]
        return {}
    label = _queue_label(run)
    sent = queues.drop_nulls("queue")
    figures: dict[str, Drawing] = {
        "packets-by-queue": partial(by_queue, sent, "sent_packets", "Sent (packets)", queue_label=label)
    }
    if queues["dropped_packets"].sum():
        figures["drops-by-queue"] = partial(by_queue, queues, "dropped_packets", "Drops (packets)", queue_label=label)
    return figures


def _queue_label(run: Run) -> str:
    """Return the meaning of queue numbers. In a tree the disciplines choose the next leaf, not the numbers."""
    schedulers = run.manifest["spec"]["scheduler"]
    # A managed scheduler also has a key `policy`; its table names the scheduler inside.
    if any("child" in one or ("policy" in one and "scheduler" not in one) for one in schedulers):
        return "Queue (of a tree: leaf by leaf)"
    return QUEUES


def _over_time(run: Run, samples: str, flows: pl.DataFrame | None) -> dict[str, Drawing]:
    """Return the figures over time that both kinds of run have, if the run has samples."""
    figures: dict[str, Drawing] = {}
    queues = run.tables.get(samples)
    if queues is not None and queues.height:
        # Millions of samples take seconds, in compiled code that does not react to Ctrl-C.
        first = interruptible(lambda: queues.filter(seed=run.seeds[0]))
        bounds = interruptible(lambda: _bounds(first))
        if bounds.height:
            figures["bounds-over-time"] = partial(bounds_over_time, bounds)
        figures["occupancy-over-time"] = partial(
            occupancy_over_time, interruptible(lambda: _thinned(first)), queue_label=_queue_label(run)
        )
    throughput = run.tables.get("throughput")
    if throughput is not None and throughput.height:
        interval_ns = _interval_ns(run)
        largest = None
        if flows is not None:
            sent = flows.filter(seed=run.seeds[0]).select("flow", "size_bytes").unique()
            largest = sent.sort("size_bytes", "flow", descending=[True, False])["flow"].head(MOST_FLOWS).to_list()
        first = throughput.filter(seed=run.seeds[0])
        figures["throughput-over-time"] = partial(throughput_over_time, first, interval_ns, largest)
        figures["fairness-over-time"] = partial(fairness_over_time, throughput, interval_ns)
    return figures


def _by_path(run: Run) -> dict[str, Drawing]:
    """Return the throughput of the leaves of the first tree, if it has several and the run has ``throughput``."""
    throughput = run.tables.get("throughput")
    workload = run.manifest["spec"]["workload"]
    if throughput is None or not throughput.height:
        return {}
    for scheduler in run.manifest["spec"]["scheduler"]:
        leaves = leaves_of(scheduler, workload if isinstance(workload, list) else [workload])
        if len(leaves) > 1:
            mine = throughput.filter(seed=run.seeds[0], scheduler=scheduler["label"])
            rows, interval_ns = by_path(mine, leaves), _interval_ns(run)
            return {
                "throughput-by-path": partial(throughput_over_time, rows, interval_ns, range(len(leaves)), list(leaves))
            }
    return {}


def _interval_ns(run: Run) -> int:
    """Return the length of the intervals of the table ``throughput``."""
    spec = run.manifest["spec"]
    table = spec["record"] if run.manifest["kind"] == "network" else spec["metrics"]
    return int(table["throughput_interval_ns"])


def _thinned(samples: pl.DataFrame) -> pl.DataFrame:
    """Return as many samples as a figure can show: the fullest and the last sample of each slice of time.

    The last one matters before a long pause: its value is drawn until the next sample.
    """
    times = samples["time_ns"]
    if times.n_unique() <= _OCCUPANCY_SAMPLES:
        return samples
    first, last = int(times.min()), int(times.max())  # type: ignore[arg-type]
    keys = [column for column in ("scheduler", "port") if column in samples.columns]
    width = (last - first) // (_OCCUPANCY_SAMPLES // 2) + 1
    kept = (
        samples.group_by(*keys, "time_ns")
        .agg(pl.col("packets").sum())
        .group_by(*keys, (pl.col("time_ns") - first) // width * width)
        .agg(
            pl.col("time_ns").max().alias("_last"),
            pl.col("time_ns").sort_by("packets", "time_ns").last().alias("_most"),
        )
    )
    kept = pl.concat([kept.select(*keys, pl.col(time).alias("time_ns")) for time in ("_last", "_most")])
    return samples.join(kept, on=[*keys, "time_ns"], how="semi", maintain_order="left")


def _port_of_bounds(samples: pl.DataFrame) -> int | None:
    """Return the port whose bounds move most: lines of several ports would cover one another."""
    moves = samples.drop_nulls("bound").group_by("port")
    table = moves.agg(pl.struct("scheduler", "queue", "bound").n_unique().alias("moves"))
    return None if table.is_empty() else int(table.sort("moves", "port", descending=[True, False])["port"][0])


def _bounds(samples: pl.DataFrame) -> pl.DataFrame:
    """Return samples of the queue bounds over the whole run, for each scheduler with bounds that change."""
    samples = samples.drop_nulls("bound")
    if "port" in samples.columns and samples.height:
        samples = samples.filter(port=_port_of_bounds(samples))
    moving = samples.group_by("scheduler", "queue").agg(pl.col("bound").n_unique()).filter(pl.col("bound") > 1)
    samples = samples.filter(pl.col("scheduler").is_in(moving["scheduler"].unique().to_list()))
    times = samples["time_ns"].unique().sort()
    times = times.gather_every(len(times) // _BOUND_SAMPLES + 1)
    return samples.filter(pl.col("time_ns").is_in(times.to_list()))
