"""JSON files with a checksum of themselves, so that no changed bit goes unnoticed; the record of a run is one."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

#: The key of the checksum, which is the last key.
_CHECKSUM = "sha256"

_DIGEST = re.compile(r"[0-9a-f]{64}")

#: A file of a run lies in its folder, under a name that is the same on every file system.
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


#: The types of a record's optional values, which become columns.
_VALUES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("name", "code", "started", "host"), (str,)),
    **dict.fromkeys(("elapsed_s", "encoding_s"), (int, float)),
    **dict.fromkeys(("process", "peak_memory_bytes"), (int,)),
    "complete": (bool,),
}


class DamagedError(Exception):
    """Content that was changed after writing; the text describes the change without naming the file."""


class RunRecord(NamedTuple):
    """The content of ``record.json``."""

    #: When, where and how long it ran; ``run`` is its key.
    about: dict[str, Any]
    #: The SHA-256 of every other file of the run, by name.
    files: dict[str, str]


def seal(about: Mapping[str, Any]) -> bytes:
    """Return `about` as JSON with a checksum.

    Examples
    --------
    >>> unseal(seal({"format": 2}))
    {'format': 2}
    """
    return _written({**about, _CHECKSUM: hashlib.sha256(_written(about)).hexdigest()})


def unseal(content: bytes) -> dict[str, Any]:
    """Return the content that was passed to `seal`; raises `DamagedError` if it was changed after writing."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise DamagedError("cannot be read") from None
    if not isinstance(found, dict):
        raise DamagedError("cannot be read")
    about = {key: value for key, value in found.items() if key != _CHECKSUM}
    # The file must consist of exactly the bytes that `seal` writes.
    if found.get(_CHECKSUM) != hashlib.sha256(_written(about)).hexdigest() or _written(found) != content:
        raise DamagedError("differs from what was written")
    return about


def read_record(content: bytes, key: str) -> RunRecord:
    """Return the record of the run `key`; raises `DamagedError` if it is not that, or was changed after writing."""
    about = unseal(content)
    if about.get("run") != key:
        raise DamagedError("belongs to another run")
    for name, kinds in _VALUES.items():
        value: Any = about.get(name)
        # True is an integer to Python.
        fits = isinstance(value, kinds) and isinstance(value, bool) == (kinds == (bool,))
        if name in about and not (fits and (isinstance(value, (str, bool)) or 0 <= value < 2**63)):
            raise DamagedError(f"has a value of {name} that is not valid")
    files = about.pop("files", None)
    if not isinstance(files, dict) or "manifest.json" not in files:
        raise DamagedError("does not list the files of a run")
    for name, digest in files.items():
        if not _FILE_NAME.fullmatch(name):
            raise DamagedError(f"lists {name[:40]!r}, which is not the name of a file of a run")
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise DamagedError(f"has a checksum of {name} that is not valid")
    return RunRecord(about, files)


def _written(value: Mapping[str, Any]) -> bytes:
    try:
        return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
    except (UnicodeEncodeError, RecursionError):
        # `seal` never writes texts that JSON can represent but UTF-8 cannot.
        raise DamagedError("cannot be read") from None
