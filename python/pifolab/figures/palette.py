"""One colour, dash and marker per scheduler, the same in every figure and report.

The colours are Okabe and Ito's (2008) for the schedulers that most figures compare, and Paul Tol's "muted" scheme for
the others; both can be told apart with the common kinds of colour blindness. Dash and marker carry the same
information for print without colour.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GREY", "INK", "Look", "flow_colours", "look", "rank_colour"]

INK = "#222222"
GREY = "#8c8c8c"


@dataclass(frozen=True)
class Look:
    """How a scheduler is drawn, and the name that a reader knows it by."""

    label: str
    colour: str
    dash: str | tuple[int, tuple[int, ...]] = "-"
    marker: str = "o"


_LOOKS = {
    "pifo": Look("PIFO", "#000000", "-", "o"),
    "fifo": Look("FIFO", "#8c8c8c", (0, (1, 1)), "s"),
    "sp-pifo": Look("SP-PIFO", "#e69f00", (0, (5, 1)), "^"),
    "aifo": Look("AIFO", "#0072b2", (0, (3, 1, 1, 1)), "v"),
    "packs": Look("PACKS", "#d55e00", "-", "D"),
    "rifo": Look("RIFO", "#009e73", (0, (5, 1, 1, 1)), "P"),
    "exp-pifo": Look("Exp-PIFO", "#cc79a7", (0, (4, 1, 1, 1, 1, 1)), "X"),
    "afq": Look("AFQ", "#56b4e9", (0, (2, 1)), "<"),
    "pieo": Look("PIEO", "#882255", (0, (7, 1)), ">"),
    "strict-priority": Look("Fixed bounds", "#332288", (0, (3, 1)), "h"),
    "sp-pifo-greedy": Look("SP-PIFO greedy", "#999933", (0, (5, 1, 2, 1)), "p"),
    "sp-pifo-optimal": Look("SP-PIFO optimal", "#aa4499", (0, (1, 2)), "*"),
}

# For schedulers that this file does not know, such as a user's own, in the order in which a figure meets them.
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
    if name in _LOOKS:
        return _LOOKS[name]
    unknown = [other for other in others or [] if other not in _LOOKS]
    place = unknown.index(name) if name in unknown else 0
    return Look(name, _OTHERS[place % len(_OTHERS)], (0, (6, 2)), "d")


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
