"""Matrices that do not commute, and a function that is known by name only."""

import re
from fractions import Fraction

import pytest

from regard.lessons import check
from regard.lessons.checking.checker import judge
from regard.lessons.checking.exercise import Domain
from regard.lessons.checking.expression import parse
from regard.lessons.checking.matrices import ProductExercise, value

SQUARE = ProductExercise(
    name="p",
    asks="?",
    formula="A B - 2B A + A^2",
    domain=Domain("any"),
    shapes={"A": (2, 2), "B": (2, 2)},
)


def test_order_matters_between_square_matrices_too():
    assert judge(SQUARE, "A (A + B) - B A - B A").right
    assert judge(SQUARE, "A A + A B - (4/2) B A").right
    assert not judge(SQUARE, "A^2 - A B").right
    assert not judge(SQUARE, "B A - 2A B + A^2").right


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (r"\phi_y(W_h W_y W_x x_1 + W_y W_x x_2)", "W_h W_y does not fit: 3×3 times 4×3"),
        (r"\phi_y(W_y W_x x_1 + x_2)", "4×1 and 2×1 cannot be added"),
        (r"\phi_y(W_y W_x x_1 + 1)", "a number cannot be added"),
        (r"\phi_y(W_x^2 x_1)", "3×2 is not square"),
        (r"\phi_y(W_y W_h^9 W_x x_1)", "whole number up to 8"),
        (r"\phi_y(W_y \sqrt{W_h} W_x x_1)", "'sqrt' is nothing for matrices here"),
        (r"\phi_y(W_y/W_h)", "'/' is nothing for matrices here"),
        (r"\phi_y(e W_y W_x x_1)", "e is no matrix here"),
        (r"O(W_y W_x x_1)", "not for its growth"),
        (
            r"\phi_y(W_y W_h W_x x_1 + W_y W_x x_1)",
            "more than one term is wrong|only the term with x_2 is wrong",
        ),
        (r"\phi_y(W_y W_h W_x x_1 + 2 W_y W_x x_2)", "only the term with x_2 is wrong"),
        (r"W_h W_x x_1 + W_x x_2", "φ_y is missing: only φ_h is the identity"),
    ],
)
def test_wrong_expressions_get_a_reason(answer, message):
    (found,) = check("rnn-or-transformer", f"y2 = {answer}")
    assert not found.right
    assert re.search(message, str(found)), str(found)


def test_what_is_missing_is_told_from_what_stands_inside():
    (found,) = check("rnn-or-transformer", "y2 = W_y W_h W_x x_1 + W_y W_x x_2")
    assert found.says == "wrong: φ_y is missing: only φ_h is the identity"
    assert found.details == ("inside it, yours is right",)
    (found,) = check("rnn-or-transformer", "y2 = W_y W_x x_1 + W_y W_x x_2")
    assert found.details == ("and what stands inside it is not right either",)


@pytest.mark.parametrize("answer", ["phi_y(h_2)", "phi_y", "phi_y(W_y b)", "phi_z(W_y W_x x_1)"])
def test_what_is_refused(answer):
    with pytest.raises(ValueError, match=r"is no letter|needs a bracket"):
        check("rnn-or-transformer", f"y2 = {answer}")


def test_large_values_are_refused_at_once():
    deep = "W_h"
    for _ in range(6):
        deep = f"({deep})^8"
    (found,) = check("rnn-or-transformer", f"y2 = phi_y(W_y {deep} W_x x_1)")
    assert "a number too large" in found.says


def test_values():
    a = ((Fraction(1), Fraction(2)), (Fraction(3), Fraction(4)))
    assert value(parse("A^0", "A").node, {"A": a}) == ((1, 0), (0, 1))
    assert value(parse("-A/2", "A").node, {"A": a})[1][1] == -2
    assert value(parse("2^3", "A").node, {"A": a}) == 8
