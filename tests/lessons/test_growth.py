"""Answers that are growths: what they may leave out, and every way in which a wrong one could be right."""

import time

import pytest

from regard.lessons import check, get
from regard.lessons.checking.checker import judge
from regard.lessons.checking.exercise import Exercise, growth_domain

GROWTH = Exercise(name="g", asks="?", formula="h^2 n^2 + h c n^2", domain=growth_domain("n", "h", "c"))


@pytest.mark.parametrize(
    ("answer", "right", "says"),
    [
        ("O(h^2*n^2 + h*c*n^2)", True, "right: the same growth as O(h²n² + chn²)"),
        ("O(n²h(h+c))", True, "right"),
        ("O(7 n^2 h max(h, c) + n)", True, "right"),
        ("O(h^2 n^2 + h c n^2 - h^2 n)", True, "right"),
        ("O(n^2*h^2)", False, "only if c = O(h)"),
        ("O(n^2*h*c)", False, "only if h = O(c)"),
        ("O(n^2*(h^2+c^2))", False, "an upper bound, but not tight"),
        ("O(n^2*h*(h+c)*log(n))", False, "an upper bound, but not tight"),
        ("O(n^3)", False, "wrong: h²n² and chn² are missing, and n³ grows faster than the truth"),
        ("O(h*(h+c)*n)", False, "only if n = O(1)"),
        ("O(n^2 - n^2)", False, "wrong: a growth cannot be zero or negative"),
        ("O(n^2 h (h+c)/7)", True, "right"),
        ("O(floor(n^2/2) h^2 + n^2 h c)", True, "right"),
        ("O(n^2 h^2 + n^2 h c + n log(h c))", True, "right"),
        ("O((n^2 h^2 + n^2 h c) log 2)", True, "right"),
        ("O(n^3 h (h + c)/n)", True, "right"),
        ("Ω(n^2 h (h+c))", False, "Ω(…) is a lower bound only"),
        ("o(n^3 h^2 c)", False, "o(…) says that it grows more slowly"),
        ("O(2^n)", False, "wrong: an exponential grows faster than every power"),
        ("n^2 h^2 + n^2 h c", True, "right"),
        ("n^2 h^2", False, "only if c = O(h)"),
    ],
)
def test_growths(answer, right, says):
    found = judge(GROWTH, answer)
    assert found.right is right
    assert found.says.startswith(says)


def test_mixed_products_are_swallowed_by_the_sum_of_squares():
    exercise = Exercise(name="g", asks="?", formula="a^2 + b^2", domain=growth_domain("a", "b"))
    assert judge(exercise, "O(a^2 + a b + b^2)").right
    assert judge(exercise, "O((a+b)^2)").right


def test_a_growth_is_routed_to_the_question_that_asks_for_one():
    (found,) = check("grid-rnn", "O(n^2*h^2)")
    assert (found.question, found.says) == ("growth", "only if c = O(h)")
    (found,) = check("grid-rnn", r"\Theta(n^2 h)")
    assert found.question == "growth"
    (found,) = check("counting-attention", "autoregressive=O(n^2)")
    assert found.says == "the question asks for the number itself, not for its growth"


def test_logarithms_in_several_letters():
    exercise = Exercise(name="g", asks="?", formula="n log(n) + n log(m)", domain=growth_domain("n", "m"))
    for right in (
        "O(n log(n m))",
        "O(n (log n + log m))",
        "O(n log(n + m))",
        "O(n log(n^2 m^3))",
        "O(n ln(2nm))",
    ):
        assert judge(exercise, right).right, right
    for wrong in ("O(n log n)", "O(n)", "O(n^2)", "O(n log n log m)", "O(n log(n)^2 + n log m)"):
        assert not judge(exercise, wrong).right, wrong
    with pytest.raises(ValueError, match="a logarithm of a logarithm"):
        judge(exercise, "O(n log log n)")
    with pytest.raises(ValueError, match="a growth is written without min"):
        judge(exercise, "O(min(n, m))")


def test_what_a_growth_may_leave_out():
    (found,) = check("rnn-or-transformer", "attention-growth = O(T^2)")
    assert found.says == "right: the same growth as O(T²)"
    assert found.details == ("d held constant; with d it is O(Td² + T²d)",)
    (found,) = check("linear-attention", "growth = 2Td^2 + d")
    assert found.details == ("as a growth, write it O(Td²)",)


@pytest.mark.parametrize(
    "answer", ["O(1)", "first = O(1)", "first = O(7)", "last = Theta(1)", "first = O(x_1)", "O(x_1)", "O(0)"]
)
def test_a_growth_in_place_of_a_number_is_refused_at_once(answer):
    for exercise in get("weight-sharing").exercises:
        getattr(exercise, "inside", None)  # worked out once for all answers
    start = time.process_time()
    (found,) = check("weight-sharing", answer)
    assert time.process_time() - start < 1.5
    assert found.says == "the question asks for the number itself, not for its growth"
    assert found.details == ()  # O(0) is no growth of anything


@pytest.mark.parametrize(
    ("lesson", "answer", "says"),
    [
        ("heads", "growth = O(nd^2+n^2d+n^2H)", "right"),
        ("heads", "growth = O(nd^2+n^2d+nH)", "right"),
        ("heads", "growth = O(nd^2+n^2H)", "only if n = O(d) or d = O(H)"),
        ("heads", "growth = O(H n^2 d)", "wrong: d²n is missing, and Hdn² grows faster"),
        ("heads", "growth = O(nd^2/H+n^2d)", "only if H = O(1) or d = O(n)"),
        ("grid-rnn", "O(n^2h^2+n^2c)", "only if c = O(h) or h = O(1)"),
        ("grid-rnn", "O(n^2h^2+nch)", "only if c = O(h) or n = O(1)"),
        ("grid-rnn", "growth = O(n^2)", "only if c = O(1) and h = O(1)"),
        ("grid-rnn", "growth = O(h)", "only if h = O(1) and n = O(1) and c = O(1)"),
        ("attention-complexity", "growth = O(n^2+nd^2)", "only if d = O(1) or n = O(d)"),
        ("attention-complexity", "growth = O(n^2d+d^2)", "only if d = O(n) or n = O(1)"),
        ("attention-complexity", "growth = O(n)", "only if d = O(1) and n = O(1)"),
        ("rnn-or-transformer", "attention-growth = O(T^2+Td^2)", "only if d = O(1) or T = O(d)"),
        ("rnn-or-transformer", "attention-growth = O(log T)", "only if T = O(1)"),
        ("linear-attention", "growth = O(T+d^2)", "only if d = O(1) or T = O(1)"),
        ("why-generation-is-slow", r"growth = O(\sum_{t=1}^{T} t d)", "right"),
        ("why-generation-is-slow", r"growth = O(\sum_{t=1}^{T} d)", "only if T = O(1)"),
    ],
)
def test_every_way_out_of_a_growth_is_named(lesson, answer, says):
    assert check(lesson, answer)[0].says.startswith(says)
