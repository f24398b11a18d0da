"""Shares of room by dithered quantile registers: a variant with 16 registers.

`slack.bar` measures it in every cell of the bar, and writes lab/pages/slack-dithered.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from slack.page import is_met
from slack.variants import REGISTERS, SharesOfRoom

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
    """Return lab/pages/slack-dithered.md: `pairs` are the ratios to PACKS of inversions and misdrops, of every cell."""
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

[slack.md](slack.md) defines the bar. The variants in [slack-variants.md](slack-variants.md) miss it, since the
quantiles of their registers have a bias. This page explains the bias and removes it. [slack-bar.md](slack-bar.md) has
the result, cell by cell. Written by `python -m slack.bar lab/pages`.

With {seeds} seeds of {packets:,} packets **{met} of {cells} cells are met** ({fewer} have fewer inversions than PACKS
with a window of 1000, {like} no more misdrops); inversions are {worst:.2f} times its where they are worst.

## Why

- **A register that is compared with whole ranks says little.** It rises while the share of ranks below it is less
  than q, and falls while it is more. With whole ranks, one rank has less below it and the next one more. The register
  therefore settles between the two, for every q within that step. Between registers, quantiles are wrong by up to the
  share of a rank: by 0.022 in the highest sixteenth of inverse exponential ranks, which is nearly two places of a
  buffer of 80.
- **A fraction in [0, 1) is added to the rank before it is compared.** The share below a register is then linear
  between whole ranks. The register settles where this line reaches q, and the share below a rank can be read without
  a bias (0.001 for the same ranks). The fraction needs no random numbers: a counter of packets times the golden
  section is spread evenly. The register for this counter also tells how long the scheduler has run, so that steps can
  be large at first.
- **Registers at 1 - 3/(4 B), 1 - 6/(4 B), ..** tell admission what it needs for the last places of the buffer, also
  if the tail of the ranks is thin.
- [slack-limits.md](slack-limits.md) shows what exact quantiles would achieve.

## What does not hold

- Weights, admission and step were tuned on uniform and inverse exponential ranks, with another program and other
  seeds. The design (dither, registers at high quantiles, large steps at first) was compared on other seeds of all
  five distributions. So no distribution is entirely new here; only the seeds are.
- **The yardstick is not exact either.** PACKS's window of 1000 ranks estimates a quantile q with a standard error of
  the root of q (1 - q) / 1000, up to 0.016: more than one place of a buffer of 80. This error can help or harm PACKS.
  [slack-bar.md](slack-bar.md) shows PACKS with a window of 10000 as well, and [slack-limits.md](slack-limits.md)
  exact quantiles.
- This is a prototype in Python, with floating point. It has neither an oracle nor an eBPF program. Each of the 16
  registers takes one stateful operation. The interpolation between two of them is a division, for which a switch
  would use a table.
"""
