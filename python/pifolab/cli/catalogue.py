"""`pifolab list` and `pifolab explain`: what there is, from the tables of the library."""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from dataclasses import asdict

from pifolab import _pifolab, info
from pifolab.cli.parser import Parser
from pifolab.errors import InputError

__all__ = ["add_to"]


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the two commands."""
    listing = commands.add_parser("list", help="list schedulers or rank functions")
    listing.add_argument("what", choices=["schedulers", "ranks"], metavar="schedulers|ranks", help="what to list")
    listing.set_defaults(run=run_list)

    explain = commands.add_parser("explain", help="explain a scheduler or a rank function")
    explain.add_argument("name", metavar="NAME", help="its name, as pifolab list prints it")
    explain.add_argument("--json", action="store_true", help="print the same as JSON")
    explain.set_defaults(run=run_explain)


def run_list(arguments: argparse.Namespace) -> int:
    """Print one line for each scheduler or rank function."""
    infos = info.schedulers() if arguments.what == "schedulers" else info.ranks()
    width = max((len(about.name) for about in infos), default=0)
    for about in infos:
        print(_wrapped(f"{about.name:{width}}  {about.summary}", indent=width + 2))
    return 0


def run_explain(arguments: argparse.Namespace) -> int:
    """Print all that is known about one scheduler or rank function."""
    known: dict[str, tuple[str, info.Info]] = {about.name: ("rank function", about) for about in info.ranks()}
    known |= {about.name: ("scheduler", about) for about in info.schedulers()}
    if arguments.name not in known:
        raise InputError(_pifolab.unknown_name("scheduler or rank function", arguments.name, list(known)))
    what, about = known[arguments.name]
    if arguments.json:
        print(json.dumps({"what": what, **asdict(about)}, indent=2))
    else:
        print(_explained(what, about))
    return 0


def _explained(what: str, about: info.Info) -> str:
    blocks = [f"{about.name} ({what}; in Python: {_in_python(what, about)})", _wrapped(about.summary)]
    meaning = "Against PIFO" if what == "scheduler" else "The rank"
    facts = [
        ("Paper", about.paper),
        (meaning, about.effect),
        ("Switch state", about.state),
        ("Cost", about.cost),
    ]
    width = max(len(label) for label, _ in facts) + 2
    blocks.append("\n".join(_wrapped(f"{label:{width}}{text}", indent=width) for label, text in facts if text))
    if about.params:
        blocks.append("Parameters")
        blocks += [_parameter(param) for param in about.params]
    else:
        blocks.append("No parameters.")
    return "\n\n".join(blocks)


def _in_python(what: str, about: info.Info) -> str:
    if what == "scheduler":
        return f"pifolab.{about.class_name}(...)"
    return f'pifolab.ranked("{about.name}", ...)'


def _parameter(param: info.Param) -> str:
    if param.required:
        absent = "required"
    elif param.default is not None:
        absent = f"default {param.default}"
    else:
        absent = f"if absent: {param.absent_means}"
    lines = [f"  {param.name}", f"{param.allowed}; {absent}", param.doc]
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
