"""Sweeps from Python: what runs, what is kept, what comes out."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from pifolab.store import Store
from pifolab.sweep import Sweep, make_plan, run_sweep

SCENARIO = """
title = "A small one"
duration_s = 0.002
link = { rate_gbps = 10 }
workload = { arrivals = "poisson", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }

[[scheduler]]
name = "pifo"

[[scheduler]]
name = "packs"
label = "narrow"
window = 15
"""

NAMES = ("pifo", "narrow", "fifo")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    file = tmp_path / "base.toml"
    file.write_text(SCENARIO)
    return file


def sweep_of(base: Path, **keys: Any) -> Sweep:
    return Sweep.from_dict({"scenario": base.name, **keys}, file=str(base.with_name("small.toml")))


def contents(store: Store) -> dict[str, str]:
    """A digest of every file of every run but its record."""
    return {
        f"{file.parent.name}/{file.name}": hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(store.path.glob("runs/*/*"))
        if file.name != "record.json"
    }


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
