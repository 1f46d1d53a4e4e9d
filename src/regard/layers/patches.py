"""Images into tokens: every patch, read row by row, becomes one vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from regard.errors import check_int


class PatchProjection(nn.Module):
    """A strided convolution over patches (rows, cols) that do not overlap, computed as one matrix product.

    >>> PatchProjection(3, 8, patch=(4, 2))(torch.zeros(5, 3, 8, 6)).shape
    torch.Size([5, 6, 8])
    """

    def __init__(self, channels: int, width: int, patch: tuple[int, int]) -> None:
        super().__init__()
        check_int("channels", channels, 1)
        check_int("width", width, 1)
        self.channels, self.patch = channels, patch
        fan_in = channels * patch[0] * patch[1]
        self.weight = nn.Parameter(torch.randn(width, channels, *patch) * fan_in**-0.5)
        self.bias = nn.Parameter(torch.zeros(width))

    def grid(self, images: Tensor) -> tuple[int, int]:
        """How many patches (rows, cols) the images (B,channels,height,width) have."""
        if images.ndim != 4 or images.shape[1] != self.channels:
            raise ValueError(f"images must be (B, {self.channels}, rows, cols), got {tuple(images.shape)}")
        (rows, cols), (high, wide) = images.shape[2:], self.patch
        if rows % high or cols % wide or 0 in (rows, cols):
            raise ValueError(f"patches of {(high, wide)} must tile the images, got {(rows, cols)}")
        return rows // high, cols // wide

    def forward(self, images: Tensor) -> Tensor:
        """Map images (B,channels,height,width) to tokens (B,P,C)."""
        (rows, cols), (high, wide) = self.grid(images), self.patch
        x = images.unflatten(3, (cols, wide)).unflatten(2, (rows, high))  # B c rows high cols wide
        x = x.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)  # B P c·high·wide
        return linear(x, self.weight.flatten(1), self.bias)
