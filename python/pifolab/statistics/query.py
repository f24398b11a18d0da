"""A number out of all tables of a run: a query in SQL, and how its rows become one number."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pifolab.errors import InputError
from pifolab.lazy import pl
from pifolab.section import Section
from pifolab.statistics.metrics import first_line

Columns = Sequence[Sequence[float]]


class MissingValueError(InputError):
    """A value that the tables do not have: nothing was measured there."""


class Tables:
    """Tables by name that belong together, such as all of one experiment under one seed; axes are columns of each."""

    def __init__(self, frames: Mapping[str, pl.DataFrame]) -> None:
        self.frames = dict(frames)

    def at(self, axis: str, value: float) -> Tables:
        """Return the same tables at one point of an axis alone."""
        return Tables(
            {
                name: frame.filter(pl.col(axis) == value) if axis in frame.columns else frame
                for name, frame in self.frames.items()
            }
        )

    def axis(self, name: str) -> list[float]:
        """Return the points of an axis in order; none if no table has it."""
        frames = [frame for frame in self.frames.values() if name in frame.columns]
        return sorted({value for frame in frames for value in frame[name].drop_nulls().to_list()})


def _follow(values: Sequence[float], before: Callable[[float, float], bool]) -> float:
    return float(all(before(a, b) for a, b in itertools.pairwise(values)))


#: How the rows of a query become one number. Means are exact: polars would round every step of a sum.
TAKES: Mapping[str, Callable[[Columns], float]] = {
    "mean": lambda columns: statistics.fmean(columns[0]),
    "max": lambda columns: max(columns[0]),
    "min": lambda columns: min(columns[0]),
    "sum": lambda columns: math.fsum(columns[0]),
    # Of rows in which something holds.
    "share": lambda columns: statistics.fmean(columns[0]),
    "percent": lambda columns: 100 * statistics.fmean(columns[0]),
    # Of the means of two columns.
    "ratio": lambda columns: statistics.fmean(columns[0]) / statistics.fmean(columns[1]),
    "rising": lambda columns: _follow(columns[0], lambda a, b: a < b),
    "falling": lambda columns: _follow(columns[0], lambda a, b: a > b),
}


@dataclass(frozen=True)
class Query:
    """A query in polars SQL over the tables of one seed.

    Attributes
    ----------
    sql : str
        The query. The value true counts as 1.
    take : str
        How its rows become one number: one of `TAKES`. ``ratio`` reads two columns, the others one.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"scheduler": ["fifo", "packs"], "inversions": [120, 10]})
    >>> Query("SELECT inversions FROM schedulers WHERE scheduler = 'fifo'").value(Tables({"schedulers": table}))
    120.0
    >>> Query("SELECT inversions FROM schedulers", "max").value(Tables({"schedulers": table}))
    120.0
    """

    sql: str
    take: str = "mean"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sql", " ".join(self.sql.split()))

    @classmethod
    def read(cls, section: Section, key: str = "metric") -> Query:
        """Make a query from the values of `key` and `take` in a file."""
        take = section.text("take", "mean")
        if take not in TAKES:
            raise section.fault("take", f"expected one of {', '.join(TAKES)}")
        query = cls(section.text(key), take)
        try:
            query.check()
        except InputError as error:
            raise InputError(f"{section.at(key)}: {error}") from None
        return query

    @property
    def text(self) -> str:
        """The whole of it in one line."""
        return self.sql if self.take == "mean" else f"{self.take} of {self.sql}"

    def about(self, scheduler: str) -> Query:
        """Return the same with this scheduler for ``{scheduler}``."""
        return Query(self.sql.replace("{scheduler}", scheduler), self.take)

    @property
    def schedulers(self) -> list[str]:
        """The schedulers that it names."""
        lists = re.findall(r"scheduler (?:=|IN) (\('[^)]*\)|'[^']*')", self.sql)
        return list(dict.fromkeys(name for found in lists for name in re.findall("'([^']*)'", found)))

    @property
    def words(self) -> set[str]:
        """Every word in it: among them the tables that it reads."""
        return set(re.findall(r"\w+", self.sql))

    def is_mean_over(self, axis: str) -> bool:
        """Return whether it is a mean over the points of an axis, so that each point alone has a value too."""
        return self.take == "mean" and self.sql.endswith(f" GROUP BY {axis}")

    def check(self) -> None:
        """Refuse, with an `InputError`, a text that is not SQL, or reads a file."""
        if found := re.search(r"\bread_\w+(?=\s*\()", self.sql, re.IGNORECASE):
            raise InputError(f"{found[0]}: a query reads the tables of runs, and no files")
        try:
            pl.SQLContext().execute(self.sql)
        except pl.exceptions.SQLInterfaceError as error:
            # Without tables every query ends here at the latest.
            if not re.match("relation '.*' was not found", str(error)):
                raise InputError(f"not an SQL query: {first_line(error)}") from None
        except pl.exceptions.PolarsError as error:
            raise InputError(f"not an SQL query: {first_line(error)}") from None

    def rows(self, tables: Tables) -> pl.DataFrame:
        """Return the result of the query as a table; raises `MissingValueError` if there is no such table or column."""
        try:
            return pl.SQLContext(frames=tables.frames).execute(self.sql, eager=True)
        except pl.exceptions.ColumnNotFoundError as error:
            asked = {name for name in tables.frames if re.search(rf"\b{re.escape(name)}\b", self.sql)}
            named = {name: frame.columns for name, frame in tables.frames.items() if name in asked}
            there = "; ".join(f"{name} has {', '.join(columns)}" for name, columns in named.items())
            raise MissingValueError(f"{first_line(error)}: {there}") from None
        except pl.exceptions.PolarsError as error:
            raise MissingValueError(first_line(error)) from None

    def value(self, tables: Tables) -> float:
        """Return the value of the query.

        Raises `MissingValueError` if something that it needs was not measured: a table, a column, a row, or a value of
        one.
        """
        rows = self.rows(tables)
        columns = [[math.nan if one is None else float(one) for one in column] for column in rows.iter_columns()]
        lacking = sum(not all(map(math.isfinite, row)) for row in zip(*columns, strict=True))
        if lacking or not rows.height:
            raise MissingValueError(f"{lacking} of {rows.height} rows have no value" if lacking else "no rows")
        return TAKES[self.take](columns)
