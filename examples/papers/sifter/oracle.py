"""The oracle of Sifter: one list of all that waits, searched anew for each answer; and the studies.

`python oracle.py` writes its answers to drawn operations into vectors/.
"""

import math
import random
from pathlib import Path

import pifolab
from pifolab_papers import disagreements, mismatches, write_vectors

HERE = Path(__file__).resolve().parent


class Sifter:
    """All that waits is [rank, entry, name, outside]; `entry` numbers what enters the mini-PIFO or (outside) a FIFO."""

    def __init__(self, mini_pifo_packets, sift_threshold_packets, speed_up, fifos, fifo_packets, ranks_per_fifo):
        self.room, self.threshold, self.moves = mini_pifo_packets, sift_threshold_packets, speed_up
        self.fifos, self.depth, self.width = fifos, fifo_packets, ranks_per_fifo
        self.waiting, self.to_sift, self.sentinel, self.entries = [], [], math.inf, 0

    def bucket(self, packet):
        """Return the number of the packet's bucket."""
        return packet[0] // self.width

    def where(self, outside):
        """Return what is in the FIFOs, or in the mini-PIFO."""
        return sorted(one for one in self.waiting if one[3] == outside)

    def enter(self, packet, outside):
        """Let a packet in behind all others of its rank, or of its FIFO."""
        self.entries += 1
        packet[1], packet[3] = self.entries, outside
        self.waiting.append(packet)

    def place(self, packet):
        """Put a packet where it belongs; return the answer to its arrival."""
        out = packet
        if packet[0] <= self.sentinel:
            self.enter(packet, False)
            if len(self.where(False)) <= self.room:
                return ["adm", 0]
            out = self.where(False)[-1]
            self.sentinel = out[0] - 1
            self.waiting.remove(out)
        own, others = self.bucket(out), [self.bucket(one) for one in self.where(True)]
        if max([own, *others]) - min([own, *others]) >= self.fifos:
            refused = "rank-out-of-range"
        elif others.count(own) == self.depth:
            refused = "full"
        else:
            self.enter(out, True)
            return ["adm", 1 + own % self.fifos] if out is packet else ["adm", 0]
        return ["drop", refused] if out is packet else ["adm", 0, "evict", out[2]]

    def enqueue(self, name, rank):
        """Return the answer to an arrival."""
        return self.place([rank, 0, name, False])

    def dequeue(self):
        """Return the answer to a departure."""
        while self.waiting and not self.where(False):
            self.sift(1)
        if not self.waiting:
            return ["deq", None]
        first = self.where(False)[0]
        self.waiting.remove(first)
        self.sift(self.moves)
        return ["deq", first[2]]

    def sift(self, moves):
        """Move packets of the bucket that is being sifted, and begin with the next one where it is time."""
        for packet in self.to_sift[:moves]:
            self.waiting.remove(packet)
            self.place(packet)
        self.to_sift = self.to_sift[moves:]
        outside = self.where(True)
        if not self.to_sift and not outside:
            self.sentinel = math.inf
        elif not self.to_sift and len(self.where(False)) <= self.threshold:
            bucket = [one for one in outside if self.bucket(one) == self.bucket(outside[0])]
            self.to_sift = sorted(bucket, key=lambda one: one[1])
            self.sentinel = bucket[-1][0]


def answers(operations, **parameters):
    """Return Sifter's answers."""
    sifter = Sifter(**parameters)
    return [sifter.enqueue(*packet) if what == "enq" else sifter.dequeue() for what, *packet in operations]


def inversions(operations, found):
    """Return how many of these answers send a packet while one of a smaller rank waits."""
    waiting, count = {}, 0
    for (what, *packet), answer in zip(operations, found, strict=True):
        if what == "enq" and answer[0] == "adm":
            waiting[packet[0]] = packet[1]
            if "evict" in answer:
                del waiting[answer[-1]]
        elif what == "deq" and answer[1] is not None:
            count += waiting.pop(answer[1]) > min(waiting.values(), default=math.inf)
    return count


def fifo_answers(operations):
    """Return the answers of a FIFO that refuses nothing."""
    fifo, found = pifolab.Fifo(capacity_packets=len(operations)), []
    for what, *packet in operations:
        if what == "enq":
            fifo.enqueue(pifolab.Packet(packet[1], id=packet[0]))
            found.append(["adm", 0])
        else:
            gone = fifo.dequeue()
            found.append(["deq", gone.id if gone else None])
    return found


def operations_of(draw, parameters, count):
    """Return arrivals around a rank that rises, in bursts of falling or random ranks, and departures."""
    operations, base, width = [], 0, parameters["ranks_per_fifo"]
    while len(operations) < count:
        burst = draw.randint(1, 2 * parameters["fifo_packets"])
        spread = draw.choice((1, width, 3 * width, width * parameters["fifos"]))
        ranks = [base + draw.randrange(spread) for _ in range(burst)]
        if draw.random() < 0.5:
            ranks.sort(reverse=True)
        operations += [["enq", len(operations) + place, rank] for place, rank in enumerate(ranks)]
        operations += [["deq"]] * draw.randint(0, 2 * burst)
        base = max(0, base + draw.randint(-width, 2 * width))
    return operations


def parameters_of(draw):
    """Return parameters that keep both conditions, the first as an equality."""
    threshold, speed_up = draw.randint(1, 4), draw.randint(2, 4)
    return {
        "mini_pifo_packets": 2 * threshold + draw.choice((0, 0, 1, 5)),
        "sift_threshold_packets": threshold,
        "speed_up": speed_up,
        "fifos": draw.randint(1, 8),
        "fifo_packets": threshold * speed_up,
        "ranks_per_fifo": draw.randint(1, 12),
    }


def decisions(seed):
    """Study: how many answers are not the oracle's, in 20 draws whose parameters need not keep the conditions."""
    draw = random.Random(seed)
    cases = []
    for _ in range(20):
        parameters = {key: max(1, value - draw.randint(0, 2)) for key, value in parameters_of(draw).items()}
        schedulers = {"sifter": parameters, "fifo": {"capacity_packets": 50}}
        cases.append((schedulers, operations_of(draw, parameters, 300)))
    return disagreements(HERE, answers, cases)


def order(seed):
    """Study: departures of another rank than the smallest that waits, in 40 draws that keep both conditions.

    `kept` keeps them, `slow` has one less than the smallest speed-up that does, and `small` a mini-PIFO of one packet
    less than twice the threshold. Each scheduler is judged by its own departures; FIFO has no such parameters.
    """
    draw = random.Random(seed)
    rows = {name: {"kept": 0, "slow": 0, "small": 0} for name in ("sifter", "fifo")}
    for _ in range(40):
        kept = parameters_of(draw)
        kept["fifo_packets"] = max(1, kept["fifo_packets"] - draw.choice((0, 0, 1)))
        operations = operations_of(draw, kept, 300)
        for column, change in (
            ("kept", {}),
            ("slow", {"speed_up": max(1, -(-kept["fifo_packets"] // kept["sift_threshold_packets"]) - 1)}),
            ("small", {"mini_pifo_packets": 2 * kept["sift_threshold_packets"] - 1}),
        ):
            found = answers(operations, **kept | change)
            if mismatches(HERE, "sifter", kept | change, operations, found):
                raise RuntimeError("the oracle is not the scheduler's")
            rows["sifter"][column] += inversions(operations, found)
            rows["fifo"][column] += inversions(operations, fifo_answers(operations))
    return {"schedulers": [{"scheduler": name, **row} for name, row in rows.items()]}


def vectors():
    """Return parameters and operations by name: drawn ones, and those of what README.md decides."""
    keys = (
        "mini_pifo_packets", "sift_threshold_packets", "speed_up", "fifos", "fifo_packets", "ranks_per_fifo",
    )  # fmt: skip
    arrivals = {
        # FIFO 1 has room for two: rank 14 is refused, and rank 13 pushes out 15, the largest of the mini-PIFO.
        "overflow": ((2, 1, 2, 4, 2, 10), (10, 15, 16, 17, 18, 13, 14)),
        # Rank 0 sends 5 back to bucket 0, below the window; bucket 4 shares its FIFO and is beyond; bucket 3 is not.
        "window": ((2, 1, 2, 4, 2, 10), (5, 5, 12, 3, 44, 39, 44)),
        # Of two packets of rank 23 that are thrown out, the later one returns first.
        "ties": ((2, 1, 4, 4, 4, 7), (23, 23, 19, 11)),
        # One move after each departure instead of two: 31 leaves before 30.
        "slow": ((2, 1, 1, 6, 2, 3), (31, 30, 30, 26)),
        # One place instead of two in the mini-PIFO: 31 leaves before 30.
        "small": ((1, 1, 2, 6, 2, 3), (31, 30, 26)),
    }
    draw = random.Random(0)
    parameters = parameters_of(draw)
    found = {"drawn": (parameters, operations_of(draw, parameters, 100))}
    for name, (values, ranks) in arrivals.items():
        operations = [["enq", packet, rank] for packet, rank in enumerate(ranks)] + [["deq"]] * (len(ranks) + 1)
        found[name] = dict(zip(keys, values, strict=True)), operations
    return found


if __name__ == "__main__":
    write_vectors(HERE, answers, "sifter", vectors())
