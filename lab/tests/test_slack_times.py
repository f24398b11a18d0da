"""`slack.times`: completion times with shares, and their page."""

from __future__ import annotations

from pathlib import Path

from slack.times import CLASSES, SLACK, Setting, main, measure

PAGES = Path(__file__).parents[1] / "pages"


def test_every_scheduler_completes_the_same_flows_of_each_class() -> None:
    found = measure(Setting("STFQ", "web-search", 0.5), seeds=(1,), duration_s=0.02)
    assert set(found) == set(CLASSES)
    for by_name in found.values():
        assert not by_name or SLACK in by_name
        assert len({count for count, _ in by_name.values()}) <= 1
    assert found["small"][SLACK][0] > 5


def test_the_page_of_times_is_what_the_stored_times_say(tmp_path: Path) -> None:
    (tmp_path / "slack-bar").symlink_to(PAGES / "slack-bar")
    assert main([str(tmp_path)]) == 0
    assert (tmp_path / "slack-times.md").read_text() == (PAGES / "slack-times.md").read_text()
