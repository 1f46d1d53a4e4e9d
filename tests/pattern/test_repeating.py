"""Counts at any length, against closed forms by hand, against the mask, and against the clock."""

import random
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.pattern import (
    Axial,
    Blocks,
    Causal,
    Dilated,
    Documents,
    Full,
    Global,
    Prefix,
    RandomBlocks,
    SparseFixed,
    SparseStrided,
    Strided,
    Windowed,
    counting,
    parse,
    stretches,
)
from regard.pattern.repeating import rhythm
from regard.pattern.work import TooMuchError, Work
from tests.hunt import counts
from tests.pattern.measuring import measured
from tests.pattern.strategies import LINEAR, REGULAR, cases, combined

T = 10**12


@settings(max_examples=150)
@given(combined(REGULAR, 6), st.integers(1, 700), st.data())
def test_few_rows_tell_all(pattern, m, data):
    n = data.draw(st.integers(1, m) | st.just(m))
    expected = int(pattern.dense(n, m).sum())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "CLOSED", 0)
        patch.setattr(stretches, "DENSE", 99)
        for way in (counting._by_rows, counting._by_stretches):
            try:
                assert way(pattern, rhythm(pattern), [m - n], m, Work.quick()) == [expected]
            except TooMuchError:
                assert way is counting._by_stretches
                assert any(isinstance(atom, SparseFixed) for atom in pattern.atoms())


@settings(max_examples=150)
@given(cases(most=120))
def test_stretches_hold_what_their_rows_hold(case):
    pattern, n, m = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stretches, "DENSE", 99)
        try:
            (found,) = counting._by_stretches(pattern, None, [m - n], m, Work())
        except TooMuchError:
            return  # steps and tails together
    assert found == int(pattern.dense(n, m).sum())


@settings(max_examples=60)
@given(combined(REGULAR.filter(lambda value: value.distance), 6), st.integers(1, 300), st.data())
def test_distances_in_closed_form(pattern, m, data):
    n = data.draw(st.integers(1, m) | st.just(m))
    found = counting._by_closed_distance(pattern, None, [m - n], m, Work())
    assert found == [int(pattern.dense(n, m).sum())]


def test_few_rows_are_used_at_all():
    # A control: with a wrong period the same count is wrong.
    pattern = Windowed(6) | Strided(4)
    beat = rhythm(pattern)
    assert (beat.period, beat.window, beat.back, beat.first) == (6, 6, 5, 0)
    (right,) = counting._by_rows(pattern, beat, [0], 5_000, Work())
    (wrong,) = counting._by_rows(pattern, type(beat)(5, 5, 5, 0), [0], 5_000, Work())
    assert right == pattern.pairs(5_000) != wrong


def windows(size, n):
    whole, rest = divmod(n, size)
    return whole * comb(size + 1, 2) + comb(rest + 1, 2)


@pytest.mark.parametrize(
    ("pattern", "n", "m", "expected"),
    [
        (Causal(), 1, T, T),
        (Causal(), T, T, comb(T + 1, 2)),
        (Causal(), T - 5, T, comb(T + 1, 2) - comb(6, 2)),
        (~Causal(), T, T, comb(T, 2)),
        (Full(), T, T, T * T),
        (Full(), T, 3, 3 * T),
        (Strided(2**31 - 1), T, T, 2**31 * T - comb(2**31, 2)),
        (Strided(9) & Causal(), 7, T, 70),
        (Windowed(999_999_937), T, T, windows(999_999_937, T)),
        (Windowed(10) | Windowed(5), T + 3, T + 3, windows(10, T + 3)),
        (Windowed(10) & Blocks(5), T + 3, T + 3, windows(5, T + 3)),
        (Windowed(7) & ~Windowed(7) | Windowed(1), T, T, T),
        (Global(5), T, T, 10 * T - 25),
        (Global(5), T - 2, T, 10 * T - 25 - 2 * T),
        (Global(5) & Causal(), T, T, 5 * T - 10),
        (Prefix(10**9), T, T, comb(T + 1, 2) + comb(10**9, 2)),
        (Blocks(1000), T, T, 1000 * T),
        (Blocks(1000) & ~Causal(), 999, T, comb(1000, 2) - 999),
        (Dilated(4, 10**8) | Strided(0), T, T, 5 * T - 10 * 10**8),
        (SparseStrided(2) | SparseFixed(1, 1), T, T, comb(T + 1, 2)),
        (SparseFixed(10, 0) | SparseFixed(5, 0), T, T, windows(10, T)),
        (Documents((10**9,) * 1000), T, T, 10**21),
        (Documents((10**9,) * 1000) & Causal(), T, T, 1000 * comb(10**9 + 1, 2)),
        (Axial(1000, 10**6) & ~Causal(), 10**9, 10**9, 1000 * comb(10**6, 2) + 10**6 * comb(1000, 2)),
    ],
    ids=str,
)
def test_by_hand(pattern, n, m, expected):
    assert pattern.pairs(n, m) == expected


def test_a_period_is_walked_once_whatever_the_length():
    # Independent of all counters: a long period summed in Python.
    sizes = (16, 9, 5, 7)
    period = 5040
    once = sum(max(q % size for size in sizes) + 1 for q in range(period))
    some = sum(max(q % size for size in sizes) + 1 for q in range(T % period))
    pattern = Windowed(16) | Windowed(9) | Windowed(5) | Windowed(7)
    assert pattern.pairs(T) == T // period * once + some
    assert pattern.pairs(3, T) == sum(max(q % size for size in sizes) + 1 for q in range(T - 3, T))


@settings(max_examples=20)
@given(combined(LINEAR, 4), st.integers(10**9, T), st.integers(1, 30))
def test_the_last_rows_of_a_long_sequence(pattern, m, n):
    assert int(pattern.row_pairs(n, m).sum()) == pattern.pairs(n, m)
    past = pattern & Causal()  # a prefix of it does not know what follows
    if rhythm(pattern) is not None:
        assert past.pairs(m) - past.pairs(m - n) == past.pairs(n, m)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (RandomBlocks(64), "randomblocks.64, 3, 7. never repeats, which leaves 1,000,000,000,000 rows"),
        (
            parse(" | ".join(f"windowed({size})" for size in (64, 81, 125, 49, 121))),
            "repeats after 3,841,992,000 positions and settles after 126, which leaves 7,683,984,251 rows",
        ),
    ],
)
def test_what_takes_too_long_is_refused_with_the_reason(pattern, why):
    with pytest.raises(ValueError, match=why):
        pattern.pairs(T)
    assert "not counted" in pattern.svg(T)


def test_rows_that_no_memory_holds_are_refused():
    with pytest.raises(ValueError, match=r"at most 134,217,728 rows, got n=1000000000000"):
        Causal().row_pairs(T)
    assert Causal().row_pairs(2, T).tolist() == [T - 1, T]
    with pytest.raises(ValueError, match=r"at most .* cells, got n=1000000000000"):
        Causal().draw(T)
    with pytest.raises(ValueError, match=r"at most .* positions, got n=1000000000000"):
        Causal().tiles(T)


def test_what_64_bits_do_not_hold_is_right_or_refused():
    n = 10**18
    assert (Windowed(10) | Global(1) & Causal()).pairs(n) == windows(10, n) + n - 10
    assert Causal().pairs(n) == comb(n + 1, 2)
    for ask in (Causal().svg, (Windowed(10) | Strided(3)).svg, RandomBlocks(2**30).pairs):
        with pytest.raises(ValueError, match="takes too long"):
            ask(n)
    with pytest.raises(ValueError, match="takes too long"):
        Causal().pairs(10**19)
    with pytest.raises(ValueError, match="takes too much memory"):
        Causal().row_pairs(2, n)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_sizes_may_be_numpy_integers(kind):
    pattern, n, m = Windowed(3) | Global(1), kind(5), kind(8)
    assert pattern.resolve(n, m) == (5, 8)
    assert all(type(size) is int for size in pattern.resolve(n, m))
    assert type(pattern.pairs(n, m)) is int
    assert pattern.pairs(n, m) == pattern.pairs(5, 8)
    assert pattern.draw(n, m) == pattern.draw(5, 8)
    assert pattern.svg(n, m) == pattern.svg(5, 8)
    assert pattern.dense(n, m).equal(pattern.dense(5, 8))
    assert pattern.tiles(n, m, size=kind(4)).partial == pattern.tiles(5, 8, size=4).partial
    for odd in (True, np.float64(5), 5.0, "5"):
        with pytest.raises(ValueError, match="n must be an integer"):
            pattern.pairs(odd)


@pytest.mark.parametrize("pattern", [Causal(), Windowed(3), Full(), Axial(2, 3) | Causal()], ids=str)
def test_tiles_of_nothing(pattern):
    for sizes in ((0, 0), (0, 5)):
        if sizes == (0, 0) and rhythm(pattern) is None:
            continue
        tiles = pattern.tiles(*sizes, size=4)
        assert tiles.shape == (0, -(-sizes[1] // 4))
        assert (tiles.full, tiles.partial, tiles.cells()) == (0, 0, 0)
        assert tiles.full_offsets.tolist() == tiles.partial_offsets.tolist() == [0]


def test_a_few_tries_of_the_hunt():
    found = [fault for number in range(30) for _, fault in counts.exact(random.Random(f"few {number}"))]
    assert not any(found)


QUICK = [
    "windowed(16) | windowed(9) | windowed(5) | windowed(7)",
    " | ".join(f"dilated({back}, {back + 2})" for back in range(3, 23)) + " | sparsefixed(10, 3)",
    " | ".join(f"sparsestrided({stride})" for stride in (5, 7, 11, 13, 17, 19, 23, 29)),
    "strided(2000000000) | windowed(1999999999) | global(1000000000) & causal",
]


@pytest.mark.alone
@pytest.mark.parametrize(("call", "expressions"), [("pairs", QUICK), ("svg", [QUICK[0], *QUICK[2:]])])
def test_a_million_million_positions(call, expressions):
    for expression, (seconds, megabytes) in zip(expressions, measured(expressions, T, call), strict=True):
        assert seconds < 2, expression
        assert megabytes < 300, expression
