"""`pifolab dataplane p4`: parameter files, compiled programs and their resources."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.cli.options import add_json, add_set, flagged, overrides_of
from pifolab.cli.output import print_json, quieted
from pifolab.cli.parser import Parser
from pifolab.errors import InputError
from pifolab.export import write_text
from pifolab.quantities import read_rate
from pifolab.text import shown, value_of
from pifolab_p4.tools import P4C_TOFINO, MissingToolError, compile_bmv2, program_file, programs

__all__ = ["run_p4"]

_TARGETS = ("bmv2", "tofino", "tofino2")
RANKS = ("dscp", "vlan", "payload", "stfq", "afq", "lstf", "fifo-plus")
"""Where a program's ranks come from: packets carry them, or the pipeline computes them (`v1model/ranks.p4`)."""


def run_p4(arguments: Sequence[str]) -> int:
    """Run `pifolab dataplane p4` with these arguments and return the exit status."""
    parser = Parser(prog="pifolab dataplane p4", description="The P4 programs of dataplane/p4.")

    def command(name: str, form: str, about: str, run: Callable[[argparse.Namespace], int]) -> Parser:
        made = parser.command(name, form, about)
        made.set_defaults(run=run)
        return made

    listed = command("list", "", "the programs, the schedulers that each does, and the targets that it has", _list)
    add_json(listed)
    parameters = command(
        "parameters", "", "write the parameter file of a program, or with --all those of the tree", _parameters
    )
    parameters.description = (
        "Writes the parameter file that a program is compiled with, by a file that defines PF_PARAMETERS as its name "
        "and includes the program."
    )
    what = parameters.add_mutually_exclusive_group(required=True)
    what.add_argument("--all", action="store_true", help="write all files of the tree again")
    what.add_argument("--scheduler", metavar="NAME", help="a scheduler of the library")
    _add_parameters(parameters)
    parameters.add_argument("--out", type=Path, metavar="FILE", help="the file to write (default: standard output)")
    compiled = command("compile", "SCHEDULER", "compile a program for BMv2", _compile)
    compiled.add_argument("scheduler", metavar="SCHEDULER", help="a scheduler of the library")
    compiled.add_argument("--rank", choices=RANKS, default="dscp", help="the source of ranks")
    compiled.add_argument("--out", type=Path, required=True, metavar="FILE", help="the JSON file for simple_switch")
    _add_parameters(compiled)
    taken = command("resources", "", "what each program takes of a Tofino, beside the papers' tables", _resources)
    taken.description = (
        "Compiles the programs for Tofino and Tofino 2 and counts what each takes. Fails if a program is refused or an "
        "assembly has a register twice. Without the compiler the stored figures are shown."
    )
    taken.add_argument("--stored", action="store_true", help="the stored figures, and compile nothing")
    taken.add_argument("--write", action="store_true", help="store the figures, and put them into the page on P4")
    taken.add_argument(
        "--p4c",
        metavar="RELEASE",
        help="with --write: the release of p4c of the compiler, which it does not print itself",
    )
    taken.add_argument("--only", metavar="PROGRAM", help="only this program")
    add_json(taken, "the figures")
    staleness = command(
        "staleness",
        "FILE ...",
        "what a ghost register costs: decisions that differ where depths are as old as the last departure",
        _staleness,
    )
    staleness.add_argument("files", nargs="+", metavar="FILE", help="a vector with capacities in packets")
    add_json(staleness, "the counts")
    running = command("run", "PROGRAM", "run any program that p4c compiled for BMv2 over packets, interpreted", _run)
    running.description = (
        "Sends packets through a program in virtual time. Exit status: 1 if packets that the file expects do not leave "
        "as it says."
    )
    running.add_argument("program", type=Path, metavar="PROGRAM", help="the output of p4c (.json, or gzip of it)")
    running.add_argument("--entries", type=Path, metavar="FILE", help="a file with commands of simple_switch_CLI")
    running.add_argument(
        "--in",
        dest="packets",
        type=Path,
        required=True,
        metavar="FILE",
        help="a pcap, or lines `packet PORT HEX`, `expect PORT HEX`, `add TABLE KEY:VALUE ACTION(NAME:VALUE)`",
    )
    running.add_argument(
        "--out", type=Path, metavar="FILE", help="the file for packets that leave: a .pcap, or lines of text"
    )
    running.add_argument(
        "--port", type=int, default=0, metavar="N", help="the input port of a pcap's packets (default: 0)"
    )
    running.add_argument("--rate", metavar="R", help="each port's rate, such as 10M (default: all leave at once)")
    running.add_argument("--queues", type=int, default=8, metavar="N", help="priority queues of each port (default: 8)")
    running.add_argument("--depth", type=int, default=64, metavar="N", help="packets of each queue (default: 64)")
    running.add_argument("--seed", type=int, default=0, metavar="N", help="the seed of the program's random numbers")
    add_json(running, "the counts")
    vectors = command("vectors", "", "what another machine needs to run the programs on Tofino's model", _vectors)
    vectors.description = (
        "Writes a file for each program and target: how it is compiled, frames that go in, the lengths of queues "
        "before each, table entries, and the decisions expected. The model itself is not part of pifolab."
    )
    vectors.add_argument("--for-tofino-model", action="store_true", required=True, help="the register-level model")
    vectors.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="the folder to write")
    vectors.add_argument("--packets", type=int, default=500, metavar="N", help="packets of each file (default: 500)")
    vectors.add_argument("--seed", type=int, default=1, metavar="N", help="the seed of the ranks (default: 1)")
    removing = command(
        "down", "", "remove what P4 commands that were killed (kill -9) left in the temporary folder", _down
    )
    removing.description = (
        "Removes the folders pifolab-p4-* of commands of this user that have ended without removing them. Those of "
        "commands that run stay, and so does everything that pifolab did not make."
    )
    read = parser.read(list(arguments))
    with quieted(getattr(read, "quiet", False) or getattr(read, "json", False)):
        return int(read.run(read))


def _add_parameters(parser: Parser) -> None:
    add_set(parser, "a parameter, as pifolab show NAME lists them; may be repeated")
    parser.add_argument("--target", choices=_TARGETS, default="bmv2", help="the target (default: bmv2)")


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    return {key: value_of(value) for key, value in overrides_of([shown(text) for text in arguments.overrides]).items()}


def _list(arguments: argparse.Namespace) -> int:
    rows = [
        {
            "program": program,
            "schedulers": list(schedulers),
            "architectures": [name for name in ("v1model", "tna") if program_file(program, name).is_file()],
        }
        for program, schedulers in programs().items()
    ]
    for row in rows:
        print(f"{row['program']:16} {', '.join(row['schedulers']):32} {', '.join(row['architectures'])}")
    if arguments.json:
        print_json(rows)
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
        rank = f"PF_RANK RANK_{arguments.rank.upper().replace('-', '_')}"
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
        return _show(arguments, resources.read_stored())
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
    _show(arguments, {"compiler": P4C_TOFINO.version(), "p4c": shown(arguments.p4c or ""), "programs": of})
    if arguments.write and not broken:
        resources.write_stored(measured, shown(arguments.p4c.strip()))
        resources.write_page()
    return 1 if broken else 0


def _show(arguments: argparse.Namespace, figures: dict[str, Any]) -> int:
    from pifolab_p4.resources import page_table

    sys.stdout.write(page_table(figures))
    if arguments.json:
        print_json(figures)
    return 0


def _staleness(arguments: argparse.Namespace) -> int:
    from pifolab_p4.conformance import replay

    rows = []
    for file in arguments.files:
        [replayed] = replay(file, "queues", defines=("PF_OCCUPANCY_GHOST",))
        rows.append(
            {
                "file": file,
                "skipped": replayed.skipped,
                "operations": replayed.operations,
                "differ": replayed.mismatches,
            }
        )
        if replayed.skipped is not None:
            print(f"skipped {shown(file)}: {replayed.skipped}")
        else:
            print(f"{shown(file)}: {replayed.mismatches} of {replayed.operations} operations differ")
    if arguments.json:
        print_json(rows)
    return 0


def _vectors(arguments: argparse.Namespace) -> int:
    from pifolab_p4.model_vectors import write_vectors

    for name, least, most in (("packets", 1, 100_000), ("seed", 0, (1 << 63) - 1)):
        if not least <= getattr(arguments, name) <= most:
            raise InputError(f"--{name} {getattr(arguments, name)}: expected from {least} to {most}")
    for path in write_vectors(arguments.out, arguments.packets, arguments.seed):
        print(shown(str(path)))
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
    rate = None
    if arguments.rate is not None:
        try:
            rate = float(read_rate("rate", arguments.rate) / 10**6)
        except InputError as error:
            raise flagged(error) from None
        if not 0.001 <= rate <= 1e6:
            raise InputError(f"--rate {arguments.rate}: expected from 1k to 1T")
    given = running.read_packets(arguments.packets, arguments.port)
    options = running.Options(arguments.queues, arguments.depth, rate, arguments.seed)
    left, notes = running.run(arguments.program, arguments.entries, given, options)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    if arguments.out is not None:
        running.write_packets(arguments.out, left)
    print(f"{len(given.arrivals)} packets in, {len(left)} out")
    wrong = list(running.differences(given.expected, left))
    for line in wrong:
        print(line)
    if arguments.json:
        print_json({"packets_in": len(given.arrivals), "packets_out": len(left), "differences": wrong, "notes": notes})
    return 1 if wrong else 0
