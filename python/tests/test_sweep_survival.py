"""What happens to a sweep must not happen to its store: kills, damage, company, a full disk."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sweeping import SCENARIO, contents, sweep_of
from waiting import HANGS_S, complaints, wait_until

from pifolab.store import Store, StoreFullError
from pifolab.sweep import Sweep, run_sweep

Run = Callable[..., subprocess.CompletedProcess[str]]

PIFOLAB = Path(sys.executable).with_name("pifolab")

RUNS = 24

SWEEP = """
scenario = "base.toml"
metrics = []
seeds = { count = 6 }
tables = ["schedulers", "ranks"]
set.duration_s = 0.02
axis.scheduler = ["pifo", "narrow", "sp-pifo", "fifo"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "base.toml").write_text(SCENARIO)
    file = tmp_path / "many.toml"
    file.write_text(SWEEP)
    return file


def start(file: Path, store: str, *more: str) -> subprocess.Popen[str]:
    command = [str(PIFOLAB), "study", "run", str(file), "--store", store, "--workers", "2", *more]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=file.parent, text=True, **streams)  # type: ignore[call-overload]


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def count_lines(log: Path, kind: str) -> int:
    return log.read_text().count(f'"event": "{kind}"') if log.exists() else 0


def events(log: Path, kind: str) -> list[dict]:
    return [event for line in log.read_text().splitlines() if (event := json.loads(line))["event"] == kind]


@pytest.mark.thorough
def test_killed_at_any_moment_a_sweep_goes_on_where_it_was(file: Path, tmp_path: Path):
    # So many runs that the sweep is not through before the last kill, however late that comes.
    runs = 4 * 40
    file.write_text(SWEEP.replace("count = 6", "count = 40"))
    chance = random.Random(6)
    log = tmp_path / "log.json"
    kept: set[str] = set()
    # How many more runs are to be finished before the kill, which then comes within 30 ms; at first while it starts.
    for further in (0, 1, 4, 7):
        sweep = start(file, "store", "--log-json", str(log))
        goal = count_lines(log, "finished") + further
        while further and count_lines(log, "finished") < goal:
            assert sweep.poll() is None
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.03) if further else chance.uniform(0.2, 0.5))
        sweep.send_signal(signal.SIGKILL)
        sweep.communicate()
        now = set(names(tmp_path / "store" / "runs")) if (tmp_path / "store").exists() else set()
        assert kept <= now
        kept = now
    assert 12 <= len(kept) < runs
    sweep = start(file, "store", "--log-json", str(log))
    _, errors = sweep.communicate(timeout=HANGS_S)
    assert (sweep.returncode, complaints(errors)) == (0, [])
    store = Store(tmp_path / "store", create=False)
    keys = store.keys()
    assert len(keys) == runs
    assert [store.problem(key) for key in keys] == [None] * runs
    assert list(store.leftovers()) == []
    # No run that was said to be finished has run again.
    finished = [event["run"] for event in events(log, "finished")]
    assert len(finished) == len(set(finished))
    undisturbed = Store(tmp_path / "undisturbed")
    run_sweep(Sweep.from_toml(file), undisturbed, workers=2)
    assert contents(store) == contents(undisturbed)


@pytest.mark.thorough
def test_two_sweeps_on_one_store_share_the_work(file: Path, tmp_path: Path):
    logs = [tmp_path / f"{name}.json" for name in ("one", "two")]
    sweeps = [start(file, "store", "--log-json", str(log)) for log in logs]
    for sweep in sweeps:
        _, errors = sweep.communicate(timeout=HANGS_S)
        assert (sweep.returncode, complaints(errors)) == (0, [])
    store = Store(tmp_path / "store", create=False)
    assert names(store.path / "claims") == []
    ran = [[event["run"] for event in events(log, "finished") if "worker" in event] for log in logs]
    # Each run was done once, by one of them.
    assert sorted(ran[0] + ran[1]) == store.keys()
    assert len(store.keys()) == RUNS
    ends = [events(log, "end")[0] for log in logs]
    assert [end["failed"] for end in ends] == [0, 0]


def test_what_a_killed_sweep_had_locked_is_taken_over(tmp_path: Path):
    store = Store(tmp_path / "store")
    key = "ab" * 16
    code = (
        "import sys, time; from pifolab.store import Store; "
        f"lock = Store(sys.argv[1]).try_lock({key!r}); print('locked', flush=True); time.sleep(3600)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, store.path], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    assert store.try_lock(key) is None
    holder.kill()
    holder.communicate()
    lock = store.try_lock(key)
    assert lock is not None
    assert store.try_lock(key) is None
    lock.release()
    lock.release()
    assert not (store.path / "claims" / key).exists()


def test_a_damaged_run_is_noticed_said_and_done_again(file: Path, tmp_path: Path):
    sweep = sweep_of(tmp_path / "base.toml", axis={"scheduler": ["narrow"]}, seeds={"count": 7})
    store = Store(tmp_path / "store")
    run_sweep(sweep, store, workers=1)
    whole = contents(store)
    keys = store.keys()
    folders = [store.run_folder(key) for key in keys]
    (folders[0] / "ranks.parquet").write_bytes((folders[0] / "ranks.parquet").read_bytes()[:-1])
    (folders[1] / "schedulers.parquet").unlink()
    (folders[2] / "record.json").unlink()
    (folders[3] / "record.json").write_text("{")
    (folders[4] / "manifest.json").write_text("{}")
    (folders[5] / "record.json").write_bytes((folders[6] / "record.json").read_bytes())
    said = [
        "ranks.parquet differs from what was written",
        "schedulers.parquet is missing",
        "record.json is missing",
        "record.json cannot be read",
        "manifest.json differs from what was written",
        "record.json belongs to another run",
        None,
    ]
    assert [store.problem(key) for key in keys] == said
    heard: list[dict] = []
    result = run_sweep(sweep, store, workers=1, progress=lambda event: heard.append(dict(event)))
    assert result.reused == 1
    redone = {event["run"]: event["reason"] for event in heard if event["event"] == "redo"}
    assert redone == dict(zip(keys[:6], said, strict=False))
    assert contents(store) == whole


def test_a_half_written_run_is_removed_unless_somebody_writes_it(file: Path, tmp_path: Path):
    store = Store(tmp_path / "store")
    dead, alive = "0" * 32, "1" * 32
    for key in (dead, alive):
        (store.path / "partial" / f"{key}~1.0123abcd").mkdir()
        (store.path / "partial" / f"{key}~1.0123abcd" / "manifest.json").write_text("{")
    lock = store.try_lock(alive)
    assert lock is not None
    run_sweep(sweep_of(tmp_path / "base.toml", seeds=[1]), store, workers=1)
    assert names(store.path / "partial") == [f"{alive}~1.0123abcd"]
    lock.release()
    assert store.clean() == 1


def test_a_run_without_a_table_that_is_wanted_now_is_done_again(file: Path, tmp_path: Path):
    store = Store(tmp_path / "store")
    base = tmp_path / "base.toml"
    run_sweep(sweep_of(base, seeds=[1], tables=["schedulers"]), store, workers=1)
    assert run_sweep(sweep_of(base, seeds=[1], tables=["schedulers"]), store, workers=1).reused == 1
    both = run_sweep(sweep_of(base, seeds=[1], tables=["schedulers", "queues"]), store, workers=1)
    assert both.reused == 0
    assert store.tables(both.runs["run"][0]) == ["queues", "schedulers"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 250 kB; only root can mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("needs root to mount a small file system")
    done = subprocess.run([mount, "-t", "tmpfs", "-o", "size=250k", "tmpfs", disk], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"cannot mount a small file system: {done.stderr.strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk_stops_the_sweep_and_loses_nothing(file: Path, small_disk: Path, pifolab_command: Run):
    done = pifolab_command("study", "run", file, "--store", small_disk / "store", "--workers", "1")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "no space is left on the disk; every finished run is kept" in done.stderr
    assert "give the same command again" in done.stderr
    store = Store(small_disk / "store", create=False)
    there = store.keys()
    assert 0 < len(there) < RUNS
    assert [store.problem(key) for key in there] == [None] * len(there)
    assert names(store.path / "partial") == []
    with pytest.raises(StoreFullError, match="no space is left"):
        store.commit("f" * 32, {"big.parquet": bytes(500_000)}, {})
    # With more space the same command goes on.
    subprocess.run(["mount", "-o", "remount,size=20m", small_disk], check=True)
    again = pifolab_command("study", "run", file, "--store", small_disk / "store", "--workers", "1")
    assert (again.returncode, again.stderr) == (0, "")
    assert f"{len(there)} were there" in again.stdout
    assert len(store.keys()) == RUNS


def test_ctrl_c_keeps_what_is_finished_and_leaves_no_process(file: Path, tmp_path: Path):
    file.write_text(SWEEP.replace("count = 6", "count = 400"))
    sweep = start(file, "store", "--log-json", "-")
    assert sweep.stdout is not None
    for line in sweep.stdout:
        if '"finished": 3' in line:
            break
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(sweep.pid)], capture_output=True, text=True).stdout
    assert len(children.split()) == 2
    sweep.send_signal(signal.SIGINT)
    out, errors = sweep.communicate(timeout=HANGS_S)
    assert sweep.returncode == 130
    assert errors == "pifolab study: interrupted; finished runs are kept, and the same command continues from there\n"
    assert json.loads(out.splitlines()[-1])["event"] == "stopped"
    for child in children.split():
        assert not Path(f"/proc/{child}").exists()
    store = Store(tmp_path / "store", create=False)
    keys = store.keys()
    assert len(keys) >= 3
    assert all(store.problem(key) is None for key in keys)


def test_the_workers_of_a_killed_sweep_end_with_it(file: Path):
    file.write_text(SWEEP.replace("count = 6", "count = 400"))
    sweep = start(file, "store", "--log-json", "-")
    assert sweep.stdout is not None
    sweep.stdout.readline()
    while '"finished": 1' not in sweep.stdout.readline():
        pass
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(sweep.pid)], capture_output=True, text=True).stdout
    sweep.kill()
    sweep.communicate()
    wait_until(lambda: all(map(_is_zombie, children.split())), "the workers end")


def _is_zombie(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_the_plan_is_checked_before_a_store_is_made(file: Path, tmp_path: Path, pifolab_command: Run):
    file.write_text(SWEEP.replace("narrow", "narow"))
    done = pifolab_command("study", "run", file, "--store", "nowhere")
    assert done.returncode == 2
    assert not (tmp_path / "nowhere").exists()


def test_sigterm_keeps_what_is_finished_and_leaves_no_process(file: Path, tmp_path: Path):
    file.write_text(SWEEP.replace("count = 6", "count = 400"))
    sweep = start(file, "store", "--log-json", "-")
    assert sweep.stdout is not None
    for line in sweep.stdout:
        if '"finished": 3' in line:
            break
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(sweep.pid)], capture_output=True, text=True).stdout
    sweep.send_signal(signal.SIGTERM)
    _, errors = sweep.communicate(timeout=HANGS_S)
    assert sweep.returncode == 143
    assert errors == "pifolab study: terminated; finished runs are kept, and the same command continues from there\n"
    assert not any(Path(f"/proc/{child}").exists() for child in children.split())
    store = Store(tmp_path / "store", create=False)
    assert names(store.path / "claims") == []
    assert all(store.problem(key) is None for key in store.keys())  # noqa: SIM118


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_stopped_while_it_saves_leaves_nothing(tmp_path: Path, how: signal.Signals):
    (tmp_path / "base.toml").write_text(SCENARIO)
    command = [str(PIFOLAB), "run", "base.toml", "--out", "out"]
    run = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # The tables are there, the figures, which take longest, are not.
    while run.poll() is None and not list(tmp_path.glob(".out.partial-*/*.parquet")):
        time.sleep(0.002)
    run.send_signal(how)
    _, errors = run.communicate(timeout=HANGS_S)
    said = {signal.SIGTERM: (143, "pifolab: terminated\n"), signal.SIGINT: (130, "pifolab: interrupted\n")}
    assert (run.returncode, errors) == said[how]
    assert names(tmp_path) == ["base.toml"]


@pytest.mark.thorough
def test_faults_that_are_drawn_from_a_seed_break_no_promise():
    script = Path(__file__).parents[2] / "scripts" / "test_faults.py"
    done = subprocess.run([sys.executable, script, "--rounds", "1"], capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "1 rounds of 8 faults from seed 1: every promise kept"


@pytest.mark.thorough
def test_a_full_disk_in_a_run_is_one_line_that_names_the_folder(small_disk: Path, pifolab_command: Run, tmp_path: Path):
    (tmp_path / "base.toml").write_text(SCENARIO)
    # From no room for the first table to no room for the last figure.
    for size in ("4k", "40k", "120k"):
        subprocess.run(["mount", "-o", f"remount,size={size}", small_disk], check=True)
        done = pifolab_command("run", "base.toml", "--out", small_disk / "run")
        assert done.returncode == 2
        assert re.fullmatch(
            rf"pifolab: {re.escape(str(small_disk / 'run'))}[^:\n]*: cannot be written: No space left on device\n",
            done.stderr,
        )
        assert names(small_disk) == []
