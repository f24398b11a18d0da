"""Verdicts: their words, and whether an estimate agrees with what was stated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from pifolab.errors import InputError
from pifolab.statistics.intervals import FEW_SEEDS, Estimate

__all__ = ["Judgement", "Verdict", "judge"]


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
    NOT_MEASURED = "not yet measured"
    PENDING = "pending"
    NOT_APPLICABLE = "not applicable"
    #: The runs say nothing about the claim.
    WITHHELD = "withheld"

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
    """What `judge` says.

    Attributes
    ----------
    finding : Verdict
        Reproduced: the whole interval lies in the accepted range; not reproduced: all of it lies outside; inconclusive:
        it crosses a border, so that more seeds are needed.
    reason : str
        The numbers, in one line.
    accepted_low, accepted_high : float
        The stated range, widened by the tolerance.
    provisional : bool
        There were fewer seeds than any verdict needs.
    seeds_needed : int or None
        About how many seeds would decide, where that can be told.
    """

    finding: Verdict
    reason: str
    accepted_low: float
    accepted_high: float
    provisional: bool
    seeds_needed: int | None = None

    @property
    def verdict(self) -> str:
        """``"holds"``, ``"does not hold"`` or ``"inconclusive"``."""
        return self.finding.of_numbers


def judge(
    estimate: Estimate,
    stated_low: float | None = None,
    stated_high: float | None = None,
    tolerance: float = 0.0,
) -> Judgement:
    """Compare `estimate` with a stated value or range.

    Parameters
    ----------
    estimate : Estimate
        What was measured.
    stated_low, stated_high : float, optional
        The stated range; both the same for a single value, one alone for "more than" or "less than".
    tolerance : float
        By what share of each border the range is widened: 0.1 accepts 2.7 to 3.3 for a stated 3.

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
    low = -math.inf if stated_low is None else stated_low - abs(stated_low) * tolerance
    high = math.inf if stated_high is None else stated_high + abs(stated_high) * tolerance
    if stated_low is not None and stated_high is not None and stated_low > stated_high:
        raise InputError(f"stated_low = {stated_low} lies above stated_high = {stated_high}")
    few = estimate.seeds < FEW_SEEDS
    reason = f"{estimate} against {_range(stated_low, stated_high)}"
    if tolerance:
        reason += f", accepted {_range(_border(stated_low, low), _border(stated_high, high))}"
    # One seed has no interval: the value alone decides, provisionally.
    bounds = (estimate.low, estimate.high) if math.isfinite(estimate.low) else (estimate.value, estimate.value)
    if any(map(math.isnan, bounds)):
        return Judgement(Verdict.INCONCLUSIVE, f"{reason}: there is no value", low, high, True)
    if low <= bounds[0] and bounds[1] <= high:
        return Judgement(Verdict.REPRODUCED, reason, low, high, few)
    if bounds[1] < low or bounds[0] > high:
        return Judgement(Verdict.NOT_REPRODUCED, reason, low, high, few)
    return Judgement(Verdict.INCONCLUSIVE, reason, low, high, few, _seeds_to_decide(estimate, low, high))


def _seeds_to_decide(estimate: Estimate, low: float, high: float) -> int | None:
    """Return how many seeds would draw the interval off the nearest border."""
    distance = min(abs(estimate.value - border) for border in (low, high) if math.isfinite(border))
    if distance == 0 or estimate.value == 0:
        return None
    enough = estimate.seeds_for(distance / abs(estimate.value))
    # An interval that lies more to one side can cross a border that its mean is far from.
    return None if enough is None else max(enough, estimate.seeds + 1)


def _border(stated: float | None, border: float) -> float | None:
    return None if stated is None else border


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return f"at most {high:.4g}"
    if high is None:
        return f"at least {low:.4g}"
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
