"""Files of a store: written whole and synced to the disk, and read only if they are unchanged.

Below the folder that the user names, everything is reached through the descriptors of open folders, and no link is
followed: whoever made a store, pifolab neither reads nor changes anything outside of it.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import stat
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from pifolab.store.parquet import table_bytes
from pifolab.store.sealed import DamagedError
from pifolab.text import MOST_BYTES

#: So many files of a run are synced at the same time.
_SYNC_THREADS = 8

#: So much of a file is hashed at once.
_CHUNK_BYTES = 1 << 20

_LINK = "is a symbolic link, and pifolab follows none in a store: put what it leads to in its place, or remove it"
_NEITHER = "is neither a file nor a folder, and does not belong in a store: remove it"

#: The names of the files of a run.
_OWN_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.(json|parquet)")


class Folder:
    """An open folder of a store. Close it, or leave the `with` block.

    Errors of the system (`OSError`) have the whole path, and name symbolic links as such.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    @classmethod
    def root(cls, path: Path) -> Folder:
        """Open the folder that the user names, which may be a link to one."""
        return cls(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def inner(self, name: str) -> Folder:
        """Open a folder in this one."""
        return Folder(self.path / name, self.open(name, os.O_RDONLY | os.O_DIRECTORY))

    def copy(self) -> Folder:
        """Return the same folder, to be closed by itself."""
        return Folder(self.path, os.dup(self.descriptor))

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    def open(self, name: str, flags: int) -> int:
        """Open a file or a folder and return its descriptor; a named pipe does not wait for its other end."""
        with self._naming(name):
            flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            return os.open(name, flags, 0o666, dir_fd=self.descriptor)

    def make(self, name: str) -> None:
        """Make a folder in this one."""
        with self._naming(name):
            os.mkdir(name, dir_fd=self.descriptor)

    def names(self) -> list[str]:
        """Return the names in it, in order."""
        return sorted(os.listdir(self.descriptor))  # noqa: PTH208

    def state(self, name: str) -> os.stat_result | None:
        """Return the `stat` of a name, without following links; None if it does not exist."""
        with self._naming(name), suppress(FileNotFoundError):
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        return None

    def move(self, name: str, to: Folder, new_name: str) -> None:
        """Give a file or a folder another name in the folder `to`; a file takes the place of another file."""
        with self._naming(name), to._naming(new_name):
            os.rename(name, new_name, src_dir_fd=self.descriptor, dst_dir_fd=to.descriptor)

    def unlink(self, name: str) -> None:
        """Remove a file, if it is there."""
        with self._naming(name), suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.descriptor)

    def sync(self) -> None:
        """Return when the names in it are on the disk."""
        os.fsync(self.descriptor)

    def is_own(self, name: str) -> bool:
        """Return whether it is a file, or a folder that has nothing but files as pifolab names them in runs."""
        state = self.state(name)
        if state is None or not stat.S_ISDIR(state.st_mode):
            return state is not None and stat.S_ISREG(state.st_mode)
        with self.inner(name) as folder:
            return all(folder.is_own_file(one) for one in folder.names())

    def is_own_file(self, name: str) -> bool:
        """Return whether it is a file with a name as pifolab gives them in runs."""
        state = self.state(name)
        return bool(_OWN_FILE.fullmatch(name)) and state is not None and stat.S_ISREG(state.st_mode)

    def discard(self, name: str) -> bool:
        """Remove `name` if `is_own` holds for it, and return whether it is gone; foreign files stay."""
        with suppress(OSError):
            state = self.state(name)
            if state is not None and not self.is_own(name):
                return False
            if state is None or not stat.S_ISDIR(state.st_mode):
                self.unlink(name)
                return True
            with self.inner(name) as folder:
                for one in folder.names():
                    folder.unlink(one)
            os.rmdir(name, dir_fd=self.descriptor)
            return True
        return False

    def check_plain(self, name: str | None = None) -> None:
        """Refuse links, devices, pipes and sockets: under `name`, or (None) under any name."""
        for one in self._odd_names() if name is None else [name]:
            state = self.state(one)
            if state is not None and not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
                text = _LINK if stat.S_ISLNK(state.st_mode) else _NEITHER
                raise OSError(errno.ELOOP, text, str(self.path / one))

    def _odd_names(self) -> list[str]:
        """Return the names of what is neither a file nor a folder, or has vanished since."""
        with os.scandir(self.descriptor) as entries:
            # Most file systems return the kind with the name, which saves a system call for each of many runs.
            return [
                entry.name
                for entry in entries
                if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False))
            ]

    @contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        if name in ("", ".", "..") or {"/", "\0"} & set(name):
            raise OSError(errno.EINVAL, "is not the name of anything in a store", str(self.path / repr(name)))
        try:
            yield
        except OSError as error:
            number, text = error.errno, error.strerror
            # A folder that may not be a link is refused as one that is none.
            if number in (errno.ELOOP, errno.ENOTDIR):
                with suppress(OSError):
                    if stat.S_ISLNK(os.stat(name, dir_fd=self.descriptor, follow_symlinks=False).st_mode):
                        number, text = errno.ELOOP, _LINK
            raise OSError(number, text, str(self.path / name)) from None


@contextmanager
def _reading(folder: Folder, name: str) -> Iterator[io.BufferedReader]:
    """Open a file of the store; raises `DamagedError` if there is none that can be read."""
    try:
        with os.fdopen(folder.open(name, os.O_RDONLY), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise DamagedError(f"{name} is not a regular file")
            yield file
    except FileNotFoundError:
        raise DamagedError(f"{name} is missing") from None
    except OSError as error:
        what = "is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}"
        raise DamagedError(f"{name} {what}") from None


def bytes_of(folder: Folder, name: str, most: int = MOST_BYTES) -> bytes:
    """Read a file of the store; raises `DamagedError` if that fails, or it has over `most` bytes."""
    with _reading(folder, name) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise DamagedError(f"{name} has over {most // 2**20} MiB: expected at most that")
    return content


def check_digest(folder: Folder, name: str, digest: str) -> None:
    """Raise `DamagedError` if the SHA-256 of a file is not `digest`; the file need not fit into memory."""
    found = hashlib.sha256()
    with _reading(folder, name) as file:
        while chunk := file.read(_CHUNK_BYTES):
            found.update(chunk)
    if found.hexdigest() != digest:
        raise DamagedError(f"{name} differs from what was written")


def checked_bytes(folder: Folder, name: str, digest: str) -> bytes:
    """Read a file of the store; raises `DamagedError` if its SHA-256 is not `digest`."""
    with _reading(folder, name) as file:
        content = table_bytes(file, name)
    if hashlib.sha256(content).hexdigest() != digest:
        raise DamagedError(f"{name} differs from what was written")
    return content


def write_synced(folder: Folder, files: Mapping[str, bytes]) -> None:
    """Write new `files` to `folder`, and return when they and its list of names are on the disk."""
    with ExitStack() as opened, ThreadPoolExecutor(_SYNC_THREADS) as pool:
        descriptors = [folder.descriptor]
        for name, content in files.items():
            descriptor = folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            file = opened.enter_context(os.fdopen(descriptor, "wb"))
            file.write(content)
            file.flush()
            descriptors.append(descriptor)
        # All at once: a journal commits several files in one write, which takes a fraction of the time.
        list(pool.map(os.fsync, descriptors))


def write_whole(folder: Folder, name: str, content: bytes, partial: Folder, temporary: str) -> None:
    """Replace the file `name` by way of a new one in the folder `partial`."""
    descriptor = partial.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        partial.move(temporary, folder, name)
    except BaseException as fault:
        partial.unlink(temporary)
        if isinstance(fault, OSError):
            # The file that was asked for, not the temporary one.
            raise OSError(fault.errno, fault.strerror, str(folder.path / name)) from None
        raise
    folder.sync()
