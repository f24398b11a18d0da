"""What each scheduler would keep in a switch, counted from its algorithm: registers and bytes of look-up tables.

These are counts, not measurements on a switch: one register for each value that changes with the packets, and the bits
of the tables that an implementation without multiplication needs. Pipeline stages depend on the compiler and are not
given. Each scheduler's count stands in its row of the library's registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pifolab import _pifolab, info

__all__ = ["Cost", "cost"]


@dataclass(frozen=True)
class Cost:
    """Registers and table bytes of one scheduler, and how they were counted."""

    registers: int
    table_bytes: float
    counted: str


def cost(name: str, parameters: Mapping[str, Any] | None = None) -> Cost | None:
    """Return the cost of a scheduler with these parameters, None where no switch has it (a sorted queue, say).

    Examples
    --------
    >>> cost("sp-pifo", {"queues": 8}).registers
    8
    >>> cost("rifo").table_bytes
    1226.5
    >>> cost("pifo") is None
    True
    """
    if all(about.name != name for about in info.schedulers()):
        return None
    counted = _pifolab.switch_cost(name, dict(parameters or {}))
    return None if counted is None else Cost(*counted)
