import pytest
import torch
from hypothesis import given

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
)
from regard.pattern.spans import CacheBound
from tests.pattern.strategies import cases


def most_kept(mask: torch.Tensor) -> int:
    """Over steps q, the keys k ≤ q that some query ≥ q sees, counted one by one."""
    later = mask.flip(0).cumsum(0).flip(0) > 0  # seen by this query or a later one
    return int(later.tril().sum(1).max())


@given(cases(most=24))
def test_the_bound_is_never_too_small(case):
    pattern = case[0]
    bound = pattern.keys_kept()
    totals = [atom.total for atom in pattern.atoms() if atom.total is not None]
    whole = min(totals) if totals else 60
    if len(set(totals)) <= 1 and bound is not None:
        assert most_kept(pattern.dense(whole)) <= bound


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        (~Causal(), 0),
        (~Full(), 0),
        (~Prefix(3), 0),
        (Strided(0), 1),
        (Strided(5), 6),
        (Windowed(4), 4),
        (Blocks(4), 4),
        (Dilated(3, 4), 13),
        (Global(3), 3),
        (SparseFixed(4, 0), 4),
        (RandomBlocks(4, 0, 1), 4),
        (Strided(3) | Global(2) & Causal(), 6),
        (Strided(3) | Strided(7), 8),
        (Strided(3) & Causal(), 4),
        (Windowed(8) | Global(2), 10),
    ],
)
def test_bounds_that_are_reached(pattern, kept):
    assert pattern.keys_kept() == kept
    assert most_kept(pattern.dense(60)) == kept


@pytest.mark.parametrize(
    "pattern",
    [Documents((3, 7, 2)), Axial(1, 5), Axial(5, 1), Axial(2, 6), Axial(6, 2), Axial(3, 4)]
    + [
        Neighbourhood(rows, cols, reach)
        for rows, cols in ((1, 9), (9, 1), (2, 9), (4, 5))
        for reach in range(5)
    ],
)
def test_geometries_keep_exactly_what_is_needed(pattern):
    assert pattern.keys_kept() == most_kept(pattern.dense(pattern.total))


@pytest.mark.parametrize(
    "pattern",
    [Full(), Causal(), Prefix(2), SparseStrided(4), SparseFixed(4, 1), RandomBlocks(4, 2, 1), ~Strided(3)],
)
def test_unbounded(pattern):
    assert pattern.keys_kept() is None
    assert most_kept(pattern.dense(80)) > most_kept(pattern.dense(40)) > 10  # it grows with the sequence


def test_the_latest_keys_are_shared_and_others_add_up():
    assert CacheBound(recent=3, first=1).either(CacheBound(recent=5, other=2)) == CacheBound(
        recent=5, first=1, other=2
    )
