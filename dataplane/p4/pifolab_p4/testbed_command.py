"""`pifolab dataplane testbed ... --data-plane p4`: the UDP experiments on BMv2, perhaps beside Linux."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pifolab.cli.parser import Parser
from pifolab.dataplane import run_program
from pifolab.errors import InputError
from pifolab.text import shown

__all__ = ["run_p4_testbed"]

# What of the Linux data plane can carry the same packets.
_LINUX_PLANES = ("ebpf", "switch")


def run_p4_testbed(arguments: Sequence[str]) -> int:
    """Run an experiment on BMv2, and before that on the Linux data planes that are named beside it."""
    from pifolab_p4.testbed import OCCUPANCIES, SCHEDULERS, linux_arguments, plan, prepare, run

    parser = Parser(prog="pifolab dataplane testbed", description="The UDP experiments on BMv2, in virtual time.")
    parser.add_argument("experiment", metavar="EXPERIMENT", help="udp-four-flows or udp-eight-flows")
    parser.add_argument(
        "--data-plane",
        required=True,
        metavar="PLANES",
        help=f"p4, and with commas {' or '.join(_LINUX_PLANES)} that get the same flows and parameters",
    )
    parser.add_argument("--schedulers", default=",".join(SCHEDULERS), help="schedulers, separated by commas")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each (default: 3)")
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
    planes = _linux_planes(read.data_plane)
    experiment = plan(read.experiment, read.rate_mbps, read.phase_s)
    schedulers = tuple(read.schedulers.split(","))
    # Whatever is wrong is said before the first packet.
    prepare(experiment, schedulers)
    try:
        read.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {shown(str(read.out))}: cannot be made: {error.strerror}") from None
    beside = None
    if planes:
        more = ["--data-plane", ",".join(planes), "--repeat", str(read.repeat), "--out", str(read.out)]
        status = run_program(["testbed", *linux_arguments(experiment, schedulers), *more], dies_with_this=True)
        if status != 0:
            return status
        beside = json.loads((read.out / "summary.json").read_text(encoding="utf-8"))
    run(experiment, schedulers, read.repeat, read.out, read.occupancy, beside)
    return 0


def _linux_planes(given: str) -> list[str]:
    """Return the data planes beside P4."""
    planes = given.split(",")
    for plane in planes:
        if plane != "p4" and plane not in _LINUX_PLANES:
            raise InputError(f"--data-plane {shown(given)}: expected p4, alone or with {' and '.join(_LINUX_PLANES)}")
        if planes.count(plane) > 1:
            raise InputError(f"--data-plane {given}: {plane} is a duplicate")
    return [plane for plane in planes if plane != "p4"]
