"""The last lines of a run's report: the conclusions from its numbers, and the meaning of its words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pifolab import info
from pifolab.catalogue import words
from pifolab.lazy import pl
from pifolab.quantities import share_text
from pifolab.traces import idle_notes

if TYPE_CHECKING:
    from pifolab.runs import Run


def conclusion_lines(run: Run) -> list[str]:
    """Return the conclusions: the scheduler nearest to PIFO, the one with most losses, and their certainty."""
    if idle := idle_notes(run):
        return [f"Nothing: {idle[0]}."]
    lines = _network(run) if run.manifest["kind"] == "network" else _one_link(run)
    if len(run.seeds) == 1 and run.manifest.get("random", True):
        lines.append(
            "One seed says little about chance: repeat with several (seeds = [1, 2, 3, 4, 5]) or with a sweep."
        )
    return lines


def words_of(run: Run) -> list[str]:
    """Return the words in the tables of the run that need an explanation."""
    columns = [*run.tables["schedulers"].columns]
    return [*(word for word in words() if word in columns), *(["fct", "common"] if "fct" in run.tables else [])]


def _means(run: Run, column: str) -> dict[str, float]:
    """Return the mean of a column over the seeds, for each scheduler that has a value."""
    table = run.tables["schedulers"]
    if column not in table.columns:
        return {}
    means = table.group_by("scheduler", maintain_order=True).agg(pl.col(column).mean().alias("mean"))
    return {name: float(mean) for name, mean in means.iter_rows() if mean is not None}


def _ideals(run: Run) -> set[str]:
    """Return the labels of the schedulers that others are measured against."""
    specs: list[dict[str, Any]] = run.manifest["spec"]["scheduler"]
    return {str(one["label"]) for one in specs if one["name"] == info.ideal()}


def _one_link(run: Run) -> list[str]:
    lines = []
    ideals = _ideals(run)
    inversions = {name: mean for name, mean in _means(run, "inversions").items() if name not in ideals}
    if len(inversions) > 1:
        order = sorted(inversions, key=lambda name: inversions[name])
        best, worst = order[0], order[-1]
        line = f"{best} has the fewest inversions{' beside PIFO' if ideals else ''} ({inversions[best]:,.0f} packets)"
        if inversions[best] and inversions[worst] > inversions[best]:
            line += f", {worst} {inversions[worst] / inversions[best]:.3g} times as many"
        elif inversions[worst] > inversions[best]:
            line += f", {worst} has {inversions[worst]:,.0f}"
        lines.append(line + ".")
    dropped, arrived = _means(run, "dropped_packets"), _means(run, "arrived_packets")
    shares = {name: count / arrived[name] for name, count in dropped.items() if arrived.get(name)}
    if shares and max(shares.values()) > 0:
        least, most = min(shares, key=lambda name: shares[name]), max(shares, key=lambda name: shares[name])
        if shares[least] == shares[most]:
            lines.append(f"All lose the same share of the packets ({share_text(shares[most], 2)}).")
        else:
            lines.append(
                f"{least} loses the smallest share of the packets ({share_text(shares[least], 2)}), {most} the largest "
                f"({share_text(shares[most], 2)})."
            )
    delta = {name: mean for name, mean in _means(run, "delta").items() if name not in ideals}
    if len(delta) > 1:
        nearest = min(delta, key=lambda name: delta[name])
        lines.append(f"What {nearest} sends is nearest to what PIFO sends (Delta {delta[nearest]:.3g}).")
    return lines or ["There is only one scheduler, and nothing to compare it with: add another."]


def _network(run: Run) -> list[str]:
    flows = run.tables["flows"]
    if not flows.height or "fct_ns" not in flows.columns:
        return ["No flow was recorded."]
    schedulers = flows["scheduler"].n_unique()
    common = run.common_flows()
    if not common.height:
        return ["No flow was completed under every scheduler: their completion times cannot be compared."]
    means = common.group_by("scheduler", maintain_order=True).agg((pl.col("fct_ns").mean() / 1e6).alias("ms"))
    order = sorted(means.iter_rows(), key=lambda row: row[1])
    count = common.height // schedulers
    shown = ", ".join(f"{name} {mean:.4g} ms" for name, mean in order)
    return [f"Mean completion time over the {count:,} flows that all schedulers completed, shortest first: {shown}."]
