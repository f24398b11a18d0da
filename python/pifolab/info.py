"""What is known about every scheduler and rank function: the tables behind `pifolab explain`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from pifolab import _pifolab
from pifolab.errors import InputError

__all__ = ["Info", "Param", "rank", "ranks", "scheduler", "schedulers"]


@dataclass(frozen=True)
class Param:
    """One parameter of a scheduler or rank function.

    Attributes
    ----------
    name : str
        The keyword, with its unit where it has one: ``capacity_packets``.
    unit : str
        The unit in words; empty for a pure number or a choice.
    kind : str
        ``integer``, ``fraction``, ``choice``, ``flag``, ``integers`` or ``integer-or-integers``.
    min, max : int or None
        The range of an integer, or of each member of a list.
    choices : tuple of (str, str)
        The words of a choice, each with its meaning.
    default : str or None
        The default, as it would be written.
    absent_means : str or None
        What holds without the parameter, where that is no plain default.
    required : bool
        Whether it must be given.
    expected : str
        What may be given, in words.
    doc : str
        What it does, and where the default comes from.
    """

    name: str
    unit: str
    kind: str
    min: int | None
    max: int | None
    choices: tuple[tuple[str, str], ...]
    default: str | None
    absent_means: str | None
    required: bool
    expected: str
    doc: str


@dataclass(frozen=True)
class Info:
    """What is known about one scheduler or rank function.

    Attributes
    ----------
    name : str
        Its name in text: ``sp-pifo``.
    summary : str
        What it does, in one sentence.
    paper : str
        Paper, section and algorithm number.
    departure : str
        How its order and its drops depart from PIFO's; for a rank function, what the rank means.
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
    departure: str
    state: str
    cost: str
    params: tuple[Param, ...]

    @property
    def class_name(self) -> str:
        """The name of its Python class: ``SpPifo``."""
        return "".join(word.capitalize() for word in self.name.split("-"))


def _read(table: _pifolab.InfoTable) -> Info:
    facts: dict[str, Any] = {**table}
    facts["params"] = tuple(map(_read_param, table["params"]))
    return Info(**facts)


def _read_param(row: _pifolab.ParamTable) -> Param:
    facts: dict[str, Any] = {**row}
    facts["choices"] = tuple(row["choices"])
    return Param(**facts)


@cache
def _schedulers() -> tuple[Info, ...]:
    return tuple(map(_read, _pifolab.schedulers()))


@cache
def _ranks() -> tuple[Info, ...]:
    return tuple(map(_read, _pifolab.ranks()))


def schedulers() -> list[Info]:
    """Return what is known about every scheduler.

    Examples
    --------
    >>> import pifolab
    >>> for info in pifolab.schedulers():
    ...     if info.name == "fifo":
    ...         print(info.summary)
    First in, first out, with tail drop; ranks are ignored.
    """
    return list(_schedulers())


def ranks() -> list[Info]:
    """Return what is known about every rank function.

    Examples
    --------
    >>> import pifolab
    >>> 'stfq' in [info.name for info in pifolab.ranks()]
    True
    """
    return list(_ranks())


def scheduler(name: str) -> Info:
    """Return what is known about the scheduler `name`."""
    return _find("scheduler", name, _schedulers())


def rank(name: str) -> Info:
    """Return what is known about the rank function `name`."""
    return _find("rank function", name, _ranks())


def _find(what: str, name: str, infos: tuple[Info, ...]) -> Info:
    for info in infos:
        if info.name == name:
            return info
    raise InputError(_pifolab.unknown_name(what, name, [info.name for info in infos]))
