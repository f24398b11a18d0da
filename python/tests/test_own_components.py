"""What is written in Python runs inside the network simulator and decides as what is written in Rust."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from page_commands import ROOT, files

import pifolab
from pifolab.cli import main
from pifolab.plugins import load_plugins

Run = Callable[..., subprocess.CompletedProcess[str]]

HEAD = """
duration_ms = 2
[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 3
access_rate_gbps = 1
fabric_rate_gbps = 1
delay_us = 1
[workload.flows]
arrivals = "poisson"
load = 0.8
sizes = "fixed"
size_bytes = 30_000
pairs = "uniform"
"""
NEW_RENO = HEAD + '[transport]\nname = "newreno"\n'
PFABRIC = HEAD + '[transport]\nname = "pfabric"\n'


def hashes(text: str, **brought: Any) -> list[str]:
    """Run the scenario and return the trace hash of each scheduler, after a look at whether anything happened."""
    result = pifolab.run_text(text, **brought)
    rows = result.tables["schedulers"]
    assert rows["dropped_packets"].min() > 0, "a run without losses shows little"
    return rows["trace_hash"].to_list()


class SpPifo(pifolab.PythonScheduler):
    """SP-PIFO with per-packet push-down by cost."""

    def __init__(self, queues: int, queue_capacity_packets: int):
        self.queues = queues
        self.capacity = queue_capacity_packets
        self.waiting: list[list[pifolab.Packet]] = [[] for _ in range(queues)]
        self.bounds = [0] * queues

    def enqueue(self, packet: pifolab.Packet, now_ns: int):
        queue = self.queues - 1
        while queue > 0 and packet.rank < self.bounds[queue]:
            queue -= 1
        if packet.rank < self.bounds[0]:
            cost = self.bounds[0] - packet.rank
            self.bounds = [bound - cost for bound in self.bounds]
            queue = 0
        if len(self.waiting[queue]) == self.capacity:
            return packet
        self.waiting[queue].append(packet)
        self.bounds[queue] = packet.rank
        return queue

    def dequeue(self, now_ns: int):
        return next((queue.pop(0) for queue in self.waiting if queue), None)


class Fifo(pifolab.PythonScheduler):
    def __init__(self, capacity_packets: int):
        self.waiting: list[pifolab.Packet] = []
        self.capacity = capacity_packets

    def enqueue(self, packet: pifolab.Packet, now_ns: int):
        if len(self.waiting) == self.capacity:
            return packet
        self.waiting.append(packet)
        return None

    def dequeue(self, now_ns: int):
        return self.waiting.pop(0) if self.waiting else None


class Remaining(pifolab.PythonRank):
    wants_facts = True

    def rank(self, packet: pifolab.Packet, now_ns: int) -> int:
        return self.facts.remaining_bytes


class Reno(pifolab.PythonController):
    def on_new_ack(self, window: pifolab.Window, ack: pifolab.Ack) -> None:
        if window.cwnd_bytes < window.ssthresh_bytes:
            grown = window.cwnd_bytes + window.mss_bytes
        else:
            grown = window.cwnd_bytes + window.mss_bytes * window.mss_bytes / window.cwnd_bytes
        window.cwnd_bytes = min(grown, window.limit_bytes)

    def on_loss(self, window: pifolab.Window, flight_bytes: int, now_ns: int) -> None:
        window.ssthresh_bytes = max(flight_bytes // 2, 2 * window.mss_bytes)

    def on_timeout(self, window: pifolab.Window, flight_bytes: int, now_ns: int) -> None:
        window.ssthresh_bytes = max(flight_bytes / 2, 2 * window.mss_bytes)
        window.cwnd_bytes = window.mss_bytes


def test_a_fifo_in_python_gives_the_trace_of_the_built_in_one():
    built = hashes(NEW_RENO + '[host_port]\nqueue = "as-switch"\n[[scheduler]]\nname = "fifo"\ncapacity_packets = 8\n')
    text = NEW_RENO + '[host_port]\nqueue = "as-switch"\n[[scheduler]]\nname = "mine"\ncapacity_packets = 8\n'
    assert hashes(text, schedulers={"mine": Fifo}) == built


def test_an_sp_pifo_in_python_gives_the_trace_of_the_built_in_one_on_any_number_of_workers():
    sizes = "queues = 4\nqueue_capacity_packets = 4\n"
    text = PFABRIC + f'[[scheduler]]\nname = "sp-pifo"\n{sizes}[[scheduler]]\nname = "mine"\n{sizes}'
    for workers in (1, 2):
        ours, mine = hashes(text, schedulers={"mine": SpPifo}, workers=workers)
        assert mine == ours


def test_the_queues_of_a_scheduler_in_python_are_in_the_tables():
    text = PFABRIC + '[[scheduler]]\nname = "mine"\nqueues = 3\nqueue_capacity_packets = 8\n'
    queues = pifolab.run_text(text, schedulers={"mine": SpPifo}).tables["port_queues"]
    assert queues.filter(pl.col("admitted_packets") > 0)["queue"].unique().sort().to_list() == [0, 1, 2]


def test_a_rank_function_in_python_sees_the_facts_that_the_built_in_one_sees():
    text = NEW_RENO + '[[scheduler]]\nname = "pifo"\ncapacity_packets = 8\n[rank]\nname = "{}"\n'
    assert hashes(text.format("mine"), ranks={"mine": Remaining}) == hashes(text.format("remaining-size"))


def test_a_controller_in_python_gives_the_trace_of_new_reno_and_another_one_does_not():
    class Timid(Reno):
        def __init__(self, share: float):
            self.share = share

        def on_loss(self, window: pifolab.Window, flight_bytes: int, now_ns: int) -> None:
            assert self.flow.size_bytes == 30_000
            assert now_ns >= self.flow.start_ns
            window.ssthresh_bytes = max(flight_bytes * self.share, 2 * window.mss_bytes)

    fifo = '[[scheduler]]\nname = "fifo"\ncapacity_packets = 8\n'
    built = hashes(NEW_RENO + fifo)
    mine = NEW_RENO + '[transport.controller]\nname = "mine"\n'
    assert hashes(mine + fifo, controllers={"mine": Reno}) == built
    assert hashes(mine + "share = 0.1\n" + fifo, controllers={"mine": Timid}) != built


class Counts(pifolab.PythonObserver):
    ports = (6,)

    def __init__(self) -> None:
        self.rows: list[tuple[int, str, int]] = []
        self.ended = 0

    def on_admit(self, port: int, packet: pifolab.Packet, queue: int, now_ns: int) -> None:
        self.rows.append((port, "admit", packet.size_bytes))

    def on_drop(self, port: int, packet: pifolab.Packet, reason: str, now_ns: int) -> None:
        self.rows.append((port, reason, packet.size_bytes))

    def on_dequeue(self, port: int, packet: pifolab.Packet, queue: int, now_ns: int) -> None:
        self.rows.append((port, "dequeue", packet.size_bytes))

    def on_end(self, now_ns: int) -> None:
        self.ended = now_ns

    def table(self) -> dict[str, list[Any]]:
        return {"port": [row[0] for row in self.rows], "event": [row[1] for row in self.rows]}


def test_an_observer_in_python_sees_what_the_tables_say_and_changes_nothing(tmp_path: Path):
    schedulers = (
        '[[scheduler]]\nname = "pifo"\ncapacity_packets = 8\n[[scheduler]]\nname = "fifo"\ncapacity_packets = 8\n'
    )
    text = PFABRIC + schedulers
    result = pifolab.run_text(text, observers={"counts": Counts}, seeds=[3, 4])
    assert result.tables["schedulers"]["trace_hash"].to_list() == hashes(text, seeds=[3, 4])
    seen = result.observers["counts"]
    assert [(one.seed, one.scheduler) for one in seen] == [(3, "pifo"), (3, "fifo"), (4, "pifo"), (4, "fifo")]
    assert {one.observer.ended for one in seen} == {2_000_000}
    events = result.tables["counts"].group_by("seed", "scheduler", "event").agg(pl.len().cast(pl.Int64))
    count = {tuple(row[:3]): row[3] for row in events.rows()}
    for port in result.tables["ports"].filter(port=6).iter_rows(named=True):
        run = (port["seed"], port["scheduler"])
        assert count[(*run, "dequeue")] == port["sent_packets"]
        assert count.get((*run, "pushed-out"), 0) == port["dropped_pushed_out"]
        refused = sum(count.get((*run, reason), 0) for reason in ("full", "admission"))
        assert refused + count[(*run, "admit")] == port["arrived_packets"]
    assert pl.read_parquet(result.save(tmp_path / "run", figures=False) / "counts.parquet").height
    assert "class Counts" in result.manifest["python"]["observers"]["counts"]["source"]


class Loses(Fifo):
    """Sends all but the tenth."""

    seen = 0

    def enqueue(self, packet: pifolab.Packet, now_ns: int):
        self.seen += 1
        return super().enqueue(packet, now_ns) if self.seen != 10 else None


class Raises(Fifo):
    def dequeue(self, now_ns: int):
        raise ZeroDivisionError("mine alone")


class Stalls(Reno):
    def on_loss(self, window: pifolab.Window, flight_bytes: int, now_ns: int) -> None:
        window.cwnd_bytes = 0


class Sees(pifolab.PythonObserver):
    def on_dequeue(self, port: int, packet: pifolab.Packet, queue: int, now_ns: int) -> None:
        raise KeyError("mine")


SCHEDULER = '[[scheduler]]\nname = "mine"\ncapacity_packets = 8\n'
CONTROLLED = '[transport.controller]\nname = "mine"\n[[scheduler]]\nname = "fifo"\ncapacity_packets = 8\n'


@pytest.mark.parametrize(
    ("text", "brought", "error", "message"),
    [
        (
            NEW_RENO + SCHEDULER,
            {"schedulers": {"mine": Loses}},
            RuntimeError,
            "dequeue returned None, but 1 packets wait",
        ),
        (NEW_RENO + SCHEDULER, {"schedulers": {"mine": Raises}}, ZeroDivisionError, "mine alone"),
        (
            NEW_RENO + CONTROLLED,
            {"controllers": {"mine": Stalls}},
            ValueError,
            "on_loss left cwnd_bytes = 0.* from 1460",
        ),
        (NEW_RENO + CONTROLLED, {"controllers": {"mine": Reno}, "observers": {"s": Sees}}, KeyError, "mine"),
    ],
)
def test_an_exception_ends_the_run_and_knows_the_simulated_time(
    text: str, brought: dict[str, Any], error: type[Exception], message: str
):
    with pytest.raises(error, match=message) as raised:
        pifolab.run_text(text, **brought)
    assert 0 < raised.value.simulated_time_ns < 2_000_000
    assert any("at simulated time" in note for note in getattr(raised.value, "__notes__", ["at simulated time"]))


#: Where a plug-in goes wrong, and what is said of it.
FAULTS = {
    "bounds that are too few": (
        "Mine.bounds = [1]",
        r"ValueError: bounds[1]: list index out of range: expected None or",
    ),
    "bounds that are no list": (
        "Mine.bounds = 5",
        "ValueError: bounds[0]: 'int' object is not subscriptable: expected",
    ),
    "bounds that raise": ("Mine.bounds = property(lambda self: 1 / 0)", "ZeroDivisionError: division by zero"),
    "a bound that is none": ("Mine.bounds = ['a', 'b']", "ValueError: bounds[0] = a: expected None or an integer from"),
    "an end of the process": ("Mine.dequeue = lambda self, now_ns: sys.exit()", "SystemExit"),
    "an exception that no code is to catch": (
        "def escapes(self, now_ns): raise GeneratorExit('mine')\nMine.dequeue = escapes",
        "GeneratorExit: mine",
    ),
    "an exception of its own kind": (
        "class Odd(BaseException): pass\ndef odd(self, packet, now_ns): raise Odd('mine')\nMine.enqueue = odd",
        "pifolab_plugin_mine.Odd: mine",
    ),
    "a table that escapes": (
        "class Seen(pifolab.PythonObserver):\n    def table(self): raise GeneratorExit('mine')",
        "GeneratorExit: mine",
    ),
    "a table that raises": (
        "class Seen(pifolab.PythonObserver):\n    def table(self): return 1 / 0",
        "ZeroDivisionError:",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_a_plug_in_does_wrong_is_said_to_be_its_own(pifolab_command, tmp_path: Path, fault: str):
    code, said = FAULTS[fault]
    (tmp_path / "mine.py").write_text(
        "import sys\nimport pifolab\nclass Mine(pifolab.PythonScheduler):\n    queues = 2\n"
        "    def __init__(self): self.held = []\n"
        "    def enqueue(self, packet, now_ns): self.held.append(packet)\n"
        f"    def dequeue(self, now_ns): return self.held.pop(0) if self.held else None\n{code}\n"
    )
    (tmp_path / "x.toml").write_text(
        "duration_us = 100\nlink = { rate_gbps = 10 }\n"
        'workload = { arrivals = "constant", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }\n'
        '[[scheduler]]\nname = "mine"\n'
    )
    ran = pifolab_command("run", "x.toml", "--python", "mine.py")
    lines = ran.stderr.splitlines()
    assert ran.returncode == 2, ran.stderr
    assert lines[-1].startswith("pifolab: the run was stopped by an exception in "), ran.stderr
    assert any(line.startswith(said) for line in lines), ran.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("sys.exit()", "SystemExit"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise BaseException('no')", "BaseException: no"),
    ],
)
def test_a_plug_in_that_ends_the_process_while_it_is_loaded_is_one_line(
    pifolab_command, tmp_path: Path, code: str, said: str
):
    (tmp_path / "mine.py").write_text(f"import sys\n{code}\n")
    (tmp_path / "x.toml").write_text('[[scheduler]]\nname = "mine"\n')
    ran = pifolab_command("run", "x.toml", "--python", "mine.py")
    assert (ran.returncode, ran.stderr) == (2, f"pifolab: mine.py:2: {said}\n")
    (tmp_path / "s.toml").write_text('scenario = "x.toml"\nschedulers.mine = "mine.py:Mine"\n')
    ran = pifolab_command("study", "run", "s.toml", "--store", "store")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert f"mine.py:2: {said}" in ran.stderr
    assert not (tmp_path / "store").exists()


class Wide(Fifo):
    queues = 3

    def enqueue(self, packet: pifolab.Packet, now_ns: int):
        super().enqueue(packet, now_ns)
        return 3


class NoQueues(Fifo):
    queues = 0


@pytest.mark.parametrize(
    ("text", "brought", "error", "message"),
    [
        (
            NEW_RENO + SCHEDULER,
            {"schedulers": {"mine": Wide}},
            ValueError,
            "returned queue 3: expected one from 0 to 2",
        ),
        (
            NEW_RENO + SCHEDULER,
            {"schedulers": {"mine": NoQueues}},
            pifolab.InputError,
            "queues = 0: expected an integer",
        ),
        (
            NEW_RENO + CONTROLLED.replace('"mine"', '"mien"', 1),
            {"controllers": {"mine": Reno}},
            pifolab.InputError,
            'unknown congestion controller "mien"; did you mean mine',
        ),
        (
            NEW_RENO + CONTROLLED,
            {},
            pifolab.InputError,
            'name = "mine": unknown congestion controller; expected a class that is given to the run',
        ),
        (
            NEW_RENO + CONTROLLED.replace('"mine"', '"mine"\nshare = 1', 1),
            {"controllers": {"mine": Reno}},
            pifolab.InputError,
            "transport.controller.*TypeError",
        ),
        (
            HEAD + '[transport]\nname = "udp"\npayload_bytes = 1000\ninterval_us = 5\n' + CONTROLLED,
            {"controllers": {"mine": Reno}},
            pifolab.InputError,
            "controller: has no effect",
        ),
        (NEW_RENO + SCHEDULER, {"schedulers": {"fifo": Fifo}}, pifolab.InputError, "fifo is one of pifolab's own"),
        (NEW_RENO + SCHEDULER, {"ranks": {"las": Remaining}}, pifolab.InputError, "las is one of pifolab's own"),
        (
            PFABRIC + SCHEDULER.replace("mine", "pifo"),
            {"observers": {"flows": Counts}},
            pifolab.InputError,
            "the run has a table of this name",
        ),
    ],
)
def test_what_does_not_fit_is_told_before_or_where_it_happens(
    text: str, brought: dict[str, Any], error: type[Exception], message: str
):
    with pytest.raises(error, match=message):
        pifolab.run_text(text, **brought)


def test_a_table_that_is_none_is_told():
    class Crooked(pifolab.PythonObserver):
        def table(self) -> dict[str, list[int]]:
            return {"a": [1, 2], "b": [1, 2, 3]}

    with pytest.raises(pifolab.InputError, match=r"observer crooked: table\(\) is not a table"):
        pifolab.run_text(PFABRIC + SCHEDULER.replace("mine", "pifo"), observers={"crooked": Crooked})


def test_the_example_of_the_documentation_works_as_it_is_printed(tmp_path: Path):
    for file in files(ROOT / "docs" / "python.md"):
        (tmp_path / file.name).write_text(file.text)
    plugins = load_plugins([tmp_path / "mine.py"])
    assert plugins.names() == ["two-queues", "short-first", "timid", "waits"]
    result = pifolab.run(tmp_path / "mine.toml", **vars(plugins))
    assert result.tables["schedulers"]["dropped_packets"].min() > 0
    waits = result.tables["waits"].filter(scheduler="two-queues")
    assert waits["queue"].unique().sort().to_list() == [0, 1]
    assert waits["mean_wait_ns"].max() > 0
    # The other blocks of the page use its classes, whichever stands first.
    names = {"__name__": "mine"}
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    for block in sorted(blocks, key=lambda block: "class TwoQueues" not in block):
        exec(compile(block, "docs/python.md", "exec"), names)
    assert names["run"].tables["schedulers"]["name"].to_list() == ["pifo", "packs", "two-queues"]


PLUGIN = """
import pifolab

class MyLifo(pifolab.PythonScheduler):
    def __init__(self, capacity_packets):
        self.stack, self.capacity = [], capacity_packets
    def enqueue(self, packet, now_ns):
        if len(self.stack) == self.capacity:
            return packet
        self.stack.append(packet)
    def dequeue(self, now_ns):
        return self.stack.pop() if self.stack else None
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "net.toml"
    file.write_text(NEW_RENO + SCHEDULER.replace("mine", "my-lifo"))
    return file


def test_the_command_takes_a_file_and_says_that_it_is_slow(pifolab_command: Run, scenario: Path, tmp_path: Path):
    (tmp_path / "mine.py").write_text(PLUGIN)
    done = pifolab_command("run", scenario, "--python", "mine.py", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "note: my-lifo: written in Python, so slow" in done.stderr
    assert pl.read_parquet(tmp_path / "run" / "schedulers.parquet")["reordered_packets"].item() > 0


def test_the_command_shows_the_traceback_of_the_users_own_code(pifolab_command: Run, scenario: Path, tmp_path: Path):
    (tmp_path / "mine.py").write_text(PLUGIN.replace("self.stack.pop()", "1 // 0"))
    done = pifolab_command("run", scenario, "--python", "mine.py", "--out", "run")
    assert done.returncode == 2
    assert "ZeroDivisionError" in done.stderr
    assert "in dequeue" in done.stderr
    assert "at simulated time" in done.stderr
    assert "runs.py" not in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "mine.py: cannot be read: No such file"),
        ("x = (", "mine.py:1: SyntaxError: "),
        ("import nothing_of_this_name", "mine.py:1: ModuleNotFoundError: No module named"),
        ("x = 1", "mine.py: expected a complete class that is derived from one of pifolab.PythonScheduler"),
        (
            PLUGIN + "class Other(MyLifo):\n    name = 'my-lifo'\n",
            "class Other: there are two schedulers called my-lifo",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(
    pifolab_command: Run, scenario: Path, tmp_path: Path, text: str | None, message: str
):
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    done = pifolab_command("run", scenario, "--python", "mine.py", "--out", "run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert message in done.stderr


INSTALLED = """
import pifolab

class Newest(pifolab.PythonScheduler):
    def __init__(self, capacity_packets=20):
        self.stack, self.capacity = [], capacity_packets
    def enqueue(self, packet, now_ns):
        if len(self.stack) == self.capacity:
            return packet
        self.stack.append(packet)
    def dequeue(self, now_ns):
        return self.stack.pop() if self.stack else None

class Shortest(pifolab.PythonRank):
    def rank(self, packet, now_ns):
        return packet.size_bytes
"""

ONE_LINK = """
duration_s = 0.001
link = { rate_gbps = 10 }
workload = { arrivals = "poisson", rate_gbps = 12, size_bytes = 1500, ranks = "uniform" }
scheduler = [{ name = "fifo", capacity_packets = 20 }, { name = "newest", capacity_packets = 20 }]
"""


@pytest.fixture
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Put a distribution with these entry points on the path; return its folder."""

    def make(points: str, code: str = INSTALLED) -> Path:
        folder = tmp_path / "site"
        about = folder / "pifolab_newest-1.0.dist-info"
        about.mkdir(parents=True)
        (folder / "newest_of_all.py").write_text(code)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: pifolab-newest\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(points)
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.delitem(sys.modules, "newest_of_all", raising=False)
        return folder

    return make


POINTS = "[pifolab.schedulers]\nnewest = newest_of_all:Newest\n[pifolab.ranks]\nshortest = newest_of_all:Shortest\n"


def test_a_scenario_names_the_schedulers_and_ranks_of_an_installed_distribution(distribution, tmp_path: Path):
    distribution(POINTS)
    run = pifolab.run_text(ONE_LINK + 'rank = { name = "shortest" }\n')
    assert run.tables["schedulers"]["scheduler"].to_list() == ["fifo", "newest"]
    written = run.manifest["python"]
    assert written["schedulers"]["newest"]["class"] == "newest_of_all.py:Newest"
    assert written["ranks"]["shortest"]["class"] == "newest_of_all.py:Shortest"
    compared = pifolab.compare(["fifo", "newest"], ranks=[3, 1, 2] * 50, rank="shortest", rate="10G", load=1.2)
    assert compared["schedulers"]["scheduler"].to_list() == ["fifo", "newest"]
    # An override names it as well, and what the user brings along comes first.
    text = ONE_LINK.replace('"newest"', '"other"').replace("capacity_packets = 20 }]", 'label = "x" }]')
    assert "python" in pifolab.run_text(text, overrides={"scheduler.x.name": "newest"}).manifest

    class Mine(pifolab.PythonScheduler):
        def enqueue(self, packet, now_ns):
            return packet

        def dequeue(self, now_ns):
            return None

    mine = pifolab.run_text(ONE_LINK.replace(', { name = "newest", capacity_packets = 20 }', ', { name = "newest" }'),
                            schedulers={"newest": Mine})  # fmt: skip
    assert mine.tables["schedulers"].filter(scheduler="newest")["sent_packets"].item() == 0


def test_run_and_compare_name_what_is_installed(distribution, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    distribution(POINTS)
    (tmp_path / "one.toml").write_text(ONE_LINK)
    assert main(["run", str(tmp_path / "one.toml"), "--no-figures", "--out", str(tmp_path / "one")]) == 0
    assert "newest: written in Python" in capsys.readouterr().err
    link = ["--rate", "10G", "--load", "1.2", "--ranks", "uniform", "--duration", "1ms", "--no-figures"]
    command = ["compare", "--schedulers", "fifo,newest:capacity_packets=9", *link]
    assert main([*command, "--rank", "shortest", "--out", str(tmp_path / "two")]) == 0
    said = capsys.readouterr()
    assert "newest, shortest: written in Python" in said.err
    assert "newest" in said.out
    assert main(["compare", "--schedulers", "fifo,newst", *link, "--out", str(tmp_path / "three")]) == 2


def test_a_distribution_that_a_scenario_does_not_name_is_not_imported(distribution):
    distribution(POINTS, "raise SystemExit\n")
    text = ONE_LINK.replace('{ name = "newest", capacity_packets = 20 }', '{ name = "pifo" }')
    assert "python" not in pifolab.run_text(text).manifest
    assert "newest_of_all" not in sys.modules


@pytest.mark.parametrize(
    ("points", "code", "said"),
    [
        ("newest = newest_of_all:Newest", "raise SystemExit(3)", "SystemExit: 3"),
        ("newest = newest_of_all:Newest", "", "AttributeError: module 'newest_of_all' has no attribute 'Newest'"),
        (
            "newest = newest_of_all:Newest",
            "Newest = 3",
            "expected a class that is derived from pifolab.PythonScheduler",
        ),
        ("newest = nowhere:Newest", "", "ModuleNotFoundError: No module named 'nowhere'"),
    ],
)
def test_an_entry_point_that_gives_no_scheduler_is_one_line_with_the_distribution(distribution, points, code, said):
    distribution(f"[pifolab.schedulers]\n{points}\n", code)
    with pytest.raises(pifolab.InputError) as found:
        pifolab.run_text(ONE_LINK)
    assert (
        str(found.value)
        == f"pifolab-newest: entry point pifolab.schedulers {points}: {said.format('pifolab.PythonScheduler')}"
    )
