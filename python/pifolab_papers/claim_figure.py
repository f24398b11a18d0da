"""Draws the numbers of a claim beside what its paper states: a panel for each unit, a row for each number."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pifolab.figures.palette import INK
from pifolab.figures.style import PAGE_INCHES, legend_outside, readable_log, subplots
from pifolab.text import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Bands of what the paper states, and of what is accepted as that; and the second numbers' points.
_STATED, _ACCEPTED, _SECOND = "#d62728", "#f3c6c6", "#0077bb"

#: From this ratio of the largest to the smallest number on, an axis is logarithmic.
_WIDE = 30.0

_ROW_INCHES, _PANEL_INCHES, _REST_INCHES = 0.3, 0.5, 0.75

#: Letters of a line of the name of a number.
_LETTERS = 48


def draw_claim(claim: Mapping[str, Any]) -> Figure | None:
    """Return the figure of a claim of claims.json; None where it has no numbers but yes and no.

    A panel has an axis with its unit, and holds every number of that unit: what the paper states as a bar (an arrow
    where it is open), what is accepted as a band, what was measured as a point with its interval, and what came out
    under the settings of the artefact, or under another reading, as a second point.
    """
    parts = numbers_of(claim)
    if not parts:
        return None
    units = list(dict.fromkeys(part["unit"] for part in parts))
    rows = [[part for part in parts if part["unit"] == unit] for unit in units]
    others = {part["what"]: part for part in claim["parts_artefact"] if part["value"] is not None}
    height = _ROW_INCHES * len(parts) + _PANEL_INCHES * len(units) + _REST_INCHES
    figure, grid = subplots(len(units), 1, figsize=(PAGE_INCHES, height), squeeze=False, layout="constrained",
                            height_ratios=[len(own) + 0.5 for own in rows])  # fmt: skip
    for (axes,), unit, own in zip(grid, units, rows, strict=True):
        _draw(axes, own, others, "another reading" if claim["second"] == "reading" else "the artefact's settings")
        axes.set_xlabel({"x": "ratio", "": "value"}.get(unit, unit))
    figure.suptitle(f"{claim['id']} ({claim['figure']})", fontsize=8, x=0.01, ha="left")
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        entries |= dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    legend_outside(figure, entries, "lower", 4)
    return figure


def numbers_of(claim: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parts of a claim of claims.json that its figure shows."""
    return [part for part in claim["parts"] if part["unit"] != "yes/no" and part["value"] is not None]


def _draw(axes: Axes, parts: Sequence[Mapping[str, Any]], others: Mapping[str, Any], second: str) -> None:
    keys = ("value", "low", "high", "paper_low", "paper_high", "accepted_low", "accepted_high")
    shown = [*parts, *(others[part["what"]] for part in parts if part["what"] in others)]
    ends = [float(one[key]) for one in shown for key in keys if one[key] is not None]
    smallest, largest = min(ends), max(ends)
    is_wide = smallest > 0 and largest / smallest > _WIDE
    # What is open ends at the edge of the panel.
    room = (largest / smallest) ** 0.08 if is_wide else 0.08 * ((largest - smallest) or abs(largest) or 1.0)
    edges = (smallest / room, largest * room) if is_wide else (smallest - room, largest + room)
    for place, part in enumerate(parts):
        accepted = [part["accepted_low"], part["accepted_high"]]
        low, high = (edge if end is None else end for end, edge in zip(accepted, edges, strict=True))
        axes.barh(place, high - low, left=low, height=0.72, color=_ACCEPTED, label="accepted, with tolerance")
        stated = [part["paper_low"], part["paper_high"]]
        low, high = (edge if end is None else end for end, edge in zip(stated, edges, strict=True))
        axes.plot([low, high], [place, place], color=_STATED, linewidth=3.5, solid_capstyle="butt", marker="|",
                  markersize=9, markeredgewidth=1.4, label="stated by the paper")  # fmt: skip
        for end, edge, arrow in zip(stated, edges, "<>", strict=True):
            if end is None:
                axes.plot([edge], [place], color=_STATED, marker=arrow, markersize=5, linestyle="none", clip_on=False)
        _point(axes, part, place - 0.12, INK, "o", "measured, with its interval")
        if (other := others.get(part["what"])) is not None:
            _point(axes, other, place + 0.12, _SECOND, "D", f"{second}, with its interval")
    axes.set_xlim(*edges)
    if is_wide:
        readable_log(axes, "x")
        axes.set_xlim(*edges)
    axes.set_yticks(range(len(parts)), [textwrap.fill(drawn(part["what"]), _LETTERS) for part in parts])
    axes.set_ylim(len(parts) - 0.5, -0.5)
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")


def _point(axes: Axes, part: Mapping[str, Any], place: float, colour: str, marker: str, label: str) -> None:
    value, low, high = part["value"], part["low"], part["high"]
    reach = None if low is None or high is None else [[max(value - low, 0.0)], [max(high - value, 0.0)]]
    axes.errorbar([value], [place], xerr=reach, color=colour, marker=marker, markersize=4, linestyle="none",
                  linewidth=1, capsize=2, label=label)  # fmt: skip
