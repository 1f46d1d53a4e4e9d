"""The parser of answers: what it reads, what it refuses, and that nothing can hang it."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.lessons.checking.evaluate import UndefinedError, approximate, exact, same
from regard.lessons.checking.expression import LONGEST, parse
from regard.lessons.checking.letters import Letters
from regard.lessons.checking.nodes import Name, Num, Op, names
from regard.lessons.checking.symbolic import identical, to_sympy

AT = {"n": 7, "t": 3, "w": 4}


def value(text, **at):
    return exact(parse(text, "ntw").node, AT | at)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1+2*3", 7),
        ("2^3^2", 512),
        ("-n^2", -49),
        ("(-n)^2", 49),
        ("2n", 14),
        ("nt", 21),
        ("n(n+1)/2", 28),
        ("(2n-t)(t+1)/2", 22),
        ("−t²/2 − t/2 + nt + n", 22),
        ("n**2", 49),
        ("½n·2", 7),
        ("⌊n/w⌋", 1),
        ("⌈n/w⌉", 2),
        ("floor(n/w)*w + mod(n, w)", 7),
        ("n % w", 3),
        ("min(n, t) + max(n, t) - abs(-n)", 3),
        ("2^-1*2", 1),
        ("n - t - w", 0),
        ("n / t / 7", 1 / 3),
        ("0.5n", 3.5),
        ("n^0", 1),
        ("+n", 7),
        ("n // w", 1),
        ("n mod w", 3),
        ("n mod (w)", 3),
        ("2 (n mod w + 1)", 8),
        ("n div w", 1),
        ("n choose 2", 21),
        ("binom(n + 1, 2)", 28),
        ("2|t - n|", 8),
        ("| |t| - n|", 4),
        ("math.floor(n/w)", 1),
        ("max(1, t, n, w)", 7),
        ("pow(n, 2)", 49),
        ("1.5e1", 15),
        ("508,032", 508_032),
        ("508 032", 508_032),
        ("508'032", 508_032),
        ("99.883.155.456", 99_883_155_456),
        ("0,5n", 3.5),
        ("min(508,032)", 32),
        ("[n + 1](t - 1)", 16),
        ("N T", 21),
    ],
)
def test_values(text, wanted):
    assert float(value(text)) == pytest.approx(float(wanted), abs=0)


@pytest.mark.parametrize(
    ("text", "wanted"), [("exp(0)", 1), ("sqrt(49)", 7), ("log(exp(n))", 7), ("e^2*e^-2", 1), ("√4", 2)]
)
def test_values_that_are_no_fractions(text, wanted):
    assert float(approximate(parse(text, "n").node, AT)) == pytest.approx(wanted, abs=1e-40)


def test_names_with_numbers_are_one_letter():
    node = parse("x_1 + x_{2} - x3", ["x1", "x2", "x3"]).node
    assert names(node) == {"x1", "x2", "x3"}
    assert parse("x_1x2x_{3}", ["x1", "x2", "x3"]).node == parse("x1*x2*x3", ["x1", "x2", "x3"]).node


def test_sums_bind_their_letter():
    assert value("sum_{i=1}^n i") == 28
    assert value(r"\sum_{i=1}^{n} \min(i, t+1)") == 22
    assert value("∑_{t=1}^{n} t + t") == 31  # the sum's t is not the question's
    assert value(r"2\sum_{i=1}^{3} \sum_{j=1}^{i} j") == 20
    assert names(parse(r"\sum_{t=1}^{n} t", "nt").node) == {"n"}
    assert names(parse(r"\sum_{t=1}^{t} t", "nt").node) == {"t"}
    assert value("sum_{i=1}^{0} i") == 0
    with pytest.raises(ValueError, match="'i' is no letter"):
        parse("sum_{i=1}^n n + i", "n")
    with pytest.raises(UndefinedError, match="more than 100 terms"):
        value("sum_{i=1}^{n^4} i")
    for end in ("n/2", "cos n", "e"):
        with pytest.raises(UndefinedError, match="whole number"):
            value(f"sum_{{i=1}}^{{{end}}} i")
        with pytest.raises(UndefinedError, match="whole number"):
            approximate(parse(f"exp(sum_{{i=1}}^{{{end}}} i)", "n").node, AT)


def test_sums_over_numbered_letters_are_written_out():
    letters = [f"{family}{i}" for family in "kx" for i in range(1, 6)]
    for text in (r"\sum_{i=1}^{3} k_i x_i", "sum_{i=1}^3 k_i x_{i}", r"\sum_{j=0}^{2} k_{j+1} x_{j+1}"):
        assert parse(text, letters).node == parse("k1 x1 + k2 x2 + k3 x3", letters).node
    double = parse(r"\sum_{i=1}^{2} \sum_{j=1}^{2} k_i x_{i+j}", letters).node
    assert names(double) == {"k1", "k2", "x2", "x3", "x4"}
    for text, message in [
        (r"\sum_{i=1}^{6} x_i", "there is no x_6 here"),
        (r"\sum_{i=1}^{x_1} x_i", "needs numbers for its ends"),
        (r"\sum_{i=1}^{40} x_i", "from 1 to 30 terms"),
        (r"x_{i+1}", "a subscript is a number or a word"),
        (r"\sum_{i=1}^{2} y_{i+1}", "'y' is no letter"),
    ]:
        with pytest.raises(ValueError, match=message):
            parse(text, letters)


def test_a_letter_before_a_word_is_a_factor():
    assert parse("nlog(n)", "n").node == parse("n*log(n)", "n").node
    assert parse("log 2n", "n").node == parse("log(2n)", "n").node
    assert parse("n log n t", "nt").node == parse("n*log(n)*t", "nt").node
    assert parse("cos nt", "nt").node == parse("cos(n t)", "nt").node
    assert parse("sqrt2n", "n").node == parse("sqrt(2)*n", "n").node
    assert parse("log^2 n", "n").node == parse("log(n)^2", "n").node


def test_another_case_is_another_letter_only_where_both_are_there():
    assert parse("N + T", "nt").read == (("N", "n"), ("T", "t"))
    assert parse("N + n", ["n", "N"]).read == ()
    with pytest.raises(ValueError, match="'n' and 'N' would both be n"):
        parse("N + n", "n")


def test_aliases_are_letters_and_not_pieces_of_words():
    letters = Letters(("n", "k"), {"n": "W i", "k": "m"})
    assert parse("min(W, m)", letters).node == parse("min(n, k)", "nk").node
    assert parse("Wm", letters).read == (("W", "n"), ("m", "k"))
    with pytest.raises(ValueError, match="'n' and 'W' would both be n"):
        parse("n W", letters)
    either = Letters(("h", "c"), {"h": "d", "c": "d"})
    assert parse("d h", either).node == parse("c h", "hc").node
    assert parse("d c", either).node == parse("h c", "hc").node
    both = Letters(("d",), {"d": "h"}, alike=("d",))
    assert parse("h d", both).node == parse("d d", "d").node


def test_big_o_is_told_apart():
    assert parse("O(n^2)", "n").growth
    assert parse("Θ(n)", "n").growth
    assert parse("O(n) + O(n^2)", "n").growth == "O"
    assert parse("Omega(n)", "n").growth == "Omega"
    assert parse("o(n)", "n").growth == "o"
    assert not parse("n^2", "n").growth
    assert parse("O n", ["O", "n"]).node == Op("*", (Name("O"), Name("n")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "something is missing at the end"),
        ("n+", "something is missing at the end"),
        ("(n", "a bracket is not closed"),
        ("n)", r"did not expect '\)'"),
        ("q", "'q' is no letter of this question, which has n, t"),
        ("__import__('os')", "'_' has no meaning here"),
        ("n.real", "'.' has no meaning here"),
        ("lambda: n", "'lambda' is no letter"),
        ("n2", "'n2' is no letter"),
        ("min(n)", "2 in this bracket, got 1"),
        ("floor n", "floor needs a bracket"),
        ("O n", "O needs a bracket"),
        ("n^65", "powers stop at 64"),
        ("9" * 31, "more than 30 digits"),
        ("(" * 60 + "n" + ")" * 60, "more than 40 levels"),
        ("-" * 60 + "n", "more than 40 levels"),
        ("n+" * LONGEST, "at most 1,500 characters"),
        ("n+" * 160 + "n", "more than 150 terms"),
        ("n;t", "';' has no meaning here"),
        ("n 2", r"a sign is missing before 2: \* or \^\?"),
        ("n2", r"write n\^2 or 2n"),
        ("flor(n)", r"did you mean 'floor'\?"),
        ("1,2,3", "did not expect ','"),
        ("min(n, t", "a bracket is not closed"),
        ("(n]", "a bracket is not closed"),
        ("|n", "a | is not closed"),
        ("binom(n, t)", "a binomial needs a number from 0 to 8 below"),
        ("n ± 1", "± gives two answers"),
        (r"\infty", "∞ is no number"),
        (r"n^\top", "transposes are not read here"),
        ("1e99", "more than 30 digits"),
        ("9^1e2", "powers stop at 64"),
        (r"\sum_{i=1}^{n} \sum_{j=1}^{n} \sum_{k=1}^{n} 1", "at most two stand inside each other"),
        ("n=t", "'=' has no meaning here"),
    ],
)
def test_what_is_refused_says_why(text, message):
    with pytest.raises(ValueError, match=message):
        parse(text, "nt")


@given(st.text(max_size=60) | st.text(alphabet="nt()+-*/^0123456789 .,|O", max_size=80))
def test_any_text_is_read_or_refused_at_once(text):
    start = time.monotonic()
    try:
        node = parse(text, "nt").node
    except ValueError:
        return
    with suppress(ArithmeticError):
        exact(node, {"n": 3, "t": 2})
    assert time.monotonic() - start < 2


@pytest.mark.parametrize(
    "text",
    [
        "9^64^64",
        "((((n^64)^64)^64)^64)^64",
        "2^(n^60)",
        "n^(t^(n^(t^n)))",
        "exp(exp(exp(exp(9))))",
        "e^(9^40)",
        "(9^60)^(9^60)",
        "1/(n-n)",
        "mod(n, 0)",
        "0^-1",
        "sqrt(0-1)",
        "log(0)",
    ],
)
def test_hostile_values_are_undefined_at_once(text):
    node = parse(text, "nt").node
    start = time.monotonic()
    with pytest.raises(UndefinedError):
        same(node, Num(3), {"n": 3, "t": 2})
    assert time.monotonic() - start < 1


def test_identical_functions():
    def both(a, b):
        return identical(parse(a, "nt").node, parse(b, "nt").node)

    assert both("(2n-t)(t+1)/2", "-t^2/2 - t/2 + nt + n") is True
    assert both("n^2", "n^2 + 1") is False
    assert both("(n^2-1)/(n-1)", "n+1") is True
    assert both("floor(n)", "n") is None
    assert both("(n+t+1)^64*(n-t)^64", "n") is None  # too large to multiply out


def test_sympy_values_are_built_and_not_evaluated():
    assert (
        str(to_sympy(parse("floor(n/2) + min(n, t)*exp(n) - 1/2", "nt").node))
        == "exp(n)*Min(n, t) + floor(n/2) - 1/2"
    )
