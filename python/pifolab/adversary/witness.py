"""Witnesses as conformance vectors: `pifolab conformance` replays them through the library and the data planes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab import _pifolab, info
from pifolab.errors import InputError, InternalError, PifolabError
from pifolab.folder import replaced_file
from pifolab.text import value_of

if TYPE_CHECKING:
    from pifolab.adversary.question import Answer

_BYTES = 1500


def save(answer: Answer, path: str | os.PathLike[str]) -> list[Path]:
    """Write one vector for each scheduler of the library, and replay it."""
    stem = Path(path)
    stem = stem.with_suffix("") if stem.suffix == ".json" else stem
    story = answer.story()
    files = []
    for side in ("a", "b"):
        if answer.question[side] is None or not isinstance(answer.question[side][1], dict):
            continue
        file = stem.with_name(f"{stem.name}-{side}.json")
        text = vector(answer, side, story[side]["moments"])
        with replaced_file(file) as temporary:
            temporary.write_text(text, encoding="utf-8")
            outcome = _pifolab.replay_vector(str(file), text.encode())
            if outcome["mismatches"]:
                raise InternalError(f"the witness does not replay: {outcome['first']}")
        files.append(file)
    if not files:
        raise InputError("save: neither scheduler is one of the library's, so that there is nothing to replay")
    return files


def vector(answer: Answer, side: str, moments: list[dict[str, Any]]) -> str:
    """Return the vector of one scheduler as JSON."""
    name, options = answer.question[side]
    config = complete(name, options)
    known = {param.name for param in info.scheduler(name).params}
    if answer.question["free_window"] and answer.start_window is not None and "start_window" in known:
        # A window of the other scheduler may be larger: this one starts with the newest ranks.
        config["start_window"] = list(answer.start_window)[-config["window"] :]
    operations: list[list[Any]] = []
    answers: list[Any] = []
    for moment in moments[1:]:
        event = moment["event"]
        if event in ("stored", "dropped"):
            packet = moment["packet"]
            operations.append(["enq", packet, answer.trace[packet], 0, _BYTES])
            if event == "dropped":
                answers.append(["drop", moment["reason"]])
            else:
                victims = moment["victims"]
                answers.append(["adm", moment["queue"], *(["evict", *victims] if victims else [])])
        else:
            operations.append(["deq"])
            answers.append(["deq", None if event == "idle" else moment["packet"]])
    lines = ",\n".join(json.dumps(operation) for operation in operations)
    return (
        f'{{\n"scheduler": {json.dumps(name)},\n"config": {json.dumps(config, default=str)},\n'
        f'"ops": [\n{lines}\n],\n"expect": {json.dumps(answers)}\n}}\n'
    )


def complete(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return `options` with the library's defaults, as far as they may be written beside them.

    What a vector leaves out has the value that the format gives it, which is not always the library's.
    """
    # Fractions are texts in a vector, so that they are exact.
    shown = {key: str(value) if isinstance(value, float) else value for key, value in options.items()}
    config = {key: value for key, value in shown.items() if value is not None}
    for param in info.scheduler(name).params:
        if param.name in config or param.default is None:
            continue
        default = value_of(param.default)
        try:
            _pifolab.Scheduler(name, {**config, param.name: default})
        except PifolabError:
            continue
        config[param.name] = default
    return {**config, **_capacity(name, config)}


def _capacity(name: str, config: dict[str, Any]) -> dict[str, Any]:
    """Return the library's default capacity, since a vector always has one."""
    scheduler = _pifolab.Scheduler(name, config)
    known = {param.name for param in info.scheduler(name).params}
    if scheduler.capacity_packets is None or any("capacity" in key for key in config):
        return {}
    if "queue_capacity_packets" in known:
        queues = len(scheduler.queue_lengths)
        return {"queue_capacity_packets": [scheduler.capacity_packets // queues] * queues}
    return {"capacity_packets": scheduler.capacity_packets} if "capacity_packets" in known else {}
