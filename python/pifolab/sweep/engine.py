"""Runs a sweep: does all runs that the store does not have, on any engine, until each is finished or failed."""

from __future__ import annotations

import os
import shlex
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pifolab.errors import InputError
from pifolab.lazy import pl
from pifolab.store import RunLock, Store, StoreError, StoreFullError
from pifolab.sweep.plan import Plan, PlannedRun, Together, make_plan
from pifolab.sweep.pool import Engine, Pool
from pifolab.sweep.results import Failure, SweepResult
from pifolab.sweep.spec import Sweep

#: What happened, as values that JSON can hold; docs/sweeps.md lists the kinds.
Event = Mapping[str, Any]

#: How long to wait for news before looking whether another process has finished a run.
_PATIENCE_S = 0.2

#: The number of seeds that are added at once: a share of the present number, and a limit.
_ADD_SHARE, _ADD_MOST = 0.5, 20


@dataclass(frozen=True)
class UntilTight:
    """Add seeds to combinations whose intervals are wide.

    Attributes
    ----------
    relative : float
        How far the 95 % interval of each metric's mean may reach to each side, as a share of the mean.
    most_seeds : int
        No combination gets more seeds than this.
    """

    relative: float
    most_seeds: int = 100


def run_sweep(
    sweep: Sweep,
    store: Store,
    workers: int | None = None,
    progress: Callable[[Event], None] | None = None,
    *,
    engine: Callable[[Store], Engine] | None = None,
    until: UntilTight | None = None,
    only: Sequence[str] | None = None,
) -> SweepResult:
    """Do every run of `sweep` that `store` does not have.

    Parameters
    ----------
    sweep : Sweep
        What to run.
    store : Store
        Where finished runs are looked for and go.
    workers : int, optional
        How many worker processes on this machine. Default: one per processor. Results do not depend on it.
    progress : callable, optional
        Called with an event whenever something happens.
    engine : callable, optional
        Makes another engine than worker processes on this machine; see `pifolab.sweep.cluster`.
    until : UntilTight, optional
        Add seeds until intervals are tight.
    only : sequence of str, optional
        Do only the runs whose keys begin with one of these.

    Returns
    -------
    SweepResult
        Tables, statistics, and the runs that failed; a failed run stops no other.

    Raises
    ------
    InputError
        The sweep is wrong; nothing has run then.
    StoreFullError
        The disk is full. Finished runs are kept, and the same call continues from there.
    StoreError
        The store cannot be read or written for another reason.
    """
    plan = make_plan(sweep)
    if workers is not None and workers < 1:
        raise InputError(f"workers = {workers}: expected an integer >= 1")
    wanted = plan.runs()
    if only is not None:
        wanted = _chosen(wanted, only)
    if until is not None and not sweep.metrics:
        raise InputError(f"{sweep.place('metrics')}: expected at least one metric, whose interval is tightened")
    loop = _loop([plan], wanted, store, workers, progress, engine)
    try:
        loop.go(wanted)
        if until is not None:
            loop.tighten(plan, until)
    finally:
        loop.close()
    return loop.result(plan)


def _loop(
    plans: Sequence[Plan],
    wanted: Sequence[PlannedRun],
    store: Store,
    workers: int | None,
    progress: Callable[[Event], None] | None,
    engine: Callable[[Store], Engine] | None,
) -> _Loop:
    """Return the loop for these runs, and write to the store what the sweeps consist of."""
    tell = progress or (lambda event: None)
    for plan in plans:
        _note_sweep(plan, store, plan.frame(plan.runs()), tell)
    count = min(workers or os.cpu_count() or 1, max(len(wanted), 1))
    return _Loop(Together(plans), store, tell, engine or (lambda store: Pool(count, store.path)))


def run_together(
    plans: Sequence[Plan],
    store: Store,
    workers: int | None = None,
    progress: Callable[[Event], None] | None = None,
    *,
    length: Callable[[Plan, PlannedRun], float],
) -> list[Failure]:
    """Do the runs of several sweeps as if they were one, and return those that failed.

    A run that several sweeps have is done once. The longest, by `length` in any unit, are done first, so that no
    processor is left alone with one at the end. The other parameters and errors are those of `run_sweep`.
    """
    together = Together(plans)
    # Equally long ones keep the order of the plans.
    wanted = sorted(together.runs(), key=lambda run: -length(together.plan_of(run), run))
    loop = _loop(plans, wanted, store, workers, progress, None)
    try:
        loop.go(wanted)
    finally:
        loop.close()
    return loop.failures()


def sweep_card(plan: Plan) -> dict[str, Any]:
    """Return the notes of a store about a sweep: enough for statistics and figures without the sweep file."""
    sweep = plan.sweep
    return {
        "title": sweep.title or sweep.name,
        "plan": plan.identity,
        "code": plan.code,
        "scenario": ", ".join(str(file) for file, _ in sweep.bases.values()),
        "axes": [
            {"name": axis.name, "key": axis.key, "labels": [point.label for point in axis.points]}
            for axis in sweep.axes
        ],
        "metrics": [vars(metric) for metric in sweep.metrics],
        "compare": [{**vars(one), "metric": vars(one.metric)} for one in sweep.comparisons],
        "claim": [
            {key: value for key, value in vars(one).items() if key not in ("query", "common")}
            | {"metric": one.query.sql, "take": one.query.take}
            for one in sweep.claims
        ],
        "figure": [vars(one) for one in sweep.figures],
    }


def _note_sweep(plan: Plan, store: Store, runs: pl.DataFrame, tell: Callable[[Event], None]) -> None:
    problem = store.write_sweep(plan.sweep.name, sweep_card(plan), runs)
    if problem is not None:
        tell({"event": "sweep-rewritten", "sweep": plan.sweep.name, "reason": problem})


def _chosen(runs: list[PlannedRun], only: Sequence[str]) -> list[PlannedRun]:
    for prefix in only:
        if not any(run.key.startswith(prefix) for run in runs):
            raise InputError(f"--run {prefix}: this study has no such run (pifolab study plan lists them)")
    return [run for run in runs if any(run.key.startswith(prefix) for prefix in only)]


class _Loop:
    """The open, the current and the ended runs."""

    def __init__(
        self,
        together: Together,
        store: Store,
        tell: Callable[[Event], None],
        make_engine: Callable[[Store], Engine],
    ) -> None:
        self._together, self._store, self._tell, self._make_engine = together, store, tell, make_engine
        self._engine: Engine | None = None
        self._runs: dict[str, PlannedRun] = {}
        self._waiting: deque[PlannedRun] = deque()
        #: Runs that another sweep is busy with.
        self._elsewhere: deque[PlannedRun] = deque()
        self._locks: dict[str, RunLock] = {}
        self._failures: dict[str, Failure] = {}
        self._elapsed: list[float] = []
        self._done = 0
        self._busy_s = 0.0
        self._began = time.monotonic()
        self._reused = 0

    def go(self, runs: list[PlannedRun]) -> None:
        """Do `runs`."""
        self._store.clean()
        fresh = [run for run in runs if run.key not in self._runs]
        self._runs |= {run.key: run for run in fresh}
        missing = [run for run in fresh if not self._is_done(run)]
        self._waiting.extend(missing)
        total = len(self._runs)
        self._tell({"event": "start", "runs": total, "finished": self._done, "missing": len(missing)})
        if missing and self._engine is None:
            self._engine = self._make_engine(self._store)
            self._engine.__enter__()
        while self._waiting or self._elsewhere or self._locks:
            self._hand_out()
            self._look_elsewhere()
            assert self._engine is not None
            for event in self._engine.wait(_PATIENCE_S):
                self._take(event)

    def tighten(self, plan: Plan, until: UntilTight) -> None:
        """Add seeds where intervals are wide, until they are not or there are enough."""
        seeds = {setting.name: len(plan.sweep.seeds) for setting in plan.settings}
        used = set(plan.sweep.seeds)
        # Where everything has failed there is nothing to tighten.
        while self._done:
            wide = self.result(plan).too_wide(until.relative)
            if wide and any(metric.common for metric in plan.sweep.metrics):
                # The common flows of all schedulers are known only when all have run the seed.
                wide = dict.fromkeys(seeds, max(wide.values()))
            more: list[PlannedRun] = []
            for place, setting in enumerate(plan.settings):
                needed = wide.get(setting.name)
                have = seeds[setting.name]
                if needed is None or have >= until.most_seeds:
                    continue
                step = max(1, min(int(have * _ADD_SHARE), _ADD_MOST, needed - have, until.most_seeds - have))
                more += [plan.run(place, seed) for seed in _further(used, len(plan.sweep.seeds), have, step)]
                seeds[setting.name] = have + step
            if not more:
                return
            # The same seeds in the same order for every combination, so that pairs stay pairs.
            more.sort(key=lambda run: run.seed)
            self._tell(
                {"event": "more-seeds", "combinations": len({run.setting.name for run in more}), "runs": len(more)}
            )
            frame = plan.frame([*self._runs.values(), *more])
            _note_sweep(plan, self._store, frame, self._tell)
            for run in more:
                self._together.add(plan, run)
            self.go(more)

    def close(self) -> None:
        """End the engine and release all locks."""
        try:
            if self._engine is not None:
                self._engine.__exit__()
        finally:
            for lock in self._locks.values():
                lock.release()
            self._locks.clear()

    def failures(self) -> list[Failure]:
        """Return the runs that could not be done, in the order of the plan whichever ended first."""
        return [self._failures[key] for key in self._runs if key in self._failures]

    def result(self, plan: Plan) -> SweepResult:
        """Return the results so far."""
        return SweepResult(
            self._store,
            plan.sweep,
            plan.frame(list(self._runs.values())),
            self.failures(),
            reused=self._reused,
            busy_s=self._busy_s,
            wall_s=time.monotonic() - self._began,
        )

    def _is_done(self, run: PlannedRun) -> bool:
        problem = self._store.problem(run.key, self._together.tables_of(run))
        if problem is None:
            self._done += 1
            self._reused += 1
            return True
        if problem != "absent":
            self._tell({"event": "redo", "run": run.key, "name": run.name, "reason": problem})
        return False

    def _hand_out(self) -> None:
        assert self._engine is not None
        while self._waiting and self._engine.free() > 0:
            run = self._waiting.popleft()
            lock = self._store.try_lock(run.key)
            if lock is None:
                self._elsewhere.append(run)
                continue
            # The last holder of the lock may have finished the run.
            problem = self._store.problem(run.key, self._together.tables_of(run))
            if problem is None:
                lock.release()
                self._finish(run, {"elsewhere": True})
                continue
            self._locks[run.key] = lock
            self._engine.submit(self._together.job(run) | {"keep": self._store.tables_kept(run.key)})

    def _look_elsewhere(self) -> None:
        """Check whether other processes have finished or released the runs that they locked."""
        for _ in range(len(self._elsewhere)):
            run = self._elsewhere.popleft()
            if self._store.problem(run.key, self._together.tables_of(run)) is None:
                self._finish(run, {"elsewhere": True})
                continue
            lock = self._store.try_lock(run.key)
            if lock is None:
                self._elsewhere.append(run)
            else:
                lock.release()
                self._waiting.append(run)

    def _take(self, event: dict[str, Any]) -> None:
        run = self._runs[event["run"]]
        if "share" in event:
            self._tell({"event": "progress", "run": run.key, "worker": event["worker"], "share": event["share"]})
            return
        lock = self._locks.pop(run.key, None)
        if lock is not None:
            lock.release()
        if "record" in event:
            self._elapsed.append(event["record"]["elapsed_s"])
            self._busy_s += event.get("busy_s", event["record"]["elapsed_s"])
            self._finish(run, {"worker": event["worker"], "elapsed_s": event["record"]["elapsed_s"]})
            return
        if event["failed"] == "disk full":
            raise StoreFullError(f"{event['reason']}; {self._done} of {len(self._runs)} runs are finished, free some "
                                 "space and give the same command again")  # fmt: skip
        if event["failed"] == "store":
            raise StoreError(event["reason"])
        file = self._together.plan_of(run).sweep.file
        command = shlex.join(["pifolab", "study", "run", file, "--store", str(self._store.path), "--run", run.key[:12]])
        failure = Failure(run.key, run.name, event["failed"], event["reason"], command)
        self._failures[run.key] = failure
        self._tell({"event": "failed", "run": run.key, "name": run.name, "worker": event["worker"],
                    "kind": failure.kind, "reason": failure.reason, "command": command})  # fmt: skip

    def _finish(self, run: PlannedRun, about: dict[str, Any]) -> None:
        self._done += 1
        left = len(self._runs) - self._done - len(self._failures)
        elapsed = time.monotonic() - self._began
        ran = self._done - self._reused
        self._tell({
            "event": "finished", "run": run.key, "name": run.name, "finished": self._done, "runs": len(self._runs),
            "left_s": round(elapsed / ran * left, 1) if ran else None, **about,
        })  # fmt: skip


def _further(used: set[int], first: int, have: int, step: int) -> list[int]:
    """Return the seeds from place `have` to ``have + step`` of the list that goes on where the sweep's seeds end."""
    start = max(used) + 1 + have - first
    return list(range(start, start + step))
