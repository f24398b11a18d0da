"""`slack.optimum`: the chain beside simulations, and the program beside all bounds."""

from __future__ import annotations

import json
from itertools import combinations_with_replacement
from pathlib import Path

import pytest

from slack import optimum
from slack.measure import measured

PAGES = Path(__file__).parents[1] / "pages"


@pytest.mark.parametrize(("load", "lowest"), [(0.9, (0, 20, 40, 60)), (0.9, (0, 30, 55, 77)), (1.5, (0, 20, 35, 50))])
def test_fixed_bounds_cost_what_the_chain_says(load: float, lowest: tuple[int, ...]) -> None:
    arrivals = f'arrivals = "poisson"\nrate_bps = {round(load * 1e10)}'
    fixed = {"fixed": ("strict-priority", {"bounds": list(lowest)})}
    frame = measured("uniform", load, arrivals, fixed, 4, 10, 60_000, (1, 2), None)
    row = frame.filter(frame["scheduler"] == "fixed").sum().to_dicts()[0]
    expected = optimum.evaluate([load * end / 100 for end in (*lowest[1:], 100)], load, 10)
    assert row["inversions"] / (row["arrived"] - row["drops"]) == pytest.approx(expected.inversions, rel=0.04)
    assert row["drops"] / row["arrived"] == pytest.approx(expected.drops / load, abs=0.004)


@pytest.mark.parametrize("price", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("load", [0.7, 1.3])
def test_no_bounds_cost_less_than_the_programs(price: float, load: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimum, "GRID", 0.1)
    found = optimum.for_price(price, load, 3, 5)
    ends = [round(step * 0.1, 9) for step in range(round(10 * min(load, 1.25) + 0.4) + 1)]
    ends[-1] = min(load, 1.25)
    every = [optimum.evaluate(bounds, load, 5) for bounds in combinations_with_replacement(ends, 3)]
    cost = min(one.inversions + price * one.drops for one in every)
    assert found.inversions + price * found.drops == pytest.approx(cost, abs=1e-12)


def test_the_page_of_the_optimum_is_what_the_program_says(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = json.loads((PAGES / "slack-bar/loads.json").read_text())
    monkeypatch.setattr(optimum, "QUEUES", (16,))
    monkeypatch.setattr(optimum, "LOADS", (0.9, 2.0))
    page = (PAGES / "slack-optimum.md").read_text()
    rows = [line for line in optimum.page(stored).splitlines() if line.startswith(("| 0.9", "| 2 "))]
    assert len(rows) == 2
    for row in rows:
        assert row in page
