"""`pifolab.slack.flows`: what the page of completion times says of what was measured."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from pifolab.errors import InputError
from pifolab.slack import flows
from pifolab.slack.flows import FIGURES, FIVE, best_of_five, main, page, sweep, times


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
    "spring": 1.9,
}


def test_the_best_of_the_five_is_what_the_others_are_held_against() -> None:
    found = times(table(MEANS))
    assert best_of_five(found["small flows, mean"][0.5]) == "packs"
    lines = page({"packs-12": (found, 4, 0.1)}).splitlines()
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| small flows, mean")
    ]
    assert [row[3].split()[0] for row in rows] == ["packs"]
    # 4 % more is too much for small flows, and not for large ones.
    assert rows[0][4] == "1.04 [1.04, 1.04]"
    assert rows[0][5].startswith("**0.95")
    large = next(line for line in lines if line.startswith("| large flows"))
    assert "**1.04 [1.04, 1.04]**" in large
    assert "## PACKS Fig. 12, 4 seeds of 0.1 s" in lines
    assert "In all, slack-sp meets 1 of 3 rows, misses 2, and 0 are inconclusive:" in lines
    assert "- PACKS Fig. 12: meets 1 of 3 rows, misses 2, and 0 are inconclusive." in lines
    assert "In all, spring meets 3 of 3 rows, misses 0, and 0 are inconclusive:" in lines


def test_an_interval_that_holds_what_is_allowed_is_inconclusive() -> None:
    found = times(table(MEANS))
    of = found["small flows, mean"][0.5]["slack-sp"]
    for seed, factor in enumerate((0.9, 0.9, 1.1, 1.1)):
        of[seed] = factor * found["small flows, mean"][0.5]["packs"][seed]
    lines = page({"packs-12": (found, 4, 0.1)}).splitlines()
    [row] = [line for line in lines if line.startswith("| small flows, mean")]
    assert row.split("|")[5].strip() == "*1.00 [0.90, 1.10]*"
    assert "In all, slack-sp meets 1 of 3 rows, misses 1, and 1 are inconclusive:" in lines


@pytest.mark.parametrize("name", list(FIGURES))
def test_every_figure_is_a_scenario_that_all_schedulers_can_run(name: str) -> None:
    planned = sweep(name, (0.5,), (1, 2), 0.001)
    scheduler = {one["name"] for one in FIGURES[name].schedulers()}
    assert {*FIVE, "pifo", "slack-sp", "spring"} == scheduler
    assert planned.seeds == (1, 2)
    assert len(planned.settings()) == 1


def test_one_seed_has_no_interval(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--seeds: expected at least 2"):
        main(["--seeds", "1", "--store", str(tmp_path)])


def test_the_page_is_what_the_program_writes_around_its_tables() -> None:
    """The runs take an hour: here only the text is written anew, from the rows that the page has."""
    path = Path(__file__).parents[2] / "docs" / "slack-flows.md"
    written = path.read_text(encoding="utf-8")
    of = {figure.title: figure for figure in FIGURES.values()}
    verdicts: dict[str, dict[str, list[str]]] = {"slack-sp": {}, "spring": {}}
    headings = []
    for line in written.splitlines():
        if line.startswith("## ") and line.split(",")[0][3:] in of:
            headings.append(line)
        if line.startswith(("| small", "| large")):
            for name, cell in zip(verdicts, line.split(" | ")[4:], strict=True):
                title = headings[-1].split(",")[0][3:]
                verdicts[name].setdefault(title, []).append(cell.removesuffix(" |"))
    assert headings == [f"## {one.title}, {one.seeds} seeds of {one.duration_s:g} s" for one in FIGURES.values()]
    assert written.startswith(flows._HEAD.format(figures=", ".join(of)))
    assert written.endswith("## What it says\n\n" + "\n".join(flows._says(verdicts)))
