"""Every numeric option of every command with every kind of number: an answer, or one line, within a bounded time."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from test_bad_input import GOOD, LONGEST, commands
from waiting import HANGS_S

from pifolab.cli.commands import complete_parser

#: What the metavars of numeric options stand for, with `{}` where a number is.
FORMS = {
    "N": "{}", "M": "{}", "R": "{}", "X": "{}", "T": "{}", "S": "{}", "L": "{}", "P%": "{}%", "SHARE": "{}",
    "LOW..HIGH": "1..{}", "R,R,...": "1,{}", "R:COUNT,...": "1:{}", "PLACE:R,...": "{}:1", "WxH": "4x{}",
    "DSCP=RANK,...": "{}=1",
}  # fmt: skip

ATTACK = ("attack", "packs", "pifo", "--packets", "4", "--rank-range", "1..3", "--time-limit", "1")
DRAWN = ("compare", "--rate", "10G", "--ranks", "uniform", "--load", "1.1", "--duration", "10us", "--out", "out")
REPLAYED = ("compare", "--rate", "10G", "--trace", "trace.csv", "--rank", "dscp", "--out", "out")

#: How a command is called beside a numeric option of its own; some options need another call.
CALLS: dict[str, dict[str, tuple[str, ...]]] = {
    "run": {"": ("run", "link.toml", "--out", "out", "--no-figures"), "--size": ("run", "link.toml", "--out", "out")},
    "compare": {
        "": (*DRAWN, "--schedulers", "pifo,fifo", "--no-figures"),
        "--size": (*DRAWN, "--schedulers", "pifo,fifo"),
        "--arrival-rate": tuple(word for word in DRAWN if word not in ("--load", "1.1")),
        "--speed-up": REPLAYED,
        "--rank-map": REPLAYED,
    },
    "advise": {"": ("advise", "trace.csv", "--out", "out")},
    "attack": {
        "": ATTACK,
        "--start-window": (*ATTACK, "--free-window"),
        "--burst": (*ATTACK, "--load", "2"),
        "--evaluations": (*ATTACK, "--method", "guided"),
    },
    "study run": {
        "": ("study", "run", "study.toml", "--store", "out"),
        "--max-seeds": ("study", "run", "study.toml", "--store", "out", "--until-ci", "5%"),
        # There is no such program.
        "--slurm-jobs": ("study", "run", "study.toml", "--store", "out", "--slurm"),
    },
    "study plan": {"": ("study", "plan", "study.toml", "--store", "out")},
    "study export": {"--size": ("study", "export", "kept", "--out", "out.svg")},
    "study report": {"--size": ("study", "report", "kept", "--out", "out")},
    "reproduce": {"": ("reproduce", "--quick", "--only", "none", "--out", "out")},
    "flows export": {"": ("flows", "export", "network.toml", "--out", "out.csv")},
    "flows compare": {"": ("flows", "compare", "missing", "reference.csv")},
    "tree compile": {"": ("tree", "compile", "fifo[a]", "--operations", "100")},
    "bench sim": {"": ("bench", "sim", "--case", "none")},
}

#: So many of the wrong texts each option is given.
DRAWN_WRONG = 6

#: Options for which zero is a right value.
ZERO = ("--seed", "--size-bytes")


def options() -> dict[str, list[tuple[str, str]]]:
    """Return the numeric options of each command, with their metavars."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, parser in commands(complete_parser()):
        for action in parser._actions:
            if action.metavar in FORMS and action.option_strings:
                found.setdefault(name, []).append((action.option_strings[0], str(action.metavar)))
    return found


def wrong(draws: random.Random) -> list[str]:
    """Return what no numeric option takes."""
    negative = [str(-draws.randrange(1, 10**6)), str(-draws.random()), "-" + "9" * draws.randrange(20, 6_000)]
    large = [
        str(draws.randrange(10**40, 10**60)),
        "9" * draws.randrange(100, 6_000),
        f"1e{draws.randrange(309, 10**6)}",
    ]
    return [
        *negative,
        *large,
        "",
        " ",
        "nan",
        "-nan",
        "inf",
        "-inf",
        "NaN",
        "Infinity",
        "0x10",
        "x",
        "--",
        "1 2",
    ]


def large(draws: random.Random) -> list[str]:
    """Return integers that may be too large or not."""
    return [str(int(10 ** draws.uniform(8, 19))) for _ in range(3)] + [str(2**63), str(2**64)]


def test_every_numeric_option_is_tried():
    tried = {name: sorted(option for option, _ in found) for name, found in options().items()}
    assert {name: calls for name, calls in tried.items() if name not in CALLS} == {}
    assert set(CALLS) == set(tried)


#: Runs each case in a folder of its own; a case that hangs is the last one that is begun.
DRIVER = """
import json, os, shutil, sys
from pathlib import Path
sys.path.insert(0, TESTS)
from test_bad_input import contents, run
good = Path.cwd()
for arguments in json.load(sys.stdin):
    print(json.dumps(arguments), flush=True)
    folder = good.with_name("case")
    shutil.copytree(good, folder)
    os.chdir(folder)
    before = contents(folder)
    status, said = run(arguments)
    print(json.dumps([status, said, contents(folder) == before]), flush=True)
    os.chdir(good)
    shutil.rmtree(folder)
"""


def cases_of(command: str) -> list[tuple[list[str], bool]]:
    """Return how a command is called, and whether it can do nothing but refuse its number."""
    draws = random.Random(command)
    cases = []
    for option, metavar in options()[command]:
        calls = CALLS[command]
        call = list(calls.get(option, calls.get("", next(iter(calls.values())))))
        if option in call:
            place = call.index(option)
            del call[place : place + 2]
        # Without a number of its own --shrink has one.
        refused = [text for text in wrong(draws) if (option, text) != ("--shrink", "--")]
        zero = [] if option in ZERO else ["0"]
        for texts, is_wrong in ((draws.sample(refused, DRAWN_WRONG), True), (zero, False), (large(draws), False)):
            cases += [([*call, f"{option}={FORMS[metavar].format(text)}"], is_wrong) for text in texts]
    return cases


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("numbers") / "good"
    folder.mkdir()
    for name, text in GOOD.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("command", CALLS)
def test_a_number_of_any_kind_is_one_line_or_an_answer_and_nothing_that_hangs(good: Path, command: str):
    cases = cases_of(command)
    done = subprocess.run(
        [sys.executable, "-c", DRIVER.replace("TESTS", repr(str(Path(__file__).parent)))],
        cwd=good,
        input=json.dumps([arguments for arguments, _ in cases]),
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        env=os.environ | {"POLARS_MAX_THREADS": "1"},
        check=False,
    )
    assert done.stderr == ""
    answers = [json.loads(line) for line in done.stdout.splitlines()][1::2]
    assert len(answers) == len(cases)
    for (arguments, is_wrong), (status, said, same) in zip(cases, answers, strict=True):
        if is_wrong or status != 0:
            assert (status, len(said.splitlines()), same) == (2, 1, True), (arguments, status, said, same)
            assert len(said) < LONGEST, arguments
