"""What a sweep came to: tables with the axes as columns, statistics over seeds, and the runs that failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pifolab.errors import InputError
from pifolab.statistics import Estimate, Metric, Verdict, judge, mean_interval, metric_values, ratio_interval
from pifolab.store import Store, StoreError
from pifolab.sweep.comparison import Comparison

if TYPE_CHECKING:
    import polars as pl

    from pifolab.sweep.spec import Sweep

__all__ = ["Compared", "Failure", "Group", "SweepResult", "compared", "groups", "joined_table"]


@dataclass(frozen=True)
class Failure:
    """A run that was not done."""

    run: str
    name: str
    #: ``error``, ``time limit`` or ``died``.
    kind: str
    reason: str
    #: What does this run again, and nothing else.
    command: str


@dataclass(frozen=True)
class Group:
    """One metric of one scheduler in one combination of axes, over its seeds."""

    axes: dict[str, Any]
    scheduler: str | None
    metric: str
    estimate: Estimate

    @property
    def name(self) -> str:
        """Combination and scheduler in one line."""
        parts = [f"{axis} {label}" for axis, label in self.axes.items() if label is not None and axis != "scheduler"]
        return ", ".join([*([self.scheduler] if self.scheduler else []), *parts])


@dataclass(frozen=True)
class Compared:
    """A ratio, for one combination of the axes that the comparison leaves open."""

    comparison: Comparison
    axes: dict[str, Any]
    estimate: Estimate
    verdict: Verdict | None

    def __str__(self) -> str:
        settled = {**self.comparison.common, **self.axes}
        where = ", ".join(f"{axis} {label}" for axis, label in settled.items() if label is not None)
        text = f"{self.comparison.name} {self.estimate}" + (f" ({where})" if where else "")
        if self.verdict is None:
            return text
        mark = ", provisional" if self.verdict.provisional else ""
        more = f", about {self.verdict.seeds_needed} seeds would decide" if self.verdict.seeds_needed else ""
        source = f" [{self.comparison.source}]" if self.comparison.source else ""
        return f"{text}: {self.verdict.verdict}{mark} ({self.verdict.reason}{more}){source}"


class _Tables(Mapping[str, "pl.DataFrame"]):
    """The tables of a sweep, each read when it is asked for."""

    def __init__(self, result: SweepResult) -> None:
        self._result = result

    def __getitem__(self, name: str) -> pl.DataFrame:
        try:
            return self._result.table(name)
        except StoreError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        store = self._result.store
        return iter(sorted({table for key in self._result.runs["run"] for table in store.tables(key)}))

    def __len__(self) -> int:
        return len(list(iter(self)))


@dataclass(frozen=True)
class SweepResult:
    """What `run_sweep` returns.

    Attributes
    ----------
    store : Store
        Where the runs are.
    sweep : Sweep
        What ran.
    runs : polars.DataFrame
        ``run``, ``seed`` and a column for each axis; also of runs that failed.
    failures : list of Failure
        The runs that were not done.
    reused : int
        How many were in the store already.
    busy_s, wall_s : float
        How long workers were busy, summed up, and how long it took.
    """

    store: Store
    sweep: Sweep
    runs: pl.DataFrame
    failures: list[Failure] = field(default_factory=list)
    reused: int = 0
    busy_s: float = 0.0
    wall_s: float = 0.0

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """All tables by name."""
        return _Tables(self)

    def table(self, name: str) -> pl.DataFrame:
        """Return the table `name` of all finished runs, with the axes as columns.

        Raises
        ------
        StoreError
            No run has such a table.
        """
        return joined_table(self.store, name, self.runs)

    @cached_property
    def groups(self) -> list[Group]:
        """Every metric of the sweep, for every combination and scheduler."""
        return groups(self.store, self.runs, list(self.sweep.metrics))

    @cached_property
    def compared(self) -> list[Compared]:
        """Every comparison of the sweep."""
        return [one for comparison in self.sweep.comparisons for one in compared(self.store, self.runs, comparison)]

    def statistics(self) -> pl.DataFrame:
        """Return the metrics as a frame: axes, scheduler, metric, mean, low, high, seeds."""
        return groups_frame(self.groups)

    def too_wide(self, relative: float) -> dict[str, int]:
        """Return the combinations with an interval wider than `relative`, and about how many seeds they need."""
        wide: dict[str, int] = {}
        for group in self.groups:
            if group.estimate.seeds < 2 or group.estimate.relative_half_width > relative:
                name = ", ".join(f"{axis} = {label}" for axis, label in group.axes.items() if label is not None)
                needed = group.estimate.seeds_for(relative) or group.estimate.seeds + 1
                wide[name or "base"] = max(wide.get(name or "base", 0), needed)
        return wide


def joined_table(store: Store, name: str, runs: pl.DataFrame) -> pl.DataFrame:
    """Return the table `name` of `runs`, with their axes behind ``run`` and ``seed``.

    An axis that is called like a column of the table gets ``_axis`` behind its name; the axis ``scheduler`` is the
    column ``scheduler`` itself.

    Raises
    ------
    StoreError
        No finished run has such a table.
    """
    done = set(store.keys())
    frame = store.table(name, [key for key in runs["run"] if key in done])
    axes = [column for column in runs.columns if column not in ("run", "seed")]
    rename = {axis: f"{axis}_axis" for axis in axes if axis in frame.columns and axis != "scheduler"}
    dropped = [axis for axis in axes if axis == "scheduler" and axis in frame.columns]
    side = runs.drop("seed", *dropped).rename(rename)
    joined = frame.join(side, on="run", how="left", maintain_order="left")
    shown = [column for column in side.columns if column != "run"]
    rest = [column for column in joined.columns if column not in ("run", "seed", *shown)]
    return joined.select("run", "seed", *shown, *rest)


def groups(store: Store, runs: pl.DataFrame, metrics: list[Metric]) -> list[Group]:
    """Return the mean over seeds of each metric for each combination of axes and scheduler.

    Raises
    ------
    StoreError
        No run is finished.
    InputError
        A metric does not fit its table.
    """
    found = []
    for metric in metrics:
        for (axes, scheduler), by_seed in _by_group(store, runs, metric).items():
            estimate = mean_interval([value for _, value in sorted(by_seed.items())])
            found.append(Group(dict(axes), scheduler, metric.name, estimate))
    return found


def groups_frame(found: list[Group]) -> pl.DataFrame:
    """Return groups as a frame."""
    import polars as pl

    rows = [
        {
            **{axis: label for axis, label in group.axes.items() if axis != "scheduler"},
            "scheduler": group.scheduler,
            "metric": group.metric,
            "mean": group.estimate.value,
            "low": group.estimate.low,
            "high": group.estimate.high,
            "seeds": group.estimate.seeds,
        }
        for group in found
    ]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("low", "high").fill_nan(None))


def compared(store: Store, runs: pl.DataFrame, comparison: Comparison) -> list[Compared]:
    """Return the ratio that `comparison` asks for, for each combination of the axes that it leaves open.

    Raises
    ------
    InputError
        No combination has both sides.
    """
    named = {*comparison.of, *comparison.to}
    sides: list[dict[tuple[tuple[str, Any], ...], dict[int, float]]] = [{}, {}]
    for (axes, scheduler), by_seed in _by_group(store, runs, comparison.metric).items():
        labels = {**dict(axes), "scheduler": scheduler}
        for side, wanted in zip(sides, (comparison.of, comparison.to), strict=True):
            if all(labels.get(axis) == label for axis, label in wanted.items()):
                key = tuple((axis, label) for axis, label in axes if axis not in named)
                if key in side:
                    raise InputError(f"{comparison.name}: several schedulers fit; name the scheduler in of and to")
                side[key] = by_seed
    # An axis may apply to one side only; what it leaves open there is no pair.
    both = [key for key in sides[0] if key in sides[1] and sides[0][key].keys() & sides[1][key].keys()]
    results = []
    for key in both:
        estimate = ratio_interval(sides[0][key], sides[1][key])
        stated = (comparison.stated_low, comparison.stated_high)
        verdict = None if stated == (None, None) else judge(estimate, *stated, comparison.tolerance)
        results.append(Compared(comparison, dict(key), estimate, verdict))
    return results


_GroupKey = tuple[tuple[tuple[str, Any], ...], "str | None"]


def _by_group(store: Store, runs: pl.DataFrame, metric: Metric) -> dict[_GroupKey, dict[int, float]]:
    """Return the values of `metric` by seed, for each combination and scheduler, in the order of the sweep."""
    done = set(store.keys())
    finished = runs.filter(runs["run"].is_in(list(done)))
    if finished.is_empty():
        raise StoreError(f"{store.path}: none of the runs is finished")
    values = metric_values(store.table(metric.table, finished["run"]), metric)
    by_run: dict[str, list[dict[str, Any]]] = {}
    for row in values.iter_rows(named=True):
        by_run.setdefault(row["run"], []).append(row)
    found: dict[_GroupKey, dict[int, float]] = {}
    for run in finished.iter_rows(named=True):
        axes = tuple((axis, label) for axis, label in run.items() if axis not in ("run", "seed"))
        for row in by_run.get(run["run"], []):
            # What does not exist (the lowest dropped rank of a run without drops) has no mean.
            if row["value"] is not None:
                found.setdefault((axes, row.get("scheduler")), {})[run["seed"]] = row["value"]
    return found
