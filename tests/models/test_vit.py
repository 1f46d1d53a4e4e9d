"""ViT and Encoder: shapes, padding, other image sizes, patterns, traces and configs."""

import dataclasses

import pytest
import torch

from regard.layers import LinearAttention, PreNorm, Rotary, Softmax, Trace
from regard.models import Encoder, EncoderConfig, ViT, ViTConfig, mean_pool
from regard.pattern import Axial, Blocks, Full, Global, Neighbourhood

VIT = {"image": (8, 12), "patch": (4, 2), "channels": 2, "classes": 5, "depth": 2, "width": 12, "heads": 3}
TEXT = {"vocab": 13, "context": 10, "types": 2, "classes": 4, "depth": 2, "width": 12, "heads": 3}


def images(*size):
    return torch.randn(3, 2, *size, generator=torch.Generator().manual_seed(1))


def lively(model):
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0.0, 0.4, generator=torch.Generator().manual_seed(weight.numel()))
    return model.eval()


@pytest.mark.parametrize("pool", ["class", "mean"])
def test_vit_shapes_and_trace(pool):
    model, trace = lively(ViT(ViTConfig(**VIT, pool=pool))), Trace()
    x = images(8, 12)
    assert torch.equal(model(x), model(x, trace=trace))
    tokens = 12 + (pool == "class")
    assert model.config.grid == (2, 6)
    assert model.config.tokens == tokens
    assert model(x).shape == (3, 5)
    assert model.features(x).shape == (3, tokens, 12)
    assert trace["blocks.1.attention.weights"].shape == (3, 3, tokens, tokens)
    pooled = model.features(x)[:, 0] if pool == "class" else model.features(x).mean(1)
    torch.testing.assert_close(model(x), model.head(pooled))


@pytest.mark.parametrize("mixer", [LinearAttention(), (Softmax(), LinearAttention())])
@pytest.mark.parametrize("pool", ["class", "mean"])
def test_linear_layers_see_all_pairs(mixer, pool):
    model, trace = lively(ViT(ViTConfig(**VIT, pool=pool, mixer=mixer))), Trace()
    x = images(8, 12)
    assert torch.equal(model(x), model(x, trace=trace))
    assert not model.reads_token_0
    weights = trace["blocks.1.attention.weights"]
    assert (weights > 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:3]))
    whole = lively(Encoder(EncoderConfig(**TEXT, pool=pool, mixer=mixer)))
    ids = torch.randint(13, (2, 10), generator=torch.Generator().manual_seed(0))
    short, segments = whole(ids[:, :6]), torch.tensor([[0] * 6 + [-1] * 4] * 2)
    torch.testing.assert_close(whole(ids, segments=segments), short)
    assert not torch.allclose(whole(ids), short)


def test_vit_reads_other_sizes():
    model = lively(ViT(ViTConfig(**VIT)))
    assert model(images(16, 6)).shape == (3, 5)
    flat = lively(ViT(ViTConfig(**VIT, pool="mean")))
    with torch.no_grad():
        flat.position.weight.copy_(torch.ones(12, 12) * 0.3)
        small = flat.features(torch.ones(1, 2, 8, 12))
        large = flat.features(torch.ones(1, 2, 16, 24))
    # Equal patches at equal positions stay equal, however many there are.
    torch.testing.assert_close(small[:, 0], large[:, 37])
    assert large.shape == (1, 48, 12)
    with pytest.raises(ValueError, match=r"\(4, 2\) must tile the images, got \(8, 11\)"):
        model(images(8, 11))


def test_vit_patches_that_are_padding_count_for_nothing():
    for pool in ("class", "mean"):
        model = lively(ViT(ViTConfig(**VIT, pool=pool)))
        segments = torch.zeros(3, 12, dtype=torch.long)
        segments[:, 6:] = -1  # the lower row of patches
        a, b = images(8, 12), images(8, 12)
        b[:, :, 4:] = 9.0
        torch.testing.assert_close(model(a, segments=segments), model(b, segments=segments))
        assert not torch.allclose(model(a), model(b))


def test_grid_patterns_fit_patches_alone():
    pattern = (Neighbourhood(rows=2, cols=6, reach=1), Axial(rows=2, cols=6))
    model, trace = lively(ViT(ViTConfig(**VIT, pool="mean", pattern=pattern))), Trace()
    model(images(8, 12), trace=trace)
    for i in (0, 1):
        seen = trace[f"blocks.{i}.attention.weights"][0, 0] > 0
        assert torch.equal(seen, pattern[i].dense(12))
    with pytest.raises(ValueError, match="covers 12 positions, got n=13"):
        ViTConfig(**VIT, pattern=pattern)
    ViTConfig(**VIT, pattern=Blocks(size=3) | Global(first=1))


@pytest.mark.parametrize("pool", ["class", "mean"])
@pytest.mark.parametrize("block", [None, PreNorm()])
def test_encoder_ignores_padding(pool, block):
    parts = {} if block is None else {"block": block}
    model = lively(Encoder(EncoderConfig(**TEXT, pool=pool, **parts)))
    short = torch.randint(13, (1, 6), generator=torch.Generator().manual_seed(0))
    types = torch.tensor([[0, 0, 1, 1, 1, 0]])
    padded = torch.nn.functional.pad(short, (0, 4), value=7)
    segments = torch.tensor([[0] * 6 + [-1] * 4])
    got = model(padded, segments=segments, types=torch.nn.functional.pad(types, (0, 4)))
    torch.testing.assert_close(got, model(short, types=types), atol=1e-5, rtol=1e-4)
    assert got.isfinite().all()
    assert not torch.allclose(got, model(padded), atol=1e-3)
    assert not torch.allclose(model(short), model(short, types=types), atol=1e-3)
    torch.testing.assert_close(model(short), model(short, types=torch.zeros_like(short)))


def test_encoder_reads_both_ways_and_is_traced():
    model, trace = lively(Encoder(EncoderConfig(**TEXT))), Trace()
    x = torch.arange(10)[None]
    assert torch.equal(model(x), model(x, trace=trace))
    assert (trace["blocks.0.attention.weights"] > 0).all()
    bare = lively(Encoder(EncoderConfig(**{**TEXT, "classes": None})))
    assert bare(x).shape == (1, 12)
    torch.testing.assert_close(bare(x), bare.pooler(bare.features(x)[:, 0]).tanh())


def test_mean_pool():
    x = torch.tensor([[[1.0], [3.0], [8.0]], [[1.0], [3.0], [8.0]]])
    segments = torch.tensor([[0, 1, -1], [-1, -1, -1]])
    assert mean_pool(x, segments).tolist() == [[2.0], [0.0]]
    assert mean_pool(x).tolist() == [[4.0], [4.0]]


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        (ViTConfig, {"image": (8, 11)}, r"image=\(8, 11\), patch=\(4, 2\)"),
        (ViTConfig, {"patch": 0}, "patch must be at least 1, got patch=0"),
        (ViTConfig, {"pool": "max"}, "pool='max'"),
        (ViTConfig, {"classes": 0}, "classes=0"),
        (EncoderConfig, {"types": -1}, "types must be at least 0, got types=-1"),
        (EncoderConfig, {"pool": "cls"}, "pool='cls'"),
        (EncoderConfig, {"position": Rotary(), "width": 15}, "head_width=5"),
        (EncoderConfig, {"pattern": 3}, "pattern value or a sequence of them, got 3"),
    ],
)
def test_configs_are_checked_at_birth(kind, changes, message):
    with pytest.raises(ValueError, match=message):
        kind(**{**(VIT if kind is ViTConfig else TEXT), **changes})


def test_configs_are_small_frozen_values():
    for config in (ViTConfig(**VIT), EncoderConfig(**TEXT)):
        assert len(dataclasses.fields(config)) <= 13
        assert hash(config) == hash(dataclasses.replace(config, pattern=Full()))
    assert ViTConfig(**{**VIT, "image": 8}).image == (8, 8)


def test_errors_name_what_was_given():
    model = Encoder(EncoderConfig(**{**TEXT, "types": 0}))
    x = torch.zeros(1, 4, dtype=torch.long)
    with pytest.raises(ValueError, match="types=0"):
        model(x, types=x)
    with pytest.raises(ValueError, match=r"tokens must be integers \(B, N\), got \(1, 4\) torch.float32"):
        model(x.float())
    with pytest.raises(ValueError, match=r"segments must have shape \(3, 12\), got \(3, 13\)"):
        ViT(ViTConfig(**VIT))(images(8, 12), segments=torch.zeros(3, 13, dtype=torch.long))


@pytest.mark.parametrize("pool", ["class", "mean"])
def test_some_of_the_patches(pool):
    """What is read of an image are the patches that are named: as if the others were padding."""
    model, x, kept = lively(ViT(ViTConfig(**VIT, pool=pool))), images(8, 12), torch.tensor([7, 2, 11, 3])
    segments, trace = torch.full((3, 12), -1), Trace()
    segments[:, kept] = 0
    some = model(x, patches=kept, trace=trace)
    torch.testing.assert_close(some, model(x, segments=segments))
    assert trace["blocks.0.attention.weights"].shape[-1] == 4 + (pool == "class")
    torch.testing.assert_close(model(x, patches=torch.randperm(12)), model(x))
    torch.testing.assert_close(model(x, patches=kept, segments=segments), some)
    assert not torch.allclose(some, model(x))
    with pytest.raises(ValueError, match="patches needs the pattern full"):
        ViT(ViTConfig(**VIT, pool="mean", pattern=Axial(2, 6)))(x, patches=kept)
