"""How many threads a training on a CPU takes: as many as torch would, unless the machine is too busy.

Threads that share a sum wait for each other at every operation. Where another program holds one of their
cores, all wait for it: on two busy cores a small ViT trained sixteen times slower with two threads than with
one. So a run that begins measures, for a fraction of a second, and takes fewer threads where they are faster.

The number of threads decides how sums are split, hence their last bits. What was promised stays true:

- a run that goes on takes the threads it began with, from its history, and is the same to the bit;
- with `deterministic=true`, or where OMP_NUM_THREADS says how many, nothing changes: a busy machine is only
  spoken of. Two runs that must agree to the bit are begun so, since what is measured may differ.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import torch

from regard.train.environment import history

VARIABLE = "OMP_NUM_THREADS"
WORTH = 1.3  # times as fast as with all threads, from which fewer are taken: below, it may be chance
ROUNDS, SECONDS = 5, 0.015  # everyone in turn, so that a moment of noise does not hit one alone


def counts(most: int) -> list[int]:
    """What is tried: all, halves of it, and one.

    >>> counts(6)
    [6, 3, 1]
    """
    return [most] if most == 1 else [most, *counts(most // 2)]


def measured(most: int) -> dict[int, float]:
    """Steps per second of a small layer by number of threads, on this machine and now."""
    x, weight = torch.ones(1024, 64), torch.ones(64, 256)
    found: dict[int, list[float]] = {count: [] for count in counts(most)}
    with torch.no_grad(), _restored():
        for _ in range(ROUNDS):
            for count, speeds in found.items():
                torch.set_num_threads(count)
                torch.nn.functional.gelu(x @ weight).sum()  # wakes the threads
                done, begin = 0, time.perf_counter()
                while (spent := time.perf_counter() - begin) < SECONDS:
                    torch.nn.functional.gelu(x @ weight).sum()
                    done += 1
                speeds.append(done / spent)
    return {count: median(speeds) for count, speeds in found.items()}


def fastest(speeds: Mapping[int, float]) -> int:
    """The most threads, unless fewer are clearly faster.

    >>> fastest({4: 100.0, 2: 120.0, 1: 90.0}), fastest({4: 100.0, 2: 180.0, 1: 90.0})
    (4, 2)
    """
    most, best = max(speeds), max(speeds, key=lambda count: speeds[count])
    return best if speeds[best] >= WORTH * speeds[most] else most


@contextmanager
def chosen_threads(folder: Path, *, goes_on: bool, free: bool) -> Iterator[list[str]]:
    """Threads for a run in a folder, put back afterwards, and what is to be said of them.

    `free` says whether the number may be chosen at all.
    """
    before = torch.get_num_threads()
    with _restored():
        began = _began_with(folder) if goes_on else None
        if began is not None and VARIABLE not in os.environ:
            torch.set_num_threads(began)
            said = f"threads: {began} of {before}, as it began; {VARIABLE} takes others, with other last bits"
            yield [said] if began != before else []
        elif began is not None or before == 1:
            yield []
        else:
            yield [] if (line := _choose(before, free and VARIABLE not in os.environ)) is None else [line]


def _choose(most: int, free: bool) -> str | None:
    """Set the number of threads where it is free, and say what is worth saying."""
    speeds = measured(most)
    if (best := fastest(speeds)) == most:
        return None
    times = f"{speeds[best] / speeds[most]:.1f} times as fast as {most}"
    one = "1 thread is" if best == 1 else f"{best} threads are"
    if free:
        torch.set_num_threads(best)
        return (
            f"this machine is busy: {one} {times} now, so the run takes {best} ({VARIABLE} decides instead)"
        )
    return f"this machine is busy: {one} {times} now; {VARIABLE}={best} would be faster"


def _began_with(folder: Path) -> int | None:
    """The threads of a run's last start, as far as its history tells."""
    try:
        starts = history(folder)
    except ValueError:
        return None
    found = starts[-1].get("threads") if starts else None
    return found if isinstance(found, int) and 1 <= found <= 1024 else None


@contextmanager
def _restored() -> Iterator[None]:
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)
