"""`slack.few`: what the newest of four flows gets, and the page about it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from slack.few import BOUNDED, expected, main, shares

PAGES = Path(__file__).parents[1] / "pages"


def test_the_page_of_few_ranks_is_what_is_measured(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 0
    assert (tmp_path / "slack-few-ranks.md").read_text() == (PAGES / "slack-few-ranks.md").read_text()


def test_the_first_bound_takes_from_the_newest_flow_what_its_quantile_says() -> None:
    found = shares(seeds=(7, 8))
    for label in ("slack-sp", "slack-sp, eps = 1/50"):
        of_four = expected(*BOUNDED[label])
        assert of_four is not None
        assert found[label][2] == pytest.approx(of_four, abs=0.03)
    assert min(found["slack-sp, map = shares"]) > 0.98


def test_nothing_is_expected_where_the_first_bound_rests_at_the_second_rank() -> None:
    assert expected(Fraction(1, 10), queues=32) is None
