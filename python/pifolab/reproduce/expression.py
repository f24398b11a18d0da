"""What the registry says is measured: arithmetic over cells of the result tables, in the language of `pifolab.formula`.

An expression is checked when the registry is read, and the schedulers and axes that it names before anything runs.
"""

from __future__ import annotations

import ast
import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pifolab.errors import InputError
from pifolab.formula import Formula
from pifolab.lazy import pl
from pifolab.reproduce import measures
from pifolab.reproduce.measures import MissingValueError

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
        return Results(
            {
                name: frame.filter(pl.col(axis) == value) if axis in frame.columns else frame
                for name, frame in self.frames.items()
            }
        )

    def rows(self, table: str, where: Mapping[str, Any]) -> pl.DataFrame:
        """Return the rows of `table` in which the columns of `where` have its values."""
        if table not in self.frames:
            raise MissingValueError(f"unknown table {table!r}; the tables are {', '.join(sorted(self.frames))}")
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
            raise MissingValueError(f"unknown axis {name!r}")
        return sorted(values)


def _mean(values: Any) -> float:
    return statistics.fmean(_some(values))


def _some(values: Any) -> list[Any]:
    found = list(values)
    if not found:
        raise MissingValueError("expected at least one value for mean, min or max, got none")
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
        The text is not an expression of this language; the message says what is wrong.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"scheduler": ["fifo", "packs"], "inversions": [120, 10]})
    >>> Expression("of('fifo', 'inversions') / of('packs', 'inversions')").value(Results({"schedulers": table}))
    12.0
    """

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())
        functions = dict.fromkeys((*_PLAIN, *_TABLES, *measures.MEASURES))
        self._formula = Formula(self.text, repr(self.text), functions, literals=(str, bool))
        for name in sorted(self._formula.names):
            raise InputError(f"{self.text!r}: unknown name {name!r}")

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def about(self, scheduler: str) -> Expression:
        """Return the same with this scheduler for ``{scheduler}``."""
        return Expression(self.text.replace("{scheduler}", scheduler))

    @property
    def tree(self) -> ast.expr:
        """Its syntax."""
        return self._formula.tree

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

        def call(function: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
            if function in _PLAIN:
                return _PLAIN[function](*arguments, **keywords)
            if function in measures.MEASURES:
                return measures.MEASURES[function](results, *arguments, **keywords)
            return getattr(results, function)(*arguments, **keywords)

        try:
            return float(self._formula.value({}, call))
        except ZeroDivisionError:
            raise MissingValueError(f"{self.text}: division by zero") from None

    def calls(self) -> Iterator[tuple[str, str | None]]:
        """Yield each call's function and its first argument, None unless that is a text."""
        return self._formula.calls()
