"""Compares schedulers on one link without a scenario file: the same packets, drawn or from a trace, through each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pifolab import info
from pifolab.custom import PythonObserver, PythonRank, PythonScheduler
from pifolab.errors import InputError, ParameterName, from_parameter, parameter_error
from pifolab.runs import Run, Watch, run_text
from pifolab.scenario import own_buffer, scenario_toml

__all__ = ["PAPERS", "compare"]

Number = int | float | str | Decimal | Fraction

#: The schedulers of the five papers, and what they are measured against.
PAPERS = ("pifo", "fifo", "sp-pifo", "aifo", "packs", "rifo", "exp-pifo")

#: Where the ranks of a trace can come from without a rank function.
_TRACE_RANKS = ("dscp", "column")

#: The buffer of schedulers with several queues is divided by so many, unless something else is said.
_QUEUES = 8

#: The parameter that gives each key of the scenario.
_PARAMETERS = {
    "duration_s": "duration_s",
    "link.rate_gbps": "rate_gbps",
    "link.rate_mbps": "rate_mbps",
    "workload.trace": "trace",
    "workload.trace_rank": "rank",
    "workload.speed_up": "speed_up",
    "workload.arrivals": "arrivals",
    "workload.rate_gbps": "arrival_gbps",
    "workload.rate_mbps": "arrival_mbps",
    "workload.size_bytes": "size_bytes",
    "workload.ranks": "ranks",
    "workload.ranks.distribution": "ranks",
    "rank.name": "rank",
    "scheduler.queues": "queues",
    "scheduler.capacity_packets": "buffer_packets",
    "scheduler.queue_capacity_packets": "buffer_packets",
    "scheduler.capacity_bytes": "buffer_bytes",
    "scheduler.queue_capacity_bytes": "buffer_bytes",
    "scheduler.label": "schedulers",
}

#: Of these the parameter has another value than the key.
_DERIVED = (
    "scheduler.queue_capacity_packets",
    "scheduler.queue_capacity_bytes",
    "scheduler.label",
    "workload.trace",
)


def compare(
    schedulers: Sequence[str | type[PythonScheduler] | Mapping[str, Any]] = PAPERS,
    *,
    trace: str | os.PathLike[str] | None = None,
    ranks: str | Mapping[str, Any] | None = None,
    rate_gbps: Number | None = None,
    rate_mbps: Number | None = None,
    rank: str | None = None,
    duration_s: Number | None = None,
    arrival_gbps: Number | None = None,
    arrival_mbps: Number | None = None,
    arrivals: str | None = None,
    size_bytes: int | None = None,
    speed_up: Number | None = None,
    sort: bool = False,
    buffer_packets: int | None = None,
    buffer_bytes: int | None = None,
    queues: int | None = None,
    seeds: Sequence[int] | None = None,
    overrides: Mapping[str, Any] | None = None,
    rank_functions: Mapping[str, type[PythonRank]] | None = None,
    observers: Mapping[str, type[PythonObserver]] | None = None,
    workers: int | None = None,
    progress: Watch | None = None,
) -> Run:
    """Send the same packets, from a capture or drawn, through each scheduler onto one link.

    Parameters
    ----------
    schedulers : sequence of str, class or mapping
        Names; classes derived from `PythonScheduler`; or mappings with ``name`` and parameters, and perhaps ``label``.
    trace : path
        A pcap, pcapng or CSV file to replay (gzip allowed); or
    ranks : str or mapping
        the distribution to draw ranks from: ``"uniform"``, or ``{"distribution": "uniform", "low": 0, "high": 99}``.
    rate_gbps, rate_mbps : number
        The rate of the link, in one of the two units.
    rank : str
        A rank function; of a trace also ``"column"`` or ``"dscp"``. A trace needs it.
    duration_s : number
        No packet arrives at or after this time, in seconds. Drawn packets need it.
    arrival_gbps, arrival_mbps : number
        The rate at which drawn packets arrive.
    arrivals : str
        How drawn packets arrive: ``"constant"`` (default), ``"poisson"`` and so on.
    size_bytes : int
        The size of drawn packets; default 1500.
    speed_up : number
        Replay a trace this many times faster.
    sort : bool
        Sort a trace by time.
    buffer_packets, buffer_bytes : int
        The buffer of each scheduler, in one of the two units; divided by the number of queues where there are several.
        A class gets what its constructor has of ``capacity_packets``, ``capacity_bytes``, ``queues``,
        ``queue_capacity_packets`` and ``queue_capacity_bytes``.
    queues : int
        The number of queues, of schedulers that have several; default 8.
    seeds : sequence of int
        The seeds to run with; default 1.
    overrides : mapping of str to value
        Keys of the scenario to change, as of `pifolab.run`.
    rank_functions, observers : mapping of str to class
        Rank functions and observers written in Python.
    workers : int
        How many schedulers run side by side; default one per processor.
    progress : callable
        Called about ten times a second with a `Progress`.

    Raises
    ------
    InputError
        A parameter is missing or wrong, or the trace cannot be read; ``key`` is the name of the parameter.

    Examples
    --------
    >>> import pifolab
    >>> run = pifolab.compare(["pifo", "fifo"], ranks="uniform", rate_gbps=10, arrival_gbps=11, duration_s=0.001)
    >>> run.tables["schedulers"].select("scheduler", "sent_packets").rows()
    [('pifo', 834), ('fifo', 834)]
    """
    if (trace is None) == (ranks is None):
        raise parameter_error("trace", ": expected a trace or ranks, one of the two")
    link = _rate("rate_gbps", rate_gbps, "rate_mbps", rate_mbps)
    arrival = {"arrival_gbps": arrival_gbps, "arrival_mbps": arrival_mbps}
    if trace is not None:
        for name, value in {**arrival, "arrivals": arrivals, "size_bytes": size_bytes}.items():
            if value is not None:
                raise parameter_error(name, " has no effect on a trace: remove it")
        if rank is None:
            raise parameter_error(
                "trace",
                " needs ",
                ParameterName("rank"),
                ": a rank function, or dscp or column for ranks that the trace carries",
            )
        workload: dict[str, Any] = {"trace": os.path.abspath(trace), "speed_up": speed_up}  # noqa: PTH100
        if sort:
            workload["out_of_order"] = "sort"
        if rank in _TRACE_RANKS:
            workload["trace_rank"] = rank
    else:
        for name, given in (("speed_up", speed_up is not None), ("sort", sort)):
            if given:
                raise parameter_error(name, " has no effect without ", ParameterName("trace"), ": remove it")
        if arrival_gbps is None and arrival_mbps is None:
            raise parameter_error(
                "ranks", " needs ", ParameterName("arrival_gbps"), " or ", ParameterName("arrival_mbps")
            )
        if duration_s is None:
            raise parameter_error("ranks", " needs ", ParameterName("duration_s"))
        workload = {
            "arrivals": arrivals or "constant",
            **_rate("arrival_gbps", arrival_gbps, "arrival_mbps", arrival_mbps),
            "size_bytes": 1500 if size_bytes is None else size_bytes,
            "ranks": ranks,
        }
    function = None
    if rank is not None and rank not in _TRACE_RANKS:
        own_ranks = rank_functions or {}
        function = {"name": rank if rank in own_ranks else info.rank(rank).name}
    if buffer_packets is not None and buffer_bytes is not None:
        raise parameter_error(
            "buffer_bytes", " conflicts with ", ParameterName("buffer_packets"), ": give one of the two"
        )
    if not schedulers:
        raise parameter_error("schedulers", ": expected at least one")
    keywords = {
        "rate_gbps": rate_gbps, "rate_mbps": rate_mbps, "trace": trace, "rank": rank, "ranks": ranks,
        "duration_s": duration_s, "arrivals": arrivals, "size_bytes": size_bytes, "speed_up": speed_up, **arrival,
    }  # fmt: skip
    for key in overrides or {}:
        name = _PARAMETERS.get(key, key if key in ("rank", "ranks") else "")
        if key == "workload.out_of_order" and sort:
            name = "sort"
        elif keywords.get(name) is None:
            continue
        raise parameter_error(
            name, " conflicts with ", ParameterName("overrides"), f", which has {key}: give one of the two"
        )
    scenario = {
        "title": "Comparison of schedulers on one link",
        "duration_s": duration_s,
        "link": link,
        "workload": workload,
        "rank": function,
        "scheduler": [_scheduler(one, buffer_packets, buffer_bytes, queues) for one in schedulers],
    }
    text, own = scenario_toml(scenario)
    try:
        return run_text(
            text,
            "compare",
            seeds=seeds,
            overrides=overrides,
            schedulers=own,
            ranks=rank_functions,
            observers=observers,
            workers=workers,
            progress=progress,
        )
    except InputError as error:
        found = _of_parameter(error)
        if trace is not None and found.file == workload["trace"]:
            found = found.changed(file=os.fspath(trace))
        raise found from None


def _of_parameter(error: InputError) -> InputError:
    """Return `error`, which names a key of a scenario that the user did not write, as one about a parameter."""
    if error.flag is not None:
        return parameter_error("overrides", f": {error.said}")
    name = _PARAMETERS.get(error.key)
    if name is None:
        return error if error.file != "compare" else error.without_file()
    if error.key in _DERIVED:
        return from_parameter(name, error)
    return parameter_error(name, *error.after, value=error.value)


def _rate(gbps: str, in_gbps: Number | None, mbps: str, in_mbps: Number | None) -> dict[str, Any]:
    if in_gbps is not None and in_mbps is not None:
        raise parameter_error(mbps, " conflicts with ", ParameterName(gbps), ": give one of the two")
    if in_gbps is None and in_mbps is None:
        raise parameter_error(gbps, " is missing: give it, or ", ParameterName(mbps))
    return {"rate_gbps": in_gbps, "rate_mbps": in_mbps}


def _scheduler(
    written: str | type[PythonScheduler] | Mapping[str, Any],
    packets: int | None,
    size: int | None,
    queues: int | None,
) -> dict[str, Any]:
    """Return the table of one scheduler, with its share of the buffer where it names none."""
    given: dict[str, Any] = dict(written) if isinstance(written, Mapping) else {"name": written}
    named = given.get("name")
    if isinstance(named, type):
        several = queues or _QUEUES
        others = {
            "capacity_bytes": size,
            "queue_capacity_bytes": None if size is None else _share("buffer_bytes", size, several),
        }
        return {"name": named, **own_buffer(named, packets, queues, **others), **given}
    about = info.scheduler(str(named))
    known = {param.name for param in about.params}
    given["name"] = about.name
    unit, room = ("packets", packets) if size is None else ("bytes", size)
    if "queues" not in known:
        key, least = f"capacity_{unit}", {}
    else:
        key, least = f"queue_capacity_{unit}", {"queues": queues}
        if room is not None:
            room = _share(f"buffer_{unit}", room, int(given.get("queues") or queues or _QUEUES))
    if room is not None and key not in known:
        raise parameter_error(f"buffer_{unit}", f": {about.name} has no {key}", value=room)
    if {"capacity_packets", "capacity_bytes", "queue_capacity_packets", "queue_capacity_bytes"} & given.keys():
        room = None
    return {"name": about.name, **least, key: room, **given}


def _share(name: str, room: int, queues: int) -> int:
    each, rest = divmod(room, queues)
    if rest or not each:
        raise parameter_error(name, f": expected a multiple of the {queues} queues", value=room)
    return each
