"""The store: content-addressed run folders, written whole or not at all.

::

    STORE/
      pifolab-store.json     says that this is a store, and in which format
      runs/KEY/              a finished run: manifest.json, record.json, a Parquet file for each table
      sweeps/NAME.parquet    which runs a sweep consists of, with its axes as columns
      sweeps/NAME.json       its title, metrics and comparisons
      partial/               runs that are being written
      claims/                runs that somebody is busy with

KEY is a hash of all that decides the results. ``manifest.json`` and the tables are the same bytes whoever ran it;
``record.json`` says who did, how long it took, and has a checksum of every other file, so that a run that is not what
was written can be told.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab.errors import InputError, PifolabError
from pifolab.store.claims import Claim

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Store", "StoreError", "StoreFullError", "write_whole"]

_MARK = "pifolab-store.json"
_FORMAT = 1
_RECORD = "record.json"
_KEY = re.compile(r"[0-9a-f]{32}")
#: So many files of a run are synced at the same time.
_SYNC_THREADS = 8

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class StoreError(PifolabError):
    """A store that cannot be read or written; the text names the place."""


class StoreFullError(StoreError):
    """No space is left where the store lies."""


class Store:
    """A folder of finished runs.

    Parameters
    ----------
    path : path
        The folder; made if there is none.
    create : bool
        Whether it may be made.

    Raises
    ------
    InputError
        The folder is something else, of another format, or is missing and may not be made.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> key = "0" * 32
    >>> store.problem(key)
    'absent'
    >>> store.commit(key, {"manifest.json": b"{}"}, {"elapsed_s": 0.1})
    True
    >>> store.problem(key) is None, store.keys() == [key]
    (True, True)
    >>> _ = (store.run_folder(key) / "manifest.json").write_bytes(b"[]")
    >>> store.problem(key)
    'manifest.json is not what was written'
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        self.path = Path(path)
        mark = self.path / _MARK
        if not mark.exists():
            self._make(mark, create)
        try:
            found = json.loads(mark.read_text(encoding="utf-8")).get("format")
        except (OSError, ValueError, AttributeError) as error:
            raise InputError(f"{mark}: cannot be read: {error}") from None
        if found != _FORMAT:
            raise InputError(f"{mark}: format {found}, but this version of pifolab reads format {_FORMAT}")

    def _make(self, mark: Path, create: bool) -> None:
        if not create:
            what = "is no store of results" if self.path.exists() else "does not exist"
            raise InputError(f"{self.path}: {what} (it has no {_MARK})")
        try:
            if self.path.exists() and not self.path.is_dir():
                raise InputError(f"{self.path}: is no folder")
            if self.path.is_dir() and any(
                # Another process may be making the same store right now.
                entry.name not in _FOLDERS and not entry.name.startswith(f".{_MARK}")
                for entry in self.path.iterdir()
            ):
                raise InputError(f"{self.path}: is a folder with other things in it; give a new or empty one")
            for name in _FOLDERS:
                (self.path / name).mkdir(parents=True, exist_ok=True)
            write_whole(mark, (json.dumps({"format": _FORMAT}) + "\n").encode())
        except OSError as error:
            raise self._fault(error) from None

    def run_folder(self, key: str) -> Path:
        """Return where the run `key` lies, or would."""
        return self.path / "runs" / key

    def keys(self) -> list[str]:
        """Return the runs that are there, in order; whether they are sound is another question."""
        return sorted(entry.name for entry in (self.path / "runs").iterdir() if _KEY.fullmatch(entry.name))

    def problem(self, key: str, tables: Iterable[str] = ()) -> str | None:
        """Return why the run `key` cannot be used (``"absent"`` if there is none), or None if it can.

        Every file is read and its checksum compared. `tables` names those that must be there.
        """
        folder = self.run_folder(key)
        if not folder.is_dir():
            return "absent"
        try:
            record = json.loads((folder / _RECORD).read_bytes())
            files = dict(record["files"])
        except FileNotFoundError:
            return f"{_RECORD} is missing"
        except (OSError, ValueError, KeyError, TypeError):
            return f"{_RECORD} cannot be read"
        if record.get("run") != key:
            return f"{_RECORD} belongs to another run"
        for name, digest in files.items():
            try:
                content = (folder / name).read_bytes()
            except FileNotFoundError:
                return f"{name} is missing"
            except OSError as error:
                return f"{name} cannot be read: {error.strerror}"
            if hashlib.sha256(content).hexdigest() != digest:
                return f"{name} is not what was written"
        for table in tables:
            if f"{table}.parquet" not in files:
                return f"table {table} was not kept"
        return None

    def claim(self, key: str) -> Claim | None:
        """Say that this process is busy with the run `key`; None if another one is."""
        try:
            return Claim.take(self.path / "claims" / key)
        except OSError as error:
            raise self._fault(error) from None

    def commit(self, key: str, files: Mapping[str, bytes], record: Mapping[str, Any]) -> bool:
        """Write a run: all of it, on the disk, or nothing.

        Parameters
        ----------
        key : str
            The run.
        files : mapping of str to bytes
            Its files by name.
        record : mapping
            What belongs to this time of running it: how long it took, and where.

        Returns
        -------
        bool
            False if the run was there already, written by somebody else in the meantime.

        Raises
        ------
        StoreFullError
            No space is left; nothing of the run remains, and what was there before is untouched.
        StoreError
            The disk refuses for another reason.
        """
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
        about = json.dumps({"run": key, **record, "files": digests}, indent=2, ensure_ascii=False) + "\n"
        temporary: Path | None = None
        try:
            temporary = self._partial(key)
            _write_synced(temporary, {**files, _RECORD: about.encode()})
            target = self.run_folder(key)
            if target.exists() and self.problem(key) is not None:
                self.remove(key)
            try:
                temporary.rename(target)
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    return False
                raise
            temporary = None
            _sync_folder(target.parent)
            return True
        except OSError as error:
            raise self._fault(error) from None
        finally:
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)

    def remove(self, key: str) -> None:
        """Remove the run `key`; half of it is never seen under its name."""
        grave = self._partial(key)
        try:
            self.run_folder(key).rename(grave / "removed")
        except FileNotFoundError:
            pass
        finally:
            shutil.rmtree(grave, ignore_errors=True)

    def _partial(self, key: str) -> Path:
        folder = self.path / "partial" / f"{key}.{os.getpid()}.{os.urandom(4).hex()}"
        folder.mkdir()
        return folder

    def leftovers(self) -> Iterator[Path]:
        """Yield what processes that died left half-written."""
        for folder in sorted((self.path / "partial").iterdir()):
            key = folder.name.partition(".")[0]
            claim = self.claim(key)
            # Whoever writes a run has claimed it.
            if claim is not None:
                with claim:
                    yield folder

    def clean(self) -> int:
        """Remove what processes that died left half-written, and return how many runs that was."""
        count = 0
        for folder in self.leftovers():
            shutil.rmtree(folder, ignore_errors=True)
            count += 1
        return count

    def record(self, key: str) -> dict[str, Any]:
        """Return when, where and how long the run `key` ran.

        Raises
        ------
        StoreError
            There is no such run, or its record cannot be read.
        """
        return self._json(self.run_folder(key) / _RECORD)

    def manifest(self, key: str) -> dict[str, Any]:
        """Return what the run `key` was: specification, seed, code version, trace hashes.

        Raises
        ------
        StoreError
            There is no such run, or its manifest cannot be read.
        """
        return self._json(self.run_folder(key) / "manifest.json")

    def tables(self, key: str) -> list[str]:
        """Return the names of the tables of the run `key`."""
        return sorted(file.stem for file in self.run_folder(key).glob("*.parquet"))

    def table(self, name: str, keys: Iterable[str] | None = None) -> pl.DataFrame:
        """Return the table `name` of the runs `keys` (default: all), one under the other; ``run`` tells them apart.

        Runs without this table are left out.

        Raises
        ------
        StoreError
            A file cannot be read, or no run has such a table.
        """
        import polars as pl

        wanted = self.keys() if keys is None else list(keys)
        files = [file for key in wanted if (file := self.run_folder(key) / f"{name}.parquet").exists()]
        if not files:
            known = sorted({table for key in wanted for table in self.tables(key)})
            hint = f"; there are {', '.join(known)}" if known else "; it has no finished runs"
            raise StoreError(f"{self.path}: no run has a table {name}{hint}")
        frames = []
        for file in files:
            try:
                frames.append(pl.read_parquet(file))
            except (pl.exceptions.PolarsError, OSError):
                raise StoreError(f"{file}: cannot be read; pifolab results {self.path} --verify tells more") from None
        return pl.concat(frames, how="diagonal_relaxed")

    def sweeps(self) -> list[str]:
        """Return the names of the sweeps that wrote to this store."""
        return sorted(file.stem for file in (self.path / "sweeps").glob("*.json"))

    def sweep(self, name: str) -> dict[str, Any]:
        """Return title, axes, metrics and comparisons of the sweep `name`.

        Raises
        ------
        StoreError
            There is no such sweep, or its file cannot be read.
        """
        file = self.path / "sweeps" / f"{name}.json"
        if not file.exists():
            known = ", ".join(self.sweeps()) or "none"
            raise StoreError(f"{self.path}: has no sweep {name}; it has {known}")
        return self._json(file)

    def sweep_runs(self, name: str) -> pl.DataFrame:
        """Return the runs of the sweep `name`, finished or not: ``run``, ``seed`` and a column for each axis.

        Raises
        ------
        StoreError
            There is no such sweep.
        """
        import polars as pl

        self.sweep(name)
        return pl.read_parquet(self.path / "sweeps" / f"{name}.parquet")

    def write_sweep(self, name: str, about: Mapping[str, Any], runs: pl.DataFrame) -> None:
        """Note that the sweep `name` consists of `runs`.

        Runs that an earlier start of the same sweep added (the same ``plan`` in `about`) stay on the list.
        """
        import io

        import polars as pl

        folder = self.path / "sweeps"
        try:
            with self._wait_for_claim(f"sweep-{name}"):
                if (folder / f"{name}.json").exists() and self.sweep(name).get("plan") == about.get("plan"):
                    earlier = self.sweep_runs(name)
                    if earlier.schema == runs.schema:
                        runs = pl.concat([runs, earlier.join(runs, on="run", how="anti")])
                written = io.BytesIO()
                runs.write_parquet(written, metadata={"pifolab": json.dumps(about, ensure_ascii=False)})
                write_whole(folder / f"{name}.parquet", written.getvalue())
                write_whole(folder / f"{name}.json", (json.dumps(about, indent=2, ensure_ascii=False) + "\n").encode())
        except OSError as error:
            raise self._fault(error) from None

    def _wait_for_claim(self, key: str) -> Claim:
        import time

        while (claim := self.claim(key)) is None:
            time.sleep(0.01)
        return claim

    def _json(self, file: Path) -> dict[str, Any]:
        try:
            return dict(json.loads(file.read_bytes()))
        except (OSError, ValueError, TypeError) as error:
            raise StoreError(f"{file}: cannot be read: {error}") from None

    def _fault(self, error: OSError) -> StoreError:
        if error.errno in _NO_SPACE:
            return StoreFullError(f"{self.path}: no space is left on the disk; every finished run is kept")
        return StoreError(f"{error.filename or self.path}: {error.strerror or error}")


_FOLDERS = ("runs", "sweeps", "partial", "claims")


def _write_synced(folder: Path, files: Mapping[str, bytes]) -> None:
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


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file by way of a temporary one."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
