"""Encoder: a text read in both directions, pooled into one vector and classified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.layers import Assembly, Learned, Mixer, Position, PostNorm, Softmax, Trace
from regard.layers.initial import without_memory
from regard.layers.letters import Number, check_size
from regard.layers.position import position_shape
from regard.layers.shapes import (
    EmbeddingShape,
    MeanShape,
    ModelShape,
    PerRowShape,
    Shape,
    WeightsShape,
    added,
    classifier,
)
from regard.models.pooling import EncoderPool, Pooler, check_pool
from regard.models.trunk import (
    Trunk,
    WithTrunk,
    WithVocab,
    check_part,
    check_tokens,
    mean_pool,
)
from regard.pattern import Full, Pattern


@dataclass(frozen=True, kw_only=True)
class EncoderConfig(WithVocab, WithTrunk):
    """The shape of an Encoder; `block=PostNorm()` is BERT.

    With `pool="class"` token 0 is read by BERT's pooler (Linear, tanh), with `Pooler("relu")` by that of
    DistilBERT; "mean" takes the mean of the tokens that are no padding. `types` counts token types, 0 for
    none. `classes=None` leaves the pooled vector.
    `vocab=None` leaves the vocabulary to a tokenizer, which training sets.

    >>> EncoderConfig(vocab=50, context=16, depth=2).patterns
    (Full(), Full())
    """

    vocab: int | None
    context: int
    types: int = 0
    classes: int | None = None
    depth: int = 6
    width: int = 384
    heads: int = 6
    pattern: Pattern | Sequence[Pattern] = Full()  # noqa: RUF009 - a frozen value
    mixer: Mixer | Sequence[Mixer] = Softmax()  # noqa: RUF009 - a frozen value
    position: Position = Learned()  # noqa: RUF009 - a frozen value
    block: Assembly = PostNorm()  # noqa: RUF009 - a frozen value
    pool: EncoderPool = "class"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        self.check_vocab()
        check_size("context", self.context)
        check_size("types", self.types, 0)
        check_pool(self.pool, self.classes, (Pooler,))
        check_part("position", self.position, Position)
        self.check_trunk()

    def hidden_shapes(self) -> dict[str, Shape | None]:
        """Embedding, types, positions and blocks, up to the last hidden states."""
        width = self.width
        types = added(width, kept=False) + WeightsShape(count=self.types * width)
        return {
            "embed": EmbeddingShape(vocab=self.vocab_size, width=width),
            "types": types if self.types != 0 else None,
            "position": position_shape(self.position, self.context, width),
            **self.trunk.shapes(),
            "output_norm": self.trunk.norm if self.block.norms_output else None,
        }

    def shapes(self) -> ModelShape:
        """Hidden states, one pooled vector, a classifier."""
        parts, pooler = self.hidden_shapes(), self.pooler
        if pooler is None:
            return classifier({**parts, "mean": MeanShape(width=self.width)}, self.width, self.classes)
        pooled = {**parts, "pooler": pooler.shape(self.width)}
        return classifier(pooled, pooler.width_of(self.width), self.classes)

    @property
    def pooler(self) -> Pooler | None:
        """What reads token 0; None where all are read."""
        return self.pool if isinstance(self.pool, Pooler) else Pooler() if self.pool == "class" else None


def pooler_shape(width: Number) -> PerRowShape:
    """Linear and tanh on the class token."""
    return Pooler().shape(width)


class Encoder(Trunk):
    """A text classifier.

    >>> model = Encoder(EncoderConfig(vocab=50, context=16, classes=2, depth=2, width=32, heads=4))
    >>> tokens, segments = torch.zeros(1, 4, dtype=torch.long), torch.tensor([[0, 0, 0, -1]])
    >>> model(tokens, segments=segments).shape
    torch.Size([1, 2])
    """

    def __init__(self, config: EncoderConfig, *, generator: torch.Generator | None = None) -> None:
        device = torch.get_default_device()
        with without_memory():
            super().__init__(config.trunk)
            self.config = config
            width = config.width
            self.embed = nn.Embedding(config.vocab_size, width)
            self.types = nn.Embedding(config.types, width) if config.types else None
            self.position = config.position.build(config.context, width)
            pooler = config.pooler
            self.pooler = None if pooler is None else pooler.build(width)
            read = width if pooler is None else pooler.width_of(width)
            self.head = None if config.classes is None else nn.Linear(read, config.classes)
        self.fill(device, generator)

    def features(
        self,
        tokens: Tensor,
        *,
        segments: Tensor | None = None,
        types: Tensor | None = None,
        trace: Trace | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Map tokens (B,N) to the last hidden states (B,N,C)."""
        check_tokens("tokens", tokens)
        if segments is not None:
            check_tokens("segments", segments, tokens.shape)
        x = self.embed(tokens)
        if types is not None:
            check_tokens("types", types, tokens.shape)
            if self.types is None:
                raise ValueError("types need a config with types of at least 1, got types=0")
            x = x + self.types(types)
        elif self.types is not None:
            x = x + self.types.weight[0]
        if self.position is not None:
            x = self.position(x)
        x = self.run(x, segments=segments, trace=trace, generator=generator)
        return self.output_norm(x)

    def forward(
        self,
        tokens: Tensor,
        *,
        segments: Tensor | None = None,
        types: Tensor | None = None,
        trace: Trace | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Map tokens (B,N) to logits (B,classes), or to the pooled vector (B,C) without a head.

        `segments` (B,N) are 0 for real tokens and −1 for padding; `types` (B,N) are all 0 unless given.
        """
        x = self.features(tokens, segments=segments, types=types, trace=trace, generator=generator)
        if self.pooler is None or self.config.pooler is None:
            pooled = mean_pool(x, segments)
        else:
            pooled = self.config.pooler.apply(self.pooler(x[:, 0]))
        return pooled if self.head is None else self.head(pooled)
