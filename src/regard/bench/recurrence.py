"""`regard bench recurrence`: the grid recurrence beside the double loop, and sequences beside their loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import torch
from torch import Tensor

from regard.bench.exact import multiples
from regard.bench.report import BenchReport
from regard.bench.timing import Timed, both_ways, milliseconds
from regard.recurrence import ACTIVATIONS, STARTS, choose, grid_rnn, identity, linear_rnn, rnn

Way = Callable[..., Tensor]
Problem = tuple[list[Tensor], Tensor]  # inputs that require gradients, and a gradient of the output

NAMES = {4: ("out", "x", "W_in", "W_left", "W_top"), 3: ("out", "x", "W_x", "W_h")}  # by their inputs
SHAPES = [(2, 70, 5, 4, 40), (1, 9, 66, 2, 200), (2, 6, 8, 16, 256), (4, 1, 9, 3, 5)]

double_loop: Way = partial(grid_rnn, impl="reference")
wavefront: Way = partial(grid_rnn, impl="wavefront")
SEQUENCES: dict[str, tuple[Way, Way]] = {
    "linear_rnn": (linear_rnn, partial(rnn, activation=identity, impl="reference")),
    "rnn": (rnn, partial(rnn, impl="reference")),
}


def run(device: str, quick: bool) -> BenchReport:
    """Check every way in every dtype, then time them at one size."""
    side, h, steps, batches = (12, 16, 64, (1, 2)) if quick else (64, 128, 1024, (1, 64))
    dtypes = [torch.float32] + ([torch.bfloat16] if device == "cuda" else [])
    checks: list[str] = []
    report = BenchReport(
        "recurrence",
        {"device": device, "quick": quick, "rows": side, "cols": side, "c": 3, "h": h, "T": steps}
        | {"check": "error against float64, in multiples of the loop's own", "checks": checks},
    )
    for dtype in dtypes + ([torch.float16] if device == "cuda" else []):
        # The rows that will be timed, but unequal sides.
        checks += _check(_ways(device), double_loop, _grid((1, side, side - 5, 3, h), dtype, device))
        checks += [] if quick else _check_kinds(device, dtype)
    for dtype in dtypes:
        for name, (fast, slow) in SEQUENCES.items():
            problem = _sequence((16, steps, 8, h), dtype, device)
            checks += _check({name: fast}, slow, problem, gradients=False)
    for dtype in dtypes:
        for batch in batches:
            _time_grid(report, (batch, side, side, 3, h), dtype, device)
        for name, (fast, slow) in SEQUENCES.items():
            checks += _time_sequence(report, name, fast, slow, _sequence((16, steps, 8, h), dtype, device))
    return report


def _ways(device: str) -> dict[str, Way]:
    """Everything to check on the problem that is timed: ours, and the peers that must compute the same."""
    ways: dict[str, Way] = {"grid_rnn": grid_rnn, "simple wavefront": simple_wavefront}
    if device == "cuda":
        ways |= {"wavefront": wavefront, "wavefront, CUDA graph": lambda *x: _graphed(x)(*x)}
    return ways


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


def _graphed(inputs: Sequence[Tensor]) -> Way:
    """The wavefront captured in CUDA graphs, one for the forward and one for the backward."""
    return cast(Way, torch.cuda.make_graphed_callables(wavefront, tuple(inputs)))


def _grid(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> Problem:
    B, rows, cols, c, h = shape
    weight = 0.5 * h**-0.5
    sizes = [(B, rows, cols, c), (h, c), (h, h), (h, h), (B, rows, cols, h)]
    return _draw(sizes, [1.0, c**-0.5, weight, weight, 1.0], dtype, device)


def _sequence(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> Problem:
    B, T, c, h = shape
    sizes = [(B, T, c), (h, c), (h, h), (B, T, h)]
    return _draw(sizes, [1.0, 0.3, 0.95 * h**-0.5, 1.0], dtype, device)  # a spectral radius near 0.95


def _draw(
    sizes: Sequence[tuple[int, ...]], scales: Sequence[float], dtype: torch.dtype, device: str
) -> Problem:
    generator = torch.Generator().manual_seed(sum(map(sum, sizes)))
    *inputs, grad = (
        (scale * torch.randn(size, generator=generator)).to(device, dtype)
        for size, scale in zip(sizes, scales, strict=True)
    )
    return [t.requires_grad_() for t in inputs], grad


def _check_kinds(device: str, dtype: torch.dtype) -> list[str]:
    """Ours on odd shapes, and with every activation and corner."""
    impls = ("auto", "wavefront") if device == "cuda" else ("auto",)
    ways = {f"grid_rnn, {impl}": partial(grid_rnn, impl=impl) for impl in impls}
    found = [text for shape in SHAPES for text in _check(ways, double_loop, _grid(shape, dtype, device))]
    for (name, activation), start in zip(ACTIVATIONS.items(), STARTS, strict=True):
        options = {"activation": activation, "start": start}
        kinds = {f"{who}, {name}, {start}": partial(way, **options) for who, way in ways.items()}
        found += _check(kinds, partial(double_loop, **options), _grid((2, 12, 19, 3, 64), dtype, device))
    return found


def _check(ways: Mapping[str, Way], slow: Way, problem: Problem, gradients: bool = True) -> list[str]:
    """Say how far off each way is, or raise above twice the slow way's own error."""
    inputs, grad = problem

    def results(way: Way, dtype: torch.dtype) -> list[Tensor]:
        x = [t.detach().to(dtype).requires_grad_() for t in inputs]
        out = way(*x)
        if not gradients:
            return [out.detach()]
        # One row has no use for W_top: its gradient is zero.
        return [out.detach(), *torch.autograd.grad(out, x, grad.to(dtype), materialize_grads=True)]

    exact, usual = results(slow, torch.float64), results(slow, grad.dtype)
    found = []
    for name, way in ways.items():
        off = multiples(NAMES[len(inputs)][: len(exact)], results(way, grad.dtype), usual, exact)
        worst, where = max((times, part) for part, times in off.items())
        sizes = "×".join(map(str, inputs[0].shape)) + f" to {grad.shape[-1]}"
        found.append(f"{name}, {_kind(grad.dtype)}, {sizes}: {where} is off by {worst:.2f}")
        if worst > 2:
            raise ValueError(f"{found[-1]} times the loop's error, allowed 2; not timed")
    return found


def _kind(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _time_grid(report: BenchReport, shape: tuple[int, ...], dtype: torch.dtype, device: str) -> None:
    """Ours as it comes and each peer; on a GPU also our wavefront, plain and in a CUDA graph."""
    inputs, grad = _grid(shape, dtype, device)

    def measure(way: Way, note: str = "") -> Timed:
        if device == "cuda":
            note = f"{note}, {_peak(way, inputs, grad)}".removeprefix(", ")
        return replace(both_ways(partial(way, *inputs), inputs, device), note=note)

    ours = measure(grid_rnn, choose(inputs[0], inputs[1]).impl)
    peers = {"double loop": measure(double_loop), "simple wavefront": measure(simple_wavefront)}
    if device == "cuda":
        peers["regard, wavefront"] = measure(wavefront)
        # Its memory lies in the graph's own pool, so the peak would say nothing.
        peers["regard, wavefront in graph"] = both_ways(partial(_graphed(inputs), *inputs), inputs, device)
    B, rows, cols, _, h = shape
    report.add(f"grid {rows}×{cols} h{h} B{B} {_kind(dtype)}", ours, peers)


def _peak(way: Way, inputs: list[Tensor], grad: Tensor) -> str:
    """The peak of forward and backward above inputs and output gradient."""
    torch.autograd.grad(way(*inputs), inputs, grad)  # workspaces are there from now on
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    torch.autograd.grad(way(*inputs), inputs, grad)
    used = torch.cuda.max_memory_allocated() - before
    return f"peak {used / (grad.numel() * grad.element_size()):.2f} hidden states"


def _time_sequence(report: BenchReport, name: str, fast: Way, slow: Way, problem: Problem) -> list[str]:
    """Ours beside the loop, and what the check found; where only gradients fail it, the forward alone."""
    inputs, _ = problem
    device, checks = inputs[0].device.type, []
    ours, loop = partial(fast, *inputs), partial(slow, *inputs)
    B, T, _ = inputs[0].shape
    case = f"{name} T{T} h{len(inputs[2])} B{B} {_kind(inputs[0].dtype)}"
    try:
        checks = _check({f"{name}, gradients": fast}, slow, problem)
    except ValueError as error:
        with torch.no_grad():
            timed = Timed(milliseconds(ours, device), note=f"forward alone: {error}")
    else:
        timed = both_ways(ours, inputs, device)
    report.add(case, timed, {"loop": both_ways(loop, inputs, device)})
    return checks
