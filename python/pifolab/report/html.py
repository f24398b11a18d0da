"""The frame of every report: title, sections, tables, inlined images, in one self-contained file."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pifolab import catalogue
from pifolab.figures.palette import look
from pifolab.folder import writing
from pifolab.text import shown

# In the dark, figures and the chips of their colours are inverted and keep their hues. A table that is wider than its
# box has a shadow at each side on which there is more: two covers that scroll with it, over two shadows that do not.
_STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #222; --quiet: #555; --line: #ccc; --raised: #f4f4f4;
  --shadow: #0004; }
@media (prefers-color-scheme: dark) {
  :root { --page: #171717; --text: #ddd; --quiet: #aaa; --line: #444; --raised: #262626; --shadow: #fff5; }
  figure img, .wide svg, .chip { filter: invert(.91) hue-rotate(180deg); }
}
body { font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; color: var(--text); background: var(--page); margin: 0 auto;
  max-width: 62rem; padding: 1.5rem 1.2rem 4rem; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid var(--line); padding-bottom: .2rem; }
.lead { color: var(--quiet); margin: 0 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
.wide { overflow-x: auto; margin-bottom: 1rem; background:
  linear-gradient(to right, var(--page) 40%, transparent) left / 2.5rem 100% no-repeat local,
  linear-gradient(to left, var(--page) 40%, transparent) right / 2.5rem 100% no-repeat local,
  linear-gradient(to right, var(--shadow), transparent) left / .9rem 100% no-repeat,
  linear-gradient(to left, var(--shadow), transparent) right / .9rem 100% no-repeat; }
th, td { padding: .25rem .8rem .25rem 0; text-align: right; white-space: nowrap; }
th { font-weight: 600; color: var(--quiet); border-bottom: 1px solid var(--line); vertical-align: bottom;
  white-space: normal; }
th:first-child, td:first-child { text-align: left; }
tr:hover td { background: color-mix(in srgb, var(--text) 6%, transparent); }
.figures { display: flex; flex-wrap: wrap; gap: 1.2rem; }
figure { margin: 0; flex: 1 1 24rem; max-width: 30rem; }
figure.page-wide { flex-basis: 100%; max-width: 100%; }
figure img { width: 100%; max-width: 46rem; }
figcaption { font-size: .85rem; color: var(--quiet); }
.words { white-space: normal; text-align: left; min-width: 16rem; }
.chip { display: inline-block; width: .7em; height: .7em; border-radius: 2px; margin-right: .45em; }
pre { background: var(--raised); padding: .7rem .9rem; overflow-x: auto; font-size: .8rem; border-radius: 4px; }
summary { cursor: pointer; color: var(--quiet); }
@media print {
  :root { color-scheme: light; --page: #fff; --text: #222; --quiet: #555; --line: #ccc; --raised: #f4f4f4; }
  body { max-width: none; padding: 0; }
  section { break-inside: avoid; }
  figure img, .wide svg, .chip { filter: none; }
}
"""


def escape(text: str, keep: str = "\n\t") -> str:
    r"""Return `text` as HTML that shows it unchanged; matches of `keep` are not escaped.

    Examples
    --------
    >>> print(escape("<b>\x07 & co"))
    &lt;b&gt;\x07 &amp; co
    """
    return html.escape(shown(text, keep))


@dataclass
class Section:
    """A part of the page: a heading, and HTML made with the helpers of this module."""

    title: str
    parts: list[str] = field(default_factory=list)


def page(title: str, lead: str, sections: Sequence[Section]) -> str:
    """Return the whole page as HTML."""
    body = "\n".join(
        f"<section>\n<h2>{escape(section.title)}</h2>\n" + "\n".join(section.parts) + "\n</section>"
        for section in sections
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{escape(title)}</h1>\n<p class="lead">{escape(lead)}</p>\n{body}\n</body>\n</html>\n'
    )


def write_page(file: Path, title: str, lead: str, sections: Sequence[Section]) -> None:
    """Write the whole page to `file`; an error of the system names it."""
    with writing(file):
        file.write_text(page(title, lead, sections), encoding="utf-8")


def table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table; cells of type `Html` stay unchanged, all others are escaped."""
    texts = {at for row in rows for at, cell in enumerate(row) if isinstance(cell, _Words)}
    head = "".join(
        f"<th{' class=words' if at in texts else ''}>{escape(heading)}</th>" for at, heading in enumerate(headings)
    )
    body = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
    whole = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"
    return f'<div class="wide" tabindex="0">{whole}</div>'


class Html(str):
    """Text that is HTML already."""


class _Words(Html):
    """A cell whose text is broken into lines."""


def scheduler_name(name: str, others: list[str]) -> Html:
    """Return a scheduler's name with its colour, as a table's cell."""
    drawn = look(name, others)
    return Html(f'<span class="chip" style="background:{drawn.colour}"></span>{escape(name, "")}')


def scheduler_table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table whose first column has schedulers, each with its colour."""
    names = list(dict.fromkeys(str(row[0]) for row in rows))
    return table(headings, [[scheduler_name(str(row[0]), names), *row[1:]] for row in rows])


def words(text: str) -> Html:
    """Return a text as a table's cell that is broken into lines."""
    return _Words(f'<div class="words">{escape(text)}</div>')


def figure(image: Path, caption: str, *, wide: bool = False) -> str:
    """Return a figure whose PNG is part of the page."""
    data = base64.b64encode(image.read_bytes()).decode("ascii")
    width = ' class="page-wide"' if wide else ""
    return (
        f'<figure{width}><img alt="{escape(caption)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def listed(lines: Sequence[str]) -> str:
    """Return a list with a point for each line."""
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def glossary(names: Sequence[str]) -> str:
    """Return explanations of words of reports, by their names in `pifolab.catalogue.words`."""
    known = catalogue.words()
    rows = (f"<dt>{escape(word)}</dt><dd>{escape(text)}</dd>" for word, text in map(known.__getitem__, names))
    return f"<dl>{''.join(rows)}</dl>"


def preformatted(summary: str, text: str) -> str:
    """Return a text that opens on demand, such as a manifest."""
    return f"<details><summary>{escape(summary)}</summary><pre>{escape(text)}</pre></details>"


def _cell(value: Any) -> str:
    if isinstance(value, Html):
        return str(value)
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "&#8239;")
    if isinstance(value, float):
        return f"{value:.4g}"
    return escape(str(value), "")
