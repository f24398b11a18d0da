"""`pifolab conformance`: replays scheduler vectors through the library or a data plane and compares every decision."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pifolab import _pifolab, packaged
from pifolab.cli.options import add_json
from pifolab.cli.output import print_json
from pifolab.cli.parser import Parser
from pifolab.dataplane import DPDK, PROGRAM, p4_tools, program_answer, run_program
from pifolab.errors import InputError
from pifolab.text import read_bytes, readable, shown

_INTERPRETED = "p4"
THROUGH = ("library", "kernel", "switch", "dpdk", _INTERPRETED, "bmv2", "p4-decisions")


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab conformance`."""
    parser.epilog = (
        "Exit status: 0 all answers agree, 1 some do not, 2 a file cannot be replayed, 3 this machine or this user "
        "cannot run the data plane. Of several, the last one in this list that applies."
    )
    parser.add_argument(
        "files",
        type=Path,
        nargs="*",
        metavar="FILE",
        help="a vector in JSON; default: those of the package",
    )
    parser.add_argument(
        "--through",
        type=_through,
        default=("library",),
        metavar="WHAT",
        help="the implementations to test, separated by commas: library (default), kernel (the eBPF programs), "
        "switch (the user-space switch), dpdk (the DPDK node), p4 (the P4 programs, interpreted), bmv2 (the same in "
        "the queues of BMv2's simple_switch), p4-decisions (their decisions alone there: rank in, queue out)",
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        help="replay through the plain text of the library's schedulers, even where a faster twin decides alike",
    )
    add_json(parser, "the counts")
    parser.set_defaults(run=run_conformance)


def _through(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in THROUGH:
            raise argparse.ArgumentTypeError(_pifolab.unknown_name("place to replay through", name, list(THROUGH)))
    return names


def run_conformance(arguments: argparse.Namespace) -> int:
    """Replay every file through all chosen implementations."""
    files = list(map(str, arguments.files or packaged.vectors()))
    if arguments.plain and arguments.through != ("library",):
        raise InputError("--plain: only the library has twins: expected --through library")
    silent = arguments.json or arguments.quiet
    ended = [_replay(name, files, plain=arguments.plain, silent=silent) for name in arguments.through]
    if arguments.json:
        print_json([counts for _, counts in ended if counts])
    return max(status for status, _ in ended)


def _replay(through: str, files: Sequence[str], *, plain: bool, silent: bool) -> tuple[int, dict[str, Any]]:
    """Return the exit status and the counts; no counts if the data plane cannot run."""
    if through == "library":
        return _replay_all(through, files, lambda file: _replay_in_library(file, plain=plain))
    if through == _INTERPRETED:
        interpret = p4_tools("conformance").interpret
        return _replay_all(through, files, lambda file: vars(interpret(file)))
    if through in ("bmv2", "p4-decisions"):
        return _replay_bmv2(through, files)
    for file in files:
        readable(Path(file))
    sys.stdout.flush()
    program = DPDK if through == "dpdk" else PROGRAM
    words = ["--replay"] if through == "dpdk" else ["conformance", "--through", through]
    if not silent:
        return run_program([*words, *files], program=program), {}
    status, told = program_answer([*words, *files, "--json"], program=program)
    return status, json.loads(told) if told else {}


def _replay_in_library(file: str, *, plain: bool) -> Mapping[str, Any]:
    return _pifolab.replay_vector(file, read_bytes(Path(file)), plain)


def _replay_bmv2(through: str, files: Sequence[str]) -> tuple[int, dict[str, Any]]:
    """Replay every file through BMv2; unsupported vectors are skipped with a message."""
    tools, replay = p4_tools("tools"), p4_tools("conformance").replay
    try:
        for tool in (tools.P4C, tools.BMV2):
            tool.find()
    except tools.MissingToolError as missing:
        print(f"pifolab conformance: {shown(str(missing))}", file=sys.stderr)
        return 3, {}
    way = "queues" if through == "bmv2" else "decisions"
    with p4_tools("workspace").workspace() as compiled:
        return _replay_all(through, files, lambda file: vars(replay(file, way, compiled=compiled)[0]))


def _replay_all(
    through: str, files: Sequence[str], replay: Callable[[str], Mapping[str, Any]]
) -> tuple[int, dict[str, Any]]:
    """Replay every file; a broken file is reported in its turn, and the others are still replayed."""
    vectors = operations = mismatches = broken = 0
    skipped: list[tuple[str, str]] = []
    first = None
    for file in files:
        try:
            replayed = replay(file)
        except InputError as error:
            broken += 1
            print(f"pifolab conformance: {shown(str(error))}", file=sys.stderr)
            continue
        if replayed.get("skipped") is not None:
            skipped.append((file, replayed["skipped"]))
            print(f"skipped {shown(file)}: {replayed['skipped']}")
            continue
        vectors += 1
        operations += replayed["operations"]
        mismatches += replayed["mismatches"]
        if replayed["mismatches"]:
            print(f"{shown(file)}: {replayed['mismatches']} of {replayed['operations']} operations differ")
        first = first or replayed["first"]
    left_out = f"; {len(skipped)} skipped" if skipped else ""
    print(f"{through}: {vectors} vectors, {operations} operations, {mismatches} mismatches{left_out}")
    if first is not None:
        print(f"first mismatch: {first}")
    counts = {
        "through": through, "vectors": vectors, "operations": operations, "mismatches": mismatches, "skipped": skipped,
        "first": first,
    }  # fmt: skip
    return (2 if broken else int(mismatches > 0)), counts
