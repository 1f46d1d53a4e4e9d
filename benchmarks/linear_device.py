"""Causal, normalised linear attention on one GPU: right first, then timed, beside fla where it is there.

    python benchmarks/linear_device.py --out linear.json            # checks, then the table
    python benchmarks/linear_device.py --out linear.json --sweep 64 # and tries other cuts of every kernel

Times are medians over CUDA events in milliseconds; at the default size each tensor is 134 MB, several times
the cache. Rows say whether denominators were checked: that check waits for the device in every call.
"""

import argparse
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
import triton
from torch import Tensor

from regard.attention.linear.attend import linear_attend
from regard.attention.linear.reference import LinearProblem
from regard.attention.linear.triton import Tile, Tuning, linear_triton
from regard.bench.machine import H200_BYTES
from regard.bench.timing import Timed, both_ways


def draw(n: int, dtype: torch.dtype, groups: int = 16, width: int = 64) -> list[Tensor]:
    """Query and key positive, so that no denominator is near zero; value; and the output's gradient."""
    generator = torch.Generator("cuda").manual_seed(n)
    shapes = [(1, heads, n, width) for heads in (16, groups, groups, 16)]
    pairs = zip((torch.rand, torch.rand, torch.randn, torch.randn), shapes, strict=True)
    return [kind(shape, generator=generator, device="cuda").to(dtype) for kind, shape in pairs]


def results(xs: list[Tensor], **options: Any) -> list[Tensor]:
    """The output and the three gradients."""
    leaves = [x.detach().requires_grad_() for x in xs[:3]]
    poison = torch.full((xs[0].numel() * 8,), float("nan"), dtype=xs[0].dtype, device="cuda")
    del poison  # what the caching allocator hands out next is this memory
    out = linear_attend(*leaves, causal=True, **options)
    assert isinstance(out, Tensor)
    return [out.detach(), *torch.autograd.grad(out, leaves, xs[3].to(out.dtype))]


def errors(got: list[Tensor], exact: list[Tensor]) -> list[float]:
    return [float((a.double() - b).norm() / b.norm()) for a, b in zip(got, exact, strict=True)]


CASES: list[tuple[torch.dtype, dict[str, int], dict[str, Any]]] = [
    (torch.bfloat16, {}, {}),
    (torch.bfloat16, {}, {"feature": "elu1"}),
    (torch.bfloat16, {}, {"segments": 1000}),
    (torch.float16, {}, {}),
    (torch.float16, {}, {"feature": "elu1"}),
    (torch.bfloat16, {"groups": 4}, {"segments": 1000}),
    (torch.bfloat16, {"width": 128}, {}),
    (torch.bfloat16, {"width": 40}, {"feature": "relu"}),
    (torch.float32, {}, {}),
]


def check(n: int) -> tuple[list[dict[str, Any]], bool]:
    """Errors against float64: at 4,096 beside the definition's own in the same type, then at full size.

    The quadratic definition does not fit at full size; its relative error there is taken to be that at 4,096.
    """
    rows, fine = [], True
    print("error of out, dq, dk, dv against float64, as a multiple of the definition's own in that type")
    for dtype, shape, options in CASES:
        own: list[float] = []
        for length in (4096, n, n - 37) if not shape and dtype != torch.float32 else (4096, 4059):
            xs = draw(length, dtype, **shape)
            given = dict(options)
            if "segments" in given:  # the first document is padding
                given["segments"] = (torch.arange(length, device="cuda") // given["segments"] - 1)[None]
            exact = results([x.double() for x in xs], impl="chunked", check=False, **given)
            ours = errors(results(xs, impl="triton", **given), exact)
            if length == 4096:
                own = errors(results(xs, impl="reference", **given), exact)
            good = all(a <= 2 * b for a, b in zip(ours, own, strict=True))  # NaN compares false
            fine &= good
            ratios = [round(a / b, 2) for a, b in zip(ours, own, strict=True)]
            name = f"{str(dtype)[6:]} {({**shape, **options}) or ''} n={length}"
            rows.append({"case": name, "errors": ours, "ratios": ratios, "good": good})
            print(f"{'ok ' if good else 'BAD'} {name:52s} {ratios}", flush=True)
    return rows, fine


def timed(run: Callable[..., Tensor], xs: list[Tensor], budget: float = 0.4) -> Timed:
    """The forward alone, without a graph, and forward with backward."""
    leaves = [x.detach().requires_grad_() for x in xs[:3]]
    return both_ways(lambda: run(*leaves), leaves, "cuda", budget)


def peers(xs: list[Tensor]) -> dict[str, tuple[Callable[..., Tensor], list[Tensor]]]:
    """fla's kernel in its own layout (batch, positions, heads, width), if fla is there and right."""
    if importlib.util.find_spec("fla") is None:
        print("fla cannot be imported: no peer in this run")
        return {}
    chunk = importlib.import_module("fla.ops.linear_attn").chunk_linear_attn
    theirs = [x.transpose(1, 2).contiguous() for x in xs]

    def normalised(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return chunk(q, k, v, scale=1.0, normalize=True)[0]

    def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return chunk(q, k, v, scale=1.0, normalize=False)[0]

    exact = linear_attend(*(x.double() for x in xs[:3]), causal=True, impl="chunked", check=False)
    assert isinstance(exact, Tensor)
    off = errors([normalised(*theirs[:3]).transpose(1, 2)], [exact])[0]
    print(f"fla normalised: relative error {off:.1e} of the output against float64")
    found = {"fla, not normalised": (plain, theirs)}
    return found | ({"fla, normalised": (normalised, theirs)} if off < 2e-2 else {})


def table(n: int, width: int) -> list[dict[str, Any]]:
    xs = draw(n, torch.bfloat16, width=width)
    documents = (torch.arange(n, device="cuda") // 1000)[None]

    def ours(**options: Any) -> tuple[Callable[..., Tensor], list[Tensor]]:
        return lambda q, k, v: linear_attend(q, k, v, causal=True, impl="triton", **options), xs  # type: ignore[return-value]

    runs = {
        "ours, check=False": ours(check=False),
        "ours, check=True": ours(),
        "ours, elu1, check=False": ours(check=False, feature="elu1"),
        "ours, documents of 1,000, check=False": ours(check=False, segments=documents),
        **peers(xs),
    }
    floor = 1e3 * 4 * xs[0].numel() * xs[0].element_size() / H200_BYTES
    rows = []
    print(
        f"\nn={n}, 16 heads of {width}, bfloat16; floor of the forward {floor:.3f} ms (its four tensors once)"
    )
    print(f"{'':40s}{'forward':>10s}{'fwd+bwd':>10s}{'of floor':>10s}")
    for name, (run, inputs) in runs.items():
        found = timed(run, inputs)
        times = {"forward_ms": found.forward, "both_ms": found.both, "floor_ms": floor}
        rows.append({"name": name, "n": n, "width": width, **times})
        print(f"{name:40s}{found.forward:10.3f}{found.both:10.3f}{floor / found.forward:10.0%}", flush=True)
    return rows


WALKS = [
    *(Tile(64, 4, 1), Tile(64, 4, 3), Tile(64, 4, 2, 168), Tile(64, 8, 2), Tile(64, 8, 3)),
    *(Tile(64, 8, 2, 128), Tile(128, 8, 1), Tile(128, 8, 2), Tile(32, 4, 2), Tile(32, 4, 3), Tile(32, 8, 2)),
]
TOTALS = [
    *(Tile(64, 4, 2), Tile(64, 4, 4), Tile(64, 8, 3)),
    *(Tile(128, 4, 2), Tile(128, 8, 2), Tile(128, 8, 3), Tile(32, 4, 4)),
]
CUTS: dict[str, list[Any]] = {
    "programs": [256, 512, 2048, 4096],
    "forward": WALKS,
    "totals": TOTALS,
    "queries": WALKS,
    "keys": WALKS,
}


def sweep(n: int, width: int) -> tuple[list[dict[str, Any]], Tuning]:
    """One field after another, each time keeping the best so far."""
    xs = draw(n, torch.bfloat16, width=width)
    best = Tuning.of(torch.bfloat16, width)
    rows: list[dict[str, Any]] = []

    def spent(tuning: Tuning, forward_only: bool) -> float:
        def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return linear_triton(LinearProblem(q, k, v, causal=True), check=False, tuning=tuning)[0]

        found = timed(run, xs, budget=0.2)
        return found.forward if forward_only else found.both

    print(f"\ncuts at n={n}, width {width}, ms; the forward alone for the first field, then both ways")
    for field in ("forward", "programs", "totals", "queries", "keys"):
        forward_only = field == "forward"
        record, winner = spent(best, forward_only), best
        print(f"{field:10s}{'as it was':44s}{record:8.3f}")
        for value in CUTS[field]:
            tuning = replace(best, **{field: value})
            try:
                took = spent(tuning, forward_only)
            except triton.runtime.errors.OutOfResources as refusal:
                print(f"{field:10s}{value!s:44s}  does not fit: {refusal}")
                continue
            rows.append({"field": field, "value": str(value), "ms": took, "forward_only": forward_only})
            better = took < record
            print(f"{field:10s}{value!s:44s}{took:8.3f}{' *' if better else ''}", flush=True)
            if better:
                record, winner = took, tuning
        best = winner
    print(f"best: {best}: forward {spent(best, True):.3f}, forward+backward {spent(best, False):.3f}")
    return rows, best


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--n", type=int, default=65536)
    parser.add_argument("--sweep", type=int, nargs="*", default=[], metavar="WIDTH")
    parser.add_argument("--skip-checks", action="store_true", help="time what this run did not check")
    arguments = parser.parse_args()
    report: dict[str, Any] = {"device": torch.cuda.get_device_name()}
    report |= {"torch": torch.__version__, "triton": triton.__version__}
    if not arguments.skip_checks:
        report["checks"], fine = check(arguments.n)
        arguments.out.write_text(json.dumps(report, indent=1))
        if not fine:
            print("not timed: a check failed")
            return 1
    report["table"] = table(arguments.n, 64) + table(arguments.n, 128)
    arguments.out.write_text(json.dumps(report, indent=1))
    for width in arguments.sweep:
        rows, best = sweep(arguments.n, width)
        report[f"sweep {width}"] = {"rows": rows, "best": asdict(best)}
        arguments.out.write_text(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
