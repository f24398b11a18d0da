"""`slack.bar`: every cell of the bar, from stored counts to the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pifolab.errors import InputError
from slack.bar import (
    BASE,
    DITHERED,
    LONG,
    SLACK,
    WEIGHTS,
    Cell,
    exact,
    load,
    main,
    measure,
    page,
    reason,
    store,
)

PAGES = Path(__file__).parents[1] / "pages"


def cell(dithered: int, exactly: int, longer: int, *, exact_misdrops: int = 100) -> Cell:
    """Return a cell with these inversions where PACKS has 100; two seeds."""
    inversions = {BASE: [90, 110], SLACK: [90, 110], DITHERED: [dithered] * 2, LONG: [longer] * 2}
    misdrops = {name: [100, 100] for name in inversions}
    for weight in WEIGHTS:
        inversions[exact(weight)] = [exactly + round(100 * weight)] * 2
        misdrops[exact(weight)] = [exact_misdrops] * 2
    return Cell(4, "uniform", "constant 1.1", inversions, misdrops)


def test_a_missed_cell_has_the_reason_that_the_counts_say() -> None:
    assert reason(cell(99, 0, 100), DITHERED) == ""
    assert reason(cell(100, 0, 99), DITHERED) == "registers"
    assert reason(cell(100, 50, 99), DITHERED) == "map"
    assert reason(cell(100, 50, 100), DITHERED) == "window"
    # Fewer inversions at too many drops do not count.
    assert reason(cell(100, 0, 99, exact_misdrops=106), DITHERED) == "map"


def test_the_best_weight_is_one_whose_drops_are_allowed() -> None:
    of = cell(100, 0, 100)
    assert of.best_exact == (0.93, (0.93, 1.0))
    of.misdrops[exact(0.93)][0] = 200  # type: ignore[index]
    assert of.best_exact == (0.97, (0.97, 1.0))


def test_a_cell_is_measured_stored_and_read_again(tmp_path: Path) -> None:
    found = measure(8, "uniform", "constant 1.1", seeds=(1, 2), packets=5000)
    inversions, misdrops = found.pair(DITHERED)
    assert 0.5 < inversions < 1.1
    assert 0.8 < misdrops < 1.3
    store(tmp_path / "cells.json", [found], (1, 2), 5000, "abc")
    cells, about = load(tmp_path / "cells.json")
    assert cells == [found]
    assert about["revision"] == "abc"
    text = page([(cells, about)])
    assert "8 queues of 10:" in text
    assert "measured at revision abc" in text


def test_a_file_that_holds_no_cells_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cells.json").write_text(json.dumps({"cells": []}))
    with pytest.raises(InputError, match=r"cells\.json: expected cells of the bar"):
        load(tmp_path / "cells.json")


def test_the_pages_of_the_bar_are_what_the_stored_counts_say(tmp_path: Path) -> None:
    (tmp_path / "slack-bar").symlink_to(PAGES / "slack-bar")
    assert main([str(tmp_path)]) == 0
    for name in ("slack-bar.md", "slack-dithered.md"):
        assert (tmp_path / name).read_text() == (PAGES / name).read_text()
    of, about = load(PAGES / "slack-bar" / "queues-4.json")
    assert len(of) == 25
    assert len(about["seeds"]) == len(of[0].inversions[BASE]) == 10
