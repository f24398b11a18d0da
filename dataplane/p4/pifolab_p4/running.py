"""Runs anybody's compiled P4 program over packets, in the interpreter and in virtual time."""

from __future__ import annotations

import gzip
import json
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.text import read_bytes, readable, shown
from pifolab_p4.stf import entry_line

__all__ = ["Options", "Packets", "differences", "read_packets", "run", "write_packets"]

Packet = tuple[int, int, bytes]
"""Time in nanoseconds, port, frame."""

_MAGICS = {b"\xd4\xc3\xb2\xa1": ("<", 1000), b"\xa1\xb2\xc3\xd4": (">", 1000)}
_MAGICS |= {b"\x4d\x3c\xb2\xa1": ("<", 1), b"\xa1\xb2\x3c\x4d": (">", 1)}


@dataclass
class Packets:
    """What a packet file has: packets, and by port the frames that should come out (digits and ``*`` for any digit)."""

    arrivals: list[Packet] = field(default_factory=list)
    expected: dict[int, list[str]] = field(default_factory=dict)
    entries: list[tuple[int, str, str]] = field(default_factory=list)
    """Lines of the control plane: how many packets arrive before, the place, the line."""


@dataclass(frozen=True)
class Options:
    """How a switch is set up: queues of each port, packets of each queue, Mb/s of each port (none: at once), seed."""

    queues: int = 8
    depth: int = 64
    rate_mbps: float | None = None
    seed: int = 0


def _capture(file: Path, data: bytes, port: int) -> Iterator[Packet]:
    order, unit_ns = _MAGICS[data[:4]]
    record = struct.Struct(f"{order}IIII")
    at = 24
    while at < len(data):
        if at + record.size > len(data):
            raise InputError(f"{shown(str(file))}: byte {at}: the file ends within a packet's header")
        seconds, part, kept, _ = record.unpack_from(data, at)
        at += record.size
        if at + kept > len(data):
            raise InputError(f"{shown(str(file))}: byte {at}: the file ends within a packet of {kept} bytes")
        yield seconds * 10**9 + part * unit_ns, port, data[at : at + kept]
        at += kept


def _port(text: str, place: str) -> int:
    if not text.isdecimal() or int(text) > 511:
        raise InputError(f"{place}: port {shown(text)}: expected a number from 0 to 511")
    return int(text)


def read_packets(file: Path, port: int) -> Packets:
    """Read a pcap, whose packets arrive on `port`, or text.

    The lines of text are ``packet PORT HEX``, ``expect PORT HEX``, ``add`` and ``setdefault`` (`stf`), commands of
    simple_switch_CLI, and ``wait``, which does nothing: each packet has left before the next line.

    Raises
    ------
    InputError
        The file cannot be understood; its line or byte.
    """
    readable(file)
    data = read_bytes(file)
    read = Packets()
    if data[:4] in _MAGICS:
        read.arrivals = list(_capture(file, data, port))
        return read
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        words = line.partition("#")[0].split()
        place = f"{shown(str(file))}: line {number}"
        match words:
            case []:
                pass
            case ["packet" | "expect" as kind, given, *digits]:
                text = "".join(digits).lower().removesuffix("$")
                if len(text) % 2 or set(text) - set("0123456789abcdef" + "*" * (kind == "expect")):
                    raise InputError(f"{place}: {shown(text[:40])}: expected pairs of hexadecimal digits")
                if kind == "packet":
                    read.arrivals.append((0, _port(given, place), bytes.fromhex(text)))
                else:
                    read.expected.setdefault(_port(given, place), []).append(text)
            case ["wait"]:
                pass
            case [word, *_] if word in ("add", "setdefault") or "_" in word:
                read.entries.append((len(read.arrivals), place, " ".join(words)))
            case [word, *_]:
                raise InputError(
                    f"{place}: {shown(word)}: expected packet PORT HEX, expect PORT HEX, add, setdefault, wait "
                    "or a command of simple_switch_CLI"
                )
    return read


def run(program: Path, entries: Path | None, given: Packets, options: Options) -> tuple[list[Packet], list[str]]:
    """Send packets through a program; return those that leave, with the time at which each has left, and notes.

    Raises
    ------
    InputError
        The program or an entry cannot be used: the file and the place in it.
    """
    readable(program)
    text = read_bytes(program)
    try:
        text = gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text
        switch = _pifolab.P4Switch(text, options.queues, options.depth, options.seed)
    except (InputError, OSError, EOFError) as error:
        raise InputError(f"{shown(str(program))}: {shown(str(error))}") from None
    if entries is not None:
        readable(entries)
        try:
            switch.configure(read_bytes(entries).decode("utf-8", "replace"))
        except InputError as error:
            raise InputError(f"{shown(str(entries))}: {shown(str(error))}") from None
    compiled = json.loads(text) if given.entries else {}
    lines = deque(given.entries)

    def configure(packets: int) -> None:
        while lines and lines[0][0] <= packets:
            _, place, line = lines.popleft()
            is_stf = line.startswith(("add ", "setdefault "))
            try:
                switch.configure(entry_line(compiled, line) if is_stf else line)
            except InputError as error:
                raise InputError(f"{place}: {shown(str(error).removeprefix('line 1: '))}") from None

    left: list[Packet] = []
    free: dict[int, int] = {}
    clock = 0

    def serve(until: int | None) -> None:
        while True:
            ready = [(max(free.get(port, 0), clock), port) for port in range(switch.ports()) if switch.waiting(port)]
            if not ready or (until is not None and min(ready)[0] > until):
                return
            start, port = min(ready)
            sent = switch.send(port, start)
            if sent is None:
                continue
            frame = sent[0]
            taken = 0 if options.rate_mbps is None else round(len(frame) * 8000 / options.rate_mbps)
            free[port] = start + taken
            left.append((start + taken, port, frame))

    for tag, (time, port, frame) in enumerate(sorted(given.arrivals, key=lambda packet: packet[0])):
        # A port that becomes free at this instant takes the next packet before this one arrives.
        serve(time)
        clock = time
        if lines:
            configure(tag)
        switch.receive(port, frame, tag, time)
    serve(None)
    configure(len(given.arrivals))
    _, failed, endless = switch.said()
    notes = []
    if failed:
        notes.append(f"{failed} assertions of the program failed")
    if endless:
        notes.append(f"{endless} loops of the program were left after 65536 rounds")
    return sorted(left, key=lambda packet: packet[0]), notes


def differences(expected: dict[int, list[str]], left: Sequence[Packet]) -> Iterator[str]:
    """Say of each port in which frame what left differs from what is expected, if it does."""
    for port, frames in sorted(expected.items()):
        got = [frame.hex() for _, of, frame in left if of == port]
        for index, frame in enumerate(frames):
            if index >= len(got):
                yield f"port {port}: {len(got)} packets left, expected {len(frames)}"
                break
            alike = len(got[index]) >= len(frame) and all(
                a in ("*", b) for a, b in zip(frame, got[index], strict=False)
            )
            if not alike:
                yield f"port {port}: packet {index}: {got[index]}: expected {frame}"
        if len(got) > len(frames):
            yield f"port {port}: {len(got)} packets left, expected {len(frames)}"


def write_packets(file: Path, left: Sequence[Packet]) -> None:
    """Write packets to a pcap (``.pcap``; nanoseconds), or as lines ``packet PORT HEX``."""
    if file.suffix != ".pcap":
        file.write_text("".join(f"packet {port} {frame.hex()}\n" for _, port, frame in left), encoding="utf-8")
        return
    data = bytearray(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65536, 1))
    for time, _, frame in left:
        data += struct.pack("<IIII", time // 10**9, time % 10**9, len(frame), len(frame)) + frame
    file.write_bytes(data)
