"""`pifolab dataplane` and `pifolab doctor`: the Linux data plane's own program, found and run."""

from __future__ import annotations

import argparse

from pifolab.cli.parser import Parser
from pifolab.dataplane import p4_tools, run_program
from pifolab.errors import InputError

__all__ = ["add_to"]


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the commands. Their options belong to the program, which also explains them."""
    about = "schedulers on real packets: up, status, down, switch, conformance, cost, p4"
    Parser.passing(commands, "dataplane", about, _run_dataplane)
    Parser.passing(commands, "doctor", "what this machine supports, and what to install", _run_doctor)


def _run_dataplane(arguments: list[str]) -> int:
    if arguments[:1] == ["p4"]:
        return int(p4_tools("command").run_p4(arguments[1:]))
    return run_program(arguments or ["--help"])


def _run_doctor(arguments: list[str]) -> int:
    if "--help" in arguments or "-h" in arguments:
        return run_program(["doctor", *arguments])
    try:
        doctor = p4_tools("doctor")
    except InputError:
        # Without the source tree there is no P4 data plane to examine.
        return run_program(["doctor", *arguments])
    return int(doctor.run_doctor(arguments))
