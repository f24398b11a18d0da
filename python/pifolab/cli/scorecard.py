"""`pifolab scorecard`: all schedulers on identical traffic, in one table."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pifolab.cli.options import add_json, add_python
from pifolab.cli.output import print_json
from pifolab.cli.parser import Parser, positive_integer
from pifolab.cli.table import print_columns
from pifolab.errors import InputError
from pifolab.export import write_text

__all__ = ["declare"]


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab scorecard`."""
    parser.description = (
        "Inversions, drops, Delta to PIFO, completion times, fairness, reordering, robustness, and the state that a "
        "switch would need, for every scheduler on the same packets."
    )
    parser.add_argument("--seeds", type=positive_integer, default=3, metavar="N", help="default: 3")
    parser.add_argument("--quick", action="store_true", help="a tenth of the length on networks")
    parser.add_argument("--only", metavar="NAME,...", help="only these scenarios of scorecard/")
    parser.add_argument(
        "--experiments", type=Path, metavar="DIR", help="where the scenarios are (default: those of the package)"
    )
    parser.add_argument("--out", type=Path, default=Path("out/scorecard"), metavar="DIR", help="default: out/scorecard")
    parser.add_argument("--workers", type=positive_integer, metavar="N", help="default: one per processor")
    add_python(parser, "also run the schedulers of this file; may be repeated")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run, print, and write scorecard.html, scorecard.md and scorecard.json."""
    from pifolab.reproduce.scorecard import scorecard
    from pifolab.reproduce.scorecard_page import conclusion_lines, markdown, page, setup_lines, tables

    out: Path = arguments.out
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is not a folder")
    card = scorecard(
        out / "store",
        seeds=arguments.seeds,
        duration_share=0.1 if arguments.quick else 1.0,
        scenarios=[name.strip() for name in (arguments.only or "").split(",") if name.strip()],
        workers=arguments.workers,
        experiments=arguments.experiments,
        python=arguments.python,
    )
    write_text(markdown(card), out / "scorecard.md")
    write_text(page(card, out / "figures"), out / "scorecard.html")
    write_text(json.dumps(card.rows(), indent=2) + "\n", out / "scorecard.json")
    if arguments.json:
        print_json(card.rows())
        return 0
    print("\n".join(setup_lines(card)))
    for title, headings, rows in tables(card):
        print(f"\n{title}\n")
        print_columns(headings, rows)
    print()
    print("\n".join(conclusion_lines(card)))
    print(f"\nThese are means; the intervals are in the report: {out / 'scorecard.html'}")
    return 0
