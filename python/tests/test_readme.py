"""What the README shows works as it is printed."""

import json
import re
import shlex
from collections import Counter
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


def test_the_verdicts_are_counted_as_in_the_registry():
    claims = json.loads((ROOT / "docs/reproduction.json").read_text(encoding="utf-8"))["claims"]
    verdicts = Counter(claim["verdict"] for claim in claims)
    (said,) = re.findall(r"of their (\d+) claims a verdict: (.*?)\. \[docs/reproduction", " ".join(README.split()))
    counted = {name: int(number) for number, name in re.findall(r"(\d+) ([a-z ]+?)(?=,| and |$)", said[1])}
    assert int(said[0]) == len(claims)
    assert counted == dict(verdicts)
