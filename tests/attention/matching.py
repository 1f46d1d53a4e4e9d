"""How a path is held against the definition: output and all gradients, and how far they may be off."""

from typing import Any

import torch
from torch import Tensor

from regard.attention import attend
from regard.pattern import (
    Axial,
    Blocks,
    Causal,
    Dilated,
    Documents,
    Full,
    Global,
    Neighbourhood,
    Pattern,
    Prefix,
    RandomBlocks,
    SparseFixed,
    SparseStrided,
    Strided,
    Windowed,
)

Inputs = tuple[Tensor, Tensor, Tensor]

CPU = ("sdpa", "folded", "chunked", "gathered", "packed", "slots", "auto")
NAMES = ("out", "dq", "dk", "dv")
COMPOSITE = Causal() & Strided(back=128) | Global(first=4) & Causal()


def patterns(m: int, exact: bool = True) -> list[Pattern]:
    """Every kind of pattern for m keys; without `exact`, grids and documents reach beyond the last key."""
    total = m if exact else m + 5
    cols = next(c for c in (7, 5, 4, 3, 2, 1) if total % c == 0)
    rows = total // cols
    half = total // 3
    lengths = tuple(x for x in (half, 1, total - half - 1) if x > 0) if total > 1 else (1,)
    return [
        Full(), Causal(), Strided(back=0), Strided(back=5), Strided(back=64), Strided(back=100_000),
        Windowed(size=1), Windowed(size=24), Windowed(size=3000), Blocks(size=24), Blocks(size=50),
        Dilated(back=3, step=4), Dilated(back=70, step=2), SparseStrided(stride=11),
        SparseFixed(stride=16, summary=3), Global(first=0), Global(first=5), Prefix(length=30),
        RandomBlocks(size=16, per_row=2, seed=3), Documents(lengths), Axial(rows, cols),
        Neighbourhood(rows, cols, reach=2), ~Causal(), ~Strided(back=9), COMPOSITE,
        Windowed(size=40) & Strided(back=10), Documents(lengths) & Causal(),
        Causal() & ~Strided(back=20), Prefix(length=9) | Global(first=2) & ~Blocks(size=8),
    ]  # fmt: skip


def inputs(
    n: int | tuple[int, int], *, B: int = 1, H: int = 2, G: int = 2, D: int = 16, E: int = 16,
    dtype: torch.dtype = torch.float32, seed: int = 0, spread: float = 1.0,
) -> Inputs:  # fmt: skip
    """Query (B,H,N,D), key (B,G,M,D), value (B,G,M,E) for n = N = M or (N, M); `spread` stretches q."""
    N, M = n if isinstance(n, tuple) else (n, n)
    generator = torch.Generator().manual_seed(seed)
    sizes = ((B, H, N, D), (B, G, M, D), (B, G, M, E))
    q, k, v = (torch.randn(size, generator=generator) for size in sizes)
    return (spread * q).to(dtype), k.to(dtype), v.to(dtype)


def gradients(xs: Inputs, grad: Tensor, pattern: Pattern, **options: Any) -> list[Tensor]:
    """[out, dq, dk, dv] of `attend`; the leaves keep the strides of xs."""
    q, k, v = (x.detach().requires_grad_() for x in xs)
    out = attend(q, k, v, pattern, **options)
    return [out.detach(), *torch.autograd.grad(out, (q, k, v), grad, materialize_grads=True)]


def assert_matches(
    xs: Inputs,
    pattern: Pattern,
    impls: tuple[str, ...] = CPU,
    *,
    grad: Tensor | None = None,
    **options: Any,
) -> list[str]:
    """Each named path that does not refuse is at most twice as far from float64 as the definition is.

    Gives the names of those that ran. A refusal must be the engine's own, with its reason.
    """
    (B, H, N, _), E = xs[0].shape, xs[2].shape[3]
    if grad is None:
        grad = torch.randn(B, H, N, E, generator=torch.Generator().manual_seed(99)).to(xs[0].dtype)
    double = (xs[0].double(), xs[1].double(), xs[2].double())
    exact = gradients(double, grad.double(), pattern, impl="reference", **options)
    usual = gradients(xs, grad, pattern, impl="reference", **options)
    floors = rounding(xs, grad, options.get("scale"))
    ran = []
    for impl in impls:
        try:
            found = gradients(xs, grad, pattern, impl=impl, **options)
        except ValueError as error:
            assert impl != "auto", error  # noqa: PT017 - whether a path refuses depends on the case
            assert str(error).startswith(f"impl={impl!r} cannot: "), error  # noqa: PT017
            continue
        ran.append(impl)
        for name, got, plain, true, floor in zip(NAMES, found, usual, exact, floors, strict=True):
            where = f"{impl}, {pattern}: {name}"
            assert got.dtype == xs[0].dtype, where
            assert got.shape == true.shape, where
            assert got.isfinite().all(), where
            off, allowed = distance(got, true), 2 * distance(plain, true) + floor
            assert off <= allowed, f"{where} is off by {off:.3e}, allowed {allowed:.3e}"
    return ran


def distance(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).norm())


def rounding(xs: Inputs, grad: Tensor, scale: float | None) -> list[float]:
    """What a few roundings may cost where the definition happens to make none (one key: its weight is 1).

    The arithmetic is float32, or float64 for itself; each is eps times a bound on what is summed. A backward
    pass that makes the weights again from a row's normaliser knows them to eps·|score|; the definition kept
    them.
    """
    if 0 in (xs[0].numel(), xs[1].numel(), xs[2].numel()):
        return [0.0] * 4
    scale = xs[0].shape[3] ** -0.5 if scale is None else abs(scale)
    eps = torch.finfo(torch.float64 if xs[0].dtype == torch.float64 else torch.float32).eps
    key = xs[1].repeat_interleave(xs[0].shape[1] // xs[1].shape[1], 1)
    weight = eps * max(4.0, scale * float((xs[0].double() @ key.double().mT).abs().max()))
    q, k, v = (float(x.double().norm(dim=-1).max()) for x in xs)
    up, rows = float(grad.double().norm()), grad.numel() / grad.shape[3]
    return [4 * eps * v * rows**0.5, weight * scale * up * v * k, weight * scale * up * v * q, weight * up]
