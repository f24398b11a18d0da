"""Which scheduler for my traffic? Tunes each on the first half of a trace and ranks them on the second.

Every scheduler gets the same buffer. The first half of the packets is replayed under every setting of a small grid, and
the best setting of each scheduler is kept; these few are replayed on the second half, in five pieces one after the
other, so that each score comes with an interval, and as a whole, for what is lost: of a short piece a buffer that was
empty at its start takes a large share. PIFO, which no switch has, is shown as the mark to reach.

A scheduler that loses packets has fewer left to serve badly. So what is lost is part of every score, as the worst that
can become of a packet, and schedulers that lose clearly more than PIFO, in packets and in bytes, are ranked behind the
others. So are those that do not fit the target: a switch, or a number of stages or registers.
"""

from __future__ import annotations

import itertools
import math
import os
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from gzip import GzipFile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab import _pifolab, hardware, info
from pifolab.bounds import optimal_bounds
from pifolab.comparing import compare, dscp_ranks
from pifolab.custom import PythonScheduler
from pifolab.errors import InputError, from_parameter, parameter_error
from pifolab.flows_named import flow_filter, name_ends
from pifolab.lazy import np, pl
from pifolab.quantities import rate_text, size_text, time_text
from pifolab.runs import complete
from pifolab.scenario import own_buffer
from pifolab.statistics import Estimate, mean_interval
from pifolab.targets import PROGRAMMED, WINDOWS, Limits, check_target, fit
from pifolab.text import open_bytes, readable
from pifolab.traces import trace_notes

if TYPE_CHECKING:
    import polars

    from pifolab import Dropped, Packet

#: What can be asked for, and what a score is; less is better.
OBJECTIVES = {
    "small-fct": "mean wait of the packets of small flows (us), a lost one counting as the time-out; plus the time-out "
    "times the share of the other packets that is lost beyond what PIFO loses",
    "inversions": "per packet that arrived: 1 if it was sent while a lower rank waited, 1 if it was sent and PIFO "
    "would have lost it, 2 if it was lost and PIFO would have sent it",
    "fairness": "share of the bytes that fair queueing would have sent in each millisecond and that were lost, late, "
    "or given to other flows",
}

#: Flows below this are small, as in the five papers.
SMALL_BYTES = 100_000

#: The least time-out: Linux's smallest retransmission timeout is 200 ms, data centres set 1 ms.
TIMEOUT_US = 1000.0

#: What a packet counts for the objective inversions that is lost and should not be: as much as the worst that is sent.
LOST_INVERSIONS = 2.0

#: A scheduler that loses this much more than PIFO, of the packets and of the bytes, is not called best. What fits into
#: the buffer is allowed beside it: at the end of the trace, one scheduler may hold what another has lost.
MOST_EXTRA_LOSS = 0.05

#: A score that is lower by less than this share of the winner's changes no advice.
LEAST_GAIN = 0.02

#: The base delay (round-trip time) that a buffer is compared with, unless it is given: that of a data centre.
DELAY_US = 100.0

#: The second half is replayed in so many pieces.
PIECES = 5

#: A trace with fewer packets than this says little about anything.
FEWEST_PACKETS = 1000

#: All packets are held in memory, and these take about four gigabytes.
MOST_PACKETS = 20_000_000

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
    #: Packets sent while a lower rank waited, per packet sent.
    inversions_share: float
    #: Packets lost, per packet that arrived.
    dropped_share: float
    #: Whether it loses clearly more than PIFO, and so is ranked behind those that do not.
    loses_more: bool
    registers: int | None
    table_bytes: float | None
    #: Comparisons, look-ups and changes of registers for each packet.
    operations: int | None = None
    #: The score on each piece of the second half. All shares are of the second half as a whole.
    pieces: tuple[float, ...] = ()
    #: Drops beyond those of PIFO, rank by rank, per packet that arrived.
    misdropped_share: float = 0.0
    #: Pairs of a packet sent and a waiting one of lower rank, per packet sent.
    pairs: float = 0.0
    #: By how many ranks packets sent lie above the lowest that waits, per packet sent.
    magnitude: float = 0.0
    #: Bits of its registers and tables in a switch.
    state_bits: int | None = None
    #: Bytes lost, per byte that arrived.
    dropped_bytes_share: float = 0.0
    #: Why it does not fit the target, and so is ranked behind those that do; None if it fits.
    unfit: str | None = None
    #: Stages and stateful ALUs of the target that its program takes, where they were counted.
    stages: int | None = None
    stateful_alus: int | None = None


@dataclass(frozen=True)
class Advice:
    """Schedulers from the best to the worst, and what the ranking rests on."""

    trace: str
    objective: str
    rank: str
    rate_bps: int
    packets: int
    bytes: int
    flows: int
    span_ns: int
    queues: int
    buffer_packets: int
    delay_us: float
    #: What a lost packet counts for the objective small-fct.
    timeout_us: float
    tried: int
    ranking: tuple[Ranked, ...]
    ideal: Estimate
    #: Of PIFO.
    ideal_dropped_share: float
    #: The same in bytes.
    ideal_dropped_bytes_share: float
    #: What the reader has to know of the trace, the link and the buffer.
    notes: tuple[str, ...]
    #: The switch that the candidates have to fit, or any.
    target: str = "any"
    #: Which changes of the link and the buffer were tried, and what they would change.
    changes: tuple[str, ...] = ()

    @property
    def winner(self) -> Ranked:
        """The first of the ranking: the best score, or what keeps no state and cannot be told apart from it."""
        return self.ranking[0]

    @property
    def close(self) -> tuple[str, ...]:
        """Those whose interval meets the winner's, without those that do not fit or lose clearly more than PIFO."""
        best, last = self.winner.score, (self.winner.unfit is not None, self.winner.loses_more)
        rest = [one for one in self.ranking[1:] if (one.unfit is not None, one.loses_more) <= last]
        return tuple(one.scheduler for one in rest if one.score.low <= best.high)

    @property
    def load(self) -> float:
        """The mean rate of the trace over that of the link."""
        return self.bytes * 8e9 / self.span_ns / self.rate_bps

    @property
    def objective_text(self) -> str:
        """What a score is, in one line."""
        text = OBJECTIVES[self.objective]
        return f"{text}; the time-out is {self.timeout_us / 1000:.4g} ms" if self.objective == "small-fct" else text

    def as_dict(self) -> dict[str, Any]:
        """Return all of it, for programs."""
        derived = {"winner": self.winner.scheduler, "close": list(self.close), "load": self.load}
        return {"pifolab": _pifolab.__version__} | asdict(self) | derived

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write advice.json, figures/ and report.html to `folder`, completely or not at all.

        With `force` a folder is replaced that has nothing but what pifolab wrote.

        Raises
        ------
        InputError
            The folder exists or cannot be made.
        """
        from pifolab.report.advice import write_report

        return write_report(self, Path(folder), force=force)


class _TooLongError(Exception):
    """The trace has more packets than fit into memory."""


class _Seen:
    """Packets in 24 bytes each: as tuples of Python twenty million would be five gigabytes."""

    def __init__(self) -> None:
        self.columns = {"time_ns": array("Q"), "size_bytes": array("I"), "flow": array("I"), "rank": array("Q")}

    def __len__(self) -> int:
        return len(self.columns["time_ns"])

    def append(self, packet: tuple[int, int, int, int]) -> None:
        for column, value in zip(self.columns.values(), packet, strict=True):
            column.append(value)

    def frame(self) -> polars.DataFrame:
        """Return a row for each packet."""
        return pl.DataFrame({name: np.frombuffer(column, column.typecode) for name, column in self.columns.items()})


def _recorder(seen: _Seen) -> type[PythonScheduler]:
    """Return a scheduler that remembers what arrives and keeps nothing: the way to see what the simulator reads."""

    class Recorder(PythonScheduler):
        def enqueue(self, packet: Packet, now_ns: int) -> Dropped:
            if len(seen) >= MOST_PACKETS:
                raise _TooLongError
            seen.append((now_ns, packet.size_bytes, packet.flow, packet.rank))
            return _pifolab.Dropped("full", packet)

        def dequeue(self, now_ns: int) -> None:
            return None

    return Recorder


def advise(
    trace: str | os.PathLike[str],
    *,
    queues: int = 8,
    buffer_packets: int = 80,
    objective: str = "inversions",
    rank: str | None = None,
    rank_map: str | None = None,
    rate_gbps: float | None = None,
    delay_us: float = DELAY_US,
    options: Mapping[str, Any] | None = None,
    duration_s: float | str | None = None,
    filter: str | None = None,
    target: str = "any",
    registers: int | None = None,
    stages: int | None = None,
    schedulers: Mapping[str, type[PythonScheduler]] | None = None,
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
        A rank function, or ``"column"``, ``"dscp"``, ``"dscp:phb"`` (the order of per-hop behaviours) or ``"payload"``
        for ranks that the trace carries. Default:
        ``flow-size`` for small-fct, ``stfq`` for fairness; for inversions the column of a CSV file that has one, else
        ``flow-size``.
    rank_map : str, optional
        With rank="dscp": ranks of DSCPs such as ``"46=0,34=1"``, behind which all others come.
    rate_gbps : float, optional
        The link's rate. Default: the trace's own mean rate is 110 % of it.
    delay_us : float
        The round-trip time of the traffic without queueing, in microseconds; a buffer below rate x delay is noted.
    options : mapping, optional
        Further keys of ``[workload]`` that say how the trace is replayed: ``speed_up``, ``out_of_order``,
        ``payload_offset_bytes`` and so on.
    duration_s : float, optional
        Packets at or after this time, in seconds, are left out.
    filter : str, optional
        Which flows count, such as ``"ip.dst == 10.0.0.0/8 and not tcp.port == 22"`` (`pifolab.flow_filter`).
    target : str
        ``tofino``, ``tofino2``, ``bmv2``, ``linux`` or ``any``: what candidates have to fit.
    registers, stages : int, optional
        How many the switch has to give: candidates that need more do not fit.
    schedulers : mapping of str to class, optional
        Schedulers written in Python, ranked with the others. A class gets what its constructor has of
        ``capacity_packets``, ``queues`` and ``queue_capacity_packets``, and is tried with each combination of the
        values in its attribute ``advice``, such as ``{"window": [15, 100]}``.
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
        problem = f": expected a multiple of the {queues} queues, at least one each"
        raise parameter_error("buffer_packets", problem, value=buffer_packets)
    if not (0 < delay_us < math.inf):
        raise InputError(f"delay_us = {delay_us}: expected a number above 0")
    check_target(target, registers, stages)
    path = Path(trace)
    options = dict(options or {})
    rank, mapped = dscp_ranks(rank, rank_map)
    if mapped is not None:
        options["rank_map"] = mapped
    if rank is not None and rank not in _CARRIED:
        info.rank(rank)
    if rank is None:
        rank = {"small-fct": "flow-size", "fairness": "stfq"}.get(objective) or _carried(path)
    if objective == "small-fct" and rank not in _CARRIED and not _is_whole_size(rank):
        raise InputError(
            f"rank = {rank}: small-fct needs ranks that are the sizes of flows: expected flow-size, or column, dscp or "
            "payload if the trace carries sizes"
        )
    packets, notes = _read(path, rank, options, duration_s, filter)
    if len(packets) < FEWEST_PACKETS:
        raise InputError(f"{path}: has {len(packets)} packets; expected at least {FEWEST_PACKETS} to tune and to judge")
    span_ns = packets["time_ns"][-1] - packets["time_ns"][0]
    if span_ns == 0:
        raise InputError(f"{path}: all packets arrive at once; expected times that differ")
    total = int(packets["size_bytes"].sum())
    rate_bps = round(rate_gbps * 1e9) if rate_gbps else max(1, round(total * 8e9 / span_ns / LOAD))
    if rate_bps < 1:
        raise InputError(f"rate_gbps = {rate_gbps}: expected a number above 0")
    mean_bytes = total / len(packets)
    # Longer than it takes to empty a full buffer no packet waits in a FIFO queue.
    timeout_us = max(TIMEOUT_US, buffer_packets * mean_bytes * 8e6 / rate_bps)
    half = len(packets) // 2
    own = dict(schedulers or {})
    scene = _Scene(rank, rate_bps, objective, timeout_us, workers, own)
    ideal = info.ideal()
    weights = packets[:half] if rank in _CARRIED or _is_whole_size(rank) else None
    by_class = options.get("rank_map") == "phb"
    candidates = dict(_candidates(queues, buffer_packets, objective, own, target, weights, by_class=by_class))
    tuned = scene.scores(packets[:half], candidates)
    limits = Limits(target, registers, stages)
    fits = {label: fit(name, settings, limits, own=name in own) for label, (name, settings) in candidates.items()}
    best: dict[str, str] = {}

    def key(label: str) -> tuple[bool, bool, float]:
        more = _loses_more(tuned[label], tuned[ideal], buffer_packets / half)
        return fits[label].problem is not None, more, tuned[label]["score"]

    for label, (name, _) in candidates.items():
        if name != ideal and (name not in best or key(label) < key(best[name])):
            best[name] = label
    chosen = {label: candidates[label] for label in (ideal, *best.values())}
    rest = packets[half:]
    size = -(-len(rest) // PIECES)
    pieces = [scene.scores(rest[at : at + size], chosen) for at in range(0, len(rest), size)]
    whole = scene.scores(rest, chosen)
    ranking = []
    for name, label in best.items():
        settings, found = candidates[label][1], whole[label]
        scores = [piece[label]["score"] for piece in pieces]
        cost = None if name in own else hardware.cost(name, settings)
        ranking.append(
            Ranked(
                name,
                settings,
                tuned[label]["score"],
                mean_interval(scores),
                found["inversions"],
                found["dropped"],
                _loses_more(found, whole[ideal], buffer_packets / len(rest)),
                cost.registers if cost else None,
                cost.table_bytes if cost else None,
                cost.operations if cost else None,
                tuple(scores),
                found["misdropped"],
                found["pairs"],
                found["magnitude"],
                round(cost.total_bits) if cost else None,
                found["dropped_bytes"],
                fits[label].problem,
                fits[label].stages,
                fits[label].stateful_alus,
            )
        )
    ranking = list(_in_order(ranking))
    changes = _changes(scene, rest, chosen, best, ranking, buffer_packets)

    advice = Advice(
        trace=path.name,
        objective=objective,
        rank=rank if mapped is None else f"{rank}:{mapped}",
        rate_bps=rate_bps,
        packets=len(packets),
        bytes=total,
        flows=packets["flow"].n_unique(),
        span_ns=span_ns,
        queues=queues,
        buffer_packets=buffer_packets,
        delay_us=delay_us,
        timeout_us=timeout_us,
        tried=len(candidates),
        ranking=tuple(ranking),
        ideal=mean_interval([piece[ideal]["score"] for piece in pieces]),
        ideal_dropped_share=whole[ideal]["dropped"],
        ideal_dropped_bytes_share=whole[ideal]["dropped_bytes"],
        notes=(*notes, *_buffer_notes(buffer_packets, mean_bytes, rate_bps, delay_us)),
        target=target,
        changes=changes,
    )
    lost = "; ".join(
        f"{one.scheduler} loses {one.dropped_share:.1%} of the packets ({one.dropped_bytes_share:.1%} of the bytes)"
        for one in advice.ranking
        if one.loses_more
    )
    if not lost:
        return advice
    limit = f"over {MOST_EXTRA_LOSS:.0%} of packets and bytes more than PIFO"
    ideals = f"{whole[ideal]['dropped']:.1%} and {whole[ideal]['dropped_bytes']:.1%}"
    return replace(advice, notes=(*advice.notes, f"{lost}: ranked last, {limit} ({ideals})"))


def _loses_more(found: Mapping[str, float], ideal: Mapping[str, float], buffered: float) -> bool:
    """Return whether a scheduler loses clearly more than PIFO, of which a buffer holds the share `buffered`.

    In packets alone it may: PIFO rather drops large packets of high rank. In bytes alone, too.
    """
    most = MOST_EXTRA_LOSS + buffered
    return all(found[lost] - ideal[lost] > most for lost in ("dropped", "dropped_bytes"))


def _in_order(found: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """Sort by score; but if one that keeps no state cannot be told apart from the best, it comes first.

    Such queues every switch has. They are compared piece by piece: all have had the same packets.
    """

    def key(one: Ranked) -> tuple[bool, bool, float, int, str]:
        return one.unfit is not None, one.loses_more, one.score.value, one.registers or 0, one.scheduler

    ranking = sorted(found, key=key)
    best = ranking[0]

    def level(one: Ranked) -> bool:
        later = [own - of_best for own, of_best in zip(one.pieces, best.pieces, strict=True)]
        return (one.unfit is None, one.loses_more) == (best.unfit is None, best.loses_more) and (
            one is best or mean_interval(later).low <= 0
        )

    first = next((one for one in ranking if one.state_bits == 0 and level(one)), best)
    return (first, *(one for one in ranking if one is not first))


def _changes(
    scene: _Scene,
    rest: polars.DataFrame,
    chosen: dict[str, tuple[str, dict[str, Any]]],
    best: Mapping[str, str],
    ranking: Sequence[Ranked],
    buffer_packets: int,
) -> tuple[str, ...]:
    """Return what the advice would be on a link twice as fast, and with buffers of four times and half the size."""
    winner = ranking[0]
    level = [one.scheduler for one in ranking if (one.unfit is not None) <= (winner.unfit is not None)]
    tried = {
        "a link twice as fast": (replace(scene, rate_bps=2 * scene.rate_bps), 1.0),
        "a buffer four times as large": (scene, 4.0),
        "half the buffer": (scene, 0.5),
    }
    lines, same = [], []
    for change, (changed, factor) in tried.items():
        grown = {label: (name, _with_buffer(settings, factor)) for label, (name, settings) in chosen.items()}
        scores = changed.scores(rest, grown)
        ideal, share = scores[info.ideal()], factor * buffer_packets / len(rest)
        able = [name for name in level if not _loses_more(scores[best[name]], ideal, share)] or level
        first = min(able, key=lambda name: scores[best[name]]["score"])
        own, other = scores[best[winner.scheduler]]["score"], scores[best[first]]["score"]
        if winner.scheduler in able and own - other <= LEAST_GAIN * own + 1e-9:
            same.append(change)
        else:
            lines.append(f"with {change} it would be {first} (score {other:.3g}; {winner.scheduler} {own:.3g})")
    if same:
        lines.append(f"the same with {' or '.join(same)}")
    return tuple(lines)


def _with_buffer(settings: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Return the settings with a buffer `factor` times as large, at least a packet in each queue."""

    def scaled(key: str, value: Any) -> Any:
        if key not in ("capacity_packets", "queue_capacity_packets"):
            return value
        if isinstance(value, list):
            return [max(1, int(one * factor)) for one in value]
        return max(1, int(value * factor))

    return {key: scaled(key, value) for key, value in settings.items()}


def _buffer_notes(buffer_packets: int, mean_bytes: float, rate_bps: int, delay_us: float) -> list[str]:
    """Return a line if the buffer is below rate x delay: then no scheduler can keep the link full for one sender."""
    held, needed = buffer_packets * mean_bytes, rate_bps / 8 * delay_us / 1e6
    if held >= needed:
        return []
    return [
        f"the buffer of {buffer_packets} packets ({size_text(held)} at the mean packet size) is below rate x delay "
        f"({rate_text(rate_bps)} x {time_text(delay_us * 1e3)} = {size_text(needed)}): senders that slow down on loss "
        "would leave the link idle at times; a replay does not show this"
    ]


def _carried(path: Path) -> str:
    """Return where the ranks of a trace come from when nothing is said: its column, or else sizes of flows."""
    readable(path)
    try:
        with open_bytes(path) as file:
            start = file.read(2)
        with open_bytes(path) as file:
            header = (GzipFile(fileobj=file) if start == b"\x1f\x8b" else file).readline(200)
    except (EOFError, zlib.error):
        # The whole trace is read next, and says what is wrong with it.
        return "flow-size"
    names = [name.strip() for name in header.split(b",")]
    return "column" if len(names) > 1 and b"rank" in names else "flow-size"


#: Ranks that the trace carries.
_CARRIED = ("column", "dscp", "payload")


#: The fact that whole flows are needed for: it is counted over the whole trace, and goes to its pieces as a column.
_WHOLE_FLOW = "flow-size"


def _is_whole_size(rank: str) -> bool:
    return rank not in _CARRIED and _WHOLE_FLOW in info.rank(rank).needs


def _read(
    trace: Path, rank: str, options: dict[str, Any], duration_s: float | str | None, wanted: str | None
) -> tuple[polars.DataFrame, list[str]]:
    """Return time (ns), bytes, flow and rank of every packet, as the simulator reads them, and notes on the trace.

    Sizes of flows are counted here, over the whole trace: its pieces hold less of a flow than it has.
    """
    seen = _Seen()
    carried = rank if rank in _CARRIED else "fcfs"
    # A queue that sends everything has the names of all flows.
    both: list[Any] = [_recorder(seen), {"name": "fifo", "capacity_packets": 1_000_000}]
    overrides = {f"workload.{key}": value for key, value in options.items()}
    try:
        result = complete(
            compare(both, trace=trace, rank=carried, rate="1T", duration_s=duration_s, overrides=overrides, workers=1)
        )
    except InputError as error:
        raise (error.changed(key="options") if error.key == "overrides" else error) from None
    except _TooLongError:
        raise InputError(
            f"{trace}: has over {MOST_PACKETS:,} packets: expected at most that many, or a duration after which "
            "the rest is left out"
        ) from None
    packets = seen.frame().cast(pl.Int64)
    names = dict(result.tables["flows"].select("flow", "flow_name").iter_rows())
    notes = trace_notes(result.manifest["spec"])
    if wanted is not None:
        keep = flow_filter(wanted)
        packets = packets.filter(pl.col("flow").is_in([flow for flow, name in names.items() if keep(name)]))
        if not packets.height:
            raise InputError(f"filter = {wanted}: no packet of {trace} is of such a flow; expected some")
        names = {flow: names[flow] for flow in packets["flow"].unique()}
    notes += _both_ways(trace.name, packets, names)
    if _is_whole_size(rank):
        packets = packets.with_columns(rank=pl.col("size_bytes").sum().over("flow"))
    return packets, notes


def _both_ways(trace: str, packets: polars.DataFrame, names: Mapping[int, str]) -> list[str]:
    """Return a line if most flows have a reverse flow: a port of a switch sees one direction."""
    ends = {flow: name_ends(name) for flow, name in names.items()}
    known = {(one.src, one.dst, one.sport, one.dport, one.protocol) for one in ends.values() if one}
    back = [one for one in ends.values() if one and (one.dst, one.src, one.dport, one.sport, one.protocol) in known]
    if 2 * len(back) <= len(ends):
        return []
    sizes = packets.group_by("flow").agg(pl.col("size_bytes").sum())
    received: dict[str, int] = {}
    for flow, size in sizes.iter_rows():
        if one := ends[flow]:
            received[str(one.dst)] = received.get(str(one.dst), 0) + size
    most = max(received, key=lambda host: (received[host], host))
    return [
        f"{trace}: {len(back):,} of {len(ends):,} flows have a reverse flow, but a port sends one direction alone: "
        f"--filter 'ip.dst == {most}' keeps that to the host that receives most"
    ]


def _candidates(
    queues: int,
    room: int,
    objective: str,
    own: Mapping[str, type[PythonScheduler]],
    target: str,
    weights: polars.DataFrame | None,
    *,
    by_class: bool,
) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
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
        if "window" in dict(about.advice):
            # What fits the target is tried, too: its programs start with a window of zeros.
            axes[0] = [*axes[0], *(("window", size) for size in WINDOWS.get(target, ()))]
        for place, setting in enumerate(itertools.product(*axes)):
            settings = {**buffer, **dict(setting), **PROGRAMMED.get(target, {}).get(about.name, {})}
            if settings.get("window") in WINDOWS.get(target, ()):
                settings["start_window"] = [0] * settings["window"]
                if "queues" in settings:
                    # Their program has four queues.
                    settings |= {"queues": 4, "queue_capacity_packets": room // 4}
            yield f"{about.name}-{place}", (about.name, settings)
    if weights is not None:
        every = fixed_bounds(weights["rank"], queues, by_class=by_class)
        for place, (bounds, share) in enumerate(itertools.product(every, _LAST_SHARES)):
            yield f"{FIXED}-{place}", (FIXED, {**_shares(room, len(bounds), share), "bounds": bounds})
    for name, made in own.items():
        tried: Mapping[str, Sequence[Any]] = getattr(made, "advice", {})
        for place, values in enumerate(itertools.product(*tried.values())):
            yield f"{name}-{place}", (name, {**own_buffer(made, room, queues), **dict(zip(tried, values, strict=True))})


#: The scheduler whose queues have fixed ranges of ranks.
FIXED = "strict-priority"

#: Where classes of per-hop behaviours begin: network control, EF, CS5 and AF4, AF3, AF2, AF1, best effort, LE.
_CLASSES = (0, 1, 2, 6, 9, 12, 15, 16)


#: What the last of queues with fixed ranges gets of the buffer; None is as much as each of the others. Packets wait
#: there while the others are served, which therefore need room for their bursts alone.
_LAST_SHARES = (None, 0.5, 0.75)


def _shares(room: int, queues: int, last: float | None) -> dict[str, Any]:
    """Return the buffer of `queues` queues, of which the last gets the share `last`, and what the others leave over."""
    others = max(1, queues - 1)
    each = room // queues if last is None else max(1, int(room * (1 - last)) // others)
    return {"queues": queues, "queue_capacity_packets": [each] * (queues - 1) + [room - each * (queues - 1)]}


def fixed_bounds(ranks: polars.Series, queues: int, *, by_class: bool) -> list[list[int]]:
    """Return the bounds to try for at most `queues` queues with fixed ranges of ranks.

    The first are those of plain classes: each class of per-hop behaviours that is there has a queue, or each rank, if
    there are few. Then those that are optimal for these ranks: a pair of different ranks in one queue costs its
    probability.
    """
    found = []
    present = ranks.unique().sort().to_list()
    if by_class:
        present_classes = {max(first for first in _CLASSES if first <= rank) for rank in present}
        classes = sorted(present_classes)
        # Of more classes than queues the last share one.
        found.append(classes[:queues])
    elif len(present) <= queues:
        found.append(present)
    if len(present) > queues:
        # A thousand groups of equal weight are fine enough.
        cuts = sorted({*ranks.sort().gather_every(max(1, len(ranks) // 1000)).to_list()})
        groups = np.searchsorted(cuts, ranks.to_numpy(), side="right") - 1
        weights = np.bincount(groups, minlength=len(cuts)).tolist()
        best = [cuts[group] for group in optimal_bounds(weights, min(queues, len(cuts)), cost="one")]
        if best not in found:
            found.append(best)
    return [[0, *bounds[1:]] for bounds in found]


@dataclass
class _Scene:
    """The link on which candidates are compared."""

    rank: str
    rate_bps: int
    objective: str
    timeout_us: float
    workers: int | None
    own: Mapping[str, type[PythonScheduler]]

    def scores(
        self, packets: polars.DataFrame, candidates: dict[str, tuple[str, dict[str, Any]]]
    ) -> dict[str, dict[str, float]]:
        """Replay `packets` through the candidates: its score, and what it rests on."""
        overrides: dict[str, Any] = {"metrics.delta_to": info.ideal(), "metrics.sample_every_packets": 1_000_000}
        if self.objective == "fairness":
            overrides["metrics.throughput_interval_ms"] = 1
        listed = [
            {"name": self.own.get(name, name), "label": label, **parameters}
            for label, (name, parameters) in candidates.items()
        ]
        rank = "column" if self.rank in _CARRIED or _is_whole_size(self.rank) else self.rank
        trace = packets.with_columns(pl.col("time_ns") - packets["time_ns"][0])
        try:
            run = compare(
                listed,
                trace=trace,
                rank=rank,
                rate_gbps=Decimal(self.rate_bps).scaleb(-9),
                overrides=overrides,
                workers=self.workers,
            )
        except InputError as error:
            raise _of_parameter(error) from None
        tables = complete(run).tables
        found = {}
        ideal = tables["schedulers"].row(by_predicate=pl.col("scheduler") == info.ideal(), named=True)["sent_packets"]
        for row in tables["schedulers"].iter_rows(named=True):
            sent, arrived = row["sent_packets"], max(row["arrived_packets"], 1)
            found[row["scheduler"]] = {
                "inversions": row["inversions"] / max(sent, 1),
                "pairs": row["pairwise_inversions"] / max(sent, 1),
                # A sum above 2^63 - 1 is null.
                "magnitude": math.nan if (sum_of := row["inversion_magnitude"]) is None else sum_of / max(sent, 1),
                "dropped": row["dropped_packets"] / arrived,
                "dropped_bytes": row["dropped_bytes"] / max(row["arrived_bytes"], 1),
                "misdropped": (row["misdrops"] or 0) / arrived,
                "score": _wrong(row["inversions"], sent, ideal, row["delta"] or 0.0) / arrived,
            }
        if self.objective == "small-fct":
            for label, score in _waits(tables["ranks"], self.timeout_us).items():
                found[label]["score"] = score
        elif self.objective == "fairness":
            for label, score in _unfairness(tables["throughput"]).items():
                found[label]["score"] = score
        return found


def _of_parameter(error: InputError) -> InputError:
    """Return `error` of a comparison as one about the parameter from which its schedulers and its link were made."""
    key = error.key.rpartition(".")[2]
    if key == "rate_gbps":
        return error.changed(value=f"{float(error.value or 'nan'):g}")
    name = "buffer_packets" if key.endswith("capacity_packets") else key
    return from_parameter(name, error) if error.key.startswith("scheduler.") else error


def _wrong(inversions: int, sent: int, ideal: int, delta: float) -> float:
    """Return the score `inversions` summed over all packets.

    `sent` and `ideal` are the packets that the scheduler and PIFO sent, `delta` the share of both that only one sent.
    """
    common = (sent + ideal) * (1 - delta) / 2
    return inversions + (sent - common) + LOST_INVERSIONS * (ideal - common)


def _waits(ranks: Any, timeout_us: float) -> dict[str, float]:
    """Return for each scheduler the mean wait of packets of small flows in microseconds, losses of all flows included.

    `ranks` are the sizes of flows; if none is small, the smallest that there are.
    """
    border = max(SMALL_BYTES, int(ranks["rank"].min()) + 1)
    small, lost = pl.col("rank") < border, pl.col("dropped")
    sent, wait_us = pl.col("departures"), pl.col("sojourn_mean_ns").fill_null(0.0) / 1000
    sums = ranks.group_by("scheduler").agg(
        (sent * wait_us + lost * timeout_us).filter(small).sum().alias("us"),
        (sent + lost).filter(small).sum().alias("packets"),
        (lost.filter(~small).sum() / (sent + lost).filter(~small).sum()).fill_nan(0.0).alias("others_lost"),
    )
    ideal = sums.filter(scheduler=info.ideal())["others_lost"].item()
    return {
        name: us / packets + timeout_us * max(others_lost - ideal, 0.0)
        for name, us, packets, others_lost in sums.iter_rows()
    }


def _unfairness(throughput: Any) -> dict[str, float]:
    """Return for each scheduler the share of the bytes that PIFO gave to a flow in a millisecond and it did not."""
    ideal = throughput.filter(scheduler=info.ideal()).select("start_ns", "flow", pl.col("bytes").alias("ideal"))
    total = float(ideal["ideal"].sum())
    found = {}
    for name in throughput["scheduler"].unique(maintain_order=True):
        own = throughput.filter(scheduler=name).select("start_ns", "flow", "bytes")
        both = ideal.join(own, on=["start_ns", "flow"], how="left").fill_null(0)
        found[name] = float((both["ideal"] - both["bytes"]).clip(lower_bound=0).sum()) / total
    return found
