"""Schedulers, rank functions, congestion controllers and observers of your own, written in Python.

They run in the same scenarios on the same packets as the built-in ones, 2 to 15 times slower: they are meant for trying
an idea in twenty lines before it is written in Rust. docs/python.md has an example of each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from pifolab._pifolab import Ack, Dropped, NotBefore, Packet, Stream, Window


class PythonScheduler(ABC):
    """A scheduler written in Python.

    The run checks the contract: it sends and drops only packets that it holds, and returns one as long as it holds any.

    Attributes
    ----------
    queues : int
        The number of its queues, for tables and figures. Default: 1.
    bounds : sequence of int or None, or None
        The bound of each queue at this moment, for samples; None if it has none.
    wants_facts : bool
        If True, `facts` is set when `enqueue` is called.
    facts : Facts
        The facts about the arriving packet.
    wants_label : bool
        If True, `label` is read and written.
    label : int or None
        A number from 0 to 2^64 - 1 that travels with a packet from hop to hop. When `enqueue` is called it is the one
        that the arriving packet carries, 0 if no earlier hop wrote one; the value of `label` at the return of
        `enqueue` travels on. When `dequeue` is called it is None; another value replaces the label of the packet sent.
    stream : Stream
        Random numbers that follow from the seed of the run and the port; set before the first call, but not yet in
        ``__init__``. Other randomness makes a run that nobody can repeat.

    Examples
    --------
    The newest packet first, with room for `capacity_packets`:

    >>> import pifolab
    >>> class Lifo(pifolab.PythonScheduler):
    ...     def __init__(self, capacity_packets):
    ...         self.stack, self.capacity = [], capacity_packets
    ...
    ...     def enqueue(self, packet, now_ns):
    ...         if len(self.stack) == self.capacity:
    ...             return packet
    ...         self.stack.append(packet)
    ...
    ...     def dequeue(self, now_ns):
    ...         return self.stack.pop() if self.stack else None
    """

    queues: int = 1
    bounds: Sequence[int | None] | None = None
    wants_facts: bool = False
    facts: Facts
    wants_label: bool = False
    label: int | None
    stream: Stream

    @abstractmethod
    def enqueue(
        self, packet: Packet, now_ns: int
    ) -> int | Packet | Dropped | Sequence[Packet] | tuple[int, Sequence[Packet]] | None:
        """Take in `packet`, which arrives at `now_ns`, and return the outcome.

        Returns
        -------
        None, int, Packet, Dropped, sequence of Packet, or tuple of int and such a sequence
            None: it is kept. An integer: it is kept, in the queue of that number (0 leaves first). The arriving packet
            itself: refused for lack of room. ``Dropped(reason, packet)``: refused for `reason`. Other packets: these
            were pushed out for it, and it is kept in queue 0, or in that of the number before them.
        """

    @abstractmethod
    def dequeue(self, now_ns: int) -> Packet | NotBefore | None:
        """Return the packet to send at `now_ns`; None if none waits; `NotBefore` if none may leave yet."""


class Facts(NamedTuple):
    """Facts about a packet beside its fields; 0 or None if the workload does not have them."""

    flow_size_bytes: int
    remaining_bytes: int
    unacknowledged_bytes: int
    deadline_ns: int | None
    remaining_transmission_ns: int
    delay_so_far_ns: int
    mean_delay_so_far_ns: int


class PythonRank(ABC):
    """A rank function written in Python.

    Attributes
    ----------
    wants_facts : bool
        If True, `facts` is set when `rank` is called.
    facts : Facts
        The facts about the packet that `rank` gets.
    wants_label, label, stream
        As those of a `PythonScheduler`: `rank` reads the label and may replace it, `on_dequeue` may replace it.

    Examples
    --------
    The size of the packet: small ones first.

    >>> import pifolab
    >>> class SmallFirst(pifolab.PythonRank):
    ...     def rank(self, packet, now_ns):
    ...         return packet.size_bytes

    The remaining bytes of its flow: short ones first.

    >>> class ShortFirst(pifolab.PythonRank):
    ...     wants_facts = True
    ...
    ...     def rank(self, packet, now_ns):
    ...         return self.facts.remaining_bytes
    """

    wants_facts: bool = False
    facts: Facts
    wants_label: bool = False
    label: int | None
    stream: Stream

    @abstractmethod
    def rank(self, packet: Packet, now_ns: int) -> int:
        """Return the rank of `packet`, which arrives at `now_ns`: an integer from 0 to 2^63 - 1."""

    def on_dequeue(self, packet: Packet, now_ns: int) -> None:  # noqa: B027
        """Note that `packet` leaves at `now_ns`; its rank is the one that it was given."""

    def on_drop(self, packet: Packet, now_ns: int) -> None:  # noqa: B027
        """Note that `packet` is refused or pushed out at `now_ns`; its rank is the one that it was given."""


class Flow(NamedTuple):
    """A flow, for a congestion controller."""

    id: int
    src: int
    dst: int
    size_bytes: int
    start_ns: int


class PythonController(ABC):
    """A congestion controller written in Python; one is made for each flow when it starts.

    The transport that the scenario names does the rest: handshake, retransmission, recovery and timers. During fast
    recovery the transport inflates and deflates the window (RFC 6582).

    Attributes
    ----------
    flow : Flow
        The flow; set before the first call, but not yet in ``__init__``.

    Examples
    --------
    TCP NewReno:

    >>> import pifolab
    >>> class MyReno(pifolab.PythonController):
    ...     def on_new_ack(self, window, ack):
    ...         window.grow_like_reno()
    ...
    ...     def on_loss(self, window, flight_bytes, now_ns):
    ...         window.ssthresh_bytes = max(flight_bytes // 2, 2 * window.mss_bytes)
    ...
    ...     def on_timeout(self, window, flight_bytes, now_ns):
    ...         window.ssthresh_bytes = max(flight_bytes / 2, 2 * window.mss_bytes)
    ...         window.cwnd_bytes = window.mss_bytes
    """

    flow: Flow

    @abstractmethod
    def on_new_ack(self, window: Window, ack: Ack) -> None:
        """Grow the window if needed: new data was acknowledged outside recovery."""

    def on_any_ack(self, window: Window, ack: Ack) -> None:  # noqa: B027
        """Note any acknowledgement, new or duplicate, after losses were handled."""

    @abstractmethod
    def on_loss(self, window: Window, flight_bytes: int, now_ns: int) -> None:
        """Set the threshold: duplicate acknowledgements show a loss, with `flight_bytes` under way."""

    @abstractmethod
    def on_timeout(self, window: Window, flight_bytes: int, now_ns: int) -> None:
        """Set the threshold and the window: the retransmission timer expired with `flight_bytes` under way."""


class PythonObserver:
    """Watches output ports and changes nothing; one is made for each scheduler and seed.

    Attributes
    ----------
    ports : collection of int or None
        The ports to watch, by number; None for all. On one link there is port 0 only. A few ports cost little; all
        ports of a large network are slow.

    Examples
    --------
    How long packets wait at port 0, per scheduler:

    >>> import pifolab
    >>> class Waits(pifolab.PythonObserver):
    ...     ports = [0]
    ...
    ...     def __init__(self):
    ...         self.waits_ns = []
    ...
    ...     def on_dequeue(self, port, packet, queue, now_ns):
    ...         self.waits_ns.append(now_ns - packet.arrival_ns)
    >>> result = pifolab.run_text('''
    ...     duration_s = 0.001
    ...     link = { rate_gbps = 10 }
    ...     workload = { arrivals = "constant", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }
    ...     scheduler = [{ name = "fifo" }]
    ... ''', observers={"waits": Waits})
    >>> watched = result.observers["waits"][0]
    >>> watched.seed, watched.scheduler, len(watched.observer.waits_ns)
    (1, 'fifo', 834)
    """

    ports: Collection[int] | None = None

    def on_admit(self, port: int, packet: Packet, queue: int, now_ns: int) -> None:
        """Note that `packet` was stored in `queue` of `port`."""

    def on_drop(self, port: int, packet: Packet, reason: str, now_ns: int) -> None:
        """Note that `packet` was lost at `port`: ``"pushed-out"`` if it was resident, otherwise refused on arrival."""

    def on_dequeue(self, port: int, packet: Packet, queue: int, now_ns: int) -> None:
        """Note that `packet` left `queue` of `port` for the wire."""

    def on_end(self, now_ns: int) -> None:
        """Note that the run has ended."""

    def table(self) -> Mapping[str, Any] | None:
        """Return columns (name to values of one length) for a table of the run that is named after the observer.

        The run puts `seed` and `scheduler` in front. Default: None, no table.
        """
        return None
