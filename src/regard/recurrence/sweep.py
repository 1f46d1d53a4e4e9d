"""The grid recurrence as one differentiable operation, whoever walks the diagonals.

A walker replaces, in place and in the layout of the grid, input projections by hidden states, and on the way
back gradients of states by gradients of pre-activations. Everything else is a handful of large products, so
nothing but the hidden states is kept for the backward and nothing but one more tensor of their size is made.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn.functional import linear


class Walker(Protocol):
    """What `wavefront` and `triton_grid` provide."""

    def forward(self, state: Tensor, W_left: Tensor, W_top: Tensor, activation: str) -> None:
        """Replace the projections in `state` (B, rows, cols, h) by hidden states."""

    def backward(self, grad: Tensor, hidden: Tensor, W_left: Tensor, W_top: Tensor, activation: str) -> None:
        """Replace the gradients of the states in `grad` by those of the pre-activations."""


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep needs besides tensors."""

    activation: str
    flipped: tuple[int, ...]
    walker: Walker


class _SavedGrid(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[bool, ...]
    plan: SweepPlan


class GridSweep(torch.autograd.Function):
    """x, W_in, W_left, W_top, b → hidden states; the axes that the plan flips run backwards."""

    @staticmethod
    def forward(
        ctx: _SavedGrid,
        x: Tensor,
        W_in: Tensor,
        W_left: Tensor,
        W_top: Tensor,
        b: Tensor | None,
        plan: SweepPlan,
    ) -> Tensor:
        """Project every cell by one product, then walk."""
        x = x.flip(plan.flipped) if plan.flipped else x
        B, rows, cols, c = x.shape
        hidden = x.new_empty(B, rows, cols, len(W_in))
        flat, cells = hidden.view(-1, len(W_in)), x.reshape(-1, c)
        if b is None:
            torch.mm(cells, W_in.T, out=flat)
        else:
            torch.addmm(b, cells, W_in.T, out=flat)
        plan.walker.forward(hidden, W_left, W_top, plan.activation)
        ctx.save_for_backward(x, W_in, W_left, W_top, hidden)
        ctx.plan = plan
        return hidden.flip(plan.flipped) if plan.flipped else hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: _SavedGrid, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Walk back, then take the gradients of inputs and weights as products over all cells."""
        x, W_in, W_left, W_top, hidden = ctx.saved_tensors
        plan, needs = ctx.plan, ctx.needs_input_grad
        if plan.flipped:
            delta = grads[0].flip(plan.flipped).contiguous()
        else:
            delta = grads[0].clone(memory_format=torch.contiguous_format)
        cols, h = hidden.shape[2:]
        with torch.autocast(x.device.type, enabled=False):
            plan.walker.backward(delta, hidden, W_left, W_top, plan.activation)
            flat, states = delta.view(-1, h), hidden.view(-1, h)
            grad_x = None
            if needs[0]:
                # For few channels this layout of the weights is faster, and sums in a better order.
                grad_x = linear(flat, W_in.T.contiguous()).view_as(x)
                grad_x = grad_x.flip(plan.flipped) if plan.flipped else grad_x
            grad_in = _over_cells(flat, x.reshape(-1, x.shape[3])) if needs[1] else None
            grad_b = flat.sum(0) if needs[4] else None
            grad_left = grad_top = None
            # In flat order the left neighbour is 1 cell earlier and the top one `cols`, except at the border.
            # Border gradients are set to zero, so that no copy of the states without a row or column is made.
            if needs[2]:
                border = delta[:, :, 0].clone()
                delta[:, :, 0] = 0
                grad_left = _over_cells(flat[1:], states[:-1])
                delta[:, :, 0] = border
            if needs[3]:
                delta[:, 0] = 0
                grad_top = _over_cells(flat[cols:], states[:-cols])
        return grad_x, grad_in, grad_left, grad_top, grad_b, None


def _over_cells(delta: Tensor, other: Tensor) -> Tensor:
    """Σ over cells of delta ⊗ other, (K, h) and (K, c) → (h, c).

    One long product would round like one long sum; up to 64 shorter ones are several times more exact, and
    faster where c is small. They take at most a quarter of the memory of delta.
    """
    K, c = other.shape
    count = max(1, min(64, K // (4 * c)))
    size = K // count
    whole = count * size
    parts = torch.bmm(delta[:whole].unflatten(0, (count, size)).mT, other[:whole].unflatten(0, (count, size)))
    return parts.sum(0).addmm_(delta[whole:].T, other[whole:])
