"""From a sweep to its runs, each with the hash that it has in a store; nothing has run when this is done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pifolab import _pifolab
from pifolab.errors import InputError, ParameterError
from pifolab.lazy import pl
from pifolab.provenance import code_version
from pifolab.sweep.check import check_comparisons, check_results
from pifolab.sweep.spec import Setting, Sweep

#: The keys of a specification that have no effect on results.
_NO_EFFECT = ("title", "description", "seeds")

#: The table of a sweep for each kind of thing that a scenario may name and the library need not have.
_TABLES = {"scheduler": "schedulers", "rank function": "ranks", "congestion controller": "controllers"}


@dataclass(frozen=True)
class PlannedRun:
    """One run: a combination of axes with one seed."""

    #: Its name in the store, a hash of everything that decides its results.
    key: str
    seed: int
    setting: Setting
    #: The digests of the files that its scenario names, by the keys that name them.
    inputs: dict[str, str]

    @property
    def name(self) -> str:
        """The run in one line."""
        return f"{self.setting.name}, seed = {self.seed}"


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep, the first seed of every combination first, so that half a sweep already shows all of it."""

    sweep: Sweep
    settings: tuple[Setting, ...]
    digests: tuple[str, ...]
    code: str
    #: Of each combination, as a run of it has them.
    inputs: tuple[dict[str, str], ...]
    #: The digests of the Python files that the sweep brings along, by absolute path.
    python: dict[str, str]

    def runs(self, seeds: Sequence[int] | None = None) -> list[PlannedRun]:
        """Return the runs with `seeds`, by default the seeds of the sweep."""
        return [
            self.run(place, seed)
            for seed in (self.sweep.seeds if seeds is None else seeds)
            for place in range(len(self.settings))
        ]

    def run(self, place: int, seed: int) -> PlannedRun:
        """Return the run of the combination at `place` with `seed`."""
        text = f"{self.digests[place]}\n{seed}\n{self.code}"
        key = hashlib.sha256(text.encode()).hexdigest()[:32]
        return PlannedRun(key, seed, self.settings[place], self.inputs[place])

    @property
    def identity(self) -> str:
        """A hash of the combinations, whatever the seeds: two sweeps with the same one differ in seeds only."""
        labels = json.dumps([setting.labels for setting in self.settings], sort_keys=True, default=str)
        return hashlib.sha256("\n".join([self.code, *self.digests, labels]).encode()).hexdigest()[:32]

    def frame(self, runs: Sequence[PlannedRun]) -> pl.DataFrame:
        """Return `runs` as a frame: ``run``, ``seed``, and a column for each axis."""
        columns: list[pl.Series] = [
            pl.Series("run", [run.key for run in runs], dtype=pl.String),
            pl.Series("seed", [run.seed for run in runs], dtype=pl.Int64),
        ]
        for axis in self.sweep.axes:
            kinds = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}
            labels = [run.setting.labels[axis.name] for run in runs]
            columns.append(pl.Series(axis.name, labels, dtype=kinds[type(axis.points[0].label)]))
        return pl.DataFrame(columns)

    def job(self, run: PlannedRun) -> dict[str, Any]:
        """Return the job of `run` for a worker, as values that JSON can represent."""
        sweep = self.sweep
        file, text = sweep.base(run.setting.labels)
        return {
            "run": run.key,
            "code": self.code,
            "text": text,
            "file": str(file.absolute()),
            "overrides": [list(pair) for pair in run.setting.overrides],
            "seed": run.seed,
            "python": {
                kind: {name: list(one) for name, one in own.items()} for kind, own in sweep.custom.named.items()
            },
            "tables": None if sweep.tables is None else list(sweep.tables),
            "python_files": self.python,
            "inputs": run.inputs,
            "time_limit_s": sweep.time_limit_s,
            "name": run.name,
        }


class Together:
    """The runs of several plans, each once, with every table that any of the plans needs."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._runs: dict[str, tuple[Plan, PlannedRun]] = {}
        self._tables: dict[str, tuple[str, ...] | None] = {}
        for plan in plans:
            for run in plan.runs():
                self.add(plan, run)

    def add(self, plan: Plan, run: PlannedRun) -> None:
        """Add a run of `plan`; one that another plan has too gets the tables of both."""
        wanted = plan.sweep.tables
        if run.key in self._runs:
            others = self._tables[run.key]
            wanted = None if wanted is None or others is None else tuple(dict.fromkeys((*others, *wanted)))
        self._runs.setdefault(run.key, (plan, run))
        self._tables[run.key] = wanted

    def runs(self) -> list[PlannedRun]:
        """Return the runs in the order of the plans."""
        return [run for _, run in self._runs.values()]

    def plan_of(self, run: PlannedRun) -> Plan:
        """Return the first plan that has `run`."""
        return self._runs[run.key][0]

    def tables_of(self, run: PlannedRun) -> tuple[str, ...] | None:
        """Return the tables that are wanted of `run`; None: all there are."""
        return self._tables[run.key]

    def job(self, run: PlannedRun) -> dict[str, Any]:
        """Return the job of `run` for a worker."""
        tables = self._tables[run.key]
        return self.plan_of(run).job(run) | {"tables": None if tables is None else list(tables)}


def make_plan(sweep: Sweep) -> Plan:
    """Check every combination of `sweep` as a run of it would, and return its runs.

    Raises `InputError` for a wrong combination, with the sweep, the combination, and the fault of the scenario.
    """
    code = code_version()
    custom = sweep.custom.contents()
    python = sweep.custom.files()
    makers = sweep.custom.makers()
    # Observers decide nothing.
    del makers["observers"]
    settings = sweep.settings()
    digests, inputs, schedulers = [], [], []
    for setting in settings:
        file, text = sweep.base(setting.labels)
        try:
            # The specification has the digest of a file beside the key that names the file.
            written, files = _pifolab.resolve_scenario(text, str(file), list(setting.overrides), **makers)
        except (InputError, ParameterError) as error:
            raise InputError(f"{sweep.file}: {setting.name}: {_without_flag(error)}{_own_classes(error)}") from None
        resolved = {name: value for name, value in json.loads(written).items() if name not in _NO_EFFECT}
        decided = json.dumps([resolved, custom], sort_keys=True, ensure_ascii=False)
        digests.append(hashlib.sha256(decided.encode()).hexdigest())
        inputs.append(files)
        schedulers.append([one["label"] for one in resolved["scheduler"]])
    check_comparisons(sweep, settings, schedulers)
    check_results(sweep, settings, makers)
    return Plan(sweep, tuple(settings), tuple(digests), code, tuple(inputs), python)


def _without_flag(error: InputError | ParameterError) -> str:
    """Return the text of `error` without the option --set, which the sweep used in place of the user."""
    return str(error.changed(flag=None) if isinstance(error, InputError) and error.flag else error)


def _own_classes(error: InputError | ParameterError) -> str:
    """Return the hint for a name in a scenario that neither the library nor the sweep has."""
    if not isinstance(error, InputError) or error.unknown is None:
        return ""
    return f"; classes of your own come from the table {_TABLES[error.unknown]} of the sweep"
