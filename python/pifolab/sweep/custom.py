"""What is written in Python and named in a sweep as ``"file.py:Class"``: schedulers, rank functions and the like."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pifolab.errors import InputError

__all__ = ["KINDS", "Custom", "load", "load_all"]

#: The tables of a sweep that name classes; also the keywords of `pifolab.run`.
KINDS = ("schedulers", "ranks", "controllers", "observers")


@dataclass(frozen=True)
class Custom:
    """What a sweep brings along."""

    #: For each of `KINDS` names, and the file and class behind each.
    named: dict[str, dict[str, tuple[str, str]]]

    @classmethod
    def read(cls, sweep: Mapping[str, Any], folder: Path, place: Callable[..., str]) -> Custom:
        """Read the tables of a sweep that `KINDS` names; files are looked for in `folder`.

        Raises
        ------
        InputError
            An entry is no ``"file.py:Class"``, or there is no such file or class.
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
                if not (file and colon and maker):
                    raise InputError(f'{where} = {target!r}: expected "file.py:Class"')
                found[key][name] = (str((folder / file).absolute()), maker)
                try:
                    load(*found[key][name])
                except InputError as error:
                    raise InputError(f"{where}: {error}") from None
        return cls(found)

    def makers(self) -> dict[str, Any]:
        """Return the classes themselves."""
        return load_all(self.named)

    def digest(self) -> str:
        """Return a hash of the files behind the names; empty without any."""
        digest = hashlib.sha256()
        members = [(name, one) for named in self.named.values() for name, one in named.items()]
        for name, (file, maker) in members:
            digest.update(f"{name}\0{maker}\0".encode() + Path(file).read_bytes())
        return digest.hexdigest() if members else ""


def load_all(named: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, Any]:
    """Return the classes behind names, kind by kind, as `load` finds each."""
    return {kind: {name: load(*one) for name, one in group.items()} for kind, group in named.items()}


def load(file: str, maker: str) -> Any:
    """Return the class (or whatever makes one) called `maker` in the Python file `file`.

    Raises
    ------
    InputError
        There is no such file or name, or the file raises an exception.
    """
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    # A process that lives longer than one sweep must notice that the file has changed.
    module_name = "pifolab_custom_" + hashlib.sha256(file.encode() + b"\0" + content).hexdigest()[:16]
    module = sys.modules.get(module_name)
    if module is None:
        spec = importlib.util.spec_from_file_location(module_name, file)
        if spec is None or spec.loader is None:
            raise InputError(f"{file}: expected a Python file, with the ending .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[module_name]
            raise InputError(f"{file}: {type(error).__name__}: {error}") from None
    if not hasattr(module, maker):
        raise InputError(f"{file}: has no {maker}")
    return getattr(module, maker)
