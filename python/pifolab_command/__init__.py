"""Where the command `pifolab` begins: it answers Ctrl-C before the package is loaded, which takes a moment.

A package of its own, since whatever lies in `pifolab` is preceded by all that `import pifolab` loads.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
from types import FrameType

__all__ = ["main"]


def main() -> int:
    """Load the command, run it on the command line of the process, and return the exit status."""
    # If a command is started with Ctrl-C ignored, as by `nohup` and scripts, it stays ignored.
    answered = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if answered:
        signal.signal(signal.SIGINT, _end)
    # What is registered first is called last.
    atexit.register(_leave)
    import pifolab.cli.commands  # noqa: F401
    from pifolab.cli import main as run

    if answered:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    status = run()
    if status == _INTERRUPTED:
        _interrupted.append(True)
    return status


_INTERRUPTED = 130
_interrupted: list[bool] = []


def _leave() -> None:
    """End after Ctrl-C without taking apart what is in memory.

    That takes a second for gigabytes, and compiled code that an interruption left behind on another thread may still
    work on it.
    """
    if _interrupted:
        for stream in (sys.stdout, sys.stderr):
            # The reader of our output may have gone.
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(_INTERRUPTED)


def _end(number: int, frame: FrameType | None) -> None:
    """End at once: nothing is begun yet, and a module that is half loaded may answer an exception with another one."""
    del number, frame
    os.write(2, b"pifolab: interrupted\n")
    os._exit(_INTERRUPTED)
