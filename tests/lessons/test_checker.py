"""Verdicts: right on the domain and what holds outside, or a counter-example; growths compared as growths."""

import time

import pytest

from regard.lessons import NAMES, check, get
from regard.lessons.checking.checker import judge
from regard.lessons.checking.evaluate import same
from regard.lessons.checking.exercise import Exercise, growth_domain
from regard.lessons.checking.expression import Num, parse

EXERCISES = [(name, exercise) for name in NAMES for exercise in get(name).exercises]


@pytest.mark.parametrize(("name", "exercise"), EXERCISES, ids=lambda value: getattr(value, "name", value))
def test_the_formula_of_every_exercise_is_right(name, exercise):
    text = f"O({exercise.formula})" if exercise.growth else exercise.formula
    assert judge(exercise, text).right
    if exercise.count is not None:
        for at in exercise.domain.points(True):
            assert same(exercise.truth(), Num(exercise.count(**at)), at), at


@pytest.mark.parametrize(("name", "exercise"), EXERCISES, ids=lambda value: getattr(value, "name", value))
def test_a_formula_that_is_off_by_one_is_wrong(name, exercise):
    text = f"O(({exercise.formula})*{exercise.letters[0]})" if exercise.growth else f"{exercise.formula} + 1"
    assert not judge(exercise, text).right


@pytest.mark.parametrize(
    "answer",
    ["(2*n-t)*(t+1)/2", "-t^2/2 - t/2 + nt + n", "n(t+1) - t(t+1)/2", "n + nt - (t²+t)/2", "(n - t/2)·(t+1)"],
)
def test_every_form_of_a_right_answer(answer):
    (found,) = check("counting-attention", f"strided={answer}")
    assert found.right
    assert found.says.startswith("right on the domain (n ≥ t): equal at ")
    assert found.says.endswith("and the same function")
    assert found.details[0] == "outside: for n < t every token sees all before it: n(n+1)/2"
    assert found.details[1] == "yours does not hold there: at n = 1, t = 2 it gives 0, the truth is 1"


def test_an_answer_that_holds_outside_too():
    (found,) = check("counting-attention", "min(n,t+1)*(2n-min(n,t+1)+1)/2")
    assert found.right
    assert found.details[-1] == "yours holds there too"


def test_windows_that_do_not_divide():
    (found,) = check("counting-attention", "n*(w+1)/2")
    assert found.question == "windowed"
    assert found.right
    assert "at n = 1, w = 2 it gives 3/2, the truth is 1" in found.details[-1]
    (found,) = check("counting-attention", "floor(n/w)*w*(w+1)/2 + mod(n,w)*(mod(n,w)+1)/2")
    assert found.details[-1] == "yours holds there too"


def test_a_wrong_answer_gets_a_counter_example():
    (found,) = check("counting-attention", "n^2/2")
    assert not found.right
    assert found.says == "wrong: at n = 1 it gives 1/2, the truth is 1"


def test_answers_go_to_the_questions_they_fit():
    found = check("counting-attention", "n*(w+1)/2", "n*(n+1)/2", "n*(t+1)")
    assert [one.question for one in found] == ["windowed", "autoregressive", "strided"]
    assert [one.right for one in found] == [True, True, False]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (
            ["nonsense=n"],
            "no question is called 'nonsense'; the questions are: autoregressive, strided, windowed",
        ),
        (["q"], "'q' is no letter"),
        (["n", "n", "n", "n"], "more answers than questions, got 'n' too many"),
    ],
)
def test_errors_name_the_fault(answers, message):
    with pytest.raises(ValueError, match=message):
        check("counting-attention", *answers)


GROWTH = Exercise(
    name="g", asks="?", formula="h^2 n^2 + h c n^2", domain=growth_domain("n", "h", "c"), growth=True
)


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
        ("O(n^3)", False, "wrong: h²n² is missing, and n³ grows faster than the truth"),
        ("O(h*(h+c)*n)", False, "only if n = O(1)"),
        ("O(n^2 - n^2)", False, "wrong: a growth cannot be zero or negative"),
    ],
)
def test_growths(answer, right, says):
    found = judge(GROWTH, answer)
    assert found.right is right
    assert found.says.startswith(says)


def test_mixed_products_are_swallowed_by_the_sum_of_squares():
    exercise = Exercise(name="g", asks="?", formula="a^2 + b^2", domain=growth_domain("a", "b"), growth=True)
    assert judge(exercise, "O(a^2 + a b + b^2)").right
    assert judge(exercise, "O((a+b)^2)").right


def test_a_growth_is_routed_to_the_question_that_asks_for_one():
    (found,) = check("grid-rnn", "O(n^2*h^2)")
    assert (found.question, found.says) == ("growth", "only if c = O(h)")
    (found,) = check("counting-attention", "autoregressive=O(n^2)")
    assert found.says == "the question asks for the number itself, not for its growth"


def test_no_answer_takes_long():
    for answer in (
        "0*(n+1)^64*(n+2)^64 + n(n+1)/2",
        "(((n+1)^9)^7)/(((n+1)^9)^7)*n(n+1)/2",
        "n(n+1)/2" + "+0*n^9" * 40,
    ):
        start = time.monotonic()
        check("counting-attention", f"autoregressive={answer}")
        assert time.monotonic() - start < 8


def test_the_parser_is_ours():
    assert parse("n", "n").node.name == "n"
    from pathlib import Path

    import regard.lessons.checking as package

    for path in Path(package.__file__).parent.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "sympify" not in text
        assert "parse_expr" not in text
        assert "eval(" not in text
