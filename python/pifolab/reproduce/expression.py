"""The small language in which the registry says what is measured: arithmetic over cells of the result tables.

An expression is Python syntax cut down to numbers, arithmetic, comparisons, `x if c else y`, `and`/`or`/`not`, calls
of the functions below, and generators such as ``max(f(load) for load in axis("load") if load > 0.4)``. Nothing else
parses: no attributes, no indexing, no names but the functions and the variables of generators. It is checked when the
registry is read, and the schedulers and axes that it names before anything runs.
"""

from __future__ import annotations

import ast
import itertools
import math
import operator
import statistics
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pifolab.errors import InputError
from pifolab.reproduce import measures
from pifolab.reproduce.measures import MissingValueError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Expression", "MissingValueError", "Results"]


class Results:
    """The tables of one experiment under one seed, as expressions see them.

    Parameters
    ----------
    frames : mapping of str to polars.DataFrame
        The tables. An axis of the experiment is a column of each.
    """

    def __init__(self, frames: Mapping[str, pl.DataFrame]) -> None:
        self.frames = dict(frames)

    def at(self, axis: str, value: float) -> Results:
        """Return the same tables at one point of an axis alone."""
        import polars as pl

        return Results(
            {
                name: frame.filter(pl.col(axis) == value) if axis in frame.columns else frame
                for name, frame in self.frames.items()
            }
        )

    def rows(self, table: str, where: Mapping[str, Any]) -> pl.DataFrame:
        """Return the rows of `table` in which the columns of `where` have its values."""
        import polars as pl

        if table not in self.frames:
            raise MissingValueError(f"there is no table {table!r}; there are {', '.join(sorted(self.frames))}")
        frame = self.frames[table]
        for column, value in where.items():
            if column not in frame.columns:
                raise MissingValueError(f"table {table!r} has no column {column!r}; it has {', '.join(frame.columns)}")
            frame = frame.filter(pl.col(column) == value)
        return frame

    def column(self, table: str, column: str, **where: Any) -> list[float]:
        """Return the values of a column, without those that are missing."""
        rows = self.rows(table, where)
        if column not in rows.columns:
            raise MissingValueError(f"table {table!r} has no column {column!r}; it has {', '.join(rows.columns)}")
        return [float(value) for value in rows[column].drop_nulls().to_list()]

    def cell(self, table: str, column: str, **where: Any) -> float:
        """Return the one value of a column."""
        values = self.column(table, column, **where)
        if len(values) != 1:
            place = ", ".join(f"{key} = {value}" for key, value in where.items())
            raise MissingValueError(
                f"{column} in table {table!r} where {place or 'nothing is asked'}: {len(values)} values"
            )
        return values[0]

    def of(self, scheduler: str, column: str, **where: Any) -> float:
        """Return a number of the table `schedulers`."""
        return self.cell("schedulers", column, scheduler=scheduler, **where)

    def fct(self, scheduler: str, size: str, column: str = "mean_ns", **where: Any) -> float:
        """Return a number of the table `fct`: `size` is all, small, medium or large."""
        return self.cell("fct", column, scheduler=scheduler, size=size, **where)

    def axis(self, name: str) -> list[float]:
        """Return the points of an axis in order."""
        values: set[float] = set()
        for frame in self.frames.values():
            if name in frame.columns:
                values.update(frame[name].drop_nulls().to_list())
        if not values:
            raise MissingValueError(f"there is no axis {name!r}")
        return sorted(values)


_BINARY: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_COMPARE: Mapping[type[ast.AST], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def _mean(values: Any) -> float:
    return statistics.fmean(_some(values))


def _some(values: Any) -> list[Any]:
    found = list(values)
    if not found:
        raise MissingValueError("nothing to take a mean, a smallest or a largest of")
    return found


#: Functions that know no table.
_PLAIN: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "log2": math.log2,
    "sqrt": math.sqrt,
    "min": lambda *values: min(_some(values[0] if len(values) == 1 else values)),
    "max": lambda *values: max(_some(values[0] if len(values) == 1 else values)),
    "mean": _mean,
    "sum": lambda values: math.fsum(values),
    "count": lambda values: float(len(list(values))),
    "share": lambda values: _mean(float(bool(value)) for value in values),
    "all": lambda values: all(_some(values)),
    "any": lambda values: any(_some(values)),
    "rising": lambda values: all(a < b for a, b in _pairs(values)),
    "falling": lambda values: all(a > b for a, b in _pairs(values)),
    "deviation": lambda values: statistics.pstdev(_some(values)),
}

#: Functions of the tables that are methods of `Results`.
_TABLES = ("of", "fct", "cell", "column", "axis")


def _pairs(values: Any) -> list[tuple[Any, Any]]:
    found = _some(values)
    return list(itertools.pairwise(found))


class Expression:
    """An expression, checked.

    Parameters
    ----------
    text : str
        What the registry says.

    Raises
    ------
    InputError
        The text is no expression of this language; the message says what is wrong.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"scheduler": ["fifo", "packs"], "inversions": [120, 10]})
    >>> Expression("of('fifo', 'inversions') / of('packs', 'inversions')").value(Results({"schedulers": table}))
    12.0
    """

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())
        try:
            self.tree: ast.expr = ast.parse(self.text, mode="eval").body
        except SyntaxError as error:
            raise InputError(f"{self.text!r}: {error.msg}") from None
        self._check(self.tree, frozenset())

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def about(self, scheduler: str) -> Expression:
        """Return the same with this scheduler for ``{scheduler}``."""
        return Expression(self.text.replace("{scheduler}", scheduler))

    @property
    def over_axis(self) -> bool:
        """Whether it is a mean over the points of an axis, so that each point alone has a value too."""
        match self.tree:
            case ast.Call(func=ast.Name(id="mean"), args=[ast.GeneratorExp(generators=[loop])]):
                match loop.iter:
                    case ast.Call(func=ast.Name(id="axis")):
                        return True
        return False

    def value(self, results: Results) -> float:
        """Return what the expression comes to; a comparison comes to 1 or 0.

        Raises
        ------
        MissingValueError
            Something that it needs was not measured.
        """
        try:
            return float(self._value(self.tree, results, {}))
        except ZeroDivisionError:
            raise MissingValueError(f"{self.text}: division by zero") from None

    def calls(self) -> Iterator[tuple[str, str | None]]:
        """Yield each call's function and its first argument, None unless that is a text."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                first = node.args[0]
                text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
                yield node.func.id, text

    def _check(self, node: ast.AST, names: frozenset[str]) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str)):
            return
        if isinstance(node, ast.Name):
            if node.id not in names:
                raise InputError(f"{self.text!r}: unknown name {node.id!r}")
        elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            self._check(node.left, names)
            self._check(node.right, names)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
            self._check(node.operand, names)
        elif isinstance(node, ast.BoolOp):
            for part in node.values:
                self._check(part, names)
        elif isinstance(node, ast.Compare) and all(type(op) in _COMPARE for op in node.ops):
            for part in (node.left, *node.comparators):
                self._check(part, names)
        elif isinstance(node, ast.IfExp):
            for part in (node.test, node.body, node.orelse):
                self._check(part, names)
        elif isinstance(node, (ast.List, ast.Tuple)):
            for part in node.elts:
                self._check(part, names)
        elif isinstance(node, ast.GeneratorExp):
            self._check_generator(node, names)
        elif isinstance(node, ast.Call):
            self._check_call(node, names)
        else:
            raise InputError(f"{self.text!r}: {ast.unparse(node)!r} is not part of the language of metrics")

    def _check_generator(self, node: ast.GeneratorExp, names: frozenset[str]) -> None:
        for loop in node.generators:
            self._check(loop.iter, names)
            if not isinstance(loop.target, ast.Name):
                raise InputError(f"{self.text!r}: expected one name between for and in")
            names |= {loop.target.id}
            for condition in loop.ifs:
                self._check(condition, names)
        self._check(node.elt, names)

    def _check_call(self, node: ast.Call, names: frozenset[str]) -> None:
        known = [*_PLAIN, *_TABLES, *measures.MEASURES]
        if not isinstance(node.func, ast.Name) or node.func.id not in known:
            called = ast.unparse(node.func)
            raise InputError(f"{self.text!r}: unknown function {called!r}; there are {', '.join(sorted(known))}")
        for part in (*node.args, *(keyword.value for keyword in node.keywords)):
            self._check(part, names)

    def _value(self, node: ast.AST, results: Results, names: Mapping[str, Any]) -> Any:
        def of(part: ast.AST) -> Any:
            return self._value(part, results, names)

        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return names[node.id]
        if isinstance(node, ast.BinOp):
            return _BINARY[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.UnaryOp):
            return -of(node.operand) if isinstance(node.op, ast.USub) else not of(node.operand)
        if isinstance(node, ast.BoolOp):
            parts = (bool(of(part)) for part in node.values)
            return all(parts) if isinstance(node.op, ast.And) else any(parts)
        if isinstance(node, ast.Compare):
            values = [of(part) for part in (node.left, *node.comparators)]
            return all(_COMPARE[type(op)](a, b) for op, a, b in zip(node.ops, values, values[1:], strict=False))
        if isinstance(node, ast.IfExp):
            return of(node.body) if of(node.test) else of(node.orelse)
        if isinstance(node, (ast.List, ast.Tuple)):
            return [of(part) for part in node.elts]
        if isinstance(node, ast.GeneratorExp):
            return [self._value(node.elt, results, inner) for inner in self._loops(node.generators, results, names)]
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        function = node.func.id
        arguments = [of(part) for part in node.args]
        keywords = {keyword.arg: of(keyword.value) for keyword in node.keywords if keyword.arg is not None}
        if function in _PLAIN:
            return _PLAIN[function](*arguments, **keywords)
        if function in measures.MEASURES:
            return measures.MEASURES[function](results, *arguments, **keywords)
        return getattr(results, function)(*arguments, **keywords)

    def _loops(
        self, loops: list[ast.comprehension], results: Results, names: Mapping[str, Any]
    ) -> Iterator[Mapping[str, Any]]:
        if not loops:
            yield names
            return
        loop, *rest = loops
        assert isinstance(loop.target, ast.Name)
        for value in self._value(loop.iter, results, names):
            inner = {**names, loop.target.id: value}
            if all(self._value(condition, results, inner) for condition in loop.ifs):
                yield from self._loops(rest, results, inner)
