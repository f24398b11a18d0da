"""Schedulers and rank functions of your own, written in Python, beside the built-in ones.

They run in the same scenarios on the same arrivals, about a thousand times slower than those in Rust: made for trying
an idea in twenty lines before it is written in Rust.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from pifolab._pifolab import Dropped, NotBefore, Packet

__all__ = ["PythonRank", "PythonScheduler"]


class PythonScheduler(ABC):
    """A scheduler written in Python.

    The run holds it to the contract: it sends and gives up only packets that it holds, and hands one out as long as it
    holds any.

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

    @abstractmethod
    def enqueue(self, packet: Packet, now_ns: int) -> Packet | Dropped | Sequence[Packet] | None:
        """Take in `packet`, which arrives at `now_ns`, and return what is not kept.

        Returns
        -------
        None, Packet, Dropped or sequence of Packet
            None: it is kept. The arriving packet itself: refused for lack of room. ``Dropped(reason, packet)``: refused
            for `reason`. Other packets: these were pushed out for it.
        """

    @abstractmethod
    def dequeue(self, now_ns: int) -> Packet | NotBefore | None:
        """Return the packet to send at `now_ns`; None if none waits; `NotBefore` if none may leave yet."""


class PythonRank(ABC):
    """A rank function written in Python.

    Examples
    --------
    The size of the packet: small ones first.

    >>> import pifolab
    >>> class SmallFirst(pifolab.PythonRank):
    ...     def rank(self, packet, now_ns):
    ...         return packet.size_bytes
    """

    @abstractmethod
    def rank(self, packet: Packet, now_ns: int) -> int:
        """Return the rank of `packet`, which arrives at `now_ns`: an integer from 0 to 2^63 - 1."""

    def on_dequeue(self, packet: Packet, now_ns: int) -> None:  # noqa: B027
        """Note that `packet` leaves at `now_ns`; its rank is the one that it was given."""

    def on_drop(self, packet: Packet, now_ns: int) -> None:  # noqa: B027
        """Note that `packet` is refused or pushed out at `now_ns`; its rank is the one that it was given."""
