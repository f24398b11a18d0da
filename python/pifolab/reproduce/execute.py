"""Runs the experiments that claims need, through a store that remembers what is done."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pifolab.errors import InputError
from pifolab.reproduce.expression import Results
from pifolab.reproduce.registry import Claim, Experiment, Registry, Variant
from pifolab.reproduce.studies import STUDIES
from pifolab.reproduce.toml import read_toml
from pifolab.store import Store
from pifolab.sweep import Sweep, run_sweep
from pifolab.sweep.pool import Pool

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Measured", "Ran", "check_metrics", "experiments_folder", "run_experiments", "sweeps_of"]

#: What the size classes of completion times are called in expressions.
SIZES = {"all": "all", "< 100 KB": "small", "100 KB to 1 MB": "medium", ">= 1 MB": "large"}

#: Called with experiments done, of all, and what is being done.
Progress = Callable[[int, int, str], None]


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

    def by_seed(self) -> dict[int, Results]:
        """Return what expressions see, for each seed."""
        seeds: set[int] = set()
        for frame in self.frames.values():
            seeds.update(frame["seed"].unique().to_list())
        return {
            seed: Results({name: frame.filter(seed=seed) for name, frame in self.frames.items()})
            for seed in sorted(seeds)
        }


def experiments_folder() -> Path:
    """Return the folder with the scenarios: in a checkout `experiments/`.

    Raises
    ------
    InputError
        There is none; it is not part of an installed package.
    """
    for place in (Path(__file__).resolve().parents[3] / "experiments", Path.cwd() / "experiments"):
        if (place / "packs" / "fig3.toml").is_file():
            return place
    raise InputError(
        "the scenarios are not here: run pifolab reproduce in a checkout of pifolab, which has experiments/"
    )


class _SharedPool:
    """Worker processes that outlive a sweep: starting them costs more than many of our runs."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def __enter__(self) -> _SharedPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def free(self) -> int:
        return self._pool.free()

    def submit(self, job: dict[str, Any]) -> None:
        self._pool.submit(job)

    def wait(self, timeout_s: float) -> list[dict[str, Any]]:
        return self._pool.wait(timeout_s)


def sweeps_of(experiment: Experiment, variant: Variant, registry: Registry, depth: str, folder: Path) -> list[Sweep]:
    """Return the sweeps of one variant at a depth, one for each scenario.

    Raises
    ------
    InputError
        A scenario cannot be read, or an override fits none of the scenarios.
    """
    length = registry.depths[depth].lengths[variant.length]
    used: set[str] = set()
    sweeps = []
    for place, scenario in enumerate(variant.scenarios):
        file = folder / scenario
        labels = _labels(read_toml(file))
        overrides = {key: value for key, value in variant.overrides.items() if _fits(key, labels)}
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
        written = {
            "scenario": str(file.absolute()),
            "title": f"{experiment.id}, {variant.name}",
            "seeds": list(range(1, length.seeds + 1)),
            "axis": axes,
            "set": overrides,
            "tables": list(experiment.tables),
            "metrics": [],
        }
        sweeps.append(Sweep.from_dict(written, file=f"{experiment.id}-{variant.name}-{place + 1}"))
    unused = set(variant.overrides) - used
    if unused:
        raise InputError(
            f"experiment {experiment.id}, {variant.name}: {', '.join(sorted(unused))}: no scenario has that"
        )
    return sweeps


def _labels(scenario: Mapping[str, Any]) -> set[str]:
    return {one.get("label", one.get("name", "")) for one in scenario.get("scheduler", [])}


def _fits(key: str, labels: set[str]) -> bool:
    """Return whether a scenario with these schedulers has what `key` sets."""
    first, _, rest = key.partition(".")
    return first != "scheduler" or rest.rpartition(".")[0] in labels


def run_experiments(
    registry: Registry,
    claims: Iterable[Claim],
    depth: str,
    store: Store,
    *,
    workers: int | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> dict[tuple[str, str], Measured]:
    """Run whatever the claims need and the store does not have.

    Raises
    ------
    InputError
        A scenario or an override is wrong.
    """
    folder = folder or experiments_folder()
    claims = list(claims)
    names = list(dict.fromkeys(name for claim in claims for name in claim.experiments if not claim.status))
    wanted = [
        (registry.experiments[name], variant) for name in names for variant in registry.experiments[name].variants
    ]
    check_metrics(registry, claims, folder)
    # All of it is checked before the first run: a slip in the last experiment should not cost hours.
    planned = [
        (one, variant, [] if one.study else sweeps_of(one, variant, registry, depth, folder)) for one, variant in wanted
    ]
    tell = progress or (lambda done, of, what: None)
    measured: dict[tuple[str, str], Measured] = {}
    count = workers or os.cpu_count() or 1
    pool: Pool | None = None
    try:
        for done, (experiment, variant, sweeps) in enumerate(planned):
            tell(done, len(planned), f"{experiment.id} ({variant.name})")
            if experiment.study:
                measured[experiment.id, variant.name] = _studied(experiment, variant, registry, depth)
                continue
            if pool is None:
                pool = Pool(count, store.path)
                pool.__enter__()
            shared = _SharedPool(pool)
            parts: dict[str, list[pl.DataFrame]] = {}
            ran = []
            for sweep, scenario in zip(sweeps, variant.scenarios, strict=True):
                result = run_sweep(sweep, store, count, engine=lambda _store, shared=shared: shared)  # type: ignore[misc]
                failures = [f"{failure.name}: {failure.reason}" for failure in result.failures]
                ran.append(Ran(scenario, dict(sweep.fixed), sweep.seeds, result.runs["run"].to_list(), failures))
                if result.runs.height > len(result.failures):
                    for name in experiment.tables:
                        parts.setdefault(name, []).append(_prepared(result.table(name), variant))
            measured[experiment.id, variant.name] = Measured(experiment, variant, _joined(parts), ran)
        tell(len(planned), len(planned), "")
    finally:
        if pool is not None:
            pool.__exit__(None, None, None)
    return measured


def check_metrics(registry: Registry, claims: Iterable[Claim], folder: Path) -> None:
    """Check that the schedulers and axes that metrics name exist.

    Raises
    ------
    InputError
        One does not; the text names the claim.
    """
    from pifolab import _pifolab

    known: dict[str, tuple[set[str], set[str]]] = {}
    for claim in claims:
        for part in claim.parts:
            experiment = registry.experiments[part.experiment]
            if experiment.study:
                continue
            if experiment.id not in known:
                files = {scenario for variant in experiment.variants for scenario in variant.scenarios}
                labels = {label for file in files for label in _labels(read_toml(folder / file))}
                known[experiment.id] = labels, {axis.name for variant in experiment.variants for axis in variant.axes}
            labels, axes = known[experiment.id]
            place = f"claim {claim.id}: {part.metric.text!r}"
            for function, name in part.metric.calls():
                if function == "axis" and name is not None and name not in axes:
                    raise InputError(f"{place}: {_pifolab.unknown_name('axis', name, sorted(axes))}")
                if function in ("of", "fct") and name is not None and name not in labels:
                    raise InputError(f"{place}: {_pifolab.unknown_name('scheduler', name, sorted(labels))}")


def _prepared(frame: pl.DataFrame, variant: Variant) -> pl.DataFrame:
    import polars as pl

    if "class" in frame.columns:
        frame = frame.with_columns(pl.col("class").replace(SIZES).alias("size"))
    return frame.with_columns(pl.col(axis.name).cast(pl.Float64) for axis in variant.axes)


def _joined(parts: Mapping[str, list[pl.DataFrame]]) -> dict[str, pl.DataFrame]:
    import polars as pl

    return {name: pl.concat(several, how="diagonal_relaxed") for name, several in parts.items()}


def _studied(experiment: Experiment, variant: Variant, registry: Registry, depth: str) -> Measured:
    import polars as pl

    seeds = tuple(range(1, registry.depths[depth].lengths[variant.length].seeds + 1))
    parts: dict[str, list[pl.DataFrame]] = {}
    for seed in seeds:
        for name, frame in STUDIES[experiment.study](seed).items():
            parts.setdefault(name, []).append(frame.with_columns(pl.lit(seed).alias("seed")))
    return Measured(experiment, variant, _joined(parts), [Ran(f"study {experiment.study}", {}, seeds, [])])
