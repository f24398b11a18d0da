"""Summaries of traces: format, packets, flows and rates, and what could not be read."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.pcap_filter import filtered
from pifolab.traces import trace_notes


@dataclass(frozen=True)
class TraceSummary:
    """The summary of a trace.

    Attributes
    ----------
    file, format : str
        Its name and its format: ``pcap, times in microseconds``, ``pcapng`` or ``CSV (columns)``; ``, gzip`` if so.
    packets, bytes, flows : int
        Their numbers; bytes are those on the wire.
    span_s : float
        From the first packet to the last, in seconds.
    mean_bps : float or None
        Bits per second over the span, without the packets at its last instant; None if all packets arrive at once.
    peak_bps : float or None
        The most bits per second in an interval of `peak_interval_s` seconds, never below the mean; None if the trace is
        not longer than that.
    peak_interval_s : float
        A millisecond, doubled until the trace has at most a thousand such intervals.
    largest : tuple of (str, int, float)
        The five largest flows: name, bytes, share of all bytes.
    notes : tuple of str
        What could not be read, one line each.
    both_ways : str or None
        A line if most flows have a reverse flow: a port of a switch sends one direction.
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
    both_ways: str | None

    def as_dict(self) -> dict[str, Any]:
        """Return all of it, for programs."""
        return asdict(self)


def summarise_trace(trace: str | os.PathLike[str], *, sort: bool = False, filter: str | None = None) -> TraceSummary:
    """Summarise a pcap, pcapng or CSV file (gzip allowed), read as in a scenario.

    The file is read once, in little memory for any length; it may span more than the 213 days of a run.

    Parameters
    ----------
    trace : path
        The file, or a pipe of the shell.
    sort : bool
        Sort packets that were captured out of order, which otherwise are an error.
    filter : str, optional
        Of a capture, only the packets that this pcap filter keeps, such as ``udp port 53``; needs libpcap.

    Raises
    ------
    InputError
        The trace cannot be read.
    """
    path = Path(trace)
    with nullcontext(path) if filter is None else filtered(path, filter) as file:
        found = _pifolab.summarise_trace(os.fspath(file), sort)
    contents, total = found["contents"], found["bytes"]
    both = {"flows": found["flows"], "packets": contents["packets"], "both_ways": contents.pop("both_ways", None)}
    return TraceSummary(
        file=path.name,
        format=found["format"],
        packets=contents["packets"],
        bytes=total,
        flows=found["flows"],
        span_s=found["span_ps"] / 1e12,
        mean_bps=found["mean_bps"],
        peak_bps=found["peak_bps"],
        peak_interval_s=found["interval_ms"] / 1e3,
        largest=tuple((name, size, size / total) for name, size in found["largest"]),
        notes=tuple(trace_notes({"workload": {"trace": str(path), "trace_contents": contents}})),
        both_ways=next(iter(trace_notes({"workload": {"trace": str(path), "trace_contents": both}})), None),
    )
