"""The lines that a sweep ends with: statistics, comparisons, warnings."""

from __future__ import annotations

from typing import TextIO

from pifolab.sweep.results import Compared, Group

__all__ = ["print_comparisons", "print_statistics", "print_warnings"]


def print_statistics(groups: list[Group], out: TextIO, most: int | None = None) -> None:
    """Print mean, interval and seeds of each metric; at most `most` lines for each."""
    for metric in dict.fromkeys(group.metric for group in groups):
        these = [group for group in groups if group.metric == metric]
        print(f"{metric}: mean [95 % interval]", file=out)
        width = max(len(group.name) for group in these)
        for group in these[:most]:
            seeds = group.estimate.seeds
            print(f"  {group.name:{width}}  {group.estimate}  ({seeds} seed{'s' * (seeds != 1)})", file=out)
        if most is not None and len(these) > most:
            print(f"  and {len(these) - most} more: pifolab results STORE --statistics", file=out)
        print(file=out)


def print_comparisons(compared: list[Compared], out: TextIO) -> None:
    """Print each ratio with its interval and, where something was stated, the verdict."""
    for one in compared:
        print(one, file=out)
    if compared:
        print(file=out)


def print_warnings(groups: list[Group], wide: float, out: TextIO, most: int | None = None) -> None:
    """Print where seeds are too few or intervals wider than `wide`, the widest first, with how many would do."""
    warned = [(group, text) for group in groups if (text := group.estimate.warning(wide)) is not None]
    warned.sort(key=lambda pair: -pair[0].estimate.relative_half_width)
    for group, text in warned[:most]:
        print(f"warning: {group.metric} of {group.name}: {text}", file=out)
    if most is not None and len(warned) > most:
        print(f"warning: and {len(warned) - most} more", file=out)
