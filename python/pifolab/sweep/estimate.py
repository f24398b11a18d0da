"""How long a sweep will take and how much memory it needs: from runs that there are, and from short samples."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pifolab import _pifolab
from pifolab.errors import PifolabError
from pifolab.lazy import np
from pifolab.store import Store
from pifolab.sweep.custom import load_all
from pifolab.sweep.plan import Plan
from pifolab.sweep.pool import Pool

#: Combinations are sampled until each value of an axis of texts, and the ends and the middle of one of numbers, was
#: seen, but no more than this.
_MOST_SAMPLES = 16

#: After that the combinations that are expected to be the slowest, so often; a sweep is as long as they are.
_SLOWEST_SAMPLES = 3

#: So long for each sample, and for all together.
_SAMPLE_S, _SAMPLES_S = 0.4, 5.0

#: After this no further one is begun.
_LONGEST_S = 30.0

#: The extra time of a run (tables, files), and the time to start the workers; measured, see docs/sweeps.md.
_OVERHEAD_S, _START_S = 0.02, 1.0

#: The memory of a worker for a run of a few packets: interpreter, polars, compiled module. Measured: 88 MiB, with
#: polars on two processors; each further one adds the stacks of a thread.
_PROCESS_BYTES = 100 * 2**20


@dataclass(frozen=True)
class Estimated:
    """The estimates before a sweep runs."""

    #: Seconds for one run of each combination, in order; None if unknown.
    run_s: tuple[float | None, ...]
    #: Seconds for all missing runs, with the given number of workers; None if unknown.
    wall_s: float | None
    #: The largest memory of a run with its process, times the number of busy workers; None if unknown.
    memory_bytes: int | None
    #: Where the numbers come from.
    source: str


def estimate(plan: Plan, store: Store | None, missing: list[int], workers: int) -> Estimated:
    """Estimate the runs of `plan`, of which `missing` gives the places of their combinations, one for each run."""
    known: dict[int, float] = {}
    peaks: list[int] = []
    for place in range(len(plan.settings)):
        records = [record for seed in plan.sweep.seeds[:3] if (record := _record(plan, store, place, seed))]
        if records:
            known[place] = sum(float(record["elapsed_s"]) for record in records) / len(records)
            peaks += [int(record["peak_memory_bytes"]) for record in records]
    finished = len(known)
    needed = max((_needed(plan, place) for place in sorted(set(missing))), default=0.0)
    unknown = [place for place in sorted(set(missing)) if place not in known]
    failed: dict[int, str] = {}
    at_least: dict[int, float] = {}
    each_s, begun = _SAMPLE_S, time.monotonic()
    if unknown:
        with Pool(1, None) as pool:
            chosen = _covering(plan, unknown)
            each_s = min(_SAMPLE_S, _SAMPLES_S / len(chosen))

            def sample(place: int) -> None:
                answer = _sample(pool, plan, place, each_s)
                if "failed" in answer:
                    failed[place] = f"; {plan.settings[place].name} fails: {answer['reason']}"
                    return
                peaks.append(answer["peak_memory_bytes"])
                if answer["share"] > 0:
                    known[place] = answer["elapsed_s"] / answer["share"]
                else:
                    at_least[place] = answer["elapsed_s"]
                    failed[place] = f"; {plan.settings[place].name} takes longer than {answer['elapsed_s']:.0f} s"

            for place in chosen:
                sample(place)
            for _ in range(_SLOWEST_SAMPLES):
                left = [place for place in unknown if place not in known and place not in failed]
                if not known or not left or time.monotonic() - begun > _LONGEST_S:
                    break
                expected = _model(plan, known)
                sample(max(left, key=expected))
    times: tuple[float | None, ...] = (None,) * len(plan.settings)
    wall = None if missing else 0.0
    if known:
        expected = _model(plan, known)
        guessed = [
            known.get(place, max(expected(place), at_least.get(place, 0.0))) for place in range(len(plan.settings))
        ]
        work = sum(guessed[place] + _OVERHEAD_S for place in missing)
        # However many workers there are, the longest run is not divided.
        longest = max((guessed[place] for place in missing), default=0.0)
        wall = _START_S + max(work / workers, longest) if missing else 0.0
        times = tuple(guessed)
    sampled = len(known) - finished
    source = f"{finished} combinations measured before, {sampled} sampled for {each_s:.1f} s" + "".join(failed.values())
    # A run that was cut short has not shown all that it needs, and one with other settings may need more.
    peak = max([*peaks, _PROCESS_BYTES + round(needed)]) if peaks or needed else None
    busy = max(min(workers, len(missing)), 1)
    return Estimated(times, wall, peak * busy if peak else None, source)


def _needed(plan: Plan, place: int) -> float:
    """Return the approximate bytes that a run of the combination adds to its process; 0 if unknown."""
    job = plan.job(plan.run(place, plan.sweep.seeds[0]))
    makers = {kind: made for kind, made in load_all(job["python"]).items() if kind != "observers"}
    try:
        memory = _pifolab.scenario_memory(
            job["text"], job["file"], [(key, text) for key, text in job["overrides"]], **makers
        )
    except PifolabError:
        # The sample run raises the error.
        return 0.0
    return sum(memory.values())


def _record(plan: Plan, store: Store | None, place: int, seed: int) -> dict[str, Any] | None:
    if store is None:
        return None
    key = plan.run(place, seed).key
    record = store.record(key) if store.problem(key) is None else {}
    return record if {"elapsed_s", "peak_memory_bytes"} <= record.keys() else None


def _sample(pool: Pool, plan: Plan, place: int, seconds: float) -> dict[str, Any]:
    """Run the combination at `place` for some seconds."""
    pool.submit(plan.job(plan.run(place, plan.sweep.seeds[0])) | {"sample_s": seconds})
    while not (answers := [one for one in pool.wait(1.0) if "elapsed_s" in one or "failed" in one]):
        pass
    return answers[0]


def _covering(plan: Plan, places: list[int]) -> list[int]:
    """Return few of `places` that together have every value that may matter."""
    wanted: set[tuple[str, Any]] = set()
    for axis in plan.sweep.axes:
        labels = list(dict.fromkeys(plan.settings[place].labels[axis.name] for place in places))
        if _numbers(labels):
            numbers = sorted(label for label in labels if label is not None)
            labels = [numbers[0], numbers[len(numbers) // 2], numbers[-1], *([None] if None in labels else [])]
        wanted |= {(axis.name, label) for label in labels}
    chosen: list[int] = []
    left = list(places)
    while left and len(chosen) < _MOST_SAMPLES and (wanted or not chosen):
        best = max(left, key=lambda place: len(wanted & set(plan.settings[place].labels.items())))
        gained = wanted & set(plan.settings[best].labels.items())
        if chosen and not gained:
            break
        wanted -= gained
        chosen.append(best)
        left.remove(best)
    return chosen


def _numbers(labels: list[Any]) -> bool:
    return any(label is not None for label in labels) and all(
        label is None or (isinstance(label, (int, float)) and not isinstance(label, bool)) for label in labels
    )


def _logarithm(axis: str, labels: Mapping[str, Any]) -> float:
    return math.log(labels[axis]) if labels[axis] is not None else 0.0


def _is(axis: str, label: Any, labels: Mapping[str, Any]) -> float:
    return float(labels[axis] == label)


def _model(plan: Plan, known: dict[int, float]) -> Callable[[int], float]:
    """Return a guess of the time of any combination: every axis multiplies it.

    A text by a factor of its own, a number by a power of itself; least squares over the logarithms of what is known,
    with a small weight on factors of 1.
    """
    columns: list[Callable[[Mapping[str, Any]], float]] = []
    for axis in plan.sweep.axes:
        labels = list(dict.fromkeys(setting.labels[axis.name] for setting in plan.settings))
        name = axis.name
        if _numbers(labels) and all(label is None or label > 0 for label in labels):
            columns.append(partial(_logarithm, name))
            labels = [None] if None in labels else []
        columns += [partial(_is, name, label) for label in labels]

    def features(place: int) -> list[float]:
        return [column(plan.settings[place].labels) for column in columns]

    logs = np.log([max(seconds, 1e-6) for seconds in known.values()])
    rows = np.array([features(place) for place in known]).reshape(len(known), len(columns))
    middle = rows.mean(axis=0)
    mean = float(logs.mean())
    centred = rows - middle
    weights = np.linalg.solve(centred.T @ centred + 1e-2 * np.eye(len(columns)), centred.T @ (logs - mean))
    return lambda place: math.exp(mean + float((np.array(features(place)) - middle) @ weights))
