"""What a store notes about a sweep, for users of the store without the sweep file; every key of it is checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pifolab.errors import InputError
from pifolab.section import Section, below
from pifolab.statistics import Metric
from pifolab.store import Store, StoreError
from pifolab.sweep.comparison import Claim, Comparison
from pifolab.sweep.figure import Drawing

__all__ = ["Notes", "stored_notes"]

_KEYS = ("title", "plan", "code", "scenario", "axes", "metrics", "compare")
#: What stores of before do not have.
_SINCE = ("claim", "figure")
_AXIS_KEYS = ("name", "key", "labels")
_COMPARISON_KEYS = ("metric", "of", "to", "stated_low", "stated_high", "tolerance", "source")


@dataclass(frozen=True)
class Notes:
    """What `pifolab.sweep.engine.sweep_card` wrote."""

    title: str
    scenario: str
    #: The labels of each axis, by its name.
    axes: dict[str, list[Any]]
    metrics: list[Metric]
    comparisons: list[Comparison]
    claims: list[Claim]
    figures: list[Drawing]


def stored_notes(store: Store, name: str) -> Notes:
    """Return what is noted about the sweep `name`.

    Raises
    ------
    StoreError
        There is no such sweep, or its file says something that pifolab does not write; the text names file and key.
    """
    about = store.sweep(name)
    file = store.path / "sweeps" / f"{name}.json"
    try:
        section = Section(below(f"{file}: notes"), about, (*_KEYS, *_SINCE))
        section.required(*_KEYS)
        for key in ("plan", "code"):
            section.text(key)
        axes = dict(_axis(one, f"{file}: axes[{at}]") for at, one in enumerate(_list(section, "axes")))
        claims, figures = (_list(section, key) if key in section else [] for key in _SINCE)
        return Notes(
            section.text("title"),
            section.text("scenario"),
            axes,
            [_metric(one, f"{file}: metrics[{at}]") for at, one in enumerate(_list(section, "metrics"))],
            [_comparison(one, f"{file}: compare[{at}]") for at, one in enumerate(_list(section, "compare"))],
            [Claim.read(_given(one), f"{file}: claim[{at}]") for at, one in enumerate(claims)],
            [Drawing.read(_given(one), f"{file}: figure[{at}]", None, axes) for at, one in enumerate(figures)],
        )
    except InputError as error:
        raise StoreError(f"{error}; start the sweep again, which writes it anew") from None


def _list(section: Section, key: str) -> list[Any]:
    value = section.table[key]
    if not isinstance(value, list):
        raise section.fault(key, "expected a list")
    return value


def _axis(written: Any, place: str) -> tuple[str, list[Any]]:
    section = Section(below(place), written, _AXIS_KEYS)
    section.required(*_AXIS_KEYS)
    section.text("key")
    labels = _list(section, "labels")
    if not all(map(_is_label, labels)):
        raise section.fault("labels", "expected numbers, texts and truth values")
    return section.text("name", empty=False), labels


def _given(written: Any) -> Any:
    """Return a table without the keys that are noted as null: what was not written."""
    return {key: value for key, value in written.items() if value is not None} if isinstance(written, dict) else written


def _metric(written: Any, place: str) -> Metric:
    given = _given(written)
    if not isinstance(given, dict):
        raise InputError(f"{place}: expected a table")
    return Metric.read(given, place)


def _comparison(written: Any, place: str) -> Comparison:
    section = Section(below(place), written, _COMPARISON_KEYS)
    section.required(*_COMPARISON_KEYS)
    low, high = (
        section.number(key) if section.table[key] is not None else None for key in ("stated_low", "stated_high")
    )
    if low is not None and high is not None and low > high:
        raise section.fault("stated_low", f"lies above stated_high = {high}")
    tolerance = section.number("tolerance")
    if tolerance < 0:
        raise section.fault("tolerance", "expected a number >= 0")
    source = section.text("source") if section.table["source"] is not None else None
    of, to = (_side(section, key) for key in ("of", "to"))
    return Comparison(_metric(section.table["metric"], section.at("metric")), of, to, low, high, tolerance, source)


def _side(section: Section, key: str) -> dict[str, Any]:
    value = section.table[key]
    if not isinstance(value, Mapping) or not all(map(_is_label, value.values())):
        raise section.fault(key, "expected a table from axes to labels")
    return dict(value)


def _is_label(value: Any) -> bool:
    return isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))
