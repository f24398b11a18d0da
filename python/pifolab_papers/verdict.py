"""Holds what was measured against what a paper states, and against what its authors published."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pifolab.statistics import (
    FEW_SEEDS,
    Estimate,
    MissingValueError,
    Rule,
    Tables,
    Verdict,
    decide,
    interval_or_range,
    same_direction,
)
from pifolab_papers.registry import SECOND, Claim, Part, Tolerance

if TYPE_CHECKING:
    from pifolab_papers.earlier import Earlier, Taken

#: Of what is judged; a claim is as good as the worst of its parts.
_WORST_FIRST = (
    Verdict.NOT_REPRODUCED,
    Verdict.NOT_MEASURED,
    Verdict.VOID,
    Verdict.INCONCLUSIVE,
    Verdict.PARTLY,
    Verdict.OTHER_SETTINGS,
    Verdict.REPRODUCED,
)

#: The columns that tell the points of a figure apart.
_AXES = ("load", "utilisation")


@dataclass(frozen=True)
class Point:
    """One number of a figure.

    Attributes
    ----------
    at : float or None
        The load or the utilisation; None where the figure has no such axis.
    ours : Estimate
        Mean over the seeds and its interval.
    verdict : Verdict
        That against the statement, or against the authors' value.
    theirs : float, optional
        The authors' published value.
    """

    at: float | None
    ours: Estimate
    verdict: Verdict
    theirs: float = math.nan


@dataclass(frozen=True)
class PartVerdict:
    """One number: measured, beside what is stated.

    Attributes
    ----------
    value, low, high : float
        The mean over the seeds and its 95 % interval; with fewer than three seeds the range of the seeds. Not numbers
        where nothing was measured.
    accepted : tuple of float
        The stated range, widened by the tolerance.
    points : tuple of Point
        Where the verdict is one against the authors' published values: each of them.
    taken : Taken or None
        The earlier measurement that this is; None for one of this run.
    loads : tuple of Point
        Where the number is a mean over the loads: each of them. The verdict is that of the worst.
    """

    part: Part
    verdict: Verdict
    value: float
    low: float
    high: float
    values: tuple[float, ...]
    accepted: tuple[float, float]
    reason: str
    points: tuple[Point, ...] = ()
    taken: Taken | None = None
    loads: tuple[Point, ...] = ()

    @property
    def seeds(self) -> int:
        """How many seeds are behind it."""
        return self.taken.ours.seeds if self.taken else len(self.values)

    @property
    def measured(self) -> bool:
        """Whether there is a number."""
        return math.isfinite(self.value)

    @property
    def provisional(self) -> bool:
        """Whether there were too few seeds for an interval."""
        return 0 < self.seeds < FEW_SEEDS

    @property
    def by_tolerance(self) -> bool:
        """Whether it holds by the tolerance alone: a number lies outside of the stated range."""
        low, high = self.part.low, self.part.high
        found = [one.ours.value for one in self.loads] or [self.value]
        return self.verdict is Verdict.REPRODUCED and low < high and not all(low <= value <= high for value in found)

    @property
    def by_mean(self) -> bool:
        """Whether a statement about several loads was judged by its mean, since no value per load is stored."""
        return self.measured and not self.loads and not self.points and any(map(self.part.metric.is_mean_over, _AXES))


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim and what became of it."""

    claim: Claim
    verdict: Verdict
    parts: tuple[PartVerdict, ...]
    #: The same with the settings of the paper's own public code, or else under another reading, where there is one.
    artefact: Verdict | None
    artefact_parts: tuple[PartVerdict, ...]
    #: The same of what the authors published, where they did; a part that they have no numbers for is not measured.
    authors: Verdict | None = None
    authors_parts: tuple[PartVerdict, ...] = ()
    #: What `artefact` is: ``"artefact"`` or ``"reading"``.
    second: str = "artefact"

    @property
    def provisional(self) -> bool:
        """Whether any number behind it comes from too few seeds."""
        return any(part.provisional for part in self.parts)

    @property
    def shown(self) -> str:
        """The verdict as it is printed."""
        return f"{self.verdict} (provisional)" if self.provisional else self.verdict


def measure(part: Part, by_seed: Mapping[int, Tables]) -> tuple[list[float], str]:
    """Return the part's metric for each seed, and why it has none if so."""
    values, problem = [], "nothing ran"
    for results in by_seed.values():
        try:
            value = part.metric.value(results)
        except MissingValueError as error:
            problem = str(error)
            continue
        if math.isfinite(value):
            values.append(value)
    return values, problem


def judge_part(
    part: Part, values: Sequence[float], problem: str = "nothing ran", loads: Sequence[tuple[float, Estimate]] = ()
) -> PartVerdict:
    """Hold the values of one part, one for each seed, against the stated range; at each load, where it has `loads`.

    The mean must lie in the range, widened by the tolerance; an interval that is wider than that range and reaches into
    it decides nothing (`pifolab.statistics.Rule.MEAN` says why). If another one is wider than the tolerance and reaches
    into that range, it takes the place of the tolerance, unless the statement has none. A part with `every_seed` must
    also lie in the stated range with each value.

    Examples
    --------
    >>> from pifolab_papers import load_registry
    >>> part = load_registry().by_id["pk1"].parts[0]
    >>> for values in [3.1, 3.2, 3.15], [2.1, 2.2, 2.15], [0.9, 0.91, 0.92], [1.0, 3.2, 6.0]:
    ...     print(judge_part(part, values).verdict)
    reproduced
    partly
    not reproduced
    inconclusive
    """
    if not values:
        accepted = part.tolerance.widened(part.low, part.high)
        return PartVerdict(part, Verdict.NOT_MEASURED, math.nan, math.nan, math.nan, (), accepted, problem)
    return _in_every_seed(replace(_judged(part, interval_or_range(values), loads), values=tuple(values)))


def _in_every_seed(one: PartVerdict) -> PartVerdict:
    """Return the verdict on a part that must hold in every seed; any other part stays as it is."""
    part = one.part
    missed = [value for value in one.values if not part.low <= value <= part.high]
    if not (part.every_seed and missed and one.verdict is Verdict.REPRODUCED):
        return one
    worst = max(missed, key=lambda value: _missed_by(part, value))
    reason = f"{one.reason}; {len(missed)} of {len(one.values)} seeds miss it, the worst with {_number(worst)}"
    return replace(one, verdict=Verdict.NOT_REPRODUCED, reason=reason)


def _judged(part: Part, estimate: Estimate, loads: Sequence[tuple[float, Estimate]] = ()) -> PartVerdict:
    """Return the verdict on a mean and its interval, or on the worst of the loads."""
    verdict, accepted = _decided(part, estimate)
    reason = f"{_said(estimate)} against {part.paper_says}"
    at_loads = tuple(Point(at, ours, _decided(part, ours)[0]) for at, ours in loads)
    if at_loads:
        worst = min(at_loads, key=lambda one: (_WORST_FIRST.index(one.verdict), -_missed_by(part, one.ours.value)))
        inside = sum(one.verdict is Verdict.REPRODUCED for one in at_loads)
        verdict = worst.verdict
        reason += f"; at {inside} of {len(at_loads)} loads, the worst {worst.at:g}: {_said(worst.ours)}"
    if part.void:
        verdict, reason = Verdict.VOID, f"{reason}; {part.void}"
    return PartVerdict(part, verdict, estimate.value, estimate.low, estimate.high, (), accepted, reason, loads=at_loads)


def _decided(part: Part, estimate: Estimate) -> tuple[Verdict, tuple[float, float]]:
    """Return the verdict on one number, and what was accepted."""
    alike = same_direction(estimate.value, part.low, part.high, part.neutral, part.rules.same_order)
    return _held(estimate, (part.low, part.high), part.tolerance, in_direction=alike)


def _held(
    estimate: Estimate, stated: tuple[float, float], tolerance: Tolerance, *, in_direction: bool
) -> tuple[Verdict, tuple[float, float]]:
    """Hold a number against a stated range with its tolerance, or with twice the half-width of the interval if wider.

    An interval that lies outside of the range with its tolerance is no reason to widen it: noise does not explain it.
    """
    accepted = tolerance.widened(*stated)
    verdict = decide(estimate, accepted, Rule.MEAN, in_direction=in_direction)
    apart = estimate.high < accepted[0] or estimate.low > accepted[1]
    if verdict is Verdict.INCONCLUSIVE or apart or tolerance.is_exact or estimate.seeds < FEW_SEEDS:
        return verdict, accepted
    width = estimate.high - estimate.low
    accepted = min(accepted[0], stated[0] - width), max(accepted[1], stated[1] + width)
    return decide(estimate, accepted, Rule.MEAN, in_direction=in_direction), accepted


def _missed_by(part: Part, value: float) -> float:
    return max(part.low - value, value - part.high)


def _said(estimate: Estimate) -> str:
    """Return a number with its interval, where something in it was random."""
    if estimate.low == estimate.high:
        return _number(estimate.value)
    return f"{_number(estimate.value)} [{_number(estimate.low)}, {_number(estimate.high)}]"


def at_loads(part: Part, by_seed: Mapping[int, Tables]) -> list[tuple[float, Estimate]]:
    """Return the metric at each load, where it is a mean over the loads."""
    axis = next(filter(part.metric.is_mean_over, _AXES), None)
    if axis is None:
        return []
    found = []
    for place in sorted({place for results in by_seed.values() for place in results.axis(axis)}):
        values, _ = measure(part, {seed: results.at(axis, place) for seed, results in by_seed.items()})
        if values:
            found.append((place, interval_or_range(values)))
    return found


def compare_points(part: Part, by_seed: Mapping[int, Tables], published: Tables) -> tuple[Point, ...]:
    """Put the metric beside the published value at each load that both have; nothing where they share none.

    A mean over the loads, or the largest of them, is taken at each load alone.
    """
    if part.unit == "yes/no":
        # A statement about several loads together says nothing at one.
        return ()
    axis = next((name for name in _AXES if any(name in frame.columns for frame in published.frames.values())), None)
    places = [None] if axis is None else [one for one in published.axis(axis) if _has(by_seed.values(), axis, one)]
    found = []
    for place in places:
        theirs = _value(part, published, axis, place)
        values = [_value(part, results, axis, place) for results in by_seed.values()]
        known = [value for value in values if value is not None]
        if theirs is None or not known:
            continue
        found.append(_point(part, place, interval_or_range(known), theirs))
    return tuple(found)


def _point(part: Part, place: float | None, ours: Estimate, theirs: float) -> Point:
    """Return one number beside the published one, with the verdict on it."""
    neutral = part.neutral if part.neutral is not None else {"x": 1.0, "%": 0.0}.get(part.unit, math.nan)
    alike = same_direction(ours.value, theirs, theirs, neutral, part.rules.same_order)
    verdict, _ = _held(ours, (theirs, theirs), part.published_tolerance, in_direction=alike)
    return Point(place, ours, verdict, theirs)


def _has(several: Iterable[Tables], axis: str, place: float) -> bool:
    return any(
        axis in frame.columns and place in frame[axis].to_list()
        for results in several
        for frame in results.frames.values()
    )


def _value(part: Part, results: Tables, axis: str | None, place: float | None) -> float | None:
    if axis is not None and place is not None:
        results = results.at(axis, place)
    for metric in dict.fromkeys((part.published, part.metric)):
        try:
            value = metric.value(results)
        except MissingValueError:
            continue
        return value if math.isfinite(value) else None
    return None


def judge_claim(
    claim: Claim,
    results: Mapping[tuple[str, str], Mapping[int, Tables]],
    published: Mapping[str, Tables] | None = None,
    earlier: Earlier | None = None,
    comparable: Collection[str] | None = None,
    other_settings: Collection[str] = (),
) -> ClaimVerdict:
    """Judge every part of a claim.

    Parameters
    ----------
    claim : Claim
        From the registry.
    results : mapping
        By experiment and variant, the results of each seed.
    published : mapping, optional
        By experiment, what its authors published. It is judged like a measurement, and what runs under the artefact's
        settings is held against it, load by load, instead of against the paper's text.
    earlier : Earlier, optional
        Earlier measurements, for what `results` does not have.
    comparable : collection of str, optional
        The experiments whose runs are as long as the authors', so that the artefact's can be held against what they
        published; all unless given.
    other_settings : collection of str
        The experiments whose authors' runs have other settings than the text.
    """
    published = published or {}
    authors = tuple(
        judge_published(part, published.get(part.experiment), other_settings=part.experiment in other_settings)
        for part in claim.parts
    )
    holds = [one for one in authors if one.measured]
    if claim.status:
        return ClaimVerdict(claim, Verdict(claim.status), (), None, ())
    parts = tuple(_part_of(claim, part, "paper", results, earlier) for part in claim.parts)
    second = "artefact"
    other: tuple[PartVerdict, ...] = ()
    for kind in SECOND:
        others = tuple(_part_of(claim, part, kind, results, earlier) for part in claim.parts)
        if any(one.measured for one in others):
            second = kind
            other = tuple(
                _against(one, published.get(one.part.experiment), results.get((one.part.experiment, kind), {}))
                if one.measured and kind == "artefact" and (comparable is None or one.part.experiment in comparable)
                else one
                for one in others
            )
            break
    measured = [one for one in other if one.measured]
    return ClaimVerdict(
        claim,
        overall(parts),
        parts,
        overall(measured) if measured else None,
        other,
        overall(holds) if holds else None,
        authors if holds else (),
        second,
    )


def judge_published(part: Part, published: Tables | None, *, other_settings: bool = False) -> PartVerdict:
    """Hold what the authors published against what they state, by the same rule as our own numbers.

    If their runs have other settings than the text, that is all that is said.
    """
    if published is None:
        return judge_part(part, [], "not published")
    theirs, by_seed = replace(part, metric=part.published), {0: published}
    one = replace(judge_part(theirs, *measure(theirs, by_seed), at_loads(theirs, by_seed)), part=part)
    return replace(one, verdict=Verdict.OTHER_SETTINGS) if one.measured and other_settings else one


def _part_of(
    claim: Claim,
    part: Part,
    variant: str,
    results: Mapping[tuple[str, str], Mapping[int, Tables]],
    earlier: Earlier | None,
) -> PartVerdict:
    """Return the verdict on one part from what was run, else from an earlier measurement of the same thing."""
    key = part.experiment, variant
    if key not in results and earlier is not None:
        taken = earlier.find(claim.id, part, variant)
        if taken is not None:
            if not taken.same_settings:
                ours = taken.ours
                said = f"{_number(ours.value)} [{_number(ours.low)}, {_number(ours.high)}]"
                return judge_part(
                    part, [], f"not measured with today's settings; {said} with those of {taken.revision}"
                )
            judged = replace(_judged(part, taken.ours, taken.loads), values=taken.values, taken=taken)
            return _in_every_seed(judged)
    by_seed = results.get(key, {})
    return judge_part(part, *measure(part, by_seed), at_loads(part, by_seed))


def _against(one: PartVerdict, published: Tables | None, by_seed: Mapping[int, Tables]) -> PartVerdict:
    """Hold a part of the artefact's reading against the published values, where there are any."""
    points = compare_points(one.part, by_seed, published) if published is not None and by_seed else ()
    if one.taken is not None:
        points = tuple(_point(one.part, *point) for point in one.taken.points)
    if not points:
        return one
    worst = _worst(points)
    said = ", ".join(
        f"{'' if point.at is None else f'{point.at:g}: '}{_number(point.ours.value)} against {_number(point.theirs)}"
        for point in points
    )
    return replace(one, verdict=worst, points=points, reason=said)


def overall(parts: Sequence[PartVerdict]) -> Verdict:
    """Return the weakest verdict of the main statements; a side statement that fails makes a claim hold in part."""
    worst = _worst([one for one in parts if not one.part.side] or parts)
    holds = (Verdict.REPRODUCED, Verdict.OTHER_SETTINGS)
    side_fails = any(one.part.side and one.verdict not in holds for one in parts)
    return Verdict.PARTLY if worst is Verdict.REPRODUCED and side_fails else worst


def _worst(judged: Iterable[Point | PartVerdict]) -> Verdict:
    return min((one.verdict for one in judged), key=_WORST_FIRST.index)


def _number(value: float) -> str:
    return f"{value:.4g}"


def as_json(verdict: PartVerdict) -> dict[str, Any]:
    """Return a part as JSON can hold it."""
    part = verdict.part
    constant = len(verdict.values) > 1 and len(set(verdict.values)) == 1
    return {
        "what": part.what,
        "experiment": part.experiment,
        "metric": part.metric.text,
        "unit": part.unit,
        "paper_low": _plain(part.low),
        "paper_high": _plain(part.high),
        "tolerance": part.tolerance.name,
        "accepted_low": _plain(verdict.accepted[0]),
        "accepted_high": _plain(verdict.accepted[1]),
        "value": _plain(verdict.value),
        # Nothing was random: there is no interval.
        "low": None if constant else _plain(verdict.low),
        "high": None if constant else _plain(verdict.high),
        "values": list(verdict.values),
        "seeds": verdict.seeds,
        "side": part.side,
        "verdict": verdict.verdict,
        "by_tolerance": verdict.by_tolerance,
        "by_mean": verdict.by_mean,
        "reason": verdict.reason,
        "loads": [_point_json(one) for one in verdict.loads],
        "points": [_point_json(one) for one in verdict.points],
    }


def _point_json(point: Point) -> dict[str, Any]:
    return {
        "at": point.at,
        "value": _plain(point.ours.value),
        "low": _plain(point.ours.low),
        "high": _plain(point.ours.high),
        **({} if math.isnan(point.theirs) else {"published": point.theirs}),
        "verdict": point.verdict,
    }


def _plain(number: float) -> float | None:
    return number if math.isfinite(number) else None
