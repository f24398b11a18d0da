"""Write `python/pifolab/_classes.pyi`: what editors and type checkers see of the classes that import makes.

.venv/bin/python scripts/generate_stubs.py           # write it
.venv/bin/python scripts/generate_stubs.py --check   # exit status 1 if it is not what the tables say
"""

import sys
import textwrap
from pathlib import Path

from pifolab import info
from pifolab._classes import class_docstring

TARGET = Path(__file__).resolve().parents[1] / "python/pifolab/_classes.pyi"

HEAD = '''\
"""What editors and type checkers see of `_classes.py`; written by scripts/generate_stubs.py, not by hand."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal

from pifolab._pifolab import Packet, Scheduler
from pifolab.info import Info

def class_docstring(about: Info) -> str: ...
def described(value: Any, path: str) -> Any: ...
def scheduler(name: str, /, **parameters: Any) -> Scheduler: ...
def child(
    scheduler: Scheduler,
    /,
    *,
    label: str | None = None,
    weight: float | str | Decimal | Fraction | None = None,
    priority: int | None = None,
    takes: int | str | Sequence[int | str] | None = None,
    shape_gbps: float | str | Decimal | Fraction | None = None,
    shape_burst_bytes: int | None = None,
) -> dict[str, Any]: ...
def ranked(rank: str, scheduler: Scheduler, /, **parameters: Any) -> Ranked: ...

class Ranked(Scheduler):
    rank: str
    rank_parameters: MappingProxyType[str, Any]
    scheduler: Scheduler
    def __new__(cls, rank: str, scheduler: Scheduler, rank_parameters: dict[str, Any]) -> Ranked: ...
'''

ANNOTATIONS = {
    "integer": "int",
    "fraction": "float | str | Decimal | Fraction",
    "flag": "bool",
    "integers": "Sequence[int]",
    "integer-or-integers": "int | Sequence[int]",
    "text": "str",
    "texts": "Sequence[str]",
    "number": "float | str | Decimal | Fraction",
    "component": "Scheduler | Mapping[str, Any]",
    "components": "Sequence[Scheduler | Mapping[str, Any]]",
}


def annotation(param: info.Param) -> str:
    if param.kind == "choice":
        words = "Literal[" + ", ".join(f'"{word}"' for word, _ in param.choices) + "]"
        # What sorts packets into leaves may also be a function, which no text can be.
        return f"{words} | Callable[[Packet], int | None]" if param.name == "classify" else words
    return ANNOTATIONS[param.kind]


def argument(param: info.Param) -> str:
    if param.required:
        return f"{param.name}: {annotation(param)}"
    return f"{param.name}: {annotation(param)} | None = None"


def class_stub(about: info.Info) -> str:
    docstring = textwrap.indent(f'"""{class_docstring(about)}\n"""', "    ")
    arguments = "".join(f"        {argument(param)},\n" for param in about.params)
    keywords = f"        *,\n{arguments}" if arguments else ""
    return (
        f"class {about.class_name}(Scheduler):\n{docstring}\n\n"
        "    info: Info\n    parameters: MappingProxyType[str, Any]\n"
        f"    def __new__(\n        cls,\n{keywords}    ) -> {about.class_name}: ...\n"
    )


def stubs() -> str:
    return HEAD + "".join("\n" + class_stub(about) for about in info.schedulers())


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != stubs():
            sys.exit(f"{TARGET.name} is out of date: run `make build`")
    else:
        TARGET.write_text(stubs(), encoding="utf-8")
