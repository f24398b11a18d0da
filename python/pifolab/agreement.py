"""Compares the flow completion times of a run with those of another simulator, flow by flow."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pifolab.commas import read_csv
from pifolab.errors import InputError
from pifolab.lazy import pl
from pifolab.store.parquet import TableReader
from pifolab.text import read_text

_COLUMNS = ("flow", "src", "dst", "size_bytes", "start_ns", "fct_ns")


@dataclass(frozen=True)
class ClassDifference:
    """Completion times of one class of flow sizes, in nanoseconds: run, reference, each None without complete flows."""

    name: str
    statistic: str
    ours: float | None
    reference: float | None

    @property
    def relative(self) -> float | None:
        """How much larger the run's value is, as a share of the reference."""
        if self.ours is None or self.reference is None:
            return None
        return self.ours / self.reference - 1


@dataclass(frozen=True)
class Agreement:
    """The agreement of a run with a reference.

    Attributes
    ----------
    scheduler : str
        The scheduler of the run.
    flows : int
        Flows of the reference.
    matched : int
        Of those, flows that the run has too: the same sender, receiver, size and start.
    unmatched_ours, unmatched_reference : int
        Flows that only one of the two has.
    identical : int
        Matched flows with the same completion time to the nanosecond, or unfinished in both.
    within_1_percent : int
        Matched flows whose completion times differ by at most 1 % of the reference's, or unfinished in both.
    finished_in_one : int
        Matched flows that only one of the two completed.
    differences : list of ClassDifference
        Mean and 99th percentile for each class of flow sizes of the run, over the flows that each completed.
    """

    scheduler: str
    flows: int
    matched: int
    unmatched_ours: int
    unmatched_reference: int
    identical: int
    within_1_percent: int
    finished_in_one: int
    differences: list[ClassDifference]

    @property
    def complete(self) -> bool:
        """Whether every flow of either is in both and identical."""
        return self.identical == self.flows and self.unmatched_ours == 0


def agree(
    run: str | os.PathLike[str],
    reference: str | os.PathLike[str],
    *,
    scheduler: str | None = None,
    seed: int | None = None,
    column: str = "fct_ns",
) -> Agreement:
    """Compare the run folder `run` with the CSV file `reference`.

    Flows are matched by sender, receiver, size and start; among equal ones in the order of the files.

    Parameters
    ----------
    run : path
        A folder that ``pifolab run`` wrote for a scenario on a network.
    reference : path
        CSV (gzip allowed) with the columns ``flow``, ``src``, ``dst``, ``size_bytes``, ``start_ns`` and `column`, empty
        where a flow was unfinished; further columns are ignored.
    scheduler, seed : optional
        Which of several in the run. Default: the only one.
    column : str
        The completion times of the reference, in nanoseconds: a list may have those of several runs side by side.

    Raises
    ------
    InputError
        A file cannot be read or is not what it should be, or the run has several schedulers or seeds and none is named.
    """
    folder = Path(run)
    ours = _ours(folder, scheduler, seed)
    label = str(ours["scheduler"][0]) if ours.height else str(scheduler)
    theirs = _read_reference(Path(reference), column)
    key = ["src", "dst", "size_bytes", "start_ns"]
    place = pl.int_range(pl.len()).over(key).alias("place")
    ours = ours.select(*key, "fct_ns").with_columns(place)
    theirs = theirs.select(*key, "fct_ns").with_columns(place)
    both = ours.join(theirs, on=[*key, "place"], how="inner", suffix="_reference")
    mine, other = pl.col("fct_ns"), pl.col("fct_ns_reference")
    unfinished = mine.is_null() & other.is_null()
    close = ((mine - other).abs() <= other * 0.01).fill_null(value=False)
    counts = both.select(
        identical=(unfinished | (mine == other).fill_null(value=False)).sum(),
        close=(unfinished | close).sum(),
        one=(mine.is_null() != other.is_null()).sum(),
    ).row(0)
    return Agreement(
        scheduler=label,
        flows=theirs.height,
        matched=both.height,
        unmatched_ours=ours.height - both.height,
        unmatched_reference=theirs.height - both.height,
        identical=counts[0],
        within_1_percent=counts[1],
        finished_in_one=counts[2],
        differences=_differences(folder, ours, theirs),
    )


def _ours(folder: Path, scheduler: str | None, seed: int | None) -> pl.DataFrame:
    file = folder / "flows.parquet"
    try:
        frame = TableReader().read_file(file)
    except InputError as error:
        raise InputError(f"{error}; expected the folder of a network run") from None
    missing = [column for column in _COLUMNS if column not in frame.columns]
    if missing:
        raise InputError(f"{file}: has no column {missing[0]}: expected the folder of a run on a network")
    for name, wanted in (("scheduler", scheduler), ("seed", seed)):
        known = frame[name].unique(maintain_order=True).to_list()
        if wanted is None and len(known) > 1:
            shown = ", ".join(map(str, known))
            raise InputError(f"{folder}: has several of {name} ({shown}): choose one with --{name}")
        if wanted is not None:
            if wanted not in known:
                raise InputError(f"{folder}: has no {name} {wanted}; there are {', '.join(map(str, known))}")
            frame = frame.filter(pl.col(name) == wanted)
    return frame


def _read_reference(file: Path, times: str) -> pl.DataFrame:
    frame = read_csv(file, infer_schema=False)
    keys = _COLUMNS[:-1]
    missing = [name for name in keys if name not in frame.columns]
    if missing:
        raise InputError(f"{file}:1: has no column {missing[0]}: expected {','.join(keys)},{times}")
    if times not in frame.columns or times in keys:
        others = ", ".join(name for name in frame.columns if name not in keys) or "none"
        raise InputError(
            f"{file}:1: has no column {times} of completion times: choose one with --column; it has {others}"
        )
    frame = frame.select(*keys, pl.col(times).alias("fct_ns"))
    for name in _COLUMNS:
        numbers = frame[name].cast(pl.Int64, strict=False)
        may_miss = name == "fct_ns"
        wrong = numbers.is_null() & (frame[name].is_not_null() if may_miss else True)
        wrong = wrong | (numbers < 0).fill_null(value=False)
        if wrong.any():
            line = int(wrong.arg_max() or 0)
            value = frame[name][line] or ""
            shown = times if may_miss else name
            raise InputError(f"{file}:{line + 2}: {shown}: {value!r}: expected an integer, 0 or above")
        frame = frame.with_columns(numbers)
    return frame


def _differences(folder: Path, ours: pl.DataFrame, theirs: pl.DataFrame) -> list[ClassDifference]:
    try:
        manifest: dict[str, Any] = json.loads(read_text(folder / "manifest.json"))
        borders = [int(border) for border in manifest["spec"]["metrics"]["size_classes_bytes"]]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{folder / 'manifest.json'}: cannot be read: {_reason(error)}") from None
    edges: list[int | None] = [0, *borders, None]
    classes: list[tuple[str, int, int | None]] = [("all", 0, None)]
    for low, high in itertools.pairwise(edges):
        name = f"< {high} B" if not low else f">= {low} B" if high is None else f"{low} to {high} B"
        classes.append((name, low or 0, high))
    differences = []
    for name, low, high in classes:
        within = pl.col("size_bytes") >= low
        if high is not None:
            within &= pl.col("size_bytes") < high
        times = [frame.filter(within)["fct_ns"].drop_nulls() for frame in (ours, theirs)]
        means = [_number(one.mean()) for one in times]
        tails = [_number(one.quantile(0.99, "linear")) for one in times]
        differences.append(ClassDifference(name, "mean", *means))
        differences.append(ClassDifference(name, "p99", *tails))
    return differences


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text.splitlines()[0] if text else type(error).__name__
