"""Linear layers against the plain sum, beside softmax layers, and what a mixer cannot be combined with."""

from math import exp

import pytest
import torch

from regard.attention import Choice
from regard.layers import Alibi, Attention, LinearAttention, PreNorm, Rotary, Softmax, Stack, Trace, cycle
from regard.layers.attention_shapes import AttentionShape
from regard.layers.linear_mixer import LinearCache
from regard.pattern import Causal, Full, Strided, parse

SEGMENTS = torch.tensor([[-1] * 3 + [0] * 10, [0] * 6 + [1] * 7])
HOLES = torch.tensor([[0] * 4 + [-1] * 2 + [0] * 7, [0] * 2 + [1] * 3 + [-1] * 3 + [1] * 5])
LEFT = {None: (1.0, 1.0), "alibi": (exp(-1 / 16), exp(-1 / 256))}  # of two key heads, after one position


def linear_weights(layer, x, segments):
    """(B,H,N,N) as defined, heads one by one, and the values (B,H,N,D)."""
    (B, N, _), H, G, D = x.shape, layer.heads, layer.kv_heads, layer.head_width
    distance = torch.arange(N)[:, None] - torch.arange(N)
    q, k, v = layer.qkv(x).split([H * D, G * D, G * D], dim=-1)
    seen = layer.pattern.dense(N)[None].expand(B, N, N)
    if segments is not None:
        seen = seen & (segments[:, :, None] == segments[:, None, :]) & (segments[:, None, :] >= 0)
    weights, values = [], []
    for h in range(H):
        g = h // (H // G)
        mine, key, value = q[..., h * D : (h + 1) * D], *(y[..., g * D : (g + 1) * D] for y in (k, v))
        if layer.rotary is not None:
            mine, key = layer.rotary.turn(mine), layer.rotary.turn(key)
        a, b = (torch.nn.functional.elu(y) + 1 for y in (mine, key))
        scores = (a @ b.mT) * seen * LEFT[layer.mixer.decay][g] ** distance.clamp(min=0)
        weights.append(scores / scores.sum(-1, keepdim=True).clamp(min=1e-30))
        values.append(value)
    return torch.stack(weights, 1), torch.stack(values, 1)


@pytest.mark.parametrize(
    ("pattern", "decay"),
    [(Causal(), None), (Full(), None), (Causal(), "alibi")],
    ids=str,
)
@pytest.mark.parametrize("position", [None, Rotary()], ids=["none", "rotary"])
@pytest.mark.parametrize("segments", [None, SEGMENTS, HOLES], ids=["whole", "segments", "holes"])
def test_linear_layers_in_value_gradient_weights_and_steps(pattern, decay, position, segments):
    parts = {"pattern": pattern, "mixer": LinearAttention(decay), "position": position}
    layer = Attention(12, heads=6, kv_heads=2, head_width=4, **parts).double()
    x = torch.randn(2, 13, 12, dtype=torch.float64, requires_grad=True)
    weights, values = linear_weights(layer, x, segments)
    out, want = layer(x, segments=segments), layer.out((weights @ values).transpose(1, 2).flatten(2))
    torch.testing.assert_close(out, want)
    inputs, tangent = [x, *layer.parameters()], torch.randn_like(out)
    for a, b in zip(
        torch.autograd.grad(out, inputs, tangent, retain_graph=True),
        torch.autograd.grad(want, inputs, tangent),
        strict=True,
    ):
        torch.testing.assert_close(a, b)
    trace = Trace()
    assert torch.equal(layer(x, segments=segments, trace=trace), out)
    torch.testing.assert_close(trace["weights"], weights.detach())
    if pattern == Full():
        with pytest.raises(ValueError, match=r"decoded under Causal\(\) alone, got pattern=full"):
            layer.mixer.cache(pattern, capacity=13)
        return
    with torch.no_grad():
        for cuts in ([1] * 13, [5] + [1] * 8, [4, 6, 3]):
            cache, got, at = layer.mixer.cache(pattern, capacity=13), [], 0
            for size in cuts:
                part = None if segments is None else segments[:, at : at + size]
                got.append(layer(x[:, at : at + size], segments=part, cache=cache))
                at += size
            torch.testing.assert_close(torch.cat(got, dim=1), want)
            assert cache.nbytes == 2 * 2 * (4 * 4 + 4) * 8
            with pytest.raises(ValueError, match="linear layer ends at 13 positions, got 14"):
                layer(x[:, :1], segments=None if segments is None else segments[:, :1], cache=cache)


@pytest.mark.parametrize("decay", [None, "alibi"])
def test_steps_in_fixed_memory_equal_the_whole(decay):
    layer = Attention(12, heads=6, kv_heads=2, head_width=4, pattern=Causal(), mixer=LinearAttention(decay))
    q, k, v = torch.randn(3, 6, 9, 4), torch.randn(3, 2, 9, 4), torch.randn(3, 2, 9, 4)
    asked = {"bias": None, "segments": None, "trace": None}
    want = layer.mixer.mix(q, k, v, layer.pattern, cache=None, **asked)
    memory = layer.mixer.memory(layer.pattern, k[:, :, :0], {}, 9)
    rows, cache = torch.arange(3), memory.cache(9)
    layer.mixer.mix(q[:, :, :4], k[:, :, :4], v[:, :, :4], layer.pattern, cache=cache, **asked)
    memory.take(rows, cache)
    places = [part.data_ptr() for part in memory.parts]
    for i in range(4, 9):
        out = memory.step(q[:, :, i], k[:, :, i], v[:, :, i])
        torch.testing.assert_close(out, want[:, :, i])
    assert [part.data_ptr() for part in memory.parts] == places


def test_a_layer_that_forgets_compiles_in_one_graph():
    layer = Attention(12, heads=6, kv_heads=2, head_width=4, pattern=Causal(), mixer=LinearAttention("alibi"))
    fast, x = torch.compile(layer, fullgraph=True, backend="aot_eager"), torch.randn(2, 13, 12)
    torch.testing.assert_close(fast(x), layer(x))
    assert layer.choose(batch=2, n=13) == Choice("chunked", "plain torch in linear time: there is no GPU")


def test_segments_come_at_every_step_of_a_state_or_at_none():
    cache, step = LinearCache(capacity=7), torch.ones(3, 1, 1, 1, 2)
    cache.mix(*step)
    with pytest.raises(ValueError, match="at every step"):
        cache.mix(*step, torch.zeros(1, 1, dtype=torch.long))


def test_mixers_are_cycled_beside_patterns():
    patterns = cycle([Causal(), Causal(), Strided(back=1)], 6)
    stack = Stack(patterns, PreNorm(), width=12, heads=3, mixer=(LinearAttention(), Softmax(), Softmax()))
    mixers = [block.attention.mixer for block in stack]
    assert mixers == [LinearAttention(), Softmax(), Softmax()] * 2
    assert [type(layer).__name__ for layer in stack.cache(5).layers] == [
        "LinearCache",
        "LayerCache",
        "LayerCache",
    ] * 2
    with pytest.raises(ValueError, match=r"or a sequence of them, got \(\)"):
        cycle((), 3)


@pytest.mark.parametrize("kind", [lambda **fields: Attention(12, 3, **fields), AttentionShape])
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pattern": Strided(back=3)}, r"pattern must be Causal\(\) or Full\(\) .* got pattern=strided\(3\)"),
        ({"pattern": Causal() & Strided(back=3)}, "got pattern=causal & strided"),
        ({"position": Alibi()}, r"position=Alibi\(\) adds to the scores of a softmax"),
        ({"mixer": "linear"}, r"mixer must be Softmax\(\) or LinearAttention\(\), got mixer='linear'"),
        (
            {"mixer": LinearAttention("alibi"), "pattern": Full()},
            r"pattern must be Causal\(\) under mixer=LinearAttention\(decay='alibi'\), got pattern=full",
        ),
    ],
)
def test_what_a_linear_layer_is_not(kind, fields, message):
    width = {"width": 12} if kind is AttentionShape else {}
    with pytest.raises(ValueError, match=message):
        kind(**width, **{"mixer": LinearAttention(), **fields})


def test_decays_have_names():
    for decay in ("fast", 0.5, True):
        with pytest.raises(ValueError, match=rf"decay must be None or 'alibi', got decay={decay!r}"):
            LinearAttention(decay)
    assert [repr(LinearAttention()), repr(LinearAttention("alibi"))] == [
        "LinearAttention()",
        "LinearAttention(decay='alibi')",
    ]


def test_linear_is_no_pattern():
    for text in ("linear", "Linear()", "strided(3) | linear"):
        with pytest.raises(ValueError, match=r"linear attention is no pattern: .* mixer=LinearAttention\(\)"):
            parse(text)
    with pytest.raises(ValueError, match=r"pattern must be a regard\.pattern value"):
        Attention(12, 3, pattern=LinearAttention())
