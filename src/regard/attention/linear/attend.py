"""Linear attention: the exponential dropped, the weights normalised as usual, in time linear in N."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import pad

from regard.attention.linear.check import (
    LinearImpl,
    check_decay,
    check_denominators,
    check_inputs,
    check_state,
)
from regard.attention.linear.chunked import linear_chunked
from regard.attention.linear.features import FEATURES, Feature, identity
from regard.attention.linear.reference import Found, LinearProblem, State, aged, linear_reference, rates_on
from regard.attention.linear.segments import gathering, take
from regard.attention.problem import Choice
from regard.attention.triton.tiles import installed, interpreted


def linear_attend(  # noqa: PLR0913  the signature is the public contract
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    causal: bool = False,
    feature: Feature | str = identity,
    segments: Tensor | None = None,
    state: State | None = None,
    return_state: bool = False,
    decay: Sequence[float] | None = None,
    check: bool = True,
    impl: str = "auto",
) -> Tensor | tuple[Tensor, State]:
    """y_i = Σ_j (φ(q_i)·φ(k_j)) v_j / Σ_j φ(q_i)·φ(k_j), over all keys or, if causal, those up to i.

    >>> q = k = torch.ones(1, 1, 4, 2)
    >>> v = torch.arange(4.0).view(1, 1, 4, 1)
    >>> linear_attend(q, k, v, causal=True).flatten()
    tensor([0.0000, 0.5000, 1.0000, 1.5000])

    Decoding carries a state that does not grow, S = Σ φ(k) vᵀ and z = Σ φ(k) in float32:

    >>> out, state = linear_attend(q[:, :, :3], k[:, :, :3], v[:, :, :3], causal=True, return_state=True)
    >>> linear_attend(q[:, :, 3:], k[:, :, 3:], v[:, :, 3:], causal=True, state=state).item()
    1.5

    `query (B,H,N,D)`, `key (B,G,M,D)`, `value (B,G,M,E)`; G divides H, and causal queries are the last N
    of M positions. `segments (B,M)`: a pair also needs equal, non-negative segments; a query that sees no
    key gives zeros. There is no scale: it would cancel. `feature` is `identity`, `relu`, `elu1`, one of
    these names, or any function that keeps all axes but the last. `decay`, one rate per key head, lets
    causal weights fall with the distance: times exp(−decay·(i − j)).

    A denominator may be negative, but one lost in rounding raises ValueError: at most
    1e-6·‖φ(q_i)‖·Σ_j ‖φ(k_j)‖, where the keys inside a carried state count as ‖z‖. On a GPU the test waits
    for the device. `check=False` skips it; a denominator of exactly zero then gives zeros.

    `impl`: "reference" (the quadratic definition), "chunked" (plain torch) and "triton" (GPU, causal) run
    or raise; "auto" takes the fastest that can.
    """
    check_inputs(query, key, value, causal, segments)
    if segments is not None and (state is not None or return_state):
        raise ValueError(
            "a state cannot say which segment it belongs to: give segments or use a state, not both"
        )
    phi, rates = _named(feature), None if decay is None else check_decay(decay, key.shape[1], causal)
    if query.shape[2] == key.shape[2] == 1 and segments is None:
        causal = False  # the recurrent step: one key joins the state, and one query reads it
    if torch.compiler.is_compiling() and state is None and not return_state:
        from regard.attention.linear.operation import linear_in_trace

        rates = rates if causal else None  # a key is at no distance from itself
        return linear_in_trace(_apply(phi, query), _apply(phi, key), value, segments, causal, rates, impl)
    name = _choose(impl, query, value, causal, rates is not None)
    fused = name == "triton" and phi in FEATURES.values()
    q, k = (query, key) if fused else (_apply(phi, query), _apply(phi, key))
    if state is not None:
        check_state(state, k, value)
    fading = None if rates is None else rates_on(rates, query.device)
    if not causal and fading is not None:
        state, fading = None if state is None else aged(state, fading, 1), None
    empty = 0 in (*query.shape[:3], key.shape[2])
    run: LinearImpl = (
        linear_reference if name == "reference" or empty else partial(_linear_time, linear_chunked)
    )
    chosen = run
    if name == "triton" and not empty:
        from regard.attention.linear.triton import linear_triton

        kind = phi.__name__ if fused else "identity"
        chosen = partial(_linear_time, partial(linear_triton, feature=kind, check=check))
    problem = LinearProblem(q, k, value, causal, segments, state, fading)
    out, den, after = chosen(problem)
    if check and den is not None:
        check_denominators(den, replace(problem, query=phi(q), key=phi(k)) if fused else problem, run)
    return (out, after) if return_state else out


def _named(feature: Feature | str) -> Feature:
    if not isinstance(feature, str):
        return feature
    if feature not in FEATURES:
        raise ValueError(f"feature must be a function or one of {', '.join(FEATURES)}, got {feature=}")
    return FEATURES[feature]


def _apply(phi: Feature, x: Tensor) -> Tensor:
    y = phi(x)
    if y.shape[:-1] != x.shape[:-1] or y.dtype != x.dtype:
        was, now = (f"{tuple(t.shape)} {t.dtype}" for t in (x, y))
        raise ValueError(f"feature must keep all axes but the last, and the type: it made {now} of {was}")
    return y


def chosen_linear(
    dtype: torch.dtype, device: torch.device, widths: tuple[int, int], causal: bool, decays: bool = False
) -> Choice:
    """What `linear_attend(…, impl="auto")` runs for the widths of keys and values, and why."""
    if device.type != "cuda":
        return Choice("chunked", "plain torch in linear time: there is no GPU")
    why = _no_triton(dtype, device, widths, causal, decays)
    if why is None:
        return Choice("triton", "our kernels walk the sequence in parts at once")
    return Choice("chunked", f"plain torch in linear time, because {why}")


def _choose(impl: str, query: Tensor, value: Tensor, causal: bool, decays: bool) -> str:
    """The implementation to run: the named one, or the fastest that can."""
    if impl in ("reference", "chunked"):
        return impl
    if impl not in ("auto", "triton"):
        raise ValueError(f"impl must be auto, reference, chunked or triton, got {impl=}")
    asked = (query.dtype, query.device, (query.shape[3], value.shape[3]), causal, decays)
    if impl == "auto":
        return chosen_linear(*asked).impl
    if (why := _no_triton(*asked)) is not None:
        raise ValueError(f"impl='triton' cannot run: {why}; use impl='chunked'")
    return impl


def _no_triton(
    dtype: torch.dtype, device: torch.device, widths: tuple[int, int], causal: bool, decays: bool
) -> str | None:
    """Why the kernels cannot serve this call, or None."""
    if not causal:
        return "the kernels are causal (and a single query needs none)"
    if decays:
        return "the kernels know no decay"
    if dtype == torch.float64:
        return "the kernels compute in float32, got float64"
    most = 64 if dtype == torch.float32 else 128
    if max(widths) > most:
        return f"widths must be at most {most} in {dtype}, got {widths[0]} and {widths[1]}"
    if not installed():
        return "triton is not installed"
    return None if device.type == "cuda" or interpreted() else f"it needs a GPU, got {device}"


def _linear_time(run: LinearImpl, problem: LinearProblem) -> Found:
    """Give `run` what linear time needs of segments: as many queries as keys, and equal ones adjacent."""
    q, k, v, segments = problem.query, problem.key, problem.value, problem.segments
    if segments is None:
        return run(problem)
    earlier, order = k.shape[2] - q.shape[2], gathering(segments)
    q = pad(q, (0, 0, earlier, 0))
    if order is not None and problem.decay is not None:
        return linear_reference(problem)  # brought together, they would no longer know their distances
    if order is None:
        out, den, after = run(replace(problem, query=q))
    else:
        q, k, v = (take(x, order) for x in (q, k, v))
        out, den, after = run(LinearProblem(q, k, v, problem.causal, segments.gather(1, order)))
        back = order.argsort(1)
        out, den = take(out, back), None if den is None else take(den, back)
    return out[:, :, earlier:], None if den is None else den[:, :, earlier:], after
