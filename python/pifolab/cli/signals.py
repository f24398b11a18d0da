"""SIGTERM as an exception, so that unfinished files are removed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["TERMINATED", "TerminatedError", "terminable"]

#: The exit status of a command that SIGTERM ended, as a shell tells it.
TERMINATED = 128 + signal.SIGTERM


class TerminatedError(BaseException):
    """SIGTERM came; like Ctrl-C it is not caught by code that handles faults."""


@contextmanager
def terminable() -> Iterator[None]:
    """Raise `TerminatedError` in the block when SIGTERM comes; a second one does not disturb the cleaning up."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread is told of signals.
        yield
        return

    def terminate(number: int, frame: FrameType | None) -> None:
        del number, frame
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise TerminatedError

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)
