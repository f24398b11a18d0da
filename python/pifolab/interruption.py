"""Ctrl-C and SIGTERM while Python cannot answer them: compiled code works, or a plug-in."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pifolab import _pifolab

_T = TypeVar("_T")


class TerminatedError(BaseException):
    """SIGTERM came; like Ctrl-C it is not caught by code that handles faults."""


def is_stop(error: BaseException) -> bool:
    """Return whether `error` is the answer to Ctrl-C or SIGTERM, and not the fault of a plug-in."""
    return isinstance(error, (KeyboardInterrupt, TerminatedError))


def watch() -> None:
    """Let the second Ctrl-C or SIGTERM end the process within two seconds, whatever is at work.

    If a plug-in is at work two seconds after the first, that one ends the process. For the main thread of a command.
    """
    _pifolab.watch_signals()


def answer(number: int, handler: Any) -> Any:
    """Answer a signal by `handler` and return the one before; where signals are watched, it is counted as before."""
    before = signal.signal(number, handler)
    _pifolab.count_signals()
    return before


def leave_in_order() -> None:
    """Let a command that has answered a signal end in order, although a plug-in is at work on a thread of its own."""
    _pifolab.leave_in_order()


@contextmanager
def unwatched() -> Iterator[None]:
    """Leave signals in the block to a program that this one waits for: it may take long to end in order."""
    before = _pifolab.leave_signals_alone(True)
    try:
        yield
    finally:
        _pifolab.leave_signals_alone(before)


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
                    answer(number, handler)


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
