"""Verdicts: their words, and the one function that compares an estimate with a statement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from pifolab.errors import InputError
from pifolab.statistics.intervals import Estimate

#: For the last digit of floating-point arithmetic, of the value or of 1, whichever is more.
_HAIRS_BREADTH = 1e-9


class Verdict(str, Enum):
    """Every verdict that there is, in the order of summaries. Its value is the word for a claim of a paper.

    Attributes
    ----------
    of_numbers : str
        The word where a statement is held against given numbers: a ratio of a sweep, or what the authors published.
    colour : str
        Its colour in reports.

    Examples
    --------
    >>> print(Verdict.NOT_REPRODUCED), print(Verdict.NOT_REPRODUCED.of_numbers)
    not reproduced
    does not hold
    (None, None)
    """

    of_numbers: str
    colour: str

    REPRODUCED = "reproduced", "holds", "#009e73"
    #: The direction is right but not the size, or a side statement fails.
    PARTLY = "partly", "in part", "#e69f00"
    #: The interval decides nothing.
    INCONCLUSIVE = "inconclusive", "", "#56b4e9"
    NOT_REPRODUCED = "not reproduced", "does not hold", "#d55e00"
    #: The measured result also holds with another scheduler, so it is no evidence.
    VOID = "void"
    NOT_MEASURED = "not yet measured"
    PENDING = "pending"
    NOT_APPLICABLE = "not applicable"
    #: The runs are no evidence for or against the claim.
    WITHHELD = "withheld"
    #: Published numbers of runs with other settings than the statement.
    OTHER_SETTINGS = "other settings"

    def __new__(cls, word: str, of_numbers: str = "", colour: str = "#8c8c8c") -> Verdict:
        """Make a verdict; its word serves everywhere unless it has another for numbers."""
        verdict = str.__new__(cls, word)
        verdict._value_ = word
        verdict.of_numbers = of_numbers or word
        verdict.colour = colour
        return verdict

    def __str__(self) -> str:
        """Return the word for a claim."""
        return str(self.value)


@dataclass(frozen=True)
class Judgement:
    """The result of `judge`.

    Attributes
    ----------
    finding : Verdict
        Reproduced: the whole interval lies in the accepted range; not reproduced: all of it lies outside; inconclusive:
        it crosses a border, so that more seeds are needed.
    reason : str
        The numbers, in one line.
    provisional : bool
        There were fewer seeds than any verdict needs.
    seeds_needed : int or None
        The approximate number of seeds that would decide, if it can be estimated.
    """

    finding: Verdict
    reason: str
    provisional: bool
    seeds_needed: int | None = None

    @property
    def verdict(self) -> str:
        """``"holds"``, ``"does not hold"`` or ``"inconclusive"``."""
        return self.finding.of_numbers


class Rule(Enum):
    """The part of an estimate that is compared with the accepted range.

    Attributes
    ----------
    INTERVAL : Rule
        The whole interval, for given numbers: a sweep can have as many seeds as it takes, so the verdict is final only
        if no value of the interval would change it.
    MEAN : Rule
        The mean, for claims of papers: what they state is itself the mean of few runs, often read off a figure, and the
        tolerance allows for that. Its border is not sharp, and an interval that crosses it does not leave the claim
        open; one wider than everything accepted does. The mean may miss the border by the last digit of its sum,
        since what is accepted is often exact (no drops, a share of at most 1).
    """

    INTERVAL = "interval"
    MEAN = "mean"


def decide(estimate: Estimate, accepted: tuple[float, float], rule: Rule, *, in_direction: bool = False) -> Verdict:
    """Return the verdict on `estimate`: whatever is judged is judged here.

    Parameters
    ----------
    estimate : Estimate
        The measured value. Without an interval, from a single seed, only the value counts.
    accepted : tuple of float
        Both ends of the accepted range, including the tolerance; infinite if it is open.
    rule : Rule
        The part of the estimate that must lie in the range.
    in_direction : bool
        Whether one that lies elsewhere still has the stated effect (`same_direction`), and so holds in part.

    Examples
    --------
    >>> crossing = Estimate(3.2, 2.9, 3.5, 10)
    >>> print(decide(crossing, (3.0, 4.0), Rule.INTERVAL)), print(decide(crossing, (3.0, 4.0), Rule.MEAN))
    inconclusive
    reproduced
    (None, None)
    """
    low, high = accepted
    value = estimate.value
    first, last = (estimate.low, estimate.high) if math.isfinite(estimate.low) else (value, value)
    if rule is Rule.MEAN:
        slack = _HAIRS_BREADTH * max(1.0, abs(value))
        low, high = low - slack, high + slack
        inside, unclear = low <= value <= high, last - first > high - low
    else:
        inside = low <= first and last <= high
        unclear = not inside
    if unclear and not (last < low or first > high):
        return Verdict.INCONCLUSIVE
    if inside:
        return Verdict.REPRODUCED
    return Verdict.PARTLY if in_direction else Verdict.NOT_REPRODUCED


def widened(low: float, high: float, relative: float, absolute: float = 0.0) -> tuple[float, float]:
    """Return a range with a tolerance added on both sides: a share of each end, and a number; open ends stay open."""

    def by(end: float) -> float:
        return 0.0 if math.isinf(end) else abs(end) * relative + absolute

    return low - by(low), high + by(high)


def same_direction(value: float, low: float, high: float, neutral: float | None, most: float) -> bool:
    """Return whether `value` has the effect that the range from `low` to `high` states, in sign and in order of size.

    Effects are differences from `neutral`, without which there is none (None, or not a number); they are of the same
    order if neither is more than `most` times the other.
    """
    if neutral is None:
        return False
    stated, measured = min(max(value, low), high) - neutral, value - neutral
    return stated * measured > 0 and 1 / most <= measured / stated <= most


def range_text(low: float, high: float, digits: int = 4) -> str:
    """Return a range in words, with so many significant digits; infinite ends are open.

    Examples
    --------
    >>> range_text(3, 3), range_text(2.7, 3.3), range_text(3, math.inf), range_text(-math.inf, 3)
    ('3', '2.7 to 3.3', 'at least 3', 'at most 3')
    """
    if math.isinf(high):
        return f"at least {low:.{digits}g}"
    if math.isinf(low):
        return f"at most {high:.{digits}g}"
    return f"{low:.{digits}g}" if low == high else f"{low:.{digits}g} to {high:.{digits}g}"


def judge(
    estimate: Estimate,
    stated_low: float | None = None,
    stated_high: float | None = None,
    tolerance: float = 0.0,
) -> Judgement:
    """Compare `estimate` with a stated value or range, by its whole interval.

    Parameters
    ----------
    estimate : Estimate
        What was measured.
    stated_low, stated_high : float, optional
        The stated range; both the same for a single value, one alone for "more than" or "less than".
    tolerance : float
        The share of each border by which the range is widened: 0.1 accepts 2.7 to 3.3 for a stated 3.

    Raises
    ------
    InputError
        Nothing is stated, the range is empty, or the tolerance is negative.

    Examples
    --------
    >>> from pifolab.statistics import mean_interval
    >>> measured = mean_interval([3.1, 3.2, 3.2, 3.1, 3.3])
    >>> judge(measured, 3.0, 3.0, tolerance=0.15).verdict
    'holds'
    >>> judge(measured, 5.0, 5.0, tolerance=0.15).verdict
    'does not hold'
    >>> judge(measured, 3.18).verdict
    'inconclusive'
    """
    if stated_low is None and stated_high is None:
        raise InputError("stated_low, stated_high: expected at least one of them")
    if tolerance < 0 or not math.isfinite(tolerance):
        raise InputError(f"tolerance = {tolerance}: expected a number >= 0")
    for key, stated in (("stated_low", stated_low), ("stated_high", stated_high)):
        if stated is not None and not math.isfinite(stated):
            raise InputError(f"{key} = {stated}: expected a finite number")
    ends = (-math.inf if stated_low is None else stated_low, math.inf if stated_high is None else stated_high)
    if ends[0] > ends[1]:
        raise InputError(f"stated_low = {stated_low} lies above stated_high = {stated_high}")
    low, high = widened(*ends, tolerance)
    reason = f"{estimate} against {range_text(*ends)}"
    if tolerance:
        reason += f", accepted {range_text(low, high)}"
    finding = decide(estimate, (low, high), Rule.INTERVAL)
    if math.isnan(estimate.value):
        return Judgement(finding, f"{reason}: there is no value", True)
    needed = _seeds_to_decide(estimate, low, high) if finding is Verdict.INCONCLUSIVE else None
    return Judgement(finding, reason, estimate.provisional, needed)


def _seeds_to_decide(estimate: Estimate, low: float, high: float) -> int | None:
    """Return how many seeds would draw the interval off the nearest border."""
    distance = min(abs(estimate.value - border) for border in (low, high) if math.isfinite(border))
    if distance == 0 or estimate.value == 0:
        return None
    enough = estimate.seeds_for(distance / abs(estimate.value))
    # An interval that lies more to one side can cross a border that its mean is far from.
    return None if enough is None else max(enough, estimate.seeds + 1)
