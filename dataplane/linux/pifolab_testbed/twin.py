"""The simulated twin of a testbed experiment: the same flows, schedulers and parameters on a simulated link.

>>> from pifolab_testbed import twin
>>> twin.simulated_experiments()
('udp-four-flows', 'udp-eight-flows', 'tcp-four-flows', 'fair-shares')

What differs: the simulated link sends without a pause, where the kernel's token bucket lets two frames through at once
and the processors sometimes come late; and nothing crosses the simulated wire but the flows. TCP is the simulator's
own: CUBIC and RACK-TLP with the kernel's timers and segment sizes, and slow start that ends at 16 segments, as HyStart
ends that of the first flow.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pifolab import info
from pifolab.errors import InputError
from pifolab.lazy import np
from pifolab.runs import Run, complete, run_text
from pifolab.scenario import inline_toml

__all__ = ["Twin", "has_twin", "scenario", "simulate", "simulated_experiments"]

# What the testbed counts of a frame beside the IP packet: Ethernet's header.
_ETHERNET_BYTES = 14
# An Ethernet frame that carries an IP packet of 1500 bytes: what the testbed's TCP senders send.
_FRAME_BYTES = 1514
_SEEDS = (1, 2, 3, 4, 5)

# TCP: what the kernel has. A segment is a frame less the headers of Ethernet (14), IP (20), and TCP with stamps (32).
_TCP_HEADER_BYTES = 66
_MIN_RTO_MS = 200
_MAX_WINDOW_BYTES = 4_194_304
# HyStart's low window: slow start ends with it where a train of so many segments takes longer than half of the empty
# path's round trip.
_SLOW_START_SEGMENTS = 16
# The sender's and the receiver's links, which never hold anything up.
_ACCESS_BPS = 100_000_000_000
# From end to end and back without queueing, over the three links of a dumbbell, each way.
_ROUND_TRIP_NS = 100_000
_LINKS = 3
# The simulator's carried rank of a TCP segment is the size of its flow. Sizes of so many bytes per rank stand to each
# other as the ranks do, and no flow comes to its end.
_BYTES_PER_RANK = 1 << 34
# Parameters of schedulers that are ranks: they grow as the ranks do.
_IN_RANKS = ("r_min", "shift", "clamp", "start_window")


# The testbed writes a flow's rank into the DSCP; the simulated packets carry it as it is.
_BY_RANK = "dscp"


def simulated_experiments() -> tuple[str, ...]:
    """Return the experiments that have a twin: those of flows whose shares are compared."""
    return ("udp-four-flows", "udp-eight-flows", "tcp-four-flows", "fair-shares")


def has_twin(summary: Mapping[str, Any]) -> bool:
    """Say whether the simulator can repeat what `summary` describes.

    It cannot repeat a sender of the user's own, flows whose packets have several sizes, nor TCP flows that end or whose
    ranks a function computes. Of trees it repeats those that sort packets by what a flow carries: the DSCP, or the
    size.
    """
    if summary["experiment"] in simulated_experiments():
        return all(len(_packets(flow)) == 1 for flow in summary["flows"])
    if summary["experiment"] != "custom" or summary.get("sender"):
        return False
    ranks = summary["rank"] == "dscp" or (
        not _is_tcp(summary) and (summary["rank"] == "payload:4:4" or _is_computed(summary))
    )
    endless = all(flow.get("size_bytes") is None and len(_packets(flow)) == 1 for flow in summary["flows"])
    sorted_alike = all(
        not _classifies(scheduler) or parameters.get("classify") in (_BY_RANK, "size")
        for scheduler, parameters in _schedulers(summary).items()
    )
    return bool(ranks and endless and sorted_alike)


def _classifies(scheduler: str) -> bool:
    """Say whether a scheduler sorts packets into leaves."""
    return any(param.name == "classify" for param in info.scheduler(scheduler).params)


def _is_computed(summary: Mapping[str, Any]) -> bool:
    """Say whether the ranks are those of one of the library's rank functions."""
    return any(about.name == summary["rank"] for about in info.ranks())


def _is_tcp(summary: Mapping[str, Any]) -> bool:
    return all(flow["offered_bps"] is None for flow in summary["flows"])


def _packets(flow: Mapping[str, Any]) -> list[list[int]]:
    """Return the sizes of a flow's IP packets with their weights."""
    return list(flow.get("packets", [[_FRAME_BYTES - _ETHERNET_BYTES, 1]]))


def scenario(summary: Mapping[str, Any]) -> str:
    """Return the scenario, as TOML, that repeats in the simulator what the testbed's `summary` describes.

    Raises
    ------
    InputError
        The experiment has no twin.
    """
    name = summary["experiment"]
    if not has_twin(summary):
        known = ", ".join(simulated_experiments())
        raise InputError(f"{name}: no simulated twin; expected one of {known} with packets of one size")
    tcp = _is_tcp(summary)
    lines = [f'title = "The testbed\'s {name}, simulated"', *(_tcp(summary) if tcp else _udp(summary))]
    for scheduler, parameters in _schedulers(summary).items():
        lines += ["", "[[scheduler]]", f'name = "{scheduler}"']
        parameters = _scaled(scheduler, parameters) if tcp else parameters
        lines += [f"{key} = {_parameter(key, value)}" for key, value in parameters.items()]
    return "\n".join(lines) + "\n"


def _udp(summary: Mapping[str, Any]) -> list[str]:
    """Return the lines of a single link with paced flows."""
    lines = [
        'description = """The flows, schedulers and parameters of `pifolab testbed` on a simulated link. Gaps between',
        'the packets of a flow vary by half, as those of the testbed\'s senders do."""',
        f"duration_s = {summary['length_s']:g}",
        f"seeds = {list(_SEEDS)}",
        "",
        "[link]",
        f"rate_bps = {int(summary['rate_bps'])}",
    ]
    by_rank = any(parameters.get("classify") == _BY_RANK for parameters in _schedulers(summary).values())
    computed = _is_computed(summary) and not by_rank
    for flow in summary["flows"]:
        lines += [
            "",
            "[[workload]]",
            'arrivals = "jittered"',
            "jitter = 0.5",
            f"rate_bps = {int(flow['offered_bps'])}",
            f"size_bytes = {_packets(flow)[0][0] + _ETHERNET_BYTES}",
            f"start_s = {flow['start_s']:g}",
        ]
        lines += [] if flow.get("stop_s") is None else [f"stop_s = {flow['stop_s']:g}"]
        lines += [] if computed else [f'ranks = {{ distribution = "constant", value = {flow["rank"]} }}']
    lines += ["", "[rank]", f'name = "{summary["rank"]}"'] if _is_computed(summary) else []
    return [*lines, "", "[metrics]", f"throughput_interval_ms = {1000 * float(summary['bin_s']):g}"]


def _tcp(summary: Mapping[str, Any]) -> list[str]:
    """Return the lines of a dumbbell with flows that never end."""
    one_way_ns = _ROUND_TRIP_NS // 2 + 1000 * int(summary["delay_us"])
    delay_ns = one_way_ns // _LINKS
    train_ns = _SLOW_START_SEGMENTS * _FRAME_BYTES * 8 * 1_000_000_000 // int(summary["rate_bps"])
    lines = [
        'description = """The flows, schedulers and parameters of `pifolab testbed` on a simulated network. Flows',
        'never end; their sizes, which are the ranks, stand to each other as the ranks of the testbed do."""',
        f"duration_s = {summary['length_s']:g}",
        f"seeds = {list(_SEEDS)}",
        "",
        "[topology]",
        'kind = "dumbbell"',
        "left_hosts = 1",
        "right_hosts = 1",
        f"access_rate_bps = {_ACCESS_BPS}",
        f"bottleneck_rate_bps = {int(summary['rate_bps'])}",
        f"delay_ns = {delay_ns}",
        "",
        "[transport]",
        'name = "cubic"',
        'rank = "flow-size"',
        f"mss_bytes = {_FRAME_BYTES - _TCP_HEADER_BYTES}",
        f"min_rto_ms = {_MIN_RTO_MS}",
        f"initial_rto_ms = {_MIN_RTO_MS}",
        # The testbed's flows connect before they start.
        "handshake = false",
        f"max_window_bytes = {_MAX_WINDOW_BYTES}",
        *([f"initial_ssthresh_segments = {_SLOW_START_SEGMENTS}"] if train_ns > one_way_ns else []),
        'recovery = "rack"',
        "",
        "[engine]",
        f"header_bytes = {_TCP_HEADER_BYTES}",
    ]
    for flow in summary["flows"]:
        # Rank 0 counts as the lowest that a size can stand for: below 1, and far from the end.
        size = flow["rank"] * _BYTES_PER_RANK or _BYTES_PER_RANK // 2
        lines += [
            "",
            "[[workload.flows]]",
            # One, within about a millisecond: senders wake up as they happen to.
            'arrivals = "poisson"',
            "starts_per_s = 1000",
            "max_flows = 1",
            f"start_s = {flow['start_s']:g}",
            'sizes = "fixed"',
            f"size_bytes = {size}",
            'pairs = "incast"',
            "senders = 1",
            "receiver = 1",
        ]
    lines += ["", "[metrics]", "watch_ports = false", "", "[record]"]
    return [*lines, f"throughput_interval_ms = {1000 * float(summary['bin_s']):g}"]


def _scaled(scheduler: str, parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters with those that are ranks in the unit of the simulated ranks."""
    rows = [param for param in info.scheduler(scheduler).params if param.name in _IN_RANKS]
    ranks = {param.name: param.default for param in rows if param.default not in (None, "0")}
    ranks |= {key: value for key, value in parameters.items() if key in _IN_RANKS}
    scaled = {
        key: ",".join(str(int(rank) * _BYTES_PER_RANK) for rank in value.split(",")) for key, value in ranks.items()
    }
    return {**parameters, **scaled}


def _schedulers(summary: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return each scheduler with its parameters, in the order of the runs."""
    return {run["scheduler"]: run["parameters"] for run in summary["runs"]}


def _parameter(key: str, value: str) -> str:
    """Write a parameter as a scenario has it."""
    if key == "child":
        return inline_toml(json.loads(value))
    return _toml("rank" if (key, value) == ("classify", _BY_RANK) else value)


def _toml(value: str) -> str:
    """Write a parameter as the command line had it: a list, a whole number, a flag, or a text (fractions, too)."""
    if "," in value:
        return "[" + ", ".join(_toml(part) for part in value.split(",")) + "]"
    return value if value.lstrip("-").isdigit() or value in ("true", "false") else json.dumps(value)


@dataclass(frozen=True)
class Twin:
    """What the simulator says of the same experiment."""

    summary: Mapping[str, Any]
    """The testbed's summary."""
    run: Run
    """The simulated run."""

    @cached_property
    def _bytes(self) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
        """Bytes sent by scheduler: an array of seeds x flows x bins."""
        flows = len(self.summary["flows"])
        width = float(self.summary["bin_s"])
        bins = math.ceil(float(self.summary["length_s"]) / width - 1e-9)
        seeds = {seed: place for place, seed in enumerate(self.run.seeds)}
        table = self.run.tables["throughput"]
        found = {}
        for scheduler in _schedulers(self.summary):
            array = np.zeros((len(seeds), flows, bins))
            rows = table.filter(scheduler=scheduler).select("seed", "flow", "start_ns", "bytes")
            for seed, flow, start_ns, sent in rows.iter_rows():
                place = round(start_ns / 1e9 / width)
                # What the link still holds when the senders have ended is after the experiment.
                if place < bins:
                    array[seeds[seed], flow, place] += sent
            found[scheduler] = array
        return found

    def rates_mbps(self, scheduler: str, flow: int, group: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return what `flow` gets over time, the mean over the seeds, with `group` bins to a point."""
        array = self._bytes[scheduler][:, flow]
        whole = array.shape[1] // group * group
        points = array[:, :whole].reshape(array.shape[0], -1, group).sum(axis=2)
        rates: np.ndarray[Any, np.dtype[np.float64]] = points.mean(axis=0) * 8e-6
        return rates / (group * float(self.summary["bin_s"]))

    def shares(self, scheduler: str, phase: int) -> list[float]:
        """Return the share of each flow in `phase`, over all seeds; phases are cut as the testbed cuts them."""
        by_flow = self._window(scheduler, phase).sum(axis=(0, 2))
        return [float(sent) for sent in by_flow / by_flow.sum()]

    def shares_by_seed(self, scheduler: str, phase: int, flow: int) -> list[float]:
        """Return the share of `flow` in `phase` for each seed."""
        by_flow = self._window(scheduler, phase).sum(axis=2)
        return [float(share) for share in by_flow[:, flow] / by_flow.sum(axis=1)]

    def _window(self, scheduler: str, phase: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the bytes of a phase by seed, flow and bin: whole bins only, as the testbed has them."""
        width = float(self.summary["bin_s"])
        start, end = self.summary["phases_s"][phase]
        return self._bytes[scheduler][:, :, math.ceil(start / width - 1e-6) : math.floor(end / width + 1e-6)]


def simulate(summary: Mapping[str, Any]) -> Twin:
    """Run the twin of what the testbed's `summary` describes.

    Raises
    ------
    InputError
        The experiment has no twin.
    """
    return Twin(summary, complete(run_text(scenario(summary), f"{summary['experiment']}.toml")))
