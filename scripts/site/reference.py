"""Reference pages that are made from the program: commands, keys of scenarios, metrics, parameters."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pifolab
from pifolab import _pifolab, catalogue, info
from pifolab.cli.commands import complete_parser
from pifolab.cli.parser import Parser

__all__ = ["NETWORK", "ONE_LINK", "commands", "keys", "metrics", "parameters", "study_keys"]

#: What keys of one quantity end with: they are one row.
_UNITS = re.compile(r"_(ns|us|ms|s|bps|kbps|mbps|gbps)$")

#: The tables of a study file, by their names in the catalogue.
_STUDY_TABLES = {
    "study": "Top level",
    "seeds": "`seeds`, as a table",
    "axis": "`[axis.NAME]`",
    "range": "`range` of an axis",
    "metrics": "A member of `metrics`, as a table",
    "compare": "`[[compare]]`",
    "claim": "`[[claim]]`",
    "figure": "`[[figure]]`",
}

ONE_LINK = """\
duration_ms = 10
link = { rate_gbps = 10 }
workload = { arrivals = "poisson", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }
scheduler = [{ name = "pifo" }, { name = "packs", window = 20 }]
"""

NETWORK = """\
duration_ms = 10
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 4, \
access_rate_gbps = 1, fabric_rate_gbps = 4, delay_us = 1 }
transport = { name = "pfabric" }
scheduler = [{ name = "pifo" }]

[workload.flows]
arrivals = "poisson"
load = 0.7
sizes = "fixed"
size_bytes = 40_000
pairs = "uniform"
"""


def commands() -> str:
    """Return the page of all commands with their options."""
    lines = ["# Commands", "", "Made from the program: what `pifolab COMMAND --help` prints.", ""]
    for path, parser in _leaves(complete_parser(), "pifolab"):
        lines += [f"## {path}", ""]
        said = parser.description or getattr(parser, "said", "")
        lines += [_text(said), ""] if said else []
        rows = [_option(action) for action in parser._actions if not isinstance(action, argparse._HelpAction)]
        if rows:
            lines += ["| option | meaning |", "|---|---|", *(f"| {name} | {meaning} |" for name, meaning in rows), ""]
    return "\n".join(lines)


def _leaves(parser: Parser, path: str, said: str = "") -> Iterator[tuple[str, Parser]]:
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not inner:
        if said and not parser.description:
            parser.description = said[0].upper() + said[1:] + "."
        yield path, parser
    for action in inner:
        helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, chosen in action.choices.items():
            yield from _leaves(chosen, f"{path} {name}", helps.get(name, ""))


def _option(action: argparse.Action) -> tuple[str, str]:
    words = action.option_strings or [str(action.metavar or action.dest)]
    takes = "" if action.nargs == 0 or not action.option_strings else f" {action.metavar or action.dest.upper()}"
    meaning = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
    return ", ".join(f"`{word}{takes}`" for word in words), _cell(meaning)


def keys() -> str:
    """Return the page of all keys that a scenario may have, on one link and on a network."""
    schema = json.loads(_pifolab.scenario_schema())
    lines = ["# Keys of a scenario", ""]
    lines += ["Made from the program: what `pifolab show KEY` prints and `pifolab schema` gives editors.", ""]
    lines += ["A key that has no effect is an error.", ""]
    for title, example, branch in (("One link", ONE_LINK, "else"), ("A network", NETWORK, "then")):
        lines += [f"## {title}", "", "```toml", example.rstrip(), "```", ""]
        lines += _table(f"{title}: top level", schema[branch])
    shared = schema["$defs"]["distribution"]
    lines += ["## A distribution", "", 'Its name alone, as in `ranks = "uniform"`, or a table.', ""]
    lines += _table("distribution", shared)
    return "\n".join(lines)


def study_keys() -> str:
    """Return the page of all keys that a study file may have."""
    lines = ["# Keys of a study", "", "Made from the program: what `pifolab show study.KEY` prints.", ""]
    lines += ["[Many runs: studies](sweeps.md) has examples. An unknown key is an error.", ""]
    for table, held in catalogue.study_keys().items():
        lines += [f"## {_STUDY_TABLES[table]}", "", "| key | may be | otherwise | meaning |", "|---|---|---|---|"]
        for key, about in held.items():
            cells = (about["is"], about.get("default", "required"), about["meaning"])
            lines.append(f"| `{key}` | {' | '.join(map(_cell, cells))} |")
        lines.append("")
    return "\n".join(lines)


def _table(path: str, schema: Mapping[str, Any], *, heading: bool = False) -> list[str]:
    """Return a table of the keys of one table of a scenario, and those of the tables inside it."""
    lines = [f"### `{path}`" if heading else f"### {path}", ""]
    lines += ["| key | may be | otherwise | meaning |", "|---|---|---|---|"]
    inside: dict[str, Mapping[str, Any]] = {}
    for form in _forms(schema):
        const = next((f"`{held['const']}`" for held in form.get("properties", {}).values() if "const" in held), "")
        for name, units, held in _grouped(form.get("properties", {})):
            meaning, otherwise = _default(held.get("description", ""))
            row = f"| `{name}`{units} | {_cell(_allowed(held))} | {_cell(otherwise)} | {_cell(meaning)} |"
            if const and "const" not in held:
                row = row.replace(f"| `{name}`", f"| {const}: `{name}`", 1)
            if row not in lines:
                lines.append(row)
            deeper = held.get("items", held)
            if name in ("scheduler", "rank", "child") or deeper.get("$ref"):
                continue
            if any("properties" in one for one in _forms(deeper)):
                inside[name] = deeper
    lines.append("")
    for name, deeper in inside.items():
        place = name if ": top level" in path or not heading else f"{path}.{name}"
        lines += _table(place, deeper, heading=True)
    return lines


def _default(description: str) -> tuple[str, str]:
    """Split a description into what the key means and what holds without it."""
    meaning, _, otherwise = description.partition(" If absent: ")
    if not otherwise:
        meaning, _, otherwise = description.partition(" Default: ")
    return meaning, otherwise.removesuffix(".")


def _forms(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tables that a schema allows, one after another."""
    if "anyOf" in schema:
        return [form for one in schema["anyOf"] for form in _forms(one)]
    return [schema] if "properties" in schema else []


def _grouped(properties: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Return each key; keys of one quantity in several units are one, with the units behind it."""
    seen: set[str] = set()
    for name, held in properties.items():
        stem = _UNITS.sub("", name)
        same = [other for other in properties if _UNITS.sub("", other) == stem and other != stem]
        if stem == name or len(same) < 2:
            yield name, "", held
        elif stem not in seen:
            seen.add(stem)
            yield f"{stem}_*", f" ({', '.join(other.removeprefix(stem + '_') for other in same)})", held


def _allowed(schema: Mapping[str, Any]) -> str:
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if "$ref" in schema:
        return f"a {schema['$ref'].rpartition('/')[2]}"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(filter(None, map(_allowed, schema["anyOf"]))))
    kinds = schema.get("type", "table")
    kind = " or ".join(kinds) if isinstance(kinds, list) else str(kinds).replace("object", "table")
    if kind == "array":
        return f"list of {_allowed(schema.get('items', {})) or 'values'}"
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    bounds = [] if low is None else [f"{'above' if 'exclusiveMinimum' in schema else 'from'} {low:,}"]
    bounds += [f"to {schema['maximum']:,}"] if "maximum" in schema else []
    return " ".join([kind, *bounds])


def metrics() -> str:
    """Return the page of what is measured: each column with its meaning and the tables that have it, and the words."""
    lines = [
        "# Metrics",
        "",
        "Made from the program: what `pifolab show NAME` prints of each, and the tables that have it.",
        "",
    ]
    lines += ["[What an inversion is](inversions.md) has an example.", ""]
    runs = {"one link": pifolab.run_text(ONE_LINK), "network": pifolab.run_text(NETWORK)}
    measured = {about["name"]: about["summary"] for about in catalogue.metrics()}
    labels = {name: text for name, text in catalogue.columns().items() if name not in measured}
    for heading, held in (("", measured), ("## Columns that say what a row is about", labels)):
        lines += [heading, ""] if heading else []
        lines += ["| column | meaning | tables |", "|---|---|---|"]
        for column, meaning in held.items():
            places = [
                f"{kind}: {', '.join(f'`{name}`' for name in names)}"
                for kind, run in runs.items()
                if (names := [name for name, table in run.tables.items() if column in table.columns])
            ]
            lines.append(f"| `{column}` | {_cell(meaning)} | {'; '.join(places)} |")
        lines.append("")
    lines += ["## Words of reports", "", "| word | meaning |", "|---|---|"]
    words = {key: one for key, one in catalogue.words().items() if key not in catalogue.columns()}
    lines += [f"| {word} | {_cell(meaning)} |" for word, meaning in words.values()]
    return "\n".join([*lines, ""])


def parameters(about: info.Info) -> str:
    """Return the section with the parameters of a scheduler or rank function, for its page."""
    if not about.params:
        return "## Parameters\n\nNone.\n"
    lines = ["## Parameters", "", "| parameter | may be | otherwise | meaning |", "|---|---|---|---|"]
    for param in about.params:
        otherwise = (
            "required" if param.required else f"`{param.default}`" if param.default is not None else param.absent_means
        )
        words = "".join(f"; `{word}`: {meaning}" for word, meaning in param.choices)
        names = ", ".join(f"`{key}`" for key in param.keys)
        allowed = "a word" if param.choices else param.allowed
        lines.append(f"| {names} | {_cell(allowed)} | {_cell(otherwise or '')} | {_cell(param.doc + words)} |")
    return "\n".join([*lines, ""])


def _text(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("<", "&lt;").strip()


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|")
