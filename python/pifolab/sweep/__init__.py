"""Many runs: every combination of a sweep's axes, with every seed, on all processors; see docs/sweeps.md."""

from pifolab.sweep.comparison import Comparison
from pifolab.sweep.engine import UntilTight, run_sweep, run_together
from pifolab.sweep.plan import Plan, PlannedRun, Together, make_plan
from pifolab.sweep.results import Compared, Failure, Group, SweepResult, joined_table
from pifolab.sweep.spec import Setting, Sweep

__all__ = [
    "Compared",
    "Comparison",
    "Failure",
    "Group",
    "Plan",
    "PlannedRun",
    "Setting",
    "Sweep",
    "SweepResult",
    "Together",
    "UntilTight",
    "joined_table",
    "make_plan",
    "run_sweep",
    "run_together",
]
