"""`pifolab study show`, `export`, `report`, `check`, `prune`: the contents of a store of runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pifolab import _pifolab
from pifolab.cli.figure_options import add_figure_options, chosen_schedulers, figure_choice, labels
from pifolab.cli.options import add_force, add_json, add_quiet
from pifolab.cli.output import print_json
from pifolab.cli.parser import Parser, pair_of
from pifolab.cli.rows import print_rows
from pifolab.errors import InputError
from pifolab.export import check_ending, write_table
from pifolab.folder import check_absent
from pifolab.lazy import pl
from pifolab.provenance import code_version
from pifolab.text import shown

if TYPE_CHECKING:
    from pifolab.store import Store
    from pifolab.sweep.results import Group, LeftOut, SweepResult

FAILED = 1

DEFAULT_STORE = Path("out/store")

#: Options of a table in LaTeX.
_OF_LATEX = ("caption", "reference", "bold")

#: The columns of the list of runs from their records.
_RECORD = ("code", "started", "elapsed_s", "host", "bytes")

#: The most printed warnings of a kind.
_MOST_WARNINGS = 10


def declare_show(parser: Parser) -> None:
    """Declare the arguments of `pifolab study show`."""
    parser.description = "Prints means and ratios with intervals; of several studies, or with --runs, the runs."
    _declare_selection(parser)
    parser.add_argument("--runs", action="store_true", help="the finished runs instead of means")
    _declare_metrics(parser)
    parser.add_argument("--draw", metavar="A,B,...", help="only these schedulers, in this order")
    add_json(parser)
    parser.set_defaults(run=run_show)


def declare_export(parser: Parser) -> None:
    """Declare the arguments of `pifolab study export`."""
    parser.description = "Writes the means with their intervals, a table of all runs, or a figure for each metric."
    _declare_selection(parser)
    _declare_out(parser, "FILE", "FILE.csv, FILE.parquet, FILE.tex or FILE.md; with --figures a folder")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--table", metavar="NAME", help="this table of each run, such as schedulers, instead of means")
    kinds.add_argument("--figures", action="store_true", help="draw each metric, with bands for the intervals")
    parser.add_argument("--ratios", action="store_true", help="the study's ratios and claims instead of its metrics")
    _declare_metrics(parser)
    _declare_figures(parser, "with --figures: ")
    parser.add_argument("--caption", metavar="TEXT", help="of a table in LaTeX")
    parser.add_argument("--reference", metavar="KEY", help="the key of a table in LaTeX, such as tab:drops")
    parser.add_argument(
        "--bold",
        action="append",
        metavar="METRIC=lowest|highest",
        help="of a table in LaTeX: the best scheduler of a combination is bold where no other's interval overlaps",
    )
    add_quiet(parser)
    parser.set_defaults(run=run_export)


def declare_report(parser: Parser) -> None:
    """Declare the arguments of `pifolab study report`."""
    parser.description = "Writes one HTML page: means, figures, ratios, conclusions."
    _declare_selection(parser)
    _declare_out(parser, "DIR", "the folder of the report")
    add_force(parser)
    _declare_metrics(parser)
    _declare_figures(parser, "")
    add_quiet(parser)
    parser.set_defaults(run=run_report)


def declare_check(parser: Parser) -> None:
    """Declare the arguments of `pifolab study check`."""
    parser.description = "Compares every file of every run with its digest. Exit status: 1 if any is damaged."
    _declare_store(parser)
    add_json(parser, "the faults")
    parser.set_defaults(run=run_check)


def declare_prune(parser: Parser) -> None:
    """Declare the arguments of `pifolab study prune`."""
    parser.description = "Lists the runs that are damaged or chosen, and with --yes removes them."
    _declare_selection(parser)
    parser.add_argument("--other-code", action="store_true", help="also runs of other versions of the code")
    parser.add_argument("--yes", action="store_true", help="remove instead of listing")
    add_json(parser, "the runs")
    parser.set_defaults(run=run_prune)


def _declare_store(parser: Parser) -> None:
    parser.add_argument(
        "store", type=Path, nargs="?", default=DEFAULT_STORE, metavar="STORE", help=f"default {DEFAULT_STORE}"
    )


def _declare_selection(parser: Parser) -> None:
    _declare_store(parser)
    parser.add_argument("--study", metavar="NAME", help="the runs of this study, with its axes; default: the only one")
    parser.add_argument(
        "--where", metavar="SQL", help='only runs for which this holds, such as "window = 15 AND seed <= 3"'
    )


def _declare_metrics(parser: Parser) -> None:
    parser.add_argument("--metric", action="append", metavar="NAME", help="only this metric or column; may be repeated")


def _declare_out(parser: Parser, metavar: str, text: str) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar=metavar, help=text)


def _declare_figures(parser: Parser, about: str) -> None:
    add_figure_options(
        parser,
        drawn="only these schedulers, in this order",
        label="what to call a scheduler, a metric or an axis; may be repeated",
        about=about,
    )
    parser.add_argument("--x", metavar="AXIS", help=f"{about}what lies on the horizontal axis")
    parser.add_argument("--panel", metavar="AXIS", help=f"{about}a panel for each of its values")


class _Chosen(NamedTuple):
    """The subject of an action: a store, one of its studies or all, and the usable runs with their records."""

    store: Store
    name: str | None
    runs: pl.DataFrame
    left_out: list[LeftOut]

    def listed(self) -> pl.DataFrame:
        """Return all runs of the study, finished or not."""
        return self.store.sweep_runs(self.study())

    def study(self) -> str:
        """Return the study, of which there must be exactly one."""
        if self.name is None:
            known = ", ".join(self.store.sweeps()) or "there is none"
            raise InputError(f"{self.store.path}: choose a study with --study: {known}")
        return self.name

    def result(self, metrics: Sequence[str] | None) -> SweepResult:
        """Return the results of the study, for its own metrics with its ratios and claims, or only for `metrics`."""
        from pifolab.statistics import Metric
        from pifolab.sweep.results import SweepResult
        from pifolab.sweep.stored import stored_notes

        notes = stored_notes(self.store, self.study())
        if metrics is not None:
            known = {one.name: one for one in notes.metrics}
            read = [known.get(name) or Metric.read(name, f"--metric {name}") for name in metrics]
            notes = replace(notes, metrics=read, comparisons=[], claims=[])
        if not notes.metrics:
            problem = "has no metrics; choose some with --metric, or see its runs with --runs"
            raise InputError(f"study {notes.name}: {problem}")
        return SweepResult(self.store, notes, self.runs.drop(_RECORD))


def _opened(arguments: argparse.Namespace) -> _Chosen:
    """Return the store, the chosen or only study, and its usable runs."""
    from pifolab.store import Store

    store = Store(arguments.store, create=False)
    name = _study_name(store, arguments.study)
    runs, left = _runs(store, name)
    return _Chosen(store, name, _filtered(runs, arguments.where), left)


def _groups(result: SweepResult, drawn: str | None) -> list[Group]:
    """Return the means, or those of the schedulers of ``--draw`` in their order."""
    if drawn is None:
        return result.groups
    names = chosen_schedulers(drawn, list(dict.fromkeys(str(group.scheduler) for group in result.groups)))
    metrics = list(dict.fromkeys(group.metric for group in result.groups))
    chosen = [group for group in result.groups if group.scheduler in names]
    return sorted(chosen, key=lambda group: (metrics.index(group.metric), names.index(str(group.scheduler))))


def run_show(arguments: argparse.Namespace) -> int:
    """Print means and ratios, or the runs."""
    for flag in ("metric", "draw"):
        if arguments.runs and getattr(arguments, flag):
            raise InputError(f"--{flag} has no effect with --runs: remove it")
    chosen = _opened(arguments)
    if arguments.runs or (chosen.name is None and not arguments.metric):
        return _list(chosen, arguments)
    return _statistics(chosen, arguments)


def run_export(arguments: argparse.Namespace) -> int:
    """Write a file, or a folder of figures."""
    drawing = ("x_scale", "y_scale", "size", "x", "panel")
    unused = dict.fromkeys(() if arguments.figures else drawing, "without --figures")
    unused |= dict.fromkeys(("metric", "label", *_OF_LATEX) if arguments.table else (), "with --table")
    unused |= dict.fromkeys(_OF_LATEX if arguments.figures else (), "with --figures")
    unused |= dict.fromkeys(("metric", "draw", "bold", "table") if arguments.ratios else (), "with --ratios")
    for flag, why in unused.items():
        if getattr(arguments, flag):
            raise InputError(f"--{flag.replace('_', '-')} has no effect {why}: remove it")
    if not arguments.figures:
        check_ending(arguments.out, "--out ")
    chosen = _opened(arguments)
    if arguments.figures:
        return _figures(chosen, arguments)
    if arguments.table:
        return _export(chosen, arguments)
    from pifolab.sweep.results import write_statistics

    found = _exported(chosen.result(arguments.metric), arguments)
    best = dict(pair_of("--bold", text, "METRIC=lowest or METRIC=highest") for text in arguments.bold or [])
    write_statistics(
        found,
        arguments.out,
        labels(arguments.label),
        best=best,
        caption=arguments.caption,
        reference=arguments.reference,
    )
    print(f"{arguments.out}: {len(found)} {'ratios and claims' if arguments.ratios else 'means'}")
    return 0


def _exported(result: SweepResult, arguments: argparse.Namespace) -> list[Group]:
    """Return the means, or with ``--ratios`` the ratios and claims, of which there have to be some."""
    if not arguments.ratios:
        return _groups(result, arguments.draw)
    if not result.ratios:
        raise InputError(
            f"--ratios: study {result.sweep.name} has no ratio or claim with a value: expected [[compare]] or "
            "[[claim]] whose runs are all chosen"
        )
    return result.ratios


def _study_name(store: Store, asked: str | None) -> str | None:
    if asked is not None:
        store.sweep(asked)
        return asked
    names = store.sweeps()
    return names[0] if len(names) == 1 else None


def _runs(store: Store, name: str | None) -> tuple[pl.DataFrame, list[LeftOut]]:
    """Return the runs that can be used (run, seed, axes of the sweep, values of their records), and the others.

    Reads every file of each run; names the damaged runs on standard error.
    """
    from pifolab.sweep.results import usable

    listed = pl.DataFrame({"run": pl.Series(store.keys(), dtype=pl.String)}) if name is None else store.sweep_runs(name)
    good, left = usable(store, listed)
    damaged = [one for one in left if one.reason != "not finished"]
    for one in damaged[:_MOST_WARNINGS]:
        place = shown(str(store.run_folder(one.run)))
        print(f"pifolab study: {place}: {shown(one.reason)}: the run is left out", file=sys.stderr)
    if len(damaged) > _MOST_WARNINGS:
        print(f"pifolab study: {len(damaged) - _MOST_WARNINGS} more damaged runs are left out", file=sys.stderr)
    rows = []
    for key in good["run"]:
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
    if name is None:
        return frame, left
    return listed.join(frame.drop("name"), on="run", how="inner", maintain_order="left"), left


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


def _list(chosen: _Chosen, arguments: argparse.Namespace) -> int:
    store, name, runs, _ = chosen
    if arguments.json:
        print_json(runs.to_dicts())
        return 0
    columns = [column for column in runs.columns if column not in ("code", "host")]
    rows = [[value[:12] if at == 0 else value for at, value in enumerate(row)] for row in runs.select(columns).rows()]
    print_rows(columns, rows)
    about = f"{runs.height} finished runs"
    if name is not None:
        about += f" of {chosen.listed().height} in study {name}"
    elif store.sweeps():
        about += f"; studies: {', '.join(store.sweeps())} (--study NAME shows axes)"
    print(f"\n{about}")
    return 0


def _export(chosen: _Chosen, arguments: argparse.Namespace) -> int:
    from pifolab.sweep.results import joined_table

    store, runs = chosen.store, chosen.runs
    file: Path = arguments.out
    if runs.is_empty():
        raise InputError(f"{store.path}: no run to export")
    keyed = runs.drop("name", *_RECORD, strict=False)
    name = arguments.table
    table = joined_table(store, name, keyed)
    without = [key for key in keyed["run"] if name not in store.tables(key)]
    if arguments.draw is not None:
        if "scheduler" not in table.columns:
            raise InputError(f"--draw: the table {name} has no column scheduler")
        known = table["scheduler"].unique(maintain_order=True).to_list()
        table = table.filter(pl.col("scheduler").is_in(chosen_schedulers(arguments.draw, known)))
    write_table(table, file)
    print(f"{file}: {table.height} rows of {table.width} columns")
    if without:
        print(f"{len(without)} of {keyed.height} runs are left out: their sweeps did not keep the table {name}")
    return 0


def _statistics(chosen: _Chosen, arguments: argparse.Namespace) -> int:
    from pifolab.sweep.report import print_comparisons, print_left_out, print_statistics, print_warnings
    from pifolab.sweep.results import groups_frame

    result = chosen.result(arguments.metric)
    found = _groups(result, arguments.draw)
    if arguments.json:
        print_json(groups_frame(found).to_dicts())
        return 0
    print_statistics(found, [metric.name for metric in result.sweep.metrics], sys.stdout)
    if arguments.draw is None:
        print_comparisons(result.compared, sys.stdout)
    print_warnings(found, sys.stdout, _MOST_WARNINGS)
    print_left_out(chosen.left_out, chosen.listed().height, sys.stdout)
    return 0


def _figures(chosen: _Chosen, arguments: argparse.Namespace) -> int:
    from pifolab.figures.style import save
    from pifolab.sweep.figure import draw_metrics, figure_name

    result, choice = chosen.result(arguments.metric), figure_choice(arguments)
    groups = _exported(result, arguments)
    figures = draw_metrics(groups, arguments.x, arguments.panel, choice, result.sweep.figures)
    folder: Path = arguments.out
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for metric, figure in figures.items():
            for file in save(figure, folder / f"{chosen.name}-{figure_name(metric)}"):
                print(file)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written: {error.strerror}") from None
    of = chosen.listed().height
    if arguments.where is None and chosen.runs.height < of:
        print(f"{chosen.runs.height} of {of} runs are finished")
    return 0


def run_check(arguments: argparse.Namespace) -> int:
    """Check every file of every run."""
    from pifolab.store import Store

    store = Store(arguments.store, create=False)
    found = list(store.problems())
    for path, problem in found:
        print(f"{path}: {problem}")
    left = len(list(store.leftovers()))
    if left:
        print(f"{store.path / 'partial'}: {left} runs that were never finished; study prune removes them")
    runs = store.path / "runs"
    damaged = sum(path.parent == runs for path, _ in found)
    others = len(found) - damaged
    print(f"{len(store.keys())} runs, {damaged} damaged" + (f"; {others} other faults" if others else ""))
    if arguments.json:
        print_json(
            {"runs": len(store.keys()), "damaged": damaged, "faults": [[str(path), said] for path, said in found]}
        )
    return FAILED if found else 0


def run_prune(arguments: argparse.Namespace) -> int:
    """List or remove runs."""
    from pifolab.store import Store

    store = Store(arguments.store, create=False)
    keys = store.keys()
    reasons = {key: problem for key in keys if (problem := store.problem(key)) is not None}
    strays = [(key, stray) for key in keys if key not in reasons for stray in store.strays(key)]
    runs, _ = _runs(store, _study_name(store, arguments.study))
    if arguments.where is not None or arguments.study is not None:
        reasons |= {key: "chosen" for key in _filtered(runs, arguments.where)["run"] if key not in reasons}
    if arguments.other_code:
        everything, _ = _runs(store, None)
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
                print(f"{store.run_folder(key)}: a study is busy with it; not removed")
                continue
            with lock:
                store.remove(key)
                removed += 1
        for path, problem in store.foreign():
            print(f"{path}: {problem}")
    if arguments.json:
        print_json({"runs": reasons, "unfinished": left, "removed": removed})
    unfinished = f" and {left} unfinished ones" if left else ""
    if arguments.yes:
        print(f"{removed} runs{unfinished} removed")
    else:
        print(f"{len(reasons)} runs{unfinished} would be removed; --yes removes them")
    return 0


def run_report(arguments: argparse.Namespace) -> int:
    """Write the report."""
    from pifolab.sweep.page import write_sweep_report
    from pifolab.sweep.stored import stored_notes

    check_absent(arguments.out, force=arguments.force, flag="--out")
    chosen = _opened(arguments)
    choice, result, listed = figure_choice(arguments), chosen.result(arguments.metric), chosen.listed()
    groups, notes = _groups(result, arguments.draw), stored_notes(chosen.store, chosen.study())
    setup = [f"scenario {notes.scenario}" if notes.scenario else f"study {notes.name}"]
    setup += [f"{axis}: {', '.join(map(str, labels))}" for axis, labels in notes.axes.items()]
    seeds = chosen.runs["seed"].n_unique()
    setup.append(f"{chosen.runs.height} finished runs of {listed.height}, {seeds} seeds")
    setup += [f"only runs for which {arguments.where}"] if arguments.where else []
    file = write_sweep_report(
        arguments.out,
        notes.title or notes.name,
        setup,
        groups,
        result.compared if arguments.draw is None else [],
        chosen.left_out,
        x=arguments.x,
        panel=arguments.panel,
        choice=choice,
        drawings=notes.figures,
        force=arguments.force,
    )
    print(f"report: {file}")
    return 0
