"""A program with unions, stacks at computed indices, fields of variable length and loops, beside a model of it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from test_p4_interpreter import field, program

from pifolab import _pifolab
from pifolab.cli import main
from pifolab.errors import InputError
from pifolab_p4.compiled import stored


def drawn(draws: random.Random) -> bytes:
    """Return a request, which is sometimes cut short."""
    kind = draws.randrange(64)
    choice = draws.randbytes(1 + (kind & 1))
    names = [draws.randbytes(draws.choice((0, 1, 2, 8))) for _ in range(2)]
    if draws.random() < 0.4:
        names[1] = names[0]
    texts = b"".join(bytes([len(name)]) + name for name in names)
    fields = bytes([kind, draws.randrange(256), draws.choice((0, 1, 3, 255)), draws.randrange(256)])
    whole = fields + choice + draws.randbytes(3) + draws.randbytes(4) + texts + draws.randbytes(draws.randrange(9))
    return whole[: draws.randrange(1, len(whole))] if draws.random() < 0.1 else whole


def modelled(frame: bytes) -> bytes | None:
    """Return what leaves, by the source text of the program."""
    at = 0

    def take(count: int) -> bytes:
        nonlocal at
        if at + count > len(frame):
            raise EOFError
        at += count
        return frame[at - count : at]

    try:
        request = take(4)
        kind, index, rounds, value = request
        choice = {"two": take(2)} if kind & 1 else {"one": take(1)}
        more = [{"one": take(1)}, {"two": take(2)}]
        cells: list[bytes] = [take(1) for _ in range(4)]
        names = []
        for _ in range(2):
            if at >= len(frame):
                raise EOFError
            names.append(take(1 + frame[at]))
    except EOFError:
        return None
    total = 0
    for _ in range(rounds):
        total = (total + value) % 256
        if total > 200:
            break
    cells[index & 3] = bytes([total])
    read = cells[index >> 2 & 3]
    same = names[0][1:] == names[1][1:]
    if kind & 2:
        choice = {"one": bytes([value])}
    if kind & 4:
        cells[index & 3] = b""
    if kind & 8:
        choice = {"two": more[1]["two"]}
    if kind & 16:
        choice.pop("one", None)
    if kind & 32:
        names[0] = names[1]
    answer = bytes([total]) + read + bytes([same, bool(choice)])
    unions = b"".join(union.get("one", b"") + union.get("two", b"") for union in (choice, *more))
    return request + unions + b"".join(cells) + b"".join(names) + answer + frame[at:]


def test_unions_computed_indices_fields_of_variable_length_and_loops_are_as_the_source_says():
    program = stored("features")
    assert program is not None
    switch = _pifolab.P4Switch(program)
    draws = random.Random(44)
    dropped = 0
    for number in range(20_000):
        frame = drawn(draws)
        switch.receive(0, frame, number, 0)
        sent = switch.send(1, 0)
        expected = modelled(frame)
        assert (sent and sent[0]) == expected, frame.hex()
        dropped += expected is None
    assert 1000 < dropped < 4000


def test_a_loop_without_end_is_left_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    made = program(8, field("a"))
    made["actions"][0]["primitives"].append({"op": "_jump", "parameters": [{"type": "hexstr", "value": "0x2"}]})
    file, packets = tmp_path / "p.json", tmp_path / "p.stf"
    file.write_text(json.dumps(made))
    packets.write_text(f"packet 0 {'07' * 70}\nexpect 0 07**\n")
    assert main(["dataplane", "p4", "run", str(file), "--in", str(packets)]) == 0
    assert capsys.readouterr().err == "note: 1 loops of the program were left after 65536 rounds\n"


def indirect(selector: bool) -> dict[str, Any]:
    """Return a program that writes the argument of a member to ``out``: by ``a``, chosen in a group by ``b``."""
    made = program(8, {"type": "runtime_data", "value": 0})
    made["actions"][0]["runtime_data"] = [{"name": "value", "bitwidth": 8}]
    [table] = made["pipelines"][0]["tables"]
    del table["default_entry"]
    table |= {
        "type": "indirect_ws" if selector else "indirect",
        "action_profile": "shared",
        "max_size": 1000,
        "key": [{"match_type": "exact", "name": "h.a", "target": ["h", "a"], "mask": None}],
    }
    profile: dict[str, Any] = {"name": "shared", "id": 0, "max_size": 1000}
    if selector:
        profile["selector"] = {"algo": "identity", "input": [field("b")]}
    made["pipelines"][0]["action_profiles"] = [profile]
    return made


@pytest.mark.parametrize("seed", range(20))
def test_a_table_with_an_action_profile_runs_the_member_or_one_of_the_group(seed: int):
    draws = random.Random(seed)
    switch = _pifolab.P4Switch(json.dumps(indirect(selector=True)).encode())
    members = [draws.randrange(256) for _ in range(draws.randrange(1, 9))]
    for value in members:
        switch.configure(f"act_prof_create_member shared act {value}")
    groups = [sorted(draws.sample(range(len(members)), draws.randrange(len(members) + 1))) for _ in range(4)]
    for number, group in enumerate(groups):
        switch.configure("act_prof_create_group shared")
        for member in draws.sample(group, len(group)):
            switch.configure(f"act_prof_add_member_to_group shared {member} {number}")
    wanted: dict[int, list[int]] = {}
    for key in draws.sample(range(256), 100):
        if draws.random() < 0.5:
            member = draws.randrange(len(members))
            wanted[key] = [member]
            switch.configure(f"table_indirect_add t {key} => {member}")
        else:
            group = draws.randrange(4)
            wanted[key] = groups[group]
            switch.configure(f"table_indirect_add_with_group t {key} => {group}")
    others = draws.choice(([0], groups[0], []))
    if others == [0]:
        switch.configure("table_indirect_set_default t 0")
    elif others:
        switch.configure("table_indirect_set_default_with_group t 0")
    for number in range(2000):
        key, by = draws.randrange(256), draws.getrandbits(32)
        switch.receive(0, bytes([key]) + by.to_bytes(4, "big") + bytes(57) + b"xyz", number, 0)
        sent = switch.send(0, 0)
        assert sent is not None
        group = wanted.get(key, others)
        # Without a member nothing adds the header of the answer.
        assert sent[0] == (bytes([members[group[by % len(group)]], 0]) if group else b"") + b"xyz"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("act_prof_create_member other act 1", "line 1: other: expected the name of an action profile: shared"),
        ("act_prof_create_member shared act", "line 1: act: 0 arguments: expected 1"),
        ("act_prof_add_member_to_group shared 0 0", "line 1: 0: expected the number of one of the 0 that were created"),
        ("table_indirect_add t 1 => 3", "line 1: 3: expected the number of one of the 0 that were created"),
        ("table_indirect_add t 1", "line 1: t: expected one handle behind =>"),
        ("table_add t act 1 => 3", "line 1: t: it has an action profile; expected table_indirect_add"),
        ("pvs_add nowhere 1", "line 1: nowhere: expected the name of a value set that the parser uses"),
    ],
)
def test_entries_that_do_not_fit_a_profile_or_a_value_set_are_refused(line: str, said: str):
    switch = _pifolab.P4Switch(json.dumps(indirect(selector=False)).encode())
    with pytest.raises(InputError) as raised:
        switch.configure(line)
    assert str(raised.value) == said


def test_a_value_set_of_the_parser_takes_the_values_that_were_added():
    made = program(8, field("a"))
    state = made["parsers"][0]["parse_states"][0]
    state["transition_key"] = [field("d"), field("a")]
    state["transitions"] = [
        {"type": "parse_vset", "value": "known", "mask": None, "next_state": None},
        {"type": "default", "value": None, "mask": None, "next_state": "more"},
    ]
    more = {
        "name": "more",
        "id": 1,
        "parser_ops": [{"op": "advance", "parameters": [{"type": "hexstr", "value": "0x8"}]}],
    }
    ended = [{"type": "default", "value": None, "mask": None, "next_state": None}]
    made["parsers"][0]["parse_states"].append(more | {"transition_key": [], "transitions": ended})
    made["parse_vsets"] = [{"name": "known", "id": 0, "compressed_bitwidth": 73, "max_size": 100}]
    switch = _pifolab.P4Switch(json.dumps(made).encode())
    draws = random.Random(9)
    pairs = [(draws.getrandbits(65), draws.randrange(4)) for _ in range(30)]
    known = set(pairs[:20])
    for d, a in known:
        switch.configure(f"pvs_add known {hex(d << 8 | a)}")
    for number in range(1000):
        d, a = draws.choice(pairs)
        whole = a << 32 | draws.getrandbits(32)
        whole = ((whole << 64 | draws.getrandbits(64)) << 65 | d) << (128 + 192 + 7)
        switch.receive(0, whole.to_bytes(62, "big") + b"xy", number, 0)
        sent = switch.send(0, 0)
        assert sent is not None
        assert sent[0] == bytes([a, 0]) + (b"xy" if (d, a) in known else b"y")


def modelled_wide(frame: bytes) -> bytes | None:
    """Return what leaves ``wide``, by its source text."""
    if len(frame) < 4:
        return None
    elements, source, target, answer = frame[:4]
    at, stack = 4, []
    # The lookahead comes before the elements, of which it is the first without its last byte.
    ahead = frame[4:36]
    while True:
        if len(frame) < at + 33 or len(stack) == 3:
            return None
        stack.append([frame[at : at + 32], frame[at + 32]])
        at += 33
        # The next state is chosen by the bytes behind the element.
        if len(frame) < at + 20:
            return None
        if stack[-1][1] != 0 and (stack[-1][1], frame[at]) != (1, 0):
            break
    unions: list[bytes] = [frame[at : at + 1]]
    at += 1
    if answer & 1:
        unions.append(frame[at : at + 2])
        at += 2
    triples = []
    for size in (1, 2, 1)[: (2 + (source >> 5 & 1)) * (answer & source >> 6 & 1)]:
        triples.append(frame[at : at + size])
        at += size
    i, j = (index if index != 3 else 0 for index in (source & 3, target & 3))
    if i < len(stack) and j < len(stack):
        short, wide = stack[i][1], stack[j][0]
        answers = {2: 10, 3: 12 if wide[0] & 128 else 11}
        answer = answers.get(short, answer)
        if source & 128:
            stack[j] = list(stack[i])
        else:
            stack[j][0] = bytes(a ^ b for a, b in zip(stack[i][0], ahead, strict=True))
        if stack[j][0] == bytes(32):
            answer = 99
    unions += [b""] * (2 - len(unions))
    copies = list(unions) if target & 128 else []
    if target & 64:
        unions = [b"", unions[0]]
    if target & 32:
        unions = [unions[1], b""]
    triples += [b""] * (3 - len(triples))
    if source & 16:
        triples = [b"", *triples[:2]]
    if source & 8:
        triples = [*triples[1:], b""]
    body = b"".join(wide + bytes([short]) for wide, short in stack)
    return bytes([elements, source, target, answer]) + body + b"".join([*unions, *copies, *triples]) + frame[at:]


def test_long_lookaheads_keys_at_computed_indices_and_stacks_of_unions_are_as_the_source_says():
    program = stored("wide")
    assert program is not None
    switch = _pifolab.P4Switch(program)
    draws = random.Random(45)
    dropped = 0
    for number in range(20_000):
        elements = [draws.choice((bytes(32), draws.randbytes(32))) + draws.choice((b"\0", b"\1")) for _ in range(2)]
        last = draws.randbytes(32) + bytes([draws.choice((0, 1, 2, 3, 9))])
        elements = [*elements[: draws.randrange(3)], last]
        frame = draws.randbytes(4) + b"".join(elements) + draws.choice((b"\0", b"\1")) + draws.randbytes(30)
        frame = frame[: draws.randrange(1, len(frame))] if draws.random() < 0.1 else frame
        switch.receive(0, frame, number, 0)
        sent = switch.send(1, 0)
        expected = modelled_wide(frame)
        assert (sent and sent[0]) == expected, frame.hex()
        dropped += expected is None
    assert 1000 < dropped < 19_000
