"""`pifolab dataplane` and `pifolab doctor`: the Linux data plane's own program, found and run."""

from __future__ import annotations

import argparse

from pifolab.cli.p4 import run_p4
from pifolab.cli.parser import Parser
from pifolab.dataplane import run_program
from pifolab.p4.doctor import run_doctor

__all__ = ["add_to"]


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the commands. Their options belong to the program, which also explains them."""
    dataplane = commands.add_parser(
        "dataplane",
        help="schedulers on real packets: up, status, down, switch, conformance, cost, p4",
        add_help=False,
        prefix_chars="\0",
    )
    dataplane.add_argument("arguments", nargs="*", metavar="ARGUMENT")
    dataplane.set_defaults(run=_run_dataplane)
    doctor = commands.add_parser(
        "doctor", help="what this machine supports, and what to install", add_help=False, prefix_chars="\0"
    )
    doctor.add_argument("arguments", nargs="*", metavar="ARGUMENT")
    doctor.set_defaults(run=_run_doctor)


def _run_dataplane(arguments: argparse.Namespace) -> int:
    if arguments.arguments[:1] == ["p4"]:
        return run_p4(arguments.arguments[1:])
    return run_program(arguments.arguments or ["--help"])


def _run_doctor(arguments: argparse.Namespace) -> int:
    if "--help" in arguments.arguments or "-h" in arguments.arguments:
        return run_program(["doctor", *arguments.arguments])
    return run_doctor(arguments.arguments)
