"""Whether an estimate agrees with what was stated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from pifolab.errors import InputError
from pifolab.statistics.intervals import FEW_SEEDS, Estimate

__all__ = ["Verdict", "judge"]


@dataclass(frozen=True)
class Verdict:
    """What `judge` says.

    Attributes
    ----------
    verdict : str
        ``"holds"``: the whole interval lies in the accepted range; ``"does not hold"``: all of it lies outside;
        ``"inconclusive"``: it crosses a border, so that more seeds are needed.
    reason : str
        The numbers, in one line.
    accepted_low, accepted_high : float
        The stated range, widened by the tolerance.
    provisional : bool
        There were fewer seeds than any verdict needs.
    seeds_needed : int or None
        About how many seeds would decide, where that can be told.
    """

    verdict: Literal["holds", "does not hold", "inconclusive"]
    reason: str
    accepted_low: float
    accepted_high: float
    provisional: bool
    seeds_needed: int | None = None


def judge(
    estimate: Estimate,
    stated_low: float | None = None,
    stated_high: float | None = None,
    tolerance: float = 0.0,
) -> Verdict:
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
        raise InputError(f"tolerance = {tolerance}: expected a share from 0")
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
        return Verdict("inconclusive", f"{reason}: there is no value", low, high, True)
    if low <= bounds[0] and bounds[1] <= high:
        return Verdict("holds", reason, low, high, few)
    if bounds[1] < low or bounds[0] > high:
        return Verdict("does not hold", reason, low, high, few)
    return Verdict("inconclusive", reason, low, high, few, _seeds_to_decide(estimate, low, high))


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
