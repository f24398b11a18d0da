"""`pifolab results`: what a store of runs has: lists, filters, exports, statistics, figures, verifies, prunes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pifolab import _pifolab
from pifolab.cli.figure_options import add_figure_options, chosen_schedulers, figure_choice, labels
from pifolab.cli.parser import Parser
from pifolab.cli.rows import print_rows
from pifolab.errors import InputError
from pifolab.export import check_ending, write_table
from pifolab.folder import check_absent
from pifolab.lazy import pl
from pifolab.provenance import code_version
from pifolab.text import shown

if TYPE_CHECKING:
    from pifolab.statistics import Metric
    from pifolab.store import Store
    from pifolab.sweep.results import Compared, Group

__all__ = ["add_to"]

FAILED = 1

#: So many warnings of a kind are printed.
_MOST_WARNINGS = 10


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the command."""
    results = commands.add_parser(
        "results",
        help="what a store of runs has: list, filter, export, statistics, figures, verify, prune",
        description="Lists the finished runs, unless another action is asked for.",
        epilog="docs/results.md describes the store, and how to query it with DuckDB or polars.",
    )
    results.add_argument("store", type=Path, metavar="STORE", help="the folder that pifolab sweep --store wrote")
    results.add_argument("--sweep", metavar="NAME", help="the runs of this sweep, with its axes; default: the only one")
    results.add_argument(
        "--where", metavar="SQL", help='only runs for which this holds, such as "window = 15 AND seed <= 3"'
    )
    actions = results.add_mutually_exclusive_group()
    actions.add_argument("--statistics", action="store_true", help="means and ratios with intervals")
    actions.add_argument("--figures", type=Path, metavar="DIR", help="draw each metric, with bands for the intervals")
    actions.add_argument(
        "--report", type=Path, metavar="DIR", help="write a report: means, figures, ratios, conclusions"
    )
    actions.add_argument("--verify", action="store_true", help="check every file of every run")
    actions.add_argument("--prune", action="store_true", help="remove runs that are damaged or chosen by --where")
    results.add_argument(
        "--export",
        type=Path,
        metavar="FILE",
        help="write a table, or with --statistics the means, to FILE.csv, FILE.parquet, FILE.tex or FILE.md",
    )
    results.add_argument("--table", metavar="NAME", help="with --export: which; default schedulers")
    results.add_argument(
        "--metric",
        action="append",
        metavar="NAME",
        help="with --statistics, --figures, --report: this one only, also any column; may be repeated",
    )
    add_figure_options(
        results,
        schedulers="with --statistics, --figures, --report, --export: only these, in this order",
        label="with --statistics --export, --figures, --report: what to call a scheduler or a metric; may be repeated",
        about="with --figures, --report: ",
    )
    results.add_argument("--x", metavar="AXIS", help="with --figures, --report: what lies on the horizontal axis")
    results.add_argument("--panel", metavar="AXIS", help="with --figures, --report: a panel for each of its values")
    results.add_argument("--force", action="store_true", help="with --report: replace the folder, if pifolab wrote it")
    results.add_argument("--other-code", action="store_true", help="with --prune: also runs of other code versions")
    results.add_argument("--yes", action="store_true", help="with --prune: remove instead of listing")
    results.set_defaults(run=run_results)


def run_results(arguments: argparse.Namespace) -> int:
    """Do what was asked for."""
    from pifolab.store import Store

    _check_flags(arguments)
    store = Store(arguments.store, create=False)
    if arguments.verify:
        return _verify(store)
    if arguments.prune:
        return _prune(store, arguments)
    name = _sweep_name(store, arguments.sweep)
    runs = _filtered(_runs(store, name), arguments.where)
    if arguments.export is not None and not arguments.statistics:
        return _export(store, runs, arguments)
    if arguments.statistics:
        return _statistics(store, name, runs, arguments)
    if arguments.figures is not None:
        return _figures(store, name, runs, arguments)
    if arguments.report is not None:
        return _report(store, name, runs, arguments)
    return _list(store, name, runs)


_ACTION_OF = {
    "table": ("export",),
    "metric": ("statistics", "figures", "report"),
    "schedulers": ("statistics", "figures", "report", "export"),
    "label": ("figures", "report", "export"),
    "x_scale": ("figures", "report"),
    "y_scale": ("figures", "report"),
    "size": ("figures", "report"),
    "x": ("figures", "report"),
    "panel": ("figures", "report"),
    "force": ("report",),
    "other_code": ("prune",),
    "yes": ("prune",),
}


def _check_flags(arguments: argparse.Namespace) -> None:
    for flag, actions in _ACTION_OF.items():
        if getattr(arguments, flag) and not any(getattr(arguments, action) for action in actions):
            needed = " or ".join(f"--{action}" for action in actions)
            raise InputError(f"--{flag.replace('_', '-')} has no effect without {needed}: remove it")
    if arguments.export is not None:
        for action in ("figures", "report", "verify", "prune"):
            if getattr(arguments, action):
                raise InputError(f"--export conflicts with --{action}: give one of the two")
        if arguments.statistics and arguments.table:
            raise InputError("--table conflicts with --statistics: give one of the two")
        if arguments.label and not arguments.statistics:
            raise InputError("--label has no effect on a table: add --statistics, or remove it")
    if arguments.verify:
        for flag in ("where", "sweep"):
            if getattr(arguments, flag):
                raise InputError(f"--{flag} has no effect with --verify, which checks all: remove it")


def _sweep_name(store: Store, asked: str | None) -> str | None:
    if asked is not None:
        store.sweep(asked)
        return asked
    names = store.sweeps()
    return names[0] if len(names) == 1 else None


def _runs(store: Store, name: str | None) -> pl.DataFrame:
    """Return the runs that can be used: run, seed, axes of the sweep, and what their records say.

    Every file of each is read; runs that are damaged are named on standard error, and left out.
    """
    listed = None if name is None else store.sweep_runs(name)
    good, bad = store.sound(store.keys() if listed is None else listed["run"])
    damaged = {key: problem for key, problem in bad.items() if problem != "absent"}
    for key, problem in list(damaged.items())[:_MOST_WARNINGS]:
        print(
            f"pifolab results: {shown(str(store.run_folder(key)))}: {shown(problem)}: the run is left out",
            file=sys.stderr,
        )
    if len(damaged) > _MOST_WARNINGS:
        print(f"pifolab results: {len(damaged) - _MOST_WARNINGS} more damaged runs are left out", file=sys.stderr)
    rows = []
    for key in good:
        record = store.record(key)
        rows.append({
            "run": key,
            "name": record.get("name"),
            "code": record.get("code"),
            "started": record.get("started"),
            "elapsed_s": record.get("elapsed_s"),
            "host": record.get("host"),
            "bytes": store.size(key),
        })  # fmt: skip
    kinds = {"run": pl.String, "name": pl.String, "code": pl.String, "started": pl.String, "elapsed_s": pl.Float64}
    frame = pl.DataFrame(rows, schema=kinds | {"host": pl.String, "bytes": pl.Int64})
    if listed is None:
        return frame
    return listed.join(frame.drop("name"), on="run", how="inner", maintain_order="left")


def _filtered(runs: pl.DataFrame, where: str | None) -> pl.DataFrame:
    if where is None:
        return runs
    try:
        return runs.filter(pl.sql_expr(where))
    except pl.exceptions.ColumnNotFoundError:
        unknown = [column for column in pl.sql_expr(where).meta.root_names() if column not in runs.columns]
        problem = _pifolab.unknown_name("column", unknown[0], runs.columns) if unknown else "a column is unknown"
        raise InputError(f"--where {where!r}: {problem}") from None
    except pl.exceptions.PolarsError as error:
        raise InputError(f"--where {where!r}: {str(error).strip().splitlines()[0]}") from None


def _list(store: Store, name: str | None, runs: pl.DataFrame) -> int:
    columns = [column for column in runs.columns if column not in ("code", "host")]
    rows = [[value[:12] if at == 0 else value for at, value in enumerate(row)] for row in runs.select(columns).rows()]
    print_rows(columns, rows)
    about = f"{runs.height} finished runs"
    if name is not None:
        about += f" of {store.sweep_runs(name).height} in sweep {name}"
    elif store.sweeps():
        about += f"; sweeps: {', '.join(store.sweeps())} (--sweep NAME shows axes)"
    print(f"\n{about}")
    return 0


def _export(store: Store, runs: pl.DataFrame, arguments: argparse.Namespace) -> int:
    from pifolab.sweep.results import joined_table

    file: Path = arguments.export
    check_ending(file, "--export ")
    if runs.is_empty():
        raise InputError(f"{store.path}: no run to export")
    record_columns = [column for column in ("name", "code", "started", "elapsed_s", "host", "bytes") if column in runs]
    keyed = runs.drop(record_columns)
    name = arguments.table or "schedulers"
    table = joined_table(store, name, keyed)
    without = [key for key in keyed["run"] if name not in store.tables(key)]
    if arguments.schedulers is not None:
        if "scheduler" not in table.columns:
            raise InputError(f"--schedulers: the table {name} has no column scheduler")
        known = table["scheduler"].unique(maintain_order=True).to_list()
        table = table.filter(pl.col("scheduler").is_in(chosen_schedulers(arguments.schedulers, known)))
    write_table(table, file)
    print(f"{file}: {table.height} rows of {table.width} columns")
    if without:
        print(f"{len(without)} of {keyed.height} runs are left out: their sweeps did not keep the table {name}")
    return 0


def _statistics(store: Store, name: str | None, runs: pl.DataFrame, arguments: argparse.Namespace) -> int:
    from pifolab.sweep.report import print_comparisons, print_left_out, print_statistics, print_warnings
    from pifolab.sweep.results import usable, write_statistics

    if arguments.export is not None:
        check_ending(arguments.export, "--export ")
    found = _groups(store, name, runs, arguments)
    if arguments.export is not None:
        write_statistics(found, arguments.export, labels(arguments.label))
        print(f"{arguments.export}: {len(found)} means")
        return 0
    print_statistics(found, [metric.name for metric in _metrics(store, name, arguments)], sys.stdout)
    if arguments.metric is None and arguments.schedulers is None:
        print_comparisons(_ratios(store, _named(store, name), runs), sys.stdout)
    print_warnings(found, sys.stdout, _MOST_WARNINGS)
    # A condition on what records say, such as elapsed_s, cannot be asked of runs that have none.
    listed = store.sweep_runs(_named(store, name))
    print_left_out(usable(store, listed)[1], listed.height, sys.stdout)
    return 0


def _figures(store: Store, name: str | None, runs: pl.DataFrame, arguments: argparse.Namespace) -> int:
    from pifolab.figures.style import save
    from pifolab.sweep.figure import draw_metrics, figure_name

    choice = figure_choice(arguments)
    figures = draw_metrics(_groups(store, name, runs, arguments), arguments.x, arguments.panel, choice)
    folder: Path = arguments.figures
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for metric, figure in figures.items():
            for file in save(figure, folder / f"{name}-{figure_name(metric)}"):
                print(file)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written: {error.strerror}") from None
    of = store.sweep_runs(_named(store, name)).height
    if arguments.where is None and runs.height < of:
        print(f"{runs.height} of {of} runs are finished")
    return 0


def _report(store: Store, name: str | None, runs: pl.DataFrame, arguments: argparse.Namespace) -> int:
    from pifolab.sweep.page import write_sweep_report
    from pifolab.sweep.results import usable
    from pifolab.sweep.stored import stored_notes

    check_absent(arguments.report, force=arguments.force, flag="--report")
    choice = figure_choice(arguments)
    found = _groups(store, name, runs, arguments)
    named = _named(store, name)
    listed = store.sweep_runs(named)
    file = write_sweep_report(
        arguments.report,
        stored_notes(store, named).title or named,
        _setup(store, named, runs, arguments.where),
        found,
        _ratios(store, named, runs) if arguments.metric is None and arguments.schedulers is None else [],
        usable(store, listed)[1],
        x=arguments.x,
        panel=arguments.panel,
        choice=choice,
        force=arguments.force,
    )
    print(f"report: {file}")
    return 0


def _setup(store: Store, name: str, runs: pl.DataFrame, where: str | None) -> list[str]:
    """Return what a sweep ran, in a few lines."""
    from pifolab.sweep.stored import stored_notes

    notes = stored_notes(store, name)
    lines = [f"scenario {notes.scenario}" if notes.scenario else f"sweep {name}"]
    lines += [f"{axis}: {', '.join(map(str, labels))}" for axis, labels in notes.axes.items()]
    seeds = sorted(set(runs["seed"]))
    lines.append(f"{runs.height} finished runs of {store.sweep_runs(name).height}, {len(seeds)} seeds")
    return [*lines, *([f"only runs for which {where}"] if where else [])]


def _ratios(store: Store, name: str, runs: pl.DataFrame) -> list[Compared]:
    from pifolab.sweep.results import compared
    from pifolab.sweep.stored import stored_notes

    index = _index(runs)
    return [one for ratio in stored_notes(store, name).comparisons for one in compared(store, index, ratio)]


def _metrics(store: Store, name: str | None, arguments: argparse.Namespace) -> list[Metric]:
    """Return the metrics that are asked for: those of --metric, or those of the sweep."""
    from pifolab.statistics import Metric
    from pifolab.sweep.stored import stored_notes

    known = stored_notes(store, _named(store, name)).metrics
    if arguments.metric is not None:
        by_name = {one.name: one for one in known}
        known = [by_name.get(metric) or Metric.read(metric, f"--metric {metric}") for metric in arguments.metric]
    if not known:
        raise InputError(f"sweep {name}: has no metrics; choose some with --metric")
    return known


def _groups(store: Store, name: str | None, runs: pl.DataFrame, arguments: argparse.Namespace) -> list[Group]:
    from pifolab.sweep.results import groups

    found = groups(store, _index(runs), _metrics(store, name, arguments))
    if arguments.schedulers is None:
        return found
    names = chosen_schedulers(arguments.schedulers, list(dict.fromkeys(str(group.scheduler) for group in found)))
    metrics = list(dict.fromkeys(group.metric for group in found))
    chosen = [group for group in found if group.scheduler in names]
    return sorted(chosen, key=lambda group: (metrics.index(group.metric), names.index(str(group.scheduler))))


def _index(runs: pl.DataFrame) -> pl.DataFrame:
    return runs.drop("code", "started", "elapsed_s", "host", "bytes")


def _named(store: Store, name: str | None) -> str:
    if name is None:
        raise InputError(f"{store.path}: choose a sweep with --sweep: {', '.join(store.sweeps()) or 'there is none'}")
    return name


def _verify(store: Store) -> int:
    found = list(store.problems())
    for path, problem in found:
        print(f"{path}: {problem}")
    left = len(list(store.leftovers()))
    if left:
        print(f"{store.path / 'partial'}: {left} runs that were never finished; the next sweep or --prune removes them")
    runs = store.path / "runs"
    damaged = sum(path.parent == runs for path, _ in found)
    others = len(found) - damaged
    print(f"{len(store.keys())} runs, {damaged} damaged" + (f"; {others} other faults" if others else ""))
    return FAILED if found else 0


def _prune(store: Store, arguments: argparse.Namespace) -> int:
    keys = store.keys()
    reasons = {key: problem for key in keys if (problem := store.problem(key)) is not None}
    strays = [(key, stray) for key in keys if key not in reasons for stray in store.strays(key)]
    runs = _runs(store, _sweep_name(store, arguments.sweep))
    if arguments.where is not None or arguments.sweep is not None:
        reasons |= {key: "chosen" for key in _filtered(runs, arguments.where)["run"] if key not in reasons}
    if arguments.other_code:
        everything = _runs(store, None)
        others = everything.filter(everything["code"] != code_version())["run"]
        reasons |= {key: "ran with another version of the code" for key in others if key not in reasons}
    left = len(list(store.leftovers()))
    for key, reason in reasons.items():
        print(f"{store.run_folder(key)}: {reason}")
    for key, stray in strays:
        print(f"{store.run_folder(key) / stray}: is not part of the run")
    removed = 0
    if arguments.yes:
        store.clean()
        for key, stray in strays:
            if not store.remove_stray(key, stray):
                print(f"{store.run_folder(key) / stray}: was not written by pifolab, and stays")
        for key in reasons:
            lock = store.try_lock(key)
            if lock is None:
                print(f"{store.run_folder(key)}: a sweep is busy with it; not removed")
                continue
            with lock:
                store.remove(key)
                removed += 1
        for path, problem in store.foreign():
            print(f"{path}: {problem}")
    unfinished = f" and {left} unfinished ones" if left else ""
    if arguments.yes:
        print(f"{removed} runs{unfinished} removed")
    else:
        print(f"{len(reasons)} runs{unfinished} would be removed; --yes removes them")
    return 0
