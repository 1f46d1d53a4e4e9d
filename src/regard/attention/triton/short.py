"""Attention of short sequences straight from the fused projection, as one operation that compiles.

Of a short sequence the kernels of `attend` spend most of their time on moving: splitting the projection,
laying heads out, adding three gradients up again. Here a head is one tile and nothing is moved.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from regard.attention.bands import Band, band_of
from regard.attention.triton.tiles import LOG2E, interpreted
from regard.errors import need
from regard.pattern import Pattern

LONGEST, WIDEST = 128, 128  # one tile of a head must fit the registers


def refuses(qkv: Tensor, pattern: Pattern) -> str | None:
    """Why `attend_qkv` cannot take the projection (B,N,H+2G,D), or None."""
    N, D = qkv.shape[1], qkv.shape[3]
    if qkv.device.type != "cuda" and not interpreted():
        return f"it runs on CUDA, got {qkv.device}"
    if not fits(qkv):
        known = f"halves with 1 to {LONGEST} positions and widths up to {WIDEST}"
        return f"it knows {known}, got {qkv.dtype}, N={N}, D={D}"
    if band_in_one_tile(pattern) is None:
        return f"it knows bands and windows, got {pattern}"
    return None


def fits(qkv: Tensor) -> bool:
    """Whether a head of the projection fits one tile."""
    half = qkv.dtype in (torch.bfloat16, torch.float16)
    return half and 0 < qkv.shape[1] <= LONGEST and 0 < qkv.shape[3] <= WIDEST and qkv.numel() > 0


def band_in_one_tile(pattern: Pattern) -> Band | None:
    """The band or window that equals the pattern, where the kernels know it, or None.

    >>> from regard.pattern import Documents, Strided
    >>> band_in_one_tile(Strided(back=3)).back, band_in_one_tile(Documents(lengths=(1, 2)))
    (3, None)
    """
    band = band_of(pattern)
    plain = band is not None and not band.gap and band.step == 1 and band.documents is None
    return band if plain else None


def attend_qkv(qkv: Tensor, heads: int, band: Band) -> Tensor:
    """`attend` of a projection (B,N,H+2G,D), queries first, then keys and values: (B,N,H,D)."""
    # An operation takes numbers: −1 where there is no such bound.
    back, window = (-1 if bound is None else bound for bound in (band.back, band.window))
    return torch.ops.regard.attend_qkv(qkv, heads, qkv.shape[3] ** -0.5, band.causal, back, window)


@torch.library.custom_op("regard::attend_qkv", mutates_args=())
def _forward(qkv: Tensor, heads: int, scale: float, causal: bool, back: int, window: int) -> Tensor:
    need("triton", "triton")
    from regard.attention.triton import kernels_short

    x = _dense_rows(qkv)
    B, N, every, D = x.shape
    out = torch.empty(B, N, heads, D, dtype=x.dtype, device=x.device)
    kernels_short.short_forward[(B * heads,)](
        x, out, scale * LOG2E, N, D, x.stride(0), x.stride(1), max(back, 0), max(window, 1),
        **_options(N, D, heads, every, causal, back, window, backward=False),
    )  # fmt: skip
    return out


@torch.library.custom_op("regard::attend_qkv_backward", mutates_args=())
def _backward(
    grad: Tensor, qkv: Tensor, heads: int, scale: float, causal: bool, back: int, window: int
) -> Tensor:
    from regard.attention.triton import kernels_short

    x, grad = _dense_rows(qkv), grad.contiguous()
    B, N, every, D = x.shape
    dx = torch.empty(B, N, every, D, dtype=x.dtype, device=x.device)
    kernels_short.short_backward[(B * ((every - heads) // 2),)](
        x, grad, dx, scale * LOG2E, N, D, x.stride(0), x.stride(1), max(back, 0), max(window, 1), LOG2E,
        **_options(N, D, heads, every, causal, back, window, backward=True),
    )  # fmt: skip
    return dx


def _dense_rows(qkv: Tensor) -> Tensor:
    # Heads and widths must lie together; batch and rows may be strided.
    return qkv if qkv.stride(3) == 1 and qkv.stride(2) == qkv.shape[3] else qkv.contiguous()


def _tile(n: int) -> tuple[int, int]:
    """A power of two and a small rest, 0 or a power of two, that hold n rows.

    >>> [_tile(n) for n in (7, 50, 65, 90)]
    [(16, 0), (64, 0), (64, 16), (64, 32)]
    """
    whole = max(16, 1 << (n - 1).bit_length())
    for rest in (16, 32):
        if whole > 64 and whole // 2 + rest >= n:
            return whole // 2, rest
    return whole, 0


def _options(
    N: int, D: int, heads: int, every: int, causal: bool, back: int, window: int, *, backward: bool
) -> dict[str, int]:
    size, rest = _tile(N)
    return {
        "H": heads,
        "G": (every - heads) // 2,
        "CAUSAL": causal,
        "BACK": back >= 0,
        "WINDOW": window >= 0,
        "SIZE": size,
        "REST": rest,
        "WIDTH": max(16, 1 << (D - 1).bit_length()),
        "num_warps": 8 if backward and size > 64 else 4,
        "num_stages": 1,
    }


@_forward.register_fake
def _(qkv: Tensor, heads: int, *rest: float) -> Tensor:
    B, N, _, D = qkv.shape
    return qkv.new_empty(B, N, heads, D)


@_backward.register_fake
def _(grad: Tensor, qkv: Tensor, *rest: float) -> Tensor:
    return qkv.new_empty(qkv.shape)


Inputs = tuple[Tensor, int, float, bool, int, int]


class _SavedProjection(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]
    rest: tuple[float, ...]


def _remember(ctx: _SavedProjection, inputs: Inputs, output: Tensor) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.rest = inputs[1:]


def _gradient(ctx: _SavedProjection, grad: Tensor) -> tuple[Tensor | None, ...]:
    found = torch.ops.regard.attend_qkv_backward(grad, *ctx.saved_tensors, *ctx.rest)
    return found, None, None, None, None, None


_forward.register_autograd(_gradient, setup_context=_remember)
