"""A bias that depends on the distance alone, kept as one slope per head."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class DistanceBias:
    """Adds −slope·|q − k| to the scores, one slope per head (Alibi); no n×m tensor is ever made.

    Slopes are numbers, or a tensor (H,), which is learned where it requires a gradient.

    >>> DistanceBias((1.0, 0.5)).dense(torch.tensor([[3]]), torch.tensor([[1, 3]])).tolist()
    [[[-2.0, 0.0]], [[-1.0, 0.0]]]
    """

    slopes: tuple[float, ...] | Tensor

    def __post_init__(self) -> None:
        if isinstance(self.slopes, Tensor):
            if self.slopes.ndim != 1 or not self.slopes.is_floating_point():
                got = f"{tuple(self.slopes.shape)} {self.slopes.dtype}"
                raise ValueError(f"slopes must be floating numbers (H,), got {got}")
        else:
            object.__setattr__(self, "slopes", tuple(float(slope) for slope in self.slopes))

    def tensor(self, device: torch.device, dtype: torch.dtype) -> Tensor:
        """The slopes (H,) on a device; numbers are copied there once."""
        if isinstance(self.slopes, Tensor):
            return self.slopes.to(device, dtype)
        return _copied(self.slopes, device, dtype)

    @property
    def learned(self) -> bool:
        """Whether the slopes want a gradient."""
        return isinstance(self.slopes, Tensor) and self.slopes.requires_grad

    def dense(self, q: Tensor, k: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """The bias of queries at q against keys at k, broadcast, the heads in front of those two axes."""
        distance = (q - k).abs()
        distance = distance[..., None, :, :] if distance.ndim > 2 else distance
        slopes = self.tensor(distance.device, dtype)
        return slopes.view(-1, 1, 1) * -distance

    def __eq__(self, that: object) -> bool:
        if not isinstance(that, DistanceBias):
            return NotImplemented
        if self.learned or that.learned:
            return self.slopes is that.slopes
        mine, theirs = (tuple(x.tolist()) if isinstance(x, Tensor) else x for x in (self.slopes, that.slopes))
        return mine == theirs

    def __hash__(self) -> int:
        return hash(len(self.slopes))


@lru_cache(maxsize=64)
def _copied(slopes: tuple[float, ...], device: torch.device, dtype: torch.dtype) -> Tensor:
    # Ordinary memory even in inference mode, which the next caller may not be in.
    with torch.inference_mode(False):
        return torch.tensor(slopes, dtype=dtype, device=device)
