"""Networks as a user runs them: folders, flow lists, and agreement with another simulator."""

import gzip
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import pifolab
from pifolab.agreement import agree

Run = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).resolve().parents[2]

SCENARIO = """
title = "Two racks"
duration_ms = 4

[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
access_rate_gbps = 1
fabric_rate_gbps = 4
delay_us = 1

[transport]
name = "pfabric"

[workload.flows]
arrivals = "poisson"
load = 0.7
sizes = "fixed"
size_bytes = 40_000
pairs = "uniform"

[[scheduler]]
name = "pifo"

[[scheduler]]
name = "sp-pifo"
"""

LIST = "flow,src,dst,size_bytes,start_ns,fct_ns\n0,0,7,1,0,{}\n1,1,2,30000,10,\n"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "racks.toml"
    file.write_text(SCENARIO)
    return file


def test_a_network_run_folder_is_whole(pifolab_command: Run, scenario: Path, tmp_path: Path):
    done = pifolab_command("run", scenario, "--out", tmp_path / "run")
    assert (done.returncode, done.stderr) == (0, "")
    assert "mean FCT" in " ".join(done.stdout.split()) or "FCT" in done.stdout
    folder = tmp_path / "run"
    flows = pl.read_parquet(folder / "flows.parquet")
    wanted = ["flow", "src", "dst", "size_bytes", "start_ns", "fct_ns", "slowdown"]
    assert [column for column in flows.columns if column in wanted] == wanted
    completed = flows.drop_nulls("fct_ns")
    assert completed["slowdown"].min() >= 1
    summary = json.loads((folder / "summary.json").read_text())["runs"][0]["schedulers"][0]
    assert summary["completed_flows"] == completed.filter(scheduler="pifo").height
    assert summary["counters"]["PACKETS_DROPPED"] == summary["dropped_packets"]
    assert summary["inversions"] == 0
    assert json.loads((folder / "manifest.json").read_text())["kind"] == "network"
    assert {file.stem for file in folder.glob("*.parquet")} >= {"schedulers", "flows", "fct", "ports", "port_queues"}
    assert (folder / "figures" / "fct-small-flows.png").exists()
    report = (folder / "report.html").read_text()
    assert "100 KB" in report
    assert report.count("<img") == len(list((folder / "figures").glob("*.png")))


@pytest.mark.thorough
def test_a_list_replaces_the_flows_and_agrees_with_itself(pifolab_command: Run, scenario: Path, tmp_path: Path):
    wanted = tmp_path / "flows.csv.gz"
    wanted.write_bytes(gzip.compress(LIST.format("").encode()))
    one = ("--set", 'scheduler=[{name="pifo"}]', "--set", "duration_us=100")
    # The duration is in the scenario already, in milliseconds.
    assert pifolab_command("run", scenario, *one, "--out", tmp_path / "no").returncode == 2
    one = (*one[:3], "duration_ms=0.1")
    assert pifolab_command("run", scenario, "--flows", wanted, *one, "--out", tmp_path / "run").returncode == 0
    fct = pl.read_parquet(tmp_path / "run" / "flows.parquet")["fct_ns"].to_list()
    assert fct[0] is not None
    assert fct[1] is None
    reference = tmp_path / "reference.csv"
    reference.write_text(LIST.format(fct[0]))
    done = pifolab_command("flows", "compare", tmp_path / "run", reference)
    assert done.returncode == 0
    assert "identical FCT                       2     100 %" in done.stdout
    reference.write_text(LIST.format(fct[0] * 2) + "2,3,4,5,6,7\n")
    done = pifolab_command("flows", "compare", tmp_path / "run", reference, "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    counts = [found[key] for key in ("flows", "matched", "identical", "within_1_percent", "unmatched_reference")]
    assert counts == [3, 2, 1, 1, 1]


SHIPPED = sorted((Path(__file__).parents[2] / "crates" / "sim" / "tests" / "reference").glob("*.csv.gz"))


@pytest.mark.thorough
@pytest.mark.parametrize("reference", SHIPPED, ids=lambda file: file.name)
def test_the_lists_that_ship_can_be_compared_with(
    pifolab_command: Run, scenario: Path, tmp_path: Path, reference: Path
):
    schemes = pl.read_csv(reference, n_rows=1).columns[5:]
    assert schemes
    one = ("--set", 'scheduler=[{name="pifo"}]')
    assert pifolab_command("run", scenario, *one, "--out", tmp_path / "run").returncode == 0
    done = pifolab_command("flows", "compare", tmp_path / "run", reference)
    assert done.returncode == 2
    assert (
        f"has no column fct_ns of completion times: choose one with --column; it has {', '.join(schemes)}"
        in done.stderr
    )
    for scheme in schemes:
        # These are other flows than those of the list, and it is said so.
        done = pifolab_command("flows", "compare", tmp_path / "run", reference, "--column", scheme)
        assert (done.returncode, done.stderr) == (1, "")
        assert f"{pl.read_csv(reference).height} flows in the reference" in done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flow,src\n", "reference.csv:1: has no column dst"),
        ("flow,src,dst,size_bytes,start_ns,fct_ns\n0,0,1,x,0,1\n", "reference.csv:2: size_bytes: 'x': expected"),
        ("flow,src,dst,size_bytes,start_ns,fct_ns\n0,0,1,1,0,-1\n", "reference.csv:2: fct_ns: '-1': expected"),
    ],
)
def test_a_wrong_reference_is_one_line(pifolab_command: Run, scenario: Path, tmp_path: Path, text: str, expected: str):
    pifolab_command("run", scenario, "--out", tmp_path / "run")
    reference = tmp_path / "reference.csv"
    reference.write_text(text)
    done = pifolab_command("flows", "compare", tmp_path / "run", reference, "--scheduler", "pifo")
    assert done.returncode == 2
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_name_with_brackets_is_a_name_and_no_pattern(tmp_path: Path):
    """`run[1]` is not `run1`, in the folder of the run as in the list."""
    columns = {
        "scheduler": ["pifo"],
        "seed": [1],
        "flow": [0],
        "src": [0],
        "dst": [1],
        "size_bytes": [9],
        "start_ns": [0],
    }
    for name, fct in (("run[1]", 7), ("run1", 8)):
        (tmp_path / name).mkdir()
        flows = pl.DataFrame({**columns, "fct_ns": [fct]})
        flows.write_parquet(tmp_path / name / "flows.parquet")
        manifest = {"spec": {"metrics": {"size_classes_bytes": [100]}}}
        (tmp_path / name / "manifest.json").write_text(json.dumps(manifest))
        flows.drop("scheduler", "seed").write_csv(tmp_path / f"{name}.csv")
    found = agree(tmp_path / "run[1]", tmp_path / "run[1].csv")
    assert (found.identical, found.flows) == (1, 1)
    # Each of the two, beside the file that the pattern would have meant.
    assert agree(tmp_path / "run[1]", tmp_path / "run1.csv").identical == 0
    assert agree(tmp_path / "run1", tmp_path / "run[1].csv").identical == 0


@pytest.mark.thorough
def test_agree_asks_which_scheduler_and_refuses_other_folders(pifolab_command: Run, scenario: Path, tmp_path: Path):
    pifolab_command("run", scenario, "--out", tmp_path / "run")
    reference = tmp_path / "reference.csv"
    reference.write_text(LIST.format(1))
    done = pifolab_command("flows", "compare", tmp_path / "run", reference)
    assert done.returncode == 2
    assert "has several of scheduler (pifo, sp-pifo): choose one with --scheduler" in done.stderr
    done = pifolab_command("flows", "compare", tmp_path / "nothing", reference)
    assert done.returncode == 2
    assert "flows.parquet: cannot be read" in done.stderr


def test_flows_on_one_link_are_refused(pifolab_command: Run, tmp_path: Path):
    file = tmp_path / "link.toml"
    file.write_text("duration_s = 1\nlink = { rate_gbps = 1 }\n")
    done = pifolab_command("run", file, "--flows", tmp_path / "flows.csv")
    assert done.returncode == 2
    assert "--flows: has no effect" in done.stderr


@pytest.mark.thorough
def test_the_published_runs_start_with_the_flows_of_their_authors():
    files = [
        file for file in sorted((ROOT / "experiments" / "netbench").glob("*.toml")) if "web-search" in file.read_text()
    ]
    assert len(files) > 30
    for file in files:
        result = pifolab.run(file, overrides={"duration_s": 0.002, "metrics.watch_ports": False})
        first = result.tables["flows"].select("src", "dst", "size_bytes", "start_ns").row(0)
        assert first == (35, 131, 200_000, 0), file.name


@pytest.mark.thorough
def test_flows_are_written_in_every_format_and_are_the_run_again(pifolab_command: Run, scenario: Path, tmp_path: Path):
    def trace_hash(flows: Path | None = None, hpcc: str | None = None) -> str:
        overrides = {"scheduler": '[{name="pifo"}]', **({} if hpcc is None else {"workload.flows": hpcc})}
        return pifolab.run(scenario, seeds=[3], flows=flows, overrides=overrides).manifest["runs"][0]["trace_hash"]

    hashes = {trace_hash()}
    for name in ("flows.csv", "flows.csv.gz", "hpcc.txt"):
        out = tmp_path / "lists" / name
        done = pifolab_command("flows", "export", scenario, "--seed", "3", "--out", out)
        assert (done.returncode, done.stderr) == (0, "")
        written = gzip.decompress(out.read_bytes()) if name.endswith(".gz") else out.read_bytes()
        flows = written.count(b"\n") - 1
        assert flows > 10
        assert done.stdout == f"{flows} flows: {out}\n"
        hpcc = f'{{ list = {json.dumps(str(out))}, format = "hpcc" }}'
        hashes.add(trace_hash(hpcc=hpcc) if name.endswith(".txt") else trace_hash(out))
    assert len(hashes) == 1, "a list that was written is the run again"
    assert {file.name for file in (tmp_path / "lists").iterdir()} == {"flows.csv", "flows.csv.gz", "hpcc.txt"}


@pytest.mark.thorough
def test_a_flow_list_that_cannot_be_written_is_one_line(pifolab_command: Run, scenario: Path, tmp_path: Path):
    (tmp_path / "there.csv").write_text("")
    (tmp_path / "folder.csv").mkdir()
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff")
    link = tmp_path / "link.toml"
    link.write_text(
        'duration_s = 1\nlink = { rate_gbps = 1 }\nscheduler = [{ name = "fifo" }]\n'
        'workload = { arrivals = "constant", rate_gbps = 1, size_bytes = 1500, ranks = "uniform" }'
    )
    x = tmp_path / "new" / "x.csv"
    for words, expected in (
        ((scenario, "--out", tmp_path / "there.csv"), "there.csv: exists already; give another --out, or remove it"),
        ((scenario, "--out", tmp_path / "folder.csv"), "folder.csv: is a folder: expected the name of a file"),
        ((scenario, "--out", tmp_path / "there.csv" / "x.csv"), "there.csv is not a folder"),
        ((scenario, "--out", tmp_path / "x.parquet"), "expected a name that ends in .csv, .csv.gz, or .txt"),
        ((tmp_path / "no.toml", "--out", x), "no.toml: cannot be read: No such file or directory"),
        ((binary, "--out", x), "binary.toml: not UTF-8 text (byte 0)"),
        ((link, "--out", x), "link.toml: flows: has no effect: only a scenario on a network"),
        ((scenario, "--out", x, "--seed", "-1"), "--seed -1: expected an integer"),
        ((scenario, "--out", x, "--set", "a"), "--set a: expected KEY=VALUE"),
        ((scenario, "--out", x, "--set", "duration_ms=0"), "duration_ms = 0: expected a time above 0"),
    ):
        done = pifolab_command("flows", "export", *words)
        assert done.returncode == 2
        assert expected in done.stderr
        assert done.stderr.count("\n") == 1
    assert not x.parent.exists(), "nothing is left of a list that was not written"


def test_what_is_recorded_becomes_tables(scenario: Path):
    recorded = {
        "record": '{ sample_interval_us = 100, packet_log = ["leaf0->host0"], arrival_order = ["host0"],'
        " throughput_interval_us = 500 }",
        "link_failure": '[{ link = "leaf0-spine0", at_ms = 1, repair_ms = 2 }]',
    }
    result = pifolab.run(scenario, overrides=recorded)
    assert {"port_samples", "port_queue_samples", "packet_log", "arrival_order", "throughput"} <= result.tables.keys()
    log = result.tables["packet_log"].filter(scheduler="pifo")
    port = result.tables["ports"].filter(scheduler="pifo").row(log["port"][0], named=True)
    assert log.filter(event="dequeue").height == port["sent_packets"]
    assert result.tables["arrival_order"]["host"].unique().to_list() == [0]
    delivered = result.tables["throughput"].group_by("scheduler").agg(pl.col("bytes").sum())
    acknowledged = result.tables["flows"].group_by("scheduler").agg(pl.col("acknowledged_bytes").sum())
    both = delivered.join(acknowledged, on="scheduler")
    assert (both["bytes"] >= both["acknowledged_bytes"]).all()


def test_the_examples_of_the_documentation_run(scenario: Path, tmp_path: Path):
    page = (ROOT / "docs" / "network-scenarios.md").read_text(encoding="utf-8")
    topology, *fragments = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    # What belongs to a program is an example of its tutorial, which is run; a program refuses others of these tables.
    fragments = [
        re.sub(r"^frames = .*\n", "", one, flags=re.MULTILINE) for one in fragments if not one.startswith("[switch]")
    ]
    (tmp_path / "net.toml").write_text(topology)
    own = pifolab.run(scenario, overrides={"topology": '{ kind = "file", file = "net.toml" }'})
    assert own.tables["ports"].filter(scheduler="pifo")["rate_bps"].to_list() == [10**10, 10**10, 10**9, 10**9]
    result = pifolab.run_text(SCENARIO + "".join(fragments), overrides={"duration_ms": 20})
    recorded = {"port_samples", "port_queue_samples", "packet_log", "arrival_order", "throughput"}
    assert recorded <= set(result.tables)
    assert result.tables["schedulers"]["lost_on_wire_packets"].max() > 0


HPCC = """
duration_ms = 1
topology = {{ kind = "file", file = "{folder}/topology.txt" }}
workload = {{ flows = [{{ list = "{folder}/flow.txt", format = "hpcc" }}] }}
transport = {{ name = "newreno" }}
scheduler = [{{ name = "pifo", capacity_packets = 50 }}]
"""


def test_a_topology_of_hpcc_may_have_switches_first_and_hosts_with_two_links(pifolab_command: Run, tmp_path: Path):
    links = ["1 0", "2 0", "2 3", "4 3", "0 3"]
    rows = "".join(f"{link} 10Gbps 1us 0.000000\n" for link in links)
    # Like HPCC's own example, with more than the first line counts.
    (tmp_path / "topology.txt").write_text(f"5 2 5\n0 3\n{rows}1 3 10Gbps 1us 0\n\nFirst line: numbers\n")
    flows = "2 1 3 100 30000 0\n4 2 3 100 30000 0.0001\n1 4 3 100 30000 0.0002\n"
    (tmp_path / "flow.txt").write_text(f"3\n{flows}")
    text = HPCC.format(folder=tmp_path)
    run = pifolab.run_text(text)
    assert run.tables["flows"].select("src", "dst").rows() == [(1, 0), (2, 1), (0, 2)]
    assert run.tables["flows"]["fct_ns"].null_count() == 0
    topology = run.manifest["spec"]["topology"]
    assert (topology["hosts"], topology["nodes"], topology["cards"]) == (3, 6, 1)
    assert run.notes[:2] == [
        "topology: 1 hosts with several links have one, to a card that is a switch",
        "topology: not read behind the links that its first line counts: 2 lines",
    ]
    # What is exported has the numbers of the topology's file.
    (tmp_path / "hpcc.toml").write_text(text)
    done = pifolab_command("flows", "export", tmp_path / "hpcc.toml", "--out", tmp_path / "again.txt")
    assert (done.returncode, done.stderr) == (0, "")
    again = (tmp_path / "again.txt").read_text().splitlines()
    assert [line.split()[:2] for line in again[1:]] == [line.split()[:2] for line in flows.splitlines()]
    (tmp_path / "flow.txt").write_text("1\n2 3 3 100 30000 0\n")
    with pytest.raises(pifolab.InputError, match=r"flow.txt:2: dst: 3: expected a host: this node is a switch"):
        pifolab.run_text(text)
