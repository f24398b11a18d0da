"""Sweeps on a real Dask scheduler with two workers, one of which is killed; and on SLURM where there is one."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sweeping import MINE, SCENARIO, contents
from waiting import HANGS_S, Running, wait_until

from pifolab.store import Store
from pifolab.sweep import Sweep, run_sweep

distributed = pytest.importorskip("distributed")

BIN = Path(sys.executable).parent

SWEEP = """
scenario = "base.toml"
metrics = []
seeds = { count = 10 }
tables = ["schedulers", "ranks"]
time_limit_s = 60
set.duration_s = 0.1
axis.scheduler = ["pifo", "narrow"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "base.toml").write_text(SCENARIO)
    (tmp_path / "mine.py").write_text(MINE)
    file = tmp_path / "many.toml"
    file.write_text(SWEEP)
    return file


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Callable[[int], tuple[str, list[subprocess.Popen[str]]]]]:
    """Start a scheduler and some workers, as a user would on the command line."""
    processes: list[subprocess.Popen[str]] = []
    log = (tmp_path / "dask.log").open("w")
    # A worker that died shall be missed soon, not after five minutes.
    environment = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "5s"}

    def dask(*arguments: str) -> subprocess.Popen[str]:
        command = [str(BIN / "dask"), *arguments]
        processes.append(subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log, text=True))
        return processes[-1]

    def start(workers: int) -> tuple[str, list[subprocess.Popen[str]]]:
        about = tmp_path / "scheduler.json"
        # Port 0: whichever is free.
        dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(about))
        wait_until(lambda: about.exists() and about.read_text() != "", "a scheduler")
        address = json.loads(about.read_text())["address"]
        flags = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        started = [dask("worker", address, *flags) for _ in range(workers)]
        # A sweep begins as soon as it has one: here the others are there too.
        with distributed.Client(address) as client:
            client.wait_for_workers(workers, timeout=HANGS_S)
        return address, started

    yield start
    for process in processes:
        process.kill()
        process.wait()
    log.close()


def sweep_on(address: str, file: Path, *more: str) -> subprocess.Popen[str]:
    command = [str(BIN / "pifolab"), "study", "run", str(file), "--store", "dask", "--dask", address, *more]
    return subprocess.Popen(command, cwd=file.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.thorough
def test_dask_gives_the_same_bytes_though_a_worker_is_killed(file: Path, tmp_path: Path, cluster: Callable):
    address, workers = cluster(2)
    sweep = sweep_on(address, file, "--log-json", "-")
    assert sweep.stdout is not None
    assert sweep.stderr is not None
    by_worker: dict[str, int] = {}
    killed = None
    lines = []
    for line in sweep.stdout:
        event = json.loads(line)
        lines.append(event)
        if event["event"] == "finished":
            by_worker[event["worker"]] = by_worker.get(event["worker"], 0) + 1
            # As soon as both have done something: each has a run in hand then.
            if killed is None and len(by_worker) == 2:
                killed = event["worker"]
                os.kill(int(killed.rpartition(":")[2]), 9)
    with sweep:
        errors = sweep.stderr.read()
    assert sweep.returncode == 0, errors
    assert killed is not None
    assert int(killed.rpartition(":")[2]) in [worker.pid for worker in workers]
    survivor = next(worker for worker in by_worker if worker != killed)
    assert by_worker[killed] < by_worker[survivor]
    assert lines[-1]["event"] == "end"
    assert (lines[-1]["ran"], lines[-1]["failed"]) == (20, 0)
    local = Store(tmp_path / "local")
    run_sweep(Sweep.from_toml(file), local, workers=2)
    assert contents(Store(tmp_path / "dask", create=False)) == contents(local)


@pytest.mark.thorough
def test_dask_isolates_failures_and_minds_the_time(file: Path, cluster: Callable):
    file.write_text(
        SWEEP.replace("count = 10", "count = 1")
        .replace("time_limit_s = 60", "time_limit_s = 5\nschedulers.raises = 'mine.py:Raises'")
        .replace('"narrow"]', '"raises"]\n[axis.duration_s]\nvalues = [0.001, 1e6]\nwhere = { scheduler = ["pifo"] }')
    )
    address, _ = cluster(1)
    sweep = sweep_on(address, file)
    out, errors = sweep.communicate(timeout=HANGS_S)
    assert sweep.returncode == 1
    assert "3 runs: 1 run in" in out
    assert "scheduler = raises, seed = 1: ValueError: out of ideas" in errors
    assert "scheduler = pifo, duration_s = 1000000.0, seed = 1: took longer than the time limit of 5 s" in errors


def test_a_worker_with_other_code_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch):
    from pifolab.errors import InputError
    from pifolab.sweep import cluster

    class Client:
        """Answers as a cluster with one worker would."""

        closed = False

        def __init__(self, answer: object) -> None:
            self.answer = answer

        def wait_for_workers(self, _count: int, timeout: float) -> None:
            if self.answer == "late":
                raise TimeoutError(timeout)

        def run(self, _function: object) -> object:
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

        def close(self) -> None:
            self.closed = True

    for answer, message in (
        ({"tcp://w:1": "0.0.1+abc"}, "worker tcp://w:1 has pifolab 0.0.1"),
        ("late", "no worker within 3 s"),
        (ImportError("No module named 'pifolab'"), "the workers have no pifolab: No module named 'pifolab'"),
    ):
        client = Client(answer)
        engine = cluster.DaskEngine(client, Store(file.parent / "dask"), "--dask x", 3)
        with pytest.raises(InputError, match=f"^--dask x: {message}"), engine:
            pass
        assert client.closed


def test_a_job_for_other_code_fails(file: Path):
    from pifolab.sweep import make_plan
    from pifolab.sweep.job import JobError, execute

    plan = make_plan(Sweep.from_toml(file))
    with pytest.raises(JobError, match=r"this worker has pifolab .*, the sweep was started with 0\.0\.1"):
        execute(plan.job(plan.runs()[0]) | {"code": "0.0.1"})


@pytest.mark.thorough
def test_slurm_gives_the_same_bytes(file: Path, tmp_path: Path):
    pytest.importorskip("dask_jobqueue")
    sinfo = shutil.which("sinfo")
    if sinfo is None or subprocess.run([sinfo], capture_output=True, timeout=HANGS_S).returncode:
        pytest.skip("needs a SLURM controller that answers sinfo")
    (tmp_path / "home/.config/dask").mkdir(parents=True)
    settings = {"jobqueue": {"slurm": {"cores": 1, "memory": "1GiB", "walltime": "00:05:00", "interface": "lo"}}}
    (tmp_path / "home/.config/dask/jobqueue.yaml").write_text(json.dumps(settings))
    command = [
        BIN / "pifolab",
        "study",
        "run",
        file,
        "--store",
        "slurm",
        "--slurm",
        "--slurm-jobs",
        "2",
        "--log-json",
        "-",
    ]
    done = subprocess.run(
        list(map(str, command)),
        cwd=tmp_path,
        env=os.environ | {"HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
    )
    assert done.returncode == 0, done.stderr
    end = json.loads(done.stdout.splitlines()[-1])
    assert (end["ran"], end["failed"]) == (20, 0)
    local = Store(tmp_path / "local")
    run_sweep(Sweep.from_toml(file), local, workers=2)
    assert contents(Store(tmp_path / "slurm", create=False)) == contents(local)


#: Takes a job as SLURM's `sbatch` does, and runs it here.
SBATCH = """#!/bin/sh
cp "$1" "$STAND_IN/job-$$.sh"
sh "$STAND_IN/job-$$.sh" > "$STAND_IN/job-$$.log" 2>&1 < /dev/null &
echo $! >> "$STAND_IN/pids"
echo "Submitted batch job $$"
"""


def listening(process: int) -> set[tuple[str, int]]:
    """Return the addresses and ports on which a process listens."""
    sockets = {
        target.removeprefix("socket:[").removesuffix("]")
        for link in Path(f"/proc/{process}/fd").iterdir()
        if (target := str(link.readlink())).startswith("socket:")
    }
    found = set()
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in sockets:
                host, port = words[1].split(":")
                # Groups of four bytes, each in the order of this machine.
                raw = b"".join(bytes.fromhex(host[at : at + 8])[::-1] for at in range(0, len(host), 8))
                found.add((socket.inet_ntop(family, raw), int(port, 16)))
    return found


def test_a_sweep_on_slurm_lets_nobody_in_without_its_certificate(file: Path, tmp_path: Path):
    pytest.importorskip("dask_jobqueue")
    pytest.importorskip("cryptography")
    stand_in = tmp_path / "stand-in"
    stand_in.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", "#!/bin/sh\n")):
        (stand_in / name).write_text(text)
        (stand_in / name).chmod(0o755)
    settings = tmp_path / "dask"
    settings.mkdir()
    (settings / "jobqueue.yaml").write_text(json.dumps({"jobqueue": {"slurm": {"cores": 1, "memory": "1GiB"}}}))
    # More runs than are done before the end.
    file.write_text(SWEEP.replace("count = 10", "count = 2000"))
    environment = {"PATH": f"{stand_in}:{os.environ['PATH']}", "STAND_IN": str(stand_in), "DASK_CONFIG": str(settings)}
    command = ("study", "run", file, "--store", "store", "--slurm", "--slurm-jobs", "1", "--log-json", "-")
    try:
        with Running(*command, cwd=tmp_path, environment=environment) as running:
            running.reaches(lambda: '"event": "finished"' in running.out, "a run is finished")
            addresses = listening(running.process.pid)
            assert addresses
            # Each on one address, and nothing of the dashboard beyond this machine.
            assert not {host for host, _ in addresses} & {"0.0.0.0", "::"}, addresses
            assert 8787 not in {port for _, port in addresses}
            (secrets,) = tmp_path.glob(".pifolab-slurm-*")
            assert stat.S_IMODE(secrets.stat().st_mode) == 0o700
            assert {file.name for file in secrets.iterdir()} == {"certificate", "key"}
            (job,) = stand_in.glob("job-*.sh")
            (scheduler,) = set(re.findall(r"tls://([^ ]+):(\d+)", job.read_text()))
            assert (scheduler[0], int(scheduler[1])) in addresses
            # Neither without a certificate nor with one of somebody else's.
            for scheme, security in (("tcp", None), ("tls", distributed.Security.temporary())):
                address = f"{scheme}://{':'.join(scheduler)}"
                with pytest.raises((OSError, TimeoutError)):
                    distributed.Client(address, security=security, timeout=3, set_as_default=False)
            # Dask's server of pages cannot be left out: it has none.
            for host, port in addresses - {(scheduler[0], int(scheduler[1]))}:
                for page in ("", "status", "info/main/workers.html", "json/identity.json", "metrics"):
                    with pytest.raises(urllib.error.HTTPError, match="404"):
                        urllib.request.urlopen(f"http://{host}:{port}/{page}", timeout=HANGS_S)
            assert running.process.poll() is None
            assert running.interrupt() == 130, running.messages
    finally:
        for pid in (stand_in / "pids").read_text().split() if (stand_in / "pids").exists() else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    assert not secrets.exists()
