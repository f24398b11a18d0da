"""Figures of drawn studies: all that the table has is in the picture, no two lines look alike, sizes are kept."""

import itertools
import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import pifolab
from pifolab.figures.choice import FigureChoice
from pifolab.figures.palette import Look, look
from pifolab.figures.style import save
from pifolab.info import schedulers
from pifolab.statistics import Estimate, mean_interval
from pifolab.sweep.figure import draw_metric
from pifolab.sweep.page import conclusion_lines
from pifolab.sweep.results import Group, write_statistics

BUILT_IN = [about.name for about in schedulers()]

#: How far a number in a figure may be from that of the table.
CLOSE = 1e-9

#: What no figure can hold is refused, in words such as these.
TOO_MUCH = re.compile(
    r"has \d+ values; expected at most 12|entries is [\d.]+ inches high; expected a height of at least"
)


def study(seed: int) -> tuple[list[Group], str, str]:
    """Draw a study: schedulers, axes that some of them lack, values and intervals; also the axes x and panel."""
    drawing = random.Random(seed)
    names = drawing.sample([*BUILT_IN, "mine", "yours", "theirs", "packs-1000"], drawing.randint(1, 6))
    axes = {"load": [0.5, 0.7, 0.9][: drawing.randint(2, 3)]}
    for axis in drawing.sample(["window", "k", "rate", "kind"], drawing.randint(1, 3)):
        axes[axis] = [drawing.choice("abc") + str(at) if axis == "kind" else at for at in range(drawing.randint(2, 5))]
    lacks = {(name, axis) for name in names for axis in axes if axis != "load" and drawing.random() < 0.4}
    # A condition of an axis may also ask for a value of another one.
    only = drawing.choice(list(axes)) if drawing.random() < 0.3 else None
    groups: dict[tuple, Group] = {}
    for name in names:
        combinations: list[dict] = [{}]
        for axis, labels in axes.items():
            of = [None] if (name, axis) in lacks else labels
            combinations = [{**one, axis: label} for one in combinations for label in of]
        for one in combinations:
            if only and only != "load" and one["load"] == 0.5:
                one[only] = None
            mean = drawing.uniform(1, 100)
            half = drawing.uniform(0, mean)
            estimate = Estimate(mean, mean - half, mean + half, 5)
            groups.setdefault((name, *one.values()), Group(one, name, "inversions", estimate))
    x = "load" if drawing.random() < 0.5 else drawing.choice([axis for axis in axes if axis != "kind"])
    panel = drawing.choice([axis for axis in axes if axis != x])
    return list(groups.values()), x, panel


def entries(figure: Figure) -> list[tuple[str, tuple]]:
    (legend,) = figure.legends
    found = []
    for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
        style = (to_hex(handle.get_color()), str(handle._unscaled_dash_pattern), str(handle.get_marker()))
        found.append((text.get_text(), style))
    return found


def drawn_study(seed: int, **chosen) -> tuple[list[Group], Figure] | None:
    groups, x, panel = study(seed)
    try:
        return groups, draw_metric(groups, x, panel, FigureChoice(**chosen))
    except pifolab.InputError as error:
        if not TOO_MUCH.search(str(error)):
            raise
        return None


SEEDS = range(40)


def test_no_two_entries_of_a_legend_look_alike():
    figures = [found[1] for seed in SEEDS if (found := drawn_study(seed)) is not None]
    assert len(figures) > len(SEEDS) * 0.7
    for figure in figures:
        found = entries(figure)
        assert len({text for text, _ in found}) == len(found)
        twice = [style for style, count in Counter(style for _, style in found).items() if count > 1]
        assert not twice, (twice, found)


def test_every_mean_of_the_table_is_in_the_picture_and_every_interval_within_the_axes():
    for seed in SEEDS:
        if (found := drawn_study(seed)) is None:
            continue
        groups, figure = found
        panels = [axes for axes in figure.axes if axes.get_visible()]
        shown = [float(y) for axes in panels for line in axes.lines for y in line.get_ydata()]
        for group in groups:
            assert any(abs(y - group.estimate.value) < CLOSE for y in shown), (seed, group)
        for axes in panels:
            low, high = axes.get_ylim()
            assert low <= min(group.estimate.low for group in groups)
            assert high >= max(group.estimate.high for group in groups)
        # Each line is in the legend: a scheduler without the axis of the panels is in every panel.
        whole = {group.scheduler for group in groups}
        assert len({text.split(",")[0] for text, _ in entries(figure)}) == len(whole)
        titled = {axes.get_title().split(" ")[0] for axes in panels if axes.get_title()}
        for name in whole:
            mine = [group for group in groups if group.scheduler == name]
            if all(group.axes[axis] is None for group in mine for axis in groups[0].axes if axis in titled):
                label = look(name, [name]).label
                for axes in panels:
                    labels = [line.get_label() for line in axes.lines]
                    assert any(text.split(",")[0] == label for text in labels), (seed, name, labels)


def test_numbers_below_a_panel_do_not_overlap():
    for seed in range(25):
        drawing = random.Random(seed)
        unit, panels = drawing.choice([0.05, 0.5, 1, 20, 500, 1500]), drawing.choice([1, 3, 3])
        values = [0, *(unit * at for at in drawing.sample(range(1, 20), drawing.randint(2, 5)))]
        size = drawing.choice([(3.4, 2.4), (3.4, 2.4), (7.0, 3.0)])
        if seed == 0:
            # Four digits are too long for the distances that Matplotlib chooses.
            values, panels, size = [500, 1500, 9000], 3, (3.4, 2.4)
        groups = [
            Group({"x": value, "panel": at}, "pifo", "inversions", mean_interval([1.0, 2.0, drawing.uniform(3, 9)]))
            for value in sorted(values)
            for at in range(panels)
        ]
        figure = draw_metric(groups, "x", "panel" if panels > 1 else None, FigureChoice(size=size))
        figure.canvas.draw()
        for axes in figure.axes:
            low, high = axes.get_xlim()
            shown = [label for label in axes.get_xticklabels() if low <= label.get_position()[0] <= high]
            assert shown, seed
            boxes = [label.get_window_extent() for label in shown]
            assert all(one.x1 + 1 < after.x0 for one, after in itertools.pairwise(boxes)), (seed, values, panels, size)


@pytest.mark.parametrize("size", [(3.4, 2.4), (5.0, 3.0), (7.0, 4.5)])
def test_the_pdf_is_as_large_as_asked_for_or_the_size_is_refused(tmp_path: Path, size: tuple[float, float]):
    sizes = 0
    for seed in range(12):
        groups, x, panel = study(seed)
        try:
            figure = draw_metric(groups, x, panel, FigureChoice(size=size))
        except pifolab.InputError as error:
            if not TOO_MUCH.search(str(error)):
                raise
            continue
        (file,) = save(figure, tmp_path / f"f{seed}", ["pdf"])
        box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", file.read_bytes())
        assert box is not None
        assert [float(part) / 72 for part in box.groups()] == pytest.approx(size, abs=0.01)
        legend = figure.legends[0].get_window_extent()
        assert legend.x0 >= -1
        assert legend.x1 <= figure.bbox.width + 1
        sizes += 1
    assert sizes > 2


def test_own_schedulers_have_colours_dashes_and_markers_that_no_other_has():
    own = [f"own {letter}" for letter in "abcdefgh"]
    looks = [look(name, own) for name in own]
    known = [look(name) for name in BUILT_IN]
    for part in ("colour", "dash", "marker"):
        mine = [getattr(one, part) for one in looks]
        assert len(set(mine)) == len(mine)
        assert not set(mine) & {getattr(one, part) for one in known}
    many = [f"own {at} x" for at in "abcdefghijklmnopqrstuvwxyz"]
    assert len({replace(look(name, many), label="") for name in many}) == len(many)


def test_the_settings_of_one_scheduler_are_a_ramp_of_its_hue():
    names = ["pifo", *(f"packs-{window}" for window in (15, 25, 100, 1000)), "sp-pifo"]
    looks: list[Look] = [look(name, names) for name in names]
    assert len({(one.colour, one.dash, one.marker) for one in looks}) == len(names)
    ramp = [tuple(int(one.colour[at : at + 2], 16) for at in (1, 3, 5)) for one in looks[1:5]]
    assert [sum(one) for one in ramp] == sorted((sum(one) for one in ramp), reverse=True)
    # The hue of PACKS, vermilion: red above green above blue.
    assert all(red > green >= blue for red, green, blue in ramp)
    groups = [
        Group({"window": window, "load": load}, "packs", "m", Estimate(window + load, 0.0, 9.0, 5))
        for window in (1, 2, 3)
        for load in (0.5, 0.7)
    ]
    groups = [Group({**group.axes, "rate": rate}, "packs", "m", group.estimate) for group in groups for rate in (1, 2)]
    found = entries(draw_metric(groups, "load", "rate"))
    assert [text for text, _ in found] == ["PACKS, window 1", "PACKS, window 2", "PACKS, window 3"]
    assert len({style[0] for _, style in found}) == 3
    assert len({style[1] for _, style in found}) == 1


def test_two_schedulers_of_one_name_in_a_figure_are_refused():
    groups = [
        Group({"load": load}, name, "m", Estimate(load, 0.0, 1.0, 5)) for name in ("pifo", "fifo") for load in (0.5, 1)
    ]
    with pytest.raises(pifolab.InputError, match="pifo and fifo are called the same in a figure; leave one out"):
        draw_metric(groups, choice=FigureChoice(labels={"pifo": "Ours", "fifo": "Ours"}))


def test_what_stands_behind_a_dot_is_part_of_the_name_of_a_figure(tmp_path: Path):
    files = []
    for name in ("s-schedulers.goodput", "s-schedulers.dropped_packets", "plain.pdf"):
        files += save(Figure(figsize=(1, 1)), tmp_path / name, ["pdf", "svg"])
    assert len(set(files)) == 6
    assert files[-2:] == [tmp_path / "plain.pdf", tmp_path / "plain.svg"]


def test_conclusions_name_no_winner_where_intervals_overlap():
    drawing = random.Random(7)
    named = 0
    for _ in range(200):
        groups = [
            Group({"load": load}, name, "m", Estimate(mean, mean - half, mean + half, 9))
            for load in (0.5, 0.7)
            for name in ("pifo", "fifo", "packs")
            for mean, half in [(drawing.uniform(0, 10), drawing.uniform(0, 2))]
        ]
        line, *_ = conclusion_lines(groups, [])
        for what, sign in (("smallest", 1), ("largest", -1)):
            sure = Counter()
            for load in (0.5, 0.7):
                here = [group for group in groups if group.axes["load"] == load]
                best, *others = sorted(here, key=lambda group: sign * group.estimate.value)
                ends = [(group.estimate.low, group.estimate.high) for group in others]
                if all(best.estimate.high < low or best.estimate.low > high for low, high in ends):
                    sure[best.scheduler] += 1
            said = re.search(rf"{what} with (\w+) \(in (\d) of 2 combinations\)", line)
            if sure:
                assert said is not None
                assert sure[said.group(1)] == int(said.group(2)) == max(sure.values())
                named += 1
            else:
                assert f"none is the {what} for sure (the intervals overlap)" in line
    assert 50 < named < 350


def test_an_interval_of_equal_values_is_not_printed():
    assert str(mean_interval([19.33, 19.33, 19.33])) == "19.33"
    assert str(mean_interval([19.0, 20.0, 21.0])).startswith("20.0 [")


def test_a_table_in_latex_has_every_mean_and_bold_only_where_intervals_are_apart(tmp_path: Path):
    bold = 0
    for seed in SEEDS:
        groups, _, _ = study(seed)
        # Narrower intervals, so that some are apart, and some without any width.
        groups = [
            replace(
                group,
                estimate=replace(group.estimate, low=group.estimate.value - width, high=group.estimate.value + width),
            )
            for place, group in enumerate(groups)
            for width in [0.0 if place % 7 == 0 else group.estimate.value * 0.05]
        ]
        file = write_statistics(
            groups, tmp_path / "t.tex", best={"inversions": "lowest"}, caption="5 % off", reference="tab:a"
        )
        text = file.read_text()
        assert "\\caption{5 \\% off}\n\\label{tab:a}\n" in text
        assert text.count("S[table-format=") == 2
        rows = text[text.index("\\midrule") : text.index("\\bottomrule")].splitlines()[1:]
        assert len(rows) == len(groups)
        for row, group in zip(rows, groups, strict=True):
            *_, value, width = (cell.strip() for cell in row.removesuffix("\\\\").split("&"))
            half = (group.estimate.high - group.estimate.low) / 2
            number = float(value.removeprefix("\\bfseries "))
            if half:
                assert number == pytest.approx(group.estimate.value, abs=half / 10)
                assert float(width) == pytest.approx(half, rel=0.1)
                assert len(value.partition(".")[2]) == len(width.partition(".")[2])
            else:
                assert width == ""
            if value.startswith("\\bfseries"):
                bold += 1
                for other in groups:
                    axes = [axis for axis in group.axes if None not in (group.axes[axis], other.axes[axis])]
                    if other.scheduler != group.scheduler and all(group.axes[one] == other.axes[one] for one in axes):
                        assert group.estimate.high < other.estimate.low
    assert bold > 20


def test_a_choice_for_a_table_that_has_no_effect_is_refused(tmp_path: Path):
    groups = [Group({"load": 1}, "pifo", "drops", Estimate(1.0, 0.5, 1.5, 5))]
    for file, choice, message in (
        ("t.md", {"caption": "a"}, "--caption has no effect on .md: remove it, or write a .tex"),
        ("t.csv", {"reference": "a"}, "--reference has no effect on .csv"),
        ("t.tex", {"best": {"drops": "most"}}, "--bold drops=most: expected lowest or highest"),
        ("t.tex", {"best": {"drpos": "lowest"}}, '--bold drpos=lowest: unknown metric "drpos"; did you mean drops?'),
        (
            "t.tex",
            {"labels": {"laod": "a"}},
            '--label laod: unknown scheduler, metric or axis "laod"; did you mean load',
        ),
        ("t.csv", {"labels": {"load": "mean"}}, "--label: two columns of .* are called mean: expected different names"),
    ):
        with pytest.raises(pifolab.InputError, match=message):
            write_statistics(groups, tmp_path / file, **choice)
    assert list(tmp_path.iterdir()) == []
    named = write_statistics(groups, tmp_path / "t.md", {"load": "offered load"}).read_text()
    assert named.startswith("| scheduler | offered load | drops |")
