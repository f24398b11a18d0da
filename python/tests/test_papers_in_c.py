"""The papers of `examples/papers` with a scheduler in C: it is compiled here, and its claims are judged."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from pifolab.cli import main
from pifolab.cli.study import _with_papers
from pifolab.packaged import experiment
from pifolab.store import Store
from pifolab.sweep import Sweep, run_sweep
from pifolab.sweep.custom import load
from pifolab_papers import load_paper, write_vectors
from pifolab_papers.outside import missing

PAPERS = Path(__file__).parents[2] / "examples" / "papers"
CC = shutil.which("cc")
pytestmark = pytest.mark.skipif(CC is None, reason="there is no C compiler (cc)")


@pytest.fixture(scope="module", params=["gearbox", "sifter"])
def paper(request, tmp_path_factory):
    """The folder of a paper, copied, with its library."""
    folder = tmp_path_factory.mktemp("papers") / request.param
    shutil.copytree(PAPERS / request.param, folder, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC"]
    subprocess.run([CC, *flags, "-o", folder / f"{folder.name}.so", folder / f"{folder.name}.c"], check=True)
    return folder


def test_it_lacks_nothing_and_its_vectors_are_what_the_oracle_writes(paper, capsys):
    assert main(["reproduce", str(paper), "--check"]) == 0
    assert "missing: 0, differing vectors: 0" in capsys.readouterr().out
    assert missing(load_paper(paper)) == []
    stored = {file: file.read_text() for file in (paper / "vectors").glob("*.json")}
    answers, vectors = (load(str(paper / "oracle.py"), name) for name in ("answers", "vectors"))
    assert set(write_vectors(paper, answers, paper.name, vectors())) == set(stored)
    assert {file: file.read_text() for file in stored} == stored


def test_its_claims_are_judged_and_fall_with_another_scheduler(paper, tmp_path, capsys):
    run = ["reproduce", str(paper), "--seeds", "1", "--out", str(tmp_path / "out"), "--workers", "1"]
    assert main([*run, "--no-figures"]) == 0
    claims = json.loads((tmp_path / "out" / "claims.json").read_text())["claims"]
    verdicts = {claim["id"]: claim["verdict"] for claim in claims if claim["kind"] in ("exact", "bound")}
    assert set(verdicts.values()) == {"reproduced"}, verdicts
    capsys.readouterr()
    assert main([*run, "--mutate"]) == 0
    assert "0 have to be explained or made void" in capsys.readouterr().out


def test_the_scorecard_runs_with_its_schedulers(paper, tmp_path):
    study = _with_papers(Sweep.from_toml(experiment(Path("scorecard"))), [paper])
    result = run_sweep(replace(study, fixed=(("duration_s", "0.0002"),), seeds=(1,)), Store(tmp_path), 1)
    assert (result.failures, result.runs.height) == ([], 14)
    for run in result.runs["run"]:
        assert {paper.name, "packs"} <= set(result.store.table("schedulers", [run])["scheduler"])
