"""What a release says of itself: one version, a changelog and a citation that tools can read, licences."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml

import pifolab

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.form
sys.path.insert(0, str(ROOT / "scripts"))

import licences  # noqa: E402

VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
#: Of Keep a Changelog, in its order.
SECTIONS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def toml(name: str) -> dict:
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def test_every_crate_has_the_version_of_the_workspace():
    for member in toml("Cargo.toml")["workspace"]["members"]:
        assert toml(f"{member}/Cargo.toml")["package"]["version"] == {"workspace": True}, member
    for name, dependency in toml("Cargo.toml")["workspace"]["dependencies"].items():
        if "path" in dependency:
            assert dependency.get("version", VERSION) == VERSION, name
    # Workspaces of their own.
    for plane in ("linux", "dpdk"):
        assert toml(f"dataplane/{plane}/Cargo.toml")["package"]["version"] == VERSION
    for lock in ("Cargo.lock", "dataplane/linux/Cargo.lock", "dataplane/dpdk/Cargo.lock"):
        ours = [p for p in toml(lock)["package"] if p["name"].startswith("pifolab")]
        assert ours
        assert {package["version"] for package in ours} == {VERSION}, lock


def test_every_crate_states_the_oldest_rust_of_the_workspace():
    stated = toml("Cargo.toml")["workspace"]["package"]["rust-version"]
    for member in toml("Cargo.toml")["workspace"]["members"]:
        assert toml(f"{member}/Cargo.toml")["package"]["rust-version"] == {"workspace": True}, member
    # Workspaces of their own, which compile the same crates.
    for plane in ("linux", "dpdk"):
        assert toml(f"dataplane/{plane}/Cargo.toml")["package"]["rust-version"] == stated
    assert f"Rust ({stated} or later)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Rust (>= {stated})" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_python_package_and_the_citation_have_the_version_of_the_workspace():
    assert pifolab.__version__.split("+")[0] == VERSION
    project = toml("pyproject.toml")["project"]
    assert "version" in project["dynamic"]
    assert "version" not in project
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == VERSION
    assert citation["license"] == toml("Cargo.toml")["workspace"]["package"]["license"] == project["license"]


def test_the_changelog_keeps_to_the_convention_and_ends_before_or_at_the_version():
    _, *releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    headings = [release.splitlines()[0] for release in releases]
    assert headings[0] == "[Unreleased]"
    dated = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d", heading) for heading in headings[1:]]
    assert all(dated), headings
    versions = [numbers(heading[1]) for heading in dated if heading]
    assert versions == sorted(versions, reverse=True)
    # Between releases the version is that of the last or of the next.
    assert not versions or numbers(VERSION) >= versions[0]
    for release in releases:
        sections = re.findall(r"^### (.*)", release, re.MULTILINE)
        assert sections == [name for name in SECTIONS if name in sections], release.splitlines()[0]


def test_licences_of_all_crates_in_the_lock_files_are_listed():
    locked = {
        (package["name"], package["version"])
        for manifest in licences.MANIFESTS
        for package in toml(manifest.replace(".toml", ".lock"))["package"]
        if "source" in package
    }
    rust, python = licences.rows(licences.PAGE.read_text(encoding="utf-8"))
    listed = {tuple(row.strip("| ").split(" | ")[:2]) for row in rust} - {("Crate", "Version")}
    assert listed == locked, "run python scripts/licences.py"
    assert {"numpy", "polars", "matplotlib", "rich", "shtab", "tomli"} <= set(python)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("not stated", False),
        ("LGPL-2.1-only OR BSD-2-Clause", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("(MIT OR Apache-2.0) AND GPL-2.0-only", False),
        ("Apache-2.0 WITH LLVM-exception OR MIT", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
    ],
)
def test_a_licence_is_accepted_if_it_leaves_a_choice_that_is(expression, expected):
    assert licences.accepted(expression) is expected


def test_a_licence_that_is_not_accepted_is_one_line_with_the_package():
    crates = {("good", "1.0.0"): ("MIT", ["pifolab-py"]), ("tool", "1.0.0"): ("GPL-3.0-only", [])}
    licences.refuse(crates, {})
    with pytest.raises(
        SystemExit, match=r"^crate bad 2\.0\.0: licence GPL-3\.0-only: expected one that deny\.toml allows"
    ):
        licences.refuse(crates | {("bad", "2.0.0"): ("GPL-3.0-only", ["pifolab-py"])}, {})


def test_a_crate_from_elsewhere_than_the_registry_is_one_line_with_its_source():
    package = {"name": "odd", "version": "1.0.0", "source": "registry+https://github.com/rust-lang/crates.io-index"}
    licences.refuse_source(package)
    with pytest.raises(
        SystemExit, match=r"^crate odd 1\.0\.0: source git\+https://example\.org: expected one of allow-reg"
    ):
        licences.refuse_source(package | {"source": "git+https://example.org"})


def test_a_page_of_licences_that_is_not_up_to_date_says_what_differs(tmp_path, monkeypatch):
    monkeypatch.setattr(licences, "PAGE", tmp_path / "licences.md")
    old = {("one", "1.0.0"): ("MIT", ["pifolab-py"])}
    licences.PAGE.write_text(licences.page(old, {"numpy": ("BSD-3-Clause", "pifolab")}))
    licences.check(licences.page(old, {"numpy": ("BSD", "pifolab")}))
    with pytest.raises(SystemExit) as raised:
        licences.check(licences.page({("one", "1.0.1"): ("MIT", ["pifolab-py"])}, {"polars": ("MIT", "pifolab")}))
    assert str(raised.value).splitlines()[1:] == [
        "| one | 1.0.0 | MIT | Python module | should not be there",
        "| one | 1.0.1 | MIT | Python module | is missing",
        "Python package polars is missing",
    ]
