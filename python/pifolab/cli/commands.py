"""The whole command line: every command is one line here.

Commands import what they need when they run: `pifolab list` should not wait for a plotting library.
"""

from __future__ import annotations

from pifolab import _pifolab
from pifolab.cli import (
    advise,
    agree,
    attack,
    bench,
    bounds,
    catalogue,
    compare,
    completion,
    conformance,
    dataplane,
    demo,
    flows,
    hierarchy,
    playground,
    policy,
    reproduce,
    results,
    run,
    scorecard,
    sweep,
    testbed,
    trace,
)
from pifolab.cli.parser import Parser

__all__ = ["complete_parser"]


def complete_parser() -> Parser:
    """Return the parser of the whole command line."""
    parser = Parser(
        prog="pifolab",
        description="Programmable packet scheduling, from paper to packets.",
        epilog="Help on one command: pifolab COMMAND --help",
    )
    parser.add_argument("--version", action="version", version=f"pifolab {_pifolab.__version__}")
    commands = parser.commands()
    first = (
        run,
        compare,
        trace,
        flows,
        agree,
        sweep,
        results,
        reproduce,
        scorecard,
        advise,
        attack,
        bounds,
        hierarchy,
        policy,
    )
    for module in (*first, catalogue, conformance, bench, demo, playground, dataplane, testbed):
        module.add_to(commands)
    completion.add_to(commands, parser)
    return parser
