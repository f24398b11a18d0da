"""Does one run and returns its files as bytes: the same bytes in whichever process and on whichever machine."""

from __future__ import annotations

import io
import json
import os
import platform
import resource
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pifolab.errors import InputError, PifolabError
from pifolab.lazy import pl
from pifolab.provenance import code_version
from pifolab.runs import Progress, complete, run_text
from pifolab.store import StoreError, StoreFullError
from pifolab.sweep.custom import check_files, load_all
from pifolab.sweep.reading import check_reads, noted_reads


class JobError(PifolabError):
    """A run that failed; the text gives the reason in one line."""


class OverTimeError(JobError):
    """A run that took longer than it may."""


class _StopError(Exception):
    """Ends a run from its progress."""


def execute(
    job: dict[str, Any], progress: Callable[[float | None], None] | None = None
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Do the run of `job`, as `Plan.job` wrote it; return its files by name, and the record of this execution.

    `progress` is called from time to time with the share that is done, None if unknown; if it raises, the run ends.
    Raises `JobError` if the run fails, and `OverTimeError` if it takes longer than ``time_limit_s`` of the job.
    """
    if job["code"] != code_version():
        raise JobError(f"this worker has pifolab {code_version()}, the sweep was started with {job['code']}")
    started, clock, limit = time.time(), time.perf_counter(), job["time_limit_s"]

    def watch(state: Progress) -> None:
        if limit is not None and time.perf_counter() - clock > limit:
            raise _StopError
        if progress is not None:
            progress(state.share)

    try:
        check_files(job["python_files"])
        with noted_reads(job["python_files"]):
            result = complete(
                run_text(
                    job["text"],
                    job["file"],
                    seeds=[job["seed"]],
                    overrides=dict(job["overrides"]),
                    **load_all(job["python"]),
                    workers=1,
                    progress=watch,
                    inputs=job["inputs"],
                )
            )
        # Modules that are imported during a run are read only then.
        check_files(job["python_files"])
        check_reads(job["python_files"])
    except _StopError:
        raise OverTimeError(f"took longer than the time limit of {limit:g} s") from None
    except InputError as error:
        raise JobError(str(error)) from None
    ran = time.perf_counter()
    if job["tables"] is not None:
        for name in job["tables"]:
            if name not in result.tables:
                raise JobError(f"tables: the run has no table {name}; it has {', '.join(result.tables)}")
    # The folder of the file has no effect on the run, and differs between machines.
    manifest = result.manifest | {"file": Path(job["file"]).name, "run": job["run"], "code": job["code"]}
    written = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    files = {"manifest.json": written.encode()}
    compact = json.dumps(manifest, ensure_ascii=False)
    # Tables that the store already has stay there.
    wanted = None if job["tables"] is None else {*job["tables"], *job.get("keep", ())}
    for name, frame in result.tables.items():
        if wanted is None or name in wanted:
            files[f"{name}.parquet"] = _parquet(frame, job["run"], compact)
    record = {
        "name": job["name"],
        "code": job["code"],
        "complete": wanted is None or wanted >= set(result.tables),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "elapsed_s": round(ran - clock, 6),
        "encoding_s": round(time.perf_counter() - ran, 6),
        "host": platform.node(),
        "process": os.getpid(),
        "peak_memory_bytes": peak_memory_bytes(),
    }
    return files, record


def peak_memory_bytes() -> int:
    """Return the most memory that this process had so far."""
    try:
        # On Linux the maximum of a process includes the memory of its parent at the start; this value does not.
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS counts bytes, Linux kibibytes.
    return peak if sys.platform == "darwin" else peak * 1024


def described(error: BaseException) -> str:
    """Return an exception in one line, with the place of the user's code that raised it."""
    places = [place for place in traceback.extract_tb(error.__traceback__) if "pifolab" not in place.filename]
    place = f" ({os.path.basename(places[-1].filename)}:{places[-1].lineno})" if places else ""  # noqa: PTH119
    text = str(error).replace("\n", " ")
    return f"{type(error).__name__}: {text}".removesuffix(": ") + place


def failed(error: BaseException) -> dict[str, str]:
    """Return what an event says about a run that ended with `error`: the kind of failure, and the reason."""
    if isinstance(error, OverTimeError):
        return {"failed": "time limit", "reason": str(error)}
    if isinstance(error, StoreError):
        return {"failed": "disk full" if isinstance(error, StoreFullError) else "store", "reason": str(error)}
    return {"failed": "error", "reason": str(error) if isinstance(error, JobError) else described(error)}


def _parquet(frame: Any, key: str, manifest: str) -> bytes:
    buffer = io.BytesIO()
    keyed = frame.insert_column(0, pl.Series("run", [key]).new_from_index(0, frame.height))
    keyed.write_parquet(buffer, metadata={"pifolab": manifest})
    return buffer.getvalue()
