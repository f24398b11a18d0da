"""Which scheduler for my traffic: traces on which the answer is known."""

from __future__ import annotations

import json
import random
import re
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from pifolab import pcap_filter
from pifolab.advise import _changes, advise
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
    packs, sp_pifo = by_name["packs"], by_name["sp-pifo"]
    assert 0 < packs.misdropped_share < sp_pifo.misdropped_share < sp_pifo.dropped_share
    assert 0 < packs.pairs < sp_pifo.pairs
    assert 0 < packs.magnitude < sp_pifo.magnitude
    assert (packs.state_bits, packs.operations) == (1001 * 32, 1010)
    assert found.ideal.value == 0
    assert 0 < found.ideal_dropped_share < 1 - 1 / 1.1


def test_without_ranks_to_tell_apart_the_simplest_wins(tmp_path):
    found = advise(written(tmp_path / "same.csv", [5] * 5000), workers=2)
    assert found.winner.scheduler == "fifo"
    assert found.winner.registers == 0


@pytest.mark.thorough
def test_where_one_flow_floods_the_link_fair_queueing_beats_fifo(tmp_path):
    draw = random.Random(2)
    flows = [0 if draw.random() < 0.8 else 1 + draw.randrange(4) for _ in range(48_000)]
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


def test_the_command_prints_the_evidence_and_names_the_winner(uniform, tmp_path, capsys):
    out = tmp_path / "advice"
    assert main(["advise", str(uniform), "--queues", "8", "--buffer-packets", "80", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.rstrip().splitlines()[-1].startswith("packs serves this traffic best")
    assert "uniform.csv: 20,000 packets of 7 flows, 30 MB in 21.8 ms" in said
    assert "ranks by column, a link of 10 Gb/s, which the trace loads by 110%" in said
    assert "score: per packet that arrived: 1 if it was sent while a lower rank waited" in said
    json_out = ["--json", "--rate", "10G", "--out", str(tmp_path / "json")]
    assert main(["advise", str(uniform), *json_out]) == 0
    assert json.loads(capsys.readouterr().out)["winner"] == "packs"


@pytest.mark.thorough
def test_the_command_writes_a_report_with_figures(uniform, tmp_path, capsys):
    out = tmp_path / "advice"
    assert main(["advise", str(uniform), "--out", str(out)]) == 0
    assert f"report: {out / 'report.html'}" in capsys.readouterr().out
    page = (out / "report.html").read_text()
    titles = re.findall("<h2>(.*?)</h2>", page)
    assert titles[0] == "What was run"
    assert titles[-2:] == ["Words", "What follows from it"]
    assert "settings tuned on the first half, the best of each scheduler ranked on the second" in page
    assert re.search(r"<li>It scores [0-9.]+, PIFO [0-9.]+, and [a-z-]+, the worst, ", page)
    assert page.count("data:image/png;base64,") == 2
    assert "packs serves this traffic best" in page[: page.index("<section>")]
    assert "uniform.csv: 20,000 packets of 7 flows" in page
    assert {file.name for file in (out / "figures").iterdir()} >= {"scores.svg", "scores.pdf", "losses.png"}
    assert json.loads((out / "advice.json").read_text())["winner"] == "packs"
    # A folder that exists is not written over, and nothing is computed first.
    assert main(["advise", str(uniform), "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.fixture(scope="module")
def trains(tmp_path_factory):
    """Bursts of 70 packets of one flow, which fit into one queue of 80 packets and not into one of 8 queues of 10."""
    draw = random.Random(4)
    lines = ["time_ns,size_bytes,flow,rank"]
    for burst in range(150):
        rank = draw.randrange(1000, 2000)
        lines += [f"{burst * 100_000 + place * 100},1500,{burst},{rank}" for place in range(70)]
    path = tmp_path_factory.mktemp("trains") / "trains.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("objective", ["inversions", "small-fct", "fairness"])
def test_whoever_loses_clearly_more_than_pifo_is_not_called_best(objective, trains, tmp_path):
    found = advise(trains, objective=objective, rate_gbps=10, buffer_packets=80, workers=2)
    by_name = {one.scheduler: one for one in found.ranking}
    assert by_name["fifo"].dropped_share == 0
    # It is never in the wrong order: with half of the packets lost there is not much left to order.
    assert by_name["sp-pifo"].inversions_share == 0
    assert by_name["sp-pifo"].dropped_share > 0.4
    losing = [one.scheduler for one in found.ranking if one.dropped_share > 0.4]
    assert [one.scheduler for one in found.ranking[-len(losing) :]] == losing
    assert found.winner.dropped_share == 0
    assert not {*found.close} & {*losing}
    assert f"{losing[0]} loses" in found.notes[-1]
    assert "ranked last, over 5% of packets and bytes more than PIFO (0.0% and 0.0%)" in found.notes[-1]


def frame(source: int, port: int, dscp: int, size: int, protocol: int = 17) -> bytes:
    """Return the headers of an IP packet of `size` bytes from 10.0.`source` to 10.255.0.1."""
    ends = bytes([10, 0, source >> 8, source & 255, 10, 255, 0, 1])
    header = struct.pack("!BBHHHBBH", 0x45, dscp << 2, size, 0, 0, 64, protocol, 0) + ends
    return bytes(12) + b"\x08\x00" + header + struct.pack("!4H", port, 5000, size - 20, 0)


def captured(path: Path, packets: list[tuple[float, bytes, int]]) -> Path:
    """Write packets (seconds, first bytes, length) as a capture, in order of time."""
    data = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1)]
    for time_s, head, size in sorted(packets, key=lambda packet: packet[0]):
        us = round(time_s * 1e6)
        data.append(struct.pack("<IIII", us // 10**6, us % 10**6, len(head), size) + head)
    path.write_bytes(b"".join(data))
    return path


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    """Two seconds of 60 calls (EF), 20 videos (AF41), 4 routers (CS6) and bursts of bulk: 134 Mb/s."""
    draw = random.Random(7)
    length_s, packets = 2.0, []

    def add(time_s: float, source: int, dscp: int, size: int) -> None:
        if time_s < length_s:
            packets.append((time_s, frame(source, 1000 + source, dscp, size), size + 14))

    for call in range(60):
        start = draw.random() * 0.02
        for place in range(int(length_s / 0.02)):
            add(start + place * 0.02 + draw.random() * 0.001, call, 46, 200)
    for video in range(20):
        start = draw.random() / 30
        for picture in range(int(length_s * 30)):
            for part in range(7):
                add(start + picture / 30 + part * 0.0003, 100 + video, 34, 1300)
    for router in range(4):
        for place in range(int(length_s / 0.05)):
            add(draw.random() * 0.05 + place * 0.05, 150 + router, 48, 120)
    left = 1.34 * 100e6 / 8 * length_s - sum(size for _, _, size in packets)
    while left > 0:
        start, source = draw.random() * length_s, 200 + draw.randrange(40)
        for place in range(draw.randrange(20, 90)):
            add(start + place * 0.00012, source, 0, 1500)
            left -= 1514
    return captured(tmp_path_factory.mktemp("office") / "office.pcap", packets)


def test_calls_videos_and_routers_get_the_queues_that_an_operator_would_give_them(office, tmp_path, capsys):
    out = ["--rate", "100M", "--out", str(tmp_path / "o")]
    assert main(["advise", str(office), "--rank", "dscp:phb", *out]) == 0
    said = capsys.readouterr().out
    found = json.loads((tmp_path / "o" / "advice.json").read_text())
    assert found["winner"] == "strict-priority"
    best = found["ranking"][0]
    # A queue for each class, and most of the buffer for what waits while the others are served.
    assert best["settings"]["bounds"] == [0, 1, 2, 15]
    assert best["settings"]["queue_capacity_packets"][-1] >= 60
    assert "the first served first: CS7, CS6; EF, VOICE-ADMIT; CS5, CS4, AF41" in said
    assert best["inversions_share"] == 0
    assert not best["loses_more"]
    assert "fifo" not in found["close"]
    assert found["rank"] == "dscp:phb"
    assert found["load"] == pytest.approx(1.34, abs=0.01)
    assert "What would change it: " in said


def test_dscps_as_they_are_serve_best_effort_first_which_a_note_says(office):
    found = advise(office, rank="dscp", rate_gbps=0.1, workers=2)
    assert "best effort (0) goes before CS6, EF, AF41: --rank dscp:phb" in found.notes[0]
    assert not any("dscp:phb" in note for note in advise(office, rank="dscp:phb", rate_gbps=0.1, workers=2).notes)


def test_ranks_of_dscps_can_be_given(office):
    found = advise(office, rank="dscp", rank_map="EF=0,34=1", rate_gbps=0.1, workers=2)
    assert found.rank == "dscp:EF=0,34=1"
    for rank, rank_map, problem in [
        ("dscp:64=1", None, "expected phb, or DSCPs"),
        ("dscp:phb", "46=0", "rank_map conflicts with rank"),
        ("las", "46=0", "rank_map has no effect without rank = dscp"),
    ]:
        with pytest.raises(InputError, match=re.escape(problem)):
            advise(office, rank=rank, rank_map=rank_map)


def test_pifo_itself_would_never_be_called_a_loser(tmp_path):
    """Small packets of high rank: PIFO pushes them out for the others, and loses far more packets than FIFO."""
    draw = random.Random(5)
    ranks = [draw.choice([1, 9, 9, 9, 9]) for _ in range(20_000)]
    trace = written(tmp_path / "t.csv", ranks, sizes=[1500 if rank == 1 else 100 for rank in ranks])
    found = advise(trace, rate_gbps=1, workers=2)
    fifo = next(one for one in found.ranking if one.scheduler == "fifo")
    assert found.ideal_dropped_share - fifo.dropped_share > 0.05
    assert not found.winner.loses_more
    served = next(one for one in found.ranking if one.scheduler == "strict-priority")
    assert not served.loses_more


def test_what_does_not_fit_the_target_is_shown_and_not_advised(uniform):
    found = advise(uniform, target="tofino", buffer_packets=80, workers=2)
    by_name = {one.scheduler: one for one in found.ranking}
    assert found.winner.unfit is None
    assert (by_name["packs"].settings["window"], by_name["packs"].stages, by_name["packs"].stateful_alus) == (8, 10, 14)
    fits = [one.unfit is None for one in found.ranking]
    assert fits == sorted(fits, reverse=True)
    assert by_name["slack-sp"].unfit == ("tofino cannot do it: slack-sp on Tofino: there is no program: expected BMv2")
    assert by_name["sp-pifo"].stages == 11
    found = advise(uniform, target="tofino", stages=9, registers=10, workers=2)
    by_name = {one.scheduler: one for one in found.ranking}
    assert by_name["packs"].unfit is not None
    assert by_name["aifo"].unfit is not None
    assert by_name["rifo"].unfit == "takes 10 stages, the limit is 9"
    assert found.winner.unfit is None
    small = advise(uniform, registers=20, workers=2)
    assert all(one.registers <= 20 for one in small.ranking if one.unfit is None)


def test_a_window_of_16_of_packs_does_not_fit_tofino():
    from pifolab.targets import Limits, fit

    settings = {"queues": 4, "queue_capacity_packets": 20, "window": 16, "start_window": [0] * 16}
    assert fit("packs", settings, Limits("tofino")).problem == "takes 13 stages with a window of 16, tofino has 12"
    assert fit("packs", settings, Limits("tofino2")).stages == 17
    assert "expected 4, 8 or 16" in str(fit("packs", {**settings, "window": 20}, Limits("tofino")).problem)
    assert fit("packs", settings, Limits("linux")).problem is None


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"target": "tofno"}, 'unknown target "tofno"; did you mean tofino'),
        ({"stages": 3}, "stages = 3: expected the target tofino or tofino2"),
        ({"registers": -1}, "registers = -1: expected 0 or above"),
    ],
)
def test_wrong_targets_are_refused(arguments, problem, office):
    with pytest.raises(InputError, match=re.escape(problem)):
        advise(office, rank="dscp:phb", **arguments)


def test_a_filter_keeps_one_direction_and_a_note_asks_for_it(tmp_path):
    packets = []
    for place in range(3000):
        head = frame(place % 9, 1000, 0, 1000)
        back = head[:26] + head[30:34] + head[26:30] + head[36:38] + head[34:36] + head[38:]
        packets += [(place * 1e-4, head, 1014), (place * 1e-4 + 5e-5, back, 114)]
    trace = captured(tmp_path / "both.pcap", packets)
    found = advise(trace, workers=2)
    assert found.flows == 18
    assert "18 of 18 flows have a reverse flow" in found.notes[0]
    assert "--filter 'dst host 10.255.0.1'" in found.notes[0]
    if pcap_filter.pcap_library() is None:
        pytest.skip("needs libpcap")
    one_way = advise(trace, filter="dst host 10.255.0.1", workers=2)
    assert (one_way.flows, one_way.packets) == (9, 3000)
    assert not any("reverse flow" in note for note in one_way.notes)


def test_advice_says_what_would_change_it(uniform):
    found = advise(uniform, rate_gbps=10, workers=2)
    assert found.changes
    assert all("a link twice as fast" in " ".join(found.changes) for _ in found.changes)


def test_on_a_short_trace_the_loss_is_that_of_its_half_and_not_of_empty_buffers(tmp_path):
    """3000 packets at 140 % of the link: of a piece of 300 of them a buffer of 80 holds nearly all that is too much."""
    draw = random.Random(9)
    lines = ["time_ns,size_bytes,flow,rank", *(f"{at * 1000},1000,{at % 7},{draw.randrange(90)}" for at in range(3000))]
    path = tmp_path / "short.csv"
    path.write_text("\n".join(lines) + "\n")
    found = advise(path, rate_gbps=8 / 1.4, buffer_packets=80, workers=2)
    fifo = next(one for one in found.ranking if one.scheduler == "fifo")
    # Of 1500 packets, 1071 are sent and 80 wait.
    assert fifo.dropped_share == pytest.approx(349 / 1500, abs=0.003)
    assert found.ideal_dropped_share == pytest.approx(349 / 1500, abs=0.003)
    assert all(abs(one.dropped_share - fifo.dropped_share) < 0.06 for one in found.ranking if not one.loses_more)


def test_a_lost_packet_counts_as_the_worst_that_can_become_of_it():
    import polars as pl

    from pifolab.advise import _unfairness, _waits, _wrong

    # 100 packets of which PIFO sends 80: to invert 10 and send 10 wrong ones instead, or to lose 10 right ones.
    assert _wrong(0, 80, 80, 0.0) == 0
    assert _wrong(10, 80, 80, 20 / 160) == pytest.approx(10 + 10 + 2 * 10)
    assert _wrong(0, 70, 80, 10 / 150) == pytest.approx(2 * 10)
    ranks = {"scheduler": ["pifo"] * 2 + ["a"] * 2, "rank": [1000, 10**7] * 2, "sojourn_mean_ns": [1e5] * 4}
    served = {"departures": [100, 90, 100, 90], "dropped": [0, 10, 0, 10]}
    assert _waits(pl.DataFrame({**ranks, **served}), 1000.0) == {"pifo": 100, "a": 100}
    for small, large in ((10, 10), (0, 20)):
        lost = {"departures": [100, 90, 100 - small, 100 - large], "dropped": [0, 10, small, large]}
        scores = _waits(pl.DataFrame({**ranks, **lost}), 1000.0)
        expected = 0.1 * 1000 + 0.9 * 100 if small else 100 + 0.1 * 1000
        assert scores == {"pifo": 100, "a": pytest.approx(expected)}
    columns = {"scheduler": ["pifo", "pifo", "a", "a", "b"], "flow": [0, 1, 0, 1, 1], "bytes": [50, 50, 60, 40, 40]}
    throughput = pl.DataFrame({**columns, "start_ns": [0] * 5})
    # Given to another flow: 10 of 100 bytes. Lost: 60 of 100.
    assert _unfairness(throughput) == {"pifo": 0.0, "a": 0.1, "b": 0.6}


def test_a_buffer_below_rate_times_delay_is_said(uniform, tmp_path, capsys):
    held = advise(uniform, rate_gbps=10, delay_us=95, workers=2)
    assert held.notes == ()
    out = ["--rate", "10G", "--out", str(tmp_path / "advice")]
    assert main(["advise", str(uniform), *out]) == 0
    said = capsys.readouterr().err
    assert "the buffer of 80 packets (120 kB at the mean packet size) is below rate x delay" in said
    assert "(10 Gb/s x 100 us = 125 kB)" in said
    assert "below rate x delay" in (tmp_path / "advice" / "report.html").read_text()


def test_advise_takes_the_trace_options_of_compare(uniform, tmp_path, capsys):
    late = tmp_path / "late.csv"
    lines = uniform.read_text().splitlines()
    lines[100], lines[101] = lines[101], lines[100]
    late.write_text("\n".join(lines) + "\n")
    assert main(["advise", str(late)]) == 2
    assert "sort the trace with --sort" in capsys.readouterr().err
    options = ["--sort", "--speed-up", "2", "--duration", "0.005s", "--json", "--out", str(tmp_path / "out")]
    assert main(["advise", str(late), "--rank", "column", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["packets"] == pytest.approx(0.005e9 / (GAP_NS / 2), rel=0.001)
    # Twice as fast, so the link that is loaded by 110 % is twice as fast too.
    assert found["rate_bps"] == pytest.approx(20e9, rel=0.01)
    assert main(["advise", str(late), "--sort", "--set", "link.rate_gbps=1"]) == 2
    assert "--set link.rate_gbps=1: expected a key of the trace" in capsys.readouterr().err
    every = {action for name in ("compare", "advise") for action in _trace_flags(name)}
    assert every == {"--trace", "--rank", "--rate", "--speed-up", "--sort", "--duration", "--set"}


def _trace_flags(command: str) -> set[str]:
    """Return the flags of `compare` that concern a trace, of which the command must have all."""
    from pifolab.cli.commands import complete_parser

    known = {flag for action in complete_parser().commands[command]._actions for flag in action.option_strings}
    wanted = {"--trace", "--rank", "--rate", "--speed-up", "--sort", "--duration", "--set"}
    assert wanted <= known, command
    return wanted


def test_small_flows_are_told_by_their_size_in_the_whole_trace(tmp_path):
    """A large flow that comes by every now and then is large in each piece, however little of it is there."""
    flows = [0 if place % 50 == 0 else 1 + place // 20 for place in range(10_000)]
    found = advise(written(tmp_path / "t.csv", [0] * len(flows), flows), objective="small-fct", workers=2)
    assert found.flows == 501
    with pytest.raises(InputError, match="small-fct needs ranks that are the sizes of flows"):
        advise(tmp_path / "t.csv", objective="small-fct", rank="las")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--objective", "speed"], 'unknown objective "speed"'),
        (["--buffer-packets", "81"], "--buffer-packets 81: expected a multiple of the 8 queues, at least one each"),
        (["--rate", "fast"], "--rate fast: expected a rate above 0"),
        (["--rank", "las-vegas"], "las-vegas"),
        (["--queues", "0"], "expected an integer >= 1, got '0'"),
    ],
)
def test_wrong_arguments_are_one_line_and_status_2(uniform, arguments, problem, capsys):
    assert main(["advise", str(uniform), *arguments]) == 2
    assert problem in capsys.readouterr().err.splitlines()[-1]


def test_a_trace_that_does_not_fit_into_memory_is_refused_while_it_is_read(uniform, monkeypatch, capsys):
    # `pifolab.advise` is the function: the module of that name stands behind it.
    monkeypatch.setattr(sys.modules["pifolab.advise"], "MOST_PACKETS", 2_000)
    assert main(["advise", str(uniform)]) == 2
    assert capsys.readouterr().err == (
        f"pifolab: {uniform}: has over 2,000 packets: expected at most that many, or a duration after which the rest "
        "is left out\n"
    )


def test_an_error_about_the_trace_names_it_as_the_user_did(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("empty.csv").write_text("time_ns,size_bytes,rank\n")
    for name, problem in [("absent.pcap", "cannot be opened: No such file"), ("empty.csv", "has no packets")]:
        assert main(["advise", name, "--rank", "las"]) == 2
        assert capsys.readouterr().err.startswith(f"pifolab: {name}: {problem}")


def test_traces_that_say_nothing_are_refused(tmp_path, capsys):
    with pytest.raises(InputError, match="has 10 packets; expected at least 1000"):
        advise(written(tmp_path / "short.csv", [1] * 10))
    assert main(["advise", str(tmp_path / "absent.pcap")]) == 2
    assert "absent.pcap: cannot be read: No such file or directory" in capsys.readouterr().err
    burst = tmp_path / "burst.csv"
    burst.write_text("time_ns,size_bytes,rank\n" + "0,1500,1\n" * 2000)
    with pytest.raises(InputError, match="all packets arrive at once"):
        advise(burst)


OWN = """
import pifolab

class Shortest(pifolab.PythonScheduler):
    advice = {"reverse": [False, True]}

    def __init__(self, capacity_packets, reverse=False):
        self.packets, self.capacity_packets, self.reverse = [], capacity_packets, reverse

    def enqueue(self, packet, now_ns):
        if len(self.packets) == self.capacity_packets:
            return packet
        self.packets.append(packet)

    def dequeue(self, now_ns):
        if not self.packets:
            return None
        best = (max if self.reverse else min)(self.packets, key=lambda packet: packet.rank)
        self.packets.remove(best)
        return best
"""


@pytest.mark.thorough
def test_ones_own_scheduler_is_tuned_and_ranked_with_the_others(uniform, tmp_path, capsys):
    mine = tmp_path / "mine.py"
    mine.write_text(OWN)
    out = tmp_path / "out"
    assert main(["advise", str(uniform), "--python", str(mine), "--out", str(out)]) == 0
    found = json.loads((out / "advice.json").read_text())
    own = next(one for one in found["ranking"] if one["scheduler"] == "shortest")
    assert own["settings"] == {"capacity_packets": 80, "reverse": False}
    assert own["inversions_share"] == 0
    assert own["registers"] is None
    assert "shortest" in (out / "report.html").read_text()
    assert main(["advise", str(uniform), "--rate", "2500M", "--out", str(out), "--force"]) == 0
    assert "shortest" not in (out / "report.html").read_text()
    assert json.loads((out / "advice.json").read_text())["rate_bps"] == 2_500_000_000


def test_another_advice_for_another_link_says_whether_losses_or_the_score_decide():
    def score(value: float, lost: float) -> dict[str, float]:
        return {"score": value, "dropped": lost, "dropped_bytes": lost}

    @dataclass(frozen=True)
    class Scene:
        rate_bps: int

        def scores(self, _rest: Any, chosen: Any) -> dict[str, dict[str, float]]:
            first = {10: score(0.3, 0.1), 20: score(0.2, 0.4)}[self.rate_bps]
            worse = chosen["b"][1]["capacity_packets"] < 100
            return {"pifo": score(0, 0.1), "a": first, "b": score(0.5 if worse else 0.1, 0.1)}

    chosen = {label: (label, {"capacity_packets": 100}) for label in "ab"}
    ranking: Any = [SimpleNamespace(scheduler=label, unfit=None) for label in "ab"]
    lines = _changes(cast("Any", Scene(10)), pl.DataFrame({"x": range(1000)}), chosen, {"a": "a", "b": "b"}, ranking, 1)
    assert lines == (
        "with a link twice as fast it would be b (score 0.1; a 0.2, but it loses clearly more than PIFO)",
        "with a buffer four times as large it would be b (score 0.1; a 0.3)",
        "the same with half the buffer",
    )


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--rank", "stqf"], 'unknown rank function "stqf"; did you mean stfq?'),
        (["--set", "workload.foo=3"], "--set: workload.foo: unknown key"),
        (["--duration", "1e99s"], "--duration 1e99s: expected a time"),
        (["--queues", "7"], "--buffer-packets 80: expected a multiple of the 7 queues"),
        (["--rate", "1e11G"], "--rate 1e11G: expected a rate"),
        (["--rate", "9e11M"], "--rate 9e+08: expected a rate"),
        (["--rate", "0M"], "--rate 0M: expected a rate above 0"),
        (["--buffer-packets", "800000000"], "--buffer-packets: capacity_packets = 800000000: expected"),
    ],
)
def test_errors_of_advise_name_the_flag_and_no_file_of_its_own(flags, problem, uniform, tmp_path, capsys):
    assert main(["advise", str(uniform), "--out", str(tmp_path / "o"), *flags]) == 2
    said = capsys.readouterr().err
    assert problem in said
    assert "advise.toml" not in said
    assert ".csv:" not in said
