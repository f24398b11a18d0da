"""From keywords to the worst trace."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from pifolab import _pifolab, info
from pifolab.adversary.buffers import equal_buffers
from pifolab.errors import InputError, PifolabError, parameter_error
from pifolab.interruption import calling_plug_in
from pifolab.plugins import component_name
from pifolab.quantities import number

STRATEGIES = ("local", "evolution", "beam")

_MOST = 2**63 - 1


def metrics() -> dict[str, str]:
    """Return the name of every metric, with a sentence about it.

    Examples
    --------
    >>> import pifolab.adversary
    >>> pifolab.adversary.metrics()["drops"]
    'The dropped packets of the m lowest ranks'
    """
    return dict(_pifolab.attack_metrics())


@dataclass(frozen=True)
class Answer:
    """The worst trace that was found.

    Attributes
    ----------
    gap : Fraction
        metric(a) - metric(b), or metric(a) if there is no b.
    bound : Fraction or None
        No allowed trace has a larger gap; None if no bound is known.
    proven : bool
        Whether `gap` is the largest possible.
    trace : tuple of int
        The ranks in the order of arrival.
    departures : tuple of int
        How many packets may leave after each arrival; empty if all arrive before the first one leaves.
    start_window : tuple of int or None
        The initial ranks of windows, oldest first, if they were given or searched.
    evaluations : int
        Steps of schedulers (exact search) or whole traces run (guided search).
    interrupted : bool
        Whether Ctrl-C ended the search.
    ended_by : str or None
        Which limit ended the search before it had a proof: ``memory``, ``time`` or ``interrupt``. A search whose memory
        is used up may continue with another method. None: the answer is proven, or all evaluations are done.
    question : dict
        The question: both schedulers with all their parameters, the metric, the ranks, the constraints.
    note : str or None
        Another cause of the gap: buffers of different sizes.
    shrinking_ended_by : str or None
        What ended `shrink` early: ``time`` or ``interrupt``. A smaller trace may then have the gap, too.
    """

    gap: Fraction
    bound: Fraction | None
    proven: bool
    trace: tuple[int, ...]
    departures: tuple[int, ...]
    start_window: tuple[int, ...] | None
    evaluations: int
    interrupted: bool = False
    ended_by: str | None = None
    question: dict[str, Any] = field(default_factory=dict, repr=False)
    note: str | None = None
    shrinking_ended_by: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the output of ``--json``, from which `from_dict` makes this answer again."""
        facts: dict[str, Any] = {
            "gap": number(self.gap),
            "bound": None if self.bound is None else number(self.bound),
            "proven": self.proven,
            "trace": list(self.trace),
            "start_window": None if self.start_window is None else list(self.start_window),
            "evaluations": self.evaluations,
            "ended_by": self.ended_by,
            "question": {**self.question, "a": _plain(self.question["a"]), "b": _plain(self.question["b"])},
        }
        if self.departures:
            facts["departures"] = list(self.departures)
        if self.note is not None:
            facts["note"] = self.note
        if self.shrinking_ended_by is not None:
            facts["shrinking_ended_by"] = self.shrinking_ended_by
        return facts

    @classmethod
    def from_dict(cls, facts: Any) -> Answer:
        """Return the answer whose `as_dict` is `facts`; both schedulers run again to compute its gap.

        Raises
        ------
        InputError
            `facts` are no answer of the library's schedulers.

        Examples
        --------
        >>> import pifolab
        >>> answer = pifolab.attack("fifo", "pifo", packets=90, ranks=(1, 3), method="guided", evaluations=600)
        >>> pifolab.adversary.Answer.from_dict(answer.as_dict()) == answer
        True
        """
        try:
            trace, window, evaluations = facts["trace"], facts["start_window"], facts["evaluations"]
        except (KeyError, TypeError):
            expected = "expected an answer of pifolab attack --json, with trace, start_window and evaluations"
            raise InputError(expected) from None
        departures = facts.get("departures", [])
        for key, ranks in (("trace", trace), ("start_window", [] if window is None else window)):
            if not _are_whole(ranks):
                raise InputError(f"{key}: expected a list of ranks")
        if not _are_whole([evaluations]):
            raise InputError("evaluations: expected an integer >= 0")
        if not _are_whole(departures):
            raise InputError("departures: expected a list of integers")
        question = facts.get("question")
        answer = cls(
            gap=Fraction(0),
            bound=None,
            proven=False,
            trace=tuple(trace),
            departures=tuple(departures),
            start_window=None if window is None else tuple(window),
            evaluations=evaluations,
            interrupted=facts.get("ended_by") == "interrupt",
            ended_by=facts.get("ended_by"),
            note=facts.get("note"),
            shrinking_ended_by=facts.get("shrinking_ended_by"),
        )
        if question is None:
            return answer
        try:
            question = {**question, "a": _side_of(question["a"]), "b": _side_of(question["b"])}
            question["benign"] = [(place, rank) for place, rank in question["benign"]]
            answer = replace(answer, question=question)
            story = answer.story()
            proven, bound = bool(facts["proven"]), facts["bound"]
            bound = None if bound is None else Fraction(bound)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"question: expected that of an answer of pifolab attack --json: {error}") from None
        a, b = (Fraction(0) if told is None else Fraction(*told["value"]) for told in (story["a"], story["b"]))
        # The gap in `facts` may be the nearest float of a fraction.
        return replace(answer, gap=a - b, bound=a - b if proven else bound, proven=proven)

    @property
    def _searched_window(self) -> list[int] | None:
        """The start window if it was searched; a given one is in the parameters of the schedulers."""
        return None if self.start_window is None or not self.question["free_window"] else list(self.start_window)

    def shrink(self, share: float | Fraction = 1, *, time_limit_s: float | None = 600.0) -> Answer:
        """Return a witness with fewer packets and simpler ranks that keeps `share` of the gap.

        Taking any single packet out of it loses that gap, unless `time_limit_s` or Ctrl-C ended the search for a
        smaller one, as ``shrinking_ended_by`` says.

        Raises
        ------
        InputError
            The trace was searched under constraints that a shorter one would not keep.
        """
        question = self.question
        if question["multiset"] is not None or question["flows"] is not None or question["benign"]:
            raise parameter_error(
                "shrink", ": a trace under constraints (multiset, flows, benign) cannot be made shorter"
            )
        if not 0 < share <= 1:
            raise parameter_error("shrink", ": expected a share above 0 and at most 1", value=share)
        least = self.gap * Fraction(share)
        found = _pifolab.attack_shrink(
            question,
            list(self.trace),
            list(self.departures),
            self._searched_window,
            (least.numerator, least.denominator),
            time_limit_s,
        )
        if found is None:
            return self
        ranks, departures, parts, shrinking_ended_by = found
        gap = Fraction(*parts)
        # The bound is for longer traces, and does not apply to a gap above it.
        bound = None if self.bound is None or gap > self.bound else self.bound
        ended_by = None if gap == bound else self.ended_by
        shorter = replace(self, gap=gap, bound=bound, proven=gap == bound, ended_by=ended_by)
        return replace(
            shorter,
            trace=tuple(ranks),
            departures=tuple(departures),
            interrupted=self.interrupted or shrinking_ended_by == "interrupt",
            shrinking_ended_by=shrinking_ended_by,
        )

    def story(self) -> dict[str, Any]:
        """Return the actions of both schedulers step by step, and the cost of the trace for each."""
        return _pifolab.attack_story(self.question, list(self.trace), list(self.departures), self._searched_window)

    def explain(self) -> str:
        """Return in words which packets were delayed or dropped, by which decisions, and the values in their rules."""
        from pifolab.adversary.explain import explain

        return explain(self)

    def draw(self, path: str | os.PathLike[str]) -> list[Path]:
        """Draw both schedulers step by step into `path` (.png, .svg, .pdf or .html); return the files."""
        from pifolab.adversary.draw import draw

        return draw(self, path)

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the witness as conformance vectors, one for each scheduler: ``path-a.json``, ``path-b.json``."""
        from pifolab.adversary.witness import save

        return save(self, path)


def attack(
    a: str | Callable[[], Any],
    against: str | Callable[[], Any] | None = None,
    *,
    metric: str = "WD",
    packets: int,
    ranks: tuple[int, int],
    lowest: int = 1,
    a_options: Mapping[str, Any] | None = None,
    b_options: Mapping[str, Any] | None = None,
    buffer_packets: int | None = None,
    start_window: Sequence[int] | None = None,
    free_window: bool = False,
    no_drops: bool = False,
    multiset: Mapping[int, int] | None = None,
    flows: int | None = None,
    falling: bool = False,
    benign: Mapping[int, int] | None = None,
    load: str | float | Fraction | None = None,
    burst: int = 1,
    method: str = "auto",
    strategies: Sequence[str] = STRATEGIES,
    seed: int = 1,
    evaluations: int | None = None,
    initial: Answer | Sequence[int] | None = None,
    time_limit_s: float | None = 600,
    memory_mib: int = 4096,
    workers: int | None = None,
    progress: Callable[[Fraction, int], None] | None = None,
) -> Answer:
    """Search for the trace with the largest metric(a) - metric(against).

    Parameters
    ----------
    a, against : str or callable
        Names of schedulers, or factories of a `PythonScheduler` (much slower: every snapshot is a replay). Without
        `against` the gap is metric(a).
    metric : str
        One of `metrics()`, or a sum of such as ``"WI-10*inversions"``.
    packets : int
        The length of the trace, at most 100,000.
    ranks : (int, int)
        The lowest and the highest rank, both included; the highest is the R of the metrics.
    lowest : int
        m: the number of lowest ranks that the metrics ``inversions`` and ``drops`` count.
    a_options, b_options : mapping
        The schedulers' parameters; for a scheduler written in Python, the arguments of its factory.
    buffer_packets : int, optional
        The buffer of both schedulers, divided among queues. A scheduler that has a capacity in its options keeps it. By
        default a scheduler without a capacity gets the buffer of the other one. `Answer.note` reports if they differ.
    start_window : sequence of int, optional
        The initial ranks, oldest first, of the window of every scheduler that has one.
    free_window : bool
        Whether to search the start window as well. The search begins with the worst traces of a few fixed windows,
        `start_window` among them: they share half of the time, and each has all `evaluations`. The answer is not below
        theirs.
    no_drops : bool
        Neither scheduler may drop a packet.
    multiset : mapping, optional
        How many packets of each rank the adversary sends; their order is free.
    flows : int, optional
        The adversary's packets go to this many flows in turn, and ranks never fall within a flow (`falling`: never
        rise).
    benign : mapping, optional
        Places (from 0) and ranks of packets that the adversary cannot change.
    load : str, float or Fraction, optional
        Packets that arrive per packet that may leave. Without it all packets arrive before the first one leaves.
    burst : int
        Packets arrive in bursts of this many, between which the link catches up with `load`.
    method : str
        ``auto``, ``exact``, ``enumerate`` or ``guided``.
    strategies : sequence of str
        The strategies of the guided search: ``local``, ``evolution``, ``beam``.
    seed : int
        The seed of the guided search. The same seed and number of evaluations give the same answer on any number of
        workers.
    evaluations : int, optional
        The number of traces after which the guided search ends. Default: 1,000,000 without a separate time limit.
    initial : Answer or sequence of int, optional
        An initial trace, which bounds the gap of the answer from below. From an `Answer` the guided search continues:
        it draws new random numbers, and its count of evaluations continues.
    time_limit_s : float or None
        The search ends after this many seconds with its best trace.
    memory_mib : int
        The approximate limit of memory. Reaching it yields the best trace and a bound.
    workers : int, optional
        Threads, at most 1024; default: one for each processor.
    progress : callable, optional
        Called with the best gap and the evaluations so far.

    Returns
    -------
    Answer

    Raises
    ------
    InputError
        An impossible or contradictory constraint, an unknown name, a value out of range.
    ParameterError
        A parameter that a scheduler refuses.

    Examples
    --------
    >>> import pifolab
    >>> small = {"queues": 2, "queue_capacity_packets": 2}
    >>> answer = pifolab.attack("sp-pifo", "fifo", metric="WD", packets=6, ranks=(1, 3),
    ...                         a_options=small, b_options={"capacity_packets": 4})
    >>> answer.gap, answer.proven, answer.trace
    (Fraction(4, 1), True, (1, 1, 1, 1, 1, 1))
    """
    a_options, b_options = dict(a_options or {}), dict(b_options or {})
    sides = [(a, a_options)] if against is None else [(a, a_options), (against, b_options)]
    room = None if buffer_packets is None else _whole("buffer_packets", buffer_packets, 1)
    note = equal_buffers(sides, room)
    if start_window is not None:
        start_window = [_whole("start_window", rank, 0) for rank in start_window]
    if start_window is not None or free_window:
        windowed = [options for name, options in ((a, a_options), (against, b_options)) if _has_window(name)]
        if not windowed:
            name = "free_window" if free_window else "start_window"
            raise parameter_error(name, " has no effect: neither scheduler has a window")
        if start_window is not None and not free_window:
            for options in windowed:
                options.setdefault("start_window", list(start_window))
    low, high = ranks
    places = range(low, high + 1) if high - low < 1 << 16 else ()
    counts = None
    if multiset is not None:
        for rank in multiset:
            if rank not in places:
                raise parameter_error("multiset", f": rank {rank}: expected a rank from {low} to {high}")
        counts = [_whole("multiset", multiset.get(rank, 0), 0, 100_000) for rank in places]
    question = {
        "a": _side(a, a_options),
        "b": None if against is None else _side(against, b_options),
        "metric": metric,
        "packets": _whole("packets", packets, 1, 100_000),
        "lowest": _whole("ranks", low, 0),
        "highest": _whole("ranks", high, 0),
        "counted": _whole("lowest", lowest, 1),
        "no_drops": bool(no_drops),
        "free_window": bool(free_window),
        "multiset": counts,
        "flows": None if flows is None else _whole("flows", flows, 1, 100_000),
        "falling": bool(falling),
        "benign": [(_whole("benign", place, 0), rank) for place, rank in sorted((benign or {}).items())],
        "load": None if load is None else str(load),
        "burst": _whole("burst", burst, 1),
    }
    if falling and flows is None:
        raise parameter_error("falling", " has no effect without flows")
    if burst != 1 and load is None:
        raise parameter_error("burst", ": has no effect without load", value=burst)
    if evaluations is None:
        evaluations = 1_000_000 if method == "auto" or time_limit_s is None else 1 << 62
    if time_limit_s is not None and not 0 < time_limit_s < 1e9:
        raise parameter_error("time_limit_s", ": expected a positive number of seconds", value=time_limit_s)
    if not strategies:
        raise parameter_error("strategies", " is empty: expected at least one")
    begin = Answer(Fraction(0), None, False, tuple(initial), (), None, 0) if isinstance(initial, Sequence) else initial
    if begin is not None:
        if len(begin.trace) != packets:
            raise parameter_error("initial", f" trace of {len(begin.trace)} packets: expected {packets}")
        given = None if start_window is None else tuple(start_window)
        if begin.start_window is not None and not free_window and begin.start_window != given:
            window = ",".join(map(str, begin.start_window))
            raise parameter_error(
                "initial", f" trace with a start window of its own: expected free_window or start_window {window}"
            )
        for rank in (*begin.trace, *(begin.start_window or ())):
            if not low <= rank <= high:
                raise parameter_error("initial", f" trace with rank {rank}: expected a rank from {low} to {high}")
    effort = {
        "method": method,
        "strategies": list(strategies),
        "seed": _whole("seed", seed, 0),
        "evaluations": _whole("evaluations", evaluations, 1),
        "time_limit_s": None if time_limit_s is None else float(time_limit_s),
        "memory_mib": _whole("memory_mib", memory_mib, 16, 1 << 30),
        "workers": _whole("workers", workers or os.cpu_count() or 1, 1, 1024),
        "initial": None if begin is None else list(begin.trace),
        "initial_window": list(begin.start_window) if begin and begin.start_window and free_window else None,
        "initial_evaluations": 0 if begin is None else begin.evaluations,
        "windows": [list(start_window)] if start_window is not None and free_window else [],
    }

    def told(numerator: int, denominator: int, evaluations: int) -> None:
        if progress is not None:
            progress(Fraction(numerator, denominator), evaluations)

    found = _pifolab.attack(question, effort, told)
    started = found["start_window"] if free_window else start_window
    return Answer(
        gap=Fraction(*found["gap"]),
        bound=None if found["bound"] is None else Fraction(*found["bound"]),
        proven=found["proven"],
        trace=tuple(found["trace"]),
        departures=tuple(found["departures"]),
        start_window=None if started is None else tuple(started),
        evaluations=found["evaluations"],
        interrupted=found["interrupted"],
        ended_by=found["ended_by"],
        question=question,
        note=note,
    )


def _plain(side: tuple[Any, Any] | None) -> Any:
    """Return one side of a question for JSON: for a scheduler written in Python only the name."""
    if side is None or not isinstance(side[1], dict):
        return None if side is None else side[1]
    options = {key: str(value) if isinstance(value, Fraction) else value for key, value in side[1].items()}
    return [side[0], options]


def _side_of(plain: Any) -> tuple[str, dict[str, Any]] | None:
    if isinstance(plain, str):
        raise ValueError(f"{plain} is written in Python, and only schedulers of the library can be named")
    if plain is None:
        return None
    name, options = plain
    return info.scheduler(name).name, dict(options)


def _are_whole(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _has_window(scheduler: str | Callable[[], Any] | None) -> bool:
    """Whether it is a scheduler of the library with a window that can start with ranks."""
    return isinstance(scheduler, str) and any(
        param.name == "start_window" for param in info.scheduler(scheduler).params
    )


def _side(scheduler: str | Callable[[], Any], options: dict[str, Any]) -> tuple[Any, Any]:
    if isinstance(scheduler, str):
        info.scheduler(scheduler)
        return scheduler, options
    name = component_name(scheduler) if isinstance(scheduler, type) else getattr(scheduler, "__name__", "python")
    made = partial(scheduler, **options)
    try:
        calling_plug_in(made)
    except PifolabError:
        raise
    except Exception as error:
        raise InputError(f"{name}: it cannot be made: {type(error).__name__}: {error}") from None
    return made, name


def _whole(name: str, value: Any, least: int, most: int = _MOST) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise parameter_error(name, f": expected an integer >= {least}", value=str(value))
    if value > most:
        expected = f": expected an integer from {least} to {'2^63 - 1' if most == _MOST else most}"
        raise parameter_error(name, expected, value=str(value))
    return value
