"""Schedulers on one link without a scenario file: from Python, and as the command `compare`."""

import json
import pickle
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import pifolab
from pifolab.cli.options import flagged
from pifolab.cli.rows import print_rows
from pifolab.errors import ParameterName, parameter_error

Command = Callable[..., subprocess.CompletedProcess[str]]

FLAGS = ("--ranks", "uniform", "--rate", "10G", "--arrival-rate", "11G", "--duration", "0.002s")
DRAWN = {"ranks": "uniform", "rate_gbps": 10, "arrival_gbps": 11, "duration_s": 0.002}

LIFO = """
import pifolab

class Lifo(pifolab.PythonScheduler):
    def __init__(self, capacity_packets):
        self.stack, self.capacity_packets = [], capacity_packets

    def enqueue(self, packet, now_ns):
        if len(self.stack) == self.capacity_packets:
            return packet
        self.stack.append(packet)

    def dequeue(self, now_ns):
        return self.stack.pop() if self.stack else None
"""


class Short(pifolab.PythonScheduler):
    """First in, first out, with a buffer that its maker chooses."""

    def __init__(self, capacity_packets: int, window: int = 3):
        self.packets: list[pifolab.Packet] = []
        self.capacity_packets, self.window = capacity_packets, window

    def enqueue(self, packet: pifolab.Packet, now_ns: int) -> pifolab.Packet | None:
        if len(self.packets) == self.capacity_packets:
            return packet
        self.packets.append(packet)
        return None

    def dequeue(self, now_ns: int) -> pifolab.Packet | None:
        return self.packets.pop(0) if self.packets else None


def test_the_command_and_the_function_give_the_same_run(pifolab_command: Command, tmp_path: Path):
    flags = (*FLAGS, "--buffer-packets", "16", "--queues", "4", "--no-figures")
    done = pifolab_command("compare", *flags, "--out", "c")
    assert done.returncode == 0
    manifest = json.loads((tmp_path / "c/manifest.json").read_text())
    run = pifolab.compare(**DRAWN, buffer_packets=16, queues=4)
    assert [one["trace_hash"] for one in run.manifest["runs"]] == [one["trace_hash"] for one in manifest["runs"]]


def test_ranks_are_uniform_where_nothing_is_said_of_them(pifolab_command: Command):
    flags = (
        "--rate",
        "1G",
        "--load",
        "1.1",
        "--duration",
        "1ms",
        "--schedulers",
        "packs,fifo",
        "--no-figures",
        "--json",
    )
    said, unsaid = (pifolab_command("compare", *flags, *more, "--out", out) for more, out in
                    ((("--ranks", "uniform"), "said"), ((), "unsaid")))  # fmt: skip
    assert unsaid.returncode == 0
    assert unsaid.stdout.replace("unsaid", "said") == said.stdout


@pytest.mark.thorough
def test_ones_own_scheduler_stands_beside_the_others(pifolab_command: Command, tmp_path: Path):
    (tmp_path / "mine.py").write_text(LIFO)
    done = pifolab_command("compare", *FLAGS, "--python", "mine.py", "--no-figures", "--out", "c")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines() if line.startswith(("lifo", "packs"))][:2] == [
        "packs",
        "lifo",
    ]
    flags = (*FLAGS, "--python", "mine.py", "--schedulers", "lifo,pifo", "--no-figures")
    chosen = pifolab_command("compare", *flags, "--out", "d")
    assert chosen.stdout.splitlines()[3].startswith("lifo")


def test_a_class_gets_the_buffer_of_the_comparison_and_its_own_parameters():
    run = pifolab.compare(["fifo", {"name": Short, "window": 7}], **DRAWN, buffer_packets=16)
    fifo, short = run.tables["schedulers"].select("sent_packets", "dropped_packets").rows()
    assert fifo == short
    assert run.manifest["spec"]["scheduler"][1]["window"] == 7


def test_buffers_in_bytes_and_rates_in_megabits_are_the_same_as_in_packets_and_gigabits():
    packets = pifolab.compare(["pifo", "packs"], **DRAWN, buffer_packets=80)
    units = {"ranks": "uniform", "rate_mbps": 10_000, "arrival_mbps": 11_000, "duration_s": 0.002}
    in_bytes = pifolab.compare(["pifo", "packs"], **units, buffer_bytes=80 * 1500)
    columns = ("scheduler", "sent_packets", "inversions")
    assert in_bytes.tables["schedulers"].select(columns).equals(packets.tables["schedulers"].select(columns))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--buffer-packets", "81"), "--buffer-packets 81: expected a multiple of the 8 queues"),
        (("--buffer-bytes", "100"), "--buffer-bytes 100: expected a multiple of the 8 queues"),
        (("--buffer-bytes", "80", "--schedulers", "fq-codel"), "--buffer-bytes 80: fq-codel has no capacity_bytes"),
        (("--queues", "100000"), "--queues 100000: expected an integer from 1 to 1024"),
        (
            ("--schedulers", "pifo,lifo"),
            '--schedulers pifo,lifo: unknown scheduler "lifo"; did you mean pifo?; one of your own is FILE.py:Class',
        ),
        (("--schedulers", "pifo,pifo"), "--schedulers pifo,pifo: duplicate pifo"),
        (("--set", "workload.arrivals=0"), "--set: workload.arrivals = 0: expected one of"),
        (("--set", "link.rate_gbps=3"), "--rate conflicts with --set, which has link.rate_gbps"),
        (("--set", "duration_s=3"), "--duration conflicts with --set, which has duration_s"),
        (("--arrivals", "what"), '--arrivals "what": expected one of constant'),
        (("--buffer-packets", "800000000"), "--buffer-packets 800000000: expected an integer from 1 to"),
    ],
)  # fmt: skip
def test_errors_of_compare_name_the_flag_and_no_file(
    pifolab_command: Command, tmp_path: Path, flags: tuple[str, ...], message: str
):
    done = pifolab_command("compare", *FLAGS, *flags, "--out", "c")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"pifolab: {message}")
    assert "compare:" not in done.stderr


def test_errors_of_the_function_name_the_parameter():
    with pytest.raises(pifolab.InputError, match=r"^rate_gbps = 0: expected a rate") as caught:
        pifolab.compare(**{**DRAWN, "rate_gbps": 0})
    assert caught.value.key == "rate_gbps"
    with pytest.raises(pifolab.InputError, match=r"^buffer_bytes conflicts with buffer_packets"):
        pifolab.compare(**DRAWN, buffer_bytes=3, buffer_packets=3)


def test_a_trace_is_called_as_the_user_called_it(pifolab_command: Command, tmp_path: Path):
    (tmp_path / "bad.csv").write_text("time_ns,size_bytes,rank\n1,2,x\n")
    done = pifolab_command("compare", "--trace", "bad.csv", "--rank", "column", "--rate", "1G")
    assert done.stderr.startswith('pifolab: bad.csv:2: rank: "x"')


def test_a_mapping_is_a_scenario():
    scenario = {
        "duration_s": 0.002,
        "link": {"rate_gbps": 10},
        "workload": {"arrivals": "constant", "rate_gbps": 11, "size_bytes": 1500, "ranks": {"distribution": "uniform"}},
        "scheduler": [
            "pifo",
            {"name": Short, "capacity_packets": 9},
            {"name": "packs", "window": 20, "label": "small"},
        ],
    }
    run = pifolab.run(scenario)
    assert run.tables["schedulers"]["scheduler"].to_list() == ["pifo", "short", "small"]
    with pytest.raises(pifolab.InputError, match=r"^scenario: link\.rate_gbps = 0: expected") as caught:
        pifolab.run({**scenario, "link": {"rate_gbps": 0}})
    assert caught.value.line is None
    with pytest.raises(pifolab.InputError, match=r"^scenario: wrkload: unknown key"):
        pifolab.run({**scenario, "wrkload": {}})
    with pytest.raises(pifolab.InputError, match=r"^link\.rate_gbps = <object"):
        pifolab.run({**scenario, "link": {"rate_gbps": object()}})


@pytest.mark.thorough
def test_force_replaces_what_pifolab_wrote_and_nothing_else(pifolab_command: Command, tmp_path: Path):
    quick = (*FLAGS, "--schedulers", "pifo", "--no-figures", "--out")
    assert pifolab_command("compare", *quick, "c").returncode == 0
    refused = pifolab_command("compare", *quick, "c")
    assert (refused.returncode, "--force" in refused.stderr) == (2, True)
    shutil.copy(tmp_path / "c/schedulers.parquet", tmp_path / "c/old.parquet")
    assert pifolab_command("compare", *quick, "c", "--force").returncode == 0
    assert not (tmp_path / "c/old.parquet").exists()
    (tmp_path / "c/notes.txt").write_text("mine")
    refused = pifolab_command("compare", *quick, "c", "--force")
    assert (refused.returncode, "has notes.txt, which pifolab did not write" in refused.stderr) == (2, True)
    assert (tmp_path / "c/notes.txt").read_text() == "mine"
    (tmp_path / "c/notes.txt").unlink()
    others: list[tuple[str, Callable[[Path], object]]] = [
        ("figures/chapter.tex", Path.touch),
        ("figures/own/a.png", Path.touch),
        ("figures/a.png", Path.touch),
        ("figures/a.png", lambda path: path.symlink_to("nowhere")),
        ("packets/a.csv", Path.touch),
        ("mine.parquet", Path.touch),
        ("mine.parquet/a", Path.touch),
        ("mine.parquet", lambda path: path.symlink_to("nowhere")),
        ("figures", lambda path: path.symlink_to(".")),
    ]
    for name, make in others:
        path = tmp_path / "c" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)
        before = sorted((tmp_path / "c").rglob("*"))
        refused = pifolab_command("compare", *quick, "c", "--force")
        assert (refused.returncode, "which pifolab did not write" in refused.stderr) == (2, True), name
        assert sorted((tmp_path / "c").rglob("*")) == before
        path.unlink()
        if path.parent.name != "c":
            shutil.rmtree(tmp_path / "c" / name.split("/")[0])
    (tmp_path / "c/figures").mkdir()
    for ending in ("png", "svg", "pdf"):
        (tmp_path / f"c/figures/old.{ending}").touch()
    assert pifolab_command("compare", *quick, "c", "--force").returncode == 0
    assert not (tmp_path / "c/figures/old.png").exists()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/chapter").write_text("mine")
    # So has a page that a browser can install.
    (tmp_path / "thesis/manifest.json").write_text('{"name": "another program"}')
    refused = pifolab_command("compare", *quick, "thesis", "--force")
    assert (refused.returncode, "not a folder that pifolab wrote" in refused.stderr) == (2, True)
    assert (tmp_path / "thesis/chapter").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "thesis"]


@pytest.mark.thorough
def test_a_link_on_which_nothing_waits_is_pointed_out(pifolab_command: Command):
    idle = ("--ranks", "uniform", "--rate", "10M", "--arrival-rate", "3M", "--duration", "0.1s", "--no-figures")
    done = pifolab_command("compare", *idle, "--out", "c")
    assert (done.returncode, "note: no packet waited" in done.stderr) == (0, True)
    assert pifolab.compare(["pifo"], **DRAWN).notes == []


def test_schedulers_labels_scales_and_size_of_figures_are_chosen():
    run = pifolab.compare(["pifo", "fifo", "packs"], **DRAWN)
    figure = run.plot("inversions-per-rank", schedulers=["packs", "fifo"], labels={"packs": "Ours"}, y_scale="log")
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["Ours", "FIFO"]
    assert figure.axes[0].get_yscale() == "symlog"
    assert figure.axes[0].get_xscale() == "linear"
    assert run.plot("drops-per-rank", x_scale="log", size=(5, 2.5)).axes[0].get_xscale() == "symlog"
    with pytest.raises(pifolab.InputError, match=r'^schedulers: unknown scheduler "packz"; did you mean packs\?'):
        run.plot(schedulers=["packz"])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--size", "big"), "--size big: expected WIDTHxHEIGHT in inches"),
        (("--label", "packz=Ours"), '--label packz: unknown scheduler "packz"; did you mean packs?'),
        (("--label", "packs"), "--label packs: expected NAME=TEXT"),
    ],
)
def test_a_wrong_choice_for_figures_is_one_line_before_anything_runs(
    pifolab_command: Command, flags: tuple[str, ...], message: str
):
    done = pifolab_command("compare", *FLAGS, *flags, "--out", "c")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"pifolab: {message}")
    assert done.stderr.count("\n") == 1


def test_tables_fit_the_terminal(pifolab_command: Command, capsys: pytest.CaptureFixture[str]):
    done = pifolab_command("compare", *FLAGS, "--no-figures", "--all", "--out", "c")
    table = done.stdout.split("report:")[0]
    assert max(map(len, table.splitlines())) <= 100
    assert "utilisation" in table
    print_rows([f"column {at}" for at in range(30)], [["x" * 9] * 30])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert all(f"column {at}" in " ".join(lines) for at in range(30))


def test_a_flag_is_named_by_fields_whatever_a_text_says():
    name = ParameterName("buffer_packets")
    error = parameter_error("rate_gbps", ": conflicts with buffer_bytes or ", name, value="needs rank")
    error = pickle.loads(pickle.dumps(error))
    assert str(error) == "rate_gbps = needs rank: conflicts with buffer_bytes or buffer_packets"
    assert (error.value, error.problem) == ("needs rank", str(error).removeprefix("rate_gbps "))
    assert str(flagged(error)) == "--rate-gbps needs rank: conflicts with buffer_bytes or --buffer-packets"
    assert str(flagged(error, rate_gbps="--rate")).startswith("--rate needs rank: ")


def test_two_settings_and_an_own_class_stand_side_by_side(pifolab_command: Command, tmp_path: Path):
    (tmp_path / "lifo.py").write_text(LIFO)
    listed = "packs,packs:window=20:k=0.1,lifo.py:Lifo"
    link = ("--ranks", "uniform", "--rate", "10G", "--load", "1.1", "--duration", "1ms")
    done = pifolab_command("compare", *link, "--schedulers", listed, "--out", "c", "--no-figures")
    assert done.returncode == 0, done.stderr
    spec = json.loads((tmp_path / "c/manifest.json").read_text())["spec"]["scheduler"]
    assert [one["label"] for one in spec] == ["packs", "packs:window=20:k=0.1", "lifo"]
    assert spec[1]["window"] == 20
    assert "written in Python" in done.stderr
    wrong = pifolab_command("compare", *link, "--schedulers", "lifo.py:Fifo", "--out", "d")
    assert wrong.stderr == (
        "pifolab: --schedulers lifo.py:Fifo: lifo.py: expected one of its schedulers behind it, such as lifo.py:Lifo\n"
    )


def test_an_error_names_the_key_of_the_mapping_that_has_it(tmp_path: Path):
    options = {"ranks": "uniform", "rate_gbps": 1, "load": 1.1, "duration_s": 0.001}
    with pytest.raises(pifolab.InputError) as caught:
        pifolab.compare([{"name": "fq-codel", "capacity_bytes": 1000}], **options)
    assert "capacity_bytes = 1000: unknown key" in str(caught.value)
    assert "buffer_bytes" not in str(caught.value)


def test_ranks_that_run_out_are_said_however_long_a_run_is():
    drawn = random.Random(40)
    most_s = 2**63 / 1e12
    for _ in range(20):
        days, deadline_s = drawn.randrange(1, 200), drawn.randrange(1, 15_000_000)
        # One packet a day, the first at once.
        daily = {"arrivals": "constant", "rate_bps": 1, "size_bytes": 10_800}
        result = pifolab.run(
            {
                "duration_s": days * 86_400,
                "link": {"rate_gbps": 1},
                "rank": {"name": drawn.choice(["edf", "lstf"])},
                "workload": {**daily, "deadline_s": deadline_s},
                "scheduler": ["fifo", "pifo"],
            }
        )
        last_s = (days - 1) * 86_400 + deadline_s
        said = [line for line in result.warnings if "ranks ran out after" in line]
        assert len(said) == (2 if last_s > most_s else 0), (days, deadline_s, result.warnings)
        ordered = drawn.choice([{}, {"order": {"name": "pifo"}}])
        leaf = {"name": "fifo", "takes": "rest"}
        tree = {"name": "tree", "discipline": "wfq", "rate_gbps": 1, "child": [leaf], **ordered}
        result = pifolab.compare(
            [tree],
            ranks="uniform",
            rate="1G",
            arrival_mbps=1e-6,
            arrivals="constant",
            size_bytes=10_800,
            duration_s=days * 86_400,
        )
        said = [line for line in result.warnings if "the ranks of a node ran out" in line]
        assert len(said) == (1 if ordered and (days - 1) * 86_400 > most_s else 0), (days, result.warnings)
