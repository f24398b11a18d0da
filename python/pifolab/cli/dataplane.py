"""`pifolab dataplane` and `pifolab doctor`: the Linux data plane's own program, found and run."""

from __future__ import annotations

import argparse

from pifolab.cli.parser import Parser
from pifolab.dataplane import run_program

__all__ = ["add_to"]


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the commands. Their options belong to the program, which also explains them."""
    dataplane = commands.add_parser(
        "dataplane",
        help="schedulers on real packets: up, status, down, switch, conformance, cost",
        add_help=False,
        prefix_chars="\0",
    )
    dataplane.add_argument("arguments", nargs="*", metavar="ARGUMENT")
    dataplane.set_defaults(run=lambda arguments: run_program(arguments.arguments or ["--help"]))
    doctor = commands.add_parser(
        "doctor", help="what this machine supports, and what to install", add_help=False, prefix_chars="\0"
    )
    doctor.add_argument("arguments", nargs="*", metavar="ARGUMENT")
    doctor.set_defaults(run=lambda arguments: run_program(["doctor", *arguments.arguments]))
