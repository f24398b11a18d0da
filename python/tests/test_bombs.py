"""Small files that say much: Parquet and CSV of anybody's take bounded memory, wherever they are read.

The files are written byte by byte, since no library writes them.
"""

from __future__ import annotations

import gzip
import os
import random
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from waiting import HANGS_S

import pifolab
from pifolab.store.parquet import TableReader

LINK = """
duration_ms = 1
link = { rate_gbps = 10 }
workload = { arrivals = "constant", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }
scheduler = [{ name = "pifo" }]
"""

NETWORK = """
duration_us = 500
topology = { kind = "single-switch", hosts = 4, rate_gbps = 1, delay_us = 1 }
transport = { name = "pfabric" }
scheduler = [{ name = "fifo" }]
[workload.flows]
arrivals = "poisson"
load = 0.8
sizes = "fixed"
size_bytes = 3_000
pairs = "uniform"
"""

INT64, BYTES = 2, 6
PLAIN, RLE, DELTA_INTEGERS, DELTA_LENGTHS, DELTA_TEXTS, PLACES, SPLIT = 0, 3, 5, 6, 7, 8, 9


def number(value: int) -> bytes:
    """An unsigned number of any length, as Thrift and Parquet write it."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def zigzag(value: int) -> bytes:
    return number(value << 1 if value >= 0 else (-value << 1) - 1)


def thrift(fields: dict[int, Any]) -> bytes:
    """A structure in the compact protocol: integers, texts, structures and lists of structures, texts or integers."""
    out = b""
    for place, value in fields.items():
        kind, body = value_of(value)
        # Fields may be written with their whole number.
        out += bytes([kind]) + zigzag(place) + body
    return out + b"\0"


def value_of(value: Any) -> tuple[int, bytes]:
    match value:
        case int():
            return 6, zigzag(value)
        case bytes():
            return 8, number(len(value)) + value
        case dict():
            return 12, thrift(value)
        case _:
            parts = [value_of(one) for one in value]
            return 9, bytes([0xF0 | (parts[0][0] if parts else 6)]) + number(len(parts)) + b"".join(b for _, b in parts)


def page(
    body: bytes, values: int, encoding: int, *, kind: int = 5, said: int | None = None, zipped: bool = False
) -> bytes:
    """A page of so many values, of version 1 (kind 5), 2 (8) or a dictionary (7), which may say another size."""
    stored = zlib.compress(body, 9, 31) if zipped else body
    about = {
        5: {1: values, 2: encoding, 3: RLE, 4: RLE},
        7: {1: values, 2: encoding},
        8: {1: values, 2: 0, 3: values, 4: encoding, 5: 0, 6: 0},
    }[kind]
    header = {1: {5: 0, 7: 2, 8: 3}[kind], 2: len(body) if said is None else said, 3: len(stored), kind: about}
    return thrift(header) + stored


def file_of(
    pages: bytes, rows: int, physical: int, depth: int = 0, *, zipped: bool = False, repeated: int = 0
) -> bytes:
    """A file with one required column x, inside `depth` others."""
    levels = [{3: repeated, 4: b"g%d" % at, 5: 1} for at in range(depth)]
    schema = [{4: b"root", 5: 1}, *levels, {1: physical, 3: 0, 4: b"x", **({6: 0} if physical == BYTES else {})}]
    path = [level[4] for level in schema[1:]]
    column = {1: physical, 2: [0], 3: path, 4: 2 if zipped else 0, 5: rows, 6: len(pages), 7: len(pages), 9: 4}
    footer = thrift({1: 1, 2: schema, 3: rows, 4: [{1: [{2: 4, 3: column}], 2: len(pages), 3: rows}]})
    return b"PAR1" + pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def delta_integers(values: int, first: int = 0, step: int = 0) -> bytes:
    """So many integers, each `step` above the one before, in a few bytes for each block of thousands."""
    block = 2**20 * 128
    blocks = max(-(-(values - 1) // block), 0)
    return number(block) + number(1) + number(values) + zigzag(first) + blocks * (zigzag(step) + b"\0")


def integers_by_differences(rows: int, first: int, rest: int) -> bytes:
    """An integer, and another one again and again; rows are whole blocks of 128 and one."""
    least, width = min(rest - first, 0), abs(rest - first).bit_length()
    differences = [rest - first - least] + [-least] * 127
    packed = sum(one << (width * at) for at, one in enumerate(differences)).to_bytes(width * 16, "little")
    header = number(128) + number(1) + number(rows) + zigzag(first)
    return header + zigzag(least) + bytes([width]) + packed + (rows // 128 - 1) * (zigzag(0) + b"\0")


def texts_that_repeat(rows: int, length: int) -> bytes:
    """A text, and all of it again and again: how much of the one before each has, what it adds, and that."""
    shared, added = integers_by_differences(rows, 0, length), integers_by_differences(rows, length, 0)
    return shared + added + b"x" * length


def text(value: bytes) -> bytes:
    return len(value).to_bytes(4, "little") + value


def run_of(places: int, width: int = 1) -> bytes:
    """So many times the first entry of a dictionary."""
    return bytes([width]) + number(places << 1) + b"\0"


ROWS, MILLIONS = 100_001 // 128 * 128 + 1, 40_000_000


def one_page(body: bytes, values: int, encoding: int, physical: int, kind: int = 5) -> bytes:
    return file_of(page(body, values, encoding, kind=kind), values, physical)


def footer_of(footer: bytes, pages: bytes = b"") -> bytes:
    return b"PAR1" + pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def pages_of_all(columns: int) -> bytes:
    """A file in which each of so many columns says that all pages, as many and empty, are its own."""
    pages = columns * page(b"", 0, PLAIN)
    schema = [{4: b"root", 5: columns}, *({1: INT64, 3: 0, 4: b"x%d" % at} for at in range(columns))]
    chunk = {2: 4, 3: {1: INT64, 2: [0], 3: [b"x"], 4: 0, 5: 0, 6: len(pages), 7: len(pages), 9: 4}}
    group = {1: columns * [chunk], 2: len(pages), 3: 0}
    return footer_of(thrift({1: 1, 2: schema, 3: 0, 4: [group]}), pages)


#: Small files, of which each would take gigabytes, or too long, or more structures than there may be.
BOMBS: dict[str, Callable[[], bytes]] = {
    "texts that repeat the one before": lambda: one_page(texts_that_repeat(ROWS, 100_000), ROWS, DELTA_TEXTS, BYTES),
    "the same in a page of version 2": lambda: one_page(texts_that_repeat(ROWS, 100_000), ROWS, DELTA_TEXTS, BYTES, 8),
    "integers by differences": lambda: one_page(delta_integers(MILLIONS), MILLIONS, DELTA_INTEGERS, INT64),
    "more integers than the page says": lambda: one_page(delta_integers(2**40), 10, DELTA_INTEGERS, INT64),
    "lengths of texts by differences": lambda: one_page(delta_integers(MILLIONS), MILLIONS, DELTA_LENGTHS, BYTES),
    "bytes of numbers side by side": lambda: one_page(b"", MILLIONS, SPLIT, INT64),
    "an encoding that there is not": lambda: one_page(b"x", 5, 77, BYTES),
    "one entry of a dictionary": lambda: file_of(
        page(text(b"x"), 1, PLAIN, kind=7) + page(run_of(MILLIONS), MILLIONS, PLACES), MILLIONS, BYTES
    ),
    "one long entry of a dictionary": lambda: file_of(
        page(text(b"x" * 100_000), 1, PLAIN, kind=7) + page(run_of(100_000), 100_000, PLACES), 100_000, BYTES
    ),
    "a dictionary that says how large it is": lambda: file_of(
        page(text(b"x"), 2**31 - 1, PLAIN, kind=7) + page(run_of(9), 9, PLACES), 9, BYTES
    ),
    "a page that is mostly zeros": lambda: file_of(
        page(bytes(8 * MILLIONS), MILLIONS, PLAIN, zipped=True), MILLIONS, INT64, zipped=True
    ),
    "a page that says more than it has": lambda: file_of(page(b"", 9, PLAIN, said=2**31 - 1), 9, INT64, zipped=True),
    "a dictionary that is mostly zeros": lambda: file_of(
        page(bytes(400_000_000), 100_000_000, PLAIN, kind=7, zipped=True) + page(run_of(9), 9, PLACES),
        9, BYTES, zipped=True,
    ),
    "columns inside columns": lambda: file_of(page(bytes(8 * 10_000), 10_000, PLAIN), 10_000, INT64, 3_000),
    "lists inside lists": lambda: file_of(page(bytes(8 * 10_000), 10_000, PLAIN), 10_000, INT64, 3_000, repeated=2),
    "rows that no page has": lambda: file_of(b"", 2**62, INT64),
    "lists in lists of the footer": lambda: footer_of(b"\x19" * 5_000),
    "a table without columns and root": lambda: footer_of(b"\x29\x06\0"),
    "pages that every column has": lambda: pages_of_all(400),
}  # fmt: skip

#: Reads files with no more than so much address space beyond what there was.
READ = """
import resource, sys
import duckdb, numpy, polars
from pathlib import Path
import pifolab
from pifolab.agreement import agree
from pifolab.store.parquet import TableReader
READERS = {
    "table": lambda file: TableReader().read_file(file),
    "run": lambda file: pifolab.Run.load(file.parent),
    "agree": lambda file: agree(file.parent, "reference.csv"),
    "reference": lambda file: agree("good", file),
}
how, good, *files = sys.argv[1:]
polars.read_parquet(good)
polars.read_csv(b"a,b\\n1,2\\n")
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + MOST, used + MOST))
for file in files:
    try:
        READERS[how](Path(file))
        print(file, "is read")
    except pifolab.InputError as error:
        print(error)
""".replace("MOST", str(700 * 2**20))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `good` on a network, and the flows of it as a reference."""
    folder = tmp_path_factory.mktemp("ran")
    run = pifolab.run_text(NETWORK)
    run.save(folder / "good", figures=False)
    run["flows"].select("flow", "src", "dst", "size_bytes", "start_ns", "fct_ns").write_csv(folder / "reference.csv")
    return folder


def read(how: str, ran: Path, files: list[Path]) -> list[str]:
    """Return what is said of each file, one line for each."""
    command = [sys.executable, "-c", READ, how, ran / "good" / "flows.parquet", *files]
    done = subprocess.run(
        command, cwd=ran, capture_output=True, text=True, timeout=HANGS_S, check=False,
        env=os.environ | {"POLARS_MAX_THREADS": "1"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    assert len(said) == len(files)
    for file, line in zip(files, said, strict=True):
        assert line.startswith(str(file))
        assert len(line) < 400
    return said


def test_a_table_that_would_take_gigabytes_is_one_line_wherever_it_is_read(ran: Path, tmp_path: Path):
    for how, name in {"table": "x.parquet", "run": "more.parquet", "agree": "flows.parquet"}.items():
        files = []
        for at, make in enumerate(BOMBS.values()):
            folder = tmp_path / how / str(at)
            shutil.copytree(ran / "good", folder)
            files.append(folder / name)
            files[-1].write_bytes(make())
            assert files[-1].stat().st_size < 500_000
        assert not [line for line in read(how, ran, files) if line.endswith("is read")]


#: What lies in a page of each kind, in few bytes.
BODIES: list[Callable[[int], bytes]] = [
    lambda rows: bytes(8 * min(rows, 10_000)),
    lambda rows: b"".join(text(b"x" * (at % 9)) for at in range(min(rows, 1_000))),
    run_of,
    lambda rows: delta_integers(rows, 3, 5),
    lambda rows: integers_by_differences(max(rows, 2) // 128 * 128 + 129, 0, 1000),
    lambda rows: texts_that_repeat(max(rows, 2) // 128 * 128 + 129, 1000),
    lambda rows: b"",
]


def drawn_file(draw: random.Random) -> bytes:
    """A file of pages that fit or do not fit what they say of themselves, perhaps with some bits changed."""
    count = lambda: draw.choice([0, 1, 9, 128, 5_000, 10**6, 10**8, 2**31 - 1])  # noqa: E731
    zipped, rows = draw.random() < 0.3, count()
    kinds = [*draw.choice([[], [7]]), *draw.choices([5, 8], k=draw.choice([1, 1, 3]))]
    pages = b"".join(
        page(
            draw.choice(BODIES)(min(rows, 10**6)),
            draw.choice([rows, rows, count()]),
            draw.choice([PLAIN, PLAIN, 2, RLE, PLACES, PLACES, DELTA_INTEGERS, DELTA_LENGTHS, DELTA_TEXTS, SPLIT]),
            kind=kind,
            said=draw.choice([None, None, None, count()]),
            zipped=zipped,
        )
        for kind in kinds
    )
    depth = draw.choice([0, 0, 0, 0, 1, 2_000])
    content = bytearray(file_of(pages, rows, draw.choice([0, 1, INT64, 5, BYTES]), depth, zipped=zipped))
    for _ in range(draw.choice([0, 0, 1, 3])):
        content[draw.randrange(4, len(content) - 4)] ^= 1 << draw.randrange(8)
    return bytes(content)


@pytest.mark.parametrize("seed", range(2))
def test_whatever_a_file_says_of_itself_it_is_a_table_or_one_line(ran: Path, tmp_path: Path, seed: int):
    draw = random.Random(seed)
    files = []
    for at in range(100):
        files.append(tmp_path / f"{at}.parquet")
        files[-1].write_bytes(drawn_file(draw))
    read("table", ran, files)


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed"])
def test_tables_that_polars_and_duckdb_write_are_read(tmp_path: Path, compression: str):
    draw = random.Random(compression)
    for rows in (0, 1, 1_000, 100_000):
        schema = {"whole": pl.Int64, "few": pl.Int64, "real": pl.Float64, "text": pl.String, "truth": pl.Boolean}
        frame = pl.DataFrame({
            "whole": [draw.randrange(-(2**60), 2**60) for _ in range(rows)],
            "few": [draw.choice([None, 1, 2]) for _ in range(rows)],
            "real": [draw.random() for _ in range(rows)],
            "text": [draw.choice(["a", "b" * 90, str(at)]) for at in range(rows)],
            "truth": [draw.random() < 0.5 for _ in range(rows)],
        }, schema=schema)  # fmt: skip
        frame.write_parquet(tmp_path / "polars.parquet", compression=compression)
        duckdb.sql(
            f"COPY (FROM read_parquet('{tmp_path}/polars.parquet')) TO '{tmp_path}/duckdb.parquet' "
            f"(FORMAT parquet, COMPRESSION '{compression}')"
        )
        for writer in ("polars", "duckdb"):
            assert TableReader().read_file(tmp_path / f"{writer}.parquet").equals(frame)


NAMES = b"flow,src,dst,size_bytes,start_ns,fct_ns\n"

#: Small references that would take gigabytes.
REFERENCES: dict[str, Callable[[], bytes]] = {
    "a row again and again": lambda: NAMES + 15_000_000 * b"0,0,1,3000,0,1000\n",
    "empty rows": lambda: NAMES + 100_000_000 * b"\n",
    "one name of a column that never ends": lambda: 300_000_000 * b"x",
    "a hundred million columns": lambda: 100_000_000 * b",",
    "more columns than values": lambda: 20_000 * b"," + b"\n" + 20_000 * b"\n",
    "more columns than values, behind an empty line": lambda: b"\n" + 12_000 * b"," + b"\n" + 24_000 * b"\n",
    "names over several lines": lambda: b'"\n' + 20_000_000 * b"," + b'"\n' + b"x\n",
    "compressed again": lambda: gzip.compress(300_000_000 * b"x"),
    "compressed in another way": lambda: zlib.compress(300_000_000 * b"x"),
    "cut off": lambda: b"",
}


def test_a_reference_that_would_take_gigabytes_is_one_line(ran: Path, tmp_path: Path):
    files = []
    for at, make in enumerate(REFERENCES.values()):
        content = gzip.compress(make(), 1)
        files.append(tmp_path / f"{at}.csv.gz")
        files[-1].write_bytes(content[: len(content) - 5])
        files.append(tmp_path / f"{at}-whole.csv.gz")
        files[-1].write_bytes(content)
    assert not [line for line in read("reference", ran, files) if line.endswith("is read")]


def test_a_table_that_is_mostly_holes_is_one_line(tmp_path: Path):
    file = tmp_path / "x.parquet"
    for size, said in ((3 * 2**30, "most of the file is holes"), (10 * 2**30, "has over 4096 MiB")):
        with file.open("wb") as opened:
            opened.write(b"PAR1")
            opened.truncate(size)
            opened.seek(size - 8)
            opened.write(b"\0\0\0\0PAR1")
        with pytest.raises(pifolab.InputError, match=said):
            TableReader().read_file(file)
