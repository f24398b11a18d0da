"""A class for every scheduler, made from the tables of the library.

The classes are made when the package is imported, so that a scheduler added in Rust is here without further work;
what editors and type checkers see of them is in ``_classes.pyi``, which ``make build`` writes from the same tables.
"""

from __future__ import annotations

import inspect
import textwrap
from types import MappingProxyType
from typing import Any

from pifolab import info
from pifolab._pifolab import Scheduler

__all__ = ["Ranked", "class_docstring", "ranked", "scheduler"]

_ANNOTATIONS: dict[str, Any] = {
    "integer": int,
    "fraction": float,
    "choice": str,
    "flag": bool,
    "integers": list[int],
    "integer-or-integers": "int | list[int]",
}


def class_docstring(about: info.Info) -> str:
    """Return the docstring of the class for `about`, in NumPy's style."""
    parts = [about.summary, "", *textwrap.wrap(about.effect, 96)]
    if about.params:
        parts += ["", "Parameters", "----------"]
    for param in about.params:
        parts.append(f"{param.name} : {_kind_in_words(param)}")
        text = param.doc
        if param.absent_means is not None:
            text += f" If absent: {param.absent_means}."
        parts += textwrap.wrap(text, 92, initial_indent="    ", subsequent_indent="    ")
        parts += [""] if param.choices else []
        for word, meaning in param.choices:
            line = f"* ``{word}``: {meaning}"
            parts += textwrap.wrap(line, 92, initial_indent="    ", subsequent_indent="      ")
    if about.params:
        parts += ["", "Raises", "------", "ParameterError"]
        parts += ["    A parameter that is unknown, has no effect beside the others, or is out of range."]
    parts += ["", "Notes", "-----"]
    parts += textwrap.wrap(f"State in a switch: {about.state}", 96)
    parts += textwrap.wrap(f"Cost: {about.cost}", 96)
    parts += ["", "References", "----------", *textwrap.wrap(about.paper, 96)]
    return "\n".join(parts)


def _kind_in_words(param: info.Param) -> str:
    words = param.expected.removeprefix("expected ")
    if param.default is not None:
        words += f", default {param.default}"
    return words


def _signature(about: info.Info) -> inspect.Signature:
    return inspect.Signature(
        [
            inspect.Parameter(
                param.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if param.required else param.default,
                annotation=_ANNOTATIONS[param.kind],
            )
            for param in about.params
        ]
    )


def _shown(parameters: MappingProxyType[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in parameters.items())


def _scheduler_class(about: info.Info) -> type[Scheduler]:
    def new(cls: type[Any], **parameters: Any) -> Any:
        self = Scheduler.__new__(cls, about.name, parameters)
        self.parameters = MappingProxyType(parameters)  # type: ignore[attr-defined]
        return self

    def representation(self: Any) -> str:
        return f"{about.class_name}({_shown(self.parameters)})"

    members = {
        "__doc__": class_docstring(about),
        "__module__": "pifolab",
        "__new__": new,
        "__repr__": representation,
        "__signature__": _signature(about),
        "info": about,
    }
    return type(about.class_name, (Scheduler,), members)


_CLASSES = {about.name: _scheduler_class(about) for about in info.schedulers()}
globals().update({made.__name__: made for made in _CLASSES.values()})
__all__ += [made.__name__ for made in _CLASSES.values()]


def scheduler(name: str, /, **parameters: Any) -> Scheduler:
    """Construct the scheduler `name`.

    Parameters
    ----------
    name : str
        Its name as `pifolab list schedulers` prints it.
    **parameters
        Its parameters, as `pifolab explain NAME` lists them.

    Raises
    ------
    InputError
        No scheduler has that name.
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Examples
    --------
    >>> import pifolab
    >>> pifolab.scheduler("pifo", capacity_packets=4)
    Pifo(capacity_packets=4)
    >>> pifolab.scheduler("sp-pfio")
    Traceback (most recent call last):
        ...
    pifolab.errors.InputError: unknown scheduler "sp-pfio"; did you mean sp-pifo?
    """
    return _CLASSES[info.scheduler(name).name](**parameters)  # type: ignore[call-arg]


class Ranked(Scheduler):
    """A scheduler whose packets get their ranks from a rank function; made by `ranked`."""

    rank: str
    rank_parameters: MappingProxyType[str, Any]
    scheduler: Scheduler

    def __new__(cls, rank: str, scheduler: Scheduler, rank_parameters: dict[str, Any]) -> Ranked:
        """Join the two; the joined scheduler starts empty."""
        about = getattr(scheduler, "info", None)
        if about is None:
            raise TypeError("a rank function joins a scheduler of this package that has none yet")
        self = super().__new__(cls, about.name, dict(scheduler.parameters), rank, rank_parameters)  # type: ignore[attr-defined]
        assert isinstance(self, Ranked)
        self.rank = rank
        self.rank_parameters = MappingProxyType(rank_parameters)
        self.scheduler = scheduler
        return self

    def __repr__(self) -> str:
        parameters = f", {_shown(self.rank_parameters)}" if self.rank_parameters else ""
        return f"ranked({self.rank!r}, {self.scheduler!r}{parameters})"


def ranked(rank: str, scheduler: Scheduler, /, **parameters: Any) -> Ranked:
    """Join the rank function `rank` to a scheduler like `scheduler`.

    The joined scheduler starts empty, with the same parameters as `scheduler`, which stays as it is. It computes the
    rank of each packet that it is offered; a rank carried in the packet is overwritten.

    Parameters
    ----------
    rank : str
        The rank function, as `pifolab list ranks` prints it.
    scheduler : Scheduler
        What orders the packets.
    **parameters
        The rank function's parameters, as `pifolab explain NAME` lists them.

    Raises
    ------
    InputError
        No rank function has that name.
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Examples
    --------
    Start-time fair queueing lets two flows take turns, although flow 0 came first with all of its packets:

    >>> import pifolab
    >>> fair = pifolab.ranked("stfq", pifolab.Pifo(capacity_packets=10))
    >>> for flow in (0, 0, 0, 1, 1, 1):
    ...     _ = fair.enqueue(flow=flow, size_bytes=1500)
    >>> [fair.dequeue().flow for _ in range(6)]
    [0, 1, 0, 1, 0, 1]
    """
    return Ranked(rank, scheduler, parameters)
