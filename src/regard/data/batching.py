"""Texts of many lengths in one tensor."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.errors import check_int


def pad(rows: Sequence[Sequence[int]], pad: int, *, multiple: int = 1) -> tuple[Tensor, Tensor]:
    """Tokens (B, N) filled up on the right with `pad`, and segments (B, N): 0, and −1 where there is padding.

    N is the longest row's length, rounded up to a multiple, which keeps the number of shapes small.

    >>> pad([[5, 6, 7], [8]], pad=1)
    (tensor([[5, 6, 7],
            [8, 1, 1]]), tensor([[ 0,  0,  0],
            [ 0, -1, -1]]))
    """
    check_int("multiple", multiple, least=1)
    if not len(rows):
        raise ValueError("rows must hold at least one row, got none")
    lengths = torch.tensor([len(row) for row in rows])
    width = -(-int(lengths.max()) // multiple) * multiple
    real = torch.arange(width) < lengths[:, None]
    tokens = torch.full(real.shape, pad)
    tokens[real] = torch.tensor([token for row in rows for token in row], dtype=torch.int64)
    return tokens, torch.where(real, 0, -1)
