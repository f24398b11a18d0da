"""Many runs: every combination of a sweep's axes, with every seed, on all processors; see docs/sweeps.md."""

from pifolab.sweep.comparison import Comparison
from pifolab.sweep.engine import UntilTight, run_sweep
from pifolab.sweep.plan import Plan, PlannedRun, make_plan
from pifolab.sweep.results import Compared, Failure, Group, SweepResult
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
    "UntilTight",
    "make_plan",
    "run_sweep",
]
