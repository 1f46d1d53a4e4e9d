"""Sets of positions as intervals and as runs, against Python's sets."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.pattern.intervals import NOTHING, between, merged, stacked, unstacked
from regard.pattern.runs import RepeatedRun, Runs

SOME = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)), max_size=8).map(
    lambda pairs: between(*((lo, lo + length) for lo, length in pairs))
)


def members(intervals):
    return set(intervals.positions().tolist())


def is_proper(intervals):
    """Sorted, none empty, none overlapping."""
    return bool((intervals.hi > intervals.lo).all()) and bool((intervals.lo[1:] >= intervals.hi[:-1]).all())


@given(SOME, SOME)
def test_the_algebra_is_that_of_sets(a, b):
    assert members(a & b) == members(a) & members(b)
    assert members(a - b) == members(a) - members(b)
    assert members(merged(torch.cat([a.lo, b.lo]), torch.cat([a.hi, b.hi]))) == members(a) | members(b)
    assert all(map(is_proper, (a, b, a & b, a - b)))
    assert a.size == len(members(a))


@given(SOME)
def test_how_many_lie_below(a):
    x = torch.arange(-2, 50)
    assert a.below(x).tolist() == [sum(one < at for one in members(a)) for at in x.tolist()]


@given(st.lists(st.tuples(SOME, st.integers(0, 3)), max_size=6))
def test_several_sets_in_one(parts):
    found = unstacked(stacked([one for one, _ in parts], [place for _, place in parts], 60), 4, 60)
    for place, keys in enumerate(found):
        assert members(keys) == set().union(*(members(one) for one, at in parts if at == place))


@given(SOME)
def test_runs_hold_the_same_positions(a):
    runs = Runs.of(a)
    assert runs.positions().tolist() == a.positions().tolist()
    assert runs.count == a.size
    assert runs == Runs.of(a)
    assert hash(runs) == hash(Runs.of(a))
    assert sum(one.length * one.times for one in runs.runs()) == a.size
    assert len(runs.runs()) <= len(a.lo)


def test_what_repeats_takes_no_room():
    """A million residues are one run, whatever comes before and behind them."""
    lo = torch.cat([torch.tensor([1, 3]), torch.arange(10, 8_000_010, 8), torch.tensor([9_000_000])])
    runs = Runs.of(merged(lo, lo + torch.tensor([1]).repeat(len(lo))))
    assert [one for one in runs.runs() if one.times > 1] == [RepeatedRun(10, 1, 8, 1_000_000)]
    assert len(runs.runs()) == 4
    assert runs.nbytes == 4 * 4 * 8
    assert torch.equal(runs.positions(), lo)


@pytest.mark.parametrize(
    ("positions", "text"),
    [
        ([], "nothing"),
        ([4], "4"),
        ([4, 5, 6], "4…6"),
        ([0, 2, 4, 6, 9, 12], "0 and every 2 on, 4 times; 9; 12"),
        ([0, 3, 6, 9, 10], "0 and every 3 on, 3 times; 9…10"),
    ],
)
def test_runs_in_words(positions, text):
    at = torch.tensor(positions, dtype=torch.long)
    assert str(Runs.of(merged(at, at + 1))) == text


def test_runs_of_nothing_are_one_stretch():
    assert Runs.of(NOTHING).whole
    assert Runs.of(NOTHING).as_dict() == {"count": 0, "runs": []}
    assert Runs.of(between((3, 9))).whole
    assert not Runs.of(between((3, 9), (11, 12))).whole
    assert Runs.of(between((3, 9))) != 3
