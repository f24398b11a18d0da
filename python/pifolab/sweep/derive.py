"""Derived parameters: exact arithmetic over the axes of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.formula import Formula

__all__ = ["Expression", "unknown_axis"]

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "round": lambda value: Fraction(round(value)),
    "floor": lambda value: Fraction(math.floor(value)),
    "ceil": lambda value: Fraction(math.ceil(value)),
}

#: How many numbers each takes.
_TAKES: dict[str, int | None] = {name: None if name in ("min", "max") else 1 for name in _FUNCTIONS}


class Expression:
    """Numbers, axes, min, max, abs, round, floor and ceil in the language of `pifolab.formula`, computed exactly.

    Parameters
    ----------
    text : str
        The expression.
    place : str
        What errors begin with.

    Raises
    ------
    InputError
        It is not such an expression.

    Examples
    --------
    >>> Expression("11 * load / 10", "here").value({"load": Decimal("0.9")})
    Fraction(99, 100)
    >>> Expression("80 // queues", "here").names
    {'queues'}
    """

    def __init__(self, text: str, place: str) -> None:
        self.text = text
        self._place = f"{place} = {text!r}"
        self._formula = Formula(text, self._place, _TAKES)

    @property
    def names(self) -> set[str]:
        """The axes that it depends on."""
        return self._formula.names

    def check_names(self, known: set[str]) -> None:
        """Refuse names that are none of `known`.

        Raises
        ------
        InputError
            There is one; the text suggests what was meant.
        """
        for name in sorted(self.names - known):
            raise InputError(f"{self._place}: {unknown_axis(name, known)}")

    def value(self, axes: Mapping[str, Any]) -> Fraction:
        """Compute it.

        Raises
        ------
        InputError
            An axis has no number, or the arithmetic fails (a division by 0).
        """
        numbers = {name: self._number(name, axes[name]) for name in self.names}
        try:
            return Fraction(self._formula.value(numbers, _call, lambda literal: self._exact(str(literal), literal)))
        except ZeroDivisionError:
            raise InputError(f"{self._place}: division by 0 for {_shown(axes, self.names)}") from None
        except TypeError:
            raise InputError(f"{self._place}: expected arithmetic with numbers") from None

    def _number(self, name: str, value: Any) -> Fraction:
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
            raise InputError(f"{self._place}: {name} = {value!r} is not a number")
        return self._exact(name, value)

    def _exact(self, name: str, value: int | float | Decimal | Fraction) -> Fraction:
        if isinstance(value, (float, Decimal)) and not math.isfinite(value):
            raise InputError(f"{self._place}: {name} is not a finite number")
        return Fraction(str(value))


def _call(function: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return _FUNCTIONS[function](*arguments, **keywords)


def unknown_axis(name: str, known: Iterable[str]) -> str:
    """Say that there is no axis `name`, and which of `known` may have been meant."""
    names = sorted(known)
    return str(_pifolab.unknown_name("axis", name, names)) if names else f'unknown axis "{name}"; there are no axes'


def _shown(axes: Mapping[str, Any], names: set[str]) -> str:
    return ", ".join(f"{name} = {axes[name]}" for name in sorted(names))
