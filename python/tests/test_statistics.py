"""Intervals cover what they say, ratios are paired, verdicts follow from intervals."""

import json
import math
import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pifolab.errors import InputError
from pifolab.statistics import (
    Estimate,
    Metric,
    Rule,
    Verdict,
    common_rows,
    decide,
    interval_or_range,
    judge,
    mean_interval,
    metric_values,
    ratio_interval,
    same_direction,
    widened,
)
from pifolab.statistics.intervals import student_t

ROOT = Path(__file__).resolve().parents[2]


def test_an_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(11)
    trials = 150
    covered = sum(
        estimate.low <= 10 <= estimate.high
        for estimate in (mean_interval(rng.normal(10, 2, 10).tolist()) for _ in range(trials))
    )
    # Binomial with 95 %: below 88 % in one of 10,000 such tests.
    assert 0.88 * trials <= covered < trials


def test_pairs_take_out_what_both_sides_have_in_common():
    rng = np.random.default_rng(3)
    # Some seeds bring more traffic than others, to both schedulers alike.
    traffic = rng.uniform(1, 3, 10)
    above = {seed: float(3.2 * load) for seed, load in enumerate(traffic)}
    below = {seed: float(load * (1 + rng.normal(0, 0.01))) for seed, load in enumerate(traffic)}
    paired = ratio_interval(above, below)
    assert paired.low <= 3.2 <= paired.high
    assert paired.relative_half_width < 0.02
    assert mean_interval(list(above.values())).relative_half_width > 0.1
    # Only seeds that both have count.
    assert ratio_interval(above, {seed: below[seed] for seed in (1, 2, 3, 4)} | {99: 1e9}).seeds == 4


def test_the_same_values_have_the_same_interval():
    values = [4.0, 7.0, 5.5, 6.0]
    assert mean_interval(values) == mean_interval(values)
    assert mean_interval(values, confidence=0.5).relative_half_width < mean_interval(values).relative_half_width


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [
        (1, lambda c: math.tan(math.pi * c / 2)),
        (2, lambda c: c * math.sqrt(2 / (1 - c * c))),
        (4, lambda c: 2 * math.sqrt(math.cos(math.acos(math.sqrt(1 - c * c)) / 3) / math.sqrt(1 - c * c) - 1)),
    ],
)
def test_students_t_is_that_of_the_closed_forms(freedom, quantile):
    draw = random.Random(freedom)
    for confidence in [0.5, 0.9, 0.95, 0.99, 0.999, *(draw.uniform(0.01, 0.999) for _ in range(200))]:
        assert student_t(confidence, freedom) == pytest.approx(quantile(confidence), rel=1e-12)


def test_the_density_of_students_t_integrates_to_the_confidence():
    draw = random.Random(41)
    nodes, weights = np.polynomial.legendre.leggauss(120)
    for _ in range(300):
        freedom, confidence = draw.randint(1, 300), draw.uniform(0.01, 0.999)
        angle = math.atan(student_t(confidence, freedom) / math.sqrt(freedom))
        power = np.cos(angle / 2 * (nodes + 1)) ** (freedom - 1)
        scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) * 2 / math.sqrt(math.pi)
        # The logarithms of gamma functions have relative errors of 1e-15 of up to 1,100.
        assert scale * float(weights @ power) * angle / 2 == pytest.approx(confidence, rel=1e-12)


def test_the_intervals_of_the_stored_reproduction_follow_from_their_values():
    claims = json.loads((ROOT / "docs" / "reproduction.json").read_text())["claims"]
    parts = [part for claim in claims for part in claim["parts"] if part.get("values") and part["seeds"] >= 3]
    parts = [part for part in parts if part["low"] is not None and len(part["values"]) == part["seeds"]]
    assert len(parts) > 100
    for part in parts:
        estimate = interval_or_range(part["values"])
        assert (estimate.low, estimate.high) == pytest.approx((part["low"], part["high"]), rel=1e-13)


def test_a_printed_ratio_contains_one_where_its_interval_does():
    draw = random.Random(8)
    for _ in range(2000):
        value = 1 + draw.choice((-1, 1)) * 10 ** draw.uniform(-9, 0)
        low, high = value - 10 ** draw.uniform(-9, 0), value + 10 ** draw.uniform(-9, 0)
        shown = str(Estimate(value, low, high, 10, unit="x"))
        ends = [float(end) for end in re.findall(r"\[(\S+), (\S+)\]", shown)[0]]
        assert (ends[0] <= 1 <= ends[1]) == (low <= 1 <= high), (shown, low, high)
    assert str(Estimate(1.1, 1.04, 1.5, 5, unit="x")) == "1.10x [1.04, 1.50]"
    assert str(Estimate(1.1, 0.7, 1.5, 5, unit="x")) == "1.1x [0.7, 1.5]"


def test_one_seed_has_no_interval_and_equal_seeds_no_width():
    assert math.isnan(mean_interval([5.0]).low)
    assert str(mean_interval([5.0])) == "5"
    assert (mean_interval([5.0, 5.0]).low, mean_interval([5.0, 5.0]).high) == (5, 5)
    assert mean_interval([5.0, 5.0]).relative_half_width == 0
    assert mean_interval([5.0]).relative_half_width == math.inf
    assert ratio_interval([2.0, 4.0], [1.0, 2.0]).low == 2


def test_ratios_to_nothing_are_no_numbers():
    assert ratio_interval([1.0, 2.0], [0.0, 0.0]).value == math.inf
    assert str(ratio_interval([1.0, 2.0], [0.0, 0.0])) == "infinite (over 0)"
    assert str(ratio_interval([0.0], [0.0])) == "undefined (0 over 0)"
    # One pair without a denominator can be drawn alone, so that no interval exists.
    assert math.isnan(ratio_interval([1.0, 2.0], [0.0, 1.0]).low)


def test_seeds_are_written_with_the_digits_that_mean_something():
    assert str(Estimate(3.2042, 3.1, 3.3, 10, unit="x")) == "3.20x [3.10, 3.30]"
    assert str(Estimate(23378.0, 23100.0, 23600.0, 10)) == "23,378 [23,100, 23,600]"
    assert str(Estimate(0.00412, 0.004, 0.0043, 10)) == "0.00412 [0.00400, 0.00430]"


def test_a_warning_says_how_many_seeds_would_do():
    wide = Estimate(100.0, 90.0, 110.0, 5)
    assert wide.seeds_for(0.05) == 20
    assert wide.warning(0.05) == "+-10.00% with 5 seeds: about 20 would give +-5.00%"
    assert wide.warning(0.2) is None
    assert "1 seed: no interval; run at least 5" in str(Estimate(1.0, math.nan, math.nan, 1).warning(0.1))
    assert Estimate(1.0, 1.0, 1.0, 3).warning(0.1) == "3 seeds: the interval is too narrow; run at least 5"
    assert "the value is 0 but seeds differ" in str(Estimate(0.0, -1.0, 1.0, 5).warning(0.1))
    assert "not finite" in str(Estimate(math.inf, math.nan, math.nan, 5).warning(0.1))


def test_the_estimate_of_how_many_seeds_would_do_holds_roughly():
    rng = np.random.default_rng(5)
    needed = [mean_interval(rng.normal(100, 10, 20).tolist()).seeds_for(0.02) for _ in range(20)]
    # By theory (1.96 * 10 / 2)^2 = 96.
    assert 70 < np.mean([count for count in needed if count is not None]) < 130


@pytest.mark.parametrize(
    ("low", "high", "tolerance", "verdict"),
    [
        (3.2, 3.2, 0.1, "holds"),
        (3.0, None, 0, "holds"),
        (None, 3.4, 0, "holds"),
        (3.2, 3.2, 0.02, "inconclusive"),
        (3.25, None, 0, "inconclusive"),
        (5.0, 5.0, 0.1, "does not hold"),
        (3.5, None, 0, "does not hold"),
        (None, 3.0, 0, "does not hold"),
        (1.0, 2.0, 0, "does not hold"),
    ],
)
def test_a_verdict_follows_from_the_interval(low: float | None, high: float | None, tolerance: float, verdict: str):
    assert judge(Estimate(3.2, 3.1, 3.3, 10, unit="x"), low, high, tolerance).verdict == verdict


def test_a_verdict_says_its_numbers_and_what_would_decide():
    inconclusive = judge(Estimate(3.2, 3.1, 3.3, 10, unit="x"), 3.25)
    assert inconclusive.reason == "3.20x [3.10, 3.30] against at least 3.25"
    assert inconclusive.seeds_needed == 40
    assert not inconclusive.provisional
    assert judge(Estimate(3.2, 3.1, 3.3, 2), 3.0).provisional
    single = judge(mean_interval([3.2]), 3.0)
    assert (single.verdict, single.provisional) == ("holds", True)
    nothing = judge(ratio_interval([0.0], [0.0]), 3.0)
    assert nothing.verdict == "inconclusive"
    assert "there is no value" in nothing.reason
    infinite = judge(ratio_interval([1.0, 2.0, 1.5], [0.0, 0.0, 0.0]), 3.0)
    assert infinite.verdict == "holds"


def the_interval_as_it_was_judged_alone(estimate: Estimate, low: float, high: float) -> Verdict:
    """The rule for given numbers as it was written before there was one judge."""
    ends = (estimate.low, estimate.high) if math.isfinite(estimate.low) else (estimate.value, estimate.value)
    if any(map(math.isnan, ends)):
        return Verdict.INCONCLUSIVE
    if low <= ends[0] and ends[1] <= high:
        return Verdict.REPRODUCED
    return Verdict.NOT_REPRODUCED if ends[1] < low or ends[0] > high else Verdict.INCONCLUSIVE


def the_mean_as_it_was_judged_alone(estimate: Estimate, low: float, high: float, in_direction: bool) -> Verdict:
    """The rule for claims of papers as it was written before there was one judge."""
    slack = 1e-9 * max(1.0, abs(estimate.value))
    low, high = low - slack, high + slack
    wider = estimate.high - estimate.low > high - low
    if wider and estimate.low <= high and estimate.high >= low:
        return Verdict.INCONCLUSIVE
    if low <= estimate.value <= high:
        return Verdict.REPRODUCED
    return Verdict.PARTLY if in_direction else Verdict.NOT_REPRODUCED


def the_direction_as_it_was_judged_alone(
    value: float, low: float, high: float, neutral: float | None, most: float
) -> bool:
    if neutral is None:
        return False
    stated, measured = min(max(value, low), high) - neutral, value - neutral
    if stated * measured <= 0:
        return False
    return 1 / most <= measured / stated <= most


def drawn_estimate(rng: random.Random) -> Estimate:
    """An estimate near small whole numbers, so that borders are hit, to a hair's breadth, too."""

    def near() -> float:
        return rng.choice([0.0, 0.1, 0.3, 1.0, 2.0, 3.0, 1e6]) * rng.choice([1, -1]) + rng.choice(
            [0.0, 1e-10, -1e-10, 1e-8, rng.uniform(-2, 2)]
        )

    value = rng.choice([near(), near(), near(), math.inf, math.nan])
    if not math.isfinite(value) or rng.random() < 0.2:
        return Estimate(value, math.nan, math.nan, rng.randint(1, 10))
    low, high = sorted((near(), near()))
    # Of few values a mean may lie outside its interval: the bootstrap knows no better.
    low, high = rng.choice([(low, high), (min(low, value), max(high, value)), (value, value)])
    return Estimate(value, low, high, rng.randint(1, 10))


def test_the_one_judge_decides_as_each_rule_did_alone():
    rng = random.Random(5)
    seen = Counter[tuple[Rule, Verdict]]()
    for _ in range(20_000):
        estimate = drawn_estimate(rng)
        low, high = sorted(rng.choice([0.0, 0.1, 0.3, 1.0, 2.0, 3.0]) * rng.choice([1, -1]) for _ in range(2))
        low, high = rng.choice([(low, high), (low, low), (low, math.inf), (-math.inf, high)])
        tolerance = rng.choice([0.0, 0.1, 0.5])
        accepted = widened(low, high, tolerance)
        neutral = rng.choice([None, math.nan, 0.0, 1.0])
        alike = same_direction(estimate.value, low, high, neutral, 3.0)
        if math.isfinite(estimate.value):
            assert alike == the_direction_as_it_was_judged_alone(estimate.value, low, high, neutral, 3.0)
        by_interval = decide(estimate, accepted, Rule.INTERVAL)
        assert by_interval is the_interval_as_it_was_judged_alone(estimate, *accepted)
        stated = (None if math.isinf(low) else low, None if math.isinf(high) else high)
        assert judge(estimate, *stated, tolerance).finding is by_interval
        by_mean = decide(estimate, accepted, Rule.MEAN, in_direction=alike)
        assert by_mean is the_mean_as_it_was_judged_alone(estimate, *accepted, alike)
        seen.update([(Rule.INTERVAL, by_interval), (Rule.MEAN, by_mean)])
    # All seven that there are, often.
    assert len(seen) == 7
    assert min(seen.values()) > 100


def test_a_claim_is_judged_by_its_mean_and_given_numbers_by_the_whole_interval():
    crossing = Estimate(3.2, 2.9, 3.5, 10)
    assert decide(crossing, (3.0, 4.0), Rule.INTERVAL) is Verdict.INCONCLUSIVE
    assert decide(crossing, (3.0, 4.0), Rule.MEAN) is Verdict.REPRODUCED
    # An interval that is wider than what is accepted says nothing.
    assert decide(crossing, (3.1, 3.3), Rule.MEAN) is Verdict.INCONCLUSIVE
    # The last digit of a sum decides nothing of a claim.
    above = Estimate(0.1 + 0.2, 0.3, 0.1 + 0.2, 3)
    assert decide(above, (-math.inf, 0.3), Rule.MEAN) is Verdict.REPRODUCED
    assert decide(above, (-math.inf, 0.3), Rule.INTERVAL) is Verdict.INCONCLUSIVE


def test_an_estimate_is_written_with_the_digits_that_are_asked_for():
    assert f"{Estimate(3.2042, 3.1, 3.3, 10, unit='x'):.3g}" == "3.2 [3.1, 3.3]"
    assert f"{mean_interval([5.0]):.4g}" == f"{mean_interval([5.0, 5.0]):.4g}" == "5"
    assert f"{Estimate(3.2042, 3.1, 3.3, 10, unit='x')}" == "3.20x [3.10, 3.30]"


def test_a_metric_is_one_number_for_each_run_and_scheduler():
    frame = pl.DataFrame({
        "run": ["a", "a", "b", "b"],
        "scheduler": ["packs", "packs", "packs", "packs"],
        "kind": ["small", "large", "small", "large"],
        "mean_ns": [1, 10, 3, 30],
    })  # fmt: skip
    small = Metric.read({"name": "small", "table": "fct", "value": "mean_ns", "where": "kind = 'small'"}, "m")
    assert metric_values(frame, small)["value"].to_list() == [1, 3]
    assert metric_values(frame, Metric("most", "fct", "max(mean_ns)"))["value"].to_list() == [10, 30]
    with pytest.raises(InputError, match="mean_ns has 2 rows for one scheduler of one run in table fct: choose one"):
        metric_values(frame, Metric.read("fct.mean_ns", "m"))
    with pytest.raises(InputError, match=r"metric x: .*men_ns"):
        metric_values(frame, Metric("x", "fct", "men_ns"))
    with pytest.raises(InputError, match="max\\(kind\\) is not a number"):
        metric_values(frame, Metric("x", "fct", "max(kind)"))


COMPLETION = {"name": "mean", "table": "flows", "value": "avg(fct_ns)", "common": "flow"}


def test_means_over_the_flows_that_all_schedulers_completed():
    runs = pl.DataFrame({
        "run": ["a", "b", "c", "d", "e", "f"],
        "seed": [1, 1, 1, 2, 2, 2],
        "scheduler": ["fifo", "packs", "packs", "fifo", "packs", "packs"],
        "window": [None, 5, 9, None, 5, 9],
        "load": [0.5] * 6,
    })  # fmt: skip
    flows = pl.DataFrame({
        "run": ["a", "a", "a", "b", "b", "b", "c", "c", "c", "d", "e", "f"],
        "scheduler": ["fifo"] * 3 + ["packs"] * 6 + ["fifo", "packs", "packs"],
        "flow": [1, 2, 3, 1, 2, 3, 1, 2, 3, 7, 7, 7],
        "fct_ns": [10, 20, None, 30, 40, 50, 60, None, 70, 1, 2, 3],
    })  # fmt: skip
    metric = Metric.read(COMPLETION, "m")
    # Of seed 1 only flow 1 is complete in all three runs: packs with another window is another scheduler.
    kept = common_rows(flows, runs, metric)
    assert kept.select("run", "flow").rows() == [("a", 1), ("b", 1), ("c", 1), ("d", 7), ("e", 7), ("f", 7)]
    assert metric_values(kept, metric)["value"].to_list() == [10, 30, 60, 1, 2, 3]
    # A seed that one scheduler has not run is left out; another load has flows of its own.
    without_f = common_rows(flows, runs.filter(pl.col("run") != "f"), metric)
    assert set(without_f["run"]) == {"a", "b", "c"}
    other = runs.with_columns(load=pl.when(pl.col("run") == "a").then(0.9).otherwise("load"))
    assert ("a", 2) in common_rows(flows, other, metric).select("run", "flow").rows()
    # A run may have all schedulers itself.
    together = flows.filter(pl.col("run").is_in(["a", "b"])).with_columns(run=pl.lit("a"))
    one_run = pl.DataFrame({"run": ["a"], "seed": [1]})
    assert common_rows(together, one_run, metric)["flow"].to_list() == [1, 2, 1, 2]
    with pytest.raises(InputError, match='metric mean: table flows: common: unknown column "flw"; did you mean flow'):
        common_rows(flows, runs, Metric.read({**COMPLETION, "common": "flw"}, "m"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval([]), "values: expected at least one value"),
        (lambda: mean_interval([1.0, math.nan]), "values\\[1\\] = nan: expected a finite number"),
        (lambda: mean_interval([1.0, 2.0], confidence=1.0), "confidence = 1.0: expected a number between 0 and 1"),
        (lambda: ratio_interval({1: 1.0}, {2: 1.0}), "nothing to pair: the two sides have no seed in common"),
        (lambda: ratio_interval([1.0], [1.0, 2.0]), "cannot pair 1 values with 2"),
        (lambda: ratio_interval({1: 1.0}, [1.0]), "expected two mappings from seeds or two sequences"),
        (lambda: judge(mean_interval([1.0])), "stated_low, stated_high: expected at least one of them"),
        (lambda: judge(mean_interval([1.0]), 2.0, 1.0), "stated_low = 2.0 lies above stated_high = 1.0"),
        (lambda: judge(mean_interval([1.0]), 2.0, tolerance=-1.0), "tolerance = -1.0: expected a number >= 0"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message: str):
    with pytest.raises(InputError, match=message):
        call()
