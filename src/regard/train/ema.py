"""A running average of the weights, which often scores better than the weights themselves."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Averages:
    """Averages of a model's parameters, each a tensor of its own.

    >>> model = nn.Linear(1, 1, bias=False)
    >>> averages = Averages(model)
    >>> with torch.no_grad():
    ...     _ = model.weight.fill_(4.0), averages.tensors["weight"].fill_(0.0)
    >>> averages.update(torch.tensor(0.75))
    >>> averages.tensors["weight"].item()
    1.0
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.tensors: dict[str, Tensor] = {
            name: weight.detach().clone() for name, weight in model.named_parameters()
        }

    @torch.no_grad()
    def update(self, kept: Tensor) -> None:
        """Keep a share of the averages and fill up with the weights; `kept` is a number on the device."""
        averages = list(self.tensors.values())
        torch._foreach_mul_(averages, kept)
        torch._foreach_add_(averages, torch._foreach_mul(list(self.model.parameters()), 1 - kept))

    @torch.no_grad()
    def begin_again(self) -> None:
        """Forget the past: the averages are the weights as they are."""
        for name, weight in self.model.named_parameters():
            self.tensors[name].copy_(weight)

    @contextmanager
    def swapped(self) -> Iterator[nn.Module]:
        """The model with the averages as its weights, for as long as the block lasts."""
        self._swap()
        try:
            yield self.model
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        # By value: a CUDA graph knows the weights by their place in memory.
        for name, weight in self.model.named_parameters():
            held = self.tensors[name].clone()
            self.tensors[name].copy_(weight)
            weight.copy_(held)


def share_kept(decay: float, step: int) -> float:
    """The share that an average keeps at a step: less at first, so that it forgets the first weights soon.

    >>> [round(share_kept(0.99, step), 2) for step in (0, 10, 10_000)]
    [0.1, 0.55, 0.99]
    """
    return min(decay, (1 + step) / (10 + step))
