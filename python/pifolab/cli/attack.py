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
from pifolab.cli.parser import Parser, pair_of, positive_integer
from pifolab.cli.run import add_python_option, add_set_option, flagged, say_slow, say_whose_fault
from pifolab.cli.signals import INTERRUPTED
from pifolab.errors import InputError
from pifolab.interruption import is_stop
from pifolab.plugins import load_plugins
from pifolab.quantities import number
from pifolab.text import read_text, value_of

__all__ = ["add_to"]


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the command."""
    attack = commands.add_parser(
        "attack",
        help="search for the worst packet trace for a scheduler",
        description="Search for the packet trace with the largest metric(A) - metric(B). Small problems are solved "
        "exactly, and the answer says whether it is proven. docs/attack.md has metrics, methods and constraints.",
    )
    attack.add_argument("scheduler", metavar="A", help="the scheduler to hurt, as pifolab list schedulers prints it")
    attack.add_argument("--against", metavar="B", help="the scheduler to spare; without it the gap is metric(A)")
    add_python_option(attack, "A and B can be schedulers of this file; may be repeated")
    attack.add_argument(
        "--metric", default="WD", metavar="NAME", help="WD (default), WI, ..., or a sum: WI-10*inversions"
    )
    attack.add_argument("--packets", type=_integer, required=True, metavar="N", help="packets in the trace")
    attack.add_argument(
        "--ranks", type=_ranks, required=True, metavar="LOW..HIGH", help="the ranks, both ends included"
    )
    attack.add_argument("--lowest", type=_integer, default=1, metavar="M", help="m of inversions and drops; default 1")
    add_set_option(attack, "a parameter of both schedulers where they have it; a.KEY=VALUE or b.KEY=VALUE of one")
    attack.add_argument(
        "--buffer-packets",
        type=positive_integer,
        metavar="N",
        help="the buffer of both schedulers, divided among queues; without it one without a capacity has the other's",
    )
    attack.add_argument(
        "--start-window", type=_list, metavar="R,R,...", help="ranks that windows start with, oldest first"
    )
    attack.add_argument("--free-window", action="store_true", help="search the start window, too")
    attack.add_argument("--no-drops", action="store_true", help="neither scheduler may drop a packet")
    constraints = attack.add_argument_group("constraints")
    constraints.add_argument(
        "--multiset", type=_pairs, metavar="R:COUNT,...", help="the ranks that the adversary sends, in any order"
    )
    constraints.add_argument(
        "--flows", type=_integer, metavar="N", help="flows that take the adversary's packets in turn"
    )
    constraints.add_argument("--falling", action="store_true", help="ranks fall within each flow instead of rising")
    constraints.add_argument(
        "--benign", type=_pairs, metavar="PLACE:R,...", help="packets that the adversary cannot touch; places from 0"
    )
    constraints.add_argument(
        "--load", metavar="L", help="arrivals per departure; without it all arrive, then all leave"
    )
    constraints.add_argument("--burst", type=_integer, default=1, metavar="N", help="packets per burst, with --load")
    search = attack.add_argument_group("search")
    search.add_argument("--method", default="auto", metavar="NAME", help="auto (default), exact, enumerate or guided")
    search.add_argument(
        "--strategy", action="append", metavar="NAME", help="of the guided search: local, evolution, beam"
    )
    search.add_argument("--seed", type=_integer, default=1, metavar="N", help="of the guided search; default 1")
    search.add_argument(
        "--evaluations", type=positive_integer, metavar="N", help="the guided search ends after so many"
    )
    search.add_argument("--resume", metavar="FILE", help="continue from an answer that --json printed")
    search.add_argument("--time-limit", type=_seconds, default=600.0, metavar="S", help="seconds; default 600")
    search.add_argument("--memory-mib", type=positive_integer, default=4096, metavar="N", help="default 4096")
    search.add_argument(
        "--workers", type=positive_integer, metavar="N", help="threads; default: one for each processor"
    )
    output = attack.add_argument_group("output")
    output.add_argument("--json", action="store_true", help="print the answer as JSON")
    output.add_argument(
        "--shrink",
        type=_share,
        nargs="?",
        const=1.0,
        metavar="SHARE",
        help="make the trace smaller as long as it keeps this share of the gap; default 1",
    )
    output.add_argument("--save", metavar="PATH", help="write conformance vectors PATH-a.json and PATH-b.json")
    output.add_argument(
        "--draw", action="append", default=[], metavar="FILE", help="draw it: .png, .svg, .pdf or .html"
    )
    output.add_argument("--explain", action="store_true", help="say which packets suffer, and by which decisions")
    attack.set_defaults(run=run_attack)


def run_attack(arguments: argparse.Namespace) -> int:
    """Search, and show the answer."""
    own = load_plugins(arguments.python).schedulers
    used = [name for name in dict.fromkeys((arguments.scheduler, arguments.against)) if name in own]
    if own and not used:
        raise InputError(f"--python: neither A nor B is {' or '.join(own)}, which the file defines")
    say_slow(
        used, "every snapshot is a replay from the start, hundreds of times slower than a scheduler of the library"
    )
    try:
        return _attack(arguments, own)
    except InputError as error:
        raise (flagged(error) if error.key in vars(arguments) else error) from None
    except BaseException as error:
        if is_stop(error) or not hasattr(error, "simulated_time_ns"):
            raise
        return say_whose_fault(error, "the search")


def _attack(arguments: argparse.Namespace, own: dict[str, Any]) -> int:
    a_options, b_options = _options(arguments, own)
    answer = attack(
        own.get(arguments.scheduler, arguments.scheduler),
        own.get(arguments.against, arguments.against),
        metric=arguments.metric,
        packets=arguments.packets,
        ranks=arguments.ranks,
        lowest=arguments.lowest,
        a_options=a_options,
        b_options=b_options,
        buffer_packets=arguments.buffer_packets,
        start_window=arguments.start_window,
        free_window=arguments.free_window,
        no_drops=arguments.no_drops,
        multiset=arguments.multiset,
        flows=arguments.flows,
        falling=arguments.falling,
        benign=arguments.benign,
        load=arguments.load,
        burst=arguments.burst,
        method=arguments.method,
        strategies=arguments.strategy or STRATEGIES,
        seed=arguments.seed,
        evaluations=arguments.evaluations,
        initial=_resumed(arguments.resume),
        time_limit_s=arguments.time_limit,
        memory_mib=arguments.memory_mib,
        workers=arguments.workers,
        progress=_progress(),
    )
    _clear()
    if arguments.shrink is not None:
        answer = answer.shrink(arguments.shrink)
    files = [file for path in arguments.draw for file in answer.draw(path)]
    if arguments.save:
        files += answer.save(arguments.save)
    if arguments.json:
        print(json.dumps(answer.as_dict()))
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


_ENDS = {"time": "; the time limit ended the search", "memory": "; the memory limit ended the search"}


def _options(arguments: argparse.Namespace, own: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read ``--set``; a key without a side goes to every scheduler that has it."""

    def parameters(name: str) -> set[str]:
        if name in own:
            return set(inspect.signature(own[name]).parameters)
        return {param.name for param in info.scheduler(name).params}

    sides = (("a", arguments.scheduler), ("b", arguments.against))
    known = {side: parameters(name) for side, name in sides if name is not None}
    options: dict[str, dict[str, Any]] = {"a": {}, "b": {}}
    for text in arguments.overrides:
        key, written = pair_of("--set", text, "KEY=VALUE, a.KEY=VALUE or b.KEY=VALUE")
        side, dot, name = key.partition(".")
        if dot and side not in known:
            raise InputError(f"--set {text}: expected a.{name} or, with --against, b.{name}")
        chosen = [side] if dot else [side for side in known if key in known[side]]
        name = name if dot else key
        if not chosen:
            raise InputError(
                f"--set {text}: {_pifolab.unknown_name('parameter', key, sorted(set().union(*known.values())))}"
            )
        for side in chosen:
            if name in options[side]:
                raise InputError(f"--set {text}: duplicate: {side}.{name} is set already")
            options[side][name] = value_of(written)
    return options["a"], options["b"]


def _resumed(path: str | None) -> Answer | None:
    if path is None:
        return None
    text = read_text(Path(path))
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{path}: expected an answer of pifolab attack --json") from None
    # What is searched for, the command line says again: a scheduler may be written in Python.
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
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected an integer") from None


def _ranks(text: str) -> tuple[int, int]:
    low, dots, high = text.partition("..")
    if not dots or not low.isdecimal() or not high.isdecimal() or int(low) > int(high):
        raise argparse.ArgumentTypeError(f"{text!r}: expected two ranks such as 1..11, the lower first")
    return int(low), int(high)


def _list(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r}: expected ranks separated by commas")
    return [int(part) for part in parts]


def _pairs(text: str) -> dict[int, int]:
    pairs: dict[int, int] = {}
    for part in text.split(","):
        key, colon, value = part.partition(":")
        if not colon or not key.strip().isdecimal() or not value.strip().isdecimal():
            raise argparse.ArgumentTypeError(f"{part!r}: expected two integers such as 3:7")
        if int(key) in pairs:
            raise argparse.ArgumentTypeError(f"{part!r}: duplicate of {key}")
        pairs[int(key)] = int(value)
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
