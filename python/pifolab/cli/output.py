"""Standard output of the command: control characters are written out, and ``--quiet`` keeps all but the answer away."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from typing import Any, TextIO

from pifolab.text import shown

#: What the command prints on purpose.
_MEANT = "\n\t"


class Output:
    """A text stream that shows control characters of labels and names of files instead of sending them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        #: Whether only the answer is printed.
        self.quiet = False

    def write(self, text: str) -> int:
        """Write `text`, unless the stream is quiet."""
        if not self.quiet:
            self._stream.write(shown(text, keep=_MEANT))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def open_streams() -> None:
    """Send what would go to closed standard streams (``>&-``) nowhere, and let no file take their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free.
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115


@contextmanager
def harmless_output() -> Iterator[Output]:
    """Let nothing in the block send control characters to standard output."""
    output = Output(sys.stdout)
    stream: Any = output
    with redirect_stdout(stream):
        yield output


@contextmanager
def quieted(quiet: bool) -> Iterator[None]:
    """Let the block print nothing, or everything again."""
    output: Any = sys.stdout
    if not isinstance(output, Output):
        yield
        return
    before, output.quiet = output.quiet, quiet
    yield
    output.quiet = before


def answer() -> AbstractContextManager[None]:
    """Print what was asked for, also where the command is quiet."""
    return quieted(False)


def print_json(value: Any) -> None:
    """Print `value` as JSON, which has no infinite numbers: they are null."""
    with answer():
        print(json.dumps(_finite(value), indent=2, default=str))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(held) for key, held in value.items()}
    return [_finite(held) for held in value] if isinstance(value, (list, tuple)) else value
