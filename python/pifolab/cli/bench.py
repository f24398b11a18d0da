"""`pifolab bench`: measures the speed of the library on this machine."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.cli.options import add_json, add_plain
from pifolab.cli.output import print_json
from pifolab.cli.parser import Parser, positive_up_to
from pifolab.errors import InputError


def declare_sched(parser: Parser) -> None:
    """Declare the arguments of `pifolab bench sched`."""
    parser.description = (
        "Nanoseconds per arriving packet (enqueue, and dequeue where one follows) of every scheduler, steady and at "
        "two arrivals per departure; then of the sliding window's quantile. Where a faster twin takes the place of an "
        "algorithm's plain text, that is measured, too. Takes some seconds."
    )
    add_json(parser)
    parser.set_defaults(run=run_sched)


def declare_sim(parser: Parser) -> None:
    """Declare the arguments of `pifolab bench sim`."""
    parser.description = (
        "Packet-hops (one packet over one link) per second of a single thread: 144 servers, 9 leaves, 4 spines, access "
        "links of 1 Gb/s, web search at 19,000 flows/s. Making network and flows is not timed."
    )
    parser.add_argument("--case", action="append", metavar="NAME", help="only this case; may be repeated")
    parser.add_argument(
        "--ms", type=positive_up_to(100_000), default=1000, metavar="N", help="simulated time; default 1000"
    )
    add_plain(parser)
    add_json(parser)
    parser.set_defaults(run=run_sim)


def declare_events(parser: Parser) -> None:
    """Declare the arguments of `pifolab bench events`."""
    parser.description = (
        "Nanoseconds per event (one leaves the event queue of networks, another one is scheduled) by how far ahead "
        "events are scheduled and by how many wait, beside the binary heap that the queue is tested against. Takes "
        "half a minute."
    )
    add_json(parser)
    parser.set_defaults(run=run_events)


def run_events(arguments: argparse.Namespace) -> int:
    """Measure the event queue and print the cost of an event."""
    rows = _pifolab.bench_events()
    if arguments.json:
        return _print_json(rows)
    print(f"{_processor()}; nanoseconds per event, median of the samples\n")
    print(f"{'delays':8}  {'waiting':>9}  {'ns':>7}  {'heap':>7}")
    for row in rows:
        times = f"{row['ns_per_event']:7.1f}  {row['plain_ns_per_event']:7.1f}"
        print(f"{row['delays']:8}  {row['waiting']:9,}  {times}")
    return 0


def run_sched(arguments: argparse.Namespace) -> int:
    """Measure the schedulers and print their costs."""
    if not arguments.json:
        print("measuring, please wait ...", file=sys.stderr)
    rows = _pifolab.bench_schedulers()
    if arguments.json:
        return _print_json(rows)
    print(f"{_processor()}; nanoseconds per packet, median (fastest) of the samples\n")
    width = max(len(row["name"]) for row in rows)
    print(f"{'':{width}}  {'held':>6}  {'load':8}  {'ns':>7}  {'fastest':>9}  {'plain':>7}")
    for row in rows:
        load = row["load"] or "window"
        fastest = f"({row['min_ns_per_packet']:.1f})"
        plain = f"  {row['plain_ns_per_packet']:7.1f}" if row["plain_ns_per_packet"] is not None else ""
        name = f"{row['name']:{width}}  {row['occupancy']:6}  {load:8}"
        print(f"{name}  {row['ns_per_packet']:7.1f}  {fastest:>9}{plain}")
    return 0


def run_sim(arguments: argparse.Namespace) -> int:
    """Measure the network simulator and print its speed."""
    known = _pifolab.network_cases()
    cases = arguments.case or known
    for case in cases:
        if case not in known:
            raise InputError(_pifolab.unknown_name("case", case, known))
    if arguments.json:
        return _print_json([_pifolab.bench_network(case, arguments.ms, arguments.plain) for case in cases])
    print(f"{_processor()}; one thread, {arguments.ms} ms simulated\n")
    width = max(map(len, cases))
    print(f"{'':{width}}  {'M hops/s':>8}  {'M events/s':>10}  {'seconds':>7}  {'M hops':>7}  flows complete")
    for case in cases:
        row = _pifolab.bench_network(case, arguments.ms, arguments.plain)
        hops, events = row["hops"] / row["wall_s"] / 1e6, row["events"] / row["wall_s"] / 1e6
        flows = f"{row['flows_complete']} of {row['flows']}"
        numbers = f"{hops:8.2f}  {events:10.2f}  {row['wall_s']:7.2f}  {row['hops'] / 1e6:7.2f}"
        print(f"{case:{width}}  {numbers}  {flows}", flush=True)
    return 0


def _print_json(rows: Sequence[Mapping[str, Any]]) -> int:
    machine = {"processor": _processor(), "processors": os.cpu_count(), "system": platform.platform()}
    print_json({"version": _pifolab.__version__, "machine": machine, "measurements": rows})
    return 0


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
