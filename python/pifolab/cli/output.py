"""Standard output of the command: control characters are written out, wherever they come from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

from pifolab.text import shown

__all__ = ["harmless_output"]

#: What the command prints on purpose.
_MEANT = "\n\t"


class _Harmless:
    """A text stream that shows control characters of labels and names of files instead of sending them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(shown(text, keep=_MEANT))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def harmless_output() -> Iterator[None]:
    """Let nothing in the block send control characters to standard output."""
    stream: Any = _Harmless(sys.stdout)
    with redirect_stdout(stream):
        yield
