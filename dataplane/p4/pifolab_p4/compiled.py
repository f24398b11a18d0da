"""Compiled programs that are stored in the tree, so that they run where no compiler is installed."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pifolab_p4.parameters import IN_TREE
from pifolab_p4.resources import digest
from pifolab_p4.tools import compile_bmv2, sources

__all__ = ["FORWARDING", "OTHERS", "compile_stripped", "keep", "key", "stored", "stripped"]


_PAYLOAD = "PF_RANK RANK_PAYLOAD"
_SP_PIFO = IN_TREE["bmv2"]["sp_pifo"]
_PACKS_20 = ("packs", {"queues": 8, "queue_capacity_packets": 8, "window": 20, "k": "0.1"})

FORWARDING: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    name: (*made, (_PAYLOAD,)) for name, made in (IN_TREE["bmv2"] | {"packs_20": _PACKS_20}).items()
}
FORWARDING["packs_20_ghost"] = (*_PACKS_20, (_PAYLOAD, "PF_OCCUPANCY_GHOST"))
FORWARDING |= {
    f"sp_pifo_{rank}": (*_SP_PIFO, (f"PF_RANK RANK_{rank.upper()}",)) for rank in ("stfq", "afq", "lstf", "fifo_plus")
}
"""Programs that are stored as they forward packets: schedulers, parameters, definitions. Ranks are in the payload, or
computed in the pipeline."""

OTHERS = {"ecn": "examples", "hops": "examples", "features": "tests", "wide": "tests"}
"""Programs that are stored as they lie in the tree, and their folders."""


@cache
def _digest(program: str) -> str:
    return digest(program, "v1model")


def key(program: str, text: str, defines: Sequence[str]) -> str:
    """Return the name of what the compiler makes of a program's source with these parameters and definitions."""
    given = json.dumps([_digest(program), text, list(defines)])
    return f"{program}-{hashlib.sha256(given.encode()).hexdigest()[:16]}"


def _file(name: str) -> Path:
    return sources() / "compiled" / f"{name}.json.gz"


def stripped(program: Any) -> Any:
    """Return a compiled program without the places in its source, which depend on where it was compiled."""
    if isinstance(program, dict):
        return {key: stripped(value) for key, value in program.items() if key not in ("source_info", "program")}
    return [stripped(value) for value in program] if isinstance(program, list) else program


def compile_stripped(
    folder: Path, program: str, text: str | None, defines: Sequence[str], sources_in: str = "v1model"
) -> dict[str, Any]:
    """Compile a program in `folder` and return the JSON that is stored of it."""
    made = compile_bmv2(folder, program, text, defines, sources_in)
    result: dict[str, Any] = stripped(json.loads(made.read_text(encoding="utf-8")))
    return result


def stored(name: str) -> bytes | None:
    """Return the JSON that is stored under a name, if any is; its key ``p4c`` has the compiler's release."""
    file = _file(name)
    return gzip.decompress(file.read_bytes()) if file.is_file() else None


def keep(name: str, p4c: str, program: dict[str, Any]) -> Path:
    """Store a compiled program and return its file; the same program gives the same bytes."""
    file = _file(name)
    file.parent.mkdir(exist_ok=True)
    made = program | {"p4c": p4c}
    text = json.dumps(made, separators=(",", ":"), sort_keys=True)
    file.write_bytes(gzip.compress(text.encode(), mtime=0))
    return file
