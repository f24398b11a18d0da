"""Find the P4 compiler and BMv2's switch, and compile a program for it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.text import shown

__all__ = [
    "BMV2",
    "P4C",
    "P4C_TOFINO",
    "MissingToolError",
    "Tool",
    "compile_bmv2",
    "program_file",
    "sources",
    "write_source",
]

_COMPILE_SECONDS = 600


class MissingToolError(InputError):
    """A tool that is not installed."""


@dataclass(frozen=True)
class Tool:
    """A program of a third party.

    Attributes
    ----------
    what : str
        What users call it.
    needed_for : str
        What cannot be done without it.
    variable : str
        The environment variable that may name it.
    names : tuple of str
        What it is called on ``PATH``, in this order.
    how : str
        How users usually get it.
    """

    what: str
    needed_for: str
    variable: str
    names: tuple[str, ...]
    how: str

    def find(self) -> Path:
        """Return its path.

        Raises
        ------
        InputError
            The environment variable names no program.
        MissingToolError
            It was not found.
        """
        named = os.environ.get(self.variable)
        if named:
            path = Path(named)
            candidates = [path, *(path / name for name in self.names)]
            found = next((path for path in candidates if path.is_file() and os.access(path, os.X_OK)), None)
            if found is None:
                raise InputError(f"{self.variable}={shown(named)}: no program is there")
            return found.resolve()
        for name in self.names:
            if on_path := shutil.which(name):
                return Path(on_path)
        raise MissingToolError(
            f"{self.what} is not installed (looked for {', '.join(self.names)} on PATH and for {self.variable}); "
            f"{self.how}"
        )

    def version(self) -> str:
        """Return what it says of its version, in one line; empty if it says nothing."""
        done = subprocess.run(
            [self.find(), "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
        return next((line for line in reversed(lines) if re.search(r"\d+\.\d+", line)), "")


_PACKAGES = (
    "distribution packages p4lang-p4c and p4lang-bmv2, or the container images p4lang/p4c and p4lang/behavioral-model"
)

P4C = Tool("p4c for BMv2", "compiling P4 programs", "PIFOLAB_P4C", ("p4c-bm2-ss", "p4c"), _PACKAGES)
BMV2 = Tool(
    "BMv2's simple_switch",
    "running P4 programs on another switch than ours",
    "PIFOLAB_BMV2",
    ("simple_switch",),
    _PACKAGES,
)
P4C_TOFINO = Tool(
    "p4c for Tofino",
    "resources of the P4 programs",
    "PIFOLAB_P4C_TOFINO",
    ("p4c-barefoot", "bf-p4c"),
    "p4c built with its Tofino back end (ENABLE_TOFINO), or the vendor's SDE",
)


def sources() -> Path:
    """Return the folder of the P4 programs, which lie beside this package."""
    return Path(__file__).resolve().parents[1]


def program_file(program: str, architecture: str) -> Path:
    """Return the file of `program` in the folder ``v1model``, ``tna``, ``examples`` or ``tests``."""
    return sources() / architecture / f"{program}.p4"


def write_source(folder: Path, program: Path, parameters: str | None, defines: Sequence[str] = ()) -> Path:
    """Write a file into `folder` that includes `program` with those parameters and definitions, and return its path."""
    lines = [f"#define {definition}" for definition in defines]
    if parameters is not None:
        file = folder / "parameters.p4"
        file.write_text(parameters, encoding="utf-8")
        lines.append(f'#define PF_PARAMETERS "{file}"')
    wrapper = folder / f"{program.stem}.p4"
    wrapper.write_text("\n".join([*lines, f'#include "{program}"', ""]), encoding="utf-8")
    return wrapper


def run_compiler(command: Sequence[str | Path], what: str) -> str:
    """Run a compiler and return what it said.

    Raises
    ------
    InputError
        It did not end with status 0: its first error. Or it did not end.
    """
    compiler = shown(Path(command[0]).name)
    try:
        done = subprocess.run(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_COMPILE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"{what}: {compiler}: not ready after {_COMPILE_SECONDS:g} s, and stopped") from None
    said = done.stdout + done.stderr
    if done.returncode != 0:
        wrong = [line for line in said.splitlines() if "error" in line.lower()]
        reason = (wrong or said.splitlines() or [f"exit status {done.returncode}"])[0]
        raise InputError(f"{what}: {compiler}: {shown(reason.strip())}")
    return said


def compile_bmv2(
    folder: Path, program: str, parameters: str | None, defines: Sequence[str] = (), sources_in: str = "v1model"
) -> Path:
    """Compile `program` for BMv2 in `folder` and return the file that ``simple_switch`` reads.

    Raises
    ------
    InputError
        There is no compiler, or it refuses the program.
    """
    compiler = P4C.find()
    source = write_source(folder, program_file(program, sources_in), parameters, defines)
    made = folder / f"{program}.json"
    command: list[str | Path]
    if compiler.name.startswith("p4c-bm2-ss"):
        command = [compiler, "--std", "p4-16", "-o", made, source]
    else:
        command = [compiler, "--target", "bmv2", "--arch", "v1model", "--std", "p4-16", "-o", folder, source]
    run_compiler(command, program)
    return made


@cache
def programs() -> dict[str, list[str]]:
    """Return the programs and the schedulers that each does."""
    return dict(_pifolab.p4_programs())
