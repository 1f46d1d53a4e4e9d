"""Attention inside torch.compile and torch.export: one operation that runs the engine as it is.

The compiler cannot follow how work is planned from the values of a pattern, so it sees a single operation
with the pattern as text. Where our kernels run, its backward uses what the forward kept; elsewhere it runs
the forward once more. Nothing here depends on a length, which the compiler may know by name only.
"""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from operator import index
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.library import Library

from regard.attention import engine, sdpa  # the engine hands over to this file where a compiler looks on
from regard.attention.bias import DistanceBias
from regard.attention.problem import Attended, Problem, Segments
from regard.attention.triton import hopper, plan, short, tiles
from regard.pattern import Pattern, parse

INPUTS = (
    "Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? slopes, Tensor? of_query, Tensor? of_key, "
    "Tensor? mask, Tensor? offset, Tensor? seed, float[] fixed, str pattern, float scale, float? softcap, "
    "float dropout, bool lse, str impl"
)
LIBRARY = Library("regard", "FRAGMENT")
LIBRARY.define(f"attend({INPUTS}) -> (Tensor, Tensor)")  # the output, and normalisers in base 2
LIBRARY.define(f"attend_backward(Tensor grad, Tensor? of_lse, Tensor out, Tensor kept, {INPUTS}) -> Tensor[]")

OURS = {"triton": tiles, "hopper": hopper}  # whose backward pass is one
_parse = lru_cache(maxsize=256)(parse)


def run_compiled(problem: Problem, impl: str) -> Attended:
    """The answer to a problem in a form that compiles: torch's own kernel where it knows the pattern."""
    if problem.weights or impl == "reference":
        return engine.backend("reference").attend(problem)
    if impl in ("auto", "short") and problem.packed is not None and _one_tile(problem):
        qkv, heads = problem.packed, problem.form.H
        out = torch.ops.regard.attend_qkv(qkv, heads, problem.scale, _text(problem.pattern))
        return Attended(out.transpose(1, 2))
    if impl in ("auto", "sdpa") and problem.form.plain and sdpa.fused(problem.form):
        return sdpa.attend(problem)
    bias, slopes, fixed = problem.bias, None, []
    if isinstance(bias, DistanceBias):
        given, bias = bias.slopes, None
        slopes, fixed = (given, []) if isinstance(given, Tensor) else (None, list(given))
    of_query, of_key = (None, None) if problem.segments is None else problem.segments
    out, kept = torch.ops.regard.attend(
        problem.query, problem.key, problem.value, bias, slopes, of_query, of_key, problem.mask,
        problem.offset, problem.seed, fixed, _text(problem.pattern), problem.scale, problem.softcap,
        problem.dropout, problem.lse, impl,
    )  # fmt: skip
    return Attended(out, tiles.natural(kept) if problem.lse else None)


def _text(pattern: Pattern) -> str:
    """The pattern's text where its numbers are symbols, as with dynamic=True all numbers of a value are."""

    def constant(value: Any) -> Any:
        if isinstance(value, Pattern):
            return type(value)(*(constant(getattr(value, field.name)) for field in fields(value)))  # type: ignore[arg-type]
        return tuple(map(constant, value)) if isinstance(value, tuple) else index(value)

    return str(constant(pattern))


def _one_tile(problem: Problem) -> bool:
    # A layer packs only where its pattern is one that the kernel knows.
    form = problem.form
    half = form.dtype in (torch.bfloat16, torch.float16)
    return form.device.type == "cuda" and half and form.plain and short.fits(form.N, form.D)


def problem_of_operation(  # noqa: PLR0913, PLR0917 - the operation's own signature
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, slopes: Tensor | None,
    of_query: Tensor | None, of_key: Tensor | None, mask: Tensor | None, offset: Tensor | None,
    seed: Tensor | None, fixed: list[float], pattern: str, scale: float, softcap: float | None,
    dropout: float, lse: bool, impl: str,
) -> tuple[Problem, str]:  # fmt: skip
    """The problem that the operation's arguments describe, and who runs it."""
    distance = DistanceBias(slopes) if slopes is not None else DistanceBias(tuple(fixed)) if fixed else None
    segments = None if of_query is None or of_key is None else Segments(of_query, of_key)
    problem = Problem(
        query, key, value, _parse(pattern), scale, bias if distance is None else distance, segments, mask,
        offset, softcap=softcap, dropout=dropout, seed=seed, lse=lse,
    )  # fmt: skip
    if offset is None:
        problem.pattern.resolve(problem.form.N, problem.form.M)
    if problem.form.N < problem.form.M:
        problem = engine.narrowed(problem)
    return problem, engine.chosen(problem.form).impl if impl == "auto" else impl


@torch.library.impl(LIBRARY, "attend", "CompositeExplicitAutograd")
def _forward(query: Tensor, key: Tensor, value: Tensor, *rest: object) -> tuple[Tensor, Tensor]:
    problem, impl = problem_of_operation(query, key, value, *rest)  # type: ignore[arg-type]
    if impl in OURS and OURS[impl].refuses(problem.form) is None:
        arranged = plan.arrange(problem)
        return OURS[impl].forward(arranged.query, arranged.key, arranged.value, arranged)
    found = engine.run(problem, impl)
    kept = query.new_zeros(query.shape[:3], dtype=torch.float32)
    if found.lse is not None:
        kept = (found.lse * plan.LOG2E).masked_fill(found.lse == -torch.inf, tiles.NEVER).float()
    return found.out.contiguous(), kept


@torch.library.impl(LIBRARY, "attend_backward", "CompositeExplicitAutograd")
def _backward(
    grad: Tensor,
    of_lse: Tensor | None,
    out: Tensor,
    kept: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *rest: object,
) -> list[Tensor]:
    problem, impl = problem_of_operation(query, key, value, *rest)  # type: ignore[arg-type]
    given = [query, key, value, *(rest[:2])]
    found: list[Tensor | None]
    if impl in OURS:
        a = plan.arrange(problem)
        dq, dk, dv, dslopes = tiles.backward(
            grad, None if of_lse is None else of_lse * plan.LOG2E, a.query, a.key, a.value, out, kept, a
        )
        cut = key.shape[2] - dk.shape[2]  # keys in front that no query sees
        if cut:
            dk, dv = (torch.nn.functional.pad(x, (0, 0, cut, 0)) for x in (dk, dv))
        found = [dq if a.query is problem.query else dq * problem.scale, dk, dv, None, dslopes]
    else:
        leaves = [x.detach().requires_grad_() if isinstance(x, Tensor) else None for x in given]
        with torch.enable_grad():
            again, _ = problem_of_operation(*leaves[:3], *leaves[3:], *rest[2:])  # type: ignore[arg-type]
            answer = engine.run(again, impl)
        real = [x for x in leaves if x is not None]
        outs, ups = [answer.out], [grad]
        if of_lse is not None and answer.lse is not None:
            outs, ups = [*outs, answer.lse], [*ups, of_lse.to(answer.lse.dtype) * plan.LOG2E]
        several = iter(torch.autograd.grad(outs, real, ups, materialize_grads=True))
        found = [None if x is None else next(several) for x in leaves]
    return [grad.new_empty(0) if x is None else x.contiguous() for x in found]


@torch.library.register_fake("regard::attend", lib=LIBRARY)
def _shape(query: Tensor, key: Tensor, value: Tensor, *rest: object) -> tuple[Tensor, Tensor]:
    out = query.new_empty(*query.shape[:3], value.shape[3])
    return out, query.new_empty(query.shape[:3], dtype=torch.float32)


@torch.library.register_fake("regard::attend_backward", lib=LIBRARY)
def _shapes(  # noqa: PLR0913, PLR0917 - the operation's own signature
    grad: Tensor, of_lse: Tensor | None, out: Tensor, kept: Tensor, query: Tensor, key: Tensor, value: Tensor,
    bias: Tensor | None, slopes: Tensor | None, *rest: object,
) -> list[Tensor]:  # fmt: skip
    return [
        grad.new_empty(0) if x is None else x.new_empty(x.shape) for x in (query, key, value, bias, slopes)
    ]


class _SavedInputs(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]
    rest: tuple[object, ...]


def _remember(ctx: _SavedInputs, inputs: tuple, output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(*output, *inputs[:10])
    ctx.rest = inputs[10:]
    ctx.set_materialize_grads(False)


def _gradient(ctx: _SavedInputs, grad: Tensor | None, of_lse: Tensor | None) -> tuple[Tensor | None, ...]:
    out, kept, *tensors = ctx.saved_tensors
    grad = torch.zeros_like(out) if grad is None else grad
    found = torch.ops.regard.attend_backward(grad, of_lse, out, kept, *tensors, *ctx.rest)
    absent = [x is None for x in tensors[:5]]
    return *(None if gone else x for x, gone in zip(found, absent, strict=True)), *[None] * 12


torch.library.register_autograd("regard::attend", _gradient, setup_context=_remember, lib=LIBRARY)


# The same straight from the projection of a layer.


@torch.library.custom_op("regard::attend_qkv", mutates_args=())
def _projection(qkv: Tensor, heads: int, scale: float, pattern: str) -> Tensor:
    return short.forward(qkv, heads, scale, _parse(pattern))


@torch.library.custom_op("regard::attend_qkv_backward", mutates_args=())
def _projection_backward(grad: Tensor, qkv: Tensor, heads: int, scale: float, pattern: str) -> Tensor:
    return short.backward(grad, qkv, heads, scale, _parse(pattern))


@_projection.register_fake
def _(qkv: Tensor, heads: int, scale: float, pattern: str) -> Tensor:
    B, N, _, D = qkv.shape
    return qkv.new_empty(B, N, heads, D)


@_projection_backward.register_fake
def _(grad: Tensor, qkv: Tensor, heads: int, scale: float, pattern: str) -> Tensor:
    return qkv.new_empty(qkv.shape)


def _remember_projection(ctx: _SavedInputs, inputs: tuple[Tensor, int, float, str], output: Tensor) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.rest = inputs[1:]


def _projection_gradient(ctx: _SavedInputs, grad: Tensor) -> tuple[Tensor | None, ...]:
    return torch.ops.regard.attend_qkv_backward(grad, *ctx.saved_tensors, *ctx.rest), None, None, None


_projection.register_autograd(_projection_gradient, setup_context=_remember_projection)
