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

ROOT = Path(__file__).resolve().parent.parent
HOSTS = (16, 64, 144, 256, 512, 1024)
CASES = {"dctcp": "DCTCP over drop-tail", "sp-pifo": "pFabric over SP-PIFO"}
#: Simulated microseconds times hosts.
HOST_US = 20_000 * 1024
#: Hosts of fat trees with k = 8, 16, 32 and 64, and simulated microseconds.
FAT_TREES = {128: 2000, 1024: 500, 8192: 100, 65536: 30}
#: The cost of a hop at 1024 hosts may be this multiple of that at 144.
LIMIT = 2.0


def measure(repeat: int, wanted: Sequence[int]) -> dict[tuple[str, int], list[dict[str, float]]]:
    """Run every case and wanted size `repeat` times, in turn."""
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "-p", "pifolab-sim", "--example", "scale"], cwd=ROOT, check=True
    )
    program = ROOT / "target" / "release" / "examples" / "scale"
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    rows = [(case, hosts, HOST_US // hosts) for case in CASES for hosts in HOSTS]
    rows += [("permutation", hosts, us) for hosts, us in FAT_TREES.items()]
    for _ in range(repeat):
        for case, hosts, us in (row for row in rows if row[1] in wanted):
            done = subprocess.run([program, str(hosts), case, str(us)], check=True, capture_output=True, text=True)
            found.setdefault((case, hosts), []).append(json.loads(done.stdout))
    return found


def page(found: dict[tuple[str, int], list[dict[str, float]]], repeat: int) -> str:
    """Return the page."""
    lines = [
        "# What larger networks cost",
        "",
        "Written by `python lab/scale.py`. The simulation uses one thread, and ports are not observed. *Prepare* is",
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
    lines += [
        "",
        "## Permutation of a fat tree, DCTCP over drop-tail, 100 Gb/s, 1 us",
        "",
        "All hosts begin to send to their partners in the first 1.3 us.",
        "",
        "| hosts | simulated (us) | packet-hops | most in flight | prepare (ms) | run (s) | ns per hop | memory (MB) |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for hosts, us in FAT_TREES.items():
        if ("permutation", hosts) not in found:
            continue
        rows = found["permutation", hosts]
        run_s = statistics.median(one["run_s"] for one in rows)
        prepared_s = statistics.median(one["prepared_s"] for one in rows)
        lines.append(
            f"| {hosts} | {us} | {rows[0]['hops']} | {rows[0]['most_in_flight']} | {1e3 * prepared_s:.1f} "
            f"| {run_s:.2f} | {1e9 * run_s / rows[0]['hops']:.0f} | {max(one['peak_kb'] for one in rows) / 1e3:.0f} |"
        )
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
