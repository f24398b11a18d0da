"""`pifolab run` and `pifolab schema`: scenarios from a file, and for editors; with what other commands share."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.cli.figure_options import add_figure_options, figure_choice
from pifolab.cli.parser import Parser, pair_of
from pifolab.cli.progress import ProgressBar
from pifolab.cli.signals import INTERRUPTED
from pifolab.cli.table import print_table
from pifolab.errors import InputError, ParameterName
from pifolab.folder import check_absent
from pifolab.interruption import is_stop
from pifolab.packaged import experiment
from pifolab.plugins import load_plugins
from pifolab.runs import Progress, Run, load_frames, run
from pifolab.text import read_text, shown

__all__ = [
    "add_common",
    "add_drawing",
    "add_force_option",
    "add_plain_option",
    "add_python_option",
    "add_set_option",
    "add_to",
    "add_trace_options",
    "flagged",
    "number",
    "override",
    "run_and_save",
    "say_slow",
]

USAGE_ERROR = 2


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the two commands."""
    run = commands.add_parser(
        "run",
        help="run a scenario",
        epilog="The folder gets manifest.json, summary.json, Parquet tables, figures/ and report.html.",
    )
    run.add_argument(
        "scenario", type=Path, metavar="FILE.toml", help="the scenario, or an experiment of the package: packs/fig3"
    )
    run.add_argument(
        "--flows",
        type=Path,
        metavar="FILE.csv",
        help="send these flows (flow,src,dst,size_bytes,start_ns; gzip allowed) instead of those of the scenario",
    )
    add_python_option(
        run, "use the schedulers, rank functions, congestion controllers and observers of this file; may be repeated"
    )
    add_common(run, "out/NAME, after the file")
    add_drawing(run, "draw only these schedulers, in this order; all of them run")
    run.set_defaults(run=run_run)

    schema = commands.add_parser("schema", help="print the JSON Schema of scenarios, for editors")
    schema.set_defaults(run=run_schema)


def add_trace_options(parser: Parser) -> None:
    """Declare how a trace is replayed, for every command that replays one."""
    parser.add_argument("--speed-up", metavar="X", help="replay the trace this many times faster")
    parser.add_argument(
        "--sort", action="store_true", help="sort the trace by time, where packets were captured out of order"
    )
    parser.add_argument("--duration-s", metavar="T", help="no packet arrives at or after this time")


def add_common(parser: Parser, default_out: str) -> None:
    """Declare what every command has that runs a scenario."""
    parser.add_argument("--seed", metavar="N", help="run with this seed instead of those of the scenario")
    add_set_option(parser, "change a key, such as link.rate_gbps=40 or scheduler.packs.window=100; may be repeated")
    add_plain_option(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"the folder to write; default {default_out}")
    add_force_option(parser)


def add_drawing(parser: Parser, schedulers: str | None = None) -> None:
    """Declare how the figures of a run are drawn.

    `schedulers` is the help of the option that chooses those of the figures, if there is to be one.
    """
    parser.add_argument(
        "--no-figures", action="store_true", help="do not draw figures, which takes longer than most runs"
    )
    add_figure_options(
        parser,
        schedulers=schedulers,
        into="figure_schedulers",
        label="what figures call a scheduler; may be repeated",
        about="figures: ",
        of_curves=", where a number is drawn against another",
    )


def add_set_option(parser: Parser, text: str) -> None:
    """Declare ``--set``, the `overrides`; `text` says what it changes."""
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides", help=text)


def add_plain_option(parser: Parser) -> None:
    """Declare what runs the papers' loops in the place of their twins."""
    parser.add_argument(
        "--plain",
        action="store_true",
        help="run schedulers as their papers print them, even where a faster twin makes the same decisions",
    )


def add_force_option(parser: Parser) -> None:
    """Declare what replaces an earlier output."""
    parser.add_argument("--force", action="store_true", help="replace the folder, if pifolab wrote everything in it")


def add_python_option(parser: Parser, text: str) -> None:
    """Declare where components written in Python come from."""
    parser.add_argument("--python", type=Path, action="append", default=[], metavar="FILE.py", help=text)


def run_run(arguments: argparse.Namespace) -> int:
    """Run a scenario file."""
    scenario = experiment(arguments.scenario)
    plugins = load_plugins(arguments.python)
    say_slow(plugins.names())
    out = arguments.out or Path("out") / scenario.stem

    def known(overrides: dict[str, str]) -> list[str]:
        makers = {kind: made for kind, made in vars(plugins).items() if kind != "observers"}
        flows = None if arguments.flows is None else str(arguments.flows)
        text = read_text(scenario)
        written, _ = _pifolab.resolve_scenario(text, str(scenario), list(overrides.items()), flows=flows, **makers)
        return [str(one["label"]) for one in json.loads(written)["scheduler"]]

    return run_and_save(
        arguments, out, lambda **keywords: run(scenario, flows=arguments.flows, **vars(plugins), **keywords), known
    )


def run_schema(arguments: argparse.Namespace) -> int:
    """Print the JSON Schema."""
    print(json.dumps(json.loads(_pifolab.scenario_schema()), indent=2))
    return 0


def say_slow(names: Sequence[str], cost: str = "a run takes 2 to 15 times as long as with Rust") -> None:
    """Say that what is written in Python takes its time."""
    if names:
        note = f"slow: {cost}"
        print(f"pifolab: note: {', '.join(names)}: written in Python, so {note}", file=sys.stderr)


def run_and_save(
    arguments: argparse.Namespace,
    out: Path,
    run: Callable[..., Run],
    known: Callable[[dict[str, str]], Sequence[str]],
) -> int:
    """Run what the flags ask for, print its table, and write its folder `out`.

    `known` returns the schedulers that there will be, given what ``--set`` changes.
    """
    check_absent(out, force=arguments.force)
    overrides = overrides_of(arguments.overrides)
    if arguments.seed is not None and "seeds" in overrides:
        raise InputError("--set seeds: conflicts with --seed: give one of the two")
    if arguments.plain:
        if "plain" in overrides:
            raise InputError("--set plain: conflicts with --plain: give one of the two")
        overrides["plain"] = "true"
    choice = figure_choice(arguments, lambda: known(overrides))
    keywords: dict[str, Any] = {"overrides": overrides}
    if arguments.seed is not None:
        keywords["seeds"] = [_seed(arguments.seed)]
    try:
        with ProgressBar() as bar:

            def update(state: Progress) -> None:
                # While the run is busy on its own threads, so that Ctrl-C does not wait for modules.
                importlib.import_module("pifolab.report.run")
                load_frames()
                bar.update(state)

            result = run(progress=update, **keywords)
    except BaseException as error:
        if is_stop(error) or not hasattr(error, "simulated_time_ns"):
            raise
        return say_whose_fault(error)
    # After Ctrl-C nothing waits for figures and captures.
    waits = not result.interrupted
    figures = waits and not arguments.no_figures
    result.save(out, figures=figures, captures=waits, report=True, force=arguments.force, choice=choice)
    print_table(result)
    for note in result.notes:
        print(f"pifolab: note: {shown(note)}", file=sys.stderr)
    for warning in result.warnings:
        print(f"pifolab: warning: {shown(warning)}", file=sys.stderr)
    if result.interrupted:
        kept = "what was complete, marked partial" if result.partial else "all that was run"
        print(f"pifolab: interrupted; {out} has {kept}, without figures", file=sys.stderr)
        return INTERRUPTED
    print(f"\nreport: {out / 'report.html'}")
    return 0


def say_whose_fault(error: BaseException, stopped: str = "the run") -> int:
    """Print the traceback of what the user wrote in Python, without our part of it."""
    trace = error.__traceback__
    ours = Path(__file__).resolve().parents[1]
    while trace is not None and Path(trace.tb_frame.f_code.co_filename).resolve().is_relative_to(ours):
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)
    time = getattr(error, "simulated_time_ns", None)
    if time is not None and not getattr(error, "__notes__", None):
        print(f"at simulated time {time} ns", file=sys.stderr)
    print(f"pifolab: {stopped} was stopped by an exception in the Python classes", file=sys.stderr)
    return USAGE_ERROR


def override(text: str) -> tuple[str, str]:
    """Return key and value of `--set`."""
    return pair_of("--set", text, "KEY=VALUE, such as link.rate_gbps=40")


def overrides_of(texts: Sequence[str]) -> dict[str, str]:
    """Return what each `--set` says; a key stands once.

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


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**63:
        raise InputError(f"--seed {text}: expected an integer from 0 to 2^63 - 1")
    return int(text)


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


#: Parameters that their flag is not named after.
_FLAGS = {"overrides": "--set", "options": "--set", "seeds": "--seed"}


def number(flag: str, text: str) -> str:
    """Return `text` as TOML, if it is a positive number or fraction; whether it fits is checked with the scenario."""
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
