"""One number for each run and scheduler, out of the tables of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.section import Section, below

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Metric", "metric_values"]

_KEYS = ("name", "table", "value", "where")

#: So much of an error of polars is shown.
_LONGEST_LINE = 200


@dataclass(frozen=True)
class Metric:
    """A number that each run has for each of its schedulers.

    Attributes
    ----------
    name : str
        What statistics call it.
    table : str
        The table it comes from.
    value : str
        A column, or a polars SQL expression over the columns; one that aggregates (``max(bytes)``) where the table has
        several rows for a scheduler.
    where : str, optional
        A polars SQL condition that rows must meet.

    Examples
    --------
    >>> Metric.read("inversions", "here").value
    'inversions'
    >>> Metric.read("fct.mean_ns", "here").table
    'fct'
    >>> Metric.read({"name": "share", "value": "inversions / sent_packets"}, "here").table
    'schedulers'
    """

    name: str
    table: str
    value: str
    where: str | None = None

    @classmethod
    def read(cls, written: Any, place: str) -> Metric:
        """Make a metric of what a file says: a column, ``table.column``, or a table of keys.

        Raises
        ------
        InputError
            It is none of these, or an expression is no SQL; the text begins with `place`.
        """
        import polars as pl

        if isinstance(written, str) and written:
            table, _, column = written.rpartition(".")
            return cls(written, table or "schedulers", f'"{column}"' if " " in column else column)
        if not isinstance(written, Mapping):
            raise InputError(f"{place} = {written!r}: expected the name of a column, or a table with name and value")
        section = Section(below(place), written, _KEYS)
        texts = {key: section.text(key, empty=False) for key in written}
        section.required("name", "value")
        for key in ("value", "where"):
            if key in texts:
                try:
                    pl.sql_expr(texts[key])
                except Exception as error:
                    raise section.fault(key, f"not an SQL expression: {_line(error)}") from None
        return cls(texts["name"], texts.get("table", "schedulers"), texts["value"], texts.get("where"))


def metric_values(frame: pl.DataFrame, metric: Metric) -> pl.DataFrame:
    """Return `metric` for each run and scheduler of `frame`, its table of all runs, as the column ``value``.

    Raises
    ------
    InputError
        A column is unknown, the value is not a number, or a scheduler has several of them in one run.
    """
    import polars as pl

    keys = [name for name in ("run", "scheduler") if name in frame.columns]
    try:
        chosen = frame if metric.where is None else frame.filter(pl.sql_expr(metric.where))
        grouped = chosen.group_by(keys, maintain_order=True).agg(pl.sql_expr(metric.value).alias("value"))
    except pl.exceptions.ColumnNotFoundError as error:
        problem = _unknown_column([metric.value, metric.where], frame.columns) or _line(error)
        raise InputError(f"metric {metric.name}: table {metric.table}: {problem}") from None
    except pl.exceptions.PolarsError as error:
        raise InputError(f"metric {metric.name}: table {metric.table}: {_line(error)}") from None
    if isinstance(grouped.schema["value"], pl.List):
        most = max(grouped["value"].list.len().to_list(), default=1)
        if most != 1:
            raise InputError(
                f"metric {metric.name}: {metric.value} has {most} rows for one scheduler of one run in table "
                f"{metric.table}: say which with where, or aggregate them, as in max({metric.value})"
            )
        grouped = grouped.with_columns(pl.col("value").list.first())
    if not grouped.schema["value"].is_numeric():
        raise InputError(f"metric {metric.name}: {metric.value} is not a number")
    return grouped.with_columns(pl.col("value").cast(pl.Float64))


def _unknown_column(expressions: Sequence[str | None], columns: Sequence[str]) -> str | None:
    """Return what to say of the first column in SQL expressions that is none of `columns`."""
    import polars as pl

    for text in expressions:
        for name in pl.sql_expr(text).meta.root_names() if text is not None else ():
            if name not in columns:
                return str(_pifolab.unknown_name("column", name, list(columns)))
    return None


def _line(error: Exception) -> str:
    """Return the first line of an error's text, without what polars adds to it for programmers."""
    lines = str(error).strip().splitlines()
    line = (lines[0] if lines else type(error).__name__).partition("; valid columns:")[0]
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..."
