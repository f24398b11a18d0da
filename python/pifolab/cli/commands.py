"""The whole command line: every command is one row of the table.

Commands import what they need when they run: `pifolab show` should not wait for a plotting library.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

from pifolab import _pifolab
from pifolab.cli import (
    advise,
    agree,
    attack,
    bench,
    compare,
    completion,
    conformance,
    dataplane,
    demo,
    doctor,
    flows,
    playground,
    reproduce,
    results,
    run,
    show,
    study,
    trace,
    tree,
)
from pifolab.cli.parser import Parser


class Command(NamedTuple):
    """One row: the words of the command, its arguments in help, its description, and what declares its arguments.

    A command without `declare` has others below it. Only ``help --all`` lists those that are `hidden`. The arguments of
    a `passing` command go to another program.
    """

    words: str
    form: str
    about: str
    declare: Callable[[Parser], None] | None = None
    hidden: bool = False
    passing: bool = False


def _plane(name: str, about: str, declare: Callable[[Parser], None] = dataplane.declare_program) -> Command:
    return Command(f"dataplane {name}", "...", about, declare, passing=True)


COMMANDS = (
    Command("run", "SCENARIO", "run a scenario: a file, or an experiment of the package", run.declare),
    Command("compare", "", "compare schedulers on one link, without a file", compare.declare),
    Command("advise", "TRACE", "which scheduler for my traffic?", advise.declare),
    Command("attack", "A [B]", "search the worst packet trace for a scheduler", attack.declare),
    Command("study", "new|run|plan|show|export|report|check|prune", "many runs, their means, tables and figures"),
    Command("study new", "", "write the skeleton of a paper: a scheduler, an oracle, claims", study.declare_new),
    Command("study run", "FILE", "run every combination of some parameters, with several seeds", study.declare_run),
    Command("study plan", "FILE", "list the runs, estimate time and memory", study.declare_plan),
    Command("study show", "[STORE]", "means and ratios with intervals, or the runs", results.declare_show),
    Command("study export", "[STORE]", "write means, a table or figures", results.declare_export),
    Command("study report", "[STORE]", "write a page: means, figures, ratios, conclusions", results.declare_report),
    Command("study check", "[STORE]", "check every file of every run", results.declare_check),
    Command("study prune", "[STORE]", "remove runs that are damaged or chosen", results.declare_prune),
    Command("reproduce", "[PAPER [FIGURE]]", "reproduce five papers and judge every claim", reproduce.declare),
    Command("show", "[KIND|NAME]", "what there is, and what it is: schedulers, metrics, keys, ...", show.declare),
    Command("trace", "FILE", "what a capture contains: format, flows, rates", trace.declare),
    Command("flows", "export|compare", "the flows of a network as a list, and beside those of another simulator",
            hidden=True),
    Command("flows export", "SCENARIO", "write the flows of a network scenario as a list", flows.declare),
    Command("flows compare", "RUN_DIR REFERENCE", "compare a network run with another simulator's", agree.declare),
    Command("tree", "check|compile", "policies as trees: does one embed in another, and on a complete tree"),
    Command("tree check", "POLICY", "read a policy, and say whether its tree embeds in another", tree.declare_check),
    Command("tree compile", "POLICY", "move a policy to a complete tree, and compare the two", tree.declare_compile),
    Command("dataplane", "up|down|status|switch|dpdk|testbed|cost|p4|doctor", "schedulers on real packets"),
    _plane("up", "put a scheduler on a Linux interface"),
    _plane("down", "take down what is up, or what a crash left behind"),
    _plane("status", "show what is up: bounds, occupancy, admitted and dropped packets"),
    _plane("switch", "run any scheduler between two interfaces, in user space"),
    _plane("dpdk", "run any scheduler between two devices of DPDK", dataplane.declare_dpdk),
    _plane("testbed", "the papers' testbed experiments, with figure, table and verdicts", dataplane.declare_testbed),
    _plane("cost", "show what each eBPF program costs: registers, tables, instructions, nanoseconds"),
    _plane("p4", "the P4 programs: parameter files, compiled programs, resources", dataplane.declare_p4),
    Command("dataplane doctor", "", "what this machine has, what for, and how to install the rest", doctor.declare),
    Command("bench", "sched|events|sim", "measure the library on this machine", hidden=True),
    Command("bench sched", "", "nanoseconds per packet of every scheduler", bench.declare_sched),
    Command("bench events", "", "nanoseconds per event of the event queue", bench.declare_events),
    Command("bench sim", "", "packet-hops per second of the network simulator", bench.declare_sim),
    Command("completion", "SHELL", "print what makes bash or zsh complete commands and names", completion.declare,
            hidden=True),
    Command("conformance", "[FILE ...]", "replay scheduler vectors and compare every decision", conformance.declare,
            hidden=True),
    Command("demo", "", "see every scheduler at work: tables, figures, a report", demo.declare, hidden=True),
    Command("doctor", "", "what this machine has, what for, and how to install the rest", doctor.declare, hidden=True),
    Command("playground", "", "schedulers side by side in the browser, step by step", playground.declare, hidden=True),
    Command("schema", "", "print the JSON Schema of scenarios, for editors", run.declare_schema, hidden=True),
)  # fmt: skip


def complete_parser() -> Parser:
    """Return the parser of the whole command line."""
    whole = Parser(prog="pifolab", description="Programmable packet scheduling, from paper to packets.")
    whole.add_argument("--version", action="version", version=f"pifolab {_pifolab.__version__}")
    for row in COMMANDS:
        *above, name = row.words.split()
        parent = whole.commands[above[0]] if above else whole
        made = parent.command(name, row.form, row.about, hidden=row.hidden, passing=row.passing)
        if row.declare is not None:
            row.declare(made)
    # A shell completes all of these commands.
    whole.commands["completion"].set_defaults(run=lambda arguments: completion.run(whole, arguments))
    helping = whole.command("help", "[COMMAND] [--all]", "print this, or the help on one command", hidden=True)
    helping.add_argument("--all", action="store_true", help="all commands")
    helping.add_argument("words", nargs="*", metavar="COMMAND", help="the command")
    helping.set_defaults(run=lambda arguments: _help(whole, arguments))
    return whole


def _help(whole: Parser, arguments: argparse.Namespace) -> int:
    if not arguments.words:
        print(whole.listing(everything=arguments.all), end="")
        return 0
    # The program of a passing command prints its own help.
    asked = whole.parse([*arguments.words, "--help"])
    return int(asked.run(asked))
