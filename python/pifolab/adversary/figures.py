"""The eight worst cases of PACKS (NSDI 2025), appendix B: Fig. 16 to 23, as questions to the search.

Fifteen packets of ranks 1 to 11 arrive, then all leave; buffer 12, window 4 with a given full start window, k = 0,
three queues of four against one of twelve; Fig. 20 and 21 have queues of 15 and no drops. SP-PIFO pushes all bounds
down before it chooses a queue, as in the paper's model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pifolab.adversary.question import attack

if TYPE_CHECKING:
    from pifolab.adversary.question import Answer

__all__ = ["FIGURES", "PaperFigure", "rank_1_dropped", "rank_1_inversions", "worst"]


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
    time_limit_s, workers
        As in `pifolab.attack`.
    """
    (figure,) = (figure for figure in FIGURES if figure.number == number)
    room = 15 if figure.no_drops else 4
    return attack(
        figure.a,
        figure.b,
        metric=figure.metric,
        packets=PACKETS,
        ranks=RANKS,
        a_options=_options(figure.a, room, update, on_full),
        b_options=_options(figure.b, room, update, on_full),
        start_window=figure.start_window[::-1] if reverse else figure.start_window,
        no_drops=figure.no_drops,
        method="exact",
        time_limit_s=time_limit_s,
        workers=workers,
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
