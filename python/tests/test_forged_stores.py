"""A store in which anything was changed by somebody who made the checksums right again: a result, or one line.

What is drawn comes from a seed, so that a failure can be repeated.
"""

import copy
import hashlib
import io
import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sweeping import SCENARIO

from pifolab.cli import main
from pifolab.store import Store, StoreError
from pifolab.store.parquet import TableReader
from pifolab.store.sealed import seal, unseal
from pifolab.sweep.stored import stored_notes

SWEEP = """
scenario = "base.toml"
seeds = [1, 2, 3]
tables = ["schedulers", "ranks"]
metrics = [
    "inversions",
    { name = "share", value = "dropped_packets / (sent_packets + 1)", where = "sent_packets >= 0" },
    { name = "first", table = "ranks", value = "max(departures)", where = "rank < 50", common = "rank" },
]
[axis]
scheduler = ["pifo", "narrow"]
load = { key = "workload.rate_gbps", values = [9, 11] }
[[compare]]
metric = "inversions"
of = { scheduler = "narrow", load = 11 }
to = { scheduler = "pifo", load = 11 }
stated_low = 1
tolerance = 0.1
source = "a paper"
"""

COMMANDS = [
    ["study", "plan", "small.toml", "--store", "store", "--workers", "1"],
    ["study", "show", "store", "--runs"],
    ["study", "show", "store", "--where", "load = 11 AND seed <= 2", "--runs"],
    ["study", "show", "store"],
    ["study", "show", "store", "--metric", "sojourn_mean_ns", "--metric", "lowest_dropped_rank"],
    ["study", "export", "store", "--out", "means.csv"],
    ["study", "export", "store", "--out", "means.tex"],
    ["study", "show", "store", "--draw", "narrow"],
    ["study", "export", "store", "--out", "table.csv", "--table", "schedulers"],
    ["study", "export", "store", "--out", "table.md", "--table", "ranks"],
    ["study", "export", "store", "--out", "table.parquet", "--table", "schedulers"],
    ["study", "export", "store", "--out", "figures", "--x", "load", "--figures"],
    ["study", "export", "store", "--out", "figures", "--y-scale", "log", "--panel", "load", "--figures"],
    ["study", "report", "store", "--out", "report"],
    ["study", "check", "store"],
    ["study", "prune", "store"],
    ["study", "prune", "store", "--where", "seed = 1", "--yes"],
]

#: What takes the place of a value in JSON.
VALUES: list[Any] = [
    None, True, False, 0, -1, 2**63, 10**400, 1e308, -1e308, 5e-324, float("nan"), float("inf"), "", "x", "narrow",
    "inversions", "sum(", "a\nb", "\x1b[31m", "\u202e", "../../etc/passwd", "x" * 100_000, [], {}, [[]], [None],
    ["x", 1], {"a": 1}, [{}], {"name": "x"}, {"value": "x"}, json.loads("[" * 60 + "]" * 60), "1 / 0",
    "repeat('a', 9)", "max(run)",
]  # fmt: skip

#: What takes the place of the type of a column.
TYPES: list[Any] = [
    pl.List(pl.Int64), pl.Struct({"a": pl.Int64}), pl.Binary, pl.Categorical, pl.Boolean, pl.String, pl.Date, pl.Int8,
    pl.Datetime, pl.Duration, pl.Decimal(10, 2), pl.UInt64, pl.Float32, pl.Int128, pl.Null, pl.Array(pl.Int64, 1),
    pl.Enum(["narrow", "pifo"]),
]  # fmt: skip

NUMBERS = [0.0, -0.0, 1e308, -1e308, 1.7e308, 5e-324, float("nan"), float("inf"), -1.0, 1e150, None]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "base.toml").write_text(SCENARIO)
    (folder / "small.toml").write_text(SWEEP)
    assert main(["study", "run", str(folder / "small.toml"), "--store", str(folder / "store"), "--workers", "1"]) == 0
    return folder


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value in JSON."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(*path, key) for key, _ in inner] + [one for key, two in inner for one in places(two, (*path, key))]


def changed(about: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """Replace, remove, rename or add a value anywhere."""
    about = copy.deepcopy(about)
    *path, last = draw.choice(places(about))
    table: Any = about
    for key in path:
        table = table[key]
    kind = draw.randrange(5)
    if kind == 0:
        del table[last]
    elif kind == 1 and isinstance(table, dict):
        table[draw.choice(["x", "", "seed", "name"])] = table.pop(last)
    elif kind == 2 and isinstance(table, list):
        table.append(copy.deepcopy(draw.choice([*VALUES, table[last]])))
    else:
        table[last] = copy.deepcopy(draw.choice(VALUES))
    return about


def cast(column: pl.Series, kind: Any) -> pl.Series:
    values = column.to_list()
    for make in (lambda: column.cast(kind), lambda: pl.Series([[1]] * len(values)).cast(kind)):
        try:
            return make().alias(column.name)
        except Exception:
            continue
    return pl.Series(column.name, [{"a": 1}] * len(values))


def mutated(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    """Change a column or the rows of a table."""
    name = draw.choice([*frame.columns, "run", "seed", "scheduler"])
    name = name if name in frame.columns else frame.columns[0]
    column, kind = frame[name], draw.randrange(10)
    if kind == 0:
        return frame.drop(name)
    if kind == 1:
        new = draw.choice(["x", "", "seed_right", "load", "load_axis", "a\nb", "value", "y" * 100_000])
        return frame if new in frame.columns else frame.rename({name: new})
    if kind in (2, 3, 4):
        return frame.with_columns(cast(column, draw.choice(TYPES)))
    if kind == 5:
        values = [draw.choice(NUMBERS) for _ in range(frame.height)]
        return frame.with_columns(pl.Series(name, values, dtype=pl.Float64))
    if kind == 6:
        texts = [draw.choice(["", "x", "narrow", "=1+1", "\x00", "\u202e", "x" * 10_000, None]) for _ in column]
        return frame.with_columns(pl.Series(name, texts, dtype=pl.String))
    if kind == 7:
        return frame.head(0)
    if kind == 8:
        return pl.concat([frame] * draw.choice([2, 3, 500]))
    integers = [draw.choice([0, -1, 2**63 - 1, -(2**63), 7]) for _ in column]
    return frame.with_columns(pl.Series(name, integers, dtype=pl.Int64))


def parquet(frame: pl.DataFrame) -> bytes:
    written = io.BytesIO()
    frame.write_parquet(written)
    return written.getvalue()


def flipped(content: bytes, draw: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 10])):
        damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
    return bytes(damaged)


def put_in_run(store: Store, key: str, name: str, content: bytes) -> None:
    """Put a file into a run, with a record that says so."""
    folder = store.run_folder(key)
    record = unseal((folder / "record.json").read_bytes())
    record["files"] = {**record["files"], name: hashlib.sha256(content).hexdigest()}
    (folder / name).write_bytes(content)
    (folder / "record.json").write_bytes(seal(record))


def put_in_notes(store: Store, content: bytes) -> None:
    """Put a list of runs beside the notes of the sweep, which say so."""
    notes = unseal((store.path / "sweeps" / "small.json").read_bytes())
    (store.path / "sweeps" / "small.parquet").write_bytes(content)
    (store.path / "sweeps" / "small.json").write_bytes(
        seal(notes | {"runs_sha256": [hashlib.sha256(content).hexdigest()]})
    )


def forge_notes(store: Store, draw: random.Random) -> None:
    file = store.path / "sweeps" / "small.json"
    file.write_bytes(seal(changed(unseal(file.read_bytes()), draw)))


def forge_record(store: Store, draw: random.Random) -> None:
    file = store.run_folder(draw.choice(store.keys())) / "record.json"
    file.write_bytes(seal(changed(unseal(file.read_bytes()), draw)))


def forge_manifest(store: Store, draw: random.Random) -> None:
    for key in store.keys():  # noqa: SIM118
        about = json.loads((store.run_folder(key) / "manifest.json").read_bytes())
        new = draw.choice([changed(about, draw), changed(about, draw), *VALUES])
        put_in_run(store, key, "manifest.json", json.dumps(new).encode())


def forge_mark(store: Store, draw: random.Random) -> None:
    new = draw.choice([{"format": draw.choice(VALUES)}, {"format": 2, "more": draw.choice(VALUES)}, *VALUES])
    (store.path / "pifolab-store.json").write_text(json.dumps(new))


def forge_runs(store: Store, draw: random.Random) -> None:
    put_in_notes(store, parquet(mutated(pl.read_parquet(store.path / "sweeps" / "small.parquet"), draw)))


def forge_table(store: Store, draw: random.Random) -> None:
    """Of one run, or of all in the same way."""
    name, seed = draw.choice(["schedulers.parquet", "schedulers.parquet", "ranks.parquet"]), draw.random()
    for key in draw.choice([store.keys(), [draw.choice(store.keys())]]):
        frame = pl.read_parquet(store.run_folder(key) / name)
        put_in_run(store, key, name, parquet(mutated(frame, random.Random(seed))))


def forge_bits(store: Store, draw: random.Random) -> None:
    if draw.random() < 0.3:
        put_in_notes(store, flipped((store.path / "sweeps" / "small.parquet").read_bytes(), draw))
    for key in store.keys():  # noqa: SIM118
        name = draw.choice(["schedulers.parquet", "ranks.parquet"])
        put_in_run(store, key, name, flipped((store.run_folder(key) / name).read_bytes(), draw))


FORGERIES: list[Callable[[Store, random.Random], None]] = [
    forge_notes, forge_notes, forge_record, forge_manifest, forge_mark, forge_runs, forge_table, forge_table,
    forge_bits,
]  # fmt: skip


def check(made: Path, folder: Path, capfd: pytest.CaptureFixture[str], draw: random.Random, commands: int) -> None:
    """Forge a store, and give it to some commands."""
    shutil.copytree(made, folder)
    os.chdir(folder)
    forge = draw.choice(FORGERIES)
    forge(Store("store", create=False), draw)
    for command in draw.sample(COMMANDS, commands):
        capfd.readouterr()
        status = main(command)
        out, errors = capfd.readouterr()
        case = (str(folder), forge.__name__, command, status, errors[-2000:])
        assert status in (0, 2) or (status == 1 and "check" in command), case
        # Runs that are left out are named before the one line that says why there is nothing else.
        lines = errors.splitlines()
        assert sum(line.startswith("pifolab: ") for line in lines) == (status == 2), case
        assert all(line.startswith("pifolab") for line in lines), case
        assert all(len(line) < 3000 for line in lines), case
        assert "internal" not in errors + out, case


@pytest.mark.parametrize("seed", range(6))
def test_a_forged_store_is_a_result_or_one_line(made, tmp_path, monkeypatch, capfd, seed):
    monkeypatch.chdir(tmp_path)
    draw = random.Random(seed)
    for number in range(20):
        check(made, tmp_path / str(number), capfd, draw, 3)
        shutil.rmtree(tmp_path / str(number))


@pytest.fixture
def store(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Store("store", create=False)


def bomb(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    """A table that says much in few bytes: rows, columns or a text that come again and again."""
    row = frame.head(1)
    match draw.randrange(4):
        case 0:
            return row.select(pl.all().repeat_by(draw.randint(20_000, 60_000)).explode())
        case 1:
            names = [f"column_{at}" for at in range(draw.randint(300, 400))]
            return row.select(pl.all().repeat_by(2_000).explode()).with_columns(pl.lit(0).alias(name) for name in names)
        case 2:
            return row.with_columns(pl.lit("x" * draw.randint(5_000_000, 9_000_000)).alias("text"))
        case _:
            # Once in the file, and often where it is written out.
            return row.select(pl.all().repeat_by(500).explode()).with_columns(pl.lit("x" * 20_000).alias("text"))


@pytest.mark.parametrize("seed", range(5))
def test_tables_that_would_not_fit_are_refused_before_they_are_decoded(store, monkeypatch, capsys, seed):
    monkeypatch.setattr("pifolab.store.parquet._BASE_BYTES", 3 * 2**20)
    monkeypatch.setattr("pifolab.store.parquet._PER_BYTE", 2)
    draw = random.Random(seed)
    key = draw.choice(store.keys())
    table = bomb(pl.read_parquet(store.run_folder(key) / "schedulers.parquet"), draw)
    put_in_run(store, key, "schedulers.parquet", parquet(table))
    decoded: list[int] = []
    read = pl.read_parquet

    def noted(content: io.BytesIO) -> pl.DataFrame:
        frame = read(content)
        longest = frame.select(pl.col(pl.String).str.len_bytes().max()).row(0)
        decoded.append(8 * frame.height * frame.width + max(length or 0 for length in longest))
        return frame

    monkeypatch.setattr(pl, "read_parquet", noted)
    for command, *flags in (["show"], ["export", "--out", "t.csv"], ["report", "--out", "r"]):
        assert main(["study", command, "store", *flags]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert error.startswith(f"pifolab: store/runs/{key}: schedulers.parquet with the tables before it has "), error
        assert "MB in memory: expected at most " in error
        assert "which is 3 MiB and 2 times the size of the files; start the sweep again" in error
    assert max(decoded) < 3 * 2**20
    assert main(["study", "check", "store"]) == 1
    assert "schedulers.parquet with the tables before it has" in capsys.readouterr().out


def test_several_tables_that_fit_one_by_one_are_refused_together(store, monkeypatch, capsys):
    monkeypatch.setattr("pifolab.store.parquet._BASE_BYTES", 8 * 2**20)
    monkeypatch.setattr("pifolab.store.parquet._PER_BYTE", 2)
    for key in store.keys():  # noqa: SIM118
        table = pl.read_parquet(store.run_folder(key) / "schedulers.parquet").head(1)
        put_in_run(store, key, "schedulers.parquet", parquet(table.select(pl.all().repeat_by(8_000).explode())))
    assert store.table("schedulers", store.keys()[:1]).height == 8_000
    with pytest.raises(StoreError, match=r"has [\d,]+ rows and would take \d+ MB"):
        store.table("schedulers")


@pytest.mark.parametrize("seed", range(4))
def test_the_size_of_a_table_is_known_without_decoding_it(seed):
    """Of random tables: the rows, and the memory within a factor of three and what their texts have."""
    draw = random.Random(seed)
    for _ in range(20):
        rows = draw.choice([0, 1, 7, 1000, 20_000])
        columns = {"run": ["a" * 32] * rows, "seed": [1] * rows}
        for at in range(draw.randint(0, 12)):
            columns[f"c{at}"] = draw.choice([
                [draw.random() for _ in range(rows)], list(range(rows)), [draw.choice(["", "text", "x" * 50])] * rows,
                [draw.choice([None, 1]) for _ in range(rows)], [True] * rows,
            ])  # fmt: skip
        frame = pl.DataFrame(columns, schema_overrides={"run": pl.String, "seed": pl.Int64})
        written = io.BytesIO()
        frame.write_parquet(
            written,
            compression=draw.choice(["zstd", "snappy", "gzip", "lz4", "uncompressed"]),
            row_group_size=draw.choice([None, 100, 5_000]),
            use_pyarrow=False,
        )
        reader = TableReader()
        assert reader.read(written.getvalue(), "t.parquet").equals(frame)
        assert reader._rows == rows
        texts = sum(int(frame[name].str.len_bytes().sum()) for name in frame.columns if frame[name].dtype == pl.String)
        assert frame.estimated_size() / 3 <= reader._decoded + 1000
        assert reader._decoded <= 3 * (frame.estimated_size() + texts) + 100_000


COLUMNS = {
    "a list": (lambda frame: frame.with_columns(x=pl.lit([1])), "column x has columns inside: expected numbers"),
    "bytes": (lambda frame: frame.with_columns(x=pl.lit(b"x")), "column x has the type Binary: expected numbers"),
    "no run": (lambda frame: frame.drop("run"), "has no column run"),
    "another run": (lambda frame: frame.with_columns(run=pl.lit("f" * 32)), "column run: expected "),
    "a seed that is a text": (
        lambda frame: frame.with_columns(pl.col("seed").cast(pl.String)),
        "column seed: expected integers in all rows, found String",
    ),
    "another order": (
        lambda frame: frame.select("seed", pl.exclude("seed")),
        "expected the columns run and seed first",
    ),
    "texts among numbers": (
        lambda frame: frame.with_columns(pl.col("inversions").cast(pl.String)),
        "column inversions: expected a number as in other runs, found a text",
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", COLUMNS)
def test_a_column_that_no_run_has_is_named(store, capsys, how):
    forge, message = COLUMNS[how]
    # What the runs before it have is what it should have: the last of the list, whatever its key.
    key = pl.read_parquet(next((store.path / "sweeps").glob("*.parquet")))["run"][-1]
    put_in_run(
        store,
        key,
        "schedulers.parquet",
        parquet(forge(pl.read_parquet(store.run_folder(key) / "schedulers.parquet"))),
    )
    assert main(["study", "show", "store"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"pifolab: store/runs/{key}: schedulers.parquet: {message}") or (
        error.startswith(f"pifolab: store/runs/{key}: schedulers.parquet {message}")
    ), error
    assert error.endswith("; start the sweep again, which repeats the run\n")


RUNS = {
    "the same run twice": (lambda frame: pl.concat([frame, frame]), "column run: expected the key of another run"),
    "a path": (lambda frame: frame.with_columns(run=pl.lit("../../x")), "column run: expected the key"),
    "a seed below 0": (lambda frame: frame.with_columns(seed=-pl.col("seed")), "column seed: expected integers >= 0"),
    "a name that is no axis": (lambda frame: frame.rename({"load": "a b"}), "column a b: expected run, seed, and"),
    "a label that is none": (
        lambda frame: frame.with_columns(load=pl.lit(float("nan"))),
        "column load: expected finite numbers",
    ),
}


@pytest.mark.parametrize("how", RUNS)
def test_a_list_of_runs_that_no_sweep_writes_is_named(store, capsys, how):
    forge, message = RUNS[how]
    put_in_notes(store, parquet(forge(pl.read_parquet("store/sweeps/small.parquet"))))
    assert main(["study", "show", "store", "--runs"]) == 2
    assert capsys.readouterr().err.startswith(f"pifolab: store/sweeps: small.parquet: {message}")


NOTES = [
    ("title", 5, "title = 5: expected a text"),
    ("axes", {}, "axes = {}: expected a list"),
    ("axes", [{"name": "a", "key": "b"}], "axes[0].labels: is missing"),
    ("axes", [{"name": "a", "key": "b", "labels": [[]]}], "axes[0].labels = [[]]: expected numbers, texts"),
    ("axes", [{"name": "", "key": "b", "labels": []}], "axes[0].name = '': expected a non-empty text"),
    ("metrics", [5], "metrics[0]: expected a table"),
    ("metrics", [{"name": "a", "value": "sum("}], "metrics[0].value = 'sum(': not an SQL expression"),
    ("metrics", [{"name": "a", "value": "b", "more": 1}], 'metrics[0].more: unknown key "more"'),
    ("compare", ["x"], "compare[0]: expected a table"),
    ("compare", [{"metric": 1}], "compare[0].of: is missing"),
    ("more", 1, 'notes.more: unknown key "more"'),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "message"), NOTES)
def test_a_key_of_notes_that_no_sweep_writes_is_named(store, capsys, key, value, message):
    file = store.path / "sweeps" / "small.json"
    file.write_bytes(seal(unseal(file.read_bytes()) | {key: value}))
    assert main(["study", "show", "store"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("pifolab: store/sweeps/small.json: ")
    assert message in error
    assert error.endswith("; start the sweep again, which writes it anew\n")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("stated_low", 10**400, f"stated_low = {10**400}: expected a finite number"),
        ("stated_high", 0.5, "stated_low = 1.0 lies above stated_high = 0.5"),
        ("tolerance", -1, "tolerance = -1.0: expected a number >= 0"),
        ("source", 1, "source = 1: expected a text"),
        ("of", {"load": [1]}, "of.load = [1]: expected one of "),
    ],
)
def test_a_comparison_that_no_sweep_writes_is_named(store, capsys, key, value, message):
    file = store.path / "sweeps" / "small.json"
    notes = unseal(file.read_bytes())
    file.write_bytes(seal(notes | {"compare": [notes["compare"][0] | {key: value}]}))
    with pytest.raises(StoreError, match=re.escape(f"store/sweeps/small.json: compare[0].{message}")):
        stored_notes(store, "small")


@pytest.mark.parametrize("content", [b"5", b"[]", b"{", b"[" * 100_000])
def test_a_manifest_that_is_none_is_named(store, content):
    key = store.keys()[0]
    put_in_run(store, key, "manifest.json", content)
    with pytest.raises(StoreError, match=r"manifest\.json is not the manifest of a run"):
        store.manifest(key)


def test_a_panic_of_a_library_is_one_line(store, monkeypatch, capfd):
    def panic(*_: object) -> None:
        os.write(2, b"thread panicked at crates/polars\n")
        raise pl.exceptions.PanicException("index out of bounds\nmore")

    with monkeypatch.context() as patched:
        patched.setattr(pl, "read_parquet", panic)
        assert main(["study", "export", "store", "--out", "t.csv", "--table", "schedulers"]) == 2
        errors = capfd.readouterr().err
        assert (
            errors
            == "pifolab: store/sweeps: small.parquet is not a table; start the sweep again, which writes it anew\n"
        )
    monkeypatch.setattr(Store, "sweeps", panic)
    assert main(["study", "show", "store", "--runs"]) == 70
    said = capfd.readouterr().err.splitlines()[1:]
    assert len(said) == 1
    assert said[0].startswith("pifolab: internal error: PanicException: index out of bounds more (")


def test_an_observer_whose_table_has_lists_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("base.toml").write_text(SCENARIO)
    Path("mine.py").write_text(
        "import pifolab\n\n\nclass Lists(pifolab.PythonObserver):\n"
        "    def table(self):\n        return {'x': [[1], [2]]}\n"
    )
    Path("s.toml").write_text('scenario = "base.toml"\nobservers = { lists = "mine.py:Lists" }\n')
    assert main(["study", "run", "s.toml", "--store", "store", "--workers", "1"]) == 1
    assert (
        "observer lists: table() is not a table: column x has the type List: expected numbers, texts or truth values"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("value", [1e151, -1e308, 1.7e308])
def test_a_value_that_no_sum_can_hold_is_named(store, capsys, value):
    for key in store.keys():  # noqa: SIM118
        table = pl.read_parquet(store.run_folder(key) / "schedulers.parquet")
        put_in_run(store, key, "schedulers.parquet", parquet(table.with_columns(inversions=pl.lit(value))))
    for command, *flags in (["show"], ["export", "--figures", "--out", "figures"], ["report", "--out", "report"]):
        assert main(["study", command, "store", *flags]) == 2
        message = f"metric inversions: has the value {value:g}: expected numbers from -1e+150 to 1e+150"
        assert capsys.readouterr().err == f"pifolab: {message}\n"


def test_more_values_than_runs_and_schedulers_have_are_refused(store, monkeypatch, capsys):
    monkeypatch.setattr("pifolab.statistics.metrics._MOST_VALUES", 11)
    assert main(["study", "show", "store"]) == 2
    assert capsys.readouterr().err == "pifolab: metric inversions: has 12 values: expected at most 11\n"


def test_an_estimate_does_without_records_that_say_nothing(store, capsys):
    for key in store.keys():  # noqa: SIM118
        file = store.run_folder(key) / "record.json"
        record = unseal(file.read_bytes())
        del record["elapsed_s"]
        file.write_bytes(seal(record))
    assert main(["study", "plan", "small.toml", "--store", "store"]) == 0
    assert "12 runs, 12 of them finished, 0 to run" in capsys.readouterr().out
