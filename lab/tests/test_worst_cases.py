"""The page of worst cases: what its tables are made of."""

from pifolab_papers.worst_cases import FIGURES
from written.worst_cases import SETTINGS, gap_to_pifo, readings, worst_case


def test_the_readings_of_a_figure_are_those_that_may_differ():
    assert [len(readings(figure.number)) for figure in FIGURES] == [2, 2, 4, 8, 2, 4, 2, 4]
    assert readings(21)[-1] == (
        "update = after, window reversed",
        {"update": "after", "on_full": "keep", "reverse": True},
    )


def test_a_pifo_is_never_worse_than_itself_and_always_best_in_drops():
    for name in SETTINGS:
        assert worst_case("pifo", name, "WD", 8).gap == 0 or name == "pifo"
    assert gap_to_pifo("pifo", "WI") == 0
    assert gap_to_pifo("fifo", "WI") > 0
