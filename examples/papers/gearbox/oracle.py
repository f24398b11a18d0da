"""The oracle of Gearbox: one list of all that waits, searched anew for each answer, and FIFOs named by what they cover.

`python oracle.py` writes its answers to drawn operations into vectors/.
"""

import random
from pathlib import Path

import pifolab
from pifolab_papers import disagreements, mismatches, write_vectors

HERE = Path(__file__).resolve().parent
#: The rounds of a FIFO, and the first number of its kind and how many there are.
KINDS = {
    "level 0": (1, 0, 16), "level 1": (8, 16, 16), "level 2": (64, 32, 8), "down 1": (1, 40, 16), "down 2": (8, 56, 8),
}  # fmt: skip


class Gearbox:
    """What waits is (kind, block, name, flow); `departs` and `width` have each packet's round and its FIFO's rounds."""

    def __init__(self, capacity_packets, bytes_per_round, weights):
        self.room, self.quantum, self.weights = capacity_packets, bytes_per_round, [*map(int, weights.split())]
        self.waiting, self.finish, self.above = [], {}, {}
        self.now, self.left = 0, {}
        self.departs, self.width = {}, {}

    def queue(self, kind, block):
        """Return the number of a FIFO."""
        _, first, count = KINDS[kind]
        if kind == "down 1":
            return first + 8 * (block // 64 % 2) + block % 8
        return first + block % count

    def level(self, flow, ahead):
        """Return the level at which a packet begins: a flow stays above as long as it waits."""
        waits = any(one[3] == flow for one in self.waiting)
        far = 2 if ahead[2] > 1 else 1 if ahead[1] > 1 else 0
        return max(far, self.above.get(flow, 0) if waits else 0)

    def enqueue(self, name, _, flow, size):
        """Return the answer to an arrival."""
        weight = self.weights[flow] if flow < len(self.weights) else 1
        finish = max(self.finish.get(flow, 0), 1000 * self.quantum * self.now) + 1000 * size // weight
        departs = finish // (1000 * self.quantum)
        blocks = [departs // rounds for rounds in (1, 8, 64)]
        ahead = [block - self.now // rounds for block, rounds in zip(blocks, (1, 8, 64), strict=True)]
        if ahead[2] >= 8:
            return ["drop", "admission"]
        if len(self.waiting) == self.room:
            return ["drop", "full"]
        level = self.level(flow, ahead)
        kind = f"level {level}"
        if level > 0 and blocks[level] % 8 == 4:
            kind, level = f"down {level}", level - 1
        block = blocks[[1, 8, 64].index(KINDS[kind][0])]
        self.finish[flow], self.above[flow] = finish, level
        self.departs[name], self.width[name] = departs, KINDS[kind][0]
        self.waiting.append((kind, block, name, flow))
        return ["adm", self.queue(kind, block)]

    def here(self, kind):
        """Return what waits in the FIFO of a kind that covers this round."""
        return [one for one in self.waiting if one[:2] == (kind, self.now // KINDS[kind][0])]

    def sendable(self):
        """Return what the round may still send, in order."""
        found = []
        for kind in ("down 2", "level 2", "down 1", "level 1", "level 0"):
            found += self.here(kind)[: self.left.get(kind)]
        return found

    def dequeue(self):
        """Return the answer to a departure."""
        if not self.waiting:
            return ["deq", None]
        while not self.sendable():
            self.now += 1
            self.left = {}
            for kind, rounds in (("level 1", 8), ("level 2", 64)):
                remaining = rounds - self.now % rounds
                if remaining > 1:
                    self.left[kind] = -(-len(self.here(kind)) // remaining)
        one = self.sendable()[0]
        self.waiting.remove(one)
        if one[0] in self.left:
            self.left[one[0]] -= 1
        return ["deq", one[2]]


def answered(operations, **parameters):
    """Return the answers, and the state at the end."""
    gearbox = Gearbox(**parameters)
    # Nothing is sent from levels 1 and 2 in the first round.
    gearbox.left = {"level 1": 0, "level 2": 0}
    return [gearbox.enqueue(*packet) if what == "enq" else gearbox.dequeue() for what, *packet in operations], gearbox


def answers(operations, **parameters):
    """Return the answers."""
    return answered(operations, **parameters)[0]


def drawn(draw, count, flows=6):
    """Return parameters, and operations: bursts of one flow or of all, and departures."""
    quantum = draw.choice((20, 100, 400, 1500))
    weights = " ".join(str(draw.choice((1, 1, 2, 5))) for _ in range(draw.randint(0, flows)))
    operations = []
    while len(operations) < count:
        one, burst = draw.randrange(flows), draw.choice((1, 5, 60))
        for _ in range(burst):
            flow = one if burst == 60 else draw.randrange(flows)
            operations.append(["enq", len(operations), 0, flow, draw.choice((64, 200, 576, 1500))])
        operations += [["deq"]] * draw.choice((0, 1, burst, 2 * burst))
    return {"capacity_packets": draw.choice((5, 50, 500)), "bytes_per_round": quantum, "weights": weights}, operations


def decisions(seed):
    """Study: how many answers are not the oracle's, in 20 draws."""
    draw, cases = random.Random(seed), []
    for _ in range(20):
        parameters, operations = drawn(draw, 300)
        cases.append(({"gearbox": parameters, "fifo": {"capacity_packets": 50}}, operations))
    return disagreements(HERE, answers, cases)


def gaps(seed):
    """Study: how far packets overtake others in rounds, over what README.md allows, in 20 draws.

    Departure rounds and FIFOs are Gearbox's, for each scheduler; SP-PIFO has the rounds as ranks. `reorderings`
    counts departures out of their flow's order.
    """
    draw = random.Random(seed)
    rows = {name: {"gap": 0.0, "reorderings": 0} for name in ("gearbox", "fifo", "sp-pifo")}
    for _ in range(20):
        parameters, operations = drawn(draw, 300)
        parameters["capacity_packets"] = 10_000
        found, gearbox = answered(operations, **parameters)
        if mismatches(HERE, "gearbox", parameters, operations, found):
            raise RuntimeError("the oracle is not the scheduler's")
        sent = {"gearbox": [answer[1] for answer in found if answer[0] == "deq"]}
        for name, other in (
            ("fifo", pifolab.Fifo(capacity_packets=10_000)),
            ("sp-pifo", pifolab.SpPifo(queues=8, queue_capacity_packets=10_000)),
        ):
            sent[name] = []
            for what, *packet in operations:
                if what == "deq":
                    gone = other.dequeue()
                    sent[name].append(gone.id if gone else None)
                elif packet[0] in gearbox.departs:
                    other.enqueue(pifolab.Packet(gearbox.departs[packet[0]], id=packet[0]))
        for name, departures in sent.items():
            gap, reorderings = judged(operations, departures, gearbox)
            rows[name]["gap"] = max(rows[name]["gap"], gap)
            rows[name]["reorderings"] += reorderings
    return {"schedulers": [{"scheduler": name, **row} for name, row in rows.items()]}


def judged(operations, departures, gearbox):
    """Return the largest overtaking over its bound, and how many departures are out of the order of their flow."""
    waiting, gap, reorderings, next_one = {}, 0.0, 0, iter(departures)
    for what, *packet in operations:
        if what == "enq":
            if packet[0] in gearbox.departs:
                waiting[packet[0]] = packet[2]
            continue
        name = next(next_one)
        if name is None:
            continue
        flow = waiting.pop(name)
        reorderings += any(other < name for other, of in waiting.items() if of == flow)
        for other in waiting:
            ahead = gearbox.departs[name] - gearbox.departs[other]
            bound = gearbox.width[name] + gearbox.width[other] - 2
            if ahead > 0:
                gap = max(gap, ahead / bound if bound else 1.0 + ahead)
    return gap, reorderings


def vectors():
    """Return parameters and operations by name: drawn ones, and those of what README.md decides."""
    draw = random.Random(0)
    found = {"drawn": drawn(draw, 120)}
    # Flow 0 climbs to level 2 and steps down twice; flow 1 of weight 10 stays below. The 512th round is too far ahead.
    steps = [["enq", name, 0, 0, 1000] for name in range(52)]
    steps[5:5] = [["enq", 100 + name, 0, 1, 1000] for name in range(3)]
    found["steps"] = {"capacity_packets": 100, "bytes_per_round": 100, "weights": "1 10"}, [*steps, *[["deq"]] * 56]
    # A flow that has nothing waiting begins below again, and one that waits does not.
    idle = [["enq", 0, 0, 0, 9000], ["deq"], ["enq", 1, 0, 0, 100], ["enq", 2, 0, 0, 9000], ["enq", 3, 0, 0, 100]]
    found["idle"] = {"capacity_packets": 3, "bytes_per_round": 100, "weights": ""}, [
        *idle, ["enq", 4, 0, 1, 100], *[["deq"]] * 4,
    ]  # fmt: skip
    return found


if __name__ == "__main__":
    write_vectors(HERE, answers, "gearbox", vectors())
