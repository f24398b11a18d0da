"""Four flows of four ranks: what the newest one gets of the link, and why it is not all of it.

``python -m slack.few lab/pages`` runs the flows of the testbed's `udp-four-flows` in the simulator, which takes some
seconds, and writes lab/pages/slack-few-ranks.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from pifolab.export import table_lines, write_text
from pifolab.lazy import pl
from pifolab.runs import complete, run_text
from pifolab.scenario import inline_toml
from pifolab_papers.execute import experiments_folder

__all__ = ["BOUNDED", "SCHEDULERS", "SEEDS", "expected", "page", "shares"]

SEEDS = (1, 2, 3)
PHASE_NS = 2_000_000_000
#: The first quarter of a phase is left out, as in the testbed: queues still hold packets of the phase before.
SETTLING_NS = PHASE_NS // 4

#: By label: the scheduler's name and what is not its default. The default is 8 queues of 10.
SCHEDULERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "pifo": ("pifo", {}),
    "sp-pifo": ("sp-pifo", {}),
    "packs": ("packs", {"k": "0.1", "window": 20}),
    "packs, map = geometric": ("packs", {"k": "0.1", "window": 20, "map": "geometric"}),
    "slack-sp": ("slack-sp", {}),
    "slack-sp, step = 1/8": ("slack-sp", {"step": "1/8"}),
    "slack-sp, eps = 1/50": ("slack-sp", {"eps": "1/50"}),
    "slack-sp, 32 queues of 3": ("slack-sp", {"queues": 32, "queue_capacity_packets": 3}),
    "slack-sp, map = shares": ("slack-sp", {"map": "shares"}),
}

#: The labels above whose first bound follows a quantile of the ranks, with its eps and its number of queues.
BOUNDED: Mapping[str, tuple[Fraction, int]] = {
    label: (Fraction(SCHEDULERS[label][1].get("eps", "1/10")), SCHEDULERS[label][1].get("queues", 8))
    for label in ("slack-sp", "slack-sp, step = 1/8", "slack-sp, eps = 1/50", "slack-sp, 32 queues of 3")
}


def shares(seeds: Sequence[int] = SEEDS) -> dict[str, list[float]]:
    """Return by label the share of the link that the newest of 2, 3 and 4 flows gets, in the mean of the seeds."""
    written = (experiments_folder() / "testbed" / "udp-four-flows.toml").read_text(encoding="utf-8")
    lines = [written[: written.index("[[scheduler]]")]]
    for label, (name, parameters) in SCHEDULERS.items():
        lines += ["[[scheduler]]", f'name = "{name}"', f'label = "{label}"']
        lines += [f"{key} = {inline_toml(value)}" for key, value in parameters.items()]
    run = complete(run_text("\n".join(lines), "four flows", seeds=seeds))
    settled = run.tables["throughput"].filter(pl.col("start_ns") % PHASE_NS >= SETTLING_NS)
    phases = settled.group_by("scheduler", (pl.col("start_ns") // PHASE_NS).alias("phase")).agg(
        (pl.col("bytes").filter(pl.col("flow") == pl.col("start_ns") // PHASE_NS).sum() / pl.col("bytes").sum()).alias(
            "newest"
        )
    )
    found = {(scheduler, phase): newest for scheduler, phase, newest in phases.iter_rows()}
    return {label: [found[label, phase] for phase in (1, 2, 3)] for label in SCHEDULERS}


def expected(eps: Fraction, queues: int) -> float | None:
    """Return the share that the newest of four flows should get, or none where the first bound rests below its rank.

    The first bound follows the quantile q. A quarter of the packets is below the second flow's rank, and half below the
    third's: with q between them, the bound is above the second flow's rank for (q - 1/4) / (1/4) of the time.
    """
    quantile = 1 - float(eps) ** (1 / (queues - 1))
    intruders = 4 * (quantile - 0.25)
    return 1 / (1 + intruders) if 0 < intruders < 1 else None


def page(found: Mapping[str, Sequence[float]], seeds: Sequence[int] = SEEDS) -> str:
    """Return lab/pages/slack-few-ranks.md."""
    rows = []
    for label, newest in found.items():
        of_four = expected(*BOUNDED[label]) if label in BOUNDED else None
        told = "" if of_four is None else f"{of_four:.3f}"
        rows.append([label, *(f"{share:.3f}" for share in newest), told])
    lines = table_lines(["newest of", "2 flows", "3 flows", "4 flows", "expected of 4"], rows)
    quantile = 1 - 0.1 ** (1 / 7)
    head, why = (
        _HEAD.format(seeds=f"{seeds[0]} to {seeds[-1]}"),
        _WHY.format(quantile=quantile, above=4 * (quantile - 0.25)),
    )
    return "\n".join([head, *lines, why])


_HEAD = """# Few ranks: what the newest of four flows gets

Four UDP flows, each at the rate of the link, start two seconds apart with ranks 32, 8, 4 and 2. PIFO gives all of the
link to the newest one. The table has the newest flow's share of the link in the simulator, after the first half second
of each phase, in the mean of seeds {seeds}. Schedulers have 8 queues of 10 packets (PIFO 80), and PACKS has a window of
20 with k = 0.1, if the row does not say otherwise. `python -m slack.few lab/pages` writes this page.
"""

_WHY = """
**Slack-SP keeps a part of the link from the newest flow, and that is its design.** Its bounds follow fixed quantiles of
the ranks. The first of eight queues is for the lowest {quantile:.3f} of all packets. With four flows the newest one
has 0.25 of them. So the first bound can rest neither at the rank of the second flow (0.25 of the packets are below) nor
above it (0.5): it goes back and forth, and is above that rank for {above:.3f} of the time, which is
({quantile:.3f} - 0.25) / 0.25. As many of the second flow's packets come to the first queue. The newest flow alone
fills the link, so the queue is full, and all that come to it share the link as they come: 1 / (1 + {above:.3f})
remains. The last column is this number. It leaves out that the bound's stays above the rank come in runs.

A smaller step does not help, since the share of time is the same. A smaller eps makes the first queue wider, and the
newest flow's share smaller. With more queues the first bounds follow quantiles below 0.25, and only a later one strays.

SP-PIFO and PACKS do not have this. SP-PIFO moves a bound to a rank that it has seen, and has no quantile to keep.
PACKS counts the ranks below a packet's, which is 0 for the newest flow and at least 0.25 for all others, and refuses
the others while the buffer is full. `map = shares` refuses them for the same reason.

The program is right: a bound that follows a quantile must cut through the packets of a rank that has many of
them. It is a limit of the design.
"""


def main(argv: Sequence[str]) -> int:
    """Run the flows and write the page."""
    parser = argparse.ArgumentParser(prog="python -m slack.few", description=__doc__)
    parser.add_argument("folder", type=Path, help="where slack-few-ranks.md is written")
    arguments = parser.parse_args(argv)
    write_text(page(shares()), arguments.folder / "slack-few-ranks.md")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
