"""Reports say what was run, in units that people read, and nothing about chance where nothing is random."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from pathlib import Path

import browser
import numpy as np
import polars as pl
import pytest
from sweeping import sweep_of

import pifolab
from pifolab.cli import main
from pifolab.figures.one_link import per_rank
from pifolab.figures.style import figure_style, readable_log, subplots
from pifolab.report.conclusion import conclusion_lines
from pifolab.report.run import fct_rows, summary_rows
from pifolab.report.setup import settings, setup_lines
from pifolab.store import Store
from pifolab.sweep import run_sweep

ROOT = Path(__file__).resolve().parents[2]
CAPTURE = ROOT / "python" / "pifolab" / "data" / "tcp-mix.pcap.gz"

DRAWN = """
duration_s = 0.001
link = { rate_gbps = 10 }
workload = { arrivals = "constant", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }
scheduler = [{ name = "aifo" }, { name = "packs" }]
"""


@pytest.fixture(scope="module")
def compared(tmp_path_factory) -> Path:
    """The folder of a comparison on the capture that ships."""
    out = tmp_path_factory.mktemp("reports") / "run"
    options = ["--rate", "0.07G", "--rank", "flow-size", "--schedulers", "pifo,aifo,packs", "--out", str(out)]
    assert main(["compare", "--trace", str(CAPTURE), *options]) == 0
    return out


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1366, 390])
def test_a_report_fits_the_window_in_either_theme_and_its_tables_scroll_in_their_boxes(
    compared: Path, tmp_path: Path, width: int, scheme: str
):
    if browser.chromium() is None:
        pytest.skip("no Chromium here")
    with browser.page(tmp_path) as page:
        page.size(width, 900, scheme)
        page.open((compared / "report.html").as_uri())
        page.wait("document.readyState === 'complete' && document.querySelector('figure img')?.complete")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        look = page.evaluate(
            "(() => { const of = (name) => getComputedStyle(document.querySelector(name));"
            " return [of('body').backgroundColor, of('body').color, of('figure img').filter, of('.chip').filter]; })()"
        )
        cut = page.evaluate(
            "[...document.querySelectorAll('.wide')].filter((box) => box.scrollWidth > box.clientWidth)"
            ".map((box) => [box.tabIndex, getComputedStyle(box).backgroundAttachment])"
        )
    inverted = "invert(0.91) hue-rotate(180deg)"
    assert (
        look
        == {
            "light": ["rgb(255, 255, 255)", "rgb(34, 34, 34)", "none", "none"],
            "dark": ["rgb(23, 23, 23)", "rgb(221, 221, 221)", inverted, inverted],
        }[scheme]
    )
    # What is cut shows that it goes on, and can be scrolled by keys.
    assert (len(cut) > 0) == (width == 390)
    assert all(box == [0, "local, local, scroll, scroll"] for box in cut)


def first_section(page: str) -> str:
    start = page.index("<section>")
    return page[start : page.index("</section>", start)]


def test_a_report_says_what_was_run_in_its_first_lines(compared):
    first = first_section((compared / "report.html").read_text())
    assert "<h2>What was run</h2>" in first
    assert "trace tcp-mix.pcap.gz: 23,378 packets of 60 flows, 35 MB in 3.73 s" in first
    assert "a link of 70 Mb/s, which the trace loads by 107% on average" in first
    assert "ranks: flow-size" in first
    # What AIFO and PACKS do not have in common, defaults all: the buffer's queues, k, and the window.
    headings = re.findall(r"<th(?: [^>]*)?>(.*?)</th>", first)
    assert headings == ["scheduler", "buffer", "queues", "k", "window", "further settings"]
    rows = [re.findall(r"<td>(.*?)</td>", row)[1:5] for row in re.findall(r"<tr>(.*?)</tr>", first, re.DOTALL)[1:]]
    assert rows == [
        ["80 packets", "1", "-", "-"],
        ["80 packets", "1", "0.1", "20"],
        ["80 packets", "8", "0", "1&#8239;000"],
    ]


def test_further_settings_are_those_that_are_not_the_default():
    draw = random.Random(5)
    alone = DRAWN.replace(', { name = "packs" }', "")
    usual = {"k": "0.1", "sample": "1", "update": "before", "quantile": "lt"}
    for _ in range(8):
        given = {
            "k": draw.choice(["0.1", "0.25"]),
            "sample": draw.choice(["1", "3"]),
            "update": draw.choice(["before", "after"]),
            "quantile": draw.choice(["lt", "le"]),
        }
        ran = pifolab.run_text(alone, overrides={f"scheduler.aifo.{key}": value for key, value in given.items()})
        _, [row] = settings(ran.manifest["spec"]["scheduler"])
        changed = {f"{key} {value}" for key, value in given.items() if value != usual[key]}
        assert set(filter(None, row[-1].split(", "))) == changed


def test_nothing_is_said_of_seeds_where_nothing_is_random(compared):
    page = (compared / "report.html").read_text()
    shown = page[: page.index("How to repeat it")]
    assert "nothing is random: every seed gives the same result" in shown
    assert not re.search(
        r"over the seeds|first seed|all seeds|[Ss]eed 1\b|interval", re.sub(r'base64,[^"]*', "", shown)
    )
    drawn = pifolab.run_text(DRAWN, seeds=[3])
    assert setup_lines(drawn)[-1] == "seed 3"
    assert setup_lines(pifolab.run_text(DRAWN, seeds=[3, 4]))[-1] == "2 seeds (3, 4): tables show means"


def test_a_sweep_in_which_nothing_is_random_has_no_intervals_and_no_advice_about_seeds(tmp_path, capsys):
    from pifolab.cli.study import show_result

    (tmp_path / "t.csv").write_text(
        "time_ns,size_bytes,rank\n" + "".join(f"{at * 1000},1500,{at % 7}\n" for at in range(300))
    )
    base = tmp_path / "small.toml"
    base.write_text(
        'link = { rate_gbps = 10 }\nworkload = { trace = "t.csv", trace_rank = "column" }\n'
        'scheduler = [{ name = "fifo" }, { name = "packs" }]\n'
    )
    keys = {"axis": {"rate": {"key": "link.rate_gbps", "values": [9, 11]}}, "metrics": ["inversions"]}
    for seeds in ([1], [1, 2]):
        store = Store(tmp_path / f"store{len(seeds)}")
        result = run_sweep(sweep_of(base, seeds=seeds, **keys), store, workers=1)
        import sys

        show_result(result, sys.stdout)
        said = capsys.readouterr().out
        assert "inversions (not random: the same for every seed)" in said
        assert "interval" not in said
        assert "warning" not in said
        assert "[" not in said


def test_times_have_units_that_fit(compared):
    headings, rows = summary_rows(pl.read_parquet(compared / "schedulers.parquet"))
    wait = headings.index("mean wait (ms)")
    assert "p99 wait (ms)" in headings
    assert 1 < rows[0][wait] < 100
    headings, rows = summary_rows(pifolab.run_text(DRAWN).tables["schedulers"])
    assert "mean wait (us)" in headings
    fct = pl.DataFrame(
        {"scheduler": "a", "class": "all", "flows": 3, "completed": 3, "mean_ns": 2_500.0, "p99_ns": 9_000.0}
        | {"mean_slowdown": 1.0, "p99_slowdown": 2.0}
    )
    headings, rows = fct_rows(fct)
    assert headings[4:6] == ["mean FCT (us)", "p99 FCT (us)"]
    assert rows[0][4:6] == [2.5, 9.0]


def test_ranks_that_are_sizes_stand_on_a_logarithmic_axis(compared):
    from pifolab.figures.run import draw_run
    from pifolab.runs import Run

    sizes = np.unique(np.geomspace(700, 3_000_000, 60).astype(int))
    frame = pl.DataFrame({"scheduler": "fifo", "rank": sizes, "dropped": np.arange(len(sizes))})
    (axes,) = per_rank(frame, "dropped", "Drops", sizes=True).axes
    assert axes.get_xscale() == "log"
    tables = {file.stem: pl.read_parquet(file) for file in compared.glob("*.parquet")}
    import json

    manifest = json.loads((compared / "manifest.json").read_text())
    summary = json.loads((compared / "summary.json").read_text())
    (axes,) = draw_run(Run(manifest, summary, tables))["drops-per-rank"].axes
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel().startswith("Rank: flow size (bytes)")
    # Ranks that are drawn evenly are not sizes.
    even = pl.DataFrame({"scheduler": "fifo", "rank": np.arange(1, 500), "dropped": 1})
    assert per_rank(even, "dropped", "Drops").axes[0].get_xscale() == "linear"


@pytest.mark.parametrize("which", ["x", "y"])
@pytest.mark.parametrize("from_zero", [False, True])
@pytest.mark.parametrize("spread", [1.05, 1.5, 3, 8, 30, 5000, 1e7, 1e11])
def test_the_labels_of_a_logarithmic_axis_can_be_read(which, from_zero, spread):
    if from_zero and spread < 30:
        pytest.skip("from 0 only axes of decades are drawn")
    figure, axes = subplots(figsize=(3.4, 2.2))
    first = 1 if from_zero else 630
    values = np.geomspace(first, first * spread, 50)
    axes.plot(values, values)
    readable_log(axes, which, from_zero=from_zero)
    figure.canvas.draw()
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    shown = [tick.label1 for tick in ticks if low <= tick.get_loc() <= high and tick.label1.get_text()]
    boxes = [label.get_window_extent() for label in shown]
    ends = sorted((box.x0, box.x1) if which == "x" else (box.y0, box.y1) for box in boxes)
    assert len(ends) > 1
    assert all(before[1] < after[0] for before, after in pairwise(ends))
    # As people write numbers: no powers of ten, no "1e+06".
    assert all(re.fullmatch(r"\d+(\.\d+)?[kMGT]?", label.get_text()) for label in shown), [*map(str, shown)]


@pytest.mark.parametrize(("low", "high"), [(268_716, 287_928), (8_100, 10_400), (1_234_000, 1_300_000)])
def test_the_labels_of_ranks_that_are_large_and_nearly_the_same_do_not_meet(low, high):
    ranks = [low, *range(low + 50, high, (high - low) // 7), high]
    frame = pl.DataFrame({"scheduler": ["fifo"] * len(ranks), "rank": ranks, "dropped": ranks})
    figure = per_rank(frame, "dropped", "Drops (packets)", sizes=True)
    with figure_style():
        figure.canvas.draw()
        (axes,) = figure.axes
        boxes = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
    ends = sorted((box.x0, box.x1) for box in boxes)
    assert len(ends) > 1
    # A gap of half of a digit's height: numbers that touch are read as one.
    assert all(after[0] - before[1] > boxes[0].height / 2 for before, after in pairwise(ends))


JUDGED = """
duration_s = 0.02
link = { rate_gbps = 10 }
workload = { arrivals = "poisson", rate_gbps = 9, size_bytes = 1500, ranks = "uniform" }
scheduler = [
  { name = "pifo" }, { name = "fifo" }, { name = "sp-pifo" }, { name = "packs", window = 100, map = "geometric" },
  { name = "slack-sp", fall_through = true },
]
"""


@pytest.mark.thorough
def test_schedulers_on_one_link_are_judged_by_drops_pairs_magnitude_state_and_operations(tmp_path):
    from pifolab.report.judged import judged, judged_rows

    run = pifolab.run_text(JUDGED, seeds=[1, 2])
    by_name = {one.scheduler: one for one in judged(run)}
    schedulers = run.tables["schedulers"].filter(scheduler="slack-sp")
    slack = by_name["slack-sp"]
    assert slack.misdrops == pytest.approx(schedulers["misdrops"].mean())
    assert slack.below_saturation == pytest.approx(schedulers["dropped_packets"].mean())
    assert slack.pairs == pytest.approx(schedulers["pairwise_inversions"].mean())
    assert slack.magnitude == pytest.approx(schedulers["inversion_magnitude"].mean())
    assert (by_name["packs"].cost.registers, by_name["packs"].cost.operations) == (101, 110)
    assert by_name["pifo"].cost is None
    # With fewer bits than SP-PIFO it has fewer inversions and misdrops; FIFO has no state, and loses nothing.
    assert by_name["sp-pifo"].beaten_by == ("slack-sp",)
    assert by_name["slack-sp"].beaten_by == by_name["fifo"].beaten_by == ()
    headings, rows = judged_rows(run)
    assert "drops below saturation (packets)" in headings
    assert rows[2][headings.index("state (bits)")] == 8 * 32
    over = pifolab.run_text(JUDGED.replace("rate_gbps = 9,", "rate_gbps = 11,"))
    assert "drops below saturation (packets)" not in judged_rows(over)[0]
    # By rank, the bars of the figure add up to the number in the table.
    from pifolab.figures.run import misdrops_by_rank

    beyond = misdrops_by_rank(run).filter(scheduler="slack-sp")
    assert beyond["misdrops"].sum() == schedulers["misdrops"].sum() > 0
    run.save(tmp_path / "run", figures=True, report=True)
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Drops beyond those of the reference" in page
    assert "operations per packet" in page
    assert "Beaten by: schedulers that have fewer" in page
    assert "<th class=words>further settings</th>" in page


def test_without_a_reference_there_are_no_misdrops_and_nobody_is_beaten():
    from pifolab.figures.run import misdrops_by_rank
    from pifolab.report.judged import about, judged_rows

    run = pifolab.run_text(DRAWN)
    headings, _ = judged_rows(run)
    assert "misdrops (packets)" not in headings
    assert "beaten by" not in headings
    assert "Beaten by" not in about(headings)
    assert "Magnitude: " in about(headings)
    assert misdrops_by_rank(run) is None


@pytest.mark.thorough
def test_a_report_ends_with_what_follows_and_says_what_its_words_mean(tmp_path):
    drawn = {"ranks": "uniform", "rate_gbps": 10, "arrival_gbps": 11, "duration_s": 0.002}
    run = pifolab.compare(["pifo", "fifo", "packs"], **drawn)
    page = (run.save(tmp_path / "run") / "report.html").read_text()
    headings = re.findall("<h2>(.*?)</h2>", page)
    assert (headings[0], headings[-1]) == ("What was run", "What follows from it")
    inversions = dict(run.tables["schedulers"].select("scheduler", "inversions").iter_rows())
    assert f"packs has the fewest inversions beside PIFO ({inversions['packs']:,} packets)" in page
    assert "<dt>inversion</dt>" in page
    assert "<dt>slowdown</dt>" not in page
    idle = pifolab.compare(["pifo", "fifo"], **{**drawn, "arrival_gbps": 1})
    assert conclusion_lines(idle)[0].startswith("Nothing: no packet waited")


def test_completion_times_are_compared_over_the_flows_that_all_completed():
    scenario = ROOT / "experiments/leaf-spine/web-search.toml"
    run = pifolab.run(scenario, seeds=[1], overrides={"duration_s": 0.005})
    flows = run.tables["flows"]
    done = flows.filter(pl.col("fct_ns").is_not_null())
    sets = [set(part["flow"]) for part in done.partition_by("scheduler")]
    common = set.intersection(*sets)
    # Otherwise the test would say nothing.
    assert any(flows_of != common for flows_of in sets)
    assert conclusion_lines(run)[0].startswith(f"Mean completion time over the {len(common):,} flows")
    for (name,), part in done.filter(pl.col("flow").is_in(common)).partition_by("scheduler", as_dict=True).items():
        assert f"{name} {part['fct_ns'].mean() / 1e6:.4g} ms" in conclusion_lines(run)[0]
    headings, rows = fct_rows(run.tables["fct"], run.common_flows())
    assert headings[-2:] == ["complete under all", "mean FCT of these (ms)"]
    of_small = done.filter(pl.col("flow").is_in(common) & (pl.col("size_bytes") < 100_000))
    for row in rows:
        if row[1] == "< 100 KB":
            mine = of_small.filter(scheduler=row[0])
            assert row[-2] == len(mine)
            assert row[-1] == pytest.approx(mine["fct_ns"].mean() / 1e6)
