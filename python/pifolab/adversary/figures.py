"""The eight worst cases of PACKS (NSDI 2025), appendix B: Fig. 16 to 23, as questions to the search.

Fifteen packets of ranks 1 to 11 arrive, then all leave; buffer 12, window 4 with a given full start window, k = 0,
three queues of four against one of twelve; Fig. 20 and 21 have queues of 15 and no drops. SP-PIFO pushes all bounds
down before it chooses a queue, as in the paper's model.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from pifolab.adversary.question import attack
from pifolab.quantities import number as number_of

if TYPE_CHECKING:
    from pifolab.adversary.question import Answer

__all__ = ["FIGURES", "PaperFigure", "markdown", "rank_1_dropped", "rank_1_inversions", "readings", "worst"]


@dataclass(frozen=True)
class PaperFigure:
    """One figure: who against whom, by which metric, from which start window (oldest first as printed)."""

    number: int
    a: str
    b: str
    metric: str
    start_window: tuple[int, ...]
    no_drops: bool = False


FIGURES = (
    PaperFigure(16, "aifo", "packs", "WI", (1, 1, 1, 1)),
    PaperFigure(17, "packs", "aifo", "WI", (1, 1, 1, 1)),
    PaperFigure(18, "sp-pifo", "packs", "WD", (1, 1, 1, 1)),
    PaperFigure(19, "packs", "sp-pifo", "WD", (1, 2, 1, 1)),
    PaperFigure(20, "sp-pifo", "packs", "WI", (1, 1, 1, 1), no_drops=True),
    PaperFigure(21, "packs", "sp-pifo", "WI", (1, 1, 11, 11), no_drops=True),
    PaperFigure(22, "packs", "pifo", "WD", (1, 1, 1, 1)),
    PaperFigure(23, "packs", "pifo", "WI", (1, 11, 1, 11)),
)
PACKETS = 15
#: The figures of which the page shows the gap with ``update = after``.
SHOWN_AFTER = (16, 17, 18, 19, 22, 23)
RANKS = (1, 11)


def _options(scheduler: str, room: int, update: str, on_full: str) -> dict[str, Any]:
    queues = {"queues": 3, "queue_capacity_packets": room}
    options: dict[str, dict[str, Any]] = {
        "aifo": {"capacity_packets": 3 * room, "window": 4, "k": 0, "update": update},
        "packs": {**queues, "window": 4, "k": 0, "update": update},
        "sp-pifo": {**queues, "order": "push-down-first", "on_full": on_full},
        "pifo": {"capacity_packets": 3 * room},
    }
    return options[scheduler]


@cache
def worst(
    number: int,
    update: str = "before",
    on_full: str = "keep",
    reverse: bool = False,
    metric: str | None = None,
    time_limit_s: float | None = 600,
    workers: int | None = None,
) -> Answer:
    """Return the worst trace of a figure.

    Parameters
    ----------
    number : int
        16 to 23.
    update : str
        Whether a rank enters the window ``before`` or ``after`` its quantile is taken.
    on_full : str
        Whether a packet that SP-PIFO drops moves its bounds: ``keep`` or ``update``.
    reverse : bool
        Read the start window as newest first.
    metric : str, optional
        Another metric in place of the figure's own; of those of the lowest ranks, rank 1 counts.
    time_limit_s, workers
        As in `pifolab.attack`.
    """
    (figure,) = (figure for figure in FIGURES if figure.number == number)
    room = 15 if figure.no_drops else 4
    return attack(
        figure.a,
        figure.b,
        metric=metric or figure.metric,
        packets=PACKETS,
        ranks=RANKS,
        a_options=_options(figure.a, room, update, on_full),
        b_options=_options(figure.b, room, update, on_full),
        start_window=figure.start_window[::-1] if reverse else figure.start_window,
        no_drops=figure.no_drops,
        method="exact",
        # With `update = after` there are eleven times as many windows, and 4 GiB are too few for them.
        memory_mib=8192,
        time_limit_s=time_limit_s,
        workers=workers,
    )


def readings(number: int) -> list[tuple[str, dict[str, Any]]]:
    """Return the readings that may differ, as names and keywords of `worst`; the default is the first."""
    (figure,) = (figure for figure in FIGURES if figure.number == number)
    # Without drops there is no full queue; a window that reads the same from both ends has no reverse.
    fulls = ("keep", "update") if "sp-pifo" in (figure.a, figure.b) and not figure.no_drops else ("keep",)
    turns = (False,) if figure.start_window == figure.start_window[::-1] else (False, True)
    found = []
    for update in ("before", "after"):
        for on_full in fulls:
            for reverse in turns:
                words = [f"update = {update}"]
                words += [f"on_full = {on_full}"] if len(fulls) > 1 else []
                words += ["window reversed"] if reverse else []
                found.append((", ".join(words), {"update": update, "on_full": on_full, "reverse": reverse}))
    return found


def markdown() -> list[str]:
    """Return the lines of the section on the figures: the optimal traces, and the gaps under every reading."""
    lines = [
        "## The figures of PACKS, appendix B",
        "",
        *textwrap.wrap(_ABOUT, 120),
        "",
        "| figure | gap | cost of A, B | rank 1 dropped by A, B | inversions of rank 1 by A, B | an optimal trace |",
        "|---|---|---|---|---|---|",
    ]
    for figure in FIGURES:
        answer = worst(figure.number)
        story = answer.story()
        cells = [f"{figure.number}: {figure.metric} {figure.a} - {figure.b}", _gap(answer)]
        cells.append(", ".join(str(number_of(Fraction(*story[side]["value"]))) for side in "ab"))
        for count in (rank_1_dropped, rank_1_inversions):
            cells.append(", ".join(str(count(answer.trace, story[side])) for side in "ab"))
        lines.append(f"| {' | '.join([*cells, ' '.join(map(str, answer.trace))])} |")
    lines += ["", *textwrap.wrap(_OTHERS, 120), "", "| figure | reading | gap |", "|---|---|---|"]
    for figure in FIGURES:
        for name, reading in readings(figure.number)[1:]:
            if reading["update"] == "before" or figure.number in SHOWN_AFTER:
                lines.append(f"| {figure.number} | {name} | {_gap(worst(figure.number, **reading))} |")
    return lines


def _gap(answer: Answer) -> str:
    gap = str(number_of(answer.gap))
    if answer.proven:
        return gap
    return f"{gap}* (at most {number_of(answer.bound)})" if answer.bound is not None else f"{gap}*"


_OTHERS = (
    "Other readings that could make a difference. With `update = after` the oldest rank of a full window still counts, "
    "so that there are eleven times as many windows; Fig. 20 and 21 are then not proven within minutes and left out. "
    "`pifolab.adversary.figures.worst` searches any of them."
)

_ABOUT = (
    "Fifteen packets of ranks 1 to 11 arrive, then all leave; buffer 12, window 4, k = 0, three queues of four "
    "against one of twelve; Fig. 20 and 21 with queues of 15 and no drops. The first table reads start windows "
    "oldest first, lets a rank enter the window before its quantile is taken (`update = before`), and has SP-PIFO "
    "push all bounds down first and keep them when it drops (`on_full = keep`). Gaps are proven unless marked "
    "with `*`. Several traces may have the same gap; this is the one that the search returns."
)


def rank_1_dropped(trace: Sequence[int], told: dict[str, Any]) -> int:
    """Return how many packets of rank 1 a scheduler drops, from one side of `Answer.story`."""
    sent = [trace[packet] for packet in told["sent"]]
    return list(trace).count(1) - sent.count(1)


def rank_1_inversions(trace: Sequence[int], told: dict[str, Any]) -> int:
    """Return how many packets of a higher rank leave before packets of rank 1, summed over the latter."""
    higher = inversions = 0
    for packet in told["sent"]:
        if trace[packet] == 1:
            inversions += higher
        else:
            higher += 1
    return inversions
