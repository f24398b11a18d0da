"""`pifolab conformance`: replays scheduler vectors through the library or a data plane and compares every decision."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pifolab import _pifolab
from pifolab.cli.parser import Parser
from pifolab.dataplane import run_program
from pifolab.errors import InputError

__all__ = ["add_to"]

THROUGH = ("library", "kernel", "switch")


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the command."""
    conformance = commands.add_parser(
        "conformance",
        help="replay scheduler vectors and compare every decision",
        epilog="Exit status: 0 all answers agree, 1 some do not, 2 a file cannot be replayed, 3 this machine or this "
        "user cannot run the data plane. Of several, the last one in this list that applies.",
    )
    conformance.add_argument("files", nargs="+", metavar="FILE", help="a vector, as conformance/README.md describes")
    conformance.add_argument(
        "--through",
        type=_through,
        default=("library",),
        metavar="WHAT",
        help="what has to decide alike, separated by commas: library (default), kernel (the eBPF programs), "
        "switch (the user-space switch)",
    )
    conformance.set_defaults(run=run_conformance)


def _through(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in THROUGH:
            raise argparse.ArgumentTypeError(_pifolab.unknown_name("place to replay through", name, list(THROUGH)))
    return names


def run_conformance(arguments: argparse.Namespace) -> int:
    """Replay every file through everything that was asked for."""
    return max(_replay(name, arguments.files) for name in arguments.through)


def _replay(through: str, files: Sequence[str]) -> int:
    if through == "library":
        return _replay_library(files)
    sys.stdout.flush()
    return run_program(["conformance", "--through", through, *files])


def _replay_library(files: Sequence[str]) -> int:
    """Replay every file; a broken one is reported in its turn and does not keep the others from being replayed."""
    vectors = operations = mismatches = broken = 0
    first = None
    for file in files:
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
    print(f"library: {vectors} vectors, {operations} operations, {mismatches} mismatches")
    if first is not None:
        print(f"first mismatch: {first}")
    if broken:
        return 2
    return 1 if mismatches else 0
