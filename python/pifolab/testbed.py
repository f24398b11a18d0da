"""What the testbed measured: figures, tables and verdicts from a result folder of `pifolab testbed`.

The experiments run in the data plane's own program (``dataplane/linux``), which leaves `summary.json` and one CSV time
series per run. This module reads them; it measures nothing itself.

>>> from pifolab import testbed
>>> interval = testbed.mean_interval([0.93, 0.95, 0.94])
>>> round(interval.mean, 2), round(interval.low, 3), round(interval.high, 3)
(0.94, 0.915, 0.965)
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from pifolab import info, twin
from pifolab.errors import InputError
from pifolab.twin import Twin

__all__ = [
    "Interval",
    "Results",
    "Verdict",
    "draw",
    "mean_interval",
    "read",
    "report",
    "side_by_side",
    "table",
    "verdicts",
]

FORMAT = "pifolab-testbed/1"

# Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom; the normal one beyond.
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
_NORMAL95 = 1.960
# Fewer repeats than this give a provisional verdict, on the range of the repeats.
_ENOUGH = 3

# More flows than this get a line each in a table, not a column.
_WIDEST = 12

# "Almost the whole link": what the project asks of every approximation and of PIFO itself.
_MOST = 0.85
# An even split among four, give or take a fifth of it.
_EVEN = (0.20, 0.30)


@dataclass(frozen=True)
class Interval:
    """A mean over repeats with its 95 % interval (Student's t), or the range of fewer than three repeats."""

    mean: float
    low: float
    high: float
    repeats: int

    def meets(self, low: float, high: float) -> bool:
        """Say whether the interval and the range from `low` to `high` have a point in common."""
        return self.low <= high and self.high >= low


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the mean of `values` with its interval."""
    count = len(values)
    if count == 0:
        raise InputError("an interval needs at least one value")
    mean = math.fsum(values) / count
    if count < _ENOUGH:
        return Interval(mean, min(values), max(values), count)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    quantile = _T95[count - 2] if count - 2 < len(_T95) else _NORMAL95
    half = quantile * deviation / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, count)


@dataclass(frozen=True)
class Verdict:
    """What the measurements say of one claim."""

    claim: str
    """The claim's id."""
    statement: str
    """The claim in words, with the range and its tolerance."""
    verdict: str
    """`reproduced`, `partly`, `not reproduced`, or `withheld`: the runs say nothing about the claim."""
    provisional: bool
    """Whether there were fewer than three repeats."""
    measured: str
    """The figures behind it."""


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

    def runs(self, scheduler: str) -> list[dict[str, Any]]:
        """Return the runs of `scheduler`."""
        return [run for run in self.summary["runs"] if run["scheduler"] == scheduler]

    def share(self, scheduler: str, phase: int, flow: int) -> Interval:
        """Return the share of the delivered bytes that `flow` had in `phase`."""
        return mean_interval([run["phases"][phase]["share"][flow] for run in self.runs(scheduler)])

    def small_flow_completion_s(self, scheduler: str) -> Interval:
        """Return the mean completion time of the smallest quarter of the flows, in seconds.

        A flow that did not finish counts as the limit.
        """
        limit = float(self.summary["length_s"])

        def mean(run: dict[str, Any]) -> float:
            times = run["completion_s"]
            small = [limit if time is None else time for time in times[: max(1, len(times) // 4)]]
            return math.fsum(small) / len(small)

        return mean_interval([mean(run) for run in self.runs(scheduler)])


def read(folder: str | Path) -> Results:
    """Read the result folder of `pifolab testbed --out`.

    Raises
    ------
    InputError
        If it holds no summary, one of another format, or one without a run.
    """
    path = Path(folder) / "summary.json"
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; expected a folder of pifolab testbed") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    if not isinstance(summary, dict) or summary.get("format") != FORMAT:
        raise InputError(f"{path}: expected a summary of format {FORMAT}")
    if not summary.get("runs"):
        raise InputError(f"{path}: no run was finished")
    return Results(Path(folder), summary)


def _percent(interval: Interval) -> str:
    if interval.repeats == 1:
        return f"{100 * interval.mean:.1f} %"
    return f"{100 * interval.mean:.1f} % [{100 * max(interval.low, 0):.1f}, {100 * min(interval.high, 1):.1f}]"


def table(results: Results) -> str:
    """Return the results as a Markdown table: the last phase's shares, or completion times, with their intervals."""
    if results.experiment == "fct":
        head = ["scheduler", "data plane", "smallest quarter, mean FCT (s)", "unfinished flows"]
        rows = []
        for scheduler in results.schedulers:
            time = results.small_flow_completion_s(scheduler)
            unfinished = sum(run["completion_s"].count(None) for run in results.runs(scheduler))
            rows.append([f"{time.mean:.3f} [{max(time.low, 0):.3f}, {time.high:.3f}]", str(unfinished)])
    else:
        flows = results.summary["flows"]
        computed = any(about.name == results.summary["rank"] for about in info.ranks())
        names = [
            f"flow {number + 1}" + ("" if computed else f" (rank {flow['rank']})") for number, flow in enumerate(flows)
        ]
        if len(flows) > _WIDEST:
            return _tall_table(results, names)
        head = ["scheduler", "data plane", *names, "delivered (Mb/s)"]
        rows = []
        for scheduler in results.schedulers:
            shares = [_percent(results.share(scheduler, -1, flow)) for flow in range(len(flows))]
            rate = mean_interval([sum(run["phases"][-1]["delivered_mbps"]) for run in results.runs(scheduler)])
            rows.append([*shares, f"{rate.mean:.1f}"])
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for scheduler, row in zip(results.schedulers, rows, strict=True):
        planes = ", ".join(sorted({run["data_plane"] for run in results.runs(scheduler)}))
        lines.append("| " + " | ".join([scheduler + _marks(results, scheduler), planes, *row]) + " |")
    return "\n".join(lines) + "\n"


def _marks(results: Results, scheduler: str) -> str:
    """Return what a reader must know of a scheduler's runs before their numbers."""
    runs = results.runs(scheduler)
    lost = max((100 * run["losses"]["share"] for run in runs if run.get("lost_outside")), default=0.0)
    starved = " (starved)" if any(run["starved"] for run in runs) else ""
    return starved + (f" ({lost:.1f} % lost outside)" if lost else "")


def _tall_table(results: Results, names: Sequence[str]) -> str:
    """Return the shares of the last phase with a line for each of many flows."""
    head = ["flow", *(name + _marks(results, name) for name in results.schedulers)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for flow, name in enumerate(names):
        shares = [_percent(results.share(scheduler, -1, flow)) for scheduler in results.schedulers]
        lines.append("| " + " | ".join([name, *shares]) + " |")
    return "\n".join(lines) + "\n"


def side_by_side(results: Results, simulated: Twin) -> str:
    """Return a Markdown table of the last phase's shares, measured and simulated, and how far apart they ever are."""
    flows = range(len(results.summary["flows"]))
    phases = range(len(results.summary["phases_s"]))
    shown = flows if len(flows) <= _WIDEST else range(0)
    head = ["scheduler", "data plane", *(f"flow {flow + 1}" for flow in shown), "largest difference in any phase"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for scheduler in results.schedulers:
        planes = ", ".join(sorted({run["data_plane"] for run in results.runs(scheduler)}))
        measured = [[results.share(scheduler, phase, flow).mean for flow in flows] for phase in phases]
        expected = [simulated.shares(scheduler, phase) for phase in phases]
        cells = [f"{100 * measured[-1][flow]:.1f} / {100 * expected[-1][flow]:.1f} %" for flow in shown]
        apart = max(abs(measured[phase][flow] - expected[phase][flow]) for phase in phases for flow in flows)
        lines.append("| " + " | ".join([scheduler, planes, *cells, f"{100 * apart:.1f} points"]) + " |")
    return "\n".join(lines) + "\n"


# (claim, statement, schedulers that must take the link)
_FOUR_FLOWS = (
    ("ai8", "AIFO and SP-PIFO give (almost) the whole link to the newest of four UDP flows", ("aifo", "sp-pifo")),
    ("ri2", "RIFO gives the link to the newest of four UDP flows", ("rifo",)),
    ("ex11", "Exp-PIFO gives the link to the newest of four UDP flows", ("exp-pifo",)),
    ("pk13", "PACKS gives the link to the flow of highest priority (here at line rate, there at twice)", ("packs",)),
)
_FOUR_TOLERANCE = "at least 85 % in every phase; FIFO splits evenly: each flow 20 to 30 % in the last phase"


def _judged(claim: str, statement: str, holds: Sequence[bool], direction: bool, measured: str, repeats: int) -> Verdict:
    verdict = "reproduced" if all(holds) else "partly" if direction else "not reproduced"
    return Verdict(claim, statement, verdict, repeats < _ENOUGH, measured)


def _newest_by_phase(results: Results, scheduler: str) -> list[Interval]:
    return [results.share(scheduler, phase, phase) for phase in range(len(results.summary["flows"]))]


def _four_flows(results: Results) -> list[Verdict]:
    if "fifo" not in results.schedulers:
        return []
    fifo = [results.share("fifo", -1, flow) for flow in range(4)]
    even = all(share.meets(*_EVEN) for share in fifo)
    said = "FIFO " + ", ".join(_percent(share) for share in fifo)
    verdicts = []
    for claim, statement, schedulers in _FOUR_FLOWS:
        if not set(schedulers) <= set(results.schedulers):
            continue
        newest = {scheduler: _newest_by_phase(results, scheduler) for scheduler in schedulers}
        holds = [share.meets(_MOST, 1.0) for shares in newest.values() for share in shares]
        direction = all(shares[-1].mean > 0.5 for shares in newest.values())
        worst = {scheduler: min(shares, key=lambda share: share.mean) for scheduler, shares in newest.items()}
        measured = "; ".join(
            f"{name} {_percent(newest[name][-1])} in the last phase, least in any phase {_percent(share)}"
            for name, share in worst.items()
        )
        repeats = min(share.repeats for share in worst.values())
        statement = f"{statement}: {_FOUR_TOLERANCE}"
        verdicts.append(_judged(claim, statement, [*holds, even], direction, f"{measured}; {said}", repeats))
    return verdicts


def _eight_flows(results: Results) -> list[Verdict]:
    if "sp-pifo" not in results.schedulers:
        return []
    queues = 4
    newest = _newest_by_phase(results, "sp-pifo")
    alone = all(share.meets(_MOST, 1.0) for share in newest[:queues])
    shared = all(share.meets(0.0, _MOST) for share in newest[queues:])
    statement = (
        "SP-PIFO on 4 queues: while there are no more flows than queues the newest takes the link (at least 85 %); "
        "beyond that flows share queues (the newest has less than 85 %)"
    )
    measured = "share of the newest flow, phase by phase: " + ", ".join(_percent(share) for share in newest)
    return [_judged("sp18", statement, [alone, shared], alone or shared, measured, newest[0].repeats)]


def _tcp_flows(results: Results) -> list[Verdict]:
    if "aifo" not in results.schedulers:
        return []
    lowest, highest = results.share("aifo", -1, 3), results.share("aifo", -1, 0)
    statement = (
        "AIFO with four CUBIC flows: the lowest rank gets 30 of 34 (88 %, tolerance 10 points), the highest 0.2 to 1 "
        "of 34 (0.6 to 3 %, tolerance a factor of two)"
    )
    holds = [lowest.meets(0.78, 0.98), highest.meets(0.003, 0.06)]
    measured = f"lowest rank {_percent(lowest)}, highest {_percent(highest)}"
    return [_judged("ai9", statement, holds, lowest.mean > 0.5, measured, lowest.repeats)]


def _completion_times(results: Results) -> list[Verdict]:
    if not {"fifo", "sp-pifo"} <= set(results.schedulers):
        return []
    fifo, ours = (results.small_flow_completion_s(name) for name in ("fifo", "sp-pifo"))
    statement = (
        "SP-PIFO with rank = flow size: short flows (the smallest quarter) finish much earlier than under FIFO (at "
        "most half the mean FCT: the paper gives no number)"
    )
    measured = f"SP-PIFO {ours.mean:.3f} s [{ours.low:.3f}, {ours.high:.3f}], FIFO {fifo.mean:.3f} s"
    holds = [ours.low <= 0.5 * fifo.high]
    return [_judged("sp19", statement, holds, ours.mean < fifo.mean, measured, ours.repeats)]


def _max_min(offered: Sequence[float], rate: float) -> list[float]:
    """Return the max-min fair rates of flows that offer `offered` to a link of `rate`."""
    fair = [0.0] * len(offered)
    left, order = rate, sorted(range(len(offered)), key=lambda flow: offered[flow])
    for place, flow in enumerate(order):
        fair[flow] = min(offered[flow], left / (len(order) - place))
        left -= fair[flow]
    return fair


def _fair_shares(results: Results) -> list[Verdict]:
    rate = float(results.summary["rate_bps"])
    fair = [share / rate for share in _max_min([flow["offered_bps"] for flow in results.summary["flows"]], rate)]
    verdicts = []
    for scheduler in results.schedulers:
        if info.scheduler(scheduler).traits.tail_drop:
            continue
        shares = [results.share(scheduler, -1, flow) for flow in range(len(fair))]
        off = [abs(share.mean / ideal - 1) for share, ideal in zip(shares, fair, strict=True)]
        holds = [share.meets(0.9 * ideal, 1.1 * ideal) for share, ideal in zip(shares, fair, strict=True)]
        statement = f"{scheduler} with start-time fair queueing gives max-min fair shares (within 10 % of each)"
        measured = ", ".join(_percent(share) for share in shares) + f"; largest deviation {100 * max(off):.1f} %"
        claim = f"fair-shares/{scheduler}"
        verdicts.append(_judged(claim, statement, holds, max(off) < 0.25, measured, shares[0].repeats))
    return verdicts


_JUDGES: dict[str, Callable[[Results], list[Verdict]]] = {
    "udp-four-flows": _four_flows,
    "udp-eight-flows": _eight_flows,
    "tcp-four-flows": _tcp_flows,
    "fct": _completion_times,
    "fair-shares": _fair_shares,
}


def verdicts(results: Results) -> list[Verdict]:
    """Judge the papers' claims on this experiment; claims whose schedulers did not run are left out.

    A verdict is withheld if a run lost more than 0.1 % of its packets outside the scheduler, if its senders did not get
    the processor, or if the flows have ranks of which the claim does not speak.
    """
    judge = _JUDGES.get(results.experiment)
    return [_withheld(results, verdict) for verdict in judge(results)] if judge else []


def _judged_schedulers(claim: str) -> set[str]:
    """Return the schedulers whose runs a verdict is about."""
    named = {name: {"fifo", *schedulers} for name, _, schedulers in _FOUR_FLOWS}
    named |= {"sp18": {"sp-pifo"}, "ai9": {"aifo"}, "sp19": {"fifo", "sp-pifo"}}
    return named.get(claim) or {claim.removeprefix("fair-shares/")}


def _ranks_problem(results: Results, schedulers: set[str]) -> str | None:
    """Say why the ranks of the flows make a claim about the newest flow meaningless; None if they do not."""
    if results.experiment not in ("udp-four-flows", "udp-eight-flows", "tcp-four-flows"):
        return None
    ranks = [int(flow["rank"]) for flow in results.summary["flows"]]
    shown = ", ".join(map(str, ranks))
    if any(later >= earlier for earlier, later in pairwise(ranks)):
        return f"the claim is about flows each of which has a lower rank than those before it; the ranks are {shown}"
    # Exp-PIFO sorts ranks into powers of two, and the two largest in use share its last queue.
    gaps = [earlier.bit_length() - later.bit_length() for earlier, later in pairwise(ranks)]
    if "exp-pifo" in schedulers and (gaps[0] < 2 or min(gaps) < 1):
        return (
            "Exp-PIFO tells ranks apart by their powers of two, and not the two largest of these; "
            f"the ranks are {shown}"
        )
    return None


def _withheld(results: Results, verdict: Verdict) -> Verdict:
    """Return the verdict, or one that says why there is none."""
    schedulers = _judged_schedulers(verdict.claim)
    runs = [run for run in results.summary["runs"] if run["scheduler"] in schedulers]
    reasons = []
    lost = [run["losses"]["share"] for run in runs if run.get("lost_outside")]
    if lost:
        reasons.append(
            f"{len(lost)} of {len(runs)} runs lost more than 0.1 % of their packets outside the scheduler "
            f"(up to {100 * max(lost):.1f} %)"
        )
    starved = sum(bool(run["starved"]) for run in runs)
    if starved:
        reasons.append(f"in {starved} of {len(runs)} runs the senders did not get the processor")
    problem = _ranks_problem(results, schedulers)
    if problem:
        reasons.append(problem)
    if not reasons:
        return verdict
    return replace(verdict, verdict="withheld", measured=f"{verdict.measured}. Withheld: {'; '.join(reasons)}")


def draw(results: Results, simulated: Twin | None = None) -> list[Path]:
    """Draw the experiment's figure as PNG, SVG and PDF in the folder; return the files."""
    from pifolab.figures.style import save

    figure = _draw_completion(results) if results.experiment == "fct" else _draw_series(results, simulated)
    return save(figure, results.folder / results.experiment)


def _draw_series(results: Results, simulated: Twin | None) -> Any:
    """One panel per scheduler: what each flow gets over time, the mean of the repeats with their range.

    Dotted, where there is one, the simulator's.
    """
    import numpy as np
    import polars as pl

    from pifolab.figures.palette import look, rank_colour
    from pifolab.figures.style import PAGE_INCHES, figure_style, subplots

    schedulers, flows = results.schedulers, results.summary["flows"]
    columns = min(4, len(schedulers))
    rows = math.ceil(len(schedulers) / columns)
    bin_s = float(results.summary["bin_s"])
    # Four bins per point: packets of a 100 Mb/s link are few in one.
    group = 4
    with figure_style():
        figure, grid = subplots(
            rows, columns, figsize=(PAGE_INCHES, 1.55 * rows + 0.45), sharex=True, sharey=True, squeeze=False
        )
        for panel, scheduler in zip(grid.flat, schedulers, strict=False):
            frames = [pl.read_csv(results.folder / run["series"]) for run in results.runs(scheduler)]
            for number in range(len(flows)):
                series = [frame.filter(pl.col("flow") == number)["received_bytes"].to_numpy() for frame in frames]
                whole = len(series[0]) // group * group
                rates = (
                    np.stack([one[:whole].reshape(-1, group).sum(axis=1) for one in series]) * 8e-6 / (group * bin_s)
                )
                times = (np.arange(rates.shape[1]) + 0.5) * group * bin_s
                colour = rank_colour(0.9 * (1 - number / max(1, len(flows) - 1)))
                panel.fill_between(times, rates.min(axis=0), rates.max(axis=0), color=colour, alpha=0.2, linewidth=0)
                panel.plot(times, rates.mean(axis=0), color=colour, label=f"flow {number + 1}")
                if simulated is not None:
                    expected = simulated.rates_mbps(scheduler, number, group)
                    panel.plot(times, expected, color="black", linestyle=":", linewidth=0.7, label="simulated")
            panel.set_title(look(scheduler).label)
        for panel in list(grid.flat)[len(schedulers) :]:
            panel.set_visible(False)
        for panel in list(grid.flat)[: len(schedulers)][-columns:]:
            # Also where the row below is not full.
            panel.set_xlabel("time (s)")
            panel.tick_params(labelbottom=True)
        for row in grid:
            row[0].set_ylabel("received (Mb/s)")
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
    import numpy as np

    from pifolab.figures.palette import look
    from pifolab.figures.style import COLUMN_INCHES, figure_style, subplots

    sizes = np.array([flow["size_bytes"] for flow in results.summary["flows"]]) / 1000
    with figure_style():
        figure, axes = subplots(figsize=(COLUMN_INCHES, 2.4))
        for scheduler in results.schedulers:
            runs = results.runs(scheduler)
            times = np.array([[np.nan if t is None else t for t in run["completion_s"]] for run in runs], dtype=float)
            style = look(scheduler)
            axes.plot(sizes, times.mean(axis=0), color=style.colour, linestyle=style.dash, label=style.label)
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
        lines += [f"- **{verdict.claim}: {verdict.verdict}**{mark}. {verdict.statement}. Measured: {verdict.measured}."]
    if simulated is not None:
        lines += [
            "",
            "## Beside the simulator",
            "",
            "The same flows, schedulers and parameters on a simulated link (`pifolab run simulation.toml`, "
            f"{len(simulated.run.seeds)} seeds): shares of the last phase, measured / simulated.",
            "",
            side_by_side(results, simulated),
        ]
    page = results.folder / "report.md"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = json.dumps([asdict(verdict) for verdict in judged], indent=1)
    (results.folder / "verdicts.json").write_text(text + "\n", encoding="utf-8")
    return page
