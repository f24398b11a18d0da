"""What is known about metrics, distributions and keys of scenarios: the rest of what `pifolab show` explains."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pifolab import _pifolab

_REASONS = (
    "; by reason: refused by a test, no room, pushed out by a packet of lower rank, a rank that the scheduler lacks"
)

#: The columns of the tables of a run: their meaning, with the unit where the name has none.
COLUMNS: dict[str, str] = {
    "scheduler": "The label of the scheduler.",
    "name": "The scheduler's name in the library.",
    "arrived_packets": "Packets that arrived; they were sent or dropped, or wait at the end.",
    "arrived_bytes": "Bytes that arrived.",
    "sent_packets": "Packets that were put on the wire.",
    "sent_bytes": "Bytes that were put on the wire.",
    "dropped_packets": "Packets that were refused or pushed out.",
    "dropped_bytes": "Bytes that were refused or pushed out.",
    "dropped": "Packets of the rank that were lost, for any reason.",
    "dropped_admission": "Packets that the scheduler's admission test refused.",
    "dropped_full": "Packets for which there was no room.",
    "dropped_pushed_out": "Packets that were stored and then dropped in favour of another one.",
    "dropped_rank_out_of_range": "Packets whose rank the scheduler cannot store.",
    "dropped_aqm": "Packets that the queue management of the scheduler dropped.",
    "dropped_at_source": "Packets that the sending host's own queue dropped.",
    "dropped_link_down": "Packets that were lost because a link was down.",
    "lost_on_wire_packets": "Packets that a wire lost at random.",
    "unreachable_packets": "Packets for which there was no way to their destination.",
    "waiting_packets": "Packets in the buffer at the end.",
    "most_waiting_packets": "The most packets that the buffer held at a time.",
    "mean_waiting_packets": "The packets in the buffer, as a mean over time.",
    "marked_packets": "Packets that were marked (ECN).",
    "lowest_dropped_rank": "The lowest rank of which a packet was lost; higher is better.",
    "inversions": "Packets that were sent while a packet of lower rank waited, each counted once. PIFO has none.",
    "pairwise_inversions": "Pairs of a packet that was sent and a packet of lower rank that waited at that moment.",
    "inversion_magnitude": "Over the packets of inversions, by how many ranks they lay above the lowest that waited.",
    "unpifoness": "SP-PIFO eq. 7: over all admitted packets, the highest rank in the packet's queue minus its own.",
    "misdrops": "Packets that were lost beyond what the reference (metrics.delta_to, else PIFO) loses, rank by rank.",
    "delta": "AIFO eq. 1: the share of the packets that only one of the two sent, this scheduler or the reference "
    "(metrics.delta_to, else PIFO): 0 if both sent the same, 1 if they have nothing in common.",
    "sojourn_mean_ns": "The mean time from a packet's arrival until its first bit is on the wire.",
    "sojourn_min_ns": "The shortest such time.",
    "sojourn_p50_ns": "The median of such times, right to 0.1 %.",
    "sojourn_p99_ns": "The 99th percentile of such times.",
    "sojourn_p999_ns": "The 99.9th percentile of such times.",
    "sojourn_max_ns": "The longest such time.",
    "reordered_packets": "Packets that left after a later packet of their own flow.",
    "largest_displacement_packets": "The most later arrivals of its flow that overtook one packet.",
    "utilisation": "The share of the time in which the link was sending.",
    "end_ns": "When the run ended.",
    "events": "What the simulator did: arrivals, departures and timers.",
    "trace_hash": "A hash over every packet's fate: the same run has the same on every machine.",
    "rank": "The rank of the row; with rank_high the lowest of several.",
    "rank_high": "The highest rank of the row.",
    "departures": "Packets of the rank that were sent.",
    "queue": "The number of the queue; 0 has the highest priority.",
    "admitted_packets": "Packets that the queue took.",
    "time_share": "The share of the run in which the wire sent packets of this queue.",
    "mean_packets": "The packets in the queue, as a mean over time.",
    "time_ns": "The time of the sample.",
    "packets": "Packets in the buffer, without the one on the wire.",
    "backlog_bytes": "Bytes in the buffer, without the packet on the wire.",
    "window_min": "The lowest rank in the scheduler's window.",
    "window_max": "The highest rank in the scheduler's window.",
    "bound": "The lowest rank that SP-PIFO's queue takes, or the highest that PACKS's takes.",
    "flow": "The number of the flow.",
    "flow_name": "Addresses, ports and protocol of the flow of a trace.",
    "flows": "Flows that began, or that the row is about.",
    "completed_flows": "Flows whose last byte arrived.",
    "completed": "Flows of the class whose last byte arrived.",
    "unfinished_share": "The share of the flows that did not end.",
    "offered_load": "The payload that flows asked for, over what the hosts' links can carry.",
    "offered_wire_load": "The same with headers.",
    "goodput": "The payload that arrived, over what the hosts' links can carry.",
    "host_utilisation": "The share of the time in which the hosts' links were sending.",
    "switch_utilisation": "The share of the time in which the switches' links were sending.",
    "packet_hops": "Packets over all links that they crossed.",
    "retransmissions": "Segments that were sent again.",
    "fast_retransmissions": "Segments that were sent again before a timeout.",
    "timeouts": "How often a sender's timer ended.",
    "measured_from_ns": "Flows that began at or after this time are measured.",
    "measured_until_ns": "Flows that began before this time are measured.",
    "class": "The sizes of flows that the row is about.",
    "from_bytes": "The smallest size of the class.",
    "below_bytes": "The size above the class.",
    "mean_ns": "The mean completion time: from a flow's start until its last byte has arrived.",
    "p50_ns": "The median completion time.",
    "p99_ns": "The 99th percentile of completion times.",
    "p999_ns": "The 99.9th percentile of completion times.",
    "max_ns": "The longest completion time.",
    "mean_slowdown": "The mean of completion times, each over the time that the flow would take alone.",
    "p50_slowdown": "The median of such ratios.",
    "p99_slowdown": "The 99th percentile of such ratios.",
    "src": "The sending host.",
    "dst": "The receiving host.",
    "size_bytes": "The payload of the flow.",
    "start_ns": "When the flow or the interval began.",
    "fct_ns": "The flow completion time (FCT): from a flow's start until its last byte has arrived.",
    "slowdown": "The completion time over the time that the flow would take alone on the network.",
    "acknowledged_bytes": "The bytes of the flow that its sender knows to have arrived.",
    "port": "The number of the port.",
    "from": "The node that the port belongs to.",
    "to": "The node that the port leads to.",
    "kind": "Whether the port is that of a host or a switch.",
    "rate_bps": "The rate of the port's link.",
    "window": "The number of the window, from 0.",
    "bytes": "The bytes that the flow sent in the interval.",
    "seed": "The seed of the run.",
}

#: Columns that say what a row is about, and measure nothing.
_LABELS = frozenset({
    "bound", "class", "dst", "flow", "flow_name", "from", "from_bytes", "below_bytes", "kind", "name", "port", "queue",
    "rank", "rank_high", "rate_bps", "scheduler", "seed", "size_bytes", "src", "start_ns", "time_ns", "to", "window",
})  # fmt: skip


def _plain(name: str, summary: str, params: Iterable[_pifolab.ParamTable] = (), effect: str = "") -> _pifolab.InfoTable:
    return {
        "name": name, "summary": summary, "paper": "", "effect": effect, "state": "", "cost": "",
        "params": list(params),
    }  # fmt: skip


def metrics() -> tuple[_pifolab.InfoTable, ...]:
    """Return what is measured: columns of the tables of a run, and what `pifolab attack` maximises."""
    sums = dict(_pifolab.attack_metrics())
    both = {
        name: f"{text} In pifolab attack: {sums.pop(name)}." if name in sums else text for name, text in COLUMNS.items()
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
    """Return the keys of scenarios by their paths: ``workload.arrivals``."""
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
    return tuple(found.values())


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
