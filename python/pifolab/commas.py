"""Reads CSV of anybody's within limits: gzip makes gigabytes of small files, and a comma a column of every row."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

from pifolab.errors import InputError
from pifolab.lazy import pl
from pifolab.quiet import quiet
from pifolab.text import open_bytes

#: A file has at most so many bytes when it is decompressed, and a table so many values, of which each takes 16 bytes.
_MOST_BYTES, _MOST_VALUES = 256 * 2**20, 2**26

#: polars takes what begins so for plain text, whatever comes then.
_PLAIN = b"\xef\xbb\xbf"


def read_csv(file: Path, **options: Any) -> pl.DataFrame:
    """Return the table in a CSV file of the user's, which may be compressed with gzip; `options` are those of polars.

    Raises `InputError` if it cannot be read, is something else, or would need too much memory.
    """
    with open_bytes(file) as opened:
        try:
            is_compressed = opened.peek(2)[:2] == b"\x1f\x8b"  # type: ignore[attr-defined]
            content = (gzip.GzipFile(fileobj=opened) if is_compressed else opened).read(_MOST_BYTES + 1) or b""
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{file}: cannot be read: {error}") from None
    if len(content) > _MOST_BYTES:
        raise InputError(f"{file}: has over {_MOST_BYTES // 2**20} MiB: expected at most that of text")
    # polars skips empty lines before the names.
    text = content.removeprefix(_PLAIN).lstrip(b"\r\n")
    names = text[: text.find(b"\n") + 1] or text
    if names.count(b'"') % 2:
        raise InputError(f"{file}:1: expected the names of all columns in one line")
    values = (content.count(b"\n") + 1) * (names.count(b",") + 1)
    if values > _MOST_VALUES:
        raise InputError(f"{file}: would be {values:,} values: expected at most {_MOST_VALUES:,}")
    try:
        with quiet():
            return pl.read_csv(_PLAIN + content.removeprefix(_PLAIN), **options)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"{file}: cannot be read: {(str(error).splitlines() or [''])[0]}") from None
