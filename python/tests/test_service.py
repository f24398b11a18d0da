"""The service file of the data plane."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from waiting import HANGS_S

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "dataplane" / "linux" / "systemd" / "pifolab-dataplane@.service"
PROGRAM = "/usr/local/bin/pifolab-dataplane"


def test_systemd_accepts_the_service_file(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    # systemd asks that the programs exist.
    text = UNIT.read_text(encoding="utf-8")
    assert text.count(PROGRAM) == 2
    unit = tmp_path / "pifolab-dataplane@eth1.service"
    unit.write_text(text.replace(PROGRAM, "/bin/true"), encoding="utf-8")
    command = [analyze, "verify", "--man=no", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_S, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert str(unit.name) not in said, said


def test_the_page_installs_the_program_from_where_its_build_puts_it() -> None:
    page = (ROOT / "docs" / "dataplane.md").read_text(encoding="utf-8")
    manifest = re.search(r"cargo build --release --manifest-path (\S+)", page)
    installed = re.search(r"install -m 755 (\S+) /usr/local/bin/", page)
    assert manifest
    assert installed
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--manifest-path", manifest[1]]
    # The user's own setting is another place.
    environment = {key: value for key, value in os.environ.items() if key != "CARGO_TARGET_DIR"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    built = Path(json.loads(done.stdout)["target_directory"]) / "release" / "pifolab-dataplane"
    assert built == ROOT / installed[1]


def test_the_service_has_the_capabilities_that_the_page_names() -> None:
    text = UNIT.read_text(encoding="utf-8")
    page = (ROOT / "docs" / "dataplane.md").read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("CapabilityBoundingSet="))
    assert ", ".join(line.partition("=")[2].split()) in page
    assert UNIT.name in page
