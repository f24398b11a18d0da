"""Schedulers on strict-priority queues, judged harder than by one number under constant arrivals.

`judge` runs them on identical packets and counts inversions, drops beyond PIFO's, and more; ``python -m slack``
writes the measured sections of lab/pages/slack.md and lab/pages/low-load.md.
"""

from slack.measure import ARRIVALS, DEPTHS, DISTRIBUTIONS, SCHEDULERS, judge

__all__ = ["ARRIVALS", "DEPTHS", "DISTRIBUTIONS", "SCHEDULERS", "judge"]
