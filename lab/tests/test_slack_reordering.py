"""`slack.reordering`: what the page says of packets that overtake others of their flow."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from pifolab.store import Store
from pifolab.sweep import run_sweep
from slack.flows import FIGURES, sweep
from slack.reordering import COLUMNS, ORDERED, page, reordering

FLOWS = {
    "load": ["0.5"] * 5,
    "scheduler": ["packs"] * 5,
    "seed": [1, 1, 1, 2, 2],
    "delivered_packets": [100, 50, 50, 100, 100],
    "reordered_packets": [10, 10, 0, 0, 0],
    "mean_extent_packets": [2.0, 4.0, None, None, None],
    "largest_extent_packets": [3, 9, 0, 0, 0],
}


def test_shares_are_of_all_packets_and_extents_of_the_reordered_ones() -> None:
    [row] = reordering(pl.DataFrame(FLOWS)).to_dicts()
    # Seed 2 has no reordered packet, so that it has no mean extent.
    assert row == {
        "load": 0.5,
        "scheduler": "packs",
        "share": pytest.approx((10.0 + 0.0) / 2),
        "extent": pytest.approx(3.0),
        "largest": pytest.approx(4.5),
        "flows": pytest.approx((200 / 3) / 2),
    }


def test_of_all_schedulers_only_one_that_reorders_nothing_has_no_extent(tmp_path: Path) -> None:
    planned = sweep(ORDERED[0], (0.8,), (1,), 0.002, ["reordering"], {"record.reordering": True})
    result = run_sweep(planned, Store(tmp_path), 1)
    assert not result.failures
    found = reordering(result.table("reordering"))
    assert set(found["scheduler"]) == {row.get("label", row["name"]) for row in FIGURES[ORDERED[0]].schedulers()}
    assert not found.select((pl.col("extent").is_null() != (pl.col("share") == 0)).any()).item()
    # Ranks fall along a flow, so that every scheduler by ranks lets some overtake.
    [of_pifo] = found.filter(pl.col("scheduler") == "pifo")["share"]
    assert 0 < of_pifo < 100
    text = page({ORDERED[0]: found}, (1,), 0.002)
    assert all(f"| {title} | load 0.8 |" in text for title in COLUMNS.values())
    assert f"| pifo | {of_pifo:.3g} |" in text
