"""One table of all schedulers on identical traffic."""

from __future__ import annotations

import json
import re

import pytest

from pifolab.cli import main


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    out = tmp_path_factory.mktemp("scorecard") / "out"
    arguments = [
        "--quick",
        "--seeds",
        "2",
        "--only",
        "uniform,below-saturation,fairness,adversarial",
        "--out",
        str(out),
    ]
    assert main(["scorecard", *arguments]) == 0
    return out


@pytest.mark.thorough
def test_ideal_schedulers_are_ideal_and_no_order_is_none(card):
    by_name = {row["scheduler"]: row for row in json.loads((card / "scorecard.json").read_text())}
    assert by_name["pifo"]["inversions (%), uniform"]["value"] == 0
    assert by_name["pifo"]["Delta to PIFO, uniform"]["value"] == 0
    assert by_name["pifo"]["registers"] is None
    inversions = {name: row["inversions (%), uniform"]["value"] for name, row in by_name.items()}
    assert inversions["packs"] < inversions["sp-pifo"] < inversions["aifo"] < inversions["fifo"]
    assert by_name["fifo"]["reordered (%), uniform"]["value"] == 0
    assert by_name["pifo"]["Jain index, STFQ"]["value"] > 0.99 > by_name["fifo"]["Jain index, STFQ"]["value"]
    assert by_name["rifo"]["registers"] == 3
    assert (by_name["packs"]["state bits"], by_name["packs"]["operations"]) == (1001 * 32, 1000 + 8 + 2)
    magnitude = {name: row["magnitude (ranks per packet), uniform"]["value"] for name, row in by_name.items()}
    assert magnitude["pifo"] == 0 < magnitude["packs"] < magnitude["sp-pifo"] < magnitude["fifo"]
    misdrops = {name: row["misdrops (%), uniform"]["value"] for name, row in by_name.items()}
    assert misdrops["pifo"] == 0 < misdrops["packs"] < misdrops["sp-pifo"] < misdrops["fifo"]
    # The link is not full: one queue has room, one of several may not, and a refusal by rank needs no full buffer.
    drops = {name: row["drops (%), Poisson arrivals at 0.8"]["value"] for name, row in by_name.items()}
    assert drops["pifo"] == drops["fifo"] == 0 < drops["sp-pifo"] < drops["aifo"]
    # What did not run is not there.
    assert by_name["pifo"]["small FCT (ms), web search"] is None


@pytest.mark.thorough
def test_the_table_has_a_column_for_each_scheduler(card):
    lines = (card / "scorecard.md").read_text().splitlines()
    head = next(line for line in lines if line.startswith("| |"))
    assert head.count("|") == 2 + 12
    assert all(line.count("|") == head.count("|") for line in lines if line.startswith("|"))


@pytest.mark.thorough
def test_the_terminal_shows_what_was_run_means_and_what_follows_within_its_width(
    tmp_path, capsys: pytest.CaptureFixture[str], card, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "100")
    # What the fixture ran is in its store.
    arguments = ["--quick", "--seeds", "2", "--only", "uniform,below-saturation,fairness,adversarial"]
    assert main(["scorecard", *arguments, "--out", str(card)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines[1:-9])) <= 100
    assert lines[0].startswith("12 schedulers, each on the same packets or flows: pifo, pieo, packs, ")
    assert "Order and drops on one link" in lines
    assert any(line.startswith("Best in how many of the ") for line in lines)
    assert any(line.startswith("Inversions (%), uniform: ") for line in lines)
    assert "2 seeds give intervals that are too narrow: run at least 5, better 10." in lines
    text = (card / "scorecard.html").read_text()
    titles = re.findall("<h2>(.*?)</h2>", text)
    assert titles[0] == "What was run"
    assert titles[-2:] == ["Words", "What follows from it"]
    assert "<dt>misdrop</dt>" in text


@pytest.mark.thorough
def test_the_page_needs_nothing_but_itself_and_shows_what_was_measured(card):
    page = (card / "scorecard.html").read_text()
    assert not re.search(r'(src|href)="(?!data:|#)', page), "the page needs something beside itself"
    assert page.count("<img") == 1
    for heading in ("Order and drops on one link", "Fairness", "State in a switch", "Jain index, STFQ"):
        assert heading in page
    assert "Flows in a data centre" not in page, "nothing of it was measured"
    by_name = {row["scheduler"]: row for row in json.loads((card / "scorecard.json").read_text())}
    best = min(row["inversions (%), uniform"]["value"] for name, row in by_name.items() if name not in ("pifo", "pieo"))
    assert f"<strong>{best:.3g} [" in page


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--only", "unform"], 'unknown scenario "unform"; did you mean uniform?'),
        (["--seeds", "0"], "expected an integer >= 1, got '0'"),
        (["--out", "/dev/null"], "/dev/null: is not a folder"),
        (["--experiments", "/nowhere"], "/nowhere/scorecard/uniform.toml"),
    ],
)
def test_wrong_arguments_are_one_line_and_status_2(arguments, problem, capsys, tmp_path):
    extra = [] if "--out" in arguments else ["--out", str(tmp_path / "out")]
    assert main(["scorecard", *arguments, *extra]) == 2
    assert problem in capsys.readouterr().err.splitlines()[-1]


OWN = """
import pifolab

class Mine(pifolab.PythonScheduler):
    def __init__(self, capacity_packets):
        self.packets, self.capacity_packets = [], capacity_packets

    def enqueue(self, packet, now_ns):
        if len(self.packets) == self.capacity_packets:
            return packet
        self.packets.append(packet)

    def dequeue(self, now_ns):
        return self.packets.pop(0) if self.packets else None
"""


@pytest.mark.thorough
def test_ones_own_scheduler_stands_in_the_scorecard(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    flags = ["--only", "burst", "--seeds", "1", "--workers", "1", "--out", str(tmp_path / "card")]
    assert main(["scorecard", "--python", str(file), *flags]) == 0
    rows = {row["scheduler"]: row for row in json.loads((tmp_path / "card/scorecard.json").read_text())}
    # It is a FIFO with the same buffer, and so has the numbers of one.
    assert rows["mine"]["inversions (%), bursts"] == rows["fifo"]["inversions (%), bursts"]
    assert rows["mine"]["registers"] is None
    assert "mine" in (tmp_path / "card/scorecard.html").read_text()
