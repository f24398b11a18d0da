"""`pifolab dataplane p4`: parameter files, compiled programs and their resources."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.cli.parser import Parser, pair_of
from pifolab.errors import InputError
from pifolab.export import write_text
from pifolab.text import shown, value_of
from pifolab_p4.tools import P4C_TOFINO, MissingToolError, compile_bmv2, program_file, programs

__all__ = ["run_p4"]

_TARGETS = ("bmv2", "tofino", "tofino2")


def run_p4(arguments: Sequence[str]) -> int:
    """Run `pifolab dataplane p4` with these arguments and return the exit status."""
    parser = Parser(prog="pifolab dataplane p4", description="The P4 programs of dataplane/p4.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="the programs, the schedulers that each does, and the targets that it has")
    parameters = commands.add_parser(
        "parameters",
        help="write the parameter file of a program, or with --all those of the tree",
        description="Write the parameter file that a program is compiled with, by a file that defines PF_PARAMETERS "
        "as its name and includes the program.",
    )
    what = parameters.add_mutually_exclusive_group(required=True)
    what.add_argument("--all", action="store_true", help="those of the tree, anew")
    what.add_argument("--scheduler", metavar="NAME", help="a scheduler of the library")
    _add_parameters(parameters)
    parameters.add_argument("--out", type=Path, metavar="FILE", help="where to (default: standard output)")
    compiled = commands.add_parser("compile", help="compile a program for BMv2")
    compiled.add_argument("scheduler", metavar="SCHEDULER", help="a scheduler of the library")
    compiled.add_argument("--rank", choices=("dscp", "vlan", "payload"), default="dscp", help="where ranks come from")
    compiled.add_argument("--out", type=Path, required=True, metavar="FILE", help="the JSON file for simple_switch")
    _add_parameters(compiled)
    resources = commands.add_parser(
        "resources",
        help="what each program takes of a Tofino, beside the papers' tables",
        description="Compile the programs for Tofino and Tofino 2 and count what each takes. Fails if a program is "
        "refused or an assembly has a register twice. Without the compiler the stored figures are shown.",
    )
    resources.add_argument("--stored", action="store_true", help="the stored figures, and compile nothing")
    resources.add_argument("--write", action="store_true", help="store the figures, and put them into docs/p4.md")
    resources.add_argument(
        "--p4c",
        metavar="RELEASE",
        help="with --write: the release of p4c that the compiler was built from, which it does not say itself",
    )
    resources.add_argument("--only", metavar="PROGRAM", help="one program alone")
    staleness = commands.add_parser(
        "staleness",
        help="what a ghost register costs: decisions that differ where depths are as old as the last departure",
    )
    staleness.add_argument("files", nargs="+", metavar="FILE", help="a vector with capacities in packets")
    running = commands.add_parser(
        "run",
        help="run any program that p4c compiled for BMv2 over packets, interpreted",
        description="Send packets through a program in virtual time. Exit status: 1 if packets that the file expects "
        "do not leave as it says.",
    )
    running.add_argument("program", type=Path, metavar="PROGRAM", help="what p4c wrote (.json, or gzip of it)")
    running.add_argument("--entries", type=Path, metavar="FILE", help="lines in the words of simple_switch_CLI")
    running.add_argument(
        "--in",
        dest="packets",
        type=Path,
        required=True,
        metavar="FILE",
        help="a pcap, or lines `packet PORT HEX` and `expect PORT HEX`",
    )
    running.add_argument("--out", type=Path, metavar="FILE", help="packets that leave: a .pcap, or lines of text")
    running.add_argument("--port", type=int, default=0, metavar="N", help="where packets of a pcap arrive (default: 0)")
    running.add_argument("--rate-mbps", type=float, metavar="R", help="each port's rate (default: all leave at once)")
    running.add_argument("--queues", type=int, default=8, metavar="N", help="priority queues of each port (default: 8)")
    running.add_argument("--depth", type=int, default=64, metavar="N", help="packets of each queue (default: 64)")
    running.add_argument("--seed", type=int, default=0, metavar="N", help="of the program's random numbers")
    commands.add_parser(
        "down",
        help="remove what P4 commands that were killed (kill -9) left in the temporary folder",
        description="Remove the folders pifolab-p4-* of commands of this user that have ended without removing them. "
        "Those of commands that run stay, and so does everything that pifolab did not make.",
    )
    read = parser.parse_args(list(arguments))
    commanded = {
        "list": _list,
        "parameters": _parameters,
        "compile": _compile,
        "resources": _resources,
        "staleness": _staleness,
        "down": _down,
        "run": _run,
    }
    return commanded[read.command](read)


def _add_parameters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--param", action="append", default=[], metavar="KEY=VALUE", help="a parameter, as pifolab show NAME lists them"
    )
    parser.add_argument("--target", choices=_TARGETS, default="bmv2", help="where it runs (default: bmv2)")


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    pairs = (pair_of("--param", shown(text)) for text in arguments.param)
    return {key: value_of(value) for key, value in pairs}


def _list(arguments: argparse.Namespace) -> int:
    for program, schedulers in programs().items():
        there = [name for name in ("v1model", "tna") if program_file(program, name).is_file()]
        print(f"{program:16} {', '.join(schedulers):32} {', '.join(there)}")
    return 0


def _parameters(arguments: argparse.Namespace) -> int:
    from pifolab_p4.parameters import write_files

    if arguments.all:
        for path in write_files():
            print(path)
        return 0
    text = _pifolab.p4_parameters(arguments.scheduler, _given(arguments), arguments.target)["text"]
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        write_text(text, arguments.out)
    return 0


def _compile(arguments: argparse.Namespace) -> int:
    from pifolab_p4.workspace import workspace

    if arguments.target != "bmv2":
        raise InputError(
            f"--target {arguments.target}: expected bmv2; what Tofino needs: pifolab dataplane p4 resources"
        )
    made = _pifolab.p4_parameters(arguments.scheduler, _given(arguments), "bmv2")
    with workspace() as folder:
        rank = f"PF_RANK RANK_{arguments.rank.upper()}"
        program = compile_bmv2(folder, made["program"], made["text"], (rank,))
        write_text(program.read_text(encoding="utf-8"), arguments.out)
    return 0


def _resources(arguments: argparse.Namespace) -> int:
    from pifolab_p4 import resources

    if arguments.write and not (arguments.p4c or "").strip():
        raise InputError(
            "--write: expected --p4c RELEASE, the release of p4c that the compiler was built from (its Version.txt and "
            "commit): the compiler tells its back end's version alone"
        )
    if arguments.p4c is not None and not arguments.write:
        raise InputError("--p4c: expected --write, which stores it")
    programs = resources.programs_in_tree()
    if arguments.only is not None:
        if arguments.only not in programs:
            raise InputError(_pifolab.unknown_name("program", arguments.only, programs))
        programs = [arguments.only]
    if not arguments.stored:
        try:
            P4C_TOFINO.find()
        except MissingToolError as missing:
            if arguments.write:
                raise
            print(f"pifolab dataplane p4 resources: stored figures: {missing}", file=sys.stderr)
            arguments.stored = True
    if arguments.stored:
        sys.stdout.write(resources.page_table(resources.read_stored()))
        return 0
    if arguments.write and arguments.only is not None:
        raise InputError("--write conflicts with --only: all figures are of one compiler")
    broken = []
    measured: dict[str, dict[str, resources.Resources]] = {target: {} for target in resources.TARGETS}
    for target in resources.TARGETS:
        for program in programs:
            try:
                figures = resources.measure(program, target)
            except InputError as error:
                broken.append(str(error))
                print(f"pifolab dataplane p4 resources: {error}", file=sys.stderr)
                continue
            measured[target][program] = figures
            if not resources.fits(figures, target):
                broken.append(f"{program} for {target}: {figures.stages} stages")
    of = {
        target: {program: asdict(figures) for program, figures in found.items()} for target, found in measured.items()
    }
    sys.stdout.write(
        resources.page_table({"compiler": P4C_TOFINO.version(), "p4c": shown(arguments.p4c or ""), "programs": of})
    )
    if arguments.write and not broken:
        resources.write_stored(measured, shown(arguments.p4c.strip()))
        resources.write_page()
    return 1 if broken else 0


def _staleness(arguments: argparse.Namespace) -> int:
    from pifolab_p4.conformance import replay

    for file in arguments.files:
        [replayed] = replay(file, "queues", defines=("PF_OCCUPANCY_GHOST",))
        if replayed.skipped is not None:
            print(f"skipped {shown(file)}: {replayed.skipped}")
        else:
            print(f"{shown(file)}: {replayed.mismatches} of {replayed.operations} operations differ")
    return 0


def _down(arguments: argparse.Namespace) -> int:
    from pifolab_p4.workspace import remove_left

    for folder in (removed := remove_left()):
        print(f"removed {shown(str(folder))}")
    if not removed:
        print("nothing is left of P4 commands that were killed")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    from pifolab_p4 import running

    for name, least, most in (("port", 0, 511), ("queues", 1, 256), ("depth", 1, 1 << 20), ("seed", 0, (1 << 63) - 1)):
        if not least <= getattr(arguments, name) <= most:
            raise InputError(f"--{name} {getattr(arguments, name)}: expected from {least} to {most}")
    rate = arguments.rate_mbps
    if rate is not None and not 0.001 <= rate <= 1e6:
        raise InputError(f"--rate-mbps {rate:g}: expected from 0.001 to 1e6")
    given = running.read_packets(arguments.packets, arguments.port)
    options = running.Options(arguments.queues, arguments.depth, rate, arguments.seed)
    left = running.run(arguments.program, arguments.entries, given.arrivals, options)
    if arguments.out is not None:
        running.write_packets(arguments.out, left)
    print(f"{len(given.arrivals)} packets in, {len(left)} out")
    wrong = list(running.differences(given.expected, left))
    for line in wrong:
        print(line)
    return 1 if wrong else 0
