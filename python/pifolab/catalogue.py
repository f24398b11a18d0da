"""Descriptions of metrics, distributions and keys of scenarios for `pifolab show`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.toml import read_toml

#: Columns that identify a row, and measure nothing.
_LABELS = frozenset({
    "bound", "class", "dst", "flow", "flow_name", "from", "from_bytes", "below_bytes", "kind", "name", "port", "queue",
    "rank", "rank_high", "rate_bps", "scheduler", "seed", "size_bytes", "src", "start_ns", "time_ns", "to", "window",
})  # fmt: skip


_DATA = Path(__file__).parent / "data"


@cache
def _texts() -> dict[str, dict[str, Any]]:
    return read_toml(_DATA / "words.toml")


@cache
def study_keys() -> dict[str, dict[str, dict[str, str]]]:
    """Return the keys of a study file, by the table that they stand in: `is`, `default` unless required, `meaning`."""
    return read_toml(_DATA / "study-keys.toml")


def columns() -> dict[str, str]:
    """Return the meaning of the columns in the tables of a run, with the unit if the name has none."""
    return _texts()["columns"]


def words() -> dict[str, tuple[str, str]]:
    """Return the words of reports with their meanings, by the name of their column, or their own."""
    return {
        name: (one["word"], one["meaning"] if "meaning" in one else columns()[one["column"]])
        for name, one in _texts()["words"].items()
    }


def _plain(name: str, summary: str, params: Iterable[_pifolab.ParamTable] = (), effect: str = "") -> _pifolab.InfoTable:
    return {
        "name": name, "summary": summary, "paper": "", "effect": effect, "state": "", "cost": "",
        "params": list(params),
    }  # fmt: skip


def metrics() -> tuple[_pifolab.InfoTable, ...]:
    """Return the metrics: columns of the tables of a run, and the metrics of `pifolab attack`."""
    sums, known = dict(_pifolab.attack_metrics()), columns()
    both = {
        name: f"{text} In pifolab attack: {sums.pop(name)}." if name in sums else text for name, text in known.items()
    }
    both |= {name: f"{text}." for name, text in sums.items()}
    return tuple(_plain(name, text) for name, text in both.items() if name not in _LABELS)


def distributions() -> tuple[_pifolab.InfoTable, ...]:
    """Return the distributions that ranks, sizes and other integers can be drawn from."""
    found = []
    for form in _forms(_schema()["$defs"]["distribution"]):
        properties = dict(form["properties"])
        named = properties.pop("distribution")
        params = [_param(name, held, form) for name, held in properties.items()]
        found.append(_plain(named["const"], _sentence(named["description"]), params))
    return tuple(found)


def keys() -> tuple[_pifolab.InfoTable, ...]:
    """Return the keys of scenarios by their paths, ``workload.arrivals``, and of studies: ``study.axis.where``."""
    schema = _schema()
    found: dict[str, _pifolab.InfoTable] = {}
    for branch, where in (("else", "on one link"), ("then", "on a network")):
        for path, held, form in _walk(schema[branch], ""):
            param = _param(path.rpartition(".")[2], held, form)
            if path not in found:
                # What a word stands for is no description of its key.
                of = f"Which {path.split('.')[-2]} it is." if "const" in held else held.get("description", "")
                found[path] = _plain(path, _sentence(of), (param,), where)
                continue
            known = found[path]
            if not known["effect"].endswith(where):
                known["effect"] += f" and {where}"
            [merged] = known["params"]
            merged["choices"] += [choice for choice in param["choices"] if choice not in merged["choices"]]
            merged["allowed"] = _words(merged) or merged["allowed"]
    return (*found.values(), *_study_keys())


def _study_keys() -> Iterator[_pifolab.InfoTable]:
    for table, held in study_keys().items():
        for key, about in held.items():
            default = about.get("default")
            param: _pifolab.ParamTable = {
                "name": key, "keys": [key], "unit": "", "kind": "value", "min": None, "max": None, "choices": [],
                "default": default, "absent_means": None, "required": default is None, "doc": "",
                "allowed": about["is"],
            }  # fmt: skip
            path = f"study.{key}" if table == "study" else f"study.{table}.{key}"
            yield _plain(path, about["meaning"], (param,), "in a study")


def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(_pifolab.scenario_schema())
    return schema


def _forms(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for one in schema.get("anyOf", ()):
        yield from _forms(one)
    if "properties" in schema:
        yield schema


def _walk(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield the path of each key, its schema, and that of the table that it is in."""
    for form in _forms(schema):
        for name, held in form["properties"].items():
            inner = f"{path}.{name}" if path else name
            yield inner, held, form
            if name not in ("scheduler", "rank", "child"):
                yield from _walk(held.get("items", held), inner)


def _sentence(text: str) -> str:
    return re.sub(r" (Default: .*|If absent: .*|Required\.)$", "", f"{text[:1].upper()}{text[1:]}".rstrip(".") + ".")


def _param(name: str, held: Mapping[str, Any], form: Mapping[str, Any]) -> _pifolab.ParamTable:
    text = held.get("description", "")
    default = re.search(r" Default: (.*)\.$", text)
    absent = re.search(r" If absent: (.*)\.$", text)
    choices = [pair for one in (held, *_alternatives(held)) for pair in _choices(one)]
    low, high = held.get("minimum"), held.get("maximum")
    kind = _kind(held.get("type", "value"))
    param: _pifolab.ParamTable = {
        "name": name, "keys": [name], "unit": "", "kind": kind, "min": low, "max": high, "choices": choices,
        "default": default[1] if default else None, "absent_means": absent[1] if absent else None,
        "required": name in form.get("required", ()) or not (default or absent), "doc": "",
        "allowed": f"{kind} from {low} to {high}" if high is not None else kind,
    }  # fmt: skip
    param["allowed"] = _words(param) or param["allowed"]
    return param


def _kind(types: str | list[str]) -> str:
    return types if isinstance(types, str) else " or ".join(types)


def _words(param: _pifolab.ParamTable) -> str:
    return ", ".join(word for word, _ in param["choices"])


def _choices(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the words that may be given, each with its meaning."""
    if "const" in schema:
        return [(schema["const"], schema.get("description", ""))]
    words = [str(word) for word in schema.get("enum", ())]
    return list(zip(words, schema.get("enumDescriptions", [""] * len(words)), strict=True))


def _alternatives(held: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in held.get("anyOf", ()) if isinstance(one, dict)]
