"""`pifolab completion`: shell completion of commands, options, and names of the library."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from pifolab import info, packaged
from pifolab.cli.parser import Parser
from pifolab.cli.show import KINDS

SHELLS = ("bash", "zsh", "fish")

#: Arguments that take names, by command (* for all) and option or metavar: the names, and whether several with commas.
_NAMES = {
    ("*", "--schedulers"): ("schedulers", True),
    ("*", "--draw"): ("schedulers", True),
    ("*", "--scheduler"): ("schedulers", False),
    ("*", "--ranks"): ("distributions", False),
    ("attack", "A"): ("schedulers", False),
    ("attack", "B"): ("schedulers", False),
    ("show", "NAME"): ("names", False),
    ("*", "--rank"): ("ranks", False),
    ("advise", "--objective"): ("objectives", False),
    ("reproduce", "PAPER"): ("papers", True),
    ("*", "SCENARIO"): ("experiments", False),
    ("study", "FILE"): ("studies", False),
}

#: `$1` is the word before the cursor; the output is the list of candidates. Names after a comma are prefixed by those
#: before it.
_BASH = {
    False: """{function}() {{
  compgen -W "{names}" -- "$1"{files}
}}""",
    True: """{function}() {{
  local before=""
  [[ "$1" == *,* ]] && before="${{1%,*}},"
  compgen -P "$before" -W "{names}" -- "${{1##*,}}"
}}""",
}

_ZSH = {
    False: """{function}() {{
  local -a names=({names})
  compadd -a names{files}
}}""",
    True: """{function}() {{
  local -a names=({names})
  compset -P '*,'
  compadd -q -S , -a names
}}""",
}

_FISH = {
    False: """function {function}
  printf '%s\\n' {names}{files}
end""",
    True: """function {function}
  set -l before (string match -r '.*,' -- (commandline -ct))
  printf "$before%s\\n" {names}
end""",
}

#: By shell: the forms of the functions, and what adds files to names.
_SHAPES = {
    "bash": (_BASH, '; compgen -f -- "$1"'),
    "zsh": (_ZSH, "; _files"),
    "fish": (_FISH, "; __fish_complete_path (commandline -ct)"),
}


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab completion`."""
    parser.description = (
        "Prints a script for the shell, which completes commands, options, files, and the names of schedulers, rank "
        "functions and experiments."
    )
    parser.epilog = (
        "bash: pifolab completion bash > ~/.local/share/bash-completion/completions/pifolab; "
        "zsh: pifolab completion zsh > DIR/_pifolab, DIR being one of $fpath; "
        "fish: pifolab completion fish > ~/.config/fish/completions/pifolab.fish"
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")


def run(whole: Parser, arguments: argparse.Namespace) -> int:
    """Print the script for the commands of `whole`."""
    print(completion(whole, arguments.shell))
    return 0


def completion(parser: Parser, shell: str) -> str:
    """Return the script that makes `shell`, one of `SHELLS`, complete the commands of `parser`."""
    import shtab

    for name, action in _actions(parser, "*"):
        if action.choices is not None:
            continue
        chosen = _chosen(name, action)
        if chosen is not None:
            function = _function(*chosen)
            action.complete = dict.fromkeys(SHELLS, function) | {"fish": f"({function})"}  # type: ignore[attr-defined]
        elif action.type is Path:
            directory = action.metavar in ("DIR", "STORE", "RUN")
            action.complete = shtab.DIRECTORY if directory else shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell, preamble="\n".join(_preamble(*_SHAPES[shell]))))


def _actions(parser: Parser, command: str) -> Iterator[tuple[str, argparse.Action]]:
    """Yield the arguments of all commands, each with the name of its outermost command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from _actions(inner, name if command == "*" else command)
        else:
            yield command, action


def _chosen(command: str, action: argparse.Action) -> tuple[str, bool] | None:
    """Return the names that the argument takes, and whether it takes several."""
    for written in (*action.option_strings, *([] if action.option_strings else [action.metavar])):
        for key in ((command, str(written)), ("*", str(written))):
            if key in _NAMES:
                return _NAMES[key]
    return None


def _function(kind: str, several: bool) -> str:
    return f"_pifolab_{kind}_list" if several else f"_pifolab_{kind}"


def _preamble(shapes: dict[bool, str], files: str) -> Iterator[str]:
    for kind, several in dict.fromkeys(_NAMES.values()):
        shown = files if kind in ("experiments", "studies") else ""
        names = " ".join(_names(kind))
        yield shapes[several].format(function=_function(kind, several), names=names, files=shown)


def _names(kind: str) -> Sequence[str]:
    from pifolab.advise import OBJECTIVES
    from pifolab_papers.registry import paper_names

    studies = packaged.studies()
    schedulers = [about.name for about in info.schedulers()]
    ranks = [about.name for about in info.ranks()]
    known = [about.name for infos in info.kinds().values() for about in infos]
    return {
        "schedulers": schedulers,
        "ranks": [*ranks, "column", "dscp", "dscp:phb"],
        "names": list(dict.fromkeys([*KINDS, *known, *packaged.experiments()])),
        "distributions": [about.name for about in info.kinds()["distribution"]],
        "objectives": list(OBJECTIVES),
        "papers": paper_names(),
        "experiments": [name for name in packaged.experiments() if name not in studies],
        "studies": studies,
    }[kind]
