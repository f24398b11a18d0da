"""`pifolab advise`, which ranks the schedulers on a trace of the user's own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab.cli.options import (
    add_filter,
    add_force,
    add_json,
    add_python,
    add_rank_map,
    add_set,
    add_trace_options,
    flagged,
    keywords_of,
    number,
    override,
)
from pifolab.cli.output import print_json
from pifolab.cli.parser import Parser, positive_integer
from pifolab.cli.rows import print_rows
from pifolab.cli.run import say_slow
from pifolab.errors import InputError
from pifolab.plugins import load_plugins
from pifolab.quantities import read_rate, read_time
from pifolab.report.advice import conclusion_lines, rows, setup, tried, verdict
from pifolab.text import shown, whole_number

if TYPE_CHECKING:
    from pifolab.advise import Advice


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab advise`."""
    parser.description = (
        "Tunes every scheduler on the first half of a trace, ranks them on the second, and shows the evidence."
    )
    parser.epilog = (
        "Objectives: inversions (default): the share of inversions; small-fct: the completion time of small flows; "
        "fairness: how unequally flows are served. The report says how each is scored."
    )
    parser.add_argument("trace", type=Path, nargs="?", metavar="TRACE", help="pcap, pcapng or CSV (gzip allowed)")
    parser.add_argument("--trace", type=Path, dest="old_trace", help=argparse.SUPPRESS)
    parser.add_argument(
        "--rank",
        metavar="NAME",
        help="a rank function, or column, dscp, dscp:phb (per-hop behaviours) or payload for ranks that the trace "
        "carries (default: by objective)",
    )
    add_rank_map(parser)
    parser.add_argument("--rate", metavar="R", help="the link, such as 10G (default: the trace loads it by 110 %%)")
    add_trace_options(parser)
    add_set(parser, "change a key of the trace, such as workload.payload_offset_bytes=4; may be repeated")
    parser.add_argument(
        "--queues", type=positive_integer, default=8, metavar="N", help="queues of the port (default: 8)"
    )
    parser.add_argument(
        "--buffer-packets", type=positive_integer, default=80, metavar="N", help="its buffer (default: 80)"
    )
    parser.add_argument(
        "--delay",
        metavar="T",
        help="round-trip time of the traffic without queueing, which the buffer is compared with (default: 100us)",
    )
    parser.add_argument("--objective", default="inversions", metavar="NAME", help="small-fct, inversions or fairness")
    add_filter(parser)
    parser.add_argument(
        "--target",
        default="any",
        metavar="NAME",
        help="the target on which it must fit: tofino, tofino2, bmv2, linux or any (default)",
    )
    parser.add_argument(
        "--registers", type=positive_integer, metavar="N", help="registers that the switch has available"
    )
    parser.add_argument("--stages", type=positive_integer, metavar="N", help="stages that the switch has available")
    add_json(parser, "the advice")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder of the report; default out/advise")
    add_force(parser)
    add_python(parser, "also rank the schedulers of this file; may be repeated")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Rank, print the evidence, and write the report."""
    from pifolab.advise import DELAY_US, advise
    from pifolab.folder import check_absent

    out: Path = arguments.out or Path("out/advise")
    check_absent(out, force=arguments.force)
    trace = arguments.trace or arguments.old_trace
    if trace is None:
        raise InputError("advise: TRACE is missing: expected a pcap, pcapng or CSV file")
    own = load_plugins(arguments.python).schedulers
    say_slow([*own])
    try:
        rate = None if arguments.rate is None else float(read_rate("rate", arguments.rate) / 10**9)
        delay = DELAY_US if arguments.delay is None else float(read_time("delay", arguments.delay) * 10**6)
        duration = None if arguments.duration is None else float(read_time("duration", arguments.duration))
        given = keywords_of(advise, arguments) | {"trace": trace, "options": _options(arguments), "schedulers": own}
        found = advise(**given, rate_gbps=rate, delay_us=delay, duration_s=duration)
    except InputError as error:
        raise flagged(error, rate_gbps="--rate", delay_us="--delay", duration_s="--duration") from None
    found.save(out, force=arguments.force)
    for note in found.notes:
        print(f"pifolab: note: {shown(note)}", file=sys.stderr)
    if arguments.json:
        print_json(found.as_dict())
        return 0
    _print(found)
    print()
    for line in conclusion_lines(found)[1:]:
        print(line)
    print(f"report: {out / 'report.html'}")
    print(verdict(found))
    return 0


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the keys of ``[workload]`` that the options stand for."""
    options: dict[str, Any] = {}
    if arguments.speed_up is not None:
        options["speed_up"] = arguments.speed_up
        number("--speed-up", arguments.speed_up)
    if arguments.sort:
        options["out_of_order"] = "sort"
    for text in arguments.overrides:
        key, value = override(text)
        table, _, name = key.partition(".")
        if table != "workload" or not name or name in ("trace", "trace_rank"):
            raise InputError(f"--set {text}: expected a key of the trace, such as workload.payload_offset_bytes")
        if name in options:
            flags = {"speed_up": "--speed-up", "out_of_order": "--sort"}
            raise InputError(f"--set {text}: duplicate: {key} is set already, by {flags.get(name, '--set')}")
        read = whole_number(value)
        options[name] = value.strip("\"'") if read is None else read
    return options


def _print(found: Advice) -> None:
    for line in setup(found):
        print(line)
    print(f"{tried(found)}\n")
    print_rows(*rows(found))
