"""Dask distributed as the engine: the workers of a running scheduler, or workers started as SLURM jobs.

Workers compute and send the finished files back; the process that started the sweep writes them to the store. So the
store needs to be on no shared disk, and what is written is the same bytes as on one machine. Scenario and sweep travel
with the job; files that a scenario names (traces, flow lists) must lie at the same path on every machine.
"""

from __future__ import annotations

import os
import queue
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pifolab.errors import InputError
from pifolab.interruption import kept_handlers
from pifolab.provenance import code_version
from pifolab.store import Store, StoreError, StoreFullError
from pifolab.sweep.job import JobError, described, execute, failed
from pifolab.sweep.pool import Engine

#: The form of addresses of Dask schedulers, with an optional protocol.
_ADDRESS = re.compile(r"(tcp|tls|ucx|ucxx|ws|wss)://[^\s/:]+:\d{1,5}/?|(tcp|tls)://\[[0-9a-fA-F:]+\]:\d{1,5}")

#: So many runs are handed out for each thread of the cluster: one runs, one waits.
_AHEAD = 2

#: A scheduler that does not answer by then is taken for absent; SLURM may let jobs wait much longer.
_CONNECT_S, _FIRST_WORKER_S = 10, 60
_SLURM_FIRST_WORKER_S = 3600

#: The names of the packages that start SLURM jobs.
_INSTALL = "pip install cryptography dask-jobqueue distributed"

_ROLES = ("client", "scheduler", "worker")

#: An address that only processes of the same machine reach, at any port.
_NOWHERE = "127.0.0.1:0"


def dask_engine(address: str) -> Callable[[Store], Engine]:
    """Return a function that makes an engine of the Dask scheduler at `address`."""
    if not _ADDRESS.fullmatch(address):
        raise InputError(f"--dask {address}: expected the address of a scheduler, such as tcp://HOST:8786")
    distributed = _distributed("--dask")
    try:
        client = distributed.Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError, RuntimeError, ImportError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"--dask {address}: no Dask scheduler answers: {reason}") from None
    return lambda store: DaskEngine(client, store, f"--dask {address}", _FIRST_WORKER_S)


def slurm_engine(jobs: int) -> Callable[[Store], Engine]:
    """Return a function that makes an engine of `jobs` SLURM jobs, as in Dask's configuration (``jobqueue.slurm``).

    The scheduler listens on one interface and only to who has the certificate, which is made for it; its dashboard
    is off unless ``scheduler-options`` has an address for it.
    """
    if shutil.which("sbatch") is None:
        raise InputError("--slurm: the command sbatch is not found: this machine cannot start SLURM jobs")
    distributed = _distributed("--slurm")
    try:
        # Its import would have Ctrl-C end the process, without a word and with status 0.
        with kept_handlers():
            import dask_jobqueue
    except ImportError:
        raise InputError(f"--slurm needs dask-jobqueue: {_INSTALL}") from None
    import dask

    jobqueue: Any = dask_jobqueue  # Its types are incomplete.
    defaults = {"cores": 1, "processes": 1, "memory": "2GiB"}
    given = dask.config.get("jobqueue.slurm", {})
    options: dict[str, Any] = {key: value for key, value in defaults.items() if given.get(key) is None}
    try:
        # A dashboard's pages are open to everybody. Its server cannot be switched off, so it gets no pages.
        with dask.config.set({} if _dashboard(given) else {"distributed.scheduler.http.routes": []}):
            secrets = _Secrets(given, distributed)
            cluster = jobqueue.SLURMCluster(**options, security=secrets.security, **_guarded(given, distributed))
        cluster.scale(jobs=jobs)
    except ImportError:
        raise InputError(f"--slurm needs cryptography, for certificates: {_INSTALL}") from None
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise InputError(f"--slurm: {error}; its settings are in ~/.config/dask/jobqueue.yaml") from None
    client = distributed.Client(cluster, set_as_default=False)

    def close() -> None:
        cluster.close()
        secrets.close()

    return lambda store: DaskEngine(client, store, "--slurm", _SLURM_FIRST_WORKER_S, close)


def _distributed(flag: str) -> Any:
    try:
        import distributed
    except ImportError:
        raise InputError(f"{flag} needs Dask distributed: pip install distributed") from None
    return distributed


def _dashboard(given: Mapping[str, Any]) -> bool:
    """Return whether the settings in ``jobqueue.slurm`` switch a dashboard on."""
    return "dashboard_address" in (given.get("scheduler-options") or {})


def _guarded(given: Mapping[str, Any], distributed: Any) -> dict[str, Any]:
    """Return the options of a cluster that nobody else can use; the settings in ``jobqueue.slurm`` go first."""
    scheduler = dict(given.get("scheduler-options") or {})
    if not _dashboard(given):
        scheduler |= {"dashboard": False, "dashboard_address": _NOWHERE}
    if given.get("interface") is None and not {"host", "interface"} & set(scheduler):
        # The address with which this machine reaches others, and not all that it has.
        scheduler["host"] = distributed.utils.get_ip()
    workers = [*(given.get("worker-extra-args") or []), "--no-dashboard", "--dashboard-address", _NOWHERE]
    return {"scheduler_options": scheduler, "worker_extra_args": workers}


class _Secrets:
    """A certificate for one cluster, and its key, in a folder of their own, which only the user can read."""

    def __init__(self, given: Mapping[str, Any], distributed: Any) -> None:
        shared = given.get("shared-temp-directory") or os.curdir
        folder = Path(os.path.expandvars(shared)).expanduser().absolute()
        self._folder = tempfile.TemporaryDirectory(prefix=".pifolab-slurm-", dir=folder)
        made = distributed.Security.temporary().get_tls_config_for_role("worker")
        certificate, key = Path(self._folder.name, "certificate"), Path(self._folder.name, "key")
        certificate.write_text(made["cert"], encoding="ascii")
        key.write_text(made["key"], encoding="ascii")
        roles = {f"tls_{role}_cert": str(certificate) for role in _ROLES}
        roles |= {f"tls_{role}_key": str(key) for role in _ROLES}
        self.security = distributed.Security(require_encryption=True, tls_ca_file=str(certificate), **roles)

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()


def _execute(job: dict[str, Any]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Do the run of `job`; every error is raised as an exception that the other side can load."""
    try:
        return execute(job)
    except JobError:
        raise
    except BaseException as error:
        raise JobError(described(error)) from None


class DaskEngine:
    """Runs on the workers of a Dask client; see `pifolab.sweep.pool.Engine`."""

    name = "dask"

    def __init__(
        self, client: Any, store: Store, flag: str, first_worker_s: float, close: Callable[[], None] | None = None
    ) -> None:
        self._client, self._store, self._flag, self._close = client, store, flag, close
        self._first_worker_s = first_worker_s
        self._futures: dict[str, Any] = {}
        self._done: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()

    def __enter__(self) -> DaskEngine:
        try:
            self._client.wait_for_workers(1, timeout=self._first_worker_s)
            versions = self._client.run(code_version)
        except TimeoutError:
            self.close()
            raise InputError(f"{self._flag}: no worker within {self._first_worker_s} s") from None
        except ImportError as error:
            self.close()
            raise InputError(f"{self._flag}: the workers have no pifolab: {error}") from None
        ours = code_version()
        for worker, theirs in sorted(versions.items()):
            if theirs != ours:
                self.close()
                raise InputError(
                    f"{self._flag}: worker {worker} has pifolab {theirs}, this is {ours}; install the same"
                )
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel unfinished runs and disconnect from the Dask scheduler."""
        for future in self._futures.values():
            future.cancel()
        self._futures.clear()
        self._client.close()
        if self._close is not None:
            self._close()

    def free(self) -> int:
        """Return how many more runs it would take now."""
        threads: int = sum(self._client.nthreads().values())
        return max(0, _AHEAD * threads - len(self._futures))

    def submit(self, job: dict[str, Any]) -> None:
        """Hand `job` to the scheduler, which gives it to another worker should one die."""
        run = job["run"]
        future = self._client.submit(_execute, job, pure=False)
        self._futures[run] = future
        future.add_done_callback(lambda done: self._done.put((run, done)))

    def wait(self, timeout_s: float) -> list[dict[str, Any]]:
        """Return the events; see `Engine.wait`."""
        happened = []
        try:
            happened.append(self._heard(*self._done.get(timeout=timeout_s)))
            while True:
                happened.append(self._heard(*self._done.get_nowait()))
        except queue.Empty:
            pass
        if self._client.status not in ("running", "connecting"):
            raise StoreError(f"{self._flag}: the scheduler is gone; finished runs are kept")
        return happened

    def _heard(self, run: str, future: Any) -> dict[str, Any]:
        self._futures.pop(run, None)
        answer: dict[str, Any] = {"run": run, "worker": "?"}
        try:
            files, record = future.result()
            self._store.commit(run, files, record)
        except (JobError, StoreFullError) as error:
            return answer | failed(error)
        except StoreError:
            raise
        except Exception as error:
            # KilledWorker: several workers died under this run, one after another.
            kind = "died" if type(error).__name__ == "KilledWorker" else "error"
            text = str(error).splitlines()[0] if str(error) else ""
            return answer | {"failed": kind, "reason": f"{type(error).__name__}: {text}"}
        return answer | {"record": record, "worker": f"{record['host']}:{record['process']}"}
