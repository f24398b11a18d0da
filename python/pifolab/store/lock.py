"""The lock on a run: who computes it, so that two sweeps on one store do not do the same work twice.

The lock is the kernel's, on a file: the kernel releases the locks of a process that dies, so no lock is ever stale.
Locks save work only; that a run is written whole or not at all is the store's concern.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat

from pifolab.store.files import Folder


class RunLock:
    """The lock on a run that this process computes. Release it, or leave the `with` block."""

    def __init__(self, folder: Folder, name: str, descriptor: int) -> None:
        self._folder = folder
        self._name = name
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, folder: Folder, name: str) -> RunLock | None:
        """Lock the file `name` in `folder`; None if another process holds it.

        Raises `OSError` if it cannot be made, or is something else than the empty file that a lock is.
        """
        while True:
            descriptor = folder.open(name, os.O_RDWR | os.O_CREAT)
            try:
                state = os.fstat(descriptor)
                if not stat.S_ISREG(state.st_mode) or state.st_size:
                    raise OSError(errno.EINVAL, "is not a lock of pifolab: remove it", str(folder.path / name))
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Between opening and locking, its last holder may have removed the file: then the lock is on nothing.
                there = folder.state(name)
                if there is not None and there.st_ino == state.st_ino:
                    return cls(folder.copy(), name, descriptor)
            except BlockingIOError:
                os.close(descriptor)
                return None
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def release(self) -> None:
        """Give it up; a second time does nothing."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        try:
            with self._folder as folder:
                folder.unlink(self._name)
        finally:
            os.close(descriptor)

    def __enter__(self) -> RunLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
