"""`pifolab policy`: whether a policy's tree embeds in another one, and the policy on a complete tree."""

from __future__ import annotations

import argparse

from pifolab import _pifolab
from pifolab.cli.parser import Parser

__all__ = ["add_to"]


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the command."""
    policy = commands.add_parser(
        "policy",
        help="move a policy to a tree of another shape: does it embed, and what does it look like on a complete tree",
        epilog='A policy is a text: "strict[(fifo[voice], 1), (rr[fifo[a], fifo[b]], 2)]"; docs/trees.md describes it.',
    )
    policy.add_argument("policy", metavar="POLICY", help="the policy")
    policy.add_argument(
        "--embeds-in",
        metavar="POLICY",
        help="say whether it embeds in the tree of this policy; status 1 if it does not",
    )
    policy.add_argument(
        "--degree", metavar="N", type=int, help="compile it to a complete tree whose nodes have N children (2: binary)"
    )
    policy.add_argument(
        "--operations",
        metavar="N",
        type=int,
        default=100_000,
        help="with --degree: pushes and pops for which both trees must pop the same packets (default 100000)",
    )
    policy.set_defaults(run=run_policy)


def run_policy(arguments: argparse.Namespace) -> int:
    """Answer both questions; status 1 if the policy does not embed or is popped otherwise."""
    text, classes = _pifolab.read_policy(arguments.policy)
    print(f"{text}: {len(classes)} {'leaf' if len(classes) == 1 else 'leaves'}")
    status = 0
    if arguments.embeds_in is not None:
        embeds = _pifolab.policy_embeds(text, arguments.embeds_in)
        other, _ = _pifolab.read_policy(arguments.embeds_in)
        if embeds is None:
            print(f"embeds in {other}: not worked out, since a node has more than 12 children")
        else:
            print(f"embeds in {other}: {'yes' if embeds else 'no'}")
        status = 0 if embeds else 1
    if arguments.degree is not None:
        height, addresses = _pifolab.compile_policy(text, arguments.degree)
        print(f"on a complete tree of degree {arguments.degree}: height {height}")
        for name, address in zip(classes, addresses, strict=True):
            print(f"  {name}: {'.'.join(map(str, address)) or 'the root'}")
        popped, differs = _pifolab.compare_compiled(text, arguments.degree, arguments.operations)
        if differs is not None:
            print(f"operation {differs}: the two trees pop different packets")
            return 1
        print(f"{arguments.operations} operations: both trees popped the same {popped} packets")
    return status
