"""Derived parameters: exact arithmetic over the axes of a run."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pifolab import _pifolab
from pifolab.errors import InputError

__all__ = ["Expression", "unknown_axis"]

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "round": lambda value: Fraction(round(value)),
    "floor": lambda value: Fraction(math.floor(value)),
    "ceil": lambda value: Fraction(math.ceil(value)),
}

#: A power beyond this is a slip, and would take for ever.
_LARGEST_POWER = 64


class Expression:
    """Numbers, axes, ``+ - * / // % **``, brackets, and min, max, abs, round, floor, ceil; computed with fractions.

    Parameters
    ----------
    text : str
        The expression.
    place : str
        What errors begin with.

    Raises
    ------
    InputError
        It is no such expression.

    Examples
    --------
    >>> Expression("11 * load / 10", "here").value({"load": Decimal("0.9")})
    Fraction(99, 100)
    >>> Expression("80 // queues", "here").names
    {'queues'}
    """

    def __init__(self, text: str, place: str) -> None:
        self.text = text
        self._place = f"{place} = {text!r}"
        self.names: set[str] = set()
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise InputError(f"{self._place}: no expression such as 80 / queues") from None
        self._check(self._tree)

    def check_names(self, known: set[str]) -> None:
        """Refuse names that are none of `known`.

        Raises
        ------
        InputError
            There is one; the text suggests what was meant.
        """
        for name in sorted(self.names - known):
            raise InputError(f"{self._place}: {unknown_axis(name, known)}")

    def value(self, axes: Mapping[str, Any]) -> Fraction:
        """Compute it.

        Raises
        ------
        InputError
            An axis has no number, or the arithmetic fails (a division by 0).
        """
        try:
            return Fraction(self._compute(self._tree, axes))
        except ZeroDivisionError:
            raise InputError(f"{self._place}: division by 0 for {_shown(axes, self.names)}") from None

    def _check(self, node: ast.expr) -> None:
        match node:
            case ast.Constant(value=bool()):
                raise InputError(f"{self._place}: {node.value!r} is no number")
            case ast.Constant(value=int() | float()):
                pass
            case ast.Name(id=name):
                self.names.add(name)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner):
                self._check(inner)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                self._check(left)
                self._check(right)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS and arguments:
                if name not in ("min", "max") and len(arguments) != 1:
                    raise InputError(f"{self._place}: {name} takes one number")
                for argument in arguments:
                    self._check(argument)
            case _:
                part = ast.unparse(node)
                known = f"numbers, axes, + - * / // % ** and {', '.join(_FUNCTIONS)}"
                raise InputError(f"{self._place}: {part!r} is not understood; expected {known}")

    def _compute(self, node: ast.expr, axes: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=number):
                return Fraction(str(number))
            case ast.Name(id=name):
                value = axes[name]
                if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
                    raise InputError(f"{self._place}: {name} = {value!r} is no number")
                return Fraction(str(value))
            case ast.UnaryOp(op=op, operand=inner):
                number = self._compute(inner, axes)
                return -number if isinstance(op, ast.USub) else number
            case ast.BinOp(left=left, op=op, right=right):
                a, b = self._compute(left, axes), self._compute(right, axes)
                if isinstance(op, ast.Pow) and (abs(b) > _LARGEST_POWER or Fraction(b).denominator != 1):
                    raise InputError(f"{self._place}: a power must be an integer of at most {_LARGEST_POWER}")
                return _OPERATORS[type(op)](a, b)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return _FUNCTIONS[name](*(self._compute(argument, axes) for argument in arguments))
        raise AssertionError("the expression was checked")


def unknown_axis(name: str, known: Iterable[str]) -> str:
    """Say that there is no axis `name`, and which of `known` may have been meant."""
    names = sorted(known)
    return str(_pifolab.unknown_name("axis", name, names)) if names else f'unknown axis "{name}"; there is none'


def _shown(axes: Mapping[str, Any], names: set[str]) -> str:
    return ", ".join(f"{name} = {axes[name]}" for name in sorted(names))
