"""Suppresses the output of panics in compiled libraries; the exception has all that matters."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Let nothing in the block write to standard error."""
    sys.stderr.flush()
    try:
        kept = os.dup(2)
    except OSError:
        # It is closed.
        yield
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, 2)
        finally:
            os.close(nowhere)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
