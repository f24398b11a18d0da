"""A table in a user's file, read key by key; every error begins with the place of the key."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from typing import Any

from pifolab import _pifolab
from pifolab.errors import InputError


def below(place: str, joint: str = ".") -> Callable[..., str]:
    """Return a function that names a key below `place`, or `place` itself without a key.

    Examples
    --------
    >>> below("s.toml: compare[0]")("metric"), below("s.toml: compare[0]")()
    ('s.toml: compare[0].metric', 's.toml: compare[0]')
    """
    return lambda *path: joint.join((place, *path))


def as_written(value: Any) -> str:
    """Return a value as its author would recognise it; of numbers and dates only the digits.

    Examples
    --------
    >>> as_written(Decimal("NaN")), as_written([Decimal("1.5"), "a"]), as_written(datetime.date(1979, 5, 27))
    ('nan', "[1.5, 'a']", '1979-05-27')
    """
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else str(float(value))
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, list):
        return f"[{', '.join(map(as_written, value))}]"
    return repr(value)


class Section:
    """A table of a user's file whose keys are all `known`; its methods raise `InputError` for a value of another kind.

    `place` returns the beginning of an error about a key, or without one about the table; `expected` is for a value
    that is no table.

    Examples
    --------
    >>> section = Section(below("here"), {"seeds": 3}, ("seeds", "title"))
    >>> section.count("seeds"), section.text("title", "none")
    (3, 'none')
    >>> section.text("seeds")
    Traceback (most recent call last):
        ...
    pifolab.errors.InputError: here.seeds = 3: expected a text
    """

    def __init__(
        self, place: Callable[..., str], table: Any, known: Collection[str], expected: str = "a table"
    ) -> None:
        if not isinstance(table, Mapping):
            raise InputError(f"{place()}: expected {expected}")
        unknown = [str(key) for key in table if key not in known]
        if unknown:
            more = f"; also unknown: {', '.join(unknown[1:])}" if unknown[1:] else ""
            raise InputError(f"{place(unknown[0])}: {_pifolab.unknown_name('key', unknown[0], list(known))}{more}")
        self.at = place
        self.table: Mapping[str, Any] = table

    @property
    def place(self) -> str:
        """The beginning of errors about the whole table."""
        return self.at()

    def __contains__(self, key: str) -> bool:
        return key in self.table

    def fault(self, key: str, expected: str) -> InputError:
        """Return an error that names the expected value of `key`."""
        return InputError(f"{self.at(key)} = {as_written(self.table.get(key))}: {expected}")

    def required(self, *keys: str) -> None:
        """Refuse a table that lacks any of `keys`, with the names of all that it lacks."""
        missing = [key for key in keys if key not in self.table]
        if missing:
            more = f"; also missing: {', '.join(missing[1:])}" if missing[1:] else ""
            raise InputError(f"{self.at(missing[0])}: is missing{more}")

    def text(self, key: str, default: str | None = None, *, empty: bool = True) -> str:
        """Return a text; an empty one only if that is allowed."""
        if key not in self.table and default is not None:
            return default
        self.required(key)
        value = self.table[key]
        if not isinstance(value, str) or not (value or empty):
            raise self.fault(key, f"expected a {'' if empty else 'non-empty '}text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, empty if the key is absent."""
        value = self.table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.fault(key, "expected a list of texts")
        return tuple(value)

    def number(self, key: str, default: float | None = None) -> float:
        """Return a finite number."""
        if key not in self.table and default is not None:
            return default
        self.required(key)
        value = self.table[key]
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
            raise self.fault(key, "expected a number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.fault(key, "expected a finite number")
        return number

    def count(self, key: str, default: int | None = None, least: int = 1) -> int:
        """Return an integer, at least `least`."""
        if key not in self.table and default is not None:
            return default
        self.required(key)
        value = self.table[key]
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.fault(key, f"expected an integer >= {least}")
        return value

    def flag(self, key: str) -> bool:
        """Return true or false; false if the key is absent."""
        value = self.table.get(key, False)
        if not isinstance(value, bool):
            raise self.fault(key, "expected true or false")
        return value
