"""The packaged scorecard: all schedulers on identical traffic, a study with a wide table."""

from __future__ import annotations

from pathlib import Path

import pytest

from pifolab.cli import main
from pifolab.packaged import experiments
from pifolab.store import Store
from pifolab.sweep import Sweep, run_sweep
from pifolab.sweep.results import statistics_rows
from pifolab.toml import read_toml


@pytest.mark.thorough
def test_ideal_schedulers_are_ideal_and_no_order_is_none(tmp_path: Path) -> None:
    file = experiments()["scorecard"]
    study = read_toml(file)
    only = ("uniform", "below-saturation", "fairness", "adversarial")
    study["scenario"] = {name: study["scenario"][name] for name in only}
    study["metrics"] = [one for one in study["metrics"] if one["scenario"] in only]
    sweep = Sweep.from_dict(study, file=str(file)).with_seeds([1, 2])
    result = run_sweep(sweep, Store(tmp_path / "store"), 2)
    headings, rows = statistics_rows(result.groups)
    # A row for each scheduler, a column for each metric: the scenarios are in the metrics.
    assert headings == ["scheduler", *(metric.name for metric in sweep.metrics)]
    assert len(rows) == 12
    mean = {(group.scheduler, group.metric): group.estimate.value for group in result.groups}
    inversions = {name: mean[name, "inversions (%), uniform"] for name in ("pifo", "packs", "sp-pifo", "aifo", "fifo")}
    assert inversions["pifo"] == 0
    assert inversions["packs"] < inversions["sp-pifo"] < inversions["aifo"] < inversions["fifo"]
    assert mean["pifo", "Delta to PIFO, uniform"] == mean["fifo", "reordered (%), uniform"] == 0
    assert mean["pifo", "Jain index, STFQ"] > 0.99 > mean["fifo", "Jain index, STFQ"]
    for metric in ("magnitude (ranks per packet), uniform", "misdrops (%), uniform"):
        assert 0 == mean["pifo", metric] < mean["packs", metric] < mean["sp-pifo", metric] < mean["fifo", metric]
    # The link is not full: one queue has room, one of several may not, and a refusal by rank needs no full buffer.
    drops = {name: mean[name, "drops (%), Poisson arrivals at 0.8"] for name in ("pifo", "fifo", "sp-pifo", "aifo")}
    assert drops["pifo"] == drops["fifo"] == 0 < drops["sp-pifo"] < drops["aifo"]


def test_the_old_command_names_the_study_and_what_it_no_longer_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scorecard", "--quick"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("pifolab: scorecard --quick: copy the study of the package and change it there: ")
    assert said.endswith("scorecard.toml")
    assert main(["scorecard", "--help"]) == 0
    assert "usage: pifolab study run" in capsys.readouterr().out
