"""A store gives back what was written, or says that it cannot: damage, forged records, company, lost folders."""

import dataclasses
import hashlib
import json
import os
import random
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from sweeping import SCENARIO, contents, sweep_of
from waiting import HANGS_S, Running

from pifolab.cli import main
from pifolab.store import Store, StoreError
from pifolab.store.sealed import seal
from pifolab.sweep import Sweep, run_sweep
from pifolab.sweep.job import JobError
from pifolab.sweep.pool import Pool

AXIS = {"scheduler": ["pifo", "narrow"]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario and a store of four runs, of which tests take copies."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "base.toml").write_text(SCENARIO)
    sweep = sweep_of(folder / "base.toml", axis=AXIS, seeds=[1, 2], tables=["schedulers", "ranks"])
    run_sweep(sweep, Store(folder / "store"), workers=1)
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Store("store", create=False)


def statistics(capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["study", "show", "store"])
    return status, *capsys.readouterr()


@pytest.mark.thorough
def test_no_flipped_bit_changes_a_number_unnoticed(store: Store, capsys: pytest.CaptureFixture[str]):
    chance = random.Random(14)
    _, whole, _ = statistics(capsys)
    files = [file for file in sorted(store.path.rglob("*")) if file.is_file()]
    bits = [(file, bit) for file in files for bit in range(8 * file.stat().st_size)]
    for file, bit in chance.sample(bits, 60):
        content = file.read_bytes()
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        file.write_bytes(damaged)
        try:
            status, out, errors = statistics(capsys)
            verified = main(["study", "check", "store"])
            said = capsys.readouterr()
            assert (status, out) != (0, whole), f"bit {bit} of {file} is not noticed"
            assert "internal" not in errors + said.err
            if file.name == "pifolab-store.json":
                # A space more or less says the same.
                assert status == 2
                continue
            assert verified == 1
            assert file.parent.name in said.out
            if file.parent.parent.name == "runs":
                # The others still have their numbers, and the damaged one is named.
                assert status == 0
                assert file.parent.name in errors
                assert "1 of 4 runs are left out" in out
            else:
                assert status == 2
                assert errors.count("\n") == 1
        finally:
            file.write_bytes(content)
    assert statistics(capsys)[:2] == (0, whole)


def sealed_record(store: Store, key: str, **changes: object) -> bytes:
    record = json.loads((store.run_folder(key) / "record.json").read_bytes())
    del record["sha256"]
    return seal(record | changes)


FORGED = {
    "no files": lambda store, key: sealed_record(store, key, files={}),
    "files of another type": lambda store, key: sealed_record(store, key, files=["manifest.json"]),
    "a path": lambda store, key: sealed_record(
        store,
        key,
        files={
            "manifest.json": hashlib.sha256((store.run_folder(key) / "manifest.json").read_bytes()).hexdigest(),
            "../../../base.toml": hashlib.sha256(SCENARIO.encode()).hexdigest(),
        },
    ),
    "an absolute path": lambda store, key: sealed_record(
        store, key, files={"manifest.json": "0" * 64, "/etc/passwd": "0" * 64}
    ),
    "a digest of another type": lambda store, key: sealed_record(store, key, files={"manifest.json": 5}),
    "a time that is a text": lambda store, key: sealed_record(store, key, elapsed_s="x"),
    "a time that is none": lambda store, key: sealed_record(store, key, elapsed_s=float("nan")),
    "memory below nothing": lambda store, key: sealed_record(store, key, peak_memory_bytes=-1),
    "a name that is a list": lambda store, key: sealed_record(store, key, name=["a"]),
    "a host that is a table": lambda store, key: sealed_record(store, key, host={"a": "b"}),
    "neither complete nor not": lambda store, key: sealed_record(store, key, complete=1),
    "another run": lambda store, key: sealed_record(store, key, run="f" * 32),
    "a list": lambda store, key: b"[]\n",
    "a number": lambda store, key: b"5",
    "nothing": lambda store, key: b"",
    "too deep": lambda store, key: b"[" * 100_000,
    "no text": lambda store, key: b"\xff\xfe\x00",
    "half a pair": lambda store, key: b'{"run": "\\ud800"}',
    "without a checksum": lambda store, key: json.dumps({"run": key, "files": {}}).encode(),
}


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_record_is_one_line(store: Store, capsys: pytest.CaptureFixture[str], how: str):
    key = store.keys()[0]
    (store.run_folder(key) / "record.json").write_bytes(FORGED[how](store, key))
    problem = store.problem(key)
    assert problem is not None
    assert problem.startswith("record.json ")
    assert main(["study", "check", "store"]) == 1
    out, errors = capsys.readouterr()
    assert out == f"{store.run_folder(key)}: {problem}\n4 runs, 1 damaged\n"
    assert errors == ""
    for action, *flags in (["show", "--runs"], ["show"], ["export", "--out", "t.csv"], ["prune"]):
        assert main(["study", action, "store", *flags]) == 0
        assert capsys.readouterr().err == f"pifolab study: {store.run_folder(key)}: {problem}: the run is left out\n"
    with pytest.raises(StoreError, match=r"record\.json"):
        store.record(key)


def test_verify_looks_at_every_file(store: Store, capsys: pytest.CaptureFixture[str]):
    key, other, third, _ = store.keys()
    os.mkfifo(store.run_folder(key) / "new")
    (store.run_folder(key) / "new").replace(store.run_folder(key) / "ranks.parquet")
    (store.run_folder(other) / "stray.parquet").write_bytes(b"x")
    shutil.rmtree(store.run_folder(third))
    store.run_folder(third).write_text("a file")
    (store.path / "runs" / "not-a-run").mkdir()
    (store.path / "sweeps" / "orphan.parquet").write_bytes(b"x")
    (store.path / "sweeps" / "empty.json").write_text("{}")
    (store.path / "sweeps" / "small.parquet").write_bytes(b"PAR1 but no table")
    assert main(["study", "check", "store"]) == 1
    out, errors = capsys.readouterr()
    assert errors == ""
    assert sorted(out.splitlines()) == sorted(
        [
            f"store/runs/{key}: ranks.parquet is not a regular file",
            f"store/runs/{other}/stray.parquet: is not part of the run",
            f"store/runs/{third}: is not a folder",
            "store/runs/not-a-run: is not a run",
            "store/sweeps: empty.json differs from what was written",
            "store/sweeps: small.parquet differs from what was written",
            "store/sweeps/orphan.parquet: is not part of a sweep",
            "4 runs, 3 damaged; 4 other faults",
        ]
    )
    for action in (["--runs"], []):
        assert main(["study", "show", "store", "--study", "small", *action]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert main(["study", "show", "store", "--study", "../../base"]) == 2
    assert 'unknown sweep "../../base"' in capsys.readouterr().err


def test_what_a_sweep_finds_damaged_it_writes_anew(store: Store, tmp_path: Path):
    whole = contents(store)
    notes = (store.path / "sweeps" / "small.json").read_bytes()
    (store.path / "sweeps" / "small.json").write_bytes(notes.replace(b'"title"', b'"titel"'))
    (store.run_folder(store.keys()[0]) / "record.json").write_text("{}")
    heard: list[dict] = []
    sweep = sweep_of(tmp_path / "base.toml", axis=AXIS, seeds=[1, 2], tables=["schedulers", "ranks"])
    result = run_sweep(sweep, store, workers=1, progress=lambda event: heard.append(dict(event)))
    assert (result.reused, result.left_out) == (3, [])
    rewritten = [event["reason"] for event in heard if event["event"] == "sweep-rewritten"]
    assert len(rewritten) == 1
    assert "small.json differs from what was written" in rewritten[0]
    assert contents(store) == whole
    assert store.sweep("small")["title"] == "small"
    assert list(store.problems()) == []


def test_a_run_gains_tables_and_never_loses_them(store: Store, tmp_path: Path):
    def sweep_with(tables: list[str] | None) -> Sweep:
        keys = {"axis": AXIS, "seeds": [1, 2], **({"tables": tables} if tables else {})}
        return sweep_of(tmp_path / "base.toml", **keys)

    before = contents(store)
    queues = sweep_with(["schedulers", "queues"])
    assert run_sweep(queues, store, workers=1).reused == 0
    keys = store.keys()
    for key in keys:
        assert store.tables(key) == ["queues", "ranks", "schedulers"]
    # What was there is untouched, and neither sweep finds anything to do now.
    assert before.items() <= contents(store).items()
    ranks = sweep_with(["schedulers", "ranks"])
    assert run_sweep(ranks, store, workers=1).reused == 4
    assert run_sweep(queues, store, workers=1).reused == 4
    # A sweep that wants all tables gets all, though some are there; afterwards none is missing for anybody.
    everything = sweep_with(None)
    assert run_sweep(everything, store, workers=1).reused == 0
    assert run_sweep(everything, store, workers=1).reused == 4
    assert len(store.tables(store.keys()[0])) > 3
    # A damaged run is done again with all tables that it had.
    (store.run_folder(store.keys()[0]) / "queues.parquet").unlink()
    run_sweep(ranks, store, workers=1)
    assert "queues" in store.tables(store.keys()[0])
    assert list(store.problems()) == []


def test_a_run_with_other_results_never_takes_the_place_of_tables(tmp_path: Path):
    store = Store(tmp_path / "store")
    key = "0" * 32
    store.commit(key, {"manifest.json": b"{}", "a.parquet": b"a", "b.parquet": b"b"}, {})
    assert not store.commit(key, {"manifest.json": b"{}", "a.parquet": b"a"}, {})
    with pytest.raises(StoreError, match=r"has other results .* lacks b\.parquet"):
        store.commit(key, {"manifest.json": b"{}", "a.parquet": b"other"}, {})
    assert store.tables(key) == ["a", "b"]
    assert store.commit(key, {"manifest.json": b"{}", "a.parquet": b"x", "b.parquet": b"y"}, {})
    assert (store.problem(key), store.tables(key)) == (None, ["a", "b"])
    assert list((store.path / "partial").iterdir()) == []


def test_a_whole_run_that_a_killed_process_left_takes_its_place(tmp_path: Path):
    store = Store(tmp_path / "store")
    key = "0" * 32
    store.commit(key, {"manifest.json": b"{}", "a.parquet": b"a"}, {})
    # As if killed between the two renames that put another run in its place.
    store.run_folder(key).rename(store.path / "partial" / f"{key}~1.0123abcd")
    (store.path / "partial" / f"{key}~1.4567abcd").mkdir()
    (store.path / "partial" / f"{key}~1.4567abcd" / "manifest.json").write_bytes(b"{}")
    assert store.clean() == 2
    assert (store.problem(key), store.tables(key)) == (None, ["a"])


def test_what_a_process_leaves_that_dies_while_it_makes_a_store_is_removed(tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(_, name, content, partial, temporary):
        (partial.path / temporary).write_bytes(content)
        raise Killed

    monkeypatch.setattr("pifolab.store.store.write_whole", killed)
    with pytest.raises(Killed):
        Store(tmp_path / "store")
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / "store").iterdir() if path.is_file()] == []
    store = Store(tmp_path / "store")
    assert len(list(store.leftovers())) == 1
    store.clean()
    assert list((tmp_path / "store" / "partial").iterdir()) == []


@pytest.mark.parametrize("name", ["runs", "sweeps", "partial", "claims"])
def test_an_empty_folder_that_was_dropped_is_made_again(store: Store, tmp_path: Path, name: str, capsys):
    shutil.rmtree(store.path / name)
    assert main(["study", "check", "store"]) == 0
    assert main(["study", "show", "store", "--runs"]) == 0
    capsys.readouterr()
    sweep = sweep_of(tmp_path / "base.toml", axis=AXIS, seeds=[1, 2], tables=["schedulers", "ranks"])
    result = run_sweep(sweep, Store(store.path), workers=1)
    assert result.reused == (0 if name == "runs" else 4)
    assert (store.path / name).is_dir() or name == "partial"
    assert list(store.problems()) == []


def test_a_store_with_several_sweeps_exports_all_of_its_runs(store: Store, tmp_path: Path, capsys):
    other = sweep_of(
        tmp_path / "base.toml", seeds=[7], axis={"window": {"key": "scheduler.narrow.window", "values": [9]}}
    )
    run_sweep(dataclasses.replace(other, name="other"), store, workers=1)
    assert main(["study", "export", "store", "--out", "all.csv", "--table", "schedulers"]) == 0
    table = pl.read_csv("all.csv")
    assert table.columns[:3] == ["run", "seed", "scheduler"]
    assert set(table["run"]) == set(store.keys())
    assert main(["study", "export", "store", "--study", "other", "--out", "other.csv", "--table", "schedulers"]) == 0
    assert pl.read_csv("other.csv").columns[:3] == ["run", "seed", "window"]
    capsys.readouterr()


def test_an_export_says_how_many_runs_have_no_such_table(store: Store, tmp_path: Path, capsys):
    """Another sweep on the same runs may have kept it for some of them."""
    sweep = sweep_of(tmp_path / "base.toml", axis=AXIS, seeds=[2, 3], tables=["queues"])
    run_sweep(dataclasses.replace(sweep, name="other"), store, workers=1)
    assert main(["study", "export", "store", "--study", "other", "--table", "ranks", "--out", "ranks.csv"]) == 0
    assert "2 of 4 runs are left out: their sweeps did not keep the table ranks\n" in capsys.readouterr().out
    assert main(["study", "export", "store", "--study", "other", "--table", "queues", "--out", "queues.csv"]) == 0
    assert "left out" not in capsys.readouterr().out


def test_statistics_say_which_runs_are_left_out_and_why(store: Store, tmp_path: Path, capsys):
    damaged, removed = store.keys()[:2]
    (store.run_folder(damaged) / "ranks.parquet").unlink()
    store.remove(removed)
    status, out, errors = statistics(capsys)
    assert status == 0
    assert errors == f"pifolab study: store/runs/{damaged}: ranks.parquet is missing: the run is left out\n"
    told = out[out.index("2 of 4 runs are left out:") :].splitlines()
    assert told[1].startswith(f"  {damaged[:12]} (scheduler = ")
    assert told[1].endswith("): ranks.parquet is missing")
    assert told[2] == "  1 is not finished"
    # A metric that some runs do not have.
    sweep = sweep_of(tmp_path / "base.toml", seeds=[1, 2], metrics=["lowest_dropped_rank"])
    result = run_sweep(sweep, Store(tmp_path / "second"), workers=1)
    known = {group.scheduler: group for group in result.groups}
    values = result.table("schedulers").group_by("scheduler").agg(pl.col("lowest_dropped_rank").null_count())
    for scheduler, nulls in values.iter_rows():
        assert (known[scheduler].without_value if scheduler in known else 2) == nulls


#: On the path of workers: the first three of them are killed while they start.
KILLED = """
import os, pathlib, signal, sys

if "pifolab.sweep.worker" in sys.orig_argv:
    for number in range(3):
        try:
            pathlib.Path(__file__).with_name(f"killed-{number}").mkdir()
        except FileExistsError:
            continue
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_worker_that_is_killed_while_it_starts_is_replaced(tmp_path: Path):
    (tmp_path / "base.toml").write_text(SCENARIO)
    (tmp_path / "s.toml").write_text('scenario = "base.toml"\nseeds = [1, 2, 3, 4]\n')
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(KILLED)
    command = ["study", "run", "s.toml", "--store", "store", "--workers", "2"]
    with Running(*command, cwd=tmp_path, environment={"PYTHONPATH": str(tmp_path / "path")}) as sweep:
        assert (sweep.process.wait(HANGS_S), sweep.messages) == (0, "")
        assert "4 runs: 4 run" in sweep.out
    assert len(list((tmp_path / "path").glob("killed-*"))) == 3
    assert len(Store(tmp_path / "store", create=False).keys()) == 4


def test_a_worker_that_nobody_listens_to_ends_without_a_word():
    worker = subprocess.Popen(
        [sys.executable, "-m", "pifolab.sweep.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert worker.stdout is not None
    # As when the sweep was killed while its worker started; the end of its input comes later.
    worker.stdout.close()
    assert worker.wait(HANGS_S) == 0
    assert worker.stderr is not None
    assert worker.stderr.read() == b""
    assert worker.stdin is not None
    worker.stdin.close()
    worker.stderr.close()


def wait_for_ever(pool: Pool) -> None:
    while True:
        pool.wait(0.1)


def test_workers_that_never_start_end_the_sweep_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "false").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "false").chmod(0o755 | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "false"))

    with Pool(2, None) as pool, pytest.raises(JobError, match=r"5 one after another \(exit status 3\)"):
        wait_for_ever(pool)


def test_a_worker_whose_store_is_gone_says_so_in_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    with Pool(2, tmp_path / "gone") as pool, pytest.raises(JobError, match="gone: does not exist"):
        wait_for_ever(pool)
    assert capfd.readouterr().err == ""


def test_a_list_of_runs_that_cannot_be_written_is_named(store: Store, tmp_path: Path):
    table = store.path / "sweeps" / "small.parquet"
    table.unlink()
    table.mkdir()
    with pytest.raises(StoreError, match=f"^{table}: Is a directory$"):
        run_sweep(
            sweep_of(tmp_path / "base.toml", axis=AXIS, seeds=[1, 2], tables=["schedulers", "ranks"]), store, workers=1
        )
    assert list((store.path / "partial").iterdir()) == []
