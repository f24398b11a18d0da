"""The simulated twin of a testbed experiment: the same flows, schedulers and parameters on a simulated link.

>>> from pifolab import twin
>>> twin.simulated_experiments()
('udp-four-flows', 'udp-eight-flows')

What differs: the simulated link sends without a pause, where the kernel's token bucket lets two frames through at once
and the processors sometimes come late; and nothing crosses the simulated wire but the flows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pifolab.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from pifolab.runs import Run

__all__ = ["Twin", "scenario", "simulate", "simulated_experiments"]

# An Ethernet frame that carries an IP packet of 1500 bytes: what the testbed's senders send and what it counts.
_FRAME_BYTES = 1514
_SEEDS = (1, 2, 3, 4, 5)


def simulated_experiments() -> tuple[str, ...]:
    """Return the experiments that have a twin: those of UDP flows with ranks of their own."""
    return ("udp-four-flows", "udp-eight-flows")


def scenario(summary: Mapping[str, Any]) -> str:
    """Return the scenario, as TOML, that repeats in the simulator what the testbed's `summary` describes.

    Raises
    ------
    InputError
        The experiment has no twin.
    """
    name = summary["experiment"]
    if name not in simulated_experiments():
        raise InputError(f"{name}: no simulated twin; expected one of {', '.join(simulated_experiments())}")
    rate = int(summary["rate_bps"])
    lines = [
        f'title = "The testbed\'s {name}, simulated"',
        'description = """The flows, schedulers and parameters of `pifolab testbed` on a simulated link. Gaps between',
        'the packets of a flow vary by half, as those of the testbed\'s senders do."""',
        f"duration_s = {summary['length_s']:g}",
        f"seeds = {list(_SEEDS)}",
        "",
        "[link]",
        f"rate_bps = {rate}",
    ]
    for flow in summary["flows"]:
        lines += [
            "",
            "[[workload]]",
            'arrivals = "jittered"',
            "jitter = 0.5",
            f"rate_bps = {int(flow['offered_bps'])}",
            f"size_bytes = {_FRAME_BYTES}",
            f"start_s = {flow['start_s']:g}",
            f'ranks = {{ distribution = "constant", value = {flow["rank"]} }}',
        ]
    lines += ["", "[metrics]", f"throughput_interval_ms = {1000 * float(summary['bin_s']):g}"]
    for scheduler, parameters in _schedulers(summary).items():
        lines += ["", "[[scheduler]]", f'name = "{scheduler}"']
        lines += [f"{key} = {_toml(value)}" for key, value in parameters.items()]
    return "\n".join(lines) + "\n"


def _schedulers(summary: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return each scheduler with its parameters, in the order of the runs."""
    return {run["scheduler"]: run["parameters"] for run in summary["runs"]}


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
        import numpy as np

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
        width = float(self.summary["bin_s"])
        start, end = self.summary["phases_s"][phase]
        # Whole bins only, as the testbed does.
        window = self._bytes[scheduler][:, :, math.ceil(start / width - 1e-6) : math.floor(end / width + 1e-6)]
        by_flow = window.sum(axis=(0, 2))
        return [float(sent) for sent in by_flow / by_flow.sum()]


def simulate(summary: Mapping[str, Any]) -> Twin:
    """Run the twin of what the testbed's `summary` describes.

    Raises
    ------
    InputError
        The experiment has no twin.
    """
    from pifolab.runs import run_text

    return Twin(summary, run_text(scenario(summary), f"{summary['experiment']}.toml"))
