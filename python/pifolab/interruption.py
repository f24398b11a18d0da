"""Ctrl-C while compiled code works, which Python looks at only when that returns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["interruptible"]

_T = TypeVar("_T")


def interruptible(work: Callable[[], _T]) -> _T:
    """Return what `work` returns; Ctrl-C does not wait for it.

    It runs on a thread of its own, which an interruption leaves behind: what it does must not matter then, such
    as writing to a buffer.

    Examples
    --------
    >>> interruptible(lambda: 6 * 7)
    42
    """
    results: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    # Nothing waits for a daemon when the process ends.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    # A signal that comes just before a wait does not end it.
    while thread.is_alive():
        thread.join(0.05)
    if errors:
        raise errors[0]
    return results[0]
