"""Reproducing the papers: the registry, its metrics, verdicts, and the command."""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
import subprocess
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from waiting import HANGS_S

import pifolab
from pifolab.cli import main
from pifolab.errors import InputError
from pifolab.statistics import MissingValueError, Query, Tables
from pifolab.sweep import Together, make_plan
from pifolab_papers import load_registry, registry
from pifolab_papers.earlier import Earlier
from pifolab_papers.execute import Measured, check_metrics, experiments_folder, sweeps_of
from pifolab_papers.figures import draw_experiment
from pifolab_papers.mutate import current, read_tried, untried
from pifolab_papers.report import CLAIM_CAPTION, claims_json, numbers
from pifolab_papers.run import Reproduction
from pifolab_papers.sides import foregone
from pifolab_papers.studies import STUDIES, _risk
from pifolab_papers.verdict import as_json, compare_points, judge_claim, judge_part

#: How many claims of each paper there are at least: none is ever lost.
CLAIMS = {"sp": 25, "ai": 11, "pk": 21, "ri": 14, "ex": 12, "hw": 10}


@pytest.fixture(scope="module")
def known():
    return load_registry()


@pytest.fixture
def copy(tmp_path):
    """A registry of one's own, to be edited."""
    return Path(shutil.copytree(registry.HERE, tmp_path / "registry"))


def edited(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def rows(**columns):
    return Tables({"schedulers": pl.DataFrame(columns)})


def test_every_claim_of_the_papers_is_there_exactly_once(known):
    ids = [claim.id for claim in known.claims]
    papers = dict.fromkeys(id.rstrip("0123456789") for id in ids)
    by_paper = {paper: [id for id in ids if id.rstrip("0123456789") == paper] for paper in papers}
    # In order and without a gap: a new claim has the next number.
    assert ids == [f"{paper}{number + 1}" for paper, found in by_paper.items() for number in range(len(found))]
    assert all(len(by_paper.get(paper, [])) >= count for paper, count in CLAIMS.items()), by_paper


def test_a_paper_of_one_s_own_needs_its_file_and_its_name(copy):
    edited(copy, "words.toml", '"hardware"]', '"hardware", "mine"]')
    (copy / "mine.toml").write_text(
        'paper = "Mine (2026)"\n[[claim]]\nid = "my1"\nfigure = "Fig. 1"\nstatement = "PIFO keeps the order."\n'
        'experiment = "pk-fig3"\n[[claim.part]]\nwhat = "inversions"\nmetric = "SELECT MIN(delta) FROM schedulers"\n'
        'paper = 0\nunit = "packets"\nneutral = 1\n'
    )
    known = load_registry(copy)
    assert known.papers["mine"] == "Mine (2026)"
    assert [claim.id for claim in known.select(papers=["mine"])] == ["my1"]


def test_every_claim_has_numbers_or_a_reason_why_not(known):
    for claim in known.claims:
        assert claim.parts or (claim.status and claim.note), claim.id
        assert any(not part.side for part in claim.parts) or not claim.parts, claim.id
    assert [claim.id for claim in known.claims if claim.status == "pending"] == []


def test_every_experiment_is_used_and_every_depth_of_it_can_be_planned(known):
    used = {name for claim in known.claims for name in claim.experiments}
    assert used == set(known.experiments)
    for experiment in known.experiments.values():
        for variant in experiment.variants:
            if not experiment.study:
                for depth in known.depths:
                    assert sweeps_of(experiment, variant, known, depth, experiments_folder())


def test_the_scenarios_are_part_of_the_package_and_a_package_without_says_what_to_do(monkeypatch, tmp_path):
    assert experiments_folder().parent == Path(pifolab.__file__).parent
    monkeypatch.setattr(pifolab, "__file__", str(tmp_path / "pifolab" / "__init__.py"))
    with pytest.raises(InputError, match="give a folder that has them with --experiments DIR"):
        experiments_folder()


def test_a_simulation_that_two_experiments_have_is_planned_once_with_the_tables_of_both(known):
    both = [known.experiments["pk-fig13"], known.experiments["pk-fig13b"]]
    plans = [
        make_plan(sweep)
        for one in both
        for sweep in sweeps_of(one, one.variants[0], known, "full", experiments_folder())
    ]
    together = Together(plans)
    seeds = known.depths["full"].lengths["fabric-1g"].seeds
    assert len(plans[1].runs()) == seeds
    assert len(together.runs()) == len(plans[0].runs()) == 7 * seeds
    shared = plans[1].runs()[0]
    assert together.job(shared)["tables"] == ["schedulers", "fct", "flows"]


def test_the_second_reading_may_have_fewer_seeds(known):
    for variant, seeds in zip(known.experiments["sp-fig8"].variants, (5, 3), strict=True):
        sweeps = sweeps_of(known.experiments["sp-fig8"], variant, known, "default", experiments_folder())
        assert [len(sweep.seeds) for sweep in sweeps] == [seeds] * 3


@pytest.mark.parametrize(
    ("claim", "experiment", "scheduler", "over", "xs", "low", "high"),
    [
        ("sp1", "sp-fig5", "sp-pifo", "sp-pifo-greedy", None, 1.2, 1.29),
        ("sp5", "sp-fig5d", "sp-pifo", "sp-pifo-greedy", (0.8,), 1.26, 1.26),
        ("sp10", "sp-fig7", "sp-pifo", "pifo", None, 1.096, 1.266),
        ("ri7", "ri-table3", "rifo-50", None, (0.2,), 5000, 5000),
        ("pk2", "pk-fig3", "sp-pifo", None, None, 20, 20),
        ("sp16", "sp-fig9c", "sp-pifo", "pifo", (10000, 20000, 30000, 50000, 80000, 200000, 1000000), 1.1, 1.3),
    ],
)
def test_a_claims_number_has_a_place_on_its_figure(known, claim, experiment, scheduler, over, xs, low, high):
    marks = [
        part.mark
        for part in known.by_id[claim].parts
        if part.experiment == experiment
        and part.mark is not None
        and (part.mark.scheduler, part.mark.over, part.mark.at) == (scheduler, over, xs)
    ]
    assert (marks[0].low, marks[0].high) == pytest.approx((low, high))


def test_words_and_numbers_without_a_place_are_not_marked(known):
    assert [part.mark for claim in ("sp8", "ex1") for part in known.by_id[claim].parts if part.mark is not None] == []


def test_every_mark_names_a_scheduler_of_the_metric_and_a_range_that_it_can_show(known):
    marked = [part for claim in known.claims for part in claim.parts if part.mark is not None]
    assert len(marked) > 100
    for part in marked:
        named = {part.mark.scheduler, part.mark.over} - {None}
        assert named == set(part.metric.schedulers), part.metric.text


def test_a_figure_marks_where_the_paper_puts_a_scheduler(known):
    experiment = known.experiments["sp-fig5d"]
    frame = pl.DataFrame(
        {
            "seed": [1, 1, 1, 1],
            "scheduler": ["sp-pifo", "sp-pifo", "sp-pifo-greedy", "sp-pifo-greedy"],
            "utilisation": [0.8, 0.9, 0.8, 0.9],
            "inversions": [130, 150, 100, 110],
        }
    )
    one = Measured(experiment, experiment.variants[0], {"schedulers": frame}, [])
    figure = draw_experiment(one, [part.mark for part in known.by_id["sp5"].parts if part.mark is not None])
    (axes,) = figure.axes
    brackets = [line.get_ydata() for line in axes.lines if line.get_marker() == "_"]
    assert [pytest.approx(ends) for ends in ([126, 126], [151.8, 151.8])] == [list(ends) for ends in brackets]


def test_every_metric_names_schedulers_that_its_experiment_has(known):
    check_metrics(known, known.claims, experiments_folder())


def test_every_scenario_accepts_its_overrides(known):
    for experiment in known.experiments.values():
        for variant in experiment.variants:
            if not experiment.study:
                for sweep in sweeps_of(experiment, variant, known, "quick", experiments_folder()):
                    assert make_plan(sweep).runs()


@pytest.mark.parametrize(
    ("sql", "take", "value"),
    [
        ("SELECT MAX(x) FILTER (WHERE scheduler = 'b') / MAX(x) FILTER (WHERE scheduler = 'a') FROM t", "mean", 4.0),
        ("SELECT x FROM t", "mean", 5.0),
        ("SELECT x FROM t", "max", 8.0),
        ("SELECT x FROM t", "min", 2.0),
        ("SELECT x FROM t", "sum", 10.0),
        ("SELECT x > 2 FROM t", "share", 0.5),
        ("SELECT x > 2 FROM t", "percent", 50.0),
        ("SELECT x, y FROM t", "ratio", 2.0),
        ("SELECT x FROM t ORDER BY scheduler", "rising", 1.0),
        ("SELECT x FROM t ORDER BY scheduler", "falling", 0.0),
        ("SELECT x FROM t ORDER BY scheduler DESC", "falling", 1.0),
        ("SELECT 3 > x FROM t WHERE scheduler = 'a'", "mean", 1.0),
    ],
)
def test_metrics_are_computed(sql, take, value):
    table = pl.DataFrame({"scheduler": ["a", "b"], "x": [2, 8], "y": [1.0, 4.0]})
    assert Query(sql, take).value(Tables({"t": table})) == value


def test_a_mean_over_rows_is_the_exact_one_whatever_their_order():
    draw = random.Random(5)
    for _ in range(200):
        values = [draw.uniform(-1, 1) * 10.0 ** draw.randrange(-9, 9) for _ in range(draw.randrange(1, 40))]
        exact = float(sum(map(Fraction, values))) / len(values)
        draw.shuffle(values)
        assert Query("SELECT x FROM t").value(Tables({"t": pl.DataFrame({"x": values})})) == exact


def test_times_of_each_flow_size_are_a_table_of_their_own_as_the_authors_publish_them(known):
    experiment = known.experiments["pk-fig13b"]
    flows = {
        "seed": [1] * 4,
        "scheduler": ["packs"] * 4,
        "size_bytes": [10, 10, 10, 20],
        "fct_ns": [100, 300, None, None],
    }
    found = Measured(experiment, experiment.variants[0], {"flows": pl.DataFrame(flows)}, []).by_seed()[1]
    assert found.frames["by_size"].sort("size_bytes").rows() == [
        (1, "packs", 10, 200, 298),
        (1, "packs", 20, None, None),
    ]


def test_the_overlap_of_flows_is_that_of_hundred_parts_of_a_life(known):
    # The medium flow overlaps with the first half of the small one's life under PIFO and AIFO, and with none under
    # SP-PIFO; what comes behind the end of the small flow does not count.
    order = [2, 1] * 100 + [2] * 201 + [1] * 9
    frames = [
        pl.DataFrame({"scheduler": name, "time_ns": range(len(flows)), "flow": flows})
        for name, flows in (("pifo", order), ("aifo", order), ("sp-pifo", [2] * 401 + [1] * 109))
    ]
    (metric,) = [one.metric for one in known.by_id["ai5"].parts if "WHERE flow = 2 GROUP" in one.metric.sql]
    assert metric.value(Tables({"arrival_order": pl.concat(frames)})) == 1
    frames[2] = frames[0].with_columns(pl.lit("sp-pifo").alias("scheduler"))
    assert metric.value(Tables({"arrival_order": pl.concat(frames)})) == 0


def test_a_flow_that_sends_nothing_has_a_share_of_nothing(known):
    sent = pl.DataFrame({"scheduler": "fifo", "start_ns": [72_000_000], "flow": [0], "bytes": [1500]})
    (metric,) = [one.metric for one in known.by_id["sp18"].parts if one.metric.sql.startswith("SELECT COALESCE(")
                 and one.metric.schedulers == ["fifo"]]  # fmt: skip
    assert metric.value(Tables({"throughput": sent})) == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("SELECT x FROM", "not an SQL query: sql parser error"),
        ("SELCT x FROM t", "not an SQL query: sql parser error"),
        ("SELECT 1 FROM Read_csv ('/etc/hosts')", "Read_csv: a query reads the tables of runs, and no files"),
        ("x / y", "not an SQL query: sql parser error"),
        ("", "not an SQL query: "),
    ],
)
def test_what_is_no_metric_is_refused(text, problem):
    with pytest.raises(InputError, match=re.escape(problem)):
        Query(text).check()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("SELECT x FROM schedulers WHERE scheduler = 'c'", "no rows"),
        ("SELECT z FROM schedulers", 'unable to find column "z": schedulers has scheduler, x, y'),
        ("SELECT mean_ns FROM fct", "relation 'fct' was not found"),
        ("SELECT 1 / x FROM schedulers", "1 of 2 rows have no value"),
        ("SELECT y FROM schedulers", "1 of 2 rows have no value"),
        ("SELECT MAX(x) FILTER (WHERE scheduler = 'c') FROM schedulers", "1 of 1 rows have no value"),
    ],
)
def test_what_was_not_measured_is_said(text, problem):
    Query(text).check()
    with pytest.raises(MissingValueError, match=re.escape(problem)):
        Query(text).value(rows(scheduler=["a", "b"], x=[0, 1], y=[None, 2]))


@pytest.mark.parametrize(("key", "word"), [("at_least", "at least"), ("at_most", "at most")])
@pytest.mark.parametrize("end", [0, 2, -3.5])
def test_the_end_of_a_closed_range_is_named_also_at_0(key, word, end):
    shared = {"what": "x", "metric": "SELECT MAX(x) FROM t", "unit": "packets"}
    part = registry.read_part("p", {**shared, key: end}, "e", {"e": None}, registry.read_rules())
    assert part.paper_says == f"{word} {end:g} packets"


def test_the_end_of_an_open_range_is_outside_of_it_and_named():
    draw = random.Random(11)
    shared = {"what": "x", "metric": "SELECT MAX(x) FROM t", "unit": "packets"}
    rules = registry.read_rules()
    for _ in range(1000):
        end = round(draw.uniform(-10, 10) * 10 ** draw.randrange(-2, 5), 2)
        end = float(f"{end:.4g}") + 0.0
        for key, sign in (("above", 1), ("below", -1)):
            part = registry.read_part("p", {**shared, key: end}, "e", {"e": None}, rules)
            assert part.paper_says == f"{key} {end:g} packets"
            beyond = draw.uniform(1e-5, 1) * max(1, abs(end))
            assert judge_part(part, [end] * 3).verdict == "not reproduced"
            assert judge_part(part, [end - sign * beyond] * 3).verdict == "not reproduced"
            assert judge_part(part, [end + sign * beyond] * 3).verdict == "reproduced"


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        (
            "packs.toml",
            'figure = "Fig. 3a"',
            'figur = "Fig. 3a"',
            'packs.toml: claim pk1: figur: unknown key "figur"; did you mean figure?',
        ),
        ("packs.toml", 'experiment = "pk-fig3"', 'experiment = "pk-fig99"', "unknown experiment"),
        ("packs.toml", 'id = "pk2"', 'id = "pk1"', "packs.toml: claim pk1: duplicate id"),
        ("packs.toml", 'id = "pk-fig10"', 'id = "pk-fig3"', "duplicate id"),
        ("packs.toml", "paper = [3, 3.75]", 'paper = "3"', "paper = '3': expected a number, or two in order"),
        ("packs.toml", "paper = [3, 3.75]", "", "expected one of paper, at_least, at_most, above, below and true"),
        ("packs.toml", 'tolerance = "ratio"', 'tolerance = "generous"', "tolerance = 'generous': expected one of"),
        (
            "packs.toml",
            "SELECT MAX(inversions)",
            "SELCT MAX(inversions)",
            "claim pk1: part 1: metric: not an SQL query: ",
        ),
        (
            "packs.toml",
            "SELECT lost FROM schedulers WHERE scheduler = 'eq-10'",
            "SELECT lost <= GREATEST(lost, inversions) FROM schedulers",
            "packs.toml: claim pk19: part 1: metric: lost stands on both sides of <=: this holds whatever is measured",
        ),
        (
            "packs.toml",
            "SELECT lost FROM schedulers WHERE scheduler = 'eq-10'",
            "SELECT 0 FROM schedulers",
            "packs.toml: claim pk19: part 1: metric: no column is read: this holds whatever is measured",
        ),
        ("packs.toml", 'take = "max"', 'take = "most"', "take = 'most': expected one of mean, max, min, sum, share"),
        ("packs.toml", 'mark = { scheduler = "pifo"', 'mark = { name = "pifo"', 'mark: name: unknown key "name"'),
        ("packs.toml", "mark = { scheduler", "mark = { at = 3, scheduler", "mark: at = 3: expected a list of numbers"),
        ("packs.toml", 'id = "pk18"', 'id = "pk18"\nstatus = "later"', "status = 'later': expected one of"),
        ("packs.toml", 'length = "link"', 'length = "long"', "length = 'long': depth quick does not have this row"),
        ("packs.toml", 'study = "mapping-batches"', 'study = "x"', "study = 'x': expected one of"),
        ("sp-pifo.toml", 'values = "loads"', 'values = "lods"', "values = 'lods': depths.toml does not have this list"),
        ("sp-pifo.toml", 'map = "starts-switch"', 'map = "x"', "map = 'x': unknown map"),
        ("depths.toml", "seeds = 3", "seeds = 0", "seeds = 0: expected an integer >= 1"),
        (
            "packs.toml",
            'what = "SP-PIFO over PACKS"',
            'what = "AIFO over PACKS"',
            "packs.toml: claim pk1: part 2: what = 'AIFO over PACKS': duplicate: expected a text of its own",
        ),
        ("words.toml", "relative = 0.1", "relative = -1", "expected numbers >= 0"),
        ("words.toml", '"sp-pifo", ', "1, ", "words.toml: papers = [1, 'aifo', "),
        ("words.toml", '"sp-pifo", ', '"sp-fifo", ', "sp-fifo.toml: cannot be read"),
        ("words.toml", 'other = "ratio"', "", "words.toml: published: other: is missing"),
        (
            "words.toml",
            '"%" = "points"',
            '"%" = "point"',
            "words.toml: published: tolerance = 'point': expected one of",
        ),
        ("words.toml", "[same-order]", "[same_order]", "words.toml: same-order: expected a table"),
        ("aifo.toml", "paper = ", "paper = [", "aifo.toml:4: invalid TOML: "),
    ],
)
def test_every_mistake_in_the_registry_is_named(copy, file, old, new, problem):
    edited(copy, file, old, new)
    with pytest.raises(InputError, match=re.escape(problem)):
        load_registry(copy)


def drawn_operand(draw: random.Random, depth: int = 2) -> str:
    if depth == 0 or draw.random() < 0.3:
        return draw.choice("abc" if depth == 2 else "abc2")
    left, right = drawn_operand(draw, depth - 1), drawn_operand(draw, depth - 1)
    return f"({left} {draw.choice('+*')} {right})"


def test_two_sides_that_are_one_expression_are_found_whatever_they_are_and_others_are_not():
    draw = random.Random(7)
    tables = [pl.DataFrame({name: [draw.uniform(1, 9)] for name in "abc"}) for _ in range(12)]

    def answers(sql):
        return {pl.SQLContext(t=table).execute(sql, eager=True).item() for table in tables}

    for _ in range(300):
        one, other = drawn_operand(draw), drawn_operand(draw)
        sign = draw.choice(["<", "<=", ">", ">=", "="])
        same = f"SELECT {one} {sign} ({one}) AS x FROM t"
        assert foregone(same) is not None, same
        assert len(answers(same)) == 1, same
        for sql in (
            f"SELECT {one} {sign} GREATEST({other}, {one}) AS x FROM t",
            f"SELECT LEAST({one}, {other}) {sign} {one} AS x FROM t",
            f"SELECT {one} {sign} {other} AS x FROM t",
            f"SELECT {one} - {other} AS x FROM t",
        ):
            if foregone(sql) is not None:
                assert len(answers(sql)) == 1, sql
            if len(answers(sql)) > 2:
                assert foregone(sql) is None, sql


def test_a_metric_that_names_a_scheduler_nobody_runs_stops_before_anything_runs(copy, tmp_path, capsys):
    edited(copy, "packs.toml", "scheduler = 'sp-pifo'", "scheduler = 'sppifo'")
    status = main(["reproduce", "--quick", "--only", "pk1", "--registry", str(copy), "--out", str(tmp_path / "out")])
    assert status == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "claim pk1" in said
    assert 'unknown scheduler "sppifo"; did you mean sp-pifo?' in said


def part_of(known, claim, place=0):
    return known.by_id[claim].parts[place]


@pytest.mark.parametrize(
    ("values", "verdict", "provisional"),
    [
        ([3.1, 3.2, 3.15], "reproduced", False),
        ([2.6, 2.9, 2.4, 2.8, 2.5], "reproduced", False),
        ([2.6, 2.65, 2.55, 2.62, 2.58], "partly", False),
        ([2.1, 2.2, 2.15], "partly", False),
        ([0.9, 0.8, 0.85], "not reproduced", False),
        ([300.0, 310.0, 305.0], "not reproduced", False),
        ([3.2], "reproduced", True),
        ([], "not yet measured", False),
    ],
)
def test_verdicts_follow_the_interval_the_direction_and_the_size(known, values, verdict, provisional):
    judged = judge_part(part_of(known, "pk1"), values)
    assert (judged.verdict, judged.provisional) == (verdict, provisional)


def test_a_side_statement_that_fails_makes_a_claim_hold_in_part(known):
    claim = known.by_id["pk19"]
    made = {"scheduler": ["eq-10", "even", "sp-pifo"], "lost": [0, 30, 20]}
    right = {seed: rows(**made) for seed in (1, 2, 3)}
    assert judge_claim(claim, {("pk-mapping", "paper"): right}).verdict == "reproduced"
    wrong = {seed: rows(**{**made, "lost": [0, 0, 20]}) for seed in (1, 2, 3)}
    assert judge_claim(claim, {("pk-mapping", "paper"): wrong}).verdict == "partly"


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """One claim reproduced as a user does, its store kept for the tests that edit the registry."""
    out = tmp_path_factory.mktemp("reproduce") / "out"
    assert main(["reproduce", "--quick", "--only", "pk1,ex3,hw1", "--out", str(out), "--workers", "2"]) == 0
    return out


@pytest.mark.thorough
def test_more_seeds_than_the_depth_has_end_its_provisional_verdicts(tmp_path):
    def reproduced(*options):
        command = ["reproduce", "--quick", "--only", "pk4", "--out", str(tmp_path), "--no-figures", *options]
        assert main(command) == 0
        return json.loads((tmp_path / "claims.json").read_text())

    few, many = reproduced("--seeds", "1"), reproduced("--seeds", "4")
    assert few["summary"].startswith("1 seed, ")
    assert few["claims"][0]["provisional"]
    assert many["summary"].startswith("4 seeds, ")
    assert not many["claims"][0]["provisional"]
    assert len(many["claims"][0]["parts"][0]["values"]) == 4
    assert "--quick --seeds 4 --only pk4" in many["claims"][0]["command"]


def verdict_with(folder, out, claim="pk1"):
    assert (
        main(["reproduce", "--quick", "--only", claim, "--registry", str(folder), "--out", str(out), "--no-figures"])
        == 0
    )
    (found,) = json.loads((out / "claims.json").read_text())["claims"]
    return found["verdict"]


def test_the_command_leaves_a_report_tables_and_figures(quick):
    found = json.loads((quick / "claims.json").read_text())
    assert {claim["id"]: claim["verdict"] for claim in found["claims"]} == {
        "pk1": "reproduced",
        "ex3": "reproduced",
        "hw1": "partly",
    }
    claim = found["claims"][0]
    assert claim["command"] == "pifolab reproduce --quick --only pk1 --out out/pk1"
    (ran,) = claim["experiments"]["pk-fig3, paper"]["runs"]
    assert ran["scenario"] == "packs/fig3.toml"
    for manifest in ran["manifests"]:
        assert json.loads((quick / manifest).read_text())["spec"]["duration_ns"] == 200_000_000
    page = (quick / "report.html").read_text()
    titles = re.findall("<h2>(.*?)</h2>", page)
    assert titles[:2] == ["What was run", "Verdicts"]
    assert titles[-2:] == ["Words and tolerances", "What follows from it"]
    assert re.search(r"<li>\d+ claims of \d papers?, by \d+ experiments? with \d+ runs?</li>", page)
    assert re.search(r"<li>Of \d+ claims: \d+ reproduced", page)
    assert "<dt>artefact</dt>" in page
    assert 'id="pk1"' in page
    assert not re.search(r'(src|href)="(?!data:|#)', page), "the page needs something beside itself"
    for ending in ("png", "svg", "pdf"):
        assert (quick / "figures" / f"pk-fig3-paper.{ending}").stat().st_size > 1000
    for claim in ("pk1", "ex3", "hw1"):
        assert (quick / "figures" / f"claim-{claim}.png").stat().st_size > 1000
    assert page.count(CLAIM_CAPTION) == 2 * 3, "as caption and as text of the picture"


def test_a_browser_without_a_network_shows_the_report(quick, tmp_path):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium here")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * 0.0.0.0"]
    command += [
        f"--user-data-dir={tmp_path}",
        "--virtual-time-budget=2000",
        "--dump-dom",
        (quick / "report.html").as_uri(),
    ]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_S, check=True).stdout
    assert "Five papers on programmable packet scheduling, reproduced" in shown
    assert shown.count("<img") >= 3
    assert 'id="hw1"' in shown


@pytest.mark.thorough
def test_a_second_run_gives_the_same_verdicts_and_runs_nothing(quick):
    before = (quick / "claims.json").read_text()
    kept = {path: path.stat().st_mtime_ns for path in (quick / "store" / "runs").rglob("*.parquet")}
    assert main(["reproduce", "--quick", "--only", "pk1,ex3,hw1", "--out", str(quick), "--workers", "1"]) == 0
    assert (quick / "claims.json").read_text() == before
    assert {path: path.stat().st_mtime_ns for path in (quick / "store" / "runs").rglob("*.parquet")} == kept


def test_an_absurd_value_of_the_paper_does_not_reproduce(quick, copy, tmp_path):
    out = Path(shutil.copytree(quick, tmp_path / "out"))
    edited(copy, "packs.toml", "paper = [3, 3.75]", "paper = [300, 375]")
    assert verdict_with(copy, out) == "not reproduced"


def test_the_result_of_another_scheduler_does_not_reproduce(quick, copy, tmp_path):
    out = Path(shutil.copytree(quick, tmp_path / "out"))
    edited(copy, "packs.toml", "scheduler = 'sp-pifo'", "scheduler = 'pifo'")
    assert verdict_with(copy, out) == "not reproduced"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--only", "pk99"], 'unknown claim "pk99"'),
        (["--paper", "pack"], 'unknown paper "pack"; did you mean packs?'),
        (["--quick", "--full"], "not allowed with argument --quick"),
        (["--workers", "0"], "expected an integer >= 1, got '0'"),
        (["--registry", "/nowhere"], "/nowhere/words.toml: cannot be read: No such file or directory"),
        (["--only", "pk1", "--experiments", "/nowhere"], "/nowhere/packs/fig3.toml: cannot be read"),
        (["--out", "/dev/null"], "/dev/null: is not a folder"),
    ],
)
def test_wrong_arguments_are_one_line_and_status_2(arguments, problem, capsys, tmp_path):
    extra = [] if "--out" in arguments else ["--out", str(tmp_path / "out")]
    assert main(["reproduce", *arguments, *extra]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert problem in said


def test_claims_can_be_listed_without_running(capsys):
    assert main(["reproduce", "--list", "--paper", "packs"]) == 0
    listed = capsys.readouterr().out
    assert "pk19" in listed
    assert "sp1" not in listed.split()


def test_an_interval_that_is_wider_than_the_range_decides_nothing(known):
    part = part_of(known, "pk1")
    assert judge_part(part, [1.0, 3.2, 6.0]).verdict == "inconclusive"
    far = judge_part(part, [20.0, 30.0, 40.0])
    assert far.high - far.low > far.accepted[1] - far.accepted[0]
    assert far.verdict == "not reproduced", "an interval that is wide, but nowhere near, decides"


def test_twice_the_half_width_takes_the_place_of_a_smaller_tolerance_unless_the_interval_is_elsewhere(known):
    part, draw = part_of(known, "pk7"), random.Random(3)
    assert (part.tolerance.absolute, part.tolerance.relative, part.low, part.high) == (2, 0, 5, 9)
    seen = set()
    for _ in range(3000):
        middle, width = draw.uniform(-2, 20), draw.choice([0.1, 1, 2, 3, 5])
        judged = judge_part(part, [middle + draw.uniform(-width, width) for _ in range(5)])
        width = judged.high - judged.low
        apart = judged.low > 11 or judged.high < 3
        tolerance = 2 if apart else max(2, width)
        inside = 5 - tolerance <= judged.value <= 9 + tolerance
        if width > 8 and not apart:
            assert judged.verdict == "inconclusive"
        else:
            assert (judged.verdict == "reproduced") == inside
        assert judged.by_tolerance == (judged.verdict == "reproduced" and not 5 <= judged.value <= 9)
        seen.add((judged.verdict, judged.by_tolerance, apart))
    assert len(seen) > 5
    # No interval excuses a statement that has no size to miss.
    exact = replace(part, tolerance=known.tolerances["exact"])
    assert judge_part(exact, [9.2, 8.8, 9.4, 9.1, 8.9]).verdict == "partly"


def test_a_statement_about_several_loads_is_as_good_as_at_the_worst(known):
    part, draw = part_of(known, "pk7"), random.Random(4)
    claim = replace(known.by_id["pk7"], parts=(part,))
    for _ in range(100):
        above = {load: draw.choice([7.0, 10.0, 20.0, 200.0, -30.0]) for load in (0.2, 0.5, 0.8)}
        frame = pl.DataFrame(
            [
                {"load": load, "scheduler": name, "size": "small", "mean_ns": time}
                for load, percent in above.items()
                for name, time in (("pifo", 100.0), ("packs", 100.0 + percent))
            ]
        )
        tables = Tables({"fct": frame})
        judged = judge_claim(claim, {("pk-fig12", "paper"): {1: tables, 2: tables, 3: tables}}, {"pk-fig12": tables})
        alone = {load: judge_part(part, [percent] * 3).verdict for load, percent in above.items()}
        order = ["not reproduced", "partly", "reproduced"]
        expected = min(alone.values(), key=order.index)
        assert judged.verdict == judged.authors == expected
        (one,), (theirs,) = judged.parts, judged.authors_parts
        assert {load.at: load.verdict for load in one.loads} == alone
        assert [load.ours.value for load in theirs.loads] == pytest.approx(list(above.values()))
        worst = max((percent for load, percent in above.items() if alone[load] == expected), key=lambda p: abs(p - 7))
        assert one.reason.endswith(f": {worst:.4g}")
        if expected == "reproduced":
            assert one.by_tolerance == any(percent == 10.0 for percent in above.values())
        # Stored with its loads and judged anew it comes out alike; without them by the mean, which is marked.
        kept = {**as_json(one), "revision": "then", "settings": "same"}
        for stored, by_mean in ((kept, False), ({**kept, "loads": []}, True)):
            earlier = Earlier([{"id": "pk7", "parts": [stored]}], {("pk-fig12", "paper"): "same"}, "then")
            (again,) = judge_claim(claim, {}, {}, earlier).parts
            assert again.by_mean == by_mean
            assert by_mean or (again.verdict, again.loads) == (one.verdict, one.loads)


def test_where_nothing_is_random_there_is_no_interval(known):
    part = part_of(known, "pk1")
    for values, interval in (([3.0, 3.0, 3.0], False), ([3.0, 3.1, 3.0], True)):
        one = judge_part(part, values)
        assert (as_json(one)["low"] is not None) == interval
        assert ("[" in one.reason) == interval


def test_data_of_another_submission_say_nothing_about_the_text(known, copy):
    tables = {"pk-fig3": known.published["pk-fig3"].results()}
    assert known.published["pk-fig3"].other_settings
    assert not known.published["sp-fig5"].other_settings
    assert judge_claim(known.by_id["pk1"], {}, tables).authors == "partly"
    assert judge_claim(known.by_id["pk1"], {}, tables, other_settings=["pk-fig3"]).authors == "other settings"
    edited(copy, "published.toml", 'other-submissions = ["packs"', 'other-submissions = ["pack"')
    with pytest.raises(InputError, match=r"published\.toml: other-submissions = .*expected one of aifo, packs"):
        load_registry(copy)


@pytest.mark.parametrize(
    ("claim", "place", "value", "verdict"),
    [
        ("sp5", 0, -25.84, "not reproduced"),
        ("pk1", 2, 7.731, "partly"),
        ("pk2", 3, 54, "not reproduced"),
        ("pk11", 2, 1.199, "reproduced"),
        ("ri5", 0, 1.286, "reproduced"),
        ("ri7", 2, 0.005743, "partly"),
        ("ri8", 17, 9.154, "reproduced"),
        ("ri14", 0, 0.9655, "not reproduced"),
        ("pk13", 0, 0.9923, "reproduced"),
    ],
)
def test_what_the_authors_published_is_judged_by_the_same_rules(known, claim, place, value, verdict):
    published = {name: one.results() for name, one in known.published.items()}
    one = judge_claim(known.by_id[claim], {}, published).authors_parts[place]
    assert one.value == pytest.approx(value, rel=1e-3)
    assert one.verdict == verdict


def test_what_the_authors_published_comes_to_the_stored_numbers_to_the_last_digit(known):
    stored = json.loads((Path(__file__).parents[2] / "docs" / "reproduction.json").read_text())
    published = {name: one.results() for name, one in known.published.items()}
    compared = 0
    for claim in stored["claims"]:
        own = {name: one for name, one in published.items() if known.experiments[name].paper == claim["paper"]}
        other = [name for name in own if known.published[name].other_settings]
        judged = judge_claim(known.by_id[claim["id"]], {}, own, other_settings=other)
        parts = [as_json(part) for part in judged.authors_parts if part.measured]
        assert parts == claim["parts_authors"], claim["id"]
        compared += len(parts)
    assert compared > 100


def test_the_metrics_of_the_stored_claims_are_those_of_the_registry(known):
    stored = json.loads((Path(__file__).parents[2] / "docs" / "reproduction.json").read_text())
    for claim in stored["claims"]:
        assert [part["metric"] for part in claim["parts"]] == [
            part.metric.text for part in known.by_id[claim["id"]].parts
        ]


def test_the_artefact_is_held_against_the_published_numbers_load_by_load(known):
    claim = known.by_id["pk7"]
    published = {"pk-fig12": known.published["pk-fig12"].results()}
    frame = published["pk-fig12"].frames["fct"].filter(pl.col("load").is_in([0.2, 0.8]))
    same = {1: Tables({"fct": frame})}
    judged = judge_claim(claim, {("pk-fig12", "artefact"): same}, published)
    assert judged.artefact == "reproduced"
    assert [(point.at, point.ours.value) for point in judged.artefact_parts[0].points] == [
        (point.at, pytest.approx(point.theirs)) for point in judged.artefact_parts[0].points
    ]
    assert [point.at for point in judged.artefact_parts[0].points] == [0.2, 0.8]
    late = pl.when((pl.col("scheduler") == "packs") & (pl.col("load") == 0.8)).then(1.5).otherwise(1.0)
    off = {1: Tables({"fct": frame.with_columns(pl.col("mean_ns") * late)})}
    judged = judge_claim(claim, {("pk-fig12", "artefact"): off}, published)
    assert [point.verdict for point in judged.artefact_parts[0].points] == ["reproduced", "not reproduced"]


def test_an_artefact_is_of_the_papers_own_public_code_only(known):
    for experiment in known.experiments.values():
        seconds = [variant for variant in experiment.variants if variant.name == "artefact"]
        if experiment.paper == "exp-pifo":
            assert not seconds, f"{experiment.id}: Exp-PIFO has no public code"
        for variant in seconds:
            if experiment.paper in ("packs", "rifo") and any(axis.name == "load" for axis in variant.axes):
                assert all(name.startswith(f"netbench/{experiment.paper}-") for name in variant.scenarios), (
                    experiment.id
                )


def test_the_last_column_is_an_artefact_only_where_a_paper_has_public_code(known):
    samples = {"scheduler": ["aifo"], "time_ns": [300_000_000], "packets": [280]}
    results = {("ai-theorem", "reading"): {1: Tables({"samples": pl.DataFrame(samples)})}}
    for claim, measured, heading in (("ai10", results, "another reading"), ("pk7", {}, "artefact")):
        judged = judge_claim(known.by_id[claim], measured)
        result = Reproduction(known, known.depths["quick"], [judged], {})
        (found,) = claims_json(result, {})["claims"]
        assert numbers(found)[0][-1] == heading


def test_every_figure_of_packs_and_rifo_that_has_published_numbers_has_an_artefact_to_hold_against_them(known):
    for name, published in known.published.items():
        experiment = known.experiments[name]
        # A testbed has no settings that a simulator could take over.
        if experiment.paper in ("packs", "rifo") and "tofino" not in published.source:
            assert "artefact" in {variant.name for variant in experiment.variants}, name


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('experiment = "pk-fig12"', 'experiment = "pk-fig99"', "experiment = 'pk-fig99': unknown experiment"),
        (
            'source = "packs"',
            'source = "pack"',
            "source = 'pack': expected one of aifo, packs, packs-testbed, rifo, sp-pifo",
        ),
        ('experiment = "pk-fig13"', 'experiment = "pk-fig12"', "duplicate experiment"),
        ('experiment = "pk-fig12"', 'experiment = "pk-fig15"', "published/pk-fig15.*.csv: no such file"),
        ('tables_of = "ri-fig7"', 'tables_of = "ri-fig99"', "published/ri-fig99.*.csv: no such file"),
        ('file = "udp', 'folder = "udp', 'folder: unknown key "folder"'),
    ],
)
def test_every_mistake_about_what_was_published_is_named(copy, old, new, problem):
    edited(copy, "published.toml", old, new)
    with pytest.raises(InputError, match=re.escape(problem)):
        load_registry(copy)


@pytest.mark.parametrize("claim", ["ri4", "ex1", "ex2"])
def test_what_is_stated_as_the_best_of_the_loads_has_all_seven(known, claim):
    (one,) = [one for one in known.claims if one.id == claim]
    for name in one.experiments:
        for variant in known.experiments[name].variants:
            assert {len(axis.values["default"]) for axis in variant.axes} == {7}, (name, variant.name)


def test_two_experiments_may_repeat_one_published_figure(known):
    whole, best = known.published["ri-fig7"], known.published["ri-fig7-best"]
    assert best.tables == whole.tables
    assert best.results().frames["fct"].equals(whole.results().frames["fct"])


def test_a_dedicated_queue_serves_its_ranks_as_a_pifo_does():
    rows = STUDIES["dedicated-queue"](7)["schedulers"].rows_by_key("scheduler", named=True, unique=True)
    assert rows["pifo"]["overtaken"] == rows["pifo"]["inversions_of_others"] == rows["dedicated"]["overtaken"] == 0
    assert rows["sp-pifo"]["overtaken"] > 0 < rows["dedicated"]["inversions_of_others"]


def test_a_table_that_belongs_to_no_figure_is_named(copy):
    (copy / "published" / "pk-fig99.fct.csv").write_text("scheduler,mean_ns\npacks,1\n")
    with pytest.raises(InputError, match="does not have the experiment 'pk-fig99'"):
        load_registry(copy)


@pytest.mark.thorough
def test_a_claim_that_is_not_run_is_taken_from_an_earlier_report_with_its_revision(quick, copy, tmp_path):
    earlier = quick / "claims.json"
    command = ["reproduce", "--quick", "--only", "hw1", "--registry", str(copy), "--no-figures"]
    command += ["--earlier", str(earlier), "--out", str(tmp_path), "--revision", "today"]

    def reproduced():
        assert main(command) == 0
        found = json.loads((tmp_path / "claims.json").read_text())
        return found, next(claim for claim in found["claims"] if claim["id"] == "pk1")

    found, claim = reproduced()
    before = json.loads(earlier.read_text())
    assert len(found["claims"]) == len(load_registry().claims)
    assert claim["verdict"] == "reproduced"
    assert {part["revision"] for part in claim["parts"]} == {before["revision"]}
    # What the same experiment measures for other claims is of today, too.
    assert found["revisions"]["today"] == [f"hw{number}" for number in range(1, 11)]
    assert "pk1" in found["revisions"][before["revision"]]
    page = (tmp_path / "report.html").read_text()
    assert f"Revision: text measured earlier, {before['revision']}" in page
    # Judged by today's rules, and not taken over where the settings are other ones.
    edited(copy, "packs.toml", "paper = [3, 3.75]", "paper = [300, 375]")
    assert reproduced()[1]["verdict"] == "not reproduced"
    edited(
        copy,
        "packs.toml",
        'scenarios = ["packs/fig3.toml"]',
        'scenarios = ["packs/fig3.toml"]\noverrides = { duration_s = 2 }',
    )
    _, claim = reproduced()
    assert claim["verdict"] == "not yet measured"
    assert "not measured with today's settings" in claim["parts"][0]["reason"]


def test_one_reading_alone_can_be_run(tmp_path):
    command = [
        "reproduce",
        "--quick",
        "--only",
        "ri1",
        "--readings",
        "artefact",
        "--no-figures",
        "--out",
        str(tmp_path),
    ]
    assert main(command) == 0
    (claim,) = json.loads((tmp_path / "claims.json").read_text())["claims"]
    assert claim["verdict"] == "not yet measured"
    assert claim["second"] == "artefact"
    assert claim["verdict_artefact"] is not None
    assert main([*command[:4], "--readings", "artifact", "--out", str(tmp_path)]) == 2


def test_what_was_held_against_published_numbers_is_taken_over_with_them(known):
    claim = known.by_id["pk7"]
    published = {"pk-fig12": known.published["pk-fig12"].results()}
    frame = published["pk-fig12"].frames["fct"].filter(pl.col("load").is_in([0.2, 0.8]))
    judged = judge_claim(claim, {("pk-fig12", "artefact"): {1: Tables({"fct": frame})}}, published)
    parts = [{**as_json(part), "revision": "then", "settings": "same"} for part in judged.artefact_parts]
    earlier = Earlier([{"id": "pk7", "parts_artefact": parts}], {("pk-fig12", "artefact"): "same"}, "then")
    taken = judge_claim(claim, {}, published, earlier)
    assert taken.artefact == judged.artefact == "reproduced"
    assert taken.artefact_parts[0].points == judged.artefact_parts[0].points
    assert taken.artefact_parts[0].taken.revision == "then"


def test_how_far_a_number_may_lie_off_stands_in_the_registry(copy, known):
    part, values = known.by_id["pk1"].parts[0], [2.1, 2.2, 2.15]
    near, far = rows(scheduler=["a"], x=[101.5]), rows(scheduler=["a"], x=[106.0])
    metric = Query("SELECT x FROM schedulers WHERE scheduler = 'a'")
    ours = replace(part, metric=metric, published=metric, neutral=0.0, unit="%")

    def verdicts(part):
        return [compare_points(part, {1: one}, rows(scheduler=["a"], x=[100.0]))[0].verdict for one in (near, far)]

    assert (judge_part(part, values).verdict, verdicts(ours)) == ("partly", ["reproduced", "partly"])
    edited(copy, "words.toml", "factor = 4", "factor = 1.01")
    edited(copy, "words.toml", '"%" = "points"', '"%" = "one-point"')
    strict = load_registry(copy).by_id["pk1"].parts[0].rules
    assert judge_part(replace(part, rules=strict), values).verdict == "not reproduced"
    assert verdicts(replace(ours, rules=strict)) == ["not reproduced", "not reproduced"]


def test_a_part_that_holds_with_another_scheduler_is_told_and_only_what_changed_is_tried_again(copy, tmp_path, capsys):
    command = ["reproduce", "--quick", "--mutate", "--registry", str(copy), "--out", str(tmp_path)]

    def tried(*options):
        assert main([*command, *options]) == 0
        return capsys.readouterr().out, {one.what: one for one in read_tried(tmp_path / "mutants.json")}

    out, parts = tried("--only", "pk1,pk16,ai6")
    assert len(parts) == 10
    for what in ("SP-PIFO over PACKS", "AIFO over PACKS", "FIFO over PACKS"):
        assert [(one.rows_of, one.survives) for one in parts[what].mutants] == [
            ({"packs": "fifo"}, False),
            ({"packs": "sp-pifo"}, False),
        ]
    assert "9 of 10 parts were tried against their mutants" in out
    assert "0 have to be explained or made void" in out
    assert {one.claim for one in parts.values() if one.verdict == "void"} == {"ai6"}
    # What is stated so that FIFO passes as well is found, and is the only one that is tried again.
    edited(copy, "packs.toml", "paper = [3, 3.75]", "at_least = 0.5")
    folder = load_registry(copy)
    assert "pk1" in untried(current(parts.values(), folder), folder)
    assert "pk16" not in untried(current(parts.values(), folder), folder)
    out, parts = tried("--only", "pk1")
    assert "holds: explain it" in out
    assert "1 have to be explained or made void: pk1 (SP-PIFO over PACKS)" in out
    edited(copy, "packs.toml", "at_least = 0.5", 'at_least = 0.5\nvoid = "anything is more"')
    out, parts = tried("--only", "pk1")
    assert parts["SP-PIFO over PACKS"].verdict == "void"
    assert "0 have to be explained" in out
    (tmp_path / "mutants.json").write_text("[]")
    assert main(command) == 2
    assert "mutants.json: expected a mutants.json of pifolab reproduce --mutate" in capsys.readouterr().err


#: Values of every kind that JSON has.
_VALUES = [None, True, 0, -1, 1.5, "text", "", [], [1], {}, {"a": 1}, {"a": "b"}, [{}]]


def test_a_value_of_another_kind_in_tried_parts_is_named_with_its_claim_part_and_key(tmp_path):
    stored = json.loads((Path(__file__).parents[2] / "docs" / "mutants.json").read_text())["parts"]
    drawn, path = random.Random(40), tmp_path / "mutants.json"
    for _ in range(600):
        row = deepcopy(drawn.choice([one for one in stored if one["mutants"]]))
        place = f"{path}: part {row['claim']!r}, {row['what']!r}"
        table, inside = drawn.choice([(row, ""), (row["mutants"][0], "mutants[0]: ")])
        key = drawn.choice(list(table))
        value = drawn.choice([*_VALUES, ...])
        fits = {
            "mutants": lambda value: value == [],
            "rows_of": lambda value: isinstance(value, dict) and all(isinstance(one, str) for one in value.values()),
            "value": lambda value: value is None or (isinstance(value, int | float) and not isinstance(value, bool)),
        }.get(key, lambda value: isinstance(value, str))
        if value is ...:
            del table[key]
        else:
            table[key] = value
        path.write_text(json.dumps({"parts": [row]}))
        if fits(value):
            assert read_tried(path)
            continue
        with pytest.raises(InputError) as error:
            read_tried(path)
        begins = f"{path}: part [0]: {key}" if key in ("claim", "what") else f"{place}: {inside}{key}"
        said = str(error.value)
        assert said.startswith(begins), said
        assert "\n" not in said
    for parts in (3, None, "x", {"a": 1}):
        path.write_text(json.dumps({"parts": parts}))
        with pytest.raises(InputError, match=r"mutants.json: expected a mutants.json of"):
            read_tried(path)
    path.write_text(json.dumps({"parts": [7, {"claims": 1}]}))
    with pytest.raises(InputError, match=r"mutants.json: part \[0\]: expected a table"):
        read_tried(path)


def test_every_stored_part_that_holds_with_another_scheduler_has_a_reason_or_is_void(known):
    stored = read_tried(Path(__file__).parents[2] / "docs" / "mutants.json")
    now = current(stored, known)
    assert len(now) == len(stored), "run pifolab reproduce --mutate again for what has changed"
    assert [one.claim for one in now if one.unexplained] == []
    # A reason is none where everything falls.
    assert [one.claim for one in now if one.mutants and one.verdict == "void" and not one.survivors] == []


def test_a_void_part_makes_no_claim_hold(known):
    claim = known.by_id["pk19"]
    tables = {seed: rows(scheduler=["eq-10", "even", "sp-pifo"], lost=[0, 30, 20]) for seed in (1, 2, 3)}
    first, *others = claim.parts
    main_void = replace(claim, parts=(replace(first, void="why"), *others))
    side_void = replace(claim, parts=(first, replace(others[0], void="why"), *others[1:]))
    verdicts = [judge_claim(one, {("pk-mapping", "paper"): tables}).verdict for one in (claim, main_void, side_void)]
    assert verdicts == ["reproduced", "void", "partly"]


def test_the_theorems_about_one_bound_of_the_greedy_algorithm_hold_and_its_convergence_does_not():
    for seed in range(8):
        frame = STUDIES["greedy-convergence"](seed)["schedulers"]
        (greedy,) = frame.filter(pl.col("scheduler") == "greedy").to_dicts()
        assert (greedy["theorem_1"], greedy["theorem_2"]) == (0, 0)
        assert 0.5 < greedy["reached"] < 1
        assert dict(zip(frame["scheduler"], frame["smallest"], strict=True)) == {"greedy": 3, "even": 3, "optimal": 2}
        assert dict(zip(frame["scheduler"], frame["eight"], strict=True)) == {
            "greedy": 441,
            "even": 441,
            "optimal": 101,
        }


@pytest.mark.parametrize("steps", ["one", "until-convergence", "one-or-equal", "next-seen", "counters"])
def test_the_smallest_counterexample_stays_where_it_is_under_every_reading_of_the_steps(steps):
    draw = random.Random(5)
    scheduler = pifolab.SpPifoGreedy(
        queues=3, queue_capacity_packets=10, window_packets=7, initial_bounds=[0, 1, 2], ranks=4, steps=steps
    )
    for _ in range(60):
        ranks = [0, 1, 1, 2, 2, 2, 3]
        draw.shuffle(ranks)
        for rank in ranks:
            scheduler.enqueue(pifolab.Packet(rank))
            scheduler.dequeue()
    assert scheduler.bounds == [0, 1, 2]
    assert pifolab.optimal_bounds([1, 2, 3, 1], 3) == [0, 2, 3]


def test_no_smaller_weights_have_bounds_all_of_whose_neighbours_cost_more_and_are_not_the_best():
    def traps(weights, queues):
        starts = itertools.combinations_with_replacement(range(len(weights) + 1), queues - 1)
        costs = {start: _risk(weights, [0, *start]) for start in starts}

        def neighbours(start):
            moved = [(*start[:k], start[k] + step, *start[k + 1 :]) for k in range(len(start)) for step in (1, -1)]
            return [costs[one] for one in moved if one in costs]

        return [start for start, cost in costs.items() if min(costs.values()) < cost < min(neighbours(start))]

    draw = random.Random(6)
    for _ in range(300):
        assert traps([draw.randint(1, 20) for _ in range(draw.randint(2, 9))], 2) == []
        assert traps([draw.randint(1, 20) for _ in range(3)], 3) == []
    smaller = [one for one in itertools.product(range(1, 4), repeat=4) if sum(one) < 7]
    assert len(smaller) == 15
    assert [one for one in smaller if traps(one, 3)] == []
    assert traps((1, 2, 3, 1), 3) == [(1, 2)]
