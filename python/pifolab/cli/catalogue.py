"""`pifolab list` and `pifolab explain`: what there is, from the tables of the library."""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict

from pifolab import info, packaged
from pifolab.cli.parser import Parser

__all__ = ["add_to"]

#: What `pifolab list` lists, by the word for it.
_LISTS: dict[str, Callable[[], Sequence[info.Info]]] = {
    "schedulers": info.schedulers,
    "ranks": info.ranks,
    "transports": info.transports,
    "topologies": info.topologies,
}

#: How a scenario names a part of a network.
_IN_SCENARIO = {"transport": '[transport] name = "{}"', "topology": '[topology] kind = "{}"'}


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
        print(_wrapped(f"{name:{width}}  {said}".rstrip(), indent=width + 2))
    return 0


def run_explain(arguments: argparse.Namespace) -> int:
    """Print all that is known about one scheduler, rank function, transport or topology."""
    about = info.explain(arguments.name)
    what = next(kind for kind, infos in info.kinds().items() if about in infos)
    if arguments.json:
        print(json.dumps({"what": what, **asdict(about)}, indent=2))
    else:
        print(_explained(what, about))
    return 0


def _explained(what: str, about: info.Info) -> str:
    blocks = [f"{about.name} ({what}; {_written(what, about)})", _wrapped(about.summary)]
    meaning = "Against PIFO" if what == "scheduler" else "The rank"
    facts = [
        ("Paper", about.paper),
        (meaning, about.effect),
        ("Switch state", about.state),
        ("Cost", about.cost),
    ]
    width = max(len(label) for label, _ in facts) + 2
    if any(text for _, text in facts):
        blocks.append("\n".join(_wrapped(f"{label:{width}}{text}", indent=width) for label, text in facts if text))
    if about.params:
        blocks.append("Parameters")
        blocks += [_parameter(param) for param in about.params]
    else:
        blocks.append("No parameters.")
    return "\n\n".join(blocks)


def _written(what: str, about: info.Info) -> str:
    if what in _IN_SCENARIO:
        return f"in a scenario: {_IN_SCENARIO[what].format(about.name)}"
    if what == "scheduler":
        return f"in Python: pifolab.{about.class_name}(...)"
    return f'in Python: pifolab.ranked("{about.name}", ...)'


def _parameter(param: info.Param) -> str:
    if param.required:
        absent = "required"
    elif param.default is not None:
        absent = f"default {param.default}"
    else:
        absent = f"if absent: {param.absent_means}"
    lines = [f"  {', '.join(param.keys)}", f"{param.allowed}; {absent}", param.doc]
    text = "\n".join([lines[0], *(_wrapped(line, indent=6, first=6) for line in lines[1:])])
    width = max((len(word) for word, _ in param.choices), default=0) + 2
    for word, meaning in param.choices:
        text += "\n" + _wrapped(f"{word:{width}}{meaning}", indent=8 + width, first=8)
    return text


def _wrapped(text: str, indent: int = 0, first: int = 0) -> str:
    width = min(shutil.get_terminal_size((100, 24)).columns, 100)
    return textwrap.fill(
        text,
        max(width, 40),
        initial_indent=" " * first,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
