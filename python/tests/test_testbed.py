"""Figures, tables and verdicts from the testbed's results, on results made up for the purpose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pifolab import testbed
from pifolab.errors import InputError

SCHEDULERS = ("fifo", "sp-pifo", "aifo", "packs", "rifo", "exp-pifo", "pifo")


def flow(rank: int = 0, **more: Any) -> dict[str, Any]:
    return {"rank": rank, "start_s": 0.0, "offered_bps": None, "size_bytes": None, **more}


def write(folder: Path, experiment: str, runs: list[dict[str, Any]], flows: list[dict[str, Any]], **more: Any) -> Path:
    for number, run in enumerate(runs):
        run.setdefault("data_plane", "switch")
        run.setdefault("starved", False)
        run.setdefault("completion_s", None)
        run["series"] = f"{number}.csv"
        rows = [
            f"{0.05 * step:.3f},{f},{flows[f]['rank']},1,{1000 * (f + 1)}"
            for f in range(len(flows))
            for step in range(8)
        ]
        text = "\n".join(["time_s,flow,rank,sent_bytes,received_bytes", *rows])
        (folder / run["series"]).write_text(text + "\n")
    summary = {
        "format": testbed.FORMAT,
        "experiment": experiment,
        "rate_bps": 100_000_000,
        "delay_us": 0,
        "length_s": 8.0,
        "bin_s": 0.05,
        "rank": "payload:4:4",
        "flows": flows,
        "machine": {"kernel": "6.18", "processors": 2, "unprivileged": False},
        "runs": runs,
        **more,
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


def phase(shares: list[float]) -> dict[str, Any]:
    return {"share": shares, "delivered_mbps": [100 * share for share in shares]}


def newest_first(flows: int, share: float) -> list[dict[str, Any]]:
    """Phases in which the newest flow has `share` and the others split the rest."""
    phases = []
    for newest in range(flows):
        rest = (1 - share) / newest if newest else 0
        shares = [rest] * newest + [share if newest else 1.0] + [0.0] * (flows - newest - 1)
        phases.append(phase(shares))
    return phases


def even(flows: int) -> list[dict[str, Any]]:
    return [phase([1 / (n + 1)] * (n + 1) + [0.0] * (flows - n - 1)) for n in range(flows)]


def four(folder: Path, worse: str | None = None, repeats: int = 3) -> testbed.Results:
    runs = [
        {"scheduler": name, "phases": even(4) if name in ("fifo", worse) else newest_first(4, 0.95 + 0.001 * repeat)}
        for repeat in range(repeats)
        for name in SCHEDULERS
    ]
    return testbed.read(write(folder, "udp-four-flows", runs, [flow(rank) for rank in (32, 8, 4, 2)]))


def verdict_of(results: testbed.Results) -> dict[str, str]:
    return {verdict.claim: verdict.verdict for verdict in testbed.verdicts(results)}


def test_four_flows_reproduce_when_the_newest_takes_the_link(tmp_path: Path) -> None:
    results = four(tmp_path)
    assert verdict_of(results) == dict.fromkeys(("ai8", "ri2", "ex11", "pk13"), "reproduced")
    assert not any(verdict.provisional for verdict in testbed.verdicts(results))


@pytest.mark.parametrize(
    ("worse", "claim"), [("aifo", "ai8"), ("rifo", "ri2"), ("exp-pifo", "ex11"), ("packs", "pk13")]
)
def test_a_scheduler_that_splits_evenly_does_not_reproduce_its_claim(tmp_path: Path, worse: str, claim: str) -> None:
    verdicts = verdict_of(four(tmp_path, worse))
    assert verdicts.pop(claim) == "not reproduced"
    assert set(verdicts.values()) == {"reproduced"}


def test_a_fifo_that_is_not_even_reproduces_nothing(tmp_path: Path) -> None:
    runs = [{"scheduler": name, "phases": newest_first(4, 0.95)} for name in SCHEDULERS]
    results = testbed.read(write(tmp_path, "udp-four-flows", runs, [flow(rank) for rank in (32, 8, 4, 2)]))
    assert set(verdict_of(results).values()) == {"partly"}


def test_fewer_than_three_repeats_are_provisional(tmp_path: Path) -> None:
    assert all(verdict.provisional for verdict in testbed.verdicts(four(tmp_path, repeats=2)))


def test_eight_flows_must_share_beyond_four(tmp_path: Path) -> None:
    flows = [flow(2 << (8 - number)) for number in range(8)]
    sharing = newest_first(8, 0.99)[:4] + newest_first(8, 0.3)[4:]
    for number, (phases, verdict) in enumerate([(sharing, "reproduced"), (newest_first(8, 0.99), "partly")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        runs = [{"scheduler": "sp-pifo", "phases": phases} for _ in range(3)]
        assert verdict_of(testbed.read(write(folder, "udp-eight-flows", runs, flows))) == {"sp18": verdict}


def test_tcp_needs_the_paper_s_size_not_only_its_direction(tmp_path: Path) -> None:
    for number, (shares, verdict) in enumerate(
        [([0.01, 0.03, 0.08, 0.88], "reproduced"), ([0, 0, 0, 1.0], "partly"), ([0.4, 0.3, 0.2, 0.1], "not reproduced")]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        runs = [{"scheduler": "aifo", "phases": [phase(shares)]} for _ in range(3)]
        results = testbed.read(write(folder, "tcp-four-flows", runs, [flow(rank) for rank in (32, 8, 4, 2)]))
        assert verdict_of(results) == {"ai9": verdict}


def fct(folder: Path, small_s: float) -> testbed.Results:
    flows = [flow(rank, size_bytes=20_000 * rank) for rank in range(1, 9)]
    runs = [{"scheduler": "fifo", "phases": [], "completion_s": [1.0] * 8} for _ in range(3)]
    runs += [
        {"scheduler": "sp-pifo", "phases": [], "completion_s": [small_s] * 2 + [1.0] * 5 + [None]} for _ in range(3)
    ]
    return testbed.read(write(folder, "fct", runs, flows))


@pytest.mark.parametrize(("small_s", "verdict"), [(0.1, "reproduced"), (0.8, "partly"), (1.5, "not reproduced")])
def test_short_flows_must_finish_much_earlier(tmp_path: Path, small_s: float, verdict: str) -> None:
    results = fct(tmp_path, small_s)
    assert verdict_of(results) == {"sp19": verdict}
    assert "| sp-pifo | switch |" in testbed.table(results)


def test_fair_shares_are_max_min(tmp_path: Path) -> None:
    flows = [flow(offered_bps=bps * 1_000_000) for bps in (80, 40, 20, 10)]
    runs = [
        {"scheduler": name, "phases": [phase(shares)]}
        for name, shares in (("pifo", [0.35, 0.35, 0.2, 0.1]), ("rifo", [0.52, 0.28, 0.13, 0.07]))
        for _ in range(3)
    ]
    results = testbed.read(write(tmp_path, "fair-shares", runs, flows, rank="stfq"))
    assert verdict_of(results) == {"fair-shares/pifo": "reproduced", "fair-shares/rifo": "not reproduced"}


def test_the_report_has_figure_table_and_verdicts(tmp_path: Path) -> None:
    page = testbed.report(four(tmp_path).folder)
    text = page.read_text()
    assert "**ai8: reproduced**" in text
    assert "| packs | switch |" in text
    for ending in ("png", "svg", "pdf"):
        assert (tmp_path / f"udp-four-flows.{ending}").stat().st_size > 1000
    assert [entry["claim"] for entry in json.loads((tmp_path / "verdicts.json").read_text())] == [
        "ai8",
        "ri2",
        "ex11",
        "pk13",
    ]


def test_the_completion_figure_leaves_gaps_for_unfinished_flows(tmp_path: Path) -> None:
    testbed.report(fct(tmp_path, 0.1).folder)
    assert (tmp_path / "fct.png").stat().st_size > 1000


def test_intervals_are_student_s() -> None:
    interval = testbed.mean_interval([1.0, 2.0, 3.0])
    assert interval.mean == 2.0
    assert interval.high - 2.0 == pytest.approx(4.303 / 3**0.5)
    assert testbed.mean_interval([1.0, 2.0]) == testbed.Interval(1.5, 1.0, 2.0, 2)
    with pytest.raises(InputError, match="at least one"):
        testbed.mean_interval([])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read"),
        ("no JSON", "not JSON"),
        ('{"format": "other"}', "expected a summary"),
        ("[]", "expected a"),
    ],
)
def test_folders_without_results_are_refused(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "summary.json").write_text(text)
    with pytest.raises(InputError, match=message):
        testbed.read(tmp_path)


def test_a_summary_without_a_run_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "fct", [], [])
    with pytest.raises(InputError, match="no run"):
        testbed.read(tmp_path)


@pytest.mark.parametrize("option", [["--out", "{}"], ["--out={}"]])
def test_the_command_reports_on_what_the_program_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, option: list[str]
) -> None:
    from pifolab.cli import testbed as command

    four(tmp_path)
    seen: list[list[str]] = []

    def program(arguments: list[str]) -> int:
        seen.append(list(arguments))
        return 0

    monkeypatch.setattr(command, "run_program", program)
    arguments = ["udp-four-flows", *(part.format(tmp_path) for part in option)]
    assert command.run_testbed(arguments) == 0
    assert seen == [["testbed", *arguments]]
    assert "ai8: reproduced" in capsys.readouterr().out
    assert (tmp_path / "report.md").exists()


@pytest.mark.parametrize("status", [2, 3])
def test_the_command_reports_nothing_when_the_experiment_could_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    from pifolab.cli import testbed as command

    four(tmp_path)
    monkeypatch.setattr(command, "run_program", lambda _: status)
    assert command.run_testbed(["udp-four-flows", "--out", str(tmp_path)]) == status
    assert not (tmp_path / "report.md").exists()
