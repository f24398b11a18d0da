"""The frames by which tests talk to a P4 program (``dataplane/p4/v1model/harness.p4``)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

__all__ = ["DECIDE", "ENQUEUE", "FILLER", "READ", "READ_FRAME", "SET_USED", "TestFrame"]

DECIDE, SET_USED, ENQUEUE, FILLER, READ, READ_FRAME = range(6)

_ADDRESSES = bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1])
_ETHER = 0x88B5
_HEADER = struct.Struct(">12sHBBBBIQIQ")


@dataclass(frozen=True)
class TestFrame:
    """One frame: `kind` is one of the constants of this module; the other fields are those of the header ``test_t``."""

    __test__ = False

    kind: int
    queue: int = 0
    verdict: int = 0
    flags: int = 0
    id: int = 0
    rank: int = 0
    size_bytes: int = 0
    value: int = 0

    def pack(self, length: int = 0) -> bytes:
        """Return its bytes, padded to `length`."""
        header = _HEADER.pack(
            _ADDRESSES,
            _ETHER,
            self.kind,
            self.queue,
            self.verdict,
            self.flags,
            self.id,
            self.rank,
            self.size_bytes,
            self.value,
        )
        return header.ljust(length, b"\0")

    @classmethod
    def unpack(cls, frame: bytes) -> TestFrame:
        """Read one."""
        return cls(*_HEADER.unpack_from(frame)[2:])
