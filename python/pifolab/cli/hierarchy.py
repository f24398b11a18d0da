"""`pifolab hierarchy`: reads a hierarchy of schedulers, and writes it as the scheduler of a scenario."""

from __future__ import annotations

import argparse
from pathlib import Path

from pifolab import _pifolab
from pifolab._classes import scheduler
from pifolab.cli.parser import Parser
from pifolab.export import write_text
from pifolab.text import read_text

__all__ = ["add_to"]


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the command."""
    hierarchy = commands.add_parser(
        "hierarchy",
        help="check a hierarchy of schedulers, and write it as the scheduler of a scenario",
        epilog="A line of the file is a node: 101 WFQ {102, true, 1} {3, false, 2} has node 102 with weight 1 and "
        "flow 3 with weight 2. The policies are WFQ, SP and pFabric; docs/trees.md describes them.",
    )
    hierarchy.add_argument("file", metavar="FILE", help="the hierarchy")
    hierarchy.add_argument("--out", metavar="FILE", help="write a [[scheduler]] table in TOML there")
    hierarchy.set_defaults(run=run_hierarchy)


def run_hierarchy(arguments: argparse.Namespace) -> int:
    """Build the tree, say how large it is, and write it down if that is wanted."""
    text = read_text(Path(arguments.file))
    _pifolab.check_hierarchy(text, arguments.file)
    tree = scheduler("tree", hierarchy=text)
    nodes = sum(1 for line in text.splitlines() if line.partition("#")[0].strip())
    print(f"{arguments.file}: {nodes} nodes, {len(tree.queue_lengths)} leaves")
    if arguments.out:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        lines = ["[[scheduler]]", 'name = "tree"', f'hierarchy = """\n{quoted.rstrip()}\n"""']
        write_text("\n".join(lines) + "\n", Path(arguments.out))
    return 0
