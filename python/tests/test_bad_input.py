"""Every command with every kind of bad input: one line, exit status 2, nothing written, nothing waited for."""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from waiting import HANGS_S

import pifolab
from pifolab.cli.commands import COMMANDS as COMMAND_ROWS
from pifolab.cli.commands import complete_parser

LINK = """
duration_ms = 1
link = { rate_gbps = 10 }
workload = { arrivals = "constant", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }
scheduler = [{ name = "pifo" }]
"""

NETWORK = """
duration_us = 500
topology = { kind = "single-switch", hosts = 4, rate_gbps = 1, delay_us = 1 }
transport = { name = "pfabric" }
scheduler = [{ name = "fifo" }]
[workload.flows]
arrivals = "poisson"
load = 0.8
sizes = "fixed"
size_bytes = 3_000
pairs = "uniform"
"""

REPLAY = 'link = { rate_gbps = 10 }\nworkload = { trace = "bad.csv", trace_rank = "column" }\n' \
    'scheduler = [{ name = "pifo" }]\n'  # fmt: skip

#: What lies in the folder beside the bad file.
GOOD = {
    "link.toml": LINK,
    "network.toml": NETWORK,
    "replay.toml": REPLAY,
    "of-bad.toml": 'scenario = "bad.toml"\nmetrics = []\n',
    "with-bad.toml": 'scenario = "link.toml"\nmetrics = []\nschedulers.mine = "bad.py:Mine"\n',
    "reference.csv": "flow,src,dst,size_bytes,start_ns,fct_ns\n0,0,1,3000,0,1000\n",
}

ATTACK = ("attack", "sp-pifo", "pifo", "--packets", "4", "--rank-range", "1..3")
COMPARE = ("compare", "--rate", "10G", "--out", "out", "--no-figures")

#: For every command that reads files, what it is given, and which of them is bad.
COMMANDS: dict[str, dict[str, tuple[tuple[str, ...], str]]] = {
    "run": {
        "scenario": (("run", "bad.toml", "--out", "out"), "bad.toml"),
        "flows": (("run", "network.toml", "--flows", "bad.csv", "--out", "out"), "bad.csv"),
        "plug-in": (("run", "link.toml", "--python", "bad.py", "--out", "out"), "bad.py"),
        "trace": (("run", "replay.toml", "--out", "out"), "bad.csv"),
    },
    "compare": {
        "trace": ((*COMPARE, "--trace", "bad.csv", "--rank", "column"), "bad.csv"),
        "plug-in": ((*COMPARE, "--ranks", "uniform", "--arrival-rate", "11G", "--python", "bad.py"), "bad.py"),
    },
    "trace": {"trace": (("trace", "bad.csv"), "bad.csv")},
    "flows export": {"scenario": (("flows", "export", "bad.toml", "--out", "flows.csv"), "bad.toml")},
    "flows compare": {
        "run": (("flows", "compare", "bad", "reference.csv"), "bad/flows.parquet"),
        "reference": (("flows", "compare", "ran", "bad.csv"), "bad.csv"),
    },
    "study run": {
        "study": (("study", "run", "bad.toml", "--store", "store"), "bad.toml"),
        "scenario": (("study", "run", "of-bad.toml", "--store", "store"), "bad.toml"),
        "plug-in": (("study", "run", "with-bad.toml", "--store", "store"), "bad.py"),
    },
    "study plan": {"study": (("study", "plan", "bad.toml", "--store", "store"), "bad.toml")},
    **{
        f"study {name}": {"store": (("study", name, "bad", *more), "bad/pifolab-store.json")}
        for name, *more in (
            ("show",),
            ("export", "--out", "out.csv"),
            ("report", "--out", "out"),
            ("check",),
            ("prune",),
        )
    },
    "reproduce": {
        "registry": (("reproduce", "--registry", "bad", "--out", "out"), "bad/words.toml"),
        "earlier": (("reproduce", "--quick", "--only", "none", "--earlier", "bad.json", "--out", "out"), "bad.json"),
    },
    "advise": {
        "trace": (("advise", "bad.csv", "--out", "out"), "bad.csv"),
        "plug-in": (("advise", "reference.csv", "--python", "bad.py", "--out", "out"), "bad.py"),
    },
    "attack": {
        "plug-in": ((*ATTACK, "--python", "bad.py"), "bad.py"),
        "answer": ((*ATTACK, "--resume", "bad.json"), "bad.json"),
    },
    "conformance": {"vector": (("conformance", "bad.json"), "bad.json")},
}

#: Commands that read no file, or leave all their arguments to another program.
NO_FILES = {"schema", "tree check", "tree compile", "show", "bench sched", "bench sim", "demo", "playground",
            "completion", "doctor", "dataplane doctor", "help",
            *(row.words for row in COMMAND_ROWS if row.passing)}  # fmt: skip


def damaged(path: Path) -> None:
    path.write_bytes(random.Random(str(path.name)).randbytes(500))


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(65 * 2**20)


#: What can be in the place of a file.
KINDS: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "empty": lambda path: path.write_bytes(b""),
    "a folder": lambda path: path.mkdir(),
    "a device that never ends": lambda path: path.symlink_to("/dev/zero"),
    "a device without anything": lambda path: path.symlink_to("/dev/null"),
    "a named pipe": lambda path: os.mkfifo(path),
    "a link to a named pipe": lambda path: (os.mkfifo("pipe"), path.symlink_to(Path("pipe").absolute())),
    "a link to nowhere": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "not UTF-8": lambda path: path.write_bytes(b"a = '\xff'\n"),
    "deeply nested": lambda path: path.write_text("x = " + "[" * 100_000),
    "huge": huge,
    "damaged": damaged,
    "a name that is not UTF-8": lambda path: None,
}

#: No message repeats a whole file.
LONGEST = 1300

#: Makes each case in a folder of its own, and says what became of it; what hangs is what it has not said.
DRIVER = """
import io, json, os, shutil, sys, tempfile
from pathlib import Path
sys.path.insert(0, TESTS)
from test_bad_input import COMMANDS, KINDS, contents
from pifolab.cli import main

def run(arguments):
    kept = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            status = main(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
            list(map(os.close, kept))
        err.seek(0)
        return status, err.read().decode(errors="replace")

good = Path.cwd()
for slot, (arguments, place) in COMMANDS[sys.argv[1]].items():
    for kind, make in KINDS.items():
        folder = good.with_name(f"{sys.argv[1]}-{slot}-{kind}".replace(" ", "-"))
        shutil.copytree(good, folder)
        os.chdir(folder)
        path = Path(place)
        path.parent.mkdir(exist_ok=True)
        make(path)
        if kind == "a name that is not UTF-8":
            arguments = [word.replace("bad", "b\\udcffd") for word in arguments]
        before = contents(folder)
        status, said = run(list(arguments))
        print(json.dumps([slot, kind, status, said, contents(folder) == before]), flush=True)
        os.chdir(good)
        shutil.rmtree(folder)
"""


def contents(folder: Path) -> list[tuple[str, int, int]]:
    """Return what is in a folder: names, kinds and sizes; nothing is opened, since that might wait."""
    found = []
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        # A folder's size and time tell of what was in it meanwhile.
        found.append((str(path.relative_to(folder)), state.st_mode, state.st_size, state.st_mtime_ns))
    return found


def commands(parser: argparse.ArgumentParser, before: str = "") -> Iterator[str]:
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in inner:
        for name, command in action.choices.items():
            yield from commands(command, f"{before} {name}".strip())
    if not inner:
        yield before


def test_every_command_says_whether_it_reads_files():
    assert sorted([*COMMANDS, *NO_FILES]) == sorted(commands(complete_parser()))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad") / "good"
    folder.mkdir()
    for name, text in GOOD.items():
        (folder / name).write_text(text)
    pifolab.run_text(NETWORK).save(folder / "ran", figures=False)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_bad_input_of_any_kind_is_one_line_and_writes_nothing(good: Path, command: str):
    driver = DRIVER.replace("TESTS", repr(str(Path(__file__).parent)))
    done = subprocess.run(
        [sys.executable, "-c", driver, command],
        cwd=good,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        env=os.environ | {"POLARS_MAX_THREADS": "1"},
        check=False,
    )
    cases = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = []
    for slot, kind, status, said, same in cases:
        lines = said.splitlines()
        if (status, len(lines), same) != (2, 1, True) or not lines[0].startswith("pifolab") or len(lines[0]) > LONGEST:
            wrong.append((slot, kind, status, said[:400], same))
    assert (wrong, done.stderr) == ([], "")
    assert len(cases) == len(COMMANDS[command]) * len(KINDS)


HALF = "a\udcffb"

#: Texts with half a character, wherever a caller can give one.
TEXTS: dict[str, Callable[[], object]] = {
    "a scenario's text": lambda: pifolab.run_text(HALF),
    "a scenario's name": lambda: pifolab.run_text(LINK, HALF),
    "the file of a scenario": lambda: pifolab.run(f"{HALF}.toml"),
    "half a character of another kind": lambda: pifolab.run("\ud800.toml"),
    "an override's key": lambda: pifolab.run_text(LINK, overrides={HALF: "1"}),
    "an override's value": lambda: pifolab.run_text(LINK, overrides={"workload.trace": HALF}),
    "a scenario as a mapping": lambda: pifolab.run({"link": {"rate_gbps": 10}, HALF: 1}),
    "a plug-in's name": lambda: pifolab.run_text(LINK, schedulers={HALF: object}),
    "a scheduler's name": lambda: pifolab.scheduler(HALF),
    "a scheduler's parameter": lambda: pifolab.scheduler("pifo", **{HALF: 1}),
    "a parameter's value": lambda: pifolab.SpPifo(push_down=HALF),
    "a hierarchy": lambda: pifolab.scheduler("tree", hierarchy=HALF),
    "a rank function's name": lambda: pifolab.ranked(HALF, pifolab.Pifo()),
    "what is explained": lambda: pifolab.explain(HALF),
    "ranks of a comparison": lambda: pifolab.compare(["pifo"], ranks=HALF, rate_gbps=10, arrival_gbps=11),
    "a trace of a comparison": lambda: pifolab.compare(["pifo"], trace=HALF, rank="column", rate_gbps=10),
    "a scheduler of a comparison": lambda: pifolab.compare([HALF], ranks="uniform", rate_gbps=10, arrival_gbps=11),
    "a trace to summarise": lambda: pifolab.summarise_trace(HALF),
    "an attacked scheduler": lambda: pifolab.attack(HALF, packets=4, ranks=3),
    "a metric of an attack": lambda: pifolab.attack("sp-pifo", "pifo", metric=HALF, packets=4, ranks=3),
    "a cost of bounds": lambda: pifolab.optimal_bounds([1, 2, 3], 2, cost=HALF),
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_is_not_utf_8_is_one_line_in_python_too(text: str):
    with pytest.raises((pifolab.PifolabError, TypeError)) as raised:
        TEXTS[text]()
    assert "\n" not in str(raised.value)
