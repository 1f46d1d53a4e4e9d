"""How the processes of a group share each sequence: which model can, and which tokens are whose."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.layers import Softmax
from regard.models import GPT
from regard.parallel import MeshRanks, Shard


class Sequences:
    """The sequences of one model over the processes of this group, by their lengths."""

    def __init__(self, ranks: MeshRanks, model: nn.Module) -> None:
        assert isinstance(model, GPT)
        self.ranks, self.patterns = ranks, tuple(dict.fromkeys(model.config.patterns))
        self._kept: dict[int, Shard] = {}

    def shard(self, n: int) -> Shard:
        """This process's part of sequences of n tokens."""
        if n not in self._kept:
            self._kept[n] = Shard(self.ranks, n, self.patterns)
        return self._kept[n]


class PartReader(nn.Module):
    """A model that reads this process's part of the sequences that others read with it."""

    def __init__(self, model: nn.Module, shard: Shard) -> None:
        super().__init__()
        self.model, self.shard = model, shard

    def forward(self, tokens: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Map the tokens (B,N) of this process to their logits."""
        return self.model(tokens, shard=self.shard, generator=generator)


def check_model(model: nn.Module, context: int) -> None:
    """Raise unless the model can read a part of a sequence, in so many processes."""
    asked = f"parallel.context={context}"
    if not isinstance(model, GPT):
        raise ValueError(f"{asked} shares the sequences of a GPT, got a {type(model).__name__}")
    if not all(isinstance(mixer, Softmax) for mixer in model.config.mixers):
        raise ValueError(f"{asked} needs softmax attention in every block, got LinearAttention()")
