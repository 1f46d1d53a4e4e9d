"""`regard bench attention`: every kind of pattern beside the best kernels that know it."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as sdpa

from regard.attention import attend
from regard.attention.inputs import problem_of
from regard.attention.triton import tile_lists
from regard.attention.triton.plan import arrange
from regard.bench import exact
from regard.bench.attention_cases import COMPOSITE, HEADS, compared, gpu_cases, label_of, lengths
from regard.bench.crew import in_turns
from regard.bench.exact import Inputs, qkv
from regard.bench.machine import available_cores, versions
from regard.bench.peers import flex_attention
from regard.bench.report import BenchReport
from regard.bench.timing import Timed, both_ways, captured, milliseconds, seconds
from regard.pattern import Causal, Dilated, Documents, Full, Pattern, SparseStrided, Strided, Windowed

PEERS = ("triton", "flash-attn-4", "nvidia-cutlass-dsl", "nvidia-cudnn-frontend")


def run(device: str, quick: bool) -> BenchReport:
    """Measure everything that the device can run."""
    report = BenchReport("attention", {"device": device, "quick": quick})
    torch.manual_seed(0)
    (_cuda if device == "cuda" else _cpu)(report, quick)
    return report


def _cpu(report: BenchReport, quick: bool) -> None:
    n = 4096 if quick else 16384
    report.settings |= {"n": n, "B": 1, "H": 4, "D": 64, "dtype": "float32"}
    inputs = qkv(n, 4, 64, "cpu", torch.float32)
    measure = partial(both_ways, inputs=inputs, device="cpu", budget=1.0)
    dense = Strided(back=128).dense(n)
    # One mask stands for all: SDPA computes every pair, whatever the mask allows.
    masked = replace(measure(lambda: sdpa(*inputs, dense)), note="timed with strided(128)'s mask")
    peers: dict[Pattern, dict[str, Callable[[], Tensor]]] = {
        Strided(back=128): {},
        COMPOSITE: {},
        Dilated(back=128, step=4): {},
        Windowed(size=128): {"SDPA, folded": lambda: _folded(inputs, 128)},
        Causal(): {"SDPA, causal": lambda: sdpa(*inputs, is_causal=True)},
        Full(): {"SDPA": lambda: sdpa(*inputs)},
    }
    small = qkv(1024, 1, 64, "cpu", torch.float32)
    for pattern, calls in peers.items():
        exact.check(pattern, small)
        ours = measure(partial(attend, *inputs, pattern))
        beside = {} if pattern in (Causal(), Full()) else {"SDPA, dense mask": masked}
        report.add(str(pattern), ours, beside | {who: measure(call) for who, call in calls.items()})
    for length in (1024, 2048, 4096) if quick else (4096, 8192, 16384, 32768, 65536):
        inputs_n = qkv(length, 4, 64, "cpu", torch.float32)
        timed = both_ways(partial(attend, *inputs_n, Strided(back=128)), inputs_n, "cpu", 1.0)
        report.point("strided(128), forward", length, timed.forward)
        report.point("strided(128), with backward", length, timed.both)
        if length <= 8192:
            with torch.no_grad():
                mask = Strided(back=128).dense(length)
                spent = milliseconds(partial(sdpa, *inputs_n, mask), "cpu")
            report.point("SDPA with the dense mask, forward", length, spent)


def _folded(inputs: Inputs, window: int) -> Tensor:
    """What a user would write: windows as extra batch."""
    q, k, v = (x.view(x.shape[0] * x.shape[1], -1, window, x.shape[3]) for x in inputs)
    return sdpa(q, k, v, is_causal=True).view(inputs[0].shape)


def _cuda(report: BenchReport, quick: bool) -> None:
    n = 8192 if quick else 65536
    report.settings |= {"n": n, "B": 1, "H": HEADS, "dtype": "bfloat16", **versions(*PEERS)}
    cases = gpu_cases(n)
    for case, (ours, beside) in zip(
        cases, in_turns(compared, cases, max(1, available_cores() - 4)), strict=True
    ):
        report.add(case.label(n), ours, beside, case.floor())
    _short(report)
    _prepare(report, n)
    _segments(report, n)
    _series(report)


def _series(report: BenchReport) -> None:
    """Forward times against length, for the plot."""
    for length in (4096, 8192, 16384, 32768, 65536, 131072):
        inputs = qkv(length, HEADS, 64, "cuda", torch.bfloat16)
        calls: dict[str, Callable[[Inputs], Tensor]] = {
            "strided(256)": lambda x: attend(*x, Strided(back=256)),
            "windowed(256)": lambda x: attend(*x, Windowed(size=256)),
            "band(128) | global(4)": lambda x: attend(*x, COMPOSITE),
            "sparsestrided(128)": lambda x: attend(*x, SparseStrided(stride=128)),
            "SDPA causal": lambda x: sdpa(*x, is_causal=True),
        }
        for name, call in calls.items():
            with torch.no_grad():
                report.point(name, length, milliseconds(partial(call, inputs), "cuda", 0.1))


def _short(report: BenchReport) -> None:
    """Short sequences under a CUDA graph, so that launching costs nothing."""
    for n in (512, 1024, 2048):
        q, k, v = (torch.randn(8, 16, n, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        exact.check(Strided(back=256), (q, k, v))
        calls = {
            "regard": partial(attend, q, k, v, Strided(back=256)),
            "SDPA, causal": partial(sdpa, q, k, v, is_causal=True),
        }
        times = {who: Timed(milliseconds(captured(call), "cuda", 0.2)) for who, call in calls.items()}
        report.add(f"strided(256) n={n} B8, graph", times.pop("regard"), times)


def _prepare(report: BenchReport, n: int) -> None:
    """What a pattern costs before its first kernel, caches empty: arithmetic for a band, else lists."""
    for pattern in (Strided(back=256), COMPOSITE):
        for length in (n, 1 << 20):
            x = torch.empty(1, 1, length, 64, device="cuda", dtype=torch.bfloat16)
            problem = problem_of(x, x, x, pattern)
            times = []
            for _ in range(5):
                tile_lists.KEPT.clear()
                times.append(1e3 * seconds(partial(arrange, problem), "cuda"))
            report.add(f"prepare {label_of(pattern, 64)[:-4]} n={length}", Timed(statistics.median(times)))


def _segments(report: BenchReport, n: int) -> None:
    """Packed documents that change with every batch: bounds, or a block mask, made inside the clock."""
    inputs = qkv(n, HEADS, 64, "cuda", torch.bfloat16)
    # As a pattern the documents become the same segments in the same kernel, so that is what is checked.
    exact.check(Documents(lengths=lengths(n)) & Causal(), inputs)
    sizes = torch.tensor(lengths(n))
    numbers = torch.repeat_interleave(torch.arange(len(sizes)), sizes).to("cuda")
    segments = numbers[None].int()

    create, compiled = flex_attention()

    def peer() -> Tensor:
        def same(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
            return (numbers[q] == numbers[k]) & (k <= q)

        mask = create(same, None, None, n, n, device="cuda")
        out: Tensor = compiled(*inputs, block_mask=mask)
        return out

    measure = partial(both_ways, inputs=inputs, device="cuda")
    torch._dynamo.reset()
    ours = measure(lambda: attend(*inputs, Causal(), segments=segments))
    report.add("packed documents, causal D64", ours, {"FlexAttention, mask built": measure(peer)})
