"""The grid recurrence, every way to compute it: checked against the double loop, then timed side by side.

    python benchmarks/recurrence_device.py --device cuda --out recurrence.json
    python benchmarks/recurrence_device.py --device cpu --batch 1

Errors are multiples of the double loop's own error in that dtype, both against float64; 2 is allowed.
"""

import argparse
import importlib
import json
import math
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from regard.recurrence import ACTIVATIONS, grid_rnn, identity, linear_rnn, rnn

NAMES = ("h", "x", "W_in", "W_left", "W_top")
Grid = Callable[..., Tensor]


@dataclass(frozen=True)
class Timing:
    """Milliseconds of one way; `memory` is the peak above inputs and output gradient, in hidden states."""

    name: str
    dtype: str
    forward_ms: float | None
    both_ms: float | None
    memory: float | None
    note: str = ""


@dataclass(frozen=True)
class Check:
    """The largest error of one way, value and gradients, as a multiple of the double loop's own."""

    name: str
    dtype: str
    case: str
    worst: float
    where: str
    note: str = ""


def problem(
    shape: tuple[int, int, int, int, int], dtype: torch.dtype, device: str, seed: int = 0
) -> tuple[list[Tensor], Tensor]:
    """x, W_in, W_left, W_top that require gradients, and a gradient of the output."""
    B, rows, cols, c, h = shape
    generator = torch.Generator().manual_seed(seed)
    sizes = [(B, rows, cols, c), (h, c), (h, h), (h, h), (B, rows, cols, h)]
    scales = [1.0, c**-0.5, 0.5 * h**-0.5, 0.5 * h**-0.5, 1.0]
    drawn = [
        (scale * torch.randn(size, generator=generator)).to(device, dtype)
        for size, scale in zip(sizes, scales, strict=True)
    ]
    return [t.requires_grad_() for t in drawn[:4]], drawn[4]


double_loop: Grid = partial(grid_rnn, impl="reference")
wavefront: Grid = partial(grid_rnn, impl="wavefront")
triton_kernel: Grid = partial(grid_rnn, impl="triton")


def simple_wavefront(x: Tensor, W_in: Tensor, W_left: Tensor, W_top: Tensor) -> Tensor:
    """Diagonals in a dozen lines and autograd for the backward: what one writes first."""
    B, rows, cols, _ = x.shape
    cells = sorted((row + col, row, col) for row in range(rows) for col in range(cols))
    order = torch.tensor([row * cols + col for _, row, col in cells], device=x.device)
    spans = [(max(0, d - cols + 1), min(d + 1, rows)) for d in range(rows + cols - 1)]
    projected = (x @ W_in.T).flatten(1, 2)[:, order].split([stop - first for first, stop in spans], 1)
    weights = torch.cat([W_left, W_top], 1).T
    empty = x.new_zeros(B, 1, len(W_in))
    before, kept = x.new_zeros(B, rows + 1, len(W_in)), []  # row r of the last diagonal stands at r + 1
    for (first, stop), now in zip(spans, projected, strict=True):
        neighbours = torch.cat([before[:, first + 1 : stop + 1], before[:, first:stop]], 2)
        kept.append(torch.tanh(now + neighbours @ weights))
        before = torch.cat([empty.expand(B, first + 1, -1), kept[-1], empty.expand(B, rows - stop, -1)], 1)
    return torch.cat(kept, 1)[:, order.argsort()].unflatten(1, (rows, cols))


def graphed(inputs: list[Tensor]) -> Grid:
    """The wavefront captured in CUDA graphs, one for the forward and one for the backward."""
    return cast(Grid, torch.cuda.make_graphed_callables(wavefront, tuple(inputs)))


def with_blocks(**changes: Any) -> Grid:
    """The kernel with other block sizes than it would choose."""
    triton_grid: Any = importlib.import_module("regard.recurrence.triton_grid")
    chosen = triton_grid.plan

    def run(*inputs: Tensor) -> Tensor:
        triton_grid.plan = lambda *args: {**chosen(*args), **changes}
        try:
            return triton_kernel(*inputs)
        finally:
            triton_grid.plan = chosen

    return run


def values_and_gradients(function: Grid, inputs: list[Tensor], grad: Tensor) -> list[Tensor]:
    h = function(*inputs)
    return [h, *torch.autograd.grad(h, inputs, grad.to(h.dtype), materialize_grads=True)]


def error_ratio(truth: list[Tensor], slow: list[Tensor], fast: list[Tensor]) -> tuple[float, str]:
    """The largest error of `fast` in units of that of `slow`, and the tensor it is in."""
    ratios = []
    for name, t, s, f in zip(NAMES, truth, slow, fast, strict=True):
        own = max((s.double() - t).norm().item(), 1e-9 * t.norm().item(), 1e-30)
        error = (f.double() - t).norm().item()
        ratios.append((math.inf if math.isnan(error) else error / own, name))
    return max(ratios)


def check(
    ways: dict[str, Grid],
    shape: tuple[int, int, int, int, int],
    dtype: torch.dtype,
    device: str,
    **options: Any,
) -> list[Check]:
    """Each way on one problem; `options` go to `grid_rnn`, which every way here is a partial call of."""
    low, grad = problem(shape, dtype, device, seed=sum(shape))
    high = [t.detach().double().requires_grad_() for t in low]
    reference: Grid = partial(grid_rnn, impl="reference", **options)
    truth = values_and_gradients(reference, high, grad)
    slow = values_and_gradients(reference, low, grad)
    found = []
    activation = options.get("activation", torch.tanh)
    case = "×".join(map(str, shape)) + f" {activation.__name__} {options.get('start', 'top-left')}"
    for name, way in ways.items():
        try:
            worst, where = error_ratio(truth, slow, values_and_gradients(way, low, grad))
            found.append(Check(name, str(dtype), case, worst, where))
        except Exception as error:  # one variant that does not fit the device must not hide the others
            found.append(Check(name, str(dtype), case, math.inf, "", repr(error)[:300]))
    return found


def milliseconds(ways: dict[str, Callable[[], object]], device: str, rounds: int) -> dict[str, float]:
    """Time all in turn, round after round: the median on a GPU, the best on a CPU, which others may share."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, function in ways.items():
            if device == "cuda":
                start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                torch.cuda.synchronize()
                start.record()
                function()
                stop.record()
                torch.cuda.synchronize()
                spent = start.elapsed_time(stop)
            else:
                begin = time.perf_counter()
                function()
                spent = 1e3 * (time.perf_counter() - begin)
            if number > 0:  # the first round warms up
                times[name].append(spent)
    return {name: statistics.median(t) if device == "cuda" else min(t) for name, t in times.items()}


def forward_only(way: Grid, inputs: list[Tensor]) -> None:
    with torch.no_grad():
        way(*(t.detach() for t in inputs))


def forward_and_backward(way: Grid, inputs: list[Tensor], grad: Tensor) -> None:
    torch.autograd.grad(way(*inputs), inputs, grad)


def time_all(ways: dict[str, Grid], inputs: list[Tensor], grad: Tensor, rounds: int) -> list[Timing]:
    """Forward alone (no gradients recorded), and forward with backward, for every way that runs here."""
    device, dtype = inputs[0].device.type, str(inputs[0].dtype)
    failed, memory = {}, {}
    for name, way in ways.items():
        try:
            memory[name] = peak_memory(partial(forward_and_backward, way, inputs, grad), grad)
        except Exception as error:  # one variant that does not fit the device must not hide the others
            failed[name] = Timing(name, dtype, None, None, None, repr(error)[:300])
    works = {name: way for name, way in ways.items() if name not in failed}
    forward = milliseconds({n: partial(forward_only, w, inputs) for n, w in works.items()}, device, rounds)
    both = milliseconds(
        {n: partial(forward_and_backward, w, inputs, grad) for n, w in works.items()}, device, rounds
    )
    done = {n: Timing(n, dtype, forward[n], both[n], memory[n]) for n in works}
    return [done.get(name) or failed[name] for name in ways]


def peak_memory(function: Callable[[], object], hidden: Tensor) -> float | None:
    """Peak above what is held already, in units of the hidden states; None on a CPU."""
    if hidden.device.type != "cuda":
        return None
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    function()
    return (torch.cuda.max_memory_allocated() - before) / (hidden.numel() * hidden.element_size())


def time_graphed(inputs: list[Tensor], grad: Tensor, rounds: int) -> Timing:
    """The captured wavefront: its forward is a graph of its own, as inference would run it."""
    plain = [t.detach() for t in inputs]
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            wavefront(*plain)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            wavefront(*plain)
    both = partial(forward_and_backward, graphed(inputs), inputs, grad)
    times = milliseconds({"forward": graph.replay, "both": both}, "cuda", rounds)
    return Timing("wavefront, CUDA graph", str(inputs[0].dtype), times["forward"], times["both"], None)


def variants(dtype: torch.dtype) -> dict[str, Grid]:
    """Block sizes worth trying at h 128."""
    if dtype == torch.float32:
        blocks = [
            {"PRECISION": "tf32x3", "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 8, "num_stages": 1},
            {"PRECISION": "tf32x3", "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 8, "num_stages": 3},
            {"PRECISION": "tf32x3", "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 4, "num_stages": 1},
            {"PRECISION": "tf32x3", "BLOCK_N": 128, "BLOCK_K": 32, "num_warps": 8, "num_stages": 2},
            {"PRECISION": "tf32x3", "BLOCK_N": 64, "BLOCK_K": 64, "num_warps": 8, "num_stages": 1},
            {
                "PRECISION": "tf32x3",
                "BLOCK_M": 32,
                "BLOCK_N": 64,
                "BLOCK_K": 32,
                "num_warps": 4,
                "num_stages": 2,
            },
            {"PRECISION": "ieee", "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 8, "num_stages": 2},
            {"PRECISION": "ieee", "BLOCK_N": 64, "BLOCK_K": 32, "num_warps": 4, "num_stages": 1},
        ]
    else:
        blocks = [
            {"num_warps": 8},
            {"BLOCK_M": 32},
            {"RESIDENT": False, "BLOCK_K": 64, "num_stages": 2},
        ]
    names = [
        "triton " + " ".join(f"{k.replace('BLOCK_', '').lower()}={v}" for k, v in b.items()) for b in blocks
    ]
    return {name: with_blocks(**b) for name, b in zip(names, blocks, strict=True)}


def run_checks(device: str) -> list[Check]:
    """Every way on odd shapes, all activations, corners and dtypes."""
    gpu = device == "cuda"
    found = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16) if gpu else (torch.float32, torch.bfloat16):
        for shape in [
            (3, 20, 17, 3, 128),
            (2, 70, 5, 4, 40),
            (1, 9, 66, 2, 200),
            (2, 6, 8, 16, 256),
            (4, 1, 9, 3, 5),
        ]:
            ways = {"wavefront": wavefront} | ({"triton": triton_kernel} if gpu else {})
            if gpu and shape[-1] == 128 and dtype != torch.float16:
                ways |= {"simple wavefront": simple_wavefront, **variants(dtype)}
            found += check(ways, shape, dtype, device)
        for name, activation in ACTIVATIONS.items():
            start = {"tanh": "top-left", "relu": "top-right", "sigmoid": "bottom-left"}.get(
                name, "bottom-right"
            )
            options: dict[str, Any] = {"activation": activation, "start": start}
            ways = {
                impl: partial(grid_rnn, impl=impl, **options)
                for impl in (("wavefront", "triton") if gpu else ("wavefront",))
            }
            found += check(ways, (2, 12, 19, 3, 64), dtype, device, **options)
    return found


def run_timings(device: str, batch: int, side: int, h: int, rounds: int) -> list[Timing]:
    """Every way at one size, in float32 and, on a GPU, in bfloat16."""
    found = []
    for dtype in (torch.float32, torch.bfloat16) if device == "cuda" else (torch.float32,):
        inputs, grad = problem((batch, side, side, 3, h), dtype, device)
        ways = {"double loop": double_loop, "simple wavefront": simple_wavefront, "wavefront": wavefront}
        found += time_all(ways, inputs, grad, min(rounds, 5))
        if device == "cuda":
            found.append(time_graphed(inputs, grad, rounds))
            found += time_all({"triton": triton_kernel, **variants(dtype)}, inputs, grad, rounds)
    return found


def run_sequences(device: str) -> list[dict[str, object]]:
    """`rnn` fused and `linear_rnn` against their loops: error ratio and times at T 1,024, h 128, batch 16."""
    found: list[dict[str, object]] = []
    B, T, c, h = 16, 1024, 8, 128
    generator = torch.Generator().manual_seed(1)
    x, W_x, W_h = (torch.randn(size, generator=generator) for size in [(B, T, c), (h, c), (h, h)])
    linear_loop: Grid = partial(rnn, activation=identity, impl="reference")
    ways: dict[str, tuple[Grid, Grid]] = {
        "rnn fused": (partial(rnn, impl="fused"), partial(rnn, impl="reference")),
        "linear_rnn": (linear_rnn, linear_loop),
    }
    for dtype in (torch.float32, torch.bfloat16) if device == "cuda" else (torch.float32,):
        low = [t.to(device, dtype) for t in (x, 0.3 * W_x, W_h * (0.95 / h**0.5))]
        for name, (fast, slow) in ways.items():
            truth = slow(*(t.double() for t in low))
            own, error = ((f(*low).double() - truth).norm().item() for f in (slow, fast))
            times = milliseconds({"loop_ms": partial(slow, *low), "fast_ms": partial(fast, *low)}, device, 5)
            found.append({"name": name, "dtype": str(dtype), "error_ratio": error / own, **times})
    return found


def table(timings: list[Timing]) -> str:
    """One line per way, with ratios to the double loop of the same dtype."""
    loops = {t.dtype: t for t in timings if t.name == "double loop"}
    lines = [f"{'way':66} {'dtype':15} {'forward':>9} {'×':>6} {'fwd+bwd':>9} {'×':>6} {'memory':>6}"]
    for t in timings:
        loop = loops[t.dtype]
        if t.forward_ms is None or t.both_ms is None:
            lines.append(f"{t.name:66} {t.dtype:15} failed: {t.note[:60]}")
            continue
        assert loop.forward_ms is not None
        assert loop.both_ms is not None
        ratios = loop.forward_ms / t.forward_ms, loop.both_ms / t.both_ms
        memory = "" if t.memory is None else f"{t.memory:.2f}"
        figures = f"{t.forward_ms:9.3f} {ratios[0]:6.1f} {t.both_ms:9.3f} {ratios[1]:6.1f} {memory:>6}"
        lines.append(f"{t.name:66} {t.dtype:15} {figures}")
    return "\n".join(lines)


def environment(device: str) -> dict[str, object]:
    """What the figures were measured with."""
    name = torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine()
    return {
        "device": name,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu"
    )
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--skip-checks", action="store_true")
    args = parser.parse_args()
    checks = [] if args.skip_checks else run_checks(args.device)
    for c in sorted(checks, key=lambda c: c.worst):
        state = "ok " if c.worst <= 2 else "BAD"
        print(
            f"{state} {c.worst:8.2f} in {c.where or '-':7} {c.dtype:15} {c.name:60} {c.case} {c.note}",
            flush=True,
        )
    sequences = run_sequences(args.device)
    for entry in sequences:
        print(entry)
    timings = run_timings(args.device, args.batch, args.side, args.hidden, args.rounds)
    print(table(timings))
    if args.out is not None:
        report = {
            "environment": environment(args.device),
            "size": {"batch": args.batch, "rows": args.side, "cols": args.side, "h": args.hidden},
            "checks": [asdict(c) for c in checks],
            "sequences": sequences,
            "timings": [asdict(t) for t in timings],
        }
        args.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
