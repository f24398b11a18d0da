"""SP-PIFO section 3.2: the greedy algorithm need not reach the optimal bounds (claim sp25).

Ranks 0 to 3 come with weights 1, 2, 3, 1; three queues, of which the first begins at rank 0. Two ranks in one queue
cost the product of their weights times their distance (eq. 5). No step of one bound lowers the cost of (0, 1, 2): it
is 3, and every neighbour costs more. The bounds (0, 2, 3) cost 2.
"""

from itertools import combinations

WEIGHTS = (1, 2, 3, 1)


def cost(bounds):
    """Return what the bounds cost."""
    queues = zip(bounds, (*bounds[1:], len(WEIGHTS)), strict=True)
    return sum(WEIGHTS[a] * WEIGHTS[b] * (b - a) for low, high in queues for a, b in combinations(range(low, high), 2))


stuck, best = (0, 1, 2), (0, 2, 3)
neighbours = [(0, 0, 2), (0, 2, 2), (0, 1, 1), (0, 1, 3)]
for bounds in (stuck, *neighbours, best):
    print(bounds, "costs", cost(bounds))
assert all(cost(bounds) > cost(stuck) for bounds in neighbours)
assert cost(best) < cost(stuck)
