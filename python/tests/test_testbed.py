"""Figures, tables and verdicts from the testbed's results, on results made up for the purpose."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from waiting import Running, wait_until

import pifolab
from pifolab.errors import InputError
from pifolab.statistics import mean_interval
from pifolab_papers import load_registry
from pifolab_testbed import results as testbed
from pifolab_testbed import twin
from pifolab_testbed.claims import FILE, load_claims

ROOT = Path(__file__).resolve().parents[2]

SCHEDULERS = ("fifo", "sp-pifo", "aifo", "packs", "rifo", "exp-pifo", "pifo")


# The parameters of an experiment that each scheduler has.
TAKEN = {
    "fifo": {"capacity_packets"},
    "sp-pifo": {"queues", "on_full"},
    "aifo": {"capacity_packets", "window", "k"},
    "packs": {"queues", "window", "k"},
    "rifo": {"capacity_packets", "k"},
    "exp-pifo": {"queues"},
    "pifo": {"capacity_packets"},
}


def flow(rank: int = 0, **more: Any) -> dict[str, Any]:
    return {"rank": rank, "start_s": 0.0, "offered_bps": None, "size_bytes": None, **more}


def write(folder: Path, experiment: str, runs: list[dict[str, Any]], flows: list[dict[str, Any]], **more: Any) -> Path:
    for number, run in enumerate(runs):
        run.setdefault("data_plane", "switch")
        run.setdefault("starved", False)
        run.setdefault("completion_s", None)
        run.setdefault("parameters", {})
        run["series"] = f"{number}.csv"
        rows = [
            f"{0.05 * step:.3f},{f},{flows[f]['rank']},1,{1000 * (f + 1)}"
            for f in range(len(flows))
            for step in range(round(more.get("length_s", 0.4) / 0.05))
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


# A tenth of the testbed's, so that its simulated twin takes no time.
RATE_BPS = 10_000_000


def four_flows(rate_bps: int = RATE_BPS) -> list[dict[str, Any]]:
    return [flow(rank, start_s=2.0 * place, offered_bps=rate_bps) for place, rank in enumerate((32, 8, 4, 2))]


def four(folder: Path, worse: str | None = None, repeats: int = 3) -> testbed.Results:
    runs = [
        {"scheduler": name, "phases": even(4) if name in ("fifo", worse) else newest_first(4, 0.95 + 0.001 * repeat)}
        for repeat in range(repeats)
        for name in SCHEDULERS
    ]
    phases = [[2 * phase + 0.5, 2 * phase + 2] for phase in range(4)]
    more = {"rate_bps": RATE_BPS, "length_s": 8.0, "phases_s": phases}
    return testbed.read(write(folder, "udp-four-flows", runs, four_flows(), **more))


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


def on_planes(folder: Path, *planes: str, worse: str) -> testbed.Results:
    """Make results of four flows on several data planes, on the last of which `worse` splits evenly."""
    runs = []
    for repeat in range(3):
        for name in ("fifo", "packs", "rifo"):
            for plane in planes:
                is_even = name == "fifo" or (name, plane) == (worse, planes[-1])
                phases = even(4) if is_even else newest_first(4, 0.95 + 0.001 * repeat)
                runs.append({"scheduler": name, "data_plane": plane, "phases": phases})
    phases = [[2 * phase + 0.5, 2 * phase + 2] for phase in range(4)]
    more = {"rate_bps": RATE_BPS, "length_s": 8.0, "phases_s": phases}
    return testbed.read(write(folder, "udp-four-flows", runs, four_flows(), **more))


def test_each_of_several_data_planes_is_judged_for_itself(tmp_path: Path) -> None:
    results = on_planes(tmp_path, "ebpf", "switch", "p4", worse="rifo")
    judged = {(verdict.claim, verdict.data_plane): verdict.verdict for verdict in testbed.verdicts(results)}
    assert judged == {
        **{("pk13", plane): "reproduced" for plane in ("ebpf", "switch", "p4")},
        **{("ri2", plane): "reproduced" for plane in ("ebpf", "switch")},
        ("ri2", "p4"): "not reproduced",
    }


def test_the_newest_flow_s_shares_stand_beside_the_simulator_s_in_one_table_and_figure(tmp_path: Path) -> None:
    on_planes(tmp_path, "ebpf", "switch", "p4", worse="rifo")
    page = testbed.report(tmp_path).read_text()
    assert (tmp_path / "newest-flow.png").stat().st_size > 10_000
    about = page.split("## The newest flow")[1]
    rows = [line.strip("| ").split(" | ") for line in about.splitlines() if line.startswith("| ")]
    assert rows[0] == ["scheduler", "data plane", "2 flows", "3 flows", "4 flows", "farthest from the simulator"]
    planes = ["kernel (eBPF)", "user-space switch", "P4 on BMv2", "simulator"]
    assert [row[:2] for row in rows[1:]] == [[name, plane] for name in ("fifo", "packs", "rifo") for plane in planes]
    found = {(row[0], row[1]): row for row in rows[1:]}
    assert found["packs", "P4 on BMv2"][4].startswith("95.1 %")
    assert found["rifo", "P4 on BMv2"][4] == "25.0 %"
    simulated = float(found["rifo", "simulator"][4].split()[0])
    assert float(found["rifo", "P4 on BMv2"][5].split()[0]) >= simulated - 25.1


def test_one_data_plane_has_no_table_of_several(tmp_path: Path) -> None:
    assert testbed.newest_shares(four(tmp_path)) == []
    assert {verdict.data_plane for verdict in testbed.verdicts(four(tmp_path))} == {""}


def test_a_fifo_that_is_not_even_reproduces_nothing(tmp_path: Path) -> None:
    runs = [{"scheduler": name, "phases": newest_first(4, 0.95)} for name in SCHEDULERS]
    results = testbed.read(write(tmp_path, "udp-four-flows", runs, [flow(rank) for rank in (32, 8, 4, 2)]))
    assert set(verdict_of(results).values()) == {"partly"}


def test_fewer_than_three_repeats_are_provisional(tmp_path: Path) -> None:
    assert all(verdict.provisional for verdict in testbed.verdicts(four(tmp_path, repeats=2)))


def test_runs_that_lost_packets_outside_the_scheduler_give_no_verdict(tmp_path: Path) -> None:
    results = four(tmp_path)
    for run in results.runs("aifo"):
        run.update(lost_outside=True, losses={"share": 0.31})
    found = {verdict.claim: verdict for verdict in testbed.verdicts(results)}
    assert found["ai8"].verdict == "withheld"
    assert "3 of 9 runs lost more than 0.1 %" in found["ai8"].measured
    assert "31.0 %" in found["ai8"].measured
    assert found["pk13"].verdict == "reproduced"
    assert "aifo (31.0 % lost outside)" in testbed.table(results)


def test_the_program_repeats_runs_by_the_limit_of_the_registry():
    source = (ROOT / "dataplane/linux/src/testbed/losses.rs").read_text(encoding="utf-8")
    [most] = re.findall(r"^pub const MOST_LOST_OUTSIDE: f64 = ([\d.]+);$", source, re.MULTILINE)
    assert float(most) == load_claims().thresholds["lost-outside"]


def test_starved_senders_give_no_verdict(tmp_path: Path) -> None:
    results = four(tmp_path)
    results.runs("fifo")[0]["starved"] = True
    assert set(verdict_of(results).values()) == {"withheld"}


@pytest.mark.parametrize(
    ("ranks", "withheld"),
    [
        ((32, 8, 4, 2), set()),
        ((9, 8, 7, 6), {"ex11"}),
        ((16, 8, 4, 2), {"ex11"}),
        ((2, 4, 8, 32), {"ai8", "ri2", "ex11", "pk13"}),
        ((5, 5, 5, 5), {"ai8", "ri2", "ex11", "pk13"}),
    ],
)
def test_ranks_of_which_a_claim_does_not_speak_give_no_verdict(
    tmp_path: Path, ranks: tuple[int, ...], withheld: set[str]
) -> None:
    results = four(tmp_path)
    for one, rank in zip(results.summary["flows"], ranks, strict=True):
        one["rank"] = rank
    found = verdict_of(results)
    assert {claim for claim, verdict in found.items() if verdict == "withheld"} == withheld


def test_many_flows_of_the_user_s_own_have_a_line_each_and_a_twin(tmp_path: Path) -> None:
    flows = [flow(1 + place % 4, offered_bps=RATE_BPS // 10, packets=[[500, 1]]) for place in range(20)]
    runs = [{"scheduler": "pifo", "phases": [phase([0.05] * 20)]} for _ in range(3)]
    more = {"rate_bps": RATE_BPS, "length_s": 1.0, "phases_s": [[0.25, 1.0]], "sender": None}
    results = testbed.read(write(tmp_path, "custom", runs, flows, **more))
    table = testbed.table(results).splitlines()
    assert table[0] == "| flow | pifo |"
    assert len(table) == 22
    assert table[21].startswith("| flow 20 (rank 4) | 5.0 % [")
    text = testbed.report(tmp_path).read_text()
    assert "## Beside the simulator" in text
    assert "size_bytes = 514" in (tmp_path / "simulation.toml").read_text()
    # Packets of several sizes, or a sender of the user's own, have none.
    assert not twin.has_twin({**results.summary, "sender": "mine"})
    results.summary["flows"][3]["packets"] = [[64, 7], [1500, 1]]
    assert not twin.has_twin(results.summary)


def test_a_tree_on_real_packets_is_shown_beside_the_simulator_by_path_and_phase(tmp_path: Path) -> None:
    children = (Path(pifolab.__file__).parent / "experiments" / "tree" / "port.json").read_text()
    offers = [(1, 5, 200, {}), (2, 80, 1500, {}), (3, 80, 1500, {"stop_s": 1.0}), (4, 80, 1500, {})]
    flows = [flow(rank, offered_bps=mbps * 1_000_000, packets=[[size, 1]], **more) for rank, mbps, size, more in offers]
    phases = [phase([0.05, 0.4, 0.33, 0.22]), phase([0.05, 0.4, 0.0, 0.55])]
    run = {"scheduler": "tree", "phases": phases, "parameters": {"classify": "dscp", "child": children}}
    more = {"length_s": 2.0, "phases_s": [[0.25, 1.0], [1.25, 2.0]], "sender": None}
    results = testbed.read(write(tmp_path, "custom", [run], flows, **more))
    text = testbed.side_by_side(results, twin.simulate(results.summary))
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert head[2:] == ["seconds", "voice", "tenants/gold", "tenants/silver", "tenants/bronze", "largest difference"]
    assert [row[2] for row in rows] == ["0.25 to 1", "1.25 to 2"]
    assert all(float(row[-1].split()[0]) < 0.5 for row in rows), text
    # What only the data plane knows cannot be repeated.
    run["parameters"] = {**run["parameters"], "classify": "destination-port"}
    other = testbed.read(write(tmp_path, "custom", [run], flows, **more))
    assert not twin.has_twin(other.summary)
    assert "| flow 1 (rank 1) |" in testbed.table(other)


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


def beside(folder: Path, linux: list[float], **more: Any) -> testbed.Results:
    """Return results of `drr` on the switch and on Linux's qdisc, where the last phase has these shares."""
    flows = [flow(offered_bps=bps * 1_000_000) for bps in (80, 40, 20, 10)]
    own = {"scheduler": "drr", "phases": [phase([0.35, 0.35, 0.2, 0.1])]}
    theirs = {"scheduler": "drr", "data_plane": "linux", "counters": {"kind": "drr"}, "phases": [phase(linux)], **more}
    skipped = [{"scheduler": "scrr", "data_plane": "linux", "reason": "Linux has no such qdisc"}]
    runs = [run | {} for _ in range(3) for run in (own, theirs)]
    phases = {"phases_s": [[0.0, 0.4]], "length_s": 0.4}
    return testbed.read(write(folder, "throughput", runs, flows, skipped=skipped, **phases))


@pytest.mark.parametrize(
    ("linux", "more", "near", "points"),
    [
        ([0.36, 0.34, 0.2, 0.1], {}, True, "1.0 points"),
        ([0.41, 0.29, 0.2, 0.1], {}, False, "6.0 points"),
        ([0.36, 0.34, 0.2, 0.1], {"starved": True}, None, "1.0 points"),
        ([0.36, 0.34, 0.2, 0.1], {"lost_outside": True, "losses": {"share": 0.02}}, None, "1.0 points"),
    ],
)
def test_shares_are_compared_with_those_of_linux_s_own_qdisc(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    linux: list[float],
    more: dict[str, Any],
    near: bool | None,
    points: str,
) -> None:
    results = beside(tmp_path, linux, **more)
    [compared] = testbed.beside_linux(results)
    assert (compared.scheduler, compared.data_plane, compared.qdisc, compared.near) == ("drr", "switch", "drr", near)
    assert points in str(compared)
    assert results.share("drr", -1, 0).value == pytest.approx(0.35), "Linux's runs are not repeats of pifolab's"
    table = testbed.table(results)
    assert "| drr | switch | 35.0 %" in table
    assert f"linux | {100 * linux[0]:.1f} %" in table
    if near is not True:
        # One figure will do.
        monkeypatch.setattr(testbed, "draw", lambda *_: [tmp_path / "figure.png"])
    text = testbed.report(tmp_path).read_text()
    assert f"| drr | switch | drr | 35.0 / {100 * linux[0]:.1f} % |" in text
    assert "- scrr: skipped: Linux has no such qdisc." in text


@pytest.mark.thorough
def test_the_report_has_figure_table_and_verdicts(tmp_path: Path) -> None:
    page = testbed.report(four(tmp_path).folder)
    text = page.read_text()
    assert "**ai8: reproduced**" in text
    assert "| packs | switch |" in text
    assert "## Beside the simulator" in text
    assert _pifolab_runs(tmp_path / "simulation.toml")
    for ending in ("png", "svg", "pdf"):
        assert (tmp_path / f"udp-four-flows.{ending}").stat().st_size > 1000
    assert [entry["claim"] for entry in json.loads((tmp_path / "verdicts.json").read_text())] == [
        "ai8",
        "ri2",
        "ex11",
        "pk13",
    ]


def _pifolab_runs(file: Path) -> bool:
    return pifolab.run(file, seeds=[1], overrides={"duration_s": 0.1}).seeds == [1]


def test_the_simulated_twin_gives_the_link_to_the_newest_flow_as_the_kernel_does(tmp_path: Path) -> None:
    results = four(tmp_path)
    simulated = twin.simulate(results.summary)
    for scheduler in SCHEDULERS:
        last = simulated.shares(scheduler, 3)
        assert sum(last) == pytest.approx(1)
        if scheduler == "fifo":
            assert all(0.2 <= share <= 0.3 for share in last)
        else:
            assert last[3] >= 0.85, scheduler
        # The first flow is alone in the first phase; its rate is the link's.
        assert simulated.shares(scheduler, 0) == [1, 0, 0, 0]
        assert simulated.rates_mbps(scheduler, 0, 40)[0] == pytest.approx(10, rel=0.02)
    lines = testbed.side_by_side(results, simulated).splitlines()
    assert len(lines) == 2 + len(SCHEDULERS)
    fifo = next(line for line in lines if line.startswith("| fifo |"))
    assert fifo.count("25.0 / 2") == 4
    # An even split was made up for the measured FIFO: it is as far off as the simulated one.
    assert float(fifo.rsplit("|", 2)[1].removesuffix("points ")) < 5


def test_a_measured_split_that_is_not_the_simulated_one_shows_in_the_largest_difference(tmp_path: Path) -> None:
    results = four(tmp_path, worse="aifo")
    table = testbed.side_by_side(results, twin.simulate(results.summary))
    aifo = next(line for line in table.splitlines() if line.startswith("| aifo |"))
    assert float(aifo.rsplit("|", 2)[1].removesuffix("points ")) > 60


# What `pifolab testbed` says of its experiments: the flows, the length, and what it hands to the schedulers.
AS_THEY_ARE: dict[str, tuple[int, list[dict[str, Any]], float, dict[str, str]]] = {
    "udp-four-flows": (100_000_000, four_flows(100_000_000), 8.0, {}),
    "udp-eight-flows": (
        20_000_000,
        [
            flow(rank, start_s=2.0 * place, offered_bps=40_000_000)
            for place, rank in enumerate((512, 128, 64, 32, 16, 8, 4, 2))
        ],
        16.0,
        {"queues": "4", "capacity_packets": "40", "on_full": "update"},
    ),
    "tcp-four-flows": (100_000_000, [{**one, "offered_bps": None} for one in four_flows()], 8.0, {}),
    "fair-shares": (100_000_000, [flow(offered_bps=bps * 1_000_000) for bps in (80, 40, 20, 10)], 4.0, {}),
}


def as_it_is(name: str) -> dict[str, Any]:
    rate, flows, length, more = AS_THEY_ARE[name]
    more = {"window": "20", "k": "0.1"} | more
    return {
        "experiment": name,
        "rate_bps": rate,
        "delay_us": 0,
        "length_s": length,
        "bin_s": 0.05,
        "rank": "stfq" if name == "fair-shares" else "dscp" if name == "tcp-four-flows" else "payload:4:4",
        "flows": flows,
        "runs": [
            {"scheduler": scheduler, "parameters": {key: more[key] for key in sorted(more) if key in taken}}
            for scheduler, taken in TAKEN.items()
        ],
    }


@pytest.mark.parametrize("name", AS_THEY_ARE)
def test_the_published_twins_are_those_of_the_experiments_as_they_are(name: str) -> None:
    text = (ROOT / "experiments" / "testbed" / f"{name}.toml").read_text()
    assert text == twin.scenario(as_it_is(name))
    spec = pifolab.run_text(text, seeds=[1], overrides={"duration_s": 6.001}).manifest["spec"]
    assert len(spec["scheduler"]) == len(SCHEDULERS)


def test_custom_tcp_flows_have_a_twin_if_they_never_end() -> None:
    summary = as_it_is("tcp-four-flows")
    own = summary | {"experiment": "custom"}
    assert twin.scenario(own).partition("\n")[2] == twin.scenario(summary).partition("\n")[2]
    assert not twin.has_twin(own | {"flows": [{**one, "size_bytes": 20_000} for one in own["flows"]]})
    assert not any(twin.has_twin(own | {"rank": rank}) for rank in ("stfq", "las", "payload:4:4"))
    # HyStart ends slow start early only where a train of packets is long beside the round trip.
    assert "initial_ssthresh_segments" in twin.scenario(own)
    assert "initial_ssthresh_segments" not in twin.scenario(own | {"delay_us": 50_000})


def test_simulated_tcp_flows_of_low_rank_take_the_link_and_fifo_starves_nobody() -> None:
    summary = as_it_is("tcp-four-flows") | {"phases_s": [[2 * phase + 0.5, 2 * phase + 2] for phase in range(4)]}
    simulated = twin.simulate(summary)
    for scheduler in SCHEDULERS:
        last = simulated.shares(scheduler, 3)
        if scheduler == "fifo":
            assert min(last) > 0.05, last
        else:
            assert last[3] >= 0.85, (scheduler, last)
        # Payload, on a link that counts headers.
        assert simulated.rates_mbps(scheduler, 0, 40)[0] == pytest.approx(100 * 1448 / 1514, rel=0.02)


def test_simulated_fair_queueing_is_max_min() -> None:
    simulated = twin.simulate(as_it_is("fair-shares") | {"phases_s": [[0.5, 4.0]]})
    assert simulated.shares("pifo", 0) == pytest.approx([0.35, 0.35, 0.2, 0.1], abs=0.005)
    # FIFO shares in proportion to what is offered.
    assert simulated.shares("fifo", 0) == pytest.approx([8 / 15, 4 / 15, 2 / 15, 1 / 15], abs=0.06)


def test_ranks_among_a_scheduler_s_parameters_are_in_the_unit_of_the_simulated_ones() -> None:
    summary = as_it_is("tcp-four-flows")
    summary["runs"] = [
        {"scheduler": "exp-pifo", "parameters": {}},
        {"scheduler": "packs", "parameters": {"shift": "-2", "window": "20"}},
        {"scheduler": "aifo", "parameters": {"start_window": "0,3"}},
    ]
    exp_pifo, packs, aifo = pifolab.run_text(twin.scenario(summary), overrides={"duration_s": 6.001}).manifest["spec"][
        "scheduler"
    ]
    # The first flow, of rank 32, is of so many bytes.
    unit = 2**34
    assert exp_pifo["r_min"] == unit
    assert (packs["shift"], packs["window"]) == (-2 * unit, 20)
    assert aifo["start_window"] == [0, 3 * unit]


def test_an_experiment_without_a_twin_is_refused() -> None:
    with pytest.raises(InputError, match="fct: no simulated twin"):
        twin.scenario({"experiment": "fct"})


def test_the_completion_figure_leaves_gaps_for_unfinished_flows(tmp_path: Path) -> None:
    testbed.report(fct(tmp_path, 0.1).folder)
    assert (tmp_path / "fct.png").stat().st_size > 1000


def test_intervals_are_those_of_the_simulator(tmp_path: Path) -> None:
    share = four(tmp_path).share("aifo", -1, 3)
    assert share == mean_interval([0.95, 0.951, 0.952])


def test_a_threshold_of_the_registry_decides_and_says_why() -> None:
    for source in load_claims().claims:
        assert source.why, source.id
        assert source.id in load_registry().by_id or source.id == "fair-shares"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("most = 0.05", "", "claims.toml: threshold beside-linux: most: is missing"),
        ("most = 0.001", "least = 0.001", 'claims.toml: threshold lost-outside: least: unknown key "least"'),
    ],
)
def test_every_mistake_in_the_claims_of_the_testbed_is_named(tmp_path: Path, old: str, new: str, problem: str) -> None:
    file = tmp_path / FILE.name
    text = FILE.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(problem)):
        load_claims(file)


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

    def program(arguments: list[str], *, dies_with_this: bool) -> int:
        seen.append(list(arguments))
        assert dies_with_this
        return 0

    monkeypatch.setattr(command, "run_program", program)
    # Another test looks at the figure.
    monkeypatch.setattr(testbed, "draw", lambda *_: [tmp_path / "figure.png"])
    arguments = ["udp-four-flows", *(part.format(tmp_path) for part in option)]
    assert command.run_testbed(arguments) == 0
    assert seen == [["testbed", *arguments]]
    assert "ai8: reproduced" in capsys.readouterr().out
    assert (tmp_path / "report.md").exists()


def test_without_the_source_tree_a_report_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pifolab.cli import testbed as command

    seen: list[list[str]] = []
    monkeypatch.setattr(command, "run_program", lambda arguments, **_more: seen.append(arguments) or 0)
    monkeypatch.setattr("pifolab.dataplane.__file__", str(tmp_path / "lib" / "pifolab" / "dataplane.py"))
    with pytest.raises(InputError, match="the testbed's reports are in the source tree only; install pifolab from"):
        command.run_testbed(["udp-four-flows", "--out", str(tmp_path)])
    assert seen == []
    assert command.run_testbed(["udp-four-flows"]) == 0
    assert seen == [["testbed", "udp-four-flows"]]


@pytest.mark.parametrize("status", [2, 3])
def test_the_command_reports_nothing_when_the_experiment_could_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    from pifolab.cli import testbed as command

    four(tmp_path)
    monkeypatch.setattr(command, "run_program", lambda _, **_more: status)
    assert command.run_testbed(["udp-four-flows", "--out", str(tmp_path)]) == status
    assert not (tmp_path / "report.md").exists()


def test_the_command_says_nothing_more_when_it_was_interrupted_before_the_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pifolab.cli import testbed as command

    monkeypatch.setattr(command, "run_program", lambda _, **_more: 1)
    assert command.run_testbed(["udp-four-flows", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("planes", ["switch", "p4,switch"])
def test_the_program_ends_when_the_command_is_killed(tmp_path: Path, planes: str) -> None:
    program, started = tmp_path / "program", tmp_path / "started"
    program.write_text(f"#!/bin/sh\necho $$ > {started}.new && mv {started}.new {started}\nexec sleep 600\n")
    program.chmod(0o755)
    # Of P4 nothing is run: the Linux data plane comes first.
    tools = dict.fromkeys(("PIFOLAB_DATAPLANE", "PIFOLAB_P4C", "PIFOLAB_BMV2"), str(program))
    arguments = (
        "dataplane",
        "testbed",
        "udp-four-flows",
        "--data-plane",
        planes,
        "--schedulers",
        "fifo",
        "--out",
        tmp_path / "out",
    )
    with Running(*arguments, cwd=tmp_path, environment=tools) as command:
        command.reaches(started.exists, "the program runs")
        process = Path("/proc") / started.read_text().strip()
        assert process.is_dir()
        command.process.kill()
        command.process.wait()
        # A process that nobody has waited for yet is still there by its name alone.
        wait_until(lambda: not (process / "exe").exists(), "the program ends with the command")


def test_the_testbed_repeats_a_run_that_loses_more_than_the_registry_allows() -> None:
    source = (ROOT / "dataplane/linux/src/testbed/losses.rs").read_text(encoding="utf-8")
    found = re.search(r"MOST_LOST_OUTSIDE: f64 = ([0-9.]+);", source)
    assert found
    assert float(found[1]) == load_claims().thresholds["lost-outside"]
