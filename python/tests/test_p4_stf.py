"""Entries in the words of p4c's packet tests: each form matches what it says, the higher priority first."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from test_p4_interpreter import field, program

from pifolab.cli import main
from pifolab.errors import InputError
from pifolab_p4.stf import entry_line


def table_program(kinds: dict[str, str]) -> dict[str, Any]:
    """Return a program with a table over the fields ``a`` (8 bits) and ``b`` (32 bits), or one of them."""
    made = program(8, field("a"))
    actions = made["actions"]
    actions[0] |= {
        "name": "ingress.set",
        "runtime_data": [{"name": "value", "bitwidth": 8}, {"name": "other", "bitwidth": 8}],
    }
    actions[0]["primitives"][1]["parameters"][1] = {"type": "runtime_data", "value": 0}
    table = made["pipelines"][0]["tables"][0]
    table |= {
        "name": "ingress.t",
        "match_type": "ternary" if set(kinds.values()) & {"ternary", "range"} else max(kinds.values()),
        "key": [
            {"match_type": kind, "name": f"h.{name}", "target": ["h", name], "mask": None}
            for name, kind in kinds.items()
        ],
        "actions": ["ingress.set"],
        "next_tables": {"ingress.set": None},
        "default_entry": {
            "action_id": 0,
            "action_const": False,
            "action_data": ["0xee", "0x0"],
            "action_entry_const": False,
        },
        "max_size": 64,
    }
    made["pipelines"][0]["init_table"] = "ingress.t"
    return made


def packet(a: int, b: int) -> str:
    return (((a << 32 | b) << (64 + 65 + 128 + 192) << 7).to_bytes(62, "big")).hex()


def drawn_part(draws: random.Random, kind: str, bits: int) -> tuple[str | None, Any]:
    """Return a value as it is written, and what it matches."""
    value = draws.getrandbits(bits) if draws.random() < 0.5 else draws.randrange(4)
    if kind == "exact":
        return draws.choice((str(value), hex(value))), lambda v: v == value
    if draws.random() < 0.15:
        return draws.choice((None, "*")), lambda v: True
    if kind == "lpm":
        length = draws.randrange(bits + 1)
        return f"{value}/{length}", lambda v: v >> (bits - length) == value >> (bits - length)
    if kind == "range":
        low, high = sorted((value, draws.getrandbits(bits)))
        return draws.choice((f"{low}..{high}", f"{low}->{high}")), lambda v: low <= v <= high
    if draws.random() < 0.5:
        digits = [draws.choice("*0f3") for _ in range(bits // 4)]
        mask = int("".join("0" if digit == "*" else "f" for digit in digits), 16)
        wanted = int("".join(digits).replace("*", "0"), 16)
        return "0x" + "".join(digits), lambda v: v & mask == wanted
    mask = draws.getrandbits(bits) & draws.getrandbits(bits)
    return draws.choice((f"{hex(value)}&&&{hex(mask)}", f"{value}/{hex(mask)}")), lambda v: v & mask == value & mask


@pytest.mark.parametrize("seed", range(12))
def test_an_entry_of_any_form_matches_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int):
    draws = random.Random(seed)
    for round_ in range(6):
        kinds = draws.choice(
            [
                {"a": "exact", "b": "ternary"},
                {"a": "range", "b": "ternary"},
                {"b": "lpm"},
                {"a": "exact", "b": "exact"},
                {"a": "ternary", "b": "lpm"},
            ]
        )
        file, packets = tmp_path / f"{round_}.json", tmp_path / f"{round_}.stf"
        file.write_text(json.dumps(table_program(kinds)))
        ordered = bool(set(kinds.values()) & {"ternary", "range"})
        lines, entries, seen = ["setdefault t set(value:0xdd, other:0)"], [], set()
        for place in range(draws.randrange(1, 9)):
            parts = {
                name: drawn_part(draws, kind, {"a": 8, "b": 32}[kind_bits])
                for name, kind in kinds.items()
                for kind_bits in [name]
            }
            written = [
                f"{draws.choice(('h.', ''))}{name}:{text}" for name, (text, _) in parts.items() if text is not None
            ]
            if not ordered and (str(written) in seen or any(text is None for text, _ in parts.values())):
                continue
            seen.add(str(written))
            draws.shuffle(written)
            priority = draws.randrange(100) if ordered else 0
            shown = [str(priority)] if ordered else []
            lines.append(
                " ".join(["add", draws.choice(("t", "ingress.t")), *shown, *written, f"set(other:1, value:{place})"])
            )
            entries.append((priority, place, {name: fits for name, (_, fits) in parts.items()}, parts))
        if "lpm" in kinds.values() and not ordered:
            lengths = [
                int(str(parts["b"][0]).partition("/")[2] or 0) if parts["b"][0] != "*" else 0 for *_, parts in entries
            ]
        else:
            lengths = [0] * len(entries)
        for _ in range(20):
            a, b = (
                draws.choice((draws.getrandbits(8), draws.randrange(4))),
                draws.choice((draws.getrandbits(32), draws.randrange(4))),
            )
            fits = [
                (-lengths[at], -priority, place)
                for at, (priority, place, matches, _) in enumerate(entries)
                if all(match({"a": a, "b": b}[name]) for name, match in matches.items())
            ]
            answer = min(fits)[2] if fits else 0xDD
            lines += [f"packet 0 {packet(a, b)}", f"expect 0 {answer:02x}"]
        packets.write_text("\n".join(lines) + "\n")
        status = main(["dataplane", "p4", "run", str(file), "--in", str(packets)])
        out = capsys.readouterr()
        if "is there already" in out.err:
            continue
        assert status == 0, (lines, out)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("add nowhere a:1 set(value:1, other:1)", "nowhere: expected the name of a table: ingress.t"),
        ("add t a:1 b:2 fly(value:1)", "fly: expected the name of an action of the table: ingress.set"),
        ("add t a:1 b:2 set(value:1)", "set(value:1): expected the arguments value, other"),
        ("add t b:2 set(value:1, other:1)", "expected a value for every key that is matched exactly"),
        ("add t a:1 c:2 set(value:1, other:1)", "c: expected keys of the table: h.a, h.b"),
        ("add t a:1", "expected add TABLE ... ACTION(NAME:VALUE, ...)"),
        ("add t a:1 b:0b1*3 set(value:1, other:1)", "0b1*3: expected 0x or 0b before digits of which some are *"),
        ("add t a:1 b:9*9 set(value:1, other:1)", "9*9: expected 0x or 0b before digits of which some are *"),
    ],
)
def test_an_entry_that_cannot_be_understood_says_what_would_be_right(line: str, said: str):
    with pytest.raises(InputError) as raised:
        entry_line(table_program({"a": "exact", "b": "ternary"}), line)
    assert str(raised.value) == said
    assert "\n" not in str(raised.value)


def test_an_entry_holds_from_its_line_on_and_a_wrong_one_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file, packets = tmp_path / "p.json", tmp_path / "p.stf"
    file.write_text(json.dumps(table_program({"a": "exact"})))
    command = ["dataplane", "p4", "run", str(file), "--in", str(packets)]
    one = packet(1, 1)
    packets.write_text(
        f"packet 0 {one}\nexpect 0 ee**\nadd t a:1 set(value:7, other:1)\nwait\npacket 0 {one}\nexpect 0 07**\n"
        f"table_add t set 2 => 8 1\npacket 0 {packet(2, 1)}\nexpect 0 08**\n"
    )
    assert main(command) == 0, capsys.readouterr()
    for text, said in (
        ("add t a:1000 set(value:1, other:1)", "line 1: 1000: expected a value of at most 8 bits"),
        (f"packet 0 {one}\ntable_add t set 1 => 9", "line 2: set: 1 arguments: expected 2"),
        (f"packet 0 {one}\nfly_away", "line 2: fly_away: expected table_add, "),
    ):
        packets.write_text(text)
        assert main(command) == 2
        assert capsys.readouterr().err.startswith(f"pifolab: {packets}: {said}")


WHOLE = f"""add ingress.t 3 a:0x1 b:7 set(value:1, other:2)
add t h.a:2 b:0x0**3 set(value:0b101, other:0x2)
setdefault t set(value:9, other:1)
packet 0 {packet(1, 7)}
expect 0 01*1 $
"""
PIECES = (
    "0x",
    "0b",
    "*",
    "/",
    "&&&",
    "..",
    "->",
    ":",
    "(",
    ")",
    ",",
    " ",
    "\n",
    "add",
    "-",
    "9" * 30,
    "g",
    "\x00",
    "é",
)


@pytest.mark.parametrize("seed", range(8))
def test_damaged_packet_files_are_refused_in_one_line_or_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
):
    draws = random.Random(seed)
    kinds = {"a": "exact", "b": draws.choice(("ternary", "lpm", "range"))}
    file, packets = tmp_path / "p.json", tmp_path / "p.stf"
    file.write_text(json.dumps(table_program(kinds)))
    for _ in range(60):
        text = WHOLE
        for _ in range(draws.randrange(1, 4)):
            at = draws.randrange(len(text))
            text = text[:at] + draws.choice(("", draws.choice(PIECES))) + text[at + draws.randrange(4) :]
        packets.write_text(text, encoding="utf-8")
        status = main(["dataplane", "p4", "run", str(file), "--in", str(packets)])
        error = capsys.readouterr().err
        # A packet that is not the one expected ends with 1 and a line for each.
        assert status in (0, 1, 2), (text, error)
        assert status != 2 or (error.startswith("pifolab: ") and error.count("\n") == 1), (text, error)
        assert "internal" not in error, (text, error)
