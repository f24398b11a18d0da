"""A progress bar on the terminal for whatever takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["ProgressBar"]

PATIENCE_S = 2.0


class ProgressBar:
    """A context manager whose `update` has the signature that `pifolab.run` calls.

    Nothing is drawn before `PATIENCE_S`, nor where standard error is no terminal.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._enabled = sys.stderr.isatty()

    def __enter__(self) -> ProgressBar:
        return self

    def update(self, arrived: int, expected: float | None, done: int, schedulers: int) -> None:
        """Show how far the run is."""
        if not self._enabled or time.monotonic() - self._started < PATIENCE_S:
            return
        if self._bar is None:
            self._bar = self._draw()
        total = max(expected, arrived) if expected is not None else None
        self._bar.update(self._bar.task_ids[0], completed=arrived, total=total, done=f"{done}/{schedulers}")

    @staticmethod
    def _draw() -> Progress:
        # Rich is slow to import, and most runs are quick.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        bar = Progress(
            TextColumn("{task.fields[done]} runs"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.completed:,.0f} packets"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        bar.add_task("", done="")
        bar.start()
        return bar

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
