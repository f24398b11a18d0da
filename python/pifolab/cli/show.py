"""`pifolab show`: lists and explains names, from the tables of the library."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict

from pifolab import info, packaged
from pifolab.cli.options import add_json
from pifolab.cli.output import answer, print_json
from pifolab.cli.parser import Parser
from pifolab.text import wrapped


def _lines(kind: str) -> Callable[[], dict[str, str]]:
    return lambda: {about.name: about.summary for about in info.kinds()[kind]}


#: The lists by kind: names, each with a line.
KINDS: dict[str, Callable[[], dict[str, str]]] = {
    "schedulers": _lines("scheduler"),
    "ranks": _lines("rank function"),
    "distributions": _lines("distribution"),
    "transports": _lines("transport"),
    "topologies": _lines("topology"),
    "experiments": packaged.titles,
    "metrics": _lines("metric"),
    "keys": _lines("key"),
}

_SINGULAR = {kind: kind.removesuffix("ies") + "y" if kind.endswith("ies") else kind.removesuffix("s") for kind in KINDS}


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab show`."""
    parser.description = (
        f"Lists what there is of a KIND ({', '.join(KINDS)}), or explains one NAME of these lists; without either it "
        "says how many there are of each kind."
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="a kind, or the name of a scheduler, metric, key, ...")
    add_json(parser, "the same")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print a list or an explanation."""
    name = arguments.name
    # A single scheduler is given by its name, so the singular means the list as well.
    name = next((kind for kind, one in _SINGULAR.items() if name == one), name)
    if name is None:
        lines = {kind: f"{len(listed())}, such as {next(iter(listed()))}" for kind, listed in KINDS.items()}
    elif name in KINDS:
        lines = KINDS[name]()
    elif name in packaged.experiments():
        return _show_experiment(name, as_json=arguments.json)
    else:
        about = info.explain(name, also=[*KINDS, *packaged.experiments()])
        if arguments.json:
            print_json({"what": about.kind, **asdict(about)})
        else:
            with answer():
                print(about)
        return 0
    if arguments.json:
        print_json(lines)
        return 0
    width = max(map(len, lines), default=0)
    with answer():
        for entry, said in lines.items():
            quiet = arguments.quiet or not said
            print(entry if quiet else wrapped(f"{entry:{width}}  {said}", indent=width + 2))
    return 0


def _show_experiment(name: str, *, as_json: bool) -> int:
    file, title = packaged.experiments()[name], packaged.titles()[name]
    if as_json:
        print_json({"what": "experiment", "name": name, "summary": title, "file": str(file)})
        return 0
    command = "study run" if name in packaged.studies() else "run"
    with answer():
        print(f"{name} (experiment; pifolab {command} {name})\n\n{wrapped(title)}\n")
        print(file.read_text(encoding="utf-8").rstrip())
    return 0
