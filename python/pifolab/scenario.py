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

from pifolab._classes import described
from pifolab._pifolab import Scheduler
from pifolab.custom import PythonScheduler
from pifolab.errors import InputError
from pifolab.plugins import component_name
from pifolab.toml import parse_toml

_BARE = re.compile(r"[A-Za-z0-9_-]+")

#: The default buffer of a scheduler written in Python: 8 queues of 10 packets.
_DEFAULTS = {"capacity_packets": 80, "queues": 8, "queue_capacity_packets": 10}


def scenario_toml(scenario: Mapping[str, Any]) -> tuple[str, dict[str, type[PythonScheduler]]]:
    """Return a scenario as TOML, and the classes that it names as schedulers.

    Keys with the value None are left out. What the list ``scheduler`` may hold beside tables, `scheduler_table` says.

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
        whole["scheduler"] = [_scheduler(one, own) for one in told_apart([scheduler_table(one) for one in listed])]
    # Tables on lines of their own would end the keys of the top level.
    lines = [f"{_key(key, '')} = {inline_toml(value, key)}" for key, value in whole.items() if value is not None]
    return "\n".join(lines), own


def scheduler_table(written: Any) -> dict[str, Any]:
    """Return the table of a scenario for one scheduler, however it is written.

    Parameters
    ----------
    written : str, Scheduler, class or mapping
        A name, perhaps with parameters; a scheduler, of which only the parameters count; a class derived from
        `PythonScheduler`; or a table, whose ``name`` may be any of these.

    Examples
    --------
    >>> import pifolab
    >>> scheduler_table("packs:window=20:k=0.1")
    {'name': 'packs', 'window': 20, 'k': Decimal('0.1')}
    >>> scheduler_table(pifolab.Packs(window=20))
    {'name': 'packs', 'window': 20}
    >>> scheduler_table({"name": "packs:window=20", "label": "small"})
    {'name': 'packs', 'window': 20, 'label': 'small'}
    """
    if isinstance(written, Mapping):
        named = written.get("name")
        if not isinstance(named, (str, Scheduler)):
            return dict(written)
        rest = {key: value for key, value in written.items() if key != "name"}
        return scheduler_table(named) | rest
    if isinstance(written, str):
        name, *parameters = written.split(":")
        return {"name": name.strip(), **dict(_parameter(written, one) for one in parameters)}
    if isinstance(written, Scheduler):
        about = getattr(written, "info", None)
        if about is None:
            expected = "expected the scheduler alone, and the rank function as `rank`"
            raise InputError(f"scheduler: {written!r}: {expected}")
        given = dict(written.parameters)  # type: ignore[attr-defined]
        if callable(given.get("classify")):
            raise InputError(f"scheduler: {about.name}: classify: expected the name of a label, not a function")
        return {"name": about.name, **described(given, about.name)}
    if isinstance(written, PythonScheduler):
        made = type(written).__name__
        raise InputError(f"scheduler: an object of {made}: expected the class {made}, of which each run makes its own")
    if isinstance(written, type):
        about = getattr(written, "info", None)
        return {"name": written if about is None else about.name}
    kind = type(written).__name__
    raise InputError(f"scheduler: {kind}: expected names, schedulers such as Pifo(), classes or mappings")


def told_apart(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give schedulers of the same name that have no label one each: the name with the parameters that were given.

    Examples
    --------
    >>> told_apart([{"name": "packs"}, {"name": "packs", "window": 20}])
    [{'name': 'packs'}, {'name': 'packs', 'window': 20, 'label': 'packs:window=20'}]
    """
    bare = [table["name"] for table in tables if "label" not in table and "name" in table]
    labelled = []
    for table in tables:
        parameters = [key for key in table if key != "name"]
        if parameters and "label" not in table and bare.count(table.get("name")) > 1:
            named = table["name"] if isinstance(table["name"], str) else component_name(table["name"])
            label = ":".join([named, *(f"{key}={_shown(table[key])}" for key in parameters)])
            table = {**table, "label": label}
        labelled.append(table)
    return labelled


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else inline_toml(value)


def _parameter(written: str, parameter: str) -> tuple[str, Any]:
    key, equals, value = (part.strip() for part in parameter.partition("="))
    if not key or not equals or not value:
        raise InputError(f"scheduler: {written}: expected parameters as NAME:key=value, such as packs:window=20")
    try:
        table = parse_toml(f"value = {value}", "scheduler")
    except InputError:
        # A word alone is a text.
        return key, value
    return key, table["value"] if len(table) == 1 else value


def _scheduler(written: dict[str, Any], own: dict[str, type[PythonScheduler]]) -> Any:
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
    """Return the usual parameters of a buffer that the constructor of `maker`, a scheduler in Python, has.

    Parameters that are None, and have no default there, become 80 packets, or 8 queues of 10. The `others` are given
    where the constructor has them.
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
