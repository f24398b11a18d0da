"""`slack.shares`: the bar for the option of the library, and its page."""

from __future__ import annotations

from pathlib import Path

from slack.shares import SHARES, main, measure

PAGES = Path(__file__).parents[1] / "pages"


def test_sixteen_registers_order_better_than_a_window_of_a_thousand() -> None:
    for distribution, arrivals in (("exponential", "constant 1.1"), ("lognormal", "Poisson 0.95")):
        inversions, misdrops = measure(8, distribution, arrivals, seeds=(51, 52), packets=30_000).pair(SHARES)
        assert inversions < 1, (distribution, arrivals)
        assert misdrops <= 1.05, (distribution, arrivals)


def test_the_page_of_shares_is_what_the_stored_counts_say(tmp_path: Path) -> None:
    for data in ("slack-bar", "slack-flows"):
        (tmp_path / data).symlink_to(PAGES / data)
    assert main([str(tmp_path)]) == 0
    assert (tmp_path / "slack-shares.md").read_text() == (PAGES / "slack-shares.md").read_text()
