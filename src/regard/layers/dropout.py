"""Dropout that can draw from a generator of one's own."""

import torch
from torch import Tensor
from torch.nn import functional


def drop(x: Tensor, share: float, generator: torch.Generator | None = None) -> Tensor:
    """Zero a share of the elements and scale up the rest; torch's default generator unless one is given.

    >>> drop(torch.ones(8), 0.5, torch.Generator().manual_seed(0)).unique().tolist()
    [0.0, 2.0]
    """
    if share == 0:
        return x
    if generator is None:
        return functional.dropout(x, share)
    kept = torch.rand(x.shape, generator=generator, device=x.device) >= share
    return x * kept / (1 - share)
