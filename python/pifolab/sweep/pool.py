"""The local engine: a worker process for each processor, kept for the whole sweep, replaced if it dies or hangs."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Protocol

from pifolab.sweep.job import JobError

#: How much longer than its time limit a run may take before its process is killed: it should have ended itself.
_GRACE_S = 2.0

#: A worker that is not ready by then never will be.
_START_LIMIT_S = 120.0

#: So many workers in a row may end while they start; then something is wrong that trying does not mend.
_START_TRIES = 5

#: The number of attempts for a run whose process died, perhaps without a fault of the run.
_TRIES = 2


class Engine(Protocol):
    """The interface between a sweep and the engine that does its runs."""

    name: str

    def free(self) -> int:
        """Return how many more runs it would take now."""

    def submit(self, job: dict[str, Any]) -> None:
        """Take a run."""

    def wait(self, timeout_s: float) -> list[dict[str, Any]]:
        """Return the events, at the latest after `timeout_s`.

        Each has ``run`` and ``worker``, and one of: ``started``, ``share`` (that is done), ``record`` (it is in the
        store), or ``failed`` with ``reason``.
        """

    def __enter__(self) -> Engine: ...

    def __exit__(self, *_: object) -> None: ...


class _Worker:
    def __init__(self, number: int, store: Path | None) -> None:
        self.number = number
        self.job: dict[str, Any] | None = None
        self.tries = 0
        self.started = time.monotonic()
        self.ready = False
        self._rest = b""
        # Where this process found pifolab its workers find it, too. One thread each: there is a worker per processor.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "POLARS_MAX_THREADS": "1"}
        command = [sys.executable, "-m", "pifolab.sweep.worker", *([str(store)] if store else [])]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            # Ctrl-C on the terminal must not reach it: the sweep ends it.
            start_new_session=True,
        )

    def give(self, job: dict[str, Any], tries: int = 1) -> bool:
        """Start on `job`; False if the process is dead."""
        self.job, self.tries, self.started = job, tries, time.monotonic()
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(job).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return False
        return True

    def answers(self) -> list[dict[str, Any]] | None:
        """Read the available output; None if the process has ended."""
        assert self.process.stdout is not None
        chunk = os.read(self.process.stdout.fileno(), 1 << 16)
        if not chunk:
            return None
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return [json.loads(line) for line in lines]

    def end(self, patience_s: float = 0.0) -> None:
        """Kill the process, which has nothing to clean up, unless it ends by itself within some seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience_s)
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


class Pool:
    """Worker processes on this machine; runs go to `store`, without which workers can only take samples."""

    name = "local"

    def __init__(self, workers: int, store: Path | None) -> None:
        self._count, self._store = workers, store
        self._workers: dict[int, _Worker] = {}
        self._again: list[tuple[dict[str, Any], int]] = []
        self._selector = selectors.DefaultSelector()
        self._failed_starts = 0

    def __enter__(self) -> Pool:
        try:
            for number in range(self._count):
                self._start(number)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers.values():
            worker.end()
        self._selector.close()

    def free(self) -> int:
        """Return how many workers have nothing to do."""
        return sum(worker.job is None for worker in self._workers.values()) - len(self._again)

    def submit(self, job: dict[str, Any]) -> None:
        """Give `job` to a worker that has nothing to do."""
        self._give(job, 1)

    def wait(self, timeout_s: float) -> list[dict[str, Any]]:
        """Return the events; see `Engine.wait`."""
        happened: list[dict[str, Any]] = []
        for selected, _ in self._selector.select(timeout_s):
            worker: _Worker = selected.data
            answers = worker.answers()
            if answers is None:
                happened += self._died(worker)
            else:
                happened += [one for answer in answers if (one := self._heard(worker, answer)) is not None]
        for worker in list(self._workers.values()):
            happened += self._check_time(worker)
        while self._again and any(worker.job is None for worker in self._workers.values()):
            self._give(*self._again.pop(0))
        return happened

    def _start(self, number: int) -> None:
        worker = _Worker(number, self._store)
        assert worker.process.stdout is not None
        self._selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
        self._workers[number] = worker

    def _give(self, job: dict[str, Any], tries: int) -> None:
        worker = next(worker for worker in self._workers.values() if worker.job is None)
        # A dead one is noticed by its silence, and its job given to another.
        worker.give(job, tries)

    def _heard(self, worker: _Worker, answer: dict[str, Any]) -> dict[str, Any] | None:
        if "ready" in answer:
            worker.ready, worker.started = True, time.monotonic()
            self._failed_starts = 0
            return None
        if "unable" in answer:
            raise JobError(answer["unable"])
        if "record" in answer or "failed" in answer or "elapsed_s" in answer:
            worker.job = None
        return answer | {"worker": f"{worker.number + 1}"}

    def _died(self, worker: _Worker) -> list[dict[str, Any]]:
        # Its output is closed. The cause is known when the process has ended.
        self._drop(worker, _GRACE_S)
        code = worker.process.returncode
        cause = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= _START_TRIES:
                raise JobError(f"worker processes end while they start, {_START_TRIES} one after another ({cause})")
            self._start(worker.number)
            if worker.job is not None:
                # It was not begun.
                self._again.append((worker.job, worker.tries))
            return []
        self._start(worker.number)
        if worker.job is None:
            return []
        if worker.tries < _TRIES:
            self._again.append((worker.job, worker.tries + 1))
            return []
        reason = f"its worker process died ({cause}), {_TRIES} times"
        return [_failure(worker, "died", reason)]

    def _check_time(self, worker: _Worker) -> list[dict[str, Any]]:
        running = time.monotonic() - worker.started
        if not worker.ready:
            if running > _START_LIMIT_S:
                raise JobError(f"a worker process was not ready after {_START_LIMIT_S:g} s")
            return []
        limit = worker.job and worker.job.get("time_limit_s")
        if not limit or running <= limit + _GRACE_S:
            return []
        self._drop(worker)
        self._start(worker.number)
        reason = f"took longer than the time limit of {limit:g} s and did not stop: its process was killed"
        return [_failure(worker, "time limit", reason)]

    def _drop(self, worker: _Worker, patience_s: float = 0.0) -> None:
        assert worker.process.stdout is not None
        self._selector.unregister(worker.process.stdout)
        worker.end(patience_s)


def _failure(worker: _Worker, kind: str, reason: str) -> dict[str, Any]:
    assert worker.job is not None
    return {"run": worker.job["run"], "failed": kind, "reason": reason, "worker": f"{worker.number + 1}"}
