"""Judge what a guest of `test_programs_in_guests.sh` said: one row of the table for each compiler.

`programs_in_guest.py LOG KERNEL` prints the rows, and ends with status 1 if a program was refused that the page
promises.
"""

import json
import re
import sys
from pathlib import Path

# What a kernel cannot do whatever the compiler: 5.10 has no types of modules, and HTB is one, nor the enqueue
# tracepoint.
NOT_BEFORE = {"walk": (5, 11), "counters": (5, 14), "stfq": (5, 14), "qdisc": (6, 16)}


def judge(text: str, kernel: str) -> tuple[list[str], list[str]]:
    """Return the rows of the table and the faults.

    Parameters
    ----------
    text
        What the guest said.
    kernel
        Its version, as in ``6.1``.
    """
    version = tuple(int(part) for part in kernel.split("."))
    rows, faults = [], []
    for clang, summary in re.findall(r"^guest: (clang-\d+) loaded: (.*)$", text, re.MULTILINE):
        rows.append(f"| {kernel} | {clang} | {summary} |")
        for what, loaded, tried in re.findall(r"(\w+) (\d+)/(\d+)", summary):
            if version >= NOT_BEFORE.get(what, (0,)) and loaded != tried:
                refused = re.findall(rf"^guest: {clang} refused: (.*)$", text, re.MULTILINE)
                faults.append(f"{kernel}, {clang}: {what}: {loaded} of {tried} programs loaded: {refused[0]}")
    if not rows:
        faults.append(f"{kernel}: no program was tried")
    if "guest: done" not in text:
        faults.append(f"{kernel}: the guest did not finish")
    up = len(re.findall(r"^guest: up .* is up", text, re.MULTILINE))
    tried = len(re.findall(r"^guest: trying ", text, re.MULTILINE))
    if not tried or up != tried:
        faults.append(f"{kernel}: {up} of {tried} schedulers went up with the defaults")
    doctor = re.search(r"^guest: doctor (\{.*\})$", text, re.MULTILINE)
    if not doctor or json.loads(doctor.group(1))["ebpf"] is not (tried > 0 and up == tried):
        faults.append(f"{kernel}: doctor is wrong about the eBPF data plane")
    conformance = re.search(r"^guest: conformance (.*)$", text, re.MULTILINE)
    if not conformance or " 0 mismatches" not in conformance.group(1):
        faults.append(f"{kernel}: conformance: {conformance.group(1) if conformance else 'not replayed'}")
    return rows, faults


def main() -> int:
    """Judge one log."""
    path, kernel = sys.argv[1:]
    rows, faults = judge(Path(path).read_text(encoding="utf-8", errors="replace"), kernel)
    for row in rows:
        print(row)
    for fault in faults:
        print(f"guests: {fault}; see {path}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
