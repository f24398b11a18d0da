"""Sweeps from Python: what runs, what is kept, what comes out."""

import re
from pathlib import Path
from typing import Any

import pytest
import tomli
from page_commands import files
from sweeping import MINE, SCENARIO, contents, sweep_of

from pifolab.errors import InputError
from pifolab.packaged import experiment
from pifolab.store import Store
from pifolab.sweep import Sweep, UntilTight, make_plan, run_sweep, run_together
from pifolab.sweep.results import compared
from pifolab.sweep.stored import stored_notes

ROOT = Path(__file__).resolve().parents[2]

NAMES = ("pifo", "narrow", "fifo")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    file = tmp_path / "base.toml"
    file.write_text(SCENARIO)
    return file


def test_a_sweep_runs_every_combination_with_every_seed_and_repeats_none(base: Path, tmp_path: Path):
    axes = {"scheduler": ["pifo", "narrow", "fifo"], "load_gbps": {"key": "workload.rate_gbps", "values": [9, 11]}}
    sweep = sweep_of(base, axis=axes, seeds=[1, 2])
    store = Store(tmp_path / "store")
    events: list[Any] = []
    result = run_sweep(sweep, store, workers=2, progress=events.append)
    assert result.failures == []
    table = result.table("schedulers")
    assert table.height == 3 * 2 * 2
    assert table.columns[:4] == ["run", "seed", "load_gbps", "scheduler"]
    assert set(table["scheduler"]) == {"pifo", "narrow", "fifo"}
    assert table.filter(scheduler="pifo", load_gbps=9)["inversions"].to_list() == [0, 0]
    assert table.filter(scheduler="fifo", load_gbps=11)["inversions"].min() > 0
    assert sum(event["event"] == "finished" for event in events) == 12

    again = run_sweep(sweep, store, workers=1)
    assert again.reused == 12
    assert again.table("schedulers").equals(table)


def test_all_schedulers_of_a_seed_see_identical_arrivals(base: Path, tmp_path: Path):
    # With `end = "drain"` all that arrived was sent or dropped, so that ranks tell what arrived.
    sweep = sweep_of(base, axis={"scheduler": list(NAMES)}, seeds=[1, 2], set={"end": "drain"})
    ranks = run_sweep(sweep, Store(tmp_path / "store")).table("ranks")
    arrived = ranks.select("seed", "scheduler", "rank", arrived=ranks["departures"] + ranks["dropped"])
    seen = {
        seed: [arrived.filter(seed=seed, scheduler=name).sort("rank")["rank", "arrived"].rows() for name in NAMES]
        for seed in (1, 2)
    }
    for one, two, three in seen.values():
        assert len(one) == 100
        assert one == two == three
    assert seen[1][0] != seen[2][0]


def test_one_worker_and_two_write_the_same_bytes(base: Path, tmp_path: Path):
    sweep = sweep_of(base, axis={"scheduler": ["narrow", "sp-pifo"]}, seeds=[1, 2, 3])
    stores = [Store(tmp_path / name) for name in ("one", "two")]
    for workers, store in enumerate(stores, start=1):
        run_sweep(sweep, store, workers=workers)
    one, two = map(contents, stores)
    assert len(one) == 6 * 7
    assert one == two


def test_what_decides_the_results_decides_the_key_and_nothing_else(base: Path):
    def key(**keys: Any) -> str:
        return make_plan(sweep_of(base, seeds=[1], **keys)).runs()[0].key

    plain = key()
    base.write_text(SCENARIO.replace("A small one", "Another title"))
    assert key() == plain
    assert key(title="A sweep with a title") == plain
    assert key(set={"workload.size_bytes": 1500}) == plain
    assert key(set={"workload.size_bytes": 1499}) != plain
    assert make_plan(sweep_of(base, seeds=[2])).runs()[0].key != plain


@pytest.mark.thorough
def test_seeds_are_added_until_intervals_are_tight_and_not_beyond_the_limit(base: Path, tmp_path: Path):
    axes = {"scheduler": ["pifo", "narrow"]}
    sweep = sweep_of(base, axis=axes, seeds=[1, 2, 3], set={"duration_s": 0.0005}, metrics=["inversions"])
    store = Store(tmp_path / "store")
    loose = run_sweep(sweep, store, until=UntilTight(0.9))
    assert set(loose.statistics()["seeds"]) == {3}
    tight = run_sweep(sweep, store, until=UntilTight(0.02, most_seeds=8))
    # PIFO has no inversions whatever the seed, so that three say as much as eight.
    assert dict(tight.statistics().select("scheduler", "seeds").rows()) == {"pifo": 3, "narrow": 8}
    assert tight.reused == 6
    assert store.sweep_runs("small").height == 3 + 8
    # Without the option the seeds that were added still count in the store.
    run_sweep(sweep, store)
    assert store.sweep_runs("small").height == 3 + 8
    plenty = run_sweep(sweep, store, until=UntilTight(0.15, most_seeds=60))
    estimate = next(group.estimate for group in plenty.groups if group.scheduler == "narrow")
    assert estimate.relative_half_width <= 0.15
    assert 3 < estimate.seeds < 60


@pytest.mark.thorough
def test_failures_stop_no_other_run(base: Path, tmp_path: Path):
    (tmp_path / "mine.py").write_text(MINE)
    mine = {name.lower(): f"mine.py:{name}" for name in ("Fine", "Raises", "Hangs", "Escapes", "Leaves", "Dies")}
    sweep = sweep_of(
        base,
        schedulers=mine,
        axis={"scheduler": [*mine, "pifo"], "duration_s": {"values": [0.001, 1e6], "where": {"scheduler": ["pifo"]}}},
        seeds=[1],
        set={"duration_s": 0.001},
        # Enough for a run of a thousand packets on any machine.
        time_limit_s=4,
    )
    result = run_sweep(sweep, Store(tmp_path / "store"), workers=2)
    failed = {failure.name.partition(",")[0].partition(" = ")[2]: failure for failure in result.failures}
    assert {name: failure.kind for name, failure in failed.items()} == {
        "raises": "error",
        "hangs": "time limit",
        "escapes": "error",
        "leaves": "died",
        "dies": "died",
        "pifo": "time limit",
    }
    assert "ValueError: out of ideas" in failed["raises"].reason
    assert "mine.py:" in failed["raises"].reason
    assert failed["hangs"].reason.startswith("took longer than the time limit of 4 s")
    assert failed["escapes"].reason.startswith("GeneratorExit: out of breath (mine.py:")
    assert failed["leaves"].reason == "its worker process died (exit status 3), 2 times"
    assert failed["dies"].reason == "its worker process died (SIGKILL), 2 times"
    assert failed["pifo"].reason.startswith("took longer than the time limit of 4 s")
    assert sorted(result.table("schedulers")["scheduler"]) == ["fine", "pifo"]


def test_a_sweep_on_a_network_brings_classes_of_every_kind(tmp_path: Path):
    for file in files(ROOT / "docs" / "python.md"):
        (tmp_path / file.name).write_text(file.text)
    written = {
        "scenario": "mine.toml",
        "seeds": [1],
        "axis": {
            "scheduler": ["two-queues", "pifo"],
            "keep": {"key": "transport.controller.keep", "values": [0.2, 0.8]},
        },
        "set": {"duration_ms": 2},
    }
    own = {
        "schedulers": {"two-queues": "mine.py:TwoQueues"},
        "ranks": {"short-first": "mine.py:ShortFirst"},
        "controllers": {"timid": "mine.py:Timid"},
        "observers": {"waits": "mine.py:Waits"},
    }
    sweep = Sweep.from_dict(written | own, file=str(tmp_path / "s.toml"))
    result = run_sweep(sweep, Store(tmp_path / "store"), workers=1)
    assert result.failures == []
    assert set(result.table("waits")["scheduler"]) == {"two-queues", "pifo"}
    rows = result.table("schedulers")
    hashes = {(name, keep): trace for name, keep, trace in rows.select("scheduler", "keep", "trace_hash").iter_rows()}
    assert hashes["two-queues", 0.2] != hashes["pifo", 0.2], "the scheduler takes part"
    assert hashes["pifo", 0.2] != hashes["pifo", 0.8], "the controller takes part"

    for kind in ("schedulers", "ranks", "controllers"):
        without = {key: value for key, value in own.items() if key != kind}
        with pytest.raises(
            InputError, match=f"mine.toml.*; classes of your own come from the table {kind} of the sweep"
        ) as caught:
            make_plan(Sweep.from_dict(written | without, file=str(tmp_path / "s.toml")))
        assert kind != "schedulers" or "short-first" not in str(caught.value), "a rank function is not a scheduler"


def test_a_run_is_another_one_when_the_users_scheduler_has_changed(base: Path, tmp_path: Path):
    def key() -> str:
        sweep = sweep_of(base, schedulers={"fine": "mine.py:Fine"}, axis={"scheduler": ["fine"]}, seeds=[1])
        return make_plan(sweep).runs()[0].key

    (tmp_path / "mine.py").write_text(MINE)
    before = key()
    assert key() == before
    (tmp_path / "mine.py").write_text(MINE + "\n# better\n")
    assert key() != before


def test_a_run_is_another_one_when_its_trace_has_changed(tmp_path: Path):
    scenario = tmp_path / "trace.toml"
    workload = 'workload = { trace = "t.csv", trace_rank = "column" }'
    scenario.write_text(f'link = {{ rate_gbps = 1 }}\n{workload}\nscheduler = [{{ name = "pifo" }}]\n')
    keys = []
    for rank in (1, 2):
        (tmp_path / "t.csv").write_text(f"time_ns,size_bytes,flow,rank\n0,100,0,{rank}\n")
        keys.append(make_plan(sweep_of(scenario, seeds=[1])).runs()[0].key)
    assert keys[0] != keys[1]


def test_several_sweeps_run_as_one_with_the_longest_first_and_nothing_twice(base: Path, tmp_path: Path):
    lengths = {"key": "duration_s", "values": [0.001, 0.003]}
    plans = [
        make_plan(Sweep.from_dict(written, file=str(base.with_name(name))))
        for name, written in (
            ("one.toml", {"scenario": base.name, "axis": {"s": lengths}, "tables": ["schedulers"]}),
            ("two.toml", {"scenario": base.name, "set": {"duration_s": 0.003}, "tables": ["ranks"]}),
            ("three.toml", {"scenario": base.name}),
        )
    ]
    store = Store(tmp_path / "store")
    events: list[Any] = []

    def length(plan: Any, run: Any) -> float:
        return float(dict(run.setting.overrides).get("duration_s", 0.002))

    assert run_together(plans, store, 1, events.append, length=length) == []
    assert [event["run"] for event in events if event["event"] == "finished"] == [
        plans[0].runs()[1].key, plans[2].runs()[0].key, plans[0].runs()[0].key,
    ]  # fmt: skip
    assert plans[1].runs()[0].key == plans[0].runs()[1].key
    assert {"schedulers", "ranks"} <= set(store.tables(plans[1].runs()[0].key))
    # Each sweep finds all of its runs done.
    assert run_sweep(plans[1].sweep, store, workers=1).reused == 1


def test_axes_are_crossed_zipped_ranged_and_derived(base: Path):
    sweep = sweep_of(
        base,
        axis={
            "queues": {"key": "scheduler.queues", "range": {"from": 2, "to": 8, "count": 3, "spacing": "log"}},
            "window": {"key": "scheduler.window", "range": {"from": 10, "to": 30, "step": 10}},
            "load": {"key": "", "values": [0.9, 1.1]},
        },
        zip=[["queues", "window"]],
        derived={"workload.rate_gbps": "10 * load", "scheduler.queue_capacity_packets": "floor(80 / queues)"},
        set={"scheduler": "[{ name = 'packs' }]"},
        seeds={"first": 5, "count": 2},
    )
    plan = make_plan(sweep)
    assert [tuple(setting.labels.values()) for setting in plan.settings] == [
        (2, 10, 0.9), (2, 10, 1.1), (4, 20, 0.9), (4, 20, 1.1), (8, 30, 0.9), (8, 30, 1.1),
    ]  # fmt: skip
    assert dict(plan.settings[3].overrides) == {
        "scheduler": "[{ name = 'packs' }]",
        "scheduler.queues": "4",
        "scheduler.window": "20",
        "workload.rate_gbps": "11",
        "scheduler.queue_capacity_packets": "20",
    }
    # Every combination with the first seed comes before any with the second.
    assert [run.seed for run in plan.runs()] == [5] * 6 + [6] * 6


def test_comparisons_pair_by_seed_and_by_what_they_leave_open(base: Path, tmp_path: Path):
    sweep = sweep_of(
        base,
        axis={"scheduler": ["narrow", "fifo"], "load_gbps": {"key": "workload.rate_gbps", "values": [11, 12]}},
        seeds=[1, 2, 3],
        compare=[
            {
                "metric": {"name": "share", "value": "inversions / sent_packets", "where": "sent_packets > 0"},
                "of": {"scheduler": "fifo"},
                "to": {"scheduler": "narrow"},
                "stated_low": 1000,
                "source": "nobody",
            },
            {
                "metric": "inversions",
                "of": {"scheduler": "fifo", "load_gbps": 12},
                "to": {"scheduler": "narrow", "load_gbps": 12},
            },
        ],
    )
    result = run_sweep(sweep, Store(tmp_path / "store"))
    first, second, third = result.compared
    assert [first.axes, second.axes] == [{"load_gbps": 11}, {"load_gbps": 12}]
    table = result.table("schedulers").filter(load_gbps=11)
    shares = table.select("scheduler", share=table["inversions"] / table["sent_packets"])
    means = dict(shares.group_by("scheduler").mean().rows())
    assert first.estimate.value == pytest.approx(means["fifo"] / means["narrow"])
    assert first.estimate.low < first.estimate.value < first.estimate.high
    assert first.verdict is not None
    assert first.verdict.verdict == "does not hold"
    assert str(first).startswith("fifo / narrow share ")
    assert str(first).endswith("[nobody]")
    # What both sides share is said once.
    assert str(third).startswith("fifo / narrow inversions ")
    assert str(third).endswith(" (load_gbps 12)")


def test_the_documented_sweep_file_is_accepted():
    block = re.search(r"^```toml\n(title.*?)^```", (ROOT / "docs/sweeps.md").read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None
    plan = make_plan(Sweep.from_dict(tomli.loads(block.group(1)), file=str(ROOT / "experiments/packs/documented.toml")))
    assert len(plan.settings) == (3 + 1 + 1) * 5
    assert len(plan.runs()) == 10 * len(plan.settings)


def test_the_documented_statistics_are_what_comes_out():
    text = (ROOT / "docs/sweeps.md").read_text()
    block = re.search(r"^```python\n(from pifolab.statistics.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {}
    exec(compile(block.group(1), "sweeps.md", "exec"), names)
    assert str(names["ratio"]) in block.group(1)
    assert str(names["mean_interval"]([10.0, 12.0, 11.0, 9.0, 13.0])) in block.group(1)


def test_fig10_is_650_runs_of_the_settings_of_fig10():
    sweep = Sweep.from_toml(ROOT / "experiments/packs/fig10-sweep.toml")
    plan = make_plan(sweep)
    assert len({run.key for run in plan.runs()}) == 650
    single = tomli.loads((ROOT / "experiments/packs/fig10.toml").read_text())
    packs = {**single["scheduler"][2], "label": "packs"}
    overrides = dict(plan.settings[2].overrides)
    window = int(overrides["scheduler.window"])
    settled = tomli.loads(f"scheduler = {overrides['scheduler']}")["scheduler"][0]
    assert {"label": "packs", "window": window, **settled} == packs


def test_several_scenarios_are_the_first_axis_and_each_run_is_that_of_its_own_sweep(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO)
    (tmp_path / "two.toml").write_text(SCENARIO.replace("rate_gbps = 11", "rate_gbps = 12"))
    keys = {"seeds": [1, 2], "set": {"duration_s": 0.001}}
    drops = {"name": "drops", "value": "100 * dropped_packets / arrived_packets"}
    both = Sweep.from_dict(
        {
            "scenario": {"eleven": "one.toml", "twelve": "two.toml"},
            "axis": {"window": {"key": "scheduler.narrow.window", "values": [3, 5], "where": {"scenario": "twelve"}}},
            "metrics": ["inversions", {**drops, "scenario": "twelve"}],
            **keys,
        },
        file=str(tmp_path / "both.toml"),
    )
    store = Store(tmp_path / "store")
    result = run_sweep(both, store, 1)
    assert not result.failures
    alone = Sweep.from_dict(
        {
            "scenario": "two.toml",
            "axis": {"window": {"key": "scheduler.narrow.window", "values": [3, 5]}},
            "metrics": [drops],
            **keys,
        },
        file=str(tmp_path / "alone.toml"),
    )
    again = run_sweep(alone, store, 1)
    assert again.reused == again.runs.height == 4
    assert result.runs.height == 6
    assert result.runs["scenario"].to_list() == ["eleven", "twelve", "twelve"] * 2
    # A metric of one scenario has no column for it, and the same numbers as the sweep of that scenario alone.
    mine = [group for group in result.groups if group.metric == "drops"]
    assert [(one.axes, one.scheduler, one.estimate) for one in mine] == [
        (one.axes, one.scheduler, one.estimate) for one in again.groups
    ]
    assert {group.axes["scenario"] for group in result.groups if group.metric == "inversions"} == {"eleven", "twelve"}
    # What the store notes is enough to say it again.
    notes = stored_notes(store, "both")
    assert notes.axes == {"scenario": ["eleven", "twelve"], "window": [3, 5]}
    assert [metric.scenario for metric in notes.metrics] == [None, "twelve"]


def test_a_claim_is_a_query_over_all_runs_of_a_seed_judged_as_a_ratio_is(base: Path, tmp_path: Path) -> None:
    load = {"key": "workload.rate_gbps", "values": [9, 11, 13]}
    drops = "SELECT 100 * dropped_packets / arrived_packets FROM schedulers WHERE scheduler = 'narrow' {} ORDER BY load"
    sweep = sweep_of(
        base,
        seeds=[1, 2, 3],
        axis={"load": load},
        claim=[
            {"name": "rising", "metric": drops.format(""), "take": "rising", "stated": 1},
            {"name": "most", "metric": drops.format(""), "take": "max", "stated_high": 1, "source": "me"},
            {"name": "none", "metric": drops.format("AND load > 99"), "stated": 1},
        ],
    )
    store = Store(tmp_path / "store")
    result = run_sweep(sweep, store, 2)
    rising, most, none = result.compared
    assert (rising.verdict.verdict, rising.estimate.seeds) == ("holds", 3)
    table = result.table("schedulers").filter(scheduler="narrow", load=13)
    by_seed = (100 * table["dropped_packets"] / table["arrived_packets"]).to_list()
    assert most.estimate.value == pytest.approx(sum(by_seed) / 3)
    assert most.verdict.verdict == "does not hold"
    assert str(most).startswith("most ")
    assert str(most).endswith(" [me]")
    assert str(none) == "none: no seed has a value"
    # The store alone says the same.
    again = [compared(store, result.runs, one)[0] for one in stored_notes(store, sweep.name).claims]
    assert list(map(str, again)) == list(map(str, result.compared))
    # What was noted before there were claims, and scenarios of metrics, is read on.
    before = {key: value for key, value in store.sweep(sweep.name).items() if key != "claim"}
    before["metrics"] = [{key: one[key] for key in one if key != "scenario"} for one in before["metrics"]]
    store.write_sweep("old", before, result.runs)
    old = stored_notes(store, "old")
    assert (old.claims, old.metrics) == ([], list(sweep.metrics))
    # A seed of which a run is missing counts for nothing.
    part = result.runs.filter((result.runs["seed"] != 2) | (result.runs["load"] != 13))
    assert compared(store, part, sweep.claims[1])[0].estimate.seeds == 2


def test_a_study_says_how_its_metrics_are_drawn_and_a_choice_comes_before_it(base: Path, tmp_path: Path) -> None:
    axes = {
        "load": {"key": "workload.rate_gbps", "values": [9, 11]},
        "room": {"key": "scheduler.capacity_packets", "values": [8, 80, 800]},
        "scheduler": ["fifo"],
    }
    figure = {"metric": "sent_packets", "x": "room", "y_scale": "log", "labels": {"sent_packets": "overtaken"}}
    sweep = sweep_of(base, seeds=[1], axis=axes, metrics=["inversions", "sent_packets"], figure=[figure])
    store = Store(tmp_path / "store")
    result = run_sweep(sweep, store, 1)
    drawn = result.plot("sent_packets")
    assert len(drawn.axes) == 2
    assert {axes.get_xlabel() for axes in drawn.axes} == {"room"}
    assert (drawn.axes[0].get_ylabel(), drawn.axes[0].get_yscale()) == ("overtaken", "log")
    other = result.plot("sent_packets", x="load", y_scale="linear", labels={"sent_packets": "mine"})
    assert {axes.get_xlabel() for axes in other.axes} == {"load"}
    assert (other.axes[0].get_ylabel(), other.axes[0].get_yscale()) == ("mine", "linear")
    assert {axes.get_xlabel() for axes in result.plot("inversions").axes} == {"load"}
    assert stored_notes(store, sweep.name).figures == list(sweep.figures)


def test_the_packaged_scorecard_names_every_scheduler_and_none_of_its_metrics_is_void() -> None:
    sweep = Sweep.from_toml(experiment(Path("scorecard")))
    plan = make_plan(sweep)
    assert len(plan.runs()) == 3 * len(sweep.bases)
    assert {metric.scenario for metric in sweep.metrics} == set(sweep.bases)
