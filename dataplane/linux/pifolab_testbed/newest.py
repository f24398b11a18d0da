"""The newest flow's share under each scheduler, on each data plane that carried it and in the simulator.

In the papers' experiments each flow has a lower rank than those before it and should have the whole link from its start
on. Several data planes are compared by that share alone, phase by phase.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pifolab.export import table_lines
from pifolab.figures.palette import look
from pifolab.figures.style import PAGE_INCHES, figure_style, subplots
from pifolab.statistics import Estimate

__all__ = ["SIMULATOR", "NewestShares", "draw", "largest_difference", "plane_label", "table"]

SIMULATOR = "simulator"
"""What the simulator is called where data planes have names."""

_LABELS = {"ebpf": "kernel (eBPF)", "qdisc": "kernel (BPF qdisc)", "switch": "user-space switch", "p4": "P4 on BMv2"}
_COLOURS = {"ebpf": "#0072b2", "qdisc": "#56b4e9", "switch": "#d55e00", "p4": "#009e73", "linux": "#999999"}
_MARKERS = {"ebpf": "o", "qdisc": "v", "switch": "s", "p4": "^", "linux": "d"}
# Fewer panels side by side leave room for eight phases in each.
_COLUMNS = 3
# Points of one phase stand beside each other: most have the same height.
_STEP, _HALF = 0.16, 0.36


@dataclass(frozen=True)
class NewestShares:
    """The newest flow's share of the delivered bytes in each phase."""

    scheduler: str
    """The scheduler."""
    data_plane: str
    """What carried it, or :data:`SIMULATOR`."""
    shares: tuple[Estimate, ...]
    """One for each phase, of 1."""


def plane_label(plane: str) -> str:
    """Return what a data plane is called in a figure or table."""
    return _LABELS.get(plane, plane)


def largest_difference(lines: Sequence[NewestShares], one: NewestShares) -> float | None:
    """Return how far `one` is from the simulator's shares in any phase; None if the simulator is not there."""
    for other in lines:
        if other.data_plane == SIMULATOR and other.scheduler == one.scheduler:
            pairs = zip(one.shares, other.shares, strict=True)
            return max(abs(mine.value - theirs.value) for mine, theirs in pairs)
    return None


def _percent(estimate: Estimate) -> str:
    if estimate.seeds == 1 or f"{100 * estimate.low:.0f}" == f"{100 * estimate.high:.0f}":
        return f"{100 * estimate.value:.1f} %"
    return f"{100 * estimate.value:.1f} % [{100 * max(estimate.low, 0):.0f}, {100 * min(estimate.high, 1):.0f}]"


def table(lines: Sequence[NewestShares]) -> str:
    """Return the shares as a Markdown table: a row for each scheduler and data plane, a column for each phase."""
    phases = len(lines[0].shares)
    # While one flow sends it has the link, whatever the scheduler.
    head = [
        "scheduler",
        "data plane",
        *(f"{count} flows" for count in range(2, phases + 1)),
        "farthest from the simulator",
    ]
    rows = []
    for line in lines:
        apart = None if line.data_plane == SIMULATOR else largest_difference(lines, line)
        cells = [line.scheduler, plane_label(line.data_plane), *(_percent(share) for share in line.shares[1:])]
        rows.append([*cells, "" if apart is None else f"{100 * apart:.1f} points"])
    return "\n".join(table_lines(head, rows)) + "\n"


def draw(lines: Sequence[NewestShares]) -> Any:
    """Draw one panel per scheduler: the newest flow's share over the number of flows that send.

    Returns
    -------
    matplotlib.figure.Figure
        A mark for each data plane with its interval; the simulator's is a line through them.
    """
    schedulers = list(dict.fromkeys(line.scheduler for line in lines))
    planes = [plane for plane in dict.fromkeys(line.data_plane for line in lines) if plane != SIMULATOR]
    columns = min(_COLUMNS, len(schedulers))
    rows = math.ceil(len(schedulers) / columns)
    with figure_style():
        figure, grid = subplots(
            rows, columns, figsize=(PAGE_INCHES, 1.55 * rows + 0.45), sharex=True, sharey=True, squeeze=False
        )
        handles: dict[str, Any] = {}
        for panel, scheduler in zip(grid.flat, schedulers, strict=False):
            for line in lines:
                if line.scheduler != scheduler:
                    continue
                values = [100 * share.value for share in line.shares]
                counts = [float(count) for count in range(1, len(values) + 1)]
                if line.data_plane == SIMULATOR:
                    ends = [[count + side * _HALF for count in counts] for side in (-1, 1)]
                    drawn = panel.hlines(values, *ends, color="black", linewidth=0.8, zorder=1)
                else:
                    aside = _STEP * (planes.index(line.data_plane) - (len(planes) - 1) / 2)
                    drawn = panel.errorbar(
                        [count + aside for count in counts],
                        values,
                        yerr=_bars(line.shares),
                        color=_COLOURS.get(line.data_plane, "#661100"),
                        marker=_MARKERS.get(line.data_plane, "x"),
                        linestyle="none",
                        elinewidth=0.7,
                    )
                handles.setdefault(plane_label(line.data_plane), drawn)
            panel.set_title(look(scheduler).label)
            panel.set_ylim(-4, 104)
            panel.set_xticks(range(1, len(lines[0].shares) + 1))
        name_axes(grid, len(schedulers), "flows that send", "newest flow (%)")
        figure.legend(
            list(handles.values()), list(handles), loc="upper center", ncols=len(handles), bbox_to_anchor=(0.5, 1.03)
        )
        figure.tight_layout(rect=(0, 0, 1, 0.97))
    return figure


def _bars(shares: Sequence[Estimate]) -> list[list[float]]:
    """Return how far the intervals reach below and above the values, within 0 and 100 %."""
    below = [100 * (share.value - max(share.low, 0.0)) for share in shares]
    above = [100 * (min(share.high, 1.0) - share.value) for share in shares]
    return [[max(length, 0.0) for length in below], [max(length, 0.0) for length in above]]


def name_axes(grid: Any, used: int, x: str, y: str) -> None:
    """Name the axes of a grid of panels, of which the first `used` are drawn, also where the last row is not full."""
    panels, columns = list(grid.flat), grid.shape[1]
    for panel in panels[used:]:
        panel.set_visible(False)
    for panel in panels[:used][-columns:]:
        panel.set_xlabel(x)
        panel.tick_params(labelbottom=True)
    for row in grid:
        row[0].set_ylabel(y)
