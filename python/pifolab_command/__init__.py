"""Where the command `pifolab` begins: it answers Ctrl-C before the package is loaded, which takes a moment.

A package of its own, since whatever lies in `pifolab` is preceded by all that `import pifolab` loads.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import resource
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
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)
    # What is registered first is called last.
    atexit.register(_leave)
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    roomy_bytes = _ROOMY_BYTES + _ROOMY_BYTES_PER_PROCESSOR * (os.cpu_count() or 1)
    narrow = most != resource.RLIM_INFINITY and most < roomy_bytes
    if narrow:
        # Every thread of these libraries takes tens of megabytes of address space, and more for its allocator.
        for name, value in _FEW_THREADS.items():
            os.environ.setdefault(name, value)
    try:
        import pifolab.cli.commands  # noqa: F401
        from pifolab.cli import main as run
        from pifolab.interruption import answer, watch

        watch()
    except (MemoryError, ImportError, OSError, SystemError) as error:
        # Without room for its stack, a thread is refused with EAGAIN; without any, Python loses its own error.
        if not (_lacks_memory(error) or (narrow and isinstance(error, (BlockingIOError, SystemError)))):
            raise
        os.write(2, b"pifolab: out of memory while the command is loaded: expected a higher limit (`ulimit -v`)\n")
        return 2
    if answered:
        answer(signal.SIGINT, signal.default_int_handler)
    try:
        status = run()
    except KeyboardInterrupt:
        # A second one, while the first was being answered.
        os.write(2, _LINE)
        status = _INTERRUPTED
    if status in (_INTERRUPTED, _TERMINATED):
        # One more says nothing new. Whatever hangs from here on, it ends all the same.
        for number in (signal.SIGINT, signal.SIGTERM):
            answer(number, lambda number, frame: None)
        _stopped.append(status)
    return status


_FEW_THREADS = {
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "_RJEM_MALLOC_CONF": "background_thread:false,narenas:1",
}
_ROOMY_BYTES, _ROOMY_BYTES_PER_PROCESSOR = 4_000_000_000, 1_000_000_000
#: How the loader of shared objects says that memory is refused.
_NO_MEMORY = ("failed to map segment", "annot allocate memory", "can't start new thread")
_LINE = b"pifolab: interrupted\n"
_INTERRUPTED, _TERMINATED = 130, 143
_stopped: list[int] = []


def _lacks_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    return any(sign in str(error) for sign in _NO_MEMORY)


def _leave() -> None:
    """End after Ctrl-C or SIGTERM without taking apart what is in memory.

    That takes a second for gigabytes, and compiled code that an interruption left behind on another thread may still
    work on it.
    """
    for status in _stopped:
        for stream in (sys.stdout, sys.stderr):
            # The reader of our output may have gone.
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)


def _end(number: int, frame: FrameType | None) -> None:
    """End at once: nothing is begun yet, and a module that is half loaded may answer an exception with another one."""
    del frame
    os.write(2, _LINE if number == signal.SIGINT else b"pifolab: terminated\n")
    os._exit(128 + number)
