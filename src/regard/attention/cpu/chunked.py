"""A band by chunks: each chunk of queries sees one stretch of keys, read in place. CPU."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

import torch
from torch import Tensor

from regard.attention import sdpa
from regard.attention.cpu import blocks
from regard.attention.cpu.blocks import BlockPart, BlockPlan
from regard.attention.problem import Problem
from regard.pattern import Pattern

LARGEST = 1 << 24  # numbers of a mask held at a time, where each chunk has its own
RESULTS = 1 << 20  # numbers of one call's result: larger ones are fresh memory, paged in every time


def refuses(problem: Problem) -> str | None:
    """Why the problem is no band for the CPU, or None."""
    if problem.query.device.type != "cpu":
        return f"it runs on a CPU, the query is on {problem.query.device}"
    if isinstance(problem.bias, Tensor):
        return "a bias tensor is not cut into chunks"
    back = looks_back(problem.pattern)
    if back is None:
        return f"{problem.pattern} is not a band behind the query"
    return None


@lru_cache(maxsize=1024)
def looks_back(pattern: Pattern) -> int | None:
    """How far back the pattern looks, where the distance alone decides and it is bounded; else None."""
    kept = pattern.keys_kept()
    if not pattern.by_distance or kept is None or kept == 0:
        return None
    # A complement may look ahead; everything else by distance looks back.
    ahead = pattern.allows(torch.arange(-(1 << 12), 0), torch.tensor(0))
    return None if bool(ahead.any()) else kept - 1


def attend(problem: Problem) -> Tensor:
    """The output, in time and memory that follow the band."""
    back = looks_back(problem.pattern)
    assert back is not None
    _, _, _, N, M = problem.sizes
    if problem.empty:
        return sdpa.attend(problem)
    back = min(back, M - 1)
    tile = min(64, max(16, 1 << (N - 1).bit_length()))
    wide = -(-back // tile) + 1
    count, shift = -(-N // tile), M - N
    # Key tile i + wide − 1 holds the positions of query tile i.
    before = (wide - 1) * tile - shift
    after = count * tile - N
    return blocks.attend(problem, BlockPlan(tile, before, after, lambda: _parts(problem, tile, wide, count)))


def _parts(problem: Problem, tile: int, wide: int, count: int) -> Iterable[BlockPart]:
    _, _, _, N, M = problem.sizes
    cell, keys = torch.arange(tile), torch.arange(wide * tile)

    def positions(first: int, last: int) -> tuple[Tensor, Tensor]:
        start = torch.arange(first, last)[:, None] * tile + M - N
        return start + cell, start + keys - (wide - 1) * tile

    def part(first: int, last: int, at: tuple[Tensor, Tensor]) -> BlockPart:
        mask, seen = blocks.masks(problem, *at)
        return BlockPart(slice(first, last), first, wide, mask, seen)

    if problem.segments is not None:
        step = max(1, LARGEST // (problem.sizes[0] * tile * wide * tile))
        for first in range(0, count, step):
            last = min(first + step, count)
            yield part(first, last, positions(first, last))
        return
    # The chunks whose stretch is whole are alike; the first ones and a short last one are not.
    head = min(count, max(0, -(-((wide - 1) * tile - (M - N)) // tile)))
    tail = max(head, N // tile)
    for first, last in ((0, head), (tail, count)):
        if last > first:
            yield part(first, last, positions(first, last))
    if tail > head:
        body = part(head, head + 1, positions(head, head + 1))
        B, H, _, _, _ = problem.sizes
        step = max(1, RESULTS // (B * H * tile * problem.value.shape[3]))
        for first in range(head, tail, step):
            yield replace(body, rows=slice(first, min(first + step, tail)), keys=first)
