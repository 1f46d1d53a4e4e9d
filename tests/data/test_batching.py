"""Padding."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.data.batching import pad

ROWS = st.lists(st.lists(st.integers(0, 99), max_size=9), min_size=1, max_size=12)


@given(ROWS)
def test_pad(rows):
    tokens, segments = pad(rows, 7)
    assert tokens.shape == segments.shape
    assert tokens.dtype == segments.dtype == torch.int64
    assert tokens.shape[1] == max(map(len, rows))
    for row, ids, marks in zip(rows, tokens.tolist(), segments.tolist(), strict=True):
        assert ids == row + [7] * (len(ids) - len(row))
        assert marks == [0] * len(row) + [-1] * (len(ids) - len(row))


def test_pad_says_what_is_wrong():
    with pytest.raises(ValueError, match="rows must hold at least one row"):
        pad([], 0)
