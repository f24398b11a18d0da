"""`pifolab trace`: what is in a capture, before anything is replayed."""

from __future__ import annotations

import argparse
from pathlib import Path

from pifolab.captures import summarise_trace
from pifolab.cli.options import add_filter, add_json, flagged
from pifolab.cli.output import print_json
from pifolab.cli.parser import Parser
from pifolab.cli.rows import print_rows
from pifolab.errors import InputError
from pifolab.quantities import rate_text, size_text, time_text
from pifolab.text import shown


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab trace`."""
    parser.epilog = "CSV has a header and the columns time_s or time_ns and size_bytes, perhaps also flow and rank."
    parser.add_argument("trace", type=Path, metavar="FILE", help="pcap, pcapng or CSV (gzip allowed)")
    parser.add_argument("--sort", action="store_true", help="sort packets that were captured out of order")
    add_filter(parser)
    add_json(parser, "the summary")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print a summary of the trace."""
    try:
        found = summarise_trace(arguments.trace, sort=arguments.sort, filter=arguments.filter)
    except InputError as error:
        raise flagged(error) from None
    if arguments.json:
        print_json(found.as_dict())
        return 0
    mean = "all packets at once" if found.mean_bps is None else rate_text(found.mean_bps)
    interval = time_text(found.peak_interval_s * 1e9)
    peak = f"not measured: the trace is not longer than {interval}"
    if found.peak_bps is not None:
        peak = f"{rate_text(found.peak_bps)} (over {interval})"
    facts = [
        ("format", found.format),
        ("packets", f"{found.packets:,} ({size_text(found.bytes)})"),
        ("span", time_text(found.span_s * 1e9)),
        ("flows", f"{found.flows:,}"),
        ("mean rate", mean),
        ("peak rate", peak),
        ("mean size", size_text(found.bytes / max(found.packets, 1))),
    ]
    for name, text in facts:
        print(f"{name:10} {shown(text)}")
    print("\nlargest flows")
    print_rows(
        ["flow", "bytes", "share (%)"],
        [
            [shown(name), size, round(100 * share, 1) or float(f"{100 * share:.1g}")]
            for name, size, share in found.largest
        ],
    )
    print("\nnot understood" if found.notes else "\nall packets were understood")
    for note in found.notes:
        print(f"- {shown(note)}")
    if found.both_ways is not None:
        print(f"\nboth directions\n- {shown(found.both_ways)}")
    return 0
