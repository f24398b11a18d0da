"""Which files the user's own Python code reads: a run's key must cover them, or an old result would pass for a new one.

Python tells of every file that is opened through it (``sys.addaudithook``). What a library opens by itself, such as
polars a Parquet file, it does not see.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pifolab.errors import InputError
from pifolab.provenance import DATA_FILES, is_installed

__all__ = ["check_reads", "noted_reads"]

#: Where the reads of the blocks that are open now are noted; empty outside of runs, when there is nothing to note.
_notes: list[set[str]] = []

_is_hooked = False

#: Of each set of Python files with their content what was read so far: a module reads when it is imported, once.
_seen: dict[tuple[tuple[str, str], ...], set[str]] = {}

#: Files of the system and of tools: devices, what the kernel tells, time zones, caches of libraries and the like.
_SYSTEM = (
    *map(Path, ("/dev", "/etc", "/proc", "/sys", "/usr", sys.prefix, sys.base_prefix)),
    *(Path.home() / name for name in (".cache", ".config", ".local")),
)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or not _notes:
        return
    path, mode, flags = arguments
    reads = not flags & (os.O_WRONLY | os.O_RDWR) if mode is None else not {"w", "x", "a"} & set(mode)
    if reads and isinstance(path, (str, bytes, os.PathLike)):
        for note in _notes:
            note.add(os.path.abspath(os.fsdecode(path)))  # noqa: PTH100 (`Path` would cost more, and opens nothing either)


@contextmanager
def noted_reads(digests: Mapping[str, str]) -> Iterator[None]:
    """Note what is read in the block, to be judged by `check_reads` with the same digests.

    Parameters
    ----------
    digests : mapping of str to str
        The digests of the Python files of a run and of all that belongs to them, by their absolute paths.
    """
    global _is_hooked
    if not digests:
        yield
        return
    if not _is_hooked:
        # There is no way to take it off again.
        sys.addaudithook(_hook)
        _is_hooked = True
    note = _seen.setdefault(tuple(sorted(digests.items())), set())
    _notes.append(note)
    try:
        yield
    finally:
        # Another list may equal this one.
        _notes.pop(next(place for place, one in enumerate(_notes) if one is note))


def check_reads(digests: Mapping[str, str]) -> None:
    """Refuse a run that has read a file of the user's which its key does not cover.

    Raises
    ------
    InputError
        There is one; the text names it, and where it is to be listed.
    """
    known = {os.path.realpath(path) for path in digests}
    for path in sorted(_seen.get(tuple(sorted(digests.items())), ())):
        whole = Path(os.path.realpath(path))
        if str(whole) in known or is_installed(whole) or any(whole.is_relative_to(folder) for folder in _SYSTEM):
            continue
        try:
            if not stat.S_ISREG(whole.stat().st_mode):
                continue
        except OSError:
            # It was looked for, and is not there.
            continue
        raise InputError(
            f"{path}: the run has read this file, which its key does not cover: list it in the module that reads it, "
            f"such as {DATA_FILES} = [{whole.name!r}]"
        )
