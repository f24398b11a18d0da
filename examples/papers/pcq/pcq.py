"""PCQ, programmable calendar queues: N FIFOs, of which the head is served; a rotation makes the empty head the last.

Paper: N. K. Sharma et al., NSDI 2020. Policies: `wfq` (AFQ's rounds), `edf` (the rank is a deadline in ps), and
`leaky-bucket` (a flow leaves at its rate, though the link idles). Parameters: N queues, packets in each; the quantum
(bytes, wfq), the width of a period (ns, the other two), the rate of a flow (bit/s, leaky-bucket); the time from a
rotation until its marker has come out of the old head (ns, default 0).
Cost: O(1) per packet and per rotation; a number for each flow, but none for edf. Departs from PIFO: the
packets of a period leave as they came, and those beyond the last queue are refused or stored in it.

Ours: while a marker is under way there are N - 1 queues, and no other rotation; what lies beyond the last queue is
refused, but by edf stored in the last; where nothing waits, a calendar of time turns for nothing.
"""

from collections import deque

import pifolab


class Pcq(pifolab.PythonScheduler):
    """A calendar: queue `period % N` has the packets of that period, and `period` is that of the head."""

    def __init__(
        self, policy, queues, queue_capacity_packets, marker_ns=0, quantum_bytes=0, width_ns=0, rate_bps=0
    ):  # fmt: skip
        needed = {"wfq": quantum_bytes, "edf": width_ns, "leaky-bucket": width_ns and rate_bps}
        if not needed.get(policy):
            needs = "wfq with quantum_bytes, edf with width_ns, leaky-bucket with width_ns and rate_bps"
            raise ValueError(f"policy = {policy!r}: expected {needs}")
        if queues < 2:
            raise ValueError(f"queues = {queues}: expected 2 or more, since a rotation takes one away")
        self.policy, self.queues, self.room, self.marker = policy, queues, queue_capacity_packets, marker_ns
        self.quantum, self.width, self.rate = quantum_bytes, width_ns, rate_bps
        self.calendar = [deque() for _ in range(queues)]
        self.held, self.period, self.rotated = 0, 0, 0
        self.flows = {}

    def enqueue(self, packet, now_ns):
        if self.held == 0 and self.width:
            self.period = max(self.period, now_ns // self.width)
        period, state = self.period_of(packet, now_ns)
        last = self.period + self.queues - 1 - (now_ns < self.rotated)
        if self.policy == "edf":
            period = min(max(period, self.period), last)
        if period > last:
            return pifolab.Dropped("admission", packet)
        queue = self.calendar[period % self.queues]
        if len(queue) == self.room:
            return packet
        if state is not None:
            self.flows[packet.flow] = state
        queue.append(packet)
        self.held += 1
        return period % self.queues

    def dequeue(self, now_ns):
        if self.held == 0:
            return None
        while not self.calendar[self.period % self.queues]:
            begins = (self.period + 1) * self.width if self.policy == "leaky-bucket" else 0
            if now_ns < max(begins, self.rotated):
                return pifolab.NotBefore(max(begins, self.rotated))
            self.period += 1
            self.rotated = now_ns + self.marker
        self.held -= 1
        return self.calendar[self.period % self.queues].popleft()

    def period_of(self, packet, now_ns):
        """Return the period of a packet, and what its flow has been given with it."""
        if self.policy == "wfq":
            bid = max(self.period * self.quantum, self.flows.get(packet.flow, 0)) + packet.size_bytes
            return bid // self.quantum, bid
        if self.policy == "edf":
            return packet.rank // 1000 // self.width, None
        start = max(now_ns, self.flows.get(packet.flow, 0))
        return start // self.width, start + -(-8 * 10**9 * packet.size_bytes // self.rate)
