"""What `pifolab doctor` says of the tools of the P4 data plane."""

from __future__ import annotations

from typing import TypedDict

from pifolab.errors import InputError
from pifolab_p4.tools import BMV2, P4C, P4C_TOFINO

__all__ = ["Finding", "examine"]


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
