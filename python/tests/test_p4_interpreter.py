"""The interpreter of compiled P4 programs: conformance, expressions of any width, entries, parsers and bad input."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from pifolab import _pifolab
from pifolab.cli import main
from pifolab.errors import InputError
from pifolab_p4.compiled import FORWARDING, OTHERS, key, stored
from pifolab_p4.conformance import HARNESS, interpret, program_of
from pifolab_p4.running import read_packets, write_packets
from pifolab_p4.tools import sources

VECTORS = sorted((Path(__file__).resolve().parents[2] / "conformance").glob("*.json"))


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_every_vector_that_a_p4_program_can_do_is_decided_alike_without_a_compiler(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PIFOLAB_P4C", "/nowhere")
    replayed = interpret(str(path))
    if replayed.skipped is not None:
        assert isinstance(program_of(str(path)), str), f"{replayed.skipped}: run scripts/p4_compiled.py"
        pytest.skip(replayed.skipped)
    assert replayed.mismatches == 0, replayed.first


def test_a_decision_that_differs_is_seen(tmp_path: Path):
    text = (VECTORS[0].parent / "packs_bytes.json").read_text()
    wrong = tmp_path / "wrong.json"
    wrong.write_text(text.replace('["drop", "admission"]', '["drop", "full"]', 1))
    assert interpret(str(wrong)).mismatches == 1


def test_exactly_the_programs_that_vectors_need_are_stored_with_the_release_of_p4c():
    needed = {key(*made, HARNESS) for made in map(program_of, map(str, VECTORS)) if not isinstance(made, str)}
    files = {file.name.removesuffix(".json.gz") for file in (sources() / "compiled").iterdir()}
    assert files == needed | set(FORWARDING) | set(OTHERS), "run scripts/p4_compiled.py"
    for name in files:
        text = stored(name)
        assert text is not None
        assert json.loads(text)["p4c"]


WIDTHS = {"a": 8, "b": 32, "c": 64, "d": 65, "e": 128, "f": 192}


def field(name: str) -> dict[str, Any]:
    return {"type": "field", "value": ["h", name]}


def operation(op: str, left: Any, right: Any, **more: Any) -> dict[str, Any]:
    return {"type": "expression", "value": {"op": op, "left": left, "right": right} | more}


def program(out_bits: int, result: dict[str, Any]) -> dict[str, Any]:
    """Return a program that sends each packet back with `result` in the field ``out``."""
    types = [
        {"name": "standard_t", "id": 0, "fields": [["egress_spec", 9, False], ["_pad", 7, False]]},
        {"name": "h_t", "id": 1, "fields": [*([n, w, False] for n, w in WIDTHS.items()), ["_pad", 7, False]]},
        {"name": "out_t", "id": 2, "fields": [["out", out_bits, False], ["_pad", -out_bits % 8 or 8, False]]},
    ]
    headers = [
        {"name": "standard_metadata", "id": 0, "header_type": "standard_t", "metadata": True},
        {"name": "h", "id": 1, "header_type": "h_t", "metadata": False},
        {"name": "r", "id": 2, "header_type": "out_t", "metadata": False},
    ]
    state = {
        "name": "start",
        "id": 0,
        "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": "h"}]}],
        "transitions": [{"type": "default", "value": None, "mask": None, "next_state": None}],
        "transition_key": [],
    }
    primitives = [
        {"op": "add_header", "parameters": [{"type": "header", "value": "r"}]},
        {"op": "assign", "parameters": [{"type": "field", "value": ["r", "out"]}, result]},
    ]
    table = {
        "name": "t",
        "id": 0,
        "key": [],
        "match_type": "exact",
        "type": "simple",
        "max_size": 1,
        "action_ids": [0],
        "actions": ["act"],
        "next_tables": {"act": None},
        "base_default_next": None,
        "default_entry": {"action_id": 0, "action_const": True, "action_data": [], "action_entry_const": True},
    }
    return {
        "__meta__": {"version": [2, 23]},
        "header_types": types,
        "headers": headers,
        "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [state]}],
        "deparsers": [{"name": "deparser", "id": 0, "order": ["r"]}],
        "actions": [{"name": "act", "id": 0, "runtime_data": [], "primitives": primitives}],
        "pipelines": [
            {"name": "ingress", "id": 0, "init_table": "t", "tables": [table], "conditionals": []},
            {"name": "egress", "id": 1, "init_table": None, "tables": [], "conditionals": []},
        ],
    }


def drawn(draw: random.Random, depth: int) -> tuple[dict[str, Any], Any]:
    """Return an expression and the function that computes it from the fields with Python's integers."""
    if depth == 0 or draw.random() < 0.15:
        if draw.random() < 0.3:
            value = draw.choice((0, 1, 7, 255, 2**64 - 1, 2**64, draw.getrandbits(150)))
            return {"type": "hexstr", "value": hex(value)}, lambda _: value
        name = draw.choice(list(WIDTHS))
        return field(name), lambda fields: fields[name]
    kind = draw.choice(("+", "-", "*", "&", "|", "^", "~", "<<", ">>", "mask", "mask", "usat", "mod", "?"))
    a, fa = drawn(draw, depth - 1)
    if kind == "mask":
        bits = draw.choice((1, 8, 31, 64, 66, 126, 127, 128, 192, 200))
        constant = {"type": "hexstr", "value": hex(2**bits - 1)}
        return operation("&", a, constant), lambda f: fa(f) & (2**bits - 1)
    if kind == "~":
        return operation("~", None, a), lambda f: ~fa(f)
    if kind in ("<<", ">>"):
        if draw.random() < 0.5:
            by = draw.choice((0, 1, 63, 64, 65, 130))
            amount, fb = {"type": "hexstr", "value": hex(by)}, lambda f: by
        else:
            amount, fb = field("a"), lambda f: f["a"]
        return operation(kind, a, amount), (lambda f: fa(f) << fb(f)) if kind == "<<" else lambda f: fa(f) >> fb(f)
    if kind == "usat":
        bits = draw.choice((8, 64, 126, 130))
        width = {"type": "hexstr", "value": hex(bits)}
        return operation("usat_cast", a, width), lambda f: max(0, min(fa(f), 2**bits - 1))
    if kind == "mod":
        bits = draw.choice((8, 64, 100, 130))
        half = 2 ** (bits - 1)
        width = {"type": "hexstr", "value": hex(bits)}
        return operation("two_comp_mod", a, width), lambda f: (fa(f) + half) % (2 * half) - half
    b, fb = drawn(draw, depth - 1)
    if kind == "?":
        c, fc = drawn(draw, depth - 1)
        op = draw.choice(("==", "!=", "<", "<=", ">", ">="))
        holds = {
            "==": int.__eq__,
            "!=": int.__ne__,
            "<": int.__lt__,
            "<=": int.__le__,
            ">": int.__gt__,
            ">=": int.__ge__,
        }[op]
        chosen = operation("?", a, b, cond=operation(op, b, c))
        return chosen, lambda f: fa(f) if holds(fb(f), fc(f)) else fb(f)
    functions = {
        "+": lambda f: fa(f) + fb(f),
        "-": lambda f: fa(f) - fb(f),
        "*": lambda f: fa(f) * fb(f),
        "&": lambda f: fa(f) & fb(f),
        "|": lambda f: fa(f) | fb(f),
        "^": lambda f: fa(f) ^ fb(f),
    }
    return operation(kind, a, b), functions[kind]


def test_expressions_of_any_width_have_the_values_that_unbounded_integers_have():
    draw = random.Random(44)
    for _ in range(400):
        expression, computed = drawn(draw, draw.randrange(1, 5))
        bits = draw.choice((1, 8, 64, 65, 126, 127, 128, 192, 384))
        switch = _pifolab.P4Switch(json.dumps(program(bits, expression)).encode())
        for _ in range(4):
            fields = {
                name: draw.choice((0, 1, 2**width - 1, draw.getrandbits(width))) for name, width in WIDTHS.items()
            }
            packed = 0
            for name, width in WIDTHS.items():
                packed = packed << width | fields[name]
            switch.receive(0, (packed << 7).to_bytes((sum(WIDTHS.values()) + 7) // 8, "big"))
            sent = switch.send(0)
            assert sent is not None
            pad = -bits % 8 or 8
            got = int.from_bytes(sent[0], "big") >> pad
            assert got == computed(fields) % 2**bits, (expression, fields, bits)


def table_of(p: Any) -> Any:
    """Return the first table of ingress."""
    return p["pipelines"][0]["tables"][0]


def conditional_jump_back(p: Any) -> None:
    """Let the first action jump to its beginning under a condition."""
    jump = [{"type": "expression", "value": field("a")}, {"type": "hexstr", "value": "0x0"}]
    p["actions"][0]["primitives"].append({"op": "_jump_if_zero", "parameters": jump})


def loop_of_a_condition(p: Any) -> None:
    """Let a condition come to itself where it does not hold."""
    condition = {"name": "n", "id": 0, "expression": operation("==", field("a"), {"type": "hexstr", "value": "0x1"})}
    p["pipelines"][0].update(init_table="n", conditionals=[condition | {"true_next": None, "false_next": "n"}])


def stacks_of_two_types(p: Any) -> Any:
    """Give the program two stacks of different headers; return the assignment of one to the other."""
    ids = [header["id"] for header in p["headers"][:2]]
    p["header_stacks"] = [
        {"name": f"s{number}", "header_ids": [one], "header_type": "", "size": 1} for number, one in enumerate(ids)
    ]
    names = [{"type": "header_stack", "value": f"s{number}"} for number in range(2)]
    return {"op": "assign_header_stack", "parameters": names}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: p["__meta__"].update(version=[3, 0]), "__meta__.version[0]: 3: expected 2"),
        (lambda p: p["headers"][1].update(header_type="no"), 'headers[1].header_type: "no": expected a header type'),
        (lambda p: p["actions"][0]["primitives"][0].update(op="fly"), 'actions[0].primitives[0].op: "fly": expected'),
        (lambda p: p.update(extern_instances=[{}]), "extern_instances[0]: extern_instances are not supported"),
        (lambda p: p["pipelines"].pop(), "pipelines: expected an ingress and an egress"),
        (lambda p: p["parsers"][0].update(init_state="x"), 'parsers[0].init_state: "x": expected a state'),
        (lambda p: p.pop("actions"), '"actions" is missing'),
        (loop_of_a_condition, "a table, a condition or a primitive that comes back to itself: expected no loop"),
        (conditional_jump_back, "a table, a condition or a primitive that comes back to itself: expected no loop"),
        (lambda p: table_of(p).update(type="odd"), 'pipelines[0].tables[0].type: "odd": expected simple, indirect or'),
        (lambda p: p["actions"][0]["primitives"].append(stacks_of_two_types(p)), "actions[0].primitives["),
    ],
)
def test_a_program_that_is_wrong_is_refused_in_one_line_with_the_place(change: Any, said: str):
    wrong = copy.deepcopy(program(8, field("a")))
    change(wrong)
    with pytest.raises(InputError) as refused:
        _pifolab.P4Switch(json.dumps(wrong).encode())
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


def test_a_shift_that_nothing_cuts_off_is_refused_when_the_program_is_loaded():
    compared = operation("==", operation("<<", field("a"), field("b")), field("a"))
    with pytest.raises(InputError, match="a value of more than 16384 bits is not supported"):
        _pifolab.P4Switch(json.dumps(program(8, operation("b2d", None, compared))).encode())


def test_text_that_is_cut_off_is_refused_with_its_line_and_column():
    with pytest.raises(InputError, match=r"^line 1 column 5: "):
        _pifolab.P4Switch(b'{"a":')


def test_conformance_through_p4_needs_no_tool(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("PIFOLAB_P4C", "")
    assert main(["conformance", "--through", "p4", str(VECTORS[0].parent / "packs_bytes.json")]) == 0
    assert capsys.readouterr().out.startswith("p4: 1 vectors, ")


def frame(rank: int) -> str:
    """Return an Ethernet frame with IPv4 and UDP whose payload begins with a rank."""
    return "00" * 12 + "0800" + "4500002400000000401100000a0000010a000002" + "0001000200100000" + f"{rank:016x}"


def test_packets_of_a_full_port_leave_in_the_order_of_their_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    ranks = [5, 60, 1, 33, 2]
    lines = [f"packet 0 {frame(rank)}" for rank in ranks]
    # The first is on the wire when the others arrive.
    lines += [f"expect 1 {frame(rank)}" for rank in (5, 1, 2, 33, 60)]
    packets, out = tmp_path / "packets.stf", tmp_path / "out.txt"
    packets.write_text("\n".join(lines))
    program = str(sources() / "compiled" / "strict_priority.json.gz")
    command = ["dataplane", "p4", "run", program, "--in", str(packets), "--out", str(out)]
    assert main([*command, "--rate", "10M"]) == 0
    assert capsys.readouterr().out == "5 packets in, 5 out\n"
    assert [int(line[-16:], 16) for line in out.read_text().splitlines()] == [5, 1, 2, 33, 60]
    # Without a rate no packet waits, and what is expected does not come.
    assert main(command) == 1
    assert "port 1: packet 1: " in capsys.readouterr().out


def test_a_capture_that_was_written_is_read_again(tmp_path: Path):
    left = [(1_500_000_007, 1, b"\1" * 20), (2_000_000_000, 1, b"\2" * 60)]
    write_packets(tmp_path / "a.pcap", left)
    assert read_packets(tmp_path / "a.pcap", 1).arrivals == left
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((tmp_path / "a.pcap").read_bytes()[:-1])
    with pytest.raises(InputError, match=r"byte 76: the file ends within a packet of 60 bytes"):
        read_packets(cut, 1)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("packet 0 abc", "line 1: abc: expected pairs of hexadecimal digits"),
        ("packet x 00", "line 1: port x: expected a number from 0 to 511"),
        ("send 0 00", "line 1: send: expected packet PORT HEX, expect PORT HEX, add, setdefault, wait or"),
    ],
)
def test_a_packet_file_that_is_wrong_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, said: str
):
    packets = tmp_path / "packets.stf"
    packets.write_text(line)
    program = str(sources() / "compiled" / "fifo.json.gz")
    assert main(["dataplane", "p4", "run", program, "--in", str(packets)]) == 2
    assert capsys.readouterr().err.startswith(f"pifolab: {packets}: {said}")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("table_add nowhere act 1 => 2", "line 1: nowhere: expected the name of a table"),
        ("register_write entered 99 1", "line 1: entered: index 99: expected less than 1"),
        ("fly away", "line 1: fly away: expected table_add, "),
        ("meter_set_rates m 0 1:1", "line 1: expected two rates, RATE:BURST RATE:BURST"),
    ],
)
def test_an_entry_that_is_wrong_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, said: str
):
    packets, entries = tmp_path / "packets.stf", tmp_path / "entries.txt"
    packets.write_text("")
    entries.write_text(line)
    program = str(sources() / "compiled" / "fifo.json.gz")
    assert main(["dataplane", "p4", "run", program, "--in", str(packets), "--entries", str(entries)]) == 2
    assert capsys.readouterr().err.startswith(f"pifolab: {entries}: {said}")
