import re
from fractions import Fraction

import pytest
from hypothesis import given, settings

from regard.paper.formulas import write
from regard.pattern import parse
from tests.pattern.strategies import REGULAR, combined

POWERS = str.maketrans({"²": "**2", "³": "**3", "−": "-", "≤": "<=", "≥": ">="})


def evaluate(text: str, names: dict[str, Fraction]) -> Fraction:
    """The written arithmetic, read as a person reads it: letters and brackets side by side multiply."""
    text = text.translate(POWERS)
    text = re.sub(r"⌊n/(\d+)⌋", r"(n//\1)", text)
    text = re.sub(r"(?<=[a-z)])(?=[a-z(])|(?<=[0-9])(?=[a-z(])", "*", text)
    text = re.sub(r"(?<![*/])\b(\d+)\b", r"F(\1)", text)  # exact fractions
    return Fraction(eval(text, {"F": Fraction}, names))


def read(formula: str, at: int) -> Fraction:
    """The value at n of a formula as it is written."""
    text, *where = formula.split("; ")
    names = {"n": Fraction(at)}
    for letter in where:
        name, _, meaning = letter.partition(" = ")
        number = int(re.findall(r"\d+", meaning)[0])
        names[name] = Fraction(
            at % number if "mod" in meaning else -(-at // number) if "⌈" in meaning else at // number
        )
    for case in text.split(", "):
        written, condition = re.fullmatch(r"(.*?)(?: (for .*|if .*|otherwise))?", case).groups()
        if condition is None or condition == "otherwise":
            return evaluate(written, names)
        if condition.startswith("if"):
            holds = at % int(condition.split()[1]) == 0
        else:
            holds = eval(condition[4:].translate(POWERS), dict(names))
        if holds:
            return evaluate(written, names)
    raise AssertionError(formula)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("full", "n²"),
        ("causal", "n(n+1)/2"),
        ("~causal", "n(n−1)/2"),
        ("strided(3)", "4n − 6 for n > 3, n(n+1)/2 otherwise"),
        ("windowed(4)", "5n/2 if 4 divides n, 10⌊n/4⌋ + r(r+1)/2 otherwise; r = n mod 4"),
        ("blocks(4)", "4n if 4 divides n, 16⌊n/4⌋ + r² otherwise; r = n mod 4"),
        ("dilated(2, 3)", "3n − 9 for n > 6, f(2n−3f+3)/2 otherwise; f = ⌈n/3⌉"),
        ("sparsestrided(3)", "f(2n−3f+3)/2 + 2n − 3 for n > 3, n(n+1)/2 otherwise; f = ⌈n/3⌉"),
        ("sparsefixed(4, 1)", "f(n−2f+8) + r(r+1)/2; f = ⌊n/4⌋; r = n mod 4"),
        ("prefix(4)", "n(n+1)/2 + 6 for n ≥ 4, n² otherwise"),
        ("global(2)", "4n − 4 for n ≥ 2, n² otherwise"),
        ("strided(3) | global(2) & causal", "6n − 15 for n > 6, n(n+1)/2 otherwise"),
        ("windowed(4) | global(1)", "9n/2 − r(4−r)/2 − 5 for n > 4, n(n+3)/2 − 1 otherwise; r = n mod 4"),
        ("causal & ~causal", "0"),
    ],
)
def test_numbers(text, expected):
    assert str(write(parse(text).formula())) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("strided(3)", "(t+1)(2n−t)/2 for n > t, n(n+1)/2 otherwise"),
        ("windowed(4)", "n(w+1)/2 if w divides n, ⌊n/w⌋w(w+1)/2 + r(r+1)/2 otherwise; r = n mod w"),
        ("dilated(2, 3)", "(t+1)(2n−st)/2 for n > st, f(2n−s(f−1))/2 otherwise; f = ⌈n/s⌉"),
        (
            "sparsestrided(3)",
            "(l+1)(2n−l)/2 + (f−2)(2n−l(f+1))/2 for n > l, n(n+1)/2 otherwise; f = ⌈n/l⌉",
        ),
        ("sparsefixed(4, 1)", "cf(2n−l(f+1))/2 + fl(l+1)/2 + r(r+1)/2; f = ⌊n/l⌋; r = n mod l"),
        ("prefix(4)", "n(n+1)/2 + p(p−1)/2 for n ≥ p, n² otherwise"),
        ("global(2)", "g(2n−g) for n ≥ g, n² otherwise"),
        ("blocks(2)", "nb if b divides n, ⌊n/b⌋b² + r² otherwise; r = n mod b"),
    ],
)
def test_letters(text, expected):
    assert str(write(parse(text).formula(symbolic=True))) == expected


@settings(max_examples=40)
@given(combined(REGULAR, 4))
def test_what_is_written_reads_as_the_count(pattern):
    written = str(write(pattern.formula()))
    for at in range(1, 30):
        assert read(written, at) == pattern.pairs(at), (written, at)
