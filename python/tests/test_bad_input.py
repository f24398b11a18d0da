"""Every command with every kind of bad input: one line, exit status 2, nothing written, nothing waited for."""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from waiting import HANGS_S

import pifolab
from pifolab.cli import main
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
    "study.toml": 'scenario = "link.toml"\nmetrics = ["dropped_packets"]\n',
    "trace.csv": "time_ns,size_bytes\n" + "".join(f"{1000 * at},1500\n" for at in range(100)),
    "of-bad.toml": 'scenario = "bad.toml"\nmetrics = []\n',
    "with-bad.toml": 'scenario = "link.toml"\nmetrics = []\nschedulers.mine = "bad.py:Mine"\n',
    "reference.csv": "flow,src,dst,size_bytes,start_ns,fct_ns\n0,0,1,3000,0,1000\n",
}

ATTACK = ("attack", "sp-pifo", "pifo", "--packets", "4", "--rank-range", "1..3")
STORE = "bad/pifolab-store.json"
COMPARE = ("compare", "--rate", "10G", "--out", "out", "--no-figures")

#: For every command that reads or writes files, what it is given, and which of them is bad; `out` is what it writes.
COMMANDS: dict[str, dict[str, tuple[tuple[str, ...], str]]] = {
    "run": {
        "scenario": (("run", "bad.toml", "--out", "out"), "bad.toml"),
        "flows": (("run", "network.toml", "--flows", "bad.csv", "--out", "out"), "bad.csv"),
        "plug-in": (("run", "link.toml", "--python", "bad.py", "--out", "out"), "bad.py"),
        "trace": (("run", "replay.toml", "--out", "out"), "bad.csv"),
        "out": (("run", "link.toml", "--out", "bad"), "bad"),
        "out, replaced": (("run", "link.toml", "--force", "--out", "bad"), "bad"),
    },
    "compare": {
        "trace": ((*COMPARE, "--trace", "bad.csv", "--rank", "column"), "bad.csv"),
        "plug-in": ((*COMPARE, "--ranks", "uniform", "--arrival-rate", "11G", "--python", "bad.py"), "bad.py"),
        "out": (("compare", "--rate", "10G", "--ranks", "uniform", "--out", "bad"), "bad"),
    },
    "trace": {"trace": (("trace", "bad.csv"), "bad.csv")},
    "flows export": {
        "scenario": (("flows", "export", "bad.toml", "--out", "flows.csv"), "bad.toml"),
        "out": (("flows", "export", "network.toml", "--out", "bad.csv"), "bad.csv"),
    },
    "flows compare": {
        "run": (("flows", "compare", "bad", "reference.csv"), "bad/flows.parquet"),
        "reference": (("flows", "compare", "ran", "bad.csv"), "bad.csv"),
    },
    "study run": {
        "study": (("study", "run", "bad.toml", "--store", "store"), "bad.toml"),
        "scenario": (("study", "run", "of-bad.toml", "--store", "store"), "bad.toml"),
        "plug-in": (("study", "run", "with-bad.toml", "--store", "store"), "bad.py"),
        "paper": (("study", "run", "study.toml", "--with", "bad", "--store", "store"), "bad/paper.toml"),
        "new or old store": (("study", "run", "study.toml", "--store", "bad"), STORE),
        "out": (("study", "run", "study.toml", "--store", "bad"), "bad"),
        "out, a log": (("study", "run", "study.toml", "--store", "kept", "--log-json", "bad"), "bad"),
    },
    "study plan": {
        "study": (("study", "plan", "bad.toml", "--store", "store"), "bad.toml"),
        "paper": (("study", "plan", "study.toml", "--with", "bad", "--store", "store"), "bad/paper.toml"),
        "new or old store": (("study", "plan", "study.toml", "--store", "bad"), STORE),
    },
    "study show": {"store": (("study", "show", "bad"), STORE)},
    "study export": {
        "store": (("study", "export", "bad", "--out", "out.csv"), STORE),
        "out": (("study", "export", "kept", "--out", "bad.csv"), "bad.csv"),
    },
    "study report": {
        "store": (("study", "report", "bad", "--out", "out"), STORE),
        "out": (("study", "report", "kept", "--out", "bad"), "bad"),
    },
    "study check": {"store": (("study", "check", "bad"), STORE)},
    "study prune": {"store": (("study", "prune", "bad"), STORE)},
    "study new": {"out, new or old": (("study", "new", "--paper", "bad"), "bad")},
    "reproduce": {
        "registry": (("reproduce", "--registry", "bad", "--out", "out"), "bad/words.toml"),
        "earlier": (("reproduce", "--quick", "--only", "none", "--earlier", "bad.json", "--out", "out"), "bad.json"),
        "experiments": (("reproduce", "--quick", "--only", "pk1", "--experiments", "bad", "--out", "out"), "bad/x"),
        "out, new or old": (("reproduce", "--quick", "--only", "pk1", "--out", "bad"), "bad"),
    },
    "advise": {
        "trace": (("advise", "bad.csv", "--out", "out"), "bad.csv"),
        "plug-in": (("advise", "reference.csv", "--python", "bad.py", "--out", "out"), "bad.py"),
        "out": (("advise", "trace.csv", "--out", "bad"), "bad"),
    },
    "attack": {
        "plug-in": ((*ATTACK, "--python", "bad.py"), "bad.py"),
        "answer": ((*ATTACK, "--resume", "bad.json"), "bad.json"),
        "out": ((*ATTACK, "--out", "bad.svg"), "bad.svg"),
    },
    "conformance": {"vector": (("conformance", "bad.json"), "bad.json")},
    "demo": {"out": (("demo", "--out", "bad"), "bad")},
    "playground": {"out": (("playground", "--out", "bad"), "bad")},
}

#: Commands that read and write no file, or leave all their arguments to another program.
NO_FILES = {"schema", "tree check", "tree compile", "show", "bench events", "bench sched",
            "bench sim", "completion", "doctor", "dataplane doctor", "help",
            *(row.words for row in COMMAND_ROWS if row.passing)}  # fmt: skip


def damaged(path: Path) -> None:
    path.write_bytes(random.Random(str(path.name)).randbytes(500))


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(65 * 2**20)


#: The other ends of pipes, which stay open.
WRITERS: list[int] = []


def written_pipe(path: Path) -> None:
    os.mkfifo(path)
    WRITERS.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
    os.write(WRITERS[-1], b"x = 1\n")


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
    "a socket": lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
    "a terminal where nobody writes": lambda path: path.symlink_to("/dev/ptmx"),
    "not UTF-8": lambda path: path.write_bytes(b"a = '\xff'\n"),
    "deeply nested": lambda path: path.write_text("x = " + "[" * 100_000),
    "huge": huge,
    "damaged gzip": lambda path: path.write_bytes(b"\x1f\x8b\x08\x00" + 100 * b"x"),
    "damaged": damaged,
    "a name that is not UTF-8": lambda path: None,
    "a name with an end of line": lambda path: path.write_bytes(b"\xff"),
    "a name of 255 bytes": lambda path: path.write_bytes(bytes(50)),
    "a named pipe with a writer": written_pipe,
    "two links to one another": lambda path: (path.symlink_to("other"), path.with_name("other").symlink_to(path.name)),
    "the memory of the process": lambda path: path.symlink_to("/proc/self/mem"),
    "UTF-16": lambda path: path.write_bytes(LINK.encode("utf-16")),
    "null characters": lambda path: path.write_bytes(bytes(5_000)),
    "compressed by zstd": lambda path: path.write_bytes(bytes.fromhex("28b52ffd2000010000")),
    "ten gigabytes of holes": lambda path: (path.touch(), os.truncate(path, 10 * 2**30)),
}

#: What can be in the place of what is written: neither can anything be written there, nor is it replaced.
OUTPUT_KINDS: dict[str, Callable[[Path], object]] = {
    "a folder with other things": lambda path: (path.mkdir(), (path / "thesis.tex").touch()),
    "a socket": KINDS["a socket"],
    "a named pipe": KINDS["a named pipe"],
    "a link to a named pipe": KINDS["a link to a named pipe"],
    "below a file": lambda path: None,
    "a name that is too long": lambda path: None,
    "a name that is not UTF-8": lambda path: None,
    "a folder whose name has an end of line": lambda path: (path.mkdir(), (path / "thesis.tex").touch()),
}

#: What the word ``bad`` is then.
WORDS = {
    "a name that is not UTF-8": "b\udcffd",
    "a name that is too long": 300 * "b",
    "below a file": "link.toml/bad",
    "a name with an end of line": "b\nd",
    "a folder whose name has an end of line": "b\nd",
    "a name of 255 bytes": 250 * "b",
}


#: Kinds that are folders with other things.
FOLDERS = ("a folder with other things", "a folder whose name has an end of line")

#: Kinds that are a name alone.
UNMADE = ("a name that is not UTF-8", "a name that is too long", "below a file")


def kinds_of(slot: str) -> dict[str, Callable[[Path], object]]:
    kinds = OUTPUT_KINDS if slot.startswith("out") else KINDS
    # What is there is added to.
    right = ("missing", *FOLDERS) if "new or old" in slot else ()
    return {kind: make for kind, make in kinds.items() if kind not in right}


#: No message repeats a whole file.
LONGEST = 1300

#: Makes each case in a folder of its own, and says what became of it; what hangs is what it has not said.
DRIVER = """
import json, os, shutil, sys
from pathlib import Path
sys.path.insert(0, TESTS)
from test_bad_input import COMMANDS, UNMADE, WORDS, contents, kinds_of, run

good = Path.cwd()
for slot, (arguments, place) in COMMANDS[sys.argv[1]].items():
    for kind, make in kinds_of(slot).items():
        folder = good.with_name("case")
        shutil.copytree(good, folder)
        os.chdir(folder)
        words = [word.replace("bad", WORDS.get(kind, "bad")) for word in arguments]
        # Half characters and names that are too long are never made.
        path = Path(place if kind in UNMADE else place.replace("bad", WORDS.get(kind, "bad")))
        path.parent.mkdir(exist_ok=True)
        make(path)
        before = contents(folder)
        status, said = run(words)
        print(json.dumps([slot, kind, status, said, contents(folder) == before]), flush=True)
        os.chdir(good)
        shutil.rmtree(folder)
"""


def run(arguments: list[str]) -> tuple[int, str]:
    """Return the exit status of a command, and what it prints on standard error."""
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


def contents(folder: Path) -> list[tuple[str, int, int]]:
    """Return what is in a folder: names, kinds and sizes; nothing is opened, since that might wait."""
    found = []
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        # A folder's size and time tell of what was in it meanwhile.
        found.append((str(path.relative_to(folder)), state.st_mode, state.st_size, state.st_mtime_ns))
    return found


def commands(parser: argparse.ArgumentParser, before: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in inner:
        for name, command in action.choices.items():
            yield from commands(command, f"{before} {name}".strip())
    if not inner:
        yield before, parser


def files_of(parser: argparse.ArgumentParser) -> set[str]:
    """Return the arguments of a command that name files, but for old names of them."""
    return {action.dest for action in parser._actions if action.type is Path and action.help != argparse.SUPPRESS}


def test_every_command_says_whether_it_reads_files():
    assert sorted([*COMMANDS, *NO_FILES]) == sorted(name for name, _ in commands(complete_parser()))


def test_every_file_that_a_command_reads_or_writes_is_a_bad_one_at_some_time():
    whole = complete_parser()
    for name, parser in commands(whole):
        given = [whole.parse(list(arguments)) for arguments, _ in COMMANDS.get(name, {}).values()]
        bad = {file for file in files_of(parser) for each in given if "bad" in str(getattr(each, file))}
        assert bad == files_of(parser), name


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad") / "good"
    folder.mkdir()
    for name, text in GOOD.items():
        (folder / name).write_text(text)
    pifolab.run_text(NETWORK).save(folder / "ran", figures=False)
    assert main(["study", "run", str(folder / "study.toml"), "--store", str(folder / "kept"), "--quiet"]) == 0
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
    assert len(cases) == sum(len(kinds_of(slot)) for slot in COMMANDS[command])


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


def test_a_log_on_a_full_disk_is_named(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    command = ["study", "run", str(good / "study.toml"), "--store", str(tmp_path / "store")]
    assert main([*command, "--log-json", "/dev/full"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "pifolab: /dev/full: No space left on device"
