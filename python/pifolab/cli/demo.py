"""`pifolab demo`: every scheduler at work, as tables, as pictures and as a report."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pifolab.cli.parser import Parser
from pifolab.cli.progress import ProgressBar
from pifolab.cli.table import print_table

if TYPE_CHECKING:
    from pifolab.demo.motivating import Course


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab demo`."""
    parser.description = (
        "Runs the papers' motivating example, a second of uniform ranks, and a real capture through the schedulers."
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out/demo"), metavar="DIR", help="the folder; default out/demo"
    )
    parser.set_defaults(run=run_demo)


def run_demo(arguments: argparse.Namespace) -> int:
    """Print the tables; write figures and report."""
    from pifolab.demo import motivating_example
    from pifolab.demo.tour import RUNS, clear_earlier_demo, run_scenario, write_tour

    clear_earlier_demo(arguments.out)
    courses = motivating_example()
    _print_example(courses)
    runs = {}
    for name in RUNS:
        with ProgressBar() as bar:
            runs[name] = run_scenario(name, bar.update)
        print(f"\n{runs[name].title}\n")
        print_table(runs[name])
    print("\ndrawing ...", flush=True)
    report = write_tour(arguments.out, courses, runs, lambda title: print(f"  {title}", flush=True))
    print(f"\nfigures: {arguments.out}\nreport:  {report}")
    return 0


def _print_example(courses: Sequence[Course]) -> None:
    from pifolab.demo import SEQUENCE

    ranks = " ".join(map(str, SEQUENCE))
    print(f"PACKS (NSDI 2025) Fig. 2: ranks {ranks} arrive, first on the left, at a buffer for four packets.\n")
    width = max(len("scheduler"), *(len(course.scheduler) for course in courses))
    print(f"{'scheduler':{width}}  {'sent':9}  inversions  dropped")
    for course in courses:
        sent = " ".join(map(str, course.sent))
        dropped = ", ".join(f"{rank} ({reason})" for rank, reason in course.dropped)
        print(f"{course.scheduler:{width}}  {sent:9}  {course.inversions:10}  {dropped}")
