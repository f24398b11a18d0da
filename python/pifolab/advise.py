"""Which scheduler for my traffic? Tunes each on the first half of a trace and ranks them on the second.

Every scheduler gets the same buffer. The first half of the packets is replayed under every setting of a small grid, and
the best setting of each scheduler is kept; these few are replayed on the second half, in five pieces one after the
other, so that each score comes with an interval. PIFO, which no switch has, is shown as the mark to reach.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab import _pifolab, info
from pifolab.custom import PythonScheduler
from pifolab.errors import InputError
from pifolab.reproduce import hardware
from pifolab.runs import run_text
from pifolab.statistics import Estimate, mean_interval

if TYPE_CHECKING:
    from pifolab import Packet

__all__ = ["OBJECTIVES", "Advice", "Ranked", "advise"]

#: What can be asked for, and in what a score is counted; less is better.
OBJECTIVES = {
    "small-fct": "mean wait of the packets of small flows (us), a lost one counting as a retransmission timeout",
    "inversions": "packets sent while a lower rank waited, per packet sent, plus Delta to PIFO (wrong packets sent)",
    "fairness": "share of the bytes that fair queueing would have given to other flows in the same millisecond",
}

#: Flows below this are small, as in the five papers.
SMALL_BYTES = 100_000

#: What a lost packet of a small flow costs: Linux's smallest retransmission timeout is 200 ms, data centres set 1 ms.
TIMEOUT_US = 1000.0

#: The second half is replayed in so many pieces.
PIECES = 5

#: A trace with fewer packets than this says little about anything.
FEWEST_PACKETS = 1000

#: The load on the link unless its rate is given: enough that schedulers differ, as in PACKS.
LOAD = 1.1


@dataclass(frozen=True)
class Ranked:
    """One scheduler with its best setting."""

    scheduler: str
    settings: dict[str, Any]
    #: Its score on the half that it was tuned on.
    tuned: float
    #: On the other half.
    score: Estimate
    inversions_share: float
    dropped_share: float
    registers: int | None
    table_bytes: float | None


@dataclass(frozen=True)
class Advice:
    """Schedulers from the best to the worst, and what the ranking rests on."""

    objective: str
    rank: str
    rate_bps: int
    packets: int
    tried: int
    ranking: tuple[Ranked, ...]
    ideal: Estimate

    @property
    def winner(self) -> Ranked:
        """The first of the ranking: among those that cannot be told apart, the one that needs the least state."""
        return self.ranking[0]

    @property
    def close(self) -> tuple[str, ...]:
        """Those whose interval meets the winner's."""
        best = self.winner.score
        return tuple(one.scheduler for one in self.ranking[1:] if one.score.low <= best.high)


class _Recorder(PythonScheduler):
    """Sends what arrives and remembers it: the way to see a trace as the simulator reads it."""

    seen: list[tuple[int, int, int, int]]

    def __init__(self, seen: list[tuple[int, int, int, int]]) -> None:
        self.seen = seen
        self._held: list[Packet] = []

    def enqueue(self, packet: Packet, now_ns: int) -> None:
        self.seen.append((now_ns, packet.size_bytes, packet.flow, packet.rank))
        self._held.append(packet)

    def dequeue(self, now_ns: int) -> Packet | None:
        return self._held.pop(0) if self._held else None


def advise(
    trace: str | os.PathLike[str],
    *,
    queues: int = 8,
    buffer_packets: int = 80,
    objective: str = "inversions",
    rank: str | None = None,
    rate_gbps: float | None = None,
    workers: int | None = None,
) -> Advice:
    """Rank the schedulers on a trace.

    Parameters
    ----------
    trace : path
        pcap, pcapng or CSV (``time_ns,size_bytes,rank,flow``), gzip allowed.
    queues, buffer_packets : int
        What the port has; `buffer_packets` is divided by `queues` for schedulers with several.
    objective : str
        One of `OBJECTIVES`.
    rank : str, optional
        A rank function, or ``"column"`` or ``"dscp"`` for ranks that the trace carries. Default: ``flow-size`` for
        small-fct, ``stfq`` for fairness; for inversions the column of a CSV file that has one, else ``flow-size``.
    rate_gbps : float, optional
        The link's rate. Default: the trace's own mean rate is 110 % of it.
    workers : int, optional
        How many schedulers run side by side.

    Raises
    ------
    InputError
        The trace cannot be read or is too short, or something about the port makes no sense.
    """
    if objective not in OBJECTIVES:
        raise InputError(_pifolab.unknown_name("objective", objective, list(OBJECTIVES)))
    if queues < 1 or buffer_packets < queues or buffer_packets % queues:
        raise InputError(
            f"buffer_packets = {buffer_packets}: expected a multiple of the {queues} queues, at least one each"
        )
    path = Path(trace)
    if rank is None:
        rank = {"small-fct": "flow-size", "fairness": "stfq"}.get(objective) or _carried(path)
    packets = _read(path, rank)
    if len(packets) < FEWEST_PACKETS:
        raise InputError(f"{path}: has {len(packets)} packets; expected at least {FEWEST_PACKETS} to tune and to judge")
    span_ns = packets[-1][0] - packets[0][0]
    if span_ns == 0:
        raise InputError(f"{path}: all packets arrive at once; expected times that differ")
    rate_bps = round(rate_gbps * 1e9) if rate_gbps else max(1, round(sum(p[1] for p in packets) * 8e9 / span_ns / LOAD))
    if rate_bps < 1:
        raise InputError(f"rate_gbps = {rate_gbps}: expected a number above 0")
    half = len(packets) // 2
    with tempfile.TemporaryDirectory(prefix="pifolab-advise-") as folder:
        scene = _Scene(Path(folder), rank, rate_bps, objective, workers)
        ideal = info.ideal()
        candidates = dict(_candidates(queues, buffer_packets, objective))
        tuned = scene.scores(packets[:half], candidates)
        best: dict[str, str] = {}
        for label, (name, _) in candidates.items():
            if name != ideal and (name not in best or tuned[label]["score"] < tuned[best[name]]["score"]):
                best[name] = label
        chosen = {label: candidates[label] for label in (ideal, *best.values())}
        rest = packets[half:]
        size = -(-len(rest) // PIECES)
        pieces = [scene.scores(rest[at : at + size], chosen) for at in range(0, len(rest), size)]
    ranking = []
    for name, label in best.items():
        settings = candidates[label][1]
        found = [piece[label] for piece in pieces]
        cost = hardware.cost(name, settings)
        ranking.append(
            Ranked(
                name,
                settings,
                tuned[label]["score"],
                mean_interval([one["score"] for one in found]),
                math.fsum(one["inversions"] for one in found) / len(found),
                math.fsum(one["dropped"] for one in found) / len(found),
                cost.registers if cost else None,
                cost.table_bytes if cost else None,
            )
        )
    mark = mean_interval([piece[ideal]["score"] for piece in pieces])
    return Advice(objective, rank, rate_bps, len(packets), len(candidates), _in_order(ranking), mark)


def _in_order(found: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """Sort by score; where scores are the same to the last digit, the one with less state comes first."""
    return tuple(sorted(found, key=lambda one: (one.score.value, one.registers or 0, one.scheduler)))


def _carried(path: Path) -> str:
    """Return where the ranks of a trace come from when nothing is said: its column, or else sizes of flows."""
    from gzip import open as gunzip

    try:
        with path.open("rb") as file:
            start = file.read(2)
        with gunzip(path, "rb") if start == b"\x1f\x8b" else path.open("rb") as file:
            header = file.readline(200)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    return "column" if b"rank" in header.split(b",")[1:] or header.strip().endswith(b",rank") else "flow-size"


def _scenario(trace: Path, rank: str, rate_bps: int, extra: str = "") -> str:
    lines = ["[link]", f"rate_bps = {rate_bps}", "[workload]", f"trace = {json.dumps(str(trace.absolute()))}"]
    if rank in ("column", "dscp"):
        lines.append(f'trace_rank = "{rank}"')
    else:
        lines += ["[rank]", f"name = {json.dumps(rank)}"]
    return "\n".join([*lines, extra]) + "\n"


def _read(trace: Path, rank: str) -> list[tuple[int, int, int, int]]:
    """Return time (ns), bytes, flow and rank of every packet, as the simulator reads them."""
    seen: list[tuple[int, int, int, int]] = []
    carried = rank if rank in ("column", "dscp") else "fcfs"
    text = _scenario(trace, carried, 1_000_000_000_000, '[[scheduler]]\nname = "recorder"')
    run_text(text, str(trace), schedulers={"recorder": lambda: _Recorder(seen)}, workers=1)
    return seen


def _candidates(queues: int, room: int, objective: str) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    """Yield a label, the scheduler, and its parameters, for everything that is tried."""
    shared = {"capacity_packets": room}
    divided = {"queues": queues, "queue_capacity_packets": room // queues}
    yield info.ideal(), (info.ideal(), shared)
    for about in info.schedulers():
        kinds = {param.name: param.kind for param in about.params}
        buffer = divided if "queues" in kinds else shared
        # What looks at flows and at no rank serves fairness alone.
        fair_only = about.traits.reads_flows and not about.traits.reads_ranks
        if about.advice is None or (fair_only and objective != "fairness"):
            continue
        axes = [[(key, int(v) if kinds[key] == "integer" else v) for v in values] for key, values in about.advice]
        for place, setting in enumerate(itertools.product(*axes)):
            yield f"{about.name}-{place}", (about.name, {**buffer, **dict(setting)})


@dataclass
class _Scene:
    """The link on which candidates are compared."""

    folder: Path
    rank: str
    rate_bps: int
    objective: str
    workers: int | None

    def scores(
        self, packets: Sequence[tuple[int, int, int, int]], candidates: dict[str, tuple[str, dict[str, Any]]]
    ) -> dict[str, dict[str, float]]:
        """Replay `packets` through the candidates: score, inversions per packet sent, share dropped."""
        file = self.folder / "packets.csv"
        with file.open("w", encoding="ascii") as out:
            out.write("time_ns,size_bytes,flow,rank\n")
            first = packets[0][0]
            out.writelines(f"{time - first},{size},{flow},{rank}\n" for time, size, flow, rank in packets)
        extra = ["[metrics]", f'delta_to = "{info.ideal()}"', "sample_every_packets = 1000000"]
        if self.objective == "fairness":
            extra.append("throughput_interval_ms = 1")
        for label, (name, parameters) in candidates.items():
            extra += ["[[scheduler]]", f'name = "{name}"', f'label = "{label}"' if label != name else ""]
            extra += [f"{key} = {json.dumps(value)}" for key, value in parameters.items()]
        tables = run_text(
            _scenario(file, self.rank, self.rate_bps, "\n".join(extra)), "advise.toml", workers=self.workers
        ).tables
        found = {}
        for row in tables["schedulers"].iter_rows(named=True):
            sent = max(row["sent_packets"], 1)
            found[row["scheduler"]] = {
                "inversions": row["inversions"] / sent,
                "dropped": row["dropped_packets"] / max(row["arrived_packets"], 1),
                "score": row["inversions"] / sent + (row["delta"] or 0.0),
            }
        if self.objective == "small-fct":
            for label, score in _waits(tables["ranks"]).items():
                found[label]["score"] = score
        elif self.objective == "fairness":
            for label, score in _unfairness(tables["throughput"]).items():
                found[label]["score"] = score
        return found


def _waits(ranks: Any) -> dict[str, float]:
    """Return for each scheduler the mean wait of packets of small flows in microseconds, losses included."""
    import polars as pl

    # Ranks are the sizes of flows; if none is small, the smallest that there are.
    border = max(SMALL_BYTES, int(ranks["rank"].min()) + 1)
    small = ranks.filter(pl.col("rank") < border).with_columns(pl.col("sojourn_mean_ns").fill_null(0.0))
    sums = small.group_by("scheduler").agg(
        (pl.col("departures") * pl.col("sojourn_mean_ns") / 1000 + pl.col("dropped") * TIMEOUT_US).sum().alias("us"),
        (pl.col("departures") + pl.col("dropped")).sum().alias("packets"),
    )
    return {name: us / packets for name, us, packets in sums.iter_rows()}


def _unfairness(throughput: Any) -> dict[str, float]:
    """Return for each scheduler the share of bytes that PIFO with the same ranks gave to other flows."""
    import polars as pl

    ideal = throughput.filter(scheduler=info.ideal()).select("start_ns", "flow", pl.col("bytes").alias("ideal"))
    total = float(ideal["ideal"].sum())
    found = {}
    for name in throughput["scheduler"].unique(maintain_order=True):
        own = throughput.filter(scheduler=name).select("start_ns", "flow", "bytes")
        both = own.join(ideal, on=["start_ns", "flow"], how="full", coalesce=True).fill_null(0)
        found[name] = float((both["bytes"] - both["ideal"]).abs().sum()) / (2 * total)
    return found
