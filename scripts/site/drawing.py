"""Small drawings as SVG text: panels of curves and of bars beside each other, with one legend."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from pifolab.figures.palette import INK

__all__ = ["Bars", "Line", "Panel", "svg"]

HEIGHT, TOP, BOTTOM, LEFT = 220, 34, 40, 52
PANEL = 250


@dataclass(frozen=True)
class Line:
    """A curve of a panel."""

    label: str
    colour: str
    points: Sequence[tuple[float, float]]
    dash: str = ""


@dataclass(frozen=True)
class Bars:
    """A group of bars of a panel; `spread` is the interval of each, if there is one."""

    label: str
    colour: str
    values: Sequence[float]
    spread: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True)
class Panel:
    """Axes with what they hold; bars have a name for each place, lines have numbers."""

    title: str
    below: str
    held: Sequence[Line | Bars]
    places: Sequence[str] = ()


def svg(panels: Sequence[Panel]) -> str:
    """Return a drawing of panels beside each other, with one legend."""
    legend = list(
        dict.fromkeys((one.label, one.colour, getattr(one, "dash", "")) for panel in panels for one in panel.held)
    )
    width = len(panels) * (LEFT + PANEL + 14)
    places = list(_laid_out([label for label, _, _ in legend], width - LEFT))
    height = HEIGHT + 18 * (places[-1][1] + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for place, panel in enumerate(panels):
        parts += _panel(panel, place * (LEFT + PANEL + 14) + LEFT)
    for (label, colour, dash), (left, row) in zip(legend, places, strict=True):
        x, y = LEFT + left, HEIGHT + 18 * row + 4
        parts.append(f'<path d="M{x} {y}h18" stroke="{colour}" stroke-width="3"{_dashed(dash)}/>')
        parts.append(f'<text x="{x + 23}" y="{y + 4}" fill="{INK}">{escape(label)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _laid_out(labels: Sequence[str], width: int) -> Iterable[tuple[int, int]]:
    """Return the place and the row of each label of a legend; a letter is at most 7 wide."""
    left, row = 0, 0
    for label in labels:
        if left and left + 7 * len(label) + 23 > width:
            left, row = 0, row + 1
        yield left, row
        left += 7 * len(label) + 46


def _panel(panel: Panel, x: int) -> list[str]:
    low, high = TOP, HEIGHT - BOTTOM
    top = max(_tops(panel), default=0) or 1
    step = _step(top)
    top = step * math.ceil(top / step - 1e-9)
    parts = [f'<text x="{x}" y="{TOP - 14}" fill="{INK}" font-weight="bold">{escape(panel.title)}</text>']
    for tick in range(round(top / step) + 1):
        y = high - (high - low) * tick * step / top
        parts.append(f'<path d="M{x} {y:.1f}h{PANEL}" stroke="#ddd"/>')
        parts.append(f'<text x="{x - 5}" y="{y + 4:.1f}" fill="{INK}" text-anchor="end">{_number(tick * step)}</text>')
    parts.append(
        f'<text x="{x + PANEL / 2:.0f}" y="{HEIGHT - 8}" fill="{INK}" text-anchor="middle">{escape(panel.below)}</text>'
    )
    if panel.places:
        return parts + _bars(panel, x, low, high, top)
    lines = [one for one in panel.held if isinstance(one, Line)]
    xs = [point[0] for one in lines for point in one.points]
    first, last = min(xs), max(xs)
    step = _step(last - first)
    for mark in (step * place for place in range(math.ceil(first / step), math.floor(last / step) + 1)):
        at = x + PANEL * (mark - first) / (last - first)
        parts.append(f'<text x="{at:.0f}" y="{high + 15}" fill="{INK}" text-anchor="middle">{_number(mark)}</text>')
    for one in lines:
        path = "L".join(
            f"{x + PANEL * (a - first) / (last - first):.1f} {high - (high - low) * b / top:.1f}" for a, b in one.points
        )
        parts.append(f'<path d="M{path}" fill="none" stroke="{one.colour}" stroke-width="2"{_dashed(one.dash)}/>')
    return parts


def _bars(panel: Panel, x: int, low: int, high: int, top: float) -> list[str]:
    parts = []
    groups = [one for one in panel.held if isinstance(one, Bars)]
    room = PANEL / len(panel.places)
    width = 0.8 * room / len(groups)
    for place, name in enumerate(panel.places):
        middle = x + room * (place + 0.5)
        parts.append(f'<text x="{middle:.0f}" y="{high + 15}" fill="{INK}" text-anchor="middle">{escape(name)}</text>')
        for at, one in enumerate(groups):
            tall = (high - low) * one.values[place] / top
            left = middle + (at - len(groups) / 2) * width
            parts.append(f'<path d="M{left:.1f} {high}v{-tall:.1f}h{width - 1:.1f}V{high}z" fill="{one.colour}"/>')
            if one.spread:
                ends = [high - (high - low) * end / top for end in one.spread[place]]
                parts.append(
                    f'<path d="M{left + width / 2:.1f} {ends[0]:.1f}V{ends[1]:.1f}" stroke="{INK}" stroke-width="2"/>'
                )
    return parts


def _tops(panel: Panel) -> Iterable[float]:
    for one in panel.held:
        if isinstance(one, Line):
            yield from (point[1] for point in one.points)
        else:
            yield from one.values
            yield from (end[1] for end in one.spread)


def _step(top: float) -> float:
    """Return a round distance of ticks, of which three to five fit."""
    size = 10 ** math.floor(math.log10(top / 3))
    return next(size * factor for factor in (1, 2, 2.5, 5, 10) if top / (size * factor) <= 5)


def _number(value: float) -> str:
    return f"{value:,.10g}"


def _dashed(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""
