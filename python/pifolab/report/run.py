"""The report of a run: its measurements, its figures, and the command that repeats it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab.figures.run import captions
from pifolab.lazy import pl
from pifolab.quantities import time_unit
from pifolab.report import html
from pifolab.report.conclusion import conclusion_lines, words_of
from pifolab.report.judged import about, judged_rows
from pifolab.report.setup import what_was_run

if TYPE_CHECKING:
    from pifolab.runs import Run

#: The columns of the table at the top, with headings.
_COLUMNS = (
    ("flows", "flows"),
    ("completed_flows", "flows complete"),
    ("unfinished_share", "unfinished share"),
    ("offered_load", "offered load"),
    ("offered_wire_load", "on the wire"),
    ("host_utilisation", "host link use"),
    ("switch_utilisation", "switch link use"),
    ("retransmissions", "retransmissions"),
    ("timeouts", "timeouts"),
    ("arrived_packets", "arrived (packets)"),
    ("sent_packets", "sent (packets)"),
    ("dropped_packets", "dropped (packets)"),
    ("lowest_dropped_rank", "lowest dropped rank"),
    ("inversions", "inversions (packets)"),
    ("delta", "Delta to PIFO"),
    ("sojourn_mean_ns", "mean wait"),
    ("sojourn_p99_ns", "p99 wait"),
    ("reordered_packets", "reordered (packets)"),
    ("utilisation", "utilisation"),
)


def summary_rows(
    schedulers: pl.DataFrame, columns: Sequence[tuple[str, str]] = _COLUMNS
) -> tuple[list[str], list[list[Any]]]:
    """Return headings and a row for each scheduler: means over the seeds, whole where they are counts.

    Times have the unit that fits the largest of their column; the heading names the unit.
    """
    known = [(column, heading) for column, heading in columns if column in schedulers.columns]
    known = [(column, heading) for column, heading in known if schedulers[column].null_count() < schedulers.height]
    means = schedulers.group_by("scheduler", maintain_order=True).agg(pl.col(column).mean() for column, _ in known)
    headings = []
    for column, heading in known:
        if column.endswith("_ns"):
            unit, size = time_unit(means[column])
            means = means.with_columns(pl.col(column) / size)
            heading = f"{heading} ({unit})"
        headings.append(heading)
    rows: list[list[Any]] = []
    for row in means.iter_rows(named=True):
        cells: list[Any] = [row["scheduler"]]
        for column, _ in known:
            value = row[column]
            whole = value is not None and not column.endswith("_ns") and (abs(value) >= 1000 or value == int(value))
            cells.append(round(value) if whole else value)
        rows.append(cells)
    return ["scheduler", *headings], rows


def fct_rows(fct: pl.DataFrame, common: pl.DataFrame | None = None) -> tuple[list[str], list[list[Any]]]:
    """Return headings and a row for each scheduler and class of flow sizes: means over the seeds.

    With `common`, the flows that every scheduler completed (`Run.common_flows`), adds columns of their number and mean.
    """
    means = fct.group_by("scheduler", "class", maintain_order=True).agg(
        pl.col("flows", "completed").mean(),
        pl.col("mean_ns", "p99_ns").mean(),
        pl.col("mean_slowdown", "p99_slowdown").mean(),
    )
    # One unit for both, so that they can be compared.
    unit, size = time_unit(means["p99_ns"])
    means = means.with_columns(pl.col("mean_ns", "p99_ns") / size)
    times = [f"mean FCT ({unit})", f"p99 FCT ({unit})"]
    headings = ["scheduler", "flow size", "flows", "complete", *times, "mean slowdown", "p99"]
    rows = [[*row[:2], *(round(value) for value in row[2:4]), *row[4:]] for row in means.iter_rows()]
    if common is None or fct["scheduler"].n_unique() < 2:
        return headings, rows
    headings += ["complete under all", f"mean FCT of these ({unit})"]
    found = _common_means(fct, common)
    for row in rows:
        flows, mean = found[row[0], row[1]]
        row += [round(flows), None if mean is None else mean / size]
    return headings, rows


def _common_means(fct: pl.DataFrame, common: pl.DataFrame) -> dict[tuple[str, str], tuple[float, float | None]]:
    """Return number and mean completion time of the flows `common` by scheduler and class: means over the seeds."""
    classes = fct.select("seed", "scheduler", "class", "from_bytes", "below_bytes")
    size, low, high = (pl.col(name) for name in ("size_bytes", "from_bytes", "below_bytes"))
    within = (size >= low.fill_null(0)) & (size < high.fill_null(2**63 - 1))
    of_class = classes.join(
        common.select("seed", "scheduler", "size_bytes", "fct_ns"), on=["seed", "scheduler"], how="left"
    )
    by_seed = of_class.group_by("seed", "scheduler", "class").agg(
        within.sum().alias("flows"), pl.col("fct_ns").filter(within).mean().alias("mean")
    )
    means = by_seed.group_by("scheduler", "class").agg(pl.col("flows", "mean").mean())
    return {(name, kind): (flows, mean) for name, kind, flows, mean in means.iter_rows()}


def results(run: Run) -> list[str]:
    """Return the tables of the schedulers' main numbers."""
    parts = [html.scheduler_table(*summary_rows(run.tables["schedulers"]))]
    if "fct" in run.tables:
        parts.append(html.scheduler_table(*fct_rows(run.tables["fct"], run.common_flows())))
    if run.manifest["kind"] != "network":
        headings, rows = judged_rows(run)
        parts += [html.scheduler_table(headings, rows), f"<p>{html.escape(about(headings))}</p>"]
    return [*parts, *(f"<p>Warning: {html.escape(warning)}.</p>" for warning in run.warnings)]


def pictures(run: Run, folder: Path) -> str:
    """Return the figures that the folder `folder` of the run has; nothing if it has none."""
    drawn = [(name, text, folder / "figures" / f"{name}.png") for name, text in captions(run).items()]
    shown = [html.figure(image, text, wide=name == "comparison") for name, text, image in drawn if image.exists()]
    return "\n".join(['<div class="figures">', *shown, "</div>"]) if shown else ""


def write_report(run: Run, folder: Path) -> Path:
    """Write `report.html` into the run folder `folder`, whose figures are drawn already."""
    sections = [
        html.Section("What was run", what_was_run(run)),
        html.Section("Results", results(run)),
        *([html.Section("Figures", [shown])] if (shown := pictures(run, folder)) else []),
        html.Section("How to repeat it", _repeat(run)),
        html.Section("Words", [html.glossary(words_of(run))]),
        html.Section("What follows from it", [html.listed(conclusion_lines(run))]),
    ]
    place = "a network" if run.manifest["kind"] == "network" else "one link"
    lead = run.description or f"A run of pifolab on {place}."
    if run.partial:
        lead = f"PARTIAL: the run was interrupted; what is shown is complete. {lead}"
    target = folder / "report.html"
    html.write_page(target, run.title, lead, sections)
    return target


def _repeat(run: Run) -> list[str]:
    hashes = [
        (one["seed"], scheduler["scheduler"], scheduler["events"], scheduler["trace_hash"])
        for one in run.manifest["runs"]
        for scheduler in one["schedulers"]
    ]
    table = html.table(["seed", "scheduler", "events", "trace hash"], [[str(seed), *rest] for seed, *rest in hashes])
    overrides = "\n".join(f"--set {override}" for override in run.manifest["overrides"])
    parts = [
        f"<p>pifolab {run.manifest['pifolab']}. Equal trace hashes mean equal decisions, to the last packet.</p>",
        html.preformatted("The scenario as it was written", run.manifest["text"].strip() or "(made from flags)"),
    ]
    if overrides:
        parts.append(html.preformatted("Overrides", overrides))
    parts.append(html.preformatted("The manifest: every default filled in", json.dumps(run.manifest["spec"], indent=2)))
    parts.append(f"<details><summary>Trace hashes</summary>{table}</details>")
    return parts
