"""How long a sweep will take and how much memory it needs: from runs that there are, and from short samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pifolab.errors import PifolabError
from pifolab.store import Store
from pifolab.sweep.plan import Plan
from pifolab.sweep.pool import Pool

__all__ = ["Estimated", "estimate"]

#: So many combinations are sampled, each for this long.
_MOST_SAMPLES, _SAMPLE_S = 6, 0.4

#: What a run costs beside itself (tables, files), and what starting the workers costs; measured, see docs/sweeps.md.
_OVERHEAD_S, _START_S = 0.02, 1.0

#: What a worker takes before its first run: the interpreter, polars, the compiled module.
_PROCESS_BYTES = 160 * 2**20


@dataclass(frozen=True)
class Estimated:
    """What is known before a sweep runs."""

    #: Of each combination, in order: seconds for one run, or None if nothing tells.
    run_s: tuple[float | None, ...]
    #: Of all runs that are missing, with the given number of workers; None if nothing tells.
    wall_s: float | None
    #: Most memory that a run needed, times the workers; None if nothing tells.
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
    step = max(1, -(-len(unknown) // _MOST_SAMPLES))
    failed = ""
    if unknown:
        with Pool(1, None) as pool:
            for place in unknown[::step]:
                pool.submit(plan.job(plan.run(place, plan.sweep.seeds[0])) | {"sample_s": _SAMPLE_S})
                while not (answers := [one for one in pool.wait(1.0) if "elapsed_s" in one or "failed" in one]):
                    pass
                answer = answers[0]
                if "failed" in answer:
                    failed = f"; {plan.settings[place].name} fails: {answer['reason']}"
                elif answer["share"] > 0:
                    known[place] = answer["elapsed_s"] / answer["share"]
                    peaks.append(answer["peak_memory_bytes"])
    run_s = tuple(_nearest(plan, known, place) for place in range(len(plan.settings)))
    times = [run_s[place] for place in missing]
    wall = None
    if all(time is not None for time in times):
        work = sum(time + _OVERHEAD_S for time in times if time is not None)
        wall = (_START_S + work / workers) if times else 0.0
    source = f"{finished} combinations measured before, {len(known) - finished} sampled for {_SAMPLE_S} s{failed}"
    # A run that was cut short has not shown all that it needs, and one with other settings may need more.
    peak = max([*peaks, _PROCESS_BYTES + round(needed)]) if peaks or needed else None
    return Estimated(run_s, wall, peak * workers if peak else None, source)


def _needed(plan: Plan, place: int) -> float:
    """Return about how many bytes a run of the combination needs beside its process; 0 if that cannot be told."""
    from pifolab import _pifolab
    from pifolab.runs import _as_toml
    from pifolab.sweep.custom import load_all

    job = plan.job(plan.run(place, plan.sweep.seeds[0]))
    makers = {kind: made for kind, made in load_all(job["python"]).items() if kind != "observers"}
    overrides = [(key, _as_toml(value)) for key, value in dict(job["overrides"]).items()]
    try:
        memory = _pifolab.scenario_memory(job["text"], job["file"], overrides, **makers)
    except PifolabError:
        # The sample says what is wrong with it.
        return 0.0
    return sum(memory.values())


def _record(plan: Plan, store: Store | None, place: int, seed: int) -> dict[str, Any] | None:
    if store is None:
        return None
    key = plan.run(place, seed).key
    return store.record(key) if store.problem(key) is None else None


def _nearest(plan: Plan, known: dict[int, float], place: int) -> float | None:
    """Return the time of the combination that shares most labels with the one at `place`."""
    if not known:
        return None
    labels = plan.settings[place].labels

    def alike(other: int) -> int:
        return sum(plan.settings[other].labels[axis] == label for axis, label in labels.items())

    best = max(alike(other) for other in known)
    same = [known[other] for other in known if alike(other) == best]
    return known.get(place, sum(same) / len(same))
