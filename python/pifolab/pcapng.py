"""Packets of a network run as capture files, one for each port, for tshark, Wireshark and `pifolab compare --trace`.

Simulated packets have no bytes. What is written is an IPv4 and a TCP (UDP) header with what the simulator knows:
addresses 10.0.0.1 and up for hosts 0 and up, ports that name the flow, sequence numbers, flags. Payload is left out as
a capture with a short snapshot length leaves it out; lengths are those of the simulation. Rank, queue and what became
of the packet are in its comment. A file has two interfaces: what the port sent, and what was lost there.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any

from pifolab.folder import writing
from pifolab.lazy import pl
from pifolab.text import file_name

_SECTION_HEADER, _INTERFACE, _ENHANCED_PACKET = 0x0A0D0D0A, 1, 6
_LINKTYPE_IPV4 = 228
_COMMENT, _IF_NAME, _IF_TSRESOL = 1, 2, 9
_TCP, _UDP = 6, 17
_SYN, _ACK, _ECE = 0x02, 0x10, 0x40
#: A flow's number is spread over both port numbers, so that flows stay apart.
_FIRST_PORT, _PORTS = 1024, 60_000


def write_captures(log: pl.DataFrame, flows: pl.DataFrame, folder: Path, *, udp: Container[int] = ()) -> list[Path]:
    """Write a file for each seed, scheduler and port of `log` to `folder`, and return the files.

    In its name a scheduler's label stands as `pifolab.text.file_name` writes it, so that no two labels share a file.
    `log` and `flows` are tables of a run; events other than ``enqueue`` become packets. `udp` has the hosts whose flows
    were UDP.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ends = flows.select("seed", "scheduler", "flow", "src", "dst")
    packets = log.filter(pl.col("event") != "enqueue").join(
        ends, on=["seed", "scheduler", "flow"], how="left", maintain_order="left"
    )
    written = []
    for (seed, scheduler, port), rows in packets.group_by("seed", "scheduler", "port", maintain_order=True):
        target = folder / f"{file_name(str(scheduler))}-seed{seed}-port{port}.pcapng"
        with writing(target):
            target.write_bytes(b"".join(captures_of(rows.sort("time_ns", maintain_order=True), int(port), udp=udp)))
        written.append(target)
    return written


def captures_of(rows: pl.DataFrame, port: int, *, udp: Container[int] = ()) -> Iterator[bytes]:
    """Yield the blocks of a capture file with the packets of `rows`, in order of time."""
    yield _block(_SECTION_HEADER, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    for what in ("sent", "lost"):
        options = _option(_IF_NAME, f"port {port} {what}".encode()) + _option(_IF_TSRESOL, b"\x09") + _option(0, b"")
        yield _block(_INTERFACE, struct.pack("<HHI", _LINKTYPE_IPV4, 0, 0) + options)
    for row in rows.iter_rows(named=True):
        time, data = row["time_ns"], _headers(row, udp=row["src"] in udp)
        lost = row["event"] != "dequeue"
        head = struct.pack("<IIIII", lost, time >> 32, time & 0xFFFFFFFF, len(data), max(row["size_bytes"], len(data)))
        yield _block(_ENHANCED_PACKET, head + _padded(data) + _option(_COMMENT, _comment(row)) + _option(0, b""))


def _comment(row: Mapping[str, Any]) -> bytes:
    parts = [f"rank {row['rank']}"]
    if row["queue"] is not None:
        parts.append(f"queue {row['queue']}")
    if row["event"] != "dequeue":
        parts.append(" ".join(filter(None, (row["event"], row["reason"]))))
    return ", ".join(parts).encode()


def _headers(row: Mapping[str, Any], *, udp: bool) -> bytes:
    source, target = row["src"], row["dst"]
    ports = (_FIRST_PORT + row["flow"] % _PORTS, 1 + row["flow"] // _PORTS % _PORTS)
    if row["reverse"]:
        source, target, ports = target, source, ports[::-1]
    payload = row["payload_bytes"]
    if udp:
        transport = struct.pack(">HHHH", *ports, min(8 + payload, 0xFFFF), 0)
    else:
        syn = row["kind"] in ("syn", "syn-ack")
        flags = (_SYN if syn else 0) | (0 if row["kind"] == "syn" else _ACK) | (_ECE if row["ece"] else 0)
        # The SYN takes number 0 in either direction, data begin at 1.
        number = 0 if syn else 1 + (0 if row["reverse"] else row["seq_bytes"])
        acknowledged = 0 if row["kind"] == "syn" else 1 + row["ack_bytes"]
        transport = struct.pack(
            ">HHIIBBHHH", *ports, number & 0xFFFFFFFF, acknowledged & 0xFFFFFFFF, 5 << 4, flags, 0xFFFF, 0, 0
        )
    length = min(20 + len(transport) + payload, 0xFFFF)
    protocol = _UDP if udp else _TCP
    fields = (0x45, 0, length, 0, 0x4000, 64, protocol, 0, _address(source), _address(target))
    header = struct.pack(">BBHHHBBH4s4s", *fields)
    return header[:10] + struct.pack(">H", _checksum(header)) + header[12:] + transport


def _address(host: int) -> bytes:
    return struct.pack(">I", 10 << 24 | (host + 1))


def _checksum(header: bytes) -> int:
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return int(~total & 0xFFFF)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _block(kind: int, body: bytes) -> bytes:
    length = 12 + len(body)
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)
