"""What each scheduler would keep in a switch, counted from its algorithm: registers and bytes of look-up tables.

These are counts, not measurements on a switch: one register for each value that changes with the packets, and the bits
of the tables that an implementation without multiplication needs. Pipeline stages depend on the compiler and are not
given. Where a table's layout comes from is said beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Cost", "cost"]


@dataclass(frozen=True)
class Cost:
    """Registers and table bytes of one scheduler, and how they were counted."""

    registers: int
    table_bytes: float
    counted: str


def _queue_lengths(queues: int) -> str:
    return f"{queues} queue lengths come from the traffic manager"


def cost(name: str, parameters: Mapping[str, Any] | None = None) -> Cost | None:
    """Return the cost of a scheduler with these parameters, None where no switch has it (a sorted queue).

    Examples
    --------
    >>> cost("sp-pifo", {"queues": 8}).registers
    8
    >>> cost("rifo").table_bytes
    1226.5
    >>> cost("pifo") is None
    True
    """
    given = parameters or {}
    queues, window = int(given.get("queues", 8)), int(given.get("window", 0))
    if name == "fifo":
        return Cost(0, 0.0, "nothing")
    if name == "strict-priority":
        return Cost(0, 0.0, "fixed bounds are entries of a match table, not state")
    if name == "sp-pifo":
        return Cost(queues, 0.0, "one bound for each queue")
    if name == "sp-pifo-greedy":
        return Cost(5 * queues, 0.0, "for each queue a bound and four counters (SP-PIFO, appendix A)")
    if name == "aifo":
        slots = window or 20
        return Cost(slots + 1, 0.0, f"{slots} ranks of the window and its position")
    if name == "packs":
        slots = window or 1000
        return Cost(slots + 1, 0.0, f"{slots} ranks of the window and its position; {_queue_lengths(queues)}")
    if name == "rifo":
        # RIFO section V: three tables of 15 ternary entries of 36 bits, one of 16 x 16 products of 4 bytes.
        return Cost(3, 3 * 15 * 36 / 8 + 256 * 4, "Min, Max and a counter; 3 x 15 entries of 36 bits, 256 of 4 bytes")
    if name == "exp-pifo":
        # Exp-PIFO section 2.3: 2^12 entries of 5 bits for the queue; 33 range entries of 33 bits for the logarithm.
        return Cost(
            2, 2**12 * 5 / 8, "exponent and counter; 4096 entries of 5 bits (the logarithm takes 1089 bits more)"
        )
    if name == "afq":
        return Cost(2 * 16_384 + 1, 0.0, "the round and a count-min sketch of 2 x 16,384 bids")
    return None
