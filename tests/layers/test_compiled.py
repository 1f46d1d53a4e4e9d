"""torch.compile in one graph, for training and inference, of any pattern and of changing lengths."""

import shutil

import pytest
import torch

from regard.attention import attend
from regard.attention.inputs import problem_of
from regard.attention.operation import run_compiled
from regard.layers import Alibi, Attention, CourseBlock, PostNorm, PreNorm, RMSNorm, Rotary, SwiGLU
from regard.models import GPT, Encoder, EncoderConfig, GPTConfig, ViT, ViTConfig
from regard.pattern import Causal, Full, Global, Neighbourhood, SparseStrided, Strided

SMALL = {"depth": 1, "width": 16, "heads": 4}
LLAMA = {"block": PreNorm(norm=RMSNorm(), feedforward=SwiGLU()), "position": Rotary(), "kv_heads": 2}
SEGMENTS = torch.tensor([[0] * 17, [0] * 9 + [1] * 5 + [-1] * 3])


@pytest.fixture(autouse=True)
def _fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def gpt(**parts):
    return GPT(GPTConfig(vocab=13, context=700, **SMALL, **parts))


def tokens(T=17):
    return torch.randint(13, (2, T), generator=torch.Generator().manual_seed(T))


def images():
    return torch.randn(2, 3, 8, 12, generator=torch.Generator().manual_seed(1))


GRID = Neighbourhood(rows=4, cols=6, reach=1)
CASES = {
    "gpt": (gpt, tokens, {}),
    "gpt packed": (lambda: gpt(pattern=Strided(back=3)), tokens, {"segments": SEGMENTS}),
    "gpt alibi": (lambda: gpt(position=Alibi(), pattern=Strided(back=5) | Global(first=2)), tokens, {}),
    "gpt grouped": (lambda: gpt(**LLAMA), tokens, {}),
    "vit": (lambda: ViT(ViTConfig(image=(8, 12), patch=4, classes=5, **SMALL)), images, {}),
    "vit after norms": (
        lambda: ViT(ViTConfig(image=(8, 12), patch=4, classes=5, block=PostNorm(), **SMALL)),
        images,
        {},
    ),
    "vit of the course": (
        lambda: ViT(ViTConfig(image=(8, 12), patch=4, classes=5, block=CourseBlock(), **SMALL)),
        images,
        {},
    ),
    "vit resized": (lambda: ViT(ViTConfig(image=(16, 4), patch=4, classes=5, **SMALL)), images, {}),
    "vit grid": (
        lambda: ViT(ViTConfig(image=(8, 12), patch=2, pool="mean", **SMALL, pattern=GRID)),
        images,
        {},
    ),
    "encoder": (
        lambda: Encoder(EncoderConfig(vocab=13, context=20, classes=3, types=2, **SMALL)),
        tokens,
        {"segments": SEGMENTS},
    ),
}


def agree(model, x, backend, **arguments):
    """One graph gives the eager outputs and gradients, and the outputs again without gradients."""
    fast = torch.compile(model, fullgraph=True, backend=backend)
    want, got = model(x, **arguments), fast(x, **arguments)
    torch.testing.assert_close(got, want)
    tangent, weights = torch.randn_like(want), list(model.parameters())
    theirs = torch.autograd.grad(want, weights, tangent, allow_unused=True)
    mine = torch.autograd.grad(got, weights, tangent, allow_unused=True)
    for a, b in zip(mine, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(fast(x, **arguments), want)


@pytest.mark.parametrize("name", CASES)
def test_models_compile_in_one_graph(name):
    make, inputs, arguments = CASES[name]
    agree(make(), inputs(), "aot_eager", **arguments)


@pytest.mark.parametrize("pattern", [Strided(back=40), SparseStrided(stride=64)])
def test_long_inputs_whose_work_is_planned(pattern):
    agree(gpt(pattern=pattern), tokens(600), "aot_eager")


@pytest.mark.parametrize("pattern", [Causal(), Strided(back=3)])
def test_lengths_may_change(pattern):
    model = gpt(pattern=pattern)
    fast = torch.compile(model, fullgraph=True, backend="aot_eager")
    for T in (17, 18, 23, 5):
        torch.testing.assert_close(fast(tokens(T)), model(tokens(T)))


@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler")
@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # torch's own import of inductor
def test_inductor_compiles_training_and_inference():
    agree(Attention(16, heads=4, pattern=Strided(back=3)), torch.randn(2, 17, 16), "inductor")


@pytest.mark.parametrize("pattern", [Full(), Causal(), Strided(back=2), ~Strided(back=1)])
@pytest.mark.parametrize("bias", [None, Alibi().bias(4)])
@pytest.mark.parametrize("segments", [None, SEGMENTS])
def test_the_compilers_path_is_attend(pattern, bias, segments):
    q, k, v = (torch.randn(2, heads, 17, 6, dtype=torch.float64, requires_grad=True) for heads in (4, 2, 2))
    got = run_compiled(problem_of(q, k, v, pattern, bias=bias, segments=segments), "auto").out
    want = attend(q, k, v, pattern, bias=bias, segments=segments, impl="reference")
    torch.testing.assert_close(got, want)
    tangent = torch.randn_like(want)
    for a, b in zip(
        torch.autograd.grad(got, (q, k, v), tangent),
        torch.autograd.grad(want, (q, k, v), tangent),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


def test_the_operation_keeps_torchs_rules():
    q, k, v = (torch.randn(2, heads, 17, 6, requires_grad=True) for heads in (4, 2, 2))
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.1], requires_grad=True)
    beside = (None, slopes, SEGMENTS, SEGMENTS, None, None, torch.tensor([7]))
    arguments = (q, k, v, *beside, [], "strided(3)", 0.4, 2.0, 0.1, True, "auto")
    torch.library.opcheck(torch.ops.regard.attend.default, arguments)
