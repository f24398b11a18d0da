"""Notes on a replayed trace: the packets that were read with a loss or a substitute, and those that were left out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pifolab.runs import Run

#: What was lost or substituted as packets were read, by the key of the manifest.
_REASONS = {
    "not_ip_packets": "not IP or have invalid headers: all of them are one flow",
    "short_packets": "captured with too few bytes for their addresses: all of them are one flow",
    "odd_packets": "damaged in their record: no fraction of a second, or more bytes captured than there were",
    "unread_tunnel_packets": "in tunnels whose inside could not be read: their flow is that of the tunnel's end points",
    "fragment_packets": "later fragments without ports: their flow is that of the addresses",
    "held_back_packets": "eligible only after they arrive: pieo, alone or in a tree, holds them back, others do not",
    "rounded_times": "at times finer than a picosecond: rounded to it",
    "unranked_packets": "without the payload bytes of the rank: their rank is 0",
}


def trace_notes(spec: Mapping[str, Any]) -> list[str]:
    """Return one line for each note on the trace, or on the flow lists, of the `spec` of a run's manifest.

    Examples
    --------
    >>> contents = {"packets": 1000, "not_ip_packets": 15, "left_out": None}
    >>> trace_notes({"workload": {"trace": "/data/x.pcap", "trace_contents": contents}})
    ['x.pcap: 1.5 % of the packets (15 of 1,000) are not IP or have invalid headers: all of them are one flow']
    >>> trace_notes({"workload": {"arrivals": "constant"}})
    []
    """
    workload = spec.get("workload")
    if isinstance(workload, list):
        return [note for one in workload if "trace" in one for note in trace_notes({"workload": one})]
    if not isinstance(workload, Mapping):
        return []
    if "trace" not in workload:
        topology = spec.get("topology") or {}
        cards, lines = topology.get("cards"), topology.get("unread_lines")
        behind = [f"topology: {cards:,} hosts with several links have one, to a card that is a switch"] if cards else []
        if lines:
            behind += [f"topology: not read behind the links that its first line counts: {lines:,} lines"]
        sources = workload.get("flows")
        unread = [one for one in sources if "list_unread_lines" in one] if isinstance(sources, list) else []
        said = "not read behind the flows that its first line counts"
        return behind + [f"{Path(one['list']).name}: {said}: {one['list_unread_lines']:,} lines" for one in unread]
    name, contents = Path(workload["trace"]).name, workload["trace_contents"]
    packets = contents["packets"]
    notes = []
    for key, reason in _REASONS.items():
        count = contents.get(key, 0)
        if count:
            share = f"{max(100 * count / packets, 0.1):.3g} %"
            notes.append(f"{name}: {share} of the packets ({count:,} of {packets:,}) are {reason}")
    if behaviours := contents.get("unordered_behaviours"):
        notes.append(
            f"{name}: ranks are DSCPs as they are, so that best effort (0) goes before {', '.join(behaviours)}: "
            '--rank dscp:phb (rank_map = "phb" in a scenario) takes the order of per-hop behaviours, '
            "--rank-map 46=0,34=1 your own"
        )
    if both := contents.get("both_ways"):
        host = both["host"]
        notes.append(
            f"{name}: {both['flows']:,} of {contents['flows']:,} flows have a reverse flow, but a port sends one "
            f"direction alone: --filter 'dst host {host}' keeps that to the host that receives most (behind a VLAN "
            f"tag: 'vlan and dst host {host}')"
        )
    if contents.get("left_out"):
        notes.append(f"{name}: {contents['left_out']}")
    return notes


def idle_notes(run: Run) -> list[str]:
    """Return a line if no packet of a run on one link waited or was lost: then its schedulers had nothing to decide."""
    schedulers = run.tables["schedulers"]
    if run.manifest["kind"] == "network" or not schedulers.height:
        return []
    busy = max((value for value in schedulers["utilisation"].to_list() if value is not None), default=None)
    signs = ("sojourn_mean_ns", "waiting_packets", "dropped_packets")
    if any(schedulers[column].fill_null(0).max() for column in signs):
        return []
    if run.warnings and all(sent <= 1 for sent in schedulers["sent_packets"].to_list()):
        # The warning states that nothing was sent, and the reason.
        return []
    share = "" if busy is None else f" (the link was busy for {100 * busy:.3g} % of the time)"
    workload = run.manifest["spec"]["workload"]
    is_trace = "trace" in (workload[0] if isinstance(workload, list) else workload)
    faster = "raise the speed-up of the trace" if is_trace else "let packets arrive faster"
    return [
        f"no packet waited{share}, so the schedulers had nothing to decide; {faster}, or lower the rate of the link"
    ]
