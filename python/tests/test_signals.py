"""Ctrl-C and SIGTERM end a command whatever a plug-in does: the second at once, the first after two seconds."""

from __future__ import annotations

import itertools
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from waiting import COMMAND, HANGS_S, Running, wait_until

from pifolab.store import Store

#: What a plug-in can do that no exception ends; the interpreter is free meanwhile, or held.
BLOCKS = {
    "sleeps": "time.sleep(10**6)",
    "waits for a lock that it holds": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "waits for another process": "os.read(os.pipe()[0], 1)",
    "holds the interpreter in a sum": "sum(range(10**13))",
    "holds the interpreter in a regular expression": "re.match('(a+)+$', 'a' * 60 + 'b')",
    "holds the interpreter in a loop of compiled code": "collections.deque(itertools.repeat(0), maxlen=0)",
    "catches every exception": """
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            pass""",
}

PLUG_IN = """
import atexit, collections, itertools, os, pathlib, re, signal, sys, threading, time
import pifolab

def block():
    pathlib.Path("begun").touch()
    BLOCK

AT_IMPORT

class Mine(pifolab.PythonScheduler):
    def __init__(self, capacity_packets=8):
        WHEN_MADE
        self.held = []
    def enqueue(self, packet, now_ns):
        AT_A_PACKET
        self.held.append(packet)
    def dequeue(self, now_ns):
        return self.held.pop(0) if self.held else None

class Sees(pifolab.PythonObserver):
    def table(self):
        IN_A_TABLE
"""

#: Where it does it, by the command.
PLACES = {
    "run": ("AT_IMPORT", "WHEN_MADE", "AT_A_PACKET", "IN_A_TABLE"),
    "compare": ("AT_IMPORT", "WHEN_MADE", "AT_A_PACKET", "IN_A_TABLE"),
    "attack": ("AT_IMPORT", "WHEN_MADE", "AT_A_PACKET"),
    "sweep": ("AT_IMPORT", "WHEN_MADE", "AT_A_PACKET"),
}

SCENARIO = """
duration_us = 100
link = { rate_gbps = 10 }
workload = { arrivals = "constant", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }
scheduler = [{ name = "mine" }]
"""

SWEEP = """
scenario = "x.toml"
metrics = []
seeds = [1, 2, 3]
schedulers.mine = "mine.py:Mine"
"""

COMMANDS = {
    "run": ("run", "x.toml", "--python", "mine.py"),
    "compare": ("compare", "--python", "mine.py", "--rate", "10G", "--arrival-rate", "11G", "--duration", "0.001s",
                "--schedulers", "pifo,mine", "--ranks", "uniform"),
    "attack": ("attack", "mine", "pifo", "--python", "mine.py", "--packets", "4", "--rank-range", "1..3"),
    "sweep": ("study", "run", "s.toml", "--store", "store", "--workers", "2"),
}  # fmt: skip

#: What is sent, each as soon as the one before has been delivered.
SENT = ((signal.SIGINT,), (signal.SIGTERM,), *((one, two) for one in (signal.SIGINT, signal.SIGTERM)
                                               for two in (signal.SIGINT, signal.SIGTERM)))  # fmt: skip

STATUS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}


def write(folder: Path, block: str, place: str, first: str = "") -> None:
    code = PLUG_IN.replace("BLOCK", BLOCKS[block]).replace(place, f"{first}block()")
    for other in ("AT_IMPORT", "WHEN_MADE", "AT_A_PACKET", "IN_A_TABLE"):
        code = code.replace(other, "pass")
    (folder / "mine.py").write_text(code)
    (folder / "x.toml").write_text(SCENARIO)
    (folder / "s.toml").write_text(SWEEP)


def send(running: Running, signals: tuple[signal.Signals, ...]) -> int:
    """Send the signals and return the exit status; two of a kind that are pending together would be one."""
    for one in signals:
        running.process.send_signal(one)
        wait_until(
            lambda one=one: running.process.poll() is not None or not pending(running.process.pid, one),
            f"{one.name} is delivered",
        )
    return running.process.wait(HANGS_S)


def told(messages: str) -> list[str]:
    """Return what a command said beside its note that plug-ins are slow."""
    return [line for line in messages.splitlines() if not line.startswith("pifolab: note:")]


def pending(process: int, one: signal.Signals) -> bool:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return False
    masks = [int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd:", "ShdPnd:"))]
    return any(mask >> (one - 1) & 1 for mask in masks)


def children_of(process: int) -> list[str]:
    return subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True).stdout.split()


def is_gone(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("block", BLOCKS)
def test_the_second_signal_or_two_seconds_end_a_command_whatever_a_plug_in_does(tmp_path: Path, block: str):
    chance = random.Random(block)
    # Each command once, in each place of one of them.
    for at, command in enumerate(PLACES):
        place, sent = chance.choice(PLACES[command]), chance.choice(SENT)
        about = (command, place, [one.name for one in sent])
        folder = tmp_path / str(at)
        folder.mkdir()
        write(folder, block, place)
        before = {file: file.read_bytes() for file in folder.iterdir()}
        with Running(*COMMANDS[command], cwd=folder) as running:
            running.reaches((folder / "begun").exists, f"{about}: the plug-in blocks")
            children = children_of(running.process.pid)
            status = send(running, sent)
            # Whichever of two signals came first may have sufficed.
            assert (status, running.messages.splitlines()[-1].split(";")[0]) in [
                (STATUS[one][0], f"pifolab{head}: {STATUS[one][1]}") for one in sent for head in ("", " study")
            ], (about, status, running.messages)
            assert "Traceback" not in running.messages, about
        wait_until(lambda children=children: all(map(is_gone, children)), f"{about}: the workers end")
        (folder / "begun").unlink()
        # What was there is whole, and what is new is whole: a store without runs.
        store = Store(folder / "store", create=False) if (folder / "store").exists() else None
        if store is not None:
            assert (store.keys(), list(store.leftovers())) == ([], []), about
        left = {file: file.read_bytes() for file in folder.iterdir() if file.is_file()}
        assert left == before, about
        assert [file.name for file in folder.iterdir() if file.is_dir()] == ["store"] * (store is not None), about


def test_the_second_signal_ends_what_a_plug_in_does_when_all_is_done(tmp_path: Path):
    write(tmp_path, "holds the interpreter in a sum", "AT_IMPORT", "atexit.register(block) or 0 and ")
    with Running(*COMMANDS["run"], cwd=tmp_path) as running:
        running.reaches((tmp_path / "begun").exists, "the plug-in blocks")
        # Nobody waits for a plug-in any more: a first signal alone ends nothing that may be at work for the command.
        assert send(running, (signal.SIGINT, signal.SIGINT)) == 130
    assert (tmp_path / "out" / "x" / "report.html").exists()


#: How a plug-in can take the signals; it catches every exception after that.
TAKES = {
    "ignores them": "[signal.signal(one, signal.SIG_IGN) for one in BOTH]",
    "has handlers of its own": "[signal.signal(one, lambda *_: None) for one in BOTH]",
    "ignores them without Python": "[libc.signal(one, ctypes.c_void_p(1)) for one in BOTH]",
    "has compiled handlers": "[libc.signal(one, ctypes.cast(libc.abs, ctypes.c_void_p)) for one in BOTH]",
    "blocks them": "signal.pthread_sigmask(signal.SIG_BLOCK, BOTH)",
    "takes what wakes the interpreter": "signal.set_wakeup_fd(-1)",
    "closes every file": "os.closerange(3, 100_000)",
}

#: It goes on when its handlers are no longer there.
TAKING = """import ctypes
BOTH = (signal.SIGINT, signal.SIGTERM)
libc = ctypes.CDLL(None)

def handlers():
    actions = [ctypes.create_string_buffer(512) for one in BOTH]
    for one, action in zip(BOTH, actions):
        assert libc.sigaction(one, None, action) == 0
    # The first field is the address of the handler.
    return [action.raw[:ctypes.sizeof(ctypes.c_void_p)] for action in actions]

def take():
    before = handlers()
    TAKES
    while handlers() != before:
        time.sleep(0.01)

def block"""


@pytest.mark.parametrize("takes", TAKES)
def test_a_plug_in_that_takes_the_signals_is_ended_by_the_second_or_after_two_seconds(tmp_path: Path, takes: str):
    chance = random.Random(takes)
    # Python lets only the main thread change handlers.
    places = [(command, "AT_IMPORT") for command in PLACES if command != "sweep"]
    (command, place), sent = chance.choice([*places, ("run", "IN_A_TABLE")]), chance.choice(SENT)
    write(tmp_path, "catches every exception", place, "take() or ")
    code = (tmp_path / "mine.py").read_text()
    (tmp_path / "mine.py").write_text(code.replace("def block", TAKING.replace("TAKES", TAKES[takes])))
    with Running(*COMMANDS[command], cwd=tmp_path) as running:
        running.reaches((tmp_path / "begun").exists, f"{command}, {place}: the plug-in blocks")
        status = send(running, sent)
        expected = [(STATUS[one][0], [f"pifolab: {STATUS[one][1]}"]) for one in sent]
        assert (status, told(running.messages)) in expected, (command, place, sent)


def test_processes_that_a_plug_in_ends_are_not_taken_for_the_command(tmp_path: Path):
    write(tmp_path, "sleeps", "AT_IMPORT", "pool() or ")
    code = (tmp_path / "mine.py").read_text()
    pool = """
def pool():
    import multiprocessing
    pool = multiprocessing.get_context("fork").Pool(2)
    pool.map_async(sum, [itertools.repeat(0)] * 2)
    pool.terminate()
    # Longer than a signal lets a plug-in go on.
    time.sleep(3)

def block"""
    (tmp_path / "mine.py").write_text(code.replace("def block", pool).replace("time.sleep(10**6)", "pass"))
    with Running(*COMMANDS["run"], cwd=tmp_path) as running:
        assert (running.process.wait(HANGS_S), told(running.messages)) == (0, [])


def test_a_plug_in_that_ignores_ctrl_c_from_its_import_on_is_ended_by_it(tmp_path: Path):
    ignores = "signal.signal(signal.SIGINT, signal.SIG_IGN) if __name__ != 'x' else "
    write(tmp_path, "sleeps", "AT_IMPORT", ignores)
    code = (tmp_path / "mine.py").read_text()
    (tmp_path / "mine.py").write_text(code.replace("pass\n        self.held.append", "block(); self.held.append"))
    with Running(*COMMANDS["run"], cwd=tmp_path) as running:
        running.reaches((tmp_path / "begun").exists, "the plug-in sleeps")
        assert send(running, (signal.SIGINT,)) == 130


def test_workers_that_hold_the_interpreter_end_with_a_killed_sweep(tmp_path: Path):
    write(tmp_path, "holds the interpreter in a sum", "AT_A_PACKET")
    with Running(*COMMANDS["sweep"], cwd=tmp_path) as running:
        running.reaches((tmp_path / "begun").exists, "the plug-in blocks")
        children = children_of(running.process.pid)
        assert len(children) == 2
    wait_until(lambda: all(map(is_gone, children)), "the workers end")


#: The command, which says when it has read a text and goes on to what is in it.
TELLS = """
import sys
from pifolab import text

def read_text(path, read=text.read_text):
    found = read(path)
    print("read", flush=True)
    return found

text.read_text = read_text
from pifolab.cli import main
sys.exit(main(sys.argv[1:]))
"""

#: Texts of many keys of a kind; Ctrl-C has to be answered wherever the reader of TOML is.
LONG: dict[str, Callable[[int], str]] = {
    "keys": lambda number: f"key{number} = {number}\n",
    "tables": lambda number: f"[table{number}]\n",
    "members": lambda number: "[[scheduler]]\n" if number % 2 else 'name = "fifo"\n',
    "values": lambda number: f"{number},\n" if number else "seeds = [\n",
}


def long_text(kind: str, size: int) -> str:
    """Return a text of `size` characters; it need not be complete."""
    lines = (LONG[kind](number) for number in itertools.count())
    text = "".join(itertools.islice(lines, size // 8))
    while len(text) < size:
        text += text
    return text[:size]


@pytest.mark.parametrize("command", [("run",), ("study", "plan")])
@pytest.mark.parametrize("kind", LONG)
def test_ctrl_c_in_the_longest_text_is_answered_and_a_longer_one_is_refused(
    command: tuple[str, ...], kind: str, tmp_path: Path
):
    chance = random.Random(f"{command} {kind}")
    most = 8 * 2**20
    file = tmp_path / "long.toml"
    file.write_text(long_text(kind, most))
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", TELLS, *command, "long.toml"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "read\n"
            time.sleep(chance.uniform(0, 0.5))
            process.send_signal(signal.SIGINT)
            _, messages = process.communicate(timeout=HANGS_S)
            # It may have refused the text before, and the signal then ends the interpreter that is about to end.
            assert process.returncode in (130, 2, -signal.SIGINT), messages
            has_refused = process.returncode != 130 and messages.startswith("pifolab: long.toml:")
            assert process.returncode == 2 or has_refused or messages == "pifolab: interrupted\n"
    file.write_text(long_text(kind, most + 1))
    done = subprocess.run([COMMAND, *command, "long.toml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.endswith(": expected at most 8 MiB of TOML\n")
    assert len(done.stderr.splitlines()) == 1
