"""docs/scorecard.md: the packaged scorecard as one table, with the state in a switch and the worst cases.

``PYTHONPATH=lab python -m written.scorecard docs/scorecard.md STORE`` runs the study with five seeds, networks for
0.01 s, and writes the page.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pifolab import _pifolab, hardware
from pifolab.errors import InputError
from pifolab.export import table_lines, write_text
from pifolab.packaged import experiments
from pifolab.statistics import Estimate
from pifolab.store import Store
from pifolab.sweep import Sweep, SweepResult, run_sweep
from pifolab.toml import read_toml
from written.worst_cases import METRICS as WORST
from written.worst_cases import gap_to_pifo

__all__ = ["NETWORKS", "markdown", "measured"]

#: The scenarios on a network; the others have one link.
NETWORKS = ("web-search", "data-mining", "hadoop")

#: What the scenarios give each scheduler, for the count of registers.
SETTINGS: dict[str, dict[str, Any]] = {"packs": {"window": 1000}, "aifo": {"window": 1000}}

#: What is counted of a scheduler in a switch.
_STATE = ("registers", "table_bytes", "state_bits", "operations")


def measured(
    store: Store, seeds: int, network_s: float, scenarios: Sequence[str] = (), workers: int | None = None
) -> SweepResult:
    """Run the packaged study, or some of its scenarios, those on a network for `network_s` seconds.

    Raises
    ------
    InputError
        A run failed.
    """
    file = experiments()["scorecard"]
    study = read_toml(file)
    if scenarios:
        study["scenario"] = {name: study["scenario"][name] for name in scenarios}
        study["metrics"] = [one for one in study["metrics"] if one["scenario"] in scenarios]
    networks = [name for name in NETWORKS if name in study["scenario"]]
    if networks:
        study["axis"] = {"length": {"key": "duration_s", "values": [network_s], "where": {"scenario": networks}}}
    result = run_sweep(Sweep.from_dict(study, file=str(file)).with_seeds(range(1, seeds + 1)), store, workers)
    for failure in result.failures:
        raise InputError(f"{failure.name}: {failure.reason}")
    return result


def markdown(result: SweepResult, network_s: float) -> str:
    """Return the page: a row for each metric, a column for each scheduler."""
    cells: dict[str, dict[str, Estimate]] = {}
    for group in result.groups:
        cells.setdefault(group.metric, {})[str(group.scheduler)] = group.estimate
    names = list(dict.fromkeys(name for found in cells.values() for name in found))
    rows = [[metric, *(_shown(found.get(name)) for name in names)] for metric, found in cells.items()]
    costs = {name: hardware.cost(name, SETTINGS.get(name)) for name in names}
    for key in _STATE:
        counts = [None if cost is None else getattr(cost, key) for cost in costs.values()]
        rows.append([key.replace("_", " "), *("-" if count is None else f"{count:g}" for count in counts)])
    for metric in WORST:
        gaps = [gap_to_pifo(name, metric) for name in names]
        rows.append([f"worst-case {metric} gap to PIFO", *("-" if gap is None else f"{gap:g}" for gap in gaps)])
    seeds = len(set(result.runs["seed"]))
    about = (
        f"Written by `make lab-pages` out of `pifolab study run scorecard` with pifolab {_pifolab.__version__}: "
        f"{seeds} seeds, 0.2 s of each scenario on one link and {network_s:g} s of each scenario on a network of "
        "`experiments/scorecard/`. Every scheduler has a buffer of 80 packets; AIFO, PACKS and RIFO leave a tenth of "
        "it to all packets (k = 0.1), which costs inversions (uniform ranks, PACKS with k = 0: 8.0 % of packets, not "
        "renewed). Cells are means, with the 95 % interval in brackets if the seeds differ. Less is better, except for "
        "the lowest dropped rank, the Jain index and completed flows."
    )
    words = (
        "*Magnitude*: the rank of a packet that was sent minus the lowest rank that waited, summed over inversions.",
        "*Misdrops*: drops beyond those of PIFO, counted for each rank.",
        "*Registers* (of 32 bits) and *table bytes* are counted from the algorithms.",
        "*Operations*: comparisons with registers, look-ups and changes of registers for one packet, in the most "
        "expensive case.",
        "*Worst-case gaps* are proven: the largest over all traces of eight packets with ranks 1 to 4 and six packets "
        "of buffer ([worst-cases.md](worst-cases.md)).",
    )
    lines = [
        "# Scorecard: every scheduler on the same traffic",
        "",
        *textwrap.wrap(about, 120, break_on_hyphens=False),
        "",
        *(line for word in words for line in textwrap.wrap(f"- {word}", 120, subsequent_indent="  ")),
        "",
        *table_lines(["", *names], rows),
    ]
    return "\n".join(lines) + "\n"


def _shown(one: Estimate | None) -> str:
    return "-" if one is None else f"{one:.3g}"


def main(argv: Sequence[str]) -> int:
    """Write the page to the first argument; its runs are in the store that the second one names."""
    if len(argv) != 2:
        raise InputError("expected two arguments, the page and the store")
    network_s = 0.01
    write_text(markdown(measured(Store(argv[1]), 5, network_s), network_s), Path(argv[0]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
