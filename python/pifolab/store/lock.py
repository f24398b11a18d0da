"""The lock on a run: who computes it, so that two sweeps on one store do not do the same work twice.

The lock is the kernel's, on a file: the kernel releases the locks of a process that dies, so no lock is ever stale.
Locks save work only; that a run is written whole or not at all is the store's concern.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

__all__ = ["RunLock"]


class RunLock:
    """The lock on a run that this process computes. Release it, or leave the `with` block."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, path: Path) -> RunLock | None:
        """Lock `path`, whose folder exists; None if another process holds it."""
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Between opening and locking, its last holder may have removed the file: then the lock is on nothing.
                if os.fstat(descriptor).st_ino == path.stat().st_ino:
                    return cls(path, descriptor)
            except BlockingIOError:
                os.close(descriptor)
                return None
            except FileNotFoundError:
                pass
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def release(self) -> None:
        """Give it up; a second time does nothing."""
        if self._descriptor is None:
            return
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = None

    def __enter__(self) -> RunLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
