"""One number for each run and scheduler, out of the tables of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pifolab import _pifolab
from pifolab.catalogue import study_keys
from pifolab.errors import InputError
from pifolab.lazy import pl
from pifolab.section import Section, below

#: Statistics over more values than this, one for each run and scheduler, are a slip.
_MOST_VALUES = 1_000_000

#: Sums, squares and quotients of such numbers are numbers, too.
_LARGEST = 1e150

#: So much of an error of polars is shown.
_LONGEST_LINE = 200


@dataclass(frozen=True)
class Metric:
    """A number that each run has for each of its schedulers.

    Attributes
    ----------
    name : str
        Its name in statistics.
    table : str
        The table it comes from.
    value : str
        A column, or a polars SQL expression over the columns; one that aggregates (``max(bytes)``) where the table has
        several rows for a scheduler.
    where : str, optional
        A polars SQL condition that rows must meet.
    common : str, optional
        A column, such as ``flow``: only rows count whose value of it every scheduler has, see `common_rows`.

    scenario : str, optional
        The label of a base scenario: the metric is one of its runs alone.

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
    common: str | None = None
    scenario: str | None = None

    @classmethod
    def read(cls, written: Any, place: str) -> Metric:
        """Make a metric from a value in a file: a column, ``table.column``, or a table of keys."""
        if isinstance(written, str) and written:
            table, _, column = written.rpartition(".")
            return cls(written, table or "schedulers", f'"{column}"' if " " in column else column)
        if not isinstance(written, Mapping):
            raise InputError(f"{place} = {written!r}: expected the name of a column, or a table with name and value")
        section = Section(below(place), written, study_keys()["metrics"])
        texts = {key: section.text(key, empty=False) for key in written}
        section.required("name", "value")
        for key in ("value", "where"):
            if key in texts:
                try:
                    pl.sql_expr(texts[key])
                except Exception as error:
                    raise section.fault(key, f"not an SQL expression: {first_line(error)}") from None
        table = texts.get("table", "schedulers")
        return cls(texts["name"], table, texts["value"], texts.get("where"), texts.get("common"), texts.get("scenario"))


def common_rows(frame: pl.DataFrame, runs: pl.DataFrame, metric: Metric) -> pl.DataFrame:
    """Return the rows of `frame` that meet ``metric.where``, and have a value, under every scheduler.

    Rows of different schedulers are the same if they have the same seed, the same value of ``metric.common`` and the
    same labels of those axes that apply to every run. An axis that applies to some runs alone, such as a window, tells
    schedulers apart. A seed of which runs are missing has no rows. `runs` has ``run``, ``seed`` and a column for each
    axis. Raises `InputError` if the table has no such column, or the condition does not fit it.
    """
    _check_common(frame, metric)
    axes = [axis for axis in runs.columns if axis not in ("run", "seed")]
    # Names of axes may be names of columns.
    named = {axis: f"_{at}" for at, axis in enumerate(axes)}
    labels = (pl.col(axis).alias(named[axis]) for axis in axes)
    side = runs.select("run", pl.col("seed").alias("_seed"), pl.lit(0).alias("_all"), *labels)
    shared = ["_all", *(named[axis] for axis in axes if axis != "scheduler" and not runs[axis].null_count())]
    column = [name for name in ("scheduler",) if name in frame.columns]
    variant = pl.struct("_all", *(named[axis] for axis in axes if named[axis] not in shared), *column)
    # Before the condition: where one scheduler has no row that meets it, none has rows.
    compared = frame.select("run", *column).unique().join(side, on="run")
    wanted = compared.group_by(shared).agg(variant.n_unique().alias("_wanted"))
    needed = pl.sql_expr(metric.value).meta.root_names()
    rows = _chosen(frame, metric).drop_nulls([name for name in frame.columns if name in needed] or metric.common)
    rows = rows.join(side, on="run", how="left", maintain_order="left")
    rows = rows.join(wanted, on=shared, how="left", maintain_order="left")
    here = variant.n_unique().over([*shared, "_seed", metric.common])
    return rows.filter(here == pl.col("_wanted")).select(frame.columns)


def _check_common(frame: pl.DataFrame, metric: Metric) -> None:
    if metric.common is not None and metric.common not in frame.columns:
        problem = _pifolab.unknown_name("column", metric.common, frame.columns)
        raise _fault(metric, f": table {metric.table}: common: {problem}")


def _chosen(frame: pl.DataFrame, metric: Metric) -> pl.DataFrame:
    """Return the rows that meet the metric's condition."""
    try:
        return frame if metric.where is None else frame.filter(pl.sql_expr(metric.where))
    except pl.exceptions.PolarsError as error:
        raise _misfit(metric, frame, error) from None


def _misfit(metric: Metric, frame: pl.DataFrame, error: Exception) -> InputError:
    unknown = isinstance(error, pl.exceptions.ColumnNotFoundError)
    problem = (_unknown_column([metric.value, metric.where], frame.columns) if unknown else None) or first_line(error)
    return _fault(metric, f": table {metric.table}: {problem}")


def metric_values(frame: pl.DataFrame, metric: Metric) -> pl.DataFrame:
    """Return `metric` for each run and scheduler of `frame`, its table of all runs, as the column ``value``.

    Raises `InputError` if a column is unknown, the value is not a number, or a scheduler has several in one run.
    """
    keys = [name for name in ("run", "scheduler") if name in frame.columns]
    _check_common(frame, metric)
    chosen = _chosen(frame, metric)
    try:
        grouped = chosen.group_by(keys, maintain_order=True).agg(pl.sql_expr(metric.value).alias("value"))
    except pl.exceptions.PolarsError as error:
        raise _misfit(metric, frame, error) from None
    if isinstance(grouped.schema["value"], pl.List):
        most = max(grouped["value"].list.len().to_list(), default=1)
        if most != 1:
            raise _fault(
                metric,
                f": {metric.value} has {most} rows for one scheduler of one run in table "
                f"{metric.table}: choose one with where, or aggregate them, as in max({metric.value})",
            )
        grouped = grouped.with_columns(pl.col("value").list.first())
    if not grouped.schema["value"].is_numeric():
        raise _fault(metric, f": {metric.value} is not a number")
    if grouped.height > _MOST_VALUES:
        raise _fault(metric, f": has {grouped.height:,} values: expected at most {_MOST_VALUES:,}")
    values = grouped.with_columns(pl.col("value").cast(pl.Float64))
    finite = values["value"].filter(values["value"].is_finite())
    if (finite.abs() > _LARGEST).any():
        largest = finite[int(finite.abs().arg_max() or 0)]
        raise _fault(metric, f": has the value {largest:g}: expected numbers from -{_LARGEST:g} to {_LARGEST:g}")
    return values


def _fault(metric: Metric, problem: str) -> InputError:
    return InputError(key=f"metric {metric.name}", after=(problem,))


def _unknown_column(expressions: Sequence[str | None], columns: Sequence[str]) -> str | None:
    """Return the message about the first column in SQL expressions that is not in `columns`."""
    for text in expressions:
        for name in pl.sql_expr(text).meta.root_names() if text is not None else ():
            if name not in columns:
                return str(_pifolab.unknown_name("column", name, list(columns)))
    return None


def first_line(error: Exception) -> str:
    """Return the first line of an error, without the notes that polars adds for programmers."""
    lines = str(error).strip().splitlines()
    line = (lines[0] if lines else type(error).__name__).partition("; valid columns:")[0]
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..."
