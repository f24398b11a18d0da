"""What the authors of the papers have published beside their code: another source of the tables that metrics read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pifolab.commas import read_csv
from pifolab.errors import InputError
from pifolab.lazy import pl
from pifolab.section import Section, below
from pifolab.statistics import Tables
from pifolab.toml import read_toml

_KEYS = ("experiment", "source", "file", "settings", "tables_of")

#: How long the authors' runs are, all of them.
DURATION_S = 1.0


@dataclass(frozen=True)
class Published:
    """The numbers behind one figure, as its authors have published them.

    Attributes
    ----------
    experiment : str
        The experiment of the registry that repeats the figure.
    source : str
        The repository, its revision, and the folder in it.
    settings : str
        In what their runs differ from the text; empty where nothing is known.
    tables : dict of str to Path
        The files, by the name of the table.
    other_settings : bool
        They belong to another submission of the paper, so that they say nothing about its text.
    """

    experiment: str
    source: str
    settings: str
    tables: Mapping[str, Path]
    other_settings: bool = False

    def results(self) -> Tables:
        """Return the tables as metrics read them."""
        return Tables({name: _table(path) for name, path in self.tables.items()})

    def schedulers(self) -> set[str]:
        """Return the schedulers that the tables name."""
        return {name for frame in self.results().frames.values() for name in frame["scheduler"].to_list()}


def load_published(folder: Path, experiments: Mapping[str, Any]) -> dict[str, Published]:
    """Read `published.toml` and find the tables in `folder`; nothing if the registry has no such file."""
    file = folder / "published.toml"
    if not file.is_file():
        return {}
    top = Section(below(file.name, ": "), read_toml(file), ("sources", "other-submissions", "published"))
    sources, others = top.table.get("sources", {}), top.texts("other-submissions")
    for source in others:
        if source not in sources:
            raise top.fault("other-submissions", f"expected one of {', '.join(sorted(sources))}")
    found: dict[str, Published] = {}
    for place, written in enumerate(top.table.get("published", []), start=1):
        where = f"{file.name}: published {written.get('experiment') or place}"
        entry = Section(below(where, ": "), written, _KEYS)
        name, source = entry.text("experiment"), entry.text("source")
        if name not in experiments:
            raise InputError(f"{where}: experiment = {name!r}: unknown experiment")
        if name in found:
            raise InputError(f"{where}: duplicate experiment")
        if source not in sources:
            raise entry.fault("source", f"expected one of {', '.join(sorted(sources))}")
        # Two experiments may repeat one figure, with other loads.
        of = entry.text("tables_of", name)
        tables = {path.name.split(".")[1]: path for path in sorted((folder / "published").glob(f"{of}.*.csv"))}
        if not tables:
            raise InputError(f"{where}: published/{of}.*.csv: no such file")
        origin = f"{sources[source]}/{entry.text('file', '')}".rstrip("/")
        found[name] = Published(name, origin, entry.text("settings", ""), tables, source in others)
    for path in sorted((folder / "published").glob("*.csv")):
        if path.name.split(".")[0] not in found:
            raise InputError(
                f"published/{path.name}: {file.name} does not have the experiment {path.name.split('.')[0]!r}"
            )
    return found


def _table(path: Path) -> pl.DataFrame:
    frame = read_csv(path, infer_schema_length=None)
    if "scheduler" not in frame.columns:
        raise InputError(f"{path}: expected a column scheduler; there are {', '.join(frame.columns)}")
    axes = [name for name in ("load", "utilisation") if name in frame.columns]
    return frame.with_columns(pl.col(name).cast(pl.Float64) for name in axes)
