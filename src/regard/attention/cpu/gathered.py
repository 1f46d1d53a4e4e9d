"""Whatever pattern, by its non-empty tiles, gathered for each tile of queries. CPU."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, partial

import torch
from torch import Tensor

from regard.attention import reference
from regard.attention.cpu import blocks
from regard.attention.cpu.blocks import BlockPart, BlockPlan
from regard.attention.problem import Attended, Form, Problem
from regard.pattern import Pattern

TILE = 64
LARGEST = 1 << 24  # numbers of a mask held at a time
KEPT = 1 << 26  # bytes of masks kept for the next call


def refuses(form: Form) -> str | None:
    """Why the problem cannot be gathered, or None."""
    if form.device.type != "cpu":
        return f"it runs on a CPU, the query is on {form.device}"
    return form.asks_beyond("slopes", "segments", "softcap", "dropout", "lse", "places")


@dataclass(frozen=True)
class Group:
    """Query tiles that look at about equally many key tiles; −1 fills up a shorter list."""

    rows: Tensor
    keys: Tensor  # (rows, wide)


def attend(problem: Problem) -> Attended:
    """The output, in time and memory that follow the tiles that hold anything."""
    _, H, G, N, M = problem.form.sizes[:5]
    if problem.form.empty:
        return reference.attend(problem)
    parts = None
    if problem.form.asks_beyond("softcap", "dropout", "lse") is None:
        parts = _cached(problem.pattern, N, M, H // G, problem.form.dtype)
    return blocks.attend(problem, BlockPlan(TILE, 0, -M % TILE, lambda: parts or _parts(problem)))


@lru_cache(maxsize=64)
def groups(pattern: Pattern, n: int, m: int) -> tuple[Group, ...]:
    """The query tiles sorted by how many key tiles they need, cut where that number grows by an eighth."""
    tiles = pattern.tiles(n, m, TILE)
    count = -(-n // TILE)
    row, column = (torch.cat(both) for both in zip(tiles.full_at, tiles.partial_at, strict=True))
    order = torch.argsort(row * tiles.shape[1] + column)
    row, column = row[order], column[order]
    needs = torch.bincount(row, minlength=count)
    start = needs.cumsum(0) - needs
    by_need = torch.argsort(needs, stable=True)
    by_need = by_need[needs[by_need] > 0]
    out = []
    while len(by_need):
        wide = int(needs[by_need[-1]])
        chosen = by_need[needs[by_need] > wide - max(1, wide // 8)]
        by_need = by_need[: len(by_need) - len(chosen)]
        rows = chosen.sort().values
        offset = torch.arange(wide)
        keys = column[(start[rows, None] + offset).clamp(max=len(column) - 1)]
        out.append(Group(rows, torch.where(offset < needs[rows, None], keys, -1)))
    return tuple(out)


@lru_cache(maxsize=8)
def _cached(pattern: Pattern, n: int, m: int, heads: int, dtype: torch.dtype) -> tuple[BlockPart, ...] | None:
    """The parts with their masks, where those are small enough to keep."""
    size = sum(group.keys.numel() for group in groups(pattern, n, m)) * TILE * TILE * 4 * heads
    if size > KEPT:
        return None
    like = torch.empty(1, heads, n, 1, dtype=dtype)
    key = torch.empty(1, 1, m, 1, dtype=dtype)
    return tuple(_parts(Problem(like, key, key, pattern, 1.0)))


def _parts(problem: Problem) -> Iterable[BlockPart]:
    B, H, G, N, M = problem.form.sizes[:5]
    cell = torch.arange(TILE)
    for group in groups(problem.pattern, N, M):
        each = group.keys.shape[1] * TILE * TILE * (H // G if problem.bias is None else H)
        each *= 1 if problem.segments is None else B
        step = max(1, LARGEST // each)
        for first in range(0, len(group.rows), step):
            rows, keys = group.rows[first : first + step], group.keys[first : first + step]
            q = rows[:, None] * TILE + cell + M - N
            k = keys[:, :, None] * TILE + cell
            k = torch.where((keys[:, :, None] >= 0) & (k < M), k, -1).flatten(1)
            mask, seen = blocks.masks(problem, q, k)
            yield BlockPart(rows, keys.clamp(min=0), keys.shape[1], mask, seen, partial(_both, q, k))


def _both(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    return q, k
