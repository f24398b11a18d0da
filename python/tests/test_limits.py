"""What a run does at its edges: Ctrl-C, a full disk, memory, answers of plug-ins that make no sense, no terminal."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from waiting import COMMAND, HANGS_S, Running, complaints

import pifolab
from pifolab import _pifolab
from pifolab.cli import progress

LINK = """
duration_ms = 1
link = { rate_gbps = 10 }
workload = { arrivals = "constant", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }
"""


LOOPS = {
    "while a packet arrives": "def enqueue(self, packet, now_ns):\n        begin()\n        while True: pass",
    "and nothing else is caught": "def enqueue(self, packet, now_ns):\n        begin()\n        while True:\n"
    "            try:\n                while True: pass\n            except Exception: pass",
    "while it is made": "def __init__(self):\n        begin()\n        while True: pass\n"
    "    def enqueue(self, packet, now_ns): pass",
}


@pytest.mark.parametrize("body", LOOPS.values(), ids=LOOPS.keys())
def test_a_plug_in_that_loops_ends_with_one_ctrl_c(tmp_path: Path, body: str):
    (tmp_path / "mine.py").write_text(
        "import pathlib\nimport pifolab\n\ndef begin():\n    pathlib.Path('begun').touch()\n\n"
        f"class Mine(pifolab.PythonScheduler):\n    {body}\n"
        "    def dequeue(self, now_ns): return None\n"
    )
    (tmp_path / "x.toml").write_text(LINK + '[[scheduler]]\nname = "mine"\n')
    with Running("run", "x.toml", "--python", "mine.py", cwd=tmp_path) as running:
        running.reaches((tmp_path / "begun").exists, "the plug-in loops")
        assert running.interrupt() == 130, running.messages
        assert running.messages.splitlines()[-1] == "pifolab: interrupted"
        assert "Traceback" not in running.messages
    assert not (tmp_path / "out").exists()


def trace(file: Path, rows: int) -> Path:
    lines = "".join(f"{at * 1000},{64 + at % 1400},{at % 97},f{at % 50}\n" for at in range(rows))
    file.write_text(f"time_ns,size_bytes,rank,flow\n{lines}")
    return file


@pytest.mark.parametrize("stage", ["it reads", "it tunes"])
def test_advise_ends_with_one_ctrl_c_and_advises_nothing(tmp_path: Path, stage: str):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    file = endless_trace(tmp_path) if stage == "it reads" else trace(tmp_path / "trace.csv", 400_000)
    with Running("advise", file, cwd=tmp_path, environment={"TMPDIR": str(temporary)}) as running:
        if stage == "it reads":
            running.reads(file, 20_000)
        else:
            running.reaches(lambda: any(temporary.glob("pifolab-*/*")), "a piece of the trace is replayed")
        status = running.interrupt()
        assert (status, running.out, running.messages) == (130, "", "pifolab: interrupted\n")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted([file.name, "tmp"])
    assert list(temporary.iterdir()) == []


def test_ctrl_c_while_modules_are_loaded_is_one_line():
    code = """
import builtins, sys

load = builtins.__import__

def interrupted(name, *rest, **more):
    if name == "pifolab.cli.commands":
        raise KeyboardInterrupt
    return load(name, *rest, **more)

builtins.__import__ = interrupted
from pifolab.cli import main
sys.exit(main(["show", "schedulers"]))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS_S, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "pifolab: interrupted\n")


@pytest.mark.parametrize("module", ["pifolab", "pifolab._pifolab", "pifolab.runs", "pifolab.cli.commands", "argparse"])
def test_ctrl_c_in_the_first_moment_is_one_line(tmp_path: Path, module: str):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder)\n"
    )
    ended = subprocess.run(
        [COMMAND, "show", "schedulers"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        # As a shell starts it: whoever runs the tests in the background has Ctrl-C ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "pifolab: interrupted\n")


SEEDS = """
duration_ms = 1
[topology]
kind = "single-switch"
hosts = 4
rate_gbps = 1
delay_us = 1
[workload.flows]
arrivals = "poisson"
load = 0.8
sizes = "fixed"
size_bytes = 30_000
pairs = "uniform"
[transport]
name = "pfabric"
[record]
packet_log = ["all"]
[[scheduler]]
name = "fifo"
[[scheduler]]
name = "pifo"
"""


def interrupts(seed: int) -> type[pifolab.PythonObserver]:
    """Return an observer that presses Ctrl-C in the run of the `seed`-th seed, which is too short to be stopped."""
    made = []

    class Interrupts(pifolab.PythonObserver):
        def __init__(self) -> None:
            made.append(self)
            self.left = 3 if len(made) == 2 * seed - 1 else -1

        def on_dequeue(self, port: int, packet: object, queue: int, now_ns: int) -> None:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGINT)

    return Interrupts


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ctrl_c_between_two_seeds_is_not_lost(seed: int):
    run = pifolab.run_text(SEEDS, seeds=[5, 6, 7], observers={"interrupts": interrupts(seed)})
    assert run.interrupted
    assert run.seeds == [5, 6, 7][:seed]
    # In the last one nothing may have been left to do.
    assert run.partial or seed == 3


def test_an_interrupted_run_keeps_the_first_rows_of_all_seeds(monkeypatch: pytest.MonkeyPatch):
    whole = pifolab.run_text(SEEDS, seeds=[5, 6])
    monkeypatch.setattr("pifolab.runs.INTERRUPTED_ROWS", 400)
    for _ in range(20):
        part = pifolab.run_text(SEEDS, seeds=[5, 6, 7], observers={"interrupts": interrupts(2)})
        assert part.interrupted
        # On a busy machine even a short run may be stopped before its end; then it has fewer rows.
        if part.tables["packet_log"].height >= 400:
            break
    assert whole.tables["packet_log"].height > 4000 == 10 * part.tables["packet_log"].height
    for seed, runs in zip([5, 6], part.manifest["runs"], strict=True):
        for one in runs["schedulers"]:
            both = [run.tables["packet_log"].filter(seed=seed, scheduler=one["scheduler"]) for run in (whole, part)]
            assert both[0].head(100).equals(both[1])
            said = (
                f"seed {seed}: {one['scheduler']}: interrupted: packet_log has the first 100 of {both[0].height} rows"
            )
            assert part.warnings.count(said) == 1
            assert one["rows_left_out"]["packet_log"] == both[0].height - 100
    assert len([said for said in part.warnings if "packet_log" in said]) == 4
    # Small tables are whole.
    assert part.tables["ports"].height == 2 * 2 * 8


def test_ctrl_c_does_not_wait_for_a_table_that_is_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run = pifolab.run_text(SEEDS, seeds=[5])
    begun, go_on = threading.Event(), threading.Event()

    def write(*given: object, **options: object) -> None:
        """As compiled code, it does not look for signals."""
        begun.set()
        while not go_on.is_set():
            with contextlib.suppress(KeyboardInterrupt):
                go_on.wait(HANGS_S)
                go_on.set()

    def press() -> None:
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("polars.DataFrame.write_parquet", write)
    presses = threading.Thread(target=press)
    presses.start()
    with pytest.raises(KeyboardInterrupt):
        run.save(tmp_path / "run", figures=False)
    go_on.set()
    presses.join()
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_tables_are_copied_leaves_the_first_rows_of_each_scheduler():
    """Ctrl-C at any look of the compiled part: it copies no more rows than it was asked for."""
    text = LINK + 'metrics.sample_every_packets = 1\nscheduler = [{ name = "fifo" }, { name = "sp-pifo" }]\n'
    looks = {"seen": 0, "press": -1}

    def look(*_: object) -> None:
        looks["seen"] += 1
        if looks["seen"] == looks["press"]:
            raise KeyboardInterrupt

    def run(press: int) -> tuple[bool, dict[str, dict[str, tuple[str, bytes]]], dict[str, list[tuple[str, int, int]]]]:
        looks.update(seen=0, press=press)
        signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
        try:
            of = _pifolab.run_scenario(
                text, "x.toml", [("duration_ms", "40")], seed=1, workers=1, interrupted_rows=1000
            )
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return of["interrupted"], of["tables"], of["cut"]

    def times(tables: dict[str, dict[str, tuple[str, bytes]]], table: str) -> list[int]:
        return memoryview(tables[table]["time_ns"][1]).cast("q").tolist()

    before = signal.signal(signal.SIGALRM, look)
    try:
        _, whole, cut = run(-1)
        assert not cut
        # The looks before these are those of the simulation.
        for press in range(looks["seen"], 0, -1):
            with contextlib.suppress(KeyboardInterrupt):
                interrupted, some, cut = run(press)
                if "queue_samples" in cut:
                    break
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted
    everything = times(whole, "queue_samples")
    assert {(shown, of > shown) for _, shown, of in cut["queue_samples"]} == {(500, True)}
    first = cut["queue_samples"][0][2]
    assert times(some, "queue_samples") == everything[:500] + everything[first : first + 500]
    assert {kind for kind, _ in some["queue_samples"].values()} == {"i64", "optional", "text"}
    assert [len(some["queue_samples"]["bound"][1][part]) for part in (0, 1)] == [8000, 1000]
    assert len(some["queue_samples"]["scheduler"][1][1]) == 4000


def pressing(work: Callable[..., object], go_on: threading.Event) -> Callable[..., object]:
    """Return `work` with Ctrl-C at its beginning, which waits for it if it is not on a thread of its own."""
    pressed = threading.Event()

    def wrapped(*given: object, **options: object) -> object:
        if not pressed.is_set():
            pressed.set()
            assert threading.current_thread() is not threading.main_thread()
            os.kill(os.getpid(), signal.SIGINT)
            assert go_on.wait(HANGS_S)
        return work(*given, **options)

    return wrapped


def test_ctrl_c_does_not_wait_for_frames_that_are_being_made(monkeypatch: pytest.MonkeyPatch):
    from pifolab import runs

    go_on = threading.Event()
    monkeypatch.setattr(runs, "INTERRUPTED_ROWS", 400)
    monkeypatch.setattr(runs, "frame_of", pressing(runs.frame_of, go_on))
    run = pifolab.run_text(SEEDS, seeds=[5])
    go_on.set()
    assert run.interrupted
    assert run.tables["packet_log"].height == 400
    assert [said for said in run.warnings if "packet_log has the first 200 of" in said] == run.warnings[-2:]


def test_ctrl_c_does_not_wait_for_what_a_figure_shows(monkeypatch: pytest.MonkeyPatch):
    from pifolab.figures import run as figures

    run = pifolab.run_text(LINK + 'metrics.sample_every_packets = 1\n[[scheduler]]\nname = "fifo"\n')
    go_on = threading.Event()
    monkeypatch.setattr(figures, "_thinned", pressing(figures._thinned, go_on))
    with pytest.raises(KeyboardInterrupt):
        figures.draw_run(run)
    go_on.set()


def test_what_is_in_memory_is_not_taken_apart_after_ctrl_c(tmp_path: Path):
    (tmp_path / "mine.py").write_text(
        "import atexit, pathlib, time\nimport pifolab\n\n"
        "class Large:\n    def __del__(self, touch=pathlib.Path('apart').touch): touch()\n\n"
        "large = Large()\natexit.register(pathlib.Path('done').touch)\n\n"
        "class Mine(pifolab.PythonScheduler):\n"
        # It leaves the interpreter to what ends the command.
        "    def enqueue(self, packet, now_ns):\n        pathlib.Path('begun').touch()\n"
        "        while True: time.sleep(0.01)\n"
        "    def dequeue(self, now_ns): return None\n"
    )
    (tmp_path / "x.toml").write_text(LINK + '[[scheduler]]\nname = "mine"\n')
    with Running("run", "x.toml", "--python", "mine.py", cwd=tmp_path) as running:
        running.reaches((tmp_path / "begun").exists, "the plug-in loops")
        assert (running.interrupt(), running.messages.splitlines()[-1]) == (130, "pifolab: interrupted")
    # What somebody wants to do at the end is done.
    assert (tmp_path / "done").exists()
    assert not (tmp_path / "apart").exists()


def test_the_demo_shows_no_table_of_a_part(tmp_path: Path):
    with Running("demo", cwd=tmp_path) as running:
        # The motivating example has been told, the runs have begun.
        running.reaches(lambda: "PIFO" in running.out, "the first table")
        assert (running.interrupt(), running.messages) == (130, "pifolab: interrupted\n")
        # Each table that is shown is whole: it has all seven schedulers.
        for table in running.out.split("\n\n")[2:]:
            if table.startswith("scheduler"):
                assert len(table.strip().splitlines()) > 7, running.out
    assert not (tmp_path / "out" / "demo").exists()


#: So many packets that no machine is through with them on the same day.
ENDLESS = LINK.replace("duration_ms = 1", "packets = 1_000_000_000_000") + '[[scheduler]]\nname = "pifo"\n'


def test_a_long_run_that_is_interrupted_saves_its_tables_at_once(tmp_path: Path):
    (tmp_path / "x.toml").write_text(ENDLESS)
    with Running("run", "x.toml", cwd=tmp_path) as running:
        running.tells("the run will take about")
        assert running.interrupt() == 130
        assert "interrupted" in running.messages
        assert "Traceback" not in running.messages


def test_reading_a_long_trace_ends_with_ctrl_c(tmp_path: Path):
    file = endless_trace(tmp_path)
    with Running("compare", "--trace", file, "--rank", "column", "--rate", "10G", cwd=tmp_path) as running:
        running.reads(file, 20_000)
        assert (running.interrupt(), running.messages) == (130, "pifolab: interrupted\n")


def limited(
    folder: Path, file_bytes: int, *arguments: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command where no file can be larger, as on a disk that is full; without its progress."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))

    ran = subprocess.run(
        [COMMAND, *arguments],
        cwd=folder,
        env=os.environ | (environment or {}),
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        preexec_fn=limit,
    )
    ran.stderr = "".join(f"{line}\n" for line in complaints(ran.stderr))
    return ran


@pytest.mark.parametrize(("file_bytes", "file"), [(100, "manifest.json"), (9_000, "parquet"), (24_000, "figures/")])
def test_a_full_disk_is_one_line_that_names_the_file(tmp_path: Path, file_bytes: int, file: str):
    (tmp_path / "x.toml").write_text(LINK + '[[scheduler]]\nname = "pifo"\n[[scheduler]]\nname = "sp-pifo"\n')
    # As in a new environment: Matplotlib has to write which fonts there are, too, and cannot.
    new = {"MPLCONFIGDIR": str(tmp_path / "matplotlib")}
    ran = limited(tmp_path, file_bytes, "run", "x.toml", environment=new)
    assert ran.returncode == 2, ran.stderr
    (line,) = ran.stderr.splitlines()
    assert line.startswith("pifolab: out/x/")
    assert file in line
    assert line.endswith(": cannot be written: File too large")
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["run", "advise"])
def test_a_report_that_does_not_fit_on_the_disk_is_named(tmp_path: Path, command: str):
    (tmp_path / "x.toml").write_text(LINK + '[[scheduler]]\nname = "pifo"\n[[scheduler]]\nname = "sp-pifo"\n')
    rows = "".join(f"{time * 1_000},1500,{time * 7 % 100},{time % 9}\n" for time in range(2_000))
    (tmp_path / "t.csv").write_text("time_ns,size_bytes,rank,flow\n" + rows)
    arguments = ["run", "x.toml"] if command == "run" else ["advise", "t.csv"]
    ran = limited(tmp_path, 1 << 30, *arguments, "--out", "whole")
    assert ran.returncode == 0, ran.stderr
    sizes = sorted(file.stat().st_size for file in (tmp_path / "whole").rglob("*") if file.is_file())
    # The report has all figures in it: it is the largest file by far.
    assert (tmp_path / "whole" / "report.html").stat().st_size == sizes[-1] > sizes[-2] + 2_000
    ran = limited(tmp_path, sizes[-2] + 1_000, *arguments, "--out", "full")
    assert (ran.returncode, ran.stderr.splitlines()[-1:]) == (
        2,
        ["pifolab: full/report.html: cannot be written: File too large"],
    )
    assert not (tmp_path / "full").exists()


#: Everything that takes a file, with the device that never ends in its place.
NEVER_END = {
    "scenario": ["run", "zero.toml"],
    "plug-in": ["run", "x.toml", "--python", "zero.py"],
    "sweep": ["study", "run", "zero.toml", "--store", "store"],
    "scenario of a sweep": ["study", "run", "of-zero.toml", "--store", "store"],
    "plug-in of a sweep": ["study", "run", "with-zero.toml", "--store", "store"],
    "store": ["study", "show", "zero-store", "--runs"],
    "vector": ["conformance", "zero.json"],
    "earlier answer": ["attack", "sp-pifo", "--packets", "6", "--rank-range", "1..4", "--resume", "zero.json"],
    "registry": ["reproduce", "--registry", "zero-registry"],
    "trace": ["compare", "--trace", "zero.csv", "--rank", "column", "--rate", "1G"],
    "trace to advise on": ["advise", "zero.csv"],
    "flow list": ["run", "net.toml", "--flows", "zero.csv"],
    "manifest": ["flows", "compare", "zero-run", "zero-run"],
}


@pytest.mark.parametrize("kind", NEVER_END)
def test_a_file_that_never_ends_is_refused_whatever_it_is_meant_to_be(tmp_path: Path, kind: str):
    (tmp_path / "x.toml").write_text(LINK + '[[scheduler]]\nname = "pifo"\n')
    (tmp_path / "net.toml").write_text(NETWORK.replace("STARTS", "1000") + '[[scheduler]]\nname = "fifo"\n')
    (tmp_path / "of-zero.toml").write_text('scenario = "zero.toml"\n')
    (tmp_path / "with-zero.toml").write_text('scenario = "x.toml"\nschedulers.mine = "zero.py:Mine"\n')
    for name in ("zero-store", "zero-registry", "zero-run"):
        (tmp_path / name).mkdir()
    for name in ("zero-store/pifolab-store.json", "zero-registry/words.toml", "zero-run/flows.parquet"):
        (tmp_path / name).symlink_to("/dev/zero")
    for ending in ("toml", "py", "json", "csv"):
        (tmp_path / f"zero.{ending}").symlink_to("/dev/zero")

    def limit() -> None:
        # What goes on reading shall not take the machine with it.
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))

    ran = subprocess.run(
        [COMMAND, *NEVER_END[kind]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        preexec_fn=limit,
        env=os.environ | {"POLARS_MAX_THREADS": "1"},
    )
    assert ran.returncode == 2, ran.stderr
    (line,) = ran.stderr.splitlines()
    assert line.startswith("pifolab")
    assert "zero" in line
    assert "emory" not in line


WORST = ["attack", "sp-pifo", "--packets", "6", "--rank-range", "1..4"]


@pytest.mark.parametrize(
    ("file_bytes", "command", "file"),
    [
        (3_000, ["study", "export", "store", "--table", "ranks", "--out", "out/e.csv"], "e.csv"),
        (3_000, ["study", "export", "store", "--table", "ranks", "--out", "out/e.parquet"], "e.parquet"),
        (100, [*WORST, "--out", "out/w.json"], "w-a.json"),
        (2_000, [*WORST, "--out", "out/w.html"], "w.html"),
    ],
)
def test_a_file_that_does_not_fit_on_the_disk_is_not_left_in_half(
    tmp_path: Path, file_bytes: int, command: list[str], file: str
):
    (tmp_path / "x.toml").write_text(LINK + '[[scheduler]]\nname = "pifo"\n')
    (tmp_path / "s.toml").write_text('scenario = "x.toml"\nmetrics = []\nseeds = [1]\n')
    if command[0] == "study":
        assert limited(tmp_path, 1 << 30, "study", "run", "s.toml", "--store", "store").returncode == 0
    (tmp_path / "out").mkdir()
    ran = limited(tmp_path, file_bytes, *command)
    assert (ran.returncode, ran.stderr) == (2, f"pifolab: out/{file}: cannot be written: File too large\n")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.thorough
def test_a_figure_that_does_not_fit_on_the_disk_is_not_left_in_half(tmp_path: Path):
    (tmp_path / "x.toml").write_text(LINK + '[[scheduler]]\nname = "pifo"\n[[scheduler]]\nname = "sp-pifo"\n')
    (tmp_path / "s.toml").write_text('scenario = "x.toml"\nmetrics = ["inversions"]\nseeds = [1, 2, 3]\n')
    ran = limited(tmp_path, 1 << 30, "study", "run", "s.toml", "--store", "store")
    assert ran.returncode == 0, ran.stderr
    ran = limited(tmp_path, 4_000, "study", "export", "store", "--out", "drawn", "--figures")
    assert ran.returncode == 2, ran.stderr
    (line,) = ran.stderr.splitlines()
    assert line.startswith("pifolab: drawn/s-inversions.")
    assert line.endswith(": cannot be written: File too large")
    assert list((tmp_path / "drawn").iterdir()) == []


@pytest.mark.parametrize("ending", ["pdf", "png", "svg"])
def test_a_figure_that_fits_in_part_is_an_error_that_names_it_wherever_the_disk_is_full(tmp_path: Path, ending: str):
    from pifolab.figures.style import save, subplots

    figure, axes = subplots(figsize=(3.4, 2.0))
    axes.plot([1, 2], [3, 4])
    (whole,) = save(figure, tmp_path / "whole", [ending])
    size = whole.stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        for most in range(1, size, size // 12):
            # Python ignores the signal that comes with it.
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
            with pytest.raises(OSError, match="File too large") as raised:
                save(figure, tmp_path / "part", [ending])
            assert raised.value.filename == str(tmp_path / f"part.{ending}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == [whole]


def answering(enqueue: str = "return None", dequeue: str = "return None", queues: int = 2, bounds: str = "None"):
    scope: dict[str, object] = {}
    exec(
        "import pifolab\nclass Mine(pifolab.PythonScheduler):\n"
        f"    queues = {queues}\n    bounds = {bounds}\n    held = None\n"
        f"    def enqueue(self, packet, now_ns):\n        self.held = packet\n        {enqueue}\n"
        f"    def dequeue(self, now_ns):\n        held, self.held = self.held, None\n        {dequeue}\n",
        scope,
    )
    return scope["Mine"]


@pytest.mark.parametrize(
    ("mine", "message"),
    [
        (answering(enqueue="return -1"), "enqueue returned queue -1: expected one from 0 to 1"),
        (answering(enqueue="return 2**70"), f"enqueue returned queue {2**70}: expected one from 0 to 1"),
        (answering(enqueue="return 2"), "enqueue returned queue 2: expected one from 0 to 1"),
        (
            answering(dequeue="return held", bounds=f"[{2**70}, 0]"),
            rf"bounds\[0\] = {2**70}: expected None or an integer from -2\^63 to 2\^63 - 1",
        ),
        (
            answering(dequeue="return pifolab.NotBefore(now_ns)"),
            r"dequeue returned NotBefore\(time_ns=0\) at 0 ps: expected a later time",
        ),
        (answering(dequeue="return pifolab.NotBefore(-1)"), "time_ns = -1: expected an integer from 0 to"),
        (answering(queues=2**70), f"queues = {2**70}: expected an integer from 1 to 1024"),
        (answering(queues=True), "queues = True: expected an integer from 1 to 1024"),
        (answering(dequeue="return held", bounds="[True, 0]"), r"bounds\[0\] = True: expected None or an integer"),
    ],
)
def test_an_answer_that_makes_no_sense_is_told_with_its_value(mine: type[pifolab.PythonScheduler], message: str):
    with pytest.raises((ValueError, pifolab.InputError), match=message):
        pifolab.run_text(LINK + '[[scheduler]]\nname = "mine"\n', schedulers={"mine": mine})


@pytest.mark.parametrize("answer", ["True", "False", "-1", "2**63", "1.0", "None", "'7'"])
def test_a_rank_that_is_none_is_told_with_its_value(answer: str):
    scope: dict[str, type[pifolab.PythonRank]] = {}
    code = "import pifolab\nclass Mine(pifolab.PythonRank):\n    def rank(self, packet, now_ns):\n        return "
    exec(code + answer, scope)
    message = f"rank returned {eval(answer)}: expected an integer from 0 to 2^63 - 1"
    text = LINK + 'rank = { name = "mine" }\nscheduler = [{ name = "pifo" }]\n'
    with pytest.raises(RuntimeError, match=re.escape(message)):
        pifolab.run_text(text, ranks={"mine": scope["Mine"]})


@pytest.mark.parametrize("value", [True, float("nan"), 1.0, "7", None])
def test_what_is_no_integer_is_told_with_its_name(value: object):
    kind = type(value).__name__
    with pytest.raises(TypeError, match=f"^time_ns: expected an integer from 0 to 18446744073709551, got {kind}$"):
        pifolab.NotBefore(value)  # type: ignore[arg-type]
    pifo = pifolab.Pifo(capacity_packets=3)
    if value is not None:
        with pytest.raises(TypeError, match=f"^rank: expected an integer from 0 to 2.63 - 1, got {kind}$"):
            pifo.enqueue(value)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=f"^size_bytes: expected an integer from 0 to 4294967295, got {kind}$"):
            pifo.enqueue(1, size_bytes=value)  # type: ignore[arg-type]
    assert len(pifo) == 0


@pytest.mark.parametrize("workers", [0, -1, 2**70, True, 1.0, "2"])
def test_a_number_of_workers_that_is_none_is_told_with_its_value(workers: object):
    text = LINK + '[[scheduler]]\nname = "pifo"\n'
    with pytest.raises(pifolab.InputError, match=re.escape(f"workers = {workers!r}: expected an integer from 1")):
        pifolab.run_text(text, workers=workers)  # type: ignore[arg-type]


def test_not_before_is_made_as_the_page_says_and_holds_packets_back():
    later = pifolab.NotBefore(7)
    assert (later.time_ns, repr(later), later == pifolab.NotBefore(7)) == (7, "NotBefore(time_ns=7)", True)
    for wrong in (-1, 2**70, 2**64):
        with pytest.raises(pifolab.InputError, match=f"time_ns = {wrong}: expected an integer from 0 to"):
            pifolab.NotBefore(wrong)

    class Waits(pifolab.PythonScheduler):
        def __init__(self) -> None:
            self.held: list[pifolab.Packet] = []

        def enqueue(self, packet: pifolab.Packet, now_ns: int) -> None:
            self.held.append(packet)

        def dequeue(self, now_ns: int) -> pifolab.Packet | pifolab.NotBefore | None:
            if self.held and now_ns < 5_000:
                return pifolab.NotBefore(5_000)
            return self.held.pop(0) if self.held else None

    result = pifolab.run_text(LINK + '[[scheduler]]\nname = "waits"\n', schedulers={"waits": Waits})
    assert result.tables["schedulers"]["sojourn_max_ns"][0] >= 5_000


def test_progress_is_told_without_a_terminal_and_a_long_run_is_announced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    bar = progress.ProgressBar()
    said = []
    for second in range(0, 3_000):
        now[0] = float(second)
        bar.update(pifolab.Progress(second * 1_000_000, 1e10, 0, 1))
        if message := capsys.readouterr().err:
            said.append((second, message))
    assert said[0] == (2, "pifolab: note: the run will take about 2 h 46 min\n")
    assert said[1] == (10, "pifolab: 0/1 runs, 2:46:30 left, 10,000,000 packets, 1 M packets/s\n")
    # After twice the time each, and then every ten minutes.
    assert [second for second, _ in said[2:]] == [20, 40, 80, 160, 320, 640, 1240, 1840, 2440]


@pytest.mark.parametrize(("rate", "said"), [(50, "20 s and 1.5 GB of memory"), (150, None)])
def test_a_run_of_over_ten_seconds_is_announced_with_its_memory_and_without_the_time_of_its_start(
    rate: int, said: str | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    bar = progress.ProgressBar()
    # A large network takes its time before the first packet.
    for tenth in range(0, 40):
        now[0] = 3.0 + tenth / 10
        bar.update(pifolab.Progress(tenth * rate // 10, 850.0, 0, 1, memory_bytes=1.5e9))
    expected = "" if said is None else f"pifolab: note: the run will take about {said}\n"
    assert capsys.readouterr().err == expected


def test_a_run_of_ten_billion_packets_says_at_once_how_long_it_will_take(tmp_path: Path):
    (tmp_path / "x.toml").write_text(
        LINK.replace("duration_ms = 1", "packets = 10_000_000_000") + '[[scheduler]]\nname = "fifo"\n'
    )
    with Running("run", "x.toml", cwd=tmp_path) as running:
        running.reaches(lambda: "\n" in running.messages, "a line")
        assert running.messages.splitlines()[0].startswith("pifolab: note: the run will take about ")


#: What files begin with, and a packet: a row, or the headers of a UDP datagram of 1500 bytes.
RECORDS = {
    "csv": (b"time_ns,size_bytes,rank,flow\n", b"5,1500,7,f\n"),
    "pcap": (
        bytes.fromhex("d4c3b2a1 0200 0400 00000000 00000000 ffff0000 01000000"),
        bytes.fromhex(
            "05000000 00000000 2a000000 dc050000 020000000001 020000000002 0800"
            "450005ce 00000000 4011 0000 0a000001 0a000002 1000 2000 05ba 0000"
        ),
    ),
}


def endless_trace(folder: Path, rows: int = 3_000_000_000, form: str = "csv") -> Path:
    """Return a small file of many packets: gzip members can stand behind one another."""
    each = 1_000_000
    header, record = RECORDS[form]
    member = gzip.compress(record * each, 1)
    file = folder / f"long.{form}.gz"
    with file.open("wb") as out:
        out.write(gzip.compress(header))
        for _ in range(rows // each):
            out.write(member)
    return file


#: The memory of a process that looks into a trace, beyond what it had before.
LOOK = """
import json, sys
import polars, numpy
import pifolab
from pifolab.sweep.job import peak_memory_bytes as peak
pifolab.summarise_trace(sys.argv[2])
before = peak()
try:
    if sys.argv[1] == "trace":
        pifolab.summarise_trace(sys.argv[3])
    else:
        from pifolab.advise import advise
        sys.modules["pifolab.advise"].MOST_PACKETS = 2_000_000
        advise(sys.argv[3])
except pifolab.InputError as error:
    print(error, file=sys.stderr)
print(json.dumps(peak() - before))
"""


@pytest.mark.parametrize("form", RECORDS)
@pytest.mark.parametrize(("command", "most_bytes"), [("trace", 40e6), ("advise", 300e6)])
def test_a_trace_of_millions_of_packets_is_summarised_and_advised_on_in_bounded_memory(
    command: str, most_bytes: float, form: str, tmp_path: Path
):
    short = tmp_path / f"short.{form}"
    header, record = RECORDS[form]
    short.write_bytes(header + 2 * record)
    long = endless_trace(tmp_path, 4_000_000, form)
    ran = subprocess.run(
        [sys.executable, "-c", LOOK, command, str(short), str(long)],
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=True,
    )
    # As tuples of Python two million packets would be 500 MB, and the columns of four million 160 MB.
    assert float(ran.stdout) < most_bytes
    expected = "" if command == "trace" else f"{long}: has over 2,000,000 packets: expected at most that many"
    assert ran.stderr.startswith(expected)
    assert (ran.stderr == "") == (command == "trace")


#: Scenarios that take far more than 3 GB, and how the line about it begins.
TOO_LARGE = {
    "records": (
        LINK.replace("duration_ms = 1", "duration_s = 30")
        + 'metrics = { sample_every_packets = 1, max_samples = 100_000_000 }\n[[scheduler]]\nname = "fifo"\n',
        " the run: would need about ",
    ),
    "ports": (
        'duration_ms = 1\n[topology]\nkind = "leaf-spine"\nleaves = 20_000\nspines = 4_000\nhosts_per_leaf = 4\n'
        "access_rate_gbps = 1\nfabric_rate_gbps = 1\ndelay_us = 1\n",
        "4: topology.leaves = 20000: a network of 160160000 ports, which take over 48.048 GB of memory: expected ",
    ),
}


@pytest.mark.parametrize("kind", TOO_LARGE)
def test_a_run_without_enough_address_space_ends_with_one_line(kind: str, tmp_path: Path):
    text, begins = TOO_LARGE[kind]
    (tmp_path / "x.toml").write_text(text)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

    ran = subprocess.run(
        [COMMAND, "run", "x.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        preexec_fn=limit,
        env=os.environ | {"POLARS_MAX_THREADS": "1"},
    )
    (line,) = ran.stderr.splitlines()
    assert ran.returncode == 2
    assert line.startswith(f"pifolab: x.toml:{begins}")
    assert "available" in line
    assert sorted(tmp_path.iterdir()) == [tmp_path / "x.toml"]


#: What a process measures of itself: the run's memory, beyond what it had before.
MEASURE = """
import json, sys
import polars, numpy
import pifolab
from pifolab.sweep.job import peak_memory_bytes as peak
pifolab.run_text(WARM, workers=1)
before = peak()
pifolab.run_text(sys.stdin.read(), workers=1)
print(json.dumps({"before": before, "after": peak()}))
""".replace("WARM", repr(LINK + 'scheduler = [{ name = "fifo" }]'))


def measured(text: str) -> float:
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE], input=text, capture_output=True, text=True, timeout=HANGS_S, check=True
    )
    found = json.loads(ran.stdout)
    return float(found["after"] - found["before"])


@pytest.mark.thorough
@pytest.mark.parametrize(("form", "rank"), [("csv", "column"), ("pcap", "dscp")])
def test_a_long_trace_is_not_held_in_memory(form: str, rank: str, tmp_path: Path):
    def takes(rows: int) -> float:
        file = endless_trace(tmp_path, rows, form)
        assert file.stat().st_size < 10_000_000
        return measured(
            f'link = {{ rate_gbps = 10 }}\nworkload = {{ trace = {json.dumps(str(file))}, trace_rank = "{rank}" }}\n'
            'scheduler = [{ name = "fifo" }]\n'
        )

    # Held in memory the further packets alone would be 144 MB.
    assert takes(12_000_000) - takes(6_000_000) < 30e6


NETWORK = """
duration_ms = 20
topology = { kind = "leaf-spine", leaves = 4, spines = 4, hosts_per_leaf = 16, access_rate_gbps = 1, \
fabric_rate_gbps = 4, delay_us = 1 }
transport = { name = "newreno" }
[workload.flows]
arrivals = "poisson"
starts_per_s = STARTS
sizes = "fixed"
size_bytes = 1460
pairs = "uniform"
"""

PATHS: dict[str, Callable[[], str]] = {
    "records of one link": lambda: (
        LINK.replace("duration_ms = 1", "duration_ms = 200")
        + 'metrics = { sample_every_packets = 100 }\nscheduler = [{ name = "sp-pifo", queues = 1024 }]\n'
    ),
    "flows of a network": lambda: NETWORK.replace("STARTS", "20_000_000") + '[[scheduler]]\nname = "fifo"\n',
    "a thousand queues at each port": lambda: (
        NETWORK.replace("STARTS", "4_000_000")
        + '[[scheduler]]\nname = "sp-pifo"\nqueues = 1024\nqueue_capacity_packets = 80\n'
    ),
    "a window at each of thousands of ports": lambda: (
        NETWORK.replace('"leaf-spine", leaves = 4, spines = 4, hosts_per_leaf = 16', '"fat-tree", k = 12')
        .replace("duration_ms = 20", "duration_ms = 2")
        .replace("STARTS", "1_000_000")
        + '[[scheduler]]\nname = "packs"\n'
    ),
    "a window and a long queue on one link": lambda: (
        LINK.replace("duration_ms = 1", "duration_s = 2").replace("rate_gbps = 11", "rate_gbps = 30")
        + 'scheduler = [{ name = "aifo", window = 3_000_000, capacity_packets = 2_000_000, k = 0.9 }]\n'
    ),
    "a million flows on one link": lambda: (
        LINK.replace("duration_ms = 1", "duration_s = 2").replace("size_bytes", "flows = 1_000_000, size_bytes")
        + 'scheduler = [{ name = "afq" }]\n'
    ),
    "queues for many flows at each port": lambda: (
        NETWORK.replace("STARTS", "1_000") + '[[scheduler]]\nname = "fq-codel"\nbuckets = 20_000\n'
    ),
    "a window in a leaf of the tree at each of thousands of ports": lambda: (
        NETWORK.replace('"leaf-spine", leaves = 4, spines = 4, hosts_per_leaf = 16', '"fat-tree", k = 12')
        .replace("duration_ms = 20", "duration_ms = 2")
        .replace("STARTS", "1_000")
        + '[[scheduler]]\nname = "tree"\nchild = [{ name = "packs", window = 50_000, takes = "rest" }]\n'
    ),
    "many queues at each port, of which few get packets": lambda: (
        NETWORK.replace('"leaf-spine", leaves = 4, spines = 4, hosts_per_leaf = 16', '"fat-tree", k = 8').replace(
            "STARTS", "10_000"
        )
        + '[[scheduler]]\nname = "sp-pifo"\nqueues = 1024\nqueue_capacity_packets = 100_000\n'
        + '[[scheduler]]\nname = "sp-pifo"\nlabel = "bytes"\nqueues = 1024\nqueue_capacity_bytes = 100_000\n'
    ),
    "a packet log of a network": lambda: (
        NETWORK.replace("STARTS", "2_000_000")
        + '[record]\npacket_log = ["all"]\nmax_rows = 10_000_000\n'
        + '[[scheduler]]\nname = "fifo"\n'
    ),
    "samples of a network": lambda: (
        NETWORK.replace("STARTS", "2_000_000")
        + "[record]\nsample_interval_us = 10\n"
        + '[[scheduler]]\nname = "sp-pifo"\n'
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("path", PATHS)
def test_the_estimate_of_memory_holds_for_every_path(path: str):
    text = PATHS[path]()
    estimated = sum(_pifolab.scenario_memory(text, "x.toml", []).values())
    found = measured(text)
    assert found > 40e6, "there would be nothing to measure"
    # Right to a factor of about two; where it errs it says too much rather than too little.
    assert found / 2.0 < estimated < found * 3.0, f"{path}: {estimated / 1e6:.0f} MB told, {found / 1e6:.0f} MB used"


LOADED = """
import sys
from pifolab import _pifolab
from pifolab.cli import main

def run_scenario(*rest, progress, **more):
    progress(1, None, 0, 1, None, 1e6)
    before = set(sys.modules)
    import pifolab.report.run
    from pifolab.runs import frame_of
    frame_of({"time_ns": ("i64", bytes(8)), "scheduler": ("text", (["fifo"], bytes(4)))})
    print(sorted(name for name in set(sys.modules) - before if name.startswith(("pifolab", "polars", "numpy"))))
    raise KeyboardInterrupt

_pifolab.run_scenario = run_scenario
sys.exit(main(["run", "long.toml", "--out", "out"]))
"""


def test_what_an_interrupted_run_needs_to_be_kept_is_loaded_while_it_runs(tmp_path: Path):
    (tmp_path / "long.toml").write_text(SEEDS)
    command = [sys.executable, "-c", LOADED]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (130, "[]\n"), ended.stderr
