"""Measures of a run that take more than a cell of a table; expressions call them by name."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pifolab.errors import InputError
from pifolab.lazy import pl

if TYPE_CHECKING:
    from pifolab.reproduce.expression import Results

__all__ = ["MEASURES", "MissingValueError"]


class MissingValueError(InputError):
    """A value that the tables do not have: nothing was measured there."""


def tail_unpifoness(results: Results, scheduler: str, **where: Any) -> float:
    """Return the mean unpifoness of the second half of the windows."""
    values = results.column("unpifoness_windows", "unpifoness", scheduler=scheduler, **where)
    return statistics.fmean(values[len(values) // 2 :])


def per_rank(results: Results, scheduler: str, **where: Any) -> pl.DataFrame:
    """Return for each rank what arrived (sent or dropped) and what was sent."""
    if "ranks" not in results.frames and "port_ranks" not in results.frames:
        raise MissingValueError("the table of ranks is missing")
    if "port_ranks" in results.frames:
        # On a network: all ports together; what a port sent is not counted by rank.
        rows = results.rows("port_ranks", {"scheduler": scheduler, **where})
        rows = rows.group_by("rank").agg(
            pl.col("dropped_packets").sum().alias("dropped"), pl.lit(0).alias("departures")
        )
    else:
        rows = results.rows("ranks", {"scheduler": scheduler, **where})
    arrived = (pl.col("departures") + pl.col("dropped")).alias("arrived")
    return rows.select("rank", "departures", "dropped", arrived)


def sent_share_gap(results: Results, one: str, other: str, low: float = -1, high: float = -1) -> float:
    """Return the largest difference, over ranks, in the share that is sent; ranks from `low` to `high` left out."""
    both = per_rank(results, one).join(per_rank(results, other), on="rank", suffix="_other")
    both = both.filter(~pl.col("rank").is_between(low, high))
    gap = pl.col("departures") / pl.col("arrived") - pl.col("departures_other") / pl.col("arrived_other")
    return float(both.select(gap.abs().max()).item())


def delta_by_rank(results: Results, one: str, other: str, **where: Any) -> float:
    """Return Delta with packets told apart by rank only, as the proof of AIFO's Theorem 2 has it."""
    both = per_rank(results, one, **where).join(
        per_rank(results, other, **where), on="rank", how="full", coalesce=True, suffix="_other"
    )
    both = both.fill_null(0)
    differ = float(both.select((pl.col("departures") - pl.col("departures_other")).abs().sum()).item())
    return differ / float(both.select((pl.col("departures") + pl.col("departures_other")).sum()).item())


def drops_below(results: Results, scheduler: str, rank: float) -> float:
    """Return how many packets of a rank below `rank` were dropped."""
    return float(per_rank(results, scheduler).filter(pl.col("rank") < rank)["dropped"].sum())


def bound_spread(results: Results, scheduler: str, after_ns: float = 10_000_000) -> float:
    """Return the standard deviation over time of a queue's bound, mean over the queues; the start is left out."""
    rows = results.rows("queue_samples", {"scheduler": scheduler}).filter(
        pl.col("time_ns") > after_ns, pl.col("bound").is_not_null()
    )
    return float(rows.group_by("queue").agg(pl.col("bound").std().alias("sd"))["sd"].mean())  # type: ignore[arg-type]


def mean_after(results: Results, column: str, after_ns: float, scheduler: str) -> float:
    """Return the mean over time of a column of `samples`; the start is left out."""
    rows = results.rows("samples", {"scheduler": scheduler}).filter(pl.col("time_ns") > after_ns)
    return float(rows[column].mean())  # type: ignore[arg-type]


def share_at(results: Results, column: str, value: float, after_ns: float, scheduler: str) -> float:
    """Return the share of samples in which a column has a value; the start is left out."""
    rows = results.rows("samples", {"scheduler": scheduler}).filter(pl.col("time_ns") > after_ns)
    return float((rows[column] == value).mean())  # type: ignore[arg-type]


def score_error(results: Results, scheduler: str) -> float:
    """Return the largest error of (r - Min) / (Max - Min) against the share of lower ranks."""
    return _score(results, scheduler)[0]


def uniform_distance(results: Results, scheduler: str) -> float:
    """Return the Kolmogorov-Smirnov distance of the ranks from a uniform distribution on [Min, Max]."""
    return _score(results, scheduler)[1]


def _score(results: Results, scheduler: str) -> tuple[float, float]:
    frame = per_rank(results, scheduler).filter(pl.col("arrived") > 0).sort("rank")
    ranks, counts = frame["rank"].to_list(), frame["arrived"].to_list()
    low, high, total = ranks[0], ranks[-1], sum(counts)
    below, worst, distance = 0, 0.0, 0.0
    for rank, count in zip(ranks, counts, strict=True):
        score = (rank - low) / (high - low)
        worst = max(worst, abs(below / total - score))
        distance = max(distance, abs(below / total - score), abs((below + count) / total - score))
        below += count
    return worst, distance


def bandwidth_share(results: Results, scheduler: str, flow: float, from_ns: float, to_ns: float) -> float:
    """Return the share of the bytes sent in an interval that belong to one flow."""
    rows = results.rows("throughput", {"scheduler": scheduler}).filter(
        pl.col("start_ns") >= from_ns, pl.col("start_ns") < to_ns
    )
    return float(rows.filter(pl.col("flow") == flow)["bytes"].sum()) / float(rows["bytes"].sum())


def large_throughput_bps(results: Results, scheduler: str, from_bytes: float, **where: Any) -> float:
    """Return received bytes over the sum of completion times, in bit/s, of completed flows from a size on."""
    rows = _completed(results, from_bytes, {"scheduler": scheduler, **where})
    return float(rows["size_bytes"].sum()) * 8e9 / float(rows["fct_ns"].sum())


def mean_throughput_bps(results: Results, scheduler: str, size: str, **where: Any) -> float:
    """Return the mean over completed flows, all or large ones, of size over completion time, in bit/s."""
    table = results.frames.get("throughput")
    if table is not None and "mean_bps" in table.columns:
        return results.cell("throughput", "mean_bps", scheduler=scheduler, size=size, **where)
    rows = _completed(results, {"all": 0, "large": 1_000_000}[size], {"scheduler": scheduler, **where})
    return float(rows.select((pl.col("size_bytes") * 8e9 / pl.col("fct_ns")).mean()).item())


def _completed(results: Results, least: float, where: Mapping[str, Any]) -> pl.DataFrame:
    """Return the flows of at least `least` bytes that completed."""
    rows = results.rows("flows", where).filter(pl.col("size_bytes") >= least, pl.col("fct_ns").is_not_null())
    if rows.height == 0:
        raise MissingValueError(f"no flow of at least {least:.0f} bytes completed under {where['scheduler']}")
    return rows


def size_fct_ns(results: Results, scheduler: str, size: float, **where: Any) -> float:
    """Return the mean completion time of the flows of exactly one size."""
    return _of_size(results, "mean_ns", scheduler=scheduler, size_bytes=int(size), **where)


def size_p99_ns(results: Results, scheduler: str, size: float, **where: Any) -> float:
    """Return the 99th percentile (linear interpolation) of the completion times of the flows of one size."""
    return _of_size(results, "p99_ns", scheduler=scheduler, size_bytes=int(size), **where)


def _of_size(results: Results, column: str, **where: Any) -> float:
    """Return a column of the table `by_size`, or what it would be from the flows: ``mean_ns`` or ``p99_ns``."""
    if "by_size" in results.frames:
        return results.cell("by_size", column, **where)
    values = results.column("flows", "fct_ns", **where)
    if not values:
        raise MissingValueError(f"no flow of {where['size_bytes']} bytes completed under {where['scheduler']}")
    if column == "mean_ns":
        return statistics.fmean(values)
    return float(pl.Series(values).quantile(0.99, "linear"))  # type: ignore[arg-type]


def bound_mean(results: Results, scheduler: str, queue: float, from_ns: float, to_ns: float) -> float:
    """Return the mean over time of one queue's bound."""
    rows = results.rows("queue_samples", {"scheduler": scheduler, "queue": int(queue)}).filter(
        pl.col("time_ns") >= from_ns, pl.col("time_ns") < to_ns
    )
    return float(rows["bound"].mean())  # type: ignore[arg-type]


def drop_share(results: Results, scheduler: str, first: float, last: float, **where: Any) -> float:
    """Return the share of all drops, at all ports, that queues `first` to `last` (0 leaves first) refused or lost."""
    rows = results.rows("port_queues", {"scheduler": scheduler, **where})
    total = float(rows["dropped_packets"].sum())
    if total == 0:
        raise MissingValueError(f"{scheduler} dropped nothing")
    return float(rows.filter(pl.col("queue").is_between(first, last))["dropped_packets"].sum()) / total


def overlap(results: Results, scheduler: str, ending: float, other: float, **where: Any) -> float:
    """Return over how much of the life of the flow `ending` packets of another flow reach the receiver.

    The life goes from the first arrival of all to the last one of the flow, and is cut into a hundred parts of equally
    many arrivals; the share of the parts in which a packet of the other flow comes is the length over which the two
    lie above each other in a picture of the order of arrival.
    """
    flows = results.rows("arrival_order", {"scheduler": scheduler, **where})["flow"]
    places = pl.arg_where(flows == int(ending), eager=True)
    if not len(places):
        raise MissingValueError(f"no packet of flow {ending:.0f} arrived under {scheduler}")
    last = int(places[-1])
    others = pl.arg_where(flows.head(last) == int(other), eager=True)
    return len({100 * place // last for place in others.to_list()}) / 100


def lowest_dropped(results: Results, scheduler: str, **where: Any) -> float:
    """Return the lowest rank of which a packet was dropped."""
    rows = per_rank(results, scheduler, **where).filter(pl.col("dropped") > 0)
    if rows.height == 0:
        raise MissingValueError(f"{scheduler} dropped nothing")
    return float(rows["rank"].min())  # type: ignore[arg-type]


#: What an expression can call.
MEASURES: Mapping[str, Callable[..., float]] = {
    function.__name__: function
    for function in (
        tail_unpifoness,
        sent_share_gap,
        delta_by_rank,
        drops_below,
        bound_spread,
        mean_after,
        share_at,
        score_error,
        uniform_distance,
        bandwidth_share,
        large_throughput_bps,
        mean_throughput_bps,
        size_fct_ns,
        size_p99_ns,
        bound_mean,
        drop_share,
        overlap,
        lowest_dropped,
    )
}
