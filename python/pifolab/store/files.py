"""Files of a store: written whole and synced to the disk, and read only if they are what was written."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import stat
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from pifolab.lazy import pl
from pifolab.store.sealed import DamagedError

__all__ = ["bytes_of", "checked_bytes", "remove", "sync_folder", "table_of", "write_synced", "write_whole"]

#: So many files of a run are synced at the same time.
_SYNC_THREADS = 8


def bytes_of(file: Path) -> bytes:
    """Read a file of the store; raises `DamagedError` if there is none that can be read."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise DamagedError(f"{file.name} is not a regular file")
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise DamagedError(f"{file.name} is missing") from None
    except OSError as error:
        raise DamagedError(f"{file.name} cannot be read: {error.strerror}") from None


def checked_bytes(file: Path, digest: str) -> bytes:
    """Read a file of the store; raises `DamagedError` if its SHA-256 is not `digest`."""
    content = bytes_of(file)
    if hashlib.sha256(content).hexdigest() != digest:
        raise DamagedError(f"{file.name} differs from what was written")
    return content


def table_of(content: bytes, name: str) -> pl.DataFrame:
    """Read a table whose checksum was right."""
    try:
        return pl.read_parquet(io.BytesIO(content))
    except pl.exceptions.PolarsError:
        raise DamagedError(f"{name} is not a table") from None


def remove(path: Path) -> None:
    """Remove a folder with all that is in it, or a file; what cannot be removed or does not exist stays so."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def write_synced(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write `files` to `folder`, and return when they and its list of names are on the disk."""
    with ExitStack() as opened, ThreadPoolExecutor(_SYNC_THREADS) as pool:
        descriptors = [os.open(folder, os.O_RDONLY | os.O_DIRECTORY)]
        opened.callback(os.close, descriptors[0])
        for name, content in files.items():
            file = opened.enter_context((folder / name).open("xb"))
            file.write(content)
            file.flush()
            descriptors.append(file.fileno())
        # All at once: a journal writes what several wait for in one go, which takes a fraction of the time.
        list(pool.map(os.fsync, descriptors))


def write_whole(path: Path, content: bytes, temporary: Path) -> None:
    """Replace a file by way of a temporary one."""
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.rename(path)
    except BaseException as fault:
        temporary.unlink(missing_ok=True)
        if isinstance(fault, OSError):
            # The file that was asked for, not the temporary one.
            raise OSError(fault.errno, fault.strerror, str(path)) from None
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Return when the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
