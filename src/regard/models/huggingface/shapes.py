"""Models of transformers as shapes, where they differ from ours: BERT, ViT, and decoders like Llama."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from regard.layers import LayerNorm, Learned, Mixer, RMSNorm, Softmax
from regard.layers.attention import check_heads
from regard.layers.letters import Number, is_letter
from regard.layers.norms import Norm
from regard.layers.position import position_shape
from regard.layers.shapes import (
    ClassTokenShape,
    ElementwiseShape,
    EmbeddingShape,
    ImageShape,
    LinearShape,
    LossShape,
    MeanShape,
    ModelShape,
    MovedShape,
    NormShape,
    PerRowShape,
    PlainShape,
    Shape,
    TreeShape,
    WeightsShape,
    added,
    classifier,
    function,
    tree,
)
from regard.models.encoder import EncoderConfig, pooler_shape
from regard.models.huggingface.blocks import (
    BlockStyle,
    Experts,
    HeadSizes,
    Latent,
    attention,
    block,
    experts,
    feedforward,
    latent_attention,
)
from regard.models.huggingface.storage import Storage
from regard.models.vit import ViTConfig
from regard.pattern import Causal, Full, Pattern
from regard.sharing.sizes import pair

HEADS = ("none", "pooler", "masked-lm", "pretraining", "classifier", "token", "question")
DECODER_HEADS = ("language", "none", "sequence", "token", "question")


@dataclass(frozen=True, kw_only=True)
class BertShape(Shape):
    """BERT and its kin: the backbone, and one of HEADS on it.

    `first` is what a classifier of whole texts reads: "pooler", or "tanh" and "relu" for a Linear of its own.
    """

    backbone: EncoderConfig
    head: str = "pooler"
    labels: Number = 2
    tied: bool = True
    first: str = "pooler"
    storage: Storage | None = None
    sizes: ClassVar = ("labels",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head not in HEADS:
            raise ValueError(f"head must be one of {', '.join(HEADS)}, got head={self.head!r}")

    def shapes(self) -> ModelShape:
        """Hidden states and a head."""
        parts, width = self.backbone.hidden_shapes(), self.backbone.width
        pooler = {"pooler": pooler_shape(width)}
        if self.head in ("none", "token", "question"):
            return _headed(parts, width, self.head, self.labels)
        if self.head == "classifier":
            own = PerRowShape(LinearShape(inputs=width, outputs=width) + function(self.first, width))
            read = pooler if self.first == "pooler" else {"first": own}
            return classifier({**parts, **read}, width, self.labels)
        if self.head == "pooler":
            return ModelShape(tree({**parts, **pooler}))
        pretraining = self.head == "pretraining"
        transform = {
            "linear": LinearShape(inputs=width, outputs=width),
            "gelu": function("gelu", width),
            "norm": self.backbone.trunk.norm,
        }
        vocab = self.backbone.vocab_size
        logits = LinearShape(inputs=width, outputs=vocab, bias=False, tied=self.tied)
        bias = WeightsShape(count=vocab) + added(vocab, kept=False)
        head = {
            "transform": tree(transform),
            "head (tied)" if self.tied else "head": logits + bias,
            "next": PerRowShape(LinearShape(inputs=width, outputs=2)) if pretraining else None,
            "output": MovedShape(width=vocab),
        }
        return ModelShape(tree({**parts, **(pooler if pretraining else {}), **head}))


@dataclass(frozen=True, kw_only=True)
class ViTShape(Shape):
    """ViT as transformers has it: the class token has a position too, and all tokens are normed last.

    `unbiased` projections of queries, keys and values have no bias. DINOv2 has a vector for hidden patches,
    scales what each part adds, and its classifier reads the class token beside the mean of the others.
    """

    backbone: ViTConfig
    labels: Number | None = None  # None: the pooler, and no classifier
    pooler: Number | None = None  # its width, unless that of the model; 0: there is none
    unbiased: bool = False
    dino: bool = False
    swiglu: bool = False
    storage: Storage | None = None
    sizes: ClassVar = ("labels",)

    def shapes(self) -> ImageShape:
        """Patches, positions, blocks, a norm, and the pooler or the classifier."""
        c, width = self.backbone, self.backbone.width
        (rows, cols), (high, wide) = c.grid, pair("patch", c.patch, 1)
        placed = added(width, kept=False) + WeightsShape(count=(rows * cols + 2) * width)
        hidden = WeightsShape(count=width, read=False) if self.dino else None
        style = BlockStyle(
            norm=LayerNorm(),
            gated=self.swiglu,
            activation="silu" if self.swiglu else "gelu",
            qkv_bias=not self.unbiased,
            out_bias=True,
            feedforward_bias=True,
            turned=Fraction(0),
        )
        sizes = HeadSizes(width=width, heads=c.heads, kv_heads=c.heads, head_width=width // c.heads)
        inner = c.block.feedforward.hidden_of(width)
        mixed, fed = attention(sizes, style, Softmax(), Full()), feedforward(width, inner, style)
        one: Shape = block(width, style, mixed, fed)
        if self.dino:
            one = one + (WeightsShape(count=2 * width) + ElementwiseShape(multiplies=2 * width))
        tokens = {
            "position": placed,
            f"blocks ×{c.depth}": one * c.depth,
            "output_norm": NormShape(width=width, norm=LayerNorm()),
        }
        parts: dict[str, Shape | None] = {
            "hidden": hidden,
            "patches": LinearShape(inputs=c.channels * high * wide, outputs=width),
            **{name: ClassTokenShape(part) for name, part in tokens.items()},
        }
        return ImageShape(shape=self._headed(parts), size=pair("image", c.image, 1), patch=(high, wide))

    def _headed(self, parts: Mapping[str, Shape | None]) -> ModelShape:
        width = self.backbone.width
        if self.labels is not None and self.dino:
            return classifier({**parts, "mean": MeanShape(width=width)}, 2 * width, self.labels)
        if self.labels is not None:
            return classifier(parts, width, self.labels)
        if self.pooler == 0:
            return ModelShape(tree({**parts}))
        wide = width if self.pooler is None else self.pooler
        pooled = PerRowShape(LinearShape(inputs=width, outputs=wide) + function("tanh", wide))
        return ModelShape(tree({**parts, "pooler": pooled}))


@dataclass(frozen=True, kw_only=True)
class DecoderShape(Shape):
    """A decoder of transformers: as it stands, like Llama, with a language-model head.

    `pattern` is one for all blocks, or one for each; `sparse` says which blocks have experts. `head` is one
    of DECODER_HEADS, and `labels` are the classes of those that classify.
    """

    vocab: Number
    depth: Number
    width: Number
    heads: Number
    kv_heads: Number | None = None
    head_width: Number | None = None
    hidden: Number = 1
    pattern: Pattern | tuple[Pattern, ...] = Causal()  # noqa: RUF009 - a frozen value
    mixer: Mixer = Softmax()  # noqa: RUF009 - a frozen value
    tied: bool = False
    head_norm: bool | Norm = False
    style: BlockStyle = BlockStyle()  # noqa: RUF009 - a frozen value
    experts: Experts | None = None
    sparse: tuple[bool, ...] | None = None  # None: all, where there are experts
    latent: Latent | None = None
    learned: int | None = None  # positions in a table
    embed_scaled: bool = False
    head: str = "language"
    labels: Number = 2
    head_bias: bool = False
    head_capped: bool = False
    storage: Storage | None = None
    sizes: ClassVar = ("vocab", "depth", "width", "heads", "kv_heads", "head_width", "hidden", "labels")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head not in DECODER_HEADS:
            raise ValueError(f"head must be one of {', '.join(DECODER_HEADS)}, got head={self.head!r}")
        for name in ("pattern", "sparse"):
            given = getattr(self, name)
            if isinstance(given, tuple) and len(given) != self.depth:
                raise ValueError(f"{name} must be one or {self.depth}, got {len(given)}")

    def shapes(self) -> ModelShape:
        """Embedding, blocks, and what the head makes at every position."""
        table = None if self.learned is None else position_shape(Learned(), self.learned, self.width)
        parts = {
            "embed": EmbeddingShape(vocab=self.vocab, width=self.width),
            "scale": ElementwiseShape(multiplies=self.width) if self.embed_scaled else None,
            "position": table,
            **self._blocks(),
            "output_norm": NormShape(width=self.width, norm=self.style.norm),
        }
        if self.head != "language":
            return _headed(parts, self.width, self.head, self.labels)
        V = self.vocab
        head = LinearShape(inputs=self.width, outputs=V, bias=self.head_bias, tied=self.tied)
        capped = ElementwiseShape(multiplies=2 * V, kind="tanh", elements=V)
        ends = {
            "head (tied)" if self.tied else "head": PlainShape(head),
            "head_cap": capped if self.head_capped else None,
            "output": MovedShape(width=V),
        }
        return ModelShape(tree({**parts, **ends}), LossShape(classes=V), writes=True)

    def _blocks(self) -> dict[str, Shape | None]:
        """The blocks, those of one kind together."""
        whole = self.sparse is None and self.experts is not None
        if isinstance(self.pattern, Pattern) and self.sparse is None:
            return {f"blocks ×{self.depth}": self._block(self.pattern, whole) * self.depth}
        if is_letter(self.depth):
            raise ValueError("depth can be a letter only where all blocks are alike")
        one = self.pattern
        patterns = (one,) * self.depth if isinstance(one, Pattern) else one
        sparse = (whole,) * self.depth if self.sparse is None else self.sparse
        kinds = Counter(zip(patterns, sparse, strict=True))
        return {
            f"blocks ×{count}, {pattern}{', experts' if has else ''}": self._block(pattern, has) * count
            for (pattern, has), count in kinds.items()
        }

    def _block(self, pattern: Pattern, sparse: bool) -> TreeShape:
        w, style = self.width, self.style
        if self.latent is not None:
            mixed = latent_attention(w, self.heads, self.latent, style.qkv_bias, pattern)
        else:
            G, D = check_heads(w, self.heads, self.kv_heads, self.head_width, None)
            norm = RMSNorm() if self.head_norm is True else self.head_norm or None
            sizes = HeadSizes(width=w, heads=self.heads, kv_heads=G, head_width=D, norm=norm)
            mixed = attention(sizes, style, self.mixer, pattern)
        has = self.experts if sparse else None
        fed = feedforward(w, self.hidden, style) if has is None else experts(w, has, style)
        return block(w, style, mixed, fed)


def _headed(parts: Mapping[str, Shape | None], width: Number, head: str, labels: Number) -> ModelShape:
    """Hidden states, and one Linear on each of them: of classes, or of a first and a last word."""
    if head == "none":
        return ModelShape(tree({**parts, "output": MovedShape(width=width)}))
    outputs: Number = 2 if head == "question" else labels
    linear = PlainShape(LinearShape(inputs=width, outputs=outputs, bias=head != "sequence"))
    loss: Shape = LossShape(classes=outputs)
    loss = PerRowShape(loss) if head == "sequence" else loss
    return ModelShape(tree({**parts, "head": linear, "output": MovedShape(width=outputs)}), loss)
