"""torch's own attention: fused kernels for everything and for the triangle, a dense mask for the rest."""

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from regard.attention.problem import Problem
from regard.attention.reference import dense_bias
from regard.pattern import Causal, Full


def refuses(problem: Problem) -> str | None:
    """It takes every problem."""
    return None


def attend(problem: Problem) -> Tensor:
    """The output of torch's kernel for the problem."""
    q, k, v = problem.query, problem.key, problem.value
    _, H, G, N, _ = problem.sizes
    if problem.empty:
        # torch's kernels refuse or forget empty inputs; sums of nothing keep the gradient's graph.
        return q.new_zeros(*q.shape[:3], v.shape[3]) + q[:0].sum() + k[:0].sum() + v[:0].sum()
    if problem.plain and fused(problem):
        causal = problem.pattern == Causal() and N > 1
        # torch hides the future before it scales: a scale that is not positive goes into q instead.
        q, scale = (q, problem.scale) if problem.scale > 0 else (q * problem.scale, 1.0)
        return scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=H != G)
    allowed = problem.allowed()
    seen = allowed.any(-1, keepdim=True)
    bias = dense_bias(problem)
    mask = allowed | ~seen if bias is None else bias.masked_fill(~allowed & seen, -torch.inf)
    out = scaled_dot_product_attention(q, k, v, mask, scale=problem.scale, enable_gqa=H != G)
    return out.masked_fill(~seen, 0.0)


def fused(problem: Problem) -> bool:
    """Whether torch needs no mask: every pair, the square triangle, or the one query that sees all."""
    _, _, _, N, M = problem.sizes
    if problem.pattern == Full():
        return True
    return problem.pattern == Causal() and N in (1, M)
