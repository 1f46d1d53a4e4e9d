"""`price` equals `executed`, and counts every weight, for the parts that other families are made of."""

import pytest
import torch

from regard.layers import (
    DynamicScaling,
    GeGLU,
    Gelu,
    LayerNorm,
    LayerScale,
    LinearScaling,
    Llama3Scaling,
    Parallel,
    PostNorm,
    PreNorm,
    Projections,
    RMSNorm,
    Rotary,
    Softmax,
    SwiGLU,
    YarnScaling,
    ZeroCentredRMSNorm,
)
from regard.models import GPT, Encoder, EncoderConfig, GPTConfig, Tied, Untied, ViT, ViTConfig
from regard.models.pooling import ClassAndMean, Distilled, Pooler
from regard.pattern import Causal, Strided
from tests.cost.agreeing import agree, tokens

SMALL = {"vocab": 50, "context": 16, "width": 24, "depth": 2, "heads": 4}
NORM = ZeroCentredRMSNorm()
BLOCKS = [
    PreNorm(projections=Projections(qkv_bias=False, out_bias=False)),
    PreNorm(RMSNorm(), SwiGLU(bias=True), Projections(out_bias=False)),
    PreNorm(RMSNorm(), SwiGLU(hidden=7), Projections(False, False, RMSNorm())),
    PreNorm(NORM, GeGLU(hidden=10, tanh=True), Projections(False, False, NORM), after=NORM),
    PreNorm(LayerNorm(), GeGLU(bias=True), Projections(head_norm=LayerNorm()), after=LayerScale(0.5)),
    PostNorm(feedforward=Gelu(bias=False), after=RMSNorm()),
    Parallel(),
    Parallel(RMSNorm(), Gelu(bias=False), after=LayerScale()),
]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_blocks(block):
    for position in (Rotary(), Rotary(fraction=0.5)):
        config = GPTConfig(**SMALL, kv_heads=2, head_width=10, position=position, block=block)
        agree(GPT(config), tokens(3, 7), tokens=7, batch=3)
    agree(Encoder(EncoderConfig(**SMALL, block=block)), tokens(3, 7), tokens=7, batch=3)


@pytest.mark.parametrize(
    "scaling",
    [LinearScaling(2.0), DynamicScaling(2.0, 5), Llama3Scaling(8.0, 6), YarnScaling(4.0, 5)],
    ids=str,
)
def test_rotary_scalings(scaling):
    config = GPTConfig(**SMALL, position=Rotary(scaling=scaling))
    agree(GPT(config), tokens(3, 7), tokens=7, batch=3)


@pytest.mark.parametrize(
    "changes",
    [
        {"mixer": Softmax(scale=0.3)},
        {"mixer": Softmax(scale=1.0)},
        {"mixer": Softmax(softcap=5.0)},
        {"mixer": Softmax(scale=0.3, softcap=5.0), "pattern": [Strided(back=2), Causal()]},
        {"head": Tied(embed_scale=24**0.5, softcap=3.0)},
        {"head": Untied(bias=False, softcap=3.0)},
        {"position": [Rotary(), Rotary(base=500.0)], "pattern": [Strided(back=2), Causal()]},
    ],
    ids=str,
)
def test_scores_and_ends(changes):
    config = GPTConfig(**{**SMALL, "position": Rotary(), **changes})
    agree(GPT(config), tokens(3, 7), tokens=7, batch=3)


@pytest.mark.parametrize("classes", [None, 5])
@pytest.mark.parametrize(
    "pool", [Pooler("relu"), Pooler("tanh", 9), ClassAndMean(), Distilled(), Distilled(heads=2)], ids=str
)
def test_pools(pool, classes):
    if pool == Distilled(heads=2) and classes is None:
        pytest.skip("two heads need classes")
    block = PreNorm(projections=Projections(qkv_bias=False), after=LayerScale())
    config = ViTConfig(
        image=(8, 12), patch=4, classes=classes, depth=2, width=24, heads=4, pool=pool, block=block
    )
    agree(ViT(config), torch.zeros(3, 3, 8, 12), batch=3)
    if isinstance(pool, Pooler):
        agree(Encoder(EncoderConfig(**SMALL, classes=classes, pool=pool)), tokens(3, 7), tokens=7, batch=3)
