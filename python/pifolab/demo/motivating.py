"""The motivating example of the PACKS paper (NSDI 2025, Fig. 2) through every scheduler.

Six packets arrive at a buffer for four, then the buffer drains. PIFO keeps the four best and sends them in order; the
others each fall short in their own way. The paper draws its competitors with fixed thresholds; here the algorithms run
unchanged, and `strict-priority` with the bounds 1 and 2 corresponds to SP-PIFO in the paper's figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pifolab import info
from pifolab._classes import scheduler
from pifolab._pifolab import Dropped, Evicted, Packet

#: The ranks in order of arrival; the paper prints the first packet on the right.
SEQUENCE = (1, 4, 5, 2, 1, 2)

BUFFER_PACKETS = 4
QUEUES = 2
# The kinds of parameters of schedulers made of others.
_INSIDE = ("component", "components")

# "We assume the sequence repeats" (section 4): windows hold it once, distributions are those of its six ranks.
_SETTINGS: dict[str, dict[str, Any]] = {
    "strict-priority": {"bounds": [1, 2]},
    "sp-pifo-greedy": {"window_packets": len(SEQUENCE), "ranks": max(SEQUENCE) + 1},
    "sp-pifo-optimal": {"weights": [SEQUENCE.count(rank) for rank in range(max(SEQUENCE) + 1)]},
    "aifo": {"window": len(SEQUENCE), "start_window": list(SEQUENCE)},
    "packs": {"window": len(SEQUENCE), "start_window": list(SEQUENCE)},
    "rifo": {"tracking_range_packets": len(SEQUENCE)},
    "exp-pifo": {"window_packets": len(SEQUENCE)},
    # A flow may send one packet of 1500 bytes in each round.
    "afq": {"bytes_per_round": 2000},
}


@dataclass(frozen=True)
class Course:
    """The result of one scheduler for the sequence.

    Attributes
    ----------
    scheduler : str
        Its name.
    sent : tuple of int
        The ranks sent, first to leave first.
    dropped : tuple of (int, str)
        The ranks that were refused or pushed out, in the order in which that happened, each with the reason.
    inversions : int
        How often a packet left while one of a smaller rank waited.
    """

    scheduler: str
    sent: tuple[int, ...]
    dropped: tuple[tuple[int, str], ...]
    inversions: int


def motivating_example() -> list[Course]:
    """Run the example through every scheduler, PIFO first, except those made of others or of a file.

    Examples
    --------
    >>> pifo, fifo, *others = motivating_example()
    >>> pifo.sent, pifo.dropped
    ((1, 1, 2, 2), ((5, 'pushed-out'), (4, 'pushed-out')))
    >>> fifo.sent, fifo.dropped
    ((1, 4, 5, 2), ((1, 'full'), (2, 'full')))
    """
    ordered = sorted(info.schedulers(), key=lambda about: (not about.traits.ideal, not about.traits.tail_drop))
    return [_course(about.name) for about in ordered if not any(map(_is_from_outside, about.params))]


def _is_from_outside(param: info.Param) -> bool:
    return param.kind in _INSIDE or (param.kind == "text" and param.required)


def _course(name: str) -> Course:
    built = scheduler(name, **_size(name), **_SETTINGS.get(name, {}))
    dropped: list[tuple[int, str]] = []
    for rank in SEQUENCE:
        # AFQ reads flows instead of ranks: the packets of one rank are one flow.
        match built.enqueue(rank, flow=rank, size_bytes=1500):
            case Dropped(reason, packet):
                dropped.append((packet.rank, reason))
            case Evicted(_, _, victims):
                dropped += [(victim.rank, "pushed-out") for victim in victims]
    sent: list[int] = []
    while isinstance(leaving := built.dequeue(), Packet):
        sent.append(leaving.rank)
    inversions = sum(any(later < rank for later in sent[place:]) for place, rank in enumerate(sent))
    return Course(name, tuple(sent), tuple(dropped), inversions)


def _size(name: str) -> dict[str, int]:
    """Room for four packets in all, on two queues if the scheduler has several."""
    known = {param.name for param in info.scheduler(name).params}
    if "queue_capacity_packets" in known:
        return {"queues": QUEUES, "queue_capacity_packets": BUFFER_PACKETS // QUEUES}
    return {"capacity_packets": BUFFER_PACKETS}
