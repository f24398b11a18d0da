"""A class for every scheduler, made from the tables of the library.

The classes are made when the package is imported, so that a scheduler added in Rust is here without further work.
``make build`` writes their type stubs, ``_classes.pyi``, from the same tables.
"""

from __future__ import annotations

import copyreg
import inspect
import textwrap
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from pifolab import info
from pifolab._pifolab import Scheduler
from pifolab._utf_8 import wants_utf_8
from pifolab.errors import ParameterError

__all__ = ["Ranked", "child", "class_docstring", "ranked", "scheduler"]

_ANNOTATIONS: dict[str, Any] = {
    "integer": int,
    "fraction": float,
    "choice": str,
    "flag": bool,
    "integers": list[int],
    "integer-or-integers": "int | list[int]",
    "text": str,
    "texts": list[str],
    "number": float,
    "component": dict[str, Any],
    "components": list[dict[str, Any]],
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
        parts += ["    A parameter that is unknown, has no effect with the others, or is out of range."]
    parts += ["", "Notes", "-----"]
    parts += textwrap.wrap(f"State in a switch: {about.state}", 96)
    parts += textwrap.wrap(f"Cost: {about.cost}", 96)
    parts += ["", "References", "----------", *textwrap.wrap(about.paper, 96)]
    return "\n".join(parts)


def _kind_in_words(param: info.Param) -> str:
    return param.allowed if param.default is None else f"{param.allowed}, default {param.default}"


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


# The largest depth of nested nodes.
_DEPTH = 256


def described(value: Any, path: str, above: tuple[int, ...] = ()) -> Any:
    """Schedulers, and lists of them, as tables: what they are made from.

    `path` leads to `value`, which is inside the tables and lists of the identities `above`. Loops and not
    comprehensions, which take a frame of the stack each.
    """
    if isinstance(value, Ranked):
        return described(value.scheduler, path, above) | {"rank": {"name": value.rank, **value.rank_parameters}}
    about = getattr(value, "info", None)
    if isinstance(value, Scheduler) and about is not None:
        value = {"name": about.name, **value.parameters}  # type: ignore[attr-defined]
    elif isinstance(value, Mapping | list | tuple) and id(value) in above:
        expected = "expected children that are not inside themselves: a cycle is not a tree"
        raise ParameterError(f"{path}: {expected}", path, "child", None, expected)
    if isinstance(value, Mapping):
        # A table and the list that it stands in for each node.
        if len(above) > 2 * _DEPTH:
            expected = f"expected at most {_DEPTH} nodes inside one another"
            raise ParameterError(f"{path[:60]}...: child: {expected}", path, "child", None, expected)
        inside = (*above, id(value))
        table = {}
        for key, held in value.items():
            table[key] = described(held, path, inside)
        return table
    if isinstance(value, list | tuple):
        inside = (*above, id(value))
        listed = []
        for place, held in enumerate(value):
            label = held.get("label", place) if isinstance(held, Mapping) else place
            listed.append(described(held, f"{path}.{label}", inside))
        return listed
    return value


def _remade(scheduler: Scheduler, *arguments: Any, **keywords: Any) -> tuple[Any, ...]:
    """Return how `copy` and `pickle` make a scheduler again, which is possible only in its initial state.

    Raises
    ------
    TypeError
        Packets were offered to it, or time passed.
    """
    if not scheduler._is_new:
        message = (
            f"{scheduler!r} has seen packets, and its state cannot be copied: construct another with its parameters"
        )
        raise TypeError(message)
    return copyreg.__newobj_ex__, (type(scheduler), arguments, keywords)  # type: ignore[attr-defined]


def _scheduler_class(about: info.Info) -> type[Scheduler]:
    components = [param.name for param in about.params if param.kind in ("component", "components")]

    def new(cls: type[Any], **parameters: Any) -> Any:
        plain = parameters | {key: described(parameters[key], about.name) for key in components if key in parameters}
        classify = plain.pop("classify") if callable(plain.get("classify")) else None
        self = wants_utf_8(Scheduler.__new__)(cls, about.name, plain, classify=classify)
        self.parameters = MappingProxyType(parameters)  # type: ignore[attr-defined]
        return self

    def representation(self: Any) -> str:
        return f"{about.class_name}({_shown(self.parameters)})"

    def reduced(self: Any, _: Any) -> tuple[Any, ...]:
        return _remade(self, **self.parameters)

    members = {
        "__doc__": class_docstring(about),
        "__module__": "pifolab",
        "__new__": new,
        "__reduce_ex__": reduced,
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
        Its name in `pifolab show schedulers`.
    **parameters
        Its parameters, as `pifolab show NAME` lists them.

    Raises
    ------
    InputError
        No scheduler has that name.
    ParameterError
        A parameter that is unknown, has no effect with the others, or is out of range.

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
        self = wants_utf_8(super().__new__)(cls, about.name, dict(scheduler.parameters), rank, rank_parameters)  # type: ignore[attr-defined]
        assert isinstance(self, Ranked)
        self.rank = rank
        self.rank_parameters = MappingProxyType(rank_parameters)
        self.scheduler = scheduler
        return self

    def __reduce_ex__(self, _: Any) -> tuple[Any, ...]:
        return _remade(self, self.rank, self.scheduler, dict(self.rank_parameters))

    def __repr__(self) -> str:
        parameters = f", {_shown(self.rank_parameters)}" if self.rank_parameters else ""
        return f"ranked({self.rank!r}, {self.scheduler!r}{parameters})"


def child(
    scheduler: Scheduler,
    /,
    *,
    label: str | None = None,
    weight: float | str | Decimal | Fraction | None = None,
    priority: int | None = None,
    takes: int | str | Sequence[int | str] | None = None,
    shape_gbps: float | str | Decimal | Fraction | None = None,
    shape_burst_bytes: int | None = None,
) -> dict[str, Any]:
    """Describe a child of a `Tree`: a scheduler like `scheduler`, and its place among its siblings.

    Parameters
    ----------
    scheduler : Scheduler
        A leaf, which may be made by `ranked`, or a `Tree`, which becomes an inner node. It does not change.
    label : str, optional
        Its name in paths. Default: its position.
    weight : float, str, Decimal or Fraction, optional
        Its weight, if its parent is fair. Default 1.
    priority : int, optional
        The lowest is served first, if the parent is strict. Default 0.
    takes : int, str or sequence of them, optional
        For a leaf: values of the tree's `classify` field, ranges such as ``"10-19"``, classes, or ``"rest"``.
    shape_gbps : float, str, Decimal or Fraction, optional
        The rate of a token bucket that holds its packets back from its parent, in Gb/s. Default: it is not shaped.
    shape_burst_bytes : int, optional
        The burst of the token bucket in bytes. Default 1514.

    Returns
    -------
    dict
        A member of the list `child` of `Tree`.

    Examples
    --------
    Flow 0 goes first; flows 1 and 2 share the rest two to one:

    >>> import pifolab
    >>> from pifolab import child
    >>> tenants = pifolab.Tree(
    ...     discipline="stfq",
    ...     child=[child(pifolab.Fifo(), takes=1, weight=2), child(pifolab.Fifo(), takes=2)],
    ... )
    >>> tree = pifolab.Tree(child=[child(pifolab.Fifo(), takes=0), child(tenants, priority=1)])
    >>> for flow in (1, 1, 1, 1, 2, 2, 0):
    ...     _ = tree.enqueue(flow=flow)
    >>> [tree.dequeue().flow for _ in range(7)]
    [0, 1, 2, 1, 1, 2, 1]
    """
    keys = {
        "label": label,
        "weight": weight,
        "priority": priority,
        "takes": takes,
        "shape_gbps": shape_gbps,
        "shape_burst_bytes": shape_burst_bytes,
    }
    table = described(scheduler, "child")
    if not isinstance(table, dict):
        raise TypeError("a child is a scheduler of this package")
    return table | {key: value for key, value in keys.items() if value is not None}


def ranked(rank: str, scheduler: Scheduler, /, **parameters: Any) -> Ranked:
    """Join the rank function `rank` to a scheduler like `scheduler`.

    The joined scheduler starts empty, with the same parameters as `scheduler`, which stays as it is. It computes the
    rank of each packet that it is offered; a rank carried in the packet is overwritten.

    Parameters
    ----------
    rank : str
        The rank function, by its name in `pifolab show ranks`.
    scheduler : Scheduler
        The scheduler that orders the packets.
    **parameters
        The rank function's parameters, as `pifolab show NAME` lists them.

    Raises
    ------
    InputError
        No rank function has that name.
    ParameterError
        A parameter that is unknown, has no effect with the others, or is out of range.

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
