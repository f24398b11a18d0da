"""Metrics and comparisons as a store remembers them, for users of the store without the sweep file."""

from __future__ import annotations

from pifolab.statistics import Metric
from pifolab.store import Store, StoreError
from pifolab.sweep.comparison import Comparison

__all__ = ["stored_comparisons", "stored_metrics"]


def stored_metrics(store: Store, name: str) -> list[Metric]:
    """Return the metrics of the sweep `name`.

    Raises
    ------
    StoreError
        There is no such sweep, or its file was not written by pifolab.
    """
    try:
        return [Metric(**one) for one in store.sweep(name)["metrics"]]
    except (KeyError, TypeError) as error:
        raise StoreError(f"{store.path}: sweep {name}: its metrics cannot be read: {error}") from None


def stored_comparisons(store: Store, name: str) -> list[Comparison]:
    """Return the comparisons of the sweep `name`.

    Raises
    ------
    StoreError
        There is no such sweep, or its file was not written by pifolab.
    """
    try:
        return [Comparison(**{**one, "metric": Metric(**one["metric"])}) for one in store.sweep(name)["compare"]]
    except (KeyError, TypeError) as error:
        raise StoreError(f"{store.path}: sweep {name}: its comparisons cannot be read: {error}") from None
