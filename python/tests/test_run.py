"""Running scenarios as a user does: folders that are whole, errors that are one line, schedulers written in Python."""

import gzip
import json
import os
import pickle
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from waiting import Running

import pifolab
from pifolab.catalogue import columns

Run = Callable[..., subprocess.CompletedProcess[str]]

SCENARIO = """
title = "A small one"
duration_s = 0.005
link = { rate_gbps = 10 }
workload = { arrivals = "constant", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }

[[scheduler]]
name = "pifo"

[[scheduler]]
name = "fifo"

[[scheduler]]
name = "packs"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text(SCENARIO)
    return file


def test_a_run_folder_is_whole(pifolab_command: Run, scenario: Path, tmp_path: Path):
    done = pifolab_command("run", scenario, "--out", tmp_path / "run")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^pifo +4584 ", done.stdout, re.MULTILINE)
    folder = tmp_path / "run"
    assert {file.name for file in tmp_path.iterdir()} == {"small.toml", "run"}
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["seeds"] == [1]
    assert manifest["spec"]["scheduler"][2]["name"] == "packs"
    summary = json.loads((folder / "summary.json").read_text())
    assert [row["scheduler"] for row in summary["runs"][0]["schedulers"]] == ["pifo", "fifo", "packs"]
    frame = pl.read_parquet(folder / "schedulers.parquet")
    assert frame["seed"].unique().to_list() == [1]
    assert frame.filter(scheduler="pifo")["inversions"].item() == 0
    assert frame.filter(scheduler="fifo")["inversions"].item() > 0
    drawn = {"comparison", "inversions-per-rank", "drops-per-rank", "misdrops-per-rank", "bounds-over-time"}
    drawn |= {"packets-by-queue", "drops-by-queue", "occupancy-over-time"}
    for name in drawn:
        assert {file.suffix for file in (folder / "figures").glob(f"{name}.*")} == {".png", ".svg", ".pdf"}
    report = (folder / "report.html").read_text()
    assert "A small one" in report
    assert "http" not in report.replace("http-equiv", "")
    assert report.count("data:image/png;base64,") == len(list((folder / "figures").glob("*.png"))) >= len(drawn)


def test_the_page_of_run_folders_has_every_table_and_the_catalogue_every_column(scenario: Path):
    page = (Path(__file__).resolve().parents[2] / "docs" / "run-folder.md").read_text(encoding="utf-8")
    paragraphs = re.split(r"^(?=\*\*\w+\*\*)", page.split("## Tables")[1], flags=re.MULTILINE)
    about = {match.group(1): text for text in paragraphs if (match := re.match(r"\*\*(\w+)\*\*", text))}
    everything = {"unpifoness_window_packets": 100, "throughput_interval_us": 100, "sample_window": True}
    run = pifolab.run(scenario, overrides={f"metrics.{key}": value for key, value in everything.items()})
    assert {"throughput", "unpifoness_windows", "queue_samples"} <= set(run.tables)
    for name, table in run.tables.items():
        assert name in about, f"docs/run-folder.md: expected a paragraph that begins with **{name}**"
        assert set(table.columns) <= columns().keys(), name


def test_the_folder_is_named_after_the_scenario(pifolab_command: Run, scenario: Path, tmp_path: Path):
    assert pifolab_command("run", scenario, "--no-figures").returncode == 0
    assert (tmp_path / "out/small/report.html").exists()


@pytest.mark.thorough
def test_figures_of_a_scenario_have_the_schedulers_that_are_chosen(
    pifolab_command: Run, scenario: Path, tmp_path: Path
):
    flags = ("--draw", "packs,fifo", "--label", "fifo=First come", "--x-scale", "log")
    assert pifolab_command("run", scenario, *flags).returncode == 0
    assert pl.read_parquet(tmp_path / "out/small/schedulers.parquet").height == 3
    drawn = (tmp_path / "out/small/figures/comparison.svg").read_text()
    assert drawn.index("PACKS") < drawn.index("First come")
    assert ">PIFO<" not in drawn
    refused = pifolab_command("run", scenario, "--draw", "packz", "--out", "other")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == 'pifolab: --draw: unknown scheduler "packz"; did you mean packs?\n'


def test_the_same_seed_gives_the_same_decisions_on_any_number_of_workers():
    one = pifolab.run_text(SCENARIO, workers=1, seeds=[7])
    four = pifolab.run_text(SCENARIO, workers=4, seeds=[7])
    other = pifolab.run_text(SCENARIO, workers=4, seeds=[8])
    assert one.manifest["runs"] == four.manifest["runs"]
    assert one.manifest["runs"][0]["trace_hash"] != other.manifest["runs"][0]["trace_hash"]
    for name, frame in one.tables.items():
        assert frame.equals(four.tables[name])


def test_several_seeds_stand_in_one_table():
    result = pifolab.run_text(SCENARIO, overrides={"seeds": [3, 4]})
    assert result.seeds == [3, 4]
    assert result.tables["schedulers"].select("seed", "scheduler").rows() == [
        (seed, name) for seed in (3, 4) for name in ("pifo", "fifo", "packs")
    ]
    alone = pifolab.run_text(SCENARIO, seeds=[4])
    assert result.tables["ranks"].filter(seed=4).equals(alone.tables["ranks"])


def test_overrides_reach_the_scenario():
    result = pifolab.run_text(SCENARIO, overrides={"link.rate_gbps": 20, "scheduler.packs.window": 20})
    assert result.tables["schedulers"]["dropped_packets"].to_list() == [0, 0, 0]
    assert result.manifest["overrides"] == ["link.rate_gbps=20", "scheduler.packs.window=20"]


def test_one_key_is_set_once_whatever_it_is_called():
    for overrides, message in (
        (
            {"scheduler.packs.window": 5, "scheduler.2.window": 6},
            "scheduler.2.window: is the same key as scheduler.pac",
        ),
        ({"link.rate_gbps": 5, "link": {"rate_gbps": 6}}, "link: replaces link.rate_gbps, which is set already"),
    ):
        with pytest.raises(pifolab.InputError, match=re.escape(message)):
            pifolab.run_text(SCENARIO, overrides=overrides)
    with pytest.raises(pifolab.InputError, match="seeds: conflicts with overrides, which has seeds"):
        pifolab.run_text(SCENARIO, seeds=[1], overrides={"seeds": [2]})


def test_progress_is_told():
    seen: list[pifolab.Progress] = []
    text = SCENARIO.replace("0.005", "0.5")
    pifolab.run_text(text, seeds=[1, 2], progress=seen.append)
    assert seen
    arrived = [state.arrived_packets for state in seen]
    assert arrived == sorted(arrived)
    assert all(state.runs == 6 for state in seen)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("rate_gbps = 10", "rate_gbsp = 10"), ("small.toml:4", "link.rate_gbsp", "did you mean rate_gbps?")),
        (('"packs"', '"pcks"'), ("small.toml:14", "pcks", "did you mean packs?")),
        (('"packs"', '"packs"\nwindow = -3'), ("window = -3", "from 1 to")),
        (('"packs"', '"packs"\nk = 1'), ("k = 1", "from 0 up to but not including 1")),
        (('"packs"', '"packs"\nqueues = 0'), ("queues = 0", "from 1 to 1024")),
        (('"uniform"', '"unifrom"'), ("unifrom", "did you mean uniform?")),
        (("duration_s = 0.005", ""), ("duration_s", "missing")),
        (("[[scheduler]]", "[[scheduler"), ("small.toml:7",)),
        (("size_bytes = 1500, ", ""), ("size_bytes",)),
        (("link =", "lnk ="), ("lnk",)),
    ],
)
def test_a_wrong_scenario_is_one_line_with_the_place(
    pifolab_command: Run, scenario: Path, tmp_path: Path, change: tuple[str, str], words: tuple[str, ...]
):
    assert change[0] in SCENARIO
    scenario.write_text(SCENARIO.replace(*change))
    done = pifolab_command("run", scenario, "--out", tmp_path / "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    for word in ("small.toml", *words):
        assert word in done.stderr
    assert {file.name for file in tmp_path.iterdir()} == {"small.toml"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--seed", "-1"), ("seed",)),
        (("--seed", "x"), ("--seed x", "from 0 to 2^63 - 1")),
        (("--set", "link"), ("--set link", "KEY=VALUE")),
        (("--set", "link.rte_gbps=3"), ("--set", "link.rte_gbps", "did you mean rate_gbps?")),
        (("--sed", "1"), ("--sed", "did you mean --seed?")),
        (("--set", "link.rate_gbps=3", "--set", "link.rate_gbps=4"), ("link.rate_gbps=4: duplicate",)),
        (
            ("--set", "scheduler.packs.window=3", "--set", "scheduler.2.window=4"),
            ("scheduler.2.window: is the same key as scheduler.packs.window, which is set already",),
        ),
        (
            ("--set", "link.rate_gbps=3", "--set", "link={rate_gbps = 4}"),
            ("link: replaces link.rate_gbps, which is set already",),
        ),
        (("--set", "link.rate_mbps=3"), ("link.rate_mbps: conflicts with rate_gbps",)),
        (("--set", "seeds=[1]", "--seed", "2"), ("--set seeds: conflicts with --seed",)),
    ],
)
def test_a_wrong_flag_is_one_line(
    pifolab_command: Run, scenario: Path, tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
):
    done = pifolab_command("run", scenario, "--out", tmp_path / "run", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr
    assert not (tmp_path / "run").exists()


def test_an_output_folder_that_exists_is_left_alone(pifolab_command: Run, scenario: Path, tmp_path: Path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/mine.txt").write_text("precious")
    done = pifolab_command("run", scenario, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "exists already" in done.stderr
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["mine.txt"]


def test_an_output_folder_that_cannot_be_made_is_said_before_the_run(
    pifolab_command: Run, scenario: Path, tmp_path: Path
):
    (tmp_path / "file").write_text("")
    done = pifolab_command("run", scenario, "--out", tmp_path / "file/run")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "is not a folder" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_output_folder_without_permission_is_said(pifolab_command: Run, scenario: Path, tmp_path: Path):
    (tmp_path / "locked").mkdir(mode=0o555)
    done = pifolab_command("run", scenario, "--out", tmp_path / "locked/run")
    assert done.returncode == 2
    assert "cannot be written to" in done.stderr


def test_a_folder_that_fails_half_way_leaves_nothing(tmp_path: Path):
    from pifolab.folder import whole_folder

    with pytest.raises(RuntimeError), whole_folder(tmp_path / "run") as folder:  # noqa: PT012
        (folder / "half").write_text("")
        raise RuntimeError("the disk caught fire")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "kept").mkdir()
    for run in ("new/deep/run", "kept/new/run"):
        with pytest.raises(MemoryError), whole_folder(tmp_path / run):
            raise MemoryError
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "kept"]


def test_what_cannot_be_written_is_reported_with_the_folder_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import tempfile

    from pifolab.folder import whole_folder

    def refuse(**_: object) -> str:
        raise OSError(30, "Read-only file system", "/somewhere/.run.partial-x")

    with pytest.raises(pifolab.InputError, match=r"run/no/such: cannot be written: No such file"):  # noqa: SIM117
        with whole_folder(tmp_path / "run") as folder:
            (folder / "no" / "such").write_text("")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(pifolab.InputError, match=r"/run: cannot be written: Read-only"), whole_folder(tmp_path / "run"):
        pass


TRACE = "time_ns,size_bytes,rank,flow\n" + "".join(f"{i * 500},1500,{(i * 7) % 11},{i % 3}\n" for i in range(400))


@pytest.mark.parametrize(("rank", "name"), [("las", "las"), ("column", None)])
def test_compare_replays_a_trace(pifolab_command: Run, tmp_path: Path, rank: str, name: str | None):
    with gzip.open(tmp_path / "trace.csv.gz", "wt") as file:
        file.write(TRACE)
    flags = ("--trace", "trace.csv.gz", "--rate", "10G", "--rank", rank, "--schedulers", "pifo,sp-pifo")
    done = pifolab_command("compare", *flags, "--buffer-packets", "16", "--queues", "4", "--no-figures", "--out", "c")
    said = "pifolab: warning: sp-pifo: all packets were in queue 3 of 4, which is first-in first-out\n"
    assert (done.returncode, done.stderr) == (0, said if rank == "las" else "")
    manifest = json.loads((tmp_path / "c/manifest.json").read_text())
    assert manifest["spec"].get("rank", {}).get("name") == name
    assert manifest["spec"]["scheduler"][1]["queue_capacity_packets"] == 4
    frame = pl.read_parquet(tmp_path / "c/schedulers.parquet")
    assert frame["arrived_packets"].to_list() == [400, 400]


def test_compare_draws_ranks(pifolab_command: Run, tmp_path: Path):
    flags = ("--ranks", "poisson", "--rate", "1G", "--arrival-rate", "1.5G", "--duration", "0.01s")
    done = pifolab_command("compare", *flags, "--no-figures", "--out", "c")
    assert (done.returncode, done.stderr) == (0, "")
    assert list((tmp_path / "c").glob("**/*.png")) == []
    assert "inversions" in (tmp_path / "c/report.html").read_text()
    assert pl.read_parquet(tmp_path / "c/schedulers.parquet").height == 7


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--rate", "1G"), ("--trace", "--ranks")),
        (("--trace", "t.csv", "--rate", "1G"), ("--trace needs --rank",)),
        (("--trace", "t.csv", "--rate", "1G", "--rank", "las"), ("t.csv", "No such file")),
        (("--ranks", "uniform", "--rate", "1G"), ("--ranks needs --load or --arrival-rate",)),
        (("--rate", "10G", "--load", "1.1"), ("--duration is missing: ranks that are drawn need it",)),
        (
            ("--ranks", "uniform", "--rate", "fast", "--arrival-rate", "1G", "--duration", "1s"),
            ('--rate "fast"',),
        ),
        (
            (
                "--ranks",
                "uniform",
                "--rate",
                "1G",
                "--arrival-rate",
                "1G",
                "--duration",
                "1s",
                "--schedulers",
                "packz",
            ),
            ("did you mean packs?",),
        ),
        (
            (
                "--ranks",
                "uniform",
                "--rate",
                "1G",
                "--arrival-rate",
                "1G",
                "--duration",
                "1s",
                "--buffer-packets",
                "9",
            ),
            ("--buffer-packets 9", "multiple of the 8 queues"),
        ),
    ],
)
def test_a_wrong_comparison_is_one_line(
    pifolab_command: Run, tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
):
    done = pifolab_command("compare", *arguments, "--out", "c")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_schema_knows_the_keys(pifolab_command: Run):
    schema = json.loads(pifolab_command("schema").stdout)
    assert "link" in schema["else"]["properties"]


def test_ctrl_c_is_one_line_and_leaves_nothing_half_written(scenario: Path, tmp_path: Path):
    scenario.write_text(SCENARIO.replace("0.005", "1e6"))
    with Running("run", scenario, "--out", tmp_path / "run", cwd=tmp_path) as running:
        running.tells("the run will take about")
        assert running.interrupt() == 130
        assert "interrupted" in running.messages
        assert "Traceback" not in running.messages
    assert {file.name for file in tmp_path.iterdir()} == {"small.toml"}


class Lifo(pifolab.PythonScheduler):
    """Newest first."""

    def __init__(self, capacity_packets: int):
        self.stack: list[pifolab.Packet] = []
        self.capacity = capacity_packets

    def enqueue(self, packet: pifolab.Packet, now_ns: int):
        if len(self.stack) == self.capacity:
            return packet
        self.stack.append(packet)
        return None

    def dequeue(self, now_ns: int):
        return self.stack.pop() if self.stack else None


class Fifo(Lifo):
    """What the library has too, so that the two can be compared."""

    def dequeue(self, now_ns: int):
        return self.stack.pop(0) if self.stack else None


class Pifo(Lifo):
    """Push-out, by sorting."""

    def enqueue(self, packet: pifolab.Packet, now_ns: int):
        self.stack.append(packet)
        self.stack.sort(key=lambda waiting: waiting.rank)
        return [self.stack.pop()] if len(self.stack) > self.capacity else None

    def dequeue(self, now_ns: int):
        return self.stack.pop(0) if self.stack else None


def with_schedulers(*tables: str) -> str:
    head = SCENARIO[: SCENARIO.index("[[scheduler]]")].replace("0.005", "0.001")
    return head + "".join(f"[[scheduler]]\n{table}\n" for table in tables)


@pytest.mark.parametrize("made", [Fifo, Pifo], ids=["fifo", "pifo"])
def test_a_scheduler_in_python_decides_as_the_built_in_one(made: type[Lifo]):
    name = made.__name__.lower()
    text = with_schedulers(f'name = "{name}"\ncapacity_packets = 9', 'name = "mine"\ncapacity_packets = 9')
    result = pifolab.run_text(text, schedulers={"mine": made})
    ours, mine = result.summary["runs"][0]["schedulers"]
    assert ours["arrived_packets"] == 917
    assert ours["dropped_packets"] > 0
    assert ours["trace_hash"] == mine["trace_hash"]


def test_a_rank_function_in_python_ranks_as_the_built_in_one():
    class Arrival(pifolab.PythonRank):
        seen = 0

        def rank(self, packet: pifolab.Packet, now_ns: int) -> int:
            self.seen += 1
            return self.seen - 1

    head = with_schedulers('name = "pifo"\ncapacity_packets = 9')
    synthetic = head.replace('ranks = "uniform"', 'ranks = { distribution = "constant", value = 0 }')
    mine = pifolab.run_text(synthetic + '[rank]\nname = "mine"\n', ranks={"mine": Arrival})
    assert mine.tables["schedulers"]["inversions"].item() == 0
    assert mine.tables["ranks"]["rank"].max() > 100


class Forgetful(Lifo):
    def dequeue(self, now_ns: int):
        return None


class Inventive(Lifo):
    def dequeue(self, now_ns: int):
        return pifolab.Packet(1, id=10**6)


class Raising(Lifo):
    def enqueue(self, packet: pifolab.Packet, now_ns: int):
        raise ZeroDivisionError("mine alone")


class Confused(Lifo):
    def enqueue(self, packet: pifolab.Packet, now_ns: int):
        return "yes"


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        (Forgetful, RuntimeError, "dequeue returned None, but 1 packets wait"),
        (Inventive, RuntimeError, "sends packet 1000000, which it does not hold"),
        (Raising, ZeroDivisionError, "mine alone"),
        (Confused, TypeError, "enqueue must return None"),
    ],
)
def test_a_scheduler_in_python_that_breaks_the_contract_is_told(made: type[Lifo], error: type[Exception], message: str):
    text = with_schedulers('name = "mine"\ncapacity_packets = 9')
    with pytest.raises(error, match=message):
        pifolab.run_text(text, schedulers={"mine": made})


def test_parameters_that_a_python_scheduler_does_not_take_are_an_error():
    with pytest.raises(pifolab.InputError, match="unexpected keyword argument 'size'"):
        pifolab.run_text(with_schedulers('name = "mine"\nsize = 9'), schedulers={"mine": Lifo})


def test_a_fault_in_a_scenario_has_its_place_in_fields() -> None:
    with pytest.raises(pifolab.InputError) as caught:
        pifolab.run_text("\n[link]\nrate_gbps = 0\n", "link.toml")
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.file, error.line, error.key, error.value, error.flag) == ("link.toml", 3, "link.rate_gbps", "0", None)
    assert error.problem.startswith("= 0: expected a rate")
    assert str(error) == f"link.toml:3: link.rate_gbps {error.problem}"
    with pytest.raises(pifolab.InputError) as caught:
        pifolab.run_text("", "link.toml", overrides={"link.rate_gbps": 0})
    assert (caught.value.file, caught.value.line, caught.value.flag) == ("link.toml", None, "--set")
