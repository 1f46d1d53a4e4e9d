"""The norms as values that a config can hold, and the scale of a branch; each builds its module."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import rms_norm


@dataclass(frozen=True)
class LayerNorm:
    """Mean 0 and variance 1 over the width, then a learned scale and shift.

    >>> LayerNorm(eps=1e-12).build(8)
    LayerNorm((8,), eps=1e-12, elementwise_affine=True, bias=True)
    """

    eps: float = 1e-5

    def build(self, width: int) -> nn.Module:
        """torch's own, with scale 1 and shift 0."""
        return nn.LayerNorm(width, eps=self.eps)


@dataclass(frozen=True)
class RMSNorm:
    """Mean square 1 over the width, then a learned scale.

    >>> RMSNorm().build(8)
    RMSNorm((8,), eps=1e-06, elementwise_affine=True)
    """

    eps: float = 1e-6

    def build(self, width: int) -> nn.Module:
        """torch's own, with scale 1."""
        return nn.RMSNorm(width, eps=self.eps)


@dataclass(frozen=True)
class ZeroCentredRMSNorm:
    """Mean square 1 over the width, then a scale of 1 + a learned weight (Gemma).

    Small weights keep their digits beside the 1, which a bfloat16 scale near 1 would not.

    >>> ZeroCentredRMSNorm().build(8)
    OnePlusNorm(8, eps=1e-06)
    """

    eps: float = 1e-6

    def build(self, width: int) -> nn.Module:
        """A module whose weight starts at 0."""
        return OnePlusNorm(width, self.eps)


Norm = LayerNorm | RMSNorm | ZeroCentredRMSNorm


class OnePlusNorm(nn.Module):
    """x / rms(x) · (1 + weight), in float32 whatever the inputs are.

    >>> OnePlusNorm(2, eps=0.0)(torch.tensor([1.0, -1.0])).tolist()
    [1.0, -1.0]
    """

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(width))

    def begin(self) -> None:
        """The weights to start from."""
        nn.init.zeros_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Norm (…,C)."""
        kind = torch.promote_types(x.dtype, torch.float32)
        return rms_norm(x.to(kind), self.weight.shape, 1 + self.weight.to(kind), self.eps).to(x.dtype)

    def extra_repr(self) -> str:
        """Width and eps, as torch's norms show them."""
        return f"{len(self.weight)}, eps={self.eps}"


@dataclass(frozen=True)
class LayerScale:
    """A learned scale for every component of a branch, which starts at `initial` (CaiT, DINOv2).

    >>> LayerScale(initial=0.5).build(2)(torch.ones(3, 2)).tolist()[0]
    [0.5, 0.5]
    """

    initial: float = 1e-5

    def build(self, width: int) -> nn.Module:
        """A module with one weight per component."""
        return ComponentScale(width, self.initial)


class ComponentScale(nn.Module):
    """x · weight, component by component."""

    def __init__(self, width: int, initial: float) -> None:
        super().__init__()
        self.initial = initial
        self.weight = nn.Parameter(torch.full((width,), initial))

    def begin(self) -> None:
        """The weights to start from."""
        nn.init.constant_(self.weight, self.initial)

    def forward(self, x: Tensor) -> Tensor:
        """Scale (…,C)."""
        return x * self.weight
