"""Command-line parsing with one-line errors that suggest similar names."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, ClassVar, NoReturn

from pifolab import _pifolab
from pifolab.cli import renamed
from pifolab.errors import InputError, shortened
from pifolab.text import encoded, shown, whole_number, wrapped

#: The largest width of help.
_WIDEST = 100


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(
        prog, max_help_position=28, width=min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)
    )


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` whose errors are one line.

    A parser with `commands` lists them in its help, with the arguments and the description of each.
    """

    #: The words that are being parsed.
    _words: ClassVar[list[str]] = []

    def __init__(self, **keywords: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_formatter, **keywords)
        self.commands: dict[str, Parser] = {}
        #: Each command with its arguments in help, its description, and whether only ``help --all`` shows it.
        self.listed: list[tuple[str, str, bool]] = []
        self._inner: argparse._SubParsersAction[Parser] | None = None

    def command(self, name: str, form: str, about: str, *, hidden: bool = False, passing: bool = False) -> Parser:
        """Add a command, or return the one of this `name`; with `passing` all its arguments go to another program."""
        if name in self.commands:
            return self.commands[name]
        if self._inner is None:
            self._inner = self.add_subparsers(metavar="COMMAND", parser_class=Parser)
            self.set_defaults(run=self._list)
        said = about[0].upper() + about[1:] + "."
        more: dict[str, Any] = {"add_help": False, "prefix_chars": "\0"} if passing else {}
        made = self._inner.add_parser(name, help=about, description=said, **more)
        self.commands[name] = made
        self.listed.append((f"{name} {form}".rstrip(), about, hidden))
        return made

    def _list(self, arguments: argparse.Namespace) -> int:
        print(self.format_help(), end="")
        return 0

    def format_help(self) -> str:
        """Return the help; for a parser with commands their list."""
        return self.listing() if self.listed else super().format_help()

    def listing(self, *, everything: bool = False) -> str:
        """Return the list of commands; with `everything` also those that are used rarely."""
        rows = [(form, about) for form, about, hidden in self.listed if everything or not hidden]
        column = min(max(len(form) for form, _ in rows) + 4, 30)
        lines = [f"usage: {self.prog} COMMAND ...", "", wrapped(self.description or ""), ""]
        for form, about in rows:
            start = f"  {form}"
            if len(start) >= column:
                lines.append(wrapped(start, indent=4))
                start = ""
            lines.append(wrapped(f"{start:{column}}{about}", indent=column))
        hidden = not everything and any(hidden for _, _, hidden in self.listed)
        lines += ["", f"Help on one: {self.prog} COMMAND --help" + ("; all commands: pifolab help --all" * hidden), ""]
        return "\n".join(lines)

    def parse(self, argv: list[str]) -> argparse.Namespace:
        """Parse `argv`, including old names; an error prints one line and raises `SystemExit(2)`."""
        for word in argv:
            encoded(word, "argument")
        return self.read(renamed.current(argv, self.error))

    def read(self, argv: list[str]) -> argparse.Namespace:
        """Parse `argv` without the old names."""
        Parser._words = argv
        arguments, unknown = self.parse_known_args(argv)
        if unknown:
            parser = self._in_charge(argv)
            word = unknown[0]
            if word.startswith("-"):
                parser.error(parser._unknown_option(word))
            parser.error(f"unexpected argument {word!r}")
        return arguments

    def options(self) -> list[str]:
        """Return the options of this command."""
        return [option for action in self._actions for option in action.option_strings if option.startswith("--")]

    def _unknown_option(self, word: str) -> str:
        return _pifolab.unknown_name("option", word.split("=")[0], self.options())

    def _in_charge(self, argv: Sequence[str]) -> Parser:
        """Return the parser of the innermost command in `argv`."""
        parser = self
        for word in argv:
            parser = parser.commands.get(word, parser)
        return parser

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # Before Python 3.12 the value of `--option=--` is an empty list.
        if action.option_strings and action.nargs is None and arg_strings == ["--"]:
            raise argparse.ArgumentError(action, "expected one argument")
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            inner = isinstance(action, argparse._SubParsersAction)
            names = [str(choice) for choice in action.choices]
            what = "command" if inner else str(action.metavar or action.dest)
            self.error(_pifolab.unknown_name(what, str(value), names))

    def error(self, message: str) -> NoReturn:
        """Print one line and leave with exit status 2."""
        # A missing argument may be present with a typo.
        words = takewhile(lambda word: word != "--", self._words)
        named = [word.split("=")[0] for word in words if word.startswith("--")]
        unknown = [name for name in named if name not in self.options()]
        if "required" in message and unknown:
            message = self._unknown_option(unknown[0])
        print(f"{self.prog}: {shortened(shown(message))} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)


def positive_integer(text: str) -> int:
    """Read an integer from 1, for `type=` of an argument."""
    read = whole_number(text)
    if not read:
        raise argparse.ArgumentTypeError(f"expected an integer >= 1, got {text!r}")
    return read


def positive_up_to(most: int) -> Callable[[str], int]:
    """Return a reader of integers from 1 to `most`, for `type=` of an argument."""

    def read(text: str) -> int:
        value = positive_integer(text)
        if value > most:
            raise argparse.ArgumentTypeError(f"expected an integer from 1 to {most}, got {text!r}")
        return value

    return read


#: The most processes or threads: more than any machine has processors.
MOST_WORKERS = 1024


def pair_of(option: str, text: str, form: str = "KEY=VALUE") -> tuple[str, str]:
    """Return the parts before and after the ``=`` in the value of `option`; errors name the expected `form`.

    Examples
    --------
    >>> pair_of("--set", "link.rate_gbps = 40")
    ('link.rate_gbps', '40')
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"{option} {text}: expected {form}")
    return key.strip(), value.strip()
