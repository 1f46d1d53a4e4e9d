"""`regard bench linear`: causal, normalised linear attention beside fla, and its growth with length."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from regard.attention import elu1, linear_attend
from regard.cli.benches.harness import Report, Timed, both_ways

Inputs = tuple[Tensor, Tensor, Tensor]

MEMORY = 4.3e12  # bytes a second, measured on the H200 here


def run(device: str, quick: bool) -> Report:
    """Measure what the device can run."""
    heads, dtype = (16, torch.bfloat16) if device == "cuda" else (4, torch.float32)
    n = 4096 if quick else 65536 if device == "cuda" else 16384
    report = Report(
        "linear", {"device": device, "quick": quick, "n": n, "B": 1, "H": heads, "D": 64, "dtype": str(dtype)}
    )
    torch.manual_seed(0)

    def inputs(length: int) -> Inputs:
        shape = (1, heads, length, 64)
        q, k, v = (torch.randn(shape, device=device, dtype=dtype, requires_grad=True) for _ in range(3))
        return q, k, v

    _check(device, dtype)
    tensors = inputs(n)
    measure = partial(both_ways, inputs=tensors, device=device)
    floor = 1e3 * 4 * 2 * n * 64 * heads / MEMORY if device == "cuda" else None
    # fla checks nothing either; with identity features random inputs do have unsafe denominators.
    ours = measure(partial(_ours, tensors, check=False))
    report.add("linear, causal, check=False", ours, _fla(tensors, measure) if device == "cuda" else {}, floor)
    report.add(
        "elu1, causal, check=False",
        measure(partial(_ours, tensors, feature=elu1, check=False)),
        {},
        floor,
    )
    report.add(
        "elu1, causal, check=True",
        measure(partial(_ours, tensors, feature=elu1)),
        {},
        floor,
    )
    # A GPU spends the first tens of thousands of positions on launching; growth shows beyond.
    start = 1024 if quick else 65536 if device == "cuda" else 4096
    for length in [start << i for i in range(3 if quick else 5)]:
        x = inputs(length)
        timed = both_ways(partial(_ours, x, check=False), x, device, 0.2)
        assert timed.forward is not None
        assert timed.both is not None
        report.series.setdefault("linear, forward", {})[length] = timed.forward
        report.series.setdefault("linear, with backward", {})[length] = timed.both
    return report


def _ours(inputs: Inputs, **options: Any) -> Tensor:
    out = linear_attend(*inputs, causal=True, **options)
    assert isinstance(out, Tensor)  # a state comes only when asked for
    return out


def _check(device: str, dtype: torch.dtype) -> None:
    """Raise unless output and gradients are within twice the definition's own error at n = 3,000."""
    x = [torch.randn(1, 2, 3000, 64, device=device, dtype=dtype) for _ in range(4)]

    def results(impl: str, kind: torch.dtype) -> list[Tensor]:
        q, k, v = (y.to(kind).requires_grad_() for y in x[:3])
        out = _ours((q, k, v), feature=elu1, impl=impl)
        return [out, *torch.autograd.grad(out, (q, k, v), x[3].to(kind))]

    exact = results("reference", torch.float64)
    for name, got, usual, want in zip(
        ("out", "dq", "dk", "dv"), results("auto", dtype), results("reference", dtype), exact, strict=True
    ):
        error, allowed = ((y.detach().double() - want).norm() / want.norm() for y in (got, usual))
        if not error <= 2 * allowed:
            raise ValueError(
                f"linear_attend: {name} is off by {error:.2e}, allowed {2 * allowed:.2e}; not timed"
            )


def _fla(inputs: Inputs, measure: Callable[..., Timed]) -> dict[str, Timed]:
    try:
        from fla.ops.linear_attn import chunk_linear_attn
    except ImportError:
        return {"fla": Timed(note="not installed")}

    def fla(normalize: bool) -> Tensor:
        q, k, v = (x.transpose(1, 2) for x in inputs)  # fla wants B T H D
        out: Tensor = chunk_linear_attn(q, k, v, normalize=normalize)[0].transpose(1, 2)
        return out

    return {"fla, normalised": measure(lambda: fla(True)), "fla, not normalised": measure(lambda: fla(False))}
