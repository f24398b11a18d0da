"""`pifolab reproduce`: the figures of five papers again, or those of a folder, and a verdict on every claim."""

from __future__ import annotations

import argparse
from pathlib import Path

from pifolab.cli.options import add_json
from pifolab.cli.parser import MOST_WORKERS, Parser, positive_up_to


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab reproduce`."""
    parser.description = (
        "Runs the experiments behind the figures and tables of SP-PIFO, AIFO, PACKS, RIFO and Exp-PIFO, puts what they "
        "state beside what comes out, and judges every claim. A folder with a paper.toml is a paper, too."
    )
    parser.epilog = (
        "Runs are kept in OUT/store: the same command continues where it was interrupted and repeats nothing."
    )
    parser.add_argument(
        "papers", nargs="?", metavar="PAPER",
        help="only this paper, or with commas several: packs, aifo, sp-pifo, ...; or a folder, such as ./my-paper",
    )  # fmt: skip
    parser.add_argument("figure", nargs="?", metavar="FIGURE", help="only the claims about this figure, such as 12b")
    parser.add_argument("--paper", dest="old_papers", help=argparse.SUPPRESS)
    parser.add_argument("--figure", dest="old_figures", help=argparse.SUPPRESS)
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--quick", action="store_true", help="shortened, 1 to 3 seeds: minutes, provisional verdicts")
    depth.add_argument("--full", action="store_true", help="the papers' lengths and 20 seeds: days on one machine")
    parser.add_argument(
        "--seeds",
        type=positive_up_to(1000),
        metavar="N",
        help="the number of seeds of every experiment, instead of the depth's",
    )
    parser.add_argument("--only", metavar="ID,...", help="only these claims, such as pk1,sp3")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: out/reproduce, of a folder out/ and its name")
    parser.add_argument("--registry", type=Path, metavar="DIR", help="claims from these files instead of the package's")
    parser.add_argument(
        "--experiments", type=Path, metavar="DIR", help="the folder of the scenarios (default: those of the package)"
    )
    parser.add_argument(
        "--readings", metavar="NAME,...",
        help="which settings to run: paper (those of the text), artefact (those of the public code), reading "
        "(another reading of the text); default: all",
    )  # fmt: skip
    parser.add_argument(
        "--earlier", type=Path, metavar="FILE",
        help="an earlier claims.json, for claims that are not run now, each with the revision that measured it",
    )  # fmt: skip
    parser.add_argument("--revision", metavar="NAME", help="the name, in the report, of the program that measures")
    parser.add_argument("--workers", type=positive_up_to(MOST_WORKERS), metavar="N", help="default: one per processor")
    parser.add_argument("--no-figures", action="store_true", help="tables only")
    parser.add_argument(
        "--check", action="store_true",
        help="of a folder: read its scenarios, and say what is missing (an oracle, vectors, seeds, kinds and sources "
        "of claims); run only the vectors",
    )  # fmt: skip
    parser.add_argument("--claims", action="store_true", help="print the claims and run nothing")
    parser.add_argument(
        "--mutate", action="store_true",
        help="try every reproduced number against FIFO and the next scheduler of its figure in the place of that under "
        "test: it must not hold; OUT/mutants.json keeps what was tried",
    )  # fmt: skip
    add_json(parser, "claims and verdicts")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run what was asked for."""
    from pifolab_papers.command import run

    return run(arguments)
