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
from typing import Any

from pifolab import info
from pifolab.adversary.question import Answer, attack
from pifolab.export import table_lines
from pifolab.quantities import number as number_of

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
    >>> from pifolab.adversary.figures import described, worst
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


def readings(number: int) -> list[tuple[str, dict[str, Any]]]:
    """Return the readings that may differ, as names and keywords of `worst`; the default is the first."""
    (figure,) = (figure for figure in FIGURES if figure.number == number)
    # Without drops there is no full queue; a window that reads the same from both ends has no reverse.
    choosable = any(param.name == "on_full" for side in (figure.a, figure.b) for param in info.scheduler(side).params)
    fulls = ("keep", "update") if choosable and not figure.no_drops else ("keep",)
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
    rows = []
    for figure in FIGURES:
        answer = worst(figure.number)
        story = answer.story()
        cells = [f"{figure.number}: {figure.metric} {figure.a} - {figure.b}", _gap(answer)]
        cells.append(", ".join(str(number_of(Fraction(*story[side]["value"]))) for side in "ab"))
        for count in (rank_1_dropped, rank_1_inversions):
            cells.append(", ".join(str(count(answer.trace, story[side])) for side in "ab"))
        rows.append([*cells, " ".join(map(str, answer.trace))])
    head = [
        "figure",
        "gap",
        "cost of A, B",
        "rank 1 dropped by A, B",
        "inversions of rank 1 by A, B",
        "an optimal trace",
    ]
    others = (
        (str(figure.number), name, _gap(worst(figure.number, **reading)))
        for figure in FIGURES
        for name, reading in readings(figure.number)[1:]
    )
    lines = ["## The figures of PACKS, appendix B", "", *textwrap.wrap(_ABOUT, 120), "", *table_lines(head, rows)]
    lines += ["", *_described_lines(), "", *textwrap.wrap(_OTHERS, 120), ""]
    return [*lines, *table_lines(["figure", "reading", "gap"], others)]


def _described_lines() -> list[str]:
    rows = []
    for about in DESCRIBED:
        most, optimum = described(about.number), worst(about.number).gap
        # A sum of metrics bounds more traces than those that are described.
        verdict = f"at most {number_of(most)}: below the optimum" if most < optimum else f"up to {number_of(most)}"
        rows.append([str(about.number), about.words, verdict, str(number_of(optimum))])
    head = ["figure", "what the paper says of its trace", "gap of such a trace", "optimum"]
    return [*textwrap.wrap(_DESCRIBED, 120), "", *table_lines(head, rows)]


def _gap(answer: Answer) -> str:
    gap = str(number_of(answer.gap))
    if answer.proven:
        return gap
    return f"{gap}* (at most {number_of(answer.bound)})" if answer.bound is not None else f"{gap}*"


_OTHERS = (
    "Other readings that could make a difference. With `update = after` the oldest rank of a full window still "
    "counts, so that there are eleven times as many windows. Each search has 8 GiB and ten minutes on two "
    "processors: where that is not enough for a proof, the table shows the best gap found and the bound that was "
    "reached. `pifolab.adversary.figures.worst` searches any of the readings."
)

_DESCRIBED = (
    "Are the paper's own traces worst ones? The paper draws them, and states the properties in the next table for "
    "six of them. It is proven that no trace with such a property has a larger gap than the table shows. If this "
    "gap is below the optimum, the paper's trace is not a worst one under this reading. For Fig. 16, the optimal "
    "trace above has all the properties that the paper states; for Fig. 17 the stated property (approximately "
    "sorted) excludes nothing. Where the paper states a count, the bound comes from a search for the sum of two "
    "metrics, such as `WI-3*inversions`."
)

_ABOUT = (
    "Fifteen packets of ranks 1 to 11 arrive, then all leave. The buffer holds 12 packets (three queues of four, "
    "or one of twelve), the window has 4 ranks, and k = 0; Fig. 20 and 21 have queues of 15 and no drops. In the "
    "first table start windows are listed oldest first, a rank enters the window before its quantile is taken "
    "(`update = before`), and SP-PIFO pushes all bounds down first and keeps them when it drops (`on_full = "
    "keep`). Gaps are proven unless marked with `*`. Several traces may have the same gap; the table shows the "
    "one that the search returns."
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
