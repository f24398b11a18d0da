"""`pifolab conformance`: replays scheduler vectors through the library or a data plane and compares every decision."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pifolab import _pifolab, packaged
from pifolab.cli.options import add_quiet
from pifolab.cli.parser import Parser
from pifolab.dataplane import p4_tools, run_program
from pifolab.errors import InputError
from pifolab.text import readable, shown

__all__ = ["declare"]

THROUGH = ("library", "kernel", "switch", "p4", "bmv2", "p4-decisions")


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab conformance`."""
    parser.epilog = (
        "Exit status: 0 all answers agree, 1 some do not, 2 a file cannot be replayed, 3 this machine or this user "
        "cannot run the data plane. Of several, the last one in this list that applies."
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a vector in JSON; default: those of the package",
    )
    parser.add_argument(
        "--through",
        type=_through,
        default=("library",),
        metavar="WHAT",
        help="what has to decide alike, separated by commas: library (default), kernel (the eBPF programs), "
        "switch (the user-space switch), p4 (the P4 programs, interpreted), bmv2 (the same in the queues of "
        "BMv2's simple_switch), p4-decisions (their decisions alone there: rank in, queue out)",
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        help="replay through the plain text of the library's schedulers, even where a faster twin decides alike",
    )
    add_quiet(parser)
    parser.set_defaults(run=run_conformance)


def _through(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in THROUGH:
            raise argparse.ArgumentTypeError(_pifolab.unknown_name("place to replay through", name, list(THROUGH)))
    return names


def run_conformance(arguments: argparse.Namespace) -> int:
    """Replay every file through everything that was asked for."""
    files = arguments.files or [str(file) for file in packaged.vectors()]
    if arguments.plain and arguments.through != ("library",):
        raise InputError("--plain: only the library has a plain text: expected --through library")
    return max(_replay(name, files, plain=arguments.plain) for name in arguments.through)


def _replay(through: str, files: Sequence[str], *, plain: bool) -> int:
    if through == "library":
        return _replay_all(through, files, lambda file: _replay_in_library(file, plain=plain))
    if through == "p4":
        interpret = p4_tools("conformance").interpret
        return _replay_all(through, files, lambda file: vars(interpret(file)))
    if through in ("bmv2", "p4-decisions"):
        return _replay_bmv2(through, files)
    for file in files:
        readable(Path(file))
    sys.stdout.flush()
    return run_program(["conformance", "--through", through, *files])


def _replay_in_library(file: str, *, plain: bool) -> Mapping[str, Any]:
    readable(Path(file))
    return _pifolab.replay_vector(file, plain)


def _replay_bmv2(through: str, files: Sequence[str]) -> int:
    """Replay every file through BMv2; what its programs cannot do is skipped, and said."""
    tools, replay = p4_tools("tools"), p4_tools("conformance").replay
    try:
        for tool in (tools.P4C, tools.BMV2):
            tool.find()
    except tools.MissingToolError as missing:
        print(f"pifolab conformance: {shown(str(missing))}", file=sys.stderr)
        return 3
    way = "queues" if through == "bmv2" else "decisions"
    with p4_tools("workspace").workspace() as compiled:
        return _replay_all(through, files, lambda file: vars(replay(file, way, compiled=compiled)[0]))


def _replay_all(through: str, files: Sequence[str], replay: Callable[[str], Mapping[str, Any]]) -> int:
    """Replay every file; a broken one is reported in its turn and does not keep the others from being replayed."""
    vectors = operations = mismatches = skipped = broken = 0
    first = None
    for file in files:
        try:
            replayed = replay(file)
        except InputError as error:
            broken += 1
            print(f"pifolab conformance: {shown(str(error))}", file=sys.stderr)
            continue
        if replayed.get("skipped") is not None:
            skipped += 1
            print(f"skipped {shown(file)}: {replayed['skipped']}")
            continue
        vectors += 1
        operations += replayed["operations"]
        mismatches += replayed["mismatches"]
        if replayed["mismatches"]:
            print(f"{shown(file)}: {replayed['mismatches']} of {replayed['operations']} operations differ")
        first = first or replayed["first"]
    left_out = f"; {skipped} skipped" if skipped else ""
    print(f"{through}: {vectors} vectors, {operations} operations, {mismatches} mismatches{left_out}")
    if first is not None:
        print(f"first mismatch: {first}")
    if broken:
        return 2
    return 1 if mismatches else 0
