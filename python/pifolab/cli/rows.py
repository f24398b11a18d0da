"""Tables on the terminal: one line per row, numbers to the right."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TextIO

__all__ = ["print_rows"]


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[Any]], out: TextIO | None = None) -> None:
    """Print `rows` under `headings`; columns of numbers are aligned to the right, missing values are ``-``.

    Examples
    --------
    >>> print_rows(["scheduler", "window"], [["packs", 15], ["pifo", None]])
    scheduler  window
    packs          15
    pifo            -
    """
    cells = [[_shown(value) for value in row] for row in rows]
    widths = [max(len(heading), *(len(row[at]) for row in cells), 0) for at, heading in enumerate(headings)]
    numeric = [
        all(row[at] is None or isinstance(row[at], (int, float)) for row in rows) and bool(rows)
        for at in range(len(headings))
    ]
    for line in [list(headings), *cells]:
        parts = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        print("  ".join(parts).rstrip(), file=out or sys.stdout)


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
