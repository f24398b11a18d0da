"""The look that all figures share, and how they are written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLUMN_INCHES", "FORMATS", "PAGE_INCHES", "figure_style", "save", "subplots"]

# The width of one column, and of both, of a two-column paper.
COLUMN_INCHES = 3.4
PAGE_INCHES = 7.0

FORMATS = ("png", "svg", "pdf")

_SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.0,
    "legend.columnspacing": 1.2,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "figure.dpi": 100,
    "savefig.dpi": 220,
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.03,
    # Text stays text in vector files: it can be searched, copied and restyled.
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    # The same data give the same SVG, byte by byte.
    "svg.hashsalt": "pifolab",
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw with the project's settings, and leave those of the caller as they were."""
    import matplotlib as mpl

    with mpl.rc_context(_SETTINGS):
        yield


def subplots(
    rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], layout: Any = None, **grid: Any
) -> tuple[Figure, Any]:
    """Return a new figure of `figsize` inches and its axes, as `pyplot.subplots` does with the same arguments.

    The figure belongs to the caller alone: no window, no display, and no list that keeps it alive.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=figsize, layout=layout)
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, **grid)


def save(figure: Figure, path: str | os.PathLike[str], formats: Iterable[str] = FORMATS) -> list[Path]:
    """Write `figure` as `path` with each of the `formats` as its ending, and return the files."""
    written = []
    with figure_style():
        for ending in formats:
            target = Path(path).with_suffix(f".{ending}")
            # Without a date: the same data give the same file.
            metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(ending, {})
            figure.savefig(target, metadata=metadata)
            written.append(target)
    return written
