"""Shapes stand for their patterns cell by cell, alone and as disjoint unions."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.attention.bands import Band, band_of, bands_of, first_key
from regard.pattern import (
    Blocks,
    Causal,
    Dilated,
    Documents,
    Full,
    Global,
    Pattern,
    SparseStrided,
    Strided,
    Windowed,
    parse,
)
from tests.attention.matching import patterns
from tests.pattern.strategies import cases


def cells(band: Band, n: int, m: int) -> Tensor:
    """What a band means, written out."""
    q, k = torch.arange(m - n, m)[:, None], torch.arange(m)[None, :]
    seen = q % band.step == k % band.step
    if band.documents is not None:
        seen = seen & band.documents.allows(q, k)
    q, k = q // band.step, k // band.step
    if band.causal:
        seen = seen & (k <= q - band.gap)
    if band.back is not None:
        seen = seen & (q - k <= band.back)
    if band.window is not None:
        seen = seen & (q // band.window == k // band.window)
    return seen.expand(n, m)


def assert_stands_for(bands: tuple[Band, ...], pattern: Pattern, n: int, m: int) -> None:
    parts = torch.stack([cells(band, n, m) for band in bands]).int().sum(0)
    assert parts.max() <= 1, "the bands overlap"
    assert torch.equal(parts.bool(), pattern.dense(n, m))


PARTS = st.one_of(
    st.just(Full()),
    st.just(Causal()),
    st.builds(Strided, st.integers(0, 12)),
    st.builds(Windowed, st.sampled_from([3, 8])),
    st.builds(Blocks, st.sampled_from([3, 8])),
    st.builds(Dilated, st.integers(0, 4), st.integers(1, 4)),
    st.sampled_from([Documents((5, 9, 16)), Documents((30,))]),
)


@settings(max_examples=200)
@given(st.lists(PARTS, min_size=1, max_size=4), st.integers(1, 30))
def test_an_intersection_that_has_a_shape_is_it(parts: list[Pattern], n: int) -> None:
    pattern = parts[0]
    for part in parts[1:]:
        pattern = pattern & part
    band = band_of(pattern)
    if band is not None:
        assert_stands_for((band,), pattern, n, 30)


@settings(max_examples=200)
@given(cases(most=40, leaves=4))
def test_any_expression_that_has_shapes_is_their_union(case: tuple[Pattern, int, int]) -> None:
    pattern, n, m = case
    band, union = band_of(pattern), bands_of(pattern)
    if band is not None:
        assert union == (band,)
    if union is not None:
        assert_stands_for(union, pattern, n, m)


@pytest.mark.parametrize("stride", [1, 2, 3, 16, 40])
@pytest.mark.parametrize("n", [1, 2, 33, 70])
def test_the_strided_pattern_of_child_et_al(stride: int, n: int) -> None:
    pattern = SparseStrided(stride=stride)
    union = bands_of(pattern)
    assert (union is not None) == (stride > 1)
    if union is not None:
        assert_stands_for(union, pattern, n, n)


def test_who_has_a_shape() -> None:
    """So that a pattern that lost its band, and with it its speed, is noticed."""
    expected = {
        "full": Band(),
        "causal": Band(causal=True),
        "strided(5)": Band(causal=True, back=5),
        "strided(5) & strided(3) & causal": Band(causal=True, back=3),
        "windowed(8)": Band(causal=True, window=8),
        "blocks(8)": Band(window=8),
        "causal & blocks(8)": Band(causal=True, window=8),
        "windowed(8) & strided(2)": Band(causal=True, back=2, window=8),
        "dilated(3, 4)": Band(causal=True, back=3, step=4),
        "causal & dilated(3, 4)": Band(causal=True, back=3, step=4),
        "dilated(3, 1)": Band(causal=True, back=3),
        "documents((2, 3)) & causal": Band(causal=True, documents=Documents((2, 3))),
        "windowed(8) & blocks(6)": None,
        "dilated(3, 4) & strided(5)": None,
        "strided(5) & dilated(3, 4)": None,
        "documents((2, 3)) & documents((1, 4))": None,
        "causal | strided(5)": None,
        "~causal": None,
        "global(2)": None,
    }
    assert {text: band_of(parse(text)) for text in expected} == expected
    assert bands_of(Global(first=2)) is None


def test_every_pattern_of_the_list() -> None:
    found = [(pattern, bands_of(pattern)) for pattern in patterns(60)]
    for pattern, union in found:
        if union is not None:
            assert_stands_for(union, pattern, 60, 60)
    assert sum(union is not None for _, union in found) >= 15


@pytest.mark.parametrize("m", [1, 2, 7, 50])
@pytest.mark.parametrize("far", [3, 49, 50, 51, (1 << 31) - 1])
def test_bands_within_so_many_keys(far: int, m: int) -> None:
    """Steps wider than the sequence and distances past 32 bits are the same pattern in small numbers."""
    for pattern in (
        Strided(back=far), Windowed(size=far), Dilated(back=far, step=2), Dilated(back=2, step=far),
        SparseStrided(stride=far),
    ):  # fmt: skip
        bands = bands_of(pattern, m)
        assert bands is not None
        assert_stands_for(bands, pattern, m, m)
        for band in bands:
            assert band.step < max(m, 2)
            assert (band.back or 0) + (band.window or 0) + m < 1 << 31


@settings(max_examples=200)
@given(cases(most=40))
def test_no_key_before_the_first_is_seen(case: tuple[Pattern, int, int]) -> None:
    pattern, n, m = case
    if n == 0:
        return
    first = first_key(pattern, n, m)
    assert 0 <= first <= m
    assert not pattern.dense(n, m)[:, :first].any()
    kept = m - first
    if first and all(atom.total is None for atom in pattern.atoms()):
        assert torch.equal(pattern.dense(n, kept), pattern.dense(n, m)[:, first:])
