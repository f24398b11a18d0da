"""The user code of a sweep: classes, named as ``"file.py:Class"``, and shared libraries, named as ``"file.so"``."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pifolab.errors import InputError
from pifolab.plugins import LIBRARIES, load_library, run_file
from pifolab.provenance import environment_reads, file_digest, own_files

#: The tables of a sweep that name classes; also the keywords of `pifolab.run`.
KINDS = ("schedulers", "ranks", "controllers", "observers")


@dataclass(frozen=True)
class Custom:
    """The user code of a sweep."""

    #: For each of `KINDS` names, and the file and class behind each.
    named: dict[str, dict[str, tuple[str, str]]]

    @classmethod
    def read(cls, sweep: Mapping[str, Any], folder: Path, place: Callable[..., str]) -> Custom:
        """Read the tables of a sweep that `KINDS` names; files are looked for in `folder`.

        Raises `InputError` for an entry that is no ``"file.py:Class"``, or without such a file or class.
        """
        found: dict[str, dict[str, tuple[str, str]]] = {}
        for key in KINDS:
            written = sweep.get(key)
            if written is not None and not isinstance(written, Mapping):
                raise InputError(f'{place(key)}: expected a table such as mine = "mine.py:Mine"')
            found[key] = {}
            for name, target in (written or {}).items():
                where = place(key, name)
                file, colon, maker = target.rpartition(":") if isinstance(target, str) else ("", "", "")
                if isinstance(target, str) and target.endswith(LIBRARIES):
                    file, maker = target, ""
                elif not (file and colon and maker):
                    raise InputError(f'{where} = {target!r}: expected "file.py:Class" or "library.so"')
                found[key][name] = (str((folder / file).absolute()), maker)
                try:
                    made = load(*found[key][name])
                except InputError as error:
                    raise InputError(f"{where}: {error}") from None
                if not maker and (made.kind, made.name) != (key, name):
                    raise InputError(
                        f"{where} = {target!r}: the library exports {made.name}, for the table {made.kind}"
                    )
        return cls(found)

    def written(self) -> dict[str, dict[str, str]]:
        """Return the tables of a sweep that name the same."""
        return {
            kind: {name: f"{file}:{maker}" if maker else file for name, (file, maker) in named.items()}
            for kind, named in self.named.items()
        }

    def makers(self) -> dict[str, Any]:
        """Return the classes themselves."""
        return load_all(self.named)

    def files(self) -> dict[str, str]:
        """Return the digest of each file that is behind the names, or imported by one that is, by its absolute path."""
        return {
            str(path): file_digest(path)
            for named in self.named.values()
            for file, _ in named.values()
            for path in _files(file).values()
        }

    def environment_reads(self) -> list[str]:
        """Return where these files name environment variables, as ``file:line``: they are not part of a key."""
        files = dict.fromkeys(file for named in self.named.values() for file, maker in named.values() if maker)
        return list(dict.fromkeys(place for file in files for place in environment_reads(Path(file))))

    def contents(self) -> list[list[Any]]:
        """Return kind, name, class, and the digest of each module, for all names; independent of paths."""
        return [
            [kind, name, maker, {module: file_digest(path) for module, path in _files(file).items()}]
            for kind, named in self.named.items()
            for name, (file, maker) in sorted(named.items())
        ]


def _files(file: str) -> dict[str, Path]:
    """Return the files of a name: a library, or a Python file and its imports."""
    return {"": Path(file)} if file.endswith(LIBRARIES) else own_files(Path(file))


def check_files(digests: Mapping[str, str]) -> None:
    """Refuse to continue, with an `InputError`, if a file has changed since the run was planned."""
    for path, planned in digests.items():
        found = file_digest(Path(path))
        if found != planned:
            raise InputError(
                f"{path}: the file has changed since the run was planned: expected SHA-256 {planned[:12]}, "
                f"got {found[:12]}"
            )


def load_all(named: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, Any]:
    """Return the classes behind names, kind by kind, as `load` finds each."""
    return {kind: {name: load(*one) for name, one in group.items()} for kind, group in named.items()}


def load(file: str, maker: str) -> Any:
    """Return the class or function `maker` of the Python file `file`, or the class that a library exports.

    Raises `InputError` if there is no such file or name, or the file raises an exception.
    """
    if not maker:
        return load_library(Path(file))
    loaded = _LOADED.get(file)
    # A process that lives longer than one sweep must notice that a file has changed.
    if loaded is None or loaded.digests != _digests(loaded.files):
        loaded = _LOADED[file] = _load_anew(file, loaded)
    if not hasattr(loaded.module, maker):
        raise InputError(f"{file}: has no {maker}")
    return getattr(loaded.module, maker)


@dataclass(frozen=True)
class _Loaded:
    module: ModuleType
    files: dict[str, Path]
    digests: dict[str, str]


#: The loaded classes of this process, by file.
_LOADED: dict[str, _Loaded] = {}


def _load_anew(file: str, before: _Loaded | None) -> _Loaded:
    # Its imports are as old as the module.
    for name in before.files if before is not None else ():
        sys.modules.pop(name, None)
    module = run_file(Path(file), "pifolab_custom_" + hashlib.sha256(file.encode()).hexdigest()[:16])
    files = own_files(Path(file))
    return _Loaded(module, files, _digests(files))


def _digests(files: Mapping[str, Path]) -> dict[str, str]:
    return {name: file_digest(path) for name, path in files.items()}
