"""Derived parameters: exact arithmetic over the axes of a run, in Python's syntax cut down to what that takes."""

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

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "round": lambda value: Fraction(round(value)),
    "floor": lambda value: Fraction(math.floor(value)),
    "ceil": lambda value: Fraction(math.ceil(value)),
}

#: Those that take any number of numbers; the others take one.
_OF_SEVERAL = ("min", "max")

_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}

#: An exact power beyond this is a slip, and would take for ever.
_LARGEST_POWER = 64

#: An exact number whose parts have more bits than this is a slip: powers of powers would soon fill the memory.
_MOST_BITS = 4096


class Expression:
    """Numbers, axes, ``+ - * / // % **``, comparisons, ``and``, ``or``, ``not``, ``x if c else y`` and a few functions.

    Errors about its `text` begin with `place`.

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
        #: The axes that it depends on.
        self.names: set[str] = set()
        try:
            self._tree: ast.expr = ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            raise InputError(f"{self._place}: not an expression: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError):
            raise InputError(f"{self._place}: not an expression") from None
        self._check(self._tree)

    def check_names(self, known: set[str]) -> None:
        """Refuse names that are none of `known`."""
        for name in sorted(self.names - known):
            raise InputError(f"{self._place}: {unknown_axis(name, known)}")

    def value(self, axes: Mapping[str, Any]) -> Fraction:
        """Compute it."""
        numbers = {name: self._number(name, axes[name]) for name in self.names}
        try:
            return Fraction(self._of(self._tree, numbers))
        except ZeroDivisionError:
            raise InputError(f"{self._place}: division by 0 for {_shown(axes, self.names)}") from None
        except TypeError:
            raise InputError(f"{self._place}: expected arithmetic with numbers") from None

    def _check(self, node: ast.AST) -> None:
        match node:
            case ast.Constant(value=value):
                if isinstance(value, bool) or not isinstance(value, (int, float)):
                    raise InputError(f"{self._place}: {value!r} is not a number")
            case ast.Name(id=name):
                self.names.add(name)
            case ast.Call(func=called, args=arguments, keywords=keywords):
                name = called.id if isinstance(called, ast.Name) else ""
                if name not in _FUNCTIONS:
                    known = ", ".join(sorted(_FUNCTIONS))
                    raise InputError(
                        f"{self._place}: unknown function {ast.unparse(called)!r}; the functions are {known}"
                    )
                if keywords or (name not in _OF_SEVERAL and len(arguments) != 1):
                    raise InputError(f"{self._place}: {name} takes 1 argument")
                for one in arguments:
                    self._check(one)
            case ast.BinOp() | ast.UnaryOp() | ast.BoolOp() | ast.Compare() | ast.IfExp():
                for inner in ast.iter_child_nodes(node):
                    if isinstance(inner, ast.expr):
                        self._check(inner)
                    elif not isinstance(inner, (*_OPERATORS, ast.boolop)):
                        raise self._not_allowed(node)
            case _:
                raise self._not_allowed(node)

    def _not_allowed(self, node: ast.AST) -> InputError:
        return InputError(f"{self._place}: {ast.unparse(node)!r} is not allowed in an expression")

    def _of(self, node: ast.AST, names: Mapping[str, Fraction]) -> Any:
        """Return the value of a part; what is not exact stands for nothing else than true or false."""
        match node:
            case ast.Constant(value=int() | float() as value):
                return self._exact(str(value), value)
            case ast.Name(id=name):
                return names[name]
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self._of(left, names), self._of(right, names))
            case ast.UnaryOp(op=op, operand=operand):
                return _OPERATORS[type(op)](self._of(operand, names))
            case ast.BoolOp(op=op, values=values):
                parts = (bool(self._of(part, names)) for part in values)
                return all(parts) if isinstance(op, ast.And) else any(parts)
            case ast.Compare(left=left, ops=ops, comparators=others):
                found = [self._of(part, names) for part in (left, *others)]
                return all(_OPERATORS[type(op)](a, b) for op, a, b in zip(ops, found, found[1:], strict=False))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._of(body if self._of(test, names) else orelse, names)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return _FUNCTIONS[name](*(self._of(one, names) for one in arguments))
        raise AssertionError("the expression was checked")

    def _binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Pow) and (abs(right) > _LARGEST_POWER or Fraction(right).denominator != 1):
            raise InputError(f"{self._place}: expected an integer power of at most {_LARGEST_POWER}")
        value = _OPERATORS[type(op)](left, right)
        if isinstance(value, Fraction) and max(map(int.bit_length, value.as_integer_ratio())) > _MOST_BITS:
            raise InputError(f"{self._place}: an intermediate number is too large or too small: over {_MOST_BITS} bits")
        return value

    def _number(self, name: str, value: Any) -> Fraction:
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
            raise InputError(f"{self._place}: {name} = {value!r} is not a number")
        return self._exact(name, value)

    def _exact(self, name: str, value: int | float | Decimal | Fraction) -> Fraction:
        if isinstance(value, (float, Decimal)) and not math.isfinite(value):
            raise InputError(f"{self._place}: {name} is not a finite number")
        return Fraction(str(value))


def unknown_axis(name: str, known: Iterable[str]) -> str:
    """Say that there is no axis `name`, and which of `known` may have been meant."""
    names = sorted(known)
    return str(_pifolab.unknown_name("axis", name, names)) if names else f'unknown axis "{name}"; there are no axes'


def _shown(axes: Mapping[str, Any], names: set[str]) -> str:
    return ", ".join(f"{name} = {axes[name]}" for name in sorted(names))
