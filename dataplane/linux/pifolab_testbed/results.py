"""What the testbed measured: figures, tables and verdicts from a result folder of `pifolab testbed`.

The experiments run in the data plane's own program (``dataplane/linux``), which leaves `summary.json` and one CSV time
series per run. This module reads them; it measures nothing itself.

Claims are judged as those of the simulator are: the registry says what each must come to here, and why.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from pifolab import info
from pifolab.errors import InputError
from pifolab.export import table_lines
from pifolab.figures.palette import look, rank_colour
from pifolab.figures.paths import leaves_of
from pifolab.figures.style import COLUMN_INCHES, PAGE_INCHES, figure_style, save, subplots
from pifolab.lazy import np, pl
from pifolab.statistics import Estimate, Tables, Verdict, interval_or_range
from pifolab.text import read_text
from pifolab_papers.verdict import judge_part, measure, overall
from pifolab_testbed import newest, twin
from pifolab_testbed.claims import load_claims
from pifolab_testbed.newest import NewestShares, name_axes
from pifolab_testbed.twin import Twin

__all__ = [
    "BesideLinux",
    "Judged",
    "Results",
    "beside_linux",
    "draw",
    "newest_shares",
    "read",
    "report",
    "side_by_side",
    "table",
    "verdicts",
]

FORMAT = "pifolab-testbed/1"
#: The file of a result folder that has everything but the time series.
SUMMARY = "summary.json"

# More flows than this get a line each in a table, not a column.
_WIDEST = 12
# The data plane that is Linux's own qdisc: what is compared with, not what is judged.
_LINUX = "linux"
# Experiments in which each flow has a lower rank than those before it.
_FALLING = ("udp-four-flows", "udp-eight-flows", "tcp-four-flows")


def _threshold(name: str) -> float:
    return load_claims().thresholds[name]


def _lost_outside(run: dict[str, Any]) -> float:
    """Return the share of a run's packets that were lost outside the scheduler; 0 if the registry allows so many."""
    share = float(run.get("losses", {}).get("share", 0))
    return share if share > _threshold("lost-outside") else 0.0


@dataclass(frozen=True)
class Judged:
    """What the measurements say of one claim."""

    claim: str
    """The claim's id."""
    statement: str
    """The claim in words, with the range and its tolerance."""
    verdict: Verdict
    """`reproduced`, `partly`, `not reproduced`, or `withheld`: the runs say nothing about the claim."""
    provisional: bool
    """Whether there were fewer than three repeats."""
    measured: str
    """The figures behind it."""
    data_plane: str = ""
    """What carried the packets, where several data planes ran the same schedulers and each is judged for itself."""

    @property
    def label(self) -> str:
        """The claim, with the data plane that it was judged on."""
        return f"{self.claim} on {newest.plane_label(self.data_plane)}" if self.data_plane else self.claim


@dataclass(frozen=True)
class Results:
    """A result folder."""

    folder: Path
    summary: dict[str, Any]

    @property
    def experiment(self) -> str:
        """The experiment's name."""
        return str(self.summary["experiment"])

    @property
    def schedulers(self) -> list[str]:
        """The schedulers in the order of the runs."""
        return list(dict.fromkeys(str(run["scheduler"]) for run in self.summary["runs"]))

    @property
    def measured(self) -> list[tuple[str, str]]:
        """Each scheduler with each data plane that carried it, in the order of the runs."""
        pairs = dict.fromkeys((str(run["scheduler"]), str(run["data_plane"])) for run in self.summary["runs"])
        return sorted(pairs, key=lambda pair: self.schedulers.index(pair[0]))

    @property
    def skipped(self) -> list[dict[str, str]]:
        """What was asked for and could not run there: `scheduler`, `data_plane`, `reason`."""
        return list(self.summary.get("skipped", []))

    def runs(self, scheduler: str, plane: str | None = None) -> list[dict[str, Any]]:
        """Return the runs of `scheduler`, those on one data plane or on all of pifolab's own."""
        runs = [run for run in self.summary["runs"] if run["scheduler"] == scheduler]
        if plane is None:
            return [run for run in runs if run["data_plane"] != _LINUX]
        return [run for run in runs if run["data_plane"] == plane]

    def share(self, scheduler: str, phase: int, flow: int, plane: str | None = None) -> Estimate:
        """Return the share of the delivered bytes that `flow` had in `phase`."""
        return interval_or_range([run["phases"][phase]["share"][flow] for run in self.runs(scheduler, plane)])

    def label(self, scheduler: str, plane: str) -> str:
        """Return the name of a scheduler in a figure, with its data plane if there are several."""
        planes = [one for name, one in self.measured if name == scheduler]
        return look(scheduler).label + (f" ({plane})" if len(planes) > 1 or plane == _LINUX else "")

    def small_completion_s(self, run: dict[str, Any]) -> float:
        """Return the mean completion time of the smallest quarter of the flows of a run, in seconds.

        A flow that did not finish counts as the limit.
        """
        limit, times = float(self.summary["length_s"]), run["completion_s"]
        small = [limit if time is None else time for time in times[: max(1, len(times) // 4)]]
        return math.fsum(small) / len(small)

    def small_flow_completion_s(self, scheduler: str, plane: str | None = None) -> Estimate:
        """Return the same over the repeats of `scheduler`."""
        return interval_or_range([self.small_completion_s(run) for run in self.runs(scheduler, plane)])


def read(folder: str | Path) -> Results:
    """Read the result folder of `pifolab testbed --out`.

    Raises
    ------
    InputError
        If it holds no summary, one of another format, or one without a run.
    """
    path = Path(folder) / SUMMARY
    try:
        summary = json.loads(read_text(path))
    except InputError as error:
        raise InputError(f"{error}; expected a folder of pifolab testbed") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    if not isinstance(summary, dict) or summary.get("format") != FORMAT:
        raise InputError(f"{path}: expected a summary of format {FORMAT}")
    if not summary.get("runs"):
        raise InputError(f"{path}: no run was finished")
    return Results(Path(folder), summary)


def _percent(estimate: Estimate) -> str:
    if estimate.seeds == 1:
        return f"{100 * estimate.value:.1f} %"
    return f"{100 * estimate.value:.1f} % [{100 * max(estimate.low, 0):.1f}, {100 * min(estimate.high, 1):.1f}]"


def table(results: Results) -> str:
    """Return the results as a Markdown table: the last phase's shares, or completion times, with their intervals."""
    if results.experiment == "fct":
        head = ["scheduler", "data plane", "smallest quarter, mean FCT (s)", "unfinished flows"]
        rows = []
        for scheduler, plane in results.measured:
            time = results.small_flow_completion_s(scheduler, plane)
            unfinished = sum(run["completion_s"].count(None) for run in results.runs(scheduler, plane))
            rows.append([f"{time.value:.3f} [{max(time.low, 0):.3f}, {time.high:.3f}]", str(unfinished)])
    else:
        flows = results.summary["flows"]
        computed = any(about.name == results.summary["rank"] for about in info.ranks())
        names = [
            name + ("" if computed else f" (rank {flow['rank']})")
            for name, flow in zip(_names(results), flows, strict=True)
        ]
        if len(flows) > _WIDEST:
            return _tall_table(results, names)
        head = ["scheduler", "data plane", *names, "delivered (Mb/s)"]
        rows = []
        for scheduler, plane in results.measured:
            shares = [_percent(results.share(scheduler, -1, flow, plane)) for flow in range(len(flows))]
            runs = results.runs(scheduler, plane)
            rate = interval_or_range([sum(run["phases"][-1]["delivered_mbps"]) for run in runs])
            rows.append([*shares, f"{rate.value:.1f}"])
    measured = zip(results.measured, rows, strict=True)
    rows = [[name + _marks(results, name, plane), plane, *row] for (name, plane), row in measured]
    return "\n".join(table_lines(head, rows)) + "\n"


def _marks(results: Results, scheduler: str, plane: str) -> str:
    """Return what a reader must know of a scheduler's runs before their numbers."""
    runs = results.runs(scheduler, plane)
    lost = max((100 * _lost_outside(run) for run in runs), default=0.0)
    starved = " (starved)" if any(run["starved"] for run in runs) else ""
    return starved + (f" ({lost:.1f} % lost outside)" if lost else "")


def _tall_table(results: Results, names: Sequence[str]) -> str:
    """Return the shares of the last phase with a line for each of many flows."""
    several = len(results.measured) > len(results.schedulers)
    heads = [
        name + (f" ({plane})" if several else "") + _marks(results, name, plane) for name, plane in results.measured
    ]
    rows = [
        [name, *(_percent(results.share(scheduler, -1, flow, plane)) for scheduler, plane in results.measured)]
        for flow, name in enumerate(names)
    ]
    return "\n".join(table_lines(["flow", *heads], rows)) + "\n"


def side_by_side(results: Results, simulated: Twin) -> str:
    """Return a Markdown table of the last phase's shares, measured and simulated, and how far apart they ever are.

    Of flows of the user's own, whose phases may be of any kind, it has all phases.
    """
    phases = range(len(results.summary["phases_s"]))
    flows = range(len(results.summary["flows"]))
    shown = flows if len(flows) <= _WIDEST else range(0)
    names = [_names(results)[flow] for flow in shown]
    if results.experiment == "custom" and len(phases) > 1:
        return _phases_side_by_side(results, simulated, names)
    head = ["scheduler", "data plane", *names, "largest difference in any phase"]
    rows = []
    for scheduler, plane in results.measured:
        measured = _shares(results, scheduler, plane)
        expected = [simulated.shares(scheduler, phase) for phase in phases]
        cells = [f"{100 * measured[-1][flow]:.1f} / {100 * expected[-1][flow]:.1f} %" for flow in shown]
        apart = f"{100 * _apart(measured, expected):.1f} points"
        rows.append([scheduler, plane, *cells, apart])
    return "\n".join(table_lines(head, rows)) + "\n"


def _phases_side_by_side(results: Results, simulated: Twin, names: Sequence[str]) -> str:
    """Return a Markdown table of the shares in each phase, measured and simulated."""
    head = ["scheduler", "data plane", "seconds", *names, "largest difference"]
    rows = []
    for scheduler, plane in results.measured:
        for phase, measured in enumerate(_shares(results, scheduler, plane)):
            expected = simulated.shares(scheduler, phase)
            start, end = results.summary["phases_s"][phase]
            cells = [f"{100 * measured[flow]:.1f} / {100 * expected[flow]:.1f} %" for flow in range(len(names))]
            apart = f"{100 * _apart([measured], [expected]):.1f} points"
            rows.append([scheduler, plane, f"{start:g} to {end:g}", *cells, apart])
    return "\n".join(table_lines(head, rows)) + "\n"


def _names(results: Results) -> list[str]:
    """Return what the flows are called: by their leaves, where a single tree sorts them and each leaf takes one."""
    flows = results.summary["flows"]
    names = [f"flow {number + 1}" for number in range(len(flows))]
    trees = [run["parameters"] for run in results.summary["runs"]]
    tree = trees[0] if trees and all(other == trees[0] for other in trees) else {}
    if tree.get("classify") != "dscp" or "child" not in tree:
        return names
    classes = tree.get("classes", "").split(",") if tree.get("classes") else []
    ranks = max(flow["rank"] for flow in flows) + 1
    leaves = leaves_of({"child": json.loads(tree["child"]), "classes": classes}, [{"flows": ranks}])
    path = {rank: leaf for leaf, taken in leaves.items() for rank in taken}
    found = [path.get(flow["rank"]) for flow in flows]
    return [leaf or name for leaf, name in zip(found, names, strict=True)] if len(set(found)) == len(found) else names


def _shares(results: Results, scheduler: str, plane: str) -> list[list[float]]:
    """Return the mean share of each flow in each phase."""
    flows, phases = range(len(results.summary["flows"])), range(len(results.summary["phases_s"]))
    return [[results.share(scheduler, phase, flow, plane).value for flow in flows] for phase in phases]


def _apart(some: list[list[float]], others: list[list[float]]) -> float:
    """Return the largest difference of any flow's share in any phase."""
    return max(abs(a - b) for one, other in zip(some, others, strict=True) for a, b in zip(one, other, strict=True))


def newest_shares(results: Results, simulated: Twin | None = None) -> list[NewestShares]:
    """Return what the newest flow had in each phase, for each scheduler on each data plane and in the simulator.

    Empty where flows' ranks do not fall, or where a single data plane ran.
    """
    planes = {plane for _, plane in results.measured}
    if results.experiment not in _FALLING or len(planes) < 2:
        return []
    phases = range(len(results.summary["phases_s"]))
    found = []
    for scheduler in results.schedulers:
        for plane in (plane for name, plane in results.measured if name == scheduler):
            shares = tuple(results.share(scheduler, phase, phase, plane) for phase in phases)
            found.append(NewestShares(scheduler, plane, shares))
        if simulated is not None:
            by_phase = [simulated.shares_by_seed(scheduler, phase, phase) for phase in phases]
            found.append(NewestShares(scheduler, newest.SIMULATOR, tuple(map(interval_or_range, by_phase))))
    return found


def _newest_lines(results: Results, simulated: Twin | None) -> list[str]:
    """Draw the newest flow's shares on several data planes; return the part of the report about them."""
    shares = newest_shares(results, simulated)
    if not shares:
        return []
    [figure, *_] = save(newest.draw(shares), results.folder / "newest-flow")
    intro = "The newest flow has the lowest rank. Its share while so many flows send (intervals: 95 % over the runs):"
    return ["", "## The newest flow", "", f"![newest flow]({figure.name})", "", intro, "", newest.table(shares)]


@dataclass(frozen=True)
class BesideLinux:
    """How far the shares of a scheduler are from those of the qdisc that Linux has for it."""

    scheduler: str
    """The scheduler."""
    data_plane: str
    """What of pifolab's carried it."""
    qdisc: str
    """The kind of Linux's qdisc."""
    shares: list[list[float]]
    """The shares of the flows in each phase, measured on `data_plane`."""
    linux: list[list[float]]
    """The same on Linux's qdisc."""
    apart: float
    """The largest difference of any flow's share in any phase, of 1."""
    near: bool | None
    """Whether that is at most 5 points; None if runs were starved or lost packets outside the scheduler."""

    def __str__(self) -> str:
        """Return the comparison as a line."""
        points = f"{100 * self.apart:.1f} points at most"
        verdict = {True: "within", False: "not within", None: f"{Verdict.WITHHELD}: within"}[self.near]
        what = f"{self.scheduler} ({self.data_plane})"
        return f"{what}: {verdict} {100 * _threshold('beside-linux'):.0f} points of Linux's {self.qdisc} ({points})"


def beside_linux(results: Results) -> list[BesideLinux]:
    """Compare each scheduler with the qdisc that Linux has for it, where both ran."""
    found = []
    for scheduler, plane in results.measured:
        runs, linux = results.runs(scheduler, plane), results.runs(scheduler, _LINUX)
        if plane == _LINUX or not linux or results.experiment == "fct":
            continue
        shares, theirs = _shares(results, scheduler, plane), _shares(results, scheduler, _LINUX)
        apart = _apart(shares, theirs)
        unsound = any(run["starved"] or _lost_outside(run) for run in [*runs, *linux])
        near = None if unsound else apart <= _threshold("beside-linux")
        qdisc = str(linux[0]["counters"]["kind"])
        found.append(BesideLinux(scheduler, plane, qdisc, shares, theirs, apart, near))
    return found


def _linux_lines(results: Results) -> list[str]:
    """Return the part of the report about Linux's own qdiscs; nothing if none was asked for."""
    compared = beside_linux(results)
    skipped = [one for one in results.skipped if one["data_plane"] == _LINUX]
    if not compared and not skipped:
        return []
    flows = range(len(results.summary["flows"]))
    shown = flows if len(flows) <= _WIDEST else range(0)
    lines = ["", "## Beside Linux's own qdiscs", ""]
    rows = []
    for one in compared:
        cells = [f"{100 * one.shares[-1][flow]:.1f} / {100 * one.linux[-1][flow]:.1f} %" for flow in shown]
        near = {
            True: "yes",
            False: "no",
            None: f"{Verdict.WITHHELD}: starved senders, or losses outside the scheduler",
        }[one.near]
        rows.append([one.scheduler, one.data_plane, one.qdisc, *cells, f"{100 * one.apart:.1f} points", near])
    if compared:
        head = ["scheduler", "data plane", "Linux's qdisc", *(_names(results)[flow] for flow in shown)]
        head += ["largest difference in any phase", f"within {100 * _threshold('beside-linux'):.0f} points"]
        lines += ["The same flows and parameters: shares of the last phase, pifolab / Linux.", ""]
        lines += table_lines(head, rows)
    lines += [""] if compared and skipped else []
    return [*lines, *(f"- {one['scheduler']}: skipped: {one['reason']}." for one in skipped)]


def _max_min(offered: Sequence[float], rate: float) -> list[float]:
    """Return the max-min fair rates of flows that offer `offered` to a link of `rate`."""
    fair = [0.0] * len(offered)
    left, order = rate, sorted(range(len(offered)), key=lambda flow: offered[flow])
    for place, flow in enumerate(order):
        fair[flow] = min(offered[flow], left / (len(order) - place))
        left -= fair[flow]
    return fair


def _tables(results: Results) -> dict[int, Tables]:
    """Return what was measured as tables like the simulator's, for each repeat: `shares` and `schedulers`."""
    summary = results.summary
    offered, rate = [flow.get("offered_bps") for flow in summary["flows"]], float(summary["rate_bps"])
    fair = None if None in offered else [share / rate for share in _max_min(offered, rate)]
    shares: dict[int, list[dict[str, Any]]] = {}
    schedulers: dict[int, list[dict[str, Any]]] = {}
    for scheduler in results.schedulers:
        for repeat, run in enumerate(results.runs(scheduler)):
            phases = [phase["share"] for phase in run["phases"]]
            # The last one also counts as phase -1.
            numbered = [*enumerate(phases), *((-1, phase) for phase in phases[-1:])]
            shares.setdefault(repeat, []).extend(
                {"scheduler": scheduler, "phase": number, "flow": flow, "share": float(share)}
                for number, phase in numbered
                for flow, share in enumerate(phase)
            )
            row: dict[str, Any] = {"scheduler": scheduler, "small_completion_s": None, "fair_deviation": None}
            if run["completion_s"]:
                row["small_completion_s"] = results.small_completion_s(run)
            if fair and phases:
                row["fair_deviation"] = max(abs(got / due - 1) for got, due in zip(phases[-1], fair, strict=True))
            schedulers.setdefault(repeat, []).append(row)
    numbers = {"small_completion_s": pl.Float64, "fair_deviation": pl.Float64}
    columns = {"scheduler": pl.String, "phase": pl.Int64, "flow": pl.Int64, "share": pl.Float64}
    return {
        repeat: Tables(
            {
                "shares": pl.DataFrame(shares[repeat], schema=columns),
                "schedulers": pl.DataFrame(rows, schema_overrides=numbers),
            }
        )
        for repeat, rows in schedulers.items()
    }


def verdicts(results: Results) -> list[Judged]:
    """Judge the claims that the registry has for this experiment; those whose schedulers did not run are left out.

    Where a scheduler ran on several data planes, each of them is a source of its own and judged for itself. A verdict
    is withheld if a run lost more of its packets outside the scheduler than the registry allows, if its senders did not
    get the processor, or if the flows have ranks of which the claim does not speak.
    """
    planes = [plane for _, plane in results.measured if plane != _LINUX]
    carriers = Counter(name for name, plane in results.measured if plane != _LINUX)
    if max(carriers.values(), default=0) < 2:
        return _judge(results)
    found = []
    for plane in dict.fromkeys(planes):
        runs = [run for run in results.summary["runs"] if run["data_plane"] == plane]
        alone = replace(results, summary={**results.summary, "runs": runs})
        found += [replace(verdict, data_plane=plane) for verdict in _judge(alone)]
    return found


def _judge(results: Results) -> list[Judged]:
    by_repeat = _tables(results)
    found = []
    for source in load_claims().claims:
        if source.experiment != results.experiment:
            continue
        about = [name for name in results.schedulers if not info.scheduler(name).traits.tail_drop]
        each = any("{scheduler}" in part.metric.text for part in source.parts)
        for claim in [source.of(name) for name in about] if each else [source]:
            parts = [judge_part(part, *measure(part, by_repeat)) for part in claim.parts]
            if any(not part.values for part in parts):
                continue
            provisional = any(part.provisional for part in parts)
            asked = "; ".join(f"{part.part.what}: {part.part.paper_says}" for part in parts)
            statement = f"{claim.statement.rstrip('.')}: {asked}"
            measured = "; ".join(f"{part.part.what}: {part.reason}" for part in parts)
            metrics = " ".join(part.part.metric.text for part in parts)
            named = {name for name in results.schedulers if f"'{name}'" in metrics}
            judged = Judged(claim.id, statement, overall(parts), provisional, measured)
            found.append(_withheld(results, judged, named, _ranks_problem(results, claim.powers_of_two)))
    return found


def _ranks_problem(results: Results, powers_of_two: bool) -> str | None:
    """Say why the ranks of the flows make a claim about the newest flow meaningless; None if they do not."""
    if results.experiment not in _FALLING:
        return None
    ranks = [int(flow["rank"]) for flow in results.summary["flows"]]
    shown = ", ".join(map(str, ranks))
    if any(later >= earlier for earlier, later in pairwise(ranks)):
        return f"the claim is about flows each of which has a lower rank than those before it; the ranks are {shown}"
    # A queue for each power of two, but the two largest in use share the last one.
    gaps = [earlier.bit_length() - later.bit_length() for earlier, later in pairwise(ranks)]
    if powers_of_two and (gaps[0] < 2 or min(gaps) < 1):
        return (
            "Exp-PIFO tells ranks apart by their powers of two, and not the two largest of these; "
            f"the ranks are {shown}"
        )
    return None


def _withheld(results: Results, judged: Judged, schedulers: set[str], problem: str | None) -> Judged:
    """Return the verdict on runs of `schedulers`, or one that says why there is none."""
    runs = [run for name in schedulers for run in results.runs(name)]
    reasons = []
    lost = [share for run in runs if (share := _lost_outside(run))]
    if lost:
        most = 100 * _threshold("lost-outside")
        reasons.append(
            f"{len(lost)} of {len(runs)} runs lost more than {most:g} % of their packets outside the scheduler "
            f"(up to {100 * max(lost):.1f} %)"
        )
    starved = sum(bool(run["starved"]) for run in runs)
    if starved:
        reasons.append(f"in {starved} of {len(runs)} runs the senders did not get the processor")
    if problem:
        reasons.append(problem)
    if not reasons:
        return judged
    measured = f"{judged.measured}. Withheld: {'; '.join(reasons)}"
    return replace(judged, verdict=Verdict.WITHHELD, measured=measured)


def draw(results: Results, simulated: Twin | None = None) -> list[Path]:
    """Draw the experiment's figure as PNG, SVG and PDF in the folder; return the files."""
    figure = _draw_completion(results) if results.experiment == "fct" else _draw_series(results, simulated)
    return save(figure, results.folder / results.experiment)


def _draw_series(results: Results, simulated: Twin | None) -> Any:
    """One panel per scheduler and data plane: what each flow gets over time, the mean of the repeats with their range.

    Dotted, where there is one, the simulator's.
    """
    measured, flows, names = results.measured, results.summary["flows"], _names(results)
    # Three data planes of each scheduler stand in one row.
    columns = 3 if len(measured) == 3 * len(results.schedulers) else min(4, len(measured))
    rows = math.ceil(len(measured) / columns)
    bin_s = float(results.summary["bin_s"])
    # Four bins per point: packets of a 100 Mb/s link are few in one.
    group = 4
    with figure_style():
        figure, grid = subplots(
            rows, columns, figsize=(PAGE_INCHES, 1.55 * rows + 0.45), sharex=True, sharey=True, squeeze=False
        )
        for panel, (scheduler, plane) in zip(grid.flat, measured, strict=False):
            frames = [pl.read_csv(results.folder / run["series"], glob=False) for run in results.runs(scheduler, plane)]
            for number in range(len(flows)):
                series = [frame.filter(pl.col("flow") == number)["received_bytes"].to_numpy() for frame in frames]
                whole = len(series[0]) // group * group
                rates = (
                    np.stack([one[:whole].reshape(-1, group).sum(axis=1) for one in series]) * 8e-6 / (group * bin_s)
                )
                times = (np.arange(rates.shape[1]) + 0.5) * group * bin_s
                colour = rank_colour(0.9 * (1 - number / max(1, len(flows) - 1)))
                panel.fill_between(times, rates.min(axis=0), rates.max(axis=0), color=colour, alpha=0.2, linewidth=0)
                panel.plot(times, rates.mean(axis=0), color=colour, label=names[number])
                if simulated is not None:
                    expected = simulated.rates_mbps(scheduler, number, group)
                    panel.plot(times, expected, color="black", linestyle=":", linewidth=0.7, label="simulated")
            panel.set_title(results.label(scheduler, plane))
        name_axes(grid, len(measured), "time (s)", "received (Mb/s)")
        # The simulator's lines look alike, and are named once.
        named = dict(zip(*reversed(grid[0][0].get_legend_handles_labels()), strict=True))
        if simulated is not None:
            named["simulated"] = named.pop("simulated")
        labels = list(named) if len(flows) <= _WIDEST else []
        if labels:
            handles, columns = list(named.values()), len(labels)
            figure.legend(handles, labels, loc="upper center", ncols=columns, bbox_to_anchor=(0.5, 1.03))
        figure.tight_layout(rect=(0, 0, 1, 0.97))
    return figure


def _draw_completion(results: Results) -> Any:
    """Completion time over flow size, one curve per scheduler: the mean of the repeats with their range."""
    sizes = np.array([flow["size_bytes"] for flow in results.summary["flows"]]) / 1000
    with figure_style():
        figure, axes = subplots(figsize=(COLUMN_INCHES, 2.4))
        for scheduler, plane in results.measured:
            runs = results.runs(scheduler, plane)
            times = np.array([[np.nan if t is None else t for t in run["completion_s"]] for run in runs], dtype=float)
            style = look(scheduler)
            dash, label = ":" if plane == _LINUX else style.dash, results.label(scheduler, plane)
            axes.plot(sizes, times.mean(axis=0), color=style.colour, linestyle=dash, label=label)
            axes.fill_between(sizes, times.min(axis=0), times.max(axis=0), color=style.colour, alpha=0.12, linewidth=0)
        axes.set_xlabel("flow size (kB)")
        axes.set_ylabel("completion time (s)")
        axes.set_ylim(bottom=0)
        axes.legend(ncols=2)
        figure.tight_layout()
    return figure


def report(folder: str | Path) -> Path:
    """Draw, tabulate and judge what `folder` holds.

    Writes `report.md`, `verdicts.json` and the figure into the folder, and returns the page. An experiment that has a
    twin in the simulator is repeated there and shown beside it; `simulation.toml` is the scenario.
    """
    results = read(folder)
    simulated = None
    if twin.has_twin(results.summary):
        simulated = twin.simulate(results.summary)
        (results.folder / "simulation.toml").write_text(twin.scenario(results.summary), encoding="utf-8")
    figures = draw(results, simulated)
    judged = verdicts(results)
    summary = results.summary
    machine = summary["machine"]
    lines = [
        f"# {results.experiment}",
        "",
        f"Bottleneck {summary['rate_bps'] / 1e6:g} Mb/s, added delay {summary['delay_us']} us each way, "
        f"{summary['length_s']:g} s per run, {len(summary['runs'])} runs; Linux {machine['kernel']}, "
        f"{machine['processors']} processors{', without privileges' if machine['unprivileged'] else ''}.",
        "",
        f"![{results.experiment}]({figures[0].name})",
        "",
        "The last phase (intervals: 95 % over the repeats):"
        if results.experiment != "fct"
        else "Completion times (intervals: 95 % over the repeats):",
        "",
        table(results),
    ]
    for verdict in judged:
        mark = " (provisional: fewer than three repeats)" if verdict.provisional else ""
        lines += [f"- **{verdict.label}: {verdict.verdict}**{mark}. {verdict.statement}. Measured: {verdict.measured}."]
    if simulated is not None:
        lines += [
            "",
            "## Beside the simulator",
            "",
            "The same flows, schedulers and parameters on a simulated link (`pifolab run simulation.toml`, "
            f"{len(simulated.run.seeds)} seeds): shares, measured / simulated.",
            "",
            side_by_side(results, simulated),
        ]
    lines += _newest_lines(results, simulated)
    lines += _linux_lines(results)
    page = results.folder / "report.md"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = json.dumps([asdict(verdict) for verdict in judged], indent=1)
    (results.folder / "verdicts.json").write_text(text + "\n", encoding="utf-8")
    return page
