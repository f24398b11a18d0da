"""`pifolab doctor`: what the Linux data plane's program finds, and the tools of the P4 data plane."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import TypedDict

from pifolab.dataplane import find_program, run_program
from pifolab.errors import InputError
from pifolab_p4.tools import BMV2, P4C, P4C_TOFINO

__all__ = ["Finding", "examine", "run_doctor"]


class Finding(TypedDict):
    """What was looked at: the same fields as the program of the Linux data plane gives."""

    what: str
    needed_for: str
    ok: bool
    detail: str


def examine() -> list[Finding]:
    """Look for the tools of the P4 data plane."""
    findings: list[Finding] = []
    for tool in (P4C, BMV2, P4C_TOFINO):
        try:
            path = tool.find()
            version = tool.version()
            detail, ok = f"{path}{f' ({version})' if version else ''}", True
        except (InputError, OSError) as error:
            detail, ok = str(error), False
        findings.append({"what": tool.what, "needed_for": f"{tool.needed_for} (optional)", "ok": ok, "detail": detail})
    return findings


def run_doctor(arguments: Sequence[str]) -> int:
    """Run the command with `arguments` of the Linux data plane's program, and add the P4 data plane's findings."""
    if "--programs" in arguments:
        return run_program(["doctor", *arguments])
    if "--json" in arguments:
        done = subprocess.run([find_program(), "doctor", *arguments], capture_output=True, text=True, check=False)
        sys.stderr.write(done.stderr)
        try:
            whole = json.loads(done.stdout)
        except ValueError:
            sys.stdout.write(done.stdout)
            return done.returncode
        findings = whole["findings"] if isinstance(whole, dict) else whole
        findings += examine()
        print(json.dumps(whole))
        return done.returncode
    sys.stdout.flush()
    status = run_program(["doctor", *arguments])
    for finding in examine():
        print(f"{'yes' if finding['ok'] else 'NO '} {finding['what']}: {finding['detail']}")
        if not finding["ok"]:
            print(f"     needed for: {finding['needed_for']}")
    return status
