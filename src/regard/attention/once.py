"""Gradients that have no gradient of their own: to ask for one is an error that says who has it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx


def once(
    gradients: tuple[Tensor | None, ...], who: str, origin: tuple[Tensor, ...]
) -> tuple[Tensor | None, ...]:
    """The gradients that a backend made from `origin`, hung on it so that to differentiate them raises."""
    return tuple(None if x is None else _Once.apply(x, who, *origin) for x in gradients)


class _Named(FunctionCtx):
    who: str


class _Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx: _Named, gradient: Tensor, who: str, *origin: Tensor) -> Tensor:
        ctx.who = who
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: _Named, *grads: Tensor) -> tuple[Tensor | None, ...]:
        raise RuntimeError(f"{ctx.who} has no second derivative; impl='reference' has")
