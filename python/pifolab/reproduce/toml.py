"""Reads TOML with errors of one line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pifolab.errors import InputError
from pifolab.text import read_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["read_toml"]


def read_toml(path: Path) -> dict[str, Any]:
    """Return what the file holds.

    Raises
    ------
    InputError
        It cannot be read, or is invalid TOML; the text names file and line.
    """
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from None
