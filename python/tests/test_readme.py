"""What the README shows works as it is printed."""

import re
import shlex
from pathlib import Path

import pytest

from pifolab.cli.commands import complete_parser

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", blocks("python"))
def test_python_examples_run(block: str, capsys: pytest.CaptureFixture[str]):
    exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out


def commands() -> list[str]:
    lines = [line.partition("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith(".venv/bin/pifolab ")]


@pytest.mark.parametrize("command", commands())
def test_commands_are_accepted(command: str):
    arguments = complete_parser().parse(shlex.split(command)[1:])
    assert callable(arguments.run)


def test_what_is_linked_exists():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target).exists(), target
    assert (ROOT / "experiments/packs/fig3.toml").exists()
