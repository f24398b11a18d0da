"""`pifolab flows export`: the flows of a scenario as a list, for other simulators or to store."""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

from pifolab import _pifolab
from pifolab.cli.options import add_quiet, add_set, overrides_of, seed_of
from pifolab.cli.parser import Parser
from pifolab.errors import InputError
from pifolab.folder import check_absent, replaced_file
from pifolab.packaged import experiment
from pifolab.text import read_text


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab flows export`."""
    parser.description = (
        "Writes the flows that a run would send, exact to the picosecond: a run of the list is the run of the scenario."
    )
    parser.epilog = "pifolab run --flows reads CSV, and the key workload.flows.list both formats."
    parser.add_argument(
        "scenario",
        type=Path,
        metavar="SCENARIO",
        help="a TOML file, or an experiment of the package",
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help="the list to write: .csv, .csv.gz, or .txt for the format of the HPCC simulator",
    )
    parser.add_argument("--seed", metavar="N", help="the seed; default the scenario's first")
    add_set(parser, "change a key; may be repeated")
    add_quiet(parser)
    parser.set_defaults(run=run_flows)


def run_flows(arguments: argparse.Namespace) -> int:
    """Write the list."""
    out: Path = arguments.out
    packed = out.name.endswith(".csv.gz")
    if not packed and out.suffix not in (".csv", ".txt"):
        raise InputError(f"--out {out}: expected a name that ends in .csv, .csv.gz, or .txt (the format of HPCC)")
    path = experiment(arguments.scenario)
    text = read_text(path)
    seed = None if arguments.seed is None else seed_of(arguments.seed)
    overrides = list(overrides_of(arguments.overrides).items())
    check_absent(out)
    listed = _pifolab.scenario_flows(text, str(path), overrides, seed=seed, hpcc=out.suffix == ".txt")
    with replaced_file(out) as file:
        # Without a timestamp, so that the same list is the same file.
        file.write_bytes(gzip.compress(listed, mtime=0) if packed else listed)
    # The first line is the header, or the number of flows.
    lines = listed.count(b"\n")
    print(f"{lines - 1} flows: {out}")
    return 0
