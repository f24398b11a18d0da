"""Shows a sweep while it runs: a line per worker on a terminal, a line now and then elsewhere, or JSON lines."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pifolab.errors import InputError
from pifolab.folder import writing
from pifolab.quantities import duration_text
from pifolab.text import shown

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

#: Without a terminal, a line at most this often; and with one, this many redraws a second.
_LINE_EVERY_S, _REDRAWS = 10.0, 4


def _opened(target: str) -> TextIO:
    """Open a file to append to it; a named pipe that nobody reads is refused instead of waited for."""
    file = open(target, "a", encoding="utf-8", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK, 0o666))  # noqa: SIM115
    os.set_blocking(file.fileno(), True)
    return file


class JsonLines:
    """Writes each event as a line of JSON, to a file or (``-``) to standard output."""

    def __init__(self, target: str) -> None:
        self._own, self._path = target != "-", Path(target)
        try:
            self._file = _opened(target) if self._own else sys.stdout
        except OSError as error:
            raise InputError(f"--log-json {target}: cannot be written: {error.strerror}") from None

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Write `event` with the time at which it happened."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{time.time_ns() // 10**6 % 1000:03d}Z"
        with writing(self._path):
            self._file.write(json.dumps({"time": stamp, **event}) + "\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._own:
            with writing(self._path):
                self._file.close()


class Watcher:
    """A context manager that can be called with events; its lines begin with ``pifolab COMMAND:``."""

    def __init__(self, command: str = "study") -> None:
        self._command = command
        self._terminal = sys.stderr.isatty()
        self._bar: Progress | None = None
        self._whole: TaskID | None = None
        self._workers: dict[str, TaskID] = {}
        self._done: dict[str, int] = {}
        self._told = time.monotonic()

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Show `event`."""
        kind = event["event"]
        if kind == "redo":
            self._say(f"run {event['run'][:12]} ({event['name']}) is repeated: {event['reason']}")
        elif kind == "sweep-rewritten":
            self._say(f"the list of runs of {event['sweep']} is rewritten: {event['reason']}")
        elif kind == "failed":
            self._say(f"failed: {event['name']}: {event['reason']}")
        elif kind == "more-seeds":
            self._say(f"{event['runs']} runs more, to tighten {event['combinations']} combinations")
        if self._terminal:
            self._draw(event)
        elif kind == "finished" and time.monotonic() - self._told >= _LINE_EVERY_S:
            self._told = time.monotonic()
            left = f", about {duration_text(event['left_s'])} left" if event["left_s"] is not None else ""
            self._say(f"{event['finished']} of {event['runs']} runs finished{left}")

    def _say(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(shown(text), highlight=False, markup=False)
        else:
            print(f"pifolab {self._command}: {shown(text)}", file=sys.stderr, flush=True)

    def _draw(self, event: Mapping[str, Any]) -> None:
        kind = event["event"]
        if self._bar is None:
            if kind != "start" or not event["missing"]:
                return
            self._bar = _bar()
            self._whole = self._bar.add_task("all", total=event["runs"], completed=event["finished"], about="")
            self._bar.start()
        assert self._whole is not None
        if kind == "start":
            self._bar.update(self._whole, total=event["runs"], completed=event["finished"])
        elif kind == "finished":
            left = f"about {duration_text(event['left_s'])} left" if event["left_s"] is not None else ""
            self._bar.update(self._whole, completed=event["finished"], total=event["runs"], about=left)
        worker = event.get("worker")
        if worker is not None:
            self._draw_worker(worker, event)

    def _draw_worker(self, worker: str, event: Mapping[str, Any]) -> None:
        assert self._bar is not None
        if worker not in self._workers:
            self._workers[worker] = self._bar.add_task(f"worker {worker}", total=1.0, about="")
        task = self._workers[worker]
        if event["event"] == "progress":
            share = event["share"]
            left = self._bar.tasks[self._bar.task_ids.index(task)].time_remaining
            about = f"{self._done.get(worker, 0)} done, this one {duration_text(left)} more" if left else ""
            self._bar.update(task, completed=share or 0.0, about=about)
        else:
            self._done[worker] = self._done.get(worker, 0) + 1
            self._bar.reset(task, about=f"{self._done[worker]} done")


def _bar() -> Progress:
    # Rich is slow to import, and not needed without a terminal.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[about]}"))
    return Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=_REDRAWS)
