"""Models of transformers as shapes, where they differ from ours: BERT, ViT, and decoders like Llama."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from regard.layers import Mixer, PreNorm, RMSNorm, Rotary, Softmax
from regard.layers.attention_shapes import AttentionShape
from regard.layers.feedforward import FeedForwardShape
from regard.layers.letters import Number
from regard.layers.shapes import (
    ClassTokenShape,
    EmbeddingShape,
    ImageShape,
    LinearShape,
    LossShape,
    ModelShape,
    MovedShape,
    NormShape,
    Shape,
    WeightsShape,
    added,
    classifier,
    function,
    tree,
)
from regard.models.encoder import EncoderConfig, pooler_shape
from regard.models.vit import ViTConfig
from regard.pattern import Causal, Pattern
from regard.sharing.sizes import pair

HEADS = ("pooler", "masked-lm", "classifier")


@dataclass(frozen=True, kw_only=True)
class BertShape(Shape):
    """BERT: the backbone with its pooler, with the masked-LM head (and no pooler), or with a classifier."""

    backbone: EncoderConfig
    head: str = "pooler"
    labels: Number = 2
    sizes: ClassVar = ("labels",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head not in HEADS:
            raise ValueError(f"head must be one of {', '.join(HEADS)}, got head={self.head!r}")

    def shapes(self) -> ModelShape:
        """Hidden states and one of three heads."""
        parts, width = self.backbone.hidden_shapes(), self.backbone.width
        if self.head == "classifier":
            return classifier({**parts, "pooler": pooler_shape(width)}, width, self.labels)
        if self.head == "pooler":
            return ModelShape(tree({**parts, "pooler": pooler_shape(width)}))
        transform = {
            "linear": LinearShape(inputs=width, outputs=width),
            "gelu": function("gelu", width),
            "norm": self.backbone.trunk.norm,
        }
        vocab = self.backbone.vocab_size
        logits = LinearShape(inputs=width, outputs=vocab, bias=False, tied=True)
        bias = WeightsShape(count=vocab) + added(vocab, kept=False)
        head = {"transform": tree(transform), "head (tied)": logits + bias, "output": MovedShape(width=vocab)}
        return ModelShape(tree({**parts, **head}))


@dataclass(frozen=True, kw_only=True)
class ViTShape(Shape):
    """ViT as transformers has it: the class token has a position too, and all tokens are normed last."""

    backbone: ViTConfig
    labels: Number | None = None  # None: the pooler, and no classifier
    sizes: ClassVar = ("labels",)

    def shapes(self) -> ImageShape:
        """Patches, positions, blocks, a norm, and the pooler or the classifier."""
        c = self.backbone
        (rows, cols), (high, wide) = c.grid, pair("patch", c.patch, 1)
        placed = added(c.width, kept=False) + WeightsShape(count=(rows * cols + 2) * c.width)
        tokens = {"position": placed, **c.trunk.shapes(), "output_norm": c.trunk.norm}
        parts: dict[str, Shape | None] = {
            "patches": LinearShape(inputs=c.channels * high * wide, outputs=c.width),
            **{name: ClassTokenShape(part) for name, part in tokens.items() if part is not None},
        }
        if self.labels is None:
            model = ModelShape(tree({**parts, "pooler": pooler_shape(c.width)}))
        else:
            model = classifier(parts, c.width, self.labels)
        return ImageShape(shape=model, size=pair("image", c.image, 1), patch=(high, wide))


@dataclass(frozen=True, kw_only=True)
class DecoderShape(Shape):
    """A Llama-style decoder: RMS norms, rotary positions, grouped heads, a gated feed-forward, no biases."""

    vocab: Number
    depth: Number
    width: Number
    heads: Number
    kv_heads: Number | None = None
    head_width: Number | None = None
    hidden: Number = 1
    pattern: Pattern = Causal()  # noqa: RUF009 - a frozen value
    mixer: Mixer = Softmax()  # noqa: RUF009 - a frozen value
    tied: bool = False
    qkv_bias: bool = False
    out_bias: bool = False
    feedforward_bias: bool = False
    head_norm: bool = False
    sizes: ClassVar = ("vocab", "depth", "width", "heads", "kv_heads", "head_width", "hidden")

    def shapes(self) -> ModelShape:
        """Embedding, blocks, logits at every position."""
        attention = AttentionShape(
            width=self.width,
            heads=self.heads,
            kv_heads=self.kv_heads,
            head_width=self.head_width,
            pattern=self.pattern,
            mixer=self.mixer,
            position=Rotary(),
            qkv_bias=self.qkv_bias,
            out_bias=self.out_bias,
            head_norm=self.head_norm,
        )
        feedforward = FeedForwardShape(
            width=self.width, hidden=self.hidden, gated=True, bias=self.feedforward_bias
        )
        head = LinearShape(inputs=self.width, outputs=self.vocab, bias=False, tied=self.tied)
        parts = {
            "embed": EmbeddingShape(vocab=self.vocab, width=self.width),
            f"blocks ×{self.depth}": PreNorm(norm=RMSNorm()).shape(attention, feedforward) * self.depth,
            "output_norm": NormShape(width=self.width, norm=RMSNorm()),
            "head (tied)" if self.tied else "head": head,
            "output": MovedShape(width=self.vocab),
        }
        return ModelShape(tree(parts), LossShape(classes=self.vocab), writes=True)
