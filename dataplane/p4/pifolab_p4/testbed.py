"""The testbed's UDP experiments on BMv2, at a port rate that is exact.

Stock BMv2 has a rate for each priority queue and none for a port. Here the port is the reader of the switch's outgoing
pipe: the pipe holds one frame, so each frame that is taken lets the priority queues serve one packet. One is taken for
each time that a packet takes on the link, and everything between two of them has been done by the switch before: the
clock is virtual, and neither the processor's speed nor its load plays a part. Where no packet waits the link carries a
filler from a queue below all others.
"""

from __future__ import annotations

import heapq
import json
import math
import os
import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.export import write_text
from pifolab.text import shown
from pifolab_p4.conformance import FRAME_BYTES, fill, send_one_by_one
from pifolab_p4.frames import FILLER, TestFrame
from pifolab_p4.switch import Switch
from pifolab_p4.tools import BMV2, P4C, compile_bmv2, programs
from pifolab_p4.workspace import workspace

__all__ = ["EXPERIMENTS", "OCCUPANCIES", "SCHEDULERS", "Experiment", "linux_arguments", "plan", "prepare", "run"]

SCHEDULERS = ("fifo", "sp-pifo", "aifo", "packs", "rifo", "exp-pifo")
"""Those that are run if none is named."""

OCCUPANCIES: dict[str, tuple[str, ...]] = {"counted": (), "ghost": ("PF_OCCUPANCY_GHOST",)}
"""How a program knows what its queues hold, and what it is compiled with for that."""

_FORMAT = "pifolab-testbed/1"
# Of an IP packet; its frame is more than half of a page.
_PACKET_BYTES = FRAME_BYTES - 14
# As a frame's EtherType says it: UDP over IPv4 from here on.
_ADDRESSES = bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1])
_FIRST_PORT = 5001
# BMv2 has eight queues, and the lowest is the idle link's.
_QUEUES = 7
# Fillers that wait: more than idle transmission times in a row while the frames behind the queues pass.
_FILLERS = 48
_FILLER_QUEUE = 7


@dataclass(frozen=True)
class Experiment:
    """An experiment with all numbers settled."""

    name: str
    rate_bps: int
    phase_s: float
    ranks: tuple[int, ...]
    offered: float
    """What each flow offers, in parts of the rate."""
    queues: int
    queue_packets: int

    @property
    def length_s(self) -> float:
        """Return the length of a run."""
        return self.phase_s * len(self.ranks)

    @property
    def slot_s(self) -> float:
        """Return the time that a packet takes on the link."""
        return 8 * FRAME_BYTES / self.rate_bps

    @property
    def bin_s(self) -> float:
        """Return the width of the bins of the time series: that of the Linux data plane's."""
        start, end = self.phases()[0]
        return min(max(math.floor(1000 * (end - start) / 4), 1), 50) / 1000

    def phases(self) -> list[tuple[float, float]]:
        """Return the intervals that are judged: without the first quarter of each, at most half a second."""
        skipped = min(self.phase_s / 4, 0.5)
        return [(n * self.phase_s + skipped, (n + 1) * self.phase_s) for n in range(len(self.ranks))]

    def parameters(self, scheduler: str) -> dict[str, Any]:
        """Return the parameters of `scheduler`: a single buffer has the room of all queues."""
        known = {
            param["name"] for entry in _pifolab.schedulers() if entry["name"] == scheduler for param in entry["params"]
        }
        room = {
            "capacity_packets": self.queues * self.queue_packets,
            "queues": self.queues,
            "queue_capacity_packets": self.queue_packets,
        }
        # What a switch must do: it moves the bounds in ingress, where it does not know that a queue is full.
        more = {"window": 20, "k": "0.1", "on_full": "update"}
        return {key: value for key, value in (room | more).items() if key in known}


def _powers(count: int) -> tuple[int, ...]:
    # As the testbed of the Linux data plane: halves, with a gap after the first, for Exp-PIFO's sake.
    return (2 << count, *(2 << power for power in reversed(range(count - 1))))


EXPERIMENTS = {
    "udp-four-flows": Experiment("udp-four-flows", 5_000_000, 2.0, _powers(4), 1.0, _QUEUES, 8),
    "udp-eight-flows": Experiment("udp-eight-flows", 5_000_000, 1.0, _powers(8), 2.0, 4, 10),
}


def plan(name: str, rate_mbps: float | None, phase_s: float | None) -> Experiment:
    """Return experiment `name` with what a user changes.

    Raises
    ------
    InputError
        An experiment that BMv2 cannot carry, or a number out of range.
    """
    if name not in EXPERIMENTS:
        raise InputError(f"{shown(name)}: with --data-plane p4 expected {' or '.join(EXPERIMENTS)}")
    found = EXPERIMENTS[name]
    phase = found.phase_s if phase_s is None else phase_s
    # Compared before it is rounded: neither nan nor infinity has a nearest integer.
    if rate_mbps is not None and not 0.1 <= rate_mbps <= 1000:
        raise InputError(f"--rate-mbps {rate_mbps}: expected from 0.1 to 1000 Mb/s")
    rate = found.rate_bps if rate_mbps is None else round(rate_mbps * 1e6)
    if not 0.2 <= phase <= 600:
        raise InputError(f"--phase-s {phase_s}: expected from 0.2 to 600 seconds")
    return Experiment(name, rate, phase, found.ranks, found.offered, found.queues, found.queue_packets)


def _frame(flow: int, rank: int) -> bytes:
    payload = struct.pack(">Q", rank).ljust(_PACKET_BYTES - 28, b"\0")
    udp = struct.pack(">HHHH", 4000 + flow, _FIRST_PORT + flow, 8 + len(payload), 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2")
    return _ADDRESSES + b"\x08\x00" + ip + udp + payload


def _flow_of(frame: bytes) -> int | None:
    if frame[12:14] != b"\x08\x00":
        return None
    port: int = struct.unpack_from(">H", frame, 36)[0]
    return port - _FIRST_PORT


def _arrivals(experiment: Experiment, repeat: int) -> Iterator[tuple[float, int]]:
    """Yield when each flow sends, in order: with gaps jittered by half, as the Linux data plane's senders have them."""
    interval = experiment.slot_s / experiment.offered
    draws = [random.Random(f"{experiment.name} {repeat} {flow}") for flow in range(len(experiment.ranks))]

    def sends(flow: int) -> Iterator[tuple[float, int]]:
        time = flow * experiment.phase_s
        while time < experiment.length_s:
            yield time, flow
            time += (0.5 + draws[flow].random()) * interval

    return heapq.merge(*(sends(flow) for flow in range(len(experiment.ranks))))


def _serve(experiment: Experiment, program: Path, behind: int, repeat: int) -> tuple[list[list[int]], list[list[int]]]:
    """Return packets sent and delivered, for each flow in each bin."""
    bins = math.ceil(experiment.length_s / experiment.bin_s - 1e-6)
    flows = range(len(experiment.ranks))
    sent, delivered = [[0] * bins for _ in flows], [[0] * bins for _ in flows]
    filler = TestFrame(FILLER, queue=_FILLER_QUEUE, flags=1)
    frames = [_frame(flow, rank) for flow, rank in enumerate(experiment.ranks)]
    arrivals = _arrivals(experiment, repeat)
    coming = next(arrivals, None)
    slots = int(experiment.length_s / experiment.slot_s)
    with Switch(program, small_pipe=True, outer=True) as switch:
        send_one_by_one(switch, [filler] * (behind + _FILLERS))
        for slot in range(slots + behind):
            until = (slot + 1) * experiment.slot_s
            batch = []
            while coming is not None and coming[0] < until:
                time, flow = coming
                batch.append(frames[flow])
                sent[flow][min(int(time / experiment.bin_s), bins - 1)] += 1
                coming = next(arrivals, None)
            if batch:
                switch.send(*batch)
                switch.settle()
            flow_served = _flow_of(switch.receive())
            # What is received now was chosen so many slots ago, among all that had come by that slot's end.
            served = (slot + 1 - behind) * experiment.slot_s
            if flow_served is None:
                send_one_by_one(switch, [filler])
            elif served >= 0:
                delivered[flow_served][min(int(served / experiment.bin_s), bins - 1)] += 1
            switch.settle()
    return sent, delivered


def _phase(
    experiment: Experiment, sent: list[list[int]], delivered: list[list[int]], start: float, end: float
) -> dict[str, Any]:
    def rates(counts: list[list[int]]) -> list[float]:
        # The bins that lie in the phase.
        first, last = math.ceil(start / experiment.bin_s - 1e-6), math.floor(end / experiment.bin_s + 1e-6)
        return [8e-6 * FRAME_BYTES * sum(flow[first:last]) / ((last - first) * experiment.bin_s) for flow in counts]

    got = rates(delivered)
    whole = sum(got)
    return {
        "offered_mbps": rates(sent),
        "delivered_mbps": got,
        "share": [rate / whole if whole else 0.0 for rate in got],
    }


def linux_arguments(experiment: Experiment, schedulers: Sequence[str]) -> list[str]:
    """Return what makes the Linux data plane's program run the same: rate, phases, frames, and parameters."""
    settled: dict[str, Any] = {}
    for name in schedulers:
        settled |= experiment.parameters(name)
    given = {
        "rate-mbps": f"{experiment.rate_bps / 1e6:g}",
        "phase-s": f"{experiment.phase_s:g}",
        "mtu": _PACKET_BYTES,
        "schedulers": ",".join(schedulers),
        **{key.replace("_", "-"): value for key, value in settled.items()},
    }
    return [experiment.name, *(text for key, value in given.items() for text in (f"--{key}", str(value)))]


def prepare(experiment: Experiment, schedulers: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return each scheduler's parameters and its program's file of them, before anything starts.

    Raises
    ------
    InputError
        A scheduler without a P4 program, one that is named twice, or missing tools.
    """
    made: dict[str, dict[str, Any]] = {}
    written = [name for names in programs().values() for name in names]
    library = [entry["name"] for entry in _pifolab.schedulers()]
    for name in schedulers:
        if name in library and name not in written:
            raise InputError(f"--schedulers {name}: no P4 program runs it; expected one of {', '.join(written)}")
        if name in made:
            raise InputError(f"--schedulers {','.join(schedulers)}: {name} is a duplicate")
        parameters = experiment.parameters(name)
        made[name] = {"parameters": parameters, **_pifolab.p4_parameters(name, parameters, "bmv2")}
    for tool in (P4C, BMV2):
        tool.find()
    return made


def run(
    experiment: Experiment,
    schedulers: Sequence[str],
    repeats: int,
    out: Path,
    occupancy: str = "counted",
    beside: dict[str, Any] | None = None,
) -> None:
    """Run `experiment` and leave `summary.json` and a time series per run in `out`.

    Programs know what queues hold by one of :data:`OCCUPANCIES`. The runs of `beside`, the summary that the Linux data
    plane left of the same experiment, stay in front of these.

    Raises
    ------
    InputError
        A scheduler without a P4 program, missing tools, or a folder that cannot be written.
    """
    made = prepare(experiment, schedulers)
    runs: list[dict[str, Any]] = []
    with workspace() as folder:
        behind = None
        for name, compiled in made.items():
            where = folder / name
            where.mkdir()
            defines = ("PF_HARNESS", "PF_RANK RANK_PAYLOAD", *OCCUPANCIES[occupancy])
            program = compile_bmv2(where, compiled["program"], compiled["text"], defines)
            if behind is None:
                with Switch(program, small_pipe=True) as switch:
                    behind = fill(switch, _FILLER_QUEUE)
            for repeat in range(repeats):
                sent, delivered = _serve(experiment, program, behind, repeat)
                series = f"{name}-p4-{repeat}.csv"
                write_text(_series(experiment, sent, delivered), out / series)
                runs.append(
                    {
                        "scheduler": name,
                        "data_plane": "p4",
                        "occupancy": occupancy,
                        "repeat": repeat,
                        "parameters": {key: str(value) for key, value in compiled["parameters"].items()},
                        "attempts": 1,
                        "starved": False,
                        "phases": [_phase(experiment, sent, delivered, *phase) for phase in experiment.phases()],
                        "losses": {"share": 0.0},
                        "lost_outside": False,
                        "udp": None,
                        "completion_s": None,
                        "counters": {},
                        "series": series,
                    }
                )
                shares = " ".join(f"{100 * share:5.1f}" for share in runs[-1]["phases"][-1]["share"])
                print(f"{name:10} {repeat}: last phase, % of the delivered bytes: {shares}", flush=True)
    summary = _summary(experiment) if beside is None else beside
    summary["runs"] = [*summary["runs"], *runs]
    write_text(json.dumps(summary, indent=1) + "\n", out / "summary.json")


def _series(experiment: Experiment, sent: list[list[int]], delivered: list[list[int]]) -> str:
    """Return the time series of a run, as the Linux data plane writes them."""
    lines = ["time_s,flow,rank,sent_bytes,received_bytes"]
    for place in range(len(sent[0])):
        for flow, rank in enumerate(experiment.ranks):
            counts = f"{FRAME_BYTES * sent[flow][place]},{FRAME_BYTES * delivered[flow][place]}"
            lines.append(f"{place * experiment.bin_s:.3f},{flow},{rank},{counts}")
    return "\n".join(lines) + "\n"


def _summary(experiment: Experiment) -> dict[str, Any]:
    """Return the summary of an experiment without a run."""
    offered = int(experiment.offered * experiment.rate_bps)
    return {
        "format": _FORMAT,
        "version": _pifolab.__version__,
        "experiment": experiment.name,
        "rate_bps": experiment.rate_bps,
        "delay_us": 0,
        "length_s": experiment.length_s,
        "bin_s": experiment.bin_s,
        "rank": "payload:0:8",
        "mtu_bytes": _PACKET_BYTES,
        "sender": None,
        "flows": [
            {
                "rank": rank,
                "start_s": number * experiment.phase_s,
                "offered_bps": offered,
                "size_bytes": None,
                "packets": [[_PACKET_BYTES, 1]],
            }
            for number, rank in enumerate(experiment.ranks)
        ],
        "phases_s": experiment.phases(),
        "machine": {
            "kernel": os.uname().release,
            "processors": len(os.sched_getaffinity(0)),
            "unprivileged": os.geteuid() != 0,
        },
        "runs": [],
    }
