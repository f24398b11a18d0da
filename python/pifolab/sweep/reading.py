"""The files that the user's Python code reads: a run's key must cover them, or an old result would pass for a new one.

Python tells of every file that is opened through it, of folders that are listed, of databases and compiled libraries
that are opened and of programs that are started (``sys.addaudithook``). What a compiled library opens by itself, such
as polars a Parquet file, it does not see, nor that a file is looked for.
"""

from __future__ import annotations

import os
import stat
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from pifolab.errors import InputError
from pifolab.provenance import DATA_FILES, is_installed


class _Noted(NamedTuple):
    """An action, its file, folder or program, and whether an installed package did it by itself."""

    what: str
    name: str
    by_package: bool


#: Where the deeds of the blocks that are open now are noted; empty outside of runs, when there is nothing to note.
_notes: list[set[_Noted]] = []

_is_hooked = False

#: The notes on each set of Python files with their content: a module reads only once, at its import.
_seen: dict[tuple[tuple[str, str], ...], set[_Noted]] = {}

#: Files of the kernel, and time zones.
_SYSTEM = tuple(map(Path, ("/dev", "/proc", "/sys", "/etc/localtime", "/usr/share/zoneinfo")))

#: Settings and caches of packages, which they read by themselves.
_SETTINGS = (
    *map(Path, ("/etc", "/usr", sys.prefix, sys.base_prefix)),
    *(Path.home() / name for name in (".cache", ".config", ".local")),
)

_STANDARD = tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib"))

#: The part of Python that finds modules, which lists folders.
_IMPORTER = "<frozen importlib"


@lru_cache(maxsize=1024)
def _owner(file: str) -> str:
    """Return to whom the code in a file belongs: ``"python"``, ``"package"`` or ``"user"``."""
    if file.startswith("<frozen"):
        return "python"
    whole = os.path.realpath(file)
    if whole.startswith(_STANDARD) and not {"site-packages", "dist-packages"} & set(Path(whole).parts):
        return "python"
    return "package" if is_installed(Path(file)) else "user"


def _is_by_package(what: str) -> bool:
    """Return whether code of an installed package does `what` is being done; Python lists folders to find modules."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if what == "listed" and file.startswith(_IMPORTER):
            return True
        owner = _owner(file)
        if owner != "python" and file != __file__:
            return owner == "package"
        frame = frame.f_back
    return False


def _opened(path: Any, mode: str | None, flags: int) -> tuple[str, Any] | None:
    if mode is not None:
        reads = not {"w", "x"} & set(mode) and ("a" not in mode or "+" in mode)
    else:
        reads = flags & os.O_ACCMODE != os.O_WRONLY and not flags & (os.O_TRUNC | os.O_EXCL)
    return ("read", path) if reads else None


def _database(path: Any, *_: Any) -> tuple[str, Any] | None:
    name = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
    if name.startswith("file:"):
        name = unquote(urlsplit(name).path)
    return ("read", name) if name not in ("", ":memory:") else None


def _library(name: Any, *_: Any) -> tuple[str, Any] | None:
    # Without a folder it is one of the system's.
    return ("read", name) if isinstance(name, (str, bytes, os.PathLike)) and os.sep in os.fsdecode(name) else None


def _listed(path: Any = None, *_: Any) -> tuple[str, Any]:
    return "listed", os.curdir if path is None else path


def _started(program: Any = None, *_: Any) -> tuple[str, Any]:
    return "started", program if isinstance(program, (str, bytes, os.PathLike)) else "another process"


#: The meaning of Python's audit events.
_EVENTS: Mapping[str, Callable[..., tuple[str, Any] | None]] = {
    "open": _opened,
    "sqlite3.connect": _database,
    "ctypes.dlopen": _library,
    "os.listdir": _listed,
    "os.scandir": _listed,
    "subprocess.Popen": _started,
    "os.system": _started,
    "os.exec": _started,
    "os.posix_spawn": _started,
    "os.fork": _started,
    "os.forkpty": _started,
}


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _notes or event not in _EVENTS:
        return
    found = _EVENTS[event](*arguments)
    what, path = found if found is not None else ("", None)
    if what == "listed" and isinstance(path, int):
        with suppress(OSError):
            # A folder that is open already.
            path = Path(f"/proc/self/fd/{path}").readlink()
    if not isinstance(path, (str, bytes, os.PathLike)):
        return
    name = os.fsdecode(path)
    if what != "started":
        name = os.path.abspath(name)  # noqa: PTH100 (`Path` would cost more, and opens nothing either)
    noted = _Noted(what, name, _is_by_package(what))
    for note in _notes:
        note.add(noted)


@contextmanager
def noted_reads(digests: Mapping[str, str]) -> Iterator[None]:
    """Note the files, folders and programs that the block reads, lists and starts, for `check_reads`.

    `digests` are those of the Python files of a run and of all that belongs to them, by their absolute paths.
    """
    global _is_hooked
    if not digests:
        yield
        return
    if not _is_hooked:
        # There is no way to take it off again.
        sys.addaudithook(_hook)
        _is_hooked = True
    note = _seen.setdefault(tuple(sorted(digests.items())), set())
    _notes.append(note)
    try:
        yield
    finally:
        # Another list may equal this one.
        _notes.pop(next(place for place, one in enumerate(_notes) if one is note))


def check_reads(digests: Mapping[str, str]) -> None:
    """Refuse a run that depends on something of the user's which its key does not cover."""
    known = {os.path.realpath(path) for path in digests}
    for what, name, by_package in sorted(_seen.get(tuple(sorted(digests.items())), ())):
        if what == "started":
            if not by_package:
                raise InputError(
                    f"{name}: the run has started this program, and its key does not cover what that does: start it "
                    f"before the sweep, and list what it writes in {DATA_FILES}"
                )
            continue
        whole = Path(os.path.realpath(name))
        if str(whole) in known or is_installed(whole) or _is_within(whole, _SYSTEM):
            continue
        if by_package and (what == "listed" or _is_within(whole, _SETTINGS)):
            continue
        try:
            mode = whole.stat().st_mode
        except OSError:
            # It was looked for, and is not there.
            continue
        if what == "listed" and stat.S_ISDIR(mode):
            raise InputError(
                f"{name}: the run has listed this folder, and its key does not cover what is in it: name the files "
                f"that the module reads, such as {DATA_FILES} = ['data.csv']"
            )
        if what == "read" and stat.S_ISREG(mode):
            raise InputError(
                f"{name}: the run has read this file, which its key does not cover: list it in the module that reads "
                f"it, such as {DATA_FILES} = [{whole.name!r}]"
            )


def _is_within(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
