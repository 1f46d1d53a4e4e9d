"""Attention inside torch.compile: torch's own kernel where it knows the pattern, else one opaque operation.

The compiler cannot follow how `attend` plans its work from the values of a pattern, so it sees a single
operation with the pattern as text, which runs `attend` as it is. Where our kernels run, its backward uses
what the forward kept; elsewhere it runs the forward once more.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.library import Library
from torch.nn.functional import scaled_dot_product_attention

from regard.attention import DistanceBias, attend
from regard.attention.problem import check
from regard.attention.triton import tiles
from regard.pattern import Causal, Full, Pattern, parse

INPUTS = "Tensor query, Tensor key, Tensor value, Tensor? segments, str pattern, float[] slopes"
NAME = "regard::attention_by_text"

_parse = lru_cache(maxsize=256)(parse)

LIBRARY = Library("regard", "FRAGMENT")
LIBRARY.define(f"attention_by_text({INPUTS}) -> (Tensor, Tensor)")  # the output, and what the kernels keep
LIBRARY.define(
    f"attention_by_text_backward(Tensor grad, Tensor out, Tensor kept, {INPUTS}) -> (Tensor, Tensor, Tensor)"
)


def mix(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern,
    bias: DistanceBias | None,
    segments: Tensor | None,
) -> Tensor:
    """What `attend` gives where there are as many queries as keys, in a form that compiles.

    >>> from regard.pattern import Strided
    >>> x = torch.randn(1, 2, 5, 4)
    >>> torch.allclose(mix(x, x, x, Strided(back=1), None, None), attend(x, x, x, Strided(back=1)))
    True
    """
    if bias is None and segments is None and isinstance(pattern, Full | Causal):
        grouped = query.shape[1] != key.shape[1]
        causal = isinstance(pattern, Causal)
        return scaled_dot_product_attention(query, key, value, is_causal=causal, enable_gqa=grouped)
    slopes = [] if bias is None else list(bias.slopes)
    return torch.ops.regard.attention_by_text(query, key, value, segments, str(pattern), slopes)[0]


def _kernels(query: Tensor, value: Tensor) -> bool:
    # Nothing here may ask for a length, which the compiler may know by name only.
    known = query.dtype in (torch.bfloat16, torch.float16, torch.float32)
    return query.is_cuda and known and max(query.shape[3], value.shape[3]) <= tiles.WIDEST


@torch.library.impl(LIBRARY, "attention_by_text", "CompositeExplicitAutograd")
def _forward(
    query: Tensor, key: Tensor, value: Tensor, segments: Tensor | None, pattern: str, slopes: list[float]
) -> tuple[Tensor, Tensor]:
    bias = DistanceBias(tuple(slopes)) if slopes else None
    if _kernels(query, value) and query.numel():
        problem = check(query, key, value, _parse(pattern), None, bias, segments)
        return tiles.forward(*tiles.arranged(problem))
    out = attend(query, key, value, _parse(pattern), bias=bias, segments=segments)
    return out.contiguous(), _kept(query, value)


@torch.library.impl(LIBRARY, "attention_by_text_backward", "CompositeExplicitAutograd")
def _backward(  # noqa: PLR0913, PLR0917 - the operation's own signature
    grad: Tensor,
    out: Tensor,
    kept: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    segments: Tensor | None,
    pattern: str,
    slopes: list[float],
) -> tuple[Tensor, Tensor, Tensor]:
    bias = DistanceBias(tuple(slopes)) if slopes else None
    if _kernels(query, value) and query.numel():
        problem = check(query, key, value, _parse(pattern), None, bias, segments)
        q, k, v, work, tilings = tiles.arranged(problem)
        return tiles.backward(grad, q, k, v, out, kept, work, tilings)
    with torch.enable_grad():
        q, k, v = (x.detach().requires_grad_() for x in (query, key, value))
        again = attend(q, k, v, _parse(pattern), bias=bias, segments=segments)
    q, k, v = torch.autograd.grad(again, (q, k, v), grad)
    return q.contiguous(), k.contiguous(), v.contiguous()


@torch.library.register_fake(NAME, lib=LIBRARY)
def _shape(query: Tensor, key: Tensor, value: Tensor, *rest: object) -> tuple[Tensor, Tensor]:
    return query.new_empty(*query.shape[:3], value.shape[3]), _kept(query, value)


def _kept(query: Tensor, value: Tensor) -> Tensor:
    """Memory for what the forward pass keeps, none where the backward pass starts afresh."""
    return query.new_empty(query.shape[:3] if _kernels(query, value) else (0,), dtype=torch.float32)


@torch.library.register_fake(f"{NAME}_backward", lib=LIBRARY)
def _shapes(
    grad: Tensor, out: Tensor, kept: Tensor, query: Tensor, key: Tensor, value: Tensor, *rest: object
) -> tuple[Tensor, Tensor, Tensor]:
    q, k, v = (x.new_empty(x.shape) for x in (query, key, value))
    return q, k, v


Inputs = tuple[Tensor, Tensor, Tensor, Tensor | None, str, list[float]]


class _SavedInputs(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]
    pattern: str
    slopes: list[float]


def _remember(ctx: _SavedInputs, inputs: Inputs, output: tuple[Tensor, Tensor]) -> None:
    query, key, value, segments, ctx.pattern, ctx.slopes = inputs
    ctx.save_for_backward(*output, query, key, value, segments)  # type: ignore[arg-type]
    ctx.set_materialize_grads(False)


def _gradient(ctx: _SavedInputs, grad: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
    found = torch.ops.regard.attention_by_text_backward(grad, *ctx.saved_tensors, ctx.pattern, ctx.slopes)
    return *found, None, None, None


torch.library.register_autograd(NAME, _gradient, setup_context=_remember, lib=LIBRARY)
