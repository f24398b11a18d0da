"""The one language of expressions: Python's syntax cut down to what arithmetic over tables and axes takes.

It has numbers, texts, ``+ - * / // % **``, comparisons, ``and``, ``or``, ``not``, ``x if c else y``, lists, calls of
the functions that its user offers, and generators such as ``max(f(load) for load in axis("load") if load > 0.4)``.
Nothing else parses: no attributes, no indexing. What the functions and the free names mean, and whether numbers are
exact, is the user's: the registry of claims measures tables with it (`pifolab.reproduce.expression`), sweeps derive
parameters (`pifolab.sweep.derive`).
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from pifolab.errors import InputError

__all__ = ["Formula"]

_BINARY: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: Mapping[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARE: Mapping[type[ast.AST], Callable[[Any, Any], bool]] = {
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


class Formula:
    """An expression, checked when it is made.

    Parameters
    ----------
    text : str
        The expression.
    place : str
        What errors begin with.
    functions : mapping of str to int or None
        The functions, and how many arguments each takes; None for any number.
    literals : tuple of type
        What may be written out besides numbers: ``(str, bool)``, or nothing.

    Raises
    ------
    InputError
        It does not parse, or names an unknown function.

    Examples
    --------
    >>> formula = Formula("twice(x) + 1 if x > 2 else 0", "here", {"twice": 1})
    >>> formula.names
    {'x'}
    >>> formula.value({"x": 3}, lambda name, arguments, keywords: 2 * arguments[0])
    7
    """

    def __init__(
        self, text: str, place: str, functions: Mapping[str, int | None], literals: tuple[type, ...] = ()
    ) -> None:
        self.place = place
        #: Names that no generator binds: they must be given to evaluate it.
        self.names: set[str] = set()
        self._functions, self._literals = functions, literals
        try:
            self.tree: ast.expr = ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            raise InputError(f"{place}: not an expression: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError):
            raise InputError(f"{place}: not an expression") from None
        self._check(self.tree, frozenset())

    def value(
        self,
        names: Mapping[str, Any],
        call: Callable[[str, list[Any], dict[str, Any]], Any],
        number: Callable[[Any], Any] = lambda literal: literal,
    ) -> Any:
        """Compute it.

        Parameters
        ----------
        names : mapping
            The values of the free names.
        call : callable
            From a function's name, its arguments and its keyword arguments to its value.
        number : callable
            From a number as it is written to one that is computed with.

        Raises
        ------
        ZeroDivisionError
            As Python's arithmetic does.
        InputError
            A power is too large to be computed exactly.
        """
        return _Evaluation(self.place, call, number).of(self.tree, names)

    def calls(self) -> Iterator[tuple[str, str | None]]:
        """Yield each call's function and its first argument, None unless that is a text."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                first = node.args[0]
                text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
                yield node.func.id, text

    def _check(self, node: ast.AST, bound: frozenset[str]) -> None:
        match node:
            case ast.Constant(value=value):
                if not isinstance(value, self._literals) and (
                    isinstance(value, bool) or not isinstance(value, (int, float))
                ):
                    raise InputError(f"{self.place}: {value!r} is not a number")
            case ast.Name(id=name):
                if name not in bound:
                    self.names.add(name)
            case ast.BinOp(op=op) if type(op) in _BINARY:
                self._all(bound, node.left, node.right)
            case ast.UnaryOp(op=op) if type(op) in _UNARY:
                self._all(bound, node.operand)
            case ast.BoolOp():
                self._all(bound, *node.values)
            case ast.Compare(ops=ops) if all(type(op) in _COMPARE for op in ops):
                self._all(bound, node.left, *node.comparators)
            case ast.IfExp():
                self._all(bound, node.test, node.body, node.orelse)
            case ast.List() | ast.Tuple():
                self._all(bound, *node.elts)
            case ast.GeneratorExp():
                self._check_generator(node, bound)
            case ast.Call():
                self._check_call(node, bound)
            case _:
                raise InputError(f"{self.place}: {ast.unparse(node)!r} is not allowed in an expression")

    def _all(self, bound: frozenset[str], *nodes: ast.AST) -> None:
        for node in nodes:
            self._check(node, bound)

    def _check_generator(self, node: ast.GeneratorExp, bound: frozenset[str]) -> None:
        for loop in node.generators:
            self._check(loop.iter, bound)
            if not isinstance(loop.target, ast.Name):
                raise InputError(f"{self.place}: expected one name between for and in")
            bound |= {loop.target.id}
            self._all(bound, *loop.ifs)
        self._check(node.elt, bound)

    def _check_call(self, node: ast.Call, bound: frozenset[str]) -> None:
        if not isinstance(node.func, ast.Name) or node.func.id not in self._functions:
            called, known = ast.unparse(node.func), ", ".join(sorted(self._functions))
            raise InputError(f"{self.place}: unknown function {called!r}; the functions are {known}")
        takes = self._functions[node.func.id]
        if takes is not None and (len(node.args) != takes or node.keywords):
            raise InputError(f"{self.place}: {node.func.id} takes {takes} argument{'s' if takes > 1 else ''}")
        self._all(bound, *node.args, *(keyword.value for keyword in node.keywords))


class _Evaluation:
    """One computation of a formula that was checked."""

    def __init__(
        self,
        place: str,
        call: Callable[[str, list[Any], dict[str, Any]], Any],
        number: Callable[[Any], Any],
    ) -> None:
        self._place, self._call, self._number = place, call, number

    def of(self, node: ast.AST, names: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=value):
                return value if isinstance(value, (str, bool)) else self._number(value)
            case ast.Name(id=name):
                return names[name]
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self.of(left, names), self.of(right, names))
            case ast.UnaryOp(op=op, operand=operand):
                return _UNARY[type(op)](self.of(operand, names))
            case ast.BoolOp(op=op, values=values):
                parts = (bool(self.of(part, names)) for part in values)
                return all(parts) if isinstance(op, ast.And) else any(parts)
            case ast.Compare(left=left, ops=ops, comparators=others):
                found = [self.of(part, names) for part in (left, *others)]
                return all(_COMPARE[type(op)](a, b) for op, a, b in zip(ops, found, found[1:], strict=False))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.of(body if self.of(test, names) else orelse, names)
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return [self.of(part, names) for part in elements]
            case ast.GeneratorExp(elt=element, generators=loops):
                return [self.of(element, inner) for inner in self._loops(loops, names)]
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                given = {one.arg: self.of(one.value, names) for one in keywords if one.arg is not None}
                return self._call(name, [self.of(one, names) for one in arguments], given)
        raise AssertionError("the expression was checked")

    def _binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        exact = isinstance(right, Fraction)
        if isinstance(op, ast.Pow) and exact and (abs(right) > _LARGEST_POWER or right.denominator != 1):
            raise InputError(f"{self._place}: expected an integer power of at most {_LARGEST_POWER}")
        value = _BINARY[type(op)](left, right)
        if isinstance(value, Fraction) and _bits(value) > _MOST_BITS:
            raise InputError(f"{self._place}: an intermediate number is too large or too small: over {_MOST_BITS} bits")
        return value

    def _loops(self, loops: list[ast.comprehension], names: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        if not loops:
            yield names
            return
        loop, *rest = loops
        assert isinstance(loop.target, ast.Name)
        for value in self.of(loop.iter, names):
            inner = {**names, loop.target.id: value}
            if all(self.of(condition, inner) for condition in loop.ifs):
                yield from self._loops(rest, inner)


def _bits(value: Fraction) -> int:
    """Return how many bits the larger part of a fraction has."""
    return max(value.numerator.bit_length(), value.denominator.bit_length())
