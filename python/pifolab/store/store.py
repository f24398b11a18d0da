"""The store: content-addressed run folders, written whole or not at all, and checked whenever they are read.

::

    STORE/
      pifolab-store.json     says that this is a store, and in which format
      runs/KEY/              a finished run: manifest.json, record.json, a Parquet file for each table
      sweeps/NAME.parquet    which runs a sweep consists of, with its axes as columns
      sweeps/NAME.json       its title, metrics and comparisons
      partial/               runs that are being written
      claims/                runs that are being computed

KEY is a hash of all that decides the results. ``manifest.json`` and the tables are the same bytes wherever it ran;
``record.json`` says who did, how long it took, and has a checksum of every other file and of itself. A run gains tables
and never loses them: a sweep that wants other tables of a run that is there adds them.

A store has no links: whoever made it, pifolab follows none below the folder that the user names, and removes nothing
but what it has written under names of its own.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.errors import InputError, PifolabError
from pifolab.lazy import pl
from pifolab.store.files import Folder, bytes_of, check_digest, checked_bytes, write_synced, write_whole
from pifolab.store.lock import RunLock
from pifolab.store.parquet import TableReader, kind_of
from pifolab.store.sealed import DamagedError, RunRecord, read_record, seal, unseal

_MARK = "pifolab-store.json"
#: The lock of the process that makes the store.
_MAKING = "making"
_FORMAT = 2
_RECORD = "record.json"
_MANIFEST = "manifest.json"
_KEY = re.compile(r"[0-9a-f]{32}")
_SWEEP_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_LOCK = re.compile(rf"{_KEY.pattern}|{_MAKING}|sweep-{_SWEEP_NAME.pattern}")
#: Names under partial/: the lock of the writer, the process, and a random number.
_PARTIAL = re.compile(rf"(?P<lock>{_LOCK.pattern})~[0-9]+\.[0-9a-f]{{8}}")
#: The valid names of an axis of a sweep.
_AXIS = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
#: The key of a sweep's notes that has the digests of the table beside them.
_RUNS_DIGESTS = "runs_sha256"
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
    StoreError
        There is a link in it.

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
    'manifest.json differs from what was written'
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        self.path = Path(path)
        try:
            if self._state(_MARK) is None:
                self._make(create)
            with self._open() as root:
                for name in (_MARK, *_FOLDERS):
                    root.check_plain(name)
            for name in _FOLDERS:
                with suppress(FileNotFoundError), self._open(name) as folder:
                    folder.check_plain()
            with self._open() as root:
                content = bytes_of(root, _MARK)
        except DamagedError as damage:
            raise InputError(f"{self.path}: {damage}") from None
        except OSError as error:
            raise self._fault(error) from None
        mark = self.path / _MARK
        try:
            found = json.loads(content).get("format")
        except (ValueError, AttributeError, RecursionError):
            raise InputError(f'{mark}: cannot be read: expected {{"format": {_FORMAT}}}') from None
        if found != _FORMAT:
            raise InputError(
                f"{mark}: format {found!r}, but this version of pifolab reads format {_FORMAT}: give another folder"
            )

    def _make(self, create: bool) -> None:
        if not create:
            what = "is not a store of results" if self.path.exists() else "does not exist"
            raise InputError(f"{self.path}: {what} (it has no {_MARK})")
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path}: is not a folder")
        self.path.mkdir(parents=True, exist_ok=True)
        with self._open() as root:
            # Another process may be making the same store right now; earlier versions wrote beside the mark.
            known = (*_FOLDERS, _MARK)
            if any(name not in known and not name.startswith(f".{_MARK}") for name in root.names()):
                raise InputError(f"{self.path}: is a folder with other things in it; give a new or empty one")
            for name in _FOLDERS:
                with self._open(name, make=True):
                    pass
            with self._wait_for_lock(_MAKING), self._open("partial") as partial:
                content = (json.dumps({"format": _FORMAT}) + "\n").encode()
                write_whole(root, _MARK, content, partial, _partial_name(_MAKING))

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r}: {len(self.keys())} runs)"

    def run_folder(self, key: str) -> Path:
        """Return where the run `key` lies, or would."""
        return self.path / "runs" / key

    def keys(self) -> list[str]:
        """Return the runs that are there, in order; whether they are sound is another question."""
        return [name for name in self._names("runs") if _KEY.fullmatch(name)]

    def problem(self, key: str, tables: Iterable[str] | None = ()) -> str | None:
        """Return why the run `key` cannot be used (``"absent"`` if there is none), or None if it can.

        Every file is read and its checksum compared. `tables` names those that must be there; None stands for all that
        the run has.
        """
        if self._state("runs", key) is None:
            return "absent"
        try:
            with self._run(key) as folder:
                record = _sound_record(folder, key)
        except DamagedError as damage:
            return str(damage)
        if tables is None:
            return None if record.about.get("complete") is True else "not all of its tables were kept"
        for table in tables:
            if f"{table}.parquet" not in record.files:
                return f"table {table} was not kept"
        return None

    def sound(self, keys: Iterable[str]) -> tuple[list[str], dict[str, str]]:
        """Return the usable ones of the runs `keys`, and the fault of each of the others.

        Every file of every run is read.
        """
        problems = {key: self.problem(key) for key in dict.fromkeys(keys)}
        good = [key for key, problem in problems.items() if problem is None]
        return good, {key: problem for key, problem in problems.items() if problem is not None}

    def strays(self, key: str) -> list[str]:
        """Return the files in the folder of the run `key` that are not part of it."""
        try:
            known = {*self._record(key).files, _RECORD}
        except DamagedError:
            return []
        return [name for name in self._names("runs", key) if name not in known]

    def remove_stray(self, key: str, name: str) -> bool:
        """Remove the file `name` in the folder of the run `key` if it is not part of it, and has a name of pifolab's.

        Return whether it is gone.
        """
        with self._folder("runs", key) as folder:
            if name in self.strays(key) and folder.is_own_file(name):
                folder.unlink(name)
            return folder.state(name) is None

    def size(self, key: str) -> int:
        """Return how many bytes the files of the run `key` have.

        Raises `StoreError` if there is no such run, or its record was changed after writing.
        """
        with self._reading(key), self._run(key) as folder:
            states = [folder.state(name) for name in (*self._record(key).files, _RECORD)]
        return sum(state.st_size for state in states if state is not None)

    def try_lock(self, key: str) -> RunLock | None:
        """Lock the run `key` for this process; None if another process has the lock."""
        with self._folder("claims", make=True) as claims:
            return RunLock.take(claims, key)

    def commit(self, key: str, files: Mapping[str, bytes], record: Mapping[str, Any]) -> bool:
        """Write a run, its `files` by name and facts about this execution: all of it, on the disk, or nothing.

        If it is there already, it gains the tables that it does not have, and loses none. Returns False if all of it
        was there already, written by another process in the meantime. Raises `StoreFullError` if no space is left:
        nothing of the run remains, and an earlier run is untouched. Raises `StoreError` if the disk refuses for another
        reason, or the run that is there has other results and tables that are not among `files`.
        """
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
        there = self._record(key).files if self.problem(key) is None else {}
        if there and all(there.get(name, digest) == digest for name, digest in digests.items()):
            return self._add(key, there, digests, files, record)
        if lost := sorted(there.keys() - digests.keys()):
            raise StoreError(
                f"{self.run_folder(key)}: has other results than the same run now, which lacks {', '.join(lost)}: "
                "it cannot be repeated; pifolab study prune removes it"
            )
        self._replace(key, {**files, _RECORD: seal({"run": key, **record, "files": digests})})
        return True

    def _replace(self, key: str, files: Mapping[str, bytes]) -> None:
        temporary, grave = _partial_name(key), _partial_name(key)
        with self._folder("runs", make=True) as runs, self._folder("partial", make=True) as partial:
            try:
                partial.make(temporary)
                with partial.inner(temporary) as folder:
                    write_synced(folder, files)
                if runs.state(key) is not None:
                    # If it dies between these two lines, a whole run is left under partial/; `clean` puts it in its
                    # place.
                    runs.move(key, partial, grave)
                partial.move(temporary, runs, key)
                runs.sync()
            except OSError:
                if partial.state(grave) is not None and runs.state(key) is None:
                    partial.move(grave, runs, key)
                raise
            finally:
                partial.discard(temporary)
                partial.discard(grave)

    def _add(
        self,
        key: str,
        there: Mapping[str, str],
        digests: Mapping[str, str],
        files: Mapping[str, bytes],
        record: Mapping[str, Any],
    ) -> bool:
        """Add the files that are not `there`; one that the record does not list yet is not part of the run."""
        fresh = {name: files[name] for name in digests if name not in there}
        if not fresh:
            return False
        temporary = _partial_name(key)
        with self._folder("runs", key) as folder, self._folder("partial", make=True) as partial:
            try:
                partial.make(temporary)
                with partial.inner(temporary) as written:
                    write_synced(written, fresh)
                    for name in fresh:
                        written.move(name, folder, name)
                folder.sync()
                everything = dict(sorted({**there, **digests}.items()))
                whole = seal({"run": key, **record, "files": everything})
                write_whole(folder, _RECORD, whole, partial, _partial_name(key))
            finally:
                partial.discard(temporary)
        return True

    def remove(self, key: str) -> bool:
        """Remove the run `key`; half of it is never seen under its name.

        Return False if there was something in its folder that pifolab does not write: all of it is under partial/ then.
        """
        grave = _partial_name(key)
        with self._folder("runs", make=True) as runs, self._folder("partial", make=True) as partial:
            with suppress(FileNotFoundError):
                runs.move(key, partial, grave)
            return partial.discard(grave)

    def leftovers(self) -> Iterator[Path]:
        """Yield incomplete files of processes that died."""
        for name in self._names("partial"):
            written = _PARTIAL.fullmatch(name)
            # The writer of a run has locked it.
            lock = self.try_lock(written["lock"]) if written else None
            if lock is not None:
                with lock, self._folder("partial") as partial:
                    if partial.is_own(name):
                        yield partial.path / name

    def clean(self) -> int:
        """Remove incomplete files of processes that died, and return the number of their runs.

        A run that is whole and of which there is no other takes its place instead.
        """
        count = 0
        with self._folder("runs", make=True) as runs, self._folder("partial", make=True) as partial:
            for path in self.leftovers():
                key = path.name.rpartition("~")[0]
                if _KEY.fullmatch(key) and runs.state(key) is None and _is_sound(partial, path.name, key):
                    partial.move(path.name, runs, key)
                else:
                    partial.discard(path.name)
                count += 1
        return count

    def foreign(self) -> Iterator[tuple[Path, str]]:
        """Yield foreign files among pifolab's temporary files and locks; pifolab never removes them."""
        for top, own in (("partial", _PARTIAL), ("claims", _LOCK)):
            for name in self._names(top):
                with self._folder(top) as folder:
                    if folder.state(name) is not None and not (own.fullmatch(name) and folder.is_own(name)):
                        yield folder.path / name, "was not written by pifolab, and stays"

    def record(self, key: str) -> dict[str, Any]:
        """Return when, where and how long the run `key` ran, and its ``files`` with their checksums.

        Raises `StoreError` if there is no such run, or its record was changed after writing.
        """
        with self._reading(key):
            record = self._record(key)
        return {**record.about, "files": record.files}

    def manifest(self, key: str) -> dict[str, Any]:
        """Return the manifest of the run `key`: specification, seed, code version, inputs, trace hashes.

        Raises `StoreError` if there is no such run, or its manifest was changed after writing.
        """
        with self._reading(key):
            content = self._content(key, _MANIFEST, self._record(key))
            try:
                found = json.loads(content)
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, dict):
                raise DamagedError(f"{_MANIFEST} is not the manifest of a run")
        return found

    def tables(self, key: str) -> list[str]:
        """Return the names of the tables of the run `key`; none if its record was changed after writing."""
        try:
            files = self._record(key).files
        except DamagedError:
            return []
        return sorted(name.removesuffix(".parquet") for name in files if name.endswith(".parquet"))

    def tables_kept(self, key: str) -> list[str]:
        """Return the names of the tables that a run in the place of `key` must have so that none is lost.

        Of a run whose record is damaged these are the files that lie there.
        """
        known = self.tables(key)
        lying = [name.removesuffix(".parquet") for name in self._names("runs", key) if name.endswith(".parquet")]
        return known or [name for name in lying if not name.startswith(".")]

    def table(self, name: str, keys: Iterable[str] | None = None) -> pl.DataFrame:
        """Return the table `name` of the runs `keys` (default: all), concatenated, with a column ``run``.

        Runs without this table are left out. Every file is compared with its checksum first. Raises `StoreError` if a
        run is damaged, or none has such a table.
        """
        wanted = self.keys() if keys is None else list(keys)
        frames: list[pl.DataFrame] = []
        kinds: dict[str, str | None] = {}
        reader = TableReader()
        for key in wanted:
            with self._reading(key):
                record = self._record(key)
                if f"{name}.parquet" in record.files:
                    frames.append(self._table(key, f"{name}.parquet", record, reader))
                    _check_kinds(frames[-1], kinds, f"{name}.parquet")
        if not frames:
            known = sorted({table for key in wanted for table in self.tables(key)})
            if not known:
                raise StoreError(f"{self.path}: has no finished runs")
            raise StoreError(f"{self.path}: {_pifolab.unknown_name('table', name, known)}")
        return pl.concat(frames, how="diagonal_relaxed")

    def sweeps(self) -> list[str]:
        """Return the names of the sweeps that wrote to this store."""
        names = self._names("sweeps")
        stems = [name.removesuffix(".json") for name in names if name.endswith(".json")]
        return [name for name in stems if _SWEEP_NAME.fullmatch(name)]

    def sweep(self, name: str) -> dict[str, Any]:
        """Return title, axes, metrics and comparisons of the sweep `name`.

        Raises `StoreError` if there is no such sweep, or its file was changed after writing.
        """
        with self._reading_sweep(name):
            return {key: value for key, value in self._notes(name).items() if key != _RUNS_DIGESTS}

    def sweep_runs(self, name: str) -> pl.DataFrame:
        """Return the runs of the sweep `name`, finished or not: ``run``, ``seed`` and a column for each axis.

        Raises `StoreError` as `sweep` does.
        """
        with self._reading_sweep(name):
            return self._listed_runs(name)

    def write_sweep(self, name: str, about: Mapping[str, Any], runs: pl.DataFrame) -> str | None:
        """Note that the sweep `name` consists of `runs`.

        Runs that an earlier start of the same sweep added (the same ``plan`` in `about`) stay on the list. Returns what
        was wrong with the notes of an earlier start, which then cannot be told which runs it added.
        """
        problem, before, lock = None, None, f"sweep-{name}"
        try:
            with (
                self._wait_for_lock(lock),
                self._folder("sweeps", make=True) as folder,
                self._folder("partial", make=True) as partial,
            ):
                if folder.state(f"{name}.json") is not None:
                    try:
                        before, earlier = self.sweep(name), self.sweep_runs(name)
                        if before.get("plan") == about.get("plan") and earlier.schema == runs.schema:
                            runs = pl.concat([runs, earlier.join(runs, on="run", how="anti")])
                    except StoreError as error:
                        problem, before = str(error), None
                written = io.BytesIO()
                runs.write_parquet(written, metadata={"pifolab": json.dumps(about, ensure_ascii=False)})
                content = written.getvalue()
                digest = hashlib.sha256(content).hexdigest()
                table, notes = f"{name}.parquet", f"{name}.json"
                if before is not None:
                    # A process that dies in between leaves notes that fit the old table and the new one.
                    old = hashlib.sha256(bytes_of(folder, table)).hexdigest()
                    both = seal({**before, _RUNS_DIGESTS: [old, digest]})
                    write_whole(folder, notes, both, partial, _partial_name(lock))
                write_whole(folder, table, content, partial, _partial_name(lock))
                write_whole(folder, notes, seal({**about, _RUNS_DIGESTS: [digest]}), partial, _partial_name(lock))
        except DamagedError as damage:
            raise StoreError(f"{self.path / 'sweeps'}: {damage}") from None
        return problem

    def problems(self) -> Iterator[tuple[Path, str]]:
        """Yield every file of this store that was changed after writing, with its fault."""
        for name in self._names("runs"):
            folder = self.path / "runs" / name
            if not _KEY.fullmatch(name):
                yield folder, "is not a run"
            elif (problem := self.problem(name)) is not None:
                yield folder, problem
            else:
                try:
                    record = self._record(name)
                    for file in record.files:
                        if file.endswith(".parquet"):
                            self._table(name, file, record, TableReader())
                except DamagedError as damage:
                    yield folder, str(damage)
                yield from ((folder / stray, "is not part of the run") for stray in self.strays(name))
        known = self.sweeps()
        for name in known:
            try:
                self._listed_runs(name)
            except DamagedError as damage:
                yield self.path / "sweeps", str(damage)
        for name in self._names("sweeps"):
            if name not in {f"{sweep}.{ending}" for sweep in known for ending in ("json", "parquet")}:
                yield self.path / "sweeps" / name, "is not part of a sweep"
        yield from self.foreign()

    @contextmanager
    def _reading_sweep(self, name: str) -> Iterator[None]:
        """Refuse a missing sweep; add the remedy to errors about damaged files of the sweep."""
        known = self.sweeps()
        if name not in known:
            hint = (
                _pifolab.unknown_name("sweep", name, known) if known else f'unknown sweep "{name}": there are no sweeps'
            )
            raise StoreError(f"{self.path}: {hint}")
        try:
            yield
        except DamagedError as damage:
            place = self.path / "sweeps"
            raise StoreError(f"{place}: {damage}; start the sweep again, which writes it anew") from None

    def _notes(self, name: str) -> dict[str, Any]:
        """Read the notes about a sweep; raises `DamagedError`."""
        file = f"{name}.json"
        with self._folder("sweeps") as sweeps:
            content = bytes_of(sweeps, file)
        try:
            return unseal(content)
        except DamagedError as damage:
            raise DamagedError(f"{file} {damage}") from None

    def _listed_runs(self, name: str) -> pl.DataFrame:
        """Read the runs of a sweep; raises `DamagedError`."""
        digests = self._notes(name).get(_RUNS_DIGESTS)
        file = f"{name}.parquet"
        with self._folder("sweeps") as sweeps:
            content = bytes_of(sweeps, file)
        if not isinstance(digests, list) or hashlib.sha256(content).hexdigest() not in digests:
            raise DamagedError(f"{file} differs from what was written")
        runs = TableReader().read(content, file)
        _check_runs(runs, file)
        keys = runs["run"]
        if keys.is_duplicated().any() or not keys.str.contains(f"^(?:{_KEY.pattern})$").all():
            raise DamagedError(f"{file}: column run: expected the key of another run in each row")
        if not (runs["seed"] >= 0).all():
            raise DamagedError(f"{file}: column seed: expected integers >= 0")
        for axis in runs.columns[2:]:
            if not _AXIS.fullmatch(axis):
                raise DamagedError(f"{file}: column {axis}: expected run, seed, and the name of an axis")
            if runs[axis].dtype.is_float() and not runs[axis].drop_nulls().is_finite().all():
                raise DamagedError(f"{file}: column {axis}: expected finite numbers")
        return runs

    def _table(self, key: str, file: str, record: RunRecord, reader: TableReader) -> pl.DataFrame:
        """Read a table of a run; raises `DamagedError`."""
        frame = reader.read(self._content(key, file, record), file)
        _check_runs(frame, file)
        if not (frame["run"] == key).all():
            raise DamagedError(f"{file}: column run: expected {key} in each row")
        return frame

    def _record(self, key: str) -> RunRecord:
        """Read the record of a run; raises `DamagedError`."""
        with self._run(key) as folder:
            return _record_in(folder, key)

    def _content(self, key: str, name: str, record: RunRecord) -> bytes:
        """Read a file of a run; raises `DamagedError` if it was changed after writing."""
        with self._run(key) as folder:
            return checked_bytes(folder, name, record.files[name])

    @contextmanager
    def _run(self, key: str) -> Iterator[Folder]:
        """Open the folder of a run; raises `DamagedError` if there is none."""
        with ExitStack() as opened:
            try:
                folder = opened.enter_context(self._open("runs", key))
            except FileNotFoundError:
                raise DamagedError(f"{_RECORD} is missing") from None
            except NotADirectoryError:
                raise DamagedError("is not a folder") from None
            except OSError as error:
                raise self._fault(error) from None
            yield folder

    @contextmanager
    def _reading(self, key: str) -> Iterator[None]:
        """Add the remedy to errors about damaged files of the run `key`."""
        try:
            yield
        except DamagedError as damage:
            raise StoreError(
                f"{self.run_folder(key)}: {damage}; start the sweep again, which repeats the run"
            ) from None

    def _names(self, *folder: str) -> list[str]:
        """Return the names in a folder of the store, in order; none if it does not exist.

        git, rsync and object stores drop empty folders.
        """
        try:
            with self._open(*folder) as opened:
                return opened.names()
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise self._fault(error) from None

    def _state(self, *path: str) -> os.stat_result | None:
        """Return the `stat` of a name in the store; None if it does not exist."""
        try:
            with self._open(*path[:-1]) as folder:
                return folder.state(path[-1])
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._fault(error) from None

    @contextmanager
    def _open(self, *names: str, make: bool = False) -> Iterator[Folder]:
        """Open a folder of the store, and `make` it if it is not there; raises `OSError`."""
        with ExitStack() as opened:
            folder = opened.enter_context(Folder.root(self.path))
            for name in names:
                if make:
                    with suppress(FileExistsError):
                        folder.make(name)
                folder = opened.enter_context(folder.inner(name))
            yield folder

    @contextmanager
    def _folder(self, *names: str, make: bool = False) -> Iterator[Folder]:
        """Open a folder of the store, and `make` it if it is not there; raises `StoreError`."""
        try:
            with self._open(*names, make=make) as folder:
                yield folder
        except OSError as error:
            raise self._fault(error) from None

    def _wait_for_lock(self, key: str) -> RunLock:
        while (lock := self.try_lock(key)) is None:
            time.sleep(0.01)
        return lock

    def _fault(self, error: OSError) -> StoreError:
        if error.errno in _NO_SPACE:
            return StoreFullError(f"{self.path}: no space is left on the disk; every finished run is kept")
        return StoreError(f"{error.filename or self.path}: {error.strerror or error}")


_FOLDERS = ("runs", "sweeps", "partial", "claims")


def _check_runs(frame: pl.DataFrame, file: str) -> None:
    """Raise `DamagedError` unless the first columns of a table name the run of each row."""
    for column, kind in (("run", pl.String), ("seed", pl.Int64)):
        if column not in frame.columns:
            raise DamagedError(f"{file}: has no column {column}")
        if frame[column].dtype != kind or frame[column].has_nulls():
            what = "texts" if kind == pl.String else "integers"
            raise DamagedError(f"{file}: column {column}: expected {what} in all rows, found {frame[column].dtype}")
    if frame.columns[:2] != ["run", "seed"]:
        raise DamagedError(f"{file}: expected the columns run and seed first")


def _check_kinds(frame: pl.DataFrame, kinds: dict[str, str | None], file: str) -> None:
    """Raise `DamagedError` if a column has values of another kind than in the runs before, and note its kind."""
    for column, dtype in frame.schema.items():
        kind = kind_of(dtype)
        if kind != "nothing" and kinds.setdefault(column, kind) != kind:
            raise DamagedError(f"{file}: column {column}: expected {kinds[column]} as in other runs, found {kind}")


def _partial_name(lock: str) -> str:
    """Return a new temporary name for the holder of `lock`, in the form that `leftovers` recognises."""
    return f"{lock}~{os.getpid()}.{os.urandom(4).hex()}"


def _record_in(folder: Folder, key: str) -> RunRecord:
    """Read the record of the run `key`, which lies in `folder`; raises `DamagedError`."""
    content = bytes_of(folder, _RECORD)
    try:
        return read_record(content, key)
    except DamagedError as damage:
        raise DamagedError(f"{_RECORD} {damage}") from None


def _sound_record(folder: Folder, key: str) -> RunRecord:
    """Read the record of the run `key`, which lies in `folder`, and check all its files; raises `DamagedError`."""
    record = _record_in(folder, key)
    for name, digest in record.files.items():
        check_digest(folder, name, digest)
    return record


def _is_sound(partial: Folder, name: str, key: str) -> bool:
    """Return whether the folder `name` is the run `key`, undamaged."""
    try:
        with partial.inner(name) as folder:
            _sound_record(folder, key)
    except (DamagedError, OSError):
        return False
    return True
