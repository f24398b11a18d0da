"""A line of progress on the terminal for whatever takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from pifolab.runs import Progress

__all__ = ["ProgressBar", "described"]

PATIENCE_S = 2.0


def described(state: Progress, elapsed_s: float) -> str:
    """Return how far a run is, in words: what happened, how fast, and the time left.

    Examples
    --------
    >>> from pifolab import Progress
    >>> described(Progress(500, 2000.0, 1, 4), 10)
    '1/4 runs, 500 packets, 50 packets/s, 0:00:30 left'
    >>> described(Progress(900, None, 0, 2, 0.25, 1.0, 3_000_000, 120, 500), 2)
    '0/2 runs, 0.25 of 1 s simulated, 1.5 M events/s, 120 of 500 flows, 0:00:06 left'
    """
    parts = [f"{state.runs_done}/{state.runs} runs"]
    if state.duration_s:
        parts.append(f"{state.simulated_s:.3g} of {state.duration_s:.3g} s simulated")
    else:
        parts.append(f"{state.arrived_packets:,} packets")
    what, count = ("packets", state.arrived_packets) if state.events is None else ("events", state.events)
    if elapsed_s > 0 and count:
        parts.append(f"{_rate(count / elapsed_s)} {what}/s")
    if state.flows is not None:
        parts.append(f"{state.flows_done:,} of {state.flows:,} flows")
    if state.share:
        left_s = round(elapsed_s * (1 - state.share) / state.share)
        parts.append(f"{left_s // 3600}:{left_s // 60 % 60:02}:{left_s % 60:02} left")
    return ", ".join(parts)


def _rate(value: float) -> str:
    for unit, size in ((" G", 1e9), (" M", 1e6), (" k", 1e3)):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


class ProgressBar:
    """A context manager whose `update` is what `pifolab.run` wants as `progress`.

    Nothing is drawn before `PATIENCE_S`, nor where standard error is no terminal.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._bar: Bar | None = None
        self._enabled = sys.stderr.isatty()

    def __enter__(self) -> ProgressBar:
        return self

    def update(self, state: Progress) -> None:
        """Show how far the run is."""
        elapsed_s = time.monotonic() - self._started
        if not self._enabled or elapsed_s < PATIENCE_S:
            return
        if self._bar is None:
            self._bar = self._draw()
        self._bar.update(
            self._bar.task_ids[0],
            completed=state.share or 0.0,
            total=None if state.share is None else 1.0,
            words=described(state, elapsed_s),
        )

    @staticmethod
    def _draw() -> Bar:
        # Rich is slow to import, and most runs are quick.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        bar = Progress(
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TextColumn("{task.fields[words]}"),
            console=Console(stderr=True),
            transient=True,
        )
        bar.add_task("", words="")
        bar.start()
        return bar

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
