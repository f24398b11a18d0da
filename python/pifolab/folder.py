"""Writes a folder or a file completely or not at all."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pifolab.errors import InputError
from pifolab.text import MOST_BYTES, read_bytes, shown

#: Each of these files marks a folder as pifolab's: an object with the key `pifolab`.
_MARKS = ("manifest.json", "advice.json", "statistics.json")
#: Further files in such a folder, in addition to a file for each table.
_WRITTEN = (*_MARKS, "summary.json", "report.html")
#: The folders in it; a figure is there in each format.
_FIGURES, _PACKETS = "figures", "packets"
_FORMATS = (".png", ".svg", ".pdf")
_CAPTURE = re.compile(r".*-seed\d+-port\d+\.pcapng")


def check_absent(folder: Path, *, force: bool = False, flag: str = "--out") -> None:
    """Refuse a folder that exists or cannot be made, before hours are spent on its contents.

    With `force` it may exist if it has nothing but what pifolab wrote: then it is replaced. `flag` names it on
    the command line.
    """
    if (folder.is_symlink() or folder.exists()) and (not _is_folder(folder) or any(folder.iterdir())):
        keep = why_kept(folder)
        if force and keep is not None:
            raise InputError(f"{folder}: {keep}: not replaced; give another {flag}")
        if not force:
            other = f"give another {flag}, or " + ("remove it" if keep is not None else "--force to replace it")
            raise InputError(f"{folder}: exists already; {other}")
    parent = folder.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise InputError(f"{folder}: {parent} is not a folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: {parent} cannot be written to")


@contextmanager
def whole_folder(folder: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a temporary folder beside `folder` that takes its name when the block ends well, and vanishes otherwise.

    With `force` it replaces a folder that has nothing but what pifolab wrote, which stays as it is if the block does
    not end well.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "run"
    >>> with whole_folder(target) as folder:
    ...     _ = (folder / "summary.json").write_text("{}")
    >>> [file.name for file in target.iterdir()]
    ['summary.json']
    """
    check_absent(folder, force=force)
    made = [parent for parent in folder.absolute().parents if not parent.exists()]
    try:
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.partial-", dir=folder.absolute().parent))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    try:
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        if force and folder.is_dir():
            # Two renames: the old folder or the new one, each of them whole.
            with tempfile.TemporaryDirectory(prefix=f".{folder.name}.old-", dir=folder.absolute().parent) as old:
                folder.rename(Path(old) / folder.name)
                temporary.rename(folder)
        else:
            if folder.is_dir():
                folder.rmdir()
            temporary.rename(folder)
    except OSError as error:
        _remove(temporary, made)
        # The temporary folder was not asked for: the fault is that of the folder that was, and of the file in it.
        if error.filename is not None and (failed := Path(os.fsdecode(error.filename))).is_relative_to(temporary):
            place = folder / failed.relative_to(temporary)
            raise InputError(f"{place}: cannot be written: {error.strerror}") from None
        if error.filename is None:
            # It comes of writing to a file that is open.
            raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
        raise
    except BaseException:
        _remove(temporary, made)
        raise


def _remove(temporary: Path, made: list[Path]) -> None:
    """Remove the temporary folder, and the parents made for it, the nearest first, if nothing else is there."""
    shutil.rmtree(temporary, ignore_errors=True)
    with suppress(OSError):
        for parent in made:
            parent.rmdir()


@contextmanager
def writing(file: Path) -> Iterator[Path]:
    """Yield `file`; an `OSError` while it is written names it.

    Python knows the file that it cannot open, but not the one that it cannot write to any more, and polars has errors
    of its own for that.
    """
    try:
        yield file
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, error.strerror, os.fspath(file)) from None
        raise
    except Exception as error:
        if found := _OS_ERROR.search(str(error)):
            number = int(found[1])
            raise OSError(number, os.strerror(number), os.fspath(file)) from None
        raise


def write_json(file: Path, value: Any) -> None:
    """Write `value` as JSON to `file`; an error of the system names it."""
    with writing(file):
        file.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


#: The form in which polars repeats errors of the operating system.
_OS_ERROR = re.compile(r"\(os error (\d+)\)")


@contextmanager
def replaced_file(file: Path) -> Iterator[Path]:
    """Yield a temporary name beside `file`, which what is written there takes, also from an earlier file, at the end.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "flows.csv"
    >>> with replaced_file(target) as file:
    ...     _ = file.write_text("flow")
    >>> [file.name for file in target.parent.iterdir()]
    ['flows.csv']
    """
    check_replaceable(file)
    try:
        file.absolute().parent.mkdir(parents=True, exist_ok=True)
        with temporary_beside(file) as temporary:
            yield temporary
            temporary.replace(file)
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from None


@contextmanager
def temporary_beside(file: Path) -> Iterator[Path]:
    """Yield a new empty file in the same folder, which vanishes unless it is renamed.

    Nothing of that name was there before: no link is followed, and no file of others removed.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.partial-", dir=file.absolute().parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        temporary.chmod(0o666 & ~_umask())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def check_replaceable(file: Path) -> None:
    """Refuse a name under which no file can be written, before hours are spent on its content."""
    if file.is_dir():
        raise InputError(f"{file}: is a folder: expected the name of a file")
    if file.exists() and not file.is_file():
        raise InputError(f"{file}: is a device or a pipe: expected the name of a file")


def why_kept(folder: Path) -> str | None:
    """Return why a folder must not be replaced, or None if all of it is pifolab's and can be made again."""
    if not _is_folder(folder):
        return "is not a folder"
    if not any(_is_mark(folder / name) for name in _MARKS):
        return "is not a folder that pifolab wrote"
    foreign = sorted(str(one.relative_to(folder)) for entry in folder.iterdir() for one in _foreign(entry))
    return f"has {shown(foreign[0])}, which pifolab did not write" if foreign else None


def _foreign(entry: Path) -> Iterator[Path]:
    """Yield `entry`, or the entries in it, unless pifolab wrote them; pifolab never writes links."""
    if entry.name in (_FIGURES, _PACKETS) and _is_folder(entry):
        known = _is_figure if entry.name == _FIGURES else _is_capture
        yield from (one for one in entry.iterdir() if not known(one))
    elif not (_is_plain(entry) and (entry.name in _WRITTEN or _is_table(entry))):
        yield entry


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _is_plain(file: Path) -> bool:
    return file.is_file() and not file.is_symlink()


def _is_figure(file: Path) -> bool:
    return file.suffix in _FORMATS and all(_is_plain(file.with_suffix(ending)) for ending in _FORMATS)


def _is_capture(file: Path) -> bool:
    return _CAPTURE.fullmatch(file.name) is not None and _is_plain(file)


def _is_table(file: Path) -> bool:
    """Return whether a file is a table of a run: its manifest is in it."""
    if file.suffix != ".parquet":
        return False
    # The file ends with a footer, its length in four bytes, and four letters.
    with file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(max(size - 8, 0))
        length = min(int.from_bytes(opened.read(4), "little") + 8, MOST_BYTES)
        opened.seek(max(size - length, 0))
        return b"pifolab" in opened.read()


def _is_mark(file: Path) -> bool:
    try:
        content = json.loads(read_bytes(file)) if _is_plain(file) else None
    except (InputError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and "pifolab" in content


def _umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
