"""Linear attention as it is defined: every pair is scored, and each row is divided by its sum."""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.bias import DistanceBias
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
    decay: Tensor | None = None  # G, how fast each key head forgets; such a problem is causal


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


def rates_on(rates: tuple[float, ...], device: torch.device) -> Tensor:
    """Rates of decay (G,) on a device, copied there once."""
    return DistanceBias(rates).tensor(device, widest(device))


def faded(decay: Tensor, distance: Tensor | int) -> Tensor:
    """What is left of each head's weights over distances (…), exp(−decay·distance): (G,…).

    >>> faded(torch.tensor([0.0, 0.5]), torch.arange(3))
    tensor([[1.0000, 1.0000, 1.0000],
            [1.0000, 0.6065, 0.3679]])
    """
    distance = torch.as_tensor(distance, device=decay.device)
    return torch.exp(-decay.view(-1, *[1] * distance.ndim) * distance)


def aged(state: State, decay: Tensor | None, steps: int) -> State:
    """What is left of a state after so many further positions."""
    if decay is None:
        return state
    left = torch.exp(-decay * steps).to(state[0].dtype)[:, None]
    return state[0] * left[..., None], state[1] * left


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
    acc, repeats, (N, M) = accumulator(q.dtype), q.shape[1] // k.shape[1], (q.shape[2], k.shape[2])
    if segments is not None:  # padding may hold anything, and zero times that need not be zero
        padding = segments[:, None, :, None] < 0
        q = q.masked_fill(padding[:, :, M - N :], 0.0)
        k, v = k.masked_fill(padding, 0.0), v.masked_fill(padding, 0.0)
    seen = visible(N, M, problem.causal, segments, q.device)
    each_k, each_v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
    scores = (q @ each_k.mT).masked_fill(~seen, 0.0)  # B H N M
    q, k = q.to(acc), k.to(acc)  # as a state is read and made
    if (decay := problem.decay) is not None:
        at = torch.arange(M, device=q.device)
        left = faded(decay, (at[M - N :, None] - at).clamp(min=0))  # G N M
        scores = scores * left.repeat_interleave(repeats, 0).to(scores.dtype)
        q = q * faded(decay, at[M - N :] + 1).repeat_interleave(repeats, 0).to(acc)[..., None]
        k = k * faded(decay, M - 1 - at).to(acc)[..., None]
    den = scores.sum(-1, dtype=acc)
    if state is not None:
        each_s, each_z = (part.repeat_interleave(repeats, 1) for part in state)
        den = den + (q @ each_z[..., None])[..., 0]
    share = reciprocal(den)[..., None]
    out = (scores * share).to(v.dtype) @ each_v
    after = (k.mT @ v.to(acc), k.sum(-2))
    if state is not None:
        out = out + (q @ each_s * share).to(v.dtype)
        S, z = aged(state, decay, M)
        after = (after[0] + S, after[1] + z)
    return out, den, after
