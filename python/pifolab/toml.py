"""Reads and writes TOML: values as in scenarios, and the line of each key of a sweep file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import tomli

from pifolab.errors import InputError
from pifolab.text import read_text

#: So many characters are read in less than two seconds, within which Ctrl-C is to be answered; no file is as long.
_MOST = 8 * 2**20

#: Tables and lists lie so deep in each other at most, as in scenarios.
_DEEPEST = 80
_DEEP = f"tables and lists lie over {_DEEPEST} deep in each other: expected at most that"


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of the file at `path`, with decimals as floats."""
    return parse_toml(read_text(path), str(path), decimal=float)


def parse_toml(text: str, file: str, decimal: Callable[[str], Any] = Decimal) -> dict[str, Any]:
    """Read TOML; decimals stay exact, unless `decimal` makes something else of them."""
    if len(text) > _MOST:
        raise InputError(f"{file}: has {len(text)} characters: expected at most 8 MiB of TOML")
    try:
        found = tomli.loads(text, parse_float=decimal)
    except RecursionError:
        raise InputError(f"{file}: invalid TOML: {_DEEP}") from None
    except tomli.TOMLDecodeError as error:
        place = re.search(r"^(.*) \(at line (\d+), column \d+\)$", str(error))
        if place:
            raise InputError(f"{file}:{place.group(2)}: invalid TOML: {place.group(1)}") from None
        raise InputError(f"{file}: invalid TOML: {error}") from None
    except ValueError:
        # Python reads no integer of over 4300 digits.
        raise InputError(f"{file}: invalid TOML: an integer has too many digits") from None
    if _depth(found) > _DEEPEST:
        raise InputError(f"{file}: invalid TOML: {_DEEP}")
    return found


def _depth(value: Any) -> int:
    """Return the depth of nested tables and lists, without recursion, whose depth would be the same."""
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            inner
            for one in level
            if isinstance(one, (dict, list))
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return depth


def to_toml(value: Any) -> str:
    """Write `value` as TOML has it.

    Examples
    --------
    >>> to_toml([{"name": "packs", "window": 15, "k": Decimal("0.1")}])
    '[{"name" = "packs", "window" = 15, "k" = 0.1}]'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (Decimal, Fraction, int, float)):
        return number_text(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{to_toml(str(key))} = {to_toml(member)}" for key, member in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(to_toml(member) for member in value) + "]"
    raise InputError(f"{value!r}: expected a number, a text, a truth value, a list or a table")


def number_text(value: Decimal | Fraction | int | float) -> str:
    """Write a number without exponent; exactly if it has an end.

    Examples
    --------
    >>> number_text(Fraction(1, 8)), number_text(Fraction(1, 3)), number_text(0.1), number_text(Decimal("1E+2"))
    ('0.125', '0.33333333333333333333', '0.1', '100.0')
    """
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return str(value.numerator)
        number = _quotient(value)
    else:
        number = Decimal(repr(value)) if isinstance(value, float) else value
    text = format(number, "f")
    return text if "." in text or not number.is_finite() else f"{text}.0"


def _quotient(value: Fraction) -> Decimal:
    """Return a fraction as a decimal, to twenty places if it goes on for ever."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1:
        places = 0
        while (value * 10**places).denominator != 1:
            places += 1
        return Decimal((value * 10**places).numerator).scaleb(-places)
    return Decimal(round(value * 10**20)).scaleb(-20)


def line_of(text: str, path: Sequence[str]) -> int | None:
    r"""Return the line (from 1) of the key `path` in TOML `text`, or of the table around it; None if it is not found.

    It finds headers and ``key =`` at the beginning of a line, the usual forms.

    Examples
    --------
    >>> line_of('a = 1\n[axis.window]\nvalues = []', ["axis", "window", "values"])
    3
    """
    lines = _lines(text)
    return next((lines[here] for depth in range(len(path), 0, -1) if (here := tuple(path[:depth])) in lines), None)


@lru_cache(maxsize=2)
def _lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the first line of each key and table; a sweep needs the places of all its keys."""
    lines: dict[tuple[str, ...], int] = {}
    table: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        # Spaces are taken off first: patterns with several places for them need quadratic time.
        stripped = line.strip()
        header = re.match(r"\[\[?([^\]]+)\]", stripped)
        key = re.match(r"""((?:"[^"]*"|'[^']*'|[A-Za-z0-9_\-. \t])+)=""", stripped)
        if header and not key:
            table = _names(header.group(1).strip())
            here = table
        elif key:
            here = table + _names(key.group(1).strip())
        else:
            continue
        lines.setdefault(tuple(here), number)
    return lines


def _names(dotted: str) -> list[str]:
    return [a or b or c.strip() for a, b, c in re.findall(r"""\s*(?:"([^"]*)"|'([^']*)'|([^.]+))\s*(?:\.|$)""", dotted)]
