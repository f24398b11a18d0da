"""The files of the package that are not code: experiments by name, conformance vectors, the playground."""

from __future__ import annotations

import re
from pathlib import Path

from pifolab import _pifolab
from pifolab.errors import InputError

_PACKAGE = Path(__file__).resolve().parent


def experiments() -> dict[str, Path]:
    """Return the scenarios and sweeps of the package by their names, such as ``packs/fig3``."""
    folder = _PACKAGE / "experiments"
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.toml"))}


def studies() -> list[str]:
    """Return the names of the experiments that are studies: many runs of a scenario."""
    return [name for name, path in experiments().items() if re.search(r"(?m)^scenarios? *=", path.read_text("utf-8"))]


def titles() -> dict[str, str]:
    """Return the titles of the packaged experiments by their names; empty where one has none."""
    # Used only by `pifolab show experiments`.
    from pifolab.toml import read_toml

    return {name: read_toml(path).get("title", "") for name, path in experiments().items()}


def experiment(name: Path) -> Path:
    """Return the file of this path or, where there is none, the packaged experiment of this name."""
    if name.exists() or name.is_absolute():
        return name
    known = experiments()
    wanted = name.with_suffix("").as_posix() if name.suffix == ".toml" else name.as_posix()
    if wanted in known:
        return known[wanted]
    if name.suffix == ".toml" or len(name.parts) > 2 or name.is_symlink():
        # The name of a file: if the file is missing, its reader raises the error.
        return name
    unknown = _pifolab.unknown_name("experiment", wanted, list(known), "pifolab show experiments")
    raise InputError(f"{name}: no such file; {unknown}")


def vectors() -> list[Path]:
    """Return the conformance vectors of the package, or of the source tree."""
    # In a source tree `make wheel` leaves a copy, which may be older than the tree.
    for folder in (_PACKAGE.parents[1] / "conformance", _PACKAGE / "data" / "conformance"):
        if found := sorted(folder.glob("*.json")):
            return found
    raise InputError("this pifolab was built without conformance vectors: give files")


def playground() -> Path:
    """Return the page of the playground."""
    page = _PACKAGE / "data" / "playground" / "index.html"
    if not page.exists():
        raise InputError("this pifolab was built without the playground: run make playground in the source tree")
    return page
