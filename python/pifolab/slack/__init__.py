"""Schedulers on strict-priority queues, judged harder than by one number under constant arrivals.

`judge` runs them on identical packets and counts inversions, drops beyond PIFO's, and more; ``python -m pifolab.slack``
writes the measured sections of docs/slack.md and docs/low-load.md.
"""

from pifolab.slack.measure import ARRIVALS, DEPTHS, DISTRIBUTIONS, SCHEDULERS, judge

__all__ = ["ARRIVALS", "DEPTHS", "DISTRIBUTIONS", "SCHEDULERS", "judge"]
