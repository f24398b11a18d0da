"""Crates import only what lies below them: the order that ARCHITECTURE.md draws, held by `cargo metadata`."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.form

ALLOWED = {
    "units": set(),
    "params": {"units"},
    "simd": {"units"},
    "queues": {"units"},
    "sched": {"units", "params", "simd", "queues"},
    "aqm": {"units", "params", "sched"},
    "tree": {"units", "params", "sched"},
    "fast": {"units", "simd", "queues", "sched"},
    "replay": {"units", "params", "sched"},
    "registry": {"units", "params", "sched", "aqm", "tree", "fast", "replay", "bmv2"},
    "frames": {"units", "sched"},
    "p4": {"units", "params", "sched", "registry"},
    "bmv2": set(),
    "transport": {"units", "params"},
    "workload": {"units", "params"},
    "sim": {"units", "params", "sched", "fast", "replay", "transport", "workload"},
    "metrics": {"units", "sched", "sim"},
    "scenario": {
        "units",
        "params",
        "simd",
        "sched",
        "aqm",
        "tree",
        "fast",
        "registry",
        "transport",
        "workload",
        "sim",
        "metrics",
    },
    "adversary": {"units", "params", "sched", "registry", "workload"},
    "loadable": {"units", "sched", "workload"},
    "testkit": {"units", "sched", "registry"},
    "py": {
        "units",
        "params",
        "sched",
        "tree",
        "transport",
        "sim",
        "metrics",
        "scenario",
        "adversary",
        "workload",
        "p4",
        "bmv2",
        "loadable",
    },
    "c": {"units", "params", "sched", "registry", "frames"},
    "c-library": {"c"},
    "wasm": {"units", "params", "sched", "registry", "workload", "sim", "metrics"},
}

# Workspaces of their own, each one package, and what of ours it imports.
OTHER_WORKSPACES = {
    # It carries packets: what simulates them is none of its business.
    "dataplane/linux": {"units", "params", "sched", "registry", "frames"},
    "dataplane/dpdk": {"units", "sched", "registry", "frames", "c", "dataplane"},
    "fuzz": {"units", "workload", "scenario", "testkit"},
}

# What a user of the scheduler library compiles, and nothing more.
SCHED_DEPENDENCIES = {"pifolab-params", "pifolab-queues", "pifolab-simd", "pifolab-units"}


def packages(folder: Path = ROOT) -> dict[str, dict]:
    if shutil.which("cargo") is None:
        pytest.skip("needs cargo")
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return {package["name"].removeprefix("pifolab-"): package for package in json.loads(done.stdout)["packages"]}


def dependencies(package: dict) -> set[str]:
    """Those of the package and of its build script; what only its tests need does not count."""
    return {d["name"] for d in package["dependencies"] if d["kind"] in (None, "build")}


def test_every_crate_is_on_the_list():
    assert packages().keys() == ALLOWED.keys()


def ours(package: dict) -> set[str]:
    return {d.removeprefix("pifolab-") for d in dependencies(package) if d.startswith("pifolab-")}


@pytest.mark.parametrize("crate", sorted(ALLOWED))
def test_a_crate_imports_only_what_lies_below(crate: str):
    assert ours(packages()[crate]) <= ALLOWED[crate]


@pytest.mark.parametrize("folder", sorted(OTHER_WORKSPACES))
def test_the_data_plane_and_the_fuzz_targets_import_only_what_they_may(folder: str):
    [package] = packages(ROOT / folder).values()
    assert ours(package) <= OTHER_WORKSPACES[folder]


def test_the_scheduler_library_serves_alone():
    assert dependencies(packages()["sched"]) == SCHED_DEPENDENCIES
    assert dependencies(packages()["units"]) == set()
