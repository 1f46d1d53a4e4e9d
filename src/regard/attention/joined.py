"""A forward pass by one kernel and a backward pass by another: both keep the output and the normalisers."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from regard.attention.once import once
from regard.attention.problem import Attended, Form, Problem

# From query, key, value and form: the output (B,H,N,E) and the normalisers (B,H,N), as natural logarithms.
Ahead = Callable[[Tensor, Tensor, Tensor, Form], tuple[Tensor, Tensor]]
# From the gradients of both (of the normalisers perhaps None), the inputs, what was kept, and the form.
Back = Callable[
    [Tensor, Tensor | None, Tensor, Tensor, Tensor, Tensor, Tensor, Form], tuple[Tensor, Tensor, Tensor]
]


def joined(problem: Problem, ahead: Ahead, back: Back, name: str) -> Attended:
    """The output of `ahead`, whose gradients `back` makes; the rows of the inputs lie dense."""
    out, lse = _JoinedKernels.apply(
        problem.query, problem.key, problem.value, problem.form, ahead, back, name
    )
    return Attended(out, lse if problem.lse else None)


def dense(problem: Problem) -> Problem:
    """The problem with rows that lie dense, as kernels read them."""
    rows = {name: getattr(problem, name) for name in ("query", "key", "value")}
    if all(x.stride(3) == 1 for x in rows.values()):
        return problem
    return problem.changed(**{name: x.contiguous() for name, x in rows.items()})


def wants_gradients(problem: Problem) -> bool:
    """Whether there will be a backward pass."""
    inputs = problem.query, problem.key, problem.value
    return torch.is_grad_enabled() and any(x.requires_grad for x in inputs)


class _SavedJoin(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]
    form: Form
    kernel: tuple[Back, str]


class _JoinedKernels(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: _SavedJoin, q: Tensor, k: Tensor, v: Tensor, form: Form, ahead: Ahead, back: Back, name: str
    ) -> tuple[Tensor, Tensor]:
        out, lse = ahead(q, k, v, form)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.form, ctx.kernel = form, (back, name)
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    def backward(ctx: _SavedJoin, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse = ctx.saved_tensors
        grad = torch.zeros_like(out) if grads[0] is None else grads[0]
        back, name = ctx.kernel
        found: tuple[Tensor | None, ...] = back(grad, grads[1], q, k, v, out, lse, ctx.form)
        if torch.is_grad_enabled():
            found = once(found, f"impl={name!r}", (q, k, v, grad))
        return *found, None, None, None, None
