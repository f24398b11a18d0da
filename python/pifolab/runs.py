"""Runs scenarios and keeps their results: polars frames, or a folder with tables, figures and a report."""

from __future__ import annotations

import inspect
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pifolab import _pifolab, info, packaged
from pifolab.custom import PythonController, PythonObserver, PythonRank, PythonScheduler
from pifolab.errors import InputError, ParameterName, parameter_error
from pifolab.folder import whole_folder, write_json, writing
from pifolab.interruption import calling_plug_in, interruptible
from pifolab.lazy import np, pl
from pifolab.plugins import installed
from pifolab.provenance import file_digest, module_digest, own_files
from pifolab.scenario import inline_toml, scenario_toml
from pifolab.store.parquet import TableReader, kind_of
from pifolab.text import read_text
from pifolab.traces import idle_notes, trace_notes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pifolab.figures.choice import FigureChoice, Scale


@dataclass(frozen=True)
class Progress:
    """How far a run is, over all its schedulers and seeds.

    Attributes
    ----------
    arrived_packets : int
        Packets that arrived; on a network packet-hops.
    expected_packets : float or None
        The approximate number of all arrivals; None if it is unknown.
    runs_done, runs : int
        Schedulers times seeds.
    simulated_s, duration_s : float or None
        Simulated time, and the planned total, summed over the runs; only for networks.
    events, flows_done, flows : int or None
        Events that happened, flows that are complete, all flows; on a network only.
    memory_bytes : float or None
        About how much memory the run with one seed will need beside the process.
    """

    arrived_packets: int
    expected_packets: float | None
    runs_done: int
    runs: int
    simulated_s: float | None = None
    duration_s: float | None = None
    events: int | None = None
    flows_done: int | None = None
    flows: int | None = None
    memory_bytes: float | None = None

    @property
    def share(self) -> float | None:
        """The share of the work that is done, from 0 to 1; None if it is unknown."""
        if self.expected_packets:
            return min(self.arrived_packets / self.expected_packets, 1.0)
        if self.duration_s:
            return min((self.simulated_s or 0.0) / self.duration_s, 1.0)
        return None


#: The name of a scenario that is given as a mapping.
_DICT = "scenario"

#: The most rows of each table of a run that was interrupted, of all seeds and schedulers together.
INTERRUPTED_ROWS = _pifolab.INTERRUPTED_ROWS

#: A function that receives progress.
Watch = Callable[[Progress], None]


@dataclass(frozen=True)
class Observed:
    """An observer written in Python, and the run that it watched."""

    seed: int
    scheduler: str
    observer: PythonObserver


@dataclass(frozen=True)
class Run:
    """The result of a scenario.

    Attributes
    ----------
    manifest : dict
        What ran: the whole specification with every default filled in, seeds, version, and the trace hash of each
        scheduler and seed, which tells whether two runs were the same to the last decision.
    summary : dict
        The main numbers of each scheduler.
    tables : dict of str to polars.DataFrame
        ``schedulers``, ``ranks``, ``queues``, ``flows``, ``samples``, ``queue_samples`` and more, as docs/run-folder.md
        describes; of a network ``schedulers``, ``flows``, ``fct``, ``ports`` and more, as docs/network.md does. The
        first columns are `seed` and `scheduler`.
    observers : dict of str to list of Observed
        The observers written in Python, by their names: one for each seed and scheduler.
    interrupted : bool
        Whether Ctrl-C came while it ran; if something is missing therefore, the run is `partial`. Of each table there
        are at most the first 250,000 rows, in equal shares of seeds and schedulers, and the manifest says so.
    """

    manifest: dict[str, Any]
    summary: dict[str, Any]
    tables: dict[str, pl.DataFrame]
    observers: dict[str, list[Observed]] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def partial(self) -> bool:
        """Whether the run was interrupted; the schedulers and seeds that are present are complete."""
        return bool(self.manifest["partial"])

    @property
    def seeds(self) -> list[int]:
        """The seeds that ran."""
        return [int(one["seed"]) for one in self.summary["runs"]]

    @property
    def warnings(self) -> list[str]:
        """Notes on valid but possibly unintended settings, such as a buffer that was not drained in time."""
        return [str(warning) for warning in self.manifest["warnings"]]

    def trace_hashes(self, *ingredients: str) -> dict[tuple[int, str], dict[str, str]]:
        """Return the hashes of a run on a network, by seed and scheduler: where two runs differ, these show which part.

        Parameters
        ----------
        *ingredients : str
            Some of ``"events"`` (times, and slots of packets: the `trace_hash`), ``"packets"`` (flows, sequence
            numbers, flags, payloads), ``"ranks"`` and ``"drops"`` (where, why, and which packet). Default: all.

        Raises
        ------
        InputError
            The run is one on a single link, or an ingredient is unknown.
        """
        if self.manifest["kind"] != "network":
            raise InputError("trace_hashes: only runs on a network have them; one link has trace_hash alone")
        found = {}
        for run in self.manifest["runs"]:
            for one in run["schedulers"]:
                hashes: dict[str, str] = one["trace_hashes"]
                for name in ingredients:
                    if name not in hashes:
                        raise InputError(_pifolab.unknown_name("ingredient", name, list(hashes)))
                chosen = {name: value for name, value in hashes.items() if not ingredients or name in ingredients}
                found[run["seed"], str(one["scheduler"])] = chosen
        return found

    @property
    def notes(self) -> list[str]:
        """Notes on the trace, and on a link on which there was nothing to schedule."""
        return [*trace_notes(self.manifest["spec"]), *idle_notes(self)]

    @property
    def title(self) -> str:
        """The scenario's title, or the name of its file."""
        return str(self.manifest["spec"].get("title") or Path(self.manifest["file"]).stem)

    @property
    def description(self) -> str:
        """The scenario's description."""
        return str(self.manifest["spec"].get("description") or "")

    def common_flows(self) -> pl.DataFrame:
        """Return the rows of the table ``flows`` that can be compared: flows that every scheduler completed.

        A mean over all completed flows favours a scheduler that leaves the slow ones unfinished. Flows are the same if
        they have the same seed and number; of those outside of the measured time (``metrics.warm_up``,
        ``metrics.measure_until``) there is none. Empty for a run on one link.
        """
        flows = self.tables.get("flows")
        if flows is None or "fct_ns" not in flows.columns:
            return pl.DataFrame()
        metrics = self.manifest["spec"]["metrics"]
        measured = pl.col("start_ns") >= (metrics.get("warm_up_ns") or 0)
        if metrics.get("measure_until_ns") is not None:
            measured &= pl.col("start_ns") < metrics["measure_until_ns"]
        completed_by = pl.col("scheduler").n_unique().over("seed", "flow")
        done = flows.filter(measured & pl.col("fct_ns").is_not_null())
        return done.filter(completed_by == flows["scheduler"].n_unique())

    def __getitem__(self, table: str) -> pl.DataFrame:
        """Return a table by its name: ``run["flows"]``.

        Raises
        ------
        InputError
            The run has no table of this name.
        """
        if table not in self.tables:
            raise InputError(_pifolab.unknown_name("table", table, list(self.tables)))
        return self.tables[table]

    def _ipython_key_completions_(self) -> list[str]:
        """Return the names that a notebook completes between brackets."""
        return list(self.tables)

    @property
    def schedulers(self) -> list[str]:
        """The schedulers that ran, as the tables call them."""
        return list(dict.fromkeys(self.tables["schedulers"]["scheduler"]))

    def plot(
        self,
        name: str | None = None,
        *,
        ax: Axes | None = None,
        size: tuple[float, float] | None = None,
        schedulers: Sequence[str] | None = None,
        labels: Mapping[str, str] | None = None,
        x_scale: Scale | None = None,
        y_scale: Scale | None = None,
    ) -> Figure:
        """Return a figure of the run, which a notebook shows.

        Parameters
        ----------
        name : str, optional
            Which: its file's name in the folder ``figures`` of a saved run, such as ``"inversions-per-rank"``, or
            ``"fct-cdf"``: the completion times of all flows. Default: the first, which compares the schedulers.
        ax : matplotlib.axes.Axes, optional
            Where to draw a figure of one panel. Default: a new figure.
        size : pair of float, optional
            Width and height in inches.
        schedulers : sequence of str, optional
            Only these, in this order. Default: all.
        labels : mapping of str to str, optional
            Labels of schedulers.
        x_scale, y_scale : "linear" or "log", optional
            The axes of figures that draw one number against another. Default: chosen from the data.

        Raises
        ------
        InputError
            The run has no figure of this name, or no scheduler of a name; or a figure of several panels, or a size, is
            asked for in given axes.

        Examples
        --------
        >>> import pifolab
        >>> run = pifolab.compare(["pifo", "fifo"], ranks="uniform", rate="10G", load=1.1, duration="1ms")
        >>> figure = run.plot("inversions-per-rank")
        """
        from pifolab.figures.choice import FigureChoice
        from pifolab.figures.run import draw_one

        if ax is not None and size is not None:
            raise parameter_error("size", " has no effect with ", ParameterName("ax"), ": remove it")
        return draw_one(self, name, FigureChoice(schedulers, labels or {}, x_scale, y_scale, size), ax)

    def __repr__(self) -> str:
        """Return one line: the scenario, and the names of the tables."""
        schedulers = ", ".join(self.schedulers)
        seeds = ", ".join(map(str, self.seeds))
        return f"Run({self.title!r}: {schedulers}; seeds {seeds}; tables {', '.join(self.tables)})"

    def _repr_html_(self) -> str:
        """Return the form for notebooks: title, main numbers, notes and warnings."""
        from pifolab.report import html
        from pifolab.report.run import results

        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return "\n".join([f"<h4>{html.escape(self.title)}</h4>", *results(self), f"<ul>{notes}</ul>" if notes else ""])

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Run:
        """Return the run that `save` or ``pifolab run`` wrote to `folder`; observers are not part of a folder.

        Raises
        ------
        InputError
            It is not the folder of a run, or a file in it is damaged; the text names the file.

        Examples
        --------
        >>> import tempfile, pifolab
        >>> run = pifolab.compare(["pifo"], ranks="uniform", rate="10G", load=1.1, duration="1ms")
        >>> folder = run.save(tempfile.mkdtemp(), figures=False)
        >>> pifolab.Run.load(folder)["schedulers"].equals(run["schedulers"])
        True
        """
        source = Path(folder)
        manifest, summary = (_read_json(source / name) for name in ("manifest.json", "summary.json"))
        if not {"kind", "spec", "seeds", "runs", "warnings", "partial"} <= manifest.keys() or "runs" not in summary:
            raise InputError(f"{source}: expected the folder of a run, with a manifest that pifolab run wrote")
        reader = TableReader()
        tables = {file.stem: reader.read_file(file) for file in sorted(source.glob("*.parquet"))}
        if "schedulers" not in tables:
            raise InputError(f"{source / 'schedulers.parquet'}: is missing: expected the folder of a run")
        # The order in which a run gives them.
        first = {"schedulers": 0, "ranks": 1, "queues": 2, "flows": 3}
        ordered = dict(sorted(tables.items(), key=lambda table: (first.get(table[0], 4), table[0])))
        return cls(manifest, summary, ordered)

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        figures: bool = True,
        captures: bool = True,
        report: bool | None = None,
        force: bool = False,
        choice: FigureChoice | None = None,
    ) -> Path:
        """Write manifest.json, summary.json, a Parquet file per table, packets/, figures/ and report.html to `folder`.

        Parameters
        ----------
        folder : path
            Where to write; it does not exist yet, or is empty.
        figures : bool
            Whether to draw figures, which takes seconds.
        captures : bool
            Whether to write a packet log also as ``packets/*.pcapng``, one for each scheduler, seed and port: about
            four seconds for a million rows.
        report : bool, optional
            Whether to write report.html, with the figures that there are. Default: with figures.
        force : bool
            Whether to replace a folder that contains only files of pifolab.
        choice : FigureChoice, optional
            The schedulers in figures, their labels, scales and size.

        The folder appears when all of it is written; until then there is a hidden one beside it.

        Raises
        ------
        InputError
            The folder exists or cannot be made, or the choice names a scheduler that the run does not have.
        """
        from pifolab.report.run import write_report

        target = Path(folder)
        with whole_folder(target, force=force) as unfinished:
            write_json(unfinished / "manifest.json", self.manifest)
            write_json(unfinished / "summary.json", self.summary)
            for name, frame in self.tables.items():
                with writing(unfinished / f"{name}.parquet") as file:
                    _write_parquet(file, frame, self.manifest)
            log = self.tables.get("packet_log")
            if captures and log is not None and log.height:
                from pifolab.pcapng import write_captures

                transport, flows = self.manifest["spec"]["transport"], self.tables["flows"]
                some = {udp["host"] for udp in transport.get("udp", [])}
                udp = set(flows["src"]) if transport["name"] == "udp" else some
                write_captures(log, flows, unfinished / "packets", udp=udp)
            if figures:
                from pifolab.figures.run import draw_run
                from pifolab.figures.style import save

                (unfinished / "figures").mkdir()
                for name, figure in draw_run(self, choice).items():
                    save(figure, unfinished / "figures" / name)
            if figures if report is None else report:
                write_report(self, unfinished)
        return target


def run(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    *,
    seeds: Sequence[int] | None = None,
    overrides: Mapping[str, Any] | None = None,
    flows: str | os.PathLike[str] | None = None,
    schedulers: Mapping[str, type[PythonScheduler] | Callable[..., PythonScheduler]] | None = None,
    ranks: Mapping[str, type[PythonRank] | Callable[..., PythonRank]] | None = None,
    controllers: Mapping[str, type[PythonController] | Callable[..., PythonController]] | None = None,
    observers: Mapping[str, type[PythonObserver] | Callable[[], PythonObserver]] | None = None,
    workers: int | None = None,
    progress: Watch | None = None,
) -> Run:
    """Run the scenario in a TOML file, a packaged experiment, or a mapping with the same keys.

    Parameters
    ----------
    scenario : path, str or mapping
        The file; files that it names are looked for beside it. Or the name of an experiment of the package, such as
        ``"packs/fig3"``. Or its keys and tables as a mapping; there a class
        derived from `PythonScheduler` may stand for a scheduler's name, a name alone for a scheduler with its defaults,
        and files are looked for in the current folder.
    seeds : sequence of int, optional
        The seeds to run with. Default: the seeds of the scenario.
    overrides : mapping of str to value, optional
        Keys to change, as dotted paths: ``{"link.rate_gbps": 40, "scheduler.packs.window": 100}``.
    flows : path, optional
        A flow list (CSV with the columns flow, src, dst, size_bytes, start_ns; gzip allowed) in the place of the flows
        of a scenario on a network.
    schedulers, ranks, controllers : mapping of str to class, optional
        Schedulers, rank functions and congestion controllers written in Python; the scenario can name them, and those
        that installed distributions offer as entry points (``pifolab.schedulers`` and so on) without this. A class (or
        whatever makes one) is called with the parameters that the scenario gives it: for each run, on a network for
        each port, or, a controller, for each flow.
    observers : mapping of str to class, optional
        Observers written in Python: each is called without arguments for each scheduler and seed, and is in the result.
    workers : int, optional
        How many schedulers run side by side; results do not depend on it. Default: one per processor.
    progress : callable, optional
        Called about ten times a second with a `Progress`.

    Raises
    ------
    InputError
        The file cannot be read, or something in it is wrong; the text names file, line, key and what would be right.

    Examples
    --------
    >>> import pifolab
    >>> result = pifolab.run({
    ...     "duration_s": 0.001,
    ...     "link": {"rate_gbps": 10},
    ...     "workload": {"arrivals": "constant", "rate_gbps": 11, "size_bytes": 1500, "ranks": "uniform"},
    ...     "scheduler": ["pifo", {"name": "packs", "window": 20}],
    ... })
    >>> result.tables["schedulers"]["scheduler"].to_list()
    ['pifo', 'packs']
    """
    if isinstance(scenario, Mapping):
        text, own = scenario_toml(scenario)
        place = _DICT
        schedulers = own | dict(schedulers or {})
    else:
        path = packaged.experiment(Path(scenario))
        text, place = read_text(path), os.fspath(path)
    try:
        return run_text(
            text,
            place,
            seeds=seeds,
            overrides=overrides,
            flows=flows,
            schedulers=schedulers,
            ranks=ranks,
            controllers=controllers,
            observers=observers,
            workers=workers,
            progress=progress,
        )
    except InputError as error:
        if not isinstance(scenario, Mapping) or error.file != place:
            raise
        raise error.changed(message=f"scenario: {error.without_file()}", file=None, line=None) from None


def run_text(
    text: str,
    file: str = "scenario.toml",
    *,
    seeds: Sequence[int] | None = None,
    overrides: Mapping[str, Any] | None = None,
    flows: str | os.PathLike[str] | None = None,
    schedulers: Mapping[str, type[PythonScheduler] | Callable[..., PythonScheduler]] | None = None,
    ranks: Mapping[str, type[PythonRank] | Callable[..., PythonRank]] | None = None,
    controllers: Mapping[str, type[PythonController] | Callable[..., PythonController]] | None = None,
    observers: Mapping[str, type[PythonObserver] | Callable[[], PythonObserver]] | None = None,
    workers: int | None = None,
    progress: Watch | None = None,
    inputs: Mapping[str, str] | None = None,
) -> Run:
    """Run a scenario given as TOML text; errors call it `file`. For the other parameters see `run`.

    `inputs`, if given, has the SHA-256 of each file that the scenario names, by the key that names it
    (``workload.trace``): on other files the run is refused with an `InputError`.

    Examples
    --------
    >>> import pifolab
    >>> result = pifolab.run_text('''
    ...     duration_s = 0.001
    ...     link = { rate_gbps = 10 }
    ...     workload = { arrivals = "constant", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }
    ...     scheduler = [{ name = "pifo" }, { name = "fifo" }]
    ... ''')
    >>> table = result.tables["schedulers"].select("scheduler", "arrived_packets", "inversions")
    >>> table["arrived_packets"].to_list()
    [917, 917]
    >>> table.filter(scheduler="pifo")["inversions"].item()
    0
    """
    if workers is not None and (type(workers) is not int or not 1 <= workers < 1 << 31):
        raise InputError(f"workers = {workers!r}: expected an integer from 1 to 2^31 - 1")
    # A text that is TOML stays unchanged: "1/10" is a fraction.
    pairs = [
        (key, str(value) if isinstance(value, (str, Fraction)) else inline_toml(value, key))
        for key, value in (overrides or {}).items()
    ]
    makers = {"schedulers": schedulers, "ranks": ranks, "controllers": controllers, "observers": observers}
    named = (text, *(value for _, value in pairs))
    brought = {kind: {**installed(kind, *named), **(given or {})} for kind, given in makers.items()}
    _refuse_taken_names(brought)
    parts: list[_Part] = []

    def one(seed: int | None, done: int, all_seeds: int) -> _Part:
        def watch(
            arrived: int,
            expected: float | None,
            finished: int,
            count: int,
            network: tuple[float, float, int, int, int] | None,
            memory_bytes: float,
        ) -> None:
            if progress is None:
                return
            before = sum(part.arrived for part in parts)
            left = all_seeds - done
            whole = None if expected is None else before + expected * left
            state = Progress(
                before + arrived, whole, done * count + finished, all_seeds * count, memory_bytes=memory_bytes
            )
            if network is not None:
                simulated_s, duration_s, events, flows_done, flows = network
                earlier = [row for part in parts for row in part.summary["schedulers"]]
                state = replace(
                    state,
                    simulated_s=simulated_s + done * duration_s,
                    duration_s=duration_s * all_seeds,
                    events=events + sum(row["events"] for row in earlier),
                    flows_done=flows_done + sum(row["completed_flows"] for row in earlier),
                    flows=flows * left + sum(row["flows"] for row in earlier),
                )
            progress(state)

        result = _pifolab.run_scenario(
            text,
            file,
            pairs,
            seed=seed,
            workers=workers or os.cpu_count() or 1,
            flows=None if flows is None else os.fspath(flows),
            schedulers=brought["schedulers"],
            ranks=brought["ranks"],
            controllers=brought["controllers"],
            observers=brought["observers"],
            progress=watch,
            inputs=None if inputs is None else dict(inputs),
            interrupted_rows=INTERRUPTED_ROWS // (done + 1),
        )
        part = _Part(
            json.loads(result["manifest"]),
            json.loads(result["summary"]),
            result["tables"],
            result["observers"],
            result["interrupted"],
        )
        for table, cut in result["cut"].items():
            for label, most, of in cut:
                part.says_cut(table, label, most, of)
        return part

    if seeds is not None:
        if "seeds" in (overrides or {}):
            raise parameter_error(
                "seeds", ": conflicts with ", ParameterName("overrides"), ", which has seeds: give one of the two"
            )
        if not seeds:
            raise InputError("seeds = []: expected at least one seed")
        parts.append(one(_checked_seed(seeds[0]), 0, len(seeds)))
    else:
        parts.append(one(None, 0, 1))
        seeds = parts[0].manifest["spec"]["seeds"]
    interrupted = parts[0].interrupted
    try:
        for place, seed in enumerate(seeds[1:], start=1):
            if interrupted:
                break
            parts.append(one(_checked_seed(seed), place, len(seeds)))
            interrupted = parts[-1].interrupted
    except KeyboardInterrupt:
        # It came before the first scheduler of this seed did anything; the seeds before it are complete.
        interrupted = True
    result = _joined(parts, len(seeds), interrupted=interrupted)
    if any(brought.values()):
        result.manifest["python"] = _described(brought)
    return result


@dataclass(frozen=True)
class _Part:
    """The result of one seed."""

    manifest: dict[str, Any]
    summary: dict[str, Any]
    tables: dict[str, dict[str, tuple[str, Any]]]
    observers: list[tuple[str, str, Any]]
    interrupted: bool

    @property
    def arrived(self) -> int:
        return sum(row["arrived_packets"] for row in self.summary["schedulers"])

    def says_cut(self, table: str, label: str, most: int, of: int) -> None:
        """Note in the manifest that a table has `most` of `of` rows of the scheduler `label`."""
        self.manifest["warnings"].append(f"{label}: interrupted: {table} has the first {most} of {of} rows")
        (run,) = (run for run in self.manifest["runs"] if run["scheduler"] == label)
        left_out = run.setdefault("rows_left_out", {})
        left_out[table] = left_out.get(table, 0) + of - most


def complete(result: Run) -> Run:
    """Return `result`, for callers that cannot use a part of it.

    Raises
    ------
    KeyboardInterrupt
        The run was interrupted.
    """
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def _joined(parts: list[_Part], wanted: int, *, interrupted: bool) -> Run:
    tables: dict[str, pl.DataFrame] = {}
    if not interrupted:
        try:
            # Of a log with many rows each column takes a moment, and Ctrl-C waits for none of them.
            tables = interruptible(lambda: _tables(parts, cut=False))
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        tables = _tables(parts, cut=True)
    partial = len(parts) < wanted or any(part.manifest["partial"] for part in parts)
    manifest = {key: value for key, value in parts[0].manifest.items() if key not in ("seed", "runs", "trace_hash")}
    manifest["revision"], manifest["module_sha256"] = _pifolab.__revision__, module_digest()
    manifest["partial"] = partial
    manifest["warnings"] = [
        f"seed {part.manifest['seed']}: {warning}" if wanted > 1 else warning
        for part in parts
        for warning in part.manifest["warnings"]
    ]
    manifest["seeds"] = [part.manifest["seed"] for part in parts]
    manifest["runs"] = [
        {"seed": part.manifest["seed"], "trace_hash": part.manifest["trace_hash"], "schedulers": part.manifest["runs"]}
        for part in parts
    ]
    summary = {
        "title": manifest["spec"].get("title"),
        "partial": partial,
        "runs": [{"seed": part.manifest["seed"], "schedulers": part.summary["schedulers"]} for part in parts],
    }
    observers: dict[str, list[Observed]] = {}
    for part in parts:
        for name, scheduler, observer in part.observers:
            observers.setdefault(name, []).append(Observed(part.manifest["seed"], scheduler, observer))
    for name, several_runs in observers.items():
        made = [table for one in several_runs if (table := _own_table(name, one)) is not None]
        if made and name in tables:
            raise InputError(f"observer {name}: the run has a table of this name; give the observer another name")
        if made:
            tables[name] = pl.concat(made)
    return Run(manifest, summary, tables, observers, interrupted)


def _tables(parts: list[_Part], *, cut: bool) -> dict[str, pl.DataFrame]:
    """Return the tables of all seeds; if they are cut, the first rows of them."""
    frames: dict[str, list[pl.DataFrame]] = {}
    # The caller waits for these tables, also after Ctrl-C: then the compiled part cuts incomplete tables.
    runs = sum(len(part.manifest["runs"]) for part in parts)
    for part in parts:
        for name, columns in part.tables.items():
            frame = _first_rows(part, name, columns, INTERRUPTED_ROWS // runs) if cut else frame_of(columns)
            frames.setdefault(name, []).append(frame.insert_column(0, _constant("seed", part.manifest["seed"], frame)))
    return {name: pl.concat(several) for name, several in frames.items()}


def _first_rows(part: _Part, table: str, columns: Mapping[str, tuple[str, Any]], most: int) -> pl.DataFrame:
    """Return the first `most` rows of each scheduler, and note the number of omitted rows in the manifest."""
    names, codes = columns["scheduler"][1]
    codes = np.frombuffer(codes, dtype=np.uint32)
    if len(codes) <= most:
        return frame_of(columns)
    # The rows of a scheduler are contiguous.
    starts = [0, *(np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist()]
    frames = []
    for start, end in zip(starts, [*starts[1:], len(codes)], strict=True):
        frames.append(frame_of(columns, slice(start, min(start + most, end))))
        if end - start > most:
            part.says_cut(table, names[codes[start]], most, end - start)
    return pl.concat(frames)


def _own_table(name: str, observed: Observed) -> pl.DataFrame | None:
    """Return the table that the observer adds to the run."""
    try:
        columns = calling_plug_in(observed.observer.table)
    except BaseException as error:
        # As the compiled part marks exceptions of the user's code.
        error.simulated_time_ns = None  # type: ignore[attr-defined]
        raise
    if columns is None:
        return None
    try:
        frame = pl.DataFrame(columns)
        for column, dtype in frame.schema.items():
            if kind_of(dtype) is None:
                # No folder and no store would give it back.
                raise TypeError(
                    f"column {column} has the type {dtype.base_type()}: expected numbers, texts or truth values"
                )
        frame.insert_column(0, pl.repeat(observed.scheduler, frame.height, eager=True).alias("scheduler"))
        return frame.insert_column(0, _constant("seed", observed.seed, frame))
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"observer {name}: table() is not a table: {str(error).partition(chr(10))[0]}") from None


def _refuse_taken_names(brought: Mapping[str, Mapping[str, Any]]) -> None:
    for kind, known in (("schedulers", info.schedulers()), ("ranks", info.ranks())):
        names = {one.name for one in known}
        for name in brought[kind]:
            if name in names:
                raise InputError(f"{kind}: {name} is one of pifolab's own; give yours another name")


def _described(brought: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return, for the manifest, where each thing written in Python comes from: class, source, and digests of its files.

    `files` has the SHA-256 of the file ("") and of the modules that it imports from outside installed packages.
    """

    def described(made: Any) -> dict[str, Any]:
        try:
            source, file = inspect.getsource(made), Path(inspect.getfile(made))
        except (OSError, TypeError):
            # Typed in, or built in: there is no file.
            return {"class": getattr(made, "__qualname__", repr(made)), "source": None, "files": {}}
        files = own_files(file) if file.is_file() else {}
        return {
            "class": f"{file.name}:{made.__qualname__}",
            "source": source,
            "files": {name: file_digest(path) for name, path in files.items()},
        }

    return {
        kind: {name: described(made) for name, made in makers.items()} for kind, makers in brought.items() if makers
    }


def _constant(name: str, value: int, frame: pl.DataFrame) -> pl.Series:
    column: pl.Series = pl.Series(name, [value], dtype=pl.Int64).new_from_index(0, frame.height)
    return column


def frame_of(columns: Mapping[str, tuple[str, Any]], rows: slice = slice(None)) -> pl.DataFrame:
    """Return the columns of a table, as the compiled part gives them, or some of their rows, as a frame."""
    series = []
    for name, (kind, values) in columns.items():
        if kind == "i64":
            series.append(pl.Series(name, np.frombuffer(values, dtype=np.int64)[rows]))
        elif kind == "f64":
            # Values that were not measured are null, not NaN.
            series.append(pl.Series(name, np.frombuffer(values, dtype=np.float64)[rows], nan_to_null=True))
        elif kind == "optional":
            numbers = np.frombuffer(values[0], dtype=np.int64)[rows]
            known = np.frombuffer(values[1], dtype=np.bool_)[rows]
            series.append(pl.Series(name, numbers).set(pl.Series(~known), None))
        else:
            # Repeated texts: the distinct ones, and a code in each row.
            names, codes = values
            series.append(pl.Series(name, names, dtype=pl.String).gather(np.frombuffer(codes, dtype=np.uint32)[rows]))
    return pl.DataFrame(series)


@cache
def load_frames() -> None:
    """Load the modules that frames need, which the first frame would load otherwise."""
    frame_of({"time_ns": ("i64", b""), "scheduler": ("text", ([], b""))})


def _checked_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise InputError(f"seed = {seed}: expected an integer from 0 to 2^63 - 1")
    return seed


def _write_parquet(path: Path, frame: pl.DataFrame, manifest: Mapping[str, Any]) -> None:
    # In one call, and by Python, whose errors say why a file cannot be written; those of polars do not always.
    buffer = io.BytesIO()
    interruptible(lambda: frame.write_parquet(buffer, metadata={"pifolab": json.dumps(manifest)}))
    path.write_bytes(buffer.getbuffer())


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, InputError) else InputError(f"{path}: invalid JSON: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: expected an object")
    return content
