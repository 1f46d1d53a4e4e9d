"""Dropout by counting: whether a weight is kept follows from a seed and its place, on every backend alike.

Each row of weights has two keys of 32 bits, made from the seed, the head and the query; a column's number is
mixed with both. All of it is arithmetic modulo 2³², so a kernel draws the same as the definition does.
"""

from __future__ import annotations

import torch
from torch import Tensor

WORD = (1 << 32) - 1
GOLDEN, FIRST, SECOND, THIRD = 0x9E3779B1, 0x7FEB352D, 0x846CA68B, 0xC2B2AE35


def draw_seed(device: torch.device, generator: torch.Generator | None) -> Tensor:
    """A new seed (1,) on the device, which CUDA graphs may draw anew at every replay."""
    own = device if generator is None else generator.device
    return torch.randint(1 << 62, (1,), device=own, generator=generator).to(device)


def threshold(dropout: float) -> int:
    """Of the 2³² numbers that a place may draw, those from here on are kept."""
    return min(WORD, round(dropout * (WORD + 1)))


def kept(seed: Tensor, dropout: float, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """Whether the weights of these places are kept; head is b·H + h, keys are counted from the last one.

    >>> seed = torch.tensor([7])
    >>> kept(seed, 0.5, torch.tensor(0), torch.arange(2)[:, None], torch.arange(8)).int().tolist()
    [[0, 0, 0, 0, 0, 0, 1, 1], [1, 0, 1, 1, 1, 1, 1, 0]]
    """
    first, second = row_keys(seed, head, query)
    x = _mixed((key * GOLDEN + first) & WORD) ^ second
    x = (x * THIRD) & WORD
    return (x ^ (x >> 15)) >= threshold(dropout)


def row_keys(seed: Tensor, head: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
    """The two keys of each row."""
    low, high = seed & WORD, (seed >> 32) & WORD
    first = _mixed((low + _mixed((high ^ (head * GOLDEN)) & WORD)) & WORD)
    first = _mixed((first + query * GOLDEN) & WORD)
    return first, _mixed(first ^ high ^ SECOND)


def _mixed(x: Tensor) -> Tensor:
    """A bijection of 32 bits in which every bit depends on every other."""
    x = ((x ^ (x >> 16)) * FIRST) & WORD
    x = ((x ^ (x >> 15)) * SECOND) & WORD
    return x ^ (x >> 16)
