"""The DPDK node between virtual devices: null, ring, memif between two processes, and captures."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import pifolab
from pifolab.cli import main

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.dpdk

PATIENCE_S = 120
# The sender's address in the frames of these tests.
SOURCE = 0x0A000001


def _has_dpdk() -> bool:
    if shutil.which("pkg-config") is None or shutil.which("cargo") is None:
        return False
    return subprocess.run(["pkg-config", "--exists", "libdpdk"], check=False).returncode == 0


@pytest.fixture(scope="module")
def node() -> str:
    """Return the program, built as it is now."""
    if not _has_dpdk():
        required = os.environ.get("DPDK_REQUIRE")
        assert not required, "DPDK is not installed, and DPDK_REQUIRE asks for it: apt-get install libdpdk-dev dpdk"
        pytest.skip("DPDK is not installed: apt-get install libdpdk-dev dpdk")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    manifest = ROOT / "dataplane/dpdk/Cargo.toml"
    build = ["cargo", "build", "--locked", "--quiet", "--manifest-path", manifest, "--target-dir", target]
    subprocess.run(build, check=True)
    return str(target / "debug" / "pifolab-dpdk")


def words(node: str, device_in: str, device_out: str, *more: str) -> list[str]:
    """Return a command line; a device is called by what stands before the first comma."""
    devices = dict.fromkeys([device_in, device_out])
    vdevs = [word for device in devices for word in ("--vdev", device)]
    names = [device.partition(",")[0] for device in (device_in, device_out)]
    memory = ["--no-huge", "--memory-mb", "128"]
    return [node, *memory, *vdevs, "--in", names[0], "--out", names[1], *more]


def last(output: str) -> dict[str, Any]:
    """Return the counters of the last line, which balance, for each queue and for all together."""
    counters: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    queues = counters["device_queues"]
    for one in [counters, *queues]:
        dropped = sum(tally["packets"] for tally in one["dropped"].values())
        held = one["held_at_end"]["packets"]
        assert one["received"]["packets"] == one["sent"]["packets"] + dropped + held, one
    for unit in ("packets", "bytes"):
        for name in ("received", "sent", "admitted", "held_at_end"):
            assert counters[name][unit] == sum(queue[name][unit] for queue in queues), name
        for reason, tally in counters["dropped"].items():
            assert tally[unit] == sum(queue["dropped"][reason][unit] for queue in queues), reason
    for name in ("held", "unranked", "neighbour", "not_ip", "over_share", "device_full"):
        assert counters[name] == sum(queue[name] for queue in queues), name
    return counters


def carried(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    return last(done.stdout)


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until_up(process: subprocess.Popen[str]) -> None:
    """Wait for the first line of counters: a memif client needs a server that is up."""
    assert process.stdout is not None
    assert process.stdout.readline(), process.communicate()[1]


def wait_for_frames(process: subprocess.Popen[str]) -> None:
    """Wait for a line of counters that says that frames came."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        if json.loads(line)["received"]["packets"]:
            return
    raise AssertionError("no frame has come")


def frame(dscp: int, number: int, size: int) -> bytes:
    """Return a UDP frame of `size` bytes; its number stands behind the headers."""
    ip_bytes, udp_bytes = size - 14, size - 34
    ip = struct.pack("!BBHHHBBHII", 0x45, dscp << 2, ip_bytes, 0, 0, 64, 17, 0, SOURCE, 0x0A000002)
    udp = struct.pack("!HHHH", 1000 + number % 7, 5001, udp_bytes, 0)
    return bytes(12) + b"\x08\x00" + ip + udp + struct.pack("!I", number) + bytes(size - 46)


def write_capture(path: Path, packets: list[tuple[int, bytes]]) -> None:
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for time_us, data in packets:
            seconds, micros = divmod(time_us, 1_000_000)
            file.write(struct.pack("<IIII", 1_700_000_000 + seconds, micros, len(data), len(data)) + data)


def numbers_in(path: Path) -> list[int]:
    """Return the numbers of a capture's frames, in order; frames that `frame` does not make are left out."""
    data, at, numbers = path.read_bytes(), 24, []
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        if struct.unpack_from("!I", data, at + 16 + 26)[0] == SOURCE:
            numbers.append(struct.unpack_from("!I", data, at + 16 + 42)[0])
        at += 16 + length
    return numbers


class Order(pifolab.PythonObserver):
    def __init__(self) -> None:
        self.sent: list[int] = []
        self.dropped: dict[str, int] = {}

    def on_dequeue(self, port: int, packet: Any, queue: int, now_ns: int) -> None:
        self.sent.append(packet.arrival_ns)

    def on_drop(self, port: int, packet: Any, reason: str, now_ns: int) -> None:
        self.dropped[reason] = self.dropped.get(reason, 0) + 1


SCHEDULERS: list[dict[str, Any]] = [
    {"name": "fifo", "capacity_packets": 30},
    {"name": "pifo", "capacity_packets": 30},
    {"name": "sp-pifo", "queues": 4, "queue_capacity_packets": 8},
    {"name": "aifo", "capacity_packets": 30, "window": 20, "k": 0.1},
    {"name": "packs", "queues": 4, "queue_capacity_packets": 8, "window": 20, "k": 0.1},
    {"name": "rifo", "capacity_packets": 30},
    {"name": "exp-pifo", "queues": 4, "queue_capacity_packets": 8},
]


@pytest.mark.parametrize(
    ("scheduler", "rank"),
    [*((each, "dscp") for each in SCHEDULERS), (SCHEDULERS[1], "dscp:phb"), (SCHEDULERS[4], "dscp:EF=0,34=1,0=900")],
    ids=lambda each: each if isinstance(each, str) else each["name"],
)
def test_the_order_and_drops_of_a_capture_are_those_of_compare(
    node: str, tmp_path: Path, scheduler: dict[str, Any], rank: str
) -> None:
    draw = random.Random(scheduler["name"])
    at, packets, times = 0, [], []
    for number in range(4000):
        at += draw.choice([1, 2, 3, 5, 8, 13])
        times.append(at)
        packets.append((at, frame(draw.randrange(64), number, draw.randrange(64, 1400))))
    write_capture(tmp_path / "in.pcap", packets)
    compared = pifolab.compare(
        [scheduler], trace=tmp_path / "in.pcap", rate="1G", rank=rank, observers={"order": Order}
    )
    expected = compared.observers["order"][0].observer
    options = [
        word for key, value in scheduler.items() if key != "name" for word in (f"--{key.replace('_', '-')}", str(value))
    ]
    device_in, device_out = f"net_pcap0,rx_pcap={tmp_path}/in.pcap", f"net_pcap1,tx_pcap={tmp_path}/out.pcap"
    more = ["--clock", "capture", "--rate", "1G", "--rank", rank, "--scheduler", scheduler["name"], *options]
    counters = carried(words(node, device_in, device_out, *more))
    sent = numbers_in(tmp_path / "out.pcap")
    assert [(times[number] - times[0]) * 1000 for number in sent] == expected.sent
    dropped = {reason: tally["packets"] for reason, tally in counters["dropped"].items() if tally["packets"]}
    assert dropped == {reason.replace("-", "_"): count for reason, count in expected.dropped.items()}
    assert sum(dropped.values()) > 100, "the link was not overloaded"
    assert counters["held_at_end"]["packets"] == 0


def test_every_vector_agrees_through_the_node(node: str) -> None:
    vectors = sorted(str(path) for path in (ROOT / "conformance").glob("*.json"))
    done = subprocess.run([node, "--replay", *vectors], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    skipped, said = done.stdout.splitlines()
    assert " 0 mismatches" in said
    assert int(said.split()[1]) > 20
    assert skipped.startswith("skipped: ")
    reasons = skipped.removeprefix("skipped: ").split("), ")
    assert all("eligible" in reason or "bytes" in reason for reason in reasons), skipped
    assert said.endswith(f"; {len(reasons)} skipped")


def test_pifolab_conformance_replays_through_the_node(
    node: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIFOLAB_DPDK", node)
    vector = str(ROOT / "conformance" / "packs_bytes.json")
    assert main(["conformance", "--through", "dpdk", vector, "--json"]) == 0
    (counts,) = json.loads(capfd.readouterr().out)
    assert counts["through"] == "dpdk"
    assert counts["mismatches"] == 0
    assert counts["vectors"] + len(counts["skipped"]) == 1
    assert main(["conformance", "--through", "dpdk", vector]) == 0
    assert "dpdk: " in capfd.readouterr().out


@pytest.mark.parametrize("rate", [[], ["--rate", "2M"]])
def test_between_null_devices_every_frame_is_accounted_for(node: str, rate: list[str]) -> None:
    # At 2 Mb/s frames wait; the last hundred of them in 48 ms.
    counters = carried(
        words(node, "net_null0,size=60", "net_null1", "--packets", "5000", "--capacity-packets", "100", *rate)
    )
    assert counters["received"]["packets"] == 5000
    assert counters["held_at_end"]["packets"] == 0
    assert counters["not_ip"] == 5000
    if rate:
        assert counters["sent"]["bytes"] * 8 <= 2e6 * counters["time_s"] + 60 * 8
        assert counters["dropped"]["full"]["packets"] > 1000
    else:
        assert counters["sent"]["packets"] > 0


def test_a_signal_ends_it_with_its_counters(node: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        command = words(node, "net_null0,size=60", "net_null1", "--rate", "1M", "--interval-s", "0.05")
        with running(command) as process:
            wait_for_frames(process)
            process.send_signal(number)
            output, errors = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, errors
            assert last(output)["held_at_end"]["packets"] > 0


def test_sigterm_for_the_command_ends_the_node_too(node: str) -> None:
    command = words("node", "net_null0,size=60", "net_null1", "--rate", "1M", "--interval-s", "0.05")
    run = [Path(sys.executable).with_name("pifolab"), "dataplane", "dpdk", *command[1:]]
    with subprocess.Popen(
        run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PIFOLAB_DPDK": node}
    ) as process:
        wait_for_frames(process)
        process.terminate()
        # The pipes end with the node.
        output, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, errors
        assert last(output)["received"]["packets"] > 0


def test_a_ring_carries_what_it_is_given_in_a_circle(node: str) -> None:
    # A ring's sent frames are its received ones: without any, nothing comes, and it ends in time.
    counters = carried(words(node, "net_ring0", "net_ring0", "--duration-s", "0.3"))
    assert counters["received"]["packets"] == 0


TWO = ("--device-queues", "2")


def received_by_queue(counters: dict[str, Any]) -> list[int]:
    return [queue["received"]["packets"] for queue in counters["device_queues"]]


@pytest.mark.parametrize("rate", [[], ["--rate", "4M"]])
def test_two_queues_have_a_scheduler_each_and_share_the_link(node: str, rate: list[str]) -> None:
    more = [*TWO, "--packets", "5001", "--capacity-packets", "100", *rate]
    counters = carried(words(node, "net_null0,size=60", "net_null1", *more))
    assert counters["received"]["packets"] == 5001
    assert min(received_by_queue(counters)) > 0
    assert counters["held_at_end"]["packets"] == 0
    assert len(counters["queues"]) == 2
    if rate:
        # Each queue may have begun a frame at the same time.
        assert counters["sent"]["bytes"] * 8 <= 4e6 * counters["time_s"] + 2 * 60 * 8
        assert counters["dropped"]["full"]["packets"] > 1000


def test_two_queues_fill_two_rings(node: str) -> None:
    more = [*TWO, "--packets", "8000", "--capacity-packets", "10", "--duration-s", "1"]
    counters = carried(words(node, "net_null0,size=60", "net_ring0", *more))
    sent = [queue["sent"]["packets"] for queue in counters["device_queues"]]
    # Nobody takes frames out of the rings, so that each keeps what it has room for.
    assert all(500 < packets < 2048 for packets in sent), sent
    assert counters["device_full"] > 0


def tap() -> tuple[str, str]:
    """Return a device of DPDK's and the kernel's interface at its other end."""
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        pytest.skip("net_tap takes root and /dev/net/tun")
    interface = f"pf{os.getpid()}"
    return f"net_tap0,iface={interface}", interface


def test_a_device_that_offers_rss_is_asked_for_it_and_a_flow_stays_on_its_queue(node: str, tmp_path: Path) -> None:
    device_in, interface = tap()
    names = [tmp_path / name for name in ("x.pcap", "y.pcap")]
    device_out = f"net_pcap1,tx_pcap={names[0]},tx_pcap={names[1]}"
    command = words(node, device_in, device_out, *TWO, "--capacity-packets", "3000", *EVERY)
    with running(command) as process:
        wait_until_up(process)
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
            sender.bind((interface, 0))
            for number in range(700):
                sender.send(frame(number % 64, number, 64 + number))
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            assert process.stdout is not None
            if json.loads(process.stdout.readline())["received"]["packets"] >= 700:
                break
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors
    assert "no RSS" not in errors, "the device offers it, and the node asked for it"
    assert sum(received_by_queue(last(output))) >= 700
    # The flow of a number is its remainder by 7.
    flows = [{number % 7 for number in numbers_in(name)} for name in names]
    assert flows[0] | flows[1] == set(range(7))
    assert not flows[0] & flows[1], "a flow was on both queues"


def test_a_capture_that_could_not_be_written_is_an_error(node: str, tmp_path: Path) -> None:
    out = tmp_path / "out.pcap"
    # A file of 64 KiB at most is the disk. Python ignores the signal of such a limit, and so does the node then.
    command = ["prlimit", "--fsize=65536", *words(node, "net_null0,size=60", f"net_pcap1,tx_pcap={out}")]
    done = subprocess.run(
        [*command, "--packets", "5000", "--capacity-packets", "5000"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        restore_signals=False,
    )
    assert done.returncode == 1, done.stderr
    assert re.search(rf"{out}: \d+ of the 5000 frames were written: is the disk full\?\n", done.stderr), done.stderr


def test_a_pipe_or_a_device_gets_the_frames_and_is_said_not_to_be_counted(node: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        for file in (pipe, Path("/dev/null")):
            command = words(node, "net_null0,size=60", f"net_pcap1,tx_pcap={file}", "--packets", "500")
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            assert done.returncode == 0, done.stderr
            sent = last(done.stdout)["sent"]["packets"]
            assert f"{file} is not a file: whether it has all {sent} frames was not checked\n" in done.stderr
            if file == pipe:
                # The file's header, and that of each frame.
                assert len(reader.communicate(timeout=PATIENCE_S)[0]) == 24 + sent * (16 + 60)


def test_a_device_without_rss_is_reported(node: str) -> None:
    more = [*TWO, "--packets", "1000"]
    for device_in, offers in [("net_null0,size=60", True), ("net_ring0", False)]:
        command = words(node, device_in, "net_null1", *more, "--duration-s", "0.2")
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stderr
        said = f"--in {device_in.partition(',')[0]}: no RSS: the sender picks the queue of each frame"
        assert (said in done.stderr) is not offers


def test_order_holds_within_each_of_two_queues(node: str, tmp_path: Path) -> None:
    draw = random.Random(45)
    numbers = {"a": range(1000), "b": range(1000, 1700)}
    for name, own in numbers.items():
        packets = [(number, frame(draw.randrange(64), number, draw.randrange(64, 1400))) for number in own]
        write_capture(tmp_path / f"{name}.pcap", packets)
    device_in = f"net_pcap0,rx_pcap={tmp_path}/a.pcap,rx_pcap={tmp_path}/b.pcap"
    device_out = f"net_pcap1,tx_pcap={tmp_path}/x.pcap,tx_pcap={tmp_path}/y.pcap"
    more = [*TWO, "--packets", "1700", "--scheduler", "fifo", "--capacity-packets", "2000"]
    counters = carried(words(node, device_in, device_out, *more))
    assert received_by_queue(counters) == [1000, 700]
    assert [numbers_in(tmp_path / name) for name in ("x.pcap", "y.pcap")] == [list(own) for own in numbers.values()]


@pytest.mark.parametrize("given", [[], ["--rank-not-ip", "share:20"], ["--rank-not-ip", "0"]])
def test_frames_that_are_not_ip_get_their_share_of_the_link_and_no_more(
    node: str, tmp_path: Path, given: list[str]
) -> None:
    draw = random.Random("share")
    at, packets = 0, []
    for number in range(6000):
        at += draw.choice([1, 2, 3])
        data = frame(draw.randrange(60), number, draw.randrange(64, 1400))
        other = draw.random() < 0.3
        packets.append((at, data[:12] + draw.choice([b"\x88\xb5", b"\x08\x06"]) + data[14:] if other else data))
    write_capture(tmp_path / "in.pcap", packets)
    device_in, device_out = f"net_pcap0,rx_pcap={tmp_path}/in.pcap", f"net_pcap1,tx_pcap={tmp_path}/out.pcap"
    more = ["--clock", "capture", "--rate", "1G", "--capacity-packets", "30", *given]
    counters = carried(words(node, device_in, device_out, *more))
    sizes = {number: (len(data), data[12:14] != b"\x08\x00") for number, (_, data) in enumerate(packets)}
    sent = [sizes[number] for number in numbers_in(tmp_path / "out.pcap")]
    others, all_sent = sum(size for size, other in sent if other), sum(size for size, _ in sent)
    # Beyond the share: 16 KiB at once, and what finds room before the buffer is full and after the last arrival.
    share = 0.2 if given == ["--rank-not-ip", "share:20"] else 0.05
    most = share * all_sent + 16_384 + 2 * 30 * 1400
    if given == ["--rank-not-ip", "0"]:
        assert others > most
        assert counters["over_share"] == 0
    else:
        assert share * all_sent < others <= most
        assert counters["over_share"] > 500


EVERY = ("--interval-s", "0.05")


def test_a_node_keeps_a_record_for_status_while_it_runs(node: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root writes to /run/pifolab")
    command = words(node, "net_null0,size=60", "net_null1", "--rate", "1M", *EVERY)
    with running(command) as process:
        wait_for_frames(process)
        record = Path(f"/run/pifolab/{process.pid}.node.json")
        said = json.loads(record.read_text())
        assert said["process"]["pid"] == process.pid
        assert said["counters"]["output"] == "net_null1"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
        assert not record.exists()


def memif(role: str, folder: Path) -> str:
    return f"net_memif0,role={role},socket={folder}/m.sock,socket-abstract=no"


def test_memif_between_two_processes_conserves_frames(node: str, tmp_path: Path) -> None:
    server = words(node, memif("server", tmp_path), "net_null1", "--packets", "20000", *EVERY)
    client = words(node, "net_null0,size=60", memif("client", tmp_path), "--scheduler", "fifo")
    with running(server) as receiver:
        wait_until_up(receiver)
        both_conserve(receiver, client)


def test_memif_with_two_queues_conserves_frames(node: str, tmp_path: Path) -> None:
    server = words(node, memif("server", tmp_path), "net_null1", *TWO, "--packets", "20000", *EVERY)
    client = words(node, "net_null0,size=60", memif("client", tmp_path), *TWO, "--scheduler", "fifo")
    with running(server) as receiver:
        wait_until_up(receiver)
        counters, errors = both_conserve(receiver, client)
    assert min(received_by_queue(counters)) > 0
    assert "--in net_memif0: no RSS: the sender picks the queue of each frame" in errors


def both_conserve(receiver: subprocess.Popen[str], client: list[str]) -> tuple[dict[str, Any], str]:
    with running(client) as sender:
        output, said = receiver.communicate(timeout=PATIENCE_S)
        assert receiver.returncode == 0, said
        counters = last(output)
        assert counters["received"]["packets"] == 20000
        output, errors = sender.communicate(timeout=PATIENCE_S)
        assert sender.returncode == 1
        assert "net_memif0: the link is down" in errors
        assert last(output)["sent"]["packets"] >= 20000
        return counters, said


def test_a_second_client_or_server_of_a_memif_is_reported_and_leaves_the_first_ones_alone(
    node: str, tmp_path: Path
) -> None:
    command = words(node, memif("server", tmp_path), "net_null1", *EVERY)
    client = words(node, "net_null0,size=60", memif("client", tmp_path), "--rate", "5M", *EVERY)
    with running(command) as receiver:
        wait_until_up(receiver)
        with running(client) as first:
            wait_for_frames(receiver)
            server = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            assert server.returncode == 2
            assert "Address already in use" in server.stderr
            assert "DPDK does not make it" in server.stderr
            with running(client) as second:
                assert second.stderr is not None
                said = "net_memif0: the link is not up yet: no process is connected, or it serves another one\n"
                assert any(line == f"pifolab: {said}" for line in second.stderr)
                second.send_signal(signal.SIGINT)
                output, errors = second.communicate(timeout=PATIENCE_S)
                assert second.returncode == 0, errors
                assert last(output)["sent"]["packets"] == 0
            wait_for_frames(receiver)
            first.send_signal(signal.SIGINT)
            output, errors = first.communicate(timeout=PATIENCE_S)
            assert first.returncode == 0, errors
            sent = last(output)["sent"]["packets"]
            output, errors = receiver.communicate(timeout=PATIENCE_S)
            assert receiver.returncode == 1
            assert "not up yet" not in errors
            assert 0 < last(output)["received"]["packets"] <= sent


@pytest.mark.parametrize("killed", ["sender", "receiver"])
def test_when_its_peer_is_killed_it_ends_with_a_line_and_its_counters(node: str, tmp_path: Path, killed: str) -> None:
    server = words(node, memif("server", tmp_path), "net_null1", "--rate", "5M", *EVERY)
    client = words(node, "net_null0,size=60", memif("client", tmp_path))
    with running(server) as receiver:
        wait_until_up(receiver)
        the_other_ends(receiver, client, killed)


def the_other_ends(receiver: subprocess.Popen[str], client: list[str], killed: str) -> None:
    with running(client) as sender:
        wait_for_frames(receiver)
        peer, left = (sender, receiver) if killed == "sender" else (receiver, sender)
        peer.kill()
        output, errors = left.communicate(timeout=PATIENCE_S)
        assert left.returncode == 1
        assert "net_memif0: the link is down, since the process at its other end is gone" in errors
        assert last(output)["received"]["packets"] > 0


def test_drawn_kills_of_the_peer_lose_no_frame_from_the_account(node: str, tmp_path: Path) -> None:
    draw = random.Random("kills")
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        rate = ["--rate", f"{draw.randrange(1, 200)}M"] if draw.random() < 0.5 else []
        queues = TWO if draw.random() < 0.5 else ()
        scheduler = draw.choice(["fifo", "pifo", "sp-pifo", "aifo", "packs", "rifo", "exp-pifo", "slack-sp"])
        server = words(node, memif("server", folder), "net_null1", *queues, *rate, "--scheduler", scheduler, *EVERY)
        client = words(node, "net_null0,size=60", memif("client", folder), *queues, "--scheduler", scheduler, *EVERY)
        with running(server) as receiver:
            wait_until_up(receiver)
            with running(client) as sender:
                wait_for_frames(receiver)
                time.sleep(draw.random() * 0.1)
                peer, left = draw.sample([sender, receiver], 2)
                peer.kill()
                output, errors = left.communicate(timeout=PATIENCE_S)
                assert left.returncode == 1, (number, errors)
                assert "net_memif0: the link is down" in errors
                # `last` checks the balance.
                assert last(output)["received"]["packets"] > 0


def test_parameters_change_while_frames_wait_and_metrics_are_kept(node: str, tmp_path: Path) -> None:
    file, metrics = tmp_path / "parameters", tmp_path / "node.prom"
    file.write_text("capacity_packets = 50\nrate_mbps = 1\n")
    more = ["--parameters", str(file), "--metrics", str(metrics), "--interval-s", "0.05"]
    with running(words(node, "net_null0,size=60", "net_null1", *more)) as process:
        wait_for_frames(process)
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["held"] >= 50
        file.write_text("capacity_packets = 10\nrate_mbps = 1\n")
        assert process.stderr is not None
        line = next(line for line in process.stderr if "parameters" in line)
        assert line == "pifolab: pifo now has the new parameters\n"
        file.write_text("capacity_packets = 0\n")
        line = next(line for line in process.stderr if "parameters" in line)
        assert "capacity_packets" in line
        assert line.endswith("the parameters are unchanged\n")
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, errors
        counters = last(output)
        assert counters["dropped"]["at_change"]["packets"] == 40
        assert counters["queues"][0]["occupancy"] == 10
    text = metrics.read_text()
    packets = counters["received"]["packets"]
    assert f'pifolab_received_packets_total{{interface="net_null1",scheduler="pifo"}} {packets}\n' in text
    assert 'pifolab_up{interface="net_null1",scheduler="pifo"} 1\n' in text


NULLS = ("net_null0", "net_null1")


@pytest.mark.parametrize(
    ("devices", "more", "status", "said"),
    [
        (NULLS, ["--in", "net_null7"], 2, "--in net_null7: no such device; there are net_null0, net_null1"),
        (NULLS, ["--rate", "fast"], 2, '"fast": expected a rate from 1k to 1000G'),
        (NULLS, ["--rate", "0"], 2, '"0": expected a rate'),
        (NULLS, ["--scheduler", "pack"], 2, "did you mean packs?"),
        (NULLS, ["--capacity-packets", "0"], 2, "capacity_packets"),
        (NULLS, ["--rank", "mark"], 2, "--rank mark: frames do not carry"),
        (NULLS, ["--scheduler", "tree", "--policy", "fifo[0]", "--classify", "dscp"], 2, "needs the fact dscp"),
        (NULLS, ["--clock", "capture"], 2, "--clock capture: --rate is missing"),
        (NULLS, ["--clock", "capture", "--rate", "1G"], 2, "expected a device that replays a capture"),
        (
            ("net_pcap0,rx_pcap=/nowhere.pcap", "net_null1"),
            ["--clock", "capture", "--rate", "1G"],
            2,
            "/nowhere.pcap: not a capture in a file that can be read",
        ),
        (
            ("net_pcap0,rx_pcap=/dev/null", "net_null1"),
            ["--clock", "capture", "--rate", "1G"],
            2,
            "/dev/null: not a capture in a file that can be read",
        ),
        (NULLS, ["--capacity-packets", "4000000"], 3, "--memory-mb 128: no memory for 4008191 frames"),
        (NULLS, ["--memory-mb", "0"], 2, "invalid value '0' for '--memory-mb <MB>': 0 is not in 1..=524288"),
        (NULLS, ["--memory-mb", "8"], 3, "--memory-mb 8: no memory for "),
        (NULLS, ["--overhead-bytes", "24"], 2, "--overhead-bytes 24: has no effect without --rate"),
        (NULLS, ["--flow-timeout-s", "1"], 2, "--flow-timeout-s 1: has no effect: pifo by dscp has no flows"),
        (NULLS, ["--json"], 2, "'--json'"),
        (NULLS, ["--vdev", "net_null0"], 2, "--vdev net_null0: there is a device net_null0: expected another number"),
        (NULLS, ["--vdev", "net_none0"], 2, "--vdev net_none0: DPDK does not make it"),
        (NULLS, ["--vdev", "net_null2,siz=4"], 2, "--vdev net_null2,siz=4: DPDK does not make it"),
        (NULLS, ["--parameters", "/dev/zero"], 2, "/dev/zero: cannot be read: it has more than 100 MiB"),
        (
            ("net_null0", "net_memif0,role=client,socket=/tmp/pifolab-no-server.sock,socket-abstract=no"),
            [],
            1,
            "--out net_memif0: it does not start",
        ),
        (NULLS, ["--core", "4000"], 2, "--core 4000: expected one of the processors "),
        (NULLS, ["--device-queues", "0"], 2, "0 is not in 1..=128"),
        (NULLS, ["--device-queues", "128"], 2, "--device-queues 128: there are "),
        (
            NULLS,
            ["--device-queues", "2", "--core", "1"],
            2,
            "--device-queues 2: --core has 1 processors: expected one for each queue",
        ),
        (
            NULLS,
            ["--device-queues", "2", "--clock", "capture", "--rate", "1G"],
            2,
            "--device-queues 2: --clock capture: expected 1",
        ),
        (
            ("net_pcap0,rx_pcap={EMPTY}", "net_null1"),
            ["--device-queues", "2"],
            2,
            "--device-queues 2: --in net_pcap0 has at most 1",
        ),
        (NULLS, ["--rank-not-ip", "share:80"], 2, '"share:80": expected a share from 0.1 to 50 percent'),
        (
            ("net_memif0,role=server,socket=/proc/m.sock,socket-abstract=no", "net_null1"),
            [],
            2,
            "--vdev net_memif0,role=server,socket=/proc/m.sock,socket-abstract=no: DPDK does not make it",
        ),
        (NULLS, ["--metrics", "/nowhere/x"], 2, "--metrics /nowhere/x: "),
        (NULLS, ["--duration-s", "2000000"], 2, "--duration-s 2000000: expected from 0"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    node: str, tmp_path: Path, devices: tuple[str, str], more: list[str], status: int, said: str
) -> None:
    write_capture(tmp_path / "empty.pcap", [])
    command = words(node, *(device.replace("{EMPTY}", f"{tmp_path}/empty.pcap") for device in devices), *more)
    if more[:1] in (["--in"], ["--memory-mb"]):
        at = command.index(more[0])
        del command[at : at + 2]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == status, done.stderr
    assert said in done.stderr


@contextmanager
def huge_pages(count: int) -> Iterator[int]:
    """Ask the kernel for huge pages; yield how many are free then."""
    setting = Path("/proc/sys/vm/nr_hugepages")
    before = setting.read_text()
    try:
        with suppress(OSError):
            setting.write_text(str(count))
        free = re.search(r"HugePages_Free:\s+(\d+)", Path("/proc/meminfo").read_text())
        yield int(free[1]) if free else 0
    finally:
        with suppress(OSError):
            setting.write_text(before)


def test_without_huge_pages_it_says_what_works(node: str) -> None:
    with huge_pages(0) as free:
        if free:
            pytest.skip("this machine has huge pages")
        command = [word for word in words(node, *NULLS) if word != "--no-huge"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 3
        assert "no huge page is free: --no-huge works without" in done.stderr


def test_without_rights_it_works_without_huge_pages_and_says_in_a_line_what_it_cannot(node: str) -> None:
    with tempfile.TemporaryDirectory(prefix="pifolab-dpdk-") as name:
        folder = Path(name)
        program = shutil.copy(node, folder)
        user: list[str] = []
        if os.geteuid() == 0:
            folder.chmod(0o755)
            # Nobody, with no group and no capability.
            user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
        carries = words(program, "net_null0,size=60", "net_null1", "--packets", "1000")
        done = subprocess.run([*user, *carries], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stderr
        assert last(done.stdout)["received"]["packets"] == 1000
        ours = [line for line in done.stderr.splitlines() if line.startswith("pifolab: ")]
        assert len(ours) == 1, done.stderr
        assert "pifolab dataplane status does not list this node" in ours[0]
        tap = words(program, "net_tap0", "net_null1", "--packets", "1000")
        done = subprocess.run([*user, *tap], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode != 0
        ours = [line for line in done.stderr.splitlines() if line.startswith("pifolab: ")]
        assert len(ours) == 1, done.stderr
        assert "net_tap0" in ours[0] or "DPDK does not start" in ours[0]


def test_it_carries_frames_in_huge_pages(node: str) -> None:
    with huge_pages(80) as free:
        if free < 64:
            pytest.skip(f"{free} huge pages are free, and this user or machine makes no 64")
        command = [word for word in words(node, "net_null0,size=60", "net_null1") if word != "--no-huge"]
        assert carried([*command, "--packets", "1000"])["received"]["packets"] == 1000
