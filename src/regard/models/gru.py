"""The recurrent baseline: words embedded, read by GRUs from both ends, classified."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.layers import drop
from regard.layers.initial import without_memory
from regard.layers.letters import check_size
from regard.layers.shapes import EmbeddingShape, ModelShape
from regard.models.gru_reader import WithReader, fill
from regard.models.trunk import WithVocab, check_tokens


@dataclass(frozen=True, kw_only=True)
class GRUConfig(WithVocab, WithReader):
    """The shape of a GRUClassifier; `context` is how much of a text training reads, the model reads any.

    `vocab=None` leaves the vocabulary to a tokenizer, which training sets.

    >>> GRUConfig(vocab=50, context=16, hidden=8).bidirectional
    True
    """

    vocab: int | None
    context: int
    classes: int = 2
    width: int = 128
    hidden: int = 128
    layers: int = 1
    bidirectional: bool = True
    dropout: float = 0.0

    def __post_init__(self) -> None:
        self.check_vocab()
        check_size("context", self.context)
        check_size("width", self.width)
        self.check_reader()

    def shapes(self) -> ModelShape:
        """Embedding, GRUs, a classifier of their last states."""
        embed = EmbeddingShape(vocab=self.vocab_size, width=self.width)
        return self.read({"embed": embed}, self.width)


class GRUClassifier(nn.Module):
    """A text classifier without attention.

    >>> model = GRUClassifier(GRUConfig(vocab=50, context=16, classes=3, width=8, hidden=4))
    >>> model(torch.zeros(2, 7, dtype=torch.long)).shape
    torch.Size([2, 3])
    """

    def __init__(self, config: GRUConfig, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config, self.dropout = config, config.dropout
        device = torch.get_default_device()
        with without_memory():
            self.embed = nn.Embedding(config.vocab_size, config.width)
            self.reader = config.reader(config.width)
            self.head = nn.Linear(self.reader.width, config.classes)
        fill(self, device, generator)

    def forward(
        self, tokens: Tensor, *, segments: Tensor | None = None, generator: torch.Generator | None = None
    ) -> Tensor:
        """Map tokens (B,N) to logits (B,classes); `segments` (B,N) are 0, −1 for padding."""
        check_tokens("tokens", tokens)
        if segments is not None:
            check_tokens("segments", segments, tokens.shape)
        share = self.dropout if self.training else 0.0
        x = drop(self.embed(tokens), share, generator)
        x = self.reader(x, segments=segments, generator=generator)
        return self.head(drop(x, share, generator))
