"""Texts of the user: read from files within limits, and shown as they were typed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import textwrap
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from pifolab.errors import InputError

#: A text that is read as a whole has no more bytes than this.
MOST_BYTES = 64 * 2**20

#: Categories of characters that do something instead of showing something: control characters, marks that turn the
#: direction of text around, halves of characters, and ends of lines and paragraphs.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open the file at `path`, which may be any that the user names, without ever waiting for somebody to write to it.

    A pipe of the shell, as in ``<(zcat FILE)``, is read, however long it takes; a terminal is not waited for.
    """
    if "\0" in str(path):
        # No system has such a name; Python refuses it without a system call.
        raise InputError(f"{path}: cannot be read: the name has a null character")
    try:
        with open(path, "rb", opener=_open) as file:
            if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
                # A pipe of the shell is a link to a name that does not exist.
                if path.resolve().exists():
                    raise InputError(f"{path}: {_NAMED_PIPE}")
                os.set_blocking(file.fileno(), True)
            yield file
    except BlockingIOError:
        raise InputError(f"{path}: {_NOTHING}") from None
    except UnicodeEncodeError:
        raise InputError(f"{path}: cannot be read: the name is not UTF-8") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def readable(path: Path) -> None:
    """Refuse a file which somebody else is about to open, and for which that would wait."""
    with open_bytes(path):
        encoded(str(path), "file")


_NAMED_PIPE = "is a named pipe: expected a file, or a pipe of the shell as in <(zcat FILE)"

_NOTHING = "cannot be read: has nothing, and does not end: expected a file"


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def read_bytes(path: Path) -> bytes:
    """Return the bytes in the file at `path`, which may be any that the user names: ``/dev/zero`` never ends."""
    with open_bytes(path) as file:
        # None: a device has nothing now.
        data: bytes | None = file.read(MOST_BYTES + 1)
    if data is None:
        raise InputError(f"{path}: {_NOTHING}")
    if len(data) > MOST_BYTES:
        raise InputError(f"{path}: has over 64 MiB: expected at most 64 MiB of text")
    return data


def read_text(path: Path) -> str:
    """Return the UTF-8 text in the file at `path`."""
    data = read_bytes(path)
    try:
        # As text files are read everywhere: all ends of lines are the same.
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from None


def encoded(text: str, what: str) -> str:
    r"""Return `text`, which `what` names, if it can be written as UTF-8.

    Examples
    --------
    >>> encoded("\udcff.toml", "argument")
    Traceback (most recent call last):
        ...
    pifolab.errors.InputError: argument \udcff.toml: is not UTF-8
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} {shown(text)}: is not UTF-8") from None
    return text


def whole_number(text: str) -> int | None:
    """Return the number that `text` is in decimal digits; None if it is none, or has more digits than any number here.

    Examples
    --------
    >>> whole_number("12"), whole_number("-1"), whole_number("9" * 5000)
    (12, None, None)
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


#: Python refuses to read a number of thousands of digits.
_MOST_DIGITS = 40


def value_of(text: str) -> Any:
    """Return what `text` says in JSON. Decimals stay as they are written, to be read exactly, and so does other text.

    Examples
    --------
    >>> value_of("8"), value_of("[1, 2]"), value_of("0.1"), value_of("1/10"), value_of("per-queue")
    (8, [1, 2], '0.1', '1/10', 'per-queue')
    """
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, float) else value


def shown(text: str, keep: str = "") -> str:
    r"""Return `text` with the characters written out that a terminal or a browser would obey instead of showing them.

    Examples
    --------
    >>> print(shown("red: \x1b[31m, α"))
    red: \x1b[31m, α
    >>> shown("two\nlines", keep="\n") == "two\nlines"
    True
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(repr(one)[1:-1] if unicodedata.category(one) in _UNSEEN and one not in keep else one for one in text)


#: A figure that is wide has room for about so many characters.
_LONGEST_DRAWN = 160


def drawn(text: str) -> str:
    r"""Return `text` for a figure: a dollar is a dollar and no formula, and a legend shows it whatever it begins with.

    A text that is too long for any figure loses its middle, since drawing it would take minutes.

    Examples
    --------
    >>> print(drawn("$k$"))
    \$k\$
    >>> drawn("ab" + 50_000 * "-" + "yz") == "ab" + 78 * "-" + " ... " + 28 * "-" + "yz"
    True
    """
    safe = shown(text)
    short = safe if len(safe) <= _LONGEST_DRAWN else f"{safe[:80]} ... {safe[-30:]}"
    escaped = short.replace("$", r"\$")
    # Matplotlib leaves names that begin with an underscore out of legends; a space of no width goes before it.
    return f"\u200b{escaped}" if escaped.startswith("_") else escaped


def file_name(text: str) -> str:
    """Return a part of a file's name for `text`: readable, safe, and another one for another text.

    Examples
    --------
    >>> file_name("sp-pifo"), file_name("a/b"), file_name("a_b"), file_name("a_2fb")
    ('sp-pifo', 'a_2fb', 'a_5fb', 'a_5f2fb')
    """
    safe = "".join(
        one if one.isascii() and (one.isalnum() or one in ".-") else "".join(f"_{byte:02x}" for byte in _bytes(one))
        for one in text
    )
    # A name that begins with a dot is hidden, and "." is a folder.
    safe = f"_2e{safe[1:]}" if safe.startswith(".") else safe or "_"
    if len(safe) <= _LONGEST_NAME:
        return safe
    return f"{safe[: _LONGEST_NAME - 17]}_{hashlib.sha256(_bytes(text)).hexdigest()[:16]}"


#: File systems allow 255 bytes; the rest is for prefixes and endings.
_LONGEST_NAME = 160


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def wrapped(text: str, indent: int = 0, first: int = 0) -> str:
    """Break a text into lines as wide as the terminal, at most 100 columns.

    The first line begins with `first` spaces, all others with `indent`.
    """
    width = min(shutil.get_terminal_size((100, 24)).columns, 100)
    return textwrap.fill(
        text,
        max(width, 40),
        initial_indent=" " * first,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
