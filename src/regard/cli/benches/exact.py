"""The check before the clock: our output and gradients at full size against float64, for one head."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.attention import attend
from regard.pattern import Pattern

CELLS = 1 << 28  # scores held at a time


def check(pattern: Pattern, inputs: tuple[Tensor, ...], impl: str = "auto") -> None:
    """Raise unless `attend` is within twice the reference's own error, in value and gradient."""
    q, k, v = (x[:1, :1].detach().clone().requires_grad_() for x in inputs)
    grad = torch.randn_like(v)
    ours = attend(q, k, v, pattern, impl=impl)
    found = [ours, *torch.autograd.grad(ours, (q, k, v), grad)]
    exact = _by_rows(pattern, *(x.detach().double() for x in (q, k, v, grad)))
    plain = _by_rows(pattern, *(x.detach() for x in (q, k, v, grad)))
    for name, got, want, usual in zip(("out", "dq", "dk", "dv"), found, exact, plain, strict=True):
        error, allowed = _error(got, want), 2 * _error(usual, want)
        if not error <= max(allowed, 1e-6):
            raise ValueError(f"{pattern}: {name} is off by {error:.2e}, allowed {allowed:.2e}; not timed")


def _error(got: Tensor, want: Tensor) -> float:
    got, want = got.detach().double(), want.detach().double()
    return float((got - want).norm() / want.norm().clamp(min=1e-300))


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
        weights = (
            scores.masked_fill(~seen & seen.any(-1, keepdim=True), -torch.inf)
            .softmax(-1)
            .masked_fill(~seen, 0)
        )
        out = weights @ v
        parts = torch.autograd.grad(out, (block, k, v), grad[:, :, rows])
        outs.append(out.detach())
        dqs.append(parts[0])
        dk, dv = dk + parts[1], dv + parts[2]
    return [torch.cat(outs, 2), torch.cat(dqs, 2), dk, dv]
