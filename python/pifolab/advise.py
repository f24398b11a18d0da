"""Which scheduler for my traffic? Tunes each on the first half of a trace and ranks them on the second.

Every scheduler gets the same buffer. The first half of the packets is replayed under every setting of a small grid, and
the best setting of each scheduler is kept; these few are replayed on the second half: in five consecutive pieces, so
that each score has an interval, and as a whole for losses, since the buffer, empty at the start, holds a large share of
a short piece. PIFO, which no switch has, is shown for comparison.

A scheduler that loses packets has fewer left to serve badly. So losses are part of every score, as the worst outcome of
a packet, and schedulers that lose clearly more than PIFO, in packets and in bytes, are ranked behind the others. So are
those that do not fit the target: a switch, or a number of stages or registers.
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
from pifolab.lazy import np, pl
from pifolab.quantities import rate_text, share_text, size_text, time_text
from pifolab.runs import Progress, complete
from pifolab.scenario import own_buffer
from pifolab.statistics import Estimate, mean_interval
from pifolab.targets import PROGRAMMED, WINDOWS, Limits, check_target, fit
from pifolab.text import open_bytes, readable
from pifolab.traces import trace_notes

if TYPE_CHECKING:
    import polars

    from pifolab import Dropped, Packet

#: The objectives, and the meaning of their scores; less is better.
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

#: The score of a packet that is lost and should not be, for the objective inversions: the score of the worst packet
#: sent.
LOST_INVERSIONS = 2.0

#: A scheduler that loses this much more than PIFO, in packets and in bytes, is never the best. The contents of a buffer
#: are allowed in addition: at the end of the trace, one scheduler may hold packets that another has lost.
MOST_EXTRA_LOSS = 0.05

#: A score that is lower by less than this share of the winner's does not change the advice.
LEAST_GAIN = 0.02

#: The default base delay (round-trip time) with which a buffer is compared: that of a data centre.
DELAY_US = 100.0

#: The number of pieces of the second half.
PIECES = 5

#: The fewest packets of a meaningful trace.
FEWEST_PACKETS = 1000

#: The most packets: all are held in memory, which takes about four gigabytes.
MOST_PACKETS = 20_000_000

#: The default load on the link: enough that schedulers differ, as in PACKS.
LOAD = 1.1


@dataclass(frozen=True)
class Ranked:
    """One scheduler with its best setting."""

    scheduler: str
    settings: dict[str, Any]
    #: Its score on the half on which it was tuned.
    tuned: float
    #: Its score on the other half.
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
    #: The distance in ranks of packets sent above the lowest that waits, per packet sent.
    magnitude: float = 0.0
    #: Bits of its registers and tables in a switch.
    state_bits: int | None = None
    #: Bytes lost, per byte that arrived.
    dropped_bytes_share: float = 0.0
    #: Why it does not fit the target and is ranked behind those that do; None if it fits.
    unfit: str | None = None
    #: Stages and stateful ALUs of the target that its program uses, if they were counted.
    stages: int | None = None
    stateful_alus: int | None = None


@dataclass(frozen=True)
class Advice:
    """Schedulers from the best to the worst, and the basis of the ranking."""

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
    #: The score of a lost packet for the objective small-fct.
    timeout_us: float
    tried: int
    ranking: tuple[Ranked, ...]
    ideal: Estimate
    #: PIFO's share of lost packets.
    ideal_dropped_share: float
    #: PIFO's share of lost bytes.
    ideal_dropped_bytes_share: float
    #: Notes on the trace, the link and the buffer.
    notes: tuple[str, ...]
    #: The switch that the candidates must fit, or any.
    target: str = "any"
    #: The tried changes of the link and the buffer, and their effect on the advice.
    changes: tuple[str, ...] = ()

    @property
    def winner(self) -> Ranked:
        """The first of the ranking: the best score, or a scheduler without state that cannot be distinguished."""
        return self.ranking[0]

    @property
    def close(self) -> tuple[str, ...]:
        """Those whose interval overlaps with the winner's, if they fit and do not lose clearly more than PIFO."""
        best, last = self.winner.score, (self.winner.unfit is not None, self.winner.loses_more)
        rest = [one for one in self.ranking[1:] if (one.unfit is not None, one.loses_more) <= last]
        return tuple(one.scheduler for one in rest if one.score.low <= best.high)

    @property
    def load(self) -> float:
        """The mean rate of the trace over that of the link."""
        return self.bytes * 8e9 / self.span_ns / self.rate_bps

    @property
    def objective_text(self) -> str:
        """The meaning of the score, in one line."""
        text = OBJECTIVES[self.objective]
        return f"{text}; the time-out is {self.timeout_us / 1000:.4g} ms" if self.objective == "small-fct" else text

    def as_dict(self) -> dict[str, Any]:
        """Return all of it, for programs."""
        derived = {"winner": self.winner.scheduler, "close": list(self.close), "load": self.load}
        return {"pifolab": _pifolab.__version__} | asdict(self) | derived

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write advice.json, figures/ and report.html to `folder`, completely or not at all.

        With `force` it replaces a folder in which pifolab wrote everything.

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
    """Return a scheduler that records arrivals and stores no packet, to get the packets that the simulator reads."""

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
        The port; `buffer_packets` is divided by `queues` for schedulers with several.
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
        Further keys of ``[workload]`` for the replay of the trace: ``speed_up``, ``out_of_order``,
        ``payload_offset_bytes`` and so on.
    duration_s : float, optional
        Packets at or after this time, in seconds, are left out.
    filter : str, optional
        The packets of a capture that count, as a pcap filter: ``"dst net 10.0.0.0/8 and not tcp port 22"``; needs
        libpcap.
    target : str
        ``tofino``, ``tofino2``, ``bmv2``, ``linux`` or ``any``: the target that candidates must fit.
    registers, stages : int, optional
        The number that the switch has available: candidates that need more do not fit.
    schedulers : mapping of str to class, optional
        Schedulers written in Python, ranked with the others. A class gets those of its constructor's parameters that
        are called ``capacity_packets``, ``queues`` or ``queue_capacity_packets``, and is tried with each combination of
        the values in its attribute ``advice``, such as ``{"window": [15, 100]}``.
    workers : int, optional
        The number of schedulers that run in parallel.

    Raises
    ------
    InputError
        The trace cannot be read or is too short, or the port is invalid.
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
    # The longest wait in a FIFO queue: the time to empty a full buffer.
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
        f"{one.scheduler} loses {share_text(one.dropped_share, 1)} of the packets "
        f"({share_text(one.dropped_bytes_share, 1)} of the bytes)"
        for one in advice.ranking
        if one.loses_more
    )
    if not lost:
        return advice
    limit = f"over {MOST_EXTRA_LOSS:.0%} of packets and bytes more than PIFO"
    ideals = f"{share_text(whole[ideal]['dropped'], 1)} and {share_text(whole[ideal]['dropped_bytes'], 1)}"
    return replace(advice, notes=(*advice.notes, f"{lost}: ranked last, {limit} ({ideals})"))


def _loses_more(found: Mapping[str, float], ideal: Mapping[str, float], buffered: float) -> bool:
    """Return whether a scheduler loses clearly more than PIFO, of which a buffer holds the share `buffered`.

    It may lose more in packets only, since PIFO tends to drop large packets of high rank, or in bytes only.
    """
    most = MOST_EXTRA_LOSS + buffered
    return all(found[lost] - ideal[lost] > most for lost in ("dropped", "dropped_bytes"))


def _in_order(found: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """Sort by score, but put first a scheduler without state that cannot be distinguished from the best.

    Every switch has such queues. They are compared piece by piece, since all had the same packets.
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
    """Return the advice for a link twice as fast, and for buffers of four times and half the size."""
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
            loses = "" if winner.scheduler in able else ", but it loses clearly more than PIFO"
            lines.append(f"with {change} it would be {first} (score {other:.3g}; {winner.scheduler} {own:.3g}{loses})")
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
    """Return the default source of a trace's ranks: its column, or else sizes of flows."""
    readable(path)
    try:
        with open_bytes(path) as file:
            start = file.read(2)
        with open_bytes(path) as file:
            header = (GzipFile(fileobj=file) if start == b"\x1f\x8b" else file).readline(200)
    except (EOFError, zlib.error):
        # The whole trace is read next, which reports its faults.
        return "flow-size"
    names = [name.strip() for name in header.split(b",")]
    return "column" if len(names) > 1 and b"rank" in names else "flow-size"


#: Ranks that the trace carries.
_CARRIED = ("column", "dscp", "payload")


#: The fact that needs whole flows: it is counted over the whole trace, and passed to its pieces as a column.
_WHOLE_FLOW = "flow-size"


def _is_whole_size(rank: str) -> bool:
    return rank not in _CARRIED and _WHOLE_FLOW in info.rank(rank).needs


def _read(
    trace: Path, rank: str, options: dict[str, Any], duration_s: float | str | None, filter: str | None
) -> tuple[polars.DataFrame, list[str]]:
    """Return time (ns), bytes, flow and rank of every packet, as the simulator reads them, and notes on the trace.

    Sizes of flows are counted here, over the whole trace: its pieces hold less of a flow than it has.
    """
    seen = _Seen()
    carried = rank if rank in _CARRIED else "fcfs"
    overrides = {f"workload.{key}": value for key, value in options.items()}

    def watch(state: Progress) -> None:
        # The packets of a whole trace are counted before the first one is replayed.
        if duration_s is None and (state.expected_packets or 0) > MOST_PACKETS:
            raise _TooLongError

    try:
        result = complete(
            compare(
                [_recorder(seen)],
                trace=trace,
                filter=filter,
                rank=carried,
                rate="1T",
                duration_s=duration_s,
                overrides=overrides,
                workers=1,
                progress=watch,
            )
        )
    except InputError as error:
        raise (error.changed(key="options") if error.key == "overrides" else error) from None
    except _TooLongError:
        raise InputError(
            f"{trace}: has over {MOST_PACKETS:,} packets: expected at most that many, or a duration after which "
            "the rest is left out"
        ) from None
    packets = seen.frame().cast(pl.Int64)
    contents = result.manifest["spec"]["workload"]["trace_contents"]
    notes = trace_notes({"workload": {"trace": str(trace), "trace_contents": contents}})
    if _is_whole_size(rank):
        packets = packets.with_columns(rank=pl.col("size_bytes").sum().over("flow"))
    return packets, notes


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
    """Yield a label, the scheduler, and its parameters for every candidate."""
    shared = {"capacity_packets": room}
    divided = {"queues": queues, "queue_capacity_packets": room // queues}
    yield info.ideal(), (info.ideal(), shared)
    for about in info.schedulers():
        kinds = {param.name: param.kind for param in about.params}
        buffer = divided if "queues" in kinds else shared
        # Schedulers that read flows but no ranks are only for fairness.
        fair_only = about.traits.reads_flows and not about.traits.reads_ranks
        if about.advice is None or (fair_only and objective != "fairness"):
            continue
        axes = [[(key, int(v) if kinds[key] == "integer" else v) for v in values] for key, values in about.advice]
        if "window" in dict(about.advice):
            # Settings that fit the target are tried as well: its programs start with a window of zeros.
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

#: The first ranks of classes of per-hop behaviours: network control, EF, CS5 and AF4, AF3, AF2, AF1, best effort, LE.
_CLASSES = (0, 1, 2, 6, 9, 12, 15, 16)


#: The share of the buffer for the last queue with fixed ranges; None for an equal share. Packets wait there while the
#: others are served, so the others need room only for bursts.
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
        # If there are more classes than queues, the last classes share one.
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
