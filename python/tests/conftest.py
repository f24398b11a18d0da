"""What the tests share."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from waiting import HANGS_S

# A shell's background job ignores Ctrl-C, and so do its children: tests of Ctrl-C would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[2]

_REPORT = "report"


@pytest.fixture
def report(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Say a line at the end of all tests, whichever process the test runs in."""
    return lambda line: record_property(_REPORT, line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for kind in ("passed", "failed"):
        for done in terminalreporter.getreports(kind):
            for key, line in done.user_properties:
                if key == _REPORT:
                    terminalreporter.write_line(str(line))


@pytest.fixture
def pifolab_command(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the installed command as a user would: in a folder of its own, without a terminal."""
    command = Path(sys.executable).with_name("pifolab")

    def run(*arguments: str | Path, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        environment = {
            key: value for key, value in os.environ.items() if key == "PIFOLAB_PLAIN" or not key.startswith("PIFOLAB")
        }
        return subprocess.run(
            [command, *map(str, arguments)],
            cwd=cwd,
            env=environment | {"COLUMNS": "100"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANGS_S,
        )

    return run
