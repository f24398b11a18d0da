"""Compares schedulers on one link without a scenario file: the same packets, drawn or from a trace, through each."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from pifolab import info
from pifolab._pifolab import Scheduler
from pifolab.custom import PythonObserver, PythonRank, PythonScheduler
from pifolab.errors import InputError, ParameterName, from_parameter, parameter_error
from pifolab.lazy import np, pl
from pifolab.pcap_filter import filtered
from pifolab.plugins import installed
from pifolab.runs import Run, Watch, run_text
from pifolab.scenario import own_buffer, scenario_toml, scheduler_table, told_apart

Number = int | float | str | Decimal | Fraction

#: The schedulers of the five papers, and their baselines.
PAPERS = ("pifo", "fifo", "sp-pifo", "aifo", "packs", "rifo", "exp-pifo")

#: The sources of a trace's ranks without a rank function.
_TRACE_RANKS = ("dscp", "column", "payload")

#: The default number of queues, by which the buffer of schedulers with several queues is divided.
_QUEUES = 8

#: The parameter that gives each key of the scenario.
_PARAMETERS = {
    "duration": "duration",
    "duration_s": "duration_s",
    "link.rate": "rate",
    "link.rate_gbps": "rate_gbps",
    "link.rate_mbps": "rate_mbps",
    "workload.trace": "trace",
    "workload.trace_rank": "rank",
    "workload.rank_map": "rank_map",
    "workload.speed_up": "speed_up",
    "workload.arrivals": "arrivals",
    "workload.load": "load",
    "workload.rate": "arrival_rate",
    "workload.rate_gbps": "arrival_gbps",
    "workload.rate_mbps": "arrival_mbps",
    "workload.size_bytes": "size_bytes",
    "workload.ranks": "ranks",
    "workload.rank_sequence": "ranks",
    "workload.ranks.distribution": "ranks",
    "rank.name": "rank",
    "scheduler.queues": "queues",
    "scheduler.capacity_packets": "buffer_packets",
    "scheduler.queue_capacity_packets": "buffer_packets",
    "scheduler.capacity_bytes": "buffer_bytes",
    "scheduler.queue_capacity_bytes": "buffer_bytes",
    "scheduler.label": "schedulers",
}

#: The parameters of one quantity, of which one is given.
_FAMILIES = (
    ("rate", "rate_gbps", "rate_mbps"),
    ("load", "arrival_rate", "arrival_gbps", "arrival_mbps"),
    ("duration", "duration_s"),
)

#: Of these the parameter has another value than the key.
_DERIVED = (
    "scheduler.queue_capacity_packets",
    "scheduler.queue_capacity_bytes",
    "scheduler.label",
    "workload.trace",
)


def compare(
    schedulers: Sequence[str | Scheduler | type[PythonScheduler] | Mapping[str, Any]] = PAPERS,
    *,
    trace: str | os.PathLike[str] | Any | None = None,
    ranks: str | Mapping[str, Any] | Any | None = None,
    rate: str | None = None,
    rate_gbps: Number | None = None,
    rate_mbps: Number | None = None,
    rank: str | None = None,
    rank_map: str | None = None,
    filter: str | None = None,
    duration: str | None = None,
    duration_s: Number | None = None,
    load: Number | None = None,
    arrival_rate: str | None = None,
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
    schedulers : sequence of str, Scheduler, class or mapping
        Names, optionally with parameters: ``"packs:window=20"``; schedulers such as ``Packs(window=20)``, of which only
        the parameters are used; classes derived from `PythonScheduler`; or mappings with ``name``, parameters, and
        optionally ``label``. Two settings of one scheduler that have no label are called ``packs:window=20``.
    trace : path or frame
        A pcap, pcapng or CSV file to replay (gzip allowed), or a frame of polars or pandas with the columns of such a
        CSV file (``time_ns``, ``size_bytes``, perhaps ``flow``, ``rank``); or
    ranks : str, mapping or array
        the distribution to draw ranks from: ``"uniform"``, or ``{"distribution": "uniform", "low": 0, "high": 99}``; or
        the ranks of the packets, one by one: a list, an array of numpy or a column of a frame.
    rate, rate_gbps, rate_mbps : str or number
        The rate of the link: with its unit as in ``rate="10G"``, or a number in one of the two units.
    rank : str
        A rank function; for a trace also ``"column"``, ``"payload"``, ``"dscp"``, or ``"dscp:phb"`` for the order of
        per-hop behaviours (CS6, EF, AF4x to AF1x, best effort, LE). A trace needs it.
    rank_map : str
        With rank="dscp": ranks of DSCPs such as ``"46=0,34=1"``, behind which all others come.
    filter : str
        Of a capture, only the packets that this pcap filter keeps, such as ``"udp port 53"``; needs libpcap.
    duration, duration_s : str or number
        No packet arrives at or after this time: with its unit as in ``duration="100ms"``, or in seconds. Packets whose
        ranks are drawn need it.
    load, arrival_rate, arrival_gbps, arrival_mbps : number or str
        The rate at which drawn packets arrive: as a share of the link's rate, with its unit as in
        ``arrival_rate="11G"``, or a number in one of the two units.
    arrivals : str
        The arrivals of drawn packets: ``"constant"`` (default), ``"poisson"`` and so on.
    size_bytes : int
        The size of drawn packets; default 1500.
    speed_up : number
        Replay a trace this many times faster.
    sort : bool
        Sort a trace by time.
    buffer_packets, buffer_bytes : int
        The buffer of each scheduler, in one of the two units; divided by the number of queues if there are several. A
        class gets those of its constructor's parameters that are called ``capacity_packets``, ``capacity_bytes``,
        ``queues``, ``queue_capacity_packets`` or ``queue_capacity_bytes``.
    queues : int
        The number of queues of schedulers that have several; default 8.
    seeds : sequence of int
        The seeds to run with; default 1.
    overrides : mapping of str to value
        Keys of the scenario to change, as in `pifolab.run`.
    rank_functions, observers : mapping of str to class
        Rank functions and observers written in Python.
    workers : int
        The number of schedulers that run in parallel; default one per processor.
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
    >>> run["schedulers"].select("scheduler", "sent_packets").rows()
    [('pifo', 834), ('fifo', 834)]

    A list of ranks:

    >>> run = pifolab.compare([pifolab.Pifo(), "fifo"], ranks=[9, 1, 8, 2] * 50, rate="10G", load=1.5)
    >>> run["schedulers"].select("scheduler", "arrived_packets", "inversions").rows()
    [('pifo', 200, 0), ('fifo', 200, 146)]
    """
    if (trace is None) == (ranks is None):
        raise parameter_error("trace", ": expected a trace or ranks, one of the two")
    measures: dict[str, Any] = {
        "rate": rate, "rate_gbps": rate_gbps, "rate_mbps": rate_mbps,
        "load": load, "arrival_rate": arrival_rate, "arrival_gbps": arrival_gbps, "arrival_mbps": arrival_mbps,
        "duration": duration, "duration_s": duration_s,
    }  # fmt: skip
    given_as = {family: _given_as(family, measures) for family in _FAMILIES}
    of_link, of_arrivals, of_duration = _FAMILIES
    if given_as[of_link] is None:
        raise parameter_error("rate", " is missing: expected a rate with its unit, such as 10G")
    if trace is not None:
        without = {given_as[of_arrivals]: True, "arrivals": arrivals, "size_bytes": size_bytes}
        for name, value in without.items():
            if name is not None and value is not None:
                raise parameter_error(name, " has no effect on a trace: remove it")
        if rank is None:
            raise parameter_error(
                "trace",
                " needs ",
                ParameterName("rank"),
                ": a rank function, or dscp, column or payload for ranks that the trace carries",
            )
        rank, mapped = dscp_ranks(rank, rank_map)
        workload: dict[str, Any] = {"speed_up": speed_up, "rank_map": mapped}
        if sort:
            workload["out_of_order"] = "sort"
        if rank in _TRACE_RANKS:
            workload["trace_rank"] = rank
    else:
        for name, given in (("speed_up", speed_up is not None), ("rank_map", rank_map is not None), ("sort", sort)):
            if given:
                raise parameter_error(name, " has no effect without ", ParameterName("trace"), ": remove it")
        if rank in _TRACE_RANKS:
            raise parameter_error("rank", " has no effect without ", ParameterName("trace"), ": remove it", value=rank)
        if given_as[of_arrivals] is None:
            raise parameter_error("ranks", " needs ", ParameterName("load"), " or ", ParameterName("arrival_rate"))
        drawn = isinstance(ranks, (str, Mapping))
        if drawn and given_as[of_duration] is None:
            raise parameter_error("duration", " is missing: ranks that are drawn need it, such as 100ms")
        workload = {
            "arrivals": arrivals or "constant",
            **{"rate": arrival_rate, "rate_gbps": arrival_gbps, "rate_mbps": arrival_mbps, "load": load},
            "size_bytes": 1500 if size_bytes is None else size_bytes,
            **({"ranks": ranks} if drawn else {"rank_sequence": _one_by_one(ranks)}),
        }
    function = None
    if rank is not None and rank not in _TRACE_RANKS:
        own_ranks = {**installed("ranks", rank), **(rank_functions or {})}
        function = {"name": rank if rank in own_ranks else info.rank(rank).name}
    if buffer_packets is not None and buffer_bytes is not None:
        raise parameter_error(
            "buffer_bytes", " conflicts with ", ParameterName("buffer_packets"), ": give one of the two"
        )
    if isinstance(schedulers, str):
        raise parameter_error("schedulers", ": expected a list of names or schedulers", value=schedulers)
    if not schedulers:
        raise parameter_error("schedulers", ": expected at least one")
    keywords = {
        "trace": trace, "rank": rank, "ranks": ranks, "arrivals": arrivals, "size_bytes": size_bytes,
        "speed_up": speed_up,
    }  # fmt: skip
    for key in overrides or {}:
        name = _PARAMETERS.get(key, key if key in ("rank", "ranks") else "")
        family = next((family for family in _FAMILIES if name in family), None)
        if key == "workload.out_of_order" and sort:
            name = "sort"
        elif family is not None:
            name = given_as[family] or ""
        elif keywords.get(name) is None or (key == "workload.trace_rank" and function is not None):
            # Some rank functions work on the ranks that a trace carries.
            name = ""
        if not name:
            # A table with the key of a keyword.
            below = [one for path, one in _PARAMETERS.items() if path.startswith(f"{key}.")]
            name = next((one for one in below if {**measures, **keywords}.get(one) is not None), "")
        if not name:
            continue
        raise parameter_error(
            name,
            " conflicts with ",
            ParameterName("overrides"),
            f", which has {key}: give one of the two",
        )
    listed = told_apart([*map(_table, schedulers)])
    written = {f"scheduler.{key}" for table in listed for key in table}
    tables = [_scheduler(one, buffer_packets, buffer_bytes, queues) for one in listed]
    with _trace_file(trace, filter) as file:
        scenario = {
            "title": "Comparison of schedulers on one link",
            "duration": duration,
            "duration_s": duration_s,
            "link": {"rate": rate, "rate_gbps": rate_gbps, "rate_mbps": rate_mbps},
            "workload": workload if file is None else {"trace": file, **workload},
            "rank": function,
            "scheduler": tables,
        }
        text, own = scenario_toml(scenario)
        try:
            run = run_text(
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
            if error.key == "workload.trace_rank" and function is not None:
                raise parameter_error(
                    "rank",
                    f": {rank} works on ranks that the trace carries: set workload.trace_rank, too "
                    "(column, dscp or payload)",
                ) from None
            # A key of a mapping that is no parameter keeps its written name.
            of_mapping = error.key in written and (error.key.endswith("queues") or buffer_packets is buffer_bytes)
            found = error.without_file() if of_mapping else _of_parameter(error)
            if file is not None and found.file == file:
                found = found.changed(file=os.fspath(trace) if isinstance(trace, (str, os.PathLike)) else "trace")
            raise found from None
        if file is not None and (filter is not None or not isinstance(trace, (str, os.PathLike))):
            # The file of the frame, or of what was kept, is gone; its digest stays.
            of = "frame" if filter is None else f"{trace} ({filter})"
            run.manifest.update(_without_path(run.manifest, file, of))
    return run


def dscp_ranks(rank: str | None, rank_map: str | None) -> tuple[str | None, str | None]:
    """Return the word of a rank and its map of DSCPs, of which ``dscp:phb`` and ``dscp:46=0,34=1`` are both."""
    word, colon, mapped = (rank or "").partition(":")
    if word == "dscp" and colon:
        if rank_map is not None:
            raise parameter_error(
                "rank_map", " conflicts with ", ParameterName("rank"), f" = {rank}: give one of the two"
            )
        return word, mapped
    if rank_map is not None and word != "dscp":
        raise parameter_error("rank_map", " has no effect without ", ParameterName("rank"), " = dscp: remove it")
    return rank, rank_map


@contextmanager
def _trace_file(trace: str | os.PathLike[str] | Any | None, filter: str | None) -> Iterator[str | None]:
    """Yield the whole path of a trace: that of the file, or of a CSV file of a frame, until the end of the block.

    With a filter it is a file of the packets that are kept.
    """
    if filter is not None:
        if not isinstance(trace, (str, os.PathLike)):
            raise parameter_error("filter", " has no effect without ", ParameterName("trace"), ", a capture: remove it")
        with filtered(Path(trace), filter) as kept:
            yield os.fspath(kept)
        return
    if trace is None or isinstance(trace, (str, os.PathLike)):
        yield None if trace is None else os.path.abspath(trace)  # noqa: PTH100
        return
    columns = getattr(trace, "columns", None)
    if columns is None:
        kind = type(trace).__name__
        raise parameter_error("trace", f": {kind}: expected a file, or a frame with the columns of a CSV trace")
    frame = pl.DataFrame({str(column): np.asarray(trace[column]) for column in columns})
    with tempfile.TemporaryDirectory(prefix="pifolab-") as folder:
        file = os.path.join(folder, "trace.csv")  # noqa: PTH118
        frame.write_csv(file)
        yield file


def _without_path(value: Any, file: str, of: str) -> Any:
    """Return `value` with the text `of` wherever it has the path `file`."""
    if isinstance(value, dict):
        return {key: _without_path(held, file, of) for key, held in value.items()}
    if isinstance(value, list):
        return [_without_path(held, file, of) for held in value]
    return of if value == file else value


def _one_by_one(ranks: Any) -> list[int]:
    """Return the ranks of packets as a list: of an array, a list, a column, or a frame of one column."""
    if hasattr(ranks, "columns") and len(ranks.columns) == 1:
        ranks = ranks[ranks.columns[0]]
    array = np.asarray(ranks)
    expected = "expected a distribution such as uniform, or integers from 0 to 2^63 - 1, one for each packet"
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise parameter_error("ranks", f": {expected}, got {array.ndim} dimensions of {array.dtype}")
    if not array.size:
        raise parameter_error("ranks", f": {expected}, got none")
    if int(array.min()) < 0 or int(array.max()) >= 2**63:
        wrong = int(np.flatnonzero((array < 0) | (array > 2**63 - 1))[0])
        raise parameter_error(f"ranks[{wrong}]", f": {expected}", value=int(array[wrong]))
    listed: list[int] = array.tolist()
    return listed


def _given_as(family: Sequence[str], measures: Mapping[str, Any]) -> str | None:
    """Return the given one of the parameters of a quantity; two of them are refused."""
    given = [name for name in family if measures[name] is not None]
    if len(given) > 1:
        raise parameter_error(given[1], " conflicts with ", ParameterName(given[0]), ": give one of the two")
    return given[0] if given else None


def _table(written: str | Scheduler | type[PythonScheduler] | Mapping[str, Any]) -> dict[str, Any]:
    try:
        return scheduler_table(written)
    except InputError as error:
        raise parameter_error("schedulers", f": {str(error).removeprefix('scheduler: ')}") from None


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


def _scheduler(
    given: dict[str, Any],
    packets: int | None,
    size: int | None,
    queues: int | None,
) -> dict[str, Any]:
    """Return the table of one scheduler, with its share of the buffer if it has no capacity."""
    named = given.get("name")
    if isinstance(named, str) and named in (found := installed("schedulers", named)):
        named = found[named]
        given = {**given, "name": named}
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
