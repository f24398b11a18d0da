"""`pifolab playground`: schedulers side by side in the browser, step by step."""

from __future__ import annotations

import argparse
import shutil
import webbrowser
from pathlib import Path

from pifolab import packaged
from pifolab.cli.parser import Parser
from pifolab.errors import InputError
from pifolab.folder import whole_folder


def declare(parser: Parser) -> None:
    """Declare the arguments of `pifolab playground`."""
    parser.description = "Opens a page of this package in the browser. It needs neither a server nor a network."
    parser.add_argument(
        "--print", action="store_true", dest="show", help="print the path of the page, without opening it"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="copy the page there, without opening it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Open, print or copy the page."""
    page = packaged.playground()
    out: Path | None = arguments.out
    if out is not None:
        if out.exists():
            raise InputError(f"--out {out}: exists; expected a new folder")
        with whole_folder(out) as folder:
            shutil.copytree(page.parent, folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        page = out / "index.html"
    elif not arguments.show:
        webbrowser.open(page.as_uri())
    print(page)
    return 0
