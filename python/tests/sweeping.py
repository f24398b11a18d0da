"""What the tests of sweeps share: a small scenario, sweep files around it, and what a store has."""

import hashlib
from pathlib import Path
from typing import Any

from pifolab.store import Store
from pifolab.sweep import Sweep

SCENARIO = """
title = "A small one"
duration_s = 0.002
link = { rate_gbps = 10 }
workload = { arrivals = "poisson", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }

[[scheduler]]
name = "pifo"

[[scheduler]]
name = "packs"
label = "narrow"
window = 15
"""

#: Schedulers of a user's own, each with its way to go wrong.
MINE = """
import os, time
import pifolab

class Fine(pifolab.PythonScheduler):
    def __init__(self):
        self.queue = []
    def enqueue(self, packet, now_ns):
        self.queue.append(packet)
    def dequeue(self, now_ns):
        return self.queue.pop(0) if self.queue else None

class Raises(Fine):
    def dequeue(self, now_ns):
        raise ValueError("out of ideas")

class Exits(Fine):
    def dequeue(self, now_ns):
        raise SystemExit

class Hangs(Fine):
    def dequeue(self, now_ns):
        while True:
            time.sleep(0.01)

class Escapes(Fine):
    def dequeue(self, now_ns):
        raise GeneratorExit("out of breath")

class Leaves(Fine):
    def dequeue(self, now_ns):
        os._exit(3)

class Dies(Fine):
    def dequeue(self, now_ns):
        os.kill(os.getpid(), 9)
"""


def sweep_of(base: Path, **keys: Any) -> Sweep:
    """A sweep as if its file lay beside `base`."""
    return Sweep.from_dict({"scenario": base.name, **keys}, file=str(base.with_name("small.toml")))


def contents(store: Store) -> dict[str, str]:
    """A digest of every file of every run but its record, which tells of one time of running it."""
    return {
        f"{file.parent.name}/{file.name}": hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(store.path.glob("runs/*/*"))
        if file.name != "record.json"
    }
