"""Libraries that take a moment to load, each loaded when something of it is used first.

Import them from here: most commands, such as `pifolab show`, need neither frames nor figures.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["mpl", "np", "pl"]


class _Lazy:
    """A module that is imported when it is asked for something."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


if TYPE_CHECKING:
    import matplotlib as mpl
    import numpy as np
    import polars as pl
else:
    mpl, np, pl = _Lazy("matplotlib"), _Lazy("numpy"), _Lazy("polars")
