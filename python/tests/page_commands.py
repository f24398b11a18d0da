"""The shell commands of README.md, CONTRIBUTING.md and docs, and how a test runs each.

Every block ```` ```sh ```` is a list of commands, one a line; `#` begins a comment. They run as they stand, in order,
page by page, in a folder that looks like the source tree. A comment above a block says where a command needs more:

    <!-- run: ENTRY; ENTRY; ... -->       an entry is [NUMBER] WHAT, for one command of the block or for all:
        with ARGUMENTS                    these are appended, to make it short
        quick with ARGUMENTS              these are appended in `make test-all`; `make test-slow` runs it as it stands
        slow                              it takes longer than `make test-all` may: `make test-slow` runs it
        slow with ARGUMENTS               both
        needs PROGRAM                     not where the program is missing; the test says so
        never REASON                      not at all
    <!-- before: COMMAND -->              what the block needs to be there first; slow COMMAND if the block is slow
    <!-- file: NAME: LANGUAGE -->         the next block in that language is the file NAME

What is never run, and why, is pinned in test_pages.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_COMMENT = re.compile(r"^<!-- (?P<kind>run|before|file): (?P<text>.*?) -->$", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"(?:(?P<number>\d+) )?(?P<what>with|quick with|slow with|slow|needs|never)(?: (?P<rest>.+))?")
#: How a command begins that stands in a block without a language, or indented, where no test would find it.
_LOOKS_LIKE_A_COMMAND = re.compile(
    r"^(?:    |\$ )(?:\.venv/bin/\S+|pifolab(?:-dataplane)?|make|cargo|scripts/\S+|pip3?|python3?|tshark) "
)


@dataclass(frozen=True)
class Command:
    """One command of a page."""

    page: str
    line: int
    #: As the page shows it.
    text: str
    #: What is appended.
    arguments: str = ""
    slow: bool = False
    #: What is appended besides, in the quick run alone.
    quick: str = ""
    #: A program without which it is not run.
    needs: str = ""
    #: Why it is never run.
    never: str = ""

    def shell(self, *, slow: bool) -> str:
        """Return what is given to the shell, in the run that may be slow or in the quick one."""
        return " ".join(filter(None, (self.text, self.arguments, "" if slow else self.quick)))


@dataclass(frozen=True)
class File:
    """A file that a page shows."""

    page: str
    name: str
    text: str


def pages() -> list[Path]:
    """Return every page that may have commands."""
    docs = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *docs]


def steps(page: Path) -> list[Command | File]:
    """Return what a page shows, in its order. `ValueError` names a comment that is not of the form."""
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(ROOT).as_posix()
    marks = sorted([*_COMMENT.finditer(text), *_FENCE.finditer(text)], key=re.Match.start)
    found: list[Command | File] = []
    runs: list[str] = []
    wanted: tuple[str, str] | None = None
    for mark in marks:
        line = text.count("\n", 0, mark.start()) + 1
        if mark.re is _COMMENT:
            content = " ".join(mark["text"].split())
            if mark["kind"] == "run":
                runs += content.split("; ")
            elif mark["kind"] == "file":
                file, _, language = content.partition(": ")
                wanted = (file, language)
            else:
                slow = content.startswith("slow ")
                found.append(Command(name, line, content.removeprefix("slow "), slow=slow))
        elif wanted is not None and mark["language"] == wanted[1]:
            found.append(File(name, wanted[0], mark["text"]))
            wanted = None
        elif mark["language"] == "sh":
            found += _configured(list(_commands(name, line, mark["text"])), runs, f"{name}:{line}")
            runs = []
    if runs or wanted is not None:
        raise ValueError(f"{name}: a comment without a block below it: {runs or wanted}")
    return found


def files(page: Path) -> list[File]:
    """Return the files that a page shows."""
    return [step for step in steps(page) if isinstance(step, File)]


def hidden(page: Path) -> list[str]:
    """Return the lines that look like commands and stand outside of blocks of the language sh."""
    text = page.read_text(encoding="utf-8")
    outside = _FENCE.sub(lambda block: block["text"] if not block["language"] else "", text)
    return [line for line in outside.splitlines() if _LOOKS_LIKE_A_COMMAND.match(line)]


def _commands(page: str, first: int, block: str) -> Iterator[Command]:
    for place, written in enumerate(block.splitlines(), start=first + 1):
        text = re.sub(r"(?:^|\s)#.*", "", written).strip()
        if text:
            yield Command(page, place, text)


def _configured(commands: list[Command], runs: list[str], place: str) -> list[Command]:
    for run in runs:
        entry = _ENTRY.fullmatch(run)
        if entry is None:
            raise ValueError(
                f"{place}: {run!r}: expected [NUMBER] with, quick with, slow, needs or never, and what belongs to it"
            )
        number, what, rest = entry["number"], entry["what"], entry["rest"] or ""
        if (what == "slow") != (not rest):
            raise ValueError(f"{place}: {run!r}: expected arguments, a program or a reason behind all but slow")
        if number is not None and not 1 <= int(number) <= len(commands):
            raise ValueError(f"{place}: {run!r}: the block has {len(commands)} commands")
        change: dict[str, object] = {"slow": True} if what.startswith("slow") else {}
        key = {
            "with": "arguments",
            "quick with": "quick",
            "slow with": "arguments",
            "needs": "needs",
            "never": "never",
        }.get(what)
        change |= {key: rest} if key else {}
        for at in range(len(commands)) if number is None else [int(number) - 1]:
            commands[at] = replace(commands[at], **change)  # type: ignore[arg-type]
    return commands
