"""The oracle of CSFQ: rates from the whole history, fluid max-min shares; and the studies.

`python oracle.py` writes its answers to drawn operations into vectors/.
"""

import random
import tempfile
from itertools import pairwise
from math import exp, inf
from pathlib import Path

from csfq import Csfq

import pifolab
from pifolab_papers import disagreements, write_vectors

HERE = Path(__file__).resolve().parent
MBPS = 10**6
PARAMETERS = {
    "rate_bps": 10 * MBPS, "capacity_bytes": 8000, "k_us": 20_000, "link_k_us": 20_000, "window_us": 10_000,
}  # fmt: skip


def average(packets, k_ns):
    """Return the averaged rate after these (time, bytes): each packet's bits over its gap, weighted by its age."""
    total = 0.0
    for place, (time, size) in enumerate(packets):
        gap = time - packets[place - 1][0] if place else 0
        spread = (1 - exp(-gap / k_ns)) / gap if gap else 1 / k_ns
        total += 8e9 * size * spread * exp(-(packets[-1][0] - time) / k_ns)
    return total


def answers(operations, rate_bps, capacity_bytes, k_us, link_k_us, window_us):
    """Return the answer to each operation: rates are computed anew from all packets so far."""
    draw = pifolab.Stream(1, "scheduler 0")
    seen, kept, queue, found = [], [], [], []
    alpha = floor = inf
    window = {"congested": False, "start": 0, "labels": []}
    for what, *packet in operations:
        if what == "deq":
            found.append(["deq", queue.pop(0)[0] if queue else None])
            continue
        name, _, flow, size, _, now = packet
        seen.append((now, size, flow))
        label = max(1, round(average([one[:2] for one in seen if one[2] == flow], 1000 * k_us)))
        probability = max(0, 1 - alpha / label)
        passes = probability == 0 or draw.uniform() >= probability
        if passes:
            kept.append((now, size))
        backlog = sum(one[1] for one in queue)
        over = average([one[:2] for one in seen], 1000 * link_k_us) >= rate_bps
        congested = over and (window["congested"] or backlog >= capacity_bytes / 2)
        if congested != window["congested"]:
            window = {"congested": congested, "start": now, "labels": []}
        window["labels"].append(label)
        if now - window["start"] > 1000 * window_us:
            largest = max(window["labels"])
            if congested:
                alpha = (largest if alpha == inf else alpha) * rate_bps / average(kept, 1000 * link_k_us)
            else:
                alpha = largest
            floor = alpha * 3 / 4
            window = {"congested": congested, "start": now, "labels": []}
        if not passes:
            found.append(["drop", "admission"])
        elif backlog + size > capacity_bytes:
            alpha = max(alpha * 0.99, floor)
            found.append(["drop", "full"])
        else:
            queue.append((name, size))
            found.append(["adm", 0])
    return found


def drawn(seed, count=400):
    """Return operations at times: four flows of unequal rates that offer twice what leaves, with pauses."""
    draw = random.Random(seed)
    now, operations = 0, []
    for name in range(count):
        now += draw.choice((0, 1, 200_000, 400_000, 800_000)) if draw.random() < 0.98 else 30_000_000
        if draw.random() < 0.7:
            flow, size = draw.choice((0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3)), draw.choice((64, 500, 1000))
            operations.append(["enq", name, 0, flow, size, 0, now])
        else:
            operations.append(["deq", now])
    return operations


def decisions(seed):
    """Study: how many answers of CSFQ and of FIFO are not the oracle's."""
    schedulers = {"csfq": PARAMETERS, "fifo": {"capacity_bytes": 8000}}
    return disagreements(HERE, answers, [(schedulers, drawn(seed))])


def fixed_point(rates, capacity):
    """Return alpha, for which the sum of min(r_i, alpha) is the capacity; the largest rate if all of them fit."""
    left, waiting = capacity, sorted(rates)
    while waiting and waiting[0] <= left / len(waiting):
        left -= waiting.pop(0)
    return left / len(waiting) if waiting else max(rates)


#: What a link of 10 Mb/s has of each scheduler: 64 KB, or 16 queues of 4 packets of 1,000 bytes; AFQ has
#: ten times that, since a round needs a place for a packet of each flow.
#: K = K_alpha = K_c = 0.1 s are ours.
LINK = """
[rank]
name = "stfq"
[[scheduler]]
name = "csfq"
rate_bps = 10_000_000
capacity_bytes = 64_000
k_us = {k_us}
link_k_us = {k_us}
window_us = {k_us}
[[scheduler]]
name = "managed"
label = "red"
policy = "red"
scheduler = {{ name = "fifo", capacity_bytes = 64_000 }}
min_bytes = 16_000
max_bytes = 48_000
[[scheduler]]
name = "drr"
capacity_bytes = 64_000
quantum_bytes = 1000
flow_packets = 4
[[scheduler]]
name = "fifo"
capacity_bytes = 64_000
[[scheduler]]
name = "afq"
queues = 16
queue_capacity_packets = 40
bytes_per_round = 1000
[[scheduler]]
name = "packs"
queues = 16
queue_capacity_packets = 4
window = 1000
k = 0.1
[[scheduler]]
name = "sp-pifo"
queues = 16
queue_capacity_packets = 4
"""
K_US = 100_000


def link_shares(seed, flows, k_us=K_US, seconds=10):
    """Return scheduler, flow number and rate in bit/s behind two seconds: flow i offers i times 10 Mb/s / flows."""
    sources = "".join(
        f'[[workload]]\narrivals = "poisson"\nrate_bps = {10 * MBPS * number // flows}\nsize_bytes = 1000\n'
        for number in range(1, flows + 1)
    )
    head = f"duration_s = {seconds}\n[link]\nrate_mbps = 10\n[metrics]\nthroughput_interval_ms = 1000\n"
    text = head + sources + LINK.format(k_us=k_us)
    run = pifolab.run_text(text, seeds=[seed], schedulers={"csfq": Csfq})
    rates = {(name, flow): 0 for flow in range(1, flows + 1) for name in run["schedulers"]["scheduler"]}
    for name, start, flow, size in run["throughput"].select("scheduler", "start_ns", "flow", "bytes").rows():
        if start >= 2 * 10**9:
            rates[name, flow + 1] += 8 * size / (seconds - 2)
    return [(name, flow, rate) for (name, flow), rate in rates.items()]


def shares(seed):
    """Study: 32 flows, flow i offering i shares of 10 Mb/s; what each gets, in shares."""
    return {
        "schedulers": [
            {"scheduler": name, "flow": flow, "share": rate / (10 * MBPS / 32)}
            for name, flow, rate in link_shares(seed, 32)
        ]
    }


def fluid(seed):
    """Study: 12 flows, flow i offering i shares; the largest difference of a rate from min(r_i, alpha), over that."""
    offers = [10 * MBPS * number // 12 for number in range(1, 13)]
    alpha = fixed_point(offers, 10 * MBPS)
    return {
        "schedulers": [
            {"scheduler": name, "off": max(abs(rate / min(offers[flow - 1], alpha) - 1) for flow, rate in found)}
            for name, found in _grouped(link_shares(seed, 12)).items()
        ]
    }


def sensitivity(seed):
    """Study: `shares` of CSFQ and FIFO with other times of averaging; the largest difference from a share."""
    return {
        "schedulers": [
            {"scheduler": name, "k_ms": k_ms, "off": max(abs(rate * 32 / (10 * MBPS) - 1) for _, rate in found)}
            for k_ms in (50, 100, 200, 400)
            for name, found in _grouped(link_shares(seed, 32, 1000 * k_ms)).items()
            if name in ("csfq", "fifo")
        ]
    }


def _grouped(rows):
    found = {}
    for name, *row in rows:
        found.setdefault(name, []).append(row)
    return found


#: A network of ours: every link has 10 Mb/s, as `rate_bps` of each CSFQ says, and 1 ms.
NETWORK = """
duration_s = {seconds}
[topology]
kind = "file"
file = "{file}"
[transport]
name = "newreno"
mss_bytes = 960
initial_rto_ms = 200
min_rto_ms = 200
{udp}
[workload.flows]
list = "{flows}"
[record]
throughput_interval_us = 1_000_000
"""


def network_rates(seed, switches, flows, udp, schedulers, own=Csfq, seconds=12, first_ns=0):
    """Return, for each scheduler, the payload in bit/s that each flow delivers behind two seconds.

    `switches` has the switch of each host; switches are a chain. `flows` are pairs of hosts, each with a flow that
    does not end, the first from `first_ns` on. `udp` has the rate of each host that sends UDP, in bit/s with headers.
    """
    draw = random.Random(seed)
    count = max(switches) + 1
    links = [(host, len(switches) + switch) for host, switch in enumerate(switches)]
    links += [(len(switches) + place, len(switches) + place + 1) for place in range(count - 1)]
    topology = f"hosts = {len(switches)}\nswitches = {count}\nrate_mbps = 10\ndelay_ms = 1\n"
    topology += "".join(f"[[link]]\na = {a}\nb = {b}\n" for a, b in links)
    starts = sorted((draw.randrange(1, 10**8) if pair != flows[0] else first_ns, *pair) for pair in flows)
    table = ["flow,src,dst,size_bytes,start_ns"]
    table += [f"{flow},{src},{dst},{10**9},{start}" for flow, (start, src, dst) in enumerate(starts)]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "chain.toml").write_text(topology, encoding="utf-8")
        (Path(folder) / "flows.csv").write_text("\n".join(table) + "\n", encoding="utf-8")
        text = NETWORK.format(
            seconds=seconds,
            file=f"{folder}/chain.toml",
            flows=f"{folder}/flows.csv",
            udp="".join(
                f"[[transport.udp]]\nhost = {host}\ninterval_ns = {8 * 10**12 // rate}\n" for host, rate in udp.items()
            ),
        )
        run = pifolab.run_text(text + schedulers, seeds=[seed], schedulers={"csfq": own})
    rates = {}
    for name, start, flow, size in run["throughput"].select("scheduler", "start_ns", "flow", "bytes").rows():
        if start >= 2 * 10**9:
            place = rates.setdefault(name, dict.fromkeys(flows, 0))
            place[starts[flow][1:]] += 8 * size / (seconds - 2)
    return rates


def tcp(seed):
    """Study: one TCP among 31 UDP flows that offer two shares each; the goodput of TCP in shares of the payload."""
    hosts = range(32)
    rates = network_rates(
        seed, [0] * 32 + [1] * 2, [(host, 32 if host == 0 else 33) for host in hosts],
        {host: 2 * 10 * MBPS // 32 for host in hosts if host > 0}, LINK.format(k_us=K_US), seconds=32,
        first_ns=10**9,
    )  # fmt: skip
    return {
        "schedulers": [
            {"scheduler": name, "goodput": found[0, 32] / (0.96 * 10 * MBPS / 32)} for name, found in rates.items()
        ]
    }


def chain(links):
    """Return hosts and flows: flow (0, 1) crosses `links` links, and ten others each of them; and the offered rates.

    Flow (0, 1) offers a share, an eleventh; the others two shares each.
    """
    switches, flows, share = [0, links], [(0, 1)], 10 * MBPS // 11
    udp = {0: share}
    for link in range(links):
        first = len(switches)
        switches += [link] * 10 + [link + 1]
        flows += [(first + place, first + 10) for place in range(10)]
        udp |= {first + place: 2 * share for place in range(10)}
    return switches, flows, udp


def hops(seed):
    """Study: what a flow that offers its share delivers behind one to five congested links, in shares."""
    rows = []
    for links in (1, 3, 5):
        rates = network_rates(seed, *chain(links), LINK.format(k_us=K_US))
        rows += [
            {"scheduler": name, "links": links, "share": found[0, 1] / (0.96 * 10 * MBPS / 11)}
            for name, found in rates.items()
        ]
    return {"schedulers": rows}


def watched(base):
    """Return the class `base` with a record at each port: the labels of flow 0, flows with labels, labels that grew."""

    class Watched(base):
        ports = []  # noqa: RUF012

        def __init__(self, **keys):
            super().__init__(**keys)
            self.came, self.went, self.labelled, self.grown = [], [], set(), 0
            self.ports.append(self)

        def enqueue(self, packet, now_ns):
            came = self.label
            outcome = super().enqueue(packet, now_ns)
            if came != 0:
                self.labelled.add(packet.flow)
                self.grown += outcome is None and self.label > came
            if packet.flow == 0:
                self.came.append((now_ns, came))
                if outcome is None:
                    self.went.append(self.label)
            return outcome

    return Watched


class Unlabelled(pifolab.PythonScheduler):
    """FIFO."""

    wants_label = True

    def __init__(self, capacity_bytes, **_):
        self.room, self.waiting = capacity_bytes // 1000, []

    def enqueue(self, packet, now_ns):
        if len(self.waiting) == self.room:
            return packet
        self.waiting.append(packet)
        return None

    def dequeue(self, now_ns):
        return self.waiting.pop(0) if self.waiting else None


def labels(seed):
    """Study: labels over three links that are missing, change or grow, and flows estimated behind their edge."""
    rows = []
    only = LINK.format(k_us=K_US).split("[[scheduler]]")[1]
    for name, base in (("csfq", Csfq), ("fifo", Unlabelled)):
        own = watched(base)
        network_rates(seed, *chain(3), f"[[scheduler]]{only}", own, seconds=4)
        path = sorted((port for port in own.ports if port.came), key=lambda port: port.came[0])
        wrong = sum(port.grown + len(port.labelled & set(getattr(port, "flows", ()))) for port in own.ports)
        for before, after in pairwise(path):
            came = [label for _, label in after.came]
            wrong += sum(label == 0 or label != sent for label, sent in zip(came, before.went, strict=False))
        rows.append({"scheduler": name, "hops": len(path), "wrong": wrong})
    return {"schedulers": rows}


if __name__ == "__main__":
    write_vectors(HERE, answers, "csfq", {"drawn": (PARAMETERS, drawn(0, 120))})
