"""The catalogue of mistakes: each is wrong, is named when it is made, and no two are the same."""

import time

import pytest

from regard.lessons import NAMES, check, get
from regard.lessons.checking import growth
from regard.lessons.checking.checker import judge
from regard.lessons.checking.evaluate import agree, exact, same, value_or_none
from regard.lessons.checking.exercise import Domain, Exercise
from regard.lessons.checking.expression import parse
from regard.lessons.exercises.grid_rnn import cost
from regard.pattern import Blocks, Causal, Full, Neighbourhood, Strided, Windowed

FOUND = [(name, exercise) for name in NAMES for exercise in get(name).exercises]
IDS = [f"{name}-{exercise.name}" for name, exercise in FOUND]


@pytest.mark.parametrize(("lesson", "exercise"), FOUND, ids=IDS)
def test_every_mistake_is_wrong_and_named(lesson, exercise):
    assert len(exercise.mistakes) >= (2 if getattr(exercise, "growth", False) else 3)
    for formula, says in exercise.mistakes.items():
        text = f"O({formula})" if getattr(exercise, "growth", False) else formula
        found = judge(exercise, text)
        assert not found.right
        assert found.mistake == says
        assert f"you have what one gets by {says}" in found.details


ITSELF = Strided(back=0)
COUNTED = {  # mistakes that count another thing: exercise, formula, and that thing itself
    ("counting-attention", "autoregressive", "n^2"): lambda n: Full().pairs(n),
    ("counting-attention", "autoregressive", "n(n-1)/2"): (Causal() & ~ITSELF).pairs,
    ("counting-attention", "strided", "n t - t(t+1)/2"): lambda n, t: (Strided(back=t) & ~ITSELF).pairs(n),
    ("counting-attention", "strided", "(2n-t)(t+1) - n"): lambda n, t: Neighbourhood(1, n, reach=t).pairs(n),
    ("counting-attention", "strided", "n(n+1)/2"): lambda n, t: Causal().pairs(n),
    ("counting-attention", "windowed", "n w"): lambda n, w: Blocks(size=w).pairs(n),
    ("counting-attention", "windowed", "n(w-1)/2"): lambda n, w: (Windowed(size=w) & ~ITSELF).pairs(n),
    ("counting-attention", "windowed", "w(2n-w+1)/2"): lambda n, w: Strided(back=w - 1).pairs(n),
    ("counting-attention", "windowed", "n(n+1)/2"): lambda n, w: Causal().pairs(n),
    ("grid-rnn", "multiplies", "n^2 h (c-1) + (2n^2 - 2n) h^2"): lambda **at: cost(**at).adds,
    ("grid-rnn", "multiplies", "n^2 h (2c-1) + 2(2n^2 - 2n) h^2"): lambda **at: cost(**at).flops,
    ("grid-rnn", "adds", "n^2 h (2c-1) + 2(2n^2 - 2n) h^2"): lambda **at: cost(**at).flops,
    ("grid-rnn", "total", "n^2 h c + (2n^2 - 2n) h^2"): lambda **at: cost(**at).multiplies,
    ("grid-rnn", "total", "n^2 h (c-1) + (2n^2 - 2n) h^2"): lambda **at: cost(**at).adds,
    ("masks-and-losses", "hidden", "n(n+1)/2"): lambda n: Causal().pairs(n),
}


@pytest.mark.parametrize(("lesson", "name", "formula"), COUNTED)
def test_mistakes_that_count_another_thing_are_what_it_counts(lesson, name, formula):
    (exercise,) = [one for one in get(lesson).exercises if one.name == name]
    assert formula in exercise.mistakes
    for at, _ in exercise.inside[::7]:
        assert exact(exercise.node(formula), at) == COUNTED[lesson, name, formula](**at), at


@pytest.mark.parametrize(("lesson", "exercise"), FOUND, ids=IDS)
def test_no_two_mistakes_coincide(lesson, exercise):
    assert len(set(exercise.mistakes.values())) == len(exercise.mistakes)
    if not isinstance(exercise, Exercise) or exercise.growth:
        return  # those are named by their own formula above, so that no earlier one equals them
    until = time.monotonic() + 60
    found = [exercise.node(formula) for formula in exercise.mistakes]
    for i, one in enumerate(found):
        for other in found[:i]:
            assert not all(equal(one, other, at) for at, _ in exercise.inside), list(exercise.mistakes)[i]
    assert time.monotonic() < until


def equal(a, b, at):
    if value_or_none(a, at) is None or value_or_none(b, at) is None:
        return value_or_none(a, at) is value_or_none(b, at)
    return same(a, b, at)


def test_mistakes_beyond_the_domain_are_named_there():
    for answer, reason in [
        ("floor(n/w)*w(w+1)/2", "forgetting the last window"),
        (r"\lceil n/w \rceil \frac{w(w+1)}{2}", "as a full one"),
        ("n(w+1)/2", "by its share"),
        ("floor(n/w)*w(w+1)/2 + n mod w", "one for each token left over"),
    ]:
        (found,) = check("counting-attention", f"windowed = {answer}")
        assert found.right
        assert reason in found.details[-1]


TOY = Exercise(
    name="toy",
    asks="?",
    formula="n^2 + 1",
    domain=Domain("n ≥ 1", {"n": range(1, 20)}),
    mistakes={"n*n": "counting squares"},
)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("n n", "you have what one gets by counting squares"),
        ("2n^2 + 2", "it is twice the truth everywhere"),
        ("(n^2+1)/2", "it is half the truth everywhere"),
        ("n^2 + 2", "it is one more than the truth everywhere"),
        ("-n^2 - 1", "it is the truth with its sign turned everywhere"),
        ("n^3 + n", "it is the truth times n everywhere"),
        ("n^2 + n + 1", "it is the truth plus n everywhere"),
        ("7n^2 + 7", "it is 7 times the truth everywhere"),
        ("n^2 + 6", "it is the truth plus 5 everywhere"),
        ("1.001(n^2 + 1)", "it is 1001/1000 times the truth everywhere"),
        ("1.001n^2 + 1", "that is close, but rounded or miscounted: give it exactly"),
    ],
)
def test_a_miss_that_is_alike_everywhere_is_described(answer, says):
    assert judge(TOY, answer).details == (says,)


def test_a_miss_that_is_not_is_left_alone():
    found = judge(TOY, "n^3 - 5")
    assert (found.says, found.details) == ("wrong: at n = 1 it gives −4, the truth is 2", ())


def test_a_plain_number_is_not_given_away():
    (found,) = check("weight-sharing", "padded-size = 6")
    assert (found.says, found.details) == ("wrong: 6 is not it", ())


def test_undefined_values_agree_with_undefined_ones_only():
    a, b = parse("1/(n-1)", "n").node, parse("1/n", "n").node
    points = [({"n": n}, a) for n in (1, 2)]
    assert agree(a, points, time.monotonic() + 1)
    assert not agree(b, points, time.monotonic() + 1)
    assert not agree(a, points[:1], time.monotonic() + 1)  # nothing was compared


def test_growths_of_mistakes_are_sums_of_products():
    for _, exercise in FOUND:
        if getattr(exercise, "growth", False):
            assert all(growth.terms(exercise.node(formula)) for formula in exercise.mistakes)
