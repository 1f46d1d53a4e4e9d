"""Linear attention as it is defined: every pair is scored, and each row is divided by its sum."""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.problem import same_segment

State = tuple[Tensor, Tensor]  # S (B,G,D,E) = Σ φ(k) vᵀ and z (B,G,D) = Σ φ(k), over the keys so far


@dataclass(frozen=True)
class LinearProblem:
    """query (B,H,N,D) and key (B,G,M,D), carrying their feature, value (B,G,M,E), and which pairs count."""

    query: Tensor
    key: Tensor
    value: Tensor
    causal: bool
    segments: Tensor | None = None
    state: State | None = None


Found = tuple[Tensor, Tensor | None, State]  # outputs, denominators, and the state after these keys


def accumulator(dtype: torch.dtype) -> torch.dtype:
    """The type in which sums are kept: float64 for float64, otherwise float32."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def widest(device: torch.device) -> torch.dtype:
    """The type for sums that are long: float64, which Apple's GPUs do not have.

    >>> widest(torch.device("cpu")), widest(torch.device("mps"))
    (torch.float64, torch.float32)
    """
    return torch.float32 if device.type == "mps" else torch.float64


def reciprocal(den: Tensor) -> Tensor:
    """1/den, and 0 for a den of exactly zero: a query that sees nothing gives zeros, with zero gradient."""
    return (den != 0) / den.masked_fill(den == 0, 1.0)


def visible(queries: int, keys: int, causal: bool, segments: Tensor | None, device: torch.device) -> Tensor:
    """Which pairs count, as a bool tensor that broadcasts to (B, 1, N, M)."""
    q = torch.arange(keys - queries, keys, device=device)[:, None]  # the queries are the last positions
    k = torch.arange(keys, device=device)[None, :]
    pairs = (k <= q if causal else torch.ones_like(q - k, dtype=torch.bool))[None, None]
    if segments is None:
        return pairs
    return pairs & same_segment(segments[:, None, keys - queries :, None], segments[:, None, None, :])


def linear_reference(problem: LinearProblem) -> Found:
    """The outputs, the denominators and the state after these keys.

    >>> q = k = torch.ones(1, 1, 3, 2)
    >>> v = torch.tensor([[[[0.0], [3.0], [6.0]]]])
    >>> out, den, _ = linear_reference(LinearProblem(q, k, v, causal=True))
    >>> out.flatten().tolist(), den.flatten().tolist()
    ([0.0, 1.5, 3.0], [2.0, 4.0, 6.0])
    """
    q, k, v, segments, state = problem.query, problem.key, problem.value, problem.segments, problem.state
    acc, repeats = accumulator(q.dtype), q.shape[1] // k.shape[1]
    if segments is not None:  # padding may hold anything, and zero times that need not be zero
        padding = segments[:, None, :, None] < 0
        q = q.masked_fill(padding[:, :, k.shape[2] - q.shape[2] :], 0.0)
        k, v = k.masked_fill(padding, 0.0), v.masked_fill(padding, 0.0)
    seen = visible(q.shape[2], k.shape[2], problem.causal, segments, q.device)
    each_k, each_v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
    scores = (q @ each_k.mT).masked_fill(~seen, 0.0)  # B H N M
    den = scores.sum(-1, dtype=acc)
    if state is not None:
        each_s, each_z = (part.repeat_interleave(repeats, 1) for part in state)
        den = den + (q.to(acc) @ each_z[..., None])[..., 0]
    share = reciprocal(den)[..., None]
    out = (scores * share).to(q.dtype) @ each_v
    after = (k.to(acc).mT @ v.to(acc), k.sum(-2, dtype=acc))
    if state is not None:
        out = out + (q.to(acc) @ each_s * share).to(q.dtype)
        after = (after[0] + state[0], after[1] + state[1])
    return out, den, after
