"""GRUs over padded texts: what they say after the last real token, each direction with weights of its own."""

from __future__ import annotations

import re

import torch
from torch import Tensor, nn

from regard.layers import drop
from regard.layers.block import check_dropout
from regard.layers.letters import Number, check_size
from regard.layers.recurrent_shapes import gru_reader
from regard.layers.shapes import ModelShape, Shape, classifier

EMBEDDED = 0.1  # torch's own 1 drowns what is learnt: 69 % on SST-2 after 500 steps, where this has 83 %


class GRUReader(nn.Module):
    """Stacked GRUs from (B,N,C) to the last states (B, hidden) of the last layer, of both directions beside.

    Padding is passed over wherever it stands. The lengths stay on the device: torch's packed sequences would
    ask the host for them, and wait.

    >>> reader = GRUReader(3, 5, layers=2, bidirectional=True)
    >>> x, segments = torch.randn(1, 4, 3), torch.tensor([[-1, 0, 0, -1]])
    >>> torch.allclose(reader(x, segments=segments), reader(x[:, 1:3]), atol=1e-6)
    True
    """

    def __init__(
        self, inputs: int, hidden: int, *, layers: int, bidirectional: bool, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.hidden, self.dropout = hidden, dropout
        sides = 2 if bidirectional else 1
        self.width = hidden * sides
        self.layers = nn.ModuleList(
            nn.ModuleList(
                nn.GRU(inputs if i == 0 else self.width, hidden, batch_first=True) for _ in range(sides)
            )
            for i in range(layers)
        )

    def _load_from_state_dict(self, weights: dict[str, Tensor], prefix: str, *how: object) -> None:
        """Read also the names of torch's own stacked GRU: weight_ih_l1_reverse is that of layer 1, side 1."""
        for name in [name for name in weights if name.startswith(prefix)]:
            if torchs := re.fullmatch(r"((?:weight|bias)_[ih]h)_l(\d+)(_reverse)?", name[len(prefix) :]):
                kind, layer, back = torchs.groups()
                weights[f"{prefix}layers.{layer}.{1 if back else 0}.{kind}_l0"] = weights.pop(name)
        super()._load_from_state_dict(weights, prefix, *how)

    def train(self, mode: bool = True) -> GRUReader:
        """As any module; cuDNN gives gradients in training mode alone, and a GRU here has no other."""
        super().train(mode)
        for one in self.layers.modules():
            one.training = True
        return self

    def forward(
        self, x: Tensor, *, segments: Tensor | None = None, generator: torch.Generator | None = None
    ) -> Tensor:
        """Map (B,N,C) to (B, width); `segments` (B,N) are −1 for padding. A text of padding alone gives 0."""
        with torch.autocast(x.device.type, enabled=False):  # the state goes through N roundings
            x = x.float()
            orders = [ReadingOrder(x, segments, backward=i == 1) for i in range(len(self.layers[0]))]  # type: ignore[arg-type]
            for i, scans in enumerate(self.layers):
                x = drop(x, self.dropout if self.training and i > 0 else 0.0, generator)
                states = [
                    scan(order.read(x))[0]
                    for scan, order in zip(scans, orders, strict=True)  # type: ignore[call-overload]
                ]
                if i < len(self.layers) - 1:
                    x = torch.cat([order.back(s) for order, s in zip(orders, states, strict=True)], dim=2)
            return torch.cat([order.last(s) for order, s in zip(orders, states, strict=True)], dim=1)


class ReadingOrder:
    """The order in which a direction reads each text: its real tokens first, the last of them at a place."""

    def __init__(self, x: Tensor, segments: Tensor | None, *, backward: bool) -> None:
        self.backward, self.place = backward, None
        if segments is None:
            return
        real = segments >= 0
        self.count = real.sum(1, keepdim=True)  # B 1
        rank = real.cumsum(1) - 1
        if backward:
            rank = self.count - 1 - rank
        # Where in the reading each token stands (B,N): a permutation of every row, and its inverse.
        self.place = torch.where(real, rank, self.count + (~real).cumsum(1) - 1)
        numbers = torch.arange(x.shape[1], device=x.device).expand_as(self.place)
        self.order = torch.empty_like(self.place).scatter_(1, self.place, numbers)

    def read(self, x: Tensor) -> Tensor:
        """The tokens (B,N,C) as they are read."""
        if self.place is None:
            return x.flip(1) if self.backward else x
        return x.gather(1, self.order[..., None].expand_as(x))

    def back(self, states: Tensor) -> Tensor:
        """The states (B,N,hidden), each at its token."""
        if self.place is None:
            return states.flip(1) if self.backward else states
        return states.gather(1, self.place[..., None].expand_as(states))

    def last(self, states: Tensor) -> Tensor:
        """The state (B,hidden) after the last real token."""
        if self.place is None:
            return states[:, -1]
        at = (self.count - 1).clamp(min=0)[..., None].expand(-1, 1, states.shape[2])
        return states.gather(1, at)[:, 0].masked_fill(self.count == 0, 0.0)


@torch.no_grad()
def fill(model: nn.Module, device: torch.device, generator: torch.Generator | None) -> None:
    """Give a model that was built without memory its weights: GRUs as torch's own, the rest normal."""
    model.to_empty(device=device)
    for part in model.modules():
        if isinstance(part, nn.GRU):
            for weight in part.parameters():
                weight.uniform_(-(part.hidden_size**-0.5), part.hidden_size**-0.5, generator=generator)
        elif isinstance(part, nn.Linear):
            part.weight.normal_(0.0, part.in_features**-0.5, generator=generator)
            part.bias.zero_()
        elif isinstance(part, nn.Embedding):
            part.weight.normal_(0.0, EMBEDDED, generator=generator)


class WithReader:
    """A config of a model that reads by GRUs."""

    hidden: int
    layers: int
    classes: int
    bidirectional: bool
    dropout: float

    def check_reader(self) -> None:
        """Raise unless the fields that shape the GRUs are in order."""
        check_size("hidden", self.hidden)
        check_size("layers", self.layers)
        check_size("classes", self.classes)
        check_dropout(self.dropout)
        if not isinstance(self.bidirectional, bool):
            raise ValueError(f"bidirectional must be True or False, got bidirectional={self.bidirectional!r}")

    def reader(self, inputs: int) -> GRUReader:
        """The GRUs on tokens of so many numbers."""
        both, dropout = self.bidirectional, self.dropout
        return GRUReader(inputs, self.hidden, layers=self.layers, bidirectional=both, dropout=dropout)

    def read(self, parts: dict[str, Shape], inputs: Number) -> ModelShape:
        """Parts that give `inputs` numbers per token, the GRUs on them, a classifier of their last states."""
        sides = 2 if self.bidirectional else 1
        reader = gru_reader(inputs, self.hidden, layers=self.layers, sides=sides)
        return classifier({**parts, **reader}, self.hidden * sides, self.classes)
