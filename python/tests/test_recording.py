"""What a run on a network records: captures that others can read, figures over time; what an interruption leaves."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from waiting import HANGS_S

import pifolab
from pifolab.figures.run import captions, draw_run

SCENARIO = """
duration_ms = 2
[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 3
access_rate_gbps = 1
fabric_rate_gbps = 1
delay_us = 1
[workload.flows]
arrivals = "poisson"
load = 0.9
sizes = "fixed"
size_bytes = 30_000
pairs = "uniform"
[transport]
name = "pfabric"
[record]
packet_log = ["leaf0->spine0"]
arrival_order = ["3", "4", "5"]
sample_interval_us = 10
throughput_interval_us = 100
[[scheduler]]
name = "sp-pifo"
queues = 4
queue_capacity_packets = 4
"""


@pytest.fixture(scope="module")
def run() -> pifolab.Run:
    return pifolab.run_text(SCENARIO)


@pytest.fixture(scope="module")
def capture(run: pifolab.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = run.save(tmp_path_factory.mktemp("recorded") / "run", figures=False)
    (file,) = (folder / "packets").iterdir()
    assert file.name.startswith("sp-pifo-seed1-port")
    return file


def test_our_own_reader_finds_every_packet_of_the_capture_at_its_time(run: pifolab.Run, capture: Path):
    log = run.tables["packet_log"].filter(pl.col("event") != "enqueue")
    assert log.filter(event="drop").height > 0, "a capture without losses shows little"
    replay = pifolab.run_text(
        f"""
        link = {{ rate_gbps = 1000 }}
        workload = {{ trace = {json.dumps(str(capture))} }}
        rank = {{ name = "fcfs" }}
        scheduler = [{{ name = "fifo", capacity_packets = 100000 }}]
        """
    )
    totals = replay.tables["schedulers"]
    assert totals["arrived_packets"].item() == log.height
    assert totals["arrived_bytes"].item() == log["size_bytes"].sum()
    # Both directions of a flow are flows of the capture.
    assert replay.tables["flows"].height == log.select("flow", "reverse").unique().height
    span = log["time_ns"].max() - log["time_ns"].min()
    assert abs(totals["end_ns"].item() - span) < 100_000


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark (apt-get install tshark)")
def test_tshark_reads_what_was_recorded(run: pifolab.Run, capture: Path):
    fields = (
        "frame.time_epoch",
        "frame.interface_name",
        "frame.len",
        "ip.src",
        "ip.dst",
        "tcp.seq_raw",
        "frame.comment",
    )
    command = ["tshark", "-r", capture, "-T", "fields", *(part for field in fields for part in ("-e", field))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_S, check=True)
    read = [line.split("\t") for line in done.stdout.splitlines()]
    log = run.tables["packet_log"].filter(pl.col("event") != "enqueue")
    ends = {row[0]: row[1:] for row in run.tables["flows"].select("flow", "src", "dst").rows()}
    assert len(read) == log.height
    for seen, row in zip(read, log.iter_rows(named=True), strict=True):
        assert float(seen[0]) == pytest.approx(row["time_ns"] / 1e9, abs=1e-9)
        assert seen[1].endswith("sent" if row["event"] == "dequeue" else "lost")
        assert int(seen[2]) == row["size_bytes"]
        source, target = ends[row["flow"]][:: -1 if row["reverse"] else 1]
        assert (seen[3], seen[4]) == (f"10.0.0.{source + 1}", f"10.0.0.{target + 1}")
        if row["kind"] == "data":
            assert int(seen[5]) == 1 + row["seq_bytes"]
        assert seen[6].startswith(f"rank {row['rank']}")
    # tshark finds nothing wrong with a header.
    bad = ["tshark", "-r", capture, "-Y", "_ws.malformed || ip.checksum.status == 0", "-o", "ip.check_checksum:TRUE"]
    assert subprocess.run(bad, capture_output=True, text=True, timeout=HANGS_S, check=True).stdout == ""


def test_what_is_recorded_is_drawn(run: pifolab.Run):
    figures = draw_run(run)
    wanted = {"arrival-order", "occupancy-over-time", "throughput-over-time", "fairness-over-time", "packets-by-queue"}
    assert wanted | {"bounds-over-time"} <= set(figures)
    samples = run.tables["port_queue_samples"].drop_nulls("bound")
    place = re.match(r"Queue bounds of port (\d+), from node (\d+) to node (\d+),", captions(run)["bounds-over-time"])
    assert place is not None
    port, *ends = map(int, place.groups())
    assert port in samples["port"]
    assert run.tables["ports"].filter(port=port).select("from", "to").row(0) == tuple(ends)
    order = run.tables["arrival_order"]
    late = order.filter(pl.col("seq_bytes") < pl.col("seq_bytes").cum_max().over("flow")).height
    assert late > 0
    assert f": {late:,} of {order.height:,} packets" in figures["arrival-order"].axes[0].get_title(loc="left")


INTERRUPTS = """
import os, signal
import pifolab

class Interrupts(pifolab.PythonObserver):
    seen = 0

    def on_dequeue(self, port, packet, queue, now_ns):
        self.seen += 1
        if self.seen == 2000:
            os.kill(os.getpid(), signal.SIGINT)
"""


def test_ctrl_c_keeps_what_is_complete_and_marks_it_partial(tmp_path: Path):
    long = SCENARIO.replace("duration_ms = 2", "duration_s = 1000").replace("load = 0.9", "load = 0.002")
    record = '[record]\npacket_log = ["leaf0->spine0"]\n[[scheduler]]\nname = "pifo"\n'
    (tmp_path / "long.toml").write_text(long.split("[record]")[0] + record)
    # The signal comes when some flows are complete, however slow the machine is.
    (tmp_path / "interrupts.py").write_text(INTERRUPTS)
    command = [Path(sys.executable).with_name("pifolab"), "run", "long.toml", "--python", "interrupts.py"]
    done = subprocess.run([*command, "--out", "run"], cwd=tmp_path, capture_output=True, text=True, timeout=HANGS_S)
    assert done.returncode == 130, done.stderr
    assert "marked partial" in done.stderr
    assert "Traceback" not in done.stderr
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["partial"] is True
    assert "PARTIAL" in (tmp_path / "run/report.html").read_text()
    assert pl.read_parquet(tmp_path / "run/packet_log.parquet").height > 0
    # These take long to write.
    assert not (tmp_path / "run/packets").exists()
    assert not (tmp_path / "run/figures").exists()
    rows = pl.read_parquet(tmp_path / "run/schedulers.parquet")
    assert 0 < rows["completed_flows"].item() < rows["flows"].item()
    assert rows["end_ns"].item() < 1000 * 10**9
    # Flows that never started have no row.
    starts = pl.read_parquet(tmp_path / "run/flows.parquet")["start_ns"]
    assert len(starts) > 0
    assert starts.max() <= rows["end_ns"].item()
