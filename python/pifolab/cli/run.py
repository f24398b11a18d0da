"""`pifolab run` and `pifolab schema`: scenarios from a file, and for editors."""

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
from pifolab.cli.options import add_python, add_run_options, overrides_of, seed_of
from pifolab.cli.output import print_json
from pifolab.cli.parser import Parser
from pifolab.cli.progress import ProgressBar
from pifolab.cli.signals import INTERRUPTED
from pifolab.cli.table import print_short_table, print_table
from pifolab.errors import InputError
from pifolab.folder import check_absent
from pifolab.interruption import is_stop
from pifolab.lazy import check_space
from pifolab.packaged import experiment
from pifolab.plugins import load_plugins
from pifolab.runs import Progress, Run, load_frames, run
from pifolab.text import read_text, shown

USAGE_ERROR = 2


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab run`."""
    parser.epilog = "The folder gets manifest.json, summary.json, Parquet tables, figures/ and report.html."
    parser.add_argument(
        "scenario", type=Path, metavar="SCENARIO", help="a TOML file, or an experiment of the package: packs/fig3"
    )
    parser.add_argument(
        "--flows",
        type=Path,
        metavar="FILE.csv",
        help="send these flows (flow,src,dst,size_bytes,start_ns; gzip allowed) instead of those of the scenario",
    )
    add_python(
        parser, "use the schedulers, rank functions, congestion controllers and observers of this file; may be repeated"
    )
    add_run_options(parser, "out/NAME, after the file")
    add_drawing(parser, "draw only these schedulers, in this order; all of them run")
    parser.set_defaults(run=run_run)


def declare_schema(parser: Parser) -> None:
    """Declare the arguments of `pifolab schema`: none."""
    parser.set_defaults(run=run_schema)


def add_drawing(parser: Parser, drawn: str | None = None) -> None:
    """Declare how the figures of a run are drawn.

    `drawn` is the help of ``--draw``; without it there is no such option.
    """
    parser.add_argument(
        "--no-figures", action="store_true", help="do not draw figures, which takes longer than most runs"
    )
    add_figure_options(
        parser,
        drawn=drawn,
        label="what figures call a scheduler; may be repeated",
        about="figures: ",
        of_curves=", where a number is drawn against another",
    )


def run_run(arguments: argparse.Namespace) -> int:
    """Run a scenario file."""
    scenario = experiment(arguments.scenario)
    text = read_text(scenario)
    plugins = load_plugins(arguments.python).with_installed(text)
    say_slow(plugins.names())
    out = arguments.out or Path("out") / scenario.stem

    def known(overrides: dict[str, str]) -> list[str]:
        named = plugins.with_installed(*overrides.values())
        makers = {kind: made for kind, made in vars(named).items() if kind != "observers"}
        flows = None if arguments.flows is None else str(arguments.flows)
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
    """Print that components written in Python are slow."""
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

    `known` returns the schedulers of the run, given the changes of ``--set``.
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
    check_space()
    keywords: dict[str, Any] = {"overrides": overrides}
    if arguments.seed is not None:
        keywords["seeds"] = [seed_of(arguments.seed)]
    try:
        with ProgressBar() as bar:

            def update(state: Progress) -> None:
                # Imported while the run works on its own threads, so that Ctrl-C does not wait for imports.
                importlib.import_module("pifolab.report.run")
                load_frames()
                bar.update(state)

            result = run(progress=update, **keywords)
    except BaseException as error:
        if is_stop(error) or not hasattr(error, "simulated_time_ns"):
            raise
        return say_whose_fault(error)
    # After Ctrl-C no figures and captures are written.
    waits = not result.interrupted
    figures = waits and not arguments.no_figures
    result.save(out, figures=figures, captures=waits, report=True, force=arguments.force, choice=choice)
    if arguments.json:
        print_json({**result.summary, "report": str(out / "report.html")})
    (print_table if getattr(arguments, "all", True) else print_short_table)(result)
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
    """Print the traceback of the user's Python code, without pifolab's frames."""
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
