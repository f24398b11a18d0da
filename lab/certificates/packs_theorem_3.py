"""PACKS Theorem 3: with a departure in between PACKS inverts the lowest rank where AIFO does not (claim pk16).

Two queues of one packet against one of two; a window of two ranks, k = 0. Enqueue 0, 0; dequeue one; enqueue 1; drain.
The second 0 waits in queue 2 when the 1 arrives and finds queue 1 empty.
"""


def sent(capacities):
    """Return what is sent with queues of these capacities."""
    window, queues, out = [], [[] for _ in capacities], []
    for operation in (0, 0, "dequeue", 1, "dequeue", "dequeue"):
        if operation == "dequeue":
            out.append(next(queue for queue in queues if queue).pop(0))
            continue
        window = [*window, operation][-2:]
        quantile = sum(rank < operation for rank in window) / len(window)
        free = 0
        for queue, capacity in zip(queues, capacities, strict=True):
            free += capacity - len(queue)
            # Both papers' test: the quantile is at most the share of the buffer that is free up to this queue.
            if quantile <= free / sum(capacities) and len(queue) < capacity:
                queue.append(operation)
                break
    return out


packs, aifo = sent([1, 1]), sent([2])
print("PACKS sends", packs, "and AIFO", aifo)
assert packs == [0, 1, 0]
assert aifo == [0, 0, 1]
