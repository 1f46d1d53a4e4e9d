"""Linear attention inside torch.compile and torch.export: one operation, for any length.

How a sequence is cut depends on its length, which the compiler may know by name only. The backward pass runs
the forward once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.library import Library

from regard.attention.linear import attend  # which hands over to this file where a compiler looks on

Decay = Sequence[float] | None
INPUTS = "Tensor query, Tensor key, Tensor value, Tensor? segments, bool causal, float[]? decay, str impl"
LIBRARY = Library("regard", "FRAGMENT")
LIBRARY.define(f"linear_attend({INPUTS}) -> Tensor")
LIBRARY.define(f"linear_attend_backward(Tensor grad, {INPUTS}) -> Tensor[]")


@torch.library.impl(LIBRARY, "linear_attend", "CompositeExplicitAutograd")
def _forward(
    query: Tensor, key: Tensor, value: Tensor, segments: Tensor | None, causal: bool, decay: Decay, impl: str
) -> Tensor:
    out = attend.linear_attend(
        query, key, value, causal=causal, segments=segments, decay=decay, check=False, impl=impl
    )
    return cast(Tensor, out).contiguous()


@torch.library.impl(LIBRARY, "linear_attend_backward", "CompositeExplicitAutograd")
def _backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    segments: Tensor | None,
    causal: bool,
    decay: Decay,
    impl: str,
) -> list[Tensor]:
    leaves = [x.detach().requires_grad_() for x in (query, key, value)]
    q, k, v = leaves
    with torch.enable_grad():
        out = _forward(q, k, v, segments, causal, decay, impl)
    return [x.contiguous() for x in torch.autograd.grad(out, leaves, grad)]


@torch.library.register_fake("regard::linear_attend", lib=LIBRARY)
def _shape(query: Tensor, key: Tensor, value: Tensor, *rest: object) -> Tensor:
    return query.new_empty(*query.shape[:3], value.shape[3])


@torch.library.register_fake("regard::linear_attend_backward", lib=LIBRARY)
def _shapes(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, *rest: object) -> list[Tensor]:
    return [x.new_empty(x.shape) for x in (query, key, value)]


class _SavedLinear(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]
    rest: tuple[bool, Decay, str]


def _remember(ctx: _SavedLinear, inputs: tuple, output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:4])
    ctx.rest = inputs[4:]


def _gradient(ctx: _SavedLinear, grad: Tensor) -> tuple[Tensor | None, ...]:
    found = torch.ops.regard.linear_attend_backward(grad, *ctx.saved_tensors, *ctx.rest)
    return *found, None, None, None, None


torch.library.register_autograd("regard::linear_attend", _gradient, setup_context=_remember, lib=LIBRARY)


def linear_in_trace(
    query: Tensor, key: Tensor, value: Tensor, segments: Tensor | None, causal: bool, decay: Decay, impl: str
) -> Tensor:
    """`linear_attend` of features as the compiler sees it."""
    out: Tensor = torch.ops.regard.linear_attend(query, key, value, segments, causal, decay, impl)
    return out
