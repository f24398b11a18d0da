"""The first lines of a report: the input of the run, and the differences between the schedulers' settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab import info
from pifolab.quantities import count_text, rate_text, share_text, size_text, time_text
from pifolab.report import html

if TYPE_CHECKING:
    from pifolab.runs import Run

#: Keys of a scheduler in the manifest that are not parameters.
_OTHER_KEYS = ("name", "label", "built", "absent")

_UNITS = {"_bps": rate_text, "_ns": time_text, "_bytes": size_text}


def what_was_run(run: Run) -> list[str]:
    """Return, as HTML, a short description of the run and a table of the schedulers' settings."""
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in setup_lines(run))
    headings, rows = settings(run.manifest["spec"]["scheduler"])
    return [f"<ul>{lines}</ul>", html.scheduler_table(headings, [[*row[:-1], html.words(row[-1])] for row in rows])]


def setup_lines(run: Run) -> list[str]:
    """Return a description of the run: packets or flows, link or network, ranks, seeds, and notes on a trace."""
    lines = _network(run) if run.manifest["kind"] == "network" else _one_link(run)
    if run.manifest.get("random", True) or run.manifest.get("python"):
        listed = ", ".join(map(str, run.seeds))
        lines.append(
            f"seed {listed}" if len(run.seeds) == 1 else f"{len(run.seeds)} seeds ({listed}): tables show means"
        )
    else:
        lines.append("nothing is random: every seed gives the same result")
    return lines + run.notes


def settings(schedulers: list[dict[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """Return headings and a row for each scheduler of a manifest: its buffer, where settings differ, and the rest.

    A parameter that several schedulers have with different values is a column; one that a scheduler does not have is
    None there. The last cell has, in one text, the other parameters that are not what they are by default: the manifest
    has all of them.

    Examples
    --------
    >>> built = {"capacity": "80 packets", "queues": 1}
    >>> aifo = {"name": "aifo", "label": "aifo", "built": built, "window": 20, "k": 0.2, "sample": 3}
    >>> packs = {"name": "packs", "label": "packs", "built": built, "window": 1000, "k": 0.2}
    >>> headings, rows = settings([aifo, packs])
    >>> headings
    ['scheduler', 'buffer', 'queues', 'window', 'further settings']
    >>> rows
    [['aifo', '80 packets', 1, 20, 'k 0.2, sample 3'], ['packs', '80 packets', 1, 1000, 'k 0.2']]
    """
    parameters = [{key: value for key, value in one.items() if key not in _OTHER_KEYS} for one in schedulers]
    keys = dict.fromkeys(key for one in parameters for key in one)
    differing = [key for key in keys if len({str(one[key]) for one in parameters if key in one}) > 1]
    rows = []
    for one, own in zip(schedulers, parameters, strict=True):
        built = one.get("built") or {}
        usual = _defaults(one["name"])
        rest = ", ".join(
            f"{key} {_shown(value)}"
            for key, value in own.items()
            if key not in differing and str(_shown(value)) != usual.get(key)
        )
        name = one["label"] if one["label"] == one["name"] else f"{one['label']} ({one['name']})"
        values = [None if key not in own else _shown(own[key]) for key in differing]
        rows.append(
            [one["label"] if name == one["label"] else name, built.get("capacity"), built.get("queues"), *values, rest]
        )
    return ["scheduler", "buffer", "queues", *(key.replace("_", " ") for key in differing), "further settings"], rows


def _defaults(name: str) -> dict[str, str | None]:
    """Return the default parameters of a scheduler of the library, as reports show them."""
    found = {param.name: param.default for about in info.schedulers() if about.name == name for param in about.params}
    # The behaviour of a port for a packet that arrives while the wire is idle.
    return {"idle": "scheduler"} | found


def _shown(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(str(_shown(member)) for member in value)
    if isinstance(value, Mapping):
        return _fields(value)
    return f"{value:.6g}" if isinstance(value, float) else value


def _fields(table: Mapping[str, Any]) -> str:
    """Return the keys of a table in one line, numbers with their units."""
    parts = []
    for key, value in table.items():
        if value is None or value == "" or value == []:
            continue
        ending = next((ending for ending in _UNITS if key.endswith(ending)), "")
        name = key.removesuffix(ending).replace("_", " ")
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        parts.append(f"{name} {_UNITS[ending](value) if ending and number else _shown(value)}")
    return ", ".join(parts)


def _named(table: Mapping[str, Any], key: str = "name") -> str:
    """Return a table in one line that begins with its subject."""
    rest = _fields({name: value for name, value in table.items() if name not in (key, "absent")})
    return ", ".join(part for part in (str(table[key]), rest) if part)


def _one_link(run: Run) -> list[str]:
    spec = run.manifest["spec"]
    link, workload, rank = spec["link"], spec["workload"], spec.get("rank")
    arrived = int(run.tables["schedulers"]["arrived_packets"].max() or 0)  # type: ignore[arg-type]
    lines = []
    sources = workload if isinstance(workload, list) else [workload]
    if "trace" in sources[0]:
        names = {"column": "the column rank", "dscp": "the DSCP", "payload": "the payload"}
        for source in sources:
            held, factor = source["trace_contents"], str(source.get("speed_up", "1"))
            speed = "" if factor == "1" else f", {factor} times as fast as recorded"
            flows, length = count_text(held["flows"], "flow"), time_text(held["last_arrival_ns"])
            lines.append(
                f"trace {Path(source['trace']).name}: {count_text(held['packets'], 'packet')} of {flows}, "
                f"{size_text(held['bytes'])} in {length}{speed}"
            )
        if arrived < sum(source["trace_contents"]["packets"] for source in sources):
            lines.append(f"of these, the first {count_text(arrived, 'packet')}")
        size = sum(source["trace_contents"]["bytes"] for source in sources)
        last = max(source["trace_contents"]["last_arrival_ns"] for source in sources)
        load = size * 8e9 / last / link["rate_bps"] if last else None
        whose = "the trace loads" if len(sources) == 1 else "the traces load"
        loaded = "" if load is None else f", which {whose} by {share_text(load)} on average"
        carried = "; ".join(dict.fromkeys(names.get(str(source.get("trace_rank")), "none") for source in sources))
    else:
        for source in sources:
            lines.append(f"packets: {_fields({key: value for key, value in source.items() if key != 'ranks'})}")
        packets = count_text(arrived, "packet")
        lines.append(f"{packets} arrived" + ("" if len(run.seeds) == 1 else ", where there were most"))
        loaded = ""
        carried = "; ".join(dict.fromkeys(_ranks(source) for source in sources))
    lines.append(f"a link of {rate_text(link['rate_bps'])}{loaded}")
    lines.append(f"ranks: {_named(rank) if rank else carried}")
    return lines


def _ranks(source: Mapping[str, Any]) -> str:
    if source.get("rank_sequence"):
        return "a given sequence"
    ranks = source.get("ranks")
    return _named(ranks, "distribution") if isinstance(ranks, Mapping) else str(ranks or "none")


def _network(run: Run) -> list[str]:
    spec = run.manifest["spec"]
    schedulers = run.tables["schedulers"]
    flows, hops = (int(schedulers[column].max() or 0) for column in ("flows", "packet_hops"))  # type: ignore[arg-type]
    sources = spec["workload"]["flows"] if isinstance(spec.get("workload"), Mapping) else None
    lines = [f"network: {_named(spec['topology'], 'kind')}"]
    if sources:
        for source in sources if isinstance(sources, list) else [sources]:
            lines.append(f"flows: {_fields(source)}" if isinstance(source, Mapping) else f"flows: {source}")
    rank = spec.get("rank")
    transport = spec["transport"]
    lines.append(
        f"{count_text(flows, 'flow')}, at most {count_text(hops, 'packet-hop')}, in {time_text(spec['duration_ns'])}"
    )
    ranks = f"{_named(rank)} at every port" if rank else f"{transport.get('rank', 'the transport')}, from the transport"
    profile = f"; profile {spec['profile']}" if spec.get("profile") else ""
    lines.append(f"transport {transport['name']}{profile}; ranks: {ranks}")
    return lines
