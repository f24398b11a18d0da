"""Tables on the terminal: one line per row, numbers to the right."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

from pifolab.text import shown

#: Between two columns.
_GAP = 2


def blocks(widths: Sequence[int], keys: int = 1) -> list[list[int]]:
    """Return the groups of columns that fit side by side in the width of the terminal.

    The first `keys` columns identify a row; every block has them. If standard output is not a terminal, and `COLUMNS`
    is not set, the width is 100 columns.

    Examples
    --------
    >>> import os
    >>> os.environ["COLUMNS"] = "100"
    >>> blocks([10, 40, 30, 30])
    [[0, 1, 2], [0, 3]]
    """
    width = shutil.get_terminal_size((100, 24)).columns
    first = list(range(keys))
    start = sum(widths[:keys]) + _GAP * (keys - 1)
    found, used = [list(first)], start
    for at in range(keys, len(widths)):
        if used + _GAP + widths[at] > width and len(found[-1]) > keys:
            found.append(list(first))
            used = start
        found[-1].append(at)
        used += _GAP + widths[at]
    return found


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[Any]], keys: int = 1, *, broken: bool = False) -> None:
    """Print `rows` under `headings`; columns of numbers are aligned to the right, missing values are ``-``.

    A table wider than the terminal is printed in blocks, each with the first `keys` columns. Headings that are `broken`
    have a line for each word; numbers have four digits then, and all but the first column are aligned to the right.

    Examples
    --------
    >>> print_rows(["scheduler", "window"], [["packs", 15], ["pifo", None]])
    scheduler  window
    packs          15
    pifo            -
    """
    cells = [[_shown(value, 4 if broken else 6) for value in row] for row in rows]
    words = [heading.split() if broken else [heading] for heading in headings]
    widths = [max(*map(len, words[at]), *(len(row[at]) for row in cells), 0) for at in range(len(headings))]
    right = [
        at > 0 if broken else bool(rows) and all(row[at] is None or isinstance(row[at], (int, float)) for row in rows)
        for at in range(len(headings))
    ]
    for number, columns in enumerate(blocks(widths, keys)):
        if number:
            print()
        height = max(len(words[at]) for at in columns)
        lines = [[""] * (height - len(words[at])) + words[at] for at in columns]
        for line in [*zip(*lines, strict=True), *([row[at] for at in columns] for row in cells)]:
            parts = [
                cell.rjust(widths[at]) if right[at] else cell.ljust(widths[at])
                for at, cell in zip(columns, line, strict=True)
            ]
            print((" " * _GAP).join(parts).rstrip())


def _shown(value: Any, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:.{digits}g}" if isinstance(value, float) else shown(str(value))
