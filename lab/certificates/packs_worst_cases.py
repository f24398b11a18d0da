"""PACKS Fig. 19 to 22: traces that are worse than those of the paper (claim pk18).

Fifteen packets arrive, then all leave; three queues, window of four, k = 0. A dropped packet of rank r costs 11 - r
(Fig. 19 and 22), one that is sent 11 - r for each packet of higher rank before it (Fig. 20 and 21). The paper's own
traces, as it describes them, have at most 30 of 47, and 44 of 60, in Fig. 19 and 22.
"""


def queued(scheduler, trace, window, room):
    """Return the packets in the order in which they leave."""
    queues, bounds = [[], [], []], [0, 0, 0]
    for rank in trace:
        window = [*window, rank][-4:]
        free = [room - len(queue) for queue in queues]
        if scheduler == "sp-pifo":
            # All bounds move down before the queue is chosen; a packet that is dropped leaves them.
            shifted = [bound - max(0, bounds[0] - rank) for bound in bounds]
            queue = max([0, *(i for i in range(3) if rank >= shifted[i])])
            bounds = [*shifted[:queue], rank, *shifted[queue + 1 :]] if free[queue] else bounds
            fits = [queue] if free[queue] else []
        else:
            lower = sum(held < rank for held in window)
            fits = [i for i in range(3) if free[i] and lower * 3 * room <= 4 * sum(free[: i + 1])]
        if fits:
            queues[fits[0]].append(rank)
    return [rank for queue in queues for rank in queue]


def cost(sent, trace, inversions):
    """Return the weighted inversions, or the weighted drops."""
    if inversions:
        return sum((11 - rank) * sum(one > rank for one in sent[:place]) for place, rank in enumerate(sent))
    return sum(11 - rank for rank in trace) - sum(11 - rank for rank in sent)


for figure, a, b, window, room, inversions, gap, trace in (
    (19, "packs", "sp-pifo", [1, 2, 1, 1], 4, False, 47, [3, 2, 1, 1, 3, 4, 5, 11, 11, 1, 1, 2, 2, 3, 3]),
    (20, "sp-pifo", "packs", [1, 1, 1, 1], 15, True, 611, [1, 1, 1, 1, 1, 11, 2, 2, 2, 10, 8, 4, 5, 5, 3]),
    (21, "packs", "sp-pifo", [1, 1, 11, 11], 15, True, 725, [11] * 5 + [2] * 5 + [1] * 5),
    (22, "packs", "pifo", [1, 1, 1, 1], 4, False, 60, [11, 1, 1, 11, 11, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]),
):
    sent_a = queued(a, trace, window, room)
    sent_b = sorted(trace)[:12] if b == "pifo" else queued(b, trace, window, room)
    found = cost(sent_a, trace, inversions) - cost(sent_b, trace, inversions)
    print(f"Fig. {figure}: {a} against {b}, gap {found}; {a} sends {sent_a}")
    assert found == gap
