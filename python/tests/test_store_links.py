"""A store that comes from somebody else changes nothing outside of itself, whatever in it is a link.

What is drawn comes from a seed, so that a failure can be repeated.
"""

import os
import random
import shutil
import stat
from pathlib import Path

import pytest
from sweeping import SCENARIO

from pifolab.cli import main
from pifolab.store import Store, StoreError

SWEEP = 'scenario = "base.toml"\nseeds = [1, 2]\ntables = ["schedulers"]\naxis.scheduler = ["pifo", "narrow"]\n'

SWEEPING = ["study", "run", "small.toml", "--store", "store", "--workers", "1"]

#: Every command that opens a store, with every option that does something else with it.
COMMANDS = [
    SWEEPING,
    ["study", "plan", "small.toml", "--store", "store"],
    ["study", "show", "store", "--runs"],
    ["study", "show", "store", "--where", "seed = 1", "--runs"],
    ["study", "show", "store"],
    ["study", "export", "store", "--out", "means.csv"],
    ["study", "export", "store", "--out", "table.csv", "--table", "schedulers"],
    ["study", "export", "store", "--out", "figures", "--figures"],
    ["study", "report", "store", "--out", "report"],
    ["study", "check", "store"],
    ["study", "prune", "store"],
    ["study", "prune", "store", "--yes"],
    ["study", "prune", "store", "--where", "seed = 1", "--yes"],
    ["study", "prune", "store", "--other-code", "--yes"],
]

#: Where nothing may be a link, or anything else but a file or a folder. KEY is a run of the store.
PLAIN = [
    "pifolab-store.json", "runs", "sweeps", "partial", "claims", "runs/KEY", "runs/other", "sweeps/small.json",
    "sweeps/small.parquet", "sweeps/other.json", "sweeps/other", "partial/KEY~1.0123abcd", "partial/making~1.0123abcd",
    "partial/sweep-small~1.0123abcd", "partial/thesis", "claims/KEY", "claims/making", "claims/sweep-small",
    "claims/passwd",
]  # fmt: skip

#: Where it makes a run a damaged one, or something that is not pifolab's.
INNER = [
    "runs/KEY/record.json", "runs/KEY/manifest.json", "runs/KEY/schedulers.parquet", "runs/KEY/ranks.parquet",
    "runs/KEY/notes", "partial/KEY~1.0123abcd/schedulers.parquet", "partial/KEY~1.0123abcd/notes",
]  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep, its store, and a home with files that are nobody else's business."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "base.toml").write_text(SCENARIO)
    (folder / "small.toml").write_text(SWEEP)
    assert main(["study", "run", str(folder / "small.toml"), "--store", str(folder / "store"), "--workers", "1"]) == 0
    for name in ("home/thesis/chapter.tex", "home/runs/data.bin", "home/id_key", "home/manifest.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the only copy of {name}")
    (folder / "home" / "passwd").touch()
    return folder


def fresh(made: Path, folder: Path) -> Store:
    """Give `folder` a copy of what was made, and change to it."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(made, folder)
    os.chdir(folder)
    return Store("store", create=False)


def outside(folder: Path) -> dict[str, bytes | None]:
    """Everything in the home: the bytes of files, the names of folders."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted((folder / "home").rglob("*"))
    }


def put_odd_thing(place: Path, draw: random.Random) -> str:
    """Put a link (or a named pipe) at `place`, whose target may be a copy of what was there, and return what it is."""
    place.parent.mkdir(exist_ok=True)
    home = Path("home").absolute()
    kind = draw.choice(["copy", "copy", "file", "empty file", "folder", "dangling", "pipe"])
    target = {"file": home / "id_key", "empty file": home / "passwd", "folder": home / "thesis"}.get(kind, home / "new")
    if kind == "copy" and place.exists():
        shutil.copytree(place, target) if place.is_dir() else shutil.copy(place, target)
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(place)
    elif draw.random() < 0.5:
        place.symlink_to(target)
    else:
        place.symlink_to(os.path.relpath(target, place.parent))
    return kind


def is_odd(path: Path) -> bool:
    return path.is_symlink() or path.is_fifo()


@pytest.mark.parametrize("seed", range(4))
def test_a_link_in_a_store_is_one_line_and_nothing_outside_changes(made, tmp_path, monkeypatch, capsys, seed):
    monkeypatch.chdir(tmp_path)
    draw = random.Random(seed)
    for number in range(40):
        store = fresh(made, tmp_path / str(number))
        key = draw.choice(store.keys())
        place = store.path / draw.choice(PLAIN).replace("KEY", key)
        kind, command = put_odd_thing(place, draw), draw.choice(COMMANDS)
        before = outside(Path())
        case = (number, place, kind, command)
        capsys.readouterr()
        assert main(command) == 2, case
        out, errors = capsys.readouterr()
        assert (out, errors.count("\n")) == ("", 1), case
        what = "is neither a file nor a folder" if kind == "pipe" else "is a symbolic link"
        assert errors.startswith(f"pifolab: {place}: {what}"), (case, errors)
        assert outside(Path()) == before, case
        assert is_odd(place), case
        with pytest.raises(StoreError, match=what):
            Store("store")


@pytest.mark.parametrize("seed", range(2))
def test_a_link_in_a_run_is_damage_and_nothing_outside_changes(made, tmp_path, monkeypatch, capsys, seed):
    monkeypatch.chdir(tmp_path)
    draw = random.Random(seed)
    for number in range(15):
        store = fresh(made, tmp_path / str(number))
        key = draw.choice(store.keys())
        place = store.path / draw.choice(INNER).replace("KEY", key)
        was_there = place.exists()
        kind, command = put_odd_thing(place, draw), draw.choice(COMMANDS)
        before = outside(Path())
        case = (number, place, kind, command)
        capsys.readouterr()
        assert main(["study", "check", "store"]) == 1, case
        assert str(place.parent) in capsys.readouterr().out, case
        assert main(command) in (0, 1), case
        assert "internal" not in capsys.readouterr().err, case
        assert outside(Path()) == before, case
        if command == SWEEPING:
            assert all(store.problem(key) is None for key in store.keys()), case  # noqa: SIM118
        if not was_there:
            # A run that is removed with it takes it along, to partial/.
            assert [path for path in store.path.rglob("*") if path.name == place.name and is_odd(path)], case


def test_a_store_that_is_reached_through_a_link_is_one(made, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    fresh(made, tmp_path / "here")
    Path("store").rename("scratch")
    Path("store").symlink_to("scratch")
    for command in COMMANDS:
        assert main(command) == 0, command
    assert Path("store").is_symlink()
    Path("nowhere").symlink_to("absent")
    assert main(["study", "run", "small.toml", "--store", "nowhere"]) == 2
    assert capsys.readouterr().err == "pifolab: nowhere: File exists\n"


def test_a_folder_with_a_link_does_not_become_a_store(made, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("runs", "sweeps", "partial", "claims"):
        fresh(made, tmp_path / name)
        Path("new").mkdir()
        Path("new", name).symlink_to("../home")
        before = outside(Path())
        assert main(["study", "run", "small.toml", "--store", "new"]) == 2
        assert capsys.readouterr().err.startswith(f"pifolab: new/{name}: is a symbolic link")
        assert outside(Path()) == before


def test_what_pifolab_did_not_write_stays(made, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    store = fresh(made, tmp_path / "here")
    key, other = store.keys()[:2]
    kept = [
        "partial/thesis/chapter.tex", "partial/notes", f"partial/{key}~1.old/manifest.json",
        f"partial/{key}.1.ab/a.json", f"partial/{key}~1.0123abcd/inner/deep.json",
        f"partial/{key}~2.0123abcd/notes.txt", "claims/passwd", f"runs/{other}/notes.txt",
    ]  # fmt: skip
    for name in (*kept, f"partial/{key}~3.0123abcd/manifest.json", f"runs/{other}/queues.parquet"):
        (store.path / name).parent.mkdir(parents=True, exist_ok=True)
        (store.path / name).write_text(name)
    assert main(["study", "check", "store"]) == 1
    out = capsys.readouterr().out
    for name in kept[:-1]:
        assert f"store/{'/'.join(name.split('/')[:2])}: was not written by pifolab, and stays\n" in out, name
    assert "store/partial: 1 runs that were never finished" in out
    assert main(SWEEPING) == 0
    assert main(["study", "prune", "store", "--yes"]) == 0
    assert f"store/runs/{other}/notes.txt: was not written by pifolab, and stays\n" in capsys.readouterr().out
    assert not (store.path / f"partial/{key}~3.0123abcd").exists()
    assert not (store.path / f"runs/{other}/queues.parquet").exists()
    assert all((store.path / name).read_text() == name for name in kept)
    # A run with such a file vanishes from the list of runs; its folder is kept under partial/.
    assert main(["study", "prune", "store", "--where", "seed > 0", "--yes"]) == 0
    assert store.keys() == []
    assert [path.read_text() for path in store.path.glob(f"partial/{other}~*/notes.txt")] == [kept[-1]]


def test_a_lock_that_holds_something_is_not_taken(made, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    store = fresh(made, tmp_path / "here")
    lock = store.path / "claims" / "sweep-small"
    lock.write_text("not empty")
    assert main(SWEEPING) == 2
    assert capsys.readouterr().err == f"pifolab: {lock}: is not a lock of pifolab: remove it\n"
    assert lock.read_text() == "not empty"


@pytest.mark.parametrize("name", ["", ".", "..", "../home", "/etc", "a/b", "a\0b"])
def test_a_name_that_leads_out_of_a_folder_is_refused(made, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    store = fresh(made, tmp_path / "here")
    for call in (store.problem, store.remove, store.try_lock):
        with pytest.raises(StoreError, match="is not the name of anything in a store"):
            call(name)


def test_files_of_a_store_have_the_rights_that_the_umask_leaves(made, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for mask in (0o077, 0o027, 0o022, 0o002):
        fresh(made, tmp_path / f"{mask:o}")
        shutil.rmtree("store")
        before = os.umask(mask)
        try:
            assert main(SWEEPING) == 0
            assert main(SWEEPING) == 0
        finally:
            os.umask(before)
        for path in Path("store").rglob("*"):
            assert stat.S_IMODE(path.stat().st_mode) == (0o777 if path.is_dir() else 0o666) & ~mask, path
    capsys.readouterr()
