"""Reads untrusted Parquet: footers and page headers give the memory that tables need before they are read.

A few hundred kilobytes of Parquet may say that a row comes eight million times, or decompress to gigabytes. polars
decodes what it is given, so this module reads what the file says of itself: the footer and the header of each page are
structures in Thrift's compact protocol (https://parquet.apache.org/docs/file-format/). Only columns and encodings that
polars writes are taken, since their values take no more than their pages say: each value of DELTA_BYTE_ARRAY may repeat
the one before it, and columns in columns take memory at every level.
"""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

from pifolab.errors import InputError
from pifolab.lazy import pl
from pifolab.quiet import quiet
from pifolab.store.sealed import DamagedError
from pifolab.text import open_bytes

#: Tables that are read together take at most this in memory, and so often what their files have in the store. Tables
#: of runs take 1 to 50 times that, samples of quiet queues most.
_BASE_BYTES, _PER_BYTE = 256 * 2**20, 128

#: The approximate memory of a value, in addition to its page.
_VALUE_BYTES = 8

#: A file of a table has no more bytes than this.
MOST_TABLE_BYTES = 4 * 2**30

_MAGIC = b"PAR1"

#: The allowed encodings of values: plain, dictionary (under an old name and a new one), runs.
_ENCODINGS = frozenset({0, 2, 8, 3})

#: Structures of a Parquet file lie at most about six deep in each other.
_DEEPEST = 16


def kind_of(dtype: pl.DataType) -> str | None:
    """Return the type of a column's values: number, text, truth value, or nothing; None if it is another type.

    Examples
    --------
    >>> kind_of(pl.Int64()), kind_of(pl.String()), kind_of(pl.List(pl.Int64))
    ('a number', 'a text', None)
    """
    if dtype.is_integer() and dtype not in (pl.Int128, getattr(pl, "UInt128", pl.Int128)):
        return "a number"
    kinds = {pl.Float32: "a number", pl.Float64: "a number", pl.String: "a text", pl.Boolean: "a truth value"}
    return {**kinds, pl.Null: "nothing"}.get(dtype.base_type())


class TableReader:
    """Reads tables one after the other, as long as all of them together need no more memory than tables of runs do."""

    def __init__(self) -> None:
        self._rows = self._decoded = self._stored = 0

    def read_file(self, file: Path) -> pl.DataFrame:
        """Return the table in a file that the user names; raises `InputError`."""
        with open_bytes(file) as opened:
            try:
                return self.read(table_bytes(opened, str(file)), str(file))
            except DamagedError as error:
                raise InputError(str(error)) from None

    def read(self, content: bytes, name: str) -> pl.DataFrame:
        """Return the table in the file `name`, whose checksum was right: columns of numbers, texts and truth values.

        Raises `DamagedError` if it is something else, or would need too much memory.
        """
        try:
            rows, decoded = _size(content, name)
        except (IndexError, KeyError, TypeError, ValueError, AttributeError):
            raise DamagedError(f"{name} is not a table") from None
        self._rows += rows
        self._stored += len(content)
        self._take(decoded, name)
        try:
            with quiet():
                frame = pl.read_parquet(io.BytesIO(content))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            raise DamagedError(f"{name} is not a table") from None
        for column, dtype in frame.schema.items():
            if kind_of(dtype) is None:
                kind = str(dtype.base_type())
                raise DamagedError(
                    f"{name}: column {column} has the type {kind}: expected numbers, texts or truth values"
                )
        # Many rows may share one long text, until they are written out.
        texts = frame.select(pl.col(pl.String).str.len_bytes().sum())
        self._take(sum(texts.row(0)) if texts.width else 0, name)
        return frame

    def _take(self, decoded: int, name: str) -> None:
        self._decoded += decoded
        most = _BASE_BYTES + _PER_BYTE * self._stored
        if self._decoded > most:
            raise DamagedError(
                f"{name} with the tables before it has {self._rows:,} rows and would take "
                f"{self._decoded / 1e6:,.0f} MB in memory: expected at most {most / 1e6:,.0f} MB, which is "
                f"{_BASE_BYTES // 2**20} MiB and {_PER_BYTE} times the size of the files"
            )


def table_bytes(file: BinaryIO, name: str) -> bytes:
    """Return the content of the open file `name`, if a table of this size may be in it.

    Raises `DamagedError` if it is no regular file, is too long, or says that it is longer than what it takes on the
    disk.
    """
    state = os.fstat(file.fileno())
    if not stat.S_ISREG(state.st_mode):
        raise DamagedError(f"{name} is not a regular file")
    if state.st_size > MOST_TABLE_BYTES:
        raise DamagedError(f"{name} has over {MOST_TABLE_BYTES // 2**20} MiB: expected at most that")
    # Some file systems report no allocated size. Tables are compressed already, so no file system shrinks them much.
    if state.st_size > _BASE_BYTES and 0 < 512 * 4 * state.st_blocks < state.st_size:
        raise DamagedError(f"{name} is not a table: most of the file is holes")
    first = file.read(min(1, state.st_size))
    if first == b"\0":
        raise DamagedError(f"{name} is not a table")
    return first + file.read(state.st_size - len(first))


def _size(content: bytes, name: str) -> tuple[int, int]:
    """Return the rows and approximate memory of a Parquet file; raises errors of any kind for other files."""
    if len(content) < 12 or content[:4] != _MAGIC or content[-4:] != _MAGIC:
        raise KeyError("not Parquet")
    begins = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    if begins < 4:
        raise KeyError("not Parquet")
    # FileMetaData: 2 schema, 3 num_rows, 4 row_groups, each with 1 columns and 3 num_rows.
    footer = _Thrift(content, begins).structure()
    _, *columns = footer[2]
    # SchemaElement: 3 repetition_type, which is repeated (2) for lists, 4 name, 5 num_children.
    for column in columns:
        if column.get(3) == 2 or 5 in column:
            raise DamagedError(
                f"{name}: column {column[4].decode(errors='replace')} has columns inside: "
                "expected numbers, texts or truth values"
            )
    rows = decoded = stored = 0
    for group in footer[4]:
        if len(group[1]) != len(columns):
            raise KeyError("not Parquet")
        rows += group[3]
        for chunk in group[1]:
            # Chunks do not overlap, so that each page is looked at once.
            stored += _count(chunk[3][7])
            if stored > len(content):
                raise KeyError("not Parquet")
            values, bytes_ = _pages(content, chunk[3], name)
            if values != group[3]:
                raise KeyError("not Parquet")
            decoded += bytes_ + _VALUE_BYTES * values
    if rows != footer[3]:
        raise KeyError("not Parquet")
    return rows, decoded


def _pages(content: bytes, about: dict[int, Any], name: str) -> tuple[int, int]:
    """Return how many values the pages of a column chunk have, and how many bytes when they are decompressed."""
    # ColumnMetaData: 7 total_compressed_size, 9 data_page_offset, 11 dictionary_page_offset.
    at = min(about[9], about.get(11, about[9]))
    end = at + about[7]
    values = decoded = 0
    while at < end:
        # PageHeader: 2 uncompressed_page_size, 3 compressed_page_size; the headers of its kinds: 5 and 8 of data pages,
        # 7 of dictionaries. Each has 1 num_values, and 2 or 4 encoding.
        reader = _Thrift(content, at)
        header = reader.structure()
        if min(header[2], header[3]) < 0:
            raise KeyError("not Parquet")
        decoded += header[2]
        for kind, encoding in ((5, 2), (7, 2), (8, 4)):
            if kind not in header:
                continue
            count = _count(header[kind][1])
            if header[kind][encoding] not in _ENCODINGS:
                raise DamagedError(
                    f"{name}: a page has the encoding {header[kind][encoding]}: expected plain values, places in a "
                    "dictionary, or runs (0, 2, 3, 8)"
                )
            if kind == 7:
                decoded += _VALUE_BYTES * count
            else:
                values += count
        at = reader.at + header[3]
    if at != end or not 4 <= end <= len(content):
        raise KeyError("not Parquet")
    return values, decoded


def _count(value: int) -> int:
    if value < 0:
        raise KeyError("not Parquet")
    return value


class _Thrift:
    """Reads values in Thrift's compact protocol; a structure is a dictionary by the numbers of its fields."""

    def __init__(self, content: bytes, at: int) -> None:
        if at < 0:
            raise KeyError("not Parquet")
        self._content = content
        self.at = at

    def structure(self, depth: int = 0) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            found[number] = self._value(head & 15, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise KeyError("not Parquet")
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 8:
            length = self._number()
            self.at += length
            return self._content[self.at - length : self.at]
        if kind == 9:
            head = self._byte()
            count = head >> 4 if head >> 4 != 15 else self._number()
            if count > len(self._content):
                raise KeyError("not Parquet")
            # A truth value in a list is a byte.
            inner = head & 15 if head & 15 not in (1, 2) else 3
            return [self._value(inner, depth + 1) for _ in range(count)]
        if kind == 12:
            return self.structure(depth + 1)
        if kind == 3:
            return self._byte()
        if kind == 7:
            self.at += 8
            return None
        # Parquet has no sets and no maps.
        raise KeyError("not Parquet")

    def _byte(self) -> int:
        self.at += 1
        return self._content[self.at - 1]

    def _number(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > 63:
                raise KeyError("not Parquet")

    def _integer(self) -> int:
        number = self._number()
        return (number >> 1) ^ -(number & 1)
