"""SIGTERM as an exception, so that half-written output is removed; and Ctrl-C that a library swallows."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from pifolab.interruption import TerminatedError, answer

__all__ = ["INTERRUPTED", "TERMINATED", "TerminatedError", "interruptions", "terminable"]

#: The exit status of a command that Ctrl-C or SIGTERM ended, in the convention of shells.
INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM


@contextmanager
def terminable() -> Iterator[None]:
    """Raise `TerminatedError` in the block when SIGTERM comes; a second one does not disturb the cleaning up."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread gets signals.
        yield
        return

    def terminate(number: int, frame: FrameType | None) -> None:
        del number, frame
        # Not `signal.SIG_IGN`: the second one must be counted.
        answer(signal.SIGTERM, lambda number, frame: None)
        raise TerminatedError

    before = answer(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        # A second signal does not interrupt the last messages either.
        if signal.getsignal(signal.SIGTERM) is terminate:
            answer(signal.SIGTERM, signal.SIG_DFL if before is None else before)


@contextmanager
def interruptions() -> Iterator[list[bool]]:
    """Yield a list that is not empty once Ctrl-C was pressed in the block.

    Where compiled code of a library calls Python, it may ignore a `KeyboardInterrupt`, which is then raised again, or
    raise another exception in its place.
    """
    pressed: list[bool] = []
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield pressed
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        pressed.append(True)
        signal.default_int_handler(number, frame)

    def ignored(what: Any) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            # Raised here it would be ignored, too.
            threading.Timer(0.05, _thread.interrupt_main).start()
        else:
            before(what)

    before = sys.unraisablehook
    sys.unraisablehook = ignored
    answer(signal.SIGINT, interrupt)
    try:
        yield pressed
    finally:
        answer(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = before
