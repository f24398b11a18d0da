"""Libraries that take a moment to load, each loaded when something of it is used first.

Import them from here: most commands, such as `pifolab show`, need neither frames nor figures.
"""

from __future__ import annotations

import importlib
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

__all__ = ["check_space", "mpl", "np", "pl"]

#: The address space that the libraries take, with the threads that a limited command lets them start, and room to work.
_SPACE_BYTES = 1_000_000_000


def check_space() -> None:
    """Where the address space is limited, load the libraries, or refuse if they would fail or end the process."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or "polars" in sys.modules or sys.platform != "linux":
        return
    used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    if most - used < _SPACE_BYTES:
        raise MemoryError(
            f"the address space is limited to {most / 1e6:.0f} MB: expected at least "
            f"{(used + _SPACE_BYTES) / 1e6:.0f} MB (`ulimit -v` counts KiB)"
        )
    importlib.import_module("polars")


class _Lazy:
    """A module that is imported when it is asked for something."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if self._name not in sys.modules:
            check_space()
        return getattr(importlib.import_module(self._name), name)


if TYPE_CHECKING:
    import matplotlib as mpl
    import numpy as np
    import polars as pl
else:
    mpl, np, pl = _Lazy("matplotlib"), _Lazy("numpy"), _Lazy("polars")
