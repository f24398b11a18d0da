"""`slack.tuning`: which settings are best, and that the page of completion times judges these."""

from __future__ import annotations

from pathlib import Path

import pytest

from slack.flows import FIGURES, MEASURES, sweep
from slack.tuning import KINDS, _schedulers, best, grid, ratios

PAGES = Path(__file__).parents[1] / "pages"


def test_ratios_are_geometric_means_over_the_loads_of_means_over_the_seeds() -> None:
    found = {
        "small flows, mean": {
            0.2: {"packs": {1: 2.0, 2: 4.0}, "a": {1: 3.0, 2: 3.0}},
            0.8: {"packs": {1: 1.0, 2: 1.0}, "a": {1: 4.0, 2: 4.0}},
        }
    }
    assert ratios(found) == {
        "packs": {"small flows, mean": 1.0},
        "a": {"small flows, mean": pytest.approx((3 / 3 * 4 / 1) ** 0.5)},
    }


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_best_setting_has_the_least_ratios_of_small_flows(kind: str) -> None:
    chosen = list(grid(kind))[5]
    of = {
        label: {measure: 0.9 if label == chosen and "small" in measure else 1.0 for measure, *_ in MEASURES}
        for label in grid(kind)
    }
    of[next(iter(grid(kind)))]["large flows, mean"] = 0.1
    assert best(dict.fromkeys(KINDS[kind][0], of), kind) == chosen


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, (figures, *_) in KINDS.items() for name in figures])
def test_what_was_best_is_what_completion_times_are_judged_with(kind: str, name: str) -> None:
    eps, step = FIGURES[name].tuned["eps"], FIGURES[name].tuned["step"]
    [label] = [label for label, own in grid(kind).items() if own == {"eps": eps, "step": step}]
    assert f"Best for small flows: eps {label.replace(', ', ', step ')}." in (PAGES / "slack-tuning.md").read_text()
    assert len(sweep(name, (0.5,), (1, 2), 0.001, settings={"scheduler": _schedulers(name, kind)}).settings()) == 1
