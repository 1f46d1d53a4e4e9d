"""A bias that depends on the distance alone, kept as one slope per head."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class DistanceBias:
    """Adds −slope·|q − k| to the scores, one slope per head (Alibi); no n×m tensor is ever made.

    >>> DistanceBias((1.0, 0.5)).dense(torch.tensor([[3]]), torch.tensor([[1, 3]])).tolist()
    [[[-2.0, 0.0]], [[-1.0, 0.0]]]
    """

    slopes: tuple[float, ...]

    def __post_init__(self) -> None:
        slopes = self.slopes.tolist() if isinstance(self.slopes, Tensor) else self.slopes
        object.__setattr__(self, "slopes", tuple(float(slope) for slope in slopes))

    def dense(self, q: Tensor, k: Tensor) -> Tensor:
        """The bias of queries at positions q against keys k, broadcast, with the heads in front: float32."""
        distance = (q - k).abs()
        slopes = torch.tensor(self.slopes, device=distance.device)
        return slopes.view(-1, *[1] * distance.ndim) * -distance
