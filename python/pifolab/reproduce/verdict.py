"""Holds what was measured against what a paper states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pifolab.reproduce.expression import MissingValueError, Results
from pifolab.reproduce.registry import Claim, Part, SourceClaim
from pifolab.statistics import FEW_SEEDS, interval_or_range

__all__ = ["ClaimVerdict", "PartVerdict", "judge_claim", "judge_part", "judge_source", "measure"]

REPRODUCED, PARTLY, NOT_REPRODUCED, NOT_MEASURED = "reproduced", "partly", "not reproduced", "not yet measured"

#: A measured effect that is this many times larger or smaller than the stated one has the direction only in name.
SAME_ORDER = 4.0

_WORST_FIRST = (NOT_REPRODUCED, NOT_MEASURED, PARTLY, REPRODUCED)


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
    """

    part: Part
    verdict: str
    value: float
    low: float
    high: float
    values: tuple[float, ...]
    accepted: tuple[float, float]
    reason: str

    @property
    def provisional(self) -> bool:
        """Whether there were too few seeds for an interval."""
        return 0 < len(self.values) < FEW_SEEDS


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim and what became of it."""

    claim: Claim
    verdict: str
    parts: tuple[PartVerdict, ...]
    #: The same under the public artefact's reading, where there is one.
    artefact: str
    artefact_parts: tuple[PartVerdict, ...]

    @property
    def provisional(self) -> bool:
        """Whether any number behind it comes from too few seeds."""
        return any(part.provisional for part in self.parts)

    @property
    def shown(self) -> str:
        """The verdict as it is printed."""
        return f"{self.verdict} (provisional)" if self.provisional else self.verdict


def measure(part: Part, by_seed: Mapping[int, Results]) -> tuple[list[float], str]:
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


def judge_part(part: Part, values: Sequence[float], problem: str = "nothing ran") -> PartVerdict:
    """Hold the values of one part, one for each seed, against the stated range.

    Examples
    --------
    >>> from pifolab.reproduce import load_registry
    >>> part = load_registry().by_id["pk1"].parts[0]
    >>> judge_part(part, [3.1, 3.2, 3.15]).verdict
    'reproduced'
    >>> judge_part(part, [2.1, 2.2, 2.15]).verdict
    'partly'
    >>> judge_part(part, [0.9, 0.91, 0.92]).verdict
    'not reproduced'
    """
    accepted = part.tolerance.widened(part.low, part.high)
    if not values:
        return PartVerdict(part, NOT_MEASURED, math.nan, math.nan, math.nan, (), accepted, problem)
    estimate = interval_or_range(values)
    value, low, high = estimate.value, estimate.low, estimate.high
    verdict = NOT_REPRODUCED
    # A hair's breadth for the last digit of floating-point arithmetic.
    slack = 1e-9 * max(1.0, abs(value))
    if low <= accepted[1] + slack and high >= accepted[0] - slack:
        verdict = REPRODUCED
    elif _same_direction(part, value):
        verdict = PARTLY
    reason = f"{_number(value)} [{_number(low)}, {_number(high)}] against {part.paper_says}"
    return PartVerdict(part, verdict, value, low, high, tuple(values), accepted, reason)


def _same_direction(part: Part, value: float) -> bool:
    """Return whether the effect has the stated sign, and is of the same order."""
    if part.neutral is None:
        return False
    stated = min(max(value, part.low), part.high) - part.neutral
    measured = value - part.neutral
    if stated * measured <= 0:
        return False
    return 1 / SAME_ORDER <= measured / stated <= SAME_ORDER


def judge_claim(claim: Claim, results: Mapping[tuple[str, str], Mapping[int, Results]]) -> ClaimVerdict:
    """Judge every part of a claim.

    Parameters
    ----------
    claim : Claim
        From the registry.
    results : mapping
        By experiment and variant, the results of each seed.
    """
    if claim.status:
        return ClaimVerdict(claim, claim.status, (), "", ())
    parts = tuple(judge_part(part, *measure(part, results.get((part.experiment, "paper"), {}))) for part in claim.parts)
    other: tuple[PartVerdict, ...] = ()
    if any((experiment, "artefact") in results for experiment in claim.experiments):
        other = tuple(
            judge_part(part, *measure(part, results.get((part.experiment, "artefact"), {})))
            if (part.experiment, "artefact") in results
            else known
            for part, known in zip(claim.parts, parts, strict=True)
        )
    return ClaimVerdict(claim, _overall(parts), parts, _overall(other) if other else "", other)


def judge_source(source: SourceClaim, by_repeat: Mapping[int, Results]) -> tuple[str, tuple[PartVerdict, ...]]:
    """Judge a claim by what another source than the simulator measured: its verdict, and what each part came to."""
    parts = tuple(judge_part(part, *measure(part, by_repeat)) for part in source.parts)
    return _overall(parts), parts


def _overall(parts: Sequence[PartVerdict]) -> str:
    """Return the weakest verdict of the main statements; a side statement that fails makes a claim hold in part."""
    main = [one.verdict for one in parts if not one.part.side] or [one.verdict for one in parts]
    worst = next(verdict for verdict in _WORST_FIRST if verdict in main)
    side = [one.verdict for one in parts if one.part.side]
    if worst == REPRODUCED and any(verdict != REPRODUCED for verdict in side):
        return PARTLY
    return worst


def _number(value: float) -> str:
    return f"{value:.4g}"


def as_json(verdict: PartVerdict) -> dict[str, Any]:
    """Return a part as JSON can hold it."""

    def plain(number: float) -> float | None:
        return number if math.isfinite(number) else None

    part = verdict.part
    return {
        "what": part.what,
        "experiment": part.experiment,
        "metric": part.metric.text,
        "unit": part.unit,
        "paper_low": plain(part.low),
        "paper_high": plain(part.high),
        "tolerance": part.tolerance.name,
        "accepted_low": plain(verdict.accepted[0]),
        "accepted_high": plain(verdict.accepted[1]),
        "value": plain(verdict.value),
        "low": plain(verdict.low),
        "high": plain(verdict.high),
        "values": list(verdict.values),
        "seeds": len(verdict.values),
        "side": part.side,
        "verdict": verdict.verdict,
        "reason": verdict.reason,
    }
