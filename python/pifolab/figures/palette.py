"""One colour, dash and marker per scheduler, the same in every figure and report.

Those of the library's schedulers come from its registry; their colours can be told apart with the common kinds of
colour blindness. Dash and marker carry the same information for print without colour.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pifolab.figures.choice import chosen_label
from pifolab.info import SchedulerInfo, schedulers
from pifolab.text import drawn

__all__ = ["GREY", "INK", "Look", "flow_colours", "look", "rank_colour"]

INK = "#222222"
GREY = "#8c8c8c"


@dataclass(frozen=True)
class Look:
    """How a scheduler is drawn, and the name that a reader knows it by, as a figure takes it."""

    label: str
    colour: str
    dash: str | tuple[int, tuple[int, ...]] = "-"
    marker: str = "o"


def _look(about: SchedulerInfo) -> Look:
    label, colour, dash, marker = about.look
    return Look(label, colour, (0, dash) if dash else "-", marker)


_LOOKS = {about.name: _look(about) for about in schedulers()}

# For schedulers that the library does not know, such as a user's own, in the order in which a figure meets them.
_OTHERS = ("#44aa99", "#117733", "#cc6677", "#ddaa33", "#0077bb", "#661100")


def look(name: str, others: list[str] | None = None) -> Look:
    """Return how the scheduler `name` is drawn.

    Parameters
    ----------
    name : str
        A scheduler's name, or a label of the user's own such as ``packs, k = 1/10``.
    others : list of str, optional
        All names of the figure; a name without a look of its own gets its colour by its place among those.

    Examples
    --------
    >>> look("packs").colour
    '#d55e00'
    >>> look("mine", ["pifo", "mine"]).label
    'mine'
    """
    label = chosen_label(name)
    if name in _LOOKS:
        return _LOOKS[name] if label is None else replace(_LOOKS[name], label=label)
    unknown = [other for other in others or [] if other not in _LOOKS]
    place = unknown.index(name) if name in unknown else 0
    return Look(label or drawn(name), _OTHERS[place % len(_OTHERS)], (0, (6, 2)), "d")


#: Of flows: Okabe and Ito's colours again, in an order in which neighbours differ most.
_FLOWS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")


def flow_colours(count: int) -> list[str]:
    """Return the colours of `count` flows, in the order in which a figure has them; they begin anew after six.

    Examples
    --------
    >>> flow_colours(2)
    ['#0072b2', '#e69f00']
    """
    return [_FLOWS[place % len(_FLOWS)] for place in range(count)]


def rank_colour(share: float) -> tuple[float, float, float]:
    """Return the colour of a rank: dark blue for the lowest (`share` 0), pale yellow for the highest (1).

    Examples
    --------
    >>> rank_colour(0.0) != rank_colour(1.0)
    True
    """
    low, middle, high = (0.13, 0.33, 0.56), (0.36, 0.70, 0.62), (0.97, 0.91, 0.55)
    start, end, part = (low, middle, share * 2) if share < 0.5 else (middle, high, share * 2 - 1)
    r, g, b = (a + (z - a) * part for a, z in zip(start, end, strict=True))
    return r, g, b
