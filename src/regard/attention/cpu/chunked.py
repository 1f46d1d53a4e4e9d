"""A band by chunks: each chunk of queries sees one stretch of keys, read in place. CPU."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from regard.attention import reference
from regard.attention.bands import looks_back
from regard.attention.cpu import blocks
from regard.attention.cpu.blocks import BlockPart, BlockPlan
from regard.attention.problem import Attended, Form, Problem

LARGEST = 1 << 24  # numbers of a mask held at a time, where each chunk has its own
RESULTS = 1 << 20  # numbers of one call's result: larger ones are fresh memory, paged in every time


def refuses(form: Form) -> str | None:
    """Why the problem is no band for the CPU, or None."""
    if form.device.type != "cpu":
        return f"it runs on a CPU, the query is on {form.device}"
    if (beyond := form.asks_beyond("slopes", "segments", "softcap", "dropout", "lse")) is not None:
        return beyond
    if looks_back(form.pattern) is None:
        return f"{form.pattern} is not a band behind the query"
    return None


def attend(problem: Problem) -> Attended:
    """The output, in time and memory that follow the band."""
    back = looks_back(problem.pattern)
    assert back is not None
    N, M = problem.form.N, problem.form.M
    if problem.form.empty:
        return reference.attend(problem)
    back = min(back, M - 1)
    tile = min(64, max(16, 1 << (N - 1).bit_length()))
    wide = -(-back // tile) + 1
    count, shift = -(-N // tile), M - N
    # Key tile i + wide − 1 holds the positions of query tile i.
    before = (wide - 1) * tile - shift
    after = count * tile - N
    return blocks.attend(problem, BlockPlan(tile, before, after, lambda: _parts(problem, tile, wide, count)))


def _parts(problem: Problem, tile: int, wide: int, count: int) -> Iterable[BlockPart]:
    N, M = problem.form.N, problem.form.M
    cell, keys = torch.arange(tile), torch.arange(wide * tile)

    def positions(first: int, last: int) -> tuple[Tensor, Tensor]:
        start = torch.arange(first, last)[:, None] * tile + M - N
        return start + cell, start + keys - (wide - 1) * tile

    def part(first: int, last: int) -> BlockPart:
        places = partial(positions, first, last)
        return BlockPart(slice(first, last), first, wide, *blocks.masks(problem, *places()), places)

    if problem.segments is not None:
        step = max(1, LARGEST // (problem.form.B * tile * wide * tile))
        for first in range(0, count, step):
            last = min(first + step, count)
            yield part(first, last)
        return
    # The chunks whose stretch is whole are alike; the first ones and a short last one are not.
    head = min(count, max(0, -(-((wide - 1) * tile - (M - N)) // tile)))
    tail = max(head, N // tile)
    for first, last in ((0, head), (tail, count)):
        if last > first:
            yield part(first, last)
    if tail > head:
        body = part(head, head + 1)
        B, H = problem.form.sizes[:2]
        step = max(1, RESULTS // (B * H * tile * problem.value.shape[3]))
        for first in range(head, tail, step):
            last = min(first + step, tail)
            yield replace(body, rows=slice(first, last), keys=first, places=partial(positions, first, last))
