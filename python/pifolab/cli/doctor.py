"""`pifolab dataplane doctor`: what the Linux data plane's program finds, and what Python does."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypedDict

from pifolab.dataplane import PROGRAM, find_program, p4_tools, run_program
from pifolab.errors import InputError

__all__ = ["run_doctor"]


class Finding(TypedDict):
    """What was looked at: the same fields as the program of the Linux data plane gives."""

    what: str
    needed_for: str
    ok: bool
    detail: str


def examine() -> list[Finding]:
    """Look for what Python can find: the tools of the P4 data plane, and what builds pifolab from its sources."""
    findings: list[Finding] = []
    # Without the source tree there is no P4 data plane to examine.
    with suppress(InputError):
        findings += p4_tools("doctor").examine()
    for what, program, needed_for in _BUILDERS:
        where = shutil.which(program)
        detail = where or f"{program} is not on PATH"
        findings.append(_finding(what, f"{needed_for} (optional)", detail, ok=where is not None))
    return findings


#: What only those need who build from the sources.
_BUILDERS = (
    ("Rust", "cargo", "building from the sources"),
    ("clang", "clang", "building the eBPF programs"),
    ("Node", "node", "testing the playground"),
    ("Valgrind", "valgrind", "checking the C library"),
)


def _finding(what: str, needed_for: str, detail: str, *, ok: bool) -> Finding:
    return {"what": what, "needed_for": needed_for, "ok": ok, "detail": detail}


def run_doctor(arguments: Sequence[str]) -> int:
    """Run the command with `arguments` of the Linux data plane's program, and add what Python finds.

    Without the program its absence is a finding, and the exit status is 1.
    """
    if any(word in ("--programs", "--help", "-h") for word in arguments):
        return run_program(["doctor", *arguments])
    as_json = "--json" in arguments
    found: list[Finding] = []
    whole: Any = found
    try:
        program = find_program()
    except InputError as missing:
        found.append(_finding(PROGRAM, "pifolab dataplane, on Linux", str(missing), ok=False))
        status = 1
    else:
        sys.stdout.flush()
        if not as_json:
            status = run_program(["doctor", *arguments])
        else:
            done = subprocess.run([program, "doctor", *arguments], capture_output=True, text=True, check=False)
            sys.stderr.write(done.stderr)
            status = done.returncode
            try:
                whole = json.loads(done.stdout)
            except ValueError:
                sys.stdout.write(done.stdout)
                return status
    found += examine()
    if as_json:
        if whole is not found:
            (whole["findings"] if isinstance(whole, dict) else whole).extend(found)
        print(json.dumps(whole))
        return status
    for finding in found:
        print(f"{'yes' if finding['ok'] else 'NO '} {finding['what']}: {finding['detail']}")
        if not finding["ok"]:
            print(f"     needed for: {finding['needed_for']}")
    return status
