"""Find and run the program of the Linux data plane, which is built apart from the package.

The program needs Linux, and clang and libelf to be built; nothing else of pifolab does.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pifolab.errors import InputError
from pifolab.interruption import unwatched

__all__ = ["PROGRAM", "find_program", "run_program"]

PROGRAM = "pifolab-dataplane"
"""The name of the program."""

_BUILD = "cargo build --release --manifest-path dataplane/linux/Cargo.toml"


def find_program() -> Path:
    """Return the path of the program.

    Looked for in ``PIFOLAB_DATAPLANE``, on ``PATH``, and where cargo puts it in the source tree that this package was
    installed from.

    Raises
    ------
    InputError
        It was not found.
    """
    named = os.environ.get("PIFOLAB_DATAPLANE")
    if named is not None:
        if not os.access(named, os.X_OK):
            raise InputError(f"PIFOLAB_DATAPLANE={named}: no program is there")
        return Path(named)
    if found := shutil.which(PROGRAM):
        return Path(found)
    root = Path(__file__).resolve().parents[2]
    named_target = os.environ.get("CARGO_TARGET_DIR")
    targets = [Path(named_target)] if named_target else [root / "dataplane" / "linux" / "target", root / "target"]
    built = [target / profile / PROGRAM for profile in ("release", "debug") for target in targets]
    if found_here := next((path for path in built if os.access(path, os.X_OK)), None):
        return found_here
    raise InputError(
        f"{PROGRAM} is not built; in the source tree: scripts/install_dataplane_deps.sh, then {_BUILD}; "
        "or name it in PIFOLAB_DATAPLANE"
    )


def _die_with_parent() -> None:
    parent_death = 1  # PR_SET_PDEATHSIG
    ctypes.CDLL(None).prctl(parent_death, signal.SIGKILL)


def run_program(arguments: Sequence[str], *, dies_with_this: bool = False) -> int:
    """Run the program with `arguments` on this terminal and return its exit status.

    A Ctrl-C reaches the program, which ends in order. With `dies_with_this` the kernel kills it if this process is
    killed, for experiments: their namespaces end with the program.
    """
    before = _die_with_parent if dies_with_this else None
    with unwatched(), subprocess.Popen([find_program(), *arguments], preexec_fn=before) as process:
        while True:
            try:
                status = process.wait()
            except KeyboardInterrupt:
                continue
            return 128 - status if status < 0 else status
