"""Disturb sweeps, stores and runs in ways that are drawn from a seed, and check that nothing goes wrong in silence.

Workers and sweeps are killed, disks are full, bits flip, clocks jump, folders vanish. After each fault the same command
is given again without one: the store must then have the same bytes as one that nothing happened to, and whatever was
damaged must have been named.

    scripts/test_faults.py [--seed N] [--rounds N | --minutes M]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PIFOLAB = Path(sys.executable).with_name("pifolab")

SCENARIO = """
duration_s = 0.02
link = { rate_gbps = 10 }
workload = { arrivals = "poisson", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }
scheduler = [{ name = "pifo" }]
"""

SWEEP = """
scenario = "base.toml"
metrics = ["inversions"]
tables = ["schedulers", "ranks"]
axis.scheduler = ["pifo", "sp-pifo", "fifo"]
seeds = { count = 5 }
"""

#: Put on the path of a sweep and its workers: their wall clock jumps by up to a century at every look.
CLOCK = """
import random, time
_time, _chance = time.time, random.Random({seed})
time.time = lambda: max(0.0, _time() + _chance.uniform(-3e9, 3e9))
time.time_ns = lambda: int(time.time() * 1e9)
"""


class BrokenError(Exception):
    """A promise that was not kept."""


def check(holds: bool, problem: str) -> None:
    if not holds:
        raise BrokenError(problem)


class Bench:
    """A folder with a sweep and a scenario, and what an undisturbed sweep of it leaves."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "base.toml").write_text(SCENARIO)
        (folder / "faults.toml").write_text(SWEEP)
        self.finish("reference")
        self.reference = contents(folder / "reference")
        self.statistics = self.pifolab("study", "show", "reference").stdout

    def pifolab(self, *arguments: str, **keywords: object) -> subprocess.CompletedProcess[str]:
        command = [str(PIFOLAB), *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=300, **keywords)  # type: ignore[call-overload]

    def start(self, store: str, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(PIFOLAB), "study", "run", "faults.toml", "--store", store, "--workers", "2"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | (environment or {}),
        )

    def finish(self, store: str) -> None:
        done = self.pifolab("study", "run", "faults.toml", "--store", store, "--workers", "2")
        check(done.returncode == 0, f"the undisturbed sweep ends with {done.returncode}: {done.stderr}")

    def check_store(self, store: str) -> None:
        """Give the command again, and compare what is there with the reference."""
        self.finish(store)
        check(contents(self.folder / store) == self.reference, "the store differs from that of an undisturbed sweep")
        verified = self.pifolab("study", "check", store)
        check(verified.returncode == 0, f"--verify ends with {verified.returncode}: {verified.stdout}{verified.stderr}")
        check(verified.stdout == "15 runs, 0 damaged\n", f"--verify says {verified.stdout!r}")


def contents(store: Path) -> dict[str, str]:
    """Digests of every file of every run but the records, which tell of one time of running it."""
    return {
        f"{file.parent.name}/{file.name}": hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(store.glob("runs/*/*"))
        if file.name != "record.json"
    }


def one_line(errors: str) -> None:
    """Check that there is one line, beside those that tell every ten seconds how far a sweep is."""
    lines = [line for line in errors.splitlines() if "runs finished" not in line]
    check(len(lines) == 1 and "internal" not in errors, f"expected one line, got {errors!r}")


def children(process: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True).stdout
    return [int(child) for child in listed.split()]


def kill_sweep(bench: Bench, chance: random.Random) -> str:
    """Kill the sweep a few times, at any moment."""
    delays = [chance.uniform(0, 2.5) for _ in range(chance.randint(1, 3))]
    for delay in delays:
        sweep = bench.start("store")
        time.sleep(delay)
        sweep.send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        sweep.communicate(timeout=60)
        if (bench.folder / "store" / "pifolab-store.json").exists():
            verified = bench.pifolab("study", "check", "store")
            check("damaged" in verified.stdout and ", 0 damaged" in verified.stdout, f"after a kill: {verified.stdout}")
    bench.check_store("store")
    return f"killed after {', '.join(f'{delay:.2f}' for delay in delays)} s"


def kill_workers(bench: Bench, chance: random.Random) -> str:
    """Kill worker processes, some of them while they start; fewer than would make a sweep give up."""
    sweep = bench.start("store")
    killed = 0
    for _ in range(chance.randint(1, 3)):
        time.sleep(chance.uniform(0, 0.7))
        workers = children(sweep.pid)
        if workers and sweep.poll() is None:
            os.kill(chance.choice(workers), signal.SIGKILL)
            killed += 1
    _, errors = sweep.communicate(timeout=120)
    # A run whose worker dies twice is given up, and said so.
    check(sweep.returncode == 0 or "its worker process died" in errors, f"ends with {sweep.returncode}: {errors}")
    bench.check_store("store")
    return f"{killed} workers killed"


def full_disk(bench: Bench, chance: random.Random) -> str:
    """Let the disk be full: a small file system for root, otherwise files that may not grow beyond a limit."""
    size = chance.randint(20_000, 160_000)
    disk = bench.folder / "disk"
    disk.mkdir()
    mounted = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], capture_output=True
        ).returncode
    )
    if not mounted:
        return limited_files(bench, chance)
    try:
        done = bench.pifolab("study", "run", "faults.toml", "--store", "disk/store", "--workers", "2")
        check(done.returncode in (1, 2), f"a sweep on {size} bytes ends with {done.returncode}")
        one_line(done.stderr)
        run = bench.pifolab("run", "base.toml", "--out", "disk/run")
        check(run.returncode == 2, f"a run on {size} bytes ends with {run.returncode}")
        one_line(run.stderr)
        left = [path.name for path in disk.iterdir() if path.name != "store"]
        check(not left, f"a run on a full disk leaves {left}")
        subprocess.run(["mount", "-o", "remount,size=50m", disk], check=True)
        bench.check_store("disk/store")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
    return f"a disk of {size} bytes"


def limited_files(bench: Bench, chance: random.Random) -> str:
    """Refuse to write more than a limit into any file."""
    limit = chance.randint(100, 6_000)

    def limit_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    done = bench.pifolab("study", "run", "faults.toml", "--store", "store", "--workers", "2", preexec_fn=limit_files)
    if done.returncode:
        one_line(done.stderr)
    run = bench.pifolab("run", "base.toml", "--out", "run", preexec_fn=limit_files)
    check(run.returncode == 2, f"a run with files of at most {limit} bytes ends with {run.returncode}")
    one_line(run.stderr)
    check(not list(bench.folder.glob("*run*")), "a run that could not be written leaves something")
    bench.check_store("store")
    return f"files of at most {limit} bytes"


def flip_bits(bench: Bench, chance: random.Random) -> str:
    """Flip bits of a finished store: numbers stay what they were or the damage is named, and the sweep mends it."""
    shutil.copytree(bench.folder / "reference", bench.folder / "store")
    files = sorted(path for path in (bench.folder / "store").rglob("*") if path.is_file())
    files = [path for path in files if path.name != "pifolab-store.json"]
    hit = chance.sample(files, chance.randint(1, 5))
    for file in hit:
        content = bytearray(file.read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        file.write_bytes(content)
    said = bench.pifolab("study", "show", "store")
    check(said.returncode in (0, 2), f"--statistics ends with {said.returncode}: {said.stderr}")
    check("internal" not in said.stderr, said.stderr)
    damaged = {file.parent.name for file in hit}
    named = said.stderr + bench.pifolab("study", "check", "store").stdout
    missing = [name for name in damaged if name not in named]
    check(not missing, f"damage in {missing} is not named")
    if said.returncode == 0:
        check(said.stdout != bench.statistics, "numbers from damaged runs")
    bench.check_store("store")
    repaired = bench.pifolab("study", "show", "store").stdout
    check(repaired == bench.statistics, "the statistics of the mended store differ")
    return f"a bit in each of {len(hit)} files"


def lose_files(bench: Bench, chance: random.Random) -> str:
    """Lose files and empty folders, as a copy that was cut short does."""
    shutil.copytree(bench.folder / "reference", bench.folder / "store")
    store = bench.folder / "store"
    files = sorted(path for path in store.rglob("*") if path.is_file() and path.name != "pifolab-store.json")
    lost = chance.sample(files, chance.randint(1, 8))
    for file in lost:
        if chance.random() < 0.5:
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[: chance.randrange(file.stat().st_size)])
    for folder in ("partial", "claims"):
        shutil.rmtree(store / folder)
    said = bench.pifolab("study", "show", "store")
    check("internal" not in said.stderr, said.stderr)
    bench.check_store("store")
    return f"{len(lost)} files lost or cut"


def jump_clock(bench: Bench, chance: random.Random) -> str:
    """Let the wall clock jump, of the sweep, its workers, and the files."""
    folder = bench.folder / "clock"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(CLOCK.format(seed=chance.randrange(1000)))
    sweep = bench.start("store", {"PYTHONPATH": str(folder)})
    delay = chance.uniform(0.5, 3)
    time.sleep(delay)
    for folder_name, _, names in os.walk(bench.folder / "store"):
        for name in sorted(names):
            # What is being written may be gone by now.
            with suppress(FileNotFoundError):
                os.utime(Path(folder_name) / name, (chance.uniform(0, 4e9),) * 2)
    _, errors = sweep.communicate(timeout=120)
    check(sweep.returncode == 0, f"ends with {sweep.returncode}: {errors}")
    jumped = [json.loads(file.read_bytes())["started"] for file in bench.folder.glob("store/runs/*/record.json")]
    check(len({text[:4] for text in jumped}) > 1, "the clock did not jump")
    bench.check_store("store")
    return f"years {min(jumped)[:4]} to {max(jumped)[:4]}"


def stop_run(bench: Bench, chance: random.Random) -> str:
    """Stop a run at any moment, also while it saves: its folder is whole or not there."""
    how = chance.choice([signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
    command = [str(PIFOLAB), "run", "base.toml", "--out", "out"]
    run = subprocess.Popen(command, cwd=bench.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    delay = chance.uniform(0.2, 3)
    time.sleep(delay)
    run.send_signal(how)
    _, errors = run.communicate(timeout=60)
    # While Python still imports the command, Ctrl-C cannot be answered.
    check("Traceback" not in errors or "importlib" in errors, errors)
    left = sorted(path.name for path in bench.folder.iterdir() if "out" in path.name)
    if how != signal.SIGKILL:
        check(left in ([], ["out"]), f"{how.name} after {delay:.2f} s leaves {left}")
    if "out" in left:
        names = {path.name for path in (bench.folder / "out").iterdir()}
        check({"manifest.json", "summary.json", "report.html"} <= names, f"the folder has only {sorted(names)}")
    again = bench.pifolab("run", "base.toml", "--out", "again")
    check(again.returncode == 0, f"the run afterwards ends with {again.returncode}: {again.stderr}")
    return f"{how.name} after {delay:.2f} s"


FAULTS: tuple[Callable[[Bench, random.Random], str], ...] = (
    kill_sweep, kill_workers, full_disk, limited_files, flip_bits, lose_files, jump_clock, stop_run,
)  # fmt: skip


def main() -> int:
    """Disturb for so many rounds or minutes; the first promise that is not kept ends it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="draws every fault")
    parser.add_argument("--rounds", type=int, help="so many rounds of every fault; default: as --minutes says")
    parser.add_argument("--minutes", type=float, default=3.0, help="begin no further round after this")
    arguments = parser.parse_args()
    deadline = time.monotonic() + 60 * arguments.minutes
    done = 0
    with tempfile.TemporaryDirectory(prefix="pifolab-faults-") as folder:
        bench = Bench(Path(folder))
        known = {path.name for path in Path(folder).iterdir()}
        while done < arguments.rounds if arguments.rounds is not None else time.monotonic() < deadline:
            done += 1
            for fault in FAULTS:
                # Each fault has a stream of its own, so that one can be repeated alone.
                chance = random.Random(f"{arguments.seed} {done} {fault.__name__}")
                try:
                    told = fault(bench, chance)
                except BrokenError as broken:
                    print(f"round {done}, seed {arguments.seed}: {fault.__name__}: {broken}", file=sys.stderr)
                    return 1
                print(f"round {done}: {fault.__name__}: {told}", flush=True)
                for path in list(Path(folder).iterdir()):
                    if path.name not in known:
                        shutil.rmtree(path) if path.is_dir() else path.unlink()
    print(f"{done} rounds of {len(FAULTS)} faults from seed {arguments.seed}: every promise kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
