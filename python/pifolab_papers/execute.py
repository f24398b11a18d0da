"""Runs the experiments that claims need, through a store that remembers what is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pifolab
from pifolab import _pifolab
from pifolab.errors import InputError, PifolabError
from pifolab.lazy import pl
from pifolab.statistics import Tables
from pifolab.store import Store
from pifolab.sweep import Plan, PlannedRun, Sweep, joined_table, make_plan, run_together
from pifolab.toml import read_toml
from pifolab_papers.registry import SECOND, Claim, Experiment, Registry, Variant
from pifolab_papers.studies import STUDIES, study_of

#: What the size classes of completion times are called in expressions.
SIZES = {"all": "all", "< 100 KB": "small", "100 KB to 1 MB": "medium", ">= 1 MB": "large"}

#: The variants of an experiment: the paper's text, the settings of its own public code, another reading of the text.
READINGS = ("paper", *SECOND)

#: Called with an event whenever something happens.
Progress = Callable[[Mapping[str, Any]], None]


@dataclass
class Ran:
    """What one scenario of an experiment ran with, for those who want to repeat it."""

    scenario: str
    overrides: dict[str, Any]
    seeds: tuple[int, ...]
    runs: list[str]
    failures: list[str] = field(default_factory=list)


@dataclass
class Measured:
    """The tables of one variant of an experiment, with a column `seed` and one for each axis."""

    experiment: Experiment
    variant: Variant
    frames: dict[str, pl.DataFrame]
    ran: list[Ran]

    def by_seed(self) -> dict[int, Tables]:
        """Return what expressions see, for each seed."""
        frames = dict(self.frames)
        if "flows" in frames and "size_bytes" in frames["flows"].columns:
            frames["by_size"] = _by_size(frames["flows"], [axis.name for axis in self.variant.axes])
        seeds = {seed for frame in frames.values() for seed in frame["seed"].unique().to_list()}
        return {
            seed: Tables({name: frame.filter(seed=seed) for name, frame in frames.items()}) for seed in sorted(seeds)
        }


def _by_size(flows: pl.DataFrame, axes: Sequence[str]) -> pl.DataFrame:
    """Return mean and 99th percentile of the completion times of the flows of each size, as authors publish them."""
    # Exact while sums stay below 2^53 ns.
    times = pl.col("fct_ns").cast(pl.Float64)
    return flows.group_by("seed", *axes, "scheduler", "size_bytes", maintain_order=True).agg(
        times.mean().alias("mean_ns"), times.quantile(0.99, "linear").alias("p99_ns")
    )


def experiments_folder() -> Path:
    """Return the folder with the scenarios, which is part of pifolab; `experiments/` in a checkout leads to it."""
    folder = Path(str(pifolab.__file__)).resolve().parent / "experiments"
    if not (folder / "packs" / "fig3.toml").is_file():
        raise InputError(f"{folder}: the scenarios are not there: give a folder that has them with --experiments DIR")
    return folder


def sweeps_of(experiment: Experiment, variant: Variant, registry: Registry, depth: str, folder: Path) -> list[Sweep]:
    """Return the sweeps of one variant at a depth, one for each scenario."""
    length = registry.depths[depth].lengths[variant.length]
    used: set[str] = set()
    sweeps = []
    for place, scenario in enumerate(variant.scenarios, 1):
        file = folder / scenario
        written = read_toml(file)
        overrides = {key: value for key, value in variant.overrides.items() if _fits(key, written)}
        used.update(overrides)
        if length.duration_s is not None:
            overrides["duration_s"] = length.duration_s
        axes = {}
        for axis in variant.axes:
            values = axis.values[depth]
            if len(axis.keys) != 1:
                raise InputError(f"experiment {experiment.id}: axis {axis.name}: expected one key")
            settings = [axis.overrides(value)[axis.keys[0]] for value in values]
            axes[axis.name] = {
                "key": axis.keys[0],
                "values": [int(one) if isinstance(one, float) and one == int(one) else one for one in settings],
                "labels": [f"{value:g}" for value in values],
            }
        sweep = {
            "scenario": str(file.absolute()),
            "title": f"{experiment.id}, {variant.name}",
            "seeds": list(length.seeds_of(variant)),
            "axis": axes,
            "set": overrides,
            "tables": list(experiment.tables),
            "metrics": [],
            **(registry.home.custom.written() if registry.home else {}),
        }
        sweeps.append(Sweep.from_dict(sweep, file=f"{experiment.id}-{variant.name}-{place}"))
    unused = set(variant.overrides) - used
    if unused:
        raise InputError(
            f"experiment {experiment.id}, {variant.name}: {', '.join(sorted(unused))}: no scenario has that"
        )
    return sweeps


def check_scenarios(registry: Registry, folder: Path) -> None:
    """Plan the runs of all experiments at every depth, and run nothing.

    Raises
    ------
    InputError
        Something in a scenario is wrong, or a metric names a scheduler that no scenario has.
    """
    for experiment in registry.experiments.values():
        for variant in experiment.variants:
            for depth in registry.depths:
                for sweep in sweeps_of(experiment, variant, registry, depth, folder):
                    make_plan(sweep)
    check_metrics(registry, registry.claims, folder)


def _labels(scenario: Mapping[str, Any]) -> set[str]:
    return {one.get("label", one.get("name", "")) for one in scenario.get("scheduler", [])}


def _fits(key: str, scenario: Mapping[str, Any]) -> bool:
    """Return whether a scenario has what `key` sets: the scheduler, or a rank function whose parameter it is."""
    first, _, rest = key.partition(".")
    if first == "scheduler":
        return rest.rpartition(".")[0] in _labels(scenario)
    return first != "rank" or rest == "name" or "rank" in scenario


def run_experiments(
    registry: Registry,
    claims: Iterable[Claim],
    depth: str,
    store: Store,
    *,
    workers: int | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
    readings: Iterable[str] = READINGS,
) -> dict[tuple[str, str], Measured]:
    """Run whatever the claims need and the store does not have: each distinct run once, the longest first."""
    folder = folder or (registry.home.folder if registry.home else experiments_folder())
    claims, readings = list(claims), set(readings)
    names = list(dict.fromkeys(name for claim in claims for name in claim.experiments if not claim.status))
    wanted = [
        (registry.experiments[name], variant)
        for name in names
        for variant in registry.experiments[name].variants
        if variant.name in readings
    ]
    check_metrics(registry, claims, folder)
    # All of it is checked before the first run: a slip in the last experiment should not cost hours.
    planned = [
        (
            one,
            variant,
            [] if one.study else [make_plan(each) for each in sweeps_of(one, variant, registry, depth, folder)],
        )
        for one, variant in wanted
    ]
    plans = [plan for _, _, several in planned for plan in several]
    scenarios = {file: read_toml(file) for file in {plan.sweep.scenario for plan in plans}}

    def length(plan: Plan, run: PlannedRun) -> float:
        return _length(scenarios[plan.sweep.scenario], run)

    failures = run_together(plans, store, workers, progress, length=length) if plans else []
    reasons = {failure.run: f"{failure.name}: {failure.reason}" for failure in failures}
    return {
        (one.id, variant.name): _gathered(one, variant, several, store, reasons)
        if several
        else _studied(one, variant, registry, depth, folder)
        for one, variant, several in planned
    }


def _gathered(
    experiment: Experiment, variant: Variant, plans: Sequence[Plan], store: Store, reasons: Mapping[str, str]
) -> Measured:
    """Read what the runs of one variant left in the store."""
    parts: dict[str, list[pl.DataFrame]] = {}
    ran = []
    for plan, scenario in zip(plans, variant.scenarios, strict=True):
        runs = plan.frame(plan.runs())
        keys = runs["run"].to_list()
        failed = [reasons[key] for key in keys if key in reasons]
        ran.append(Ran(scenario, dict(plan.sweep.fixed), plan.sweep.seeds, keys, failed))
        if len(failed) < len(keys):
            for name in experiment.tables:
                parts.setdefault(name, []).append(_prepared(joined_table(store, name, runs), variant))
    return Measured(experiment, variant, _joined(parts), ran)


def _length(scenario: Mapping[str, Any], run: PlannedRun) -> float:
    """Return about how many bytes the links of a run carry, summed up over its schedulers: what its time goes with."""
    changed = dict(run.setting.overrides)

    def number(path: str, default: float) -> float:
        value: Any = scenario
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        given = changed.get(path, value)
        try:
            return float(given)
        except (TypeError, ValueError):
            return default

    hosts = number("topology.leaves", 1) * number("topology.hosts_per_leaf", 2) if "topology" in scenario else 1
    rate = number("topology.access_rate_gbps", number("topology.rate_gbps", number("link.rate_gbps", 10)))
    load = min(1.0, number("workload.flows.load", 1.0))
    return number("duration_s", 1) * hosts * rate * load * len(scenario.get("scheduler", [1]))


def check_metrics(registry: Registry, claims: Iterable[Claim], folder: Path) -> None:
    """Check that the schedulers that metrics name exist."""
    known: dict[str, set[str]] = {}
    for claim in claims:
        for part in claim.parts:
            experiment = registry.experiments[part.experiment]
            if experiment.study:
                continue
            if experiment.id not in known:
                files = {scenario for variant in experiment.variants for scenario in variant.scenarios}
                labels = {label for file in files for label in _labels(read_toml(folder / file))}
                labels |= {new for variant in experiment.variants for new in variant.rename.values()}
                if experiment.id in registry.published:
                    labels |= registry.published[experiment.id].schedulers()
                known[experiment.id] = labels
            labels = known[experiment.id]
            for name in part.metric.schedulers:
                if name not in labels:
                    problem = _pifolab.unknown_name("scheduler", name, sorted(labels))
                    raise InputError(f"claim {claim.id}: {part.metric.text!r}: {problem}")


def _prepared(frame: pl.DataFrame, variant: Variant) -> pl.DataFrame:
    if "class" in frame.columns:
        frame = frame.with_columns(pl.col("class").replace(SIZES).alias("size"))
    if variant.rename and "scheduler" in frame.columns:
        frame = frame.with_columns(pl.col("scheduler").replace(dict(variant.rename)))
    return frame.with_columns(pl.col(axis.name).cast(pl.Float64) for axis in variant.axes)


def _joined(parts: Mapping[str, list[pl.DataFrame]]) -> dict[str, pl.DataFrame]:
    return {name: pl.concat(several, how="diagonal_relaxed") for name, several in parts.items()}


def _studied(experiment: Experiment, variant: Variant, registry: Registry, depth: str, folder: Path) -> Measured:
    study = STUDIES.get(experiment.study) or study_of(experiment.study, folder)
    seeds = registry.depths[depth].lengths[variant.length].seeds_of(variant)
    parts: dict[str, list[pl.DataFrame]] = {}
    for seed in seeds:
        try:
            tables = study(seed)
        except InputError as error:
            raise InputError(f"study {experiment.study}, seed {seed}: {error}") from None
        except PifolabError:
            raise
        except Exception as error:
            raise InputError(f"study {experiment.study}, seed {seed}: {type(error).__name__}: {error}") from None
        for name, found in tables.items():
            frame = found if isinstance(found, pl.DataFrame) else pl.DataFrame(found, infer_schema_length=None)
            parts.setdefault(name, []).append(frame.with_columns(pl.lit(seed).alias("seed")))
    return Measured(experiment, variant, _joined(parts), [Ran(f"study {experiment.study}", {}, seeds, [])])
