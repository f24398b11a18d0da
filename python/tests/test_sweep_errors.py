# ruff: noqa: E501 (a wrong text and its message side by side are read best on one line)
"""A wrong sweep file or flag is one clear line with the place, before anything runs."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sweeping import MINE, SCENARIO

from pifolab.cli import main
from pifolab.errors import InputError
from pifolab.store import Store
from pifolab.sweep import Sweep, make_plan, run_sweep
from pifolab.sweep.estimate import estimate

GOOD = """scenario = "base.toml"
seeds = [1]

[axis]
scheduler = ["pifo", "narrow"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "base.toml").write_text(SCENARIO)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "s.toml").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def axis(text: str) -> str:
    return f"scenario = 'base.toml'\n[axis.a]\n{text}\n"


BASE = "scenario = 'base.toml'\n"
CLAIM = "[[claim]]\nname = 'most'\nmetric = \"SELECT MAX(delta) FROM schedulers\"\n"
TWO = "scenario = { larger = 'base.toml', smaller = 'base.toml' }\n"
QUEUES = "[axis.queues]\nkey = ''\nvalues = [2, 0]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "s.toml: scenario: is missing: expected the file of the base scenario"),
        ("scenario = 'no.toml'", "no.toml: cannot be read: No such file or directory"),
        ("a = 1\nb = x\nc = 2", "s.toml:2: invalid TOML: Invalid value"),
        ("scenario = { a = 'base.toml' }", "s.toml:1: scenario: expected a file, or a table of at least two"),
        ("scenario = { a = 'base.toml', b = 3 }", "s.toml:1: scenario.b = 3: expected a non-empty text"),
        ("scenario = { a = 'base.toml', b = 'no.toml' }", "no.toml: cannot be read: No such file or directory"),
        (TWO + "[axis]\nscenario = [1]", "scenario is also a column; give the axis another name"),
        (TWO + "[[metrics]]\nname = 'x'\nvalue = 'delta'\nscenario = 'small'", 'metrics[0].scenario: unknown scenario "small"; did you mean smaller?'),
        (BASE + "[[metrics]]\nname = 'x'\nvalue = 'delta'\nscenario = 'a'", "metrics[0].scenario: there is one only"),
        (TWO + "[axis.a]\nkey = 'seed'\nvalues = [1]\nwhere = { scenario = 'tall' }", "'tall' is not one of its values (larger, smaller)"),
        (BASE + "claim = 1", "s.toml:2: claim: expected tables [[claim]]"),
        (BASE + "[[claim]]\nmetric = 'SELECT 1'\nstated = 1", "claim[0].name: is missing"),
        (BASE + "[[claim]]\nname = 'x'\nmetric = 'SELECT delta FROM'\nstated = 1", "claim[0].metric: not an SQL query: "),
        (BASE + CLAIM, "claim[0]: expected stated, stated_low or stated_high"),
        (BASE + CLAIM + "stated = 1\ntake = 'most'", "claim[0].take = 'most': expected one of mean, max, min, sum, share"),
        (BASE + CLAIM + "stated = 1\nstated_low = 1", "claim[0].stated: conflicts with stated_low and stated_high"),
        (BASE + 2 * (CLAIM + "stated = 1\n"), "claim[1].name: duplicate most"),
        (BASE + CLAIM.replace("delta", "dleta") + "stated = 1", 'claim[0].metric: unable to find column "dleta"'),
        (BASE + "tables = ['ranks']\nmetrics = []\n" + CLAIM + "stated = 1", "claim[0].metric: relation 'schedulers' was not found"),
        (BASE + CLAIM + "stated = 1\n" + CLAIM.replace("most", "x")[:-2] + " WHERE scheduler = 'pif'\"\nstated = 1", 'claim[1].metric: unknown scheduler "pif"; did you mean pifo?'),
        (BASE + "figure = 1", "s.toml:2: figure: expected tables [[figure]]"),
        (BASE + "[[figure]]\nmetric = 'inversion'", 'figure[0].metric: unknown metric "inversion"; did you mean inversions?'),
        (BASE + "[[figure]]\nmetric = 'inversions'\nx = 'load'", 'figure[0].x: unknown axis "load"'),
        (BASE + "[[figure]]\nmetric = 'inversions'\ny_scale = 'cubic'", "figure[0].y_scale = 'cubic': expected linear or log"),
        (BASE + "[[figure]]\nmetric = 'inversions'\nlabels = { pifo = 3 }", "figure[0].labels = {'pifo': 3}: expected a table of texts"),
        (BASE + 2 * "[[figure]]\nmetric = 'inversions'\n", "figure[1].metric: duplicate inversions"),
        (BASE + "axes = 1", "s.toml:2: axes: unknown key \"axes\"; did you mean axis?"),
        (BASE + "title = 3", "s.toml:2: title = 3: expected a non-empty text"),
        # Seeds.
        (BASE + "seeds = [1, 2.5]", "s.toml:2: seeds[1] = 2.5: expected an integer from 0 to 2^63 - 1"),
        (BASE + "seeds = ['a']", 's.toml:2: seeds[0] = "a": expected an integer from 0 to 2^63 - 1'),
        (BASE + "seeds = [true]", "s.toml:2: seeds[0] = True: expected an integer from 0 to 2^63 - 1"),
        (BASE + "seeds = [-1]", "s.toml:2: seeds[0] = -1: expected an integer from 0 to 2^63 - 1"),
        (BASE + "seeds = []", "s.toml:2: seeds = []: expected at least one seed"),
        (BASE + "seeds = [1, 1]", "s.toml:2: seeds: duplicate seed 1"),
        (BASE + "seeds = 5", "s.toml:2: seeds = 5: expected a list of integers, or a table with first and count"),
        (BASE + "seeds = { count = 0 }", "s.toml:2: seeds.count = 0: expected an integer >= 1"),
        (BASE + "seeds = { first = 1 }", "s.toml:2: seeds.count: is missing"),
        (BASE + "seeds = { n = 1 }", 's.toml:2: seeds.n: unknown key "n"'),
        # Axes.
        (axis("values = []"), "s.toml:3: axis.a.values = []: expected at least one value"),
        (axis("values = 3"), "s.toml:3: axis.a.values = 3: expected a list"),
        (axis("value = [3]"), 's.toml:3: axis.a.value: unknown key "value"; did you mean values?'),
        (axis("key = 'link'"), "s.toml:2: axis.a: expected either values or range"),
        (axis("values = [1, 'b']"), "s.toml:3: axis.a.values: mixes numbers and texts; give labels"),
        (axis("values = [1, 1]"), "s.toml:3: axis.a.values: duplicate label 1; give labels that differ, or remove one"),
        (axis("values = [[1], [2]]"), "s.toml:3: axis.a.values: [1] needs a label; give labels"),
        (axis("values = [1]\nlabels = ['x', 'y']"), "axis.a.labels: has 2 members for 1 values"),
        (axis("values = [1]\nlabels = [2]"), "axis.a.labels: expected texts that are not empty"),
        (axis("values = [1]\nkey = 3"), "axis.a.key = 3: expected a dotted path such as link.rate_gbps"),
        (BASE + "axis.seed = [1]", "s.toml:2: axis.seed: seed is also a column; give the axis another name"),
        (BASE + "axis.'a b' = [1]", "s.toml:2: axis.a b: expected a name of letters, digits and _"),
        (BASE + "axis.a = 3", "s.toml:2: axis.a = 3: expected a list of values, or a table with values or range"),
        (BASE + "axis = 3", "s.toml:2: axis: expected tables [axis.NAME]"),
        (axis("key = ''\nvalues = [1]"), 's.toml:3: axis.a.key = "": the axis has no effect: no derived parameter uses it'),
        (axis("key='b'\nvalues=[1]\n[axis.b]\nvalues=[2]"), "s.toml:5: axis.b.key = 'b': axis a sets it already"),
        # Two parts of the file that set the same key, or one the table around the other's: only one would have an effect.
        (axis("key='link.rate_gbps'\nvalues=[9]\n[set]\n'link.rate_gbps'=5"), "s.toml:3: axis.a.key: sets link.rate_gbps, and set.link.rate_gbps sets link.rate_gbps: only one of them could have an effect; remove the other"),
        (axis("key='link.rate_gbps'\nvalues=[9]\n[derived]\n'link.rate_gbps'='a + 1'"), "s.toml:6: derived.link.rate_gbps: sets link.rate_gbps, and axis.a sets link.rate_gbps: only one of them could have an effect; remove the other"),
        (axis("key='link.rate_gbps'\nvalues=[9]\n[axis.b]\nkey='link'\nvalues=[{rate_gbps=3}]\nlabels=['x']"), "s.toml:6: axis.b.key: sets link, and axis.a sets link.rate_gbps: only one of them could have an effect; remove the other"),
        # Numbers without end, and those whose exact form would fill the memory.
        (axis("key = 'link.rate_gbps'\nrange = { from = 1, to = inf, step = 1 }"), "s.toml:4: axis.a.range.to = inf: expected a finite number"),
        (axis("key = ''\nvalues = [1, nan]\n[derived]\n'link.rate_gbps' = 'a'"), "s.toml:4: axis.a.values[1] = nan: expected a finite number"),
        (axis("key = ''\nvalues = [1e99999999]\n[derived]\n'link.rate_gbps' = 'a'"), "s.toml:4: axis.a.values[0] = 1E+99999999: expected 0, or a number from 1e-150 to 1e150"),
        (axis("key = ''\nvalues = [1]\n[derived]\n'link.rate_gbps' = 'a * 1e999'"), "s.toml:6: derived.link.rate_gbps = 'a * 1e999': inf is not a finite number"),
        (axis("key = ''\nvalues = [9]\n[derived]\n'link.rate_gbps' = '((a ** 64) ** 64) ** 64'"), "derived.link.rate_gbps = '((a ** 64) ** 64) ** 64': an intermediate number is too large or too small: over 4096 bits"),
        (BASE + "time_limit_s = nan", "s.toml:2: time_limit_s = nan: expected a finite number"),
        (BASE + "seeds = [" + "9" * 5000 + "]", "s.toml: invalid TOML: an integer has too many digits"),
        (BASE + "[set]\n'link.rate_gbps' = 1979-05-27", "s.toml:3: set.link.rate_gbps = 1979-05-27: expected a number, a text, a truth value, a list or a table"),
        ("scenario = 'base.toml\\u0000'".replace("'", '"'), "cannot be read: the name has a null character"),
        (BASE + "[axis]\nscheduler = ['pifo', 'narrow']\n[[compare]]\nmetric = 'inversions'\nof = { scheduler = 'narrow' }\nto = { scheduler = 'pifo' }\nstated_low = inf", "compare[0].stated_low = inf: expected a finite number"),
        # Unknown axes, and keys that the scenario does not know.
        (axis("values = [1]\nwhere = { b = [1] }"), 's.toml:4: axis.a.where: unknown axis "b"; there are no axes before it'),
        (axis("values = [1]\n[axis.c]\nvalues = [2]\nwhere = { a = [9] }"), "axis.c.where.a: 9 is not one of its values (1)"),
        (BASE + "zip = [['a', 'b']]", 's.toml:2: zip: unknown axis "a"; there are no axes'),
        (axis("values = [1]"), "s.toml: a = 1: base.toml: a: unknown key; "),
        (BASE + "[axis]\nscheduler = ['pifi']", "s.toml: scheduler = pifi: base.toml: scheduler.name: unknown scheduler \"pifi\"; did you mean pifo?"),
        # Ranges.
        (axis("range = { from = 2, to = 1, step = 1 }"), "s.toml:3: axis.a.range: is empty: from = 2 lies above to = 1"),
        (axis("range = { from = 1, to = 2, step = 0 }"), "s.toml:3: axis.a.range.step = 0: expected a number above 0"),
        (axis("range = { from = 1, to = 2 }"), "s.toml:3: axis.a.range: expected either step or count"),
        (axis("range = { to = 2, step = 1 }"), "s.toml:3: axis.a.range.from: is missing"),
        (axis("range = { from = 'x', to = 2, step = 1 }"), "s.toml:3: axis.a.range.from = 'x': expected a number"),
        (axis("range = { from = 1, to = 2, count = 0 }"), "s.toml:3: axis.a.range.count = 0: expected an integer >= 1"),
        (axis("range = { from = 1, to = 2, count = 1 }"), "a range from 1 to 2 has at least 2 values"),
        (axis("range = { from = 1, to = 2, steps = 1 }"), 'axis.a.range.steps: unknown key "steps"; did you mean step?'),
        (axis("range = { from = 1, to = 9, step = 1, spacing = 'log' }"), "axis.a.range.spacing: log needs count instead of step"),
        (axis("range = { from = 0, to = 9, count = 3, spacing = 'log' }"), "axis.a.range.from = 0: expected a number above 0 where spacing = 'log'"),
        (axis("range = { from = 1, to = 9, count = 3, spacing = 'cubic' }"), "axis.a.range.spacing = 'cubic': expected linear or log"),
        (axis("range = { from = 0, to = 1, step = 1e-9 }"), "gives 1000000001 values; expected at most 100000"),
        (axis("range = 3"), "axis.a.range = 3: expected a table with from, to, and step or count"),
        # Zips.
        (BASE + "zip = [['a', 'b']]\n[axis]\na = [1]\nb = [1, 2]",
         "s.toml:2: zip: axes of unequal length cannot be zipped: a has 1 values, b has 2 values"),
        (BASE + "zip = [['a']]\n[axis]\na = [1]", "s.toml:2: zip: ['a']: expected at least two axes to advance together"),
        (BASE + "zip = ['a']", "s.toml:2: zip = ['a']: expected lists of axes"),
        (BASE + "zip = [['a', 'a']]\n[axis]\na = [1]", "s.toml:2: zip: duplicate a"),
        (BASE + "zip = [['a', 'b']]\n[axis]\na = [1]\nb = { values = [1], where = { a = [1] } }",
         "s.toml:2: zip: b has a where; zipped axes always apply"),
        # Derived and fixed keys.
        (BASE + QUEUES + "[derived]\nx = '80 / quues'", "s.toml:6: derived.x = '80 / quues': unknown axis \"quues\"; did you mean queues?"),
        (BASE + QUEUES + "[derived]\nx = '80 /'", "s.toml:6: derived.x = '80 /': not an expression: invalid syntax"),
        (BASE + QUEUES + "[derived]\nx = '80 / queues'", "derived.x = '80 / queues': division by 0 for queues = 0"),
        (BASE + QUEUES + "[derived]\nx = '2 ** (100 * queues)'", "expected an integer power of at most 64"),
        (BASE + QUEUES + "[derived]\nx = '__import__(queues)'", "unknown function '__import__'; the functions are abs, ceil"),
        (BASE + QUEUES + "[derived]\nx = 'floor(queues, 2)'", "floor takes 1 argument"),
        (BASE + QUEUES + "[derived]\nx = 'True'", "True is not a number"),
        (BASE + QUEUES + "[derived]\nx = 3", "s.toml:6: derived.x = 3: expected an expression in quotes"),
        (BASE + "axis.w = ['a', 'b']\nderived.x = '2 * w'", "derived.x = '2 * w': w = 'a' is not a number"),
        (BASE + "derived = 3", "s.toml:2: derived: expected a table from keys to expressions"),
        (BASE + "set = 3", "s.toml:2: set: expected a table from keys to values"),
        (BASE + "set.seeds = [3]", "s.toml:2: set.seeds: has no effect in a sweep; remove it"),
        (BASE + "set.durations_s = 3", "s.toml: base: base.toml: durations_s: unknown key; did you mean duration_s?"),
        # What is measured and kept.
        (BASE + "tables = []", "s.toml:2: tables = []: expected a list of tables"),
        (BASE + "metrics = 'inversions'", "s.toml:2: metrics = 'inversions': expected a list of columns or tables"),
        (BASE + "metrics = [3]", "s.toml:2: metrics[0] = 3: expected the name of a column, or a table with name and value"),
        (BASE + "metrics = ['a', 'a']", "s.toml:2: metrics: duplicate a"),
        (BASE + "metrics = [{ name = 'a' }]", "s.toml:2: metrics[0].value: is missing"),
        (BASE + "metrics = [{ name = 'a', valu = 'b' }]", 's.toml:2: metrics[0].valu: unknown key "valu"; did you mean value?'),
        (BASE + "metrics = [{ name = 'a', value = '' }]", "s.toml:2: metrics[0].value = '': expected a non-empty text"),
        (BASE + "metrics = [{ name = 'a', value = '1 +' }]", "s.toml:2: metrics[0].value = '1 +': not an SQL expression"),
        (BASE + "time_limit_s = 0", "s.toml:2: time_limit_s = 0: expected a number above 0"),
        # Comparisons.
        (BASE + "compare = 3", "s.toml:2: compare: expected tables [[compare]]"),
        (BASE + "compare = [3]", "s.toml:2: compare[0]: expected a table with metric, of and to"),
        (BASE + "compare = [{ metric = 'a', of = { scheduler = 'x' } }]", "s.toml:2: compare[0].to: is missing"),
        (BASE + "compare = [{ metrics = 'a' }]", "s.toml:2: compare[0].metrics: unknown key \"metrics\"; did you mean metric?"),
        (BASE + "compare = [{ metric = 'a', of = {}, to = {} }]", "compare[0].of: expected a table such as"),
        (BASE + "compare = [{ metric = 'a', of = { wnidow = 1 }, to = { window = 2 } }]\naxis.window = [1, 2]", "compare[0].of: unknown axis \"wnidow\"; did you mean window?"),
        (BASE + "compare = [{ metric = 'a', of = { window = 3 }, to = { window = 2 } }]\naxis.window = [1, 2]",
         "compare[0].of.window = 3: expected one of 1, 2"),
        (BASE + "compare = [{ metric = 'a', of = { scheduler = 'x' }, to = { scheduler = 'x' } }]", "of and to are the same"),
        (BASE + "compare = [{ metric = 'a', of = { scheduler = 'x' }, to = { scheduler = 'y' }, stated = 'z' }]",
         "compare[0].stated = 'z': expected a number"),
        (BASE + "compare = [{ metric = 'a', of = { scheduler = 'x' }, to = { scheduler = 'y' }, tolerance = 0.1 }]",
         "compare[0].tolerance: has no effect without a stated value"),
        (BASE + "compare = [{ metric = 'a', of = { scheduler = 'x' }, to = { scheduler = 'y' }, stated = 1, stated_low = 1 }]",
         "compare[0].stated: conflicts with stated_low and stated_high; give one or the other"),
        (BASE + "compare = [{ metric = 'a', of = { scheduler = 'x' }, to = { scheduler = 'y' }, stated_low = 2, stated_high = 1 }]",
         "compare[0].stated_low = 2.0 lies above stated_high = 1.0"),
        (BASE + "compare = [{ metric = 'a', of = { scheduler = 'x' }, to = { scheduler = 'y' }, stated = 1, tolerance = -1 }]",
         "compare[0].tolerance = -1.0: expected a number >= 0"),
        (BASE + "compare = [{ metric = 'a', of = { scheduler = 'x' }, to = { scheduler = 'y' }, source = 1 }]",
         "compare[0].source = 1: expected a text"),
        # Schedulers in Python.
        (BASE + "schedulers = 3", 's.toml:2: schedulers: expected a table such as mine = "mine.py:Mine"'),
        (BASE + "schedulers.mine = 'mine.py'", "s.toml:2: schedulers.mine = 'mine.py': expected \"file.py:Class\""),
        (BASE + "schedulers.mine = 'no.py:Fine'", "no.py: cannot be read: No such file or directory"),
        (BASE + "schedulers.mine = 'base.toml:Fine'", "base.toml: expected a Python file that ends in .py"),
        (BASE + "schedulers.mine = 'mine.py:Fin'", "mine.py: has no Fin"),
        (BASE + "schedulers.mine = 'broken.py:Fine'", "broken.py:1: ZeroDivisionError: "),
    ],
)  # fmt: skip
def test_a_wrong_file_is_one_line_with_the_place(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
):
    (folder / "s.toml").write_text(text)
    (folder / "broken.py").write_text("1 / 0")
    assert main(["study", "run", "s.toml", "--store", "store"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
    assert not (folder / "store").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--until-ci", "2"], "--until-ci 2: expected a percentage between 0% and 100%, such as 2%"),
        (["--until-ci", "x%"], "--until-ci x%: expected a percentage"),
        (["--until-ci", "0%"], "--until-ci 0%: expected a percentage"),
        (["--max-seeds", "3"], "--max-seeds has no effect without --until-ci: remove it"),
        (["--slurm-jobs", "3"], "--slurm-jobs has no effect without --slurm: remove it"),
        (["--workers", "3", "--slurm"], "--workers has no effect with --dask or --slurm"),
        (["--workers", "3", "--dask", "tcp://h:1"], "--workers has no effect with --dask or --slurm"),
        (["--run", "zz"], "--run zz: this study has no such run"),
        (["--log-json", "no/where.json"], "--log-json no/where.json: cannot be written: No such file or directory"),
        (["--store", "base.toml"], "base.toml: is not a folder"),
        (["--store", "."], ".: is a folder with other things in it; give a new or empty one"),
        (["--store", "base.toml/x"], "base.toml"),
        (["--dask", "tcp://127.0.0.1:9"], "--dask tcp://127.0.0.1:9: no Dask scheduler answers"),
        (["--dask", "nonsense://"], "--dask nonsense://: expected the address of a scheduler"),
    ],
)
def test_a_wrong_flag_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, flags: list[str], message: str
):
    monkeypatch.setattr("pifolab.sweep.cluster._CONNECT_S", 0.5)
    assert main(["study", "run", "s.toml", *flags]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error


def test_what_the_api_refuses(folder: Path):
    sweep = Sweep.from_toml("s.toml")
    with pytest.raises(InputError, match="workers = 0: expected an integer >= 1"):
        run_sweep(sweep, Store("store"), workers=0)
    (folder / "mark").mkdir()
    (folder / "mark/pifolab-store.json").write_text('{"format": 99}')
    with pytest.raises(InputError, match="format 99, but this version of pifolab reads format 2"):
        Store("mark")
    (folder / "mark/pifolab-store.json").write_text("[")
    with pytest.raises(InputError, match=r"pifolab-store\.json: cannot be read"):
        Store("mark")
    with pytest.raises(InputError, match="nowhere: does not exist"):
        Store("nowhere", create=False)


def test_until_needs_a_metric(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "s.toml").write_text("metrics = []\n" + GOOD)
    assert main(["study", "run", "s.toml", "--until-ci", "2%"]) == 2
    assert "metrics: expected at least one metric, whose interval is tightened" in capsys.readouterr().err


def test_a_failure_is_listed_with_the_command_that_repeats_it(
    folder: Path, pifolab_command: Callable[..., subprocess.CompletedProcess[str]]
):
    own = "schedulers.bad = 'mine.py:Raises'\nschedulers.exits = 'mine.py:Exits'"
    text = GOOD.replace("seeds = [1]", f"seeds = [1]\n{own}\ntables = ['schedulers']")
    (folder / "s.toml").write_text(text.replace('"narrow"', '"narrow", "bad", "exits"'))
    done = pifolab_command("study", "run", "s.toml", "--store", "a store", cwd=folder)
    assert done.returncode == 1
    assert "2 failed" in done.stdout
    assert "2 of 4 runs failed:\n  scheduler = bad, seed = 1: ValueError: out of ideas" in done.stderr
    assert "\n  scheduler = exits, seed = 1: SystemExit (mine.py:" in done.stderr
    command = done.stderr.partition("again: ")[2].splitlines()[0]
    assert command.startswith("pifolab study run s.toml --store 'a store' --run ")
    import shlex

    again = pifolab_command(*shlex.split(command)[1:], cwd=folder)
    assert again.returncode == 1
    assert "1 of 1 runs failed:\n  scheduler = bad, seed = 1: ValueError: out of ideas" in again.stderr


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"tables": ["schedulers", "rank"]}, 's.toml: tables: unknown table "rank"; did you mean ranks?'),
        (
            {"metrics": ["inversion"]},
            's.toml: metrics: metric inversion: table schedulers: unknown column "inversion"; did you mean inversions?',
        ),
        (
            {"metrics": [{"name": "share", "value": "inversions / snt_packets"}]},
            's.toml: metrics: metric share: table schedulers: unknown column "snt_packets"; did you mean sent_packets?',
        ),
        (
            {"metrics": [{"name": "low", "table": "ranks", "value": "sum(dropped)", "where": "rnk < 5"}]},
            's.toml: metrics: metric low: table ranks: unknown column "rnk"; did you mean rank?',
        ),
        ({"metrics": ["rank.dropped"]}, 's.toml: metrics: metric rank.dropped: unknown table "rank"; did you mean ranks?'),
        ({"metrics": ["name"]}, "s.toml: metrics: metric name: name is not a number"),
        (
            {"metrics": ["inversions"], "tables": ["ranks"]},
            "s.toml: metrics: metric inversions: table schedulers is not kept: expected it among tables = ranks",
        ),
        (
            {"compare": [{"metric": "inversions", "of": {"scheduler": "pifo"}, "to": {"scheduler": "nope"}}]},
            's.toml: compare[0].to.scheduler: unknown scheduler "nope"; ',
        ),
        (
            {"compare": [{"metric": "inversins", "of": {"scheduler": "pifo"}, "to": {"scheduler": "narrow"}}]},
            's.toml: compare[0]: metric inversins: table schedulers: unknown column "inversins"; did you mean inversions?',
        ),
        (
            {
                "axis": {
                    "scheduler": ["pifo", "narrow"],
                    "window": {"key": "scheduler.window", "values": [5, 9], "where": {"scheduler": "narrow"}},
                },
                "compare": [
                    {
                        "metric": "inversions",
                        "of": {"scheduler": "pifo", "window": 5},
                        "to": {"scheduler": "narrow", "window": 5},
                    }
                ],
            },
            "s.toml: compare[0]: no combination of the sweep has both sides",
        ),
        (
            {"axis": {"s": {"key": "scheduler", "range": {"from": 1, "to": 3, "step": 1}}}},
            's.toml: axis.s.range: the key "scheduler" takes schedulers (names, labels, or tables with a name), got 1; ',
        ),
        ({"seeds": [1, 2, 1]}, "s.toml: seeds: duplicate seed 1"),
    ],
)  # fmt: skip
def test_what_no_run_will_have_is_refused_before_the_first(folder: Path, keys: dict, message: str):
    (folder / "base.toml").write_text(SCENARIO)
    with pytest.raises(InputError) as caught:
        run_sweep(Sweep.from_dict({"scenario": "base.toml", "seeds": [1], **keys}, file="s.toml"), Store("store"))
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 250
    assert Store("store").keys() == []


def test_a_hundred_thousand_seeds_and_values_are_checked_at_once(folder: Path):
    """Each was looked for among all before it, which took minutes."""
    values = {"key": "link.rate_gbps", "range": {"from": 1, "to": 90_000, "step": 1}}
    sweep = Sweep.from_dict(
        {"scenario": "base.toml", "seeds": {"first": 0, "count": 90_000}, "axis": {"a": values}},
        file=str(folder / "s.toml"),
    )
    assert (len(sweep.seeds), len(sweep.axes[0].points)) == (90_000, 90_000)


def test_an_axis_with_a_where_may_replace_what_is_set_for_all(folder: Path):
    window = {"key": "scheduler.window", "values": [10, 20], "where": {"scheduler": ["narrow"]}}
    keys: dict[str, Any] = {"axis": {"scheduler": ["narrow"], "window": window}, "set": {"scheduler.window": 30}}
    plan = make_plan(Sweep.from_dict({"scenario": "base.toml", **keys}, file=str(folder / "s.toml")))
    assert [setting.overrides[1:] for setting in plan.settings] == [
        (("scheduler.window", "10"),),
        (("scheduler.window", "20"),),
    ]


def test_axes_that_set_one_key_under_two_names_are_refused(folder: Path):
    axis = {"a": {"key": "scheduler.narrow.window", "values": [10]}, "b": {"key": "scheduler.1.window", "values": [20]}}
    sweep = Sweep.from_dict({"scenario": "base.toml", "axis": axis}, file=str(folder / "s.toml"))
    message = "scheduler.1.window: is the same key as scheduler.narrow.window, which is set already"
    with pytest.raises(InputError, match=message):
        make_plan(sweep)


def test_a_metric_without_a_value_in_any_run_is_said(folder: Path, capsys: pytest.CaptureFixture[str]):
    metrics = 'metrics = ["inversions", { name = "none", value = "inversions / 0" }, { name = "some", value = "1 / inversions" }]\n'
    (folder / "s.toml").write_text(metrics + GOOD)
    assert main(["study", "run", "s.toml", "--store", "store", "--workers", "1"]) == 0
    line = "none: no run has a value (what it counts did not happen, or it divides by 0)\n"
    assert line in capsys.readouterr().out
    assert main(["study", "show", "store"]) == 0
    said = capsys.readouterr().out
    assert line in said
    # A PIFO has no inversion to divide by.
    assert "some: mean" in said
    assert "some: no run" not in said


def test_the_table_of_an_observer_can_be_a_metric(folder: Path):
    (folder / "base.toml").write_text(SCENARIO)
    (folder / "mine.py").write_text(
        "import pifolab\nclass Counts(pifolab.PythonObserver):\n    n = 0\n"
        "    def on_dequeue(self, packet, now_ns, *rest):\n        self.n += 1\n"
        "    def table(self):\n        return {'sent': [self.n]}\n"
    )
    keys = {"observers": {"mine": "mine.py:Counts"}, "metrics": ["mine.sent"], "seeds": [1, 2]}
    result = run_sweep(Sweep.from_dict({"scenario": "base.toml", **keys}, file="s.toml"), Store("store"), workers=1)
    assert [group.scheduler for group in result.groups] == ["pifo", "narrow"]


@pytest.mark.thorough
def test_clusters_that_are_not_there_are_one_line(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(folder))
    for flags, message in (
        (["--slurm"], "--slurm: the command sbatch is not found: this machine cannot start SLURM jobs"),
        (["--dask", "foo"], "--dask foo: expected the address of a scheduler, such as tcp://HOST:8786"),
        (["--dask", "tcp://nowhere"], "--dask tcp://nowhere: expected the address of a scheduler"),
        (["--dask", "tcp://127.0.0.1:1"], "--dask tcp://127.0.0.1:1: no Dask scheduler answers"),
    ):
        assert main(["study", "run", "s.toml", "--store", "store", *flags]) == 2
        errors = capfd.readouterr().err
        assert errors.startswith(f"pifolab: {message}")
        assert errors.count("\n") == 1
        assert not Path("store").exists()


def test_dry_run_lists_runs_and_estimates_and_runs_nothing(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["study", "plan", "s.toml", "--store", "store"]) == 0
    out = capsys.readouterr().out
    assert not (folder / "store").exists()
    run = make_plan(Sweep.from_toml("s.toml")).runs()[0]
    assert f"{run.key[:12]}     1  pifo       to run" in out
    assert "2 runs, 0 of them finished, 2 to run" in out
    assert re.search(r"^time: about [1-9][\d.]* s", out, re.MULTILINE)
    assert "2 sampled" in out
    assert "MiB" in out
    run_sweep(Sweep.from_toml("s.toml"), Store("store"))
    assert main(["study", "plan", "s.toml", "--store", "store"]) == 0
    out = capsys.readouterr().out
    assert "2 runs, 2 of them finished, 0 to run" in out
    assert "2 combinations measured before, 0 sampled" in out


@pytest.mark.thorough
def test_an_estimate_measures_the_slowest_kind_of_run(folder: Path):
    # One scheduler in five takes a hundred times as long as the others, and long runs of it are few.
    (folder / "base.toml").write_text(SCENARIO)
    (folder / "slow.py").write_text(
        "import pifolab, time\nclass Slow(pifolab.PythonScheduler):\n    def __init__(self):\n        self.q = []\n"
        "    def enqueue(self, packet, now_ns):\n        time.sleep(0.0005)\n        self.q.append(packet)\n"
        "    def dequeue(self, now_ns):\n        return self.q.pop(0) if self.q else None\n"
    )
    sweep = Sweep.from_dict(
        {
            "scenario": "base.toml",
            "schedulers": {"slow": "slow.py:Slow"},
            "axis": {
                "scheduler": ["pifo", "fifo", "sp-pifo", "aifo", "slow"],
                "length": {"key": "duration_s", "values": [0.0005, 0.001, 0.0015, 0.002, 0.0025, 0.02]},
            },
            "seeds": [1],
        },
        file="s.toml",
    )
    plan = make_plan(sweep)
    estimated = estimate(plan, None, list(range(len(plan.settings))), workers=1)
    slowest = next(
        at for at, setting in enumerate(plan.settings) if setting.labels == {"scheduler": "slow", "length": 0.02}
    )
    # 18,333 packets, half a millisecond each at least: a lower bound that no machine can beat.
    longest = estimated.run_s[slowest]
    assert longest is not None
    assert longest >= 9
    others = [
        time
        for setting, time in zip(plan.settings, estimated.run_s, strict=True)
        if setting.labels["scheduler"] != "slow"
    ]
    assert all(time is not None and time < longest / 2 for time in others), "the slow kind alone is told as slow"
    assert estimated.wall_s is not None
    assert estimated.wall_s >= 12


@pytest.mark.thorough
def test_the_memory_that_an_estimate_tells_is_about_what_is_used(folder: Path):
    # A row for every packet and one for each of its eight queues: much more than a sample of 0.4 s has seen.
    (folder / "base.toml").write_text(
        SCENARIO.partition("[[scheduler]]")[0].replace("0.002", "0.4")
        + 'metrics = { sample_every_packets = 1, max_samples = 1_000_000 }\nscheduler = [{ name = "sp-pifo" }]\n'
    )
    sweep = Sweep.from_dict({"scenario": "base.toml", "seeds": [1]}, file="s.toml")
    estimated = estimate(make_plan(sweep), None, [0], workers=1).memory_bytes
    store = run_sweep(sweep, Store("store"), workers=1).store
    used = store.record(store.keys()[0])["peak_memory_bytes"]
    assert used > 300 * 2**20
    assert estimated is not None
    assert 0.5 < estimated / used < 2


def test_a_small_run_is_told_with_its_process_once_for_each_worker_that_has_a_run(folder: Path):
    sweep = Sweep.from_dict({"scenario": "base.toml", "seeds": [1]}, file="s.toml")
    estimated = estimate(make_plan(sweep), None, [0], workers=6).memory_bytes
    store = run_sweep(sweep, Store("store"), workers=1).store
    used = store.record(store.keys()[0])["peak_memory_bytes"]
    assert estimated is not None
    assert 0.5 < estimated / used < 2


def test_events_tell_everything_in_order(folder: Path, capsys: pytest.CaptureFixture[str]):
    import json

    assert main(["study", "run", "s.toml", "--store", "store", "--log-json", "-", "--workers", "1"]) == 0
    lines: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines] == ["start", "finished", "finished", "end"]
    assert [line["finished"] for line in lines[:3]] == [0, 1, 2]
    assert lines[1]["worker"] == "1"
    assert lines[2]["left_s"] == 0
    assert lines[3]["ran"] == 2
    assert all(line["time"].endswith("Z") for line in lines)
