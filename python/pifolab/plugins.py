"""Finds schedulers, rank functions, congestion controllers and observers written in Python, and loadable ones.

They come from a file of the user (Python, or a shared library with the function of ``pifolab_loadable.h``), or from an
installed distribution that names them as entry points of the groups `pifolab.schedulers`, `pifolab.ranks`,
`pifolab.controllers` and `pifolab.observers`.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from pifolab import _pifolab
from pifolab.custom import PythonController, PythonObserver, PythonRank, PythonScheduler
from pifolab.errors import InputError
from pifolab.interruption import calling_plug_in, is_stop
from pifolab.provenance import file_digest, importable, only_sources
from pifolab.text import read_bytes

#: How the names of shared libraries end.
LIBRARIES = (".so", ".dylib", ".dll")

_KINDS: dict[str, type] = {
    "schedulers": PythonScheduler,
    "ranks": PythonRank,
    "controllers": PythonController,
    "observers": PythonObserver,
}


@dataclass(frozen=True)
class Plugins:
    """Classes by the names that a scenario uses for them; the fields are keywords of `pifolab.run`."""

    schedulers: dict[str, Any] = field(default_factory=dict)
    ranks: dict[str, Any] = field(default_factory=dict)
    controllers: dict[str, type[PythonController]] = field(default_factory=dict)
    observers: dict[str, type[PythonObserver]] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Return all names."""
        return [*self.schedulers, *self.ranks, *self.controllers, *self.observers]

    def with_installed(self, *texts: str) -> Plugins:
        """Return these classes, followed by those that `installed` finds by the names in `texts`."""
        return Plugins(**{kind: {**installed(kind, *texts), **own} for kind, own in vars(self).items()})


def load_plugins(files: list[Path]) -> Plugins:
    """Run each Python file and gather the classes that it defines; load each shared library.

    A class is called what its attribute `name` says, or after itself: ``ShortFirst`` is ``short-first``. Raises
    `InputError` if a file cannot be read or run, defines no usable class, or a name is a duplicate.
    """
    plugins = Plugins()
    for file in files:
        if file.suffix in LIBRARIES:
            library = load_library(file)
            known_libraries: dict[str, Any] = getattr(plugins, library.kind)
            if known_libraries.setdefault(library.name, library) is not library:
                raise InputError(f"{file}: there are two {library.kind} called {library.name}")
            continue
        found = 0
        for made in vars(run_file(file, f"pifolab_plugin_{file.stem}")).values():
            if not isinstance(made, type) or inspect.isabstract(made) or made in _KINDS.values():
                continue
            for kind, base in _KINDS.items():
                if issubclass(made, base):
                    known: dict[str, type] = getattr(plugins, kind)
                    name = component_name(made)
                    if known.setdefault(name, made) is not made:
                        raise InputError(f"{file}: class {made.__name__}: there are two {kind} called {name}")
                    found += 1
        if not found:
            bases = ", ".join(f"pifolab.{base.__name__}" for base in _KINDS.values())
            raise InputError(f"{file}: expected a complete class that is derived from one of {bases}")
    return plugins


#: The libraries of this process by path: a digest of the file, and the class that it exports.
_LOADED: dict[Path, tuple[str, _pifolab.Loadable]] = {}


def load_library(file: Path) -> _pifolab.Loadable:
    """Load a shared library and return the scheduler or the rank function that it exports.

    Raises `InputError` if there is no such file, it is no library, or it does not keep to ``pifolab_loadable.h``.
    """
    path = file.absolute()
    if not path.is_file():
        source = file.with_suffix(".c")
        build = f"; build it: cc -O2 -shared -fPIC -o {file} {source}" if source.is_file() else ""
        raise InputError(f"{file}: no such file{build}")
    digest = file_digest(path)
    if path in _LOADED:
        before, library = _LOADED[path]
        if before != digest:
            raise InputError(f"{file}: the library has changed since this process loaded it: start a new process")
        return library
    try:
        function = ctypes.CDLL(str(path)).pifolab_loadable
    except OSError as error:
        raise InputError(f"{file}: cannot be loaded: {error}") from None
    except AttributeError:
        raise InputError(f"{file}: does not export pifolab_loadable: see pifolab_loadable.h") from None
    function.restype = ctypes.c_void_p
    library = _pifolab.Loadable(str(file), function() or 0)
    _LOADED[path] = digest, library
    return library


def installed(kind: str, *texts: str) -> dict[str, Any]:
    """Return the classes of `kind` of installed distributions, by name: those whose names occur in `texts`.

    They are the entry points of ``pifolab.<kind>``, such as ``pifolab.schedulers``. No other distribution is imported.
    """
    found = {}
    for entry in _entries(kind, tuple(sys.path)):
        word = re.compile(rf"(?<![\w-]){re.escape(entry.name)}(?![\w-])")
        if any(word.search(text) for text in texts):
            found[entry.name] = _loaded(entry, _KINDS[kind])
    return found


@cache
def _entries(kind: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points of all distributions on `path`."""
    del path
    return tuple(entry_points(group=f"pifolab.{kind}"))


def _loaded(entry: EntryPoint, base: type) -> Any:
    owner = f"{entry.dist.name}: " if entry.dist is not None else ""
    place = f"{owner}entry point {entry.group} {entry.name} = {entry.value}"
    try:
        made = calling_plug_in(entry.load)
    except BaseException as error:
        if is_stop(error):
            raise
        raise InputError(f"{place}: {type(error).__name__}: {error}".removesuffix(": ")) from None
    if not (isinstance(made, type) and issubclass(made, base)):
        raise InputError(f"{place}: expected a class that is derived from pifolab.{base.__name__}")
    return made


def component_name(made: type) -> str:
    """Return the name of the class in scenarios.

    Examples
    --------
    >>> [component_name(type(name, (), {})) for name in ("ShortFirst", "MyDCTCP")]
    ['short-first', 'my-dctcp']
    >>> component_name(type("X", (), {"name": "a-b"}))
    'a-b'
    """
    given: Any = getattr(made, "name", None)
    if isinstance(given, str):
        return given
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", made.__name__).lower()


def run_file(file: Path, name: str) -> ModuleType:
    """Run a Python file of the user's and return it as the module `name`."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError(f"{file}: expected a Python file that ends in .py")
    # Python would read whatever has no end, too.
    read_bytes(file)
    importable(file)
    # The import system's cache of folders misses files that were written within the last second.
    importlib.invalidate_caches()
    module = importlib.util.module_from_spec(spec)
    # Data classes and pickles find their module by name.
    sys.modules[name] = module
    try:
        with only_sources():
            calling_plug_in(partial(spec.loader.exec_module, module))
    except BaseException as error:
        del sys.modules[name]
        if is_stop(error):
            raise
        if isinstance(error, OSError) and error.filename is not None and Path(error.filename) == file.absolute():
            raise InputError(f"{file}: cannot be read: {error.strerror}") from None
        raise InputError(_where(file, error)) from None
    return module


def _where(file: Path, error: BaseException) -> str:
    """Return one line about an exception that running `file` raised."""
    if isinstance(error, SyntaxError):
        return f"{file}:{error.lineno}: {type(error).__name__}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == file.absolute()]
    place = f"{file}:{lines[-1]}" if lines else str(file)
    return f"{place}: {type(error).__name__}: {error}".removesuffix(": ")
