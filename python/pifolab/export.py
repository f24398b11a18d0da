"""Writes tables to a file: CSV, Parquet, LaTeX or Markdown, by the ending of its name."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pifolab.errors import InputError
from pifolab.folder import replaced_file
from pifolab.lazy import pl
from pifolab.text import shown

#: The known endings.
ENDINGS = (".csv", ".parquet", ".tex", ".md")

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip

#: Characters with a meaning in Markdown with GitHub's mathematics. An underscore within a word has none.
_MARKDOWN = re.compile(r"[\\`*<>&$|~]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|\](?=[(\[:])|\[(?=\^)")


def check_ending(file: Path, flag: str = "") -> None:
    """Refuse a file name without a known ending; the error starts with `flag`."""
    if file.suffix not in ENDINGS:
        raise InputError(f"{flag}{file}: expected a name that ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")


def write_table(frame: pl.DataFrame, file: str | os.PathLike[str]) -> Path:
    """Write a frame, whole or not at all; LaTeX is a ``tabular`` for the package booktabs.

    In CSV a text that a spreadsheet would take for a formula begins with an apostrophe, and characters that cannot be
    seen are written out; Parquet has every text as it is.
    """
    target = Path(file)
    check_ending(target)
    writers: dict[str, Callable[[pl.DataFrame], bytes]] = {
        ".csv": _csv,
        ".parquet": _parquet,
        ".tex": lambda table: latex(table.columns, table.rows()).encode(),
        ".md": lambda table: markdown(table.columns, table.rows()).encode(),
    }
    content = writers[target.suffix](frame)
    with replaced_file(target) as temporary:
        temporary.write_bytes(content)
    return target


def write_text(content: str, file: Path) -> Path:
    """Write a text to a file, whole or not at all."""
    with replaced_file(file) as temporary:
        temporary.write_text(content, encoding="utf-8")
    return file


def latex(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    r"""Return a ``tabular``; columns of numbers are aligned to the right.

    Examples
    --------
    >>> print(latex(["scheduler", "drops (%)"], [["sp_pifo", 1.5]]), end="")
    % needs \usepackage{booktabs}
    \begin{tabular}{lr}
    \toprule
    scheduler & drops (\%) \\
    \midrule
    sp\_pifo & 1.5 \\
    \bottomrule
    \end{tabular}
    """
    kinds = "".join("r" if _numbers(rows, at) else "l" for at in range(len(headings)))
    lines = [" & ".join(escaped(_text(cell)) for cell in row) + r" \\" for row in rows]
    head = " & ".join(escaped(shown(heading)) for heading in headings) + r" \\"
    return "\n".join([
        r"% needs \usepackage{booktabs}", rf"\begin{{tabular}}{{{kinds}}}", r"\toprule",
        head, r"\midrule", *lines, r"\bottomrule", r"\end{tabular}", "",
    ])  # fmt: skip


def markdown(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    r"""Return a table in Markdown.

    Examples
    --------
    >>> print(markdown(["scheduler", "drops"], [["a|b", 1.5], ["fifo", None]]), end="")
    | scheduler | drops |
    |---|---:|
    | a\|b | 1.5 |
    | fifo | - |
    """
    rule = "|".join("---:" if _numbers(rows, at) else "---" for at in range(len(headings)))
    escaped = [[_MARKDOWN.sub(r"\\\g<0>", _text(cell)) for cell in row] for row in [list(headings), *rows]]
    lines = ["| " + " | ".join(row) + " |" for row in escaped]
    return "\n".join([lines[0], f"|{rule}|", *lines[1:], ""])


def table_lines(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a table whose cells are Markdown already.

    Examples
    --------
    >>> table_lines(["", "PACKS"], [["drops", "**3**"]])
    ['| | PACKS |', '|---|---|', '| drops | **3** |']
    """
    head = [f" {heading} |" if heading else " |" for heading in headings]
    return ["|" + "".join(head), "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows)]


def _numbers(rows: Sequence[Sequence[Any]], at: int) -> bool:
    return bool(rows) and all(row[at] is None or isinstance(row[at], (int, float)) for row in rows)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else shown(str(value))


def escaped(text: str) -> str:
    """Return a text with LaTeX's special characters escaped."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


#: Characters that start a formula in a spreadsheet, including East Asian full-width forms.
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")


def _csv(frame: pl.DataFrame) -> bytes:
    """Return a table for spreadsheets and readers: no text in it is a formula, reverses direction or is invisible."""
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    columns = []
    for name in texts:
        cells = {text: _cell(text) for text in frame[name].unique().drop_nulls()}
        columns.append(pl.col(name).replace({text: cell for text, cell in cells.items() if text != cell}))
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerow(map(_cell, frame.columns))
    return (written.getvalue() + frame.with_columns(columns).write_csv(include_header=False)).encode()


def _cell(text: str) -> str:
    safe = shown(text)
    return f"'{safe}" if safe.startswith(_FORMULA) and not _NUMBER.fullmatch(safe) else safe


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
