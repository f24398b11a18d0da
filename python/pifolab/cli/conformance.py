"""`pifolab conformance`: replays scheduler vectors and compares every decision."""

from __future__ import annotations

import argparse
import sys

from pifolab import _pifolab
from pifolab.cli.parser import Parser
from pifolab.errors import InputError

__all__ = ["add_to"]


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the command."""
    conformance = commands.add_parser(
        "conformance",
        help="replay scheduler vectors and compare every decision",
        epilog="Exit status: 0 all answers agree, 1 some do not, 2 a file cannot be replayed.",
    )
    conformance.add_argument("files", nargs="+", metavar="FILE", help="a vector, as conformance/README.md describes")
    conformance.set_defaults(run=run_conformance)


def run_conformance(arguments: argparse.Namespace) -> int:
    """Replay every file; a broken one is reported in its turn and does not keep the others from being replayed."""
    vectors = operations = mismatches = broken = 0
    first = None
    for file in arguments.files:
        try:
            outcome = _pifolab.replay_vector(file)
        except InputError as error:
            broken += 1
            print(f"pifolab conformance: {error}", file=sys.stderr)
            continue
        vectors += 1
        operations += outcome["operations"]
        mismatches += outcome["mismatches"]
        first = first or outcome["first"]
    print(f"{vectors} vectors, {operations} operations, {mismatches} mismatches")
    if first is not None:
        print(f"first mismatch: {first}")
    if broken:
        return 2
    return 1 if mismatches else 0
