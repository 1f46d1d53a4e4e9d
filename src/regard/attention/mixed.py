"""Our kernels forward and FlashAttention-4 backward: both keep the same two things between the passes."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from regard.attention import flash
from regard.attention.once import once
from regard.attention.problem import Attended, Form, Problem
from regard.attention.triton import tiles
from regard.attention.triton.plan import SCALES, arrange


def refuses(form: Form) -> str | None:
    """Why one of the two cannot take the problem, or None."""
    if not SCALES[0] <= form.scale <= SCALES[1]:
        return f"it takes scales from {SCALES[0]:g} to {SCALES[1]:g}, got {form.scale:g}"
    return flash.refuses(form) or tiles.refuses(form)


def attend(problem: Problem) -> Attended:
    """The output of our kernels."""
    q, k, v = problem.query, problem.key, problem.value
    if not (torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad)):
        return tiles.attend(problem)
    out, lse = _Mixed.apply(q, k, v, problem)
    return Attended(out, lse if problem.lse else None)


class _SavedMixed(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]
    form: Form


class _Mixed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: _SavedMixed, q: Tensor, k: Tensor, v: Tensor, problem: Problem) -> tuple[Tensor, Tensor]:
        a = arrange(problem)
        out, lse = tiles.forward(a.query, a.key, a.value, a)
        lse = tiles.natural(lse)
        ctx.save_for_backward(a.query, a.key, a.value, out, lse)
        ctx.form = problem.form
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    def backward(ctx: _SavedMixed, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse = ctx.saved_tensors
        grad = torch.zeros_like(out) if grads[0] is None else grads[0]
        found: tuple[Tensor | None, ...] = flash.backward(grad, grads[1], q, k, v, out, lse, ctx.form)
        if torch.is_grad_enabled():
            found = once(found, "impl='mixed'", (q, k, v, grad))
        return *found, None
