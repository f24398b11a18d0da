"""The lines that a sweep ends with: statistics, comparisons, warnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from pifolab.statistics.intervals import ENOUGH_SEEDS
from pifolab.sweep.results import Compared, Group, LeftOut
from pifolab.text import shown


def print_statistics(groups: list[Group], metrics: Sequence[str], out: TextIO, most: int | None = None) -> None:
    """Print mean, interval and seeds of each metric, at most `most` lines for each, and what of `metrics` has none."""
    for metric in dict.fromkeys(group.metric for group in groups):
        these = [group for group in groups if group.metric == metric]
        random = any(group.random for group in these)
        print(
            f"{metric}: mean [95 % interval]" if random else f"{metric} (not random: the same for every seed)", file=out
        )
        width = max(len(shown(group.name)) for group in these)
        for group in these[:most]:
            seeds = group.estimate.seeds
            about = f"{seeds} seed{'s' * (seeds != 1)}"
            if group.without_value:
                about += (
                    f"; {group.without_value} left out: {'they have' if group.without_value > 1 else 'it has'} no value"
                )
            value = f"{group.estimate}  ({about})" if random else f"{group.estimate.value:.6g}"
            print(f"  {shown(group.name):{width}}  {value}", file=out)
        if most is not None and len(these) > most:
            print(f"  and {len(these) - most} more: pifolab study show STORE", file=out)
        print(file=out)
    for name in metrics:
        if all(group.metric != name for group in groups):
            print(f"{name}: no run has a value (what it counts did not happen, or it divides by 0)\n", file=out)


def print_left_out(left: list[LeftOut], runs: int, out: TextIO, most: int = 10) -> None:
    """Print which of `runs` runs the numbers do not come from, and why; at most `most` by name."""
    if not left:
        return
    print(f"{len(left)} of {runs} runs are left out:", file=out)
    unfinished = [one for one in left if one.reason == "not finished"]
    others = [one for one in left if one.reason != "not finished"]
    for one in others[:most]:
        print(f"  {one.run[:12]} ({shown(one.name)}): {shown(one.reason)}", file=out)
    if len(others) > most:
        print(f"  and {len(others) - most} more: pifolab study check STORE", file=out)
    if unfinished:
        print(f"  {len(unfinished)} {'is' if len(unfinished) == 1 else 'are'} not finished", file=out)
    print(file=out)


def print_comparisons(compared: list[Compared], out: TextIO) -> None:
    """Print each ratio with its interval and, where something was stated, the verdict."""
    for one in compared:
        print(shown(str(one)), file=out)
    if compared:
        print(file=out)


#: A warning is given where the 95 % interval of a mean reaches further than this to each side.
_WIDE = 0.05


def print_warnings(groups: list[Group], out: TextIO, most: int | None = None) -> None:
    """Print where seeds are too few or intervals wide, the widest first, with how many would do.

    Where nothing is random one seed is enough, and nothing is printed.
    """
    groups = [group for group in groups if group.random]
    few = [group.estimate.seeds for group in groups if group.estimate.seeds < ENOUGH_SEEDS]
    if few:
        # One line for all of them: with few seeds there are few for every combination.
        seeds = str(min(few)) if min(few) == max(few) else f"{min(few)} to {max(few)}"
        what = f"{len(few)} of {len(groups)} intervals come from {seeds} seed{'s' * (seeds != '1')} and are too narrow"
        print(f"warning: {what}; run at least {ENOUGH_SEEDS}, better 10", file=out)
    warned = [group for group in groups if group.estimate.seeds > 1 and group.estimate.relative_half_width > _WIDE]
    warned.sort(key=lambda group: -group.estimate.relative_half_width)
    for group in warned[:most]:
        print(f"warning: {group.metric} of {shown(group.name)}: {group.estimate.warning(_WIDE)}", file=out)
    if most is not None and len(warned) > most:
        print(f"warning: and {len(warned) - most} more", file=out)
