"""Captures with only the packets that a pcap filter keeps, such as ``udp port 53``, by libpcap itself."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from gzip import BadGzipFile, GzipFile
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import BinaryIO, cast
from zlib import error as ZlibError  # noqa: N812

from pifolab.errors import InputError
from pifolab.text import open_bytes

#: Names under which systems have the library, where they cannot be asked for it.
_NAMES = ("libpcap.so.1", "libpcap.so.0.8", "libpcap.so", "libpcap.A.dylib")

#: Times in nanoseconds; a pcap file has no finer ones.
_NANOSECONDS = 1

#: The netmask of the network, which filters on IPv4 broadcasts need, is not known.
_NO_NETMASK = 0xFFFFFFFF

#: The interval between two checks for an interruption.
_PACKETS_AT_ONCE = 1 << 16

_ERROR_BYTES = 256

#: A capture has at most so many bytes when it is unpacked, and is copied in such pieces.
_MOST_BYTES, _PIECE_BYTES = 64 * 2**30, 1 << 20

#: Bytes of a pcap file before its packets.
_FILE_HEADER = 24


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint), ("instructions", ctypes.c_void_p))


@cache
def _library() -> ctypes.CDLL | None:
    """Return libpcap, if there is one."""
    for name in (ctypes.util.find_library("pcap"), *_NAMES):
        try:
            found = ctypes.CDLL(name) if name else None
        except OSError:
            continue
        if found is not None:
            break
    else:
        return None
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    signatures = {
        "pcap_open_offline_with_tstamp_precision": (pointer, [text, ctypes.c_uint, text]),
        "pcap_compile": (number, [pointer, ctypes.POINTER(_Program), text, number, ctypes.c_uint]),
        "pcap_setfilter": (number, [pointer, ctypes.POINTER(_Program)]),
        "pcap_freecode": (None, [ctypes.POINTER(_Program)]),
        "pcap_dump_open": (pointer, [pointer, text]),
        "pcap_dispatch": (number, [pointer, number, pointer, pointer]),
        "pcap_dump_flush": (number, [pointer]),
        "pcap_dump_close": (None, [pointer]),
        "pcap_geterr": (text, [pointer]),
        "pcap_close": (None, [pointer]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found


def pcap_library() -> str | None:
    """Return the name of libpcap's file, if there is one."""
    library = _library()
    return None if library is None else library._name


@contextmanager
def filtered(trace: Path, expression: str) -> Iterator[Path]:
    """Yield a capture with the packets of `trace` that `expression` keeps; it is gone when the block ends.

    `trace` is pcap or pcapng, gzip allowed, or a pipe of the shell; `expression` a pcap filter, as tcpdump takes it.
    The filter sees frames as they are, and not flows: behind a VLAN tag it has to begin with ``vlan and``. Times are
    those of the capture, to the nanosecond. Raises `InputError` if libpcap is not there, or refuses the file or the
    filter, or no packet is kept.
    """
    if "\0" in expression or not expression.isascii():
        raise InputError(f"filter = {expression!a}: expected ASCII text without null characters")
    library = _library()
    if library is None:
        raise InputError(f"filter = {expression}: needs libpcap: install libpcap0.8 (Debian, Ubuntu), libpcap (Fedora)")
    with tempfile.TemporaryDirectory(prefix="pifolab-") as folder:
        plain, kept = Path(folder) / "whole.pcap", Path(folder) / "kept" / trace.name
        kept.parent.mkdir()
        _unpack(trace, plain)
        if not _keep(library, trace, plain, expression, kept):
            raise InputError(
                f"filter = {expression}: keeps no packet of {trace}; expected some (behind a VLAN tag: vlan and ...)"
            )
        plain.unlink()
        try:
            yield kept
        except InputError as error:
            raise InputError(str(error).replace(str(kept), f"{trace} ({expression})")) from None


def _unpack(trace: Path, plain: Path) -> None:
    """Copy the content of the file or the pipe to `plain`."""
    with open_bytes(trace) as file, plain.open("wb") as copy:
        source = BufferedReader(cast("RawIOBase", file))
        content = GzipFile(fileobj=source) if source.peek(2)[:2] == b"\x1f\x8b" else source
        try:
            while piece := content.read(_PIECE_BYTES):
                if copy.tell() + len(piece) > _MOST_BYTES:
                    raise InputError(
                        f"{trace}: has over {_MOST_BYTES // 2**30} GiB when unpacked: expected at most that"
                    )
                _write(copy, piece, plain.parent)
        except (EOFError, BadGzipFile, ZlibError) as error:
            raise InputError(f"{trace}: cannot be unpacked: {error}") from None


def _write(copy: BinaryIO, piece: bytes, folder: Path) -> None:
    try:
        copy.write(piece)
        copy.flush()
    except OSError as error:
        raise InputError(f"{folder}: cannot be written, for a pcap filter: {error.strerror}") from None


def _keep(library: ctypes.CDLL, trace: Path, plain: Path, expression: str, kept: Path) -> int:
    """Write the packets of `plain` that `expression` keeps to `kept`, and return the bytes of them."""
    problem = ctypes.create_string_buffer(_ERROR_BYTES)
    capture = library.pcap_open_offline_with_tstamp_precision(os.fsencode(plain), _NANOSECONDS, problem)
    if not capture:
        raise InputError(f"{trace}: a pcap filter needs a pcap or pcapng file: {_said(problem.value, plain)}")
    try:
        program = _Program()
        if library.pcap_compile(capture, ctypes.byref(program), expression.encode(), 1, _NO_NETMASK):
            raise InputError(f"filter = {expression}: not a pcap filter: {_said(library.pcap_geterr(capture), plain)}")
        try:
            library.pcap_setfilter(capture, ctypes.byref(program))
            out = library.pcap_dump_open(capture, os.fsencode(kept))
            if not out:
                raise InputError(f"{kept}: cannot be written: {_said(library.pcap_geterr(capture), plain)}")
            write = ctypes.cast(library.pcap_dump, ctypes.c_void_p)
            while (read := library.pcap_dispatch(capture, _PACKETS_AT_ONCE, write, out)) > 0:
                pass
            is_whole = library.pcap_dump_flush(out) == 0
            library.pcap_dump_close(out)
            if not is_whole:
                raise InputError(f"{kept.parent}: cannot be written, for a pcap filter: the disk may be full")
            if read < 0:
                raise InputError(f"{trace}: {_said(library.pcap_geterr(capture), plain)}")
        finally:
            library.pcap_freecode(ctypes.byref(program))
    finally:
        library.pcap_close(capture)
    return kept.stat().st_size - _FILE_HEADER


def _said(text: bytes, plain: Path) -> str:
    """Return a message of libpcap without the name of the copy."""
    return text.decode(errors="replace").replace(str(plain), "the file").strip()
