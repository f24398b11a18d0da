"""Ranks that a P4 program computes in its pipeline: each decides as the library's SP-PIFO with the same ranks."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

import pifolab
from pifolab import _pifolab
from pifolab_p4.compiled import stored

QUEUES = 8


def frame(flow: int, size: int, carried: int = 0) -> bytes:
    payload = (carried % 2**64).to_bytes(8, "big").ljust(size - 42, b"\0")
    udp = struct.pack(">HHHH", flow, 9, 8 + len(payload), 0)
    header = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0)
    return bytes(12) + b"\x08\x00" + header + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + udp + payload


class Stfq:
    """The library's, in bytes."""

    def __init__(self) -> None:
        self.finish: dict[int, int] = {}
        self.served = 0

    def rank(self, flow: int, size: int, carried: int, now: int) -> int:
        return max(self.served, self.finish.get(flow, 0))

    def admitted(self, flow: int, size: int, rank: int) -> None:
        self.finish[flow] = rank + size

    def left(self, rank: int, carried: int, waited: int) -> int:
        self.served = max(self.served, rank)
        return carried


class Afq(Stfq):
    """The round of a bid, of 2048 bytes."""

    def bid(self, flow: int, size: int) -> int:
        return max(self.served * 2048, self.finish.get(flow, 0)) + size

    def rank(self, flow: int, size: int, carried: int, now: int) -> int:
        return self.bid(flow, size) // 2048

    def admitted(self, flow: int, size: int, rank: int) -> None:
        self.finish[flow] = self.bid(flow, size)


class Lstf:
    """Slack in the packet."""

    def rank(self, flow: int, size: int, carried: int, now: int) -> int:
        return now + carried

    def admitted(self, flow: int, size: int, rank: int) -> None:
        pass

    def left(self, rank: int, carried: int, waited: int) -> int:
        return max(carried - waited, 0)


class FifoPlus(Lstf):
    """Waits beyond the mean in the packet."""

    def __init__(self) -> None:
        self.sixteen = 0

    def rank(self, flow: int, size: int, carried: int, now: int) -> int:
        return max(now - carried, 0)

    def left(self, rank: int, carried: int, waited: int) -> int:
        mean = self.sixteen // 16
        self.sixteen += waited - mean
        return carried + waited - mean


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("name", "reference"),
    [("stfq", Stfq), ("afq", Afq), ("lstf", Lstf), ("fifo_plus", FifoPlus)],
)
def test_a_program_that_computes_ranks_decides_as_the_library_with_the_same_ranks(
    name: str, reference: type[Any], seed: int
):
    draws = random.Random(seed)
    ranks = reference()
    library = pifolab.SpPifo(queues=QUEUES, queue_capacity_packets=8)
    program = stored(f"sp_pifo_{name}")
    assert program is not None
    switch = _pifolab.P4Switch(program)
    waiting: dict[int, tuple[int, int, int, int]] = {}
    now = refused = 0
    for id in range(1500):
        now += draws.choice((0, 0, draws.randrange(40)))
        if draws.random() < 0.6:
            flow, size = draws.choice((1, 2, 3, 700, 40_000)), draws.randrange(50, 1500)
            carried = draws.randrange(500) if name == "lstf" else 0
            if name == "fifo_plus":
                carried = draws.randrange(-300, 300)
            rank = ranks.rank(flow, size, carried, now)
            outcome = library.enqueue(rank, id=id, size_bytes=size)
            placed, _ = switch.receive(0, frame(flow, size, carried), id, 1000 * now)
            if isinstance(outcome, pifolab.Admitted):
                assert placed == [(1, QUEUES - 1 - outcome.queue)], id
                ranks.admitted(flow, size, rank)
                waiting[id] = (rank, carried, now, size)
            else:
                assert placed == []
                refused += 1
            continue
        sent = switch.send(1, 1000 * now)
        left = library.dequeue()
        assert (sent is None) == (left is None)
        if sent is not None and left is not None:
            bytes_, tag, _ = sent
            assert tag == left.id
            rank, carried, since, size = waiting.pop(tag)
            carried = ranks.left(rank, carried, now - since)
            if name in ("lstf", "fifo_plus"):
                assert bytes_[42:50] == (carried % 2**64).to_bytes(8, "big")
            assert len(bytes_) == size
    assert refused > 20


def test_stfq_in_the_pipeline_is_that_of_the_library():
    draws = random.Random(3)
    library = pifolab.ranked("stfq", pifolab.SpPifo(queues=QUEUES, queue_capacity_packets=8), scale=1)
    switch = _pifolab.P4Switch(stored("sp_pifo_stfq") or b"")
    for id in range(3000):
        if draws.random() < 0.55:
            flow, size = draws.choice((1, 2, 3, 4)), draws.randrange(50, 1500)
            outcome = library.enqueue(0, id=id, flow=flow, size_bytes=size)
            placed, _ = switch.receive(0, frame(flow, size), id, 0)
            assert [queue for _, queue in placed] == (
                [QUEUES - 1 - outcome.queue] if isinstance(outcome, pifolab.Admitted) else []
            )
        else:
            sent, left = switch.send(1, 0), library.dequeue()
            assert (sent and sent[1]) == (left and left.id)
