"""Vectors through the P4 programs, decision by decision: in the interpreter or on BMv2.

In the interpreter (:func:`interpret`) packets wait in its own priority queues. On BMv2 there are two ways. *Decisions*:
the program is told by its control plane what the queues hold, gets a rank and answers with a queue or a refusal; the
queues are kept here. *Queues*: packets wait in the priority queues of ``simple_switch``, the program counts them
itself, and the order in which they leave is the switch's.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.text import read_bytes, readable, shown
from pifolab_p4.compiled import key, stored
from pifolab_p4.frames import DECIDE, ENQUEUE, FILLER, READ, SET_USED, TestFrame
from pifolab_p4.switch import Switch, SwitchError
from pifolab_p4.tools import MissingToolError, compile_bmv2
from pifolab_p4.workspace import workspace

__all__ = [
    "FRAME_BYTES",
    "HARNESS",
    "WAYS",
    "Replayed",
    "fill",
    "interpret",
    "program_of",
    "replay",
    "send_one_by_one",
]

HARNESS = ("PF_HARNESS",)
"""What the programs that answer test frames are compiled with."""

WAYS = ("decisions", "queues")
"""How vectors are replayed: see :func:`replay`."""

_VERDICTS = ("adm", "admission", "full")
# The size of a packet whose size plays no part, as the library's replay has it.
_ANY_SIZE = 1500
# The default of simple_switch: a packet beyond it is lost, and programs cannot see that.
_DEPTH = 64
# Decisions that a program keeps, one for each operation; BMv2 does not check where a register is written.
_KEPT = 65536
# More than half of a page: a pipe of one page holds one such frame.
FRAME_BYTES = 2200
# Fillers and packets are told from each other by their ids.
_FILLER_ID = 1 << 31

Answer = list[Any]


@dataclass(frozen=True)
class Replayed:
    """What the replay of one vector gave.

    Attributes
    ----------
    operations : int
        Operations replayed.
    mismatches : int
        Those whose answer differs from the expected one.
    first : str or None
        The first of them.
    skipped : str or None
        Why it was not replayed, if it was not.
    """

    operations: int = 0
    mismatches: int = 0
    first: str | None = None
    skipped: str | None = None


@dataclass(frozen=True)
class _Vector:
    file: str
    program: str
    text: str
    in_bytes: bool
    capacities: list[int]
    steps: list[tuple[list[Any], Answer]]

    def size(self, operation: list[Any]) -> int:
        return int(operation[4]) if len(operation) > 4 else _ANY_SIZE

    def units(self, operation: list[Any]) -> int:
        return self.size(operation) if self.in_bytes else 1

    def longest_queue(self) -> int:
        """Return the most packets that a queue holds while all goes as expected."""
        queues: list[set[int]] = [set() for _ in self.capacities]
        longest = 0
        for operation, answer in self.steps:
            if answer[0] == "adm":
                queues[answer[1]].add(operation[1])
                longest = max(longest, len(queues[answer[1]]))
            elif answer[0] == "deq":
                for queue in queues:
                    queue.discard(answer[1])
        return longest


def _read(file: str) -> _Vector | str:
    readable(Path(file))
    try:
        made = _pifolab.p4_vector(file, "bmv2")
    except InputError as error:
        # It names the file, whose name may be of any kind.
        raise InputError(shown(str(error))) from None
    if "skipped" in made:
        return made["skipped"]
    vector = json.loads(read_bytes(Path(file)))
    steps = list(zip(vector["ops"], vector["expect"], strict=True))
    return _Vector(file, made["program"], made["text"], made["in_bytes"], made["capacities"], steps)


def _compare(vector: _Vector, answers: list[Answer]) -> Replayed:
    wrong = [index for index, (_, expected) in enumerate(vector.steps) if answers[index] != expected]
    first = None
    if wrong:
        index = wrong[0]
        operation, expected = vector.steps[index]
        texts = [json.dumps(value) for value in (operation, expected, answers[index])]
        first = f"{shown(vector.file)}: ops[{index}] = {texts[0]}\n  expected {texts[1]}\n  got      {texts[2]}"
    return Replayed(len(vector.steps), len(wrong), first)


def _drive(vector: _Vector, program: Path, way: str) -> Replayed:
    if way == "queues" and (longest := vector.longest_queue()) > _DEPTH:
        return Replayed(skipped=f"a queue of {longest} packets: expected at most {_DEPTH}, the depth of simple_switch")
    if way == "queues" and len(vector.steps) > _KEPT:
        return Replayed(skipped=f"{len(vector.steps)} operations, but the program keeps only {_KEPT} decisions")
    drive = {"decisions": _drive_decisions, "queues": _drive_queues}[way]
    return _compare(vector, drive(vector, program))


def _compiled(folder: Path, program: str, text: str, defines: tuple[str, ...]) -> Path:
    """Return what the compiler makes of a program: it runs once for all vectors of a program and its parameters."""
    name = hashlib.sha256(json.dumps([program, text, defines]).encode()).hexdigest()
    place, new = folder / name, folder / f"{name}.new"
    if not place.is_dir():
        new.mkdir(exist_ok=True)
        compile_bmv2(new, program, text, defines)
        new.rename(place)
    return place / f"{program}.json"


def replay(file: str, *ways: str, defines: tuple[str, ...] = (), compiled: Path | None = None) -> list[Replayed]:
    """Replay the vector `file` through its program, which is compiled once, in each of `ways`.

    Parameters
    ----------
    file : str
        A conformance vector.
    ways : str
        Of :data:`WAYS`: ``"decisions"``, rank in and queue out, with occupancies written from outside; ``"queues"``,
        through the priority queues of ``simple_switch``.
    defines : tuple of str
        What the program is compiled with besides.
    compiled : Path, optional
        A folder for compiled programs, of which those that are there already are used; default: a temporary one.

    Returns
    -------
    list of Replayed
        One for each of `ways`.

    Raises
    ------
    InputError
        A file that cannot be understood; no compiler or no switch.
    """
    vector = _read(file)
    skipped = vector if isinstance(vector, str) else None
    if isinstance(vector, str) or (vector.in_bytes and "PF_OCCUPANCY_GHOST" in defines):
        skipped = skipped or "BMv2 reports depths in packets, but the capacities are in bytes"
        return [Replayed(skipped=skipped) for _ in ways]
    with workspace() if compiled is None else nullcontext(compiled) as folder:
        program = _compiled(folder, vector.program, vector.text, (*HARNESS, *defines))
        return [_drive(vector, program, way) for way in ways]


def program_of(file: str) -> tuple[str, str] | str:
    """Return the program of a vector and its parameter file, or why there is none."""
    vector = _read(file)
    return vector if isinstance(vector, str) else (vector.program, vector.text)


def interpret(file: str) -> Replayed:
    """Replay the vector `file` through its program in the interpreter.

    The program is the one that is stored in the tree; of a vector that is not of the tree it is compiled.

    Raises
    ------
    InputError
        A file that cannot be understood; a compiler that refuses the program.
    """
    vector = _read(file)
    if isinstance(vector, str):
        return Replayed(skipped=vector)
    kept = stored(key(vector.program, vector.text, HARNESS))
    if kept is not None:
        program = kept
    else:
        try:
            with workspace() as folder:
                program = compile_bmv2(folder, vector.program, vector.text, HARNESS).read_bytes()
        except MissingToolError:
            return Replayed(skipped="no compiled program of its parameters is stored, and p4c is not installed")
    # Deep enough for any vector: the program counts what its queues hold.
    switch = _pifolab.P4Switch(program, depth=len(vector.steps))
    answers: list[Answer] = []
    for index, (operation, _) in enumerate(vector.steps):
        if operation[0] == "enq":
            frame = TestFrame(ENQUEUE, id=index % _KEPT, rank=operation[2], size_bytes=vector.size(operation))
            switch.receive(0, frame.pack(), index)
            found = switch.register("results", index % _KEPT)
            answers.append(_answer(found >> 8, found & 0xFF))
        else:
            sent = switch.send(0)
            answers.append(["deq", None if sent is None else vector.steps[sent[1]][0][1]])
    return _compare(vector, answers)


def _answer(verdict: int, queue: int) -> Answer:
    return ["adm", queue] if verdict == 0 else ["drop", _VERDICTS[verdict]]


def _drive_decisions(vector: _Vector, program: Path) -> list[Answer]:
    queues: list[deque[tuple[int, int]]] = [deque() for _ in vector.capacities]
    used = [0] * len(queues)
    told = list(used)
    answers: list[Answer] = []
    with Switch(program) as switch:
        for operation, _ in vector.steps:
            if operation[0] == "deq":
                index = next((index for index, queue in enumerate(queues) if queue), None)
                if index is None:
                    answers.append(["deq", None])
                else:
                    packet, units = queues[index].popleft()
                    used[index] -= units
                    answers.append(["deq", packet])
                continue
            changed = [index for index, units in enumerate(used) if units != told[index]]
            frames = [TestFrame(SET_USED, queue=index, value=used[index]) for index in changed]
            told = list(used)
            frames.append(TestFrame(DECIDE, rank=operation[2], size_bytes=vector.size(operation)))
            switch.send(*(frame.pack() for frame in frames))
            decided = TestFrame.unpack(switch.receive())
            answer = _answer(decided.verdict, decided.queue)
            answers.append(answer)
            if answer[0] == "adm":
                queues[decided.queue].append((operation[1], vector.units(operation)))
                used[decided.queue] += vector.units(operation)
    return answers


def send_one_by_one(switch: Switch, frames: list[TestFrame]) -> None:
    """Send test frames of a size at which one fills the outgoing pipe, and let the switch deal with each."""
    for frame in frames:
        switch.send(frame.pack(FRAME_BYTES))
        switch.settle()


def fill(switch: Switch, queue: int) -> int:
    """Fill everything behind the queues with frames, and return how many it takes.

    Frames are sent until some stay in their queue; a frame in a queue of higher priority shows it by overtaking them.
    """
    more = 2 * _DEPTH + _DEPTH // 2
    send_one_by_one(switch, [TestFrame(FILLER, queue=queue, id=_FILLER_ID + i) for i in range(more)])
    send_one_by_one(switch, [TestFrame(FILLER, queue=0, id=_FILLER_ID + more)])
    ahead = []
    while switch.waiting():
        ahead.append(TestFrame.unpack(switch.receive()).id)
        switch.settle()
    return ahead.index(_FILLER_ID + more)


def _drive_queues(vector: _Vector, program: Path) -> list[Answer]:
    last = len(vector.capacities) - 1
    answers: list[Answer] = []
    decided: list[int] = []
    with Switch(program, small_pipe=True) as switch:
        behind = fill(switch, 7)
        send_one_by_one(switch, [TestFrame(FILLER, queue=0, id=_FILLER_ID)] * behind)
        left: list[int] = []
        # Packets that arrive while none leaves are decided in their order, and those that leave while none arrives
        # leave in the order of the queues: the switch need come to rest only in between.
        leaving = False
        for index, (operation, expected) in enumerate(vector.steps):
            if operation[0] == "enq":
                if leaving:
                    switch.settle()
                    leaving = False
                frame = TestFrame(ENQUEUE, id=index, rank=operation[2], size_bytes=vector.size(operation))
                switch.send(frame.pack(FRAME_BYTES))
                decided.append(index)
                continue
            if not leaving:
                switch.settle()
                leaving = True
            if expected == ["deq", None]:
                # Something has to leave, or the next packet would leave at once: behind all others, so that it leaves
                # only if nothing else does.
                switch.settle()
                send_one_by_one(switch, [TestFrame(FILLER, queue=last, id=_FILLER_ID)])
            left.append(TestFrame.unpack(switch.receive()).id)
        switch.settle()
        while switch.waiting():
            left.append(TestFrame.unpack(switch.receive()).id)
            switch.settle()
        decisions = {}
        for index in decided:
            switch.send(TestFrame(READ, id=index).pack(FRAME_BYTES))
            found = TestFrame.unpack(switch.receive())
            decisions[index] = _answer(found.verdict, found.queue)
    served = iter(left[behind:])
    for index, (operation, _) in enumerate(vector.steps):
        if operation[0] == "enq":
            answers.append(decisions[index])
        else:
            packet = next(served, None)
            if packet is None:
                raise SwitchError(f"{vector.file}: simple_switch kept some packets")
            answers.append(["deq", None if packet >= _FILLER_ID else vector.steps[packet][0][1]])
    return answers
