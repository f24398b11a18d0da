"""`pifolab list` and `pifolab explain`: what there is, from the tables of the library."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict

from pifolab import info, packaged
from pifolab.cli.parser import Parser
from pifolab.text import wrapped

__all__ = ["add_to"]

#: What `pifolab list` lists, by the word for it.
_LISTS: dict[str, Callable[[], Sequence[info.Info]]] = {
    "schedulers": info.schedulers,
    "ranks": info.ranks,
    "transports": info.transports,
    "topologies": info.topologies,
}


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the two commands."""
    listing = commands.add_parser(
        "list", help="list schedulers, rank functions, transports, topologies or the experiments of the package"
    )
    words = [*_LISTS, "experiments"]
    listing.add_argument("what", choices=words, metavar="|".join(words), help="what to list")
    listing.set_defaults(run=run_list)

    explain = commands.add_parser("explain", help="explain a scheduler, a rank function, a transport or a topology")
    explain.add_argument("name", metavar="NAME", help="its name, as pifolab list prints it")
    explain.add_argument("--json", action="store_true", help="print the same as JSON")
    explain.set_defaults(run=run_explain)


def run_list(arguments: argparse.Namespace) -> int:
    """Print one line for each of what is asked for."""
    if arguments.what == "experiments":
        lines = packaged.titles()
    else:
        lines = {about.name: about.summary for about in _LISTS[arguments.what]()}
    width = max(map(len, lines), default=0)
    for name, said in lines.items():
        print(wrapped(f"{name:{width}}  {said}".rstrip(), indent=width + 2))
    return 0


def run_explain(arguments: argparse.Namespace) -> int:
    """Print all that is known about one scheduler, rank function, transport or topology."""
    about = info.explain(arguments.name)
    if arguments.json:
        print(json.dumps({"what": about.kind, **asdict(about)}, indent=2))
    else:
        print(about)
    return 0
