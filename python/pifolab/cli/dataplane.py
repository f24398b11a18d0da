"""`pifolab dataplane`: the Linux data plane's own program and the P4 programs, found and run.

The options of a command belong to the program, which also explains them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from pifolab.cli.parser import Parser
from pifolab.cli.testbed import run_testbed
from pifolab.dataplane import find_program, p4_tools, run_program
from pifolab.errors import InputError

_HELP = ("-h", "--help")


def declare_program(parser: Parser) -> None:
    """Declare the arguments of a command of the program: those that the program has."""
    name = parser.prog.split()[-1]
    _declare(parser, lambda arguments: run_program([name, *arguments]))


def declare_testbed(parser: Parser) -> None:
    """Declare the arguments of `pifolab dataplane testbed`."""
    _declare(parser, run_testbed)


def declare_p4(parser: Parser) -> None:
    """Declare the arguments of `pifolab dataplane p4`."""
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT")
    parser.set_defaults(run=lambda arguments: p4_tools("command").run_p4(arguments.arguments))


def _declare(parser: Parser, run: Callable[[list[str]], int]) -> None:
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="see --help, which the program prints")
    parser.set_defaults(run=partial(_run, parser, run))


def _run(parser: Parser, run: Callable[[list[str]], int], arguments: argparse.Namespace) -> int:
    words: list[str] = arguments.arguments
    if any(word in _HELP for word in words):
        try:
            find_program()
        except InputError as missing:
            # The program explains its options; without it this is what can be said.
            print(f"usage: {parser.prog} ...\n\n{parser.description}\n\nIts options: {missing}")
            return 0
    return run(words)
