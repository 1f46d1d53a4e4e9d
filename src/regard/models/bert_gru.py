"""A pretrained encoder that stays as it is, and GRUs that learn to read its hidden states."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.layers import Trace, drop
from regard.layers.initial import without_memory
from regard.layers.shapes import FrozenShape, ModelShape, WeightsShape, tree
from regard.models.encoder import Encoder, EncoderConfig
from regard.models.gru_reader import WithReader, fill
from regard.models.trunk import check_part


@dataclass(frozen=True, kw_only=True)
class BERTGRUConfig(WithReader):
    """The shape of a BERTGRUSentiment: the encoder's own config, and that of the GRUs on it.

    >>> BERTGRUConfig(bert=EncoderConfig(vocab=50, context=16, width=24, heads=4), hidden=8).context
    16
    """

    bert: EncoderConfig
    hidden: int = 256
    classes: int = 1
    layers: int = 2
    bidirectional: bool = True
    dropout: float = 0.25

    def __post_init__(self) -> None:
        check_part("bert", self.bert, EncoderConfig)
        self.check_reader()

    @property
    def context(self) -> int:
        """The longest text that the encoder reads."""
        return self.bert.context

    def shapes(self) -> ModelShape:
        """A frozen encoder's hidden states, without gradients even in training; GRUs, a classifier."""
        bert = self.bert
        pooled = bert.width if bert.pooler is None else bert.pooler.width_of(bert.width)
        unused = 0 if bert.pooler is None else pooled * (bert.width + 1)
        unused += 0 if bert.classes is None else (pooled + 1) * bert.classes
        held = WeightsShape(count=unused, read=False)  # pooler and head come along, and rest
        hidden = FrozenShape(tree({**bert.hidden_shapes(), "unused": held}))
        return self.read({"bert": hidden}, bert.width)


class BERTGRUSentiment(nn.Module):
    """Logits (B, output_dim) from the last states of GRUs over a frozen encoder's hidden states.

    `bert` is an Encoder, a BertModel of transformers, or a BERTGRUConfig that says everything, as loading
    needs it. The encoder is taken as it is, its weights get no gradient, and it never drops anything out.
    The parts have the course's names, `bert`, `rnn` and `out`, and `rnn` loads the weights of a torch GRU.

    >>> bert = Encoder(EncoderConfig(vocab=50, context=16, depth=1, width=24, heads=4))
    >>> model = BERTGRUSentiment(bert, 8, 1, 2, True, 0.25)
    >>> model(torch.zeros(2, 7, dtype=torch.long)).shape
    torch.Size([2, 1])
    >>> any(weight.requires_grad for weight in bert.parameters())
    False
    """

    def __init__(
        self,
        bert: object,
        hidden_dim: int | None = None,
        output_dim: int | None = None,
        n_layers: int | None = None,
        bidirectional: bool | None = None,
        dropout: float | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        course = {
            "hidden": hidden_dim,
            "classes": output_dim,
            "layers": n_layers,
            "bidirectional": bidirectional,
            "dropout": dropout,
        }
        given = {name: value for name, value in course.items() if value is not None}
        if isinstance(bert, BERTGRUConfig):
            if given:
                raise ValueError(f"a BERTGRUConfig says everything, got {given} beside it")
            config, encoder = bert, Encoder(bert.bert, generator=generator)
        else:
            encoder = _encoder(bert)
            config = BERTGRUConfig(bert=encoder.config, **given)  # type: ignore[arg-type]
        self.config, self.dropout = config, config.dropout
        device = torch.get_default_device()
        with without_memory():
            self.rnn = config.reader(config.bert.width)
            self.out = nn.Linear(self.rnn.width, config.classes)
        fill(self, device, generator)
        self.bert = encoder.requires_grad_(False)
        self.train()

    def train(self, mode: bool = True) -> BERTGRUSentiment:
        """As any module, but for the encoder, which stays in evaluation mode."""
        super().train(mode)
        self.bert.eval()
        return self

    def forward(
        self,
        text: Tensor,
        *,
        segments: Tensor | None = None,
        types: Tensor | None = None,
        trace: Trace | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Map a text's tokens (B,N) to logits (B, classes); `segments` (B,N) are 0, −1 for padding."""
        inside = None if trace is None else trace.inside("bert")
        x = self.bert.features(text, segments=segments, types=types, trace=inside)
        x = self.rnn(x, segments=segments, generator=generator)
        return self.out(drop(x, self.dropout if self.training else 0.0, generator))


def _encoder(bert: object) -> Encoder:
    if not isinstance(bert, Encoder):
        from regard.models.huggingface import from_huggingface

        bert = from_huggingface(bert)
    if not isinstance(bert, Encoder):
        raise ValueError(f"bert must be an Encoder or a BertModel, got a {type(bert).__name__}")
    return bert
