"""The scalar recurrence: exact states, its closed form, and what it decides."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.recurrence import ScalarRecurrence

SMALL = st.integers(-4, 4)


@pytest.mark.parametrize("T", [2, 4, 6])
def test_alternating_recurrence_compares_even_with_odd_positions(T: int) -> None:
    alternating = ScalarRecurrence(w_h=-1, w_x=1)
    for inputs in product((0, 1), repeat=T):
        even, odd = sum(inputs[1::2]), sum(inputs[0::2])
        expected = Fraction(1, 2) if even == odd else Fraction(int(even > odd))
        assert alternating.output(inputs) == expected


@given(SMALL, SMALL, st.lists(SMALL, min_size=1, max_size=7))
def test_closed_form_gives_the_last_state(w_h: int, w_x: int, inputs: list[int]) -> None:
    recurrence = ScalarRecurrence(w_h=w_h, w_x=w_x)
    total = sum(c * x for c, x in zip(recurrence.coefficients(len(inputs)), inputs, strict=True))
    assert recurrence.states(inputs)[-1] == total


@given(SMALL, SMALL, SMALL, SMALL, st.lists(SMALL, min_size=1, max_size=5))
def test_the_printed_comparison_is_the_output(
    w_h: int, w_x: int, w_y: int, bound: int, xs: list[int]
) -> None:
    recurrence = ScalarRecurrence(w_h=w_h, w_x=w_x, w_y=w_y, threshold=bound)
    text = recurrence.decides(len(xs)).split(" if ")[1].split(",")[0].replace("·", "*").replace("−", "-")
    left, right = text.split(" > ")
    names = {f"x_{t}": x for t, x in enumerate(xs, 1)}
    difference = eval(left, {}, names) - eval(right, {}, names)
    expected = Fraction(1, 2) if difference == 0 else Fraction(int(difference > 0))
    assert recurrence.output(xs) == expected


def test_formulas() -> None:
    halving = ScalarRecurrence(w_h=Fraction(1, 2), w_x=3, threshold=2)
    assert halving.recurrence() == "h_t = 3·x_t + 1/2·h_{t−1},  h_0 = 0"
    assert halving.closed_form(3) == "h_3 = 3/4·x_1 + 3/2·x_2 + 3·x_3"
    assert halving.decides(2) == "y_2 = 1 if 3/2·x_1 + 3·x_2 > 2, ½ if they are equal, 0 otherwise"
    assert halving.words(3) is None
    assert ScalarRecurrence(w_h=0, w_x=1).closed_form(3) == "h_3 = x_3"
    assert ScalarRecurrence(w_h=1, w_x=0).closed_form(2) == "h_2 = 0"


def test_words() -> None:
    assert ScalarRecurrence(w_h=1, w_x=2).words(5) == "1 if the sum of all positions is positive"
    assert ScalarRecurrence(w_h=1, w_x=2, w_y=-1).words(5) == "1 if the sum of all positions is negative"
    odd_length = ScalarRecurrence(w_h=-1, w_x=1).words(3)
    assert odd_length == "1 if the sum of the odd positions exceeds the sum of the even positions"


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match=r"w_h must be an integer or a Fraction, got w_h=0.5"):
        ScalarRecurrence(w_h=0.5, w_x=1)  # type: ignore[arg-type]
    recurrence = ScalarRecurrence(w_h=1, w_x=1)
    with pytest.raises(ValueError, match=r"inputs must be integers, got 2.5 at position 2"):
        recurrence.states([1, 2.5])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="inputs must hold at least one integer"):
        recurrence.output([])
    with pytest.raises(ValueError, match="T must be at least 1, got T=0"):
        recurrence.explain(0)
