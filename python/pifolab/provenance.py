"""The inputs of a run besides its scenario: the compiled module, and the user's own Python files."""

from __future__ import annotations

import ast
import hashlib
import os
import site
import stat
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.text import open_bytes, read_bytes

#: The constant of a user's module that lists the data files which it reads.
DATA_FILES = "FILES"

#: The names in the module `os` that read environment variables.
_ENVIRONMENT = ("environ", "environb", "getenv", "getenvb")

#: Functions that import the module named by their first argument.
_IMPORTERS = ("import_module", "__import__")


@lru_cache(maxsize=1)
def module_digest() -> str:
    """Return the SHA-256 of the compiled module, in hexadecimal digits."""
    return file_digest(Path(str(_pifolab.__file__)))


def code_version() -> str:
    """Return the version and a hash of the compiled module: everything that it is built from may change results."""
    return f"{_pifolab.__version__}+{module_digest()[:12]}"


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with open_bytes(path) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InputError(f"{path}: is not a regular file")
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def importable(file: Path) -> None:
    """Let the Python file `file` import modules from its own folder, after those that can be imported anyway."""
    sys.path[:] = _search_path(file)
    _FOLDERS.add(str(file.absolute().parent))


@contextmanager
def only_sources() -> Iterator[None]:
    """Import from sources: a compiled file passes for new if its source changed within a second and kept its length."""
    before = sys.pycache_prefix, sys.dont_write_bytecode
    # Nothing is ever written there.
    sys.pycache_prefix, sys.dont_write_bytecode = os.path.join(tempfile.gettempdir(), "pifolab-none"), True  # noqa: PTH118
    try:
        yield
    finally:
        sys.pycache_prefix, sys.dont_write_bytecode = before


def own_files(file: Path) -> dict[str, Path]:
    """Return a Python file and all modules outside installed packages that it imports, directly or indirectly.

    Imports are read from the source, wherever they stand in it; one whose name is computed cannot be seen. What a
    module lists in its constant ``FILES`` counts as well: files of data beside it, or further modules. Files are by the
    names of their modules, or as ``FILES`` has them; `file` itself is under ``""``. Its folder is searched after
    ``sys.path``, but before the folders of other such files.
    """
    path = _search_path(file)
    found = {"": file.absolute()}
    seen: set[str] = set()
    waiting = [("", file.absolute(), "")]
    while waiting:
        _, source, package = waiting.pop()
        if source.suffix != ".py":
            continue
        tree = _tree(source)
        for name in _named_files(source, tree):
            found[name] = source.parent / name
        for name in _imports(tree, package):
            for spec in _specs(name, path, seen):
                seen.add(spec.name)
                origin = Path(spec.origin) if spec.has_location and spec.origin else None
                if origin is None or is_installed(origin):
                    continue
                _check_origin(file, spec.name, origin)
                found[spec.name] = origin.absolute()
                inside = spec.name if spec.submodule_search_locations is not None else spec.name.rpartition(".")[0]
                waiting.append((spec.name, origin, inside))
    return dict(sorted(found.items()))


def environment_reads(file: Path) -> list[str]:
    """Return the places where a Python file, or a module of the user's that it imports, names environment variables.

    Each place is ``file:line``. The source is searched: aliases of `os.environ` and started programs are not found.
    """
    found = []
    for source in dict.fromkeys(own_files(file).values()):
        if source.suffix != ".py":
            continue
        for node in ast.walk(_tree(source)):
            named = isinstance(node, ast.Attribute) and node.attr in _ENVIRONMENT
            if isinstance(node, ast.ImportFrom):
                named = node.module == "os" and any(alias.name in _ENVIRONMENT for alias in node.names)
            if named and isinstance(node, (ast.Attribute, ast.ImportFrom)):
                found.append((str(source), node.lineno))
    return [f"{source}:{line}" for source, line in sorted(set(found))]


def _tree(source: Path) -> ast.Module:
    text = read_bytes(source)
    try:
        return ast.parse(text, str(source))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"{source}: cannot be read as Python: {error}") from None


def _named_files(source: Path, tree: ast.Module) -> list[str]:
    """Return the data files in a module's constant `FILES`, relative to the module's folder."""
    names: list[str] = []
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == DATA_FILES for target in targets):
            try:
                value = ast.literal_eval(node.value)  # type: ignore[attr-defined]
            except ValueError:
                value = None
            if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) and name for name in value):
                raise InputError(f"{source}:{node.lineno}: {DATA_FILES}: expected a list of names such as ['data.csv']")
            names += value
    return names


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield the full names that a file imports, some of which may be names in a module instead of modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*filter(None, parents), *([node.module] if node.module else [])])
            if base:
                yield base
                yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", None))
            if called in _IMPORTERS and isinstance(node.args[0].value, str):
                yield node.args[0].value


def _specs(name: str, path: Sequence[str], seen: set[str]) -> Iterator[ModuleSpec]:
    """Yield the files that importing `name` runs, without those in `seen`: packages first. Runs no code."""
    search: Sequence[str] | None = path
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        full = ".".join(parts[:count])
        if full in sys.builtin_module_names:
            return
        spec = PathFinder.find_spec(full, search)
        if spec is None or (spec.origin and is_installed(Path(spec.origin))):
            return
        if full not in seen:
            yield spec
        if spec.submodule_search_locations is None:
            return
        search = list(spec.submodule_search_locations)


#: Folders that `importable` added to ``sys.path``.
_FOLDERS: set[str] = set()

#: Where modules of users come from. In a process there is one module of a name.
_ORIGINS: dict[str, Path] = {}


def _search_path(file: Path) -> list[str]:
    own = str(file.absolute().parent)
    others = [folder for folder in sys.path if folder in _FOLDERS and folder != own]
    first = [folder for folder in sys.path if folder not in _FOLDERS]
    return [*first, *([] if own in first else [own]), *others]


def _check_origin(file: Path, name: str, origin: Path) -> None:
    loaded = getattr(sys.modules.get(name), "__file__", None)
    other = _ORIGINS.get(name) if loaded is None else Path(loaded)
    if other is not None and other.absolute() != origin.absolute() and other.exists():
        raise InputError(f"{file}: imports {name} from {origin}, but {other} has this name too: rename one of them")
    _ORIGINS[name] = origin


@lru_cache(maxsize=1)
def _installed() -> tuple[Path, ...]:
    """Return the folders of installed packages, and of Python and pifolab themselves."""
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {*site.getsitepackages(), site.getusersitepackages(), str(Path(__file__).parent)}
    return tuple(Path(folder).resolve() for folder in folders)


def is_installed(path: Path) -> bool:
    """Return whether a file belongs to Python, to an installed package or to pifolab."""
    whole = path.resolve()
    return any(whole.is_relative_to(folder) for folder in _installed()) or bool(
        {"site-packages", "dist-packages"} & set(whole.parts)
    )
