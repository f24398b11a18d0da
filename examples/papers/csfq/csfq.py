"""CSFQ, core-stateless fair queueing: the first hop labels packets with their flow's rate, every hop drops by label.

Paper: I. Stoica, S. Shenker, H. Zhang, SIGCOMM 1998. Parameters: C the rate of the link (bit/s); the buffer (bytes);
K and K_alpha, the times over which the rates of flows and of the link are averaged; K_c, the window of alpha (all us).
Cost: O(1) per packet. A rate for each flow where packets have no label yet; elsewhere three rates and a window.
A label is a whole number of bit/s, at least 1; 0 is no label. Departs from PIFO: packets leave as they came, and no
rank is read; fairness comes from drops alone.

Ours: the first packet of a flow or a link counts as if the packet before it had come at the same time; until a window
has passed, alpha is infinite, and if that one was congested, the largest label in it; a window that has passed counts
with the packet that ends it; overflows lower alpha by at most 25 % below what the last window set.
"""

from collections import deque
from math import exp, inf

import pifolab


class Rate:
    """A rate in bit/s, averaged exponentially over `k_ns` (section 3.2: independent of the sizes of packets)."""

    def __init__(self, k_ns):
        self.k_ns, self.value, self.last = k_ns, 0.0, None

    def add(self, size_bytes, now_ns):
        passed = 0 if self.last is None else now_ns - self.last
        self.last = now_ns
        old = exp(-passed / self.k_ns)
        bits = 8e9 * size_bytes
        self.value = old * self.value + (bits * (1 - old) / passed if passed else bits / self.k_ns)
        return self.value


class Csfq(pifolab.PythonScheduler):
    """First in, first out, behind a test that drops with probability 1 - alpha / label."""

    wants_label = True

    def __init__(self, rate_bps, capacity_bytes, k_us, link_k_us, window_us):
        self.rate, self.room = rate_bps, capacity_bytes
        self.k_ns, self.window = 1000 * k_us, 1000 * window_us
        self.flows = {}
        self.arrived, self.accepted = Rate(1000 * link_k_us), Rate(1000 * link_k_us)
        self.alpha = self.floor = inf
        self.congested, self.start, self.largest = False, 0, 0
        self.waiting, self.backlog = deque(), 0

    def enqueue(self, packet, now_ns):
        label = self.label
        if label == 0:
            if packet.flow not in self.flows:
                self.flows[packet.flow] = Rate(self.k_ns)
            label = max(1, round(self.flows[packet.flow].add(packet.size_bytes, now_ns)))
        refused = label > self.alpha and self.stream.uniform() < 1 - self.alpha / label
        self.estimate_alpha(packet.size_bytes, label, refused, now_ns)
        if refused:
            return pifolab.Dropped("admission", packet)
        if self.backlog + packet.size_bytes > self.room:
            self.alpha = max(0.99 * self.alpha, self.floor)
            return packet
        self.waiting.append(packet)
        self.backlog += packet.size_bytes
        self.label = max(1, round(min(label, self.alpha)))
        return None

    def dequeue(self, now_ns):
        if not self.waiting:
            return None
        packet = self.waiting.popleft()
        self.backlog -= packet.size_bytes
        return packet

    def estimate_alpha(self, size_bytes, label, refused, now_ns):
        arrived = self.arrived.add(size_bytes, now_ns)
        if not refused:
            self.accepted.add(size_bytes, now_ns)
        # A link becomes congested only once half of the buffer is in use.
        congested = arrived >= self.rate and (self.congested or 2 * self.backlog >= self.room)
        if congested != self.congested:
            self.congested, self.start, self.largest = congested, now_ns, 0
        self.largest = max(self.largest, label)
        if now_ns > self.start + self.window:
            if not congested or self.alpha == inf:
                self.alpha = self.largest
            if congested:
                self.alpha *= self.rate / self.accepted.value
            self.floor = 0.75 * self.alpha
            self.start, self.largest = now_ns, 0
