"""Stores P4 programs as p4c compiles them in dataplane/p4/compiled: those of the vectors, and one of each.

    PYTHONPATH=dataplane/p4 python scripts/p4_compiled.py RELEASE      needs p4c; RELEASE is its version and commit

Run it after a change of the programs or of their parameters; a test fails until then.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pifolab import _pifolab, packaged
from pifolab_p4.compiled import FORWARDING, OTHERS, compile_stripped, keep, key
from pifolab_p4.conformance import HARNESS, program_of
from pifolab_p4.tools import sources


def main(release: str) -> None:
    """Compile and store every program, and remove the files of others."""
    kept = set()
    for file in packaged.vectors():
        made = program_of(str(file))
        if isinstance(made, str):
            continue
        name = key(*made, HARNESS)
        with tempfile.TemporaryDirectory() as folder:
            kept.add(keep(name, release, compile_stripped(Path(folder), *made, HARNESS)))
    for name, (scheduler, parameters, defines) in FORWARDING.items():
        made = _pifolab.p4_parameters(scheduler, parameters, "bmv2")
        with tempfile.TemporaryDirectory() as folder:
            program = compile_stripped(Path(folder), made["program"], made["text"], defines)
            kept.add(keep(name, release, program))
    for name, sources_in in OTHERS.items():
        with tempfile.TemporaryDirectory() as folder:
            kept.add(keep(name, release, compile_stripped(Path(folder), name, None, (), sources_in)))
    for stale in set((sources() / "compiled").glob("*.json.gz")) - kept:
        stale.unlink()
    print(f"{len(kept)} programs, {sum(file.stat().st_size for file in kept)} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("scripts/p4_compiled.py: expected the release of p4c, such as '1.2.5.16 (commit 34b86e9bac)'")
    main(sys.argv[1])
