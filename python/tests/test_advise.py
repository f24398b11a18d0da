"""Which scheduler for my traffic: traces on which the answer is known."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from pifolab.advise import advise
from pifolab.cli import main
from pifolab.errors import InputError

GAP_NS = 1091


def written(path: Path, ranks, flows=None, sizes=None) -> Path:
    lines = ["time_ns,size_bytes,flow,rank"]
    for place, rank in enumerate(ranks):
        flow = flows[place] if flows else place % 7
        lines.append(f"{place * GAP_NS},{sizes[place] if sizes else 1500},f{flow},{rank}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def uniform(tmp_path_factory):
    draw = random.Random(1)
    folder = tmp_path_factory.mktemp("advise")
    return written(folder / "uniform.csv", [draw.randrange(100) for _ in range(20_000)])


def test_packs_wins_on_uniform_ranks_where_its_paper_says_so(uniform):
    found = advise(uniform, workers=2)
    assert found.winner.scheduler == "packs"
    assert found.winner.settings["window"] == 1000
    assert "fifo" not in found.close
    by_name = {one.scheduler: one for one in found.ranking}
    assert by_name["sp-pifo"].inversions_share > 1.3 * by_name["packs"].inversions_share
    assert found.ideal.value == 0


def test_without_ranks_to_tell_apart_the_simplest_wins(tmp_path):
    found = advise(written(tmp_path / "same.csv", [5] * 5000), workers=2)
    assert found.winner.scheduler == "fifo"
    assert found.winner.registers == 0


def test_where_one_flow_floods_the_link_fair_queueing_beats_fifo(tmp_path):
    draw = random.Random(2)
    flows = [0 if draw.random() < 0.8 else 1 + draw.randrange(4) for _ in range(12_000)]
    trace = written(tmp_path / "flood.csv", [0] * len(flows), flows)
    found = advise(trace, objective="fairness", rate_gbps=8, workers=2)
    scores = {one.scheduler: one.score.value for one in found.ranking}
    assert found.rank == "stfq"
    assert scores[found.winner.scheduler] < scores["fifo"] / 2


def test_small_flows_wait_less_where_ranks_are_served_in_order(tmp_path):
    draw = random.Random(3)
    # One large flow takes most of the link, small ones come by.
    flows = [0 if draw.random() < 0.7 else 1 + place // 40 for place in range(12_000)]
    found = advise(written(tmp_path / "mice.csv", [0] * len(flows), flows), objective="small-fct", workers=2)
    scores = {one.scheduler: one.score.value for one in found.ranking}
    assert found.rank == "flow-size"
    assert found.winner.scheduler != "fifo"
    assert scores[found.winner.scheduler] < scores["fifo"] / 2


def test_the_command_prints_the_evidence_and_names_the_winner(uniform, capsys):
    assert main(["advise", "--trace", str(uniform), "--queues", "8", "--buffer-packets", "80"]) == 0
    said = capsys.readouterr().out
    assert said.rstrip().splitlines()[-1].startswith("packs serves this traffic best")
    assert "20,000 packets, ranks by column, a link of 10 Gb/s" in said
    assert main(["advise", "--trace", str(uniform), "--json", "--rate-gbps", "10"]) == 0
    assert json.loads(capsys.readouterr().out)["winner"] == "packs"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--objective", "speed"], 'unknown objective "speed"'),
        (["--buffer-packets", "81"], "buffer_packets = 81: expected a multiple of the 8 queues, at least one each"),
        (["--rate-gbps", "fast"], "--rate-gbps fast: expected a number above 0"),
        (["--rank", "las-vegas"], "las-vegas"),
        (["--queues", "0"], "'0' is no integer from 1"),
    ],
)
def test_wrong_arguments_are_one_line_and_status_2(uniform, arguments, problem, capsys):
    assert main(["advise", "--trace", str(uniform), *arguments]) == 2
    assert problem in capsys.readouterr().err.splitlines()[-1]


def test_traces_that_say_nothing_are_refused(tmp_path, capsys):
    with pytest.raises(InputError, match="has 10 packets; expected at least 1000"):
        advise(written(tmp_path / "short.csv", [1] * 10))
    assert main(["advise", "--trace", str(tmp_path / "absent.pcap")]) == 2
    assert "absent.pcap: cannot be read: No such file or directory" in capsys.readouterr().err
    burst = tmp_path / "burst.csv"
    burst.write_text("time_ns,size_bytes,rank\n" + "0,1500,1\n" * 2000)
    with pytest.raises(InputError, match="all packets arrive at once"):
        advise(burst)
