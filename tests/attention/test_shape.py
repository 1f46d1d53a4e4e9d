"""Shapes stand for their patterns cell by cell, alone and as disjoint unions."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.attention.shape import Shape, shape_of, union_of
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


def cells(shape: Shape, n: int, m: int) -> Tensor:
    """What a shape means, written out."""
    q, k = torch.arange(m - n, m)[:, None], torch.arange(m)[None, :]
    seen = q % shape.step == k % shape.step
    if shape.documents is not None:
        seen = seen & shape.documents.allows(q, k)
    q, k = q // shape.step, k // shape.step
    if shape.causal:
        seen = seen & (k <= q - shape.gap)
    if shape.back is not None:
        seen = seen & (q - k <= shape.back)
    if shape.window is not None:
        seen = seen & (q // shape.window == k // shape.window)
    return seen.expand(n, m)


def assert_stands_for(shapes: tuple[Shape, ...], pattern: Pattern, n: int, m: int) -> None:
    parts = torch.stack([cells(shape, n, m) for shape in shapes]).int().sum(0)
    assert parts.max() <= 1, "the shapes overlap"
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
    shape = shape_of(pattern)
    if shape is not None:
        assert_stands_for((shape,), pattern, n, 30)


@settings(max_examples=200)
@given(cases(most=40, leaves=4))
def test_any_expression_that_has_shapes_is_their_union(case: tuple[Pattern, int, int]) -> None:
    pattern, n, m = case
    shape, union = shape_of(pattern), union_of(pattern)
    if shape is not None:
        assert union == (shape,)
    if union is not None:
        assert_stands_for(union, pattern, n, m)


@pytest.mark.parametrize("stride", [1, 2, 3, 16, 40])
@pytest.mark.parametrize("n", [1, 2, 33, 70])
def test_the_strided_pattern_of_child_et_al(stride: int, n: int) -> None:
    pattern = SparseStrided(stride=stride)
    union = union_of(pattern)
    assert (union is not None) == (stride > 1)
    if union is not None:
        assert_stands_for(union, pattern, n, n)


def test_who_has_a_shape() -> None:
    """So that a pattern that lost its shape, and with it its speed, is noticed."""
    expected = {
        "full": Shape(),
        "causal": Shape(causal=True),
        "strided(5)": Shape(causal=True, back=5),
        "strided(5) & strided(3) & causal": Shape(causal=True, back=3),
        "windowed(8)": Shape(causal=True, window=8),
        "blocks(8)": Shape(window=8),
        "causal & blocks(8)": Shape(causal=True, window=8),
        "windowed(8) & strided(2)": Shape(causal=True, back=2, window=8),
        "dilated(3, 4)": Shape(causal=True, back=3, step=4),
        "causal & dilated(3, 4)": Shape(causal=True, back=3, step=4),
        "dilated(3, 1)": Shape(causal=True, back=3),
        "documents((2, 3)) & causal": Shape(causal=True, documents=Documents((2, 3))),
        "windowed(8) & blocks(6)": None,
        "dilated(3, 4) & strided(5)": None,
        "strided(5) & dilated(3, 4)": None,
        "documents((2, 3)) & documents((1, 4))": None,
        "causal | strided(5)": None,
        "~causal": None,
        "global(2)": None,
    }
    assert {text: shape_of(parse(text)) for text in expected} == expected
    assert union_of(Global(first=2)) is None


def test_every_pattern_of_the_list() -> None:
    found = [(pattern, union_of(pattern)) for pattern in patterns(60)]
    for pattern, union in found:
        if union is not None:
            assert_stands_for(union, pattern, 60, 60)
    assert sum(union is not None for _, union in found) >= 15
