"""Whatever lies where a command writes, nothing outside changes and nothing is removed that pifolab did not write.

What is drawn comes from a seed, so that a failure can be repeated.
"""

import json
import os
import random
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from test_bad_input import GOOD, NETWORK

from pifolab.cli import main
from pifolab.demo.tour import clear_earlier_demo
from pifolab.errors import InputError
from pifolab.folder import replaced_file

LOGGED = '[record]\npacket_log = ["all"]\n'
MANY = "time_ns,size_bytes,rank\n" + "".join(f"{1000 * at},1500,{at * 7 % 100}\n" for at in range(2000))

#: What each command writes to `out`, which is a folder or a file, and how it does it again.
COMMANDS: dict[str, tuple[str, ...]] = {
    "a run": ("run", "logged.toml", "--out", "out", "--force"),
    "a comparison": ("compare", "--rate", "10G", "--ranks", "uniform", "--arrival-rate", "11G", "--duration", "0.001s",
                     "--schedulers", "pifo", "--no-figures", "--out", "out", "--force"),
    "advice": ("advise", "many.csv", "--rate", "10G", "--out", "out", "--force"),
    "a report": ("study", "report", "kept", "--out", "out", "--force"),
    "figures": ("study", "export", "kept", "--figures", "--out", "out"),
    "a table": ("study", "export", "kept", "--out", "out.csv"),
    "a table of Parquet": ("study", "export", "kept", "--table", "schedulers", "--out", "out.parquet"),
    "flows": ("flows", "export", "network.toml", "--out", "out.csv"),
    "an attack": ("attack", "sp-pifo", "pifo", "--packets", "4", "--rank-range", "1..3", "--out", "out.svg"),
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each command, with what it wrote, and a home with files that are nobody else's business."""
    folder = tmp_path_factory.mktemp("made")
    first = folder / "first"
    first.mkdir()
    texts = {"logged.toml": NETWORK + LOGGED, "many.csv": MANY, "home/key": "mine", "home/thesis/a.tex": "mine"}
    for name, text in {**GOOD, **texts}.items():
        (first / name).parent.mkdir(parents=True, exist_ok=True)
        (first / name).write_text(text)
    assert main(["study", "run", str(first / "study.toml"), "--store", str(first / "kept"), "--quiet"]) == 0
    before = os.getcwd()  # noqa: PTH109
    for name, words in COMMANDS.items():
        shutil.copytree(first, folder / name)
        os.chdir(folder / name)
        assert main(list(words)) == 0, name
    os.chdir(before)
    return folder


def written(folder: Path) -> list[Path]:
    """Everything that a command wrote."""
    return sorted(path for top in folder.glob("out*") for path in (top, *top.rglob("*")))


def state(folder: Path) -> dict[str, object]:
    """Everything in a folder, with what is in it."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(about.st_mode) else path.readlink() if path.is_symlink() else None
        found[str(path.relative_to(folder))] = (stat.S_IFMT(about.st_mode), content)
    return found


def linked(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(Path(target).absolute())


def filled(path: Path) -> None:
    path.mkdir()
    (path / "chapter.tex").write_text("mine")


#: What can be in a place; and what of it must be there after the command, whatever that did.
KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link to a file": (linked("home/key"), ""),
    "a link to a folder": (linked("home/thesis"), ""),
    "a link to nowhere": (linked("home/new"), ""),
    "a hard link": (lambda path: path.hardlink_to("home/key"), ""),
    "a named pipe": (lambda path: os.mkfifo(path), "."),
    "a folder with files": (filled, "chapter.tex"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_outside_changes_whatever_lies_where_a_command_writes(made, tmp_path, monkeypatch, capsys, command):
    draw = random.Random(command)
    places = written(made / command)
    cases = [(place, kind) for place in places for kind in KINDS]
    for number, (place, kind) in enumerate(draw.sample(cases, min(12, len(cases)))):
        folder = tmp_path / str(number)
        shutil.copytree(made / command, folder)
        monkeypatch.chdir(folder)
        at = Path(place.relative_to(made / command))
        shutil.rmtree(at) if at.is_dir() else at.unlink()
        put, stays = KINDS[kind]
        put(at)
        before, rest = state(Path("home")), state(Path("kept"))
        capsys.readouterr()
        status = main(list(COMMANDS[command]))
        errors = capsys.readouterr().err
        case = (command, at, kind, status, errors)
        assert status in (0, 2), case
        if status:
            assert (errors.count("\n"), errors.startswith("pifolab")) == (1, True), case
        assert (state(Path("home")), state(Path("kept"))) == (before, rest), case
        assert not stays or (at / stays).lstat(), case
        assert not list(Path().rglob(".*partial*")), case
        shutil.rmtree(folder)


#: What somebody may add to a folder of pifolab's.
ADDED = ["notes.txt", "mine.parquet", "figures/mine.png", "figures/notes/a.png", "packets/mine.pcapng", "mine/a.json"]


@pytest.mark.parametrize("command", ["a run", "a comparison", "advice", "a report"])
def test_a_folder_with_a_file_of_somebody_elses_is_not_replaced(made, tmp_path, monkeypatch, capsys, command):
    for number, name in enumerate(ADDED):
        folder = tmp_path / str(number)
        shutil.copytree(made / command, folder)
        monkeypatch.chdir(folder)
        added = Path("out", name)
        added.parent.mkdir(parents=True, exist_ok=True)
        added.write_text("mine")
        before = state(folder)
        capsys.readouterr()
        assert main(list(COMMANDS[command])) == 2, name
        errors = capsys.readouterr().err
        assert ("which pifolab did not write" in errors, errors.count("\n")) == (True, 1), errors
        assert state(folder) == before


def test_a_file_that_has_the_name_of_an_unfinished_one_is_not_touched(tmp_path: Path):
    (tmp_path / "key").write_text("mine")
    unfinished = tmp_path / f".means.csv.partial-{os.getpid()}"
    unfinished.symlink_to(tmp_path / "key")
    with replaced_file(tmp_path / "means.csv") as file:
        file.write_text("1")
    assert ((tmp_path / "key").read_text(), unfinished.is_symlink()) == ("mine", True)


def test_an_earlier_demo_with_other_files_stays(tmp_path: Path):
    demo = tmp_path / "demo"
    (demo / "capture").mkdir(parents=True)
    for name in ("motivating-example.png", "report.html"):
        (demo / name).touch()
    (demo / "capture" / "manifest.json").write_text(json.dumps({"pifolab": "1"}))
    for name in ("thesis.tex", "capture/thesis.tex", "uniform-ranks"):
        (demo / name).write_text("mine")
        before = state(demo)
        with pytest.raises(InputError, match="give another --out"):
            clear_earlier_demo(demo)
        assert state(demo) == before
        (demo / name).unlink()
    (tmp_path / "link").symlink_to(demo)
    with pytest.raises(InputError, match="exists already"):
        clear_earlier_demo(tmp_path / "link")
    assert demo.exists()
    clear_earlier_demo(demo)
    assert not demo.exists()


@pytest.mark.parametrize("name", ["figures", "claims.json", "report.html"])
def test_a_reproduction_is_refused_before_it_runs_where_its_report_cannot_be_written(tmp_path, capsys, name):
    (tmp_path / "home").mkdir()
    out = tmp_path / "out"
    out.mkdir()
    (out / name).symlink_to(tmp_path / "home")
    assert main(["reproduce", "--quick", "--only", "pk1", "--out", str(out)]) == 2
    errors = capsys.readouterr().err
    assert (errors.startswith(f"pifolab: {out / name}: is a "), errors.count("\n")) == (True, 1), errors
    assert (list((tmp_path / "home").iterdir()), sorted(out.iterdir())) == ([], [out / name])


def test_what_says_that_a_folder_is_pifolabs_is_read_within_limits(made, tmp_path, monkeypatch, capsys):
    """A file of holes takes no place on the disk, and ten gigabytes in memory."""
    for number, (name, said) in enumerate({
        "manifest.json": "is not a folder that pifolab wrote",
        "more.parquet": "has more.parquet, which pifolab did not write",
    }.items()):  # fmt: skip
        folder = tmp_path / str(number)
        shutil.copytree(made / "a run", folder)
        monkeypatch.chdir(folder)
        with Path("out", name).open("wb") as file:
            file.truncate(10 * 2**30)
            file.seek(-8, os.SEEK_END)
            file.write(b"\xff\xff\xff\xffPAR1")
        assert main(list(COMMANDS["a run"])) == 2
        assert said in capsys.readouterr().err
