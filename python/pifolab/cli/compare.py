"""`pifolab compare`: schedulers on one link, without a scenario file."""

from __future__ import annotations

import argparse
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from pifolab import info
from pifolab.cli.options import (
    add_filter,
    add_python,
    add_rank_map,
    add_run_options,
    add_trace_options,
    flagged,
    keywords_of,
    number,
)
from pifolab.cli.parser import Parser, positive_integer
from pifolab.cli.run import add_drawing, run_and_save, say_slow
from pifolab.comparing import PAPERS, compare
from pifolab.custom import PythonScheduler
from pifolab.errors import InputError
from pifolab.info import scheduler
from pifolab.plugins import Plugins, component_name, load_plugins
from pifolab.runs import Run
from pifolab.scenario import scheduler_table, told_apart

#: Flags with a number, which may be a fraction.
_NUMBERS = ("load", "speed_up")


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab compare`."""
    parser.description = (
        "Sends the same packets, from a capture or drawn, through each scheduler onto one link, and judges them by "
        "order, drops, state and operations."
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--trace", type=Path, metavar="FILE", help="replay a pcap, pcapng or CSV file (gzip allowed)")
    source.add_argument("--ranks", metavar="DISTRIBUTION", help="draw ranks: uniform (default), exponential, ...")
    parser.add_argument("--rate", required=True, metavar="R", help="the rate of the link, such as 10G or 100 Mb/s")
    parser.add_argument(
        "--rank",
        metavar="NAME",
        help="a rank function (pifolab show ranks); for a trace also dscp, dscp:phb, column or payload",
    )
    add_rank_map(parser)
    add_filter(parser)
    add_trace_options(parser)
    arrival = parser.add_mutually_exclusive_group()
    arrival.add_argument("--load", metavar="L", help="with --ranks: the rate at which packets arrive, over the link's")
    arrival.add_argument("--arrival-rate", metavar="R", help="with --ranks: the same as a rate, such as 11G")
    parser.add_argument("--arrivals", metavar="KIND", help="with --ranks: constant (default), poisson, ...")
    parser.add_argument("--size-bytes", type=positive_integer, metavar="N", help="with --ranks: 1500 unless given")
    parser.add_argument(
        "--schedulers",
        metavar="A,B,...",
        help="names, perhaps with parameters, and classes of Python files: packs,packs:window=20:k=0.1,mine.py:Lifo "
        f"(default: {','.join(PAPERS)}, and those of --python)",
    )
    add_python(parser, "also compare the schedulers of this file, with its rank functions and observers")
    buffer = parser.add_mutually_exclusive_group()
    buffer.add_argument("--buffer-packets", type=positive_integer, metavar="N", help="the buffer of each scheduler")
    buffer.add_argument("--buffer-bytes", type=positive_integer, metavar="N", help="the same in bytes")
    parser.add_argument(
        "--queues", type=positive_integer, metavar="N", help="the queues of each scheduler that has several"
    )
    parser.add_argument("--all", action="store_true", help="print all columns, and the tables of drops and state")
    add_run_options(parser, "out/compare")
    add_drawing(parser)
    parser.set_defaults(run=run_compare)


def run_compare(arguments: argparse.Namespace) -> int:
    """Run the comparison of the flags."""
    given = keywords_of(compare, arguments)
    del given["schedulers"], given["overrides"]
    if given["trace"] is None and given["ranks"] is None:
        if arguments.load is None and arguments.arrival_rate is None:
            raise InputError("expected --trace FILE, or --load or --arrival-rate for --ranks (uniform unless given)")
        given["ranks"] = "uniform"
    for name in _NUMBERS:
        if given[name] is not None:
            # The text as written, since a number with many digits must not be rounded.
            text = number(f"--{name.replace('_', '-')}", given[name])
            given[name] = json.loads(text) if text.startswith('"') else Decimal(text)
    plugins = load_plugins(arguments.python).with_installed(arguments.schedulers or "", arguments.rank or "")
    schedulers = _chosen(arguments.schedulers, plugins)
    say_slow([*plugins.names(), *(component_name(one) for one in schedulers if _is_foreign(one, plugins))])

    def run(**keywords: Any) -> Run:
        try:
            return compare(schedulers, **given, rank_functions=plugins.ranks, observers=plugins.observers, **keywords)
        except InputError as error:
            raise flagged(error) from None

    def known(_: object) -> list[str]:
        tables = told_apart([scheduler_table(one) for one in schedulers])
        return [str(table.get("label", _name(table["name"]))) for table in tables]

    return run_and_save(arguments, arguments.out or Path("out/compare"), run, known)


def _name(named: str | type) -> str:
    return info.scheduler(named).name if isinstance(named, str) else component_name(named)


def _is_foreign(one: Any, plugins: Plugins) -> bool:
    """Return whether a scheduler is a class that `plugins` does not have: of a file that --schedulers names."""
    return isinstance(one, type) and one not in plugins.schedulers.values()


def _chosen(listed: str | None, plugins: Plugins) -> list[Any]:
    """Return the chosen schedulers, those written in Python as their classes."""
    if listed is None:
        return [*PAPERS, *plugins.schedulers.values()]
    written = [one.strip() for one in listed.split(",")]
    if "" in written:
        raise InputError(f"--schedulers {listed}: expected names with a comma between them")
    chosen = []
    for one in written:
        if written.count(one) > 1:
            raise InputError(f"--schedulers {listed}: duplicate {one}")
        try:
            chosen.append(_scheduler(one, plugins))
        except InputError as error:
            raise InputError(f"--schedulers {listed}: {error}") from None
    return chosen


def _scheduler(one: str, plugins: Plugins) -> Any:
    name, _, rest = one.partition(":")
    if name.endswith(".py"):
        own = load_plugins([Path(name)]).schedulers
        wanted, _, rest = rest.partition(":")
        found = own if not wanted else {key: made for key, made in own.items() if wanted in (key, made.__name__)}
        if len(found) != 1:
            raise InputError(f"{name}: expected one of its schedulers behind it, such as {name}:{_first(own)}")
        made = next(iter(found.values()))
    elif name in plugins.schedulers:
        made = plugins.schedulers[name]
    else:
        try:
            scheduler(name)
        except InputError as error:
            hint = "" if plugins.schedulers else "; one of your own is FILE.py:Class"
            raise InputError(f"{error}{hint}") from None
        return one
    return made if not rest else scheduler_table(f"{name}:{rest}") | {"name": made}


def _first(own: dict[str, type[PythonScheduler]]) -> str:
    return next((made.__name__ for made in own.values()), "Class")
