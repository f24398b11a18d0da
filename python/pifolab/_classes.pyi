"""What editors and type checkers see of `_classes.py`; written by scripts/generate_stubs.py, not by hand."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal

from pifolab._pifolab import Scheduler
from pifolab.info import Info

def class_docstring(about: Info) -> str: ...
def scheduler(name: str, /, **parameters: Any) -> Scheduler: ...
def ranked(rank: str, scheduler: Scheduler, /, **parameters: Any) -> Ranked: ...

class Ranked(Scheduler):
    rank: str
    rank_parameters: MappingProxyType[str, Any]
    scheduler: Scheduler
    def __new__(cls, rank: str, scheduler: Scheduler, rank_parameters: dict[str, Any]) -> Ranked: ...

class Pifo(Scheduler):
    """Keeps the lowest ranks and sends the lowest first: the ideal that the others approximate.

    None: this is the reference.

    Parameters
    ----------
    capacity_packets : an integer from 1 to 16777216 (packets)
        The most packets that the buffer holds, without the one in service. 80 is what all five
        papers give PIFO. If absent: 80 packets, unless capacity_bytes is given.
    capacity_bytes : an integer from 1 to 1099511627776 (bytes)
        The most bytes that the buffer holds: a packet fits if backlog + size stays within.
        Instead of capacity_packets. If absent: the capacity is counted in packets.
    ranks : an integer from 1 to 16777216 (ranks)
        The size of the rank space: ranks are 0..ranks-1, others are dropped as out of range. It
        buys constant cost at any occupancy, with at most 4 bytes and about one bit of memory
        per rank. If absent: any rank up to 2^63 - 1.
    ties : one of fifo, heap, default fifo
        Which of several packets of equal rank leaves first, and which is pushed out. heap
        repeats published runs; it needs a capacity in packets and no bounded rank space.
        * ``fifo``: the earliest arrival leaves first, the latest is pushed out
        * ``heap``: the order of a binary heap in an array (the SP-PIFO and AIFO papers'
          simulator)
    starvation_prevention : true or false, default false
        Whether the flow that holds the lowest rank sends its earliest packet first, as pFabric
        does, so that no flow's packets overtake one another. It takes ties = fifo and no
        bounded rank space.

    Raises
    ------
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Notes
    -----
    State in a switch: a sorted buffer, which no switch offers at line rate
    Cost: O(1) to send; a search and a short shift to store; O(log_64 ranks) both where ranks is
    given

    References
    ----------
    Programmable Packet Scheduling at Line Rate, SIGCOMM 2016; PACKS, NSDI 2025, Fig. 2
    """

    info: Info
    parameters: MappingProxyType[str, Any]
    def __new__(
        cls,
        *,
        capacity_packets: int | None = None,
        capacity_bytes: int | None = None,
        ranks: int | None = None,
        ties: Literal["fifo", "heap"] | None = None,
        starvation_prevention: bool | None = None,
    ) -> Pifo: ...

class Fifo(Scheduler):
    """First in, first out, with tail drop; ranks are ignored.

    Order and drops ignore ranks altogether.

    Parameters
    ----------
    capacity_packets : an integer from 1 to 16777216 (packets)
        The most packets that the buffer holds, without the one in service. 80 is what all five
        papers give PIFO. If absent: 80 packets, unless capacity_bytes is given.
    capacity_bytes : an integer from 1 to 1099511627776 (bytes)
        The most bytes that the buffer holds: a packet fits if backlog + size stays within.
        Instead of capacity_packets. If absent: the capacity is counted in packets.

    Raises
    ------
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Notes
    -----
    State in a switch: none beyond the queue
    Cost: O(1) per operation

    References
    ----------
    the baseline of all five papers (AIFO Fig. 2, PACKS Fig. 2)
    """

    info: Info
    parameters: MappingProxyType[str, Any]
    def __new__(
        cls,
        *,
        capacity_packets: int | None = None,
        capacity_bytes: int | None = None,
    ) -> Fifo: ...

class StrictPriority(Scheduler):
    """Each queue takes a fixed range of ranks.

    Ranks that share a queue leave in arrival order; a packet is dropped when its own queue is full,
    whatever its rank; nothing adapts.

    Parameters
    ----------
    queues : an integer from 1 to 1024 (queues)
        The number of strict-priority queues; queue 0 is served first. 8 is what commodity
        switches offer per port. If absent: 8, or as many as a list of capacities has.
    queue_capacity_packets : an integer from 1 to 16777216, or a list with one for each queue (packets)
        The most packets that each queue holds, or a list with one number for each queue,
        highest priority first. 8 x 10 packets is the papers' usual set-up. If absent: 10
        packets in each queue, unless queue_capacity_bytes is given.
    queue_capacity_bytes : an integer from 1 to 1099511627776, or a list with one for each queue (bytes)
        The most bytes that each queue holds, or a list with one number for each queue. Instead
        of queue_capacity_packets. If absent: the capacities are counted in packets.
    bounds : a list of integers from 0 to 2^63 - 1 (ranks)
        The smallest rank of each queue, highest priority first; they never decrease. If absent:
        the ranks 0..ranks-1 are spread evenly.
    ranks : an integer from 1 to 2^63 - 1 (ranks), default 100
        The size of the rank space over which the bounds are spread evenly, unless they are
        given.

    Raises
    ------
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Notes
    -----
    State in a switch: one range-match table with an entry per queue
    Cost: O(log queues) per enqueue, O(1) per dequeue

    References
    ----------
    the fixed mappings of SP-PIFO, NSDI 2020, Fig. 1
    """

    info: Info
    parameters: MappingProxyType[str, Any]
    def __new__(
        cls,
        *,
        queues: int | None = None,
        queue_capacity_packets: int | Sequence[int] | None = None,
        queue_capacity_bytes: int | Sequence[int] | None = None,
        bounds: Sequence[int] | None = None,
        ranks: int | None = None,
    ) -> StrictPriority: ...

class SpPifo(Scheduler):
    """Adaptive bounds map ranks to strict-priority queues; each bound follows the ranks that it sees.

    Ranks that share a queue leave in arrival order; a packet is dropped when its own queue is full,
    whatever its rank.

    Parameters
    ----------
    queues : an integer from 1 to 1024 (queues)
        The number of strict-priority queues; queue 0 is served first. 8 is what commodity
        switches offer per port. If absent: 8, or as many as a list of capacities has.
    queue_capacity_packets : an integer from 1 to 16777216, or a list with one for each queue (packets)
        The most packets that each queue holds, or a list with one number for each queue,
        highest priority first. 8 x 10 packets is the papers' usual set-up. If absent: 10
        packets in each queue, unless queue_capacity_bytes is given.
    queue_capacity_bytes : an integer from 1 to 1099511627776, or a list with one for each queue (bytes)
        The most bytes that each queue holds, or a list with one number for each queue. Instead
        of queue_capacity_packets. If absent: the capacities are counted in packets.
    push_down : one of cost, queue-bound, queue-bound-old, rank, one, default cost
        How far the bounds of the other queues fall after an inversion in the highest-priority
        queue (paper Fig. 5c).
        * ``cost``: by the size of the inversion, q_1 - r (Algorithm 1)
        * ``queue-bound``: to the bound of the queue above; q_2 takes the new q_1
        * ``queue-bound-old``: to the bound of the queue above; q_2 takes the old q_1
        * ``rank``: by the rank of the packet
        * ``one``: by one
    on_full : one of keep, update, default keep
        Whether a packet that finds its queue full moves the bounds all the same. It changes
        uniform-rank inversions by a third.
        * ``keep``: bounds stay (the published simulations)
        * ``update``: bounds move (Algorithm 1 to the letter)
    clamp : an integer from -9223372036854775807 to 2^63 - 1 (ranks)
        A floor at which pushed-down bounds stop. If absent: bounds may turn negative.
    order : one of scan-first, push-down-first, default scan-first
        Whether the queue is chosen before or after the bounds are pushed down.
        * ``scan-first``: the queue is chosen, then bounds fall (Algorithm 1)
        * ``push-down-first``: bounds fall, then the queue is chosen (MetaOpt's model)

    Raises
    ------
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Notes
    -----
    State in a switch: one register per queue (the bound)
    Cost: O(queues) per enqueue, O(1) per dequeue

    References
    ----------
    SP-PIFO, NSDI 2020, section 3.3, Algorithm 1
    """

    info: Info
    parameters: MappingProxyType[str, Any]
    def __new__(
        cls,
        *,
        queues: int | None = None,
        queue_capacity_packets: int | Sequence[int] | None = None,
        queue_capacity_bytes: int | Sequence[int] | None = None,
        push_down: Literal["cost", "queue-bound", "queue-bound-old", "rank", "one"] | None = None,
        on_full: Literal["keep", "update"] | None = None,
        clamp: int | None = None,
        order: Literal["scan-first", "push-down-first"] | None = None,
    ) -> SpPifo: ...

class SpPifoGreedy(Scheduler):
    """Counts ranks over a window, then moves each bound towards the least expected unpifoness.

    Ranks that share a queue leave in arrival order; a packet is dropped when its own queue is full,
    whatever its rank; bounds follow the window before.

    Parameters
    ----------
    queues : an integer from 1 to 1024 (queues)
        The number of strict-priority queues; queue 0 is served first. 8 is what commodity
        switches offer per port. If absent: 8, or as many as a list of capacities has.
    queue_capacity_packets : an integer from 1 to 16777216, or a list with one for each queue (packets)
        The most packets that each queue holds, or a list with one number for each queue,
        highest priority first. 8 x 10 packets is the papers' usual set-up. If absent: 10
        packets in each queue, unless queue_capacity_bytes is given.
    queue_capacity_bytes : an integer from 1 to 1099511627776, or a list with one for each queue (bytes)
        The most bytes that each queue holds, or a list with one number for each queue. Instead
        of queue_capacity_packets. If absent: the capacities are counted in packets.
    window_packets : an integer from 1 to 16777216 (packets), default 1000
        k: the bounds adapt to the ranks of each group of this many packets. 1000 is what the
        appendix settles on.
    initial_bounds : a list of integers from 0 to 2^63 - 1 (ranks)
        The smallest rank of each queue until the first window is complete, highest priority
        first. If absent: the ranks 0..ranks-1 are spread evenly.
    ranks : an integer from 1 to 2^63 - 1 (ranks)
        The size of the rank space; packets with a rank from here on are refused. If absent: any
        rank is taken, and initial bounds that are not given are spread over 0..99.
    steps : one of one, until-convergence, one-or-equal, next-seen, default one
        How often the bounds are swept after a window.
        * ``one``: each bound moves by at most one rank per window
        * ``until-convergence``: bounds move until none does (Algorithm 2)
        * ``one-or-equal``: each bound moves by at most one rank per window, also if the risk
          stays the same (Algorithm 2 to the letter)
        * ``next-seen``: each bound moves at most to the next rank in the window, which counts
          admitted packets (the public code)

    Raises
    ------
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Notes
    -----
    State in a switch: five registers per queue, all accessed by one packet per window (infeasible
    on the paper's switch)
    Cost: O(log queues) per enqueue, O(1) per dequeue; O(window log window) after each window

    References
    ----------
    SP-PIFO, NSDI 2020, section 3.2, Algorithm 2
    """

    info: Info
    parameters: MappingProxyType[str, Any]
    def __new__(
        cls,
        *,
        queues: int | None = None,
        queue_capacity_packets: int | Sequence[int] | None = None,
        queue_capacity_bytes: int | Sequence[int] | None = None,
        window_packets: int | None = None,
        initial_bounds: Sequence[int] | None = None,
        ranks: int | None = None,
        steps: Literal["one", "until-convergence", "one-or-equal", "next-seen"] | None = None,
    ) -> SpPifoGreedy: ...

class SpPifoOptimal(Scheduler):
    """The fixed bounds with the least expected unpifoness for a known rank distribution.

    Ranks that share a queue leave in arrival order; a packet is dropped when its own queue is full,
    whatever its rank; nothing adapts.

    Parameters
    ----------
    queues : an integer from 1 to 1024 (queues)
        The number of strict-priority queues; queue 0 is served first. 8 is what commodity
        switches offer per port. If absent: 8, or as many as a list of capacities has.
    queue_capacity_packets : an integer from 1 to 16777216, or a list with one for each queue (packets)
        The most packets that each queue holds, or a list with one number for each queue,
        highest priority first. 8 x 10 packets is the papers' usual set-up. If absent: 10
        packets in each queue, unless queue_capacity_bytes is given.
    queue_capacity_bytes : an integer from 1 to 1099511627776, or a list with one for each queue (bytes)
        The most bytes that each queue holds, or a list with one number for each queue. Instead
        of queue_capacity_packets. If absent: the capacities are counted in packets.
    weights : a list of integers from 0 to 4294967295
        How frequent each rank is, from rank 0 up, on any common scale. If absent: ranks 0 to 99
        are equally frequent.
    cost : one of difference, one, upper, exact, default difference
        What the ranks in one queue cost.
        * ``difference``: the difference of the ranks of each pair
        * ``one``: one for every pair of different ranks
        * ``upper``: half the queue's range of ranks times its share of packets
        * ``exact``: the differences of its pairs over its share of packets
    combine : one of sum, max, default sum
        Whether the costs of the queues are added up or the largest counts.
        * ``sum``: the sum over queues is smallest
        * ``max``: the largest cost of a queue is smallest

    Raises
    ------
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Notes
    -----
    State in a switch: one range-match table with an entry per queue
    Cost: O(log queues) per enqueue, O(1) per dequeue; O(queues x ranks x log ranks) once

    References
    ----------
    SP-PIFO, NSDI 2020, eq. 4 and 5
    """

    info: Info
    parameters: MappingProxyType[str, Any]
    def __new__(
        cls,
        *,
        queues: int | None = None,
        queue_capacity_packets: int | Sequence[int] | None = None,
        queue_capacity_bytes: int | Sequence[int] | None = None,
        weights: Sequence[int] | None = None,
        cost: Literal["difference", "one", "upper", "exact"] | None = None,
        combine: Literal["sum", "max"] | None = None,
    ) -> SpPifoOptimal: ...

class SlackSp(Scheduler):
    """Bounds at fixed quantiles of the ranks, so that the slack behind strict-priority queues shrinks geometrically.

    Ranks that share a queue leave in arrival order; a packet is dropped when its queue and those
    behind it are full, whatever its rank (or, with admission, when its rank is above the limit).

    Parameters
    ----------
    queues : an integer from 1 to 1024 (queues)
        The number of strict-priority queues; queue 0 is served first. 8 is what commodity
        switches offer per port. If absent: 8, or as many as a list of capacities has.
    queue_capacity_packets : an integer from 1 to 16777216, or a list with one for each queue (packets)
        The most packets that each queue holds, or a list with one number for each queue,
        highest priority first. 8 x 10 packets is the papers' usual set-up. If absent: 10
        packets in each queue, unless queue_capacity_bytes is given.
    queue_capacity_bytes : an integer from 1 to 1099511627776, or a list with one for each queue (bytes)
        The most bytes that each queue holds, or a list with one number for each queue. Instead
        of queue_capacity_packets. If absent: the capacities are counted in packets.
    eps : a fraction from 0 up to but not including 1, such as 0.1 or 1/10, default 0.1
        The share of the arrivals (above saturation: of the link) that is left for the last
        queue; the shares left behind the queues before it shrink to this one by equal factors.
        0.02 to 0.1 under overload.
    steps : one of constant, proportional, default constant
        What a step is measured in: proportional for ranks that span orders of magnitude (bytes,
        deadlines, virtual times).
        * ``constant``: a step is so many ranks
        * ``proportional``: a step is a share of the bound
    step : a number above 0
        D: a bound with the share q of arrivals below it rises by q D for a rank that reaches it
        and falls by (1 - q) D for one that does not. Small steps are quieter, large ones follow
        changes sooner. If absent: 1/2 rank; with steps = proportional 1/128 of the bound.
    initial_bounds : a list of integers from 0 to 2^63 - 1 (ranks)
        b_1 to b_(n-1), the lowest ranks of queues 1 to n-1 to start with; one fewer than there
        are queues. If absent: k R / n, where R = ranks.
    ranks : an integer from 1 to 2^63 - 1 (ranks)
        R: the initial bounds are spread evenly over ranks 0 to R-1. If absent: 100, unless
        initial_bounds are given.
    fall_through : true or false, default true
        Whether a packet whose queue is full tries the next ones, or is dropped.
    admission_gain : a number above 0 (ranks)
        c: at each arrival the limit T, above which ranks are refused, rises by c for each
        packet that the buffer holds below the target, and falls by c for each above it. If
        absent: no admission by rank.
    target_packets : an integer from 0 to 4294967295 (packets)
        How many packets shall wait. If absent: nine tenths of the packets that the queues hold;
        with admission_gain only.

    Raises
    ------
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Notes
    -----
    State in a switch: one register for each bound, one fewer than queues; with admission two more
    Cost: O(queues) per enqueue, O(1) per dequeue

    References
    ----------
    none; docs/slack.md
    """

    info: Info
    parameters: MappingProxyType[str, Any]
    def __new__(
        cls,
        *,
        queues: int | None = None,
        queue_capacity_packets: int | Sequence[int] | None = None,
        queue_capacity_bytes: int | Sequence[int] | None = None,
        eps: float | str | Decimal | Fraction | None = None,
        steps: Literal["constant", "proportional"] | None = None,
        step: float | str | Decimal | Fraction | None = None,
        initial_bounds: Sequence[int] | None = None,
        ranks: int | None = None,
        fall_through: bool | None = None,
        admission_gain: float | str | Decimal | Fraction | None = None,
        target_packets: int | None = None,
    ) -> SlackSp: ...

class Spring(Scheduler):
    """Bounds of strict-priority queues move until a force, such as the share of packets, is the same in all.

    Ranks that share a queue leave in arrival order; a packet is dropped when its own queue is full,
    whatever its rank.

    Parameters
    ----------
    queues : an integer from 1 to 1024 (queues)
        The number of strict-priority queues; queue 0 is served first. 8 is what commodity
        switches offer per port. If absent: 8, or as many as a list of capacities has.
    queue_capacity_packets : an integer from 1 to 16777216, or a list with one for each queue (packets)
        The most packets that each queue holds, or a list with one number for each queue,
        highest priority first. 8 x 10 packets is the papers' usual set-up. If absent: 10
        packets in each queue, unless queue_capacity_bytes is given.
    queue_capacity_bytes : an integer from 1 to 1099511627776, or a list with one for each queue (bytes)
        The most bytes that each queue holds, or a list with one number for each queue. Instead
        of queue_capacity_packets. If absent: the capacities are counted in packets.
    force : one of packets, inversions, fill, default packets
        What pushes a queue's bound up, and with it ranks out of the queue: its bound comes to
        rest where its force equals that of the queue before it.
        * ``packets``: the queue's share of the latest packets
        * ``inversions``: the share of the latest packets that came to the queue behind a higher
          rank
        * ``fill``: the packets that wait in the queue
    gain : a fraction from 0 up to but not including 1, such as 0.1 or 1/10, default 0.0078125
        a: how much the latest packet counts in a force. Not with force = fill.
    decays : one of all, hit, default all
        Which forces decay when a packet arrives. Not with force = fill.
        * ``all``: the forces of all queues decay at each packet
        * ``hit``: only the force of the queue that the packet took decays
    speed : a number above 0 (ranks), default 1
        s: by how many ranks a bound moves for a difference of one between the forces on both
        sides.

    Raises
    ------
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Notes
    -----
    State in a switch: two registers per queue (bound and force) and the highest rank; with
    inversions one more per queue
    Cost: O(queues) per enqueue, O(1) per dequeue

    References
    ----------
    none; enoperm/sppifo-upstream-codebase
    """

    info: Info
    parameters: MappingProxyType[str, Any]
    def __new__(
        cls,
        *,
        queues: int | None = None,
        queue_capacity_packets: int | Sequence[int] | None = None,
        queue_capacity_bytes: int | Sequence[int] | None = None,
        force: Literal["packets", "inversions", "fill"] | None = None,
        gain: float | str | Decimal | Fraction | None = None,
        decays: Literal["all", "hit"] | None = None,
        speed: float | str | Decimal | Fraction | None = None,
    ) -> Spring: ...

class Aifo(Scheduler):
    """One first-in first-out queue behind a test that compares the quantile of a rank with the free space.

    It approximates which packets PIFO sends, not their order; an admitted packet is never pushed
    out.

    Parameters
    ----------
    capacity_packets : an integer from 1 to 16777216 (packets)
        The most packets that the buffer holds, without the one in service. 80 is what all five
        papers give PIFO. If absent: 80 packets, unless capacity_bytes is given.
    capacity_bytes : an integer from 1 to 1099511627776 (bytes)
        The most bytes that the buffer holds: a packet fits if backlog + size stays within.
        Instead of capacity_packets. If absent: the capacity is counted in packets.
    target_packets : an integer from 1 to 16777216 (packets)
        C, the occupancy that the admission test aims at, where it differs from the physical
        capacity. If absent: the capacity.
    target_bytes : an integer from 1 to 1099511627776 (bytes)
        C in bytes, beside capacity_bytes. If absent: the capacity.
    window : an integer from 1 to 16777216 (ranks), default 20
        How many recent ranks the quantile is taken over.
    k : a fraction from 0 up to but not including 1, such as 0.1 or 1/10, default 0.1
        The headroom: the share of the buffer up to which every rank is admitted, so that bursts
        pass. Taken exactly as written: 0.1 is 1/10.
    sample : an integer from 1 to 4294967295 (packets), default 1
        One packet in this many enters the window, beginning with the first: a small window then
        spans more time (AIFO section 4.4).
    quantile : one of lt, le, default lt
        What the quantile of a rank is. The hardware text counts registers that the rank is
        lower than; that would drop the lowest rank first and cannot be meant.
        * ``lt``: the share of ranks strictly lower than the packet's
        * ``le``: the share of ranks lower than the packet's or equal to it
    update : one of before, after, default before
        Whether an arriving rank enters the window before or after its quantile is taken.
        * ``before``: the rank enters the window, then its quantile is taken (Algorithm 1)
        * ``after``: the quantile is taken first (AIFO's published simulation)
    compare : one of le, lt, default le
        How the quantile is compared with the threshold.
        * ``le``: admitted if quantile <= threshold (Algorithm 1)
        * ``lt``: admitted if quantile < threshold or c <= kC (the published simulation)
    arithmetic : one of exact, netbench, default exact
        In what numbers the test is done; netbench is for repeating published runs, with compare
        = lt.
        * ``exact``: integers, without rounding
        * ``netbench``: the published simulations' mix of 32- and 64-bit floating point
    headroom : true or false, default true
        Whether every rank passes while c <= kC, which Algorithm 1 implies; false is the
        published simulation of PACKS, whose AIFO may then drop a packet from an empty queue.
    occupancy_delay_packets : an integer from 0 to 4096 (packets), default 0
        The test sees the queue lengths that the arrival so many packets before it found, as on
        a switch whose worker packets (AIFO, RIFO) or ghost thread (PACKS) carry them to the
        ingress; 0 is the length of now.
    start_window : a list of integers from 0 to 2^63 - 1 (ranks)
        Ranks that the window holds before the first packet, oldest first. A switch whose
        registers start at 0 has a list of zeros. If absent: the window starts empty and divides
        by the ranks that it holds.

    Raises
    ------
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Notes
    -----
    State in a switch: one register per window slot and a sampling counter
    Cost: a count over the window per enqueue beyond the headroom, O(1) per dequeue

    References
    ----------
    AIFO, SIGCOMM 2021, section 4.2, Algorithm 1
    """

    info: Info
    parameters: MappingProxyType[str, Any]
    def __new__(
        cls,
        *,
        capacity_packets: int | None = None,
        capacity_bytes: int | None = None,
        target_packets: int | None = None,
        target_bytes: int | None = None,
        window: int | None = None,
        k: float | str | Decimal | Fraction | None = None,
        sample: int | None = None,
        quantile: Literal["lt", "le"] | None = None,
        update: Literal["before", "after"] | None = None,
        compare: Literal["le", "lt"] | None = None,
        arithmetic: Literal["exact", "netbench"] | None = None,
        headroom: bool | None = None,
        occupancy_delay_packets: int | None = None,
        start_window: Sequence[int] | None = None,
    ) -> Aifo: ...

class Packs(Scheduler):
    """The quantile of a rank in a sliding window decides whether a packet enters and which queue it takes.

    Ranks that share a queue leave in arrival order; an admitted packet is never pushed out.

    Parameters
    ----------
    queues : an integer from 1 to 1024 (queues)
        The number of strict-priority queues; queue 0 is served first. 8 is what commodity
        switches offer per port. If absent: 8, or as many as a list of capacities has.
    queue_capacity_packets : an integer from 1 to 16777216, or a list with one for each queue (packets)
        The most packets that each queue holds, or a list with one number for each queue,
        highest priority first. 8 x 10 packets is the papers' usual set-up. If absent: 10
        packets in each queue, unless queue_capacity_bytes is given.
    queue_capacity_bytes : an integer from 1 to 1099511627776, or a list with one for each queue (bytes)
        The most bytes that each queue holds, or a list with one number for each queue. Instead
        of queue_capacity_packets. If absent: the capacities are counted in packets.
    window : an integer from 1 to 16777216 (ranks), default 1000
        How many recent ranks the quantile is taken over.
    k : a fraction from 0 up to but not including 1, such as 0.1 or 1/10, default 0
        The headroom: the share of the buffer up to which every rank is admitted, so that bursts
        pass. Taken exactly as written: 0.1 is 1/10.
    shift : an integer from -9223372036854775807 to 2^63 - 1 (ranks), default 0
        Added to every rank that the window holds, not to the arriving one: how PACKS behaves
        when the window tells a wrong distribution (section 6.1, Fig. 11).
    quantile : one of lt, le, default lt
        What the quantile of a rank is. The hardware text counts registers that the rank is
        lower than; that would drop the lowest rank first and cannot be meant.
        * ``lt``: the share of ranks strictly lower than the packet's
        * ``le``: the share of ranks lower than the packet's or equal to it
    update : one of before, after, default before
        Whether an arriving rank enters the window before or after its quantile is taken.
        * ``before``: the rank enters the window, then its quantile is taken (Algorithm 1)
        * ``after``: the quantile is taken first (AIFO's published simulation)
    compare : one of le, lt, default le
        How the quantile is compared with the thresholds.
        * ``le``: a queue takes a packet whose quantile is at most its threshold (Algorithm 1)
        * ``lt``: its quantile must be below: what the negative shifts of Fig. 11 need
    occupancy : one of per-queue, global, default per-queue
        What is known about the queues; global is the approximation of the switch
        implementation.
        * ``per-queue``: how full each queue is (Algorithm 1)
        * ``global``: only how full the whole buffer is, of which queue i counts i/n (section 5)
    fall_through : true or false, default true
        Whether a packet whose queue is full tries the next ones, or is dropped.
    map : one of occupancy, geometric, default occupancy
        How the quantile of an admitted packet is mapped to a queue. Admission is the same.
        * ``occupancy``: the queues' shares are their free places (Algorithm 1)
        * ``geometric``: the queues' shares are fixed, and shrink so that slack shrinks
          geometrically
    eps : a fraction from 0 up to but not including 1, such as 0.1 or 1/10, default 0.02
        The share of the arrivals (above saturation: of the link) that is left for the last
        queue; the shares left behind the queues before it shrink to this one by equal factors.
        0.02 to 0.1 under overload.
    load : a number above 0, default 1.1
        The offered load that the geometric map is made for: queue k takes quantiles below (1 -
        eps^(k/(n-1))) / load. With map = geometric only.
    sample : an integer from 1 to 4294967295 (packets), default 1
        One packet in this many enters the window, beginning with the first: a small window then
        spans more time (AIFO section 4.4).
    arithmetic : one of exact, netbench, default exact
        In what numbers the test is done; netbench is for repeating published runs, with compare
        = lt.
        * ``exact``: integers, without rounding
        * ``netbench``: the published simulations' mix of 32- and 64-bit floating point
    occupancy_delay_packets : an integer from 0 to 4096 (packets), default 0
        The test sees the queue lengths that the arrival so many packets before it found, as on
        a switch whose worker packets (AIFO, RIFO) or ghost thread (PACKS) carry them to the
        ingress; 0 is the length of now.
    start_window : a list of integers from 0 to 2^63 - 1 (ranks)
        Ranks that the window holds before the first packet, oldest first. A switch whose
        registers start at 0 has a list of zeros. If absent: the window starts empty and divides
        by the ranks that it holds.

    Raises
    ------
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Notes
    -----
    State in a switch: one register per window slot, and the occupancy of each queue (or of the
    buffer)
    Cost: a count over the window and up to one comparison per queue per enqueue, O(1) per dequeue

    References
    ----------
    PACKS, NSDI 2025, section 4.3, Algorithm 1
    """

    info: Info
    parameters: MappingProxyType[str, Any]
    def __new__(
        cls,
        *,
        queues: int | None = None,
        queue_capacity_packets: int | Sequence[int] | None = None,
        queue_capacity_bytes: int | Sequence[int] | None = None,
        window: int | None = None,
        k: float | str | Decimal | Fraction | None = None,
        shift: int | None = None,
        quantile: Literal["lt", "le"] | None = None,
        update: Literal["before", "after"] | None = None,
        compare: Literal["le", "lt"] | None = None,
        occupancy: Literal["per-queue", "global"] | None = None,
        fall_through: bool | None = None,
        map: Literal["occupancy", "geometric"] | None = None,
        eps: float | str | Decimal | Fraction | None = None,
        load: float | str | Decimal | Fraction | None = None,
        sample: int | None = None,
        arithmetic: Literal["exact", "netbench"] | None = None,
        occupancy_delay_packets: int | None = None,
        start_window: Sequence[int] | None = None,
    ) -> Packs: ...

class Rifo(Scheduler):
    """One queue; a packet enters if its place in the range of recent ranks is below the free share.

    Admitted packets leave in arrival order; admission knows the range of ranks, not their
    distribution.

    Parameters
    ----------
    capacity_packets : an integer from 1 to 16777216 (packets)
        The most packets that the buffer holds, without the one in service. 80 is what all five
        papers give PIFO. If absent: 80 packets, unless capacity_bytes is given.
    capacity_bytes : an integer from 1 to 1099511627776 (bytes)
        The most bytes that the buffer holds: a packet fits if backlog + size stays within.
        Instead of capacity_packets. If absent: the capacity is counted in packets.
    tracking_range_packets : an integer from 1 to 4294967296 (packets), default 500
        T: after this many packets Min and Max restart at the rank of the next packet. 500 is
        the paper's evaluation.
    k : a fraction from 0 up to but not including 1, such as 0.1 or 1/10, default 0.1
        The share of the queue within which every rank is admitted; 0.1 is the paper's
        evaluation.
    mode : one of alg1, eq3, pow2, netbench, default alg1
        The admission test.
        * ``alg1``: the test of Algorithm 1
        * ``eq3``: the test of eq. 3, which admits more if k > 0
        * ``pow2``: eq. 3 on powers of two, as the switch tables compute it
        * ``netbench``: the published simulation: the reversed score against the free share
    reset_counter : an integer from 0 to 1 (packets), default 1
        What the packet counter restarts at: 1 as in Algorithm 1 (period T), 0 as in the paper's
        text (period T + 1).
    occupancy_delay_packets : an integer from 0 to 4096 (packets), default 0
        The test sees the queue lengths that the arrival so many packets before it found, as on
        a switch whose worker packets (AIFO, RIFO) or ghost thread (PACKS) carry them to the
        ingress; 0 is the length of now.

    Raises
    ------
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Notes
    -----
    State in a switch: three registers (Min, Max, counter); pow2 adds three tables of 15 entries and
    two of 256
    Cost: O(1) per operation

    References
    ----------
    RIFO, IEEE/ACM ToN 2025, section III, Algorithm 1
    """

    info: Info
    parameters: MappingProxyType[str, Any]
    def __new__(
        cls,
        *,
        capacity_packets: int | None = None,
        capacity_bytes: int | None = None,
        tracking_range_packets: int | None = None,
        k: float | str | Decimal | Fraction | None = None,
        mode: Literal["alg1", "eq3", "pow2", "netbench"] | None = None,
        reset_counter: int | None = None,
        occupancy_delay_packets: int | None = None,
    ) -> Rifo: ...

class ExpPifo(Scheduler):
    """Strict-priority queues whose bounds grow exponentially up to the highest rank seen lately.

    Ranks that share a queue leave in arrival order, and high ranks share wide queues; a packet is
    dropped when its own queue is full, whatever its rank.

    Parameters
    ----------
    queues : an integer from 1 to 1024 (queues)
        The number of strict-priority queues; queue 0 is served first. 8 is what commodity
        switches offer per port. If absent: 8, or as many as a list of capacities has.
    queue_capacity_packets : an integer from 1 to 16777216, or a list with one for each queue (packets)
        The most packets that each queue holds, or a list with one number for each queue,
        highest priority first. 8 x 10 packets is the papers' usual set-up. If absent: 10
        packets in each queue, unless queue_capacity_bytes is given.
    queue_capacity_bytes : an integer from 1 to 1099511627776, or a list with one for each queue (bytes)
        The most bytes that each queue holds, or a list with one number for each queue. Instead
        of queue_capacity_packets. If absent: the capacities are counted in packets.
    window_packets : an integer from 1 to 4294967296 (packets), default 5000
        C: after this many packets the exponent restarts at the next packet's. 5000 is the
        paper's evaluation.
    r_min : an integer from 1 to 2^63 - 1 (ranks), default 1
        The smallest rank that matters, the bound of the first queue. Where ranks are bytes the
        paper takes the size of the largest packet, 1500.
    beta : one of floor, ceil, default floor
        How log2(rank / r_min) is rounded for the exponent.
        * ``floor``: rounded down (Algorithm 1)
        * ``ceil``: rounded up (Fig. 2)
    mapping : one of comment, bounds, default comment
        How a rank is mapped to a queue.
        * ``comment``: the formula in the comment of Algorithm 1
        * ``bounds``: the bounds of section 2.2, for at most 32 queues
    beta0 : one of first, last, default first
        The queue of every packet while the exponent is 0 and mapping = comment would divide by
        it.
        * ``first``: queue 1, where the prose puts ranks up to b_1
        * ``last``: queue M, what hardware that saturates does
    reset : one of gt, ge, default gt
        When the window ends.
        * ``gt``: when the counter exceeds C (Algorithm 1)
        * ``ge``: when the counter reaches C (the text)

    Raises
    ------
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Notes
    -----
    State in a switch: two registers (exponent, counter) and two look-up tables (0.14 and 2.5 kB)
    Cost: O(1) per operation; O(log queues) per enqueue with mapping = bounds

    References
    ----------
    Exp-PIFO, CoNEXT 2025, section 2.2, Algorithm 1
    """

    info: Info
    parameters: MappingProxyType[str, Any]
    def __new__(
        cls,
        *,
        queues: int | None = None,
        queue_capacity_packets: int | Sequence[int] | None = None,
        queue_capacity_bytes: int | Sequence[int] | None = None,
        window_packets: int | None = None,
        r_min: int | None = None,
        beta: Literal["floor", "ceil"] | None = None,
        mapping: Literal["comment", "bounds"] | None = None,
        beta0: Literal["first", "last"] | None = None,
        reset: Literal["gt", "ge"] | None = None,
    ) -> ExpPifo: ...

class Afq(Scheduler):
    """Approximate fair queueing: a calendar of queues, one round of service each.

    Ranks are ignored: packets leave round by round, and in arrival order within a round; a packet
    too many rounds ahead is dropped.

    Parameters
    ----------
    queues : an integer from 1 to 1024 (queues)
        The number of strict-priority queues; queue 0 is served first. 8 is what commodity
        switches offer per port. If absent: 8, or as many as a list of capacities has.
    queue_capacity_packets : an integer from 1 to 16777216, or a list with one for each queue (packets)
        The most packets that each queue holds, or a list with one number for each queue,
        highest priority first. 8 x 10 packets is the papers' usual set-up. If absent: 10
        packets in each queue, unless queue_capacity_bytes is given.
    queue_capacity_bytes : an integer from 1 to 1099511627776, or a list with one for each queue (bytes)
        The most bytes that each queue holds, or a list with one number for each queue. Instead
        of queue_capacity_packets. If absent: the capacities are counted in packets.
    bytes_per_round : an integer from 1 to 1099511627776 (bytes), default 320
        The bytes that each flow may send in a round. The papers give 320 to 8 queues and 80 to
        32.
    horizon : one of ge, gt, default ge
        What happens to a packet exactly as many rounds ahead as there are queues.
        * ``ge``: a packet n rounds ahead or more is refused
        * ``gt``: a packet exactly n rounds ahead joins the queue being served (the published
          simulations)
    counters : one of exact, sketch, default exact
        How the last bid of each flow is kept.
        * ``exact``: one counter per flow
        * ``sketch``: a count-min sketch of 2 x 16,384 cells, as a switch would

    Raises
    ------
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Notes
    -----
    State in a switch: the round number and one bid per flow (or a sketch of 2 x 16,384 bids)
    Cost: O(1) per enqueue with one division, O(queues) at most per dequeue

    References
    ----------
    AFQ, NSDI 2018 (the comparison of SP-PIFO Fig. 9-10 and AIFO Fig. 13)
    """

    info: Info
    parameters: MappingProxyType[str, Any]
    def __new__(
        cls,
        *,
        queues: int | None = None,
        queue_capacity_packets: int | Sequence[int] | None = None,
        queue_capacity_bytes: int | Sequence[int] | None = None,
        bytes_per_round: int | None = None,
        horizon: Literal["ge", "gt"] | None = None,
        counters: Literal["exact", "sketch"] | None = None,
    ) -> Afq: ...

class Pieo(Scheduler):
    """Sends the lowest rank among the packets that may leave already.

    A packet waits until it is eligible, whatever its rank; where all are eligible it is a PIFO.

    Parameters
    ----------
    capacity_packets : an integer from 1 to 16777216 (packets)
        The most packets that the buffer holds, without the one in service. 80 is what all five
        papers give PIFO. If absent: 80 packets, unless capacity_bytes is given.
    capacity_bytes : an integer from 1 to 1099511627776 (bytes)
        The most bytes that the buffer holds: a packet fits if backlog + size stays within.
        Instead of capacity_packets. If absent: the capacity is counted in packets.

    Raises
    ------
    ParameterError
        A parameter that is unknown, has no effect beside the others, or is out of range.

    Notes
    -----
    State in a switch: an ordered list: O(sqrt n) comparators for n packets
    Cost: O(log n) per operation

    References
    ----------
    PIEO, SIGCOMM 2019, section 3
    """

    info: Info
    parameters: MappingProxyType[str, Any]
    def __new__(
        cls,
        *,
        capacity_packets: int | None = None,
        capacity_bytes: int | None = None,
    ) -> Pieo: ...
