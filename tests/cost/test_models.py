"""`price` equals `executed` on every model of the package."""

import pytest
import torch

from regard.cost import executed, price
from regard.layers import (
    Alibi,
    CourseBlock,
    Gelu,
    Learned,
    LinearAttention,
    Natural,
    PostNorm,
    PreNorm,
    RMSNorm,
    Rotary,
    Scaled,
    Sinusoidal,
    Softmax,
    SwiGLU,
)
from regard.models import (
    GPT,
    MLP,
    ConvNet,
    ConvNetConfig,
    Encoder,
    EncoderConfig,
    GPTConfig,
    GridCompletion,
    GridCompletionConfig,
    GridRNN,
    GridRNNConfig,
    MLPConfig,
    Tied,
    Untied,
    ViT,
    ViTConfig,
)
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
from tests.cost.agreeing import agree, counts, tokens

SEGMENTS = torch.tensor([[0, 0, 0, 1, 1, -1, -1], [0] * 7, [-1, -1, 0, 0, 0, 0, 0]])
SMALL = {"vocab": 50, "context": 16, "width": 24}


@pytest.mark.parametrize(
    "position", [Learned(), Rotary(), Alibi(), Sinusoidal(), Natural(), Scaled(longest=9)]
)
@pytest.mark.parametrize(
    "block",
    [
        PreNorm(),
        PostNorm(feedforward=Gelu(hidden=7)),
        CourseBlock(),
        PreNorm(norm=RMSNorm(), feedforward=SwiGLU()),
    ],
)
def test_gpt_by_position_and_block(position, block):
    config = GPTConfig(**SMALL, depth=1, heads=6, kv_heads=2, position=position, block=block)
    agree(GPT(config), tokens(3, 7), tokens=7, batch=3)


PATTERNS = [
    Full(),
    Strided(back=2),
    Windowed(size=3),
    Dilated(back=2, step=2),
    SparseStrided(stride=3),
    SparseFixed(stride=4, summary=1),
    Global(first=2),
    Prefix(length=3),
    Documents(lengths=(3, 4)),
    Blocks(size=2),
    RandomBlocks(size=2, per_row=1),
    ~Causal(),
    Causal() & ~Strided(back=1),
    Strided(back=1) | Global(first=1),
    (Strided(back=2), Causal(), Windowed(size=4)),
]


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("segments", [None, SEGMENTS], ids=["whole", "segments"])
def test_gpt_by_pattern(pattern, segments):
    config = GPTConfig(**SMALL, depth=3, heads=4, pattern=pattern)
    agree(GPT(config), tokens(3, 7), segments=segments, tokens=7, batch=3)


@pytest.mark.parametrize("segments", [None, SEGMENTS], ids=["whole", "segments"])
def test_linear_layers_that_decay(segments):
    model = GPT(GPTConfig(**SMALL, depth=3, heads=4, mixer=(LinearAttention("alibi"), Softmax())))
    agree(model, tokens(3, 7), segments=segments, tokens=7, batch=3)


@pytest.mark.parametrize("mixer", [LinearAttention(), (Softmax(), LinearAttention())], ids=str)
@pytest.mark.parametrize("segments", [None, SEGMENTS], ids=["whole", "segments"])
def test_linear_layers(mixer, segments):
    for kind, config in ((GPT, GPTConfig), (Encoder, EncoderConfig)):
        model = kind(config(**SMALL, depth=3, heads=4, mixer=mixer))
        agree(model, tokens(3, 7), segments=segments, tokens=7, batch=3)
    vit = ViTConfig(image=(8, 12), patch=4, classes=10, depth=2, width=24, heads=4, mixer=mixer)
    agree(ViT(vit), torch.zeros(3, 3, 8, 12), batch=3)


@pytest.mark.parametrize(
    ("heads", "kv_heads", "head_width", "head"),
    [
        (1, None, None, Tied()),
        (6, 1, 5, Untied()),
        (3, 3, 1, Untied(bias=False)),
        (4, 2, 8, Tied()),
    ],
)
@pytest.mark.parametrize(("batch", "length"), [(1, 1), (1, 2), (5, 11)])
def test_gpt_by_heads_and_size(heads, kv_heads, head_width, head, batch, length):
    config = GPTConfig(**SMALL, depth=2, heads=heads, kv_heads=kv_heads, head_width=head_width, head=head)
    agree(GPT(config), tokens(batch, length), tokens=length, batch=batch)


@pytest.mark.parametrize("pool", ["class", "mean"])
@pytest.mark.parametrize("types", [0, 2])
@pytest.mark.parametrize("segments", [None, SEGMENTS], ids=["whole", "segments"])
def test_encoder(pool, types, segments):
    config = EncoderConfig(**SMALL, classes=3, types=types, pool=pool, depth=2, heads=4)
    agree(Encoder(config), tokens(3, 7), segments=segments, tokens=7, batch=3)


def test_encoder_without_a_head():
    agree(
        Encoder(EncoderConfig(**SMALL, depth=1, heads=2, block=PreNorm(), position=Rotary())),
        tokens(2, 5),
        tokens=5,
        batch=2,
    )


@pytest.mark.parametrize(
    ("pool", "pattern"),
    [
        ("class", Full()),
        ("class", Strided(back=3)),
        ("mean", Axial(rows=2, cols=3)),
        ("mean", (Neighbourhood(rows=2, cols=3, reach=1), ~Causal())),
    ],
)
def test_vit(pool, pattern):
    config = ViTConfig(
        image=(8, 12), patch=4, classes=10, depth=2, width=24, heads=4, pool=pool, pattern=pattern
    )
    agree(ViT(config), torch.zeros(3, 3, 8, 12), batch=3)


def test_vit_on_another_image():
    model = ViT(ViTConfig(image=(8, 12), patch=(4, 2), depth=1, width=24, heads=4))
    agree(model, torch.zeros(2, 3, 16, 12), batch=2, image=(16, 12))


@pytest.mark.parametrize(("image", "widths", "kernel"), [((9, 13), (4, 8, 5), 3), ((5, 4), (3,), 1)])
def test_convnet(image, widths, kernel):
    config = ConvNetConfig(image=image, classes=10, channels=3, widths=widths, kernel=kernel)
    agree(ConvNet(config), torch.zeros(3, 3, *image), batch=3)


@pytest.mark.parametrize("widths", [(), (8,), (8, 5, 3)])
def test_mlp(widths):
    agree(MLP(MLPConfig(image=(4, 6), classes=10, widths=widths)), torch.zeros(5, 1, 4, 6), batch=5)


@pytest.mark.parametrize(
    ("image", "patch", "layers", "starts", "activation"),
    [
        ((4, 6), 2, 2, ("top-left", "top-right", "bottom-left", "bottom-right"), "tanh"),
        ((1, 6), 1, 1, ("top-left",), "relu"),
        ((5, 1), 1, 3, ("bottom-left", "top-left"), "identity"),
        ((1, 1), 1, 1, ("top-left",), "sigmoid"),
    ],
)
def test_grid_classifier(image, patch, layers, starts, activation):
    config = GridRNNConfig(
        image=image,
        patch=patch,
        channels=3,
        classes=10,
        hidden=8,
        layers=layers,
        starts=starts,
        activation=activation,
    )
    agree(GridRNN(config), torch.zeros(2, 3, *image), batch=2)


@pytest.mark.parametrize("levels", [2, 3, 4])
def test_grid_completion(levels):
    model = GridCompletion(GridCompletionConfig(levels=levels, hidden=8))
    agree(model, torch.zeros(2, 3, 4, dtype=torch.long), image=(3, 4), batch=2)


@pytest.mark.parametrize("position", [Learned(), Rotary(), Alibi(), Sinusoidal()])
@pytest.mark.parametrize(
    "pattern",
    [
        Causal(),
        Strided(back=2),
        Windowed(size=3),
        Global(first=1) | Strided(back=1),
        LinearAttention(),
        LinearAttention("alibi"),
    ],
    ids=str,
)
def test_decoding_one_token_after_another(pattern, position):
    linear = isinstance(pattern, LinearAttention)
    if linear and isinstance(position, Alibi):
        pytest.skip("linear attention has no scores to bias")
    mixed = {"mixer": (pattern, Softmax())} if linear else {"pattern": pattern}
    model = GPT(GPTConfig(**SMALL, depth=2, heads=6, kv_heads=2, position=position, **mixed))
    ids, cache = tokens(3, 7), model.cache(7)

    @torch.no_grad()
    def decode() -> None:
        for i in range(7):
            model(ids[:, i : i + 1], cache=cache)

    ran, asked = executed(decode), price(model, tokens=7, batch=3, decode=True)
    names = ("multiplies", "adds", "pairs")
    assert ran.uncounted == {}
    assert counts(ran, names) == counts(asked, names)
    assert cache.nbytes == asked.cache_bytes
    assert asked.depth == 7 * 2


def test_the_test_can_fail():
    model = GPT(GPTConfig(**SMALL, depth=1, heads=4))
    with pytest.raises(AssertionError):
        agree(model, tokens(3, 7), tokens=6, batch=3)
