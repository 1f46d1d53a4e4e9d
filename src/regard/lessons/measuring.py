"""Times and small trainings for lessons: short, seeded, and on this machine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor


def milliseconds(
    run: Callable[..., object], *given: object, budget: float = 0.15, **options: object
) -> float:
    """The shortest time of a call, the first one left out: what else the machine does only adds to it."""
    run(*given, **options)
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - start < budget and len(times) < 30):
        before = time.perf_counter()
        run(*given, **options)
        times.append((time.perf_counter() - before) * 1e3)
    return min(times)


@contextmanager
def one_thread() -> Iterator[None]:
    """Tiny tensors gain nothing from a second thread, and threads that wait for each other cost a lot."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@one_thread()
def train(
    parameters: Iterable[Tensor], loss_at: Callable[[int], Tensor], steps: int, rate: float = 3e-3
) -> list[float]:
    """Adam with a short warm-up and a cosine; the losses of every step."""
    optimizer = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.0, fused=True)
    losses = []
    for step in range(steps):
        warm = min(1.0, (step + 1) / (0.1 * steps))
        for group in optimizer.param_groups:
            group["lr"] = rate * warm * 0.5 * (1 + math.cos(math.pi * step / steps))
        optimizer.zero_grad()
        loss = loss_at(step)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def crossing(xs: Sequence[float], first: Sequence[float], second: Sequence[float]) -> float | None:
    """Where the second curve overtakes the first, between measured points on log axes; None if nowhere.

    >>> round(crossing([1, 2, 4], [4.0, 4.0, 4.0], [1.0, 2.0, 8.0]), 6)
    2.828427
    """
    gaps = [math.log(b / a) for a, b in zip(first, second, strict=True)]
    for i in range(1, len(gaps)):
        if gaps[i - 1] < 0 <= gaps[i]:
            share = gaps[i - 1] / (gaps[i - 1] - gaps[i])
            return math.exp(math.log(xs[i - 1]) + share * math.log(xs[i] / xs[i - 1]))
    return None


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """The exponent p of y ≈ c·xᵖ between the first and the last point.

    >>> slope([1, 10], [2.0, 200.0])
    2.0
    """
    return math.log(ys[-1] / ys[0]) / math.log(xs[-1] / xs[0])
