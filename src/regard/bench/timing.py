"""How every benchmark measures: the clock, forward and backward, and a call as one CUDA graph."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from regard.recording import recording

T = TypeVar("T")


@dataclass(frozen=True)
class Timed:
    """Milliseconds of a forward pass, and of forward and backward together."""

    forward: float | None = None
    both: float | None = None
    note: str = ""


def failed(error: Exception) -> Timed:
    """What stands in the place of a time where there is none.

    >>> failed(RuntimeError("out of memory\\nand more")).note
    'failed: RuntimeError: out of memory'
    """
    said = (str(error).strip().splitlines() or ["no message"])[0]
    return Timed(note=f"failed: {type(error).__name__}: {said}")


def synchronise(device: str) -> None:
    """Wait until a GPU has done what it was given."""
    if device == "cuda":
        torch.cuda.synchronize()


def clocked(call: Callable[[], T], device: str = "cpu") -> tuple[T, float]:
    """What one call gives, and the seconds that it takes to its end on the device."""
    synchronise(device)
    before = time.perf_counter()
    found = call()
    synchronise(device)
    return found, time.perf_counter() - before


def seconds(call: Callable[[], object], device: str) -> float:
    """What one call takes."""
    return clocked(call, device)[1]


def milliseconds(call: Callable[[], object], device: str, budget: float = 0.4) -> float:
    """The median time of a call after warming up, within about `budget` seconds."""
    if device == "cuda":
        return _milliseconds_cuda(call, budget)
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < 4 or (time.perf_counter() - start < budget and len(times) < 50):
        times.append(1e3 * seconds(call, device))
        if len(times) == 2 and times[1] > 2e3:
            return min(times)  # seconds long: warming up no longer matters, and nobody waits for a median
    return statistics.median(times[1:])  # the first call warms up


def _milliseconds_cuda(call: Callable[[], object], budget: float) -> float:
    for _ in range(3):
        call()
    count = max(5, min(100, int(budget / 2 / max(seconds(call, "cuda"), 1e-5))))
    # Larger than the cache, and written between runs.
    cold = torch.empty(1 << 26, dtype=torch.int32, device="cuda")
    marks = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    for start, end in marks:
        cold.zero_()
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in marks)


def both_ways(
    forward: Callable[[], Tensor], inputs: Sequence[Tensor], device: str, budget: float = 0.4
) -> Timed:
    """Forward alone without a graph, then forward and backward."""
    with torch.no_grad():
        alone = milliseconds(forward, device, budget)
    grad = torch.randn_like(forward().detach())
    together = milliseconds(lambda: torch.autograd.grad(forward(), inputs, grad), device, budget)
    return Timed(alone, together)


def captured(call: Callable[[], object]) -> Callable[[], object]:
    """The call as one CUDA graph, so that launching its kernels costs nothing."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(4):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with recording(graph):
        call()
    return graph.replay
