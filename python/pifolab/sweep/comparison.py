"""Statements about a sweep: about ratios between combinations, and about any number from its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from pifolab import _pifolab
from pifolab.catalogue import study_keys
from pifolab.errors import InputError
from pifolab.section import Section, below
from pifolab.statistics.metrics import Metric
from pifolab.statistics.query import Query
from pifolab.sweep.axes import SCHEDULER, Axis


@dataclass(frozen=True)
class Comparison:
    """`metric` of some runs over that of others, paired by seed and by all axes that neither side names.

    Attributes
    ----------
    metric : Metric
        The compared metric.
    of, to : dict
        Columns and their labels that choose the runs above and below the line.
    stated_low, stated_high : float, optional
        The statement about the ratio.
    tolerance : float
        The share by which the stated borders are widened.
    source : str, optional
        Where that is stated.
    """

    metric: Metric
    of: dict[str, Any]
    to: dict[str, Any]
    stated_low: float | None = None
    stated_high: float | None = None
    tolerance: float = 0.0
    source: str | None = None

    @property
    def name(self) -> str:
        """The ratio in words, without the settings of both sides in `common`."""
        above, below = ({axis: label for axis, label in side.items() if axis not in self.common} for side in self.sides)
        return f"{_side(above)} / {_side(below)} {self.metric.name}"

    @property
    def sides(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The settings of numerator and denominator, by axis."""
        return self.of, self.to

    @property
    def common(self) -> dict[str, Any]:
        """The settings that both sides share, by axis."""
        return {axis: label for axis, label in self.of.items() if axis in self.to and self.to[axis] == label}

    @classmethod
    def read(cls, written: Any, place: str, axes: tuple[Axis, ...], metrics: Sequence[Metric] = ()) -> Comparison:
        """Make a comparison from its table in a sweep file; ``metric`` may be the name of one of `metrics`."""
        section = Section(below(place), written, study_keys()["compare"], "a table with metric, of and to")
        section.required("metric", "of", "to")
        of, to = (_chosen(section.table[key], section.at(key), axes) for key in ("of", "to"))
        if of == to:
            raise InputError(f"{place}: of and to are the same")
        stated = _stated(section)
        named = next((metric for metric in metrics if metric.name == section.table["metric"]), None)
        metric = named or Metric.read(section.table["metric"], section.at("metric"))
        return cls(metric, of, to, *stated)


@dataclass(frozen=True)
class Claim:
    """A number from the tables of all runs with one seed, and a statement about it.

    Attributes
    ----------
    name : str
        Its name.
    query : Query
        The query; the axes are columns of the tables.
    stated_low, stated_high, tolerance, source
        As of a `Comparison`.
    """

    name: str
    query: Query
    stated_low: float | None
    stated_high: float | None
    tolerance: float = 0.0
    source: str | None = None
    #: What its name says already; a ratio leaves axes open, a claim none.
    common: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, written: Any, place: str) -> Claim:
        """Make a claim from its table in a sweep file."""
        section = Section(below(place), written, study_keys()["claim"], "a table with name, metric and what is stated")
        section.required("name", "metric")
        query = Query.read(section)
        stated = _stated(section)
        if stated[:2] == (None, None):
            raise InputError(f"{place}: expected stated, stated_low or stated_high")
        return cls(section.text("name", empty=False), query, *stated)


def _stated(section: Section) -> tuple[float | None, float | None, float, str | None]:
    """Return the ends of the stated range, the tolerance, and who states it."""
    place = section.place
    numbers = {
        key: section.number(key) if key in section else None
        for key in ("stated", "stated_low", "stated_high", "tolerance")
    }
    low, high = numbers["stated_low"], numbers["stated_high"]
    if numbers["stated"] is not None:
        if low is not None or high is not None:
            raise InputError(f"{place}.stated: conflicts with stated_low and stated_high; give one or the other")
        low = high = numbers["stated"]
    elif low is None and high is None and numbers["tolerance"] is not None:
        raise InputError(f"{place}.tolerance: has no effect without a stated value")
    if low is not None and high is not None and low > high:
        raise InputError(f"{place}.stated_low = {low} lies above stated_high = {high}")
    tolerance = numbers["tolerance"] or 0.0
    if tolerance < 0:
        raise InputError(f"{place}.tolerance = {tolerance}: expected a number >= 0")
    return low, high, tolerance, section.text("source") if "source" in section else None


def _chosen(written: Any, place: str, axes: tuple[Axis, ...]) -> dict[str, Any]:
    if not isinstance(written, Mapping) or not written:
        raise InputError(f'{place}: expected a table such as {{ scheduler = "packs" }}')
    chosen = {}
    by_name = {axis.name: axis for axis in axes}
    for name, value in written.items():
        label = float(value) if isinstance(value, Decimal) else value
        if name in by_name:
            labels = [point.label for point in by_name[name].points]
            if label not in labels:
                raise InputError(f"{place}.{name} = {label!r}: expected one of {', '.join(map(str, labels))}")
        elif name != SCHEDULER:
            raise InputError(f"{place}: {_pifolab.unknown_name('axis', name, sorted({*by_name, SCHEDULER}))}")
        chosen[name] = label
    return chosen


def _side(chosen: Mapping[str, Any]) -> str:
    return ", ".join(str(label) if name == SCHEDULER else f"{name} {label}" for name, label in chosen.items())
