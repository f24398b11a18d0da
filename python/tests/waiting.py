"""How tests wait for another process: for a state that it reaches, never for some seconds to pass.

A machine may be slow, and busy with other tests. So whatever a test interrupts would run for hours by itself, and a
deadline is so far away that only what hangs misses it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

COMMAND = Path(sys.executable).with_name("pifolab")

#: After so many seconds a process hangs.
HANGS_S = 300.0


def wait_until(reached: Callable[[], bool], what: str, deadline_s: float = HANGS_S) -> None:
    """Look again and again whether a state is reached; fail if it never is."""
    deadline = time.monotonic() + deadline_s
    while not reached():
        assert time.monotonic() < deadline, f"not within {deadline_s:.0f} s: {what}"
        time.sleep(0.005)


def complaints(errors: str) -> list[str]:
    """Return what a command said on standard error beside its progress, of which a slow machine sees lines."""
    progress = r"pifolab study: \d+ of \d+ runs finished|pifolab: \d+/\d+ runs, "
    return [line for line in errors.splitlines() if not re.match(progress, line)]


class Running:
    """The command `pifolab`, at work in a folder; what it prints goes to files that can be looked into meanwhile."""

    def __init__(self, *arguments: str | Path, cwd: Path, environment: dict[str, str] | None = None) -> None:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as messages:
            self._out, self._messages = os.dup(out.fileno()), os.dup(messages.fileno())
        self.process = subprocess.Popen(
            [COMMAND, *map(str, arguments)],
            cwd=cwd,
            env=os.environ | {"PYTHONUNBUFFERED": "1"} | (environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._messages,
        )

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._out)
        os.close(self._messages)

    @property
    def out(self) -> str:
        """Everything on standard output so far."""
        return _text(self._out)

    @property
    def messages(self) -> str:
        """Everything on standard error so far."""
        return _text(self._messages)

    def reaches(self, state: Callable[[], bool], what: str) -> None:
        """Wait for a state; fail if the command ends without it."""

        def reached() -> bool:
            ended = self.process.poll() is not None
            assert state() or not ended, (what, self.process.returncode, self.out, self.messages)
            return state()

        wait_until(reached, f"{what}: {self.out!r}, {self.messages!r}")

    def tells(self, words: str) -> None:
        """Wait until the words are on standard error."""
        self.reaches(lambda: words in self.messages, words)

    def reads(self, file: Path, offset: int = 0) -> None:
        """Wait until the process has the file open and has read it up to the offset."""
        folder = Path(f"/proc/{self.process.pid}")

        def beyond(handle: Path) -> bool:
            try:
                if handle.readlink() != file:
                    return False
                return int((folder / "fdinfo" / handle.name).read_text().split()[1]) > offset
            except FileNotFoundError:
                return False

        def state() -> bool:
            try:
                return any(map(beyond, (folder / "fd").iterdir()))
            except (FileNotFoundError, PermissionError):
                return False

        self.reaches(state, f"{file} is read")

    def interrupt(self, how: signal.Signals = signal.SIGINT) -> int:
        """Press Ctrl-C once and return the exit status; what does not end by that hangs."""
        self.process.send_signal(how)
        return self.process.wait(HANGS_S)


def _text(descriptor: int) -> str:
    # Without a change of the offset, which the process shares.
    return os.pread(descriptor, 10_000_000, 0).decode()
