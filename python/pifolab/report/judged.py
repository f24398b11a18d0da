"""How schedulers on one link are judged beside inversions: drops that PIFO spares, pairs, magnitude, state and work."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pifolab import info
from pifolab.hardware import Cost, cost
from pifolab.lazy import pl
from pifolab.text import value_of

if TYPE_CHECKING:
    from pifolab.runs import Run

#: Misdrops are alike if they differ by no more than this share.
LIKE = 0.05

#: Explanations of headings that are not obvious.
_ABOUT = {
    "misdrops (packets)": "Misdrops: drops beyond those of the reference (metrics.delta_to, else PIFO), rank by rank.",
    "magnitude (ranks)": "Magnitude: by how many ranks a packet sent lies above the lowest that waits, summed.",
    "operations per packet": "Operations: the most comparisons with registers, look-ups and changes of registers for "
    "one packet.",
    "beaten by": "Beaten by: schedulers that have fewer inversions with no more bits of state (registers of 32 bits, "
    "and tables) and no more misdrops (5 %).",
}


def about(headings: Sequence[str]) -> str:
    """Return explanations of the headings of `judged_rows`, in sentences."""
    return " ".join(text for heading, text in _ABOUT.items() if heading in headings)


@dataclass(frozen=True)
class Judged:
    """One scheduler: means over the seeds, and its cost in a switch."""

    scheduler: str
    inversions: float
    misdrops: float | None
    #: Drops while the traffic loads the link by less than it can send; None if it does not.
    below_saturation: float | None
    pairs: float
    magnitude: float | None
    cost: Cost | None
    #: Schedulers that have fewer inversions with no more state and no more misdrops.
    beaten_by: tuple[str, ...] = ()


def judged(run: Run) -> list[Judged]:
    """Return a row for each scheduler of a run on one link."""
    spec = run.manifest["spec"]
    schedulers = run.tables["schedulers"]
    columns = ("inversions", "misdrops", "dropped_packets", "pairwise_inversions", "inversion_magnitude")
    means = schedulers.group_by("scheduler", maintain_order=True).agg(
        *(pl.col(name).cast(pl.Float64).mean() for name in columns),
        pl.col("arrived_bytes").mean(),
        pl.col("end_ns").mean(),
    )
    costs = {written["label"]: _cost(written) for written in spec["scheduler"]}
    rows = []
    for row in means.iter_rows(named=True):
        load = row["arrived_bytes"] * 8e9 / max(row["end_ns"], 1) / spec["link"]["rate_bps"]
        rows.append(
            Judged(
                row["scheduler"],
                row["inversions"],
                row["misdrops"],
                row["dropped_packets"] if load < 1 else None,
                row["pairwise_inversions"],
                row["inversion_magnitude"],
                costs.get(row["scheduler"]),
            )
        )
    return [Judged(**{**vars(one), "beaten_by": _beaten_by(one, rows)}) for one in rows]


def _beaten_by(one: Judged, others: Sequence[Judged]) -> tuple[str, ...]:
    if one.cost is None or one.misdrops is None:
        return ()
    return tuple(
        other.scheduler
        for other in others
        if other.cost is not None
        and other.misdrops is not None
        and other.cost.total_bits <= one.cost.total_bits
        and other.misdrops <= one.misdrops * (1 + LIKE)
        and other.inversions < one.inversions
    )


def _cost(written: Mapping[str, Any]) -> Cost | None:
    """Return the cost in a switch of a scheduler of a manifest; None if it is not counted."""
    name = written["name"]
    if all(about.name != name for about in info.schedulers()):
        return None
    known = {param.name: param for param in info.scheduler(name).params}
    # A default may be one that has no effect beside the other keys, which only a user's key must not be.
    given = {key: value for key, value in written.items() if key in known and _text(value) != known[key].default}
    settings = {key: value_of(value) if isinstance(value, str) else value for key, value in given.items()}
    if "queues" in known and "queue_capacity_packets" not in settings and "queue_capacity_bytes" not in settings:
        settings["queues"] = written["built"]["queues"]
    return cost(name, settings)


def _text(written: Any) -> str:
    """Return a value of the manifest as the tables of parameters write it."""
    return written if isinstance(written, str) else json.dumps(written)


def judged_rows(run: Run) -> tuple[list[str], list[list[Any]]]:
    """Return headings and a row for each scheduler; columns without any value are left out."""
    found = judged(run)
    columns: list[tuple[str, list[Any]]] = [
        ("misdrops (packets)", [_whole(one.misdrops) for one in found]),
        ("drops below saturation (packets)", [_whole(one.below_saturation) for one in found]),
        ("inverted pairs", [_whole(one.pairs) for one in found]),
        ("magnitude (ranks)", [_whole(one.magnitude) for one in found]),
        ("registers", [one.cost and one.cost.registers for one in found]),
        ("state (bits)", [one.cost and round(one.cost.total_bits) for one in found]),
        ("operations per packet", [one.cost and one.cost.operations for one in found]),
        ("beaten by", [", ".join(one.beaten_by) or None for one in found]),
    ]
    kept = [(heading, cells) for heading, cells in columns if any(cell is not None for cell in cells)]
    rows = [[one.scheduler, *(cells[at] for _, cells in kept)] for at, one in enumerate(found)]
    return ["scheduler", *(heading for heading, _ in kept)], rows


def _whole(number: float | None) -> int | float | None:
    return None if number is None else round(number) if number >= 100 or number == int(number) else number
