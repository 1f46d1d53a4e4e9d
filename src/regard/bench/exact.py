"""The check before the clock: results against float64, those of attention at full size for one head."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from regard.attention import attend
from regard.pattern import Pattern

CELLS = 1 << 28  # scores held at a time
PARTS = ("out", "dq", "dk", "dv")
Inputs = tuple[Tensor, Tensor, Tensor]


def multiples(
    names: Sequence[str],
    found: Iterable[Tensor],
    usual: Iterable[Tensor],
    exact: Iterable[Tensor],
    least: float = 1e-9,
) -> dict[str, float]:
    """Each result's error in multiples of the plain way's own, taken as `least` of its size or more."""
    out = {}
    for name, *results in zip(names, found, usual, exact, strict=True):
        got, own, want = (x.detach().double() for x in results)
        error, allowed, size = (float(x.norm()) for x in (got - want, own - want, want))
        times = error / max(allowed, least * size, 1e-300)
        out[name] = math.inf if math.isnan(times) else times
    return out


def refuse(what: str, found: dict[str, float]) -> None:
    """Raise if a result is off by more than twice the plain way's own error."""
    for name, times in found.items():
        if times > 2:
            raise ValueError(
                f"{what}: {name} is off by {times:.2f} times the definition's own error, allowed 2; not timed"
            )


def qkv(n: int, heads: int, width: int, device: str, dtype: torch.dtype, batch: int = 1) -> Inputs:
    """Query, key and value to time, drawn at random."""
    shape = (batch, heads, n, width)
    q, k, v = (torch.randn(shape, device=device, dtype=dtype, requires_grad=True) for _ in range(3))
    return q, k, v


def check(pattern: Pattern, inputs: tuple[Tensor, ...]) -> None:
    """Raise unless `attend` is within twice the definition's own error, in value and gradient."""
    q, k, v = (x[:1, :1].detach().clone().requires_grad_() for x in inputs)
    grad = torch.randn_like(v)
    ours = attend(q, k, v, pattern)
    found = [ours, *torch.autograd.grad(ours, (q, k, v), grad)]
    exact = _by_rows(pattern, *(x.detach().double() for x in (q, k, v, grad)))
    usual = _by_rows(pattern, *(x.detach() for x in (q, k, v, grad)))
    refuse(str(pattern), multiples(PARTS, found, usual, exact, 5e-7))


def _by_rows(pattern: Pattern, q: Tensor, k: Tensor, v: Tensor, grad: Tensor) -> list[Tensor]:
    """Output and gradients by the definition, some rows of queries at a time."""
    n = q.shape[2]
    k, v = k.clone().requires_grad_(), v.clone().requires_grad_()
    outs, dqs = [], []
    dk, dv = torch.zeros_like(k), torch.zeros_like(v)
    position = torch.arange(n, device=q.device)
    for rows in position.split(max(1, CELLS // n)):
        block = q[:, :, rows].clone().requires_grad_()
        scores = block @ k.mT * q.shape[3] ** -0.5
        seen = pattern.allows(rows[:, None], position[None, :])
        scores = scores.masked_fill(~seen & seen.any(-1, keepdim=True), -torch.inf)
        out = scores.softmax(-1).masked_fill(~seen, 0) @ v
        parts = torch.autograd.grad(out, (block, k, v), grad[:, :, rows])
        outs.append(out.detach())
        dqs.append(parts[0])
        dk, dv = dk + parts[1], dv + parts[2]
    return [torch.cat(outs, 2), torch.cat(dqs, 2), dk, dv]
