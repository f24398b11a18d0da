"""The style of all figures, and the functions that write them."""

from __future__ import annotations

import io
import logging
import math
import os
import textwrap
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pifolab.errors import InputError
from pifolab.folder import check_replaceable, temporary_beside
from pifolab.lazy import mpl
from pifolab.quantities import time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# On a full disk Matplotlib searches for fonts again at each start, and warns. The warning does not help the user.
logging.getLogger("matplotlib.font_manager").addFilter(lambda record: "save font_manager cache" not in str(record.msg))

# The width of one column, and of both, of a two-column paper.
COLUMN_INCHES = 3.4
PAGE_INCHES = 7.0

FORMATS = ("png", "svg", "pdf")

#: A logarithmic axis of fewer decades has evenly spaced labels; of few decades, labels at 1, 2 and 5 of each decade.
_NARROW_DECADES, _FEW_DECADES = 0.7, 2.0

#: The number of labels that fit under a panel of one column.
_MOST_LABELS = 6

#: About the width of a letter of a legend, in pixels of a figure.
_LETTER_PIXELS = 6.5

#: The least room between two labels of an axis, in the same pixels.
_GAP_PIXELS = 4.0

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
    """Draw with the project's settings, then restore the settings of the caller."""
    with mpl.rc_context(_SETTINGS):
        yield


_INTO: ContextVar[Axes | None] = ContextVar("into", default=None)


@contextmanager
def drawing_into(axes: Axes | None) -> Iterator[None]:
    """Draw figures of one panel into `axes` instead of new figures, if `axes` is given."""
    token = _INTO.set(axes)
    try:
        yield
    finally:
        _INTO.reset(token)


def subplots(
    rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], layout: Any = None, **grid: Any
) -> tuple[Figure, Any]:
    """Return a new figure of `figsize` inches and its axes, as `pyplot.subplots` does with the same arguments.

    The figure belongs to the caller alone: no window, no display, and no list that keeps it alive.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if (into := _INTO.get()) is not None:
        if (rows, columns) != (1, 1) or grid:
            raise InputError("ax: this figure has several panels: draw it in a figure of its own")
        return cast("Figure", into.figure), into
    figure = _shown_figure()(figsize=figsize, layout=layout)
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, **grid)


def legend_outside(
    figure: Figure, entries: Mapping[str, Any], where: Literal["upper", "lower"], most: int, **style: Any
) -> float:
    """Put a legend of `entries`, handles by their labels, beside all panels; return its height in inches.

    It has `most` columns, or as many as the width of the figure holds.
    """
    for columns in range(min(len(entries), most), 0, -1):
        wide = int(figure.bbox.width / _LETTER_PIXELS) if columns == 1 else 10_000
        labels = [textwrap.fill(label, max(wide, 10)) for label in entries]
        legend = figure.legend(
            entries.values(), labels, ncols=columns, **style, loc=cast("Any", f"outside {where} center")
        )
        box = legend.get_window_extent()
        if columns == 1 or box.width <= figure.bbox.width:
            return float(box.height / figure.dpi)
        legend.remove()
    return 0.0


@cache
def _shown_figure() -> type[Figure]:
    """Return a class of figures that notebooks show. They show Matplotlib's own class only after pyplot is loaded."""
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            with figure_style():
                self.savefig(buffer, format="png")
            return buffer.getvalue()

    return ShownFigure


def readable_log(axes: Axes, which: Literal["x", "y"], *, from_zero: bool = False) -> None:
    """Make an axis logarithmic, with labels in common notation that do not overlap.

    To be called when the data are drawn: where labels stand depends on how far the axis reaches. With `from_zero` the
    axis is linear from 0 to 1.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    set_scale, limits = (axes.set_xscale, axes.get_xlim) if which == "x" else (axes.set_yscale, axes.get_ylim)
    if from_zero:
        set_scale("symlog", linthresh=1)
        _, high = limits()
        step = 10 ** max(1, math.ceil(math.log10(max(high, 10)) / (_MOST_LABELS - 1)))
        ticks = [0.0, 1.0]
        while ticks[-1] * step <= high:
            ticks.append(ticks[-1] * step)
        axis.set_ticks(ticks, [quantity(tick) for tick in ticks])
        axis.set_minor_locator(NullLocator())
        return
    set_scale("log")
    low, high = limits()
    axis.set_major_formatter(FuncFormatter(lambda value, _: quantity(value)))
    axis.set_minor_formatter(NullFormatter())
    decades = math.log10(high / low) if low > 0 else math.inf
    if decades < _NARROW_DECADES:
        # The axis may contain no power of ten and no simple multiple of one.
        axis.set_major_locator(MaxNLocator(4))
        axis.set_minor_locator(NullLocator())
    elif decades < _FEW_DECADES:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    else:
        axis.set_major_locator(LogLocator(numticks=_MOST_LABELS + 1))


def few_labels(axes: Axes, values: Collection[float]) -> None:
    """Label only the ends of a linear horizontal axis over `values` if it has no room for four labels.

    Matplotlib takes labels to have three letters. The width is that before the figure's layout.
    """
    low, high = min(values), max(values)
    letters = max(len(f"{end:g}") for end in values)
    if axes.bbox.width < 4 * (letters * _LETTER_PIXELS + _GAP_PIXELS):
        axes.set_xticks(sorted({low, high}))


def time_axis(axes: Axes) -> None:
    """Label a horizontal axis of milliseconds in the unit that fits its length. Call it after drawing the data."""
    unit, size = time_unit([axes.get_xlim()[1] * 1e6])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value * 1e6 / size:.6g}")
    axes.set_xlabel(f"Time ({unit})")


def quantity(value: float) -> str:
    """Write a number in at most five digits.

    Examples
    --------
    >>> quantity(0), quantity(916667), quantity(12.34), quantity(0.00123)
    ('0', '917k', '12.3', '0.0012')
    """
    if value == int(value) and abs(value) < 10_000:
        return str(int(value))
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= 10 * size or (abs(value) >= size and unit != "k"):
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}" if abs(value) >= 1 else f"{value:.2g}"


def save(figure: Figure, path: str | os.PathLike[str], formats: Iterable[str] = FORMATS) -> list[Path]:
    """Write `figure` to `path` with each of the `formats` as its ending, completely or not at all; return the files.

    Raises `OSError`, with the name of the file that cannot be written.
    """
    written = []
    whole = Path(path).with_suffix("") if Path(path).suffix[1:] in FORMATS else Path(path)
    # With a layout that keeps all content inside, the file has the size of the figure; otherwise it is cropped.
    box: dict[Any, Any] = {} if figure.get_layout_engine() is None else {"savefig.bbox": None}
    with figure_style(), mpl.rc_context(box), warnings.catch_warnings():
        # In SVG, letters that the font lacks stay text; in other formats they become boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        for ending in formats:
            target = whole.with_name(f"{whole.name}.{ending}")
            check_replaceable(target)
            # Without a date: the same data give the same file.
            metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(ending, {})
            # In memory first: on a full disk Matplotlib raises exceptions of many kinds.
            content = io.BytesIO()
            figure.savefig(content, format=ending, metadata=metadata)
            try:
                with temporary_beside(target) as temporary:
                    temporary.write_bytes(content.getbuffer())
                    temporary.replace(target)
            except OSError as error:
                raise OSError(error.errno, error.strerror, os.fspath(target)) from None
            written.append(target)
    return written
