"""Weights in few bytes: halves of a float32, or one byte with a scale for every row.

int8 is symmetric and per row: a row's largest magnitude becomes ±127, so its error is at most half a step,
1/254 of that magnitude. Vectors (biases, norms) keep float32: they are small, and sums feel them.
"""

from __future__ import annotations

import torch
from torch import Tensor

DTYPES = ("bfloat16", "int8")
SCALE = "::scale"  # no parameter's name holds a colon


def shrink(weights: dict[str, Tensor], dtype: str) -> dict[str, Tensor]:
    """The tensors to store: in bfloat16, or as int8 beside a float32 `NAME::scale` for every row.

    >>> small = shrink({"w": torch.tensor([[1.0, -2.0], [0.0, 0.0]]), "b": torch.ones(2)}, "int8")
    >>> small["w"].tolist(), small["w::scale"].shape, small["b"].dtype
    ([[64, -127], [0, 0]], torch.Size([2]), torch.float32)
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {DTYPES}, got {dtype=}")
    out = {}
    for name, weight in weights.items():
        whole = weight.detach().cpu().contiguous()
        if not whole.is_floating_point():
            out[name] = whole
            continue
        if not bool(torch.isfinite(whole).all()):
            raise ValueError(f"weights must be finite, got infinities or NaN in {name}")
        if dtype == "bfloat16":
            out[name] = whole.to(torch.bfloat16)
        elif whole.ndim < 2:
            out[name] = whole.float()
        else:
            out[name], out[name + SCALE] = to_int8(whole)
    return out


def grow(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """The float32 weights from what `shrink` made.

    >>> grow(shrink({"w": torch.tensor([[1.0, -127.0]])}, "int8"))["w"].tolist()
    [[1.0, -127.0]]
    """
    out = {}
    for name, weight in stored.items():
        if name.endswith(SCALE):
            if name.removesuffix(SCALE) not in stored:
                raise ValueError(f"weights must go with their scales, got {name} alone")
            continue
        scale = stored.get(name + SCALE)
        if scale is not None:
            if weight.dtype != torch.int8 or scale.shape != weight.shape[:1]:
                raise ValueError(f"{name} must be int8 with a scale per row, got {weight.dtype}, "
                                 f"{tuple(weight.shape)} and {tuple(scale.shape)}")  # fmt: skip
            out[name] = weight.float() * scale.float().view(-1, *[1] * (weight.ndim - 1))
        else:
            out[name] = weight.float() if weight.is_floating_point() else weight
    return out


def to_int8(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Integers (rows,…) from −127 to 127 and the scale (rows,) that makes them weights again."""
    rows = weight.detach().float().flatten(1)
    top = rows.abs().amax(1) if rows.shape[1] else rows.new_zeros(len(rows))
    scale = torch.where(top > 0, top / 127, torch.ones_like(top))
    whole = (rows / scale[:, None]).round().clamp(-127, 127).to(torch.int8)
    return whole.view(weight.shape), scale
