"""`pifolab tree`: whether a policy's tree embeds in another one, and the policy on a complete tree."""

from __future__ import annotations

import argparse

from pifolab import _pifolab
from pifolab.cli.options import add_json
from pifolab.cli.output import print_json
from pifolab.cli.parser import Parser, positive_up_to

_FORM = 'A policy is a text: "strict[(fifo[voice], 1), (rr[fifo[a], fifo[b]], 2)]"; the names of leaves are classes.'


def declare_check(parser: Parser) -> None:
    """Declare the arguments of `pifolab tree check`."""
    parser.description = "Reads a policy, and says whether its tree embeds in another one. Exit status: 1 if not."
    _declare(parser)
    parser.set_defaults(run=run, degree=None)


def declare_compile(parser: Parser) -> None:
    """Declare the arguments of `pifolab tree compile`."""
    parser.description = (
        "Moves a policy to a complete tree, and pops both with the same packets. Exit status: 1 if they differ."
    )
    _declare(parser)
    parser.add_argument(
        "--degree",
        metavar="N",
        type=positive_up_to(1024),
        default=2,
        help="children of every node of the tree; default 2",
    )
    parser.add_argument(
        "--operations",
        metavar="N",
        type=positive_up_to(100_000_000),
        default=100_000,
        help="pushes and pops for which both trees must pop the same packets; default 100000",
    )
    parser.set_defaults(run=run)


def _declare(parser: Parser) -> None:
    parser.epilog = _FORM
    parser.add_argument("policy", metavar="POLICY", help="the policy")
    parser.add_argument(
        "--in", metavar="POLICY", dest="other", help="show whether it embeds in the tree of this policy"
    )
    add_json(parser, "the answers")


def run(arguments: argparse.Namespace) -> int:
    """Answer both questions; status 1 if the policy does not embed or is popped otherwise."""
    text, classes = _pifolab.read_policy(arguments.policy)
    found: dict[str, object] = {"policy": text, "leaves": classes}
    print(f"{text}: {len(classes)} {'leaf' if len(classes) == 1 else 'leaves'}")
    status = 0
    if arguments.other is not None:
        embeds = _pifolab.policy_embeds(text, arguments.other)
        other, _ = _pifolab.read_policy(arguments.other)
        said = {None: "not worked out, since a node has more than 12 children", True: "yes", False: "no"}[embeds]
        print(f"embeds in {other}: {said}")
        found |= {"in": other, "embeds": embeds}
        status = 0 if embeds else 1
    if arguments.degree is not None:
        height, addresses = _pifolab.compile_policy(text, arguments.degree)
        print(f"on a complete tree of degree {arguments.degree}: height {height}")
        for name, address in zip(classes, addresses, strict=True):
            print(f"  {name}: {'.'.join(map(str, address)) or 'the root'}")
        popped, differs = _pifolab.compare_compiled(text, arguments.degree, arguments.operations)
        found |= {"height": height, "addresses": addresses, "popped": popped, "differs": differs}
        if differs is not None:
            print(f"operation {differs}: the two trees pop different packets")
            status = 1
        else:
            print(f"{arguments.operations} operations: both trees popped the same {popped} packets")
    if arguments.json:
        print_json(found)
    return status
