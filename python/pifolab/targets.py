"""Which schedulers fit a switch: by its P4 program, and by the stages and registers that it has to give."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pifolab import _pifolab
from pifolab.errors import InputError, parameter_error

#: The allowed values of `target`.
TARGETS = ("tofino", "tofino2", "bmv2", "linux", "any")

#: The windows of the programs for a target; the parameters choose one.
WINDOWS = {"tofino": (8, 16), "tofino2": (8, 16)}

#: Settings of a target's programs that replace the schedulers' defaults, which the pipeline cannot compute.
_TOFINO = {"rifo": {"mode": "pow2"}, "sp-pifo": {"on_full": "update"}}
PROGRAMMED: dict[str, dict[str, dict[str, Any]]] = {"tofino": _TOFINO, "tofino2": _TOFINO}

#: Stages of the pipeline, and stateful ALUs of each.
_STAGES = {"tofino": 12, "tofino2": 20}

#: The programs whose window the measured ones have, and the window with which each was measured.
_MEASURED = {("tofino", "aifo"): 16, ("tofino", "packs"): 8, ("tofino2", "aifo"): 16, ("tofino2", "packs"): 16}

#: Measured programs that take more stages than the switch has.
_TOO_LONG = {("tofino", "packs", 16): 13}


@dataclass(frozen=True)
class Limits:
    """The resources of a switch; None is no limit."""

    target: str = "any"
    registers: int | None = None
    stages: int | None = None


@dataclass(frozen=True)
class Fit:
    """The reason why a scheduler does not fit (None if it does), and the resources of its program, if counted."""

    problem: str | None = None
    stages: int | None = None
    stateful_alus: int | None = None


def check_target(target: str, registers: int | None, stages: int | None) -> None:
    """Refuse a target that does not exist, and limits below 1."""
    if target not in TARGETS:
        raise InputError(_pifolab.unknown_name("target", target, list(TARGETS)))
    for name, value in (("registers", registers), ("stages", stages)):
        if value is not None and value < 0:
            raise parameter_error(name, ": expected 0 or above", value=value)
    if stages is not None and target not in _STAGES:
        raise parameter_error("stages", f" = {stages}: expected the target tofino or tofino2, whose stages are counted")


@cache
def _resources() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the resources of the P4 programs on Tofino and Tofino 2, as counted by their compiler."""
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(_pifolab.p4_resources())["programs"]
    return found


@cache
def _programs() -> dict[str, str]:
    return {scheduler: program for program, schedulers in _pifolab.p4_programs() for scheduler in schedulers}


def fit(name: str, settings: Mapping[str, Any], limits: Limits, *, own: bool = False) -> Fit:
    """Return whether the scheduler `name` with these settings fits; `own` if it is written in Python.

    Examples
    --------
    >>> fit("fifo", {"capacity_packets": 80}, Limits("tofino")).stages
    3
    >>> fit("pifo", {"capacity_packets": 80}, Limits("tofino")).problem
    'no P4 program does pifo'
    """
    target = limits.target
    if own:
        return Fit() if target == "any" else Fit(f"is written in Python, and not for {target}")
    problem, measured = None, None
    program = _programs().get(name)
    if target in ("tofino", "tofino2", "bmv2"):
        if program is None:
            return Fit(f"no P4 program does {name}")
        try:
            _pifolab.p4_parameters(name, dict(settings), target)
        except InputError as error:
            return Fit(f"{target} cannot do it: {error}")
        window = settings.get("window")
        if too_many := _TOO_LONG.get((target, program, int(window or 0))):
            return Fit(f"takes {too_many} stages with a window of {window}, {target} has {_STAGES[target]}", too_many)
        counted = _resources().get(target, {}).get(program)
        if counted and _MEASURED.get((target, program), window) == window:
            measured = counted
    cost = _pifolab.switch_cost(name, dict(settings))
    registers = measured["registers"] if measured else cost[0] if cost else None
    stages = measured["stages"] if measured else None
    most = limits.stages if limits.stages is not None else _STAGES.get(target)
    if limits.registers is not None and (registers is None or registers > limits.registers):
        needed = "a number that is not counted" if registers is None else f"{registers:,}"
        problem = f"needs {needed} of registers, the limit is {limits.registers:,}"
    elif stages is not None and most is not None and stages > most:
        problem = f"takes {stages} stages, the limit is {most}"
    elif stages is None and limits.stages is not None:
        problem = f"its stages were not counted, the limit is {limits.stages}"
    return Fit(problem, stages, measured["stateful_alus"] if measured else None)


def resources_text(name: str) -> str:
    """Return the resources of a scheduler's P4 program on each switch for which they were counted; else nothing.

    Examples
    --------
    >>> print(resources_text("packs"))
    tofino: 10 of 12 stages, 14 stateful ALUs (window 8); tofino2: 17 of 20 stages, 25 stateful ALUs (window 16)
    >>> resources_text("pifo")
    ''
    """
    program, parts = _programs().get(name), []
    for target, programs in _resources().items():
        if taken := programs.get(program or ""):
            window = _MEASURED.get((target, program or ""))
            of_window = f" (window {window})" if window else ""
            stages = f"{taken['stages']} of {_STAGES[target]} stages"
            parts.append(f"{target}: {stages}, {taken['stateful_alus']} stateful ALUs{of_window}")
    return "; ".join(parts)
