"""Any text as a sweep file: one line that names the file, or a plan; never anything else.

From a seed, so that a failure can be repeated.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from sweeping import MINE, SCENARIO

import pifolab.toml
from pifolab.errors import InputError
from pifolab.sweep import Sweep, make_plan
from pifolab.toml import line_of

SWEEP = """scenario = "base.toml"
title = "A small one"
seeds = { first = 1, count = 3 }
tables = ["schedulers", "ranks"]
time_limit_s = 10

[axis.scheduler]
values = ["pifo", "narrow"]

[axis.load]
key = ""
values = [0.5, 0.85, 1.1]
labels = ["low", "middle", "high"]

[axis.window]
key = "scheduler.window"
range = { from = 10, to = 40, step = 10 }
where = { scheduler = ["narrow"] }

[derived]
"workload.rate_gbps" = "10 * load"

[set]
duration_s = 0.001

[[compare]]
metric = "inversions"
of = { scheduler = "narrow", window = 20 }
to = { scheduler = "pifo" }
stated = 3
tolerance = 0.1
"""

#: What a mutation puts in: each is the start of something that a parser may trip over.
PIECES = [
    "[", "]", "{", "}", '"', "'", '"""', "=", ",", ".", "#", "\n", "\\", "\x00", "\x1b", "\ud7ff", "é", "-1", "0",
    "1e999", "-0.0", "nan", "inf", "9" * 40, "0x", "true", "1979-05-27", "[axis.a]\n", "[[", "]]", "where", "range",
    "values = []", "key = ''", "seeds = [1, 1]", "*", "**", "(", "))", "/ 0", "__import__('os')", "axis", "compare",
]  # fmt: skip


#: What takes the place of a number: where one is read, all of them must be.
NUMBERS = [
    "nan", "inf", "-inf", "1e999", "1e99999999", "-1e-99999999", "0", "-0.0", "1e-300", "1e300", "9" * 40, "9" * 5000,
    "true", "1979-05-27", "07:32:00", "'1'", "[]", "{}", "x ** 64 ** 64", "((load ** 64) ** 64) ** 64", "load / 0",
]  # fmt: skip


def mutated(text: str, draw: random.Random) -> str:
    """Cut, repeat, swap and put in at random places, some times over; some numbers become others."""
    for _ in range(draw.randint(1, 4)):
        kind, at = draw.randrange(6), draw.randrange(len(text) + 1)
        end = min(len(text), at + draw.choice((1, 2, 5, 20, 80)))
        if kind == 0:
            text = text[:at] + text[end:]
        elif kind == 1:
            text = text[:at] + text[at:end] * draw.choice((2, 3, 40)) + text[end:]
        elif kind == 2:
            text = text[:at] + draw.choice(PIECES) + text[at:]
        elif kind == 3:
            text = text[:at] + draw.choice(PIECES) + text[end:]
        elif kind == 4:
            number = draw.choice([*re.finditer(r"(?<![\w.])\d[\d.]*", text), None])
            if number:
                text = text[: number.start()] + draw.choice(NUMBERS) + text[number.end() :]
        else:
            lines = text.split("\n")
            draw.shuffle(lines)
            text = "\n".join(lines)
    return text


def outcome(file: Path) -> str:
    """Return what is said of the file; nothing if it is a plan."""
    try:
        plan = make_plan(Sweep.from_toml(file))
    except InputError as error:
        return str(error)
    assert len(plan.settings) > 0
    return ""


@pytest.mark.parametrize("seed", range(8))
def test_any_text_is_one_line_that_names_the_file_or_a_plan(tmp_path: Path, seed: int):
    (tmp_path / "base.toml").write_text(SCENARIO)
    (tmp_path / "mine.py").write_text(MINE)
    file = tmp_path / "s.toml"
    draw = random.Random(seed)
    plans = 0
    for number in range(150):
        text = SWEEP if number == 0 else mutated(SWEEP, draw)
        file.write_text(text, encoding="utf-8", newline="")
        message = outcome(file)
        plans += not message
        assert not message or ("\n" not in message and str(tmp_path) in message), (seed, number, text, message)
    assert 0 < plans < 150


@pytest.mark.parametrize("seed", range(3))
def test_a_file_of_any_depth_is_one_line_or_a_plan(tmp_path: Path, seed: int):
    """Lists, tables and dotted keys, in the sweep and in its scenario."""
    (tmp_path / "base.toml").write_text(SCENARIO)
    file = tmp_path / "s.toml"
    draw = random.Random(seed)
    for _ in range(25):
        depth = draw.choice([1, 79, 81, 400, 1000, 5000, 20_000, draw.randint(1, 3000)])
        key = ".".join("a" * depth)
        nested = draw.choice([
            f"x = {'[' * depth}", f"x = {'[' * depth}{']' * depth}", f"x = {'{a = ' * depth}1{'}' * depth}",
            f"{key} = 1", f"[{key}]", f"[[{key}]]", f"set = {{ {key} = 1 }}", f"[derived]\n{key} = '1'",
            f"x = {'{a = [' * depth}", f"[axis.a]\nvalues = {'[' * depth}1{']' * depth}",
            f"metrics = {'[' * depth}{']' * depth}",
        ])  # fmt: skip
        file.write_text(f'scenario = "base.toml"\n{nested}\n')
        message = outcome(file)
        assert "\n" not in message, message
        assert not message or str(file) in message, (nested[:60], message)
        assert depth < 1000 or "invalid TOML" in message, (nested[:60], message)
        (tmp_path / "deep.toml").write_text(f"{SCENARIO}\n{nested}\n")
        file.write_text('scenario = "deep.toml"\n')
        message = outcome(file)
        assert "\n" not in message, message
        assert "deep.toml" in message, (nested[:60], message)


@pytest.mark.parametrize(
    "line", [" " * 20_000, "[" + " " * 20_000, "a" + " " * 20_000 + "b", "[a" + "\t " * 10_000 + "b"]
)
def test_a_long_line_does_not_keep_the_search_for_a_key_busy(line: str):
    """A search that goes through the line for each of its spaces would take minutes."""
    assert line_of(f"{line}\nseeds = 1\n", ["seeds"]) == 2


def test_a_sweep_of_too_many_runs_is_refused_before_they_are_made(tmp_path: Path):
    (tmp_path / "base.toml").write_text(SCENARIO)
    file = tmp_path / "s.toml"
    draw = random.Random(18)
    axes = "[axis.{0}]\nkey = 'scheduler.narrow.{0}'\nrange = {{ from = 1, to = {1}, step = 1 }}\n"
    for _ in range(3):
        seeds = draw.randint(100_001, 300_000)
        few, many = draw.randint(2, 400), draw.randint(50_001, 99_999)
        for text, message in (
            (f"seeds = {list(range(seeds))}", f"s.toml:2: seeds: has {seeds} seeds: expected at most 100000"),
            (f"seeds = {{ first = 1, count = {seeds} }}", f"seeds.count = {seeds}: expected at most 100000 seeds"),
            (
                f"seeds = {list(range(few))}\n{axes.format('window', many)}",
                f"axis: gives over {100_000 // few} combinations, with {few} seeds each: expected at most 100000 runs",
            ),
            (
                f"seeds = {list(range(few))}\n{axes.format('window', many)}{axes.format('queues', many)}",
                f"gives over 10000000 combinations, with {few} seeds each: expected at most 100000 runs",
            ),
        ):
            file.write_text(f'scenario = "base.toml"\n{text}\n')
            assert message in outcome(file)


@pytest.mark.parametrize("kind", ["set", "derived", "axis"])
def test_a_file_of_many_keys_is_read_once_and_not_once_for_each_key(tmp_path: Path, kind: str, monkeypatch):
    """Of 3000 keys each was compared with all others, and looked for in the whole file: minutes."""
    numbers = range(3000)
    text = {
        "set": "[set]\n" + "".join(f"k{at} = {at}\n" for at in numbers),
        "derived": "axis.a = { key = '', values = [1] }\n[derived]\n" + "".join(f"k{at} = 'a'\n" for at in numbers),
        "axis": "".join(f"[axis.a{at}]\nkey = 'k{at}'\nvalues = [1]\n" for at in numbers),
    }[kind]
    (tmp_path / "base.toml").write_text(SCENARIO)
    file = tmp_path / "s.toml"
    splits: list[int] = []

    def counted(name: str) -> list[str]:
        splits.append(1)
        return split(name)

    split = pifolab.toml._names
    monkeypatch.setattr(pifolab.toml, "_names", counted)
    file.write_text(f'scenario = "base.toml"\n{text}')
    assert Sweep.from_toml(file).place(kind, "k2999") != ""
    assert len(splits) <= 3 * len(text.splitlines())
