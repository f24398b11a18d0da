"""The table that a run prints on the terminal."""

from __future__ import annotations

from typing import Any

from pifolab.cli.rows import blocks
from pifolab.runs import Run
from pifolab.text import shown, wrapped

__all__ = ["print_columns", "print_short_table", "print_table"]

#: What a first comparison shows.
_FIRST = (
    ("sent_packets", "sent"),
    ("dropped_packets", "dropped"),
    ("lowest_dropped_rank", "lowest dropped rank"),
    ("inversions", "inversions"),
    ("misdrops", "misdrops"),
    ("delta", "delta"),
    ("sojourn_mean_ns", "mean wait"),
)


def print_short_table(result: Run) -> None:
    """Print the first numbers of each scheduler, and what each of them is."""
    from pifolab.catalogue import COLUMNS
    from pifolab.report.run import summary_rows

    schedulers = result.tables["schedulers"]
    print_columns(*summary_rows(schedulers, _FIRST))
    print()
    width = max(len(heading) for _, heading in _FIRST)
    for column, heading in _FIRST:
        if schedulers[column].null_count() < schedulers.height:
            print(wrapped(f"{heading:{width}}  {COLUMNS[column]}", indent=width + 2))
    print("\nAll columns, state and operations: --all, and the report.")


def print_table(result: Run) -> None:
    """Print the main numbers of each scheduler, and of a network the completion times, of one link drops and state."""
    from pifolab.report.judged import judged_rows
    from pifolab.report.run import fct_rows, summary_rows

    print_columns(*summary_rows(result.tables["schedulers"]))
    if "fct" in result.tables:
        print()
        print_columns(*fct_rows(result.tables["fct"], result.common_flows()), keys=2)
    if result.manifest["kind"] != "network":
        print()
        print_columns(*judged_rows(result))


def print_columns(headings: list[str], rows: list[list[Any]], keys: int = 1) -> None:
    """Print rows under broken headings, in blocks that fit the terminal, each with the first `keys` columns."""
    cells = [[_shown(cell) for cell in row] for row in rows]
    words = [heading.split() for heading in headings]
    widths = [
        max(*map(len, words[at]), *(len(row[at]) for row in cells)) if cells else max(map(len, words[at]))
        for at in range(len(headings))
    ]
    for number, columns in enumerate(blocks(widths, keys)):
        if number:
            print()
        height = max(len(words[at]) for at in columns)
        lines = [[""] * (height - len(words[at])) + words[at] for at in columns]
        for row in [*zip(*lines, strict=True), *([row[at] for at in columns] for row in cells)]:
            first, *others = zip(row, (widths[at] for at in columns), strict=True)
            aligned = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
            print("  ".join(aligned).rstrip())


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else shown(str(value))
