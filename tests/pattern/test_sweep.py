from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.pattern.sweep import Edges, comparators


@pytest.mark.parametrize("count", range(1, 10))
def test_the_network_sorts(count):
    # A network that sorts all sequences of zeros and ones sorts everything.
    for start in product([0, 1], repeat=count):
        values = list(start)
        for i, j in comparators(count):
            values[i], values[j] = min(values[i], values[j]), max(values[i], values[j])
        assert values == sorted(start)


SPANS = st.lists(st.tuples(st.integers(-3, 12), st.integers(-3, 12)), min_size=4, max_size=4)


@given(st.lists(SPANS, max_size=5), st.lists(st.integers(0, 10), min_size=4, max_size=4), st.booleans())
def test_segments_hold_the_bits_that_cover_them(spans, ends, merge):
    end = torch.tensor(ends)
    edges = Edges(torch.zeros_like(end), end)
    for bit, rows in enumerate(spans):
        lo, hi = torch.tensor(rows).T
        edges.add(lo, hi, bit)
    stands_for = edges.merge_rows().tolist() if merge else [1] * 4
    states: list[int] = []
    covered: list[dict[int, int]] = [{} for _ in stands_for]
    for lo, hi, state in edges.segments(states):
        for row in range(len(stands_for)):
            for x in range(int(lo[row]), int(hi[row])):
                assert x not in covered[row]
                covered[row][x] = states[int(state[row])]
    covered = [row for row, times in zip(covered, stands_for, strict=True) for _ in range(times)]
    expected = [
        {
            x: sum(1 << bit for bit, rows in enumerate(spans) if rows[row][0] <= x < rows[row][1])
            for x in range(ends[row])
        }
        for row in range(4)
    ]
    assert covered == expected


def test_equal_rows_are_merged_where_it_pays():
    end = torch.full((6,), 9)
    edges = Edges(torch.zeros_like(end), end)
    edges.add(torch.tensor([1, 1, 1, 1, 4, 4]), end, 0)
    assert edges.merge_rows().tolist() == [4, 2]
    edges = Edges(torch.zeros_like(end), end)
    edges.add(torch.arange(6), end, 0)
    assert edges.merge_rows().tolist() == [1] * 6
