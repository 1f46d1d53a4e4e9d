"""The decoding kernels on a CPU, under TRITON_INTERPRET=1; `test_decode_fused.py` runs this file.

The interpreter multiplies bfloat16 by its bit patterns, so bfloat16 is checked on a device only.
"""

import pytest
import torch

from regard.layers import (
    Alibi,
    GeGLU,
    Gelu,
    LayerNorm,
    Learned,
    Llama3Scaling,
    Natural,
    PreNorm,
    Projections,
    RMSNorm,
    Rotary,
    Scaled,
    Sinusoidal,
    SwiGLU,
    YarnScaling,
)
from regard.layers.softmax_mixer import ENDLESS
from regard.models import Tied, Untied
from regard.models.decode import Decoder
from regard.models.decode_fused import FusedDecoder, no_fused
from regard.models.decode_int8 import Int8FusedDecoder, rounded
from regard.models.decode_store import DECODERS
from regard.pattern import Causal, Global, Prefix, Strided, Windowed
from tests.hunt import windows
from tests.models.test_decode import T, draw, lively

TANH = PreNorm(feedforward=Gelu(hidden=20, tanh=True))
BARE = Projections(qkv_bias=False, out_bias=False)
LLAMA = PreNorm(norm=RMSNorm(eps=1e-5), feedforward=SwiGLU(hidden=20), projections=BARE)
QWEN2 = PreNorm(norm=RMSNorm(), feedforward=SwiGLU(), projections=Projections(out_bias=False))
QWEN3 = PreNorm(
    norm=RMSNorm(), feedforward=SwiGLU(), projections=Projections(False, False, head_norm=RMSNorm(eps=1e-4))
)
GEGLU = PreNorm(norm=LayerNorm(eps=1e-3), feedforward=GeGLU(hidden=11, tanh=True, bias=True))
STRETCHED = Rotary(500.0, scaling=Llama3Scaling(4.0, 8))
YARN = Rotary(100.0, scaling=YarnScaling(4.0, 6))
CASES = [
    {
        "block": LLAMA,
        "position": STRETCHED,
        "heads": 4,
        "kv_heads": 2,
        "head_width": 6,
        "head": Untied(bias=False),
    },
    {"block": QWEN2, "position": Rotary(50.0), "pattern": [Strided(back=4), Causal()], "head_width": 8},
    {"block": QWEN3, "position": YARN, "heads": 4, "kv_heads": 1, "head_width": 6},
    {"block": QWEN3, "position": Learned(), "head_width": 5},
    {"block": GEGLU, "position": Sinusoidal()},
    {},
    {"pattern": [Strided(back=3), Causal()], "position": Rotary(), "head_width": 4, "head": Untied()},
    {"pattern": [Windowed(size=6), Strided(back=30)], "position": Alibi(), "block": TANH},
    {
        "pattern": Strided(back=3) | Global(first=2),
        "position": Alibi(),
        "heads": 4,
        "kv_heads": 2,
        "head_width": 6,
    },
    {"pattern": [Global(first=3), Prefix(length=4)], "position": Sinusoidal(), "head": Tied()},
    {"pattern": Strided(back=0), "position": Natural(), "heads": 6, "kv_heads": 1, "head_width": 5},
    {"position": Scaled(longest=20), "head": Untied(bias=False), "width": 15},
    {"vocab": 700, "position": Learned()},
]


def follow(model, decoder, tokens, lengths, segments=None):
    """Compare every step of the decoder with the lean one's on the same tokens."""
    return follow_two(model, Decoder(model, len(tokens), 64), model, decoder, tokens, lengths, segments)


def follow_two(of_lean, lean, model, decoder, tokens, lengths, segments=None):
    # Natural positions lift every component by up to T, and a norm then loses eps·T over the spread.
    off = 1e-4 if isinstance(model.config.position, Natural) else 1e-5
    near = 1e-4
    if lean.dtype == torch.float16:
        off, near = 1e-2, 2e-2
    prompts = [row[:n] for row, n in zip(tokens, lengths, strict=True)]
    with torch.no_grad():
        lean.fill(of_lean, prompts, segments)
        decoder.fill(model, prompts, segments)
        for t in range(T - max(lengths)):
            for one in (lean, decoder):
                one.together = None
                one.at += 1
                one.token.copy_(torch.stack([row[n + t] for row, n in zip(tokens, lengths, strict=True)]))
            want, got = lean.step(), decoder.step()
            torch.testing.assert_close(got.to(want.dtype), want, atol=near, rtol=near)
            for a, b in zip(lean.past, decoder.past, strict=True):
                torch.testing.assert_close(a.parts, b.parts, atol=off, rtol=near)
    return want


@pytest.fixture(autouse=True)
def _few_programs(monkeypatch):
    """The interpreter runs programs one by one: three with many rows rather than hundreds with one."""
    monkeypatch.setattr("regard.models.decode_fused.PROGRAMS", 3)


@pytest.mark.parametrize("fields", CASES, ids=lambda fields: str(fields)[:50])
@pytest.mark.parametrize(("many", "splits"), [(False, 1), (False, 4), (True, 2)])
def test_steps(fields, many, splits):
    model = lively(**fields)
    assert no_fused(model) is None
    decoder = FusedDecoder(model, 3, 64, many=many)
    decoder.slots = 8
    decoder.splits = dict.fromkeys(decoder.splits, splits)
    decoder.part = torch.zeros(3, decoder.groups, splits, decoder.each, decoder.wide)
    decoder.part_ml = torch.zeros(3, decoder.groups, splits, 2, decoder.each)
    logits = follow(model, decoder, draw(3, T), [16, 18, 17])
    if not many:
        best = decoder.best.argmax(1, keepdim=True)
        assert torch.equal(decoder.best_at.gather(1, best)[:, 0].long(), logits.argmax(1))
    assert not decoder.done.any()


@pytest.mark.parametrize(
    ("more", "splits"),
    [
        ({}, 1),
        ({"pattern": [Strided(back=4), Causal()]}, 3),
        ({"pattern": Strided(back=9), "position": Alibi()}, 3),
    ],
    ids=str,
)
def test_scores_by_tensor_cores(more, splits):
    """Heads that share keys, in half precision: products of sixteen rows, most of them empty."""
    model = lively(**{**CASES[0], "width": 48, "heads": 6, "head_width": 12, **more}).half()
    decoder = FusedDecoder(model, 3, 64)
    assert decoder.dot
    decoder.slots = 16
    decoder.splits = dict.fromkeys(decoder.splits, splits)
    decoder.part = torch.zeros(3, decoder.groups, splits, decoder.each, decoder.wide)
    decoder.part_ml = torch.zeros(3, decoder.groups, splits, 2, decoder.each)
    follow(model, decoder, draw(3, T), [16, 18, 17])


@pytest.mark.parametrize("fields", [{**CASES[0], "kv_heads": 4}, {"head": Tied()}], ids=["llama", "tied"])
def test_steps_over_int8_weights(fields):
    """A step is that of the rounded model, also after the weights have changed and in a larger decoder."""
    model = lively(**fields)
    decoder = Int8FusedDecoder(model, 3, 64)
    for _ in range(2):
        twin = rounded(model)
        want = follow_two(twin, Decoder(twin, 3, 64), model, decoder, draw(3, T), [16, 18, 17])
        assert not torch.equal(want, Decoder(model, 3, 64).fill(model, list(draw(3, T)), None))
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(1.1)
    larger = Int8FusedDecoder(model, 3, 128)
    larger.adopt(decoder)
    for pack, was in zip(larger.packs.values(), decoder.packs.values(), strict=True):
        assert all(map(torch.equal, pack, was))
    larger.together = decoder.together = None
    torch.testing.assert_close(larger.step(), decoder.step())


def test_segments():
    model = lively(pattern=[Causal(), Strided(back=4)])
    segments = torch.tensor([[-1] * 3 + [0] * 15, [0] * 9 + [1] * 9, [0] * 18])
    follow(model, FusedDecoder(model, 3, 64), draw(3, T), [18] * 3, segments)


def test_a_window_as_wide_as_the_room_of_the_first_call():
    """The whole recorded way, twice: a ring of eight slots is no row of eight slots."""
    model = lively(pattern=Strided(back=7), position=Rotary(), head_width=4, depth=1)
    call = {"lengths": [2], "segments": False, "grows_by": 1024, "seed": 1}
    for count in (5, 12):
        assert windows.wrong(model, "fused", {**call, "count": count, "left_after": count}) is None
    decoder = DECODERS.latest[model].decoder
    assert isinstance(decoder, FusedDecoder)
    assert decoder.capacity == ENDLESS


def test_settle_moves_on():
    from regard.attention.triton.kernels_decode import settle_kernel

    best = torch.tensor([[0.0, 3.0, 3.0, 1.0, 2.0], [5.0, 1.0, 1.0, 1.0, 6.0]])
    best_at = torch.tensor([[4, 9, 14, 15, 21], [3, 5, 11, 17, 20]], dtype=torch.int32)
    token, at, count = torch.tensor([1, 2]), torch.tensor([7, 8]), torch.tensor([5, 5])
    ended, stops = torch.tensor([0, 0], dtype=torch.int32), torch.tensor([20, 30])
    found = torch.zeros(4, 2, dtype=torch.long)
    for _ in range(2):
        settle_kernel[(2,)](
            best, best_at, token, at, ended, stops, found, count, 5, 2, 4, BLOCK=2, STOPS=2, EARLY=False
        )
    assert token.tolist() == [9, 20]
    assert at.tolist() == [9, 10]
    assert count.tolist() == [7, 7]
    assert ended.tolist() == [0, 1]
    assert found.tolist() == [[0, 0], [9, 20], [9, 20], [0, 0]]
    best[1, 0] = 9.0
    settle_kernel[(2,)](
        best, best_at, token, at, ended, stops, found, count, 5, 2, 4, BLOCK=2, STOPS=2, EARLY=False
    )
    assert token.tolist() == [9, 20]  # a row that has ended repeats its last
