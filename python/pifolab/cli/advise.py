"""`pifolab advise`, which ranks the schedulers on a trace of the user's own."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from pifolab.cli.parser import Parser, positive_integer
from pifolab.errors import InputError

__all__ = ["add_to"]


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "advise",
        help="which scheduler for my traffic?",
        description="Tunes every scheduler on the first half of a trace, ranks them on the second, and shows the "
        "evidence.",
        epilog="Objectives: small-fct, inversions (default), fairness. docs/advise.md says how each is scored.",
    )
    parser.add_argument("--trace", type=Path, required=True, metavar="FILE", help="pcap, pcapng or CSV (gzip allowed)")
    parser.add_argument(
        "--queues", type=positive_integer, default=8, metavar="N", help="queues of the port (default: 8)"
    )
    parser.add_argument(
        "--buffer-packets", type=positive_integer, default=80, metavar="N", help="its buffer (default: 80)"
    )
    parser.add_argument("--objective", default="inversions", metavar="NAME", help="small-fct, inversions or fairness")
    parser.add_argument("--rank", metavar="NAME", help="a rank function, or column or dscp (default: by objective)")
    parser.add_argument("--rate-gbps", metavar="R", help="the link (default: the trace loads it by 110 %%)")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Rank, and print the evidence."""
    from pifolab.advise import OBJECTIVES, advise

    rate = None
    if arguments.rate_gbps is not None:
        try:
            rate = float(arguments.rate_gbps)
        except ValueError:
            rate = 0.0
        if not 0 < rate < 1e6:
            raise InputError(f"--rate-gbps {arguments.rate_gbps}: expected a number above 0")
    found = advise(
        arguments.trace,
        queues=arguments.queues,
        buffer_packets=arguments.buffer_packets,
        objective=arguments.objective,
        rank=arguments.rank,
        rate_gbps=rate,
    )
    if arguments.json:
        print(json.dumps(asdict(found) | {"winner": found.winner.scheduler, "close": list(found.close)}, indent=2))
        return 0
    print(f"{found.packets:,} packets, ranks by {found.rank}, a link of {found.rate_bps / 1e9:.4g} Gb/s")
    print(f"score: {OBJECTIVES[found.objective]}; less is better")
    print(f"{found.tried} settings tuned on the first half, the best of each scheduler ranked on the second\n")
    headings = ["scheduler", "score", "tuned", "inversions", "dropped", "registers", "table bytes", "settings"]
    rows = [headings]
    for one in found.ranking:
        settings = ", ".join(f"{key} = {value}" for key, value in one.settings.items())
        state = [str(one.registers) if one.registers is not None else "-", f"{one.table_bytes or 0:g}"]
        shares = [f"{one.inversions_share:.2%}", f"{one.dropped_share:.2%}"]
        rows.append([one.scheduler, str(one.score), f"{one.tuned:.4g}", *shares, *state, settings])
    rows.append(["PIFO, the ideal", str(found.ideal), "", "", "", "", "", ""])
    widths = [max(len(row[place]) for row in rows) for place in range(len(headings))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    also = f"; {', '.join(found.close)} cannot be told apart from it on this trace" if found.close else ""
    print(f"\n{found.winner.scheduler} serves this traffic best{also}")
    return 0
