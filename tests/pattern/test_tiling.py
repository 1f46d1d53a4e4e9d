import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.pattern import Causal, Full, Global, RandomBlocks, Strided, Windowed, parse
from tests.pattern.measuring import measured
from tests.pattern.strategies import cases


def judged(mask: torch.Tensor, size: int) -> list[list[int]]:
    """0 empty, 1 partial, 2 full, of every tile by looking; short tiles by the cells that exist."""
    tiles = [row.split(size, 1) for row in mask.split(size, 0)]
    return [[0 if not part.any() else 2 if part.all() else 1 for part in row] for row in tiles]


@settings(max_examples=120)
@given(cases(), st.integers(1, 12))
def test_tiles_are_those_of_the_mask(case, size):
    pattern, n, m = case
    tiles = pattern.tiles(n, m, size)
    kinds = judged(pattern.dense(n, m), size)
    assert tiles.dense().tolist() == kinds
    assert tiles.shape == (-(-n // size), -(-m // size))
    for i in range(tiles.shape[0]):  # the compressed rows themselves, ascending
        for offsets, columns, kind in (
            (tiles.full_offsets, tiles.full_columns, 2),
            (tiles.partial_offsets, tiles.partial_columns, 1),
        ):
            row = columns[offsets[i] : offsets[i + 1]].tolist()
            assert row == [j for j, k in enumerate(kinds[i]) if k == kind]


@settings(max_examples=25)
@given(cases(most=260, leaves=6), st.sampled_from([16, 32, 100]))
def test_tiles_are_those_of_a_larger_mask(case, size):
    pattern, n, m = case
    assert pattern.tiles(n, m, size).dense().tolist() == judged(pattern.dense(n, m), size)


@pytest.mark.parametrize(("chunk", "dense"), [(1, 1), (3, 50)])
def test_chunks_do_not_show(chunk, dense, monkeypatch):
    pattern = parse("windowed(7) & ~dilated(3, 2) | randomblocks(5, 2, 1) | sparsefixed(6, 1)")
    monkeypatch.setattr("regard.pattern.tiling.CHUNK", chunk)
    monkeypatch.setattr("regard.pattern.tiling.DENSE", dense)
    assert pattern.tiles(50, 61, 4).dense().tolist() == judged(pattern.dense(50, 61), 4)


def test_literal_tiles():
    tiles = Strided(back=4).tiles(10, size=4)  # the last row and column of tiles are two wide
    assert tiles.dense().tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    assert Causal().tiles(10, size=4).dense().tolist() == [[1, 0, 0], [2, 1, 0], [2, 2, 1]]
    assert Causal().tiles(4, 10, size=4).dense().tolist() == [[2, 1, 1]]
    assert Full().tiles(3, 5, size=4).dense().tolist() == [[2, 2]]


def test_counts_for_machines():
    tiles = Causal().tiles(10, size=4)
    assert tiles.as_dict() == {"size": 4, "shape": [3, 3], "full": 3, "partial": 3, "empty": 3}
    assert tiles.cells() == 16 + 2 * 16 + 2 * 4 * 2 + 2 * 2
    assert (Global(1) & Windowed(3)).tiles(9, size=3).as_dict()["partial"] == 1


@pytest.mark.parametrize("size", [0, -1, 2.0, None])
def test_the_size_is_checked(size):
    with pytest.raises(ValueError, match="size must be"):
        Causal().tiles(10, size=size)


@pytest.mark.parametrize("size", [64, 128])
def test_random_blocks_larger_and_smaller_than_tiles(size):
    for block in (32, 64, 100, 300):
        pattern = RandomBlocks(block, 2, seed=3)
        assert pattern.tiles(900, size=size).dense().tolist() == judged(pattern.dense(900), size)


def test_a_million_positions():
    expressions = ["strided(256)", "strided(256) | global(4) & causal", "windowed(256)"]
    for expression, (seconds, megabytes) in zip(
        expressions, measured(expressions, 1 << 20, "tiles"), strict=True
    ):
        assert seconds < 0.2, expression
        assert megabytes < 64, expression
