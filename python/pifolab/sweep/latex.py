"""The means of a sweep as a table of a paper: LaTeX with booktabs and columns of siunitx."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pifolab.export import escaped
from pifolab.info import schedulers
from pifolab.text import shown

if TYPE_CHECKING:
    from pifolab.sweep.results import Group

#: The package that the document needs, and how to read the table.
_HEAD = r"""% needs \usepackage{booktabs,siunitx}; where \bfseries is used: \sisetup{detect-weight=true}
% columns in pairs: the mean over the seeds, and half of its 95 % interval"""


def latex_means(
    groups: Sequence[Group],
    labels: Mapping[str, str],
    best: Mapping[str, str],
    caption: str | None = None,
    reference: str | None = None,
) -> str:
    """Return a row for each scheduler and combination of axes, two columns for each metric.

    The interval decides the number of digits of a mean; without width, its column is empty. `labels` are those of
    schedulers (default: as in figures), metrics and axes. `best` has ``lowest`` or ``highest`` by metric: that mean of
    a combination is bold, if its interval overlaps with that of no other scheduler. With a caption or a reference (the
    key of ``label``) the table is a float.
    """
    axes = list(dict.fromkeys(axis for group in groups for axis in group.axes if axis != "scheduler"))
    metrics = list(dict.fromkeys(group.metric for group in groups))
    rows: dict[tuple[Any, ...], dict[str, Group]] = {}
    for group in groups:
        rows.setdefault((group.scheduler, *(group.axes.get(axis) for axis in axes)), {})[group.metric] = group
    known = {about.name: about.look[0] for about in schedulers()}
    # Ratios are of two schedulers.
    of_one = any(group.scheduler is not None for group in groups)
    cells = []
    for (scheduler, *settings), of in rows.items():
        name = labels.get(scheduler, known.get(scheduler, scheduler))
        row = ["--" if one is None else _text(one) for one in ([name, *settings] if of_one else settings)]
        for metric in metrics:
            row += _pair(of[metric], groups, best.get(metric)) if metric in of else ["{--}", ""]
        cells.append(row)
    first = [_text(labels.get("scheduler", "scheduler"))] if of_one else []
    first += [_text(labels.get(axis, axis)) for axis in axes]
    numbers = [_format([row[at] for row in cells]) for at in range(len(first), len(cells[0]))]
    # Braces keep siunitx from taking a text for a number.
    heads = [rf"\multicolumn{{2}}{{c}}{{{_text(labels.get(one, one.replace('_', ' ')))}}}" for one in metrics]
    lines = [
        rf"\begin{{tabular}}{{{'l' * len(first)}{''.join(numbers)}}}", r"\toprule",
        " & ".join([*first, *heads]) + r" \\", r"\midrule",
        *(" & ".join(row) + r" \\" for row in cells), r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
    if caption is not None or reference is not None:
        over = [rf"\caption{{{_text(caption)}}}"] if caption is not None else []
        over += [rf"\label{{{reference}}}"] if reference is not None else []
        lines = [r"\begin{table}", r"\centering", *over, *lines, r"\end{table}"]
    return "\n".join([_HEAD, *lines, ""])


def _text(cell: Any) -> str:
    return escaped(shown(str(cell)))


def _pair(group: Group, groups: Sequence[Group], best: str | None) -> list[str]:
    estimate = group.estimate
    half = (estimate.high - estimate.low) / 2
    if not math.isfinite(half) or half == 0:
        value, width = f"{estimate.value:.4g}", ""
        if "e" in value:
            value = f"{estimate.value:.0f}" if abs(estimate.value) >= 1 else value
    else:
        # The mean ends at the second digit of the interval.
        decimals = max(0, 1 - math.floor(math.log10(half)))
        value, width = f"{estimate.value:.{decimals}f}", f"{half:.{decimals}f}"
    others = [one for one in groups if one.metric == group.metric and _comparable(one, group)]
    sign = {"lowest": 1, "highest": -1}.get(best or "", 0)
    wins = all(sign * estimate.value < sign * one.estimate.value and group.apart(one) for one in others)
    return [rf"\bfseries {value}" if sign and others and wins else value, width]


def _comparable(one: Group, group: Group) -> bool:
    """Return whether both are of the same combination, as far as their axes apply, and of different schedulers."""
    pairs = [(label, group.axes.get(axis)) for axis, label in one.axes.items() if axis != "scheduler"]
    return one.scheduler != group.scheduler and all(None in pair or pair[0] == pair[1] for pair in pairs)


def _format(column: Sequence[str]) -> str:
    """Return a column of siunitx that has room for every number."""
    numbers = [cell.removeprefix(r"\bfseries ") for cell in column if cell and not cell.startswith("{")]
    parts = [number.partition("e")[0].lstrip("-").partition(".") for number in numbers]
    whole = max((len(left) for left, _, _ in parts), default=1)
    behind = max((len(right) for _, _, right in parts), default=0)
    signed = "-" if any(number.startswith("-") for number in numbers) else ""
    power = "e-2" if any("e" in number for number in numbers) else ""
    return f"S[table-format={signed}{whole}.{behind}{power}]"
