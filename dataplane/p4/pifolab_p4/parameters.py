"""The parameter files of the tree, with which each program compiles as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.export import write_text
from pifolab_p4.tools import sources

__all__ = ["IN_TREE", "stale_files", "write_files"]

_TOFINO: dict[str, tuple[str, dict[str, Any]]] = {
    "fifo": ("fifo", {"capacity_packets": 1024}),
    "strict_priority": ("strict-priority", {"queues": 8, "queue_capacity_packets": 128, "ranks": 64}),
    "sp_pifo": ("sp-pifo", {"queues": 8, "queue_capacity_packets": 128, "on_full": "update"}),
    "aifo": ("aifo", {"capacity_packets": 1024, "window": 16, "start_window": [0] * 16, "k": "0.1"}),
    "packs": (
        "packs",
        {"queues": 4, "queue_capacity_packets": 256, "window": 8, "start_window": [0] * 8, "k": "0.1"},
    ),
    "rifo": ("rifo", {"capacity_packets": 1024, "k": "0.1", "mode": "pow2"}),
    "exp_pifo": ("exp-pifo", {"queues": 8, "queue_capacity_packets": 128}),
}

IN_TREE: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "bmv2": {
        "fifo": ("fifo", {"capacity_packets": 64}),
        "strict_priority": ("strict-priority", {"queues": 8, "queue_capacity_packets": 8, "ranks": 64}),
        "sp_pifo": ("sp-pifo", {"queues": 8, "queue_capacity_packets": 8}),
        "aifo": ("aifo", {"capacity_packets": 64, "window": 16, "k": "0.1"}),
        "packs": ("packs", {"queues": 8, "queue_capacity_packets": 8, "window": 16, "k": "0.1"}),
        "rifo": ("rifo", {"capacity_packets": 64, "k": "0.1", "mode": "pow2"}),
        "exp_pifo": ("exp-pifo", {"queues": 8, "queue_capacity_packets": 8}),
        "slack_sp": ("slack-sp", {"queues": 8, "queue_capacity_packets": 8}),
    },
    "tofino": _TOFINO,
    "tofino2": {
        "packs": (
            "packs",
            {"queues": 4, "queue_capacity_packets": 256, "window": 16, "start_window": [0] * 16, "k": "0.1"},
        ),
    },
}
"""For each target the scheduler and the parameters of each program; a queue of BMv2 holds 64 packets.
Tofino 2 has here only what does not fit Tofino; the rest is as for Tofino."""

_FOLDERS = {"bmv2": "parameters", "tofino": "parameters/tofino", "tofino2": "parameters/tofino2"}


def _texts() -> dict[Path, str]:
    folder = sources()
    return {
        folder / _FOLDERS[target] / f"{program}.p4": _pifolab.p4_parameters(name, parameters, target)["text"]
        for target, programs in IN_TREE.items()
        for program, (name, parameters) in programs.items()
    }


def write_files() -> list[Path]:
    """Write the parameter files of the tree anew and return their paths."""
    texts = _texts()
    for path, text in texts.items():
        write_text(text, path)
    return list(texts)


def stale_files() -> list[Path]:
    """Return the parameter files of the tree that are missing or differ from what the library would write."""
    return [path for path, text in _texts().items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
