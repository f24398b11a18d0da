"""`pifolab study run` and `plan`: many runs of one scenario, on all processors or on a cluster."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab.cli.options import add_json
from pifolab.cli.output import print_json
from pifolab.cli.parser import MOST_WORKERS, Parser, positive_up_to
from pifolab.cli.results import DEFAULT_STORE
from pifolab.cli.rows import print_rows
from pifolab.cli.signals import INTERRUPTED, TERMINATED, TerminatedError
from pifolab.errors import InputError
from pifolab.packaged import experiment
from pifolab.quantities import duration_text
from pifolab.text import shown
from pifolab.toml import to_toml

if TYPE_CHECKING:
    from pifolab.store import Store
    from pifolab.sweep import Sweep, SweepResult, UntilTight
    from pifolab.sweep.pool import Engine

FAILED = 1

#: The most printed lines of a kind; the rest is in the store.
_MOST_LINES = 40
_MOST_WARNINGS = 5


def declare_run(parser: Parser) -> None:
    """Declare the arguments of `pifolab study run`."""
    parser.description = "Runs everything that the store does not have yet. After a kill the same command continues."
    _declare_study(parser)
    parser.add_argument(
        "--until-ci", metavar="P%", help="add seeds until the 95 %% interval of each metric is +-P %% of its mean"
    )
    parser.add_argument(
        "--max-seeds", type=positive_up_to(100_000), metavar="N", help="with --until-ci: at most; default 100"
    )
    parser.add_argument(
        "--run", action="append", dest="keys", metavar="KEY", help="only the run whose key begins so; may be repeated"
    )
    parser.add_argument("--log-json", metavar="FILE", help="append an event per line; - for standard output")
    engines = parser.add_mutually_exclusive_group()
    engines.add_argument("--dask", metavar="tcp://HOST:8786", help="run on the workers of this Dask scheduler")
    engines.add_argument("--slurm", action="store_true", help="start Dask workers as SLURM jobs and run on them")
    parser.add_argument(
        "--slurm-jobs",
        type=positive_up_to(MOST_WORKERS),
        metavar="N",
        help="with --slurm: the number of jobs; default 2",
    )
    add_json(parser, "means, ratios and counts")
    parser.set_defaults(run=run_study)


def declare_new(parser: Parser) -> None:
    """Declare the arguments of `pifolab study new`."""
    parser.description = (
        "Writes the folder of a paper that runs: a scheduler of two queues, an oracle, a conformance vector, a "
        "scenario and three claims. `pifolab reproduce FOLDER` judges it."
    )
    parser.add_argument(
        "--paper", type=Path, required=True, metavar="FOLDER", help="a new or empty folder; its name is the paper's"
    )
    parser.add_argument("--c", action="store_true", help="the scheduler in C, for a shared library, instead of Python")
    parser.set_defaults(run=run_new)


def run_new(arguments: argparse.Namespace) -> int:
    """Write the skeleton of a paper."""
    from pifolab_papers.outside import write_skeleton

    folder: Path = arguments.paper
    for file in write_skeleton(folder, in_c=arguments.c):
        print(shown(str(file)))
    if arguments.c:
        name = folder.absolute().name.replace("-", "_")
        print(f"build it: cc -O2 -shared -fPIC -o {shown(str(folder / name))}.so {shown(str(folder / name))}.c")
    print(f"judge it: pifolab reproduce {'' if folder.is_absolute() else './'}{shown(str(folder))} --quick")
    return 0


def declare_plan(parser: Parser) -> None:
    """Declare the arguments of `pifolab study plan`."""
    parser.description = "Lists the runs, estimates time and memory, and runs nothing."
    _declare_study(parser)
    add_json(parser, "the runs")
    parser.set_defaults(run=run_plan)


def _declare_study(parser: Parser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a TOML file, or a study of the package")
    parser.add_argument("--store", type=Path, default=DEFAULT_STORE, metavar="DIR", help=f"default {DEFAULT_STORE}")
    parser.add_argument(
        "--with", type=Path, action="append", default=[], dest="papers", metavar="FOLDER",
        help="also the schedulers that the paper in this folder lists for the scorecard; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--workers", type=positive_up_to(MOST_WORKERS), metavar="N", help="processes; default: one per processor"
    )


def run_study(arguments: argparse.Namespace) -> int:
    """Run a study."""
    from pifolab.sweep import Sweep

    until = _until(arguments)
    cluster = arguments.dask is not None or arguments.slurm
    if arguments.workers and cluster:
        raise InputError("--workers has no effect with --dask or --slurm: the cluster decides; remove it")
    if arguments.slurm_jobs and not arguments.slurm:
        raise InputError("--slurm-jobs has no effect without --slurm: remove it")
    return _run(_with_papers(Sweep.from_toml(experiment(arguments.file)), arguments.papers), arguments, until)


def _with_papers(sweep: Sweep, folders: Sequence[Path]) -> Sweep:
    """Return the study with the schedulers of these papers in each of its scenarios."""
    if not folders:
        return sweep
    from pifolab_papers.outside import FILE, scorecard_of

    named, added = sweep.custom.named, ""
    for folder in folders:
        custom, schedulers = scorecard_of(folder)
        for kind, own in named.items():
            for name, target in custom.named[kind].items():
                if own.get(name, target) != target:
                    other = ":".join(filter(None, own[name]))
                    raise InputError(f"{folder / FILE}: {kind}: {name}: expected another name: it is {other} here")
        named = {kind: {**own, **custom.named[kind]} for kind, own in named.items()}
        for scheduler in schedulers:
            added += "\n[[scheduler]]\n" + "".join(f"{key} = {to_toml(value)}\n" for key, value in scheduler.items())
    bases = {label: (file, f"{text}{added}") for label, (file, text) in sweep.bases.items()}
    return replace(sweep, bases=bases, custom=replace(sweep.custom, named=named))


def _run(sweep: Sweep, arguments: argparse.Namespace, until: UntilTight | None) -> int:
    from pifolab.store import Store, StoreFullError
    from pifolab.sweep import make_plan, run_sweep
    from pifolab.sweep.results import groups_frame
    from pifolab.sweep.watch import JsonLines, Watcher

    # An error in the sweep must not leave an empty store behind.
    make_plan(sweep)
    for place in sweep.custom.environment_reads():
        text = "reads environment variables, which no key of a run covers: a change of them does not repeat a run"
        print(f"pifolab: warning: {shown(place)}: {text}", file=sys.stderr)
    log = JsonLines(arguments.log_json) if arguments.log_json else None
    try:
        with Watcher() as watcher:

            def tell(event: Mapping[str, Any]) -> None:
                if log is not None:
                    log(event)
                watcher(event)

            try:
                # Nor must a cluster that does not answer.
                engine = _engine(arguments)
                store = Store(arguments.store)
                result = run_sweep(
                    sweep, store, arguments.workers, tell, engine=engine, until=until, only=arguments.keys
                )
            except StoreFullError as error:
                tell({"event": "stopped", "reason": str(error)})
                print(f"pifolab study: {shown(str(error))}", file=sys.stderr)
                return FAILED
            except (KeyboardInterrupt, TerminatedError) as stop:
                how = "interrupted" if isinstance(stop, KeyboardInterrupt) else "terminated"
                tell({"event": "stopped", "reason": how})
                text = f"{how}; finished runs are kept, and the same command continues from there"
                sys.stderr.write(f"pifolab study: {text}\n")
                return INTERRUPTED if isinstance(stop, KeyboardInterrupt) else TERMINATED
            tell(_end(result))
        if arguments.json:
            print_json({**_end(result), "statistics": groups_frame(result.groups).to_dicts()})
        elif arguments.log_json != "-":
            show_result(result, sys.stdout)
        _show_failures(result)
        return FAILED if result.failures else 0
    finally:
        if log is not None:
            log.close()


def _end(result: SweepResult) -> dict[str, Any]:
    failed = len(result.failures)
    ran = result.runs.height - failed - result.reused
    return {
        "event": "end",
        "runs": result.runs.height,
        "ran": ran,
        "reused": result.reused,
        "failed": failed,
        "wall_s": round(result.wall_s, 3),
        "busy_s": round(result.busy_s, 3),
    }


def show_result(result: SweepResult, out: Any) -> None:
    """Print statistics, comparisons, warnings and a last line."""
    from pifolab.sweep.report import print_comparisons, print_left_out, print_statistics, print_warnings

    if result.runs.height > len(result.failures):
        if result.sweep.metrics:
            print_statistics(result.groups, [metric.name for metric in result.sweep.metrics], out, _MOST_LINES)
        print_comparisons(result.compared, out)
        print_warnings(result.groups, out, _MOST_WARNINGS)
    print_left_out(result.left_out, result.runs.height, out)
    end = _end(result)
    parts = [f"{end['ran']} run in {duration_text(result.wall_s)}"]
    parts += [f"{end['reused']} were there"] * bool(end["reused"]) + [f"{end['failed']} failed"] * bool(end["failed"])
    print(f"{end['runs']} runs: {', '.join(parts)}; store {result.store.path}, study {result.sweep.name}", file=out)


def _show_failures(result: SweepResult) -> None:
    if not result.failures:
        return
    print(f"\npifolab study: {len(result.failures)} of {result.runs.height} runs failed:", file=sys.stderr)
    for failure in result.failures:
        print(f"  {shown(failure.name)}: {shown(failure.reason)}\n    again: {shown(failure.command)}", file=sys.stderr)


def run_plan(arguments: argparse.Namespace) -> int:
    """List the runs, and estimate their time and memory."""
    from pifolab.store import Store
    from pifolab.sweep import Sweep, make_plan
    from pifolab.sweep.estimate import estimate

    sweep = _with_papers(Sweep.from_toml(experiment(arguments.file)), arguments.papers)
    plan = make_plan(sweep)
    store: Store | None = Store(arguments.store, create=False) if arguments.store.exists() else None
    runs = plan.runs()
    workers = arguments.workers or os.cpu_count() or 1
    problems = [store.problem(run.key, sweep.tables) if store else "absent" for run in runs]
    places = [at % len(plan.settings) for at in range(len(runs))]
    missing = [place for place, problem in zip(places, problems, strict=True) if problem is not None]
    estimated = estimate(plan, store, missing, workers)
    axes = [axis.name for axis in sweep.axes]
    rows = []
    for run, place, problem in zip(runs, places, problems, strict=True):
        state = {None: "finished", "absent": "to run"}.get(problem, f"again: {problem}")
        seconds = estimated.run_s[place]
        time_text = "-" if problem is None or seconds is None else f"{seconds:.2f}"
        rows.append([run.key[:12], run.seed, *(run.setting.labels[axis] for axis in axes), state, time_text])
    headings = ["run", "seed", *axes, "state", "about s"]
    if arguments.json:
        print_json(
            {
                "runs": [dict(zip(headings, row, strict=True)) for row in rows],
                "to_run": len(missing),
                "wall_s": estimated.wall_s,
                "memory_bytes": estimated.memory_bytes,
            }
        )
        return 0
    print_rows(headings, rows)
    print(f"\n{len(runs)} runs, {len(runs) - len(missing)} of them finished, {len(missing)} to run")
    if estimated.wall_s is not None:
        print(f"time: about {duration_text(estimated.wall_s)} with {workers} workers ({shown(estimated.source)})")
    else:
        print(f"time: unknown, because the length of a run is unknown ({shown(estimated.source)})")
    if estimated.memory_bytes is not None:
        print(f"memory: about {estimated.memory_bytes / 2**20:.0f} MiB")
    return 0


def _until(arguments: argparse.Namespace) -> UntilTight | None:
    from pifolab.sweep import UntilTight

    if arguments.until_ci is None:
        if arguments.max_seeds:
            raise InputError("--max-seeds has no effect without --until-ci: remove it")
        return None
    text = arguments.until_ci.strip()
    try:
        relative = float(text[:-1]) / 100 if text.endswith("%") else None
    except ValueError:
        relative = None
    if relative is None or not 0 < relative < 1:
        raise InputError(f"--until-ci {arguments.until_ci}: expected a percentage between 0% and 100%, such as 2%")
    return UntilTight(relative, arguments.max_seeds or 100)


def _engine(arguments: argparse.Namespace) -> Callable[[Store], Engine] | None:
    if arguments.dask is not None:
        from pifolab.sweep.cluster import dask_engine

        return dask_engine(arguments.dask)
    if arguments.slurm:
        from pifolab.sweep.cluster import slurm_engine

        return slurm_engine(arguments.slurm_jobs or 2)
    return None
