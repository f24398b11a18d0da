"""`pifolab attack`: the packet trace on which one scheduler does worst against another."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from pifolab import _pifolab, info
from pifolab.adversary import Answer
from pifolab.adversary.question import STRATEGIES, attack
from pifolab.cli.options import add_json, add_python, add_set, flagged, keywords_of
from pifolab.cli.output import print_json
from pifolab.cli.parser import Parser, pair_of, positive_integer
from pifolab.cli.run import say_slow, say_whose_fault
from pifolab.cli.signals import INTERRUPTED
from pifolab.errors import InputError
from pifolab.interruption import is_stop
from pifolab.plugins import load_plugins
from pifolab.quantities import number
from pifolab.scenario import scheduler_table
from pifolab.text import read_text, value_of, whole_number


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab attack`."""
    parser.description = (
        "Searches the packet trace with the largest metric(A) - metric(B). Small problems are solved exactly, and the "
        "answer says whether it is proven."
    )
    parser.epilog = (
        "Metrics: pifolab show metrics. Methods: exact and enumerate prove their answer, guided searches as long as it "
        "may."
    )
    parser.add_argument("scheduler", metavar="A", help="the scheduler to hurt, perhaps with parameters: packs:window=8")
    parser.add_argument(
        "spared", metavar="B", nargs="?", help="the scheduler to spare; without it the gap is metric(A)"
    )
    parser.add_argument("--against", dest="old_spared", help=argparse.SUPPRESS)
    add_python(parser, "A and B can be schedulers of this file; may be repeated")
    parser.add_argument(
        "--metric", default="WD", metavar="NAME", help="WD (default), WI, ..., or a sum: WI-10*inversions"
    )
    parser.add_argument("--packets", type=_integer, required=True, metavar="N", help="packets in the trace")
    parser.add_argument(
        "--rank-range",
        type=_ranks,
        required=True,
        dest="ranks",
        metavar="LOW..HIGH",
        help="the ranks, both ends included",
    )
    parser.add_argument("--lowest", type=_integer, default=1, metavar="M", help="m of inversions and drops; default 1")
    add_set(parser, "a parameter of both schedulers where they have it; NAME.KEY=VALUE of one")
    parser.add_argument(
        "--buffer-packets",
        type=positive_integer,
        metavar="N",
        help="the buffer of both schedulers, divided among queues; one without a capacity gets that of the other",
    )
    parser.add_argument(
        "--start-window", type=_list, metavar="R,R,...", help="ranks that windows start with, oldest first"
    )
    parser.add_argument("--free-window", action="store_true", help="also search the start window")
    parser.add_argument("--no-drops", action="store_true", help="neither scheduler may drop a packet")
    constraints = parser.add_argument_group("constraints")
    constraints.add_argument(
        "--multiset", type=_pairs, metavar="R:COUNT,...", help="the ranks that the adversary sends, in any order"
    )
    constraints.add_argument(
        "--flows", type=_integer, metavar="N", help="flows that take the adversary's packets in turn"
    )
    constraints.add_argument("--falling", action="store_true", help="ranks fall within each flow instead of rising")
    constraints.add_argument(
        "--benign", type=_pairs, metavar="PLACE:R,...", help="packets that the adversary cannot change; places from 0"
    )
    constraints.add_argument(
        "--load", metavar="L", help="arrivals per departure; without it all arrive, then all leave"
    )
    constraints.add_argument("--burst", type=_integer, default=1, metavar="N", help="packets per burst, with --load")
    search = parser.add_argument_group("search")
    search.add_argument("--method", default="auto", metavar="NAME", help="auto (default), exact, enumerate or guided")
    search.add_argument(
        "--strategy",
        action="append",
        dest="strategies",
        metavar="NAME",
        help="strategy of the guided search: local, evolution, beam",
    )
    search.add_argument("--seed", type=_integer, default=1, metavar="N", help="seed of the guided search; default 1")
    search.add_argument(
        "--evaluations", type=positive_integer, metavar="N", help="the guided search ends after this many"
    )
    search.add_argument("--resume", type=Path, metavar="FILE", help="continue from an answer that --json printed")
    search.add_argument(
        "--time-limit",
        type=_seconds,
        default=600.0,
        dest="time_limit_s",
        metavar="S",
        help="seconds, and as many for --shrink; default 600",
    )
    search.add_argument("--memory-mib", type=positive_integer, default=4096, metavar="N", help="default 4096")
    search.add_argument(
        "--workers", type=positive_integer, metavar="N", help="threads; default: one for each processor"
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "--shrink",
        type=_share,
        nargs="?",
        const=1.0,
        metavar="SHARE",
        help="make the trace smaller as long as it keeps this share of the gap; default 1",
    )
    output.add_argument(
        "--out",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="draw it (.png, .svg, .pdf, .html), or write vectors FILE-a.json and FILE-b.json; may be repeated",
    )
    output.add_argument("--explain", action="store_true", help="show which packets suffer, and by which decisions")
    add_json(parser, "the answer")
    parser.set_defaults(run=run_attack)


def run_attack(arguments: argparse.Namespace) -> int:
    """Search, and show the answer."""
    own = load_plugins(arguments.python).schedulers
    sides = [_Side("a", arguments.scheduler, own)]
    spared = arguments.spared or arguments.old_spared
    if spared is not None:
        sides.append(_Side("b", spared, own))
    used = list(dict.fromkeys(side.name for side in sides if side.name in own))
    if own and not used:
        raise InputError(f"--python: neither A nor B is {' or '.join(own)}, which the file defines")
    say_slow(
        used, "every snapshot is a replay from the start, hundreds of times slower than a scheduler of the library"
    )
    _read_parameters(arguments.overrides, sides)
    for path in arguments.out:
        _check_out(path)
    try:
        return _attack(arguments, sides)
    except InputError as error:
        flags = {"ranks": "--rank-range", "strategies": "--strategy", "time_limit_s": "--time-limit"}
        raise (flagged(error, **flags) if error.key in vars(arguments) else error) from None
    except BaseException as error:
        if is_stop(error) or not hasattr(error, "simulated_time_ns"):
            raise
        return say_whose_fault(error, "the search")


#: The ending of a vector's name; every other ending is that of a drawing.
_OF_VECTORS = ("", ".json")


def _check_out(path: Path) -> None:
    from pifolab.adversary.draw import check_drawing

    if path.suffix not in _OF_VECTORS:
        check_drawing(path)
    elif not path.name:
        raise InputError(f"--out {path}: expected the name of a file")


class _Side:
    """A scheduler of the question as written: its name or class, and its parameters."""

    def __init__(self, letter: str, written: str, own: dict[str, Any]) -> None:
        self.letter = letter
        table = scheduler_table(written)
        self.name = str(table.pop("name"))
        self.made = own.get(self.name, self.name)
        self.options: dict[str, Any] = table
        known = info.scheduler(self.name).params if self.name not in own else ()
        self.known = {param.name for param in known} or set(inspect.signature(self.made).parameters)


def _attack(arguments: argparse.Namespace, sides: list[_Side]) -> int:
    arguments.initial = _resumed(arguments.resume)
    arguments.strategies = arguments.strategies or STRATEGIES
    answer = attack(
        sides[0].made,
        sides[1].made if len(sides) > 1 else None,
        a_options=sides[0].options,
        b_options=sides[1].options if len(sides) > 1 else {},
        progress=_progress(),
        **keywords_of(attack, arguments),
    )
    _clear()
    if arguments.shrink is not None:
        answer = answer.shrink(arguments.shrink, time_limit_s=arguments.time_limit_s)
    files = [
        file
        for path in arguments.out
        for file in (answer.save(path) if path.suffix in _OF_VECTORS else answer.draw(path))
    ]
    if arguments.json:
        print_json(answer.as_dict())
    else:
        _print(answer)
        if arguments.explain:
            print("\n" + answer.explain())
        for file in files:
            print(f"wrote {file}")
    if answer.interrupted:
        print("pifolab: interrupted; this is the best trace so far", file=sys.stderr)
        return INTERRUPTED
    return 0


def _print(answer: Any) -> None:
    if answer.proven:
        state = "proven: no trace has a larger gap"
    elif answer.bound is not None:
        state = f"not proven: no trace has more than {number(answer.bound)}"
    else:
        state = "the best found"
    state += _ENDS.get(answer.ended_by or "", "")
    print(f"gap           {number(answer.gap)} ({state})")
    print(f"trace         {' '.join(map(str, answer.trace))}")
    if answer.start_window is not None:
        print(f"start window  {' '.join(map(str, answer.start_window))} (oldest first)")
    if answer.departures:
        print(f"departures    {' '.join(map(str, answer.departures))} (after each arrival)")
    print(f"evaluations   {answer.evaluations:,}")
    if answer.note is not None:
        print(f"note          {answer.note}")
    if answer.shrinking_ended_by is not None:
        print(f"shrinking     {_SHRINKING_ENDS[answer.shrinking_ended_by]}: a smaller trace may have this gap, too")


_SHRINKING_ENDS = {"time": "ended by the time limit", "interrupt": "interrupted"}
_ENDS = {"time": "; the time limit ended the search", "memory": "; the memory limit ended the search"}


def _read_parameters(texts: list[str], sides: list[_Side]) -> None:
    """Read ``--set``; a key without a name goes to every scheduler that has it."""
    for text in texts:
        key, written = pair_of("--set", text, "KEY=VALUE or NAME.KEY=VALUE")
        name, dot, inner = key.rpartition(".")
        named = [side for side in sides if name in (side.name, side.letter)]
        if dot and not named:
            names = " or ".join(dict.fromkeys(f"{side.name}.{inner}" for side in sides))
            raise InputError(f"--set {text}: expected {names}")
        chosen = named if dot else [side for side in sides if key in side.known]
        if not chosen:
            known = sorted(set().union(*(side.known for side in sides)))
            raise InputError(f"--set {text}: {_pifolab.unknown_name('parameter', key, known)}")
        for side in chosen:
            if inner in side.options:
                raise InputError(f"--set {text}: duplicate: {side.name} has its {inner} already")
            side.options[inner] = value_of(written)


def _resumed(path: Path | None) -> Answer | None:
    if path is None:
        return None
    text = read_text(path)
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{path}: expected an answer of pifolab attack --json") from None
    # The command line gives the question again, since a scheduler may be written in Python.
    facts = {**facts, "question": None} if isinstance(facts, dict) else facts
    try:
        return Answer.from_dict(facts)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _progress() -> Callable[[Fraction, int], None] | None:
    if not sys.stderr.isatty():
        return None
    started = time.monotonic()

    def told(gap: Fraction, evaluations: int) -> None:
        elapsed = time.monotonic() - started
        rate = evaluations / elapsed if elapsed > 0 else 0
        line = f"best {float(gap):g}, {evaluations:,} evaluations, {rate:,.0f} per second"
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    return told


def _clear() -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _integer(text: str) -> int:
    read = whole_number(text.removeprefix("-"))
    if read is None:
        raise argparse.ArgumentTypeError(f"{text!r}: expected an integer")
    return -read if text.startswith("-") else read


def _ranks(text: str) -> tuple[int, int]:
    low, high = (whole_number(one) for one in text.partition("..")[::2])
    if low is None or high is None or low > high:
        raise argparse.ArgumentTypeError(f"{text!r}: expected two ranks such as 1..11, the lower first")
    return low, high


def _list(text: str) -> list[int]:
    ranks = [rank for part in text.split(",") if (rank := whole_number(part.strip())) is not None]
    if len(ranks) <= text.count(","):
        raise argparse.ArgumentTypeError(f"{text!r}: expected ranks separated by commas")
    return ranks


def _pairs(text: str) -> dict[int, int]:
    pairs: dict[int, int] = {}
    for part in text.split(","):
        key, value = (whole_number(one.strip()) for one in part.partition(":")[::2])
        if key is None or value is None:
            raise argparse.ArgumentTypeError(f"{part!r}: expected two integers such as 3:7")
        if key in pairs:
            raise argparse.ArgumentTypeError(f"{part!r}: duplicate of {key}")
        pairs[key] = value
    return pairs


def _seconds(text: str) -> float:
    return _positive(text, 1e9, "a positive number of seconds")


def _share(text: str) -> float:
    return _positive(text, 1.0, "a share above 0 and at most 1")


def _positive(text: str, most: float, expected: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= most:
        raise argparse.ArgumentTypeError(f"{text!r}: expected {expected}")
    return number
