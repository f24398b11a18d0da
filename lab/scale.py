"""Measures what networks of 16 to 65,536 hosts cost, and writes lab/pages/scale.md.

Usage: python lab/scale.py [--repeat N] [--hosts N,N...] [--out FILE]

Each row is the median of N runs of `crates/sim/examples/scale.rs`. Sizes are run in turn, so that a machine that
changes its speed changes it for all. The simulated time is chosen so that every size makes about as many packet-hops.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HOSTS = (16, 64, 144, 256, 512, 1024)
CASES = {"dctcp": "DCTCP over drop-tail", "sp-pifo": "pFabric over SP-PIFO"}
#: Simulated microseconds times hosts.
HOST_US = 20_000 * 1024
#: Hosts of fat trees with k = 8, 16, 32 and 64, and simulated microseconds.
FAT_TREES = {128: 2000, 1024: 500, 8192: 100, 65536: 30}
FAT_CASES = {
    "permutation": "All hosts begin to send to their partners in the first 1.3 us.",
    "web-search": "Web search at a payload load of 50 %, from an empty network on.",
}
#: Numbers of threads on which a run of so many hosts is divided, and its simulated microseconds.
PARTS = (1, 2, 4, 8, 16, 64)
DIVIDED = {1024: 100, 8192: 30}
#: The cost of a hop at 1024 hosts may be this multiple of that at 144.
LIMIT = 2.0


def measure(repeat: int, wanted: Sequence[int]) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Run every case and wanted size `repeat` times, in turn."""
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "-p", "pifolab-sim", "--example", "scale"], cwd=ROOT, check=True
    )
    program = ROOT / "target" / "release" / "examples" / "scale"
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    rows = [(case, hosts, HOST_US // hosts) for case in CASES for hosts in HOSTS]
    rows += [(case, hosts, us) for case in FAT_CASES for hosts, us in FAT_TREES.items()]

    def run(case: str, hosts: int, us: int, parts: Sequence[int] = ()) -> dict[str, Any]:
        words = [program, str(hosts), case, str(us), *map(str, parts)]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    for _ in range(repeat):
        for case, hosts, us in (row for row in rows if row[1] in wanted):
            found.setdefault((case, hosts), []).append(run(case, hosts, us))
    for hosts in DIVIDED.keys() & set(wanted):
        # What bounds the gain is a count and does not change from run to run.
        found["divided", hosts] = [run("permutation", hosts, DIVIDED[hosts], PARTS)]
    return found


def page(found: dict[tuple[str, int], list[dict[str, Any]]], repeat: int) -> str:
    """Return the page."""
    lines = [
        "# What larger networks cost",
        "",
        "Written by `python lab/scale.py`. Ports are not observed; one thread, but for the last table. *Prepare* is",
        "the time to compute all routes, *run* the processor time of the simulation alone, and *memory* the peak of",
        "the process, with the flow list. In the first two tables leaves have 16 hosts at 1 Gb/s, below four spines at",
        "4 Gb/s, and traffic is web search at a payload load of 60 %.",
        "",
        f"Medians of {repeat} runs; {platform.machine()}, {os.cpu_count()} processors, load average "
        f"{os.getloadavg()[0]:.1f} at the end.",
    ]
    for case, title in CASES.items():
        lines += ["", f"## {title}", ""]
        lines.append(
            "| hosts | simulated (ms) | flows | packet-hops | prepare (ms) | run (s) | ns per hop | memory (MB) |"
        )
        lines.append("|---:|---:|---:|---:|---:|---:|---:|---:|")
        cost = {}
        for hosts in (hosts for hosts in HOSTS if (case, hosts) in found):
            rows = found[case, hosts]
            row = rows[0]
            run_s = statistics.median(one["run_s"] for one in rows)
            prepared_s = statistics.median(one["prepared_s"] for one in rows)
            cost[hosts] = 1e9 * run_s / row["hops"]
            lines.append(
                f"| {hosts} | {row['simulated_us'] / 1e3:g} | {row['flows']} | {row['hops']} | {1e3 * prepared_s:.1f} "
                f"| {run_s:.2f} "
                f"| {cost[hosts]:.0f} | {max(one['peak_kb'] for one in rows) / 1e3:.0f} |"
            )
        if not {144, 1024} <= cost.keys():
            continue
        ratio = cost[1024] / cost[144]
        verdict = "within" if ratio <= LIMIT else "beyond"
        lines += [
            "",
            f"A hop costs {ratio:.2f} times as much with 1024 hosts as with 144: {verdict} the aim of {LIMIT:g}.",
        ]
    lines += ["", "## Fat trees, DCTCP over drop-tail, 100 Gb/s, 1 us"]
    for case, title in FAT_CASES.items():
        lines += [
            "",
            title,
            "",
            "| hosts | simulated (us) | packet-hops | most in flight | prepare (ms) | run (s) | ns a hop | MB |",
            "|---:|---:|---:|---:|---:|---:|---:|---:|",
        ]
        for hosts, us in FAT_TREES.items():
            if (case, hosts) not in found:
                continue
            rows = found[case, hosts]
            run_s = statistics.median(one["run_s"] for one in rows)
            prepared_s = statistics.median(one["prepared_s"] for one in rows)
            lines.append(
                f"| {hosts} | {us} | {rows[0]['hops']} | {rows[0]['most_in_flight']} | {1e3 * prepared_s:.1f} "
                f"| {run_s:.2f} | {1e9 * run_s / rows[0]['hops']:.0f} "
                f"| {max(one['peak_kb'] for one in rows) / 1e3:.0f} |"
            )
    lines += [
        "",
        "## One run on several processors",
        "",
        "The permutation with events by place (`engine.equal_times`). *At most* is the largest gain on any machine:",
        "all events, divided by the sum over all windows of the most events of one part, counted. *Seconds* are those",
        "of this machine, which has fewer processors than the last columns have threads.",
        "",
        "| hosts | simulated (us) | events in a window | | " + " | ".join(f"{parts} threads" for parts in PARTS) + " |",
        "|---:|---:|---:|---|" + "---:|" * len(PARTS),
    ]
    for hosts, us in DIVIDED.items():
        if ("divided", hosts) not in found:
            continue
        row = found["divided", hosts][0]
        parts = row["parts"]
        per_window = row["hops"] / parts[0]["windows"]
        at_most = " | ".join(f"{one['at_most']:.2f}" for one in parts)
        seconds = " | ".join(f"{one['wall_s']:.2f}" for one in parts)
        lines.append(f"| {hosts} | {us} | {per_window:.0f} | at most | {at_most} |")
        lines.append(f"| | | | seconds | {seconds} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each row; default 3")
    parser.add_argument(
        "--hosts",
        default=",".join(map(str, sorted({*HOSTS, *FAT_TREES}))),
        metavar="N,N...",
        help="only these sizes; default %(default)s",
    )
    parser.add_argument("--out", type=Path, default=ROOT / "lab" / "pages" / "scale.md", help="the page to write")
    arguments = parser.parse_args()
    hosts = [hosts for hosts in {*HOSTS, *FAT_TREES} if str(hosts) in arguments.hosts.split(",")]
    if len(hosts) < len(arguments.hosts.split(",")):
        parser.error(f"--hosts = {arguments.hosts}: expected some of {parser.get_default('hosts')}")
    text = page(measure(arguments.repeat, hosts), arguments.repeat)
    unfinished = arguments.out.with_suffix(".unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(arguments.out)
    print(text)


if __name__ == "__main__":
    main()
