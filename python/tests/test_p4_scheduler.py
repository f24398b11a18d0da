"""P4 programs as schedulers of scenarios: on one link, at the ports of a network, and what is wrong with one."""

from __future__ import annotations

import itertools
import json
import random
import shutil
from pathlib import Path

import polars as pl
import pytest

import pifolab
from pifolab.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
COMPILED = ROOT / "dataplane" / "p4" / "compiled"

LINK = """
duration_ms = 2
link = { rate_gbps = 10 }
workload = { arrivals = "poisson", rate_gbps = 14, size_bytes = "uniform", ranks = "uniform" }
"""
FABRIC = """
duration_ms = 8
topology = { kind = "leaf-spine", leaves = 3, spines = 2, hosts_per_leaf = 4, access_rate_gbps = 1, fabric_rate_gbps = 2, delay_ns = 20 }
transport = { name = "newreno", rank = "remaining-size", initial_window_segments = 40 }
[workload.flows]
arrivals = "poisson"
load = 0.9
sizes = "uniform"
low_bytes = 1000
high_bytes = 120_000
pairs = "uniform"
"""  # noqa: E501
PACKS = f"""
[[scheduler]]
name = "packs"
queues = 8
queue_capacity_packets = 8
window = 20
k = 0.1
[[scheduler]]
name = "p4"
label = "exact"
program = "{COMPILED}/packs_20.json.gz"
[[scheduler]]
name = "p4"
label = "ghost"
program = "{COMPILED}/packs_20_ghost.json.gz"
"""


def of(table: pl.DataFrame, label: str) -> pl.DataFrame:
    """Return what a table says of one scheduler."""
    return table.filter(pl.col("scheduler") == label).drop("scheduler")


@pytest.mark.parametrize("seed", range(1, 6))
def test_packs_in_p4_completes_every_flow_of_a_leaf_spine_when_the_library_does(seed: int):
    run = pifolab.run_text(FABRIC + PACKS, seeds=[seed])
    flows = run["flows"]
    assert of(flows, "exact").equals(of(flows, "packs"))
    dropped = dict(run["schedulers"].select("scheduler", "dropped_packets").iter_rows())
    assert dropped["exact"] == dropped["packs"] > 0


def test_a_ghost_register_completes_flows_at_other_times():
    flows = pifolab.run_text(FABRIC + PACKS, seeds=[1])["flows"]
    assert of(flows, "ghost")["fct_ns"].to_list() != of(flows, "packs")["fct_ns"].to_list()


def test_packs_in_p4_is_packs_on_one_link_and_at_the_leaf_of_a_tree():
    leaf = f"{{ name = 'p4', takes = 'rest', program = '{COMPILED}/packs_20.json.gz' }}"
    tree = f'[[scheduler]]\nname = "tree"\nchild = [{leaf}]\n'
    text = LINK.replace('"uniform", ranks', "1500, ranks") + PACKS + tree
    run = pifolab.run_text(text)
    ranks = run["ranks"].drop(
        [column for column in run["ranks"].columns if column.startswith(("admission", "full"))], strict=False
    )
    assert of(ranks, "exact").equals(of(ranks, "packs"))
    assert of(ranks, "tree").equals(of(ranks, "exact"))
    assert not of(ranks, "ghost").equals(of(ranks, "packs"))


@pytest.mark.parametrize("seed", range(1, 6))
def test_packs_in_p4_is_packs_on_a_trace(tmp_path: Path, seed: int):
    draw = random.Random(seed)
    times = itertools.accumulate(draw.randrange(100, 1900) for _ in range(4000))
    rows = (f"{time},{draw.choice((64, 700, 1500))},{draw.randrange(100)},{draw.randrange(8)}" for time in times)
    (tmp_path / "t.csv").write_text("time_ns,size_bytes,rank,flow\n" + "\n".join(rows) + "\n")
    scenario = tmp_path / "t.toml"
    head = 'link = { rate_gbps = 5 }\nworkload = { trace = "t.csv", trace_rank = "column" }\n'
    scenario.write_text(head + PACKS)
    run = pifolab.run(scenario)
    [packs] = of(run["schedulers"], "packs").iter_rows(named=True)
    [exact] = of(run["schedulers"], "exact").iter_rows(named=True)
    for column in ("inversions", "dropped_packets", "sent_bytes"):
        assert exact[column] == packs[column] > 0


def test_a_capture_goes_through_a_program():
    capture = ROOT / "python" / "pifolab" / "data" / "tcp-mix.pcap.gz"
    head = f'link = {{ rate_gbps = 1 }}\nworkload = {{ trace = "{capture}", trace_rank = "dscp" }}\n'
    run = pifolab.run_text(head + PACKS)
    sent = dict(run["schedulers"].select("scheduler", "sent_packets").iter_rows())
    assert sent["exact"] == sent["packs"] > 0


def test_a_program_lies_beside_its_scenario_and_the_manifest_has_its_digest(tmp_path: Path):
    shutil.copy(COMPILED / "sp_pifo.json.gz", tmp_path / "my.json")
    (tmp_path / "entries.txt").write_text("# none\n")
    scenario = tmp_path / "link.toml"
    scenario.write_text(
        LINK.replace('"uniform", ranks', "1500, ranks")
        + '[[scheduler]]\nname = "p4"\nprogram = "my.json"\nentries = "entries.txt"\n'
    )
    run = pifolab.run(scenario)
    [shown] = run.manifest["spec"]["scheduler"]
    assert (shown["program"], shown["queues"]) == ("my.json", 8)
    inputs = {one["role"]: one["file"] for one in run.manifest["inputs"]}
    assert inputs["scheduler[0].program"] == "my.json"
    assert inputs["scheduler[0].entries"] == "entries.txt"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('program = "no.json"', 'scheduler.program = "no.json": cannot be opened: No such file or directory'),
        ('program = "bad.json"', 'bad.json": line 1 column 2: expected ident'),
        ('program = "."', '/.": expected a file'),
        ('program = "ok.json"\nentries = "wrong.txt"', 'wrong.txt": line 1: table_ad t a: expected table_add'),
        ('program = "ok.json"\nqueues = 16', "scheduler.queues = 16: expected an integer from 1 to 8 (queues)"),
        ('program = "ok.json"\nwindow = 3', "scheduler.window"),
        ("", "scheduler.program: is missing: expected a text"),
    ],
)
def test_what_is_wrong_with_a_program_is_one_line_with_the_file_and_the_key(tmp_path: Path, keys: str, said: str):
    shutil.copy(COMPILED / "sp_pifo.json.gz", tmp_path / "ok.json")
    (tmp_path / "bad.json").write_text("nonsense")
    (tmp_path / "wrong.txt").write_text("table_ad t a\n")
    scenario = tmp_path / "link.toml"
    scenario.write_text(LINK.replace('"uniform", ranks', "1500, ranks") + f'[[scheduler]]\nname = "p4"\n{keys}\n')
    with pytest.raises(InputError) as raised:
        pifolab.run(scenario)
    text = str(raised.value)
    assert text.startswith(f"{scenario}:")
    assert said in text
    assert "\n" not in text


def test_a_program_marks_packets_of_dctcp_that_would_be_lost():
    page = (ROOT / "docs" / "tutorials" / "p4-program.md").read_text(encoding="utf-8")
    text = page.split("```toml\n")[2].split("```")[0].replace('program = "', f'program = "{ROOT}/')
    lost = dict(pifolab.run_text(text)["schedulers"].select("scheduler", "dropped_packets").iter_rows())
    assert lost["marked"] < lost["not marked"] / 2


def test_vectors_for_the_model_of_tofino_are_the_decisions_of_the_library(tmp_path: Path):
    from pifolab_p4.model_vectors import write_vectors

    files = write_vectors(tmp_path / "a", 60, 1)
    again = write_vectors(tmp_path / "b", 60, 1)
    assert [file.read_bytes() for file in files] == [file.read_bytes() for file in again]
    assert len(files) == 14
    for file in files:
        vector = json.loads(file.read_text())
        assert (ROOT / vector["program"]).is_file()
        asked = [step for step in vector["steps"] if "expect" in step]
        assert len(asked) == 60
        for step in asked:
            rank = step["rank"].to_bytes(2 if "rifo" in file.name else 4, "big")
            assert bytes.fromhex(step["frame"])[42 : 42 + len(rank)] == rank
        scheduler = pifolab.scheduler(vector["scheduler"], **vector["parameters"])
        first = scheduler.enqueue(asked[0]["rank"])
        assert asked[0]["expect"] == {"port": 1, "queue": first.queue}
        reads_depths = any(name in file.name for name in ("aifo", "packs", "rifo"))
        assert reads_depths == (len(asked) < len(vector["steps"]))
