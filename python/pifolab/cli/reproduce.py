"""`pifolab reproduce`: the figures of five papers again, and a verdict on every claim."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pifolab.cli.options import add_json
from pifolab.cli.output import print_json
from pifolab.cli.parser import Parser, positive_integer
from pifolab.cli.rows import print_rows
from pifolab.cli.signals import INTERRUPTED
from pifolab.dataplane import laboratory
from pifolab.errors import InputError
from pifolab.text import wrapped

if TYPE_CHECKING:
    from pifolab.reproduce import Reproduction


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab reproduce`."""
    parser.description = (
        "Runs the experiments behind the figures and tables of SP-PIFO, AIFO, PACKS, RIFO and Exp-PIFO, puts what they "
        "state beside what comes out, and judges every claim."
    )
    parser.epilog = (
        "Runs are kept in OUT/store: the same command continues where it was interrupted and repeats nothing."
    )
    parser.add_argument(
        "papers", nargs="?", metavar="PAPER", help="only this paper, or with commas several: packs, aifo, sp-pifo, ..."
    )
    parser.add_argument("figure", nargs="?", metavar="FIGURE", help="only the claims about this figure, such as 12b")
    parser.add_argument("--paper", dest="old_papers", help=argparse.SUPPRESS)
    parser.add_argument("--figure", dest="old_figures", help=argparse.SUPPRESS)
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--quick", action="store_true", help="shortened, 1 to 3 seeds: minutes, provisional verdicts")
    depth.add_argument("--full", action="store_true", help="the papers' lengths and 20 seeds: days on one machine")
    parser.add_argument(
        "--seeds", type=positive_integer, metavar="N", help="of every experiment, not the depth's number"
    )
    parser.add_argument("--only", metavar="ID,...", help="only these claims, such as pk1,sp3")
    parser.add_argument("--out", type=Path, default=Path("out/reproduce"), metavar="DIR", help="default: out/reproduce")
    parser.add_argument("--registry", type=Path, metavar="DIR", help="claims from these files instead of the package's")
    parser.add_argument(
        "--experiments", type=Path, metavar="DIR", help="where the scenarios are (default: those of the package)"
    )
    parser.add_argument(
        "--readings", metavar="NAME,...", default="paper,artefact,reading",
        help="which settings to run: paper (those of the text), artefact (those of the public code), reading "
        "(another reading of the text); default: all",
    )  # fmt: skip
    parser.add_argument(
        "--earlier", type=Path, metavar="FILE",
        help="an earlier claims.json, for claims that are not run now, each with the revision that measured it",
    )  # fmt: skip
    parser.add_argument("--revision", metavar="NAME", help="the name, in the report, of the program that measures")
    parser.add_argument("--workers", type=positive_integer, metavar="N", help="default: one per processor")
    parser.add_argument("--no-figures", action="store_true", help="tables only")
    parser.add_argument("--claims", action="store_true", help="print the claims and run nothing")
    parser.add_argument(
        "--mutate", action="store_true",
        help="try every reproduced number against FIFO and the next scheduler of its figure in the place of that under "
        "test: it must not hold; OUT/mutants.json keeps what was tried (source tree only)",
    )  # fmt: skip
    add_json(parser, "claims and verdicts")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run what was asked for."""
    from pifolab.reproduce import load_registry, reproduce
    from pifolab.reproduce.report import write_report

    registry = load_registry(arguments.registry) if arguments.registry else load_registry()
    if arguments.seeds:
        registry = registry.with_seeds(arguments.seeds)
    only, papers = _names(arguments.only), _names(arguments.papers) + _names(arguments.old_papers)
    figures = _names(arguments.old_figures)
    if arguments.figure is not None:
        figures += [f"{paper} {arguments.figure}" for paper in papers]
        papers = []
    for figure in figures:
        only += registry.about(figure)
    if arguments.claims:
        rows = [[one.id, one.paper, one.figure, one.statement] for one in registry.select(only, papers)]
        headings = ["claim", "paper", "figure", "what the paper says"]
        if arguments.json:
            print_json([dict(zip(headings, row, strict=True)) for row in rows])
        else:
            # Some claims are about as many figures as would take most of a line.
            _print_wrapped(
                ["claim", "paper", "what the paper says"],
                [[claim, paper, f"{figure}: {statement}"] for claim, paper, figure, statement in rows],
            )
        return 0
    # Nothing said is everything.
    only = [one.id for one in registry.select(only, papers)] if only or papers else []
    out: Path = arguments.out
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is not a folder")
    depth = "quick" if arguments.quick else "full" if arguments.full else "default"
    started, begun = time.monotonic(), False

    def progress(done: int, of: int, what: str) -> None:
        nonlocal begun
        if not begun:
            begun = True
            about = registry.depths[depth]
            print(f"depth {depth}: {about.summary}. {about.changes}", file=sys.stderr)
        if sys.stderr.isatty():
            print(f"\r\x1b[K{done}/{of} runs, {time.monotonic() - started:.0f} s  {what}", end="", file=sys.stderr)
            if done == of:
                print(file=sys.stderr)

    def measured(only: list[str], readings: Sequence[str] = ("paper",)) -> Reproduction:
        return reproduce(
            out / "store",
            depth=depth,
            only=only,
            registry=registry,
            workers=arguments.workers,
            experiments=arguments.experiments,
            progress=progress,
            readings=readings,
            earlier=arguments.earlier,
            revision=arguments.revision,
        )

    try:
        if arguments.mutate:
            laboratory("mutate").try_claims(registry, only, out, arguments.experiments, measured)
            return 0
        result = measured(only, _names(arguments.readings))
    except KeyboardInterrupt:
        print(f"\ninterrupted; the same command continues from what is in {out / 'store'}", file=sys.stderr)
        return INTERRUPTED
    written = write_report(result, out, figures=not arguments.no_figures)
    if arguments.json:
        print_json(json.loads((out / "claims.json").read_text(encoding="utf-8")))
    _print(result)
    print(f"{time.monotonic() - started:.0f} s; {', '.join(str(path) for path in written)}")
    failures = [
        f"{experiment} ({variant}): {failure}"
        for (experiment, variant), one in result.measured.items()
        for run in one.ran
        for failure in run.failures
    ]
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failures else 0


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def _print(result: Reproduction) -> None:
    from pifolab.reproduce.report import VERDICTS, of_authors, summary_rows
    from pifolab.statistics import Verdict

    rows = []
    for one in result.verdicts:
        missed = (part for part in one.parts if part.verdict is not Verdict.REPRODUCED)
        worst = next(missed, one.parts[0] if one.parts else None)
        number = f"{worst.part.what}: {worst.reason}" if worst else one.claim.note
        rows.append([one.claim.id, one.shown, one.artefact or "", of_authors(one.authors), number])
    _print_wrapped(["claim", "verdict", "artefact", "authors' data", "the number that decides"], rows)
    print()
    print_rows(["paper", *VERDICTS, "all"], summary_rows(result))


def _print_wrapped(headings: list[str], rows: list[list[str]]) -> None:
    """Print columns side by side; the last is broken into lines where it is wider than the terminal."""
    widths = [max(len(row[place]) for row in [headings, *rows]) for place in range(len(headings) - 1)]
    for row in [headings, *rows]:
        start = "".join(f"{cell:{width}}  " for cell, width in zip(row, widths, strict=False))
        print(wrapped(f"{start}{row[-1]}", indent=len(start)))
