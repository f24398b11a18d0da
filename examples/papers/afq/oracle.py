"""The oracle of AFQ: slow, obvious, written from the rules as SP-PIFO section 8 and docs/schedulers/afq.md state them.

`python oracle.py` writes its answers to drawn operations into vectors/.
"""

import random
from pathlib import Path

import pifolab
from pifolab_papers import disagreements, write_vectors

HERE = Path(__file__).resolve().parent
PARAMETERS = {"queues": 5, "queue_capacity_bytes": 4500, "bytes_per_round": 1500}


def answers(operations, queues, queue_capacity_bytes, bytes_per_round):
    """Return the answer to each operation: a bid for each flow, a list for each round, served round by round."""
    bids, rounds, now, found = {}, {}, 0, []
    for what, *packet in operations:
        if what == "enq":
            name, _, flow, size = packet
            bid = max(now * bytes_per_round, bids.get(flow, 0)) + size
            ahead = bid // bytes_per_round - now
            waiting = rounds.setdefault(now + ahead, [])
            if ahead >= queues:
                found.append(["drop", "admission"])
            elif sum(one[1] for one in waiting) + size > queue_capacity_bytes:
                found.append(["drop", "full"])
            else:
                bids[flow] = bid
                waiting.append((name, size))
                found.append(["adm", (now + ahead) % queues])
        elif any(rounds.values()):
            now = min(one for one, waiting in rounds.items() if waiting)
            found.append(["deq", rounds[now].pop(0)[0]])
        else:
            found.append(["deq", None])
    return found


def drawn(seed, count=600):
    """Return operations: packets of six flows and of sizes up to 1500 bytes, and departures, at random."""
    draw = random.Random(seed)
    sizes = (64, 576, 1000, 1500)
    return [
        ["enq", name, 0, draw.randrange(6), draw.choice(sizes)] if draw.random() < 0.6 else ["deq"]
        for name in range(count)
    ]


def decisions(seed):
    """Study: how many answers of AFQ and of FIFO are not the oracle's."""
    schedulers = {"afq": PARAMETERS, "fifo": {"capacity_bytes": 22500}}
    return disagreements(HERE, answers, [(schedulers, drawn(seed))])


def gaps(seed):
    """Study: five flows that always wait; by how much the bytes that two of them have sent differ at most.

    `gap` is that difference over the bytes of a round and of the largest packet. A flow whose packets are refused tries
    again after each departure, so that under AFQ none is ever idle; flow 0 offers three times as many packets.
    """
    draw = random.Random(seed)
    per_round, largest, rows = 3000, 1500, []
    for name, scheduler in (
        ("afq", pifolab.Afq(queues=16, queue_capacity_packets=40, bytes_per_round=per_round)),
        ("fifo", pifolab.Fifo(capacity_packets=640)),
        ("sp-pifo", pifolab.SpPifo(queues=16, queue_capacity_packets=40)),
    ):
        sent, waiting, worst, names = [0] * 5, [0] * 5, 0, iter(range(10**9))
        for _ in range(4000):
            for flow in (0, 0, 0, 1, 2, 3, 4):
                # The first packet of a flow that has none waiting always enters: there is room for all flows.
                if waiting[flow] < (30 if flow == 0 else 10):
                    size = draw.choice((64, 700, largest))
                    packet = pifolab.Packet(draw.randrange(100), id=next(names), flow=flow, size_bytes=size)
                    waiting[flow] += not isinstance(scheduler.enqueue(packet), pifolab.Dropped)
            packet = scheduler.dequeue()
            waiting[packet.flow] -= 1
            sent[packet.flow] += packet.size_bytes
            if name == "afq" and min(waiting) == 0:
                raise RuntimeError("a flow is idle, and the bound is about flows that wait")
            worst = max(worst, max(sent) - min(sent))
        rows.append({"scheduler": name, "gap": worst / (per_round + largest)})
    return {"schedulers": rows}


if __name__ == "__main__":
    write_vectors(HERE, answers, "afq", {"drawn": (PARAMETERS, drawn(0, 80))})
