"""The norms as values that a config can hold; each builds torch's own module."""

from dataclasses import dataclass

from torch import nn


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


Norm = LayerNorm | RMSNorm
