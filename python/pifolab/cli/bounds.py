"""`pifolab bounds optimal`: the best fixed bounds for a rank distribution."""

from __future__ import annotations

import argparse
import json

from pifolab.bounds import optimal_bounds, rank_weights, read_ranks
from pifolab.cli.parser import Parser, positive_integer
from pifolab.errors import InputError

__all__ = ["add_to"]


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the command."""
    bounds = commands.add_parser(
        "bounds",
        help="print the best fixed bounds for a rank distribution",
        description="Print the lowest rank of each queue, so that fixed bounds cost least for a distribution of ranks. "
        "docs/schedulers/sp-pifo-optimal.md defines the costs.",
    )
    bounds.add_argument("which", choices=["optimal"], metavar="optimal", help="which bounds: optimal")
    source = bounds.add_mutually_exclusive_group(required=True)
    source.add_argument("--ranks", metavar="FILE", help="a file with one rank on each line, to be counted")
    source.add_argument(
        "--distribution", metavar="NAME", help="uniform, exponential, inverse-exponential, poisson or convex"
    )
    bounds.add_argument(
        "--mean", type=float, metavar="M", help="mean of the exponential (25) or Poisson variate (50; convex 100)"
    )
    bounds.add_argument("--queues", type=positive_integer, default=8, metavar="N", help="default 8")
    bounds.add_argument(
        "--cost", default="difference", metavar="NAME", help="difference (default), one, upper or exact"
    )
    bounds.add_argument("--combine", default="sum", metavar="NAME", help="sum (default) or max over the queues")
    bounds.add_argument("--json", action="store_true", help="print the bounds as JSON")
    bounds.set_defaults(run=run_bounds)


def run_bounds(arguments: argparse.Namespace) -> int:
    """Print the bounds in a line."""
    if arguments.ranks is None:
        weights = rank_weights(arguments.distribution, mean=arguments.mean)
    else:
        if arguments.mean is not None:
            raise InputError("--mean has no effect with --ranks: remove it")
        weights = read_ranks(arguments.ranks)
    found = optimal_bounds(weights, arguments.queues, cost=arguments.cost, combine=arguments.combine)
    print(json.dumps({"bounds": found}) if arguments.json else " ".join(map(str, found)))
    return 0
