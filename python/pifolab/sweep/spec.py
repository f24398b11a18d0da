"""The content of a sweep file: base scenarios, axes, seeds, derived parameters; checked before anything runs."""

from __future__ import annotations

import datetime
import itertools
import math
import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.catalogue import study_keys
from pifolab.errors import InputError
from pifolab.section import Section, as_written, below
from pifolab.statistics.metrics import Metric
from pifolab.sweep.axes import SCENARIO, SCHEDULER, Axis, Point
from pifolab.sweep.comparison import Claim, Comparison
from pifolab.sweep.custom import Custom
from pifolab.sweep.derive import Expression, unknown_axis
from pifolab.sweep.figure import Drawing
from pifolab.text import read_text
from pifolab.toml import line_of, parse_toml, to_toml

#: Columns that every table of a sweep has.
_RESERVED = ("run", "seed")

_AXIS_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SWEEP_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_MAX_SEED = 2**63 - 1

#: A sweep has at most so many runs; each takes about a kilobyte before the first one starts.
MOST_RUNS = 100_000
#: So many combinations of points are looked at, of which those count that differ where all axes apply.
_MOST_POSITIONS = 100 * MOST_RUNS

#: The default metrics of statistics, for scenarios and kept tables that have them.
DEFAULT_METRICS = ("inversions", "dropped_packets", "sojourn_mean_ns")


@dataclass(frozen=True)
class Setting:
    """One combination of axes: everything about a run but its seed."""

    #: The column of each axis; None where the axis does not apply.
    labels: dict[str, Any]
    #: Dotted paths and their values in the scenario, as TOML.
    overrides: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The combination in one line."""
        return ", ".join(f"{axis} = {label}" for axis, label in self.labels.items() if label is not None) or "base"


@dataclass(frozen=True)
class Sweep:
    """Many runs of one scenario or of several: every combination of the axes, with every seed.

    Attributes
    ----------
    name : str
        Names the sweep in a store: the file's name without ending.
    scenario : Path
        The base scenario; of several the first.
    bases : dict of str to tuple
        The file and the text of each base scenario, by its label; one base scenario has the label ``""``.
    axes : tuple of Axis
        The axes; the first one changes slowest.
    zips : tuple of tuple of str
        Axes that advance together.
    seeds : tuple of int
        The seeds of every combination.
    metrics : tuple of Metric
        The metrics.
    comparisons : tuple of Comparison
        Ratios between combinations, and statements about them.
    claims : tuple of Claim
        Other numbers, and statements about them.
    figures : tuple of Drawing
        How metrics are drawn, where not as usual.
    tables : tuple of str, optional
        The tables that are kept; None for all.
    time_limit_s : float, optional
        A run that takes longer is given up.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "base.toml").write_text('''
    ...     duration_s = 0.001
    ...     link = { rate_gbps = 10 }
    ...     workload = { arrivals = "constant", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }
    ...     scheduler = [{ name = "fifo" }]
    ... ''')
    >>> sweep = Sweep.from_dict({
    ...     "scenario": str(folder / "base.toml"),
    ...     "seeds": [1, 2, 3],
    ...     "axis": {"scheduler": ["pifo", "packs"], "load_gbps": {"key": "workload.rate_gbps", "values": [9, 11]}},
    ... })
    >>> [setting.name for setting in sweep.settings()][:2]
    ['scheduler = pifo, load_gbps = 9', 'scheduler = pifo, load_gbps = 11']
    """

    name: str
    file: str
    scenario: Path
    bases: dict[str, tuple[Path, str]]
    title: str | None
    axes: tuple[Axis, ...]
    zips: tuple[tuple[str, ...], ...]
    seeds: tuple[int, ...]
    fixed: tuple[tuple[str, str], ...]
    derived: tuple[tuple[str, Expression], ...]
    metrics: tuple[Metric, ...]
    comparisons: tuple[Comparison, ...]
    claims: tuple[Claim, ...]
    figures: tuple[Drawing, ...]
    tables: tuple[str, ...] | None
    time_limit_s: float | None
    custom: Custom
    _text: str = field(default="", repr=False)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Sweep:
        """Read a sweep file, and files that it names beside it; raises `InputError` with file, line and key."""
        file = Path(path)
        text = read_text(file)
        return cls.from_dict(parse_toml(text, str(file)), file=str(file), text=text)

    @classmethod
    def from_dict(cls, written: Mapping[str, Any], *, file: str = "sweep", text: str = "") -> Sweep:
        """Make a sweep from the content of a sweep file; `file` is its name in errors, and its place."""
        reader = _Reader(written, file, text)
        return reader.read(cls)

    def with_seeds(self, seeds: Sequence[int]) -> Sweep:
        """Return the same sweep with other seeds."""
        return replace(self, seeds=_checked_seeds(list(seeds), "seeds"))

    def place(self, *path: str) -> str:
        """Return the place of a key for the beginning of an error: file, line (if known), key."""
        return _place(self.file, self._text, path)

    def base(self, labels: Mapping[str, Any]) -> tuple[Path, str]:
        """Return the file and the text of the base scenario of a combination with these labels."""
        return self.bases[labels[SCENARIO] if len(self.bases) > 1 else ""]

    def settings(self) -> list[Setting]:
        """Return every combination of the axes, in order.

        Raises `InputError` if a derived parameter cannot be computed, or there are more than `MOST_RUNS` runs.
        """
        settings = []
        self._check_count(math.prod(len(group[0].points) for group in self._groups()), _MOST_POSITIONS)
        for labels, values in self._combinations():
            changes = []
            for axis in self.axes:
                if axis.key and axis.name in values:
                    changes += self._overrides(axis, values[axis.name], labels)
            for key, expression in self.derived:
                # An axis that depends on an inapplicable axis does not apply either.
                if all(name in values for name in expression.names):
                    changes.append((key, to_toml(expression.value(values))))
            # Where an axis with a where applies, it takes the place of what is set of all runs. Whether anything else
            # is set twice was checked; under two names the scenario refuses it.
            replaced = [key for key, _ in changes if key != SCHEDULER]
            kept = [
                pair for pair in self.fixed
                if not any(pair[0] == key or pair[0].startswith(f"{key}.") for key in replaced)
            ]  # fmt: skip
            overrides = kept + changes
            # A scheduler's own parameters can be set only after the scheduler itself.
            overrides.sort(key=lambda pair: pair[0] != SCHEDULER)
            settings.append(Setting(labels, tuple(overrides)))
            self._check_count(len(settings), MOST_RUNS // len(self.seeds))
        return settings

    def _check_count(self, combinations: int, most: int) -> None:
        if combinations > most:
            raise InputError(
                f"{self.place('axis')}: gives over {most} combinations, with {len(self.seeds)} seeds each: "
                f"expected at most {MOST_RUNS} runs"
            )

    def _combinations(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Yield labels and values by axis; an axis that does not apply has the label None and no value."""
        groups = self._groups()
        seen = set()
        for choice in itertools.product(*(range(len(group[0].points)) for group in groups)):
            position = {axis.name: at for group, at in zip(groups, choice, strict=True) for axis in group}
            labels: dict[str, Any] = {}
            # An axis may depend on those before it only (as was checked), so one pass settles them.
            for axis in self.axes:
                point = axis.points[position[axis.name]]
                labels[axis.name] = point.label if axis.applies(labels) else None
            key = tuple(labels.values())
            if key in seen:
                continue
            seen.add(key)
            values = {
                axis.name: axis.points[position[axis.name]].value for axis in self.axes if labels[axis.name] is not None
            }
            yield labels, values

    def _groups(self) -> list[list[Axis]]:
        by_name = {axis.name: axis for axis in self.axes}
        groups: list[list[Axis]] = []
        used: set[str] = set()
        for axis in self.axes:
            if axis.name in used:
                continue
            zipped = next((names for names in self.zips if axis.name in names), (axis.name,))
            groups.append([by_name[name] for name in zipped])
            used.update(zipped)
        return groups

    def _overrides(self, axis: Axis, value: Any, labels: Mapping[str, Any]) -> list[tuple[str, str]]:
        if axis.key != SCHEDULER:
            # A plain text goes as it is, as on the command line: "1/10" is a fraction there.
            return [(axis.key, value if isinstance(value, str) else to_toml(value))]
        file, text = self.base(labels)
        base = parse_toml(text, str(file)).get(SCHEDULER, [])
        if isinstance(value, str):
            members = base if isinstance(base, list) else []
            called = [one for one in members if value in (one.get("label"), one.get("name"))]
            member = next(
                (one for one in called if one.get("label") == value), called[0] if called else {"name": value}
            )
            chosen = dict(member)
        else:
            chosen = dict(value)
        label = str(labels[axis.name])
        if label != chosen.get("name"):
            chosen["label"] = label
        return [(SCHEDULER, to_toml([chosen]))]


class _Reader:
    """Reads a sweep file key by key; every fault names its place."""

    def __init__(self, written: Mapping[str, Any], file: str, text: str) -> None:
        self.written, self.file, self.text = written, file, text

    def place(self, *path: str) -> str:
        return _place(self.file, self.text, path)

    def read(self, make: type[Sweep]) -> Sweep:
        self.section = Section(self.place, self.written, study_keys()["study"])
        self._check_values(self.written)
        files = self._scenarios()
        bases = {label: (file, read_text(file)) for label, file in files.items()}
        scenario, scenario_text = next(iter(bases.values()))
        base = parse_toml(scenario_text, str(scenario))
        axes = self._axes(list(bases) if len(bases) > 1 else [])
        zips = self._zips(axes)
        derived = self._derived(axes)
        self._check_effect(axes, derived)
        fixed = self._fixed()
        self._check_keys(fixed, axes, derived)
        title = self._text("title")
        metrics = self._metrics(base, bases)
        return make(
            name=self._name(),
            file=self.file,
            scenario=scenario,
            bases=bases,
            title=title,
            axes=axes,
            zips=zips,
            seeds=self._seeds(base, scenario),
            fixed=fixed,
            derived=derived,
            metrics=metrics,
            comparisons=self._comparisons(axes, metrics),
            claims=self._claims(),
            figures=self._figures(axes, metrics),
            tables=self._tables(),
            time_limit_s=self._time_limit(),
            custom=Custom.read(self.written, Path(self.file).parent, self.place),
            _text=self.text,
        )

    def _check_values(self, value: Any, path: tuple[str, ...] = (), member: str = "") -> None:
        """Refuse values that no scenario accepts, such as 1e99999999, whose exact form would fill the memory."""
        if isinstance(value, Mapping):
            for key, inner in value.items():
                # The known line, if any, is the one of the table around a member of a list.
                self._check_values(inner, path if member else (*path, str(key)), f"{member}.{key}" if member else "")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            for at, inner in enumerate(value):
                self._check_values(inner, path, f"{member}[{at}]")
        else:
            expected = _unfit(value)
            if expected:
                raise InputError(f"{self.place(*path)}{member} = {as_written(value)}: expected {expected}")

    def _check_keys(
        self,
        fixed: tuple[tuple[str, str], ...],
        axes: tuple[Axis, ...],
        derived: tuple[tuple[str, Expression], ...],
    ) -> None:
        """Refuse keys that replace a value from another part of the file: its column would have no effect.

        An axis with a where may replace what `set` says of all runs, in those where it applies.
        """
        by_name = {axis.name: axis for axis in axes}
        # The parts that set keys, in the order of their effect, and the axes without which each has no effect.
        writers: list[tuple[tuple[str, ...], str, list[Axis]]] = [(("set", key), key, []) for key, _ in fixed]
        writers += [(("axis", axis.name, "key"), axis.key, [axis]) for axis in axes if axis.key]
        writers += [
            (("derived", key), key, [by_name[name] for name in sorted(expression.names)]) for key, expression in derived
        ]
        # The part that has set each key, or a key inside it. A key may have a thousand parts: only whole keys are kept.
        lengths = {len(key) for _, key, _ in writers}
        known: dict[str, list[tuple[tuple[str, ...], str, list[Axis]]]] = defaultdict(list)
        for path, key, needs in writers:
            for earlier_path, earlier, others in known[key]:
                # The scheduler is set first of all, then its parameters.
                if key == SCHEDULER and earlier != key:
                    continue
                if not others and any(axis.where for axis in needs):
                    continue
                if not any(_never_together(b, a) or _never_together(a, b) for a in others for b in needs):
                    raise InputError(
                        f"{self.place(*path)}: sets {key}, and {'.'.join(earlier_path[:2])} sets {earlier}: "
                        "only one of them could have an effect; remove the other"
                    )
            for length in lengths:
                if f"{key}."[length : length + 1] == ".":
                    known[key[:length]].append((path, key, needs))

    def _name(self) -> str:
        stem = Path(self.file).stem
        return stem if _SWEEP_NAME.fullmatch(stem) else re.sub(r"[^A-Za-z0-9_.-]", "-", stem).strip("-.") or "sweep"

    def _text(self, key: str) -> str | None:
        if self.written.get(key) is None:
            return None
        return self.section.text(key, empty=False)

    def _scenarios(self) -> dict[str, Path]:
        written = self.written.get("scenario")
        if isinstance(written, Mapping):
            section = Section(partial(self.place, "scenario"), written, tuple(written))
            if len(written) < 2:
                raise InputError(f"{self.place('scenario')}: expected a file, or a table of at least two")
            return {label: Path(self.file).parent / section.text(label, empty=False) for label in written}
        name = self._text("scenario")
        if name is None:
            raise InputError(f"{self.place('scenario')}: is missing: expected the file of the base scenario")
        return {"": Path(self.file).parent / name}

    def _axes(self, scenarios: Sequence[str]) -> tuple[Axis, ...]:
        """Read the axes; `scenarios` are the labels of the first one, where there are several base scenarios."""
        written = self.written.get("axis", {})
        if not isinstance(written, Mapping):
            raise InputError(f"{self.place('axis')}: expected tables [axis.NAME]")
        axes = [Axis(SCENARIO, "", tuple(Point(label, label) for label in scenarios))] if scenarios else []
        for name, one in written.items():
            place = self.place("axis", name)
            if not _AXIS_NAME.fullmatch(name):
                raise InputError(f"{place}: expected a name of letters, digits and _")
            if name in _RESERVED or (scenarios and name == SCENARIO):
                raise InputError(f"{place}: {name} is also a column; give the axis another name")
            axis = Axis.read(name, one, partial(self.place, "axis", name))
            for other, labels in axis.where.items():
                self._check_where(axis, other, labels, axes)
            for earlier in axes:
                if axis.key and axis.key == earlier.key and not _never_together(axis, earlier):
                    raise InputError(f"{place}.key = {axis.key!r}: axis {earlier.name} sets it already")
            axes.append(axis)
        return tuple(axes)

    def _check_where(self, axis: Axis, other: str, labels: tuple[Any, ...], before: list[Axis]) -> None:
        place = self.place("axis", axis.name, "where")
        known = {one.name: one for one in before}
        if other not in known:
            raise InputError(f"{place}: {unknown_axis(other, known)} before it")
        there = [point.label for point in known[other].points]
        for label in labels:
            if label not in there:
                raise InputError(f"{place}.{other}: {label!r} is not one of its values ({', '.join(map(str, there))})")

    def _zips(self, axes: tuple[Axis, ...]) -> tuple[tuple[str, ...], ...]:
        written = self.written.get("zip", [])
        place = self.place("zip")
        if not isinstance(written, list) or not all(isinstance(group, list) for group in written):
            raise InputError(f'{place} = {written!r}: expected lists of axes, such as [["load", "window"]]')
        by_name = {axis.name: axis for axis in axes}
        seen: set[str] = set()
        for group in written:
            if len(group) < 2:
                raise InputError(f"{place}: {group!r}: expected at least two axes to advance together")
            for name in group:
                if name not in by_name:
                    raise InputError(f"{place}: {unknown_axis(str(name), by_name)}")
                if name in seen:
                    raise InputError(f"{place}: duplicate {name}")
                if by_name[name].where:
                    raise InputError(f"{place}: {name} has a where; zipped axes always apply")
                seen.add(name)
            lengths = {name: len(by_name[name].points) for name in group}
            if len(set(lengths.values())) > 1:
                shown = ", ".join(f"{name} has {count} values" for name, count in lengths.items())
                raise InputError(f"{place}: axes of unequal length cannot be zipped: {shown}")
        return tuple(tuple(group) for group in written)

    def _seeds(self, base: Mapping[str, Any], scenario: Path) -> tuple[int, ...]:
        if "seeds" not in self.written:
            return _checked_seeds(base.get("seeds", [1]), f"{scenario}: seeds")
        written, place = self.written["seeds"], self.place("seeds")
        if isinstance(written, Mapping):
            section = Section(below(place), written, study_keys()["seeds"])
            first, count = section.count("first", 1, least=0), section.count("count")
            if count > MOST_RUNS:
                raise InputError(f"{place}.count = {count}: expected at most {MOST_RUNS} seeds")
            written = list(range(first, first + count))
        return _checked_seeds(written, place)

    def _fixed(self) -> tuple[tuple[str, str], ...]:
        written = self.written.get("set", {})
        if not isinstance(written, Mapping):
            raise InputError(f"{self.place('set')}: expected a table from keys to values")
        fixed = []
        for key, value in written.items():
            if key in ("seeds", "title", "description"):
                raise InputError(f"{self.place('set', key)}: has no effect in a sweep; remove it")
            fixed.append((key, value if isinstance(value, str) else to_toml(value)))
        return tuple(fixed)

    def _derived(self, axes: tuple[Axis, ...]) -> tuple[tuple[str, Expression], ...]:
        written = self.written.get("derived", {})
        if not isinstance(written, Mapping):
            raise InputError(f"{self.place('derived')}: expected a table from keys to expressions")
        derived = []
        for key, text in _leaves(written):
            place = self.place("derived", key)
            if not isinstance(text, str):
                raise InputError(f'{place} = {text!r}: expected an expression in quotes, such as "80 / queues"')
            expression = Expression(text, place)
            expression.check_names({axis.name for axis in axes})
            derived.append((key, expression))
        return tuple(derived)

    def _check_effect(self, axes: tuple[Axis, ...], derived: tuple[tuple[str, Expression], ...]) -> None:
        used = {name for _, expression in derived for name in expression.names}
        for axis in axes:
            if not axis.key and axis.name not in used and axis.name != SCENARIO:
                place = self.place("axis", axis.name, "key")
                raise InputError(f'{place} = "": the axis has no effect: no derived parameter uses it')

    def _metrics(self, base: Mapping[str, Any], scenarios: Collection[str]) -> tuple[Metric, ...]:
        written, place = self.written.get("metrics"), self.place("metrics")
        if written is None:
            tables = self._tables()
            has_them = "link" in base and (tables is None or "schedulers" in tables)
            return tuple(Metric.read(name, place) for name in (DEFAULT_METRICS if has_them else ()))
        if not isinstance(written, list):
            raise InputError(f"{place} = {written!r}: expected a list of columns or tables")
        metrics = tuple(Metric.read(one, f"{place}[{at}]") for at, one in enumerate(written))
        names = [metric.name for metric in metrics]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"{place}: duplicate {name}")
        for at, metric in enumerate(metrics):
            if metric.scenario is not None and metric.scenario not in scenarios:
                known = [label for label in scenarios if label]
                problem = _pifolab.unknown_name("scenario", metric.scenario, known) if known else "there is one only"
                raise InputError(f"{place}[{at}].scenario: {problem}")
        return metrics

    def _comparisons(self, axes: tuple[Axis, ...], metrics: tuple[Metric, ...]) -> tuple[Comparison, ...]:
        written, place = self._several("compare"), self.place("compare")
        return tuple(Comparison.read(one, f"{place}[{at}]", axes, metrics) for at, one in enumerate(written))

    def _claims(self) -> tuple[Claim, ...]:
        written, place = self._several("claim"), self.place("claim")
        claims = tuple(Claim.read(one, f"{place}[{at}]") for at, one in enumerate(written))
        self._refuse_duplicates([one.name for one in claims], "claim", "name")
        return claims

    def _figures(self, axes: tuple[Axis, ...], metrics: tuple[Metric, ...]) -> tuple[Drawing, ...]:
        place, known = self.place("figure"), [one.name for one in metrics]
        names = [axis.name for axis in axes]
        figures = tuple(
            Drawing.read(one, f"{place}[{at}]", known, names) for at, one in enumerate(self._several("figure"))
        )
        self._refuse_duplicates([one.metric for one in figures], "figure", "metric")
        return figures

    def _several(self, key: str) -> list[Any]:
        written = self.written.get(key, [])
        if not isinstance(written, list):
            raise InputError(f"{self.place(key)}: expected tables [[{key}]]")
        return written

    def _refuse_duplicates(self, names: Sequence[str], table: str, key: str) -> None:
        for at, name in enumerate(names):
            if name in names[:at]:
                raise InputError(f"{self.place(table)}[{at}].{key}: duplicate {name}")

    def _tables(self) -> tuple[str, ...] | None:
        written, place = self.written.get("tables"), self.place("tables")
        if written is None:
            return None
        if not isinstance(written, list) or not written or not all(isinstance(name, str) for name in written):
            raise InputError(f'{place} = {written!r}: expected a list of tables, such as ["schedulers", "ranks"]')
        return tuple(dict.fromkeys(written))

    def _time_limit(self) -> float | None:
        value = self.written.get("time_limit_s")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)) or not 0 < value < 10**9:
            raise InputError(f"{self.place('time_limit_s')} = {as_written(value)}: expected a number above 0")
        return float(value)


def _place(file: str, text: str, path: Sequence[str]) -> str:
    line = line_of(text, path) if text else None
    return f"{file}:{line}: {'.'.join(path)}" if line else f"{file}: {'.'.join(path)}"


def _unfit(value: Any) -> str | None:
    """Return the expected form instead of `value`; None if a scenario may contain the value."""
    if isinstance(value, (datetime.date, datetime.time)):
        return "a number, a text, a truth value, a list or a table"
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    exact = Decimal(value)
    if not exact.is_finite():
        return "a finite number"
    # The quotient of any two of them is a float.
    return None if not value or -150 <= exact.adjusted() < 150 else "0, or a number from 1e-150 to 1e150"


def _never_together(one: Axis, other: Axis) -> bool:
    """Return whether the two apply to different runs."""
    return any(name in other.where and not set(labels) & set(other.where[name]) for name, labels in one.where.items())


def _leaves(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        inner = f"{path}.{key}" if path else key
        if isinstance(value, Mapping):
            yield from _leaves(value, inner)
        else:
            yield inner, value


def _checked_seeds(written: Any, place: str) -> tuple[int, ...]:
    if not isinstance(written, list):
        raise InputError(f"{place} = {written!r}: expected a list of integers, or a table with first and count")
    if not written:
        raise InputError(f"{place} = []: expected at least one seed")
    if len(written) > MOST_RUNS:
        raise InputError(f"{place}: has {len(written)} seeds: expected at most {MOST_RUNS}")
    for at, seed in enumerate(written):
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= _MAX_SEED:
            shown = to_toml(seed) if not isinstance(seed, (int, bool)) else str(seed)
            raise InputError(f"{place}[{at}] = {shown}: expected an integer from 0 to 2^63 - 1")
    seen = set()
    for seed in written:
        if seed in seen:
            raise InputError(f"{place}: duplicate seed {seed}")
        seen.add(seed)
    return tuple(written)
