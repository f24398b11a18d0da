"""All schedulers on identical traffic, beyond what any of the papers compares: one row for each, with intervals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.reproduce import hardware
from pifolab.reproduce.execute import experiments_folder
from pifolab.statistics import Estimate, mean_interval
from pifolab.store import Store
from pifolab.sweep import Sweep, SweepResult, run_sweep

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COLUMNS", "Scorecard", "markdown", "scorecard"]

#: What is shown of which scenario: heading, scenario, and how it is computed from the scenario's tables.
COLUMNS: tuple[tuple[str, str, str], ...] = (
    *((f"inversions (%), {name}", name, "inversions") for name in ("uniform", "poisson", "exponential")),
    ("inversions (%), inverse exponential", "inverse-exponential", "inversions"),
    ("drops (%), uniform", "uniform", "drops"),
    ("lowest dropped rank, uniform", "uniform", "lowest"),
    ("Delta to PIFO, uniform", "uniform", "delta"),
    ("Delta to PIFO, inverse exponential", "inverse-exponential", "delta"),
    ("reordered (%), uniform", "uniform", "reordered"),
    ("inversions (%), shifting ranks", "shift", "inversions"),
    ("Delta, shifting ranks", "shift", "delta"),
    ("inversions (%), bursts", "burst", "inversions"),
    ("drops (%), bursts", "burst", "drops"),
    ("inversions (%), adversarial order", "adversarial", "inversions"),
    ("Delta, adversarial order", "adversarial", "delta"),
    ("Jain index, STFQ", "fairness", "jain"),
    *(
        (f"{what}, {title}", name, metric)
        for name, title in (("web-search", "web search"), ("data-mining", "data mining"), ("hadoop", "Hadoop"))
        for what, metric in (
            ("small FCT (ms)", "small"), ("small p99 (ms)", "small-p99"), ("completed (%)", "completed"),
        )
    ),
)  # fmt: skip

#: What the scenarios give each scheduler, for the count of registers.
_SETTINGS: dict[str, dict[str, Any]] = {"packs": {"window": 1000}, "aifo": {"window": 1000}}


@dataclass(frozen=True)
class Scorecard:
    """Estimates by scheduler and heading; None where there is no such number."""

    schedulers: tuple[str, ...]
    cells: dict[tuple[str, str], Estimate | None]
    seeds: int
    seconds: dict[str, float]

    def rows(self) -> list[dict[str, Any]]:
        """Return the table for programs: one row for each scheduler."""
        found = []
        for name in self.schedulers:
            cost = hardware.cost(name, _SETTINGS.get(name))
            row: dict[str, Any] = {"scheduler": name}
            for heading, _, _ in COLUMNS:
                one = self.cells.get((name, heading))
                row[heading] = (
                    None if one is None else {"value": one.value, "low": _plain(one.low), "high": _plain(one.high)}
                )
            row["registers"] = cost.registers if cost else None
            row["table bytes"] = cost.table_bytes if cost else None
            found.append(row)
        return found


def _plain(number: float) -> float | None:
    return number if number == number else None


def scorecard(
    store: str | os.PathLike[str],
    *,
    seeds: int = 3,
    duration_share: float = 1.0,
    scenarios: Sequence[str] = (),
    workers: int | None = None,
    experiments: str | os.PathLike[str] | None = None,
) -> Scorecard:
    """Run experiments/scorecard and return the table.

    Parameters
    ----------
    store : path
        Where runs are kept.
    seeds : int
        How many seeds.
    duration_share : float
        What share of the scenarios' length is run.
    scenarios : sequence of str, optional
        Only these; all if none is given.
    workers : int, optional
        Worker processes.
    experiments : path, optional
        The folder with the scenarios.

    Raises
    ------
    InputError
        There is no such scenario, or a number makes no sense.
    """
    if seeds < 1:
        raise InputError(f"seeds = {seeds}: expected an integer from 1")
    if not 0 < duration_share <= 1:
        raise InputError(f"duration_share = {duration_share}: expected a number above 0, at most 1")
    folder = (Path(experiments) if experiments else experiments_folder()) / "scorecard"
    names = list(dict.fromkeys(name for _, name, _ in COLUMNS))
    for name in scenarios:
        if name not in names:
            raise InputError(_pifolab.unknown_name("scenario", name, names))
    kept = Store(store)
    cells: dict[tuple[str, str], Estimate | None] = {}
    schedulers: list[str] = []
    seconds = {}
    for name in scenarios or names:
        length = (0.1 if name in ("web-search", "data-mining", "hadoop") else 0.2) * duration_share
        length = round(length, 9)
        seconds[name] = length
        written = {
            "scenario": str((folder / f"{name}.toml").absolute()),
            "seeds": list(range(1, seeds + 1)),
            "set": {"duration_s": length},
            "metrics": [],
        }
        result = run_sweep(Sweep.from_dict(written, file=f"scorecard-{name}"), kept, workers)
        if result.failures:
            raise InputError(f"{name}: {result.failures[0].reason}")
        for scheduler in result.table("schedulers")["scheduler"].unique(maintain_order=True).to_list():
            if scheduler not in schedulers:
                schedulers.append(scheduler)
        for heading, scenario, metric in COLUMNS:
            if scenario == name:
                for scheduler, values in _values(result, metric).items():
                    cells[scheduler, heading] = mean_interval(values) if values else None
    return Scorecard(tuple(schedulers), cells, seeds, seconds)


def _values(result: SweepResult, metric: str) -> dict[str, list[float]]:
    """Return a metric by scheduler, one value for each seed."""
    import polars as pl

    shares = {
        "inversions": 100 * pl.col("inversions") / pl.col("sent_packets"),
        "drops": 100 * pl.col("dropped_packets") / pl.col("arrived_packets"),
        "reordered": 100 * pl.col("reordered_packets") / pl.col("sent_packets"),
        "lowest": pl.col("lowest_dropped_rank").cast(pl.Float64),
        "delta": pl.col("delta"),
        "completed": 100 * pl.col("completed_flows") / pl.col("flows"),
    }
    if metric in shares:
        frame = result.table("schedulers").select("seed", "scheduler", shares[metric].alias("value"))
    elif metric == "jain":
        frame = _jain(result.table("throughput"))
    else:
        small = result.table("fct").filter(pl.col("class") == "< 100 KB")
        column = "mean_ns" if metric == "small" else "p99_ns"
        frame = small.select("seed", "scheduler", (pl.col(column) / 1e6).alias("value"))
    found: dict[str, list[float]] = {}
    for _, scheduler, value in frame.sort("seed").iter_rows():
        found.setdefault(scheduler, [])
        if value is not None:
            found[scheduler].append(float(value))
    return found


def _jain(throughput: pl.DataFrame) -> pl.DataFrame:
    """Return Jain's index over the two flows that ask for more than their fair 3 Gb/s, by scheduler and seed."""
    import polars as pl

    bytes_sent = throughput.filter(pl.col("flow") < 2).group_by("seed", "scheduler", "flow", maintain_order=True).agg(
        pl.col("bytes").sum().cast(pl.Float64)
    )  # fmt: skip
    return bytes_sent.group_by("seed", "scheduler", maintain_order=True).agg(
        (pl.col("bytes").sum() ** 2 / (2 * (pl.col("bytes") ** 2).sum())).alias("value")
    )


def markdown(card: Scorecard) -> str:
    """Return the scorecard as Markdown: a column for each scheduler."""
    spans = sorted({f"{length:g} s" for length in card.seconds.values()})
    lines = [
        "# Scorecard: every scheduler on the same traffic",
        "",
        f"Written by `pifolab scorecard` with pifolab {_pifolab.__version__}: {card.seeds} seeds,",
        f"{' and '.join(spans)} of each scenario in `experiments/scorecard/`, 80 packets of buffer for all. Means; in",
        "brackets the 95 % interval, where the seeds differ. Less is better but for the lowest dropped rank, the Jain",
        "index and completed flows. Registers and table bytes are counted from the algorithms.",
        "",
        "| | " + " | ".join(card.schedulers) + " |",
        "|---|" + "---|" * len(card.schedulers),
    ]
    for heading, _, _ in COLUMNS:
        if any((name, heading) in card.cells for name in card.schedulers):
            lines.append(
                f"| {heading} | "
                + " | ".join(_shown(card.cells.get((name, heading))) for name in card.schedulers)
                + " |"
            )
    for key in ("registers", "table bytes"):
        cells = ["-" if row[key] is None else f"{row[key]:g}" for row in card.rows()]
        lines.append(f"| {key} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _shown(one: Estimate | None) -> str:
    if one is None:
        return "-"
    if one.low != one.low or one.low == one.high:
        return f"{one.value:.3g}"
    return f"{one.value:.3g} [{one.low:.3g}, {one.high:.3g}]"
