"""`pifolab dataplane`: finds and runs the program of the Linux data plane, the DPDK node and the P4 programs.

Options are those of the program, which also explains them. Where the name of an option has a unit, the command reads a
value with its unit instead: ``--rate 10M`` for ``--rate-mbps 10``.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

from pifolab.cli.options import flagged
from pifolab.cli.parser import Parser
from pifolab.cli.renamed import say_renamed
from pifolab.cli.testbed import run_testbed
from pifolab.dataplane import DPDK, find_program, p4_tools, program_answer, run_program
from pifolab.errors import InputError
from pifolab.quantities import read_rate, read_time
from pifolab.toml import number_text

_HELP = ("-h", "--help")

_IN_SECONDS = ("duration", "flow-timeout", "interval", "phase", "watch")

#: Options that are read with a unit, the option of the program for each, and the factor from bits per second or seconds
#: to its unit.
_OF_PROGRAM = {
    "--rate": ("--rate-mbps", Fraction(1, 10**6)),
    "--delay": ("--delay-us", Fraction(10**6)),
    **{
        f"--{name}": (f"--{name}-s", Fraction(1)) for name in ("duration", "flow-timeout", "interval", "phase", "watch")
    },
}
_OLD = {old: new for new, (old, _) in _OF_PROGRAM.items()}


def declare_program(parser: Parser) -> None:
    """Declare the arguments of a command of the program: those that the program has."""
    name = parser.prog.split()[-1]
    _declare(parser, lambda arguments: run_program([name, *arguments]))


def declare_dpdk(parser: Parser) -> None:
    """Declare the arguments of `pifolab dataplane dpdk`, which go to the node as they are."""
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="see --help, which the program prints")
    parser.set_defaults(run=partial(_run_dpdk, parser))


def _run_dpdk(parser: Parser, arguments: argparse.Namespace) -> int:
    words: list[str] = arguments.arguments
    if any(word in _HELP for word in words):
        try:
            find_program(DPDK)
        except InputError as missing:
            print(f"usage: {parser.prog} ...\n\n{parser.description}\n\nIts options: {missing}")
            return 0
    return run_program(words, program=DPDK)


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
    if not any(word in _HELP for word in words):
        return run(for_program(words))
    try:
        status, text = program_answer([parser.prog.split()[-1], "--help"])
    except InputError as missing:
        # The program prints the help of its options; without it this text is shown.
        print(f"usage: {parser.prog} ...\n\n{parser.description}\n\nIts options: {missing}")
        return 0
    for old, new in _OLD.items():
        text = re.sub(rf"{old} <\w+>", f"{new} <{'RATE' if new == '--rate' else 'TIME'}>", text)
    print(text, end="")
    return status


def for_program(words: Sequence[str]) -> list[str]:
    """Return the arguments for the program, whose options have their units in their names.

    Examples
    --------
    >>> for_program(["--rate", "10M", "--duration=1.5s"])
    ['--rate-mbps', '10', '--duration-s=1.5']
    """
    found: list[str] = []
    option = ""
    for word in words:
        name, equals, value = word.partition("=")
        if option:
            word, option = _number(option, word), ""
        elif name in _OF_PROGRAM:
            word = f"{_OF_PROGRAM[name][0]}={_number(name, value)}" if equals else _OF_PROGRAM[name][0]
            option = "" if equals else name
        elif name in _OLD:
            say_renamed(name, _OLD[name])
        found.append(word)
    return found


def _number(option: str, text: str) -> str:
    """Return what `option` is given as a number of the program's units; 0 needs no unit."""
    if text == "0":
        return text
    name = option.removeprefix("--").replace("-", "_")
    try:
        value = (read_rate if option == "--rate" else read_time)(name, text)
    except InputError as error:
        raise flagged(error) from None
    return number_text(value * _OF_PROGRAM[option][1])
