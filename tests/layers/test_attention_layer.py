"""The attention layer against plain arithmetic, its gradient, its trace and its checks."""

import pytest
import torch

from regard.layers import Alibi, Attention, LayerNorm, Projections, RMSNorm, Rotary, Softmax, Trace
from regard.pattern import Causal, Full, Strided


def plain(layer, x, pattern, segments=None):
    """Heads one by one, with repeat for groups."""
    B, N, _ = x.shape
    H, G, D = layer.heads, layer.kv_heads, layer.head_width
    q, k, v = layer.qkv(x).split([H * D, G * D, G * D], dim=-1)
    allowed = pattern.dense(N)[None].expand(B, N, N)
    if segments is not None:
        allowed = allowed & (segments[:, :, None] == segments[:, None, :]) & (segments[:, None, :] >= 0)
    outs = []
    for h in range(H):
        g = h // (H // G)
        mine = q[..., h * D : (h + 1) * D]
        key, value = (x[..., g * D : (g + 1) * D] for x in (k, v))
        if layer.query_norm is not None:
            mine, key = layer.query_norm(mine), layer.key_norm(key)
        if layer.rotary is not None:
            mine, key = layer.rotary.turn(mine), layer.rotary.turn(key)
        scores = mine @ key.mT * (D**-0.5 if layer.mixer.scale is None else layer.mixer.scale)
        if layer.mixer.softcap is not None:
            scores = layer.mixer.softcap * (scores / layer.mixer.softcap).tanh()
        if layer.bias is not None:
            t = torch.arange(N)
            scores = scores - layer.bias.slopes[h] * (t[:, None] - t[None, :]).abs()
        weights = scores.masked_fill(~allowed, -1e30).softmax(-1) * allowed
        outs.append(weights @ value)
    return layer.out(torch.cat(outs, dim=-1))


@pytest.mark.parametrize("pattern", [Full(), Causal(), Strided(back=2)])
@pytest.mark.parametrize("position", [None, Rotary(), Alibi()])
@pytest.mark.parametrize(("heads", "kv_heads", "head_width"), [(3, None, 4), (6, 2, 2), (4, 1, 6)])
def test_equals_plain_arithmetic_in_value_and_gradient(pattern, position, heads, kv_heads, head_width):
    torch.manual_seed(0)
    layer = Attention(
        12, heads, kv_heads=kv_heads, head_width=head_width, pattern=pattern, position=position
    ).double()
    x = torch.randn(2, 7, 12, dtype=torch.float64, requires_grad=True)
    segments = torch.tensor([[0, 0, 0, 1, 1, -1, -1], [0] * 7])
    for given in (None, segments):
        out, want = layer(x, segments=given), plain(layer, x, pattern, given)
        torch.testing.assert_close(out, want)
        tangent = torch.randn_like(out)
        inputs = [x, *layer.parameters()]
        for a, b in zip(
            torch.autograd.grad(out, inputs, tangent), torch.autograd.grad(want, inputs, tangent), strict=True
        ):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize("mixer", [Softmax(), Softmax(scale=1.7), Softmax(softcap=0.8), Softmax(0.3, 0.2)])
@pytest.mark.parametrize(
    "projections",
    [
        Projections(qkv_bias=False),
        Projections(qkv_bias=True, out_bias=False, head_norm=RMSNorm()),
        Projections(qkv_bias=False, out_bias=False, head_norm=LayerNorm(eps=1e-2)),
    ],
)
@pytest.mark.parametrize("position", [Rotary(fraction=0.5), Alibi()])
def test_biases_norms_of_heads_scales_and_caps_equal_plain_arithmetic(mixer, projections, position):
    torch.manual_seed(0)
    parts = {"mixer": mixer, "projections": projections, "position": position}
    layer = Attention(12, 4, kv_heads=2, head_width=4, pattern=Strided(back=3), **parts).double()
    for weight in layer.parameters():
        torch.nn.init.normal_(weight)
    assert (layer.qkv.bias is not None, layer.out.bias is not None) == (
        projections.qkv_bias,
        projections.out_bias,
    )
    x = torch.randn(2, 9, 12, dtype=torch.float64, requires_grad=True)
    out, want = layer(x), plain(layer, x, layer.pattern)
    torch.testing.assert_close(out, want)
    inputs, tangent = [x, *layer.parameters()], torch.randn_like(out)
    found, right = (torch.autograd.grad(y, inputs, tangent) for y in (out, want))
    torch.testing.assert_close(found, right)
    # One by one through a cache, as all at once.
    cache = layer.mixer.cache(layer.pattern, 9)
    steps = [layer(x[:, i : i + 1], cache=cache) for i in range(9)]
    torch.testing.assert_close(torch.cat(steps, dim=1), want)


def test_trace_gives_the_weights_and_changes_nothing():
    torch.manual_seed(0)
    layer = Attention(12, heads=3, pattern=Causal())
    x, trace = torch.randn(2, 5, 12), Trace()
    assert torch.equal(layer(x), layer(x, trace=trace))
    weights = trace["weights"]
    assert weights.shape == (2, 3, 5, 5)
    assert not weights.requires_grad
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 5))
    assert (weights.triu(1) == 0).all()


def test_trace_names_and_scopes():
    trace = Trace()
    trace.inside("blocks").inside("1").record("output", torch.ones(2))
    trace.record("embedding", torch.zeros(1))
    assert list(trace) == ["blocks.1.output", "embedding"]
    assert list(trace.inside("blocks")) == ["1.output"]
    assert len(trace.inside("blocks")) == 1
    assert "blocks.1.output" in trace
    with pytest.raises(KeyError, match=r"'blocks\.2\.output'; recorded: blocks\.1\.output, embedding"):
        trace["blocks.2.output"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 10, "heads": 3}, "width=10, heads=3"),
        ({"width": 12, "heads": 4, "kv_heads": 3}, "heads=4, kv_heads=3"),
        ({"width": 12, "heads": 0}, "heads must be at least 1, got heads=0"),
        ({"width": 12, "heads": 4, "head_width": 0}, "head_width=0"),
        ({"width": 12, "heads": 4, "pattern": "causal"}, "pattern='causal'"),
    ],
)
def test_errors_name_the_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        Attention(**arguments)
