"""One axis of a sweep: the key that it changes in the scenario, and its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from pifolab.catalogue import study_keys
from pifolab.errors import InputError
from pifolab.section import Section
from pifolab.toml import number_text

#: The axis of a sweep with several base scenarios: their labels.
SCENARIO = "scenario"

#: The key whose values are schedulers: by name, by their label in the base scenario, or as tables.
SCHEDULER = "scheduler"

#: More values than this are a slip in a step.
_MOST_VALUES = 100_000


@dataclass(frozen=True)
class Point:
    """One value of an axis."""

    #: The value in the column of the axis.
    label: int | float | str | bool
    #: The value for the scenario.
    value: Any


@dataclass(frozen=True)
class Axis:
    """A parameter that takes several values.

    Attributes
    ----------
    name : str
        The name of its column.
    key : str
        The key that it sets, as a dotted path such as ``link.rate_gbps``; empty if only derived parameters use it.
    points : tuple of Point
        Its values.
    where : dict
        It applies only to runs in which each of these axes has one of these labels.
    """

    name: str
    key: str
    points: tuple[Point, ...]
    where: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, name: str, written: Any, place: Callable[..., str]) -> Axis:
        """Make an axis from its table in a sweep file."""
        if isinstance(written, Sequence) and not isinstance(written, str):
            written = {"values": written}
        if not isinstance(written, Mapping):
            raise InputError(f"{place()} = {written!r}: expected a list of values, or a table with values or range")
        section = Section(place, written, study_keys()["axis"])
        target = written.get("key", name)
        if not isinstance(target, str):
            raise section.fault("key", "expected a dotted path such as link.rate_gbps")
        if ("values" in written) == ("range" in written):
            raise InputError(f"{place()}: expected either values or range")
        if "range" in written:
            values = _range(written["range"], partial(place, "range"))
        else:
            values = written["values"]
            if not isinstance(values, Sequence) or isinstance(values, str):
                raise InputError(f"{place('values')} = {values!r}: expected a list")
            if not values:
                raise InputError(f"{place('values')} = []: expected at least one value")
        for value in values if target == SCHEDULER else ():
            if not isinstance(value, (str, Mapping)):
                where = "range" if "range" in written else "values"
                raise InputError(
                    f'{place(where)}: the key "{SCHEDULER}" takes schedulers (names, labels, or tables with a name), '
                    f"got {value}; for one of their parameters set key to scheduler.PARAMETER"
                )
        labels = _labels(values, written.get("labels"), place)
        points = tuple(Point(label, value) for label, value in zip(labels, values, strict=True))
        return cls(name, target, points, _where(written.get("where", {}), place("where")))

    def applies(self, labels: Mapping[str, Any]) -> bool:
        """Return whether the axis has a value in runs with these labels of other axes."""
        return all(labels.get(other) in allowed for other, allowed in self.where.items())


def _labels(values: Sequence[Any], labels: Any, place: Callable[..., str]) -> list[Any]:
    if labels is not None:
        if not isinstance(labels, Sequence) or isinstance(labels, str):
            raise InputError(f"{place('labels')} = {labels!r}: expected a list of texts")
        if len(labels) != len(values):
            raise InputError(f"{place('labels')}: has {len(labels)} members for {len(values)} values")
        if not all(isinstance(label, str) and label for label in labels):
            raise InputError(f"{place('labels')}: expected texts that are not empty")
        found = list(labels)
    else:
        found = [_label(value, place) for value in values]
        if any(isinstance(label, float) for label in found) and not any(isinstance(label, str) for label in found):
            found = [label if isinstance(label, bool) else float(label) for label in found]
    if len({type(label) for label in found}) > 1:
        raise InputError(f"{place('values')}: mixes numbers and texts; give labels")
    seen = set()
    for label in found:
        if label in seen:
            raise InputError(f"{place('values')}: duplicate label {label!r}; give labels that differ, or remove one")
        seen.add(label)
    return found


def _label(value: Any, place: Callable[..., str]) -> Any:
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (Decimal, float)):
        return float(value)
    if isinstance(value, Mapping):
        for key in ("label", "name", "distribution"):
            if isinstance(value.get(key), str):
                return value[key]
    raise InputError(f"{place('values')}: {value!r} needs a label; give labels")


def _where(written: Any, place: str) -> dict[str, tuple[Any, ...]]:
    if not isinstance(written, Mapping):
        raise InputError(f"{place} = {written!r}: expected a table from axes to lists of values")
    allowed = {}
    for name, values in written.items():
        members = values if isinstance(values, Sequence) and not isinstance(values, str) else [values]
        if not members:
            raise InputError(f"{place}.{name} = []: expected at least one value")
        allowed[name] = tuple(float(value) if isinstance(value, Decimal) else value for value in members)
    return allowed


def _range(written: Any, place: Callable[..., str]) -> list[int | Decimal]:
    if not isinstance(written, Mapping):
        raise InputError(f"{place()} = {written!r}: expected a table with from, to, and step or count")
    section = Section(place, written, study_keys()["range"])
    section.required("from", "to")
    for key in ("from", "to", "step"):
        if key in section:
            section.number(key)
    start, end = (Fraction(str(written[key])) for key in ("from", "to"))
    if end < start:
        raise InputError(f"{place()}: is empty: from = {written['from']} lies above to = {written['to']}")
    if ("step" in written) == ("count" in written):
        raise InputError(f"{place()}: expected either step or count")
    spacing = written.get("spacing", "linear")
    if spacing not in ("linear", "log"):
        raise InputError(f"{place('spacing')} = {spacing!r}: expected linear or log")
    whole = all(isinstance(written[key], int) for key in ("from", "to"))
    if "step" in written:
        if spacing == "log":
            raise InputError(f"{place('spacing')}: log needs count instead of step")
        step = Fraction(str(written["step"]))
        if step <= 0:
            raise InputError(f"{place('step')} = {written['step']}: expected a number above 0")
        count = math.floor((end - start) / step) + 1
        _check_count(count, f"{place('step')} = {written['step']}")
        return [_exact(start + step * at) for at in range(count)]
    count = section.count("count")
    _check_count(count, f"{place('count')} = {count}")
    if count == 1 and start != end:
        raise InputError(
            f"{place('count')} = 1: a range from {written['from']} to {written['to']} has at least 2 values"
        )
    if spacing == "linear":
        gap = (end - start) / max(count - 1, 1)
        return [_exact(start + gap * at) for at in range(count)]
    if start <= 0:
        raise InputError(f"{place('from')} = {written['from']}: expected a number above 0 where spacing = 'log'")
    factor = float(end / start) ** (1 / max(count - 1, 1))
    inner = [float(start) * factor**at for at in range(1, count - 1)]
    # Between whole numbers (windows, queues) every value is one, and each appears once.
    between: list[int | Decimal] = [round(x) if whole else Decimal(f"{x:.6g}") for x in inner]
    ends = [_exact(start), _exact(end)]
    return list(dict.fromkeys([ends[0], *between, ends[1]]))


def _check_count(count: int, place: str) -> None:
    if count > _MOST_VALUES:
        # Python refuses to write out a number of thousands of digits.
        shown = count if count < 10**18 else "over 10^18"
        raise InputError(f"{place}: gives {shown} values; expected at most {_MOST_VALUES}")


def _exact(value: Fraction) -> int | Decimal:
    return value.numerator if value.denominator == 1 else Decimal(number_text(value))
