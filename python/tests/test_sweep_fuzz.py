"""Any text as a sweep file: one line that names the file, or a plan; never anything else.

From a seed, so that a failure can be repeated.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from sweeping import MINE, SCENARIO

from pifolab.errors import InputError
from pifolab.sweep import Sweep, make_plan

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
