"""A worker process of the local pool: reads jobs as lines of JSON, writes results as lines of JSON.

It lives for the whole sweep, so that what takes long (starting Python, loading polars) happens once. It ends when its
standard input does, also in the middle of a run: the reader of the result is gone then.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from typing import Any, TextIO

from pifolab import _pifolab
from pifolab.errors import PifolabError
from pifolab.runs import load_frames
from pifolab.store import Store
from pifolab.sweep.job import execute, failed, peak_memory_bytes

#: The interval between reports of the share that is done.
_TELL_EVERY_S = 0.5


#: A sample gives up a run that has reported no progress by then.
LONGEST_SAMPLE_S = 20.0


class _EnoughError(Exception):
    """The sample has enough progress for an estimate."""


def main() -> None:
    """Work until there is nothing more to read."""
    # Ctrl-C is for the process that started the sweep, which ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # By a thread that a plug-in cannot hold up.
    _pifolab.end_with_input()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    # The output of a user's scheduler must not mix with the answers.
    os.dup2(2, 1)
    try:
        store = Store(sys.argv[1], create=False) if len(sys.argv) > 1 else None
    except PifolabError as error:
        _say(answers, {"unable": str(error)})
        return
    # Before the first job, not during it.
    load_frames()
    jobs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read_jobs, args=(jobs,), daemon=True).start()
    _say(answers, {"ready": os.getpid()})
    while True:
        job = jobs.get()
        sample_s = job.pop("sample_s", None)
        _say(answers, _sample(job, sample_s) if sample_s is not None else _run(job, store, answers))


def _read_jobs(jobs: queue.SimpleQueue[dict[str, Any]]) -> None:
    for line in sys.stdin:
        jobs.put(json.loads(line))


def _run(job: dict[str, Any], store: Store | None, answers: TextIO) -> dict[str, Any]:
    assert store is not None, "runs need a store"
    told = time.monotonic()

    def tell(share: float | None) -> None:
        nonlocal told
        if time.monotonic() - told >= _TELL_EVERY_S:
            told = time.monotonic()
            _say(answers, {"run": job["run"], "share": share})

    begun = time.perf_counter()
    try:
        files, record = execute(job, tell)
        store.commit(job["run"], files, record)
    except BaseException as error:
        return {"run": job["run"], **failed(error)}
    return {"run": job["run"], "record": record, "busy_s": time.perf_counter() - begun}


def _sample(job: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Run for some seconds, and report the progress."""
    begun, share = time.perf_counter(), 0.0

    def watch(done: float | None) -> None:
        nonlocal share
        share = done or 0.0
        if time.perf_counter() - begun >= seconds and share > 0:
            raise _EnoughError
        # A slow run reports its progress late.
        if time.perf_counter() - begun >= LONGEST_SAMPLE_S:
            raise _EnoughError

    try:
        execute(job, watch)
        share = 1.0
    except _EnoughError:
        pass
    except BaseException as error:
        return {"run": job["run"], **failed(error)}
    elapsed = time.perf_counter() - begun
    return {"run": job["run"], "share": share, "elapsed_s": elapsed, "peak_memory_bytes": peak_memory_bytes()}


def _say(answers: TextIO, answer: dict[str, Any]) -> None:
    try:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    except BrokenPipeError:
        # The parent process was killed: nobody reads the answers.
        os._exit(0)


if __name__ == "__main__":
    main()
