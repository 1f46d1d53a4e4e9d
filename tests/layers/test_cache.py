"""Decoding step by step equals the full forward, and the cache holds no more than the pattern needs."""

import pytest
import torch

from regard.layers import Alibi, Attention, Cache, LayerCache, Rotary
from regard.layers.stack import causal
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

N = 20
PATTERNS = [
    Full(),
    Causal(),
    Strided(back=3),
    Strided(back=0),
    Windowed(size=6),
    Dilated(back=2, step=3),
    SparseStrided(stride=4),
    SparseFixed(stride=5, summary=2),
    Global(first=3),
    Prefix(length=4),
    Documents(lengths=(7, 1, 12)),
    Blocks(size=6),
    Neighbourhood(rows=4, cols=5, reach=1),
    Axial(rows=4, cols=5),
    RandomBlocks(size=4, per_row=2, seed=3),
    Strided(back=3) | Global(first=2),
    ~Strided(back=2),
    ~Causal(),
    Windowed(size=6) & ~Strided(back=0) | Dilated(back=1, step=7),
]


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("position", [None, Rotary(), Alibi()], ids=["none", "rotary", "alibi"])
@pytest.mark.parametrize("padded", [False, True])
def test_decoding_equals_the_full_forward(pattern, position, padded):
    torch.manual_seed(1)
    pattern = causal(pattern)
    layer = Attention(12, heads=6, kv_heads=2, head_width=4, pattern=pattern, position=position).double()
    x = torch.randn(2, N, 12, dtype=torch.float64)
    segments = torch.tensor([[-1] * 3 + [0] * 17, [0] * 9 + [1] * 11]) if padded else None
    with torch.no_grad():
        want = layer(x, segments=segments)
        for cuts in ([1] * N, [7] + [1] * 13, [3, 5, 1, 11], [N]):
            cache, got, at = LayerCache(pattern, capacity=N), [], 0
            for size in cuts:
                part = None if segments is None else segments[:, at : at + size]
                got.append(layer(x[:, at : at + size], segments=part, cache=cache))
                at += size
                kept = pattern.keys_kept()
                assert cache.length == at
                assert cache.held <= (at if kept is None else kept)
            torch.testing.assert_close(torch.cat(got, dim=1), want)


def test_memory_follows_the_pattern():
    cache = Cache([LayerCache(pattern, capacity=50) for pattern in (Strided(back=3), Causal())])
    assert (cache.length, cache.nbytes) == (0, 0)
    for _ in range(50):
        for layer in cache.layers:
            layer.extend(torch.zeros(2, 3, 1, 4), torch.zeros(2, 3, 1, 8))
    row = 2 * 3 * (4 + 8) * 4
    assert cache.length == 50
    assert [layer.nbytes for layer in cache.layers] == [4 * row, 50 * row]
    assert cache.layers[0].key.shape == (2, 3, 4, 4)


def test_capacity_and_geometry_end_a_cache():
    step = torch.zeros(1, 1, 4, 2)
    cache = LayerCache(Causal(), capacity=7)
    cache.extend(step, step)
    with pytest.raises(ValueError, match="causal ends at 7 positions, got 8"):
        cache.extend(step, step)
    cache = LayerCache(Axial(rows=2, cols=3), capacity=100)
    cache.extend(step, step)
    with pytest.raises(ValueError, match="ends at 6 positions, got 8"):
        cache.extend(step, step)
    with pytest.raises(ValueError, match="capacity must be at least 1, got capacity=0"):
        LayerCache(Causal(), capacity=0)


@pytest.mark.parametrize("pattern", [Causal(), Strided(back=2)])
def test_segments_come_at_every_step_or_at_none(pattern):
    step = torch.zeros(1, 1, 1, 2)
    cache = LayerCache(pattern, capacity=7)
    cache.extend(step, step)
    with pytest.raises(ValueError, match="at every step"):
        cache.extend(step, step, torch.zeros(1, 1, dtype=torch.long))
