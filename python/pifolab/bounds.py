"""The best fixed bounds of strict-priority queues for a rank distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pifolab import _pifolab
from pifolab.errors import InputError


def optimal_bounds(
    weights: Sequence[int] | Mapping[int, int],
    queues: int = 8,
    *,
    cost: str = "difference",
    combine: str = "sum",
) -> list[int]:
    """Return the lowest rank of each queue, highest priority first, so that the bounds cost least.

    Parameters
    ----------
    weights : sequence or mapping of int
        The frequency of each rank, on any scale up to a sum of 2^48: one weight for each rank from 0 up, or by rank.
    queues : int
        The number of queues.
    cost : str
        The cost of the ranks lo to hi - 1 in one queue, whose weights are p with the sum P: ``difference``, the sum
        over a < b of p(a) p(b) (b - a); ``one``, of p(a) p(b); ``upper``, P (hi - lo - 1) / 2; ``exact``, `difference`
        / P.
    combine : str
        Whether the ``sum`` over queues is smallest or the largest of them (``max``).

    Raises
    ------
    InputError
        A word that does not exist, or weights or queues that are out of range.

    Examples
    --------
    >>> import pifolab
    >>> pifolab.optimal_bounds([1] * 60, 3, cost="upper")
    [0, 20, 40]
    """
    if isinstance(weights, Mapping):
        weights = [weights.get(rank, 0) for rank in range(max(weights, default=-1) + 1)]
    for rank, weight in enumerate(weights):
        if not 0 <= weight <= 1 << 48:
            raise InputError(f"weight {weight} of rank {rank}: expected an integer from 0 to 2^48")
    if not 1 <= queues <= 1024:
        raise InputError(f"queues = {queues}: expected an integer from 1 to 1024")
    return _pifolab.optimal_bounds(list(weights), queues, cost, combine)


def rank_weights(distribution: str, *, mean: float | None = None, ranks: int = 100) -> list[int]:
    """Return the weights of ranks 0 to `ranks` - 1 in a distribution of the papers, as multiples of 2^-47.

    Parameters
    ----------
    distribution : str
        ``uniform``, ``exponential``, ``inverse-exponential``, ``poisson`` or ``convex``, as scenarios draw them.
    mean : float, optional
        Of the exponential or Poisson variate; default: the papers'.
    ranks : int
        Higher ranks are left out; the other weights do not change.
    """
    if not 1 <= ranks <= 1 << 16:
        raise InputError(f"ranks = {ranks}: expected an integer from 1 to 65536")
    return _pifolab.rank_weights(distribution, mean, ranks)
