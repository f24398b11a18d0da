"""What decides the results of a run decides its key: files by their roles, plug-ins with what they import."""

import contextlib
import csv
import dataclasses
import hashlib
import json
import random
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sweeping import SCENARIO, sweep_of

import pifolab
from pifolab.cli import main
from pifolab.errors import InputError
from pifolab.provenance import own_files
from pifolab.store import Store
from pifolab.sweep import Sweep, custom, make_plan, reading, run_sweep
from pifolab.sweep.job import JobError, execute

#: Two sources whose ranks come from one file each: together the files contain the same when they are swapped.
TWO_FILES = """
duration_s = 0.002
link = { rate_gbps = 10 }
scheduler = [{ name = "pifo" }]

[[workload]]
arrivals = "constant"
rate_gbps = 9
size_bytes = 1500
ranks = { distribution = "histogram", file = "one.csv" }

[[workload]]
arrivals = "constant"
rate_gbps = 2
size_bytes = 1500
ranks = { distribution = "histogram", file = "two.csv" }
"""

LOW, HIGH = "rank,weight\n1,1\n2,1\n", "rank,weight\n80,1\n90,1\n"

RANKED = """
import pifolab
{imports}
class Mine(pifolab.PythonRank):
    def rank(self, packet, now_ns):
        {inside}
        return {value}
"""


def keys_of(sweep: Sweep) -> list[str]:
    return [run.key for run in make_plan(sweep).runs()]


@pytest.fixture
def two_files(tmp_path: Path) -> Sweep:
    (tmp_path / "base.toml").write_text(TWO_FILES)
    (tmp_path / "one.csv").write_text(LOW)
    (tmp_path / "two.csv").write_text(HIGH)
    return sweep_of(tmp_path / "base.toml", seeds=[1])


def test_swapped_contents_of_two_inputs_are_another_run(two_files: Sweep, tmp_path: Path):
    store = Store(tmp_path / "store")
    before = run_sweep(two_files, store, workers=1).table("ranks")
    (tmp_path / "one.csv").write_text(HIGH)
    (tmp_path / "two.csv").write_text(LOW)
    result = run_sweep(two_files, store, workers=1)
    assert result.reused == 0
    departures = [dict(frame.select("rank", "departures").iter_rows()) for frame in (before, result.table("ranks"))]
    assert departures[0] != departures[1]


def test_an_input_that_changes_after_the_plan_is_refused_when_it_is_opened(two_files: Sweep, tmp_path: Path):
    plan = make_plan(two_files)
    job = plan.job(plan.runs()[0])
    assert set(job["inputs"]) == {"workload[0].ranks.file", "workload[1].ranks.file"}
    execute(job)
    (tmp_path / "two.csv").write_text(LOW)
    with pytest.raises(
        JobError, match=r'workload\[1\]\.ranks\.file = "two\.csv": the file has changed since the run was'
    ):
        execute(job)


def test_a_sweep_stores_nothing_under_the_key_of_a_file_that_has_changed(two_files: Sweep, tmp_path: Path):
    store = Store(tmp_path / "store")
    sweep = two_files.with_seeds([1, 2, 3])

    def change(event):
        if event["event"] == "finished" and event["finished"] == 1:
            (tmp_path / "one.csv").write_text(HIGH)

    result = run_sweep(sweep, store, workers=1, progress=change)
    assert len(result.failures) == 2
    assert all("the file has changed since the run was planned" in failure.reason for failure in result.failures)
    assert len(store.keys()) == 1


def test_the_manifest_says_what_made_the_run(two_files: Sweep, tmp_path: Path):
    result = pifolab.run(tmp_path / "base.toml")
    digests = {role: hashlib.sha256(text.encode()).hexdigest() for role, text in (("0", LOW), ("1", HIGH))}
    assert result.manifest["inputs"] == [
        {"role": "workload[0].ranks.file", "file": "one.csv", "sha256": digests["0"]},
        {"role": "workload[1].ranks.file", "file": "two.csv", "sha256": digests["1"]},
    ]
    module = Path(pifolab._pifolab.__file__)
    assert result.manifest["module_sha256"] == hashlib.sha256(module.read_bytes()).hexdigest()
    assert result.manifest["pifolab"] == pifolab.__version__
    revision = result.manifest["revision"].removesuffix("+changes")
    assert revision == "unknown" or (len(revision) == 40 and set(revision) <= set("0123456789abcdef"))
    stored = run_sweep(two_files, Store(tmp_path / "store"), workers=1)
    manifest = stored.store.manifest(stored.store.keys()[0])
    for key in ("inputs", "module_sha256", "revision"):
        assert manifest[key] == result.manifest[key]


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Sweep]:
    """A sweep with a rank function of one's own, in a folder whose modules no other test has."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    number = hashlib.sha256(str(tmp_path).encode()).hexdigest()[:8]
    names: set[str] = set()

    def make(imports: str = "", inside: str = "pass", value: str = "1", **modules: str) -> Sweep:
        for name, text in modules.items():
            file = tmp_path / f"{name}.py".replace("helper", f"helper_{number}")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("helper", f"helper_{number}"))
        text = RANKED.format(imports=imports, inside=inside, value=value).replace("helper", f"helper_{number}")
        (tmp_path / "mine.py").write_text(text)
        (tmp_path / "base.toml").write_text(SCENARIO.replace('ranks = "uniform"', "") + '\n[rank]\nname = "mine"\n')
        names.add(f"helper_{number}")
        return sweep_of(tmp_path / "base.toml", seeds=[1], ranks={"mine": "mine.py:Mine"})

    yield make
    for name in list(sys.modules):
        if name.partition(".")[0] in names:
            del sys.modules[name]


@pytest.mark.parametrize(
    ("imports", "inside", "value", "modules", "changed"),
    [
        ("import helper", "pass", "helper.RANK", {"helper": "RANK = 1\n"}, {"helper": "RANK = 2\n"}),
        ("", "import helper", "helper.RANK", {"helper": "RANK = 1\n"}, {"helper": "RANK = 2\n"}),
        ("from helper import RANK", "pass", "RANK", {"helper": "RANK = 1\n"}, {"helper": "RANK = 2\n"}),
        (
            "import importlib",
            "helper = importlib.import_module('helper')",
            "helper.RANK",
            {"helper": "RANK = 1\n"},
            {"helper": "RANK = 2\n"},
        ),
        (
            "from helper.inner import rank",
            "pass",
            "rank()",
            {"helper/__init__": "A = 1\n", "helper/inner": "from . import A\ndef rank():\n    return A\n"},
            {"helper/__init__": "A = 2\n"},
        ),
        (
            "from helper import inner",
            "pass",
            "inner.rank()",
            {
                "helper/__init__": "",
                "helper/inner": "def rank():\n    from .deep.er import B\n    return B\n",
                "helper/deep/er": "B = 1\n",
            },
            {"helper/deep/er": "B = 2\n"},
        ),
    ],
    ids=["module", "inside a method", "from", "importlib", "package", "transitively"],
)
def test_what_a_plug_in_imports_is_part_of_the_key(plugin, imports, inside, value, modules, changed, tmp_path: Path):
    store = Store(tmp_path / "store")
    first = plugin(imports, inside, value, **modules)
    run_sweep(first, store, workers=1)
    assert run_sweep(first, store, workers=1).reused == 1
    again = plugin(imports, inside, value, **changed)
    result = run_sweep(again, store, workers=1)
    assert result.reused == 0
    # The new content ran, though it was written within the same second and is as long as the old one.
    assert result.table("ranks")["rank"].unique().to_list() == [2]


#: A rank that comes from a file of data: when the module is imported, when it is made, at each packet.
READS = {
    "at import": ("import pathlib\nK = int(pathlib.Path(__file__).with_name('data.txt').read_text())", "pass", "K"),
    "when it is made": ("import os", "self.k = int(open(os.path.dirname(__file__) + '/data.txt').read())", "self.k"),
    "at each packet": ("import pathlib", "pass", "int(pathlib.Path(__file__).with_name('data.txt').read_bytes())"),
    "by a computed import": ("import importlib", "pass", "importlib.import_module('helper'[::-1][::-1]).RANK"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("when", READS)
def test_what_a_plug_in_reads_is_listed_and_part_of_the_key_or_the_run_is_refused(plugin, tmp_path: Path, when: str):
    imports, inside, value = READS[when]

    def make(rank: int, listed: bool) -> Sweep:
        (tmp_path / "data.txt").write_text(f"{rank}\n")
        file = "helper.py" if when == "by a computed import" else "data.txt"
        first = f"FILES = [{file!r}]\n" if listed else ""
        sweep = plugin(first + imports, inside, value, helper=f"RANK = {rank}\n")
        return dataclasses.replace(sweep, seeds=(1, 2))

    store = Store(tmp_path / "store")
    refused = run_sweep(make(1, listed=False), store, workers=1)
    # One process does both, and imports but once.
    assert len(refused.failures) == 2
    for failure in refused.failures:
        assert re.search(r"(data\.txt|helper_\w+\.py): the run has read this file.*FILES = \['", failure.reason)
    assert store.keys() == []
    listed = make(1, listed=True)
    assert run_sweep(listed, store, workers=1).failures == []
    assert run_sweep(listed, store, workers=1).reused == 2
    again = run_sweep(make(2, listed=True), store, workers=1)
    assert again.reused == 0
    assert again.table("ranks")["rank"].unique().to_list() == [2]


@pytest.mark.parametrize(
    ("imports", "value"),
    [
        ("import os", 'int(os.environ.get("PIFOLAB_TEST_RANK", "1"))'),
        ("from os import getenv", 'int(getenv("PIFOLAB_TEST_RANK", "1"))'),
        ("import helper", "helper.rank()"),
    ],
)
def test_a_plug_in_that_reads_the_environment_is_warned_of_with_its_line(
    plugin, tmp_path: Path, imports: str, value: str, capsys: pytest.CaptureFixture[str]
):
    inside = "import os\ndef rank():\n    return 1 if 'X' in os.environ else 2\n"
    sweep = plugin(imports, value=value, helper=inside if "helper" in imports else "")
    places = sweep.custom.environment_reads()
    assert len(places) == 1
    file, _, line = places[0].rpartition(":")
    assert re.search("environ|getenv", Path(file).read_text().splitlines()[int(line) - 1])
    assert plugin("import os", value="len(os.sep)").custom.environment_reads() == []
    (tmp_path / "s.toml").write_text('scenario = "base.toml"\n[ranks]\nmine = "mine.py:Mine"\n')
    plugin(imports, value=value)
    assert main(["study", "run", str(tmp_path / "s.toml"), "--store", str(tmp_path / "store"), "--workers", "1"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert len(told) == 1
    assert f"{places[0]}: reads environment variables, which no key of a run covers" in told[0]


def test_a_list_of_files_that_is_none_is_told_with_its_line(plugin, tmp_path: Path):
    with pytest.raises(InputError, match=r"mine\.py:\d+: FILES: expected a list of names such as \['data\.csv'\]"):
        make_plan(plugin("import os\nFILES = [os.getcwd()]"))


def test_installed_packages_are_no_part_of_the_key(plugin, tmp_path: Path):
    sweep = plugin("import json, numpy, polars.selectors\nimport helper", value="helper.RANK", helper="RANK = 1\n")
    files = own_files(tmp_path / "mine.py")
    assert [path.name.partition("_")[0] for path in files.values()] == ["mine.py", "helper"]
    assert keys_of(sweep) == keys_of(sweep)


def test_a_run_that_is_interrupted_at_its_end_is_not_taken_for_a_result(two_files: Sweep):
    plan = make_plan(two_files)

    def press(share: float | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(plan.job(plan.runs()[0]), press)


def test_a_plug_in_that_changes_after_the_plan_is_refused(plugin, tmp_path: Path):
    sweep = plugin("import helper", value="helper.RANK", helper="RANK = 1\n")
    plan = make_plan(sweep)
    job = json.loads(json.dumps(plan.job(plan.runs()[0])))
    execute(job)
    plugin("import helper", value="helper.RANK", helper="RANK = 2\n")
    with pytest.raises(JobError, match=r"helper_\w+\.py: the file has changed since the run was planned"):
        execute(job)


def test_two_plug_ins_never_share_a_module_by_accident(plugin, tmp_path: Path):
    sweep = plugin("import helper", value="helper.RANK", helper="RANK = 1\n")
    make_plan(sweep)
    other = tmp_path / "other"
    other.mkdir()
    for file in tmp_path.glob("*.py"):
        (other / file.name).write_text(file.read_text())
    next(other.glob("helper*")).write_text("RANK = 2\n")
    with pytest.raises(InputError, match=r"imports helper_\w+ from .*other/.* has this name too: rename one of them"):
        Sweep.from_dict(
            {"scenario": "base.toml", "ranks": {"mine": "other/mine.py:Mine"}}, file=str(tmp_path / "small.toml")
        )


def test_the_manifest_has_the_digests_of_what_is_written_in_python(plugin, tmp_path: Path):
    sweep = plugin("import helper", value="helper.RANK", helper="RANK = 1\n")
    store = run_sweep(sweep, Store(tmp_path / "store"), workers=1).store
    about = store.manifest(store.keys()[0])["python"]["ranks"]["mine"]
    assert about["class"] == "mine.py:Mine"
    helper = next(tmp_path.glob("helper*.py"))
    assert about["files"] == {
        name: hashlib.sha256(file.read_bytes()).hexdigest()
        for name, file in (("", tmp_path / "mine.py"), (helper.stem, helper))
    }


def test_a_trace_that_changes_between_runs_is_refused_by_its_key(tmp_path: Path):
    with (tmp_path / "trace.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["time_us", "size_bytes", "rank", "flow"], [0, 1500, 1, "a"], [1, 1500, 2, "b"]])
    (tmp_path / "base.toml").write_text(
        'link = { rate_gbps = 10 }\nworkload = { trace = "trace.csv", trace_rank = "column" }\n'
        'scheduler = [{ name = "pifo" }]\n'
    )
    plan = make_plan(sweep_of(tmp_path / "base.toml"))
    job = plan.job(plan.runs()[0])
    with (tmp_path / "trace.csv").open("a") as file:
        file.write("2,1500,3,a\n")
    with pytest.raises(JobError, match=r'workload\.trace = "trace\.csv": the file has changed'):
        execute(job)


#: Ways to a value that no key covers, with what is said of each; VALUE is where it lies.
WAYS: dict[str, tuple[str, str, str]] = {
    "open": ("", "int(open('VALUE').read())", "has read this file"),
    "open for reading and writing": ("", "int(open('VALUE', 'r+').read())", "has read this file"),
    "open for appending and reading": (
        "",
        "(f := open('VALUE', 'a+'), f.seek(0), int(f.read()))[2]",
        "has read this file",
    ),
    "a descriptor": ("import os", "int(os.read(os.open('VALUE', os.O_RDONLY), 9))", "has read this file"),
    "a descriptor for both": ("import os", "int(os.read(os.open('VALUE', os.O_RDWR), 9))", "has read this file"),
    "pathlib": ("import pathlib", "int(pathlib.Path('VALUE').read_text())", "has read this file"),
    "numpy": ("import numpy", "int(numpy.loadtxt('VALUE'))", "has read this file"),
    "configparser": ("import configparser", "len(configparser.ConfigParser().read('VALUE.ini'))", "has read this file"),
    "a database": (
        "import sqlite3",
        "sqlite3.connect('VALUE.db').execute('select rank from ranks').fetchone()[0]",
        "has read this file",
    ),
    "a database by its address": (
        "import sqlite3",
        "sqlite3.connect('file:VALUE.db?mode=ro', uri=True).execute('select rank from ranks').fetchone()[0]",
        "has read this file",
    ),
    "a compiled library": ("import ctypes", "0 * ctypes.CDLL('VALUE.so')._handle + 1", "has read this file"),
    "a program": (
        "import subprocess",
        "int(subprocess.run(['cat', 'VALUE'], capture_output=True).stdout)",
        "cat: the run has started this program",
    ),
    "a shell": ("import os", "(p := os.popen('cat VALUE'), int(p.read()), p.close())[1]", "has started this program"),
    "a system call": ("import os", "1 + 0 * os.system('cat VALUE > /dev/null')", "has started this program"),
    "a process": ("import os", "1 + 0 * (os.fork() or os._exit(0))", "another process: the run has started"),
    "a folder's names": ("import os", "len(os.listdir('FOLDER'))", "has listed this folder"),
    "a database by an address with its name quoted": (
        "import sqlite3",
        "sqlite3.connect('file://localhostVALUE%2edb', uri=True).execute('select rank from ranks').fetchone()[0]",
        "has read this file",
    ),
    "the names in a folder that is open": (
        "import os",
        "len(os.listdir(os.open('FOLDER', os.O_RDONLY)))",
        "has listed this folder",
    ),
    "a folder's entries": ("import os", "len(list(os.scandir('FOLDER')))", "has listed this folder"),
    "a pattern of names": ("import glob", "len(glob.glob('FOLDER/*'))", "has listed this folder"),
    "a walk": ("import os", "len(next(os.walk('FOLDER'))[1]) + 1", "has listed this folder"),
}


# What a package reads in its own settings is no matter of the user's, as the page says: numpy is told nothing apart.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("way", "where"),
    [
        (way, where)
        for way in WAYS
        for where in ("beside it", "settings", "cache")
        if way != "numpy" or where == "beside it"
    ],
)
def test_no_way_to_read_what_no_key_covers_gives_an_old_result(
    plugin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, where: str
):
    imports, value, said = WAYS[way]
    home = tmp_path / "home"
    # Where tools keep their own, a user may, too.
    folder = home / {"beside it": "project", "settings": ".config", "cache": ".cache"}[where]
    folder.mkdir(parents=True)
    monkeypatch.setattr(reading, "_SETTINGS", (home / ".config", home / ".cache"))
    file = folder / "value"
    file.write_text("1\n")
    (folder / "value.ini").write_text("[a]\n")
    with contextlib.closing(sqlite3.connect(folder / "value.db")) as database:
        database.execute("create table ranks (rank)")
        database.execute("insert into ranks values (1)")
        database.commit()
    shutil.copy(pifolab._pifolab.__file__, folder / "value.so")
    chance = random.Random(f"{way} {where}")
    when = chance.choice(["at import", "at the first packet"])
    value = value.replace("VALUE", str(file)).replace("FOLDER", str(folder))
    places = {
        "at import": (f"{imports}\nK = {value}", "pass", "K"),
        "at the first packet": (
            f"{imports}\ndef value():\n    return {value}",
            "self.k = getattr(self, 'k', None) or value()",
            "self.k",
        ),
    }
    sweep = plugin(*places[when])
    plan = make_plan(sweep)
    # As in a worker, which has imported nothing yet.
    custom._LOADED.clear()
    with pytest.raises(JobError, match=said):
        execute(plan.job(plan.runs()[0]))


@pytest.mark.parametrize(
    ("imports", "value"),
    [
        ("import numpy, polars, tempfile, zoneinfo", "len(zoneinfo.ZoneInfo('Europe/Berlin').key)"),
        ("import sqlite3", "sqlite3.connect(':memory:').execute('select 1').fetchone()[0]"),
        ("import ctypes", "1 + 0 * ctypes.CDLL(None)._handle"),
        ("import pathlib", "len(pathlib.Path('/proc/self/stat').read_text()) and 1"),
    ],
)
def test_what_depends_on_nothing_of_the_users_is_not_refused(plugin, imports: str, value: str):
    plan = make_plan(plugin(imports, value=value))
    custom._LOADED.clear()
    files, _ = execute(plan.job(plan.runs()[0]))
    assert "manifest.json" in files
