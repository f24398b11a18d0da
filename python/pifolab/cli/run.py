"""`pifolab run`, `pifolab compare` and `pifolab schema`: scenarios from a file, from flags, and for editors."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab import _pifolab, info
from pifolab.cli.parser import Parser, positive_integer
from pifolab.cli.table import print_table
from pifolab.errors import InputError
from pifolab.text import shown
from pifolab.traces import trace_notes

if TYPE_CHECKING:
    from pifolab.runs import Run

__all__ = ["add_to", "add_trace_options", "number", "override"]

INTERRUPTED = 130
USAGE_ERROR = 2

#: The schedulers of the five papers, and what they are measured against.
PAPERS = "pifo,fifo,sp-pifo,aifo,packs,rifo,exp-pifo"

#: Where the ranks of a trace can come from without a rank function.
_TRACE_RANKS = ("dscp", "column")


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the three commands."""
    run = commands.add_parser(
        "run",
        help="run a scenario",
        epilog="The folder gets manifest.json, summary.json, Parquet tables, figures/ and report.html.",
    )
    run.add_argument(
        "scenario", type=Path, metavar="FILE.toml", help="the scenario, or an experiment of the package: packs/fig3"
    )
    run.add_argument(
        "--flows",
        type=Path,
        metavar="FILE.csv",
        help="send these flows (flow,src,dst,size_bytes,start_ns; gzip allowed) instead of those of a network scenario",
    )
    run.add_argument(
        "--python",
        type=Path,
        action="append",
        default=[],
        metavar="FILE.py",
        help="use the schedulers, rank functions, congestion controllers and observers written there; may be repeated",
    )
    _add_common(run, "out/NAME, after the file")
    run.set_defaults(run=run_run)

    compare = commands.add_parser(
        "compare",
        help="compare schedulers on one link, without a scenario file",
        description="Sends the same packets, from a capture or drawn, through each scheduler onto one link.",
    )
    source = compare.add_mutually_exclusive_group(required=True)
    source.add_argument("--trace", type=Path, metavar="FILE", help="replay a pcap, pcapng or CSV file (gzip allowed)")
    source.add_argument("--ranks", metavar="DISTRIBUTION", help="draw ranks: uniform, exponential, poisson, ...")
    compare.add_argument("--rate-gbps", required=True, metavar="R", help="the rate of the link")
    compare.add_argument(
        "--rank", metavar="NAME", help="a rank function (pifolab list ranks); for a trace also dscp or column"
    )
    add_trace_options(compare)
    compare.add_argument("--arrival-gbps", metavar="R", help="with --ranks: the rate at which packets arrive")
    compare.add_argument("--arrivals", metavar="KIND", help="with --ranks: constant (default), poisson, ...")
    compare.add_argument("--size-bytes", type=positive_integer, metavar="N", help="with --ranks: 1500 unless given")
    compare.add_argument("--schedulers", default=PAPERS, metavar="A,B,...", help=f"default: {PAPERS}")
    compare.add_argument("--buffer-packets", type=positive_integer, metavar="N", help="the buffer of each scheduler")
    compare.add_argument("--queues", type=positive_integer, metavar="N", help="its queues, for those that have several")
    _add_common(compare, "out/compare")
    compare.set_defaults(run=run_compare)

    schema = commands.add_parser("schema", help="print the JSON Schema of scenarios, for editors")
    schema.set_defaults(run=run_schema)


def add_trace_options(parser: Parser) -> None:
    """Declare how a trace is replayed, for every command that replays one."""
    parser.add_argument("--speed-up", metavar="X", help="replay the trace this many times faster")
    parser.add_argument(
        "--sort", action="store_true", help="sort the trace by time, where packets were captured out of order"
    )
    parser.add_argument("--duration-s", metavar="T", help="no packet arrives at or after this time")


def _add_common(parser: Parser, default_out: str) -> None:
    parser.add_argument("--seed", metavar="N", help="run with this seed instead of those of the scenario")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="overrides",
        help="change a key, such as link.rate_gbps=40 or scheduler.packs.window=100; may be repeated",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"the folder to write; default {default_out}")


def run_run(arguments: argparse.Namespace) -> int:
    """Run a scenario file."""
    from pifolab.packaged import experiment
    from pifolab.plugins import load_plugins
    from pifolab.runs import run

    scenario = experiment(arguments.scenario)
    plugins = load_plugins(arguments.python)
    if names := plugins.names():
        note = "slow: a run takes 2 to 15 times as long as with Rust"
        print(f"pifolab: note: {', '.join(names)}: written in Python, so {note}", file=sys.stderr)
    out = arguments.out or Path("out") / scenario.stem
    return _run(arguments, out, lambda **keywords: run(scenario, flows=arguments.flows, **vars(plugins), **keywords))


def run_compare(arguments: argparse.Namespace) -> int:
    """Make a scenario from flags and run it."""
    from pifolab.runs import run_text

    text = _scenario_text(arguments)
    out = arguments.out or Path("out/compare")
    return _run(arguments, out, lambda **keywords: run_text(text, "compare", **keywords))


def run_schema(arguments: argparse.Namespace) -> int:
    """Print the JSON Schema."""
    print(json.dumps(json.loads(_pifolab.scenario_schema()), indent=2))
    return 0


def _run(arguments: argparse.Namespace, out: Path, run: Callable[..., Run]) -> int:
    from pifolab.cli.progress import ProgressBar
    from pifolab.folder import check_absent

    check_absent(out)
    keywords: dict[str, Any] = {"overrides": dict(map(override, arguments.overrides))}
    if arguments.seed is not None:
        keywords["seeds"] = [_seed(arguments.seed)]
    try:
        with ProgressBar() as bar:
            result = run(progress=bar.update, **keywords)
    except Exception as error:
        if not hasattr(error, "simulated_time_ns"):
            raise
        return _say_whose_fault(error)
    # Whoever has pressed Ctrl-C does not want to wait for figures and captures.
    result.save(out, figures=not result.partial, captures=not result.partial, report=True)
    print_table(result)
    for note in trace_notes(result.manifest["spec"]):
        print(f"pifolab: note: {shown(note)}", file=sys.stderr)
    for warning in result.warnings:
        print(f"pifolab: warning: {shown(warning)}", file=sys.stderr)
    if result.partial:
        print(f"pifolab: interrupted; {out} has what was complete, marked partial, without figures", file=sys.stderr)
        return INTERRUPTED
    print(f"\nreport: {out / 'report.html'}")
    return 0


def _say_whose_fault(error: Exception) -> int:
    """Print the traceback of what the user wrote in Python, without our part of it."""
    trace = error.__traceback__
    ours = Path(__file__).resolve().parents[1]
    while trace is not None and Path(trace.tb_frame.f_code.co_filename).resolve().is_relative_to(ours):
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)
    if not getattr(error, "__notes__", None):
        print(f"at simulated time {getattr(error, 'simulated_time_ns', '?')} ns", file=sys.stderr)
    print("pifolab: the run was stopped by an exception in what was written in Python", file=sys.stderr)
    return USAGE_ERROR


def override(text: str) -> tuple[str, str]:
    """Return key and value of `--set`."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set {text}: expected KEY=VALUE, such as link.rate_gbps=40")
    return key.strip(), value.strip()


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**63:
        raise InputError(f"--seed {text}: expected an integer from 0 to 2^63 - 1")
    return int(text)


def _scenario_text(arguments: argparse.Namespace) -> str:
    """Return the scenario that the flags of `compare` stand for."""
    synthetic = {"--arrival-gbps": arguments.arrival_gbps, "--arrivals": arguments.arrivals}
    synthetic["--size-bytes"] = arguments.size_bytes
    lines = ['title = "Comparison of schedulers on one link"']
    if arguments.duration_s is not None:
        lines.append(f"duration_s = {number('--duration-s', arguments.duration_s)}")
    lines += ["[link]", f"rate_gbps = {number('--rate-gbps', arguments.rate_gbps)}", "[workload]"]
    if arguments.trace is not None:
        for flag, value in synthetic.items():
            if value is not None:
                raise InputError(f"{flag} has no effect on a trace: remove it")
        lines.append(f"trace = {json.dumps(str(arguments.trace.absolute()))}")
        if arguments.speed_up is not None:
            lines.append(f"speed_up = {number('--speed-up', arguments.speed_up)}")
        if arguments.sort:
            lines.append('out_of_order = "sort"')
        if arguments.rank is None:
            raise InputError(
                "--trace needs --rank: a rank function, or dscp or column for ranks that the trace carries"
            )
        if arguments.rank in _TRACE_RANKS:
            lines.append(f'trace_rank = "{arguments.rank}"')
    else:
        if arguments.speed_up is not None:
            raise InputError("--speed-up has no effect without --trace: remove it")
        if arguments.sort:
            raise InputError("--sort has no effect without --trace: remove it")
        for flag in ("--arrival-gbps", "--duration-s"):
            if getattr(arguments, flag[2:].replace("-", "_")) is None:
                raise InputError(f"--ranks needs {flag}")
        lines.append(f"arrivals = {json.dumps(arguments.arrivals or 'constant')}")
        lines.append(f"rate_gbps = {number('--arrival-gbps', arguments.arrival_gbps)}")
        lines.append(f"size_bytes = {arguments.size_bytes or 1500}")
        lines.append(f"ranks = {json.dumps(arguments.ranks)}")
    if arguments.rank is not None and arguments.rank not in _TRACE_RANKS:
        lines += ["[rank]", f"name = {json.dumps(info.rank(arguments.rank).name)}"]
    for name in arguments.schedulers.split(","):
        lines += [
            "[[scheduler]]",
            f"name = {json.dumps(info.scheduler(name.strip()).name)}",
            *_size(arguments, name.strip()),
        ]
    return "\n".join(lines) + "\n"


def _size(arguments: argparse.Namespace, name: str) -> list[str]:
    """Return the keys that give the scheduler `name` its buffer and queues."""
    known = {param.name for param in info.scheduler(name).params}
    if "queue_capacity_packets" not in known:
        return [f"capacity_packets = {arguments.buffer_packets}"] if arguments.buffer_packets else []
    lines = [f"queues = {arguments.queues}"] if arguments.queues else []
    if arguments.buffer_packets:
        queues = arguments.queues or 8
        each, rest = divmod(arguments.buffer_packets, queues)
        if rest or not each:
            raise InputError(f"--buffer-packets {arguments.buffer_packets}: expected a multiple of the {queues} queues")
        lines.append(f"queue_capacity_packets = {each}")
    return lines


def number(flag: str, text: str) -> str:
    """Return `text` as TOML, if it is a positive number or fraction; whether it fits is checked with the scenario."""
    numerator, slash, denominator = text.partition("/")
    if slash and numerator.isdecimal() and denominator.isdecimal():
        return json.dumps(text)
    try:
        positive = 0 < float(text) < float("inf")
    except ValueError:
        positive = False
    if not positive or not text[0].isdigit():
        raise InputError(f"{flag} {text}: expected a number above 0")
    return text
