"""The definition: softmax of scaled scores over exactly the pairs that the pattern allows."""

import torch
from torch import Tensor

from regard.attention.bias import DistanceBias
from regard.attention.problem import Problem


def attend(
    problem: Problem, dropout: float = 0.0, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """(out (B,H,N,E), weights (B,H,N,M) before dropout), in time and memory N·M."""
    _, H, G, _, _ = problem.sizes
    heads = H // G if G else 1
    key, value = (x.repeat_interleave(heads, dim=1) for x in (problem.key, problem.value))
    scores = problem.query @ key.mT * problem.scale  # B H N M
    bias = dense_bias(problem)
    scores = scores if bias is None else scores + bias
    allowed = problem.allowed()
    # A row without keys keeps finite scores, so that its softmax has no NaN, and is then cleared.
    hidden = ~allowed & allowed.any(-1, keepdim=True)
    weights = scores.masked_fill(hidden, -torch.inf).softmax(-1).masked_fill(~allowed, 0.0)
    kept = weights
    if dropout > 0:
        draws = torch.rand(weights.shape, generator=generator, device=weights.device)
        kept = weights * (draws >= dropout) / (1 - dropout)
    return kept.to(value.dtype) @ value, weights


def dense_bias(problem: Problem) -> Tensor | None:
    """The bias as a tensor that broadcasts to the scores."""
    if isinstance(problem.bias, DistanceBias):
        return problem.bias.dense(*problem.positions()).to(problem.query.dtype)
    return None if problem.bias is None else problem.bias.to(problem.query.dtype)
