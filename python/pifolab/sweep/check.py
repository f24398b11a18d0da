"""Checks before anything runs: tables, columns, and both sides of the comparisons of a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.lazy import pl
from pifolab.runs import frame_of
from pifolab.statistics import MissingValueError, Tables
from pifolab.statistics.metrics import Metric, metric_values
from pifolab.sweep.axes import SCENARIO, SCHEDULER
from pifolab.sweep.comparison import Comparison
from pifolab.sweep.spec import Setting, Sweep

#: Where the first combinations do not have a column, this many others are looked at, spread over all.
_MOST_LOOKED_AT = 20


def check_results(sweep: Sweep, settings: Sequence[Setting], makers: Mapping[str, Any]) -> None:
    """Refuse metrics and tables that no run of these combinations will have, with the classes of the user."""
    own = set(sweep.custom.named["observers"])

    @cache
    def tables(at: int) -> dict[str, pl.DataFrame]:
        return _tables(sweep, settings[at], makers)

    step = max(1, len(settings) // _MOST_LOOKED_AT)
    places: Sequence[int] = range(0, len(settings), step)
    for name in sweep.tables or ():
        if name not in own and not any(name in tables(at) for at in places):
            known = sorted({*tables(0), *own})
            raise InputError(f"{sweep.place('tables')}: {_pifolab.unknown_name('table', name, known)}")
    for place, metric in _metrics(sweep):
        if sweep.tables is not None and metric.table not in sweep.tables:
            kept = ", ".join(sweep.tables)
            raise InputError(
                f"{place}: metric {metric.name}: table {metric.table} is not kept: expected it among tables = {kept}"
            )
        if metric.table not in own:
            chosen = places
            if metric.scenario is not None:
                chosen = [at for at, one in enumerate(settings) if one.labels[SCENARIO] == metric.scenario]
            _check_metric(place, metric, chosen[:_MOST_LOOKED_AT], tables, own)
    if not own:
        _check_claims(sweep, settings, places, tables)


def _check_claims(sweep: Sweep, settings: Sequence[Setting], places: Sequence[int], tables: Any) -> None:
    """Refuse claims that need a table or a column which no run has, or none that is kept."""
    for number, claim in enumerate(sweep.claims):
        fault = ""
        for at in places:
            labels = {axis: label for axis, label in settings[at].labels.items() if axis != SCHEDULER}
            kept = {
                name: one.with_columns(
                    pl.lit(label).alias(f"{axis}_axis" if axis in one.columns else axis)
                    for axis, label in labels.items()
                )
                for name, one in tables(at).items()
                if sweep.tables is None or name in sweep.tables
            }
            try:
                claim.query.rows(Tables(kept))
                break
            except MissingValueError as error:
                fault = fault or str(error)
        else:
            raise InputError(f"{sweep.place('claim')}[{number}].metric: {fault}")


def _check_metric(place: str, metric: Metric, places: Sequence[int], tables: Any, own: set[str]) -> None:
    fault = ""
    for at in places:
        found = tables(at)
        if metric.table not in found:
            fault = fault or str(_pifolab.unknown_name("table", metric.table, sorted({*found, *own})))
            continue
        try:
            metric_values(found[metric.table], metric)
            return
        except InputError as error:
            # The error of the first combination stands for all.
            fault = fault or error.problem
    raise InputError(f"{place}: metric {metric.name}: {fault}")


def _metrics(sweep: Sweep) -> Iterator[tuple[str, Metric]]:
    yield from ((sweep.place("metrics"), metric) for metric in sweep.metrics)
    for at, comparison in enumerate(sweep.comparisons):
        yield f"{sweep.place('compare')}[{at}]", comparison.metric


def _tables(sweep: Sweep, setting: Setting, makers: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
    """Return the tables that a run of `setting` will have, without rows."""
    file, text = sweep.base(setting.labels)
    found = _pifolab.scenario_tables(text, str(file), list(setting.overrides), **makers)
    keys = [pl.lit("").alias("run"), pl.lit(0, dtype=pl.Int64).alias("seed")]
    return {name: frame_of(columns).select(*keys, pl.all()) for name, columns in found.items()}


def check_comparisons(sweep: Sweep, settings: Sequence[Setting], schedulers: Sequence[Sequence[str]]) -> None:
    """Refuse comparisons that no two runs make, and claims about `schedulers` that no combination has."""
    known = list(dict.fromkeys(label for labels in schedulers for label in labels))
    for at, claim in enumerate(sweep.claims):
        for name in claim.query.schedulers:
            if name not in known:
                problem = _pifolab.unknown_name("scheduler", name, known)
                raise InputError(f"{sweep.place('claim')}[{at}].metric: {problem}; its label is meant, if it has one")
    for at, comparison in enumerate(sweep.comparisons):
        place = f"{sweep.place('compare')}[{at}]"
        for side, chosen in (("of", comparison.of), ("to", comparison.to)):
            label = chosen.get(SCHEDULER)
            if label is not None and label not in known:
                problem = _pifolab.unknown_name("scheduler", str(label), known)
                raise InputError(f"{place}.{side}.scheduler: {problem}; its label is meant, if it has one")
        if not _has_pair(comparison, settings, schedulers):
            raise InputError(f"{place}: no combination of the sweep has both sides")


def _has_pair(comparison: Comparison, settings: Sequence[Setting], schedulers: Sequence[Sequence[str]]) -> bool:
    named = {*comparison.of, *comparison.to}
    sides: list[set[tuple[Any, ...]]] = [set(), set()]
    for setting, labels in zip(settings, schedulers, strict=True):
        open_axes = tuple((axis, label) for axis, label in setting.labels.items() if axis not in named)
        for label in labels:
            here = {**setting.labels, SCHEDULER: label}
            for side, wanted in zip(sides, comparison.sides, strict=True):
                if all(here.get(axis) == value for axis, value in wanted.items()):
                    side.add(open_axes)
    return bool(sides[0] & sides[1])
