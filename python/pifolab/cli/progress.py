"""Progress of work that takes longer than two seconds: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from pifolab.quantities import duration_text, size_text
from pifolab.runs import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

PATIENCE_S = 2.0

#: Without a terminal: seconds until the first line, and the longest time between two lines.
FIRST_LINE_S, LINES_S = 10.0, 600.0

#: The expected time and memory of a run are printed if it takes longer than the first time, after the second time.
LONG_S, MEASURED_S = 10.0, 1.0

#: The width of the bar, and the smallest width of a terminal with a bar.
_BAR, _WIDE = 20, 110


def described(state: Progress, elapsed_s: float, width: int = 1000) -> str:
    """Return the progress of a run in words: time left, counts, speed; as much as fits in `width`.

    Examples
    --------
    >>> from pifolab import Progress
    >>> described(Progress(500, 2000.0, 1, 4), 10)
    '1/4 runs, 0:00:30 left, 500 packets, 50 packets/s'
    >>> state = Progress(900, None, 0, 2, 0.25, 1.0, 3_000_000, 120, 500)
    >>> described(state, 2)
    '0/2 runs, 0:00:06 left, 0.25 of 1 s simulated, 120 of 500 flows, 1.5 M events/s'
    >>> described(state, 2, width=75)
    '0/2 runs, 0:00:06 left, 0.25 of 1 s simulated, 120 of 500 flows'
    """
    parts = [f"{state.runs_done}/{state.runs} runs"]
    if state.share:
        left_s = round(elapsed_s * (1 - state.share) / state.share)
        parts.append(f"{left_s // 3600}:{left_s // 60 % 60:02}:{left_s % 60:02} left")
    if state.duration_s:
        parts.append(f"{state.simulated_s:.3g} of {state.duration_s:.3g} s simulated")
    else:
        parts.append(f"{state.arrived_packets:,} packets")
    if state.flows is not None:
        parts.append(f"{state.flows_done:,} of {state.flows:,} flows")
    what, count = ("packets", state.arrived_packets) if state.events is None else ("events", state.events)
    if elapsed_s > 0 and count:
        parts.append(f"{_rate(count / elapsed_s)} {what}/s")
    while len(", ".join(parts)) > width and len(parts) > 1:
        parts.pop()
    return ", ".join(parts)


def _rate(value: float) -> str:
    for unit, size in ((" G", 1e9), (" M", 1e6), (" k", 1e3)):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


class ProgressBar:
    """A context manager whose `update` is the argument `progress` of `pifolab.run`.

    Nothing is shown before `PATIENCE_S`. A terminal gets a bar. Elsewhere, such as in the log of a batch job, there is
    a line after `FIRST_LINE_S`, and then one each time that the time so far
    has doubled, at least once in `LINES_S`.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._bar: Bar | None = None
        self._on_terminal = sys.stderr.isatty()
        self._room = 0
        self._next_line_s = FIRST_LINE_S
        self._warned = False
        self._began: tuple[float, float] | None = None

    def __enter__(self) -> ProgressBar:
        return self

    def update(self, state: Progress) -> None:
        """Show how far the run is."""
        elapsed_s = time.monotonic() - self._started
        if self._began is None and state.share is not None:
            # The time before the first packet, such as the construction of a large network, does not count for the
            # speed of the run.
            self._began = (elapsed_s, state.share)
        if elapsed_s < PATIENCE_S:
            return
        self._warn(state, elapsed_s)
        if not self._on_terminal:
            if elapsed_s >= self._next_line_s:
                self._next_line_s = elapsed_s + min(elapsed_s, LINES_S)
                print(f"pifolab: {described(state, elapsed_s)}", file=sys.stderr, flush=True)
            return
        if self._bar is None:
            self._bar = self._draw()
            # The percentage takes four columns and a space, the bar one more space.
            self._room = self._bar.console.width - 5 - (_BAR + 1 if self._bar.console.width >= _WIDE else 0)
        self._bar.update(
            self._bar.task_ids[0],
            completed=state.share or 0.0,
            total=None if state.share is None else 1.0,
            words=described(state, elapsed_s, self._room),
        )

    def _warn(self, state: Progress, elapsed_s: float) -> None:
        """Print once, as soon as it is known, the expected time and memory of a long run."""
        if self._warned or self._began is None or state.share is None:
            return
        began_s, began = self._began
        if elapsed_s < began_s + MEASURED_S or state.share <= began:
            return
        self._warned = True
        whole_s = began_s + (elapsed_s - began_s) * (1 - began) / (state.share - began)
        if whole_s >= LONG_S:
            memory = "" if state.memory_bytes is None else f" and {size_text(state.memory_bytes)} of memory"
            print(
                f"pifolab: note: the run will take about {duration_text(whole_s)}{memory}", file=sys.stderr, flush=True
            )

    @staticmethod
    def _draw() -> Bar:
        # Rich is slow to import, and most runs are quick.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        console = Console(stderr=True)
        bar = Progress(
            *([BarColumn(bar_width=_BAR)] if console.width >= _WIDE else []),
            TaskProgressColumn(),
            TextColumn("{task.fields[words]}"),
            console=console,
            transient=True,
        )
        bar.add_task("", words="")
        bar.start()
        return bar

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
