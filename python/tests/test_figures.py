"""Figures take tables, draw what is in them, and say what is missing."""

import random
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import pifolab
from pifolab.figures import curves, one_link, over_time
from pifolab.figures.network import drops_by_port
from pifolab.figures.palette import look
from pifolab.figures.run import _thinned, draw_run
from pifolab.figures.style import save

LOADS = pl.DataFrame(
    {
        "scheduler": ["pifo", "pifo", "fifo", "fifo"],
        "load": [0.3, 0.7, 0.3, 0.7],
        "mean_ns": [1e6, 2e6, 3e6, 9e6],
        "low": [0.5e6, 1.5e6, 2e6, None],
        "high": [1.5e6, 2.5e6, 4e6, None],
    }
)


def test_completion_times_against_load_have_units_and_a_band_from_the_given_interval():
    figure = curves.fct_against_load(LOADS, low="low", high="high", flows="flows < 100 KB")
    axes = figure.axes[0]
    pifo, fifo = axes.lines
    assert (pifo.get_xdata().tolist(), pifo.get_ydata().tolist()) == ([30, 70], [1, 2])
    assert fifo.get_color() == look("fifo").colour
    assert axes.get_xlabel() == "Offered load (% of the hosts' links)"
    assert axes.get_ylabel() == "Mean FCT (ms),\nflows < 100 KB"
    bands = [band.get_paths()[0].vertices for band in axes.collections]
    assert (bands[0][:, 1].min(), bands[0][:, 1].max()) == (0.5, 2.5)
    # Where there is no interval the band is as thin as the line.
    assert (bands[1][:, 1].min(), bands[1][:, 1].max()) == (2, 9)


def test_without_an_interval_the_band_goes_over_the_seeds():
    frame = pl.DataFrame({"scheduler": ["pifo"] * 2, "seed": [1, 2], "x": [5, 5], "y": [10.0, 14.0]})
    axes = curves.against(frame, "x", "y", x_label="x", label="y").axes[0]
    assert axes.lines[0].get_ydata().tolist() == [12]
    vertices = axes.collections[0].get_paths()[0].vertices
    assert (vertices[:, 1].min(), vertices[:, 1].max()) == (10, 14)


def test_a_column_that_is_missing_is_named():
    with pytest.raises(pifolab.InputError, match="the table has no column load; it has scheduler, mean_ns"):
        curves.fct_against_load(LOADS.drop("load", "low", "high"))


def test_sizes_are_gathered_into_classes_and_thin_ones_left_out():
    sizes = [1_000] * 10 + [100_000] * 10 + [10_000_000] * 2
    frame = pl.DataFrame({"scheduler": "pifo", "size_bytes": sizes, "fct_ns": [size * 8 for size in sizes]})
    line = curves.fct_by_size(frame).axes[0].lines[0]
    assert line.get_ydata().tolist() == pytest.approx([0.008, 0.8])
    edges = np.array([1_000, 100_000]) / 1e3
    assert all(edges <= np.asarray(line.get_xdata()))
    assert all(line.get_xdata() <= edges * 10 ** (1 / 3))


def test_a_distribution_goes_from_the_smallest_to_the_largest():
    frame = pl.DataFrame({"scheduler": "packs", "wait_ns": [3e6, 1e6, None, 2e6]})
    line = curves.cdf(frame, "wait_ns", label="Wait (ms)", scale=1e6).axes[0].lines[0]
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([1, 2, 3], [0, 0.5, 1])


@pytest.mark.parametrize("spread", [1.05, 1.5, 3, 8, 30, 5000])
def test_the_labels_of_a_distribution_do_not_overlap_and_are_several(spread: float):
    frame = pl.DataFrame({"scheduler": "packs", "fct_ns": np.geomspace(630_000, 630_000 * spread, 50)})
    figure = curves.cdf(frame, "fct_ns", label="FCT (ms)", scale=1e6)
    figure.canvas.draw()
    axis, (low, high) = figure.axes[0].xaxis, figure.axes[0].get_xlim()
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    shown = [tick.label1 for tick in ticks if low <= tick.get_loc() <= high and tick.label1.get_text()]
    ends = sorted((box.x0, box.x1) for box in (label.get_window_extent() for label in shown))
    assert len(ends) > 1
    assert all(before[1] < after[0] for before, after in pairwise(ends))


def test_thinned_samples_keep_what_is_fullest_and_what_stays():
    # A burst that drains, again and again: between two bursts nothing waits, and nothing is sampled.
    times = [burst * 1_000_000 + step * 1_000 for burst in range(100) for step in range(20)]
    held = [19 - step for _ in range(100) for step in range(20)]
    frame = pl.DataFrame({"scheduler": "pifo", "port": 3, "time_ns": times, "queue": 0, "packets": held})
    thinned = _thinned(frame)
    assert thinned.height <= 600
    for burst in range(100):
        mine = thinned.filter(pl.col("time_ns") // 1_000_000 == burst).sort("time_ns")["packets"].to_list()
        assert (mine[0], mine[-1]) == (19, 0)


def test_the_kinds_of_ports_of_a_fat_tree_have_names_that_do_not_run_together():
    kinds = ["host", "edge-down", "edge-up", "aggregation-down", "aggregation-up", "core"]
    frame = pl.DataFrame({"scheduler": "pifo", "seed": 1, "kind": kinds, "dropped_packets": range(6)})
    figure = drops_by_port(frame)
    figure.canvas.draw()
    labels = figure.axes[0].get_xticklabels()
    assert [label.get_text() for label in labels] == kinds
    assert all(label.get_rotation() == 30 for label in labels)


def test_bars_add_up_ports_and_average_seeds():
    frame = pl.DataFrame(
        {
            "scheduler": ["packs"] * 6,
            "seed": [1, 1, 1, 2, 2, 2],
            "port": [0, 1, 0, 0, 1, 0],
            "queue": [0, 0, 1, 0, 0, 1],
            "dropped": [1, 2, 5, 3, 4, 5],
        }
    )
    axes = curves.by_queue(frame, "dropped", "Drops (packets)").axes[0]
    assert [bar.get_height() for bar in axes.patches] == [5, 5]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "1"]


def test_fairness_counts_who_is_starved_between_two_intervals_but_not_before_and_after():
    frame = pl.DataFrame(
        {
            "seed": 1,
            "scheduler": "pifo",
            "start_ns": [0, 0, 10, 20, 20, 30],
            "flow": [1, 2, 1, 1, 2, 1],
            "bytes": [8, 8, 16, 3, 1, 9],
        }
    )
    found = over_time.fairness(frame, 10)
    assert found["flows"].to_list() == [2, 2, 2, 1]
    assert found["fairness"].to_list() == pytest.approx([1, 0.5, 0.8, 1])


def test_throughput_is_in_gigabits_per_second_and_zero_where_nothing_came():
    frame = pl.DataFrame({"scheduler": "pifo", "start_ns": [0, 2000], "flow": 7, "bytes": [1250, 125]})
    line = over_time.throughput_over_time(frame, 1000).axes[0].lines[0]
    assert line.get_ydata().tolist() == pytest.approx([10, 0, 1, 1])
    assert line.get_xdata().tolist() == pytest.approx([0, 0.001, 0.002, 0.003])


def test_packets_out_of_order_are_counted_and_marked():
    frame = pl.DataFrame(
        {
            "scheduler": ["pifo"] * 4 + ["fifo"] * 2,
            "time_ns": [1, 2, 3, 4, 1, 2],
            "flow": [0, 0, 0, 1, 0, 0],
            "seq_bytes": [0, 2920, 1460, 0, 0, 1460],
        }
    )
    pifo, fifo = over_time.arrival_order(frame).axes
    assert pifo.get_title(loc="left") == "PIFO: 1 of 4 packets out of order"
    assert fifo.get_title(loc="left") == "FIFO: 0 of 2 packets out of order"
    assert pifo.lines[-1].get_ydata().tolist() == [1.46]


def test_occupancy_is_that_of_the_busiest_port_queue_upon_queue():
    frame = pl.DataFrame(
        {
            "scheduler": "sp-pifo",
            "port": [3, 3, 4, 4],
            "time_ns": 1000,
            "queue": [0, 1, 0, 1],
            "packets": [1, 2, 4, 5],
        }
    )
    axes = over_time.occupancy_over_time(frame).axes[0]
    assert axes.get_title(loc="left") == "SP-PIFO, port 4"
    tops = [band.get_paths()[0].vertices[:, 1].max() for band in axes.collections]
    assert tops == [4, 9]


@pytest.mark.parametrize("queues", [2, 3, 7, 8, 9, 12, 31, 32, 100])
def test_queues_have_discrete_colours_and_a_legend(queues: int):
    rng = random.Random(queues)
    rows = [("sp-pifo", queue, rng.randrange(1, 9)) for queue in range(queues)]
    frame = pl.DataFrame([*rows, ("pifo", 0, 5)], orient="row", schema=["scheduler", "queue", "packets"])
    frame = frame.with_columns(time_ns=1000, bound=pl.col("queue"))
    occupancy, bounds = over_time.occupancy_over_time(frame), one_link.bounds_over_time(frame)
    assert len(occupancy.axes) == len(bounds.axes) == 2, "panels, and no colour bar"
    several, alone = occupancy.axes
    held = [float(band.get_paths()[0].vertices[:, 1].max()) for band in several.collections]
    assert held[-1] == sum(packets for *_, packets in rows)
    colours = [tuple(band.get_facecolor()[0]) for band in several.collections]
    [legend] = occupancy.legends
    entries = [text.get_text() for text in legend.get_texts()]
    swatches = [patch.get_facecolor() for patch in legend.get_patches()]
    assert entries[-1] == "the only one"
    assert swatches[-1] == tuple(alone.collections[0].get_facecolor()[0])
    assert swatches[:-1] == colours
    assert len(set(swatches)) == len(entries) == len(set(entries)) <= 9
    named = [queue for entry in entries[:-1] for queue in range(int(entry.split()[0]), int(entry.split()[-1]) + 1)]
    assert named == list(range(queues))
    [legend] = bounds.legends
    assert [text.get_text() for text in legend.get_texts()] == entries[:-1]


def test_the_example_of_the_documentation_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = (Path(__file__).resolve().parents[2] / "docs" / "watching.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "watching.md", "exec"), {})
    assert sorted(file.name for file in tmp_path.iterdir()) == ["fct.pdf", "fct.png", "fct.svg"]


def test_drops_are_drawn_by_the_queue_that_refused_them_or_by_none():
    result = pifolab.run_text(
        """
        duration_s = 0.002
        link = { rate_gbps = 10 }
        workload = { arrivals = "constant", rate_gbps = 15, size_bytes = 1500, ranks = "uniform" }
        scheduler = [{ name = "packs" }, { name = "sp-pifo" }]
        """
    )
    queues = result.tables["queues"]
    totals = result.tables["schedulers"].select("scheduler", "dropped_packets").rows()
    assert queues.group_by("scheduler", maintain_order=True).agg(pl.col("dropped_packets").sum()).rows() == totals
    assert queues.filter(pl.col("queue").is_null())["scheduler"].to_list() == ["packs"]
    axes = draw_run(result)["drops-by-queue"].axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [*map(str, range(8)), "none"]
    # PACKS's bars come first, the one of no queue last.
    none = int(queues.filter(pl.col("queue").is_null())["dropped_admission"].item())
    assert axes.patches[8].get_height() == none > 0


def test_one_link_with_throughput_is_drawn_over_time(tmp_path: Path):
    result = pifolab.run_text(
        """
        duration_s = 0.002
        link = { rate_gbps = 10 }
        workload = { arrivals = "constant", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }
        metrics = { throughput_interval_us = 500 }
        scheduler = [{ name = "sp-pifo" }]
        """
    )
    figures = draw_run(result)
    assert {"throughput-over-time", "fairness-over-time", "occupancy-over-time", "packets-by-queue"} <= set(figures)
    rates = figures["throughput-over-time"].axes[0].lines[0].get_ydata()
    assert 9 < rates.mean() <= 11
    written = save(figures["fairness-over-time"], tmp_path / "fairness")
    assert [file.read_bytes()[:4] for file in written] == [b"\x89PNG", b"<?xm", b"%PDF"]
