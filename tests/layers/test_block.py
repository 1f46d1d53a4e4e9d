"""Blocks against their formulas; feed-forwards, norms, patches, dropout and first weights."""

import pytest
import torch
from torch import nn

from regard.layers import (
    Attention,
    CourseBlock,
    GeGLU,
    Gelu,
    LayerNorm,
    LayerScale,
    Parallel,
    PatchProjection,
    PostNorm,
    PreNorm,
    RMSNorm,
    Stack,
    SwiGLU,
    TransformerBlock,
    ZeroCentredRMSNorm,
    cycle,
    drop,
    initialise,
)
from regard.pattern import Causal, Strided


@pytest.fixture
def x():
    return torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("feedforward", [Gelu(hidden=7), Gelu(tanh=True), SwiGLU(hidden=5)])
@pytest.mark.parametrize("norm", [LayerNorm(), RMSNorm()])
def test_the_three_assemblies(x, norm, feedforward):
    def block(kind):
        out = TransformerBlock(Attention(12, heads=3), kind(norm=norm, feedforward=feedforward))
        for part in (out.attention_norm, out.feedforward_norm):
            if not isinstance(part, nn.Identity):
                nn.init.normal_(part.weight)
        return out

    b = block(PreNorm)
    y = x + b.attention(b.attention_norm(x))
    torch.testing.assert_close(b(x), y + b.feedforward(b.feedforward_norm(y)))
    b = block(PostNorm)
    y = b.attention_norm(x + b.attention(x))
    torch.testing.assert_close(b(x), b.feedforward_norm(y + b.feedforward(y)))
    b = block(CourseBlock)
    y = x + b.attention(x)
    torch.testing.assert_close(b(x), y + b.feedforward(b.feedforward_norm(y)))
    assert not any(name.startswith("attention_norm") for name, _ in b.named_parameters())


@pytest.mark.parametrize("after", [None, LayerScale(initial=0.3), RMSNorm(), ZeroCentredRMSNorm()])
@pytest.mark.parametrize("kind", [PreNorm, PostNorm, Parallel, CourseBlock])
def test_what_a_branch_passes_before_it_is_added(x, kind, after):
    b = TransformerBlock(Attention(12, heads=3), kind(after=after))
    for name, weight in b.named_parameters():
        if "after" in name or "norm" in name:
            nn.init.normal_(weight)

    def attention(y):
        return b.attention_after(b.attention(y))

    def feedforward(y):
        return b.feedforward_after(b.feedforward(y))

    if kind is Parallel:
        want = x + attention(b.attention_norm(x)) + feedforward(b.feedforward_norm(x))
    elif kind is PostNorm:
        y = b.attention_norm(x + attention(x))
        want = b.feedforward_norm(y + feedforward(y))
    else:
        y = x + attention(x if kind is CourseBlock else b.attention_norm(x))
        want = y + feedforward(b.feedforward_norm(y))
    torch.testing.assert_close(b(x), want)
    assert any("after" in name for name, _ in b.named_parameters()) == (after is not None)


def test_a_scale_and_a_norm_around_one(x):
    scale = LayerScale(initial=0.25).build(12)
    torch.testing.assert_close(scale(x), x * 0.25)
    norm = ZeroCentredRMSNorm(eps=1e-3).build(12)
    nn.init.normal_(norm.weight)
    want = x / (x.square().mean(-1, keepdim=True) + 1e-3).sqrt() * (1 + norm.weight)
    torch.testing.assert_close(norm(x), want)
    assert norm(x.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize("tanh", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_gelu_as_a_gate(x, tanh, bias):
    f = GeGLU(hidden=5, tanh=tanh, bias=bias).build(12)
    gate, up = f.gate_up(x).split(5, dim=-1)
    bent = nn.functional.gelu(gate, approximate="tanh" if tanh else "none")
    torch.testing.assert_close(f(x), f.down(bent * up))
    assert all((layer.bias is not None) == bias for layer in (f.gate_up, f.down))


def test_feedforwards(x):
    f = Gelu(hidden=7, tanh=True).build(12)
    want = f.down(nn.functional.gelu(f.up(x), approximate="tanh"))
    torch.testing.assert_close(f(x), want)
    assert not torch.equal(want, f.down(nn.functional.gelu(f.up(x))))
    f = SwiGLU(hidden=5).build(12)
    gate, up = f.gate_up.weight.split(5)
    torch.testing.assert_close(f(x), (nn.functional.silu(x @ gate.T) * (x @ up.T)) @ f.down.weight.T)
    assert [SwiGLU().hidden_of(width) for width in (3, 24, 25, 384)] == [8, 64, 72, 1024]
    with pytest.raises(ValueError, match="hidden must be at least 1, got hidden=0"):
        Gelu(hidden=0)


@pytest.mark.parametrize(("patch", "size"), [((2, 3), (4, 9)), ((1, 1), (3, 2)), ((4, 2), (4, 2))])
def test_patches_are_a_strided_convolution(patch, size):
    torch.manual_seed(0)
    embed = PatchProjection(3, 5, patch).double()
    nn.init.normal_(embed.bias)
    images = torch.randn(2, 3, *size, dtype=torch.float64, requires_grad=True)
    want = nn.functional.conv2d(images, embed.weight, embed.bias, stride=patch).flatten(2).mT
    got = embed(images)
    torch.testing.assert_close(got, want)
    tangent = torch.randn_like(got)
    inputs = (images, embed.weight, embed.bias)
    for a, b in zip(
        torch.autograd.grad(got, inputs, tangent), torch.autograd.grad(want, inputs, tangent), strict=True
    ):
        torch.testing.assert_close(a, b)


def test_patches_must_tile_the_image():
    with pytest.raises(ValueError, match=r"\(4, 2\) must tile the images, got \(8, 5\)"):
        PatchProjection(3, 5, (4, 2))(torch.zeros(1, 3, 8, 5))
    with pytest.raises(ValueError, match=r"\(B, 3, rows, cols\), got \(1, 1, 8, 4\)"):
        PatchProjection(3, 5, (4, 2))(torch.zeros(1, 1, 8, 4))


def test_dropout_follows_its_generator(x):
    a, b = (drop(x, 0.25, torch.Generator().manual_seed(5)) for _ in range(2))
    assert torch.equal(a, b)
    kept = a != 0
    torch.testing.assert_close(a[kept], x[kept] / 0.75)
    many = drop(torch.ones(20_000), 0.25, torch.Generator().manual_seed(5))
    assert (many == 0).float().mean() == pytest.approx(0.25, abs=0.02)
    assert drop(x, 0.0) is x


def test_blocks_drop_in_training_alone(x):
    block = TransformerBlock(Attention(12, heads=3), PreNorm(), dropout=0.5)
    assert not torch.equal(block(x), block(x))
    assert torch.equal(*(block(x, generator=torch.Generator().manual_seed(1)) for _ in range(2)))
    block.eval()
    assert torch.equal(block(x), block(x))
    with pytest.raises(ValueError, match="below 1, got dropout=1"):
        TransformerBlock(Attention(12, heads=3), PreNorm(), dropout=1)


def test_patterns_are_cycled_and_applied(x):
    stack = Stack(cycle([Strided(back=0), Causal()], 3), PreNorm(), width=12, heads=3)
    assert [block.attention.pattern for block in stack] == [Strided(back=0), Causal(), Strided(back=0)]
    with pytest.raises(ValueError, match=r"got \(\)"):
        cycle((), 3)
    with pytest.raises(ValueError, match="got 'causal'"):
        cycle("causal", 3)


def test_initialise_sets_every_parameter():
    stack = Stack([Causal()] * 8, PreNorm(norm=RMSNorm()), width=96, heads=3)
    for weight in stack.parameters():
        nn.init.constant_(weight, torch.nan)
    initialise(stack, depth=8, generator=torch.Generator().manual_seed(0))
    named = dict(stack.named_parameters())
    assert not any(weight.isnan().any() for weight in named.values())
    assert named["0.attention.qkv.weight"].std().item() == pytest.approx(0.02, rel=0.05)
    assert named["0.attention.out.weight"].std().item() == pytest.approx(0.02 / 4, rel=0.05)
    assert named["7.feedforward.down.weight"].std().item() == pytest.approx(0.02 / 4, rel=0.05)
    assert (named["0.attention.qkv.bias"] == 0).all()
    assert (named["0.attention_norm.weight"] == 1).all()
