"""Experiments that need no scenario: single batches through the schedulers, hand-made arrivals, and counts.

A study takes a seed and returns tables, as a run does; a column `scheduler` says whose row it is.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pifolab
from pifolab import _pifolab
from pifolab.adversary.explain import names
from pifolab.errors import InputError
from pifolab.lazy import pl
from pifolab.quantities import number
from pifolab.runs import complete
from pifolab.sweep.custom import load

Study = Callable[[int], "dict[str, pl.DataFrame]"]


def _frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), infer_schema_length=None)


def _sent_in_batch(scheduler: pifolab.Scheduler, ranks: Sequence[int]) -> tuple[list[int], int]:
    """Enqueue a batch, then drain it: what was sent, by rank, and how many packets were refused."""
    refused = 0
    for rank in ranks:
        refused += isinstance(scheduler.enqueue(pifolab.Packet(rank)), pifolab.Dropped)
    sent = []
    while isinstance(packet := scheduler.dequeue(), pifolab.Packet):
        sent.append(packet.rank)
    return sent, refused


def _overtaken(sent: Sequence[int], rank: int) -> int:
    """Return how many packets of other ranks leave before packets of `rank`, summed over the latter."""
    others, total = 0, 0
    for one in sent:
        if one == rank:
            total += others
        else:
            others += 1
    return total


def lowest_rank_batches(seed: int) -> dict[str, pl.DataFrame]:
    """PACKS Theorem 3: 400 random batches, enqueued and then drained, through PACKS, AIFO and FIFO alike.

    `interleaved` is the same of four operations with a departure in between.
    """
    draw = random.Random(seed)
    names = ("packs", "aifo", "fifo")
    overtaken, worse = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    batches = 400
    for _ in range(batches):
        window, k = draw.choice([5, 20, 100]), draw.choice(["0", "1/10", "1/2"])
        top = draw.choice([2, 8, 100])
        ranks = [draw.randrange(top) for _ in range(draw.randrange(10, 200))]
        made = (
            pifolab.Packs(queues=4, queue_capacity_packets=10, window=window, k=k),
            pifolab.Aifo(capacity_packets=40, window=window, k=k),
            pifolab.Fifo(capacity_packets=40),
        )
        found = {
            name: _overtaken(_sent_in_batch(scheduler, ranks)[0], min(ranks))
            for name, scheduler in zip(names, made, strict=True)
        }
        for name in names:
            overtaken[name] += found[name]
            worse[name] += found[name] > found["aifo"]
    made = (
        pifolab.Packs(queues=2, queue_capacity_packets=1, window=2, k=0),
        pifolab.Aifo(capacity_packets=2, window=2, k=0),
        pifolab.Fifo(capacity_packets=2),
    )
    rows = [
        {
            "scheduler": name,
            "batches": batches,
            "overtaken": overtaken[name],
            "worse": worse[name],
            "interleaved": _interleaved(scheduler),
        }
        for name, scheduler in zip(names, made, strict=True)
    ]
    return {"schedulers": _frame(rows)}


def _interleaved(scheduler: pifolab.Scheduler) -> int:
    """Return how many packets overtake rank 0: enqueue 0, enqueue 0, dequeue, enqueue 1, and drain."""
    scheduler.enqueue(pifolab.Packet(0))
    scheduler.enqueue(pifolab.Packet(0))
    scheduler.dequeue()
    return _overtaken(_sent_in_batch(scheduler, [1])[0], 0)


def decreasing(seed: int) -> dict[str, pl.DataFrame]:
    """PACKS Claim 1: ranks S, S - 1, ..., 1 into a buffer of B: B packets at first, then one for each that leaves.

    `pairs` counts, for each packet that leaves, those of lower rank that wait: the inversions beyond PIFO's, which has
    none. No seed.
    """
    del seed
    rows = []
    for packets, buffer in itertools.product((200, 400, 800), (12, 24, 48)):
        made: dict[str, pifolab.Scheduler] = {
            "packs": pifolab.Packs(queues=4, queue_capacity_packets=buffer // 4, window=20, k=0),
            "aifo": pifolab.Aifo(capacity_packets=buffer, window=20, k=0),
            "sp-pifo": pifolab.SpPifo(queues=4, queue_capacity_packets=buffer // 4),
            "fifo": pifolab.Fifo(capacity_packets=buffer),
            "pifo": pifolab.Pifo(capacity_packets=buffer),
        }
        for name, scheduler in made.items():
            waiting: list[int] = []
            pairs = 0
            for rank in range(packets, -buffer, -1):
                if rank > 0:
                    answer = scheduler.enqueue(pifolab.Packet(rank))
                    if not isinstance(answer, pifolab.Dropped):
                        waiting.append(rank)
                    for victim in answer.victims if isinstance(answer, pifolab.Evicted) else ():
                        waiting.remove(victim.rank)
                if packets - rank >= buffer and isinstance(sent := scheduler.dequeue(), pifolab.Packet):
                    waiting.remove(sent.rank)
                    pairs += sum(one < sent.rank for one in waiting)
            rows.append({"scheduler": name, "packets": packets, "buffer": buffer, "pairs": pairs})
    return {"schedulers": _frame(rows)}


def bounds_of_eq_10(ranks: Sequence[int], queues: int, room: int) -> list[int]:
    """Return the smallest rank of each queue: each takes as many whole ranks as fit, highest priority first."""
    bounds, held = [min(ranks)], 0
    for rank in sorted(set(ranks)):
        count = ranks.count(rank)
        if held + count > room and len(bounds) < queues:
            bounds.append(rank)
            held = 0
        held += count
    return bounds + [max(ranks) + 1] * (queues - len(bounds))


def mapping_batches(seed: int) -> dict[str, pl.DataFrame]:
    """PACKS section 4.2: 200 batches of 80 packets in random order for 8 queues of 10, bounds chosen in three ways.

    Numbers of packets per rank divide the queue, so that whole ranks fit; otherwise the paper itself refines by time of
    arrival. Inversions are those of the drained batch.
    """
    draw = random.Random(seed)
    lost = {"eq-10": 0, "even": 0, "sp-pifo": 0}
    inversions = dict.fromkeys(lost, 0)
    for _ in range(200):
        copies, power = draw.choice([1, 2, 5]), draw.choice([1, 2, 3])
        ranks = [index**power for index in range(80 // copies)] * copies
        draw.shuffle(ranks)
        made = {
            "eq-10": pifolab.StrictPriority(queues=8, queue_capacity_packets=10, bounds=bounds_of_eq_10(ranks, 8, 10)),
            "even": pifolab.StrictPriority(queues=8, queue_capacity_packets=10, ranks=max(ranks) + 1),
            "sp-pifo": pifolab.SpPifo(queues=8, queue_capacity_packets=10),
        }
        for name, scheduler in made.items():
            sent, refused = _sent_in_batch(scheduler, ranks)
            lost[name] += refused
            lowest_later = [*_suffix_minima(sent)[1:], float("inf")]
            inversions[name] += sum(rank > later for rank, later in zip(sent, lowest_later, strict=True))
    rows = [{"scheduler": name, "lost": lost[name], "inversions": inversions[name]} for name in lost]
    return {"schedulers": _frame(rows)}


def _suffix_minima(values: Sequence[int]) -> list[float]:
    minima: list[float] = []
    lowest = float("inf")
    for value in reversed(values):
        lowest = min(lowest, value)
        minima.append(lowest)
    return minima[::-1]


def trickle(seed: int) -> dict[str, pl.DataFrame]:
    """Exp-PIFO Fig. 7: a trickle (A) and a burst (B) begin together on a link that sends a packet in each slot.

    Ranks are remaining sizes. The rows `pifo` and `burst-first` are PIFO with those ranks and with B always ahead;
    20 pairs of sizes and gaps are drawn so that A is the smaller flow and yet cannot end before B could.
    """
    draw = random.Random(seed)
    totals = {"pifo": [0, 0], "burst-first": [0, 0]}
    ahead = {"pifo": False, "burst-first": True}
    cases = 20
    for _ in range(cases):
        size_a = draw.randrange(5, 15)
        size_b = draw.randrange(2 * size_a, 5 * size_a)
        gap_a = draw.randrange(size_b // size_a + 2, size_b // size_a + 8)
        if size_b >= (size_a - 1) * gap_a + 1:
            gap_a = size_b // (size_a - 1) + 2
        for name, total in totals.items():
            scheduler = pifolab.Pifo(capacity_packets=1000)
            ends = [0, 0]
            slot = left = 0
            waiting = size_a + size_b
            while waiting:
                for flow, size, gap in ((0, size_a, gap_a), (1, size_b, 1)):
                    index, rest = divmod(slot, gap)
                    if rest == 0 and index < size:
                        remaining = size - index
                        rank = remaining + size_b if ahead[name] and flow == 0 else remaining
                        scheduler.enqueue(pifolab.Packet(rank, flow=flow))
                sent = scheduler.dequeue()
                if isinstance(sent, pifolab.Packet):
                    ends[sent.flow] = slot + 1
                    waiting -= 1
                    left += 1
                slot += 1
            total[0] += ends[0]
            total[1] += ends[1]
    rows = [
        {"scheduler": name, "trickle_fct": a / cases, "burst_fct": b / cases, "mean_fct": (a + b) / cases / 2}
        for name, (a, b) in totals.items()
    ]
    return {"schedulers": _frame(rows)}


def orders(seed: int) -> dict[str, pl.DataFrame]:
    """SP-PIFO appendix B.3: 30,000 packets at 1.1 times the rate of departures, ranks 0 to 99 in three orders.

    They rise one by one and drop to 0 again (`rising`), come at random (`random`), or half of them one way and half the
    other (`benign`). Unpifoness is eq. 7's: the highest rank in a packet's queue less its own, at its arrival.
    """
    rows = []
    for name in ("random", "rising", "benign"):
        draw = random.Random(seed)
        scheduler = pifolab.SpPifo(queues=8, queue_capacity_packets=10)
        held: list[dict[int, int]] = [{} for _ in range(8)]
        place: dict[int, int] = {}
        found: list[int] = []
        risen = departures = 0
        for packet in range(30_000):
            if name == "rising" or (name == "benign" and draw.random() < 0.5):
                rank, risen = risen % 100, risen + 1
            else:
                rank = draw.randrange(100)
            answer = scheduler.enqueue(pifolab.Packet(rank, id=packet))
            if isinstance(answer, pifolab.Admitted):
                queue = held[answer.queue]
                found.append(max(0, max(queue.values(), default=0) - rank))
                queue[packet] = rank
                place[packet] = answer.queue
            while departures * 11 < packet * 10:
                departures += 1
                sent = scheduler.dequeue()
                if isinstance(sent, pifolab.Packet):
                    del held[place.pop(sent.id)][sent.id]
        found.sort()
        rows.append(
            {
                "scheduler": name,
                "unpifoness_mean": sum(found) / len(found),
                "unpifoness_p999": float(found[int(0.999 * len(found))]),
            }
        )
    return {"schedulers": _frame(rows)}


def equilibrium(seed: int) -> dict[str, pl.DataFrame]:
    """SP-PIFO appendix B: 60,000 packets of uniform ranks 0 to 99 through 8 or 4 queues that never fill.

    Where push-up and push-down balance (eq. 19 to 21), q_1 = (R - n) / (n + 1) and bounds q_1 + 1 apart; `off` is the
    largest distance of a bound's mean over the second half from there. ``even-8`` has fixed bounds, evenly spread;
    ``sp-pifo-one-8`` pushes down by one in place of the cost.
    """
    ranks, packets = 100, 60_000
    rows = []
    for name, queues, scheduler in (
        ("sp-pifo-8", 8, pifolab.SpPifo(queues=8, queue_capacity_packets=10)),
        ("sp-pifo-4", 4, pifolab.SpPifo(queues=4, queue_capacity_packets=10)),
        ("even-8", 8, pifolab.StrictPriority(queues=8, queue_capacity_packets=10, ranks=ranks)),
        ("sp-pifo-one-8", 8, pifolab.SpPifo(queues=8, queue_capacity_packets=10, push_down="one")),
    ):
        draw = random.Random(seed)
        totals = [0] * queues
        for packet in range(packets):
            scheduler.enqueue(pifolab.Packet(draw.randrange(ranks)))
            scheduler.dequeue()
            if 2 * packet >= packets:
                totals = [total + bound for total, bound in zip(totals, _bounds(scheduler), strict=True)]
        first = (ranks - queues) / (queues + 1)
        means = [2 * total / packets for total in totals]
        off = max(abs(mean - first - place * (first + 1)) for place, mean in enumerate(means))
        rows.append({"scheduler": name, "off": off})
    return {"schedulers": _frame(rows)}


def _bounds(scheduler: pifolab.Scheduler) -> list[int]:
    return [bound for bound in scheduler.bounds if bound is not None]


def _greedy_ends(weights: Sequence[int], bounds: Sequence[int]) -> list[int]:
    """Return where the greedy algorithm's bounds stay if windows have each rank as often as its weight says."""
    ranks = [rank for rank, weight in enumerate(weights) for _ in range(weight)]
    scheduler = pifolab.SpPifoGreedy(
        queues=len(bounds), queue_capacity_packets=1, window_packets=len(ranks), initial_bounds=list(bounds),
        ranks=len(weights), steps="until-convergence",
    )  # fmt: skip
    for rank in ranks:
        scheduler.enqueue(pifolab.Packet(rank))
    return _bounds(scheduler)


def _risk(weights: Sequence[int], bounds: Sequence[int]) -> int:
    """Return the unpifoness of eq. 4 and 5, in units of one over the square of the sum of the weights."""
    ends = [*bounds[1:], len(weights)]
    return sum(
        weights[low] * weights[high] * (high - low)
        for first, end in zip([0, *bounds[1:]], ends, strict=True)
        for low, high in itertools.combinations(range(first, end), 2)
    )


def greedy_convergence(seed: int) -> dict[str, pl.DataFrame]:
    """SP-PIFO section 3.2: where the greedy algorithm ends, beside the optimal bounds.

    ``smallest``: unpifoness with weights 1, 2, 3, 1 of ranks 0 to 3 and three queues, from bounds 0, 1, 2 (no fewer
    queues or ranks, and no smaller sum of weights, have other bounds than the best whose neighbours all cost more).
    ``eight``: with weights 20 20 1 20 1 20 1 1, four queues, from even bounds. ``reached``: the share of 300 random
    distributions of 8 to 12 ranks (weights 1 to 20, 2 to 5 queues, even bounds) in which the optimum is reached. Of
    these, ``theorem_1`` counts bounds and steps whose change of risk is not eq. 9's or 10's, ``theorem_2`` those that
    raise the risk by one step and not by more.
    """
    draw = random.Random(seed)
    cases = 300
    reached = {"greedy": 0, "even": 0}
    theorem_1 = theorem_2 = 0
    for _ in range(cases):
        weights = [draw.randint(1, 20) for _ in range(draw.randint(8, 12))]
        queues = draw.randint(2, 5)
        even = [-(-place * len(weights) // queues) for place in range(queues)]
        best = _risk(weights, pifolab.optimal_bounds(weights, queues))
        reached["even"] += _risk(weights, even) == best
        reached["greedy"] += _risk(weights, _greedy_ends(weights, even)) == best
        bounds = [0, *sorted(draw.sample(range(1, len(weights)), queues - 1))]
        for place in range(1, queues):
            for step in (1, -1):
                changes = _changes(weights, bounds, place, step)
                theorem_1 += changes[:1] != [_predicted(weights, bounds, place, step)]
                theorem_2 += changes[0] > 0 and any(change <= 0 for change in changes)
    rows = []
    for name in ("greedy", "even", "optimal"):
        row: dict[str, Any] = {"scheduler": name}
        for column, weights, bounds in (
            ("smallest", [1, 2, 3, 1], [0, 1, 2]),
            ("eight", [20, 20, 1, 20, 1, 20, 1, 1], [0, 2, 4, 6]),
        ):
            ends = {
                "greedy": _greedy_ends(weights, bounds),
                "even": bounds,
                "optimal": pifolab.optimal_bounds(weights, len(bounds)),
            }
            row[column] = _risk(weights, ends[name])
        row["reached"] = reached[name] / cases if name in reached else 1.0
        row["theorem_1"], row["theorem_2"] = (theorem_1, theorem_2) if name == "greedy" else (None, None)
        rows.append(row)
    return {"schedulers": _frame(rows)}


def _changes(weights: Sequence[int], bounds: Sequence[int], place: int, step: int) -> list[int]:
    """Return by how much the risk changes if a bound moves by one rank, two, ... up to its neighbour."""
    below, above = bounds[place - 1], [*bounds, len(weights)][place + 1]
    ends = range(bounds[place] + step, (above + 1) if step > 0 else (below - 1), step)
    before = _risk(weights, bounds)
    return [_risk(weights, [*bounds[:place], end, *bounds[place + 1 :]]) - before for end in ends]


def _predicted(weights: Sequence[int], bounds: Sequence[int], place: int, step: int) -> int:
    """Return the change of the risk by one step after eq. 9, or 10."""
    moved = bounds[place] if step > 0 else bounds[place] - 1
    lower = range(bounds[place - 1], bounds[place])
    higher = range(bounds[place], [*bounds, len(weights)][place + 1])
    there, here = (lower, higher) if step > 0 else (higher, lower)
    added = sum(weights[rank] * abs(rank - moved) for rank in there)
    return weights[moved] * (added - sum(weights[rank] * abs(rank - moved) for rank in here))


def dedicated_queue(seed: int) -> dict[str, pl.DataFrame]:
    """SP-PIFO section 7: 100,000 packets of uniform ranks 0 to 99 at 1.1 times the rate of departures, room for 80.

    `dedicated` has a queue of 10 for ranks 0 to 9, served first, and SP-PIFO with seven queues for the others;
    `sp-pifo` has eight queues, `pifo` one buffer. `overtaken` counts packets of other ranks that are sent while one of
    ranks 0 to 9 waits, `inversions_of_others` those of ranks 10 to 99 that are sent while a lower one of them waits.
    """
    made: dict[str, pifolab.Scheduler] = {
        "dedicated": pifolab.SpPifo(queues=7, queue_capacity_packets=10),
        "sp-pifo": pifolab.SpPifo(queues=8, queue_capacity_packets=10),
        "pifo": pifolab.Pifo(capacity_packets=80),
    }
    rows = []
    for name, others in made.items():
        draw = random.Random(seed)
        first = pifolab.Fifo(capacity_packets=10)
        waiting = [0] * 100
        overtaken = inversions = dropped = departures = 0
        for packet in range(100_000):
            rank = draw.randrange(100)
            queue = first if name == "dedicated" and rank < 10 else others
            answer = queue.enqueue(pifolab.Packet(rank, id=packet))
            if isinstance(answer, pifolab.Dropped):
                dropped += 1
            else:
                waiting[rank] += 1
                for victim in answer.victims if isinstance(answer, pifolab.Evicted) else ():
                    waiting[victim.rank] -= 1
                    dropped += 1
            while departures * 11 < packet * 10:
                departures += 1
                sent = first.dequeue()
                if not isinstance(sent, pifolab.Packet):
                    sent = others.dequeue()
                if isinstance(sent, pifolab.Packet):
                    waiting[sent.rank] -= 1
                    if sent.rank >= 10:
                        overtaken += any(waiting[:10])
                        inversions += any(waiting[10 : sent.rank])
        rows.append(
            {"scheduler": name, "overtaken": overtaken, "inversions_of_others": inversions, "dropped_packets": dropped}
        )
    return {"schedulers": _frame(rows)}


_SIZES_ONLY = """
duration_s = 0.0001
[topology]
kind = "leaf-spine"
leaves = 9
spines = 4
hosts_per_leaf = 16
access_rate_gbps = 1
fabric_rate_gbps = 4
delay_ns = 20
[transport]
name = "pfabric"
[workload.flows]
arrivals = "poisson"
starts_per_s = 1e8
sizes = "{sizes}"
interpolation = "step-upper"
pairs = "uniform"
[metrics]
watch_ports = false
[[scheduler]]
name = "pifo"
"""


def rank_exponents(seed: int) -> dict[str, pl.DataFrame]:
    """Exp-PIFO Fig. 4 and section 2.3: 10,000 flows of three workloads, ranks by remaining size, six exponential bins.

    Sizes are drawn by the simulator's own workloads, taken as the point above (the tables' largest flows are otherwise
    cut off). A flow of S bytes sends its packets with ranks S, S - 1460, ...; the exponent of a rank is the floor of
    its binary logarithm, the bins are Exp-PIFO's with r_min = 1500.
    """
    mss, queues, r_min = 1460, 6, 1500
    rows = []
    for sizes in ("web-search", "data-mining", "hadoop"):
        run = complete(pifolab.run_text(_SIZES_ONLY.format(sizes=sizes), f"{sizes}.toml", seeds=[seed], workers=1))
        flows = run.tables["flows"]["size_bytes"]
        largest = int(flows.max())  # type: ignore[arg-type]
        beta = max(0, (largest // r_min).bit_length() - 1)
        exponents = pl.Series([int(size).bit_length() - 1 for size in flows])
        smallest_rank = pl.Series([int(size) - (int(size) - 1) // mss * mss for size in flows])
        bins = [0] * queues
        packets = 0
        for size in flows:
            # Ranks size, size - mss, ...: how many lie in each bin is counted without walking through them.
            count = (int(size) + mss - 1) // mss
            packets += count
            above = count
            for queue in range(queues):
                upper = int(r_min * 2 ** (beta * (queue + 1) / queues)) if queue < queues - 1 else None
                over = 0 if upper is None or size <= upper else (int(size) - upper + mss - 1) // mss
                bins[queue] += above - over
                above = over
        rows.append(
            {
                "scheduler": sizes,
                "flows": flows.len(),
                "exponent_min": int(exponents.min()),  # type: ignore[arg-type]
                "exponent_max": int(exponents.max()),  # type: ignore[arg-type]
                "smallest_rank": int(smallest_rank.min()),  # type: ignore[arg-type]
                "exponent_median": float(exponents.median()),  # type: ignore[arg-type]
                "top_bin_share": bins[-1] / packets,
                **{f"bin_{queue}_share": share / packets for queue, share in enumerate(bins)},
            }
        )
    return {"schedulers": _frame(rows)}


def switch_resources(seed: int) -> dict[str, pl.DataFrame]:
    """Return what the compiler for Tofino counts for each P4 program, ``-tofino2`` for the other chip; no seed."""
    del seed
    programs = json.loads(_pifolab.p4_resources())["programs"]
    rows = [
        {"scheduler": name.replace("_", "-") + ("" if target == "tofino" else f"-{target}"), **counted}
        for target, of in programs.items()
        for name, counted in of.items()
    ]
    return {"schedulers": _frame(rows).drop("digest")}


def min_max_score(seed: int) -> dict[str, pl.DataFrame]:
    """RIFO section IV.A: the score of a rank beside its quantile, for uniform ranks and ranks with a mean above half.

    `rising` has 0 to 99 with densities exp((r - 99) / 25). ``near_min`` is the share of the ranks of the lowest quarter
    whose score is below the quantile, ``near_max`` the share of the highest quarter whose score is above it, Min and
    Max apart. In 400 windows of 100 ranks, ``beyond`` is the share in which score and quantile are somewhere more than
    `eps` apart, ``sampled`` the same of the window's own distribution, which Dvoretzky, Kiefer and Wolfowitz bound
    by 2 exp(-2 n eps^2): 0.05.
    """
    draw = random.Random(seed)
    window, windows = 100, 400
    eps = math.sqrt(math.log(2 / 0.05) / (2 * window))
    rising = [math.exp((rank - 99) / 25) for rank in range(100)]
    rows = []
    for name, weights in (("uniform", [1.0] * 100), ("rising", rising)):
        quantile = [upto / sum(weights) for upto in itertools.accumulate(weights)]
        beyond = sampled = 0
        for _ in range(windows):
            held = draw.choices(range(100), weights, k=window)
            low, high = min(held), max(held)
            counts = [0] * 100
            for rank in held:
                counts[rank] += 1
            own = [upto / window for upto in itertools.accumulate(counts)]
            beyond += any(abs(quantile[r] - (r - low) / (high - low)) > eps for r in range(low, high + 1))
            sampled += any(abs(one - true) > eps for one, true in zip(own, quantile, strict=True))
        rows.append(
            {
                "scheduler": name,
                "near_min": sum(r / 99 < quantile[r] for r in range(1, 25)) / 24,
                "near_max": sum(r / 99 > quantile[r] for r in range(75, 99)) / 24,
                "beyond": beyond / windows,
                "sampled": sampled / windows,
            }
        )
    return {"schedulers": _frame(rows)}


def worst_cases(seed: int) -> dict[str, pl.DataFrame]:
    """PACKS Fig. 16 to 23: the optimal traces, two rows for each figure; `seed` plays no part.

    The row ``16-a`` is the scheduler that the trace of Fig. 16 hurts, ``16-b`` the other one. ``18-most`` and
    ``19-most`` have as their gap the most packets of rank 1 that any trace makes one drop beyond the other. The gap of
    ``20-described`` is the largest of all traces of which is true what the paper says of its trace in Fig. 20.
    """
    from pifolab_papers.worst_cases import DESCRIBED, FIGURES, described, rank_1_dropped, rank_1_inversions, worst

    rows = []
    for figure in FIGURES:
        answer = worst(figure.number)
        story = answer.story()
        for side in names(answer):
            rows.append(
                {
                    "scheduler": f"{figure.number}-{side}",
                    "gap": number(answer.gap),
                    "proven": int(answer.proven),
                    "rank_1_dropped": rank_1_dropped(answer.trace, story[side]),
                    "rank_1_inversions": rank_1_inversions(answer.trace, story[side]),
                    "empty_share": _empty_share(story[side]["moments"], 12),
                    "cost": number(Fraction(*story[side]["value"])),
                }
            )
    for figure_number in (18, 19):
        answer = worst(figure_number, metric="drops")
        rows.append({"scheduler": f"{figure_number}-most", "gap": number(answer.gap), "proven": int(answer.proven)})
    for about in DESCRIBED:
        rows.append({"scheduler": f"{about.number}-described", "gap": number(described(about.number)), "proven": 1})
    return {"schedulers": _frame(rows)}


def rising_adversary(seed: int) -> dict[str, pl.DataFrame]:
    """SP-PIFO B.3: the worst trace whose ranks rise within each of three flows, and benign random packets between them.

    The gap is the weighted inversions against PIFO. `rising`: the worst trace of twelve packets, proven. `disturbed`:
    the same trace with a benign packet of a random rank after every third one, mean of 50. `foreseen`: the worst trace
    of an adversary that knows the benign packets, proven, mean of three. `random`: mean of 400 random traces of twelve
    packets.
    """
    draw = random.Random(seed)
    ranks, packets, room = (1, 6), 12, {"queues": 3, "queue_capacity_packets": 16}

    def search(packets: int, **constraint: Any) -> pifolab.adversary.Answer:
        return pifolab.attack(
            "sp-pifo", "pifo", metric="WI", packets=packets, ranks=ranks, a_options=room,
            b_options={"capacity_packets": 48}, time_limit_s=None, workers=1, **constraint,
        )  # fmt: skip

    def gap_of(trace: Sequence[int]) -> float:
        return float(number(search(len(trace), benign=dict(enumerate(trace))).gap))

    def mean(gaps: Sequence[float]) -> float:
        return sum(gaps) / len(gaps)

    def benign() -> dict[int, int]:
        return {place: draw.randint(*ranks) for place in range(3, 16, 4)}

    def disturbed(trace: Sequence[int]) -> list[int]:
        own = iter(trace)
        between = benign()
        return [between[place] if place in between else next(own) for place in range(16)]

    rising = search(packets, flows=3)
    gaps = {
        "rising": float(number(rising.gap)),
        "disturbed": mean([gap_of(disturbed(rising.trace)) for _ in range(50)]),
        "foreseen": mean([float(number(search(16, flows=3, benign=benign()).gap)) for _ in range(3)]),
        "random": mean([gap_of([draw.randint(*ranks) for _ in range(packets)]) for _ in range(400)]),
    }
    return {"schedulers": _frame([{"scheduler": name, "gap": gap} for name, gap in gaps.items()])}


def _empty_share(moments: Sequence[Mapping[str, Any]], room: int) -> float:
    """Return the share of the buffer that was empty when a packet was last dropped; 0 if none was."""
    empty = 0.0
    for moment in moments:
        if moment["event"] == "dropped":
            empty = 1 - sum(map(len, moment["queues"])) / room
    return empty


#: What an experiment can name as its study.
STUDIES: Mapping[str, Study] = {
    function.__name__.replace("_", "-"): function
    for function in (
        lowest_rank_batches,
        decreasing,
        mapping_batches,
        trickle,
        orders,
        dedicated_queue,
        equilibrium,
        greedy_convergence,
        rank_exponents,
        switch_resources,
        min_max_score,
        worst_cases,
        rising_adversary,
    )
}


def study_of(study: str, folder: Path) -> Any:
    """Return the function that an experiment of a paper's folder names as ``"file.py:function"``."""
    file, _, function = study.rpartition(":")
    made = load(str((folder / file).absolute()), function) if file and function else None
    if not callable(made):
        raise InputError('expected "file.py:function"')
    return made
