"""Our kernels where the pattern alone decides, for who joins them with others: natural logarithms between."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.attention.problem import Form, Problem
from regard.attention.triton import tiles
from regard.attention.triton.plan import LOG2E, Arranged, arrange


def forward(q: Tensor, k: Tensor, v: Tensor, form: Form) -> tuple[Tensor, Tensor]:
    """The output, and the normalisers as natural logarithms."""
    out, lse = tiles.forward(q, k, v, _arranged(q, k, v, form))
    return out, tiles.natural(lse)


def backward(
    grad: Tensor, of_lse: Tensor | None, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, form: Form
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and value."""
    # Launches are remembered by the form, with the strides of our own output and normalisers.
    out, lse = out.contiguous(), lse.contiguous()
    base2 = torch.where(lse == -torch.inf, tiles.NEVER, lse * LOG2E)
    return tiles.backward(grad, of_lse, q, k, v, out, base2, _arranged(q, k, v, form))[:3]


def _arranged(q: Tensor, k: Tensor, v: Tensor, form: Form) -> Arranged:
    return arrange(Problem(q, k, v, form.pattern, form.scale))
