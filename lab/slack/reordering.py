"""Reordering inside TCP flows: Slack-SP and Spring beside the five of the papers, in the settings of two figures.

``python -m slack.reordering lab/pages`` runs PACKS Fig. 12 and 13 and writes lab/pages/slack-reordering.md. What is
finished of a figure lies in the store and is not run again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pifolab.export import table_lines, write_text
from pifolab.lazy import pl
from slack.flows import FIGURES, LOADS, run_arguments, sweep, table_of

__all__ = ["COLUMNS", "DURATION_S", "ORDERED", "SEEDS", "page", "reordering"]

#: The figures with queues for ranks of bytes, and with those of start tags.
ORDERED = ("packs-12", "packs-13")
SEEDS = (1, 2, 3, 4, 5)
DURATION_S = 0.1

#: The columns that :func:`reordering` makes of a run, with what stands above them.
COLUMNS = {
    "share": "reordered packets (%)",
    "extent": "mean extent (packets)",
    "largest": "largest extent (packets)",
    "flows": "flows with a reordered packet (%)",
}


def reordering(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each load and scheduler, the mean of its seeds, out of the runs' table `reordering`.

    `share` (%) of the data packets that arrive after one of their flow that was sent later; of these the `mean` extent
    and the `largest`, in packets; `flows`, the share (%) of the flows that have any.
    """
    reordered = pl.col("reordered_packets")
    of_runs = table.group_by(pl.col("load").cast(pl.Float64), "scheduler", "seed").agg(
        (100 * reordered.sum() / pl.col("delivered_packets").sum()).alias("share"),
        ((pl.col("mean_extent_packets") * reordered).sum() / reordered.sum()).fill_nan(None).alias("extent"),
        pl.col("largest_extent_packets").max().cast(pl.Float64).alias("largest"),
        (100 * (reordered > 0).sum() / pl.len()).alias("flows"),
    )
    return of_runs.group_by("load", "scheduler").agg(pl.col(name).mean() for name in COLUMNS)


def page(found: Mapping[str, pl.DataFrame], seeds: Sequence[int] = SEEDS, duration_s: float = DURATION_S) -> str:
    """Return lab/pages/slack-reordering.md from the rows of :func:`reordering`, by figure."""
    lines = [_HEAD.format(seeds=f"{seeds[0]} to {seeds[-1]}", duration_s=duration_s)]
    for name, rows in found.items():
        figure = FIGURES[name]
        loads = sorted(rows["load"].unique())
        lines += [f"## {figure.title}", "", f"{figure.queues} queues of {figure.depth}, {figure.sizes}.", ""]
        for column, title in COLUMNS.items():
            values = {(load, scheduler): value for load, scheduler, value in rows["load", "scheduler", column].rows()}
            labels = [row.get("label", row["name"]) for row in figure.schedulers()]
            cells = ([label, *(_shown(values.get((load, label))) for load in loads)] for label in labels)
            lines += [*table_lines([title, *(f"load {load:g}" for load in loads)], cells), ""]
    return "\n".join(lines)


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


_HEAD = """# Reordering inside flows

A scheduler by ranks may send a packet before one of the same flow that came earlier, and TCP may take this for a loss.
Ranks of bytes that are left fall along a flow, so that even PIFO lets later packets overtake earlier ones. The tables
count the data packets that reach their receiver after one of their flow that was sent later, and how far (RFC 4737).
The settings are those of [slack-flows.md](slack-flows.md), over {duration_s:g} s of simulated time, in the mean of
seeds {seeds}. A packet that is sent again counts as sent anew. The mean extent is over reordered packets alone. Extents
above 1024 packets are lower bounds.

AIFO and RIFO have one first-in first-out queue and reorder nothing. In PACKS Fig. 13 ranks are start tags, which grow
along a flow: what is reordered there is the error of a scheduler, since PIFO reorders nothing.

`python -m slack.reordering lab/pages` writes this page.
"""


def main(argv: Sequence[str]) -> int:
    """Run what is missing and write the page."""
    parser = argparse.ArgumentParser(prog="python -m slack.reordering", description=__doc__)
    parser.add_argument("folder", type=Path, help="where slack-reordering.md is written")
    run_arguments(parser, "slack-reordering")
    arguments = parser.parse_args(argv)
    found = {}
    for name in ORDERED:
        planned = sweep(name, LOADS, SEEDS, DURATION_S, ["reordering"], {"record.reordering": True})
        found[name] = reordering(table_of(planned, arguments, "reordering"))
    write_text(page(found), arguments.folder / "slack-reordering.md")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
