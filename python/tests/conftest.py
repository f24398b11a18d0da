"""What the tests share."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def pifolab_command(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the installed command as a user would: in a folder of its own, without a terminal."""
    command = Path(sys.executable).with_name("pifolab")

    def run(*arguments: str | Path, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PIFOLAB")}
        return subprocess.run(
            [command, *map(str, arguments)],
            cwd=cwd,
            env=environment | {"COLUMNS": "100"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run
