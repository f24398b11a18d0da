"""Descriptions of every scheduler, rank function, transport and topology: the tables of `pifolab show`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from pifolab import _pifolab, catalogue
from pifolab.errors import InputError
from pifolab.targets import resources_text
from pifolab.text import wrapped


@dataclass(frozen=True)
class Param:
    """One parameter of a scheduler, rank function, transport or topology.

    Attributes
    ----------
    name : str
        The keyword, with its unit where it has one: ``capacity_packets``.
    keys : tuple of str
        The keys that it can be written as: of a time or a rate one for each unit, ``delay_ns``; of all others the name.
    unit : str
        The unit in words; empty for a pure number or a choice.
    kind : str
        ``integer``, ``fraction``, ``number``, ``text``, ``texts``, ``choice``, ``flag``, ``integers``,
        ``integer-or-integers``, or ``component`` and ``components``: schedulers or rank functions inside, by name.
    min, max : int or None
        The range of an integer, or of each member of a list.
    choices : tuple of (str, str)
        The words of a choice, each with its meaning.
    default : str or None
        The default, as a scenario would contain it.
    absent_means : str or None
        The behaviour without the parameter, if it has no plain default.
    required : bool
        Whether it must be given.
    allowed : str
        The allowed values, in words.
    doc : str
        Its effect, and the origin of its default.
    """

    name: str
    keys: tuple[str, ...]
    unit: str
    kind: str
    min: int | None
    max: int | None
    choices: tuple[tuple[str, str], ...]
    default: str | None
    absent_means: str | None
    required: bool
    allowed: str
    doc: str


@dataclass(frozen=True, repr=False)
class Info:
    """The description of one scheduler, rank function, transport or topology.

    Attributes
    ----------
    name : str
        Its name in text: ``sp-pifo``.
    summary : str
        Its function, in one sentence.
    paper : str
        Paper, section and algorithm number; of transports and topologies this and the next three are empty.
    effect : str
        How its order and its drops differ from PIFO's; for a rank function, the meaning of the rank.
    state : str
        The registers and tables that a switch needs for it.
    cost : str
        Cost per operation.
    params : tuple of Param
        Its parameters, most important first.
    """

    name: str
    summary: str
    paper: str
    effect: str
    state: str
    cost: str
    params: tuple[Param, ...]

    @property
    def kind(self) -> str:
        """Its kind: ``scheduler``, ``rank function``, ``transport``, ``topology``, ``metric``, ..."""
        return next(kind for kind, infos in kinds().items() if any(about is self for about in infos))

    def __repr__(self) -> str:
        """Return one line: its kind, and its parameters by name."""
        return f"Info({self.name!r}, {self.kind}; {', '.join(param.name for param in self.params) or 'no parameters'})"

    def __str__(self) -> str:
        """Return the whole description in lines, as ``pifolab show NAME`` prints it."""
        return _explained(self)

    def _repr_html_(self) -> str:
        """Return the form for notebooks: the facts, and a table of the parameters."""
        facts = "".join(f"<li><b>{html.escape(name)}</b>: {html.escape(text)}</li>" for name, text in _facts_of(self))
        cells = [(", ".join(param.keys), param.allowed, _absent(param), param.doc) for param in self.params]
        rows = ["".join(f"<td style='text-align:left'>{html.escape(cell)}</td>" for cell in row) for row in cells]
        table = "".join(f"<tr>{row}</tr>" for row in rows)
        return (
            f"<h4>{html.escape(self.name)} ({self.kind})</h4><p>{html.escape(self.summary)}</p><ul>{facts}</ul>"
            f"<table><tr><th>parameter</th><th>may be</th><th>otherwise</th><th>meaning</th></tr>{table}</table>"
        )

    @property
    def class_name(self) -> str:
        """The name of its Python class: ``SpPifo``."""
        return "".join(word.capitalize() for word in self.name.split("-"))


@dataclass(frozen=True)
class Traits:
    """The facts on which a scheduler's decisions depend.

    Attributes
    ----------
    reads_ranks : bool
        Ranks, for the order or for drops.
    reads_flows : bool
        The flow of a packet.
    reads_time : bool
        The time of a call.
    conserves_work : bool
        It never leaves the link idle while it holds a packet.
    ideal : bool
        It is the ideal that others are compared with.
    tail_drop : bool
        It is one first-in first-out queue with tail drop and nothing else.
    tests_when_idle : bool
        In the published network simulation its admission test is asked even where the wire is idle.
    tests_arrivals : bool
        A test of its own refuses or marks packets that there is room for.
    """

    reads_ranks: bool
    reads_flows: bool
    reads_time: bool
    conserves_work: bool
    ideal: bool
    tail_drop: bool
    tests_when_idle: bool
    tests_arrivals: bool


@dataclass(frozen=True, repr=False)
class SchedulerInfo(Info):
    """The description of one scheduler.

    Attributes
    ----------
    traits : Traits
        The facts on which its decisions depend.
    look : tuple
        How figures draw it: the name that a reader knows it by, its colour (``#rrggbb``), the lengths of strokes and
        gaps of its line in turns (none: unbroken), and its marker.
    advice : tuple or None
        What ``pifolab advise`` tries: parameters, each with the values as they would be written; None if it is not a
        candidate.
    """

    traits: Traits
    look: tuple[str, str, tuple[int, ...], str]
    advice: tuple[tuple[str, tuple[str, ...]], ...] | None


@dataclass(frozen=True, repr=False)
class RankInfo(Info):
    """The description of one rank function.

    Attributes
    ----------
    size_of : str or None
        The object whose size its ranks measure, if they count bytes.
    needs : tuple of str
        The facts about each packet that it needs in addition to flow, size and time.
    """

    size_of: str | None
    needs: tuple[str, ...]


AnyInfo = TypeVar("AnyInfo", bound=Info)


def _facts(table: _pifolab.PartTable) -> dict[str, Any]:
    return {**table, "params": tuple(map(_read_param, table["params"]))}


def _read_scheduler(table: _pifolab.SchedulerTable) -> SchedulerInfo:
    label, colour, dash, marker = table["look"]
    advice = table["advice"]
    tried = None if advice is None else tuple((key, tuple(values)) for key, values in advice)
    facts = {"traits": Traits(**table["traits"]), "look": (label, colour, tuple(dash), marker), "advice": tried}
    return SchedulerInfo(**(_facts(table) | facts))


def _read_rank(table: _pifolab.RankTable) -> RankInfo:
    return RankInfo(**(_facts(table) | {"needs": tuple(table["needs"])}))


def _read_part(table: _pifolab.PartTable) -> Info:
    return Info(**({"paper": "", "effect": "", "state": "", "cost": ""} | _facts(table)))


def _read_param(row: _pifolab.ParamTable) -> Param:
    facts: dict[str, Any] = {**row}
    facts["keys"], facts["choices"] = tuple(row["keys"]), tuple(row["choices"])
    return Param(**facts)


@cache
def _schedulers() -> tuple[SchedulerInfo, ...]:
    return tuple(map(_read_scheduler, _pifolab.schedulers()))


@cache
def _ranks() -> tuple[RankInfo, ...]:
    return tuple(map(_read_rank, _pifolab.ranks()))


@cache
def kinds() -> dict[str, tuple[Info, ...]]:
    """Return everything that `explain` describes, by kind: scheduler, rank function, transport, topology, ..."""
    found: dict[str, tuple[Info, ...]] = {
        "scheduler": _schedulers(),
        "rank function": _ranks(),
        "transport": tuple(map(_read_part, _pifolab.transports())),
        "topology": tuple(map(_read_part, _pifolab.topologies())),
        "metric": tuple(map(_read_part, catalogue.metrics())),
        "distribution": tuple(map(_read_part, catalogue.distributions())),
        "key": tuple(map(_read_part, catalogue.keys())),
    }
    return found | {"word": tuple(_words(about for infos in found.values() for about in infos))}


def _words(infos: Iterable[Info]) -> Iterator[Info]:
    """Yield each word that a parameter or key can be, with its meaning there."""
    places: dict[str, list[str]] = {}
    meanings: dict[str, dict[str, None]] = {}
    for about in infos:
        for param in about.params:
            place = about.name if about.name.rpartition(".")[2] == param.name else f"{about.name}.{param.name}"
            for word, meaning in param.choices:
                places.setdefault(word, []).append(place)
                said = f"{meaning[:1].upper()}{meaning[1:].rstrip('.')}." if meaning else ""
                meanings.setdefault(word, {})[said] = None
    for word, where in places.items():
        yield Info(word, " ".join(filter(None, meanings[word])), "", ", ".join(where), "", "", ())


def schedulers() -> list[SchedulerInfo]:
    """Return the description of every scheduler.

    Examples
    --------
    >>> import pifolab
    >>> for info in pifolab.schedulers():
    ...     if info.name == "fifo":
    ...         print(info.summary)
    First in, first out, with tail drop; ranks are ignored.
    """
    return list(_schedulers())


def ranks() -> list[RankInfo]:
    """Return the description of every rank function.

    Examples
    --------
    >>> import pifolab
    >>> 'stfq' in [info.name for info in pifolab.ranks()]
    True
    """
    return list(_ranks())


def transports() -> list[Info]:
    """Return the description of every transport: congestion controllers by name, and complete transports.

    Examples
    --------
    >>> import pifolab
    >>> 'dctcp' in [info.name for info in pifolab.transports()]
    True
    """
    return list(kinds()["transport"])


def topologies() -> list[Info]:
    """Return the description of every kind of network.

    Examples
    --------
    >>> import pifolab
    >>> 'leaf-spine' in [info.name for info in pifolab.topologies()]
    True
    """
    return list(kinds()["topology"])


def ideal() -> str:
    """Return the name of the scheduler that others are compared with."""
    return next(about.name for about in _schedulers() if about.traits.ideal)


def scheduler(name: str) -> SchedulerInfo:
    """Return the description of the scheduler `name`."""
    return _find("scheduler", name, _schedulers(), "pifolab show schedulers")


def rank(name: str) -> RankInfo:
    """Return the description of the rank function `name`."""
    return _find("rank function", name, _ranks(), "pifolab show ranks")


def explain(name: str, *, also: Sequence[str] = ()) -> Info:
    """Return the whole description of `name`: print it to read it.

    Schedulers, rank functions, transports, topologies, metrics, distributions, keys of scenarios and the words that
    these can be (``on-off``) have names. A name in other letters, as in ``PACKS``, is the same.

    Parameters
    ----------
    name : str
        The name.
    also : sequence of str
        More words that may have been meant, for the error.

    Raises
    ------
    InputError
        There is none of them.

    Examples
    --------
    >>> import pifolab
    >>> pifolab.explain("fifo").summary
    'First in, first out, with tail drop; ranks are ignored.'
    >>> [param.name for param in pifolab.explain("aifo").params][:2]
    ['capacity_packets', 'capacity_bytes']
    >>> pifolab.explain("inversions").kind
    'metric'
    """
    everything = tuple(about for infos in kinds().values() for about in infos)
    names = [about.name for about in everything]
    same = [at for at, known in enumerate(names) if _folded(known) == _folded(name)]
    if same:
        exact = [at for at in same if names[at] == name]
        return everything[(exact or same)[0]]
    raise InputError(_pifolab.unknown_name("name", name, [*also, *dict.fromkeys(names)], "pifolab show"))


def _folded(name: str) -> str:
    return name.casefold().replace("_", "-")


def _find(what: str, name: str, infos: tuple[AnyInfo, ...], listed_by: str) -> AnyInfo:
    for info in infos:
        if info.name == name:
            return info
    raise InputError(_pifolab.unknown_name(what, name, [info.name for info in infos], listed_by))


def _explained(about: Info) -> str:
    blocks = [f"{about.name} ({about.kind}; {_written(about)})", wrapped(about.summary)]
    facts = _facts_of(about)
    if facts:
        width = max(len(label) for label, _ in facts) + 2
        blocks.append("\n".join(wrapped(f"{label:{width}}{text}", indent=width) for label, text in facts))
    if about.params:
        blocks.append("Parameters")
        blocks += [_parameter(param) for param in about.params]
    elif about.kind not in ("metric", "word"):
        blocks.append("No parameters.")
    return "\n\n".join(blocks)


def _facts_of(about: Info) -> list[tuple[str, str]]:
    meaning = {"scheduler": "Against PIFO", "key": "Where", "word": "Where"}.get(about.kind, "The rank")
    facts = [("Paper", about.paper), (meaning, about.effect), ("Switch state", about.state), ("Cost", about.cost)]
    if about.kind == "scheduler":
        facts.append(("In P4", resources_text(about.name)))
    return [(label, text) for label, text in facts if text]


#: How a scenario names each kind; the braces contain the name.
_WRITTEN = {
    "rank function": 'in Python: pifolab.ranked("{}", ...)',
    "transport": 'in a scenario: [transport] name = "{}"',
    "topology": 'in a scenario: [topology] kind = "{}"',
    "metric": "a column of the tables of a run",
    "distribution": 'in a scenario: ranks = "{}"',
    "key": "of a scenario or a study",
    "word": "a value of a key or parameter",
}


def _written(about: Info) -> str:
    if about.kind == "scheduler":
        return f"in Python: pifolab.{about.class_name}(...)"
    return _WRITTEN[about.kind].format(about.name)


def _absent(param: Param) -> str:
    """Return the behaviour without a parameter."""
    if param.required:
        return "required"
    return f"default {param.default}" if param.default is not None else f"if absent: {param.absent_means}"


def _parameter(param: Param) -> str:
    lines = [f"  {', '.join(param.keys)}", f"{param.allowed}; {_absent(param)}", param.doc]
    text = "\n".join([lines[0], *(wrapped(line, indent=6, first=6) for line in lines[1:] if line)])
    width = max((len(word) for word, _ in param.choices), default=0) + 2
    for word, meaning in param.choices:
        text += "\n" + wrapped(f"{word:{width}}{meaning}", indent=8 + width, first=8)
    return text
