"""A pattern between some queries and some keys, against the cells of its mask; and how simple it becomes."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.pattern import Blocks, Causal, Documents, Full, Global, SparseFixed, Strided, Windowed, parse
from regard.pattern.between import _Between, between, rows_that_see
from regard.pattern.intervals import between as stretch
from regard.pattern.intervals import merged
from regard.pattern.runs import Runs
from tests.pattern.own import Jumps, Roles
from tests.pattern.strategies import cases

SQUARE = cases().filter(lambda case: case[1] == case[2])


def runs(*bounds):
    return Runs.of(stretch(*bounds))


def assert_same(pattern, first, last, keys, n):
    found = between(pattern, first, last, keys, n)
    want = pattern.dense(n)[first:last][:, keys.positions()]
    if found is None:
        assert not bool(want.any())
        return
    rows, columns = want.shape
    assert torch.equal(found.dense(rows, columns), want)
    if not rows or not columns:
        return
    for size in (3, 16):
        tiles = found.tiles(rows, columns, size).dense()
        for i in range(tiles.shape[0]):
            for j in range(tiles.shape[1]):
                cells = want[i * size : (i + 1) * size, j * size : (j + 1) * size]
                assert tiles[i, j] == (2 if bool(cells.all()) else int(bool(cells.any())))
    assert found.pairs(rows, columns) == int(want.sum())


@given(SQUARE, st.data())
def test_it_is_that_part_of_the_mask(case, data):
    pattern, n, _ = case
    first = data.draw(st.integers(0, n - 1))
    last = data.draw(st.integers(first + 1, n))
    some = data.draw(st.lists(st.integers(0, n - 1), max_size=n, unique=True))
    whole = data.draw(st.booleans())
    at = torch.tensor(sorted(some), dtype=torch.long)
    keys = stretch((min(some, default=0), last)) if whole else merged(at, at + 1)
    assert_same(pattern, first, last, Runs.of(keys), n)


@given(SQUARE, st.data())
def test_the_rows_that_see_something(case, data):
    pattern, n, _ = case
    first = data.draw(st.integers(0, n - 1))
    last = data.draw(st.integers(first + 1, n))
    keys = stretch(*data.draw(st.lists(st.tuples(st.integers(0, n), st.integers(0, n)), max_size=3)))
    seen = pattern.dense(n)[first:last][:, keys.positions()].any(1).nonzero()[:, 0] + first
    want = (int(seen[0]), int(seen[-1]) + 1) if len(seen) else (first, first)
    assert rows_that_see(pattern, first, last, keys, n) == want


COMPOSITE = parse("strided(4) | global(2) & causal")


@pytest.mark.parametrize(
    ("pattern", "rows", "keys", "found"),
    [
        (COMPOSITE, (50, 60), runs((50, 60)), Strided(4)),
        (COMPOSITE, (50, 60), runs((0, 2)), Full()),
        (Causal(), (50, 60), runs((0, 20), (30, 50)), Full()),
        (Causal(), (50, 60), runs((10, 20), (50, 60)), Causal()),
        (Causal(), (50, 60), runs((60, 70)), None),
        (Windowed(10), (50, 60), runs((40, 60)), Windowed(10)),
        (SparseFixed(10, 2) & ~Blocks(5), (50, 60), runs((40, 60)), SparseFixed(10, 2) & ~Blocks(5)),
        (Documents((30, 25, 45)), (50, 60), runs((40, 60)), Documents((15, 5))),
        (Documents((30, 25, 45)), (56, 60), runs((56, 60)), Full()),
        (~Causal(), (0, 10), runs((20, 60)), Full()),
        (Global(3), (0, 3), runs((0, 3), (9, 30)), Full()),
    ],
    ids=str,
)
def test_it_is_as_simple_as_it_can_be(pattern, rows, keys, found):
    assert between(pattern, *rows, keys, 100) == found
    assert_same(pattern, *rows, keys, 100)


def test_what_is_not_simple_is_renumbered():
    for keys in (runs((41, 60)), runs((45, 55)), runs((0, 9), (12, 60))):
        found = between(Windowed(10), 50, 60, keys, 100)
        assert isinstance(found, _Between) == (found != Full())
        assert_same(Windowed(10), 50, 60, keys, 100)
    for pattern in (Jumps(3), Jumps(2) & Causal(), Roles(3) | Strided(2)):
        assert_same(pattern, 5, 20, runs((0, 3), (7, 8), (11, 24)), 24)


def test_more_queries_than_keys():
    found = between(Strided(9) | Windowed(7), 12, 40, runs((9, 12)), 60)
    assert found.dense(28, 3).shape == (28, 3)
    assert_same(Strided(9) | Windowed(7), 12, 40, runs((9, 12)), 60)
    with pytest.raises(ValueError, match="is for 28 queries and 3 keys, got n=27, m=3"):
        found.pairs(27, 3)


def test_equal_parts_are_one_value():
    made = [between(Windowed(7), 12, 40, runs((9, 12), (20, 21)), 60) for _ in range(2)]
    assert made[0] == made[1]
    assert hash(made[0]) == hash(made[1])
    assert made[0] != between(Windowed(7), 12, 40, runs((9, 12), (20, 22)), 60)
    assert "between(windowed(7), queries from 12 on, keys 9…11; 20)" in str(made[0])


@pytest.mark.parametrize("text", ["causal", "strided(300) | global(4) & causal", "windowed(100)"])
def test_a_long_rank_is_quick(text):
    """Tiles of half a million queries against far keys are found from spans."""
    pattern, n = parse(text), 1 << 20
    plan = pattern.exchange(n, 2, "even")
    found = between(pattern, n // 2, n, plan.needed[1], n)
    tiles = found.tiles(n // 2, plan.needed[1].count, 1024)
    assert tiles.full + tiles.partial > 0
