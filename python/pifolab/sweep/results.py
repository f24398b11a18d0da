"""The results of a sweep: tables with the axes as columns, statistics over seeds, and the failed runs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.export import check_ending, markdown, write_table, write_text
from pifolab.figures.choice import FigureChoice, Scale
from pifolab.lazy import pl
from pifolab.report import html as report
from pifolab.statistics import (
    Estimate,
    Judgement,
    Metric,
    MissingValueError,
    Tables,
    common_rows,
    judge,
    mean_interval,
    metric_values,
    ratio_interval,
)
from pifolab.store import Store, StoreError
from pifolab.sweep.axes import SCENARIO
from pifolab.sweep.comparison import Claim, Comparison
from pifolab.sweep.figure import check_labels, draw_metrics
from pifolab.sweep.latex import latex_means
from pifolab.sweep.spec import Sweep
from pifolab.sweep.stored import Notes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Failure:
    """A run that was not done."""

    run: str
    name: str
    #: ``error``, ``time limit`` or ``died``.
    kind: str
    reason: str
    #: The command that repeats only this run.
    command: str


@dataclass(frozen=True)
class Group:
    """One metric of one scheduler in one combination of axes, over its seeds."""

    axes: dict[str, Any]
    scheduler: str | None
    metric: str
    estimate: Estimate
    #: Finished runs in which the metric has no value, such as the lowest dropped rank where nothing was dropped.
    without_value: int = 0
    #: False if nothing in these runs depends on the seed: then there is nothing to be uncertain of.
    random: bool = True

    @property
    def name(self) -> str:
        """Combination and scheduler in one line."""
        parts = [f"{axis} {label}" for axis, label in self.axes.items() if label is not None and axis != "scheduler"]
        return ", ".join([*([self.scheduler] if self.scheduler else []), *parts])

    def apart(self, other: Group) -> bool:
        """Return whether two means differ by more than chance: whether their intervals do not overlap."""
        if not self.random:
            return self.estimate.value != other.estimate.value
        return self.estimate.high < other.estimate.low or other.estimate.high < self.estimate.low


@dataclass(frozen=True)
class Compared:
    """A ratio, for one combination of the axes that the comparison leaves open, or a claim."""

    comparison: Comparison | Claim
    axes: dict[str, Any]
    estimate: Estimate
    verdict: Judgement | None
    #: Seeds without a value, or of which only one side has one.
    unpaired: int = 0

    def __str__(self) -> str:
        if not self.estimate.seeds:
            return f"{self.comparison.name}: no seed has a value"
        settled = {**self.comparison.common, **self.axes}
        where = ", ".join(f"{axis} {label}" for axis, label in settled.items() if label is not None)
        text = f"{self.comparison.name} {self.estimate}" + (f" ({where})" if where else "")
        if self.unpaired:
            why = "only one side has a value" if isinstance(self.comparison, Comparison) else "no value"
            text += f" ({self.unpaired} seed{'s' * (self.unpaired != 1)} left out: {why})"
        if self.verdict is None:
            return text
        mark = ", provisional" if self.verdict.provisional else ""
        more = f", about {self.verdict.seeds_needed} seeds would decide" if self.verdict.seeds_needed else ""
        source = f" [{self.comparison.source}]" if self.comparison.source else ""
        return f"{text}: {self.verdict.verdict}{mark} ({self.verdict.reason}{more}){source}"


@dataclass(frozen=True)
class LeftOut:
    """A run of a sweep that its tables and statistics do not have."""

    run: str
    name: str
    #: ``not finished``, the reason of a failure, or the fault of the stored files.
    reason: str


@dataclass(frozen=True)
class SweepResult:
    """The result of `run_sweep`.

    Attributes
    ----------
    store : Store
        Where the runs are.
    sweep : Sweep or Notes
        The sweep; if only its store is given, the notes in the store.
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
    sweep: Sweep | Notes
    runs: pl.DataFrame
    failures: list[Failure] = field(default_factory=list)
    reused: int = 0
    busy_s: float = 0.0
    wall_s: float = 0.0

    def table(self, name: str) -> pl.DataFrame:
        """Return the table `name`, with axes as columns, of all runs but those `left_out`."""
        return joined_table(self.store, name, self._usable[0])

    @property
    def left_out(self) -> list[LeftOut]:
        """The runs that tables and statistics do not have: not finished, failed, or damaged since."""
        return self._usable[1]

    @cached_property
    def _usable(self) -> tuple[pl.DataFrame, list[LeftOut]]:
        return usable(self.store, self.runs, {failure.run: failure.reason for failure in self.failures})

    @cached_property
    def groups(self) -> list[Group]:
        """Every metric of the sweep, for every combination and scheduler."""
        return groups(self.store, self._usable[0], list(self.sweep.metrics))

    @cached_property
    def compared(self) -> list[Compared]:
        """Every comparison and every claim of the sweep."""
        stated: list[Comparison | Claim] = [*self.sweep.comparisons, *self.sweep.claims]
        return [one for each in stated for one in compared(self.store, self._usable[0], each)]

    @property
    def ratios(self) -> list[Group]:
        """The ratios and claims that have a value as groups, which tables and figures take like means.

        Their metric is the name of the ratio; a group has every axis of any of them.
        """
        settled = [
            ({**one.comparison.common, **one.axes}, one.comparison.name, one.estimate)
            for one in self.compared
            if one.estimate.seeds
        ]
        axes = list(dict.fromkeys(axis for of, _, _ in settled for axis in of if axis != "scheduler"))
        return [
            Group({axis: of.get(axis) for axis in axes}, of.get("scheduler"), name, estimate)
            for of, name, estimate in settled
        ]

    def statistics(self) -> pl.DataFrame:
        """Return the metrics as a frame: axes, scheduler, metric, mean, low, high, seeds."""
        return groups_frame(self.groups)

    def __repr__(self) -> str:
        words = f"{len(self.runs)} runs, {len(self.failures)} failed, {self.reused} reused"
        return f"SweepResult({self.sweep.name!r}: {words}; in {str(self.store.path)!r})"

    def _repr_html_(self) -> str:
        """Return the form for notebooks: metrics with intervals, ratios, and the runs that are left out."""
        headings, rows = statistics_rows(self.groups)
        table = report.table(headings, rows)
        left = len(self.left_out)
        lines = [str(one) for one in self.compared] + ([f"{left} runs are left out"] if left else [])
        return table + "".join(f"<p>{report.escape(line)}</p>" for line in lines)

    def plot(
        self,
        metric: str | None = None,
        x: str | None = None,
        panel: str | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        x_scale: Scale | None = None,
        y_scale: Scale | None = None,
        size: tuple[float, float] | None = None,
    ) -> Figure:
        """Return a figure of a metric with bands for the 95 % intervals, which a notebook shows.

        Parameters
        ----------
        metric : str, optional
            One of the sweep's metrics. Default: the first.
        x, panel : str, optional
            The axis that lies horizontally, and the axis with a panel for each value.
        labels : mapping of str to str, optional
            Labels of schedulers and the metric.
        x_scale, y_scale : "linear" or "log", optional
            The scales of the axes.
        size : pair of float, optional
            Width and height in inches.

        Raises
        ------
        InputError
            The sweep has no such metric or axis, or a scale does not fit the values.
        """
        metrics = list(dict.fromkeys(group.metric for group in self.groups))
        if metric is not None and metric not in metrics:
            raise InputError(_pifolab.unknown_name("metric", metric, metrics))
        wanted = metric or metrics[0]
        chosen = [group for group in self.groups if group.metric == wanted]
        choice = FigureChoice(None, labels or {}, x_scale, y_scale, size)
        return draw_metrics(chosen, x, panel, choice, self.sweep.figures)[wanted]

    def export_statistics(self, file: str | os.PathLike[str], labels: Mapping[str, str] | None = None) -> Path:
        """Write the metrics to a file: CSV, Parquet, LaTeX or Markdown, by how its name ends.

        Raises
        ------
        InputError
            The name ends in something else, or the file cannot be written.
        """
        return write_statistics(self.groups, file, labels)

    def too_wide(self, relative: float) -> dict[str, int]:
        """Return the combinations with an interval wider than `relative`, and about how many seeds they need."""
        wide: dict[str, int] = {}
        for group in self.groups:
            if group.estimate.seeds < 2 or group.estimate.relative_half_width > relative:
                name = ", ".join(f"{axis} = {label}" for axis, label in group.axes.items() if label is not None)
                needed = group.estimate.seeds_for(relative) or group.estimate.seeds + 1
                wide[name or "base"] = max(wide.get(name or "base", 0), needed)
        return wide


def usable(
    store: Store, runs: pl.DataFrame, failed: Mapping[str, str] | None = None
) -> tuple[pl.DataFrame, list[LeftOut]]:
    """Return the finished and undamaged ones of `runs`, every file checked, and the reasons to leave out the others.

    The frame `runs` has ``run``, ``seed`` and a column for each axis; `failed` says why runs failed that did.
    """
    good, bad = store.sound(runs["run"])
    reasons = {key: "not finished" if problem == "absent" else problem for key, problem in bad.items()}
    reasons |= {key: f"failed: {reason}" for key, reason in (failed or {}).items() if key in reasons}
    left = [
        LeftOut(row["run"], _run_name(row), reasons[row["run"]])
        for row in runs.iter_rows(named=True)
        if row["run"] in reasons
    ]
    return runs.filter(runs["run"].is_in(good)), left


def _run_name(row: Mapping[str, Any]) -> str:
    labels = [(axis, label) for axis, label in row.items() if axis not in ("run", "seed") and label is not None]
    seed = [("seed", row["seed"])] if "seed" in row else []
    return ", ".join(f"{axis} = {label}" for axis, label in [*labels, *seed])


def joined_table(store: Store, name: str, runs: pl.DataFrame) -> pl.DataFrame:
    """Return the table `name` of `runs`, with their axes, if `runs` has any, behind ``run`` and ``seed``.

    An axis that is called like a column of the table gets ``_axis`` behind its name; the axis ``scheduler`` is the
    column ``scheduler`` itself. Raises `StoreError` if no finished run has such a table, or one is damaged.
    """
    done = set(store.keys())
    frame = store.table(name, [key for key in runs["run"] if key in done])
    axes = [column for column in runs.columns if column not in ("run", "seed")]
    rename = {axis: f"{axis}_axis" for axis in axes if axis in frame.columns and axis != "scheduler"}
    dropped = [axis for axis in axes if axis == "scheduler" and axis in frame.columns]
    side = runs.drop(*(["seed"] if "seed" in runs.columns else []), *dropped).rename(rename)
    joined = frame.join(side, on="run", how="left", maintain_order="left")
    shown = [column for column in side.columns if column != "run"]
    rest = [column for column in joined.columns if column not in ("run", "seed", *shown)]
    return joined.select("run", "seed", *shown, *rest)


def groups(store: Store, runs: pl.DataFrame, metrics: list[Metric]) -> list[Group]:
    """Return the mean over seeds of each metric for each combination of axes and scheduler.

    Raises `StoreError` if no run is finished, and `InputError` if a metric does not fit its table.
    """
    found = []
    random = _random(store, runs)
    for metric in metrics:
        for (axes, scheduler), by_seed in _by_group(store, runs, metric).items():
            values = [value for _, value in sorted(by_seed.items()) if value is not None]
            if values:
                without = len(by_seed) - len(values)
                found.append(Group(dict(axes), scheduler, metric.name, mean_interval(values), without, random))
    return found


def _random(store: Store, runs: pl.DataFrame) -> bool:
    """Return whether anything in any run depends on the seed. The first run usually decides."""
    done = set(store.keys())

    def drawn(key: str) -> bool:
        try:
            manifest = store.manifest(key)
        except StoreError:
            # A damaged run counts for nothing; reading its tables reports it.
            return False
        return bool(manifest.get("random", True) or manifest.get("python"))

    return any(drawn(key) for key in runs["run"] if key in done)


def groups_frame(found: list[Group]) -> pl.DataFrame:
    """Return groups as a frame."""
    rows = [
        {
            **{axis: label for axis, label in group.axes.items() if axis != "scheduler"},
            "scheduler": group.scheduler,
            "metric": group.metric,
            "mean": group.estimate.value,
            "low": group.estimate.low,
            "high": group.estimate.high,
            "seeds": group.estimate.seeds,
            "without_value": group.without_value,
        }
        for group in found
    ]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("low", "high").fill_nan(None))


def write_statistics(
    groups: Sequence[Group],
    file: str | os.PathLike[str],
    labels: Mapping[str, str] | None = None,
    *,
    best: Mapping[str, str] | None = None,
    caption: str | None = None,
    reference: str | None = None,
) -> Path:
    """Write the means of a sweep with their 95 % intervals, whole or not at all, by the ending of the file's name.

    CSV and Parquet have a row for each mean: axes, scheduler, metric, mean, low, high, seeds, without_value. LaTeX and
    Markdown have a row for each scheduler and combination of axes, and a column for each metric, as a paper shows it.
    `labels` are those of schedulers, metrics and axes; `best`, `caption` and `reference` are for
    `pifolab.sweep.latex.latex_means`.
    """
    target = Path(file)
    check_ending(target)
    named = labels or {}
    check_labels(groups, named)
    metrics = list(dict.fromkeys(group.metric for group in groups))
    for metric, which in (best or {}).items():
        if metric not in metrics:
            raise InputError(f"--bold {metric}={which}: {_pifolab.unknown_name('metric', metric, metrics)}")
        if which not in ("lowest", "highest"):
            raise InputError(f"--bold {metric}={which}: expected lowest or highest")
    if target.suffix == ".tex":
        return write_text(latex_means(groups, named, best or {}, caption, reference), target)
    for flag, value in (("bold", best), ("caption", caption), ("reference", reference)):
        if value:
            raise InputError(f"--{flag} has no effect on {target.suffix}: remove it, or write a .tex")
    if target.suffix in (".csv", ".parquet"):
        frame = groups_frame(list(groups))
        columns = [pl.col(name).replace(dict(named)) for name in ("scheduler", "metric")] if named else []
        headings = [named.get(name, name) for name in frame.columns]
        if twice := next((name for name in headings if headings.count(name) > 1), None):
            raise InputError(f"--label: two columns of {target} are called {twice}: expected different names")
        return write_table(frame.with_columns(columns).rename(dict(zip(frame.columns, headings, strict=True))), target)
    schema, cells = statistics_rows(groups, named)
    return write_text(markdown(schema, cells), target)


def statistics_rows(
    groups: Sequence[Group], labels: Mapping[str, str] | None = None
) -> tuple[list[str], list[list[Any]]]:
    """Return headings and a row for each scheduler and combination of axes, with ``mean [low, high]`` of each metric.

    `labels` says what to call schedulers and metrics.
    """
    named = labels or {}
    axes = list(dict.fromkeys(axis for group in groups for axis in group.axes if axis != "scheduler"))
    metrics = list(dict.fromkeys(group.metric for group in groups))
    rows: dict[tuple[Any, ...], dict[str, str]] = {}
    # Ratios are of two schedulers.
    of_one = any(group.scheduler is not None for group in groups)
    for group in groups:
        scheduler = [named.get(group.scheduler or "", group.scheduler)] if of_one else []
        key = (*scheduler, *(group.axes.get(axis) for axis in axes))
        rows.setdefault(key, {})[group.metric] = f"{group.estimate:.4g}"
    schema = [
        *(["scheduler"] if of_one else []),
        *(named.get(axis, axis) for axis in axes),
        *(named.get(metric, metric.replace("_", " ")) for metric in metrics),
    ]
    cells = [[*key, *(values.get(metric) for metric in metrics)] for key, values in rows.items()]
    return schema, cells


def compared(store: Store, runs: pl.DataFrame, comparison: Comparison | Claim) -> list[Compared]:
    """Return the ratio that `comparison` asks for, for each combination of the axes that it leaves open; or a claim."""
    if isinstance(comparison, Claim):
        return _claimed(store, runs, comparison)
    named = {*comparison.of, *comparison.to}
    sides: list[dict[tuple[tuple[str, Any], ...], dict[int, float]]] = [{}, {}]
    for (axes, scheduler), every_seed in _by_group(store, runs, comparison.metric).items():
        by_seed = {seed: value for seed, value in every_seed.items() if value is not None}
        labels = {**dict(axes), "scheduler": scheduler}
        for side, wanted in zip(sides, (comparison.of, comparison.to), strict=True):
            if all(labels.get(axis) == label for axis, label in wanted.items()):
                key = tuple((axis, label) for axis, label in axes if axis not in named)
                if key in side:
                    raise InputError(f"{comparison.name}: several schedulers fit; name the scheduler in of and to")
                side[key] = by_seed
    # An axis that applies to one side only forms no pairs.
    both = [key for key in sides[0] if key in sides[1] and sides[0][key].keys() & sides[1][key].keys()]
    results = []
    for key in both:
        estimate = ratio_interval(sides[0][key], sides[1][key])
        stated = (comparison.stated_low, comparison.stated_high)
        verdict = None if stated == (None, None) else judge(estimate, *stated, comparison.tolerance)
        unpaired = len(sides[0][key].keys() ^ sides[1][key].keys())
        results.append(Compared(comparison, dict(key), estimate, verdict, unpaired))
    return results


def _claimed(store: Store, runs: pl.DataFrame, claim: Claim) -> list[Compared]:
    """Return the number of a claim over the seeds of which all runs are there."""
    done = set(store.keys())
    runs = runs.filter(runs["run"].is_in(list(done)))
    known = {name for key in runs["run"] for name in store.tables(key)}
    frames = {name: joined_table(store, name, runs) for name in sorted(known & claim.query.words)}
    counts = dict(runs.group_by("seed").len().iter_rows())
    values, without = [], 0
    for seed in sorted(seed for seed, count in counts.items() if count == max(counts.values())):
        try:
            values.append(claim.query.value(Tables({name: one.filter(seed=seed) for name, one in frames.items()})))
        except MissingValueError:
            without += 1
    if not values:
        return [Compared(claim, {}, Estimate(math.nan, math.nan, math.nan, 0), None)]
    estimate = mean_interval(values)
    verdict = judge(estimate, claim.stated_low, claim.stated_high, claim.tolerance)
    return [Compared(claim, {}, estimate, verdict, without)]


_GroupKey = tuple[tuple[tuple[str, Any], ...], "str | None"]


def _by_group(store: Store, runs: pl.DataFrame, metric: Metric) -> dict[_GroupKey, dict[int, float | None]]:
    """Return the values of `metric` by seed, for each combination and scheduler, in the order of the sweep.

    Undefined values (the lowest dropped rank of a run without drops, a quotient by 0) are None.
    """
    done = set(store.keys())
    finished = runs.filter(runs["run"].is_in(list(done)))
    if metric.scenario is not None:
        if SCENARIO not in finished.columns:
            raise InputError(f"metric {metric.name}: scenario = {metric.scenario!r}: the runs have no scenarios")
        finished = finished.filter(pl.col(SCENARIO) == metric.scenario).drop(SCENARIO)
    if finished.is_empty():
        raise StoreError(f"{store.path}: no run has finished")
    table = store.table(metric.table, finished["run"])
    values = metric_values(table if metric.common is None else common_rows(table, finished, metric), metric)
    by_run: dict[str, list[dict[str, Any]]] = {}
    for row in values.iter_rows(named=True):
        by_run.setdefault(row["run"], []).append(row)
    found: dict[_GroupKey, dict[int, float | None]] = {}
    for run in finished.iter_rows(named=True):
        axes = tuple((axis, label) for axis, label in run.items() if axis not in ("run", "seed"))
        for row in by_run.get(run["run"], []):
            value = row["value"]
            exists = value is not None and math.isfinite(value)
            found.setdefault((axes, row.get("scheduler")), {})[run["seed"]] = value if exists else None
    return found
