"""`regard bench attention`: every kind of pattern beside SDPA, FlexAttention and folded windows."""

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
from regard.bench.exact import Inputs, qkv
from regard.bench.machine import H200_BYTES, H200_OPERATIONS
from regard.bench.report import BenchReport
from regard.bench.timing import Timed, both_ways, captured, clocked, milliseconds, seconds
from regard.pattern import (
    Blocks,
    Causal,
    Dilated,
    Documents,
    Full,
    Global,
    Neighbourhood,
    Pattern,
    SparseStrided,
    Strided,
    Windowed,
)  # fmt: skip

COMPOSITE = Causal() & Strided(back=128) | Global(first=4) & Causal()


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


def _floor(pattern: Pattern, n: int, heads: int, width: int) -> float:
    """Milliseconds below which no forward pass of exact pairs can go."""
    work = 4 * pattern.pairs(n) * width * heads / H200_OPERATIONS
    return 1e3 * max(work, 4 * 2 * n * width * heads / H200_BYTES)


def _cuda(report: BenchReport, quick: bool) -> None:
    n, heads = (8192 if quick else 65536), 16
    report.settings |= {"n": n, "B": 1, "H": heads, "dtype": "bfloat16"}
    flex = _Flex()
    side = 1 << n.bit_length() // 2
    bands: list[Pattern] = [kind(size) for kind in (Strided, Windowed) for size in (256, 1024)]
    others = [
        COMPOSITE, SparseStrided(stride=128), Dilated(back=128, step=8), Blocks(size=256),
        Neighbourhood(rows=side, cols=n // side, reach=7), Documents(lengths=_lengths(n)),
    ]  # fmt: skip
    for width, patterns in ((64, [*bands, *others]), (128, bands), (64, [Causal()])):
        inputs = qkv(n, heads, width, "cuda", torch.bfloat16)
        measure = partial(both_ways, inputs=inputs, device="cuda")
        for pattern in patterns:
            exact.check(pattern, inputs)
            if pattern == Causal():
                peers = {"SDPA, causal": measure(partial(sdpa, *inputs, is_causal=True))}
            else:
                peers = {"FlexAttention": flex.timed(pattern, inputs, measure)}
            if isinstance(pattern, Windowed):
                peers["SDPA, folded"] = measure(partial(_folded, inputs, pattern.size))
            ours = measure(partial(attend, *inputs, pattern))
            report.add(_label(pattern, width), ours, peers, _floor(pattern, n, heads, width))
    _short(report)
    _prepare(report, n)
    _segments(report, n, heads, flex)
    _series(report, heads)


def _series(report: BenchReport, heads: int) -> None:
    """Forward times against length, for the plot."""
    for length in (4096, 8192, 16384, 32768, 65536, 131072):
        inputs = qkv(length, heads, 64, "cuda", torch.bfloat16)
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


def _label(pattern: Pattern, width: int) -> str:
    text = "documents(…)" if isinstance(pattern, Documents) else str(pattern)
    text = "band(128) | global(4)" if pattern == COMPOSITE else text
    return f"{text} D{width}"


def _lengths(n: int) -> tuple[int, ...]:
    """Documents of 128 to about 4,000 tokens that fill n."""
    generator = torch.Generator().manual_seed(1)
    out: list[int] = []
    while sum(out) < n:
        out.append(min(int(2 ** (7 + 5 * torch.rand((), generator=generator))), n - sum(out)))
    return tuple(out)


class _Flex:
    """FlexAttention as its users run it: compiled, with its own block mask."""

    def __init__(self) -> None:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        self.create = create_block_mask
        self.attend: Callable[..., Tensor] = torch.compile(flex_attention, dynamic=False)

    def timed(self, pattern: Pattern, inputs: Inputs, measure: Callable[..., Timed]) -> Timed:
        from regard.attention.flex import mask_mod

        torch._dynamo.reset()
        n = inputs[0].shape[2]
        seen = mask_mod(pattern, n, n, "cuda")
        mask, spent = clocked(partial(self.create, seen, None, None, n, n, device="cuda"), "cuda")
        out = measure(lambda: self.attend(*inputs, block_mask=mask))
        return replace(out, note=f"block mask {1e3 * spent:.0f} ms")


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
            report.add(f"prepare {_label(pattern, 64)[:-4]} n={length}", Timed(statistics.median(times)))


def _segments(report: BenchReport, n: int, heads: int, flex: _Flex) -> None:
    """Packed documents that change with every batch: bounds, or a block mask, made inside the clock."""
    inputs = qkv(n, heads, 64, "cuda", torch.bfloat16)
    # As a pattern the documents become the same segments in the same kernel, so that is what is checked.
    exact.check(Documents(lengths=_lengths(n)) & Causal(), inputs)
    lengths = torch.tensor(_lengths(n))
    numbers = torch.repeat_interleave(torch.arange(len(lengths)), lengths).to("cuda")
    segments = numbers[None].int()

    def peer() -> Tensor:
        def same(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
            return (numbers[q] == numbers[k]) & (k <= q)

        mask = flex.create(same, None, None, n, n, device="cuda")
        out: Tensor = flex.attend(*inputs, block_mask=mask)
        return out

    measure = partial(both_ways, inputs=inputs, device="cuda")
    torch._dynamo.reset()
    ours = measure(lambda: attend(*inputs, Causal(), segments=segments))
    report.add("packed documents, causal D64", ours, {"FlexAttention, mask built": measure(peer)})
