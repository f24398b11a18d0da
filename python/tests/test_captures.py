"""Captures as a user has them: understood in part, cut off, out of order, empty."""

from __future__ import annotations

import gzip
import os
import random
import shlex
import struct
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import pifolab
from pifolab import pcap_filter
from pifolab.cli import main


def ethernet(kind: int, payload: bytes) -> bytes:
    return bytes(12) + struct.pack("!H", kind) + payload


def udp(source: int, payload: bytes = b"") -> bytes:
    return struct.pack("!4H", source, 9, 8 + len(payload), 0) + payload


def ipv4(payload: bytes, protocol: int = 17) -> bytes:
    length = 20 + len(payload)
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, length, 0, 0, 64, protocol, 0, b"\n\0\0\1", b"\n\0\0\2") + payload


def capture(path: Path, packets: list[tuple[int, bytes]]) -> Path:
    """Write packets with their times in microseconds."""
    data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for time_us, packet in packets:
        data += struct.pack("<IIII", 0, time_us, len(packet), len(packet)) + packet
    path.write_bytes(data)
    return path


def compare(trace: Path, out: Path, *more: str) -> int:
    options = ["--rate", "1G", "--rank", "las", "--schedulers", "pifo,fifo", "--no-figures", *more]
    return main(["compare", "--trace", str(trace), *options, "--out", str(out)])


def test_the_flows_in_mpls_pppoe_and_vxlan_are_told_apart(tmp_path, capsys):
    import polars as pl

    frames = []
    for source in (1, 2, 3):
        inner = ipv4(udp(source))
        frames.append(ethernet(0x8847, bytes([0, 1, 0, 64]) + bytes([0, 2, 1, 64]) + inner))
        inner = ipv4(udp(source + 10))
        session = struct.pack("!BBHHH", 0x11, 0, 7, len(inner) + 2, 0x0021)
        frames.append(ethernet(0x8864, session + inner))
        carried = bytes([8, 0, 0, 0, 0, 0, 42, 0]) + ethernet(0x0800, ipv4(udp(source + 20)))
        # A switch would draw the outer source port from the inner flow; here it is one for all.
        outer = struct.pack("!4H", 50000, 4789, 8 + len(carried), 0) + carried
        frames.append(ethernet(0x0800, ipv4(outer)))
    trace = capture(tmp_path / "tunnels.pcap", [(place, frame) for place, frame in enumerate(frames)])
    assert compare(trace, tmp_path / "run") == 0
    assert "tunnels.pcap" not in capsys.readouterr().err
    flows = pl.read_parquet(tmp_path / "run" / "flows.parquet").filter(scheduler="fifo")["flow_name"]
    sources = sorted(int(name.split(":")[1].split(" ")[0]) for name in flows)
    assert sources == [1, 2, 3, 11, 12, 13, 21, 22, 23]


def test_the_share_that_could_not_be_told_apart_is_said(tmp_path, capsys):
    frames = [ethernet(0x0800, ipv4(udp(1)))] * 6 + [ethernet(0x88CC, bytes(50))] * 3
    frames += [ethernet(0x0800, ipv4(bytes(40), protocol=50))]
    trace = capture(tmp_path / "mixed.pcap", [(place, frame) for place, frame in enumerate(frames)])
    assert compare(trace, tmp_path / "run") == 0
    said = capsys.readouterr().err
    assert "mixed.pcap: 30 % of the packets (3 of 10) are not IP" in said
    assert "mixed.pcap: 10 % of the packets (1 of 10) are in tunnels whose inside could not be read" in said


def test_a_last_packet_that_is_not_whole_is_left_out_with_a_line(tmp_path, capsys):
    frame = ethernet(0x0800, ipv4(udp(1)))
    trace = capture(tmp_path / "cut.pcap", [(0, frame), (1, frame), (2, frame)])
    trace.write_bytes(trace.read_bytes()[:-5])
    assert compare(trace, tmp_path / "run") == 0
    shown = capsys.readouterr()
    assert "cut.pcap: packet 3 at byte 140: the file is cut off in the packet: 37 of 42 bytes; it was left out" in (
        shown.err
    )
    assert shown.out.splitlines()[3].split()[:2] == ["pifo", "2"]
    # The summary names the file as the user did, and measures no peak over more than the trace's length.
    assert main(["trace", str(trace)]) == 0
    said = capsys.readouterr().out
    assert "- cut.pcap: packet 3 at byte 140" in said
    assert str(tmp_path) not in said
    assert "peak rate  not measured: the trace is not longer than 1 ms" in said


def test_the_error_that_asks_for_sorting_names_the_flag_and_the_flag_sorts(tmp_path, capsys):
    frame = ethernet(0x0800, ipv4(udp(1)))
    trace = capture(tmp_path / "late.pcap", [(5, frame), (2, frame)])
    assert compare(trace, tmp_path / "run") == 2
    problem = capsys.readouterr().err
    assert "is 3 us earlier than the previous packet" in problem
    assert "sort the trace with --sort" in problem
    assert compare(trace, tmp_path / "run", "--sort") == 0
    assert main(["compare", "--ranks", "uniform", "--rate", "1G", "--sort"]) == 2
    assert "--sort has no effect without --trace: remove it" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["pcap", "csv"])
def test_an_empty_trace_is_an_error(kind, tmp_path, capsys):
    trace = tmp_path / f"empty.{kind}"
    if kind == "pcap":
        capture(trace, [])
    else:
        trace.write_text("time_ns,size_bytes\n")
    assert compare(trace, tmp_path / "run") == 2
    assert f"empty.{kind}: has no packets: expected at least one" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def stream(packets: int, gap_us: int) -> str:
    return "time_us,size_bytes\n" + "".join(f"{place * gap_us},1500\n" for place in range(packets))


def test_a_trace_is_read_once_so_that_a_pipe_of_the_shell_is_summarised(tmp_path):
    file = tmp_path / "a.csv.gz"
    file.write_bytes(gzip.compress(stream(4, 1000).encode()))
    command = f"{shlex.quote(str(Path(sys.executable).with_name('pifolab')))} trace"
    for line in (f"{command} <(zcat {file})", f"zcat {file} | {command} /dev/stdin", f"{command} {file}"):
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert "mean rate  12 Mb/s\npeak rate  12 Mb/s (over 1 ms)" in done.stdout
    assert "CSV (time_us,size_bytes), gzip" in done.stdout


def test_no_rate_or_share_of_a_trace_that_is_above_0_is_printed_as_0(tmp_path, capsys):
    file = tmp_path / "slow.csv"
    for rows, written in (
        ("0,1,7\n100000,1,7\n200000,1,7\n", "mean rate  8e-05 b/s\npeak rate  0.03052 b/s (over 262 s)"),
        ("0,1,7\n100000,9000000,8\n200000,1,7\n", "\n7           2      2e-05\n"),
    ):
        file.write_text("time_s,size_bytes,flow\n" + rows)
        assert main(["trace", str(file)]) == 0
        assert written in capsys.readouterr().out


def test_a_named_pipe_is_refused_at_once(tmp_path, capsys):
    pipe = tmp_path / "pipe.pcap"
    os.mkfifo(pipe)
    assert main(["trace", str(pipe)]) == 2
    expected = f"{pipe}: is a named pipe: expected a file, or a pipe of the shell as in <(zcat FILE)"
    assert expected in capsys.readouterr().err


def test_the_peak_rate_is_never_below_the_mean(tmp_path):
    draw = random.Random(4)
    file = tmp_path / "drawn.csv"
    for _ in range(60):
        times = sorted(draw.randrange(10 ** draw.randrange(3, 9)) for _ in range(draw.randrange(2, 40)))
        rows = "".join(f"{time},{draw.randrange(1, 9000)}\n" for time in times)
        file.write_text("time_us,size_bytes\n" + rows)
        found = pifolab.summarise_trace(file)
        assert found.peak_bps is None or (found.mean_bps is not None and found.peak_bps >= found.mean_bps), rows


def test_a_trace_longer_than_a_run_is_summarised_and_a_run_names_the_speed_up(tmp_path, capsys):
    file = tmp_path / "long.csv"
    file.write_text("time_s,size_bytes\n0,1500\n34560000,1500\n")
    found = pifolab.summarise_trace(file)
    assert (found.packets, found.span_s) == (2, 34_560_000)
    assert main(["trace", str(file)]) == 0
    capsys.readouterr()
    assert compare(file, tmp_path / "run") == 2
    expected = "expected a shorter trace, or a faster one with --speed-up (in a scenario: speed_up)"
    assert expected in capsys.readouterr().err
    assert compare(file, tmp_path / "run", "--speed-up", "10") == 0


def test_one_odd_packet_is_counted_and_the_others_are_read(tmp_path, capsys):
    frame = ethernet(0x0800, ipv4(udp(1)))
    trace = capture(tmp_path / "odd.pcap", [(place, frame) for place in range(9)])
    # The first packet has 4 captured bytes, the last one none at all.
    record = struct.pack("<IIII", 0, 0, 4, len(frame)) + frame[:4]
    trace.write_bytes(trace.read_bytes()[:24] + record + trace.read_bytes()[24:] + struct.pack("<IIII", 0, 9, 0, 0))
    assert main(["trace", str(trace)]) == 0
    said = capsys.readouterr().out
    assert "packets    10" in said
    assert "odd.pcap: 10 % of the packets (1 of 10) are captured with too few bytes for their addresses" in said
    assert "a packet of 0 bytes: expected at least 1; it was left out" in said
    assert "all packets were understood" not in said
    assert compare(trace, tmp_path / "run") == 0


def test_numbers_as_other_tools_print_them_are_read_and_rounding_is_said(tmp_path, capsys):
    trace = tmp_path / "t.csv"
    trace.write_text("time_s,size_bytes\n0,1500.0\n1e-05,1.5e+03\n0.30000000000000004,1500\n")
    assert main(["trace", str(trace)]) == 0
    said = capsys.readouterr().out
    assert "300 ms" in said
    assert "at times finer than a picosecond: rounded to it" in said


def test_dscps_are_ranked_by_behaviour_and_a_note_offers_it(tmp_path, capsys):
    def marked(dscp: int) -> bytes:
        packet = ipv4(udp(dscp + 1))
        return ethernet(0x0800, packet[:1] + bytes([dscp << 2]) + packet[2:])

    trace = capture(tmp_path / "t.pcap", [(0, marked(dscp)) for dscp in (0, 34, 46, 48)])
    options = ["--rate", "1G", "--schedulers", "pifo", "--no-figures"]
    assert main(["compare", "--trace", str(trace), "--rank", "dscp", *options, "--out", str(tmp_path / "a")]) == 0
    assert "best effort (0) goes before CS6, EF, AF41: --rank dscp:phb" in capsys.readouterr().err
    for flags in (["--rank", "dscp:phb"], ["--rank", "dscp", "--rank-map", "48=0,46=1"]):
        out = tmp_path / flags[-1].replace("=", "-")
        assert main(["compare", "--trace", str(trace), *flags, *options, "--out", str(out)]) == 0
        assert "dscp:phb" not in capsys.readouterr().err
    assert main(["compare", "--trace", str(trace), "--rank", "dscp:70=1", *options, "--out", str(tmp_path / "x")]) == 2
    assert "--rank-map" in capsys.readouterr().err


def test_a_rank_function_on_carried_ranks_can_have_them_from_the_trace(tmp_path, capsys):
    trace = tmp_path / "t.csv"
    trace.write_text("time_us,size_bytes,rank\n0,1500,3\n1,1500,1\n2,1500,2\n")
    options = ["--rate", "1G", "--schedulers", "pifo", "--no-figures", "--rank", "carried"]
    assert main(["compare", "--trace", str(trace), *options, "--out", str(tmp_path / "a")]) == 2
    said = capsys.readouterr().err
    assert "carried works on ranks that the trace carries: set workload.trace_rank, too" in said
    both = ["--set", "workload.trace_rank=column", "--out", str(tmp_path / "b")]
    assert main(["compare", "--trace", str(trace), *options, *both]) == 0


def test_ranks_that_a_capture_carries_in_its_payload_are_compared(tmp_path):
    ranks = [7, 3, 9, 3]
    frames = [ethernet(0x0800, ipv4(udp(1, struct.pack("!I", rank)))) for rank in ranks]
    trace = capture(tmp_path / "ranked.pcap", [(place, frame) for place, frame in enumerate(frames)])
    place = {"workload.payload_offset_bytes": 0, "workload.payload_width_bytes": 4}
    result = pifolab.compare(["pifo"], trace=trace, rank="payload", rate="1G", overrides=place)
    assert result["ranks"].select("rank", "departures").rows() == [(3, 2), (7, 1), (9, 1)]


def kept_by(filter: str, trace: Path) -> tuple[int, int]:
    found = pifolab.captures.summarise_trace(trace, filter=filter)
    return found.packets, round(found.span_s * 1e9)


@pytest.mark.skipif(pcap_filter._library() is None, reason="needs libpcap")
def test_a_pcap_filter_keeps_what_it_says_with_its_times(tmp_path, capsys):
    drawing = random.Random(3)
    for _ in range(20):
        packets = []
        for at in range(drawing.randint(5, 60)):
            port = drawing.choice([53, 80, 443])
            inner = ipv4(udp(port, bytes(drawing.randint(0, 900))), drawing.choice([6, 17]))
            packets.append((at * drawing.randint(1, 9) + 1000 * at, ethernet(0x800, inner)))
        # The name of the copy, too.
        file = capture(tmp_path / "whole.pcap", packets)
        zipped = tmp_path / "c.pcap.gz"
        zipped.write_bytes(gzip.compress(file.read_bytes()))
        for filter, keeps in (
            ("udp src port 53", lambda frame: frame[23] == 17 and frame[34:36] == b"\0\x35"),
            ("greater 400 and not tcp", lambda frame: len(frame) >= 400 and frame[23] != 6),
        ):
            times = [time for time, frame in packets if keeps(frame)]
            if not times:
                continue
            expected = (len(times), (times[-1] - times[0]) * 1000)
            assert kept_by(filter, file) == expected
            assert kept_by(filter, zipped) == expected
    assert main(["trace", str(file), "--filter", "less 5000"]) == 0
    assert f"packets    {len(packets)} " in capsys.readouterr().out
    run = pifolab.compare(["fifo"], trace=file, rank="las", rate="1G", filter="udp or tcp")
    assert run["schedulers"]["arrived_packets"].item() == len(packets)
    assert run.manifest["spec"]["workload"]["trace"] == f"{file} (udp or tcp)"


@pytest.mark.skipif(pcap_filter._library() is None, reason="needs libpcap")
@pytest.mark.parametrize(
    ("filter", "problem"),
    [
        ("udp prot 53", "filter = udp prot 53: not a pcap filter: "),
        ("udp\0 port 53", "filter = 'udp\\x00 port 53': expected ASCII text without null characters"),
        ("udp port ü", "filter = 'udp port \\xfc': expected ASCII text without null characters"),
        ("arp", "filter = arp: keeps no packet of {file}; expected some (behind a VLAN tag: vlan and ...)"),
    ],
)
def test_a_pcap_filter_that_makes_no_sense_is_one_line(tmp_path, capsys, filter, problem):
    file = capture(tmp_path / "c.pcap", [(0, ethernet(0x800, ipv4(udp(1))))])
    assert main(["trace", str(file), "--filter", filter]) == 2
    assert problem.format(file=file) in capsys.readouterr().err
    csv = tmp_path / "t.csv"
    csv.write_text("time_us,size_bytes\n0,1500\n")
    assert main(["trace", str(csv), "--filter", "udp"]) == 2
    assert f"{csv}: a pcap filter needs a pcap or pcapng file: " in capsys.readouterr().err
    with pytest.raises(pifolab.InputError, match="filter has no effect without trace, a capture: remove it"):
        pifolab.compare(["fifo"], ranks="uniform", rate="1G", load=1, duration="1ms", filter="udp")
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(file.read_bytes())[:-9])
    assert main(["trace", str(cut), "--filter", "udp"]) == 2
    assert f"{cut}: cannot be unpacked: " in capsys.readouterr().err


def test_without_libpcap_a_pcap_filter_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(pcap_filter, "_library", lambda: None)
    file = capture(tmp_path / "c.pcap", [(0, ethernet(0x800, ipv4(udp(1))))])
    assert main(["trace", str(file), "--filter", "udp"]) == 2
    assert "filter = udp: needs libpcap: install libpcap0.8" in capsys.readouterr().err


def test_most_flows_with_a_reverse_flow_are_said_in_trace_compare_and_report(tmp_path, capsys):
    def packet(source: int, back: bool) -> bytes:
        data = bytearray(ethernet(0x0800, ipv4(udp(source))))
        if back:
            data[26:30], data[30:34], data[34:36], data[36:38] = data[30:34], data[26:30], data[36:38], data[34:36]
        return bytes(data)

    rng = random.Random(42)
    for _ in range(40):
        flows = rng.randrange(1, 9)
        answered = rng.sample(range(flows), rng.randrange(flows + 1))
        sent = [(source, False) for source in range(flows)] + [(source, True) for source in answered]
        # Packets that are not IP have no other direction.
        packets = [packet(100 + source, back) for source, back in sent] + [ethernet(0x88CC, b"lldp")] * rng.randrange(2)
        file = capture(tmp_path / "both.pcap", list(enumerate(packets)))
        found = pifolab.summarise_trace(file)
        if 4 * len(answered) <= found.flows:
            assert found.both_ways is None
            continue
        said = (
            f"both.pcap: {2 * len(answered)} of {found.flows} flows have a reverse flow, but a port sends one direction"
        )
        assert found.both_ways is not None
        assert found.both_ways.startswith(said)
        assert not any("reverse" in note for note in found.notes)
        assert "--filter 'dst host 10.0.0.2' keeps" in found.both_ways
        assert found.both_ways in pifolab.compare(["pifo"], trace=file, rank="las", rate="1G").notes
        if pcap_filter.pcap_library():
            assert pifolab.summarise_trace(file, filter="dst host 10.0.0.2").both_ways is None
    file = capture(tmp_path / "both.pcap", [(0, packet(1, False)), (1, packet(1, True))])
    assert main(["trace", str(file)]) == 0
    assert "\nboth directions\n- both.pcap: 2 of 2 flows have a reverse flow" in capsys.readouterr().out
    assert compare(file, tmp_path / "out") == 0
    assert "both.pcap: 2 of 2 flows have a reverse flow" in capsys.readouterr().err


SEVERAL = """
[link]
rate_gbps = 1
[[scheduler]]
name = "pifo"
capacity_packets = 9
[[scheduler]]
name = "drr"
capacity_packets = 9
"""


def test_several_traces_are_replayed_as_one(tmp_path):
    rng = random.Random(7)
    counts = ("arrived_packets", "sent_packets", "dropped_packets", "inversions", "sojourn_mean_ns")
    for _ in range(40):
        sources, together = "", []
        for place in range(rng.randrange(2, 5)):
            start = rng.choice([0, 0, 3, 50])
            times = sorted(rng.randrange(100) for _ in range(rng.randrange(1, 40)))
            # The first packet arrives at `start`.
            rows = [(at - times[0], rng.randrange(64, 1500), rng.randrange(9), f"f{rng.randrange(4)}") for at in times]
            body = "".join(f"{at},{size},{rank},{flow}\n" for at, size, rank, flow in rows)
            (tmp_path / f"{place}.csv").write_text("time_us,size_bytes,rank,flow\n" + body)
            sources += f'[[workload]]\ntrace = "{place}.csv"\ntrace_rank = "column"\n'
            sources += f"start_us = {start}\n" if start else ""
            together += [(at + start, place, size, rank, f"{place}{flow}") for at, size, rank, flow in rows]
        # At equal times the packets of earlier traces come first.
        together.sort(key=lambda row: row[:2])
        body = "".join(f"{at},{size},{rank},{flow},{place}\n" for at, place, size, rank, flow in together)
        (tmp_path / "all.csv").write_text("time_us,size_bytes,rank,flow,class\n" + body)
        (tmp_path / "several.toml").write_text(sources + SEVERAL)
        whole = '[workload]\ntrace = "all.csv"\ntrace_rank = "column"\n'
        (tmp_path / "whole.toml").write_text(whole + SEVERAL)
        several, one = pifolab.run(tmp_path / "several.toml"), pifolab.run(tmp_path / "whole.toml")
        assert several.tables["schedulers"].select(counts).rows() == one.tables["schedulers"].select(counts).rows()
        sent = [
            run.tables["flows"].group_by("scheduler", "flow_name").agg(pl.col("sent_packets").sum())
            for run in (several, one)
        ]
        plain = sent[1].with_columns(pl.col("flow_name").str.slice(1)).group_by("scheduler", "flow_name").sum()
        assert sent[0].sort("scheduler", "flow_name").rows() == plain.sort("scheduler", "flow_name").rows()
        assert several.tables["flows"]["flow"].n_unique() == one.tables["flows"]["flow"].n_unique()


CLASSES = """
[rank]
name = "fcfs"
[link]
rate_gbps = 1
[[scheduler]]
name = "tree"
classify = "class"
discipline = "strict"
[[scheduler.child]]
name = "fifo"
capacity_packets = 3
takes = 0
[[scheduler.child]]
name = "fifo"
capacity_packets = 1
takes = 1
"""


def test_classes_of_several_traces_are_their_places(tmp_path):
    for place, flows in enumerate("ab"):
        rows = "".join(f"0,1500,{flow}\n" for flow in flows * 5)
        (tmp_path / f"{place}.csv").write_text("time_us,size_bytes,flow\n" + rows)
    sources = "".join(f'[[workload]]\ntrace = "{place}.csv"\n' for place in range(2))
    (tmp_path / "classes.toml").write_text(sources + CLASSES)
    run = pifolab.run(tmp_path / "classes.toml")
    assert run.tables["flows"].select("flow_name", "sent_packets").rows() == [("a", 4), ("b", 1)]


@pytest.mark.parametrize(
    ("sources", "problem"),
    [
        (
            '[[workload]]\ntrace = "a.csv"\n[[workload]]\narrivals = "constant"\n',
            "is one of several sources: expected traces",
        ),
        (
            '[[workload]]\narrivals = "constant"\nrate_gbps = 1\nsize_bytes = 99\n[[workload]]\ntrace = "a.csv"\n',
            "expected traces",
        ),
        (
            '[workload]\ntrace = "a.csv"\nstart_s = 1.8e7\n',
            "its last packet would arrive over 213 days after the run starts",
        ),
        ('[[workload]]\ntrace = "a.csv"\n[[workload]]\ntrace = "b.csv"\n', "b.csv: "),
    ],
)
def test_sources_that_do_not_go_together_are_one_line(sources, problem, tmp_path, capsys):
    (tmp_path / "a.csv").write_text("time_s,size_bytes\n0,64\n18000000,64\n")
    (tmp_path / "bad.toml").write_text(sources + '[rank]\nname = "fcfs"\n' + SEVERAL)
    assert main(["run", str(tmp_path / "bad.toml"), "--out", str(tmp_path / "out")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert problem in line
