"""`pifolab bounds`: the best fixed bounds for a rank distribution."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pifolab.bounds import optimal_bounds, rank_weights, read_ranks
from pifolab.cli.options import add_json
from pifolab.cli.output import answer, print_json
from pifolab.cli.parser import Parser, positive_integer
from pifolab.errors import InputError

__all__ = ["declare"]


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab bounds`."""
    parser.description = "Prints the lowest rank of each queue, so that fixed bounds cost least for a distribution."
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--ranks", metavar="DISTRIBUTION", help="uniform, exponential, inverse-exponential, poisson or convex"
    )
    source.add_argument("--file", metavar="FILE", help="a file with one rank on each line, to be counted")
    parser.add_argument(
        "--mean", type=float, metavar="M", help="mean of the exponential (25) or Poisson variate (50; convex 100)"
    )
    parser.add_argument("--queues", type=positive_integer, default=8, metavar="N", help="default 8")
    parser.add_argument(
        "--cost", default="difference", metavar="NAME", help="difference (default), one, upper or exact"
    )
    parser.add_argument("--combine", default="sum", metavar="NAME", help="sum (default) or max over the queues")
    add_json(parser, "the bounds")
    parser.set_defaults(run=run_bounds)


def run_bounds(arguments: argparse.Namespace) -> int:
    """Print the bounds in a line."""
    file = arguments.file
    if file is None and Path(arguments.ranks).exists():
        print("pifolab: --ranks FILE is called --file; the old name works for one more release", file=sys.stderr)
        file = arguments.ranks
    if file is None:
        weights = rank_weights(arguments.ranks, mean=arguments.mean)
    else:
        if arguments.mean is not None:
            raise InputError("--mean has no effect with --file: remove it")
        weights = read_ranks(file)
    found = optimal_bounds(weights, arguments.queues, cost=arguments.cost, combine=arguments.combine)
    if arguments.json:
        print_json({"bounds": found})
    else:
        with answer():
            print(" ".join(map(str, found)))
    return 0
