"""The sweep of docs/tutorials/completion-times.md in a small version: what its metrics count."""

import shutil

import polars as pl
import pytest
from page_commands import ROOT, files

from pifolab.store import Store
from pifolab.sweep import Sweep, run_sweep
from pifolab.toml import parse_toml


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion")
    (shown,) = files(ROOT / "docs/tutorials/completion-times.md")
    (folder / "experiments").symlink_to(ROOT / "experiments")
    written = parse_toml(shown.text, shown.name)
    written["set"] |= {"duration_s": 0.02}
    written["seeds"] = [1, 2]
    written["axis"]["load"]["values"] = [0.8]
    written["axis"]["scheduler"]["values"] = ["packs", "fifo"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = run_sweep(Sweep.from_dict(written, file="load.toml"), Store(folder / "store"), workers=1)
    yield result
    shutil.rmtree(folder)


def test_the_sweep_of_the_page_compares_over_the_same_flows(result):
    assert not result.failures
    flows = result.table("flows").filter(pl.col("fct_ns").is_not_null())
    done = {
        (seed, scheduler): dict(part.select("flow", "fct_ns").iter_rows())
        for (seed, scheduler), part in flows.partition_by("seed", "scheduler", as_dict=True).items()
    }
    for scheduler in ("packs", "fifo"):
        means = []
        for seed in (1, 2):
            common = done[seed, "packs"].keys() & done[seed, "fifo"].keys()
            # Otherwise the test would say nothing.
            assert common < done[seed, "packs"].keys()
            means.append(sum(done[seed, scheduler][flow] for flow in common) / len(common) / 1e6)
        (group,) = (one for one in result.groups if one.scheduler == scheduler and one.metric == "all_ms")
        assert group.estimate.value == pytest.approx(sum(means) / 2)


def test_a_comparison_may_name_a_metric_of_the_sweep(result):
    (ratio,) = result.compared
    assert ratio.comparison.metric == next(one for one in result.sweep.metrics if one.name == "small_ms")
    assert str(ratio).startswith("fifo / packs small_ms ")
