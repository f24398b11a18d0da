"""All schedulers on identical traffic, beyond what any of the papers compares: one row for each, with intervals."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pifolab import _pifolab
from pifolab.adversary.worst_cases import METRICS as WORST
from pifolab.adversary.worst_cases import gap_to_pifo
from pifolab.custom import PythonScheduler
from pifolab.errors import InputError
from pifolab.export import write_text
from pifolab.lazy import pl
from pifolab.plugins import load_plugins
from pifolab.reproduce import hardware
from pifolab.reproduce.execute import experiments_folder
from pifolab.scenario import inline_toml, own_buffer
from pifolab.statistics import Estimate, mean_interval
from pifolab.store import Store
from pifolab.sweep import Sweep, SweepResult, run_sweep
from pifolab.text import read_text

__all__ = ["COLUMNS", "NETWORKS", "SETTINGS", "Scorecard", "scorecard"]

#: What is shown of which scenario: heading, scenario, and how it is computed from the scenario's tables.
COLUMNS: tuple[tuple[str, str, str], ...] = (
    *((f"inversions (%), {name}", name, "inversions") for name in ("uniform", "poisson", "exponential")),
    ("inversions (%), inverse exponential", "inverse-exponential", "inversions"),
    ("inverted pairs per packet, uniform", "uniform", "pairs"),
    ("magnitude (ranks per packet), uniform", "uniform", "magnitude"),
    ("drops (%), uniform", "uniform", "drops"),
    ("misdrops (%), uniform", "uniform", "misdrops"),
    ("misdrops (%), inverse exponential", "inverse-exponential", "misdrops"),
    *(
        (f"{what}, Poisson arrivals at {load}", name, metric)
        for load, name in (
            ("0.8", "below-saturation"), ("0.95", "poisson-arrivals-95"), ("1.1", "poisson-arrivals-110"),
        )
        for what, metric in (
            ("drops (%)", "drops"), ("misdrops (%)", "misdrops"), ("inversions (%)", "inversions"),
            ("inverted pairs per packet", "pairs"), ("magnitude (ranks per packet)", "magnitude"),
        )
    ),
    ("lowest dropped rank, uniform", "uniform", "lowest"),
    ("Delta to PIFO, uniform", "uniform", "delta"),
    ("Delta to PIFO, inverse exponential", "inverse-exponential", "delta"),
    ("reordered (%), uniform", "uniform", "reordered"),
    ("inversions (%), shifting ranks", "shift", "inversions"),
    ("Delta, shifting ranks", "shift", "delta"),
    ("inversions (%), bursts", "burst", "inversions"),
    ("drops (%), bursts", "burst", "drops"),
    ("misdrops (%), bursts", "burst", "misdrops"),
    ("inverted pairs per packet, bursts", "burst", "pairs"),
    ("magnitude (ranks per packet), bursts", "burst", "magnitude"),
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

#: The scenarios on a network; the others have one link.
NETWORKS = ("web-search", "data-mining", "hadoop")

#: What the scenarios give each scheduler, for the count of registers.
SETTINGS: dict[str, dict[str, Any]] = {"packs": {"window": 1000}, "aifo": {"window": 1000}}


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
            cost = hardware.cost(name, SETTINGS.get(name))
            row: dict[str, Any] = {"scheduler": name}
            for heading, _, _ in COLUMNS:
                one = self.cells.get((name, heading))
                row[heading] = (
                    None if one is None else {"value": one.value, "low": _plain(one.low), "high": _plain(one.high)}
                )
            row["registers"] = cost.registers if cost else None
            row["table bytes"] = cost.table_bytes if cost else None
            row["state bits"] = cost.state_bits if cost else None
            row["operations"] = cost.operations if cost else None
            for metric in WORST:
                row[f"worst-case {metric} gap to PIFO"] = gap_to_pifo(name, metric)
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
    python: Sequence[str | os.PathLike[str]] = (),
) -> Scorecard:
    """Run experiments/scorecard and return the table.

    Parameters
    ----------
    store : path
        Where runs are kept.
    seeds : int
        How many seeds.
    duration_share : float
        What share of their length the scenarios on a network are run; those on one link, which cost little and change
        their traffic over time, run whole.
    scenarios : sequence of str, optional
        Only these; all if none is given.
    workers : int, optional
        Worker processes.
    experiments : path, optional
        The folder with the scenarios.
    python : sequence of path, optional
        Python files with schedulers that stand beside the others, with the same buffer of 80 packets: their
        constructors get what they have of ``capacity_packets``, ``queues`` and ``queue_capacity_packets``.

    Raises
    ------
    InputError
        There is no such scenario, or a number makes no sense.
    """
    if seeds < 1:
        raise InputError(f"seeds = {seeds}: expected an integer >= 1")
    if not 0 < duration_share <= 1:
        raise InputError(f"duration_share = {duration_share}: expected a number above 0, at most 1")
    folder = (Path(experiments) if experiments else experiments_folder()) / "scorecard"
    names = list(dict.fromkeys(name for _, name, _ in COLUMNS))
    for name in scenarios:
        if name not in names:
            raise InputError(_pifolab.unknown_name("scenario", name, names))
    own = {name: made for file in python for name, made in load_plugins([Path(file)]).schedulers.items()}
    files = {name: f"{inspect.getfile(made)}:{made.__qualname__}" for name, made in own.items()}
    kept = Store(store)
    cells: dict[tuple[str, str], Estimate | None] = {}
    schedulers: list[str] = []
    seconds = {}
    for name in scenarios or names:
        length = round(0.1 * duration_share, 9) if name in NETWORKS else 0.2
        seconds[name] = length
        base = (folder / f"{name}.toml").absolute()
        if own:
            base = _with_own(base, own, kept.path.absolute().parent / "scenarios")
        written = {
            "schedulers": files,
            "scenario": str(base),
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


def _with_own(scenario: Path, own: Mapping[str, type[PythonScheduler]], folder: Path) -> Path:
    """Write the scenario with the schedulers of the user behind the others, and return the file."""
    lines = []
    for name, made in own.items():
        lines.append("[[scheduler]]")
        keys = {"name": name, **own_buffer(made, 80, 8)}
        lines += [f"{key} = {inline_toml(value)}" for key, value in keys.items()]
    target = folder / scenario.name
    write_text("\n".join([read_text(scenario), *lines, ""]), target)
    return target


def _values(result: SweepResult, metric: str) -> dict[str, list[float]]:
    """Return a metric by scheduler, one value for each seed."""
    shares = {
        "inversions": 100 * pl.col("inversions") / pl.col("sent_packets"),
        "pairs": pl.col("pairwise_inversions") / pl.col("sent_packets"),
        "magnitude": pl.col("inversion_magnitude") / pl.col("sent_packets"),
        "misdrops": 100 * pl.col("misdrops") / pl.col("arrived_packets"),
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
    bytes_sent = throughput.filter(pl.col("flow") < 2).group_by("seed", "scheduler", "flow", maintain_order=True).agg(
        pl.col("bytes").sum().cast(pl.Float64)
    )  # fmt: skip
    return bytes_sent.group_by("seed", "scheduler", maintain_order=True).agg(
        (pl.col("bytes").sum() ** 2 / (2 * (pl.col("bytes") ** 2).sum())).alias("value")
    )
