"""Standard output of the command: control characters are escaped, and ``--quiet`` suppresses all but the answer."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from typing import Any, TextIO

from pifolab.text import shown

#: The intended output of the command.
_MEANT = "\n\t"


class Output:
    """A text stream that escapes control characters of labels and file names."""

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
    """Discard output to closed standard streams (``>&-``), and reserve their numbers, so that no file gets them."""
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
    """Escape control characters on standard output in the block."""
    output = Output(sys.stdout)
    stream: Any = output
    with redirect_stdout(stream):
        yield output


@contextmanager
def quieted(quiet: bool) -> Iterator[None]:
    """Suppress the output of the block, or allow it again."""
    output: Any = sys.stdout
    if not isinstance(output, Output):
        yield
        return
    before, output.quiet = output.quiet, quiet
    yield
    output.quiet = before


def answer() -> AbstractContextManager[None]:
    """Print the answer of the command, even if it is quiet."""
    return quieted(False)


def print_json(value: Any) -> None:
    """Print `value` as JSON; infinite numbers, which JSON lacks, are null."""
    with answer():
        print(json.dumps(_finite(value), indent=2, default=str))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(held) for key, held in value.items()}
    return [_finite(held) for held in value] if isinstance(value, (list, tuple)) else value
