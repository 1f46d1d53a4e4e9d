"""Attention of short sequences straight from the fused projection of a layer.

Of a short sequence the kernels of `tiles` spend most of their time on moving: splitting the projection,
laying heads out, adding three gradients up again. Here a head is one tile and nothing is moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from regard.attention.bands import band_of
from regard.attention.problem import Attended, Form, Problem
from regard.attention.triton.arguments import Reach, ShortKind
from regard.attention.triton.launch import Kernel
from regard.attention.triton.plan import LOG2E
from regard.attention.triton.tiles import installed, interpreted
from regard.pattern import Pattern

LONGEST, WIDEST = 128, 128  # one tile of a head must fit the registers
FORWARD, BACKWARD = Kernel("kernels_short", "short_forward"), Kernel("kernels_short", "short_backward")


def refuses(form: Form) -> str | None:  # noqa: PLR0911 - a list of reasons
    """Why the kernel cannot take the problem, or None."""
    if "packed" not in form.uses or form.N != form.M:
        return "it reads a fused projection, which only a layer has"
    if not installed():
        return "triton is not installed"
    if form.device.type != "cuda" and not interpreted():
        return f"it runs on CUDA, the query is on {form.device}"
    if (beyond := form.asks_beyond()) is not None:
        return beyond
    if form.dtype not in (torch.bfloat16, torch.float16) or not fits(form.N, form.D) or form.empty:
        known = f"halves with 1 to {LONGEST} positions and widths up to {WIDEST}"
        return f"it knows {known}, got {form.dtype}, N={form.N}, D={form.D}"
    if reach_in_one_tile(form.pattern) is None:
        return f"it knows bands and windows, got {form.pattern}"
    return None


def fits(n: int, width: int) -> bool:
    """Whether a head fits one tile."""
    return 0 < n <= LONGEST and 0 < width <= WIDEST


@lru_cache(maxsize=1024)
def reach_in_one_tile(pattern: Pattern) -> tuple[Reach, dict[str, bool]] | None:
    """The bounds of a pattern that is a band or a window, and which of them there are; else None.

    >>> from regard.pattern import Documents, Strided
    >>> reach_in_one_tile(Strided(back=3))[0].back, reach_in_one_tile(Documents(lengths=(1, 2)))
    (3, None)
    """
    band = band_of(pattern)
    if band is None or band.gap or band.step > 1 or band.documents is not None:
        return None
    band = band.within(LONGEST)
    assert band is not None
    bounds = {"causal": band.causal, "back": band.back is not None, "window": band.window is not None}
    return Reach(0, band.back or 0, band.window or 1, 0), bounds


def attend(problem: Problem) -> Attended:
    """The output (B,H,N,D), a view of (B,N,H,D) as the layer's last projection wants it."""
    assert problem.packed is not None
    out = attend_packed(problem.packed, problem.form.H, problem.scale, problem.pattern)
    return Attended(out.transpose(1, 2))


def attend_packed(qkv: Tensor, heads: int, scale: float, pattern: Pattern) -> Tensor:
    """The output (B,N,H,D) of a projection (B,N,H+2G,D), queries first, then keys and values."""
    if qkv.requires_grad and torch.is_grad_enabled():
        return _Short.apply(qkv, heads, scale, pattern)
    return forward(qkv, heads, scale, pattern)


@dataclass(frozen=True, eq=False)
class ShortPlan:
    """What the kernels are told for one shape and pattern."""

    kind: ShortKind
    reach: Reach
    ahead: dict[str, int]
    back: dict[str, int]


@lru_cache(maxsize=1024)
def _plan(n: int, width: int, heads: int, every: int, pattern: Pattern) -> ShortPlan:
    found = reach_in_one_tile(pattern)
    assert found is not None
    size, rest = _tile(n)
    wide = max(16, 1 << (width - 1).bit_length())
    kind = ShortKind(heads, (every - heads) // 2, **found[1], size=size, rest=rest, width=wide)
    ahead = {"num_warps": 4, "num_stages": 1}
    return ShortPlan(kind, found[0], ahead, ahead | {"num_warps": 8 if size > 64 else 4})


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


def forward(qkv: Tensor, heads: int, scale: float, pattern: Pattern) -> Tensor:
    """The forward pass of `attend_packed`."""
    x = _dense_rows(qkv)
    B, N, every, D = x.shape
    plan = _plan(N, D, heads, every, pattern)
    out = torch.empty(B, N, heads, D, dtype=x.dtype, device=x.device)
    strides = x.stride()[:2]
    arguments = (x, out, scale * LOG2E, N, D, *strides, plan.reach, plan.kind)
    FORWARD.start(B * heads, arguments, plan.ahead, (plan, x.dtype, strides), (x, out))
    return out


def backward(grad: Tensor, qkv: Tensor, heads: int, scale: float, pattern: Pattern) -> Tensor:
    """The gradient of the projection."""
    x, grad = _dense_rows(qkv), grad.contiguous()
    B, N, every, D = x.shape
    plan = _plan(N, D, heads, every, pattern)
    dx = torch.empty(B, N, every, D, dtype=x.dtype, device=x.device)
    strides = x.stride()[:2]
    arguments = (x, grad, dx, scale * LOG2E, scale, N, D, *strides, plan.reach, plan.kind)
    BACKWARD.start(B * plan.kind.G, arguments, plan.back, (plan, x.dtype, strides), (x, grad, dx))
    return dx


def _dense_rows(qkv: Tensor) -> Tensor:
    # Heads and widths must lie together; batch and rows may be strided.
    return qkv if qkv.stride(3) == 1 and qkv.stride(2) == qkv.shape[3] else qkv.contiguous()


class _SavedProjection(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]
    rest: tuple[int, float, Pattern]


class _Short(torch.autograd.Function):
    @staticmethod
    def forward(ctx: _SavedProjection, qkv: Tensor, heads: int, scale: float, pattern: Pattern) -> Tensor:
        ctx.save_for_backward(qkv)
        ctx.rest = heads, scale, pattern
        return forward(qkv, heads, scale, pattern)

    @staticmethod
    @once_differentiable
    def backward(ctx: _SavedProjection, grad: Tensor) -> tuple[Tensor | None, ...]:
        (qkv,), (heads, scale, pattern) = ctx.saved_tensors, ctx.rest
        return backward(grad, qkv, heads, scale, pattern), None, None, None
