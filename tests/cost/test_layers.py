"""`price` equals `executed` on every layer, the course's modules, and the lectures' attention."""

import pytest
import torch
from torch import nn

from regard import course
from regard.attention import pooled_attend, self_attend
from regard.cost import LossShape, PooledAttentionShape, WeightlessShape, executed, price
from regard.layers import (
    RNN,
    Attention,
    FeedForward,
    GatedFeedForward,
    GridRNNStack,
    GridScan,
    LinearAttention,
    PatchProjection,
    PostNorm,
    Rotary,
    SequenceScan,
    TransformerBlock,
)
from regard.pattern import Causal
from regard.sharing import LocallyConnected1d, LocallyConnected2d
from tests.cost.agreeing import FORWARD, MATRIX, agree, counts, leaf, tokens

SEQUENCE = {"tokens": 7, "batch": 3}
LAYERS = {
    "attention": lambda: Attention(24, heads=6, kv_heads=3, pattern=Causal(), position=Rotary()),
    "linear attention": lambda: Attention(24, heads=4, kv_heads=2, pattern=Causal(), mixer=LinearAttention()),
    "fading": lambda: Attention(24, heads=4, kv_heads=2, pattern=Causal(), mixer=LinearAttention("alibi")),
    "both ways": lambda: Attention(24, heads=4, kv_heads=2, mixer=LinearAttention()),
    "block": lambda: TransformerBlock(Attention(24, heads=6), PostNorm()),
    "feedforward": lambda: FeedForward(24, 10),
    "gated": lambda: GatedFeedForward(24, 10),
    "rnn": lambda: RNN(24, 8, layers=3),
    "rnn sigmoid": lambda: RNN(24, 8, layers=2, activation="sigmoid", bias=False),
    "rnn relu": lambda: SequenceScan(24, 5, "relu", True),
    "linear": lambda: nn.Linear(24, 5, bias=False),
    "layer norm": lambda: nn.LayerNorm(24),
    "rms norm": lambda: nn.RMSNorm(24),
    "head": lambda: course.AttentionHead(24, 5),
    "heads": lambda: course.MultiHeadedAttention(24, 1, 3),
    "ffn": lambda: course.FFN(24, 5),
    "transformer": lambda: course.Transformer(24, 5, 11, 3, 2),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_sequences(name):
    agree(LAYERS[name](), leaf(3, 7, 24), **SEQUENCE)


@pytest.mark.parametrize(
    ("mask", "pairs"),
    [(None, 49), (Causal(), 28), (torch.ones(7, 7).tril(-1), 21), (torch.eye(7).expand(3, 7, 7), 7)],
    ids=["none", "causal", "empty row", "batched"],
)
def test_the_course_counts_what_its_mask_allows(mask, pairs):
    ran = executed(course.AttentionHead(24, 5), leaf(3, 7, 24), mask)
    assert ran.pairs == 3 * pairs
    assert ran.computed_pairs == 3 * 49


GRIDS = {
    "grid": (lambda: GridRNNStack(3, 8, layers=2, starts=("top-left", "bottom-right")), (5, 4, 6, 3), (4, 6)),
    "scan": (lambda: GridScan(3, 8, "top-right", "tanh", True), (2, 1, 6, 3), (1, 6)),
    "patches": (lambda: PatchProjection(3, 8, (4, 2)), (5, 3, 8, 6), (8, 6)),
    "conv": (lambda: nn.Conv2d(2, 3, (3, 2), 2, 1), (4, 2, 5, 7), (5, 7)),
    "conv, no bias": (lambda: nn.Conv2d(2, 3, 3, bias=False), (4, 2, 5, 7), (5, 7)),
    "local": (lambda: LocallyConnected2d(2, 3, (5, 7), (2, 3), 2, 1), (4, 2, 5, 7), (5, 7)),
}


@pytest.mark.parametrize("name", GRIDS)
def test_layers_of_grids(name):
    make, shape, image = GRIDS[name]
    agree(make(), leaf(*shape), image=image, batch=shape[0])


@pytest.mark.parametrize("make", [lambda: nn.Conv1d(2, 3, 3, 2, 1), lambda: LocallyConnected1d(2, 3, 9, 3)])
def test_convolutions_of_sequences(make):
    agree(make(), leaf(4, 2, 9), tokens=9, batch=4)


def test_embedding():
    agree(nn.Embedding(50, 6), tokens(3, 7), **SEQUENCE)


def test_course_models():
    sizes = {"dim": 8, "attn_dim": 4, "mlp_dim": 16, "num_heads": 2, "num_layers": 2}
    agree(course.VisionTransformer(3, 10, 32, 8, **sizes), torch.zeros(2, 3, 32, 32), batch=2)
    agree(course.DialogueGPT(vocab_size=50, max_N=8, **sizes), tokens(3, 7), **SEQUENCE)
    agree(course.PatchEmbed(8, 4, 3, 5), torch.zeros(2, 3, 8, 8), batch=2)


W = [leaf(5, 24), leaf(5, 24), leaf(6, 24)]
FUNCTIONS = {
    "weightless": (self_attend, WeightlessShape(width=24)),
    "scaled": (lambda x: self_attend(x, 0.5), WeightlessShape(width=24, scale=0.5)),
    "pooled": (
        lambda x: pooled_attend(x, *W),
        PooledAttentionShape(width=24, head_width=5, value_width=6),
    ),
    "pooled, plain": (
        lambda x: pooled_attend(x, *W, arrangement="plain"),
        PooledAttentionShape(width=24, head_width=5, value_width=6, arrangement="plain"),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_shapes_of_functions(name):
    function, shape = FUNCTIONS[name]
    x = leaf(3, 7, 24)
    ran = executed(function, x)
    assert ran.uncounted == {}
    assert counts(ran, FORWARD) == counts(price(shape, **SEQUENCE), FORWARD)
    ran = executed(lambda: function(x).sum().backward())
    assert counts(ran, MATRIX) == counts(price(shape, **SEQUENCE, training=True), MATRIX)


def test_losses():
    logits, ids = leaf(3, 7, 50), tokens(3, 7)
    mask = torch.ones(3, 7)
    ran = executed(nn.functional.cross_entropy, logits.flatten(0, 1), ids.flatten())
    asked = price(LossShape(classes=50), **SEQUENCE)
    assert ran.other == asked.other == {"loss": 3 * 7 * 50}
    ran = executed(course.DialogueLoss(), logits, ids, mask)
    assert ran.other == {"loss": 3 * 6 * 50}
    assert ran.flops == 0
