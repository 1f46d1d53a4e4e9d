"""Which keys some rows need, against the columns of the mask that hold anything."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.pattern import (
    Atom,
    Causal,
    Dilated,
    Documents,
    SparseFixed,
    SparseStrided,
    Windowed,
    needs,
    parse,
)
from regard.pattern.needs import needed
from regard.pattern.work import TooMuchError
from tests.pattern.own import OWN, Jumps, Near, Roles
from tests.pattern.strategies import cases


def assert_right(pattern, bounds, n):
    dense = pattern.dense(n)
    for first, last, keys in zip(bounds, bounds[1:], needed(pattern, bounds, n), strict=False):
        assert keys.positions().tolist() == dense[first:last].any(0).nonzero()[:, 0].tolist()


@given(cases().filter(lambda case: case[1] == case[2]), st.lists(st.integers(0, 40), max_size=4))
def test_they_are_the_columns_that_are_not_empty(case, cuts):
    pattern, n, _ = case
    assert_right(pattern, [0, *sorted(min(cut, n) for cut in cuts), n], n)


@pytest.mark.parametrize("text", [
    "sparsefixed(8, 2) & sparsestrided(6) | global(3)", "dilated(9, 7) | dilated(5, 11) & ~windowed(10)",
    "sparsefixed(12, 5) & ~sparsefixed(8, 3) & sparsestrided(5)", "~sparsestrided(7)", "~dilated(3, 50)",
    "sparsestrided(7) & sparsestrided(11) & sparsestrided(13)", "windowed(1)", "windowed(2) | dilated(2, 90)",
    "randomblocks(5, 2, 7) & sparsestrided(4)",
])  # fmt: skip
@pytest.mark.parametrize("n", [101, 300])
def test_residue_classes_at_some_length(text, n):
    assert_right(parse(text), [0, 1, 40, 41, 90, 90, n], n)
    assert_right(parse(text), [17, 60], n)


@dataclass(frozen=True)
class Beside(Atom):
    """Says that distances decide, and nothing more."""

    reach: int
    distance = True

    def allows(self, q, k):
        return (q - k == self.reach) | (k - q == self.reach) | (q - k == 0)


@pytest.mark.parametrize("pattern", [
    *OWN, Beside(3), ~Beside(2) & Causal(), Beside(40), Jumps(2) | SparseStrided(7), ~Near(3) & Causal(),
], ids=str)  # fmt: skip
def test_own_patterns_are_looked_at(pattern):
    assert_right(pattern, [0, 7, 7, 30, 33], 33)


def test_a_table_is_never_asked_beyond_its_end():
    assert_right(Roles(3) | SparseStrided(5), [0, 10, 24], 24)


def test_what_takes_too_long_is_looked_at_or_refused(monkeypatch):
    def never(*_):
        raise TooMuchError

    monkeypatch.setattr(needs._Needs, "keys", never)
    assert_right(SparseFixed(8, 2), [0, 20, 40], 40)
    with pytest.raises(ValueError, match=r"sparsefixed\(8, 2\) at n=1048576 takes too long to plan"):
        needed(SparseFixed(8, 2), [0, 1 << 20], 1 << 20)


def test_pieces_are_bounded(monkeypatch):
    """The same where few intervals are made at a time, and where few rows are."""
    pattern = SparseFixed(8, 2) & SparseStrided(6) | Dilated(3, 31)
    monkeypatch.setattr(needs, "LISTED", 3)
    monkeypatch.setattr(needs, "CHUNK", 7)
    assert_right(pattern, [0, 20, 55, 101], 101)
    assert_right(Windowed(1) & pattern, [0, 20, 55, 101], 101)


def test_documents_end_at_borders():
    assert_right(Documents((5, 5, 10)), [0, 5, 10, 20], 20)
    assert [keys.size for keys in needed(Documents((5, 5, 10)), [0, 5, 10, 20], 20)] == [5, 5, 10]


def test_no_positions_at_all():
    assert [keys.size for keys in needed(Causal(), [0, 0, 0], 0)] == [0, 0]
    assert needed(Causal(), [3, 3], 9)[0].lo.dtype == torch.long


def test_an_own_pattern_without_hooks_has_a_limit():
    with pytest.raises(ValueError, match="to look at one by one, at most"):
        needed(Near(2), [0, 1 << 20], 1 << 20)
