"""torch's own attention: fused kernels for everything and for the triangle, a dense mask for the rest."""

from functools import lru_cache

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend
from torch.nn.functional import scaled_dot_product_attention

from regard.attention.joined import Ahead
from regard.attention.problem import Attended, Form, Problem
from regard.pattern import Causal, Full


def refuses(form: Form) -> str | None:
    """Why torch's kernels cannot take the problem, or None."""
    return form.asks_beyond("bias", "slopes", "segments", "mask", "offset", "slots", "places")


def attend(problem: Problem) -> Attended:
    """The output of torch's kernel for the problem."""
    q, k, v, form = problem.query, problem.key, problem.value, problem.form
    # Branches and not comparisons: under the compiler sizes may be symbols, and torch wants a bool.
    grouped = True if form.H != form.G else False  # noqa: SIM210
    if form.empty:
        # torch's kernels refuse or forget empty inputs; sums of nothing keep the gradient's graph.
        return Attended(q.new_zeros(*q.shape[:3], v.shape[3]) + q[:0].sum() + k[:0].sum() + v[:0].sum())
    if form.plain and fused(form):
        causal = True if form.pattern == Causal() and form.N > 1 else False  # noqa: SIM210
        # torch hides the future before it scales: a scale that is not positive goes into q instead.
        q, scale = (q, problem.scale) if problem.scale > 0 else (q * problem.scale, 1.0)
        return Attended(
            scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=grouped)
        )
    allowed = problem.allowed()
    given = problem.bias
    bias = given if isinstance(given, Tensor) and given.dtype == form.dtype else problem.dense_bias()
    if bias is not None:
        allowed = allowed & (bias > -torch.inf)
    seen = allowed.any(-1, keepdim=True)
    mask = allowed | ~seen
    if bias is not None:
        # A distance times a slope needs more than the eight bits of bfloat16: all of it in float32.
        q, k, v = (x.to(bias.dtype) for x in (q, k, v))
        mask = bias.masked_fill(~mask, -torch.inf).where(seen, 0.0)
    out = scaled_dot_product_attention(q, k, v, mask, scale=problem.scale, enable_gqa=grouped)
    return Attended(out.masked_fill(~seen, 0.0).to(form.dtype))


@lru_cache(maxsize=1 << 12)
def kept(form: Form) -> Ahead | None:
    """Torch's kernel where it also says its normalisers, or None where it would take one that does not."""
    if not (form.plain and form.N == form.M and fused(form)) or form.H != form.G or form.scale <= 0:
        return None
    if form.device.type == "cpu":
        return _on_cpu
    if form.device.type != "cuda" or form.dtype not in (torch.bfloat16, torch.float16) or form.D != form.E:
        return None
    like = torch.empty((1, 1, form.N, form.D), dtype=form.dtype, device=form.device)
    choice = torch._fused_sdp_choice(like, like, like, None, 0.0, form.pattern == Causal(), scale=form.scale)
    return {SDPBackend.CUDNN_ATTENTION.value: _by_cudnn, SDPBackend.FLASH_ATTENTION.value: _by_flash}.get(
        choice
    )


def _on_cpu(q: Tensor, k: Tensor, v: Tensor, form: Form) -> tuple[Tensor, Tensor]:
    run = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    out, lse = run(q, k, v, 0.0, form.pattern == Causal(), scale=form.scale)
    return out, lse


def _by_cudnn(q: Tensor, k: Tensor, v: Tensor, form: Form) -> tuple[Tensor, Tensor]:
    run = torch.ops.aten._scaled_dot_product_cudnn_attention
    out, lse = run(q, k, v, None, True, 0.0, form.pattern == Causal(), False, scale=form.scale)[:2]
    return out, lse.reshape(q.shape[:3])


def _by_flash(q: Tensor, k: Tensor, v: Tensor, form: Form) -> tuple[Tensor, Tensor]:
    run = torch.ops.aten._scaled_dot_product_flash_attention
    out, lse = run(q, k, v, 0.0, form.pattern == Causal(), False, scale=form.scale)[:2]
    return out, lse.reshape(q.shape[:3])


def fused(form: Form) -> bool:
    """Whether torch needs no mask: every pair, the square triangle, or the one query that sees all."""
    return form.pattern == Full() or (form.pattern == Causal() and form.N in (1, form.M))
