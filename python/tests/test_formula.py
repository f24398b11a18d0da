"""The language of expressions, with the functions and the numbers of whoever uses it."""

from fractions import Fraction

import pytest

from pifolab.errors import InputError
from pifolab.formula import Formula
from pifolab.sweep.derive import Expression


def value(text, **names):
    return Formula(text, "here", {"sum": 1}).value(names, lambda name, arguments, keywords: sum(arguments[0]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7 // 2 + 7 % 2 - -1", 5),
        ("2 ** 3 / 4", 2.0),
        ("1 < x <= 3 and not x == 2", True),
        ("x if x > 4 else 0", 0),
        ("sum(a * b for a in [1, 2] for b in [10, 20] if b > 10)", 60),
    ],
)
def test_an_expression_is_computed_as_python_would(text, expected):
    assert value(text, x=3) == expected


def test_names_that_generators_bind_are_not_free():
    assert Formula("sum(a + x for a in [1])", "here", {"sum": None}).names == {"x"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 +", "here: not an expression: invalid syntax"),
        ("x.real", "here: 'x.real' is not allowed in an expression"),
        ("'a'", "here: 'a' is not a number"),
        ("min(1)", "here: unknown function 'min'; the functions are sum"),
        ("sum(1, 2)", "here: sum takes 1 argument"),
    ],
)
def test_what_is_not_part_of_it_is_refused_with_its_place(text, problem):
    with pytest.raises(InputError) as raised:
        Formula(text, "here", {"sum": 1})
    assert str(raised.value) == problem


def test_derived_parameters_choose_between_values():
    expression = Expression("min(queues, 8) if load > 0.5 else 1 / 3", "here")
    assert [expression.value({"queues": 4, "load": load}) for load in (0.5, 0.6)] == [Fraction(1, 3), 4]
    with pytest.raises(InputError, match=r"here = .*: expected arithmetic with numbers"):
        Expression("[1] + 2", "here").value({})
