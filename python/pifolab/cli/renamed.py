"""Old names of commands and options: each works for one release and prints one line with its new name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from pifolab.errors import InputError
from pifolab.packaged import experiments


def _without(words: Sequence[str], *flags: str) -> list[str]:
    return [word for word in words if word not in flags]


def _sweep(words: list[str]) -> list[str]:
    if "--dry-run" in words:
        return ["study", "plan", *_without(words, "--dry-run")]
    return ["study", "run", *words]


def _results(words: list[str]) -> list[str]:
    """Convert the option that chose the action to a command, and its output to ``--out``."""
    means = "--statistics" in words
    names = [word.partition("=")[0] for word in words]
    for flag, command, also in (
        ("--export", "export", [] if means or "--table" in names else ["--table", "schedulers"]),
        ("--figures", "export", ["--figures"]),
        ("--report", "report", []),
        ("--verify", "check", []),
        ("--prune", "prune", []),
    ):
        if flag in names:
            kept = _without(words, "--statistics", "--verify", "--prune")
            kept = [word.replace(flag, "--out", 1) if word.partition("=")[0] == flag else word for word in kept]
            return ["study", command, *kept, *also]
    return ["study", "show", *_without(words, "--statistics"), *([] if means else ["--runs"])]


def _policy(words: list[str]) -> list[str]:
    compiled = any(word.partition("=")[0] == "--degree" for word in words)
    return ["tree", "compile" if compiled else "check", *words]


def _flows(words: list[str]) -> list[str] | None:
    new = not words or words[0] in ("export", "compare", "-h", "--help")
    return None if new else ["flows", "export", *words]


def _bounds(_: list[str]) -> list[str]:
    raise InputError("bounds: is a function now: pifolab.optimal_bounds(pifolab.bounds.rank_weights('uniform'), 8)")


def _hierarchy(_: list[str]) -> list[str]:
    raise InputError("hierarchy: write the tree as [[scheduler.child]] tables, or in one line as policy")


def _scorecard(words: list[str]) -> list[str]:
    for word in words:
        flag = word.partition("=")[0]
        if flag in ("--seeds", "--quick", "--only", "--experiments", "--python"):
            file = experiments()["scorecard"]
            raise InputError(f"scorecard {flag}: copy the study of the package and change it there: {file}")
    return ["study", "run", "scorecard", *(word.replace("--out", "--store", 1) for word in words)]


def _first(*new: str) -> Callable[[list[str]], list[str]]:
    return lambda words: [*new, *words]


#: Converters of the arguments of an old command to the new command with its arguments; None if the arguments are
#: unchanged.
COMMANDS: dict[str, Callable[[list[str]], list[str] | None]] = {
    "sweep": _sweep,
    "results": _results,
    "list": _first("show"),
    "explain": _first("show"),
    "flows": _flows,
    "scorecard": _scorecard,
    "agree": _first("flows", "compare"),
    "policy": _policy,
    "testbed": _first("dataplane", "testbed"),
    "bounds": _bounds,
    "hierarchy": _hierarchy,
}

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
    words = list(argv)
    if words and words[0] in COMMANDS:
        made = COMMANDS[words[0]](words[1:])
        if made is not None:
            depth = 1 if made[0] == "show" else 2
            say_renamed(f"pifolab {words[0]}", f"pifolab {' '.join(made[:depth])}")
            words = made
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


def say_renamed(old: str, new: str) -> None:
    """Print the new name of an old name on standard error."""
    print(f"pifolab: {old} is called {new}; the old name works for one more release", file=sys.stderr)
