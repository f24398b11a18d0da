"""`pifolab demo`: the papers' motivating example, as a table and as a picture."""

from __future__ import annotations

import argparse
from pathlib import Path

from pifolab.cli.parser import Parser

__all__ = ["add_to"]


def add_to(commands: argparse._SubParsersAction[Parser]) -> None:
    """Declare the command."""
    demo = commands.add_parser("demo", help="run the papers' motivating example through every scheduler")
    demo.add_argument("--out", type=Path, default=Path("out/demo"), metavar="DIR", help="folder for the figures")
    demo.set_defaults(run=run_demo)


def run_demo(arguments: argparse.Namespace) -> int:
    """Print the table and write the figures."""
    from pifolab.demo import SEQUENCE, motivating_example
    from pifolab.figures.motivating import draw_motivating_example
    from pifolab.figures.style import save

    courses = motivating_example()
    ranks = " ".join(map(str, SEQUENCE))
    print(f"PACKS (NSDI 2025) Fig. 2: ranks {ranks} arrive, first on the left, at a buffer for four packets.\n")
    width = max(len("scheduler"), *(len(course.scheduler) for course in courses))
    print(f"{'scheduler':{width}}  {'sent':9}  inversions  dropped")
    for course in courses:
        sent = " ".join(map(str, course.sent))
        dropped = ", ".join(f"{rank} ({reason})" for rank, reason in course.dropped)
        print(f"{course.scheduler:{width}}  {sent:9}  {course.inversions:10}  {dropped}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    files = save(draw_motivating_example(courses), arguments.out / "motivating-example")
    print()
    for file in files:
        print(f"figure: {file}")
    return 0
