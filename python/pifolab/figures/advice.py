"""Figures of `pifolab advise`: the scores with their intervals, and what each scheduler loses and inverts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pifolab import info
from pifolab.figures.one_link import comparison
from pifolab.figures.palette import INK, look
from pifolab.figures.style import COLUMN_INCHES, figure_style, subplots
from pifolab.lazy import np, pl

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pifolab.advise import Advice

_MARKER_SIZE = 5


def draw_scores(advice: Advice, label: str) -> Figure:
    """Return the score of each scheduler with its interval and its pieces; a line for PIFO. `label` names the score."""
    names = [info.ideal(), *(one.scheduler for one in advice.ranking)]
    with figure_style():
        figure, axes = subplots(figsize=(COLUMN_INCHES, 0.6 + 0.24 * len(advice.ranking)))
        for place, one in enumerate(advice.ranking):
            drawn = look(one.scheduler, names)
            axes.plot(one.pieces, [place] * len(one.pieces), "|", color=drawn.colour, alpha=0.5)
            if np.isfinite(one.score.low):
                axes.plot([one.score.low, one.score.high], [place, place], color=drawn.colour, linewidth=1.5)
            filled = "white" if one.loses_more else drawn.colour
            axes.plot(one.score.value, place, "o", color=drawn.colour, markerfacecolor=filled, markersize=_MARKER_SIZE)
        axes.axvline(advice.ideal.value, color=INK, linewidth=0.8, linestyle="--")
        axes.annotate(
            "PIFO",
            (advice.ideal.value, 1),
            (3, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            fontsize=6.5,
            color=INK,
            va="top",
        )
        axes.set_yticks(range(len(advice.ranking)), [look(one.scheduler, names).label for one in advice.ranking])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel(label)
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        return figure


def draw_losses(advice: Advice) -> Figure:
    """Return two bars for each scheduler: the packets that it lost and those that it inverted, in percent."""
    rows = [(one.scheduler, 100 * one.dropped_share, 100 * one.inversions_share) for one in advice.ranking]
    frame = pl.DataFrame(rows, schema=["scheduler", "lost", "inverted"], orient="row")
    columns = [("lost", "Lost (% of packets)"), ("inverted", "Inverted (% of packets sent)")]
    return comparison(frame, columns, [info.ideal(), *frame["scheduler"]], COLUMN_INCHES)
