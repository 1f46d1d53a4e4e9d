"""A tree of shapes is priced by one rule per kind, whoever wrote it down."""

from dataclasses import dataclass, fields, is_dataclass, replace

import pytest
import torch
from torch import nn

from regard import layers
from regard.cost import AttentionShape, FeedForwardShape, executed, price
from regard.cost.tree import RULES
from regard.layers import PreNorm, attention_shapes, image_shapes, recurrent_shapes, shapes
from regard.layers.letters import check_size, is_letter, letter, size
from regard.layers.shapes import (
    EmbeddingShape,
    FrozenShape,
    HasShapes,
    LinearShape,
    LossShape,
    ModelShape,
    NormShape,
    PerRowShape,
    RepeatedShape,
    Shape,
    tree,
)
from regard.models import GPTConfig, GridRNNConfig, MLPConfig
from regard.models.huggingface.shapes import DecoderShape
from regard.models.presets import PRESETS, preset
from regard.pattern import Causal
from tests.cost.agreeing import FORWARD, MATRIX, counts, tokens


@dataclass(frozen=True, kw_only=True)
class StrangerConfig:
    """A model that this package does not know, described where it is written."""

    vocab: int = 30
    width: int = 12

    def shapes(self) -> ModelShape:
        attention = AttentionShape(width=self.width, heads=3, pattern=Causal())
        block = PreNorm().shape(attention, FeedForwardShape(width=self.width))
        parts = {
            "embed": EmbeddingShape(vocab=self.vocab, width=self.width),
            "block": block,
            "norm": NormShape(width=self.width),
            "head (tied)": LinearShape(inputs=self.width, outputs=self.vocab, bias=False, tied=True),
        }
        return ModelShape(tree(parts), LossShape(classes=self.vocab), writes=True)


class Stranger(nn.Module):
    def __init__(self, config: StrangerConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab, config.width)
        self.block = layers.TransformerBlock(layers.Attention(config.width, 3, pattern=Causal()), PreNorm())
        self.norm = nn.LayerNorm(config.width)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.norm(self.block(self.embed(ids))) @ self.embed.weight.T


def test_a_new_model_needs_nothing_in_cost():
    model, ids = Stranger(StrangerConfig()), tokens(3, 7, vocab=30)
    asked = price(model, tokens=7, batch=3)
    assert counts(executed(model, ids), FORWARD) == counts(asked, FORWARD)
    assert asked.parameters == sum(weight.numel() for weight in model.parameters())
    trained = executed(lambda: model(ids).sum().backward())
    assert counts(trained, MATRIX) == counts(price(model, tokens=7, batch=3, training=True), MATRIX)
    assert price(StrangerConfig(), tokens=7, decode=True).depth == 7
    letters = price(StrangerConfig(), tokens=7).formula("n", "width")
    assert letters.macs.subs({"n": 7, "d": 12}) == price(StrangerConfig(), tokens=7).macs


def kinds() -> set[type[Shape]]:
    found = set()
    mixers = (layers.softmax_mixer, layers.linear_mixer)
    for module in (shapes, attention_shapes, *mixers, image_shapes, recurrent_shapes, layers.feedforward):
        found |= {one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Shape)}
    return found - {Shape}


def test_every_kind_has_one_rule_or_is_made_of_others():
    assert len(kinds()) > 30
    for kind in kinds():
        assert (kind in RULES) != hasattr(kind, "shapes"), kind
        assert is_dataclass(kind)
        assert set(kind.sizes) <= {field.name for field in fields(kind)}


@pytest.mark.parametrize("name", PRESETS)
def test_trees_are_values(name):
    what = preset(name)
    if isinstance(what, HasShapes):
        assert what.shapes() == what.shapes()
        assert hash(what.shapes()) == hash(what.shapes())


def test_what_learns_passes_gradients_back():
    layer = LinearShape(inputs=4, outputs=4)
    alone = price(layer, batch=2, training=True).macs
    assert alone == 3 * 32
    model = ModelShape(tree({"first": layer, "second": layer}))
    assert price(model, batch=2, training=True).macs == alone + 2 * 32  # the data need no gradient
    frozen = ModelShape(tree({"first": FrozenShape(layer), "second": layer}))
    assert price(frozen, batch=2, training=True).macs == 32 + 2 * 32


def test_the_knots_of_a_tree():
    layer = LinearShape(inputs=4, outputs=4)
    one = price(layer, tokens=3)
    assert price(layer * 5, tokens=3).parameters == 5 * one.parameters
    assert price(layer + layer, tokens=3).flops == 2 * one.flops
    assert price(layer + layer, tokens=3).parts == ()
    assert price(PerRowShape(layer), tokens=3).flops * 3 == one.flops
    attention = AttentionShape(width=4)
    assert price(attention * 2, tokens=3).depth == 2
    assert price(RepeatedShape(attention, 2, beside=True), tokens=3).depth == 1
    assert price(RepeatedShape(attention, 2, beside=True), tokens=3).pairs == 18


def test_the_course_tree_adds_up():
    from regard.course import MultiHeadedAttention

    cost = price(MultiHeadedAttention(6, 2, 3), tokens=4)
    head = cost.parts[0][1]
    assert cost.depth == head.depth == 1
    assert dict(head.parts)["mix"].pairs == cost.pairs == 3 * 16


def test_channels_of_a_cell_are_letters_too():
    for config in (GridRNNConfig(image=(4, 6), patch=2, classes=3), MLPConfig(image=4, classes=3)):
        formula = price(config).formula("channels")
        assert formula.flops.subs({"c": 5}) == price(replace(config, channels=5)).flops


def test_a_model_of_one_image_size_has_formulas_in_the_batch():
    config = GridRNNConfig(image=(4, 6), classes=3)
    assert price(config).formula().flops.subs({"B": 3}) == price(config, batch=3).flops


def test_transformers_vit_takes_its_own_image_alone():
    with pytest.raises(ValueError, match=r"images of \(224, 224\) alone, got image=\(448, 448\)"):
        price(preset("vit-b16"), image=448)


def test_an_open_vocabulary_has_no_price():
    config = GPTConfig(vocab=None, context=8)
    with pytest.raises(ValueError, match="vocab must be given: no tokenizer has decided on it yet"):
        price(config, tokens=4)
    assert price(replace(config, vocab=9), tokens=4).parameters > 0


def test_letters():
    assert size("width", 3) == 3
    assert is_letter(size("width", "d"))
    assert not is_letter(3)
    check_size("width", letter("d") + 1)
    with pytest.raises(ValueError, match="width must be at least 1, got width=0"):
        check_size("width", 0)
    with pytest.raises(ValueError, match="width must be an integer, got width='d'"):
        GPTConfig(vocab=9, context=8, width="d")
    decoder = DecoderShape(vocab=9, depth=2, width=8, heads=2, hidden="h")
    assert str(price(decoder, tokens=4).parameters) == "48*h + 696"
