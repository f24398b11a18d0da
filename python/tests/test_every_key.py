"""Every key of a scenario changes the result, or the run says that it was never exercised."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pifolab import _pifolab
from pifolab.runs import scenario_toml

ROOT = Path(__file__).parents[2]
COMPILED = ROOT / "dataplane/p4/compiled"
SCHEMA = json.loads(_pifolab.scenario_schema())

#: Keys that change no result and of which a run says nothing, and why.
SILENT = {
    "title": "a heading of reports: only the manifest has it",
    "description": "a text of reports: only the manifest has it",
    "plain": "another form of the same decisions: equal results are its promise",
}

#: Keys whose other words are refused for the same files, and why.
REFUSED = {
    "scheduler[p4].entries": "entries are those of one program",
    "workload.flows.format": "a list of flows is written in one format",
    "workload.out_of_order": "the other word refuses a trace that goes back in time",
    "workload.trace_rank": "each source of ranks needs a file that has it, or further keys",
}

#: Keys, as patterns, of which runs in which little happens say nothing, and why.
QUIET = {
    r"(title|description|plain)": "no part of a run",
    r"(packets|end|duration|metrics\.(max_samples|warm_up|measure_until)|record\.max_rows)": "limits not reached",
    r"workload\.flows\.(max_flows|stop)": "limits not reached",
    r"transport\[.*\]\.(max_window_bytes|initial_ssthresh_segments)": "limits not reached",
    r"(host_port|port)\.ecn_threshold_(bytes|packets)": "a line names missing marks, whichever threshold it is",
    r"scheduler\[.*": "no occasion for a decision; lines name admission tests that refused nothing",
    r"rank\[stfq\]\.(virtual_time|give_back|relative)": "no occasion for a decision",
    r"(link\.tie|engine\.(equal_times|wire_time))": "no events at one instant, or no links of different rates",
    r"(host_port|port)\.(idle|sampled_ranks)": "ways to treat a packet at an idle port, all of which accept it",
    r"host_port\.queue": "no two packets waited at a host",
    r"transport\[.*\]\.ack_rank": "no acknowledgement waited beside another packet",
    r"metrics\.sample_every_packets": "so far apart that there is no sample, beside those by time",
}

UNITS = r"_(s|ms|us|ns|gbps|mbps|bps)$"
#: Tables of components and distributions that are walked; the same reader reads them wherever else they are.
WALKED = {"scheduler", "rank", "workload.ranks", "transport"}


def forms(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The tables that a schema allows."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    for one in schema.get("anyOf", ()):
        yield from forms(one)
    if "properties" in schema:
        yield schema


def tables(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tables behind a key, also those of a list, without classes of the user's own."""
    found = list(forms(schema)) or list(forms(schema.get("items", {})))
    return [form for form in found if word_of(form) or form.get("additionalProperties") is False]


def word_of(form: Mapping[str, Any]) -> tuple[str, str] | None:
    """The key and the word that tell this form of a table from the others."""
    return next(((key, held["const"]) for key, held in form["properties"].items() if "const" in held), None)


def is_walked(path: str, held: Mapping[str, Any]) -> bool:
    """Whether the keys of the tables behind a key are told apart."""
    words = [word for form in tables(held) if (word := word_of(form))]
    component = any(key in ("name", "distribution") for key, _ in words)
    return bool(tables(held)) and (not component or path in WALKED)


def keys_of(form: Mapping[str, Any], path: str) -> Iterator[tuple[str, list[str], Mapping[str, Any]]]:
    """The keys of a table: the name, which has the word that allows it, its spellings, and the schema of the value."""
    word = word_of(form)
    at = f"{path}[{word[1]}]" if word else path
    found: dict[str, list[str]] = {}
    for key, held in form["properties"].items():
        name = re.sub(UNITS, "", key)
        # Components have units as a part of the name, and no other spelling.
        has_others = f"{name}_ms" in form["properties"] or f"{name}_mbps" in form["properties"]
        if "const" not in held and (tables(held) or not list(forms(held))):
            found.setdefault(name if has_others else key, []).append(key)
    for name, spelled in found.items():
        usual = [key for key in spelled if key.endswith(("_us", "_gbps"))] or spelled
        yield f"{at}.{name}" if at else name, [*usual, *spelled], form["properties"][usual[0]]


def every_key(schema: Mapping[str, Any], path: str = "") -> set[str]:
    """The keys of a schema, each with the words that allow it: ``transport[dctcp].gain``."""
    found: set[str] = set()
    for form in tables(schema):
        for key, _, held in keys_of(form, path):
            found |= every_key(held, key) if is_walked(key, held) else {key}
            if key == "workload.ranks":
                found.add(key)
    return found


def written_keys(
    schema: Mapping[str, Any], table: Mapping[str, Any], path: str = "", way: tuple[Any, ...] = ()
) -> Iterator[tuple[str, tuple[Any, ...], Mapping[str, Any]]]:
    """The keys that the tables of a scenario may have: name, way to the value, and schema of the value."""
    for form in tables(schema):
        if (word := word_of(form)) and table.get(word[0]) != word[1]:
            continue
        for key, spelled, held in keys_of(form, path):
            use = next((one for one in spelled if one in table), spelled[0])
            value = table.get(use)
            if is_walked(key, held):
                if value is None and not any(word_of(one) for one in tables(held)):
                    value = {}
                inside = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
                for place, one in inside:
                    if isinstance(one, dict):
                        at = (*way, use) if place is None else (*way, use, place)
                        yield from written_keys(held, one, key, at)
            if not is_walked(key, held) or key == "workload.ranks":
                yield key, (*way, use), form["properties"][use]
        return


def candidates(key: str, held: Mapping[str, Any], now: Any) -> list[Any]:
    """Values of a key, of which a scenario may refuse some."""
    if key in VALUES:
        return VALUES[key]
    if (last := key.rpartition(".")[2]) in VALUES:
        return VALUES[last]
    if "enum" in held:
        return [word for word in held["enum"] if word != now]
    kind = held.get("type")
    if kind == "boolean":
        return [True, False] if now is None else [not now]
    whole: list[Any] = [1, 2, 3, 5, 7, 12, 20, 50, 100, 500, 1000, 1500, 3000, 10_000, 100_000, 1_000_000, -3]
    is_number = isinstance(now, int | float) and not isinstance(now, bool) and now
    if kind == "integer":
        more = [now * 2, now + 1, max(1, now // 2)] if is_number else []
        low, high = held.get("minimum", -100), held.get("maximum", 10**6)
        return [value for value in dict.fromkeys([*more, *whole, low]) if low <= value <= high and value != now]
    if kind == "array":
        ascending = [list(range(5, 5 * length + 5, 5)) for length in (8, 7)]
        return [[3], [1, 2], [10, 20, 30], [1, 3, 9, 27], *ascending, list(range(1, 101))]
    if any(one.get("type") == "integer" for one in held.get("anyOf", ())):
        return whole
    more = [now * 2, now / 2] if is_number else []
    return [*more, 0.25, 0.5, 0.9, 1, 2, 3, 5, 10, 30, 100, 300, 1000, 2000, 0.01, 0.001]


def result(scenario: Mapping[str, Any]) -> tuple[str, list[str], Any]:
    """The bytes of a run's tables and summary, its warnings, and its resolved keys."""
    text, _ = scenario_toml(scenario)
    ran = _pifolab.run_scenario(text, "x.toml", [], workers=1)
    manifest = json.loads(ran["manifest"])
    return repr((ran["summary"], ran["tables"])), manifest["warnings"], manifest["spec"]


def put(scenario: Mapping[str, Any], way: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(dict(scenario))
    at: Any = changed
    for step in way[:-1]:
        if isinstance(step, str) and step not in at:
            at[step] = {}
        at = at[step]
    at[way[-1]] = value
    return changed


def value_at(scenario: Mapping[str, Any], way: tuple[Any, ...]) -> Any:
    at: Any = scenario
    for step in way:
        at = at.get(step) if isinstance(at, dict) else at[step]
        if at is None:
            return None
    return at


#: Values of keys that take texts, lists or files.
VALUES: dict[str, list[Any]] = {
    "label": ["another"],
    "seeds": [[2]],
    "file": ["b.txt"],
    "topology[file].file": ["b.toml"],
    "workload.trace": ["b.csv"],
    "list": ["b.flows"],
    "pairs_file": ["b.pairs"],
    "rank_map": ["phb", "46=0,34=1"],
    "delta_to": ["fifo"],
    "link_failure.link": ["leaf1-spine1"],
    "sample_ports": [["hosts"]],
    "packet_log": [["switches"]],
    "arrival_order": [["host0"]],
    "frames": [["host1"]],
    "switch.entries": ["b.entries"],
    "scheduler[p4].entries": ["b.txt"],
    "switch.program": [str(COMPILED / "hops.json.gz")],
    "scheduler[p4].program": [str(COMPILED / "sp_pifo.json.gz")],
    "scheduler[tree].policy": ["rr[fifo[0-1], fifo[2-3]]"],
    "classes": [["a = 0-1", "b = 2-3"]],
    "scheduler[tree].order": [{"name": "sp-pifo"}, {"name": "fifo"}],
    "child": [[{"name": "fifo", "takes": "rest"}]],
    "scheduler[managed].scheduler": [{"name": "pifo"}],
    "scheduler[tree].rank": [{"name": "las"}, {"name": "fcfs"}],
    "host_port.rank": [{"name": "stfq"}],
    "host_port.scheduler": [{"name": "pifo", "capacity_packets": 3}],
    "packet_ranks": ["exponential"],
    "workload.ranks": ["exponential"],
    "workload.phase.ranks": ["exponential"],
    "workload.size_bytes": [700, {"distribution": "uniform", "low": 100, "high": 200}],
    "weights": [[5, 1], [1, 3, 9, 27], list(range(1, 101))],
    "metrics.size_classes_bytes": [[20_000]],
}


UNIFORM = {"distribution": "uniform"}
#: Packets of several sizes and flows, more than the link sends.
LINK: dict[str, Any] = {
    "duration_us": 3000,
    "link": {"rate_gbps": 1},
    "workload": {
        "arrivals": "constant",
        "rate_gbps": 1.5,
        "size_bytes": {**UNIFORM, "low": 64, "high": 1500},
        "ranks": UNIFORM,
        "flows": 4,
    },
    "scheduler": [{"name": "pifo", "capacity_packets": 30}],
}
#: Flows between two leaves, more than their ports send.
NET: dict[str, Any] = {
    "duration_us": 20_000,
    "topology": {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 2,
        "hosts_per_leaf": 2,
        "access_rate_gbps": 1,
        "fabric_rate_gbps": 0.7,
        "delay_us": 1,
    },
    "transport": {"name": "newreno", "rank": "remaining-size"},
    "workload": {
        "flows": [
            {
                "arrivals": "poisson",
                "load": 0.9,
                "sizes": "uniform",
                "low_bytes": 2000,
                "high_bytes": 90_000,
                "pairs": "uniform",
                "max_flows": 60,
            }
        ]
    },
    "scheduler": [{"name": "pifo", "capacity_packets": 6}],
}


def link(workload: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    source = {**LINK["workload"], **(workload or {})}
    return {**LINK, "workload": {key: value for key, value in source.items() if value is not None}, **more}


def net(flows: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    source = {**NET["workload"]["flows"][0], **(flows or {})}
    return {**NET, "workload": {"flows": [{key: one for key, one in source.items() if one is not None}]}, **more}


def distributions() -> Iterator[dict[str, Any]]:
    for form in forms(SCHEMA["$defs"]["distribution"]):
        word = word_of(form)
        required: dict[str, list[dict[str, Any]]] = {
            "constant": [{"value": 70}],
            "histogram": [{"values": [64, 300], "weights": [1, 2]}, {"file": "a.hist"}],
        }
        for one in required.get(word[1], [{}]) if word else ():
            yield {"distribution": word[1], **one} if word else {}


def schedulers() -> Iterator[dict[str, Any]]:
    """Tables of every scheduler in which each of its keys may stand."""
    small = {"queues": 4, "queue_capacity_packets": 5}
    for info in SCHEMA["then"]["properties"]["scheduler"]["items"]["anyOf"]:
        keys = info["properties"]
        name = keys["name"].get("const")
        if name is None or info["required"] != ["name"] or "child" in keys:
            continue
        yield {"name": name}
        if "queues" in keys:
            yield from ({"name": name, **small}, {"name": name, "queues": 8})
        if "capacity_packets" in keys:
            yield {"name": name, "capacity_packets": 20}
    yield {"name": "exp-pifo", **small, "window_packets": 20}
    yield {"name": "exp-pifo", **small, "window_packets": 20, "mapping": "bounds"}
    yield {"name": "sp-pifo-greedy", **small, "window_packets": 20}
    yield {"name": "sp-pifo-optimal", **small, "weights": [*[1] * 10, 50, *[1] * 89]}
    yield {"name": "sp-pifo", **small, "push_down": "rank"}
    yield {"name": "slack-sp", **small, "admission_gain": 2}
    yield {"name": "slack-sp", **small, "map": "shares"}
    for more in ({"compare": "lt"}, {"k": 0.5}, {"k": 0.3, "window": 7, "compare": "lt"}):
        yield {"name": "aifo", "capacity_packets": 20, **more}
        yield {"name": "packs", **small, "window": 20, **more}
    yield {"name": "aifo", "capacity_bytes": 20_000}
    yield {"name": "packs", **small, "window": 20, "map": "geometric"}
    yield {"name": "rifo", "capacity_packets": 20, "tracking_range_packets": 20}
    yield {"name": "fq-codel", "target_ns": 10_000, "interval_ns": 100_000}
    yield {"name": "drr", "capacity_packets": 20, "flow_packets": 3}
    yield {"name": "p4", "program": str(COMPILED / "aifo.json.gz")}
    leaf = {"name": "fifo", "capacity_packets": 30}
    children = [{**leaf, "takes": [0]}, {**leaf, "takes": "rest"}]
    yield {"name": "tree", "policy": "strict[(fifo[0-1], 1), (fifo[2-3], 2)]"}
    for discipline in ("strict", "rr", "stfq", "drr"):
        yield {"name": "tree", "child": children, "discipline": discipline}
    yield {"name": "tree", "child": children, "discipline": "wfq", "rate_gbps": 1}
    yield {"name": "tree", "child": children, "discipline": "rank", "rank": {"name": "carried"}}
    yield {"name": "tree", "child": children, "capacity_packets": 12}
    named = [{"name": "fifo", "takes": ["a"]}, {"name": "fifo", "takes": ["b"]}]
    yield {"name": "tree", "child": named, "classes": ["a = 0", "b = 1-3"]}
    yield {"name": "managed", "scheduler": leaf}
    for policy in (
        {"policy": "codel", "target_ns": 10_000, "interval_ns": 100_000},
        {"policy": "pie", "target_ns": 1000, "update_ns": 10_000, "burst_ns": 10},
        {"policy": "red", "min_bytes": 3000, "max_bytes": 9000, "weight_log": 2},
    ):
        yield {"name": "managed", **policy, "scheduler": leaf}


def one_link() -> Iterator[dict[str, Any]]:
    packs = {"name": "packs", "queues": 4, "queue_capacity_packets": 5, "window": 20}
    three = [{"name": "pifo", "capacity_packets": 30}, {"name": "fifo", "capacity_packets": 30}, packs]
    yield link({"arrivals": "poisson"}, scheduler=three, packets=100)
    for metrics in ({}, {"sample_every_us": 100}, {"sample_every_packets": 10}):
        yield link(scheduler=three, metrics=metrics)
    yield link({"rate_gbps": None, "load": 1.2, "arrivals": "jittered", "jitter": 0.2})
    yield link({"size_bytes": 1500, "rate_gbps": 1})
    yield link(link={"rate_gbps": 0.3})
    yield link({"arrivals": "on-off", "on_us": 100, "off_us": 50, "periods": "exponential"})
    yield link({"arrivals": "batches", "batch_packets": 10, "period_us": 100, "rate_gbps": None})
    yield link({"ranks": None, "rank_sequence": [5, 1, 9, 3], "repeat_sequence": True})
    yield link({"ranks": None, "rank_sequence": [5, 1, 9, 3] * 10})
    yield link({"deadline_us": 100, "ranks": None}, rank={"name": "edf"})
    phases = [{"from_us": 500, "ranks": {**UNIFORM, "low": 200, "high": 300}}, {"from_us": 900, "shift_ranks": 20}]
    yield link({"phase": phases})
    yield from (link({"ranks": ranks}) for ranks in distributions())
    trace = {**dict.fromkeys(("arrivals", "rate_gbps", "size_bytes", "ranks", "flows")), "trace": "a.csv"}
    slow = {"link": {"rate_mbps": 8}, "duration_us": 3_000_000}
    yield link({**trace, "trace_rank": "column"}, **slow)
    yield link({**trace, "trace": "late.csv", "out_of_order": "sort", "trace_rank": "column"}, **slow)
    for ranks in (
        {"trace_rank": "dscp"},
        {"trace_rank": "payload", "payload_offset_bytes": 1, "payload_width_bytes": 2},
    ):
        yield link({**trace, "trace": "a.pcap", **ranks}, **slow)
    for scheduler in schedulers():
        yield link(scheduler=[scheduler])
        bursts = {"ranks": {"distribution": "exponential"}, "arrivals": "poisson"}
        yield link(bursts, scheduler=[scheduler], duration_us=9000)
    # So many flows that all cells of the sketch are shared.
    afq = {"name": "afq", "queues": 4, "bytes_per_round": 100, "queue_capacity_packets": 100_000}
    yield link({"flows": 100_000, "size_bytes": 100, "rate_gbps": 3}, scheduler=[afq], duration_us=20_000)
    large = {"name": "fifo", "capacity_packets": 300}
    pie = {"name": "managed", "policy": "pie", "target_ns": 1000, "update_ns": 10_000, "burst_ns": 30_000_000}
    yield link({"rate_gbps": 3}, scheduler=[{**pie, "scheduler": large}], duration_us=40_000)
    yield link({"rate_gbps": 3}, scheduler=[{"name": "managed", "scheduler": large}])
    for rank in ("stfq", "las", "pias", "fdpa", "fcfs", "token-bucket", "afq-rounds"):
        ranks = {} if rank == "token-bucket" else {"ranks": None}
        for scheduler in ("pifo", "pieo", "aifo"):
            yield link(ranks, rank={"name": rank}, scheduler=[{"name": scheduler, "capacity_packets": 30}])
    yield link({"ranks": None}, rank={"name": "pias", "thresholds_bytes": [3000, 9000]})


def networks() -> Iterator[dict[str, Any]]:
    yield NET
    fifo = [{"name": "fifo", "capacity_packets": 6}]
    for form in tables(SCHEMA["then"]["properties"]["transport"]):
        name = form["properties"]["name"]["const"]
        more: dict[str, Any] = {
            "udp": {"payload_bytes": 1000, "interval_us": 10},
            "rank-per-packet": {"packet_ranks": UNIFORM},
        }.get(name, {})
        transport, port = {"name": name, **more}, {"ecn_threshold_bytes": 4500}
        yield net(transport=transport, port=port)
        yield net({"load": 3}, transport=transport, port=port, scheduler=[{"name": "fifo", "capacity_packets": 3}])
        if name == "udp":
            continue
        if name != "dctcp":
            yield net({"load": 3}, transport={**transport, "udp": [{"host": 1, "interval_us": 20}]}, port=port)
        yield net({"load": 3}, transport={**transport, "recovery": "rack"}, port=port, scheduler=fifo)
        early = {**transport, "min_rto_us": 10}
        yield net({"load": 0.5}, transport=early, port=port, scheduler=[{"name": "fifo", "capacity_packets": 3}])
        # The first two packets are lost, and the timer reaches the usual ceiling of a minute.
        yield net(
            {"arrivals": "periodic", "period_us": 1_000_000, "load": None, "max_flows": 2},
            topology={"kind": "two-hosts", "rate_gbps": 1, "delay_us": 1},
            transport={**transport, "initial_rto_us": 40_000_000},
            port=port,
            duration_us=300_000_000,
            link_failure=[{"link": "host0-host1", "at_us": 0, "repair_us": 50_000_000}],
        )
    rates = {"access_rate_gbps": 1, "delay_us": 1}
    for topology in (
        {"kind": "two-hosts", "rate_gbps": 1, "delay_us": 1},
        {"kind": "fat-tree", "k": 4, **rates, "fabric_rate_gbps": 0.5},
        {"kind": "dumbbell", "left_hosts": 2, "right_hosts": 2, **rates, "bottleneck_rate_gbps": 1},
        {"kind": "single-switch", "hosts": 4, "rate_gbps": 1, "delay_us": 1},
        {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, **rates, "oversubscription": 2},
        {"kind": "file", "file": "a.graphml", **rates, "hosts_per_switch": 2},
        {"kind": "file", "file": "a.toml"},
    ):
        yield net(topology=topology)
    yield net({"arrivals": "pareto", "shape": 1.5})
    yield net({"arrivals": "periodic", "period_us": 50, "load": None})
    yield net({"load": None, "starts_per_s": 10_000})
    for sizes in (
        {"sizes": "fixed", "size_bytes": 30_000},
        {"sizes": "web-search"},
        {"sizes": "pareto", "size_shape": 1.2, "mean_bytes": 20_000, "cap_bytes": 200_000},
        {"sizes": "file", "file": "a.cdf"},
    ):
        yield net({"low_bytes": None, "high_bytes": None, **sizes}, duration_us=200_000)
    for pairs in (
        {"pairs": "incast", "senders": 3, "receiver": 0},
        {"pairs": "rack-skewed", "inside": 0.5},
        {"pairs": "file", "pairs_file": "a.pairs"},
    ):
        yield net(pairs)
    netbench = {"load": None, "starts_per_s": 10_000, "max_flows": None}
    yield net({**netbench, "arrivals": "netbench-sp-pifo"})
    yield net({**netbench, "arrivals": "netbench-aifo", "pairs": "pareto-skewed", "hosts_per_rack": 2})
    yield {**NET, "workload": {"flows": [{"list": "a.flows"}]}}
    yield net(switch_buffer={"shared_bytes": 20_000, "alpha": 1})
    yield net(link_failure=[{"link": "leaf0-spine0", "at_us": 500, "repair_us": 3000}])
    yield net(record={"sample_interval_us": 100, "sample_ports": ["switches"]})
    yield net(record={"throughput_interval_us": 500, "max_rows": 10})
    yield net(record={"reordering": True, "packet_log": ["hosts"]})
    own = {"queue": "own", "scheduler": {"name": "fifo", "capacity_packets": 5}}
    yield net(host_port=own, scheduler=fifo)
    yield net(host_port={"queue": "own", "scheduler": {"name": "pifo", "capacity_packets": 5}}, rank={"name": "las"})
    yield net(host_port={"queue": "as-switch"}, scheduler=fifo)
    yield net(scheduler=fifo)
    yield net(engine={"routing": "spray"})
    live = {"name": "aifo", "capacity_packets": 20, "compare": "lt", "arithmetic": "netbench", "update": "after"}
    stfq = {"name": "stfq", "scale": 1, "virtual_time": "follow"}
    like = {"rank": stfq, "scheduler": [live], "host_port": {"queue": "as-switch"}, "port": {"idle": "admission"}}
    yield net({"load": 2, "max_flows": 200}, **like)
    test = {**live, "capacity_packets": 6, "k": 0.5, "window": 9}
    yield net({"load": 2}, rank=stfq, scheduler=[test], host_port={"queue": "as-switch"})
    marks = {"target_ns": 10_000, "interval_ns": 100_000}
    red = {"policy": "red", "ecn": True, "min_bytes": 3000, "max_bytes": 9000, "weight_log": 2}
    for scheduler in (
        {"name": "fq-codel", **marks},
        {"name": "managed", "policy": "codel", **marks, "scheduler": {"name": "fifo"}},
        {"name": "managed", **red, "scheduler": {"name": "fifo"}},
        {"name": "p4", "program": str(COMPILED / "ecn.json.gz")},
    ):
        ecn = {"name": "newreno", "ecn": True}
        yield net({"load": 2}, transport=ecn, port={"ecn_threshold_bytes": 30_000}, scheduler=[scheduler])
    switch = {"program": str(COMPILED / "ecn.json.gz"), "entries": "a.entries"}
    port, deep = {"ecn_threshold_bytes": 100_000}, [{"name": "pifo", "capacity_packets": 100}]
    yield net(
        {"load": 3},
        switch=switch,
        transport={"name": "dctcp", "rank": "remaining-size"},
        port=port,
        scheduler=deep,
        record={"frames": ["host0"]},
    )


def scenarios() -> Iterator[dict[str, Any]]:
    yield from one_link()
    yield from networks()


ROUTES = """switch leaf0
table_add route to_port 10.0.0.0/32 => 0
table_add route to_port 10.0.0.1/32 => 1
table_add route spread 10.0.0.2/31 => 2 2
switch leaf1
table_add route to_port 10.0.0.2/32 => 0
table_add route to_port 10.0.0.3/32 => 1
table_add route spread 10.0.0.0/31 => 2 2
switch spine0 spine1
table_add route to_port 10.0.0.0/31 => 0
table_add route to_port 10.0.0.2/31 => 1
"""


def capture() -> bytes:
    """A capture of UDP datagrams on raw IP with several DSCPs, and ranks of two bytes in the payload."""
    packets = []
    for number in range(200):
        payload = (number * 7919 % 65521).to_bytes(3, "big") + b"12345678"
        udp = bytes.fromhex("10002000") + (8 + len(payload)).to_bytes(2, "big") + bytes(2) + payload
        tos = [0, 46, 34, 10][number % 4] << 2
        ip = (
            bytes([0x45, tos])
            + (20 + len(udp)).to_bytes(2, "big")
            + bytes.fromhex("000000004011 0000 0a000001 0a000002")
        )
        size = (len(ip) + len(udp)).to_bytes(4, "little")
        packets.append(bytes(4) + (number * 100).to_bytes(4, "little") + size + size + ip + udp)
    return bytes.fromhex("d4c3b2a1 0200 0400 00000000 00000000 ffff0000 65000000") + b"".join(packets)


NODES = "<node id='0'/><node id='1'/><edge source='0' target='1'/>"
STAR = "hosts = 2\nswitches = 1\nrate_gbps = RATE\ndelay_us = 1\nlink = [{a = 0, b = 2}, {a = 1, b = 2}]\n"
FLOW_LIST = "flow,src,dst,size_bytes,start_ns\n0,0,3,50000,0\n1,1,3,SIZE,100\n"
FILES: dict[str, str | bytes] = {
    "a.csv": "time_us,size_bytes,rank,flow\n0,1000,5,a\n1,1000,9,a\n2,100,2,b\n3,1000,7,a\n",
    "b.csv": "time_us,size_bytes,rank,flow\n0,1000,5,a\n1,1000,1,a\n2,100,2,b\n",
    "late.csv": "time_us,size_bytes,rank,flow\n0,1000,5,a\n5,1000,9,a\n2,100,2,b\n6,1000,7,a\n",
    "a.pcap": capture(),
    "a.hist": "64,1\n700,2\n",
    "b.txt": "1000,50\n90000,100\n",
    "a.cdf": "1000 0.5\n20000 0.8\n60000 1\n",
    "a.pairs": "src,dst,weight\n0,2,1\n1,3,2\n",
    "b.pairs": "src,dst,weight\n0,3,1\n1,2,2\n",
    "a.flows": FLOW_LIST.replace("SIZE", "50000"),
    "b.flows": FLOW_LIST.replace("SIZE", "90000"),
    "a.toml": STAR.replace("RATE", "1"),
    "b.toml": STAR.replace("RATE", "2"),
    "a.graphml": f"<graphml><graph edgedefault='undirected'>{NODES}</graph></graphml>",
    "a.entries": ROUTES,
    "b.entries": ROUTES.replace("10.0.0.2/31 => 2 2", "10.0.0.2/31 => 2 1"),
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the scenarios name."""
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def branch_of(scenario: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = SCHEMA["then" if "topology" in scenario else "else"]
    return found


def test_every_key_changes_a_result_or_is_named_as_never_exercised(files: Path):
    left = every_key(SCHEMA["then"]) | every_key(SCHEMA["else"])
    assert left >= SILENT.keys() | REFUSED.keys()
    left -= SILENT.keys()
    why: dict[str, str] = dict.fromkeys(left, "no scenario has it")
    for scenario in scenarios():
        before, said_before, _ = result(scenario)
        for key, way, held in written_keys(branch_of(scenario), scenario):
            if key not in left:
                continue
            for value in candidates(key, held, value_at(scenario, way)):
                try:
                    after, warnings, _ = result(put(scenario, way, value))
                except ValueError as error:
                    if key in REFUSED:
                        left.discard(key)
                    why[key] = f"{value!r} is refused: {error}" if "no scenario" in why[key] else why[key]
                    continue
                name = key.rpartition(".")[2]
                new = [warning for warning in warnings if warning not in said_before]
                if after != before or any(re.search(rf"\b{re.escape(name)}\b", warning) for warning in new):
                    left.discard(key)
                    break
                why[key] = f"{value!r} changes nothing and is not named"
    assert not left, "\n".join(f"{key}: {why[key]}" for key in sorted(left))


def quiet_scenarios() -> Iterator[dict[str, Any]]:
    """Runs in which little happens."""
    one = {"kind": "single-switch", "hosts": 4, "rate_gbps": 1, "delay_us": 1}
    for name in ("newreno", "cubic", "pfabric", "dctcp", "udp"):
        more = {"udp": {"payload_bytes": 1000, "interval_us": 10}}.get(name, {})
        port = {"ecn_threshold_bytes": 1_000_000} if name == "dctcp" else {}
        fifo = {"name": "fifo", "capacity_packets": 1000}
        yield net({"load": 0.05}, topology=one, transport={"name": name, **more}, port=port, scheduler=[fifo])
    yield link({"rate_gbps": 0.1, "flows": 1})
    yield link({"rate_gbps": 1.2, "flows": 1}, scheduler=[{"name": "fifo"}])
    yield link({"rate_gbps": 1.2}, metrics={"max_samples": 0})
    yield link({"rate_gbps": 1.2, "ranks": None}, rank={"name": "stfq"}, scheduler=[{"name": "fifo"}])
    for leaf in ("fifo", "pifo", "aifo"):
        tree = {"name": "tree", "child": [{"name": leaf, "takes": "rest", "rank": {"name": "token-bucket"}}]}
        yield link(scheduler=[tree])
        yield link(rank={"name": "token-bucket"}, scheduler=[{"name": leaf}])


def test_what_a_quiet_run_never_exercised_is_named(files: Path):
    silent: dict[str, Any] = {}
    for number, scenario in enumerate(quiet_scenarios()):
        before, said, plain = result(scenario)
        for key, way, held in written_keys(branch_of(scenario), scenario):
            if key.startswith("topology") or any(re.fullmatch(pattern, key) for pattern in QUIET):
                continue
            for value in candidates(key, held, value_at(scenario, way)):
                try:
                    after, warnings, resolved = result(put(scenario, way, value))
                except ValueError:
                    continue
                # A value that is the default changes nothing.
                if after == before and resolved != plain and warnings == said and not named(key, said):
                    silent.setdefault(f"{number} {key}", []).append(value)
    assert not silent, "\n".join(f"{key}: {values}" for key, values in silent.items())


def named(key: str, warnings: list[str]) -> bool:
    """Whether a warning names a key, or the component that it belongs to."""
    name, component = key.rpartition(".")[2], re.search(r"\[(.*?)\]", key)
    own = re.compile(rf"\b{re.escape(name)}\b")
    return any(own.search(line) or (component and f"{component[1]} held" in line) for line in warnings)
