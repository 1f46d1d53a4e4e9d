import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.pattern import And, Blocks, Causal, Full, Global, Not, Or, Strided, Windowed
from tests.pattern.strategies import LINEAR, cases, combined

a, b, c = Causal(), Strided(back=3), Global(first=2)


def test_joining_is_flat_and_keeps_the_order():
    assert a & b & c == a & (b & c) == And((a, b, c))
    assert a | b | c == a | (b | c) == Or((a, b, c))
    assert a & b != b & a
    assert a & a == And((a, a))
    assert a | b & c == Or((a, And((b, c))))
    assert ~~a == a
    assert ~(a & b) == Not(And((a, b)))
    assert ~~(a & b) == a & b


def test_values_are_frozen_equal_and_hashable():
    assert Strided(3) == Strided(back=3) != Strided(4)
    assert Windowed(3) != Blocks(3)  # same field, other meaning
    assert len({a & b, And((Causal(), Strided(3))), ~a, Not(Causal())}) == 2
    with pytest.raises(AttributeError):
        b.back = 4  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(a & ~b | c)) == a & ~b | c


def test_repr_is_python():
    names = {"Causal": Causal, "Strided": Strided, "Global": Global, "Full": Full}
    for pattern in (a, b & ~c, ~(a | b) & c, (a | b) & c, a | b & c, ~~a):
        assert eval(repr(pattern), names) == pattern


@pytest.mark.parametrize("pattern", [a, a & b, a | b, ~a])
def test_truth_raises_and_suggests_the_operators(pattern):
    with pytest.raises(TypeError, match=r"neither true nor false.*&, \| and ~"):
        bool(pattern)
    with pytest.raises(TypeError, match="combine with &"):
        _ = pattern and a


@pytest.mark.parametrize("other", [True, 1, None, torch.ones(2, 2)])
def test_only_patterns_join(other):
    with pytest.raises(TypeError):
        _ = a & other
    with pytest.raises(TypeError):
        _ = a | other


@given(cases())
def test_allows_on_integers_is_dense_and_the_algebra_is_boolean(case):
    pattern, n, m = case
    mask = pattern.dense(n, m)
    assert mask.dtype == torch.bool
    assert mask.shape == (n, m)
    by_hand = [[pattern.allows(q, k) for k in range(m)] for q in range(m - n, m)]
    assert all(isinstance(seen, bool) for row in by_hand for seen in row)
    assert mask.tolist() == by_hand
    q, k = torch.arange(m - n, m)[:, None], torch.arange(m)
    parts = {atom: atom.allows(q, k).expand(n, m) for atom in pattern.atoms()}
    assert torch.equal(pattern.fold(parts.__getitem__), mask)
    assert torch.equal((~pattern).dense(n, m), ~mask)


@given(combined(LINEAR, 5), st.integers(1, 20), st.integers(0, 20))
def test_fewer_queries_are_the_last_rows(pattern, n, more):
    m = n + more
    assert torch.equal(pattern.dense(n, m), pattern.dense(m)[more:])
    assert torch.equal(pattern.row_pairs(n, m), pattern.row_pairs(m)[more:])


def test_more_queries_than_keys_raise_except_for_full():
    for pattern in (a, b, a & Full(), ~Full()):
        for call in (pattern.dense, pattern.pairs, pattern.row_pairs, pattern.tiles, pattern.draw):
            with pytest.raises(ValueError, match="n ≤ m is needed, got n=5, m=4"):
                call(5, 4)
    assert Full().pairs(5, 4) == 20
    assert Full().dense(5, 4).shape == (5, 4)
    assert Full().row_pairs(5, 4).tolist() == [4] * 5
    assert Full().tiles(5, 4, size=2).cells() == 20


@pytest.mark.parametrize(("n", "m"), [(-1, None), (2.0, None), (True, None), (3, -1), (3, "4")])
def test_lengths_are_checked(n, m):
    with pytest.raises(ValueError, match="must be"):
        a.pairs(n, m)


@pytest.mark.parametrize("pattern", [a, Full(), b, Windowed(3), a & c | ~b])
def test_nothing_to_count(pattern):
    assert pattern.pairs(0) == 0
    assert pattern.pairs(0, 5) == 0
    assert pattern.dense(0).shape == (0, 0)
    assert pattern.row_pairs(0, 5).shape == (0,)
    assert pattern.tiles(0, 5).cells() == 0
    assert pattern.draw(0) == ""
