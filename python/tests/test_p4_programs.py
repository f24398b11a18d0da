"""The P4 programs themselves, compiled and run: `make test-p4`, with the tools that `pifolab doctor` reports."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from test_p4_features import drawn as drawn_request
from waiting import COMMAND, wait_until

from pifolab import _pifolab
from pifolab_p4.compiled import compile_stripped, key, stored
from pifolab_p4.conformance import HARNESS, WAYS, program_of, replay
from pifolab_p4.frames import READ_FRAME, TestFrame
from pifolab_p4.parameters import IN_TREE
from pifolab_p4.resources import TARGETS, digest, fits, measure, read_stored
from pifolab_p4.switch import Ports, Switch
from pifolab_p4.testbed import plan, run
from pifolab_p4.tools import P4C, P4C_TOFINO, compile_bmv2

ROOT = Path(__file__).resolve().parents[2]
P4 = str(ROOT / "dataplane" / "p4")
VECTORS = sorted((ROOT / "conformance").glob("*.json"))
WITNESSES = sorted((ROOT / "conformance" / "worst-cases").glob("*.json"))

pytestmark = pytest.mark.p4
bmv2 = pytest.mark.skipif(
    "bmv2" not in os.environ.get("PIFOLAB_P4_TESTS", "").split(), reason="make test-p4 runs it where the tools are"
)

tofino = pytest.mark.skipif(
    "tofino" not in os.environ.get("PIFOLAB_P4_TESTS", "").split(), reason="make test-p4 runs it where the compiler is"
)

# What the target cannot do; everything else has to be replayed.
SKIPPED = {"afq", "pieo", "pifo", "sp-pifo-greedy", "aifo_published", "packs_geometric", "slack-sp", "spring"}
SKIPPED |= {"drr", "scrr", "fq-codel", "aifo_late", "packs_late", "rifo_late"}


def name(path: Path) -> str:
    return path.stem


@bmv2
@pytest.mark.parametrize("path", [*VECTORS, *WITNESSES], ids=name)
def test_every_decision_is_the_librarys_and_packets_leave_bmv2s_queues_in_its_order(path: Path):
    for replayed in replay(str(path), *(WAYS if path in VECTORS else WAYS[:1])):
        if replayed.skipped is not None:
            # The second witness of a pair is PIFO's, whatever its name begins with.
            scheduler = json.loads(path.read_text())["scheduler"]
            assert scheduler in SKIPPED or path.stem.startswith(tuple(SKIPPED)), replayed.skipped
            pytest.skip(replayed.skipped)
        assert replayed.mismatches == 0, replayed.first


@bmv2
@pytest.mark.parametrize("path", VECTORS, ids=name)
def test_a_stored_program_is_what_this_compiler_makes(tmp_path: Path, path: Path):
    made = program_of(str(path))
    if isinstance(made, str):
        pytest.skip(made)
    kept = json.loads(stored(key(*made, HARNESS)) or b"{}")
    release = kept.pop("p4c").split()[0]
    if release not in P4C.version():
        pytest.skip(f"stored by p4c {release}")
    assert compile_stripped(tmp_path, *made, HARNESS) == kept


#: What two runs of a device need not do alike: random numbers, meters, and the time.
OF_THE_DEVICE = re.compile(r"rng_uniform|execute_meter|timestamp\"\]|timedelta\"\]")
OWN_PARTS = ("actions", "parsers", "pipelines", "checksums", "calculations")


def device_programs() -> list[str]:
    """Return the stored programs whose output depends on the frames alone."""
    found = []
    for file in sorted((ROOT / "dataplane" / "p4" / "compiled").glob("*.json.gz")):
        program = json.loads(gzip.decompress(file.read_bytes()))
        if not OF_THE_DEVICE.search(json.dumps([program[part] for part in OWN_PARTS])):
            found.append(file.name.removesuffix(".json.gz"))
    return found


@bmv2
@pytest.mark.parametrize("name", device_programs())
def test_the_interpreter_sends_what_simple_switch_sends_frame_by_frame(tmp_path: Path, name: str):
    text = stored(name)
    assert text is not None
    file = tmp_path / f"{name}.json"
    file.write_bytes(text)
    ours = _pifolab.P4Switch(text)
    draws = random.Random(name)
    ports, sent = 4, 0
    with Ports(file, ports) as device:
        for number in range(150):
            frame = drawn_request(draws) if name == "features" else any_frame(draws)
            theirs = device.pass_through(frame)
            ours.receive(0, frame, number, 0)
            mine = []
            for port in range(min(ports, ours.ports())):
                while ours.waiting(port):
                    left = ours.send(port, 0)
                    if left is not None:
                        mine.append((port, left[0]))
            assert mine == theirs, frame.hex()
            sent += len(mine)
    assert sent > 0


@bmv2
def test_a_decision_that_differs_is_seen(tmp_path: Path):
    text = (ROOT / "conformance" / "packs_bytes.json").read_text()
    wrong = tmp_path / "wrong.json"
    wrong.write_text(text.replace('["drop", "admission"]', '["drop", "full"]', 1))
    for replayed in replay(str(wrong), *WAYS):
        assert replayed.mismatches == 1
        assert 'expected ["drop", "full"]' in (replayed.first or "")


@bmv2
@pytest.mark.parametrize("program", sorted(IN_TREE["bmv2"]))
@pytest.mark.parametrize("rank", ["DSCP", "VLAN", "PAYLOAD"])
def test_every_program_compiles_as_it_lies_in_the_tree(tmp_path: Path, program: str, rank: str):
    assert compile_bmv2(tmp_path, program, None, (f"PF_RANK RANK_{rank}",)).is_file()


@tofino
@pytest.mark.parametrize("target", sorted(TARGETS))
@pytest.mark.parametrize("program", sorted(IN_TREE["tofino"]))
def test_every_program_for_tofino_fits_with_each_register_once(program: str, target: str):
    figures = measure(program, target)
    assert fits(figures, target)
    stored = read_stored()
    if stored["compiler"] == P4C_TOFINO.version():
        assert {"digest": digest(program)} | asdict(figures) == stored["programs"][target][program]


IP, NEIGHBOUR, OTHER = range(3)


def ipv4(
    payload: bytes, protocol: int = 17, dscp: int = 0, fragment: int = 0, words: int = 5, length: int | None = None
):
    whole = words * 4 + len(payload) if length is None else length
    header = struct.pack(
        ">BBHHHBBH4s4s", 0x40 | words, dscp << 2, whole, 0, fragment, 64, protocol, 0, b"\x0a\0\0\1", b"\x0a\0\0\2"
    )
    return header + bytes(4 * max(0, words - 5)) + payload


def ipv6(payload: bytes, following: int = 17, dscp: int = 0, hops: int = 64) -> bytes:
    return struct.pack(">IHBB", 6 << 28 | dscp << 22, len(payload), following, hops) + bytes(32) + payload


def udp(payload: bytes) -> bytes:
    return struct.pack(">HHHH", 1, 2, 8 + len(payload), 0) + payload


def tcp(payload: bytes, words: int = 5) -> bytes:
    return struct.pack(">HHIIBBHHH", 1, 2, 0, 0, words << 4, 0, 0, 0, 0) + bytes(4 * max(0, words - 5)) + payload


def ether(payload: bytes, kind: int = 0x0800, tags: tuple[int, ...] = ()) -> bytes:
    frame = bytes(12)
    for tag in tags:
        frame += struct.pack(">HH", 0x8100, tag)
    return frame + struct.pack(">H", kind) + payload


RANK = struct.pack(">Q", 77)
WHOLE = ether(ipv4(udp(RANK), dscp=13))

#: What each frame is, and the rank in its payload if it carries one.
FRAMES: list[tuple[bytes, int, int | None]] = [
    (WHOLE, IP, 77),
    (ether(ipv4(tcp(RANK), protocol=6)), IP, 77),
    (ether(ipv4(tcp(RANK, words=8), protocol=6)), IP, 77),
    (ether(ipv4(udp(RANK), words=7)), IP, 77),
    (ether(ipv6(udp(RANK)), 0x86DD), IP, 77),
    (ether(ipv4(udp(RANK)), tags=(3,)), IP, 77),
    (ether(ipv4(udp(RANK)), tags=(3, 4)), IP, 77),
    (ether(ipv4(udp(RANK)), tags=(3, 4, 5)), OTHER, None),
    (ether(ipv4(udp(struct.pack(">Q", 1 << 63)))), IP, (1 << 63) - 1),
    # Ethernet pads short frames: the padding carries no rank.
    (ether(ipv4(udp(b"")) + bytes(range(1, 19))), IP, None),
    (ether(ipv4(udp(b"1234567")) + b"8" * 11), IP, None),
    # Fragments, other protocols, headers that are wrong or cut short.
    (ether(ipv4(udp(RANK), fragment=0x2000)), IP, None),
    (ether(ipv4(udp(RANK), fragment=1)), IP, None),
    (ether(ipv4(RANK, protocol=1)), IP, None),
    (ether(ipv4(udp(RANK), words=4)), OTHER, None),
    (ether(ipv4(udp(RANK), length=19)), OTHER, None),
    (ether(b"\x55" + ipv4(udp(RANK))[1:]), OTHER, None),
    (ether(ipv4(tcp(RANK, words=4), protocol=6)), IP, None),
    (ether(bytes(28), 0x0806), NEIGHBOUR, None),
    (ether(ipv6(bytes([135]) + bytes(23), 58, hops=255), 0x86DD), NEIGHBOUR, None),
    (ether(ipv6(bytes([135]) + bytes(23), 58, hops=64), 0x86DD), IP, None),
    (ether(bytes(46), 0x88CC), OTHER, None),
    (bytes(14), OTHER, None),
]
FRAMES += [(WHOLE[:length], IP if length >= 34 else OTHER, None) for length in range(1, len(WHOLE))]


def as_read(frame: bytes) -> tuple[int, int | None]:
    """Return what a frame is and the rank of its payload, by the rules of docs/dataplane.md."""
    kind, at = int.from_bytes(frame[12:14], "big"), 14
    for _ in range(2):
        if kind in (0x8100, 0x88A8):
            kind, at = int.from_bytes(frame[at + 2 : at + 4].ljust(2, b"\0"), "big"), at + 4
    packet = frame[at:]
    if len(frame) < 14 or at > len(frame):
        return OTHER, None
    if kind == 0x0806:
        return NEIGHBOUR, None
    if kind == 0x0800 and len(packet) >= 20 and packet[0] >> 4 == 4:
        header, total = 4 * (packet[0] & 15), int.from_bytes(packet[2:4], "big")
        if not 20 <= header <= len(packet) or 0 < total < header:
            return OTHER, None
        is_fragment = int.from_bytes(packet[6:8], "big") & 0x3FFF
        protocol, inside = 0 if is_fragment else packet[9], packet[header : total or None]
    elif kind == 0x86DD and len(packet) >= 40 and packet[0] >> 4 == 6:
        length = int.from_bytes(packet[4:6], "big")
        protocol, inside = packet[6], packet[40 : 40 + length if length else None]
        if protocol == 58 and packet[7] == 255 and 133 <= (packet[40:] or b"\0")[0] <= 137:
            return NEIGHBOUR, None
    else:
        return OTHER, None
    # A protocol that is neither has no payload, nor has a TCP header that is too short.
    words = inside[12] >> 4 if protocol == 6 and len(inside) >= 20 else 0
    before = {17: 8, 6: 4 * words if words >= 5 else 1 << 16}.get(protocol, 1 << 16)
    carried = inside[before : before + 8]
    return IP, min(int.from_bytes(carried, "big"), (1 << 63) - 1) if len(carried) == 8 else None


def any_frame(draw: random.Random) -> bytes:
    """Return a frame that is nearly right: tagged, fragmented, padded, with bits flipped, cut short."""
    carried = draw.randbytes(8)[: draw.choice((8, 8, 8, draw.randrange(9)))] + draw.randbytes(
        draw.choice((0, 0, 3, 20))
    )
    protocol = draw.choice((17, 17, 6, 6, 58, 1, draw.randrange(256)))
    body = {
        17: udp(carried),
        6: tcp(carried, words=draw.choice((5, 5, 8, 15, draw.randrange(16)))),
        58: bytes([draw.choice((132, 133, 135, 137, 138))]) + carried,
    }.get(protocol, carried)
    if draw.random() < 0.4:
        packet, kind = ipv6(body, protocol, hops=draw.choice((255, 64))), 0x86DD
    else:
        fragment, words = (
            draw.choice((0, 0, 0, 0x4000, 0x2000, 1, 0x8000)),
            draw.choice((5, 5, 7, 15, draw.randrange(16))),
        )
        length = draw.choice((None, None, None, draw.randrange(80)))
        packet, kind = ipv4(body, protocol, fragment=fragment, words=words, length=length), 0x0800
    tags = tuple(draw.randrange(1 << 16) for _ in range(draw.choice((0, 0, 0, 1, 2, 3))))
    frame = bytearray(ether(packet, kind, tags) + bytes(draw.choice((0, 0, 5, 18))))
    for _ in range(draw.choice((0, 0, 0, 1, 2))):
        frame[draw.randrange(14, min(len(frame), 60))] ^= 1 << draw.randrange(8)
    return bytes(frame[: draw.randrange(1, len(frame) + 1)] if draw.random() < 0.3 else frame)


@pytest.fixture
def understood(tmp_path: Path) -> Iterator:
    """Return how a program understands frames: kind and rank of each."""

    def run(frames: list[bytes], rank: str) -> list[tuple[int, int | None]]:
        parameters = {"queues": 8, "queue_capacity_packets": 8, "ranks": 64}
        text = _pifolab.p4_parameters("strict-priority", parameters, "bmv2")["text"]
        program = compile_bmv2(tmp_path, "strict_priority", text, ("PF_HARNESS", f"PF_RANK RANK_{rank}"))
        found = []
        with Switch(program) as switch:
            for index, frame in enumerate(frames):
                switch.send(frame)
                switch.send(TestFrame(READ_FRAME, id=index).pack())
                read = TestFrame.unpack(switch.receive())
                found.append((read.flags & 3, read.rank if read.flags & 4 else None))
        return found

    return run


@bmv2
def test_truncated_and_foreign_frames_neither_crash_nor_get_a_rank_they_do_not_carry(understood):
    expected = [(kind, rank) for _, kind, rank in FRAMES]
    got = understood([frame for frame, _, _ in FRAMES], "PAYLOAD")
    wrong = [(FRAMES[i][0].hex(), expected[i], got[i]) for i in range(len(FRAMES)) if expected[i] != got[i]]
    assert not wrong


@bmv2
def test_frames_that_are_nearly_right_have_the_rank_that_the_rules_give_them(understood):
    draw = random.Random(19)
    frames = [any_frame(draw) for _ in range(800)]
    expected = [as_read(frame) for frame in frames]
    assert sum(rank is not None for _, rank in expected) > 100
    assert {kind for kind, _ in expected} == {IP, NEIGHBOUR, OTHER}
    got = understood(frames, "PAYLOAD")
    wrong = [(frames[i].hex(), expected[i], got[i]) for i in range(len(frames)) if expected[i] != got[i]]
    assert not wrong


@bmv2
def test_more_frames_than_the_program_remembers_do_not_crash_the_switch(tmp_path: Path):
    program = compile_bmv2(tmp_path, "fifo", None, ("PF_HARNESS", "PF_RANK RANK_PAYLOAD"))
    with Switch(program) as switch:
        for _ in range(15):
            # Too short for a rank: no queue is full.
            switch.send(*[WHOLE[:33]] * 100)
            switch.send(TestFrame(READ_FRAME, id=1023).pack())
            read = TestFrame.unpack(switch.receive())
        assert (read.flags & 3, read.flags & 4) == (OTHER, 0)


@bmv2
def test_no_packet_of_a_flow_is_delivered_before_the_flow_begins(tmp_path: Path):
    experiment = plan("udp-four-flows", 1, 0.5)
    run(experiment, ("sp-pifo",), 1, tmp_path)
    rows = [line.split(",") for line in (tmp_path / "sp-pifo-p4-0.csv").read_text().splitlines()[1:]]
    first = {flow: min(float(time) for time, of, _, _, got in rows if of == flow and int(got)) for flow in "0123"}
    starts = {str(flow): flow * experiment.phase_s for flow in range(4)}
    assert all(starts[flow] <= first[flow] for flow in starts), first
    [found] = json.loads((tmp_path / "summary.json").read_text())["runs"]
    assert [phase["share"][3] for phase in found["phases"][:3]] == [0, 0, 0]


@bmv2
def test_dscp_and_vlan_priorities_are_ranks(understood):
    frames = [WHOLE, ether(ipv6(b"", dscp=46), 0x86DD), ether(bytes(28), 0x0806), WHOLE[:33]]
    assert understood(frames, "DSCP") == [(IP, 13), (IP, 46), (NEIGHBOUR, None), (OTHER, None)]
    tagged = [ether(ipv4(udp(RANK)), tags=(priority << 13,)) for priority in range(8)]
    # Priority 1 is background traffic, behind 0.
    assert understood([*tagged, WHOLE], "VLAN") == [(IP, r) for r in (6, 7, 5, 4, 3, 2, 1, 0)] + [(IP, None)]


@bmv2
def test_nothing_is_left_when_the_command_is_killed(tmp_path: Path):
    program = compile_bmv2(tmp_path, "fifo", None, ("PF_HARNESS",))
    code = (
        "import pathlib, time; from pifolab_p4.switch import Switch\n"
        f"switch = Switch(pathlib.Path({str(program)!r})); print(switch.pid, flush=True); time.sleep(600)"
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = os.environ | {"PYTHONPATH": P4, "TMPDIR": str(temporary)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment) as command:
        assert command.stdout is not None
        switch = Path("/proc") / command.stdout.readline().strip()
        assert switch.is_dir()
        command.kill()
    wait_until(lambda: not switch.is_dir(), "simple_switch ends with the command")
    assert list(temporary.iterdir()) == []


@bmv2
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_ctrl_c_and_kill_followed_by_down_leave_neither_switch_nor_file(
    tmp_path: Path, sent: signal.Signals, status: int
):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [
        COMMAND,
        "dataplane",
        "testbed",
        "udp-four-flows",
        "--data-plane",
        "p4",
        "--schedulers",
        "fifo",
        "--repeat",
        "100",
    ]

    def switches() -> list[str]:
        found = []
        for pid in Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split():
            # The compiler may have ended since.
            with contextlib.suppress(FileNotFoundError):
                if Path(f"/proc/{pid}/comm").read_text().strip() == "simple_switch":
                    found.append(pid)
        return found

    # A shell that started the tests in the background may ignore the signal, and a process inherits that.
    heed = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    with subprocess.Popen(
        [*command, "--out", tmp_path / "out"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary)},
        **heed,
    ) as run:
        wait_until(lambda: bool(switches()), "simple_switch runs")
        [switch] = switches()
        run.send_signal(sent)
        _, said = run.communicate()
    assert run.returncode == status, said
    assert "Traceback" not in said
    wait_until(lambda: not Path(f"/proc/{switch}").is_dir(), "simple_switch ends with the command")
    if sent == signal.SIGKILL:
        left = sorted(str(folder) for folder in temporary.iterdir())
        down = subprocess.run(
            [COMMAND, "dataplane", "p4", "down"],
            env=os.environ | {"TMPDIR": str(temporary)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert down.stdout.splitlines() == [f"removed {folder}" for folder in left]
    assert list(temporary.iterdir()) == []
