"""Find and run the parts of the data planes outside the package.

The program of the Linux data plane is built apart: it needs Linux, clang and libelf. So is the DPDK node, which needs
DPDK.
The tools of the P4 data plane and the testbed's reports lie in the source tree.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pifolab.errors import InputError
from pifolab.interruption import TerminatedError, unwatched

PROGRAM = "pifolab-dataplane"
"""The name of the program."""

DPDK = "pifolab-dpdk"
"""The name of the DPDK node."""

#: For each program: the environment variable with its path, its folder, and its build dependencies.
_PROGRAMS = {
    PROGRAM: ("PIFOLAB_DATAPLANE", "linux", "scripts/install_dataplane_deps.sh"),
    DPDK: ("PIFOLAB_DPDK", "dpdk", "apt-get install libdpdk-dev dpdk"),
}


def find_program(program: str = PROGRAM) -> Path:
    """Return the path of a program.

    Searched in ``PIFOLAB_DATAPLANE`` (for the DPDK node ``PIFOLAB_DPDK``), on ``PATH``, and in cargo's output in the
    source tree of this package.
    """
    variable, folder, needed = _PROGRAMS[program]
    named = os.environ.get(variable)
    if named is not None:
        if not os.access(named, os.X_OK):
            raise InputError(f"{variable}={named}: no program is there")
        return Path(named)
    if found := shutil.which(program):
        return Path(found)
    root = Path(__file__).resolve().parents[2]
    named_target = os.environ.get("CARGO_TARGET_DIR")
    targets = [Path(named_target)] if named_target else [root / "dataplane" / folder / "target", root / "target"]
    built = [target / profile / program for profile in ("release", "debug") for target in targets]
    if found_here := next((path for path in built if os.access(path, os.X_OK)), None):
        return found_here
    raise InputError(
        f"{program} is not built; in the source tree: {needed}, then "
        f"cargo build --release --manifest-path dataplane/{folder}/Cargo.toml; or name it in {variable}"
    )


def p4_tools(module: str) -> Any:
    """Return a module of the package `pifolab_p4`, which lies beside the P4 programs in the source tree."""
    return _of_source_tree("dataplane/p4", "pifolab_p4", module, "the P4 programs")


def testbed_tools(module: str) -> Any:
    """Return a module of the package `pifolab_testbed`, which lies beside the program of the Linux data plane."""
    return _of_source_tree("dataplane/linux", "pifolab_testbed", module, "the testbed's reports")


def _of_source_tree(place: str, package: str, module: str, what: str) -> Any:
    folder = Path(__file__).resolve().parents[2] / place
    if not (folder / package).is_dir():
        raise InputError(f"{folder}: {what} are in the source tree only; install pifolab from there")
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    return importlib.import_module(f"{package}.{module}")


def _die_with_parent() -> None:
    parent_death = 1  # PR_SET_PDEATHSIG
    ctypes.CDLL(None).prctl(parent_death, signal.SIGKILL)


def run_program(arguments: Sequence[str], *, dies_with_this: bool = False, program: str = PROGRAM) -> int:
    """Run a program with `arguments` on this terminal and return its exit status.

    Ctrl-C reaches the program, which ends in order; SIGTERM is passed on to it. With `dies_with_this` the kernel kills
    it if this process is killed, for experiments: their namespaces end with the program.
    """
    before = _die_with_parent if dies_with_this else None
    with unwatched(), subprocess.Popen([find_program(program), *arguments], preexec_fn=before) as process:
        return _ended(process)


def program_answer(arguments: Sequence[str], *, program: str = PROGRAM) -> tuple[int, str]:
    """Run a program with `arguments` and return its exit status and its output."""
    with (
        unwatched(),
        tempfile.TemporaryFile("w+", encoding="utf-8") as printed,
        subprocess.Popen([find_program(program), *arguments], stdout=printed) as process,
    ):
        status = _ended(process)
        printed.seek(0)
        return status, printed.read()


def _ended(process: subprocess.Popen[bytes]) -> int:
    while True:
        try:
            # The kernel keeps the status, which an interrupted `wait` could take and lose.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        except KeyboardInterrupt:
            continue
        except TerminatedError:
            process.terminate()
            continue
        status = process.wait()
        return 128 - status if status < 0 else status
