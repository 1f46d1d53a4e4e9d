import time

import pytest
import sympy
from hypothesis import given, settings

from regard.pattern import (
    Axial,
    Blocks,
    Causal,
    Dilated,
    Documents,
    Full,
    Global,
    Neighbourhood,
    Prefix,
    RandomBlocks,
    SparseFixed,
    SparseStrided,
    Strided,
    Windowed,
    parse,
)
from tests.pattern.strategies import REGULAR, combined

n, t, w = sympy.symbols("n t w")


def value(formula, at):
    return formula.subs("n", at)


@settings(max_examples=40)
@given(combined(REGULAR, 6))
def test_a_formula_is_exact_for_every_n(pattern):
    formula = pattern.formula()
    assert formula.free_symbols <= {n}
    for at in [*range(1, 30), 97, 250]:
        assert value(formula, at) == pattern.pairs(at)


@settings(max_examples=40)
@given(REGULAR)
def test_a_single_value_is_exact_in_numbers_and_in_letters(pattern):
    letters = {sympy.Symbol(letter): getattr(pattern, field) for field, letter in pattern.letters.items()}
    formula, lettered = pattern.formula(), pattern.formula(symbolic=True)
    assert lettered.free_symbols <= {n, *letters}
    for at in [*range(1, 16), 36, 49]:
        assert value(formula, at) == pattern.pairs(at)
        assert lettered.subs({**letters, n: at}) == pattern.pairs(at)


def test_the_lectures_formulas():
    assert Causal().formula(symbolic=True) == n * (n + 1) / 2
    (far, near), (small, _) = Strided(back=3).formula(symbolic=True).args
    assert sympy.expand(far - (t + 1) * (2 * n - t) / 2) == 0
    assert near == (n > t)
    assert small == n * (n + 1) / 2
    (even, divides), (_, otherwise) = Windowed(size=4).formula(symbolic=True).args
    assert sympy.expand(even - n * (w + 1) / 2) == 0
    assert divides == sympy.Eq(sympy.Mod(n, w), 0)
    assert otherwise == sympy.true


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("strided(3)", "Piecewise((4*n - 6, n > 3), (n*(n + 1)/2, True))"),
        ("strided(0)", "n"),
        ("windowed(1)", "n"),
        ("global(0)", "0"),
        ("full & causal", "n*(n + 1)/2"),
        ("~causal", "n*(n - 1)/2"),
        ("causal & global(2)", "2*n - 1"),
        ("strided(3) & causal", "Piecewise((4*n - 6, n > 4), (n*(n + 1)/2, True))"),
        ("strided(3) | global(2) & causal", "Piecewise((6*n - 15, n > 6), (n*(n + 1)/2, True))"),
        ("strided(3) | global(2)", "Piecewise((8*n - 18, n > 4), (15, n > 3), (n**2, True))"),
        ("causal & ~strided(3)", "Piecewise(((n - 4)*(n - 3)/2, n > 4), (0, True))"),
        ("causal & ~causal", "0"),
    ],
)
def test_what_comes_out_is_short(text, expected):
    assert str(parse(text).formula()) == expected


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (Documents((3, 4)), "its geometry fixes the length"),
        (Axial(2, 3), "its geometry fixes the length"),
        (Neighbourhood(2, 3, 1), "its geometry fixes the length"),
        (RandomBlocks(), "its blocks are drawn at random"),
        (Causal() & RandomBlocks(), "its blocks are drawn at random"),
        (Causal() | ~Axial(2, 3), "its geometry fixes the length"),
        (Windowed(71) | Windowed(72), "repeats after 5,112 positions; formulas stop at 5,040"),
        (Strided(65_536) | Causal(), "settles after 65,537 positions; formulas stop at 65,536"),
    ],
)
def test_a_pattern_without_a_formula_says_why(pattern, why):
    with pytest.raises(ValueError, match=why):
        pattern.formula()


def test_letters_are_for_single_values():
    with pytest.raises(ValueError, match=r"single values only, got the expression strided\(3\) & causal"):
        (Strided(3) & Causal()).formula(symbolic=True)


@pytest.mark.parametrize(
    "pattern",
    [
        Strided(100_000),
        Windowed(100_000),
        Blocks(7919),
        Dilated(1000, 1000),
        SparseStrided(6000),
        SparseFixed(6000, 100),
        Global(100_000),
        Prefix(100_000),
        Full(),
    ],
)
def test_single_values_have_no_limit(pattern):
    for at in (1, 99_999, 100_001, 250_000):
        assert value(pattern.formula(), at) == pattern.pairs(at)


@pytest.mark.parametrize(
    "text", ["windowed(70) | blocks(72)", "strided(65000) | windowed(500)", "windowed(63) | dilated(3, 80)"]
)
def test_the_largest_formulas_are_exact_and_do_not_take_forever(text):
    pattern = parse(text)
    start = time.process_time()
    formula = pattern.formula()
    assert time.process_time() - start < 20
    for at in (1, 71, 5_039, 5_041, 70_001):
        assert value(formula, at) == pattern.pairs(at)
