"""Draws the packets that each scheduler sends and drops in the motivating example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pifolab.demo.motivating import SEQUENCE, Course
from pifolab.figures.palette import GREY, INK, look, rank_colour
from pifolab.figures.style import PAGE_INCHES, figure_style, subplots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BOX = 0.8
_SENT, _DROPPED, _STEP = 3.1, 9.2, 2.05


def draw_motivating_example(courses: Sequence[Course]) -> Figure:
    """Return the figure: a row for each scheduler with the packets sent (first to leave on the left) and dropped."""
    with figure_style():
        figure, axes = subplots(figsize=(PAGE_INCHES, 0.3 * len(courses) + 0.85))
        figure.subplots_adjust(0, 0, 1, 1)
        axes.set_axis_off()
        most = max(len(course.dropped) for course in courses)
        axes.set_xlim(-0.2, max(_DROPPED + _STEP * most - 0.4, 13))
        axes.set_ylim(-len(courses) + 0.4, 2.3)
        axes.text(0, 1.75, "Arriving, first on the left", color=INK, va="center")
        for place, rank in enumerate(SEQUENCE):
            _box(axes, _SENT + 1.5 + place, 1.75, rank)
        note = "sent, first on the left (red: a smaller rank was still waiting)"
        for x, title in ((_SENT, note), (_DROPPED, "dropped")):
            axes.text(x - _BOX / 2, 0.6, title, color=GREY, fontsize=6.5, va="bottom")
        for row, course in enumerate(courses):
            _row(axes, -row, course)
        return figure


def _row(axes: Axes, y: float, course: Course) -> None:
    drawn = look(course.scheduler)
    axes.plot([0.05], [y], drawn.marker, color=drawn.colour, markersize=5, clip_on=False)
    axes.text(0.35, y, drawn.label, color=INK, va="center")
    for place, rank in enumerate(course.sent):
        late = any(later < rank for later in course.sent[place:])
        _box(axes, _SENT + place, y, rank, inverted=late)
    for place, (rank, reason) in enumerate(course.dropped):
        x = _DROPPED + _STEP * place
        _box(axes, x, y, rank, dropped=True)
        axes.text(x + 0.48, y, reason, color=GREY, fontsize=6, va="center")


def _box(axes: Axes, x: float, y: float, rank: int, *, inverted: bool = False, dropped: bool = False) -> None:
    from matplotlib.patches import FancyBboxPatch

    share = (rank - 1) / (max(SEQUENCE) - 1)
    edge = "#b2182b" if inverted else INK
    axes.add_patch(
        FancyBboxPatch(
            (x - _BOX / 2, y - 0.36),
            _BOX,
            0.72,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor="white" if dropped else rank_colour(share),
            edgecolor=GREY if dropped else edge,
            linewidth=1.4 if inverted else 0.7,
            linestyle=(0, (2, 1.5)) if dropped else "-",
        )
    )
    colour = GREY if dropped else ("white" if share < 0.45 else INK)
    axes.text(x, y - 0.02, str(rank), ha="center", va="center", color=colour, fontweight="bold")
