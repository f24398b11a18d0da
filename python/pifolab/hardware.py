"""The state of each scheduler in a switch, counted from its algorithm: registers and bytes of look-up tables.

These are counts, not measurements on a switch: one register for each value that changes with the packets, and the bits
of the tables that an implementation without multiplication needs. Pipeline stages depend on the compiler and are not
given. Each scheduler's count stands in its row of the library's registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pifolab import _pifolab, info


@dataclass(frozen=True)
class Cost:
    """Registers, table bytes and operations for each packet of one scheduler, and how they were counted."""

    registers: int
    table_bytes: float
    #: Comparisons with registers, look-ups and changes of registers for one packet, in the most expensive case.
    operations: int
    counted: str

    @property
    def state_bits(self) -> int:
        """Bits of the registers, 32 each."""
        return 32 * self.registers

    @property
    def total_bits(self) -> float:
        """Bits of the registers and of the tables."""
        return self.state_bits + 8 * self.table_bytes


def cost(name: str, parameters: Mapping[str, Any] | None = None) -> Cost | None:
    """Return the cost of a scheduler with these parameters; None if no switch can have it, such as a sorted queue.

    Examples
    --------
    >>> cost("sp-pifo", {"queues": 8}).registers
    8
    >>> cost("slack-sp", {"queues": 16}).state_bits
    480
    >>> cost("packs", {"window": 1000}).operations
    1010
    >>> cost("rifo").table_bytes
    1226.5
    >>> cost("pifo") is None
    True
    """
    if all(about.name != name for about in info.schedulers()):
        return None
    counted = _pifolab.switch_cost(name, dict(parameters or {}))
    return None if counted is None else Cost(*counted)
