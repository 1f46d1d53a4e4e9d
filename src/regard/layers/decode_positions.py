"""Positions of single tokens, one per row of a batch, from numbers on the device."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.layers.position import Computed, LearnedTable, Natural, Scaled, turning


def encode_at(module: nn.Module, at: Tensor, width: int) -> Tensor:
    """What a position module adds to tokens (B,C) that stand at `at` (B,): (B,C) or (B,1).

    >>> from regard.layers.position import Sinusoidal
    >>> module = Sinusoidal().build(8, 6)
    >>> torch.equal(encode_at(module, torch.tensor([3]), 6), module(torch.zeros(1, 1, 6), start=3)[0])
    True
    """
    if isinstance(module, LearnedTable):
        return module.weight[at]
    assert isinstance(module, Computed)
    position = module.position
    if isinstance(position, Natural):
        return (at + 1).float()[:, None]
    if isinstance(position, Scaled):
        return (at + 1).float()[:, None] / position.longest
    angles = angles_at(at, width, position.base)  # B ⌈C/2⌉
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width].float()


def angles_at(at: Tensor, width: int, base: float) -> Tensor:
    """The angles (B, ⌈width/2⌉) of positions (B,), in float64 where the device has it."""
    return at[:, None] * turning(width, base, at.device)


def turn_at(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn (B,H,D) by angles whose cosines and sines are (B,D/2)."""
    a, b = x.chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)
