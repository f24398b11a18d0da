"""Ctrl-C and SIGTERM while Python cannot answer them: compiled code works, or a plug-in."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from pifolab import _pifolab

_T = TypeVar("_T")

#: Where Python writes the numbers of signals once they are watched.
_watched: list[int] = []


class TerminatedError(BaseException):
    """SIGTERM came; like Ctrl-C it is not caught by code that handles faults."""


def is_stop(error: BaseException) -> bool:
    """Return whether `error` is the answer to Ctrl-C or SIGTERM, and not the fault of a plug-in."""
    return isinstance(error, (KeyboardInterrupt, TerminatedError))


def watch() -> None:
    """Let the second Ctrl-C or SIGTERM end the process within two seconds, whatever is at work.

    If a plug-in is at work two seconds after the first, that one ends the process. For the main thread of a command.
    """
    _watched.append(_pifolab.watch_signals())
    _write_signals(_watched[-1])


def leave_in_order() -> None:
    """Let a command that has answered a signal end in order, although a plug-in is at work on a thread of its own."""
    _pifolab.leave_in_order()


@contextmanager
def unwatched() -> Iterator[None]:
    """Leave signals in the block to a program that this one waits for: it may take long to end in order."""
    before = _write_signals(-1)
    try:
        yield
    finally:
        _write_signals(before)


def calling_plug_in(body: Callable[[], _T]) -> _T:
    """Return what `body` returns, which runs code of the user's; Ctrl-C and SIGTERM are answered as before after it."""
    with kept_handlers():
        return _pifolab.call_plug_in(body)


@contextmanager
def kept_handlers() -> Iterator[None]:
    """Answer Ctrl-C and SIGTERM after the block as before it: some modules take signals when they are imported."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                # None: it was not set by Python.
                if handler is not None and signal.getsignal(number) is not handler:
                    signal.signal(number, handler)
            if _watched:
                _write_signals(_watched[-1])


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


def _write_signals(descriptor: int) -> int:
    return signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
