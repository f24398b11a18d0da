"""`slack.flows`: what the page of completion times says of what was measured."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from pifolab.errors import InputError
from slack.flows import (
    FIGURES,
    FIVE,
    MEASURES,
    SHARES,
    TUNED,
    Measured,
    best_of_five,
    load,
    main,
    page,
    store,
    sweep,
    times,
)

NONE = "It meets no figure as a whole."
PAGES = Path(__file__).parents[1] / "pages"


def table(means: dict[str, float], seeds: int = 4) -> pl.DataFrame:
    rows = [
        {
            "class": size,
            "load": "0.5",
            "scheduler": scheduler,
            "seed": seed,
            "mean_ns": mean * (1e6 + 1e4 * seed),
            "p99_ns": 3 * mean * (1e6 + 1e4 * seed),
        }
        for size in ("all", "< 100 KB", ">= 1 MB")
        for scheduler, mean in means.items()
        for seed in range(seeds)
    ]
    return pl.DataFrame(rows)


MEANS = {
    "pifo": 1.0,
    "sp-pifo": 3.0,
    "packs": 2.0,
    "aifo": 4.0,
    "rifo": 5.0,
    "exp-pifo": 6.0,
    "slack-sp": 2.08,
    TUNED: 2.2,
    SHARES: 2.5,
    "spring": 1.9,
}


def test_the_best_of_the_five_is_what_the_others_are_held_against() -> None:
    found = times(table(MEANS))
    assert best_of_five(found["small flows, mean"][0.5]) == "packs"
    lines = page({"packs-12": Measured(found, 4, 0.1, "a")}).splitlines()
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| small flows, mean")
    ]
    assert [row[3].split()[0] for row in rows] == ["packs"]
    # 4 % more is too much for small flows, and not for large ones.
    assert rows[0][4] == "1.04 [1.04, 1.04]"
    assert rows[0][5:7] == ["1.10 [1.10, 1.10]", "1.25 [1.25, 1.25]"]
    assert rows[0][7].startswith("**0.95")
    large = next(line for line in lines if line.startswith("| large flows"))
    assert "**1.04 [1.04, 1.04]**" in large
    assert "## PACKS Fig. 12, 4 seeds of 0.1 s" in lines
    assert f"In all, `slack-sp` meets 1 of 3 rows, misses 2, and 0 are inconclusive. {NONE}" in lines
    assert "- PACKS Fig. 12: meets 1 of 3 rows, misses 2, and 0 are inconclusive." in lines
    whole = "It meets PACKS Fig. 12 as a whole."
    assert f"In all, `spring` meets 3 of 3 rows, misses 0, and 0 are inconclusive. {whole}" in lines
    assert f"In all, `{SHARES}` meets 0 of 3 rows, misses 3, and 0 are inconclusive. {NONE}" in lines
    ratios = (f"{label}: 1.25 to 1.25" for label, *_ in MEASURES)
    between = ";\n  "
    assert f"  Ratios of {between.join(ratios)}." in "\n".join(lines)


def test_an_interval_that_holds_what_is_allowed_is_inconclusive() -> None:
    found = times(table(MEANS))
    of = found["small flows, mean"][0.5]["slack-sp"]
    for seed, factor in enumerate((0.9, 0.9, 1.1, 1.1)):
        of[seed] = factor * found["small flows, mean"][0.5]["packs"][seed]
    lines = page({"packs-12": Measured(found, 4, 0.1, "a")}).splitlines()
    [row] = [line for line in lines if line.startswith("| small flows, mean")]
    assert row.split("|")[5].strip() == "*1.00 [0.90, 1.10]*"
    assert f"In all, `slack-sp` meets 1 of 3 rows, misses 1, and 1 are inconclusive. {NONE}" in lines


@pytest.mark.parametrize("name", list(FIGURES))
def test_every_figure_is_a_scenario_that_all_schedulers_can_run(name: str) -> None:
    planned = sweep(name, (0.5,), (1, 2), 0.001)
    scheduler = {one.get("label", one["name"]) for one in FIGURES[name].schedulers()}
    assert {*FIVE, "pifo", "slack-sp", TUNED, SHARES, "spring"} == scheduler
    assert planned.seeds == (1, 2)
    assert len(planned.settings()) == 1


def test_one_seed_has_no_interval(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--seeds: expected at least 2"):
        main([str(tmp_path), "--seeds", "1", "--store", str(tmp_path)])


def test_a_variation_does_not_count_in_the_totals() -> None:
    measured = Measured(times(table(MEANS)), 4, 0.1, "a")
    text = page({"sp-pifo-8": measured, "sp-pifo-8-near": measured})
    assert "In all, `slack-sp` meets 1 of 3 rows, misses 2, and 0 are inconclusive." in text


def test_times_are_stored_with_what_they_were_measured_from(tmp_path: Path) -> None:
    measured = Measured(times(table(MEANS)), 4, 0.1, "abc")
    store(tmp_path / "packs-12.json", measured)
    assert load(tmp_path) == {"packs-12": measured}
    (tmp_path / "packs-13.json").write_text('{"seeds": 3}')
    with pytest.raises(InputError, match=r"packs-13\.json: expected times of flows"):
        load(tmp_path)


def test_a_file_that_lacks_a_scheduler_of_the_figure_is_refused(tmp_path: Path) -> None:
    found = times(table({scheduler: mean for scheduler, mean in MEANS.items() if scheduler != TUNED}))
    store(tmp_path / "packs-12.json", Measured(found, 4, 0.1, "a"))
    with pytest.raises(InputError, match=f"packs-12.json: .*no data about {TUNED}; --only packs-12 runs the figure"):
        load(tmp_path)


def test_the_page_is_what_the_stored_times_say(tmp_path: Path) -> None:
    (tmp_path / "slack-flows").symlink_to(PAGES / "slack-flows")
    assert set(load(PAGES / "slack-flows")) == set(FIGURES)
    assert main([str(tmp_path)]) == 0
    assert (tmp_path / "slack-flows.md").read_text() == (PAGES / "slack-flows.md").read_text()
