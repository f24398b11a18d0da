"""Statistics over seeds: means and ratios with intervals, and verdicts against stated values."""

from pifolab.statistics.intervals import FEW_SEEDS, Estimate, interval_or_range, mean_interval, ratio_interval
from pifolab.statistics.metrics import Metric, common_rows, metric_values
from pifolab.statistics.query import MissingValueError, Query, Tables
from pifolab.statistics.verdict import Judgement, Rule, Verdict, decide, judge, range_text, same_direction, widened

__all__ = [
    "FEW_SEEDS",
    "Estimate",
    "Judgement",
    "Metric",
    "MissingValueError",
    "Query",
    "Rule",
    "Tables",
    "Verdict",
    "common_rows",
    "decide",
    "interval_or_range",
    "judge",
    "mean_interval",
    "metric_values",
    "range_text",
    "ratio_interval",
    "same_direction",
    "widened",
]
