"""`pifolab flows compare`: compares a run with the flow completion times of another simulator."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pifolab.cli.options import add_json
from pifolab.cli.output import print_json
from pifolab.cli.parser import Parser

if TYPE_CHECKING:
    from pifolab.agreement import Agreement


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab flows compare`."""
    parser.description = "Compares flow completion times; flows are matched by sender, receiver, size and start."
    parser.epilog = "Exit status: 0 every flow is identical, 1 some are not, 2 something cannot be read."
    parser.add_argument("run_folder", type=Path, metavar="RUN_DIR", help="the output folder of pifolab run --out")
    parser.add_argument(
        "reference",
        type=Path,
        metavar="REFERENCE.csv",
        help="flow,src,dst,size_bytes,start_ns,fct_ns (empty if unfinished; gzip allowed)",
    )
    parser.add_argument("--scheduler", metavar="LABEL", help="which scheduler of the run, if it has several")
    parser.add_argument("--seed", type=int, metavar="N", help="which seed of the run, if it has several")
    parser.add_argument(
        "--column",
        default="fct_ns",
        metavar="NAME",
        help="the reference's completion times in nanoseconds, where they are not in fct_ns",
    )
    add_json(parser)
    parser.set_defaults(run=run_agree)


def run_agree(arguments: argparse.Namespace) -> int:
    """Compare, print, and return by the exit status whether all flows are identical."""
    from pifolab.agreement import agree

    found = agree(
        arguments.run_folder,
        arguments.reference,
        scheduler=arguments.scheduler,
        seed=arguments.seed,
        column=arguments.column,
    )
    if arguments.json:
        print_json(asdict(found) | {"complete": found.complete})
    else:
        _print(found)
    return 0 if found.complete else 1


def _print(found: Agreement) -> None:
    def line(what: str, count: int) -> None:
        share = f"{100 * count / found.flows:.4g} %" if found.flows else "-"
        print(f"{what:28} {count:>8}  {share:>8}")

    print(f"{found.scheduler}: {found.flows} flows in the reference")
    line("identical FCT", found.identical)
    line("FCT within 1 %", found.within_1_percent)
    line("complete in only one", found.finished_in_one)
    line("only in the reference", found.unmatched_reference)
    line("only in the run", found.unmatched_ours)
    print(f"\n{'flow size':20} {'':5} {'run (ms)':>12} {'reference (ms)':>15} {'difference':>11}")
    for one in found.differences:
        ours, reference = (("-" if value is None else f"{value / 1e6:.6g}") for value in (one.ours, one.reference))
        relative = "-" if one.relative is None else f"{100 * one.relative:+.3g} %"
        print(f"{one.name:20} {one.statistic:5} {ours:>12} {reference:>15} {relative:>11}")
