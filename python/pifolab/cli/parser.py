"""Command-line parsing with one-line errors that suggest what was meant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from itertools import takewhile
from typing import Any, ClassVar, NoReturn

from pifolab import _pifolab
from pifolab.errors import InputError
from pifolab.text import encoded, shown

__all__ = ["Parser", "pair_of", "positive_integer"]


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` whose errors are one line."""

    #: The words that are being parsed.
    _words: ClassVar[list[str]] = []

    def __init__(self, **keywords: Any) -> None:
        keywords.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **keywords)
        self._commands: dict[str, Parser] = {}

    def commands(self, **keywords: Any) -> argparse._SubParsersAction[Parser]:
        """Add sub-commands, remembered for suggestions."""
        action = self.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser, **keywords)
        self._commands = action.choices
        return action

    @staticmethod
    def passing(commands: argparse._SubParsersAction[Parser], name: str, text: str, run: Callable[..., int]) -> None:
        """Add to `commands` one whose words all go to `run`, which also explains its options."""
        command = commands.add_parser(name, help=text, add_help=False, prefix_chars="\0")
        command.add_argument("arguments", nargs="*", metavar="ARGUMENT")
        command.set_defaults(run=lambda arguments: run(arguments.arguments))

    def parse(self, argv: list[str]) -> argparse.Namespace:
        """Parse `argv`; a wrong one ends in `SystemExit(2)` after one line."""
        for word in argv:
            encoded(word, "argument")
        Parser._words = argv
        arguments, unknown = self.parse_known_args(argv)
        if unknown:
            parser = self._in_charge(argv)
            word = unknown[0]
            if word.startswith("-"):
                parser.error(_pifolab.unknown_name("option", word.split("=")[0], parser._options()))
            parser.error(f"unexpected argument {word!r}")
        return arguments

    def _options(self) -> list[str]:
        return [option for action in self._actions for option in action.option_strings]

    def _in_charge(self, argv: list[str]) -> Parser:
        """Return the parser of the innermost command that `argv` names."""
        parser = self
        for word in argv:
            parser = parser._commands.get(word, parser)
        return parser

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            what = "command" if isinstance(action, argparse._SubParsersAction) else str(action.metavar or action.dest)
            names = [str(choice) for choice in action.choices]
            self.error(_pifolab.unknown_name(what, str(value), names))

    def error(self, message: str) -> NoReturn:
        """Print one line and leave with exit status 2."""
        # What is missing may be there with a slip of the pen.
        words = takewhile(lambda word: word != "--", self._words)
        named = [word.split("=")[0] for word in words if word.startswith("--")]
        unknown = [name for name in named if name not in self._options()]
        if "required" in message and unknown:
            message = _pifolab.unknown_name("option", unknown[0], self._options())
        print(f"{self.prog}: {shown(message)} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)


def positive_integer(text: str) -> int:
    """Read an integer from 1, for `type=` of an argument."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected an integer >= 1, got {text!r}")
    return int(text)


def pair_of(option: str, text: str, form: str = "KEY=VALUE") -> tuple[str, str]:
    """Return what stands before and after the ``=`` in what `option` is given; errors say that it has this `form`.

    Examples
    --------
    >>> pair_of("--set", "link.rate_gbps = 40")
    ('link.rate_gbps', '40')
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"{option} {text}: expected {form}")
    return key.strip(), value.strip()
