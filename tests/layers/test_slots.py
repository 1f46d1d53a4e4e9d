"""Slots against a simulation that writes every key, and linear layers against the plain sum."""

import pytest
import torch

from regard.layers import Attention, LayerCache, Rotary, Trace
from regard.layers.linear_mixer import LinearAttention, LinearCache
from regard.layers.position import Alibi
from regard.layers.slots import Layout, layout_of
from regard.pattern import Axial, Causal, Documents, Global, Neighbourhood, Strided, Windowed, parse


@pytest.mark.parametrize(("first", "recent"), [(0, 1), (0, 5), (3, 0), (3, 1), (2, 4), (9, 7)])
def test_held_is_what_writing_every_key_leaves(first, recent):
    layout = Layout(first, recent)
    slots = [-1] * layout.size
    for p in range(40):
        if recent or p < first:
            slots[layout.slot(p)] = p
            assert int(layout.slot(torch.tensor([p]))) == layout.slot(p)
        assert layout.held(torch.tensor([p])).tolist() == [slots]
    rows = torch.tensor([0, 13, 39])
    assert torch.equal(layout.held(rows), torch.cat([layout.held(row[None]) for row in rows]))


@pytest.mark.parametrize(
    "pattern",
    [Neighbourhood(rows=4, cols=5, reach=1), Axial(rows=4, cols=5), Axial(4, 5) & Strided(back=6)],
    ids=str,
)
def test_a_geometry_holds_what_can_still_be_seen(pattern):
    pattern = pattern & Causal()
    layout = layout_of(pattern, 20)
    seen = pattern.dense(20)
    assert layout.size <= pattern.keys_kept()
    for p in range(20):
        alive = {k for k in range(p + 1) if seen[p:, k].any()}
        held = set(layout.held(torch.tensor([p]))[0].tolist()) - {-1}
        assert held == alive if layout.table is not None else held >= alive


def test_how_many_slots():
    sizes = {
        Strided(back=3): 4,
        Windowed(size=6): 6,
        Causal(): 100,
        Strided(back=3) | Global(first=2) & Causal(): 6,
        Documents(lengths=(7, 90)) & Causal(): 90,
        Strided(back=300): 100,
    }
    assert {pattern: layout_of(pattern, 100).size for pattern in sizes} == sizes


def test_the_ring_is_written_in_place():
    cache = LayerCache(Strided(back=3), capacity=1000)
    step = torch.zeros(1, 1, 1, 2)
    cache.extend(step, step)
    where = cache.key.data_ptr()
    for t in range(1, 50):
        cache.extend(step + t, step)
    assert cache.key.data_ptr() == where
    assert sorted(cache.key[0, 0, :, 0].tolist()) == [46, 47, 48, 49]


def test_an_unbounded_cache_doubles():
    cache = LayerCache(Causal(), capacity=1000)
    sizes = set()
    for t in range(300):
        step = torch.full((1, 1, 1, 2), float(t))
        cache.extend(step, step)
        sizes.add(cache.key.shape[2])
    assert sizes == {64, 128, 256, 512}
    assert torch.equal(cache.key[0, 0, :300, 0], torch.arange(300.0))


def linear_plain(layer, x, segments):
    """Weights spelt out, heads one by one."""
    (B, N, _), H, G, D = x.shape, layer.heads, layer.kv_heads, layer.head_width
    q, k, v = layer.qkv(x).split([H * D, G * D, G * D], dim=-1)
    seen = Causal().dense(N)[None].expand(B, N, N)
    if segments is not None:
        seen = seen & (segments[:, :, None] == segments[:, None, :]) & (segments[:, None, :] >= 0)
    outs = []
    for h in range(H):
        g = h // (H // G)
        mine, key, value = q[..., h * D : (h + 1) * D], *(y[..., g * D : (g + 1) * D] for y in (k, v))
        if layer.rotary is not None:
            mine, key = layer.rotary.turn(mine), layer.rotary.turn(key)
        a, b = (torch.nn.functional.elu(y) + 1 for y in (mine, key))
        weights = (a @ b.mT) * seen
        outs.append(weights @ value / weights.sum(-1, keepdim=True).clamp(min=1e-30))
    return layer.out(torch.cat(outs, dim=-1))


@pytest.mark.parametrize("position", [None, Rotary()])
@pytest.mark.parametrize("padded", [False, True])
def test_linear_layers_in_value_gradient_and_steps(position, padded):
    layer = Attention(
        12, heads=6, kv_heads=2, head_width=4, pattern=LinearAttention(), position=position
    ).double()
    x = torch.randn(2, 13, 12, dtype=torch.float64, requires_grad=True)
    segments = torch.tensor([[-1] * 3 + [0] * 10, [0] * 6 + [1] * 7]) if padded else None
    out, want = layer(x, segments=segments), linear_plain(layer, x, segments)
    torch.testing.assert_close(out, want)
    inputs, tangent = [x, *layer.parameters()], torch.randn_like(out)
    for a, b in zip(
        torch.autograd.grad(out, inputs, tangent), torch.autograd.grad(want, inputs, tangent), strict=True
    ):
        torch.testing.assert_close(a, b)
    with torch.no_grad():
        for cuts in ([1] * 13, [5] + [1] * 8, [4, 6, 3]):
            cache, got, at = LinearCache(capacity=13), [], 0
            for size in cuts:
                part = None if segments is None else segments[:, at : at + size]
                got.append(layer(x[:, at : at + size], segments=part, cache=cache))
                at += size
            torch.testing.assert_close(torch.cat(got, dim=1), want)
            assert cache.nbytes == 2 * 2 * (4 * 4 + 4) * 8
            with pytest.raises(ValueError, match="linear ends at 13 positions, got 14"):
                layer(x[:, :1], segments=None if segments is None else segments[:, :1], cache=cache)
        trace = Trace()
        layer(x, segments=segments, trace=trace)
    sums = trace["weights"].sum(-1)
    torch.testing.assert_close(sums, (sums > 0).double())


def test_linear_is_a_value_that_stands_alone():
    assert parse(str(LinearAttention())) == LinearAttention()
    assert LinearAttention() != Causal()
    with pytest.raises(ValueError, match="linear stands alone"):
        Attention(12, heads=3, pattern=LinearAttention() & Strided(back=3))
    with pytest.raises(ValueError, match=r"Alibi.* adds to the scores of a softmax"):
        Attention(12, heads=3, pattern=LinearAttention(), position=Alibi())
