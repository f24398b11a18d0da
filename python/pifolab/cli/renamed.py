"""Old names of commands and options: each works for one release and prints one line with its new name."""

from __future__ import annotations

import sys
from collections.abc import Callable

from pifolab.errors import InputError
from pifolab.packaged import experiments

#: Of each old command its forms, of which the first that fits counts: an option that tells it from the others, the new
#: command, the new name of the option (empty: it goes), and what comes last.
COMMANDS: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "sweep": (("--dry-run", "study plan", "", ""), ("", "study run", "", "")),
    "results": (
        ("--export", "study export", "--out", "--table schedulers"),
        ("--figures", "study export", "--out", "--figures"),
        ("--report", "study report", "--out", ""),
        ("--verify", "study check", "", ""),
        ("--prune", "study prune", "", ""),
        ("--statistics", "study show", "", ""),
        ("", "study show", "", "--runs"),
    ),
    "list": (("", "show", "", ""),),
    "explain": (("", "show", "", ""),),
    "flows": (("", "flows export", "", ""),),
    "scorecard": (("--out", "study run scorecard", "--store", ""), ("", "study run scorecard", "", "")),
    "agree": (("", "flows compare", "", ""),),
    "policy": (("--degree", "tree compile", "--degree", ""), ("", "tree check", "", "")),
    "testbed": (("", "dataplane testbed", "", ""),),
}

_GONE = {
    "bounds": "is a function now: pifolab.optimal_bounds(pifolab.bounds.rank_weights('uniform'), 8)",
    "hierarchy": "write the tree as [[scheduler.child]] tables, or in one line as policy",
}

#: What a study says in its file.
_OF_SCORECARD = {"--seeds", "--quick", "--only", "--experiments", "--python"}

#: The words behind `flows` with which it is the new command.
_OF_FLOWS = ("export", "compare", "-h", "--help")

_READ = {"--rate-gbps": ("--rate", "G"), "--rate-mbps": ("--rate", "M"), "--duration-s": ("--duration", "s")}
_DRAWN = {"--schedulers": ("--draw", "")}
_OF_STUDY = {**_DRAWN, "--sweep": ("--study", "")}

#: For each command its old options, each with its new name and the unit of its value. A new name without dashes is a
#: positional argument, and the command reads the old option itself.
OPTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "run": _DRAWN,
    "compare": {
        **_READ,
        "--arrival-gbps": ("--arrival-rate", "G"),
        "--arrival-mbps": ("--arrival-rate", "M"),
    },
    "advise": {**_READ, "--delay-us": ("--delay", "us"), "--trace": ("TRACE", "")},
    "attack": {
        "--against": ("B", ""),
        "--ranks": ("--rank-range", ""),
        "--draw": ("--out", ""),
        "--save": ("--out", ""),
    },
    "dataplane p4 compile": {"--param": ("--set", "")},
    "dataplane p4 parameters": {"--param": ("--set", "")},
    "dataplane p4 run": {"--rate-mbps": ("--rate", "M")},
    "dataplane testbed": {"--scheduler": ("--schedulers", "")},
    "reproduce": {"--paper": ("PAPER", ""), "--figure": ("PAPER FIGURE", ""), "--list": ("--claims", "")},
    "study show": _OF_STUDY,
    "study export": _OF_STUDY,
    "study report": _OF_STUDY,
    "study prune": {"--sweep": ("--study", "")},
    "tree check": {"--embeds-in": ("--in", "")},
    "tree compile": {"--embeds-in": ("--in", "")},
}


def current(argv: list[str], refuse: Callable[[str], object]) -> list[str]:
    """Return `argv` with today's names, after a line on standard error for each old name.

    Two old options that have become one are an error.
    """
    words = _command(list(argv))
    depth = next((depth for depth in (1, 2, 3) if " ".join(words[:depth]) in OPTIONS), 0)
    renamed = OPTIONS.get(" ".join(words[:depth]), {})
    found: dict[str, str] = {}
    for at in range(depth, len(words)):
        if words[at] == "--":
            break
        old, equals, value = words[at].partition("=")
        if old not in renamed:
            continue
        new, unit = renamed[old]
        say_renamed(old, new)
        if not new.startswith("--"):
            continue
        if new in found and unit:
            refuse(f"argument {old}: not allowed with argument {found[new]}")
        found[new] = old
        words[at] = f"{new}={value}{unit}" if equals else new
        if unit and not equals and at + 1 < len(words):
            words[at + 1] += unit
    return words


def _command(words: list[str]) -> list[str]:
    """Return the words of the new command, after a line about it, if these are of an old one."""
    old, rest = (words[0], words[1:]) if words else ("", [])
    if old in _GONE:
        raise InputError(f"{old}: {_GONE[old]}")
    if old not in COMMANDS or (old == "flows" and (not rest or rest[0] in _OF_FLOWS)):
        return words
    names = {"", *(word.partition("=")[0] for word in rest)}
    if old == "scorecard" and (own := sorted(names & _OF_SCORECARD)):
        file = experiments()["scorecard"]
        raise InputError(f"scorecard {own[0]}: copy the study of the package and change it there: {file}")
    flag, new, instead, last = next(form for form in COMMANDS[old] if form[0] in names)
    if flag == "--export" and names & {"--statistics", "--table"}:
        last = ""
    say_renamed(f"pifolab {old}", f"pifolab {new}")
    kept = []
    for word in rest:
        name, equals, value = word.partition("=")
        if name == flag and flag:
            kept += [f"{instead}{equals}{value}"] * bool(instead)
        elif name != "--statistics":
            kept.append(word)
    return [*new.split(), *kept, *last.split()]


def say_renamed(old: str, new: str) -> None:
    """Print the new name of an old name on standard error."""
    print(f"pifolab: {old} is called {new}; the old name works for one more release", file=sys.stderr)
