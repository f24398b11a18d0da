"""RIFO section IV.A: with a mean above half the score is above the quantile near Min, too (claim ri12).

Ranks 0 to 3 with the probabilities 1/10, 2/10, 3/10, 4/10: the mean is 2, above the middle, 1.5. The text has the score
below the quantile near Min. The largest distance is one of shape, so that no number of samples reduces it below
the bound 2 exp(-2 n eps^2).
"""

from fractions import Fraction
from math import exp

PROBABILITIES = [Fraction(weight, 10) for weight in (1, 2, 3, 4)]
mean = sum(rank * share for rank, share in enumerate(PROBABILITIES))
assert mean > Fraction(3, 2)
distances = []
for rank in (1, 2):
    score, quantile = Fraction(rank, 3), sum(PROBABILITIES[: rank + 1])
    distances.append(abs(score - quantile))
    print("rank", rank, "has the score", score, "and the quantile", quantile)
    assert score > quantile
# With every rank in the window the score is exact, and still so far off with certainty.
samples, eps = 100_000, Fraction(3, 100)
print("the probability of", eps, "is 1, the bound with", samples, "samples", 2 * exp(-2 * samples * float(eps) ** 2))
assert max(distances) > eps
