"""Texts of many lengths in one tensor."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def pad(rows: Sequence[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
    """Tokens (B, N) filled up on the right with `pad`, and segments (B, N): 0, and −1 where there is padding.

    >>> pad([[5, 6, 7], [8]], pad=1)
    (tensor([[5, 6, 7],
            [8, 1, 1]]), tensor([[ 0,  0,  0],
            [ 0, -1, -1]]))
    """
    if not len(rows):
        raise ValueError("rows must hold at least one row, got none")
    lengths = torch.tensor([len(row) for row in rows])
    real = torch.arange(int(lengths.max())) < lengths[:, None]
    tokens = torch.full(real.shape, pad)
    tokens[real] = torch.tensor([token for row in rows for token in row], dtype=torch.int64)
    return tokens, torch.where(real, 0, -1)
