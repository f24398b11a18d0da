"""A metric as bars, one below the other, with the numbers beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pifolab.figures.palette import INK
from pifolab.figures.style import quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_bars"]


def draw_bars(axes: Axes, heading: str, values: Sequence[float], colours: Sequence[str]) -> None:
    """Draw a bar for each of the `values` at the places 0, 1, ...; of one that is not finite there is a dash."""
    top = max([value for value in values if math.isfinite(value)], default=0.0) or 1.0
    for place, (value, colour) in enumerate(zip(values, colours, strict=True)):
        if not math.isfinite(value):
            axes.text(0, place, "-", va="center", fontsize=6.5, color=INK)
            continue
        axes.barh(place, value, color=colour, height=0.62)
        axes.text(value + top * 0.03, place, quantity(value), va="center", fontsize=6.5, color=INK)
    axes.set_xlim(0, top * 1.45)
    axes.set_title(heading, loc="left", pad=4, fontsize=7)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.grid(visible=False)
    axes.tick_params(left=False)
