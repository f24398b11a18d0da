"""The lines ``add`` and ``setdefault`` of p4c's packet tests (STF), in the words of ``simple_switch_CLI``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pifolab.errors import InputError
from pifolab.text import shown

__all__ = ["entry_line"]

_CALL = re.compile(r"(?P<name>[\w.$]+)\((?P<arguments>.*)\)")


def _named(found: Sequence[Mapping[str, Any]], name: str, what: str) -> Mapping[str, Any]:
    """Return the one of that name, or the only one whose name ends so."""
    exact = [one for one in found if one["name"] == name]
    ends = exact or [one for one in found if one["name"].endswith(f".{name}")]
    if len(ends) != 1:
        raise InputError(f"{shown(name)}: expected the name of {what}: {', '.join(one['name'] for one in found)}")
    return ends[0]


def _width(program: Mapping[str, Any], target: Any) -> int:
    header, field = target
    if field == "$valid$":
        return 1
    kind = next(one["header_type"] for one in program["headers"] if one["name"] == header)
    fields = next(one["fields"] for one in program["header_types"] if one["name"] == kind)
    return int(next(one[1] for one in fields if one[0] == field))


def _masked(text: str) -> tuple[str, str]:
    """Return value and mask of hexadecimal or binary digits, of which ``*`` is any."""
    base, digits = text[:2].lower(), text[2:]
    bits = {"0x": 4, "0b": 1}.get(base)
    if bits is None or not re.fullmatch(r"[0-9a-fA-F*]+" if bits == 4 else r"[01*]+", digits):
        raise InputError(f"{shown(text)}: expected 0x or 0b before digits of which some are *")
    ones = "f" if bits == 4 else "1"
    value = int(digits.replace("*", "0"), 2**bits)
    mask = int(re.sub(r"[^*]", ones, digits).replace("*", "0"), 2**bits)
    return hex(value), hex(mask)


def _part(how: str, text: str | None, bits: int) -> str:
    whole = hex(2**bits - 1)
    any_ = text is None or text == "*"
    match how:
        case "lpm" if any_:
            return "0/0"
        case "lpm":
            return text if text is not None and "/" in text else f"{text}/{bits}"
        case "range" if any_:
            return f"0->{whole}"
        case "range":
            low, _, high = str(text).partition("..")
            return f"{low}->{high or low}" if "->" not in str(text) else str(text)
        case "ternary" if any_:
            return "0&&&0"
        case "ternary":
            if "&&&" in str(text):
                return str(text)
            if "*" in str(text):
                return "&&&".join(_masked(str(text)))
            value, _, mask = str(text).partition("/")
            return f"{value}&&&{mask or whole}"
    if any_:
        raise InputError("expected a value for every key that is matched exactly")
    return str(text)


def _action(program: Mapping[str, Any], table: Mapping[str, Any], text: str) -> tuple[str, list[str]]:
    call = _CALL.fullmatch(text)
    if call is None:
        raise InputError(f"{shown(text)}: expected ACTION(NAME:VALUE, ...)")
    actions = [one for one in program["actions"] if one["id"] in table["action_ids"]]
    action = _named(actions, call["name"], "an action of the table")
    given = [part.strip() for part in call["arguments"].split(",") if part.strip()]
    order = [parameter["name"] for parameter in action["runtime_data"]]
    if all(":" not in part for part in given):
        return action["name"], given
    values = dict(part.split(":", 1) for part in given if ":" in part)
    if len(values) != len(given) or set(values) != set(order):
        raise InputError(f"{shown(text)}: expected the arguments {', '.join(order)}")
    return action["name"], [values[name].strip() for name in order]


def entry_line(program: Mapping[str, Any], line: str) -> str:
    """Return the command for a line ``add`` or ``setdefault``.

    They are ``add TABLE [PRIORITY] KEY:VALUE ... ACTION(NAME:VALUE, ...)`` and ``setdefault TABLE ACTION(...)``. Keys
    may be given in any order; one that is not given, or is ``*``, matches everything where it is ternary, a prefix or a
    range. A value is ``V``, ``V/LENGTH`` (prefix), ``V/MASK``, ``V&&&MASK`` or digits with ``*`` (ternary),
    ``LOW..HIGH`` (range).
    A higher priority wins, as in STF; without one, the entry that was added first.

    Raises
    ------
    InputError
        What is wrong, without the place of the line.
    """
    word, _, rest = line.strip().partition(" ")
    before, parenthesis, inside = rest.partition("(")
    *words, name = before.split() or [""]
    call = f"{name}({inside.strip()}"
    if not words or not parenthesis:
        raise InputError(f"expected {word} TABLE ... ACTION(NAME:VALUE, ...)")
    tables = [table for pipeline in program["pipelines"] for table in pipeline["tables"]]
    table = _named(tables, words[0], "a table")
    action, arguments = _action(program, table, call)
    if word == "setdefault":
        return " ".join(["table_set_default", table["name"], action, *arguments])
    keys = words[1:]
    priority = keys.pop(0) if keys and keys[0].isdecimal() else None
    # STF writes the index of a header stack behind a dollar.
    given = {re.sub(r"\$(\d+)", r"[\1]", name): value for name, _, value in (key.partition(":") for key in keys)}
    parts, ordered = [], False
    prefixes = sum(key["match_type"] == "lpm" for key in table["key"])
    for key in table["key"]:
        name = key.get("name") or ".".join(key["target"])
        found = [one for one in given if one in (name, ".".join(key["target"])) or name.endswith(f".{one}")]
        value = given.pop(found[0]) if found else None
        parts.append(_part(key["match_type"], value, _width(program, key["target"])))
        ordered |= key["match_type"] in ("ternary", "range") or prefixes > 1
    if given:
        names = ", ".join(key.get("name") or ".".join(key["target"]) for key in table["key"])
        raise InputError(f"{shown(next(iter(given)))}: expected keys of the table: {names}")
    # The switch takes the lowest number first.
    last = [str(2**31 - int(priority or 0))] if ordered else []
    return " ".join(["table_add", table["name"], action, *parts, "=>", *arguments, *last])
