"""`regard bench linear`: causal, normalised linear attention beside fla, and its growth with length."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from regard.attention import linear_attend
from regard.bench.exact import PARTS, Inputs, multiples, qkv, refuse
from regard.bench.machine import H200_BYTES
from regard.bench.report import BenchReport
from regard.bench.timing import Timed, both_ways

CHECKED = 3000  # positions at which results are compared: the definition takes the square of them


def run(device: str, quick: bool) -> BenchReport:
    """Measure what the device can run."""
    heads, dtype = (16, torch.bfloat16) if device == "cuda" else (4, torch.float32)
    n = 4096 if quick else 65536 if device == "cuda" else 16384
    report = BenchReport(
        "linear", {"device": device, "quick": quick, "n": n, "B": 1, "H": heads, "D": 64, "dtype": str(dtype)}
    )
    torch.manual_seed(0)

    _check(device, dtype)
    tensors = qkv(n, heads, 64, device, dtype)
    measure = partial(both_ways, inputs=tensors, device=device)
    floor = 1e3 * 4 * 2 * n * 64 * heads / H200_BYTES if device == "cuda" else None
    # fla checks nothing either; with identity features random inputs do have unsafe denominators.
    ours = measure(partial(_ours, tensors, check=False))
    report.add("linear, causal, check=False", ours, _fla(tensors, measure) if device == "cuda" else {}, floor)
    for check in (False, True):
        ours = measure(partial(_ours, tensors, feature="elu1", check=check))
        report.add(f"elu1, causal, {check=}", ours, {}, floor)
    # A GPU spends the first tens of thousands of positions on launching; growth shows beyond.
    start = 1024 if quick else 65536 if device == "cuda" else 4096
    for length in [start << i for i in range(3 if quick else 5)]:
        x = qkv(length, heads, 64, device, dtype)
        timed = both_ways(partial(_ours, x, check=False), x, device, 0.2)
        report.point("linear, forward", length, timed.forward)
        report.point("linear, with backward", length, timed.both)
    return report


def _ours(inputs: Inputs, *, feature: str = "identity", check: bool = True, impl: str = "auto") -> Tensor:
    out = linear_attend(*inputs, causal=True, feature=feature, check=check, impl=impl)
    assert isinstance(out, Tensor)  # a state comes only when asked for
    return out


def _check(device: str, dtype: torch.dtype) -> None:
    """Raise unless output and gradients are within twice the definition's own error."""
    x = [torch.randn(1, 2, CHECKED, 64, device=device, dtype=dtype) for _ in range(4)]

    def results(impl: str, kind: torch.dtype) -> list[Tensor]:
        q, k, v = (y.to(kind).requires_grad_() for y in x[:3])
        out = _ours((q, k, v), feature="elu1", impl=impl)
        return [out, *torch.autograd.grad(out, (q, k, v), x[3].to(kind))]

    ways = results("auto", dtype), results("reference", dtype), results("reference", torch.float64)
    refuse("linear_attend", multiples(PARTS, *ways))


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
