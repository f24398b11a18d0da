"""Derived parameters of sweeps: exact arithmetic in a small part of Python's syntax."""

import random
from fractions import Fraction

import pytest

from pifolab.errors import InputError
from pifolab.sweep.derive import Expression


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7 // 2 + 7 % 2 - -1", 5),
        ("2 ** 3 / 4", 2),
        ("max(x, 1) if 1 < x <= 3 and not x == 2 else 0", 3),
        ("x if x > 4 else 0", 0),
        ("floor(x / 2) + ceil(x / 2) + round(1 / 3)", 3),
        ("0.1 + 0.2", Fraction(3, 10)),
    ],
)
def test_an_expression_is_computed_exactly(text, expected):
    assert Expression(text, "here").value({"x": 3}) == expected


def test_any_arithmetic_is_that_of_fractions():
    draw = random.Random(41)

    def drawn(depth: int) -> str:
        if depth == 0:
            return draw.choice(["x", "y", str(draw.randrange(1, 50))])
        return f"({drawn(depth - 1)} {draw.choice('+-*')} {drawn(draw.randrange(depth))})"

    for _ in range(300):
        text = drawn(4)
        numbers = {"x": Fraction(draw.randrange(-9, 9)), "y": Fraction(draw.randrange(1, 99), 7)}
        assert Expression(text, "here").value(numbers) == eval(text, {}, numbers), text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 +", "not an expression: invalid syntax"),
        ("x.real", "'x.real' is not allowed in an expression"),
        ("'a'", "'a' is not a number"),
        ("[1] + 2", "'[1]' is not allowed in an expression"),
        ("x << 2", "'x << 2' is not allowed in an expression"),
        ("x is 2", "'x is 2' is not allowed in an expression"),
        ("sum(1)", "unknown function 'sum'; the functions are abs, ceil, floor, max, min, round"),
        ("abs(1, 2)", "abs takes 1 argument"),
    ],
)
def test_what_is_not_part_of_it_is_refused_with_its_place(text, problem):
    with pytest.raises(InputError) as raised:
        Expression(text, "here")
    assert str(raised.value) == f"here = {text!r}: {problem}"


def test_derived_parameters_choose_between_values():
    expression = Expression("min(queues, 8) if load > 0.5 else 1 / 3", "here")
    assert [expression.value({"queues": 4, "load": load}) for load in (0.5, 0.6)] == [Fraction(1, 3), 4]
