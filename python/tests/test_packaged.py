"""What comes with the package is found by name: experiments, vectors, the playground, figures of papers."""

import json
import re
from pathlib import Path

import pytest

from pifolab import packaged
from pifolab.cli import main
from pifolab.errors import InputError


def test_an_experiment_runs_by_its_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "packs/fig3", "--set", "duration_s=0.001", "--out", "mine"]) == 0, capsys.readouterr().err
    manifest = json.loads((tmp_path / "mine" / "manifest.json").read_text())
    assert manifest["spec"]["duration_ns"] == 1_000_000


def test_a_file_of_ones_own_goes_before_an_experiment_of_the_same_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert packaged.experiment(Path("packs/fig3")).is_absolute()
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / "fig3").write_text("")
    assert packaged.experiment(Path("packs/fig3")) == Path("packs/fig3")


def test_experiments_are_listed_with_their_titles(capsys):
    assert main(["show", "experiments"]) == 0
    said = capsys.readouterr().out
    assert "packs/fig3 " in said
    assert "PACKS Fig. 3: uniform ranks" in said
    assert set(packaged.titles()) == set(packaged.experiments())
    assert all(packaged.titles().values()), "an experiment without a title"


def test_an_unknown_experiment_is_one_line_with_the_closest_name(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "packs/fig33"]) == 2
    said = capsys.readouterr().err.strip()
    assert said.endswith('packs/fig33: no such file; unknown experiment "packs/fig33"; did you mean packs/fig13?')
    assert main(["run", "nothing/like-it"]) == 2
    said = capsys.readouterr().err.strip()
    assert said.endswith(f'"nothing/like-it"; pifolab show experiments prints all {len(packaged.experiments())}')
    assert main(["run", "nowhere.toml"]) == 2
    assert "nowhere.toml: cannot be read: No such file or directory" in capsys.readouterr().err


def test_conformance_without_files_replays_the_vectors_of_the_package(capsys):
    assert main(["conformance"]) == 0
    vectors = packaged.vectors()
    assert len(vectors) > 60
    assert f"{len(vectors)} vectors" in capsys.readouterr().out


def test_the_vectors_of_a_source_tree_go_before_a_copy_in_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr(packaged, "_PACKAGE", tmp_path / "python" / "pifolab")
    copy, tree = packaged._PACKAGE / "data" / "conformance", tmp_path / "conformance"
    for folder in (copy, tree):
        folder.mkdir(parents=True)
        (folder / "fifo.json").write_text("{}")
    assert packaged.vectors() == [tree / "fifo.json"]
    (tree / "fifo.json").unlink()
    assert packaged.vectors() == [copy / "fifo.json"]


def test_the_playground_is_printed_or_copied_or_missing_in_words(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(packaged, "_PACKAGE", tmp_path)
    assert main(["playground", "--print"]) == 2
    assert "built without the playground" in capsys.readouterr().err
    page = tmp_path / "data" / "playground" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>")
    assert main(["playground", "--print"]) == 0
    assert capsys.readouterr().out.strip() == str(page)
    assert main(["playground", "--out", str(tmp_path / "copy")]) == 0
    assert (tmp_path / "copy" / "index.html").read_text() == "<p>"
    assert main(["playground", "--out", str(tmp_path / "copy")]) == 2
    assert "exists; expected a new folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("figure", "claims"),
    [
        ("PACKS 12", {"pk7", "pk8", "pk9", "pk10"}),
        ("packs 12b", {"pk8"}),
        ("SP-PIFO 14", {"sp7", "sp8"}),
        ("RIFO 12", {"ri10"}),
        ("packs 20", {"pk18"}),
    ],
)
def test_a_figure_of_a_paper_names_its_claims(figure, claims, capsys):
    assert main(["reproduce", *figure.split(), "--claims"]) == 0
    listed = set(re.findall(r"^\S+", capsys.readouterr().out, re.MULTILINE)) - {"claim"}
    assert listed == claims


@pytest.mark.parametrize(
    ("figure", "why"),
    [
        ("PACKS 99", "PACKS 99: no claim is about it; packs has claims about Fig. 3a, "),
        ("PAKCS 12", 'unknown paper "pakcs"'),
        ("PACKS twelve", "PACKS twelve: expected a paper and a figure, such as PACKS 12"),
    ],
)
def test_an_unknown_figure_is_one_line(figure, why, capsys):
    assert main(["reproduce", *figure.split(), "--claims"]) == 2
    assert why in capsys.readouterr().err


def test_no_vectors_at_all_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(packaged, "_PACKAGE", tmp_path / "a" / "b")
    with pytest.raises(InputError, match="without conformance vectors"):
        packaged.vectors()
