"""What a trace contains: its format, packets, flows and rates, and what could not be understood."""

from __future__ import annotations

import gzip
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pifolab.comparing import compare
from pifolab.errors import InputError
from pifolab.lazy import pl
from pifolab.runs import Run, complete
from pifolab.traces import trace_notes

__all__ = ["TraceSummary", "summarise_trace"]

_PCAP = {
    b"\xd4\xc3\xb2\xa1": "pcap, times in microseconds",
    b"\xa1\xb2\xc3\xd4": "pcap, times in microseconds",
    b"\x4d\x3c\xb2\xa1": "pcap, times in nanoseconds",
    b"\xa1\xb2\x3c\x4d": "pcap, times in nanoseconds",
    b"\x0a\x0d\x0d\x0a": "pcapng",
}

#: The peak rate is taken over a thousandth of the trace, but not less than a millisecond.
_INTERVALS, _LEAST_MS = 1000, 1.0

#: The fastest link that there is, and the largest buffer: every packet leaves when it arrives, and none is lost.
_FASTEST_GBPS, _LARGEST_PACKETS = 8000, 16_777_216


@dataclass(frozen=True)
class TraceSummary:
    """What a trace holds.

    Attributes
    ----------
    file, format : str
        Its name, and what it is: ``pcap, times in microseconds``, ``pcapng`` or ``CSV (columns)``; ``, gzip`` if so.
    packets, bytes, flows : int
        How many; bytes as they were on the wire.
    span_s : float
        From the first packet to the last, in seconds.
    mean_bps : float or None
        Bits per second over the span; None if all packets arrive at once.
    peak_bps : float or None
        The most bits per second in an interval of `peak_interval_s` seconds; None if the trace is not longer than that.
    largest : tuple of (str, int, float)
        The five largest flows: name, bytes, share of all bytes.
    notes : tuple of str
        What could not be understood, a line each.
    """

    file: str
    format: str
    packets: int
    bytes: int
    flows: int
    span_s: float
    mean_bps: float | None
    peak_bps: float | None
    peak_interval_s: float
    largest: tuple[tuple[str, int, float], ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return all of it, for programs."""
        return asdict(self)


def summarise_trace(trace: str | os.PathLike[str], *, sort: bool = False) -> TraceSummary:
    """Read a pcap, pcapng or CSV file (gzip allowed) as a scenario would, and summarise it.

    Parameters
    ----------
    trace : path
        The file.
    sort : bool
        Sort packets that were captured out of order, which otherwise are an error.

    Raises
    ------
    InputError
        The trace cannot be read.
    """
    path = Path(trace)
    found = _format(path)
    first = _replay(path, sort, _LEAST_MS, throughput=False)
    contents = first.manifest["spec"]["workload"]["trace_contents"]
    span_ns = int(contents["last_arrival_ns"])
    interval_ms = max(_LEAST_MS, round(span_ns / 1e6 / _INTERVALS, 3))
    run = _replay(path, sort, interval_ms, throughput=True)
    throughput = run.tables["throughput"]
    flows = throughput.group_by("flow").agg(pl.col("bytes").sum()).sort("bytes", "flow", descending=[True, False])
    names = dict(run.tables["flows"].select("flow", "flow_name").iter_rows())
    total = int(contents["bytes"])
    peak = max(throughput.group_by("start_ns").agg(pl.col("bytes").sum())["bytes"].to_list(), default=0)
    return TraceSummary(
        file=path.name,
        format=found,
        packets=int(contents["packets"]),
        bytes=total,
        flows=int(contents["flows"]),
        span_s=span_ns / 1e9,
        mean_bps=8e9 * total / span_ns if span_ns else None,
        peak_bps=8e3 * peak / interval_ms if span_ns > interval_ms * 1e6 else None,
        peak_interval_s=interval_ms / 1e3,
        largest=tuple(
            (str(names.get(flow, flow)), int(size), size / total)
            for flow, size in flows.head(5).select("flow", "bytes").iter_rows()
        ),
        notes=tuple(trace_notes(run.manifest["spec"])),
    )


def _replay(path: Path, sort: bool, interval_ms: float, *, throughput: bool) -> Run:
    overrides: dict[str, Any] = {"metrics.sample_every_packets": 1_000_000_000}
    if throughput:
        overrides["metrics.throughput_interval_ms"] = interval_ms
    scheduler = {"name": "fifo", "capacity_packets": _LARGEST_PACKETS}
    return complete(
        compare([scheduler], trace=path, rank="fcfs", rate_gbps=_FASTEST_GBPS, sort=sort, overrides=overrides)
    )


def _format(path: Path) -> str:
    try:
        with path.open("rb") as plain:
            zipped = plain.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if zipped else path.open("rb") as file:
            start = file.read(200)
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    known = _PCAP.get(start[:4])
    if known is None:
        header = start.split(b"\n")[0].decode("utf-8", "replace").strip()
        known = f"CSV ({header})"
    return known + (", gzip" if zipped else "")
