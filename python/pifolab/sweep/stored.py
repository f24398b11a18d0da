"""The notes of a store about a sweep, for users without the sweep file; every key is checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pifolab.errors import InputError
from pifolab.section import Section, below
from pifolab.statistics import Metric
from pifolab.store import Store, StoreError
from pifolab.sweep.axes import Axis, Point
from pifolab.sweep.comparison import Claim, Comparison
from pifolab.sweep.figure import Drawing

_KEYS = ("title", "plan", "code", "scenario", "axes", "metrics", "compare")
#: Keys that stores of older versions do not have.
_SINCE = ("claim", "figure")
_AXIS_KEYS = ("name", "key", "labels")


@dataclass(frozen=True)
class Notes:
    """The notes that `pifolab.sweep.engine.sweep_card` wrote."""

    name: str
    title: str
    scenario: str
    #: The labels of each axis, by its name.
    axes: dict[str, list[Any]]
    metrics: list[Metric]
    comparisons: list[Comparison]
    claims: list[Claim]
    figures: list[Drawing]


def stored_notes(store: Store, name: str) -> Notes:
    """Return the notes about the sweep `name`.

    Raises `StoreError` if there is no such sweep, or its file has content that pifolab does not write.
    """
    about = store.sweep(name)
    file = store.path / "sweeps" / f"{name}.json"
    try:
        section = Section(below(f"{file}: notes"), about, (*_KEYS, *_SINCE))
        section.required(*_KEYS)
        for key in ("plan", "code"):
            section.text(key)

        def listed(key: str) -> list[tuple[Any, str]]:
            value = section.table.get(key, [])
            if not isinstance(value, list):
                raise section.fault(key, "expected a list")
            return [(_given(one), f"{file}: {key}[{at}]") for at, one in enumerate(value)]

        labels = dict(_axis(one, place) for one, place in listed("axes"))
        axes = tuple(Axis(axis, "", tuple(Point(one, one) for one in of)) for axis, of in labels.items())
        metrics = []
        for one, place in listed("metrics"):
            if not isinstance(one, dict):
                raise InputError(f"{place}: expected a table")
            metrics.append(Metric.read(one, place))
        return Notes(
            name,
            section.text("title"),
            section.text("scenario"),
            labels,
            metrics,
            [Comparison.read(one, place, axes) for one, place in listed("compare")],
            [Claim.read(one, place) for one, place in listed("claim")],
            [Drawing.read(one, place, None, labels) for one, place in listed("figure")],
        )
    except InputError as error:
        raise StoreError(f"{error}; start the sweep again, which writes it anew") from None


def _axis(written: Any, place: str) -> tuple[str, list[Any]]:
    section = Section(below(place), written, _AXIS_KEYS)
    section.required(*_AXIS_KEYS)
    section.text("key")
    labels = section.table["labels"]
    if not isinstance(labels, list) or not all(map(_is_label, labels)):
        raise section.fault("labels", "expected numbers, texts and truth values")
    return section.text("name", empty=False), labels


def _given(written: Any) -> Any:
    """Return a table in the form of a study file: without nulls and tolerances of 0."""
    if not isinstance(written, dict):
        return written
    return {key: _given(value) for key, value in written.items() if value is not None and (key != "tolerance" or value)}


def _is_label(value: Any) -> bool:
    return isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))
