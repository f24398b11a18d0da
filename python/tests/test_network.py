"""Networks as a user runs them: folders, flow lists, and agreement with another simulator."""

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import pifolab

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
    done = pifolab_command("agree", tmp_path / "run", reference)
    assert done.returncode == 0
    assert "identical FCT                       2     100 %" in done.stdout
    reference.write_text(LIST.format(fct[0] * 2) + "2,3,4,5,6,7\n")
    done = pifolab_command("agree", tmp_path / "run", reference, "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    counts = [found[key] for key in ("flows", "matched", "identical", "within_1_percent", "unmatched_reference")]
    assert counts == [3, 2, 1, 1, 1]


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
    done = pifolab_command("agree", tmp_path / "run", reference, "--scheduler", "pifo")
    assert done.returncode == 2
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


def test_agree_asks_which_scheduler_and_refuses_other_folders(pifolab_command: Run, scenario: Path, tmp_path: Path):
    pifolab_command("run", scenario, "--out", tmp_path / "run")
    reference = tmp_path / "reference.csv"
    reference.write_text(LIST.format(1))
    done = pifolab_command("agree", tmp_path / "run", reference)
    assert done.returncode == 2
    assert "has several of scheduler (pifo, sp-pifo): say which with --scheduler" in done.stderr
    done = pifolab_command("agree", tmp_path / "nothing", reference)
    assert done.returncode == 2
    assert "flows.parquet: cannot be read" in done.stderr


def test_flows_on_one_link_are_refused(pifolab_command: Run, tmp_path: Path):
    file = tmp_path / "link.toml"
    file.write_text("duration_s = 1\nlink = { rate_gbps = 1 }\n")
    done = pifolab_command("run", file, "--flows", tmp_path / "flows.csv")
    assert done.returncode == 2
    assert "--flows: has no effect" in done.stderr


def test_the_published_runs_start_with_the_flows_of_their_authors():
    for file in sorted((ROOT / "experiments" / "netbench").glob("*.toml")):
        result = pifolab.run(file, overrides={"duration_s": 0.002, "metrics.watch_ports": False})
        first = result.tables["flows"].select("src", "dst", "size_bytes", "start_ns").row(0)
        assert first == (35, 131, 200_000, 0), file.name
