"""The oracle of PCQ: one list, sorted by period; and the studies.

`python oracle.py` writes its answers to drawn operations into vectors/.
"""

import random
from pathlib import Path

from pcq import Pcq

import pifolab
from pifolab_papers import disagreements, write_vectors

HERE = Path(__file__).resolve().parent
#: The name of each vector, and its parameters: each policy, with and without the delay of a marker.
SETTINGS = {
    f"{policy}{'-marker' if marker else ''}": {
        "policy": policy, "queues": 5, "queue_capacity_packets": 6, "marker_ns": marker, **own,
    }
    for policy, own in (
        ("wfq", {"quantum_bytes": 1500}),
        ("edf", {"width_ns": 3000}),
        ("leaky-bucket", {"width_ns": 3000, "rate_bps": 2_000_000_000}),
    )
    for marker in (0, 1300)
}  # fmt: skip


def answers(operations, policy, queues, queue_capacity_packets, marker_ns, quantum_bytes=0, width_ns=0, rate_bps=0):
    """Return the answer to each operation: who waits is one list, searched anew each time; periods have no queues."""
    waiting, given, turns, found, now = [], {}, [], [], 0

    def head():
        return turns[-1][1] if turns else 0

    for at, (what, *packet) in enumerate(operations):
        if what == "enq":
            name, rank, flow, size, _, now = packet
            if not waiting and width_ns and now // width_ns > head():
                # What turned while nothing waited had time for its markers, but for the last that traffic caused.
                turns.append((turns[-1][0] if turns else -marker_ns, now // width_ns))
            if policy == "wfq":
                after = max(given.get(flow, 0), head() * quantum_bytes) + size
                period = after // quantum_bytes
            elif policy == "edf":
                period = max(head(), rank // (1000 * width_ns))
            else:
                begin = max(given.get(flow, 0), now)
                after, period = begin + (8 * 10**9 * size + rate_bps - 1) // rate_bps, begin // width_ns
            turning = bool(turns) and now < turns[-1][0] + marker_ns
            reach = head() + queues - (2 if turning else 1)
            if policy == "edf":
                period = min(period, reach)
            if period > reach:
                found.append(["drop", "admission"])
            elif sum(one[0] == period for one in waiting) == queue_capacity_packets:
                found.append(["drop", "full"])
            else:
                waiting.append((period, at, name))
                if policy != "edf":
                    given[flow] = after
                found.append(["adm", period % queues])
        else:
            now = packet[0]
            first = min(waiting, default=None)
            wait = 0
            while first is not None and first[0] > head():
                wait = turns[-1][0] + marker_ns if turns else 0
                if policy == "leaky-bucket":
                    wait = max(wait, (head() + 1) * width_ns)
                if now < wait:
                    break
                turns.append((now, head() + 1))
            if first is None:
                found.append(["deq", None])
            elif first[0] > head():
                found.append(["wait", wait])
            else:
                waiting.remove(first)
                found.append(["deq", first[2]])
    return found


def drawn(seed, count=500):
    """Return operations at times: five flows, deadlines up to 20 us ahead or past, departures, and pauses."""
    draw = random.Random(seed)
    now, operations = 0, []
    for name in range(count):
        now += draw.choice((0, 0, 300, 700, 1500)) if draw.random() < 0.97 else 30_000
        if draw.random() < 0.55:
            deadline = 1000 * max(0, now + draw.randrange(-2000, 20_000))
            size = draw.choice((64, 500, 1500))
            operations.append(["enq", name, deadline, draw.randrange(5), size, 0, now])
        else:
            operations.append(["deq", now])
    return operations


def decisions(seed):
    """Study: how many answers of PCQ and of FIFO are not the oracle's, over all policies."""
    cases = [
        ({"pcq": parameters, "fifo": {"capacity_packets": 30}}, drawn(1000 * seed + place))
        for place, parameters in enumerate(SETTINGS.values())
    ]
    return disagreements(HERE, answers, cases)


def afq_answers(operations, queues, queue_capacity_packets, quantum_bytes, **_):
    """Return the answers of pifolab's AFQ."""
    afq = pifolab.Afq(queues=queues, queue_capacity_packets=queue_capacity_packets, bytes_per_round=quantum_bytes)
    found = []
    for operation in operations:
        if operation[0] == "deq":
            packet = afq.dequeue()
            found.append(["deq", packet if packet is None else packet.id])
            continue
        _, name, rank, flow, size, _, _ = operation
        outcome = afq.enqueue(pifolab.Packet(rank, id=name, flow=flow, size_bytes=size))
        refused = isinstance(outcome, pifolab.Dropped)
        found.append(["drop", outcome.reason] if refused else ["adm", outcome.queue])
    return found


def as_afq(seed):
    """Study: answers of PCQ-WFQ and of FIFO that are not those of AFQ with the same queues and quantum."""
    draw, cases = random.Random(seed), []
    for _ in range(20):
        parameters = {
            "policy": "wfq", "queues": draw.randrange(2, 9), "queue_capacity_packets": draw.randrange(1, 12),
            "quantum_bytes": draw.randrange(200, 4000),
        }  # fmt: skip
        cases.append(({"pcq": parameters, "fifo": {"capacity_packets": 30}}, drawn(draw.randrange(10**9))))
    return disagreements(HERE, afq_answers, cases)


class Missed(pifolab.PythonObserver):
    """Counts the packets that begin to leave behind their deadline, which is their rank, or are lost."""

    def __init__(self):
        self.packets, self.missed = 0, 0

    def on_dequeue(self, port, packet, queue, now_ns):
        self.packets += 1
        self.missed += 1000 * now_ns > packet.rank

    def on_drop(self, port, packet, reason, now_ns):
        self.packets += 1
        self.missed += 1


#: A link of 1 Gb/s with 320 packets; periods of 100 us, so that 32 queues reach 3.2 ms ahead. All of it is ours.
PCQ = """
[[scheduler]]
name = "pcq"
policy = "{policy}"
queues = 32
queue_capacity_packets = 10
"""
EDF = PCQ.format(policy="edf") + "width_ns = 100_000\n"
OTHERS = """
[[scheduler]]
name = "packs"
queues = 32
queue_capacity_packets = 10
window = 1000
k = 0.1
[[scheduler]]
name = "sp-pifo"
queues = 32
queue_capacity_packets = 10
[[scheduler]]
name = "afq"
queues = 32
queue_capacity_packets = 10
bytes_per_round = 1000
[[scheduler]]
name = "fifo"
capacity_packets = 320
[[scheduler]]
name = "pifo"
capacity_packets = 320
"""


def observed(seed, sources, schedulers, observer, head="", seconds=0.1):
    """Return the observer of each scheduler on 1 Gb/s; sources are (Mb/s, deadline in us, a rank without `head`)."""
    traffic = "".join(
        f'[[workload]]\narrivals = "poisson"\nrate_mbps = {rate}\nsize_bytes = 1000\ndeadline_us = {deadline}\n'
        + ("" if head else f"rank_sequence = [{deadline}]\nrepeat_sequence = true\n")
        for rate, deadline in sources
    )
    text = f"duration_s = {seconds}\nlink = {{ rate_gbps = 1 }}\n{head}{traffic}{schedulers}"
    run = pifolab.run_text(text, seeds=[seed], schedulers={"pcq": Pcq}, observers={"seen": observer})
    return {one.scheduler: one.observer for one in run.observers["seen"]}


def deadlines(seed):
    """Study: the share of packets behind their deadlines of 0.1, 0.5 and 3 ms, with 97 % of a link used."""
    seen = observed(seed, [(320, 100), (320, 500), (330, 3000)], EDF + OTHERS, Missed, '[rank]\nname = "edf"\n')
    return {"schedulers": [{"scheduler": name, "missed": one.missed / one.packets} for name, one in seen.items()]}


def bucket(width_ns, rate_bps):
    """Return an observer: by how many widths a packet leaves before an exact leaky bucket of its flow would let it."""

    class Bucket(pifolab.PythonObserver):
        def __init__(self):
            self.next, self.release, self.early, self.held, self.free = {}, {}, -1.0, 0, 0

        def on_admit(self, port, packet, queue, now_ns):
            self.release[packet.id] = max(now_ns, self.next.get(packet.flow, 0))
            self.next[packet.flow] = self.release[packet.id] + 8 * 10**9 * packet.size_bytes / rate_bps

        def on_dequeue(self, port, packet, queue, now_ns):
            self.early = max(self.early, (self.release.pop(packet.id) - now_ns) / width_ns)
            # The wire was free, and the packet was there.
            self.held += packet.arrival_ns < now_ns and self.free < now_ns
            self.free = now_ns + 8 * packet.size_bytes

    return Bucket


def leaky(seed):
    """Study: four flows of 20 to 80 Mb/s through leaky buckets of 50 Mb/s on 1 Gb/s."""
    width, rate = 100_000, 50_000_000
    schedulers = PCQ.format(policy="leaky-bucket") + f"width_ns = {width}\nrate_bps = {rate}\n" + OTHERS
    seen = observed(seed, [(20, 1), (40, 1), (60, 1), (80, 1)], schedulers, bucket(width, rate))
    return {"schedulers": [{"scheduler": name, "early": one.early, "held": one.held} for name, one in seen.items()]}


class Longest(pifolab.PythonObserver):
    """The longest wait of a packet of flow 1, in ns, also of those that wait at the end; and how many it has sent."""

    def __init__(self):
        self.since, self.longest, self.sent = {}, 0, 0

    def on_admit(self, port, packet, queue, now_ns):
        if packet.flow == 1:
            self.since[packet.id] = now_ns

    def on_drop(self, port, packet, reason, now_ns):
        self.since.pop(packet.id, None)

    def on_dequeue(self, port, packet, queue, now_ns):
        if packet.flow == 1:
            self.sent += 1
            self.longest = max(self.longest, now_ns - self.since.pop(packet.id))

    def on_end(self, now_ns):
        self.longest = max([self.longest, *(now_ns - since for since in self.since.values())])


def starvation(seed):
    """Study: 1.02 Gb/s with 0.1 ms of slack before a large flow with 3 ms; its wait over the bound, and its packets.

    PCQ's period grows with the time; the others have the slack alone as rank, as pFabric has the remaining size.
    """
    sources, bound = [(1020, 100), (50, 3000)], 3_000_000 + 100_000 + 32 * 10 * 8000
    seen = observed(seed, sources, EDF, Longest, '[rank]\nname = "edf"\n')
    packs, sp_pifo, _, fifo, pifo = OTHERS.split("[[scheduler]]")[1:]
    strict = "".join(f"[[scheduler]]{one}" for one in (packs, sp_pifo, fifo, pifo))
    seen |= observed(seed, sources, strict, Longest)
    return {
        "schedulers": [{"scheduler": name, "wait": one.longest / bound, "sent": one.sent} for name, one in seen.items()]
    }


def markers(seed):
    """Study: six flows that offer 8, 4, 2, 1, 0.5 and 0.5 of ten shares; what the two largest get, over three shares.

    A marker takes nothing, a packet's time, or five of them.
    """
    rows = []
    for packets in (0, 1, 5):
        pcq = PCQ.format(policy="wfq") + f"quantum_bytes = 1000\nmarker_ns = {8000 * packets}\n"
        sources = [(800, 1), (400, 1), (200, 1), (100, 1), (50, 1), (50, 1)]
        for name, one in observed(seed, sources, pcq + OTHERS, Sent, '[rank]\nname = "stfq"\n').items():
            rates = [8 * one.bytes.get(flow, 0) / 0.1 / 3e8 for flow in (0, 1)]
            rows.append({"scheduler": name, "marker_packets": packets, "least": min(rates), "most": max(rates)})
    return {"schedulers": rows}


class Sent(pifolab.PythonObserver):
    """The bytes that each flow has sent."""

    def __init__(self):
        self.bytes = {}

    def on_dequeue(self, port, packet, queue, now_ns):
        self.bytes[packet.flow] = self.bytes.get(packet.flow, 0) + packet.size_bytes


if __name__ == "__main__":
    write_vectors(HERE, answers, "pcq", {name: (parameters, drawn(0, 80)) for name, parameters in SETTINGS.items()})
