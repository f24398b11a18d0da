"""`pifolab bench`: how fast the library is on this machine."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path

from pifolab import _pifolab
from pifolab.cli.parser import Parser

__all__ = ["add_to"]


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the command."""
    bench = commands.add_parser("bench", help="measure the library on this machine")
    what = bench.commands()
    sched = what.add_parser(
        "sched",
        help="nanoseconds per packet of every scheduler",
        description="Nanoseconds per arriving packet (enqueue, and dequeue where one follows) of every scheduler, "
        "steady and at two arrivals per departure; then of the sliding window's quantile. Takes some seconds.",
    )
    sched.add_argument("--json", action="store_true", help="print JSON instead of a table")
    sched.set_defaults(run=run_sched)


def run_sched(arguments: argparse.Namespace) -> int:
    """Measure the schedulers and print what they take."""
    if not arguments.json:
        print("measuring, please wait ...", file=sys.stderr)
    rows = _pifolab.bench_schedulers()
    if arguments.json:
        machine = {"processor": _processor(), "processors": os.cpu_count(), "system": platform.platform()}
        print(json.dumps({"version": _pifolab.__version__, "machine": machine, "measurements": rows}, indent=2))
        return 0
    print(f"{_processor()}; nanoseconds per packet, median (fastest) of the samples\n")
    width = max(len(row["name"]) for row in rows)
    print(f"{'':{width}}  {'held':>6}  {'load':8}  {'ns':>7}  {'fastest':>9}")
    for row in rows:
        load = row["load"] or "window"
        fastest = f"({row['min_ns_per_packet']:.1f})"
        print(f"{row['name']:{width}}  {row['occupancy']:6}  {load:8}  {row['ns_per_packet']:7.1f}  {fastest:>9}")
    return 0


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
