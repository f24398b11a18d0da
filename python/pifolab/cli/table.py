"""The table that a run prints on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pifolab.runs import Run

__all__ = ["print_table"]


def print_table(result: Run) -> None:
    """Print the main numbers of each scheduler."""
    from pifolab.report.run import summary_rows

    headings, rows = summary_rows(result.tables["schedulers"])
    cells = [[_shown(cell) for cell in row] for row in rows]
    # Headings break at their spaces, so that ten columns fit on a terminal.
    words = [heading.split() for heading in headings]
    height = max(map(len, words))
    lines = [[""] * (height - len(column)) + column for column in words]
    widths = [max(*map(len, lines[at]), *(len(row[at]) for row in cells)) for at in range(len(headings))]
    for row in [*zip(*lines, strict=True), *cells]:
        first, *others = zip(row, widths, strict=True)
        aligned = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        print("  ".join(aligned).rstrip())


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
