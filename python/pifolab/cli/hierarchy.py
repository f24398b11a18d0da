"""`pifolab hierarchy`: says where what it read is written now."""

from __future__ import annotations

import argparse

from pifolab.cli.parser import Parser
from pifolab.errors import InputError

__all__ = ["add_to"]


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the command."""
    hierarchy = commands.add_parser("hierarchy")
    hierarchy.add_argument("file", metavar="FILE", nargs="?", help=argparse.SUPPRESS)
    hierarchy.add_argument("--out", metavar="FILE", help=argparse.SUPPRESS)
    hierarchy.set_defaults(run=run_hierarchy)


def run_hierarchy(_: argparse.Namespace) -> int:
    """Refuse, and name the forms that a tree has.

    Raises
    ------
    InputError
        Always.
    """
    raise InputError(
        "hierarchy: write the tree as [[scheduler.child]] tables, or in one line as policy (docs/trees.md)"
    )
