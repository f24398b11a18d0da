"""`pifolab testbed ... --data-plane p4`: the UDP experiments on BMv2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pifolab.cli.parser import Parser
from pifolab.errors import InputError

__all__ = ["is_p4", "run_p4_testbed"]


def is_p4(arguments: Sequence[str]) -> bool:
    """Say whether the arguments of `pifolab testbed` ask for the P4 data plane."""
    joined = list(zip(arguments, [*arguments[1:], ""], strict=True))
    return any(first == "--data-plane=p4" or (first, second) == ("--data-plane", "p4") for first, second in joined)


def run_p4_testbed(arguments: Sequence[str]) -> int:
    """Run an experiment on BMv2."""
    from pifolab.p4.testbed import OCCUPANCIES, SCHEDULERS, plan, run

    parser = Parser(prog="pifolab testbed", description="The UDP experiments on BMv2, in virtual time.")
    parser.add_argument("experiment", metavar="EXPERIMENT", help="udp-four-flows or udp-eight-flows")
    parser.add_argument("--data-plane", choices=("p4",), required=True)
    parser.add_argument("--scheduler", default=",".join(SCHEDULERS), help="schedulers, separated by commas")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each (default: 1)")
    parser.add_argument("--rate-mbps", type=float, help="rate of the bottleneck (default: 5)")
    parser.add_argument(
        "--phase-s", type=float, help="virtual seconds from one flow's start to the next (default: 2 or 1)"
    )
    parser.add_argument(
        "--occupancy",
        choices=tuple(OCCUPANCIES),
        default="counted",
        help="how programs know what queues hold: exactly, or by a register that egress writes (default: counted)",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where the results go")
    read = parser.parse_args(list(arguments))
    if not 1 <= read.repeat <= 100:
        raise InputError(f"--repeat {read.repeat}: expected from 1 to 100")
    experiment = plan(read.experiment, read.rate_mbps, read.phase_s)
    run(experiment, tuple(read.scheduler.split(",")), read.repeat, read.out, read.occupancy)
    return 0
