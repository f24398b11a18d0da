"""Scenarios as Python mappings, with the keys that a scenario file has."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pifolab.custom import PythonScheduler
from pifolab.errors import InputError
from pifolab.plugins import component_name

__all__ = ["inline_toml", "own_buffer", "scenario_toml"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")

#: What a scheduler written in Python is told of its buffer, unless something else is said: 8 queues of 10 packets.
_DEFAULTS = {"capacity_packets": 80, "queues": 8, "queue_capacity_packets": 10}


def scenario_toml(scenario: Mapping[str, Any]) -> tuple[str, dict[str, type[PythonScheduler]]]:
    """Return a scenario as TOML, and the classes that it names as schedulers.

    Parameters
    ----------
    scenario : mapping
        The keys of a scenario file; keys with the value None are left out. In the list ``scheduler`` a name or a class
        alone stands for a table with this name, and a class may be the ``name`` of a table.

    Raises
    ------
    InputError
        A key is not a text, or a value cannot be written as TOML; the text names the key.

    Examples
    --------
    >>> text, own = scenario_toml({"link": {"rate_gbps": 10}, "scheduler": ["pifo", {"name": "packs", "window": 20}]})
    >>> print(text)
    link = { rate_gbps = 10 }
    scheduler = [{ name = "pifo" }, { name = "packs", window = 20 }]
    >>> own
    {}
    """
    own: dict[str, type[PythonScheduler]] = {}
    whole = dict(scenario)
    listed = whole.get("scheduler")
    if isinstance(listed, Sequence) and not isinstance(listed, str):
        whole["scheduler"] = [_scheduler(one, own) for one in listed]
    # Tables on lines of their own would end the keys of the top level.
    lines = [f"{_key(key, '')} = {inline_toml(value, key)}" for key, value in whole.items() if value is not None]
    return "\n".join(lines), own


def _scheduler(written: Any, own: dict[str, type[PythonScheduler]]) -> Any:
    if not isinstance(written, Mapping):
        written = {"name": written}
    named = written.get("name")
    if not isinstance(named, type):
        return written
    if not issubclass(named, PythonScheduler):
        raise InputError(f"scheduler: {named.__name__}: expected a class derived from pifolab.PythonScheduler")
    name = component_name(named)
    if own.setdefault(name, named) is not named:
        raise InputError(f"scheduler: two classes are called {name}: give one an attribute `name`")
    return {**written, "name": name}


def own_buffer(
    maker: type[PythonScheduler], buffer_packets: int | None = None, queues: int | None = None, **others: Any
) -> dict[str, Any]:
    """Return those of the usual parameters of a buffer that the constructor of `maker` has.

    Parameters
    ----------
    maker : class
        A scheduler written in Python.
    buffer_packets, queues : int, optional
        The buffer to give it; what is None, and has no default there, is 80 packets, or 8 queues of 10.
    **others : value
        Further parameters, given where the constructor has them.
    """
    try:
        parameters = inspect.signature(maker).parameters
    except (TypeError, ValueError):
        return {}
    given = {"capacity_packets": buffer_packets, "queues": queues, **others}
    if buffer_packets is not None:
        given["queue_capacity_packets"] = max(1, buffer_packets // (queues or _DEFAULTS["queues"]))
    found = {name: given[name] for name in parameters if given.get(name) is not None}
    required = [name for name, one in parameters.items() if one.default is one.empty and name in _DEFAULTS]
    return {name: _DEFAULTS[name] for name in required if name not in found} | found


def inline_toml(value: Any, place: str = "") -> str:
    """Write a value as TOML on one line; None in a table is left out.

    Raises
    ------
    InputError
        TOML cannot hold the value; the text starts with `place`.

    Examples
    --------
    >>> print(inline_toml({"a": [1, 0.5, True], "b c": "x", "d": None}))
    { a = [1, 0.5, true], "b c" = "x" }
    """
    if hasattr(value, "item") and not isinstance(value, (Mapping, str)):
        # A number of numpy.
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, Decimal)):
        return repr(value) if not isinstance(value, Decimal) else str(value)
    if isinstance(value, Fraction):
        return json.dumps(str(value))
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        inside = [
            f"{_key(key, place)} = {inline_toml(member, f'{place}.{key}')}"
            for key, member in value.items()
            if member is not None
        ]
        return "{ " + ", ".join(inside) + " }" if inside else "{}"
    if isinstance(value, Sequence) or type(value).__name__ in ("ndarray", "Series"):
        return "[" + ", ".join(inline_toml(member, place) for member in value) + "]"
    raise InputError(f"{place} = {value!r}: expected a number, a text, a list or a mapping")


def _key(key: Any, place: str) -> str:
    if not isinstance(key, str):
        raise InputError(f"{place or 'scenario'}: key {key!r}: expected a text")
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)
