"""The eight worst cases of PACKS (NSDI 2025), appendix B: Fig. 16 to 23, as questions to the search.

Fifteen packets of ranks 1 to 11 arrive, then all leave; buffer 12, window 4 with a given full start window, k = 0,
three queues of four against one of twelve; Fig. 20 and 21 have queues of 15 and no drops. SP-PIFO pushes all bounds
down before it chooses a queue, as in the paper's model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from pifolab.adversary.question import Answer, attack


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


@dataclass(frozen=True)
class Described:
    """What the paper says of the trace of a figure, as far as it restricts the traces that it may be."""

    number: int
    words: str
    #: Constraints of `pifolab.attack`.
    flows: int | None = None
    falling: bool = False
    ones: bool = False
    #: The trace makes metric(A) - metric(B) this much (or less, if the factors take it off) in a second metric, which
    #: joins the figure's own with each of these factors: what remains of the largest sum bounds the figure's own.
    metric: str = ""
    count: int = 0
    factors: tuple[int, ...] = ()


#: Of Fig. 16 the optimal trace has all that is said; what is said of Fig. 17 (approximately sorted) restricts nothing.
DESCRIBED = (
    Described(18, "fifteen packets of rank 1", ones=True),
    Described(19, "PACKS drops 3 packets of rank 1 more", metric="drops", count=3, factors=(10,)),
    Described(20, "20 inversions of rank 1 by SP-PIFO", metric="inversions", count=20, factors=(-3,)),
    Described(21, "24 inversions of rank 1 by PACKS", metric="inversions", count=24, factors=(-1, -2)),
    Described(22, "an increasing sequence", flows=1),
    Described(23, "a decreasing sequence", flows=1, falling=True),
)
PACKETS = 15
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
    memory_mib: int = 8192,
    flows: int | None = None,
    falling: bool = False,
    ones: bool = False,
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
    time_limit_s, workers, memory_mib, flows, falling
        As in `pifolab.attack`. With ``update = "after"`` there are eleven times as many windows, and 4 GiB are too few.
    ones : bool
        All packets have rank 1.
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
        memory_mib=memory_mib,
        multiset={1: PACKETS} if ones else None,
        flows=flows,
        falling=falling,
        time_limit_s=time_limit_s,
        workers=workers,
    )


def described(number: int) -> Fraction:
    """Return the largest gap that a trace can have of which is true what the paper says of that of a figure.

    Examples
    --------
    >>> from pifolab_papers.worst_cases import described, worst
    >>> described(18) == worst(18).gap
    True
    """
    (about,) = (about for about in DESCRIBED if about.number == number)
    if not about.metric:
        return _bound(worst(number, flows=about.flows, falling=about.falling, ones=about.ones))
    (figure,) = (figure for figure in FIGURES if figure.number == number)
    return min(
        # A count that is an equality may be added or taken off; one of A alone is at least that of A - B.
        _bound(worst(number, metric=f"{figure.metric}{factor:+}*{about.metric}")) - factor * about.count
        for factor in about.factors
    )


def _bound(answer: Answer) -> Fraction:
    return answer.gap if answer.bound is None else answer.bound


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
