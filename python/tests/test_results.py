# ruff: noqa: E501 (arguments and their message side by side are read best on one line)
"""`pifolab study show` and the others: what a store has, seen as a user sees it; and by DuckDB and polars without pifolab."""

import re
from pathlib import Path

import duckdb
import polars as pl
import pytest
from sweeping import SCENARIO

from pifolab.cli import main
from pifolab.store import Store
from pifolab.store.sealed import seal
from pifolab.sweep import Sweep, run_sweep

ROOT = Path(__file__).resolve().parents[2]

SWEEP = {
    "scenario": "base.toml",
    "seeds": [1, 2],
    "tables": ["schedulers", "ranks"],
    "axis": {
        "scheduler": ["fifo", {"name": "packs"}],
        "window": {"key": "scheduler.window", "values": [15, 1000], "where": {"scheduler": ["packs"]}},
    },
    "compare": [
        {"metric": "inversions", "of": {"scheduler": "fifo"}, "to": {"scheduler": "packs", "window": 1000}, "stated": 9}
    ],
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    (folder / "base.toml").write_text(SCENARIO)
    sweep = Sweep.from_dict(SWEEP, file=str(folder / "fig10.toml"))
    run_sweep(sweep, Store(folder / "store"))
    return folder


@pytest.fixture
def folder(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(shared)
    return shared


def test_it_lists_and_filters(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["study", "show", "store", "--runs"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^run +seed +scheduler +window +started +elapsed_s +bytes$", out, re.MULTILINE)
    assert len(re.findall(r"^[0-9a-f]{12} ", out, re.MULTILINE)) == 6
    assert out.endswith("\n6 finished runs of 6 in study fig10\n")
    assert main(["study", "show", "store", "--where", "window = 15 AND seed > 1", "--runs"]) == 0
    assert len(re.findall(r"^[0-9a-f]{12} +2  packs +15 ", capsys.readouterr().out, re.MULTILINE)) == 1


def test_it_exports_with_the_axes(folder: Path, tmp_path: Path):
    assert (
        main(
            [
                "study",
                "export",
                "store",
                "--out",
                str(tmp_path / "a/t.csv"),
                "--where",
                "window = 15",
                "--table",
                "schedulers",
            ]
        )
        == 0
    )
    table = pl.read_csv(tmp_path / "a/t.csv")
    assert table.columns[:4] == ["run", "seed", "window", "scheduler"]
    assert table["window"].to_list() == [15, 15]
    assert main(["study", "export", "store", "--out", str(tmp_path / "r.parquet"), "--table", "ranks"]) == 0
    ranks = pl.read_parquet(tmp_path / "r.parquet")
    assert ranks["seed"].n_unique() == 2
    assert ranks.height == sum(pl.read_parquet(file).height for file in (folder / "store").glob("runs/*/ranks.parquet"))


def test_statistics_are_exported_for_a_paper(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for ending in ("csv", "parquet", "tex", "md"):
        file = str(tmp_path / f"t.{ending}")
        flags = ["--metric", "inversions", "--metric", "dropped_packets", "--label", "packs=PACKS_1"]
        assert main(["study", "export", "store", *flags, "--out", file]) == 0
    table = pl.read_csv(tmp_path / "t.csv")
    assert table.columns == ["window", "scheduler", "metric", "mean", "low", "high", "seeds", "without_value"]
    assert table["scheduler"].to_list() == ["fifo", "PACKS_1", "PACKS_1"] * 2
    assert pl.read_parquet(tmp_path / "t.parquet")["mean"].to_list() == table["mean"].to_list()
    runs = [pl.read_parquet(file) for file in (folder / "store").glob("runs/*/schedulers.parquet")]
    mean = pl.concat(runs, how="diagonal_relaxed").filter(scheduler="fifo")["inversions"].mean()
    assert table.filter(scheduler="fifo", metric="inversions")["mean"].item() == pytest.approx(mean)
    latex = (tmp_path / "t.tex").read_text()
    assert r"scheduler & window & \multicolumn{2}{c}{inversions} & \multicolumn{2}{c}{dropped packets}" in latex
    assert latex.count("PACKS\\_1 & ") == 2
    lines = (tmp_path / "t.md").read_text().splitlines()
    assert lines[0] == "| scheduler | window | inversions | dropped packets |"
    assert len(lines) == 5
    assert f"| fifo | - | {mean:.4g}" in lines[2]


def test_schedulers_metrics_labels_scales_and_size_are_chosen(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["study", "show", "store", "--draw", "packs", "--metric", "sent_packets"]) == 0
    out = capsys.readouterr().out
    assert "sent_packets: mean" in out
    assert "fifo" not in out
    flags = ["--metric", "inversions", "--x", "window", "--x-scale", "linear", "--y-scale", "log", "--size", "5x2.5"]
    labels = ["--label", "packs=Ours", "--label", "inversions=Packets out of order", "--draw", "packs,fifo"]
    assert main(["study", "export", "store", "--out", str(tmp_path), *flags, *labels, "--figures"]) == 0
    drawn = (tmp_path / "fig10-inversions.svg").read_text()
    assert ">Ours<" in drawn
    assert ">Packets out of order<" in drawn
    assert re.search(r'width="3[56]\d', drawn), drawn[:400]
    assert (
        main(["study", "export", "store", "--out", str(tmp_path / "s.md"), "--draw", "fifo", "--table", "schedulers"])
        == 0
    )
    assert "packs" not in (tmp_path / "s.md").read_text()


def test_a_report_of_a_sweep_opens_with_what_was_run_and_ends_with_what_follows(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "report"
    assert main(["study", "report", "store", "--out", str(out), "--label", "packs=Ours"]) == 0
    assert capsys.readouterr().out == f"report: {out / 'report.html'}\n"
    text = (out / "report.html").read_text()
    assert not re.search(r'(src|href)="(?!data:|#)', text), "the report needs something beside itself"
    titles = re.findall("<h2>(.*?)</h2>", text)
    assert titles[:3] == ["What was run", "Means", "Figures"]
    assert titles[-2:] == ["Words", "What follows from it"]
    assert "<li>window: " in text
    assert "</span>Ours</td>" in text
    assert "<dt>95 % interval</dt>" in text
    last = text[text.index("What follows from it</h2>") :]
    assert re.search(r"<li>inversions: smallest with packs[^<]*, largest with fifo", last), last
    assert (out / "figures" / "inversions.svg").exists()
    assert main(["study", "report", "store", "--out", str(out)]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["study", "report", "store", "--out", str(out), "--force", "--draw", "fifo"]) == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["show", "--draw", "pakcs"], '--draw: unknown scheduler "pakcs"; did you mean packs?'),
        (["export", "--figures", "--out", "f", "--size", "big"], "--size big: expected WIDTHxHEIGHT in inches"),
        (["report", "--out", "f", "--label", "packs"], "--label packs: expected NAME=TEXT"),
        (["export", "--out", "t.md", "--size", "3x3"], "--size has no effect without --figures: remove it"),
        (["export", "--out", "t.md", "--ratios", "--metric", "m"], "--metric has no effect with --ratios: remove it"),
        (["export", "--out", "t.doc"], "--out t.doc: expected a name that ends in .csv, .parquet, .tex or .md"),
        (
            ["export", "--out", "f", "--figures", "--table", "ranks"],
            "argument --table: not allowed with argument --figures",
        ),
    ],
)
def test_a_wrong_choice_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str):
    assert main(["study", flags[0], "store", *flags[1:]]) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "f").exists()


def test_ratios_are_exported_as_tables_and_figures(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["study", "show", "store"]) == 0
    said = re.search(r"^(fifo / packs, window 1000 inversions) ([\d.]+)x", capsys.readouterr().out, re.MULTILINE)
    assert said is not None
    name, value = said[1], float(said[2])
    for ending in ("csv", "parquet", "tex", "md"):
        assert main(["study", "export", "store", "--ratios", "--out", str(tmp_path / f"t.{ending}")]) == 0
        assert capsys.readouterr().out == f"{tmp_path / f't.{ending}'}: 1 ratios and claims\n"
    table = pl.read_csv(tmp_path / "t.csv")
    assert table.select("scheduler", "metric", "seeds").rows() == [(None, name, 2)]
    assert table["mean"].item() == pytest.approx(value, rel=0.05)
    assert table["low"].item() <= table["mean"].item() <= table["high"].item()
    lines = (tmp_path / "t.md").read_text().splitlines()
    assert lines[0] == f"| {name} |"
    latex = (tmp_path / "t.tex").read_text()
    assert f"\\toprule\n\\multicolumn{{2}}{{c}}{{{name}}} \\\\\n" in latex
    assert "all" not in latex[latex.index("midrule") :]
    assert main(["study", "export", "store", "--ratios", "--figures", "--out", str(tmp_path / "f")]) == 0
    assert len(list((tmp_path / "f").glob("*.pdf"))) == 1
    without = ["--where", "scheduler = 'fifo'", "--out", str(tmp_path / "t.csv")]
    assert main(["study", "export", "store", "--ratios", *without]) == 2
    assert (
        "--ratios: study fig10 has no ratio or claim with a value: expected [[compare]] or [[claim]]"
        in capsys.readouterr().err
    )


def test_it_shows_statistics_with_ratios_and_verdicts(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["study", "show", "store"]) == 0
    out = capsys.readouterr().out
    assert "inversions: mean [95 % interval]\n  fifo" in out
    assert "  packs, window 1000  " in out
    assert re.search(
        r"^fifo / packs, window 1000 inversions .*x \[.*\]: .*provisional \(.* against 9", out, re.MULTILINE
    )
    assert "9 of 9 intervals come from 2 seeds and are too narrow; run at least 5, better 10" in out
    assert main(["study", "show", "store", "--metric", "sojourn_max_ns"]) == 0
    assert capsys.readouterr().out.startswith("sojourn_max_ns: mean [95 % interval]\n")


def test_it_draws_figures_with_bands_also_of_half_a_sweep(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    arguments = ["study", "export", "store", "--out", str(tmp_path / "f"), "--metric", "inversions", "--figures"]
    assert main([*arguments, "--x", "window"]) == 0
    svg = (tmp_path / "f/fig10-inversions.svg").read_text()
    for text in ("PACKS", "FIFO", "window", "inversions"):
        assert f">{text}<" in svg
    # A band for PACKS over the window, one for FIFO from end to end.
    assert svg.count("opacity: 0.2") == 2
    assert (tmp_path / "f/fig10-inversions.png").read_bytes().startswith(b"\x89PNG")
    store = Store(folder / "store")
    half = Sweep.from_dict({**SWEEP, "seeds": [1, 2, 3]}, file=str(folder / "half.toml"))
    run = run_sweep(half, store, only=[store.keys()[0]])
    assert run.reused == 1
    capsys.readouterr()
    assert main([*arguments, "--sweep", "half"]) == 0
    assert "6 of 9 runs are finished" in capsys.readouterr().out
    (folder / "store/sweeps/half.json").unlink()
    (folder / "store/sweeps/half.parquet").unlink()


def test_a_figure_without_a_numeric_axis_has_points(folder: Path, tmp_path: Path):
    from pifolab.statistics import mean_interval
    from pifolab.sweep.figure import draw_metric
    from pifolab.sweep.results import Group

    groups = [Group({"kind": kind}, "packs", "m", mean_interval([1.0, 2.0])) for kind in "abc"]
    figure = draw_metric(groups)
    assert len(figure.axes) == 3
    with pytest.raises(ValueError, match="--x kind: has no numbers"):
        draw_metric(groups, x="kind")
    with pytest.raises(ValueError, match="--panel knid: expected one of the axes kind"):
        draw_metric(groups, panel="knid")
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_metric([])
    many = [Group({"kind": str(kind)}, "packs", "m", mean_interval([1.0, 2.0])) for kind in range(13)]
    with pytest.raises(ValueError, match="--panel kind: has 13 values; expected at most 12"):
        draw_metric(many)


def test_verify_and_prune_find_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.toml").write_text(SCENARIO)
    store = Store("store")
    run_sweep(Sweep.from_dict({"scenario": "base.toml", "seeds": [1, 2, 3]}, file="s.toml"), store)
    assert main(["study", "check", "store"]) == 0
    assert capsys.readouterr().out == "3 runs, 0 damaged\n"
    keys = store.keys()
    (store.run_folder(keys[0]) / "ranks.parquet").write_bytes(b"")
    (store.path / "partial" / f"{keys[0]}~1.0123abcd").mkdir()
    assert main(["study", "check", "store"]) == 1
    out = capsys.readouterr().out
    assert f"{keys[0]}: ranks.parquet differs from what was written" in out
    assert "1 runs that were never finished" in out
    assert "3 runs, 1 damaged" in out
    assert main(["study", "prune", "store"]) == 0
    assert "1 runs and 1 unfinished ones would be removed; --yes removes them" in capsys.readouterr().out
    assert len(store.keys()) == 3
    assert main(["study", "prune", "store", "--yes"]) == 0
    assert store.keys() == keys[1:]
    assert main(["study", "prune", "store", "--other-code", "--yes"]) == 0
    assert store.keys() == keys[1:]
    busy = store.try_lock(keys[1])
    assert busy is not None
    assert main(["study", "prune", "store", "--where", "seed > 0", "--yes"]) == 0
    assert "a study is busy with it; not removed" in capsys.readouterr().out
    assert store.keys() == [keys[1]]
    busy.release()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "nowhere"], "nowhere: does not exist (it has no pifolab-store.json)"),
        (["show", "."], ".: is not a store of results (it has no pifolab-store.json)"),
        (["show", "store", "--study", "fig9"], 'store: unknown sweep "fig9"; did you mean fig10?'),
        (["show", "store", "--where", "widnow = 15"], "--where 'widnow = 15': unknown column \"widnow\"; did you mean window?"),
        (["show", "store", "--where", "= 15"], "--where '= 15': "),
        (["export", "store", "--out", "t.txt"], "--out t.txt: expected a name that ends in .csv, .parquet, .tex or .md"),
        (["export", "store", "--out", "t.csv", "--table", "fct"], 'store: unknown table "fct"; there are ranks, schedulers'),
        (["export", "store", "--out", "t.csv", "--where", "seed = 9", "--table", "ranks"], "store: no run to export"),
        (["export", "store", "--out", "t.csv", "--table", "ranks", "--metric", "a"], "--metric has no effect with --table: remove it"),
        (["show", "store", "--runs", "--metric", "a"], "--metric has no effect with --runs: remove it"),
        (["export", "store", "--out", "t.csv", "--x", "a"], "--x has no effect without --figures: remove it"),
        (["check", "store", "--yes"], 'unknown option "--yes"'),
        (["check", "store", "--where", "seed = 1"], 'unknown option "--where"'),
        (["show", "store", "--metric", "invrsions"], 'metric invrsions: table schedulers: unknown column "invrsions"; did you mean inversions?'),
        (["show", "store", "--where", "seed = 9"], "store: no run has finished"),
        (["export", "store", "--figures", "--out", "f", "--x", "scheduler"], "--x scheduler: expected one of the axes window"),
    ],
)  # fmt: skip
def test_a_wrong_question_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
):
    assert main(["study", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
    assert not (folder / "f").exists()


def test_damaged_notes_about_a_sweep_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    store = Store(tmp_path / "store")
    whole = seal({"runs_sha256": []}).decode()
    for text, message in (
        ("[", "s.json cannot be read"),
        ("{}", "s.json differs from what was written"),
        (whole, "s.parquet differs from what was written"),
    ):
        (store.path / "sweeps/s.json").write_text(text)
        pl.DataFrame({"run": ["a"], "seed": [1]}).write_parquet(store.path / "sweeps/s.parquet")
        assert main(["study", "show", str(store.path)]) == 2
        assert message in capsys.readouterr().err


def documented(language: str) -> str:
    blocks = re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "docs/results.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    return blocks[0].replace("out/store", "store")


def test_the_documented_duckdb_query_says_what_the_statistics_say(folder: Path):
    rows = duckdb.sql(documented("sql")).fetchall()
    mean = {(scheduler, window): inversions for scheduler, window, inversions, _ in rows}
    result = run_sweep(Sweep.from_dict(SWEEP, file=str(folder / "fig10.toml")), Store("store"))
    groups = [group for group in result.groups if group.metric == "inversions"]
    assert mean == {(group.scheduler, group.axes["window"]): pytest.approx(group.estimate.value) for group in groups}
    assert {seeds for *_, seeds in rows} == {2}


def test_the_documented_polars_query_runs(folder: Path):
    names: dict = {}
    exec(compile(documented("python"), "results.md", "exec"), names)
    assert names["table"].columns == ["scheduler", "window", "inversions"]
    assert names["table"].height == 3
    assert names["manifest"]["kind"] == "one-link"
