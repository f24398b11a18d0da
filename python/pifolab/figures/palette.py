"""One colour, dash and marker per scheduler, the same in every figure and report.

Those of the library's schedulers come from its registry; their colours can be told apart with the common kinds of
colour blindness. Dash and marker carry the same information for print without colour.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from pifolab.figures.choice import chosen_label
from pifolab.info import SchedulerInfo, schedulers
from pifolab.text import drawn

INK = "#222222"
GREY = "#8c8c8c"


@dataclass(frozen=True)
class Look:
    """The drawing style of a scheduler, and its name escaped for figures."""

    label: str
    colour: str
    dash: str | tuple[int, tuple[int, ...]] = "-"
    marker: Any = "o"


def _look(about: SchedulerInfo) -> Look:
    label, colour, dash, marker = about.look
    return Look(label, colour, (0, dash) if dash else "-", marker)


_LOOKS = {about.name: _look(about) for about in schedulers()}

#: For schedulers that the library does not know, such as a user's own, in the order in which a figure meets them. No
#: scheduler of the library has such a colour, dash or marker, and each place has its own.
_OTHERS: tuple[tuple[str, tuple[int, ...], Any], ...] = (
    ("#0000ee", (8, 2), "2"), ("#00cc00", (3, 3), "4"), ("#ee00ee", (8, 2, 2, 2), "|"), ("#ee0044", (1, 3), (4, 1, 0)),
    ("#444400", (8, 1, 1, 1, 1, 1), (6, 2, 0)), ("#aacc00", (3, 2, 1, 2), (3, 1, 0)), ("#8844ee", (5, 3), "_"),
    ("#44cc66", (2, 3, 6, 3), (8, 1, 0)),
)  # fmt: skip

#: Of settings of one scheduler: one axis is a ramp of its hue with a marker for each value, a second one is the dash.
_SETTING_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_SETTING_DASHES = ((), (5, 2), (1, 1), (6, 1, 1, 1), (6, 1, 1, 1, 1, 1), (3, 1))

#: More shades of one hue, or dashes, cannot be told apart.
MOST_SHADES, MOST_DASHES = len(_SETTING_MARKERS) - 1, len(_SETTING_DASHES) - 1

#: How far a ramp goes towards white, and towards black.
_LIGHTEST, _DARKEST = 0.55, 0.4

#: A label for a setting of a scheduler of the library, such as ``packs-1000`` or ``packs, k = 1/10``.
_SETTING = re.compile(
    f"({'|'.join(sorted(map(re.escape, _LOOKS), key=len, reverse=True))})[-_ ,=(]" + r".*\d.*", re.DOTALL
)


def look(name: str, others: list[str] | None = None, *, shades: bool = True) -> Look:
    """Return how the scheduler `name` is drawn.

    Parameters
    ----------
    name : str
        A scheduler's name, or a label of the user's own such as ``packs, k = 1/10``, which has a shade of PACKS's hue.
    others : list of str, optional
        All names of the figure; a name without a look of its own gets its look by its place among those.
    shades : bool
        Whether settings of one scheduler are shades of its hue. Otherwise they are like schedulers of the user's own.

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
    known = _known(name) if shades else None
    alike = [one for one in others or [] if one not in _LOOKS and (_known(one) if shades else None) == known]
    place = alike.index(name) if name in alike else 0
    text = label or drawn(name)
    if known is not None:
        turn, shade = divmod(place, MOST_SHADES)
        steps = min(max(len(alike), 1), MOST_SHADES)
        return replace(setting(_LOOKS[known], shade, steps, turn % MOST_DASHES if turn else None), label=text)
    turn, count = place // len(_OTHERS), len(_OTHERS)
    # After the last colour they begin anew, with other dashes and markers.
    dash, marker = _OTHERS[(place + turn) % count][1], _OTHERS[(place + 2 * turn) % count][2]
    return Look(text, _OTHERS[place % count][0], (0, dash), marker)


def setting(base: Look, shade: int | None, shades: int, dash: int | None = None) -> Look:
    """Return how one of several settings of a scheduler, drawn as `base`, is drawn.

    `shade` is the place in a ramp of `shades` from light to dark (None: its own colour and marker), `dash` the place
    among the dashes (None: its own).

    Examples
    --------
    >>> ramp = [setting(look("packs"), place, 3).colour for place in range(3)]
    >>> ramp
    ['#ecb78c', '#d55e00', '#803800']
    """
    if shade is not None:
        markers = [marker for marker in _SETTING_MARKERS if marker != base.marker]
        share = shade / (shades - 1) if shades > 1 else 0.5
        towards, part = (255, _LIGHTEST * (1 - 2 * share)) if share < 0.5 else (0, _DARKEST * (2 * share - 1))
        parts = [int(base.colour[at : at + 2], 16) for at in (1, 3, 5)]
        if not any(parts):
            # Black has lighter shades only.
            towards, part = 255, _LIGHTEST * (1 - share)
        mixed = [round(each + (towards - each) * part) for each in parts]
        base = replace(base, colour="#{:02x}{:02x}{:02x}".format(*mixed), marker=markers[shade])
    if dash is not None:
        dashes: list[Any] = [(0, one) if one else "-" for one in _SETTING_DASHES]
        base = replace(base, dash=[one for one in dashes if one != base.dash][dash])
    return base


def share_a_hue(names: list[str]) -> bool:
    """Return whether settings of one scheduler are among `names`.

    Examples
    --------
    >>> share_a_hue(["packs", "packs-1000"]), share_a_hue(["pifo", "packs-1000"])
    (True, False)
    """
    hues = [name if name in _LOOKS else _known(name) for name in names]
    return any(hue is not None and hues.count(hue) > 1 for hue in hues)


def _known(name: str) -> str | None:
    """Return the scheduler of the library whose setting `name` is, if it reads like one."""
    found = _SETTING.fullmatch(name)
    return found.group(1) if found else None


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


#: Of queues, in their order (after Paul Tol's discrete rainbow): any two can be told apart, also by the colour-blind.
_QUEUES = ("#882e72", "#1965b0", "#7bafde", "#4eb265", "#a8c66c", "#f7cb45", "#ee8026", "#dc050c")


def queue_groups(count: int) -> list[tuple[str, str, range]]:
    """Return the entries of a legend of `count` queues: label, colour, queues (several to an entry beyond eight).

    Examples
    --------
    >>> [(label, list(queues)) for label, _, queues in queue_groups(2)]
    [('0', [0]), ('1', [1])]
    >>> [label for label, _, _ in queue_groups(12)]
    ['0 to 1', '2 to 3', '4 to 5', '6 to 7', '8 to 9', '10 to 11']
    """
    each = -(-count // len(_QUEUES))
    parts = [range(first, min(first + each, count)) for first in range(0, count, each or 1)]
    last = len(_QUEUES) - 1
    # Few queues take colours from end to end.
    places = [place * last // max(len(parts) - 1, 1) for place in range(len(parts))]
    return [
        (f"{part[0]} to {part[-1]}" if len(part) > 1 else str(part[0]), _QUEUES[place], part)
        for part, place in zip(parts, places, strict=True)
    ]


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
