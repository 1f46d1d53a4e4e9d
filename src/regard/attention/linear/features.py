"""The maps φ that linear attention applies to queries and keys."""

from collections.abc import Callable

import torch
from torch import Tensor

Feature = Callable[[Tensor], Tensor]


def identity(x: Tensor) -> Tensor:
    """x itself: weights are plain dot products and may be negative."""
    return x


def relu(x: Tensor) -> Tensor:
    """max(x, 0): weights are never negative, but a query with no positive entry has a zero denominator."""
    return torch.relu(x)


def elu1(x: Tensor) -> Tensor:
    """elu(x) + 1, always positive; eˣ below zero is written as such, so that it does not round to zero.

    >>> elu1(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0.3679, 1.0000, 3.0000])
    """
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


FEATURES: dict[str, Feature] = {"identity": identity, "relu": relu, "elu1": elu1}
