"""The temporary folders of compiled programs, and what to do with those that a killed command left.

Each has a file that its command keeps locked. Whatever ends the command, kill -9 included, ends the lock, so that a
folder whose lock is free is abandoned.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["remove_left", "workspace"]

_PREFIX = "pifolab-p4-"
_LOCK = "pifolab-p4.lock"


@contextmanager
def workspace() -> Iterator[Path]:
    """Yield a temporary folder that vanishes when the block ends, and that :func:`remove_left` finds if it cannot."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        made = Path(folder) / f"{_LOCK}.new"
        # Not inherited by the compilers and the switch: it ends with this process.
        descriptor = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # It never has this name without being locked.
            made.rename(Path(folder) / _LOCK)
            yield Path(folder)
        finally:
            os.close(descriptor)


def remove_left() -> list[Path]:
    """Remove the folders of this user's commands that have ended without removing them; return those removed.

    A folder is removed only if it is in the temporary folder, belongs to this user, and has a lock that is not held.
    """
    removed = []
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")):
        try:
            if folder.is_symlink() or not folder.is_dir() or folder.stat().st_uid != os.geteuid():
                continue
            descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            # Gone since, or not one of these.
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue
        else:
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                removed.append(folder)
        finally:
            os.close(descriptor)
    return removed
