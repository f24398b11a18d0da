"""Shares of room by dithered quantile registers: a variant with 16 registers.

`pifolab.slack.bar` measures it in every cell of the bar, and writes docs/slack-dithered.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from pifolab.slack.page import is_met
from pifolab.slack.variants import REGISTERS, SharesOfRoom

__all__ = ["DitheredShares", "page"]

#: The counter turns by the golden section of 2^16 for each packet, which spreads its phases evenly.
TURN, CIRCLE = 40503, 1 << 16


class DitheredShares(SharesOfRoom):
    """PACKS's admission and a geometric map, on 14 quantile registers, the highest rank and a counter of packets.

    A register that follows the quantile q of whole ranks comes to rest beside the rank that q lies in and says no more.
    Here it is compared with the rank plus a fraction that is spread evenly over [0, 1): then it comes to rest where the
    share of ranks below it, linear between whole ranks, is q, and the share below a rank is read off between registers
    without a bias. The fraction is the phase of the counter.

    The highest `top` registers stand at 1 - 3/(4 B), 1 - 6/(4 B), 1 - 12/(4 B), .. for a buffer of B packets, since
    admission is decided there; the others evenly below. A step is `step` ranks, and up to 16 times that among the first
    8 `settle` packets.

    A packet is refused if its quantile is above `admit` times the free share of the buffer. Queue i takes a share of
    the quantiles of its weight times its free places; weights shrink by equal factors down to `last` for the last one.
    """

    def __init__(
        self,
        queues: int,
        depth: int,
        *,
        last: float = 0.6,
        admit: float = 1.003,
        step: float = 0.04,
        settle: int = 500,
        top: int = 6,
        dither: bool = True,
        ranks: int = 100,
    ) -> None:
        super().__init__(queues, depth, admit=admit, ranks=ranks)
        buffer = queues * depth
        weights = [last ** (place / (queues - 1)) for place in range(queues)]
        self._weights = [weight / sum(weights) / depth for weight in weights]
        count = REGISTERS - 2
        high = [1 - 0.75 * 2**place / buffer for place in reversed(range(top))]
        below = high[0] if high else 1.0
        places = count - top
        self._quantiles = [below * (place + 1) / (places + 1) for place in range(places)] + high
        self._at = [ranks * quantile for quantile in self._quantiles]
        self._count = 0
        self._step, self._settle, self._dither = step, settle, dither

    def quantile(self, rank: int) -> float:
        """Return the share of ranks below `rank` by the registers, which then move."""
        self._top = max(self._top, rank)
        self._count += 1
        step = self._step
        for gear in range(4):
            if self._count < self._settle << gear:
                step *= 16 >> gear
                break
        dithered = rank + (self._count * TURN % CIRCLE / CIRCLE if self._dither else 0)
        reached, low, high, moved = 0, 0.0, float("inf"), []
        for at, quantile in zip(self._at, self._quantiles, strict=True):
            if at <= rank:
                reached += 1
                low = max(low, at)
            else:
                high = min(high, at)
            moved.append(at + step * (quantile if dithered >= at else quantile - 1))
        self._at = moved
        if reached == len(moved):
            high = self._top + 1.0
        before = self._quantiles[reached - 1] if reached else 0.0
        after = self._quantiles[reached] if reached < len(moved) else 1.0
        inside = (rank - low) / (high - low) if high > low else 0.0
        return before + (after - before) * min(max(inside, 0.0), 1.0)


def page(pairs: Sequence[tuple[float, float]], seeds: int, packets: int) -> str:
    """Return docs/slack-dithered.md: `pairs` are the ratios to PACKS of inversions and misdrops, of every cell."""
    return _PAGE.format(
        seeds=seeds,
        packets=packets,
        met=sum(is_met(*pair) for pair in pairs),
        cells=len(pairs),
        fewer=sum(pair[0] < 1 for pair in pairs),
        like=sum(pair[1] <= 1.05 for pair in pairs),
        worst=max(pair[0] for pair in pairs),
    )


_PAGE = """# Dithered quantiles: sixteen registers against the bar

[slack.md](slack.md) has the bar; [slack-variants.md](slack-variants.md) has variants that miss it, since their
registers tell quantiles with a bias. Here is why they do, and a cure. [slack-bar.md](slack-bar.md) has what it comes
to, cell by cell. Written by `python -m pifolab.slack.bar docs`.

With {seeds} seeds of {packets:,} packets **{met} of {cells} cells are met** ({fewer} have fewer inversions than PACKS
with a window of 1000, {like} no more misdrops); inversions are {worst:.2f} times its where they are worst.

## Why

- **A register beside whole ranks tells little.** It rises while the share of ranks below it is less than q, and falls
  while it is more; of whole ranks one has less below it and the next one more, so that the register rests between the
  two whatever q is within that step. Read between registers, quantiles err by up to the share of a rank: by 0.022 in
  the highest sixteenth of inverse exponential ranks, which is nearly two places of a buffer of 80.
- **A fraction in [0, 1) added to the rank before it is compared** makes the share below a register a line between
  whole ranks; it rests where that line is q, and the share below a rank is read off without a bias (0.001 for the
  same ranks). The fraction needs no randomness: a counter of packets that turns by the golden section is spread
  evenly. The register that it takes also tells how long the scheduler runs, so that steps can be large at first.
- **Registers at 1 - 3/(4 B), 1 - 6/(4 B), ..** tell admission where it is decided, the last places of the buffer,
  also where the tail of ranks is thin.
- [slack-limits.md](slack-limits.md): what exact quantiles would do.

## What does not hold

- Weights, admission and step were tuned on uniform and inverse exponential ranks, with another program and other seeds.
  The form (dither, registers at high quantiles, large steps at first) was compared on other seeds of all five, so that
  none is wholly untouched here but for its seeds.
- **What it is held against errs, too.** PACKS's window of 1000 ranks tells a quantile q with a standard error of the
  root of q (1 - q) / 1000, up to 0.016: more than one place of a buffer of 80. It is an error of the yardstick, which
  can go either way: [slack-bar.md](slack-bar.md) has PACKS with a window of 10000 beside it, and
  [slack-limits.md](slack-limits.md) what exact quantiles do.
- It is a prototype in Python, in floating point, with neither an oracle nor an eBPF program. All 16 registers take
  one stateful operation each; the interpolation between two of them is a division, which a switch would look up.
"""
