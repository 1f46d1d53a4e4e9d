"""Padding."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.data.batching import pad

ROWS = st.lists(st.lists(st.integers(0, 99), max_size=9), min_size=1, max_size=12)


@given(ROWS, st.integers(1, 5))
def test_pad(rows, multiple):
    tokens, segments = pad(rows, 7, multiple=multiple)
    assert tokens.shape == segments.shape
    assert tokens.dtype == segments.dtype == torch.int64
    longest = max(map(len, rows))
    assert longest <= tokens.shape[1] < longest + multiple
    assert tokens.shape[1] % multiple == 0
    for row, ids, marks in zip(rows, tokens.tolist(), segments.tolist(), strict=True):
        assert ids == row + [7] * (len(ids) - len(row))
        assert marks == [0] * len(row) + [-1] * (len(ids) - len(row))


def test_pad_says_what_is_wrong():
    with pytest.raises(ValueError, match="rows must hold at least one row"):
        pad([], 0)
    with pytest.raises(ValueError, match="multiple=0"):
        pad([[1]], 0, multiple=0)
