"""Measures how much slower runs are with a scheduler, rank function, controller or observer written in Python.

Usage: python scripts/python_cost.py [--repeat N] [--duration-ms X]

Prints the table of docs/python.md. Each row runs a network of 16 hosts twice, with the part that is built in and with
the same part written in Python (its trace hash must be the same), in turn; times are processor time of the whole run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import deque
from typing import Any

import pifolab

HEAD = """
duration_ms = {duration_ms}
[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 4
access_rate_gbps = 1
fabric_rate_gbps = 2
delay_us = 1
[transport]
name = "newreno"
[workload.flows]
arrivals = "poisson"
load = 0.8
sizes = "fixed"
size_bytes = 100_000
pairs = "uniform"
[host_port]
queue = "as-switch"
[metrics]
watch_ports = {watch}
"""
FIFO = '[[scheduler]]\nname = "{}"\ncapacity_packets = 40\n'
PIFO = '[[scheduler]]\nname = "pifo"\ncapacity_packets = 40\n[rank]\nname = "{}"\n'
CONTROLLED = '[transport.controller]\nname = "mine"\n'


class Fifo(pifolab.PythonScheduler):
    """First in, first out, as the built-in one."""

    def __init__(self, capacity_packets: int) -> None:
        self.waiting: deque[pifolab.Packet] = deque()
        self.capacity = capacity_packets

    def enqueue(self, packet: pifolab.Packet, now_ns: int) -> pifolab.Packet | None:
        """Take it in, or refuse it."""
        if len(self.waiting) == self.capacity:
            return packet
        self.waiting.append(packet)
        return None

    def dequeue(self, now_ns: int) -> pifolab.Packet | None:
        """Send the oldest."""
        return self.waiting.popleft() if self.waiting else None


class Remaining(pifolab.PythonRank):
    """What remains of the flow, as `remaining-size`."""

    wants_facts = True

    def rank(self, packet: pifolab.Packet, now_ns: int) -> int:
        """Return the bytes."""
        return self.facts.remaining_bytes


class Reno(pifolab.PythonController):
    """NewReno, as the built-in one."""

    def on_new_ack(self, window: pifolab.Window, ack: pifolab.Ack) -> None:
        """Grow."""
        window.grow_like_reno()

    def on_loss(self, window: pifolab.Window, flight_bytes: int, now_ns: int) -> None:
        """Halve."""
        window.ssthresh_bytes = max(flight_bytes // 2, 2 * window.mss_bytes)

    def on_timeout(self, window: pifolab.Window, flight_bytes: int, now_ns: int) -> None:
        """Start anew."""
        window.ssthresh_bytes = max(flight_bytes / 2, 2 * window.mss_bytes)
        window.cwnd_bytes = window.mss_bytes


class Counts(pifolab.PythonObserver):
    """What ports take in, lose and send, of which the built-in tables have more."""

    def __init__(self) -> None:
        self.counts = [0, 0, 0]

    def on_admit(self, port: int, packet: pifolab.Packet, queue: int, now_ns: int) -> None:
        """Count."""
        self.counts[0] += 1

    def on_drop(self, port: int, packet: pifolab.Packet, reason: str, now_ns: int) -> None:
        """Count."""
        self.counts[1] += 1

    def on_dequeue(self, port: int, packet: pifolab.Packet, queue: int, now_ns: int) -> None:
        """Count."""
        self.counts[2] += 1


def cases(duration_ms: float) -> dict[str, tuple[tuple[str, dict[str, Any]], tuple[str, dict[str, Any]]]]:
    """Return for each row the scenario with the built-in part and that with Python's, each with what it brings."""
    head = HEAD.format(duration_ms=duration_ms, watch="false")
    watched = HEAD.format(duration_ms=duration_ms, watch="true")
    fifo = FIFO.format("fifo")
    return {
        "scheduler: `fifo` at every port": (
            (head + fifo, {}),
            (head + FIFO.format("mine"), {"schedulers": {"mine": Fifo}}),
        ),
        "rank function: `remaining-size` over `pifo` at every port": (
            (head + PIFO.format("remaining-size"), {}),
            (head + PIFO.format("mine"), {"ranks": {"mine": Remaining}}),
        ),
        "controller: NewReno for every flow": (
            (head + fifo, {}),
            (head + CONTROLLED + fifo, {"controllers": {"mine": Reno}}),
        ),
        "observer of every port, beside `watch_ports`": (
            (watched + fifo, {}),
            (head + fifo, {"observers": {"counts": Counts}}),
        ),
    }


def timed(text: str, brought: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Run once; return processor time in seconds, and the row of the scheduler."""
    start = time.process_time()
    result = pifolab.run_text(text, workers=1, **brought)
    return time.process_time() - start, result.tables["schedulers"].row(0, named=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5, help="pairs of runs for each row; default 5")
    parser.add_argument("--duration-ms", type=float, default=40, help="simulated time; default 40")
    arguments = parser.parse_args()
    print("| part | Rust (ns per packet-hop) | Python | ratio |\n|---|---:|---:|---:|")
    for name, (built_in, mine) in cases(arguments.duration_ms).items():
        pairs = []
        # The first run imports what later ones find imported.
        timed(*built_in)
        for _ in range(arguments.repeat):
            (fast, row), (slow, other) = timed(*built_in), timed(*mine)
            if row["trace_hash"] != other["trace_hash"]:
                raise SystemExit(f"{name}: the part in Python decides otherwise")
            pairs.append((fast, slow))
        rust, python = (1e9 * statistics.median(side) / row["packet_hops"] for side in zip(*pairs, strict=True))
        ratio = statistics.median(slow / fast for fast, slow in pairs)
        print(f"| {name} | {rust:.0f} | {python:.0f} | {ratio:.1f} |", flush=True)


if __name__ == "__main__":
    main()
