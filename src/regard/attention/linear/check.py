"""What `linear_attend` refuses: arguments that do not fit, and denominators too small to divide by."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

import torch
from torch import Tensor

from regard.attention.inputs import check_on
from regard.attention.linear.reference import Found, LinearProblem, State, accumulator
from regard.attention.problem import check_tensors

UNSAFE = 1e-6  # of the largest denominator that a query and keys of these lengths could have


# One implementation. No denominators (None) means that a kernel was told not to check them, or found all of
# them safe.
LinearImpl = Callable[[LinearProblem], Found]


def check_inputs(query: Tensor, key: Tensor, value: Tensor, causal: bool, segments: Tensor | None) -> None:
    """Raise unless the tensors fit together."""
    check_tensors(query, key, value)
    check_on(query, segments=segments)
    (B, _, N, _), (G, M) = query.shape, key.shape[1:3]
    if G == 0:
        raise ValueError(f"the key heads must divide the query heads, got H={query.shape[1]}, {G=}")
    if N > M and (causal or segments is not None):
        raise ValueError(f"causal or segmented queries are the last of the keys' positions, got {N=} > {M=}")
    if segments is None:
        return
    if segments.shape != (B, M) or segments.dtype.is_floating_point or segments.dtype == torch.bool:
        got = f"{segments.dtype} {tuple(segments.shape)}"
        raise ValueError(f"segments must be integers of shape (B, M) = {(B, M)}, got {got}")


def check_decay(decay: Sequence[float], groups: int, causal: bool) -> tuple[float, ...]:
    """The rates, one per key head, or a ValueError where weights cannot fall so."""
    rates = tuple(float(rate) for rate in decay)
    if not causal:
        raise ValueError(f"decay is for causal attention, whose distances go one way, got {causal=}")
    if len(rates) != groups or not all(0 <= rate < inf for rate in rates):
        raise ValueError(f"decay must be {groups} finite rates of at least 0, one per key head, got {rates}")
    return rates


def check_state(state: State, key: Tensor, value: Tensor) -> None:
    """Raise unless the state has the shapes, type and device that these keys and values would give it."""
    B, G, _, D = key.shape
    acc = accumulator(key.dtype)
    for name, part, shape in zip("Sz", state, ((B, G, D, value.shape[3]), (B, G, D)), strict=True):
        if part.shape != shape or part.dtype != acc or part.device != key.device:
            got = f"{tuple(part.shape)}, {part.dtype}, {part.device}"
            raise ValueError(f"state's {name} must be {shape}, {acc}, {key.device}, got {got}")


@torch.no_grad()
def check_denominators(den: Tensor, problem: LinearProblem, run: LinearImpl) -> None:
    """Raise if a query that sees a key has a denominator lost in rounding.

    The sum of the lengths of the keys that a query sees is itself a denominator: that of a query 1 and
    keys ‖φ(k_j)‖, so the same code sums over the same keys.
    """
    q, k, segments, state = problem.query, problem.key, problem.segments, problem.state
    (B, G, M), N = k.shape[:3], q.shape[2]
    acc = accumulator(q.dtype)
    lengths = torch.linalg.vector_norm(k, dim=-1, keepdim=True, dtype=acc)
    before = None
    if state is not None:  # the keys inside a state are known by their sum alone
        before = lengths.new_zeros(B, G, 1, 0), torch.linalg.vector_norm(state[1], dim=-1, keepdim=True)
    ones = lengths.new_ones(B, G, N, 1)
    _, reach, _ = run(replace(problem, query=ones, key=lengths, value=lengths[..., :0], state=before))
    assert reach is not None
    bound = torch.linalg.vector_norm(q, dim=-1, dtype=acc) * reach.repeat_interleave(q.shape[1] // G, 1)
    unsafe = den.abs() <= UNSAFE * bound
    if segments is not None:
        unsafe &= segments[:, None, M - N :] >= 0
    if (M == 0 and state is None) or not unsafe.any():
        return
    b, h, i = unsafe.nonzero()[0].tolist()
    raise ValueError(
        f"the denominator of query (batch {b}, head {h}, position {i}) is {den[b, h, i]:.3g}, at most "
        f"{UNSAFE:g}·‖φ(q)‖·Σ‖φ(k)‖ = {UNSAFE * bound[b, h, i]:.3g}, so dividing by it would give noise "
        f"({int(unsafe.sum())} such queries); use feature=elu1, or check=False to divide all the same"
    )
