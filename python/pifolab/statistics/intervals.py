"""Means over seeds and ratios paired by seed, each with a bootstrap interval.

The interval is the *expanded percentile* bootstrap: the quantiles of the resampled statistic, at levels that are moved
outwards so that the interval of a mean of normal values is as wide as Student's t would have it (Hesterberg, "What
Teachers Should Know About the Bootstrap", The American Statistician 69(4), 2015, section 5.3). The plain percentile
interval is too narrow with the few seeds that simulations have: of five normal values it covered their mean in 85 % of
600 trials, this one in 92 %; of ten in 90 and 93 %. No bootstrap reaches beyond the smallest and the largest value: of
three values that is 77 %, of two 44 %. Hence `Estimate.warning` below five seeds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pifolab.errors import InputError
from pifolab.lazy import np

#: Of the intervals, unless another is asked for.
CONFIDENCE = 0.95

#: Fewer seeds make a provisional statement: two values show almost nothing of the variance.
FEW_SEEDS = 3

#: From this number of seeds on, intervals cover the true value about as often as they state.
ENOUGH_SEEDS = 5

#: Of a ratio that lies close to 1.
_MOST_DECIMALS = 15

#: How often values are drawn again. The outermost quantile that is used has several of them beyond it.
_RESAMPLES = 9999

#: So many numbers are drawn at once: 80 MB.
_BATCH_NUMBERS = 10_000_000


@dataclass(frozen=True)
class Estimate:
    """A number from several seeds, and the interval that it lies in.

    Attributes
    ----------
    value : float
        The mean, or the ratio of two means. Infinite if only the denominator is 0, not a number if there is none.
    low, high : float
        The ends of the interval; not numbers if there is only one seed or the value is not a finite number.
    seeds : int
        How many seeds it comes from.
    confidence : float
        How often such an interval contains the true value.
    unit : str
        Written behind the numbers: ``"x"`` for ratios.

    Examples
    --------
    >>> estimate = mean_interval([10.0, 12.0, 11.0, 9.0, 13.0])
    >>> print(estimate)
    11.0 [9.2, 12.8]
    >>> round(estimate.relative_half_width, 2)
    0.16
    >>> estimate.seeds_for(0.02) > 100
    True
    """

    value: float
    low: float
    high: float
    seeds: int
    confidence: float = CONFIDENCE
    unit: str = ""

    @property
    def relative_half_width(self) -> float:
        """Half the interval over the value; 0 if all seeds agree, infinite for a single seed."""
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            return math.inf
        half = (self.high - self.low) / 2
        if half == 0:
            return 0.0
        return math.inf if self.value == 0 else half / abs(self.value)

    @property
    def provisional(self) -> bool:
        """Whether there were fewer seeds than any verdict needs."""
        return self.seeds < FEW_SEEDS

    def seeds_for(self, relative: float) -> int | None:
        """About how many seeds would make the interval `relative` wide to each side; None if that cannot be told.

        Intervals shrink with the root of the number of seeds.
        """
        width = self.relative_half_width
        if not math.isfinite(width) or self.seeds < 2:
            return None
        if width <= relative:
            return self.seeds
        return math.ceil(self.seeds * (width / relative) ** 2 - 1e-9)

    def warning(self, relative: float) -> str | None:
        """One line if the seeds are too few or the interval is wider than `relative` to each side, else None."""
        if self.seeds < 2:
            return f"{_seeds(self.seeds)}: no interval; run at least {ENOUGH_SEEDS}, better 10"
        enough = self.seeds_for(relative)
        if enough is None:
            if math.isfinite(self.value) and math.isfinite(self.low):
                return f"{_seeds(self.seeds)}: the value is 0 but seeds differ; a relative width says nothing here"
            return f"{_seeds(self.seeds)}: the value is not finite"
        if enough > self.seeds:
            width = f"+-{self.relative_half_width:.2%} with {_seeds(self.seeds)}"
            return f"{width}: about {max(ENOUGH_SEEDS, enough)} would give +-{relative:.2%}"
        if self.seeds < ENOUGH_SEEDS:
            return f"{_seeds(self.seeds)}: the interval is too narrow; run at least {ENOUGH_SEEDS}"
        return None

    def __str__(self) -> str:
        if not math.isfinite(self.value):
            return "undefined (0 over 0)" if math.isnan(self.value) else "infinite (over 0)"
        if not math.isfinite(self.low) or self.low == self.high:
            # An interval around equal values would suggest a precision that is unknown.
            return f"{_shown(self.value, None)}{self.unit}"
        decimals = _decimals((self.high - self.low) / 2)
        # The text must show whether the interval of a ratio contains 1.
        if self.unit == "x" and decimals is not None:
            while decimals < _MOST_DECIMALS and self._seems_to_end_at_one(decimals):
                decimals += 1
        low, high = _shown(self.low, decimals), _shown(self.high, decimals)
        return f"{_shown(self.value, decimals)}{self.unit} [{low}, {high}]"

    def _seems_to_end_at_one(self, decimals: int) -> bool:
        return any(end != 1 and float(f"{end:.{decimals}f}") == 1 for end in (self.low, self.high))

    def __format__(self, numbers: str) -> str:
        """Return the value with its interval, if that has a width, each number as `numbers` says: ``f"{one:.3g}"``."""
        if not numbers:
            return str(self)
        if not math.isfinite(self.low) or self.low == self.high:
            return f"{self.value:{numbers}}"
        return f"{self.value:{numbers}} [{self.low:{numbers}}, {self.high:{numbers}}]"


def mean_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Return the mean of `values`, one for each seed, with its bootstrap interval.

    Parameters
    ----------
    values : sequence of float
        One number for each seed.
    confidence : float
        Of the interval.

    Raises
    ------
    InputError
        There is no value, one is not finite, or `confidence` does not lie between 0 and 1.

    Examples
    --------
    >>> mean_interval([3.0, 3.0, 3.0])
    Estimate(value=3.0, low=3.0, high=3.0, seeds=3, confidence=0.95, unit='')
    >>> mean_interval([1.0]).low
    nan
    """
    numbers = _finite(values, "values")
    _check_confidence(confidence)
    mean = math.fsum(numbers) / len(numbers)
    if len(numbers) == 1:
        return Estimate(mean, math.nan, math.nan, 1, confidence)
    if min(numbers) == max(numbers):
        return Estimate(numbers[0], numbers[0], numbers[0], len(numbers), confidence)
    low, high = _bootstrap([numbers], confidence)
    return Estimate(mean, low, high, len(numbers), confidence)


def interval_or_range(values: Sequence[float]) -> Estimate:
    """Return the mean of `values` with its interval, or with their range if there are fewer than `FEW_SEEDS`.

    Raises
    ------
    InputError
        There is no value, or one that is not finite.

    Examples
    --------
    >>> estimate = interval_or_range([1.0, 2.0])
    >>> estimate.value, estimate.low, estimate.high
    (1.5, 1.0, 2.0)
    """
    if len(values) >= FEW_SEEDS:
        return mean_interval(values)
    finite = _finite(values, "values")
    return Estimate(math.fsum(finite) / len(finite), min(finite), max(finite), len(finite))


def ratio_interval(
    of: Mapping[int, float] | Sequence[float],
    to: Mapping[int, float] | Sequence[float],
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return the mean of `of` over the mean of `to`, paired by seed, with its bootstrap interval.

    Runs of one seed saw the same arrivals, so what both have in common does not widen the interval: seeds are drawn
    again as pairs.

    Parameters
    ----------
    of, to : mapping of int to float, or sequence of float
        The values by seed, of which those are used that both have; or in the same order of seeds.
    confidence : float
        Of the interval.

    Raises
    ------
    InputError
        Nothing to pair, a value that is not finite, or a wrong `confidence`.

    Examples
    --------
    >>> str(ratio_interval({1: 31.0, 2: 33.0, 3: 32.0}, {1: 10.0, 2: 10.5, 3: 10.0}))
    '3.15x [3.10, 3.20]'
    """
    if isinstance(of, Mapping) and isinstance(to, Mapping):
        seeds = sorted(of.keys() & to.keys())
        if not seeds:
            raise InputError("nothing to pair: the two sides have no seed in common")
        above, below = _finite([of[seed] for seed in seeds], "of"), _finite([to[seed] for seed in seeds], "to")
    elif isinstance(of, Mapping) or isinstance(to, Mapping):
        raise InputError("expected two mappings from seeds or two sequences, not one of each")
    else:
        above, below = _finite(of, "of"), _finite(to, "to")
        if len(above) != len(below):
            raise InputError(f"cannot pair {len(above)} values with {len(below)}")
    _check_confidence(confidence)
    count, total_above, total_below = len(above), math.fsum(above), math.fsum(below)
    if total_below == 0:
        value = math.nan if total_above == 0 else math.copysign(math.inf, total_above)
        return Estimate(value, math.nan, math.nan, count, confidence, "x")
    ratio = total_above / total_below
    if count == 1:
        return Estimate(ratio, math.nan, math.nan, 1, confidence, "x")
    each = {a / b for a, b in zip(above, below, strict=True) if b != 0}
    if len(each) == 1 and all(below):
        return Estimate(ratio, ratio, ratio, count, confidence, "x")
    low, high = _bootstrap([above, below], confidence)
    if not (math.isfinite(low) and math.isfinite(high)):
        return Estimate(ratio, math.nan, math.nan, count, confidence, "x")
    return Estimate(ratio, low, high, count, confidence, "x")


def _bootstrap(samples: list[list[float]], confidence: float) -> tuple[float, float]:
    """Return the expanded percentile interval of the mean, or of the ratio of two means."""
    count = len(samples[0])
    # The normal distribution below the expanded limit.
    beyond = math.erfc(math.sqrt(count / (count - 1)) * student_t(confidence, count - 1) / math.sqrt(2)) / 2
    # The same values have the same interval.
    rng = np.random.default_rng(1)
    arrays = [np.asarray(sample) for sample in samples]
    resampled = []
    batch = max(1, _BATCH_NUMBERS // count)
    for start in range(0, _RESAMPLES, batch):
        drawn = rng.integers(0, count, (min(batch, _RESAMPLES - start), count))
        means = [sample[drawn].mean(axis=-1) for sample in arrays]
        # A drawn denominator of 0 makes the interval infinite; the caller handles it.
        with np.errstate(divide="ignore", invalid="ignore"):
            resampled.append(means[0] if len(means) == 1 else means[0] / means[1])
    ordered = np.sort(np.concatenate(resampled))
    # Rounded as what is left beside a confidence: stored intervals agree in every digit.
    tail = (1 - (1 - 2 * beyond)) / 2
    return _quantile(ordered, tail), _quantile(ordered, 1 - tail)


def _quantile(ordered: np.ndarray, share: float) -> float:
    """Return the value below which `share` of all lie, between neighbours on a line; not a number if one is."""
    if np.isnan(ordered[-1]):
        return math.nan
    # From 1, and in this order of operations: stored intervals agree in every digit.
    place = share * len(ordered) + (1 - share)
    whole = min(max(int(place), 1), len(ordered) - 1)
    rest = place - whole
    # Two infinite neighbours cancel.
    with np.errstate(invalid="ignore"):
        return float((1 - rest) * ordered[whole - 1] + rest * ordered[whole])


@functools.cache
def student_t(confidence: float, freedom: int) -> float:
    """Return the t that a value of Student's distribution exceeds, to either side, with probability 1 - `confidence`.

    For whole degrees of freedom the probability is a finite sum in the angle atan(t / sqrt(freedom)) (Abramowitz and
    Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4), which bisection inverts.

    Examples
    --------
    >>> round(student_t(0.95, 1), 3), round(student_t(0.95, 10), 3)
    (12.706, 2.228)
    """
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        if _within(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(low)


def _within(angle: float, freedom: int) -> float:
    """Return how probable it is that Student's t lies within `sqrt(freedom) * tan(angle)` to either side of 0."""
    odd = freedom % 2
    square = math.cos(angle) ** 2
    term = math.cos(angle) if odd else 1.0
    terms = []
    for place in range(odd, freedom - 1, 2):
        terms.append(term)
        term *= square * (place + 1) / (place + 2)
    total = math.sin(angle) * math.fsum(terms)
    return (angle + total) * 2 / math.pi if odd else total


def _finite(values: Sequence[float], name: str) -> list[float]:
    numbers = [float(value) for value in values]
    if not numbers:
        raise InputError(f"{name}: expected at least one value")
    for place, number in enumerate(numbers):
        if not math.isfinite(number):
            raise InputError(f"{name}[{place}] = {number}: expected a finite number")
    return numbers


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"confidence = {confidence}: expected a number between 0 and 1")


def _seeds(count: int) -> str:
    return f"{count} seed" if count == 1 else f"{count} seeds"


def _decimals(half_width: float) -> int | None:
    """Return how many decimals mean something beside an interval: its first digit, or two if that is a 1."""
    if half_width == 0:
        return None
    place = math.floor(math.log10(half_width))
    return max(0, -place + (half_width < 2 * 10.0**place))


def _shown(value: float, decimals: int | None) -> str:
    return f"{value:.6g}" if decimals is None else f"{value:,.{decimals}f}"
