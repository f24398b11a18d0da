"""The options that several commands share, each declared once, and how their values are read."""

from __future__ import annotations

import argparse
import inspect
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pifolab.cli.parser import Parser, pair_of
from pifolab.errors import InputError, ParameterName
from pifolab.text import whole_number


def add_json(parser: Parser, what: str = "the tables") -> None:
    """Declare ``--json`` and ``--quiet``: a command with the former prints only its answer."""
    parser.add_argument("--json", action="store_true", help=f"print {what} as JSON, and nothing else")
    add_quiet(parser)


def add_quiet(parser: Parser) -> None:
    """Declare ``--quiet``."""
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors, and JSON if that is asked for")


def add_trace_options(parser: Parser) -> None:
    """Declare the options for the replay of a trace."""
    parser.add_argument("--speed-up", metavar="X", help="replay the trace this many times faster")
    parser.add_argument(
        "--sort", action="store_true", help="sort the trace by time, where packets were captured out of order"
    )
    parser.add_argument("--duration", metavar="T", help="no packet arrives at or after this time, such as 100ms")


def add_rank_map(parser: Parser) -> None:
    """Declare the ranks of DSCPs."""
    parser.add_argument(
        "--rank-map",
        metavar="DSCP=RANK,...",
        help="with --rank dscp: ranks of DSCPs, such as 46=0,AF41=1; others come last",
    )


def add_filter(parser: Parser) -> None:
    """Declare which packets of a capture count."""
    parser.add_argument(
        "--filter", metavar="EXPR", help="only the packets that this pcap filter keeps, such as 'udp port 53'"
    )


def add_run_options(parser: Parser, default_out: str) -> None:
    """Declare the options of every command that runs a scenario."""
    parser.add_argument("--seed", metavar="N", help="run with this seed instead of those of the scenario")
    add_set(parser, "change a key, such as link.rate=40G or packs.window=100; may be repeated")
    add_plain(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"the folder to write; default {default_out}")
    add_force(parser)
    add_json(parser)


def add_set(parser: Parser, text: str) -> None:
    """Declare ``--set``, the `overrides`; `text` is its help."""
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides", help=text)


def add_plain(parser: Parser) -> None:
    """Declare the option that runs the papers' loops instead of their twins."""
    parser.add_argument(
        "--plain",
        action="store_true",
        help="run schedulers as their papers print them, even where a faster twin makes the same decisions",
    )


def add_force(parser: Parser) -> None:
    """Declare the option that replaces an earlier output."""
    parser.add_argument("--force", action="store_true", help="replace the folder, if pifolab wrote everything in it")


def add_python(parser: Parser, text: str) -> None:
    """Declare the option for components written in Python."""
    parser.add_argument("--python", type=Path, action="append", default=[], metavar="FILE.py|.so", help=text)


def keywords_of(function: Callable[..., Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of the command that are keywords of `function`, by their names.

    Examples
    --------
    >>> keywords_of(lambda *, rate, load=None: rate, argparse.Namespace(rate="10G", out="x"))
    {'rate': '10G'}
    """
    return {name: vars(arguments)[name] for name in inspect.signature(function).parameters if name in arguments}


def override(text: str) -> tuple[str, str]:
    """Return key and value of `--set`."""
    return pair_of("--set", text, "KEY=VALUE, such as link.rate_gbps=40")


def overrides_of(texts: Sequence[str]) -> dict[str, str]:
    """Return the keys and values of `--set`; a key may occur once.

    Examples
    --------
    >>> overrides_of(["link.rate_gbps=1", "link.rate_gbps=2"])
    Traceback (most recent call last):
        ...
    pifolab.errors.InputError: --set link.rate_gbps=2: duplicate: link.rate_gbps is set already
    """
    found: dict[str, str] = {}
    for text in texts:
        key, value = override(text)
        if key in found:
            raise InputError(f"--set {text}: duplicate: {key} is set already")
        found[key] = value
    return found


def seed_of(text: str) -> int:
    """Return the seed of ``--seed``."""
    seed = whole_number(text)
    if seed is None or seed >= 2**63:
        raise InputError(f"--seed {text}: expected an integer from 0 to 2^63 - 1")
    return seed


def flagged(error: InputError, **flags: str) -> InputError:
    """Return an error about a parameter of a function of pifolab as one about the flag that gave it.

    `flags` are those that are not named after their parameter.

    Examples
    --------
    >>> from pifolab.errors import parameter_error
    >>> print(flagged(parameter_error("rate_gbps", ": expected a number above 0", value=0)))
    --rate-gbps 0: expected a number above 0
    """
    if error.file is not None or not error.key.isidentifier():
        return error

    def flag(name: str) -> str:
        return (_FLAGS | flags).get(name, f"--{name.replace('_', '-')}")

    value = "" if error.value is None else f" {error.value}"
    after = "".join(flag(part) if isinstance(part, ParameterName) else part for part in error.after)
    return error.changed(message=f"{flag(error.key)}{value}{after}", flag=flag(error.key))


#: Flags that are not named after their parameter.
_FLAGS = {"overrides": "--set", "options": "--set", "seeds": "--seed"}


def number(flag: str, text: str) -> str:
    """Return `text` as TOML, if it is a positive number or fraction; the scenario checks its range."""
    numerator, slash, denominator = text.partition("/")
    if slash and numerator.isdecimal() and denominator.isdecimal():
        return json.dumps(text)
    try:
        positive = 0 < float(text) < float("inf")
    except ValueError:
        positive = False
    if not positive or not text[0].isdigit():
        raise InputError(f"{flag} {text}: expected a number above 0")
    return text
