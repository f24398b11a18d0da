"""Finds out from a claim's metric where on a figure the paper's number stands.

Most numbers of the papers are ratios: "A is 20 to 29 % above B". On a figure with the curves of A and B that is a range
for A, taken from the B that was measured. Nothing is marked for a metric of another form, such as the largest ratio
over all loads or the size of a difference of either sign: it has no place on an axis.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pifolab.reproduce.registry import Claim, Part

__all__ = ["Mark", "marks_of"]

#: The functions of metrics that name a scheduler, and what their arguments after it are called here.
_CALLS: Mapping[str, tuple[str, ...]] = {
    "of": ("column",),
    "fct": ("size", "column"),
    "size_fct_ns": ("x",),
    "bandwidth_share": ("flow", "from_ns", "to_ns"),
}


@dataclass(frozen=True)
class Mark:
    """A range that a paper states for one scheduler.

    Attributes
    ----------
    function : str
        What is measured: ``of``, ``fct``, ``size_fct_ns`` or ``bandwidth_share``.
    about : dict
        Which column, size, flow or interval of it.
    xs : tuple of float, optional
        The points of the figure's axis; None: all of them.
    over : str, optional
        The scheduler that `low` and `high` are multiples of; None: they are values as the tables have them.
    """

    function: str
    scheduler: str
    about: Mapping[str, str | float]
    xs: tuple[float, ...] | None
    low: float
    high: float
    over: str | None


@dataclass(frozen=True)
class _Call:
    function: str
    scheduler: str
    about: dict[str, str | float]
    #: The variable or the number that says where on the axis.
    place: str | float | None


def marks_of(claims: Iterable[Claim], experiment: str) -> list[Mark]:
    """Return what `claims` state about the figure of one experiment.

    Examples
    --------
    >>> from pifolab.reproduce import load_registry
    >>> (mark, *_) = marks_of([load_registry().by_id["sp1"]], "sp-fig5")
    >>> mark.scheduler, mark.over, round(mark.low, 2), round(mark.high, 2)
    ('sp-pifo', 'sp-pifo-greedy', 1.2, 1.29)
    """
    found = [_mark(part) for claim in claims for part in claim.parts if part.experiment == experiment]
    return [mark for mark in found if mark is not None]


def _mark(part: Part) -> Mark | None:
    # What is only asked to be at least or at most something is our reading of a word, not the paper's number.
    if not (math.isfinite(part.low) and math.isfinite(part.high)) or part.unit == "yes/no":
        return None
    tree, places = _without_mean(part.metric.tree)
    ratio = _ratio(tree)
    if ratio is not None:
        top, bottom, scale, shift = ratio
        if (top.function, top.about, top.place) != (bottom.function, bottom.about, bottom.place):
            return None
        ends = sorted((end - shift) / scale for end in (part.low, part.high))
        over: str | None = bottom.scheduler
    else:
        plain = _scaled(tree)
        if plain is None:
            return None
        top, scale = plain
        ends = [part.low / scale, part.high / scale]
        over = None
    xs: tuple[float, ...] | None = None
    if isinstance(top.place, float):
        xs = (top.place,)
    elif isinstance(top.place, str):
        if top.place not in places:
            return None
        xs = places[top.place]
    return Mark(top.function, top.scheduler, top.about, xs, ends[0], ends[1], over)


def _without_mean(tree: ast.expr) -> tuple[ast.expr, dict[str, tuple[float, ...] | None]]:
    """Take off ``mean(... for v in ...)``; return what is inside and the points that v stands for, None for all."""
    match tree:
        case ast.Call(func=ast.Name(id="mean"), args=[ast.GeneratorExp(elt=inner, generators=[loop])]):
            match loop:
                case ast.comprehension(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="axis")), ifs=[]):
                    return inner, {name: None}
                case ast.comprehension(target=ast.Name(id=name), iter=ast.List(elts=points), ifs=[]) if all(
                    isinstance(point, ast.Constant) for point in points
                ):
                    return inner, {name: tuple(float(ast.literal_eval(point)) for point in points)}
    return tree, {}


def _ratio(tree: ast.expr) -> tuple[_Call, _Call, float, float] | None:
    """Read A / B, 100 * (A / B - 1) and 100 * (1 - A / B): A, B, and what A / B was multiplied by and moved by."""
    scale, shift = 1.0, 0.0
    match tree:
        case ast.BinOp(left=ast.Constant(value=100), op=ast.Mult(), right=inner):
            match inner:
                case ast.BinOp(left=quotient, op=ast.Sub(), right=ast.Constant(value=1)):
                    tree, scale, shift = quotient, 100.0, -100.0
                case ast.BinOp(left=ast.Constant(value=1), op=ast.Sub(), right=quotient):
                    tree, scale, shift = quotient, -100.0, 100.0
                case _:
                    return None
    match tree:
        case ast.BinOp(left=top, op=ast.Div(), right=bottom):
            first, second = _call(top), _call(bottom)
            if first is not None and second is not None:
                return first, second, scale, shift
    return None


def _scaled(tree: ast.expr) -> tuple[_Call, float] | None:
    """Read a call that may be divided by a number."""
    match tree:
        case ast.BinOp(left=inner, op=ast.Div(), right=ast.Constant(value=int() | float() as number)):
            found = _call(inner)
            return None if found is None else (found, 1 / number)
    found = _call(tree)
    return None if found is None else (found, 1.0)


def _call(tree: ast.expr) -> _Call | None:
    match tree:
        case ast.Call(func=ast.Name(id=function), args=[ast.Constant(value=str() as scheduler), *rest]):
            names = _CALLS.get(function)
        case _:
            return None
    if names is None or len(rest) > len(names) or len(tree.keywords) > 1:
        return None
    about: dict[str, str | float] = {"column": "mean_ns"} if function == "fct" else {}
    place: str | float | None = None
    given = [*zip(names, rest, strict=False), *(("x", keyword.value) for keyword in tree.keywords)]
    for name, value in given:
        match value:
            case ast.Name(id=variable) if name == "x":
                place = variable
            case ast.Constant(value=int() | float() as number) if name == "x":
                place = float(number)
            case ast.Constant(value=str() | int() | float() as constant):
                about[name] = constant
            case _:
                return None
    return _Call(function, scheduler, about, place)
