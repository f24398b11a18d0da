"""What a machine with Tofino's register-level model needs to run the programs: frames, and the decisions expected.

The model is public (p4lang/open-p4studio) and no part of this project. For each program of the tree a file says how it
is compiled, and lists steps in order: frames that go in, with the decision that the library makes of them, and before
each how full the queues are.
"""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import pifolab
from pifolab import _pifolab
from pifolab.export import write_text
from pifolab_p4.parameters import IN_TREE

__all__ = ["write_vectors"]

_PORT, _OUT = 0, 1
# Frames that go round through this port of Tofino carry a queue's length into ingress (`tna/depths.p4`).
_RECIRCULATION_PORT = 68
_READS_DEPTHS = ("aifo", "packs", "rifo")
_RANK_BYTES = {"rifo": 2}
_ADDRESSES = bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1])


def _frame(rank: int, rank_bytes: int) -> bytes:
    payload = rank.to_bytes(rank_bytes, "big").ljust(18, b"\0")
    udp = struct.pack(">HHHH", 1000, 2000, 8 + len(payload), 0)
    addresses = bytes([10, 0, 0, 1, 10, 0, 0, 2])
    header = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0)
    return _ADDRESSES + b"\x08\x00" + header + addresses + udp + payload


def _depths(target: str, lengths: list[int], told: list[int]) -> list[dict[str, Any]]:
    """Return the steps that tell ingress of the lengths that have changed since it was told."""
    steps: list[dict[str, Any]] = []
    for queue, length in enumerate(lengths):
        if told[queue] == length:
            continue
        if target == "tofino":
            frame = struct.pack(">HH", queue, length).ljust(64, b"\0")
            steps.append({"port": _RECIRCULATION_PORT, "frame": frame.hex()})
        else:
            steps.append({"register": f"depth_of_{queue}", "index": 0, "value": length})
        told[queue] = length
    return steps


def _steps(target: str, program: str, scheduler: pifolab.Scheduler, draws: random.Random, packets: int) -> list[Any]:
    rank_bytes = _RANK_BYTES.get(program, 4)
    told = [0] * len(scheduler.queue_lengths)
    steps: list[dict[str, Any]] = []
    for id in range(packets):
        if program in _READS_DEPTHS:
            steps += _depths(target, list(scheduler.queue_lengths), told)
        rank = draws.choice((draws.randrange(64), draws.randrange(2 ** (8 * rank_bytes - 1))))
        outcome = scheduler.enqueue(rank, id=id, size_bytes=100, now_ns=id)
        expected: dict[str, Any]
        if isinstance(outcome, pifolab.Admitted):
            expected = {"port": _OUT, "queue": outcome.queue}
        else:
            assert isinstance(outcome, pifolab.Dropped), "first-in first-out queues push nothing out"
            expected = {"drop": outcome.reason}
        steps.append({"port": _PORT, "frame": _frame(rank, rank_bytes).hex(), "rank": rank, "expect": expected})
        if draws.random() < 0.3:
            scheduler.dequeue(now_ns=id)
    return steps


def write_vectors(folder: Path, packets: int, seed: int) -> list[Path]:
    """Write a file for each program and target into `folder` and return their paths; a seed gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for target in ("tofino", "tofino2"):
        for program, (name, parameters) in (IN_TREE["tofino"] | IN_TREE[target]).items():
            draws = random.Random(f"{seed} {target} {program}")
            made = _pifolab.p4_parameters(name, parameters, target)
            steps = _steps(target, program, pifolab.scheduler(name, **parameters), draws, packets)
            vector = {
                "program": f"dataplane/p4/tna/{program}.p4",
                "target": target,
                "architecture": {"tofino": "tna", "tofino2": "t2na"}[target],
                "scheduler": name,
                "parameters": parameters,
                "defines": ["PF_RANK RANK_PAYLOAD"],
                "parameter_file": made["text"],
                # All entries are `const` in the program; registers begin with 0.
                "table_entries": [],
                "seed": seed,
                "steps": steps,
            }
            text = json.dumps(vector, indent=1, sort_keys=True) + "\n"
            written.append(write_text(text, folder / f"{program}-{target}.json"))
    return written
