"""Attention on a CPU as blocks: tiles of queries, each with its own few tiles of keys, forward and backward.

Queries and keys are cut into tiles of equal height. A plan is a list of parts; in a part every tile of
queries looks at the same number of key tiles, either consecutive ones, read in place as overlapping views,
or listed ones, which are gathered. torch's fused CPU kernel does the arithmetic of a part in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.nn.functional import pad

from regard.attention.bias import DistanceBias
from regard.attention.problem import Problem, same_segment

_flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_flash_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


@dataclass(frozen=True)
class BlockPart:
    """Some tiles of queries, `wide` key tiles for each, and which of their pairs count."""

    rows: slice | Tensor  # query tiles
    keys: int | Tensor  # the first row's first key tile, each row starting one later; or (rows, wide)
    wide: int
    mask: Tensor  # additive, broadcastable to (Z, rows, R·tile, wide·tile)
    seen: Tensor | None  # rows of queries that see anything, None: all

    def take(self, tiles: Tensor) -> Tensor:
        """Key tiles (Z, tiles, tile, D) as (Z, rows, wide·tile, D)."""
        Z, _, tile, D = tiles.shape
        if isinstance(self.keys, Tensor):
            return tiles[:, self.keys].flatten(2, 3)
        assert isinstance(self.rows, slice)
        count = self.rows.stop - self.rows.start
        strides = (tiles.stride(0), tile * D, D, 1)
        return tiles.as_strided(
            (Z, count, self.wide * tile, D), strides, tiles.storage_offset() + self.keys * tile * D
        )

    def give(self, tiles: Tensor, grad: Tensor) -> None:
        """Add the gradient of what `take` gave onto the key tiles."""
        grad = grad.unflatten(2, (self.wide, tiles.shape[2]))
        if isinstance(self.keys, Tensor):
            tiles.index_add_(1, self.keys.flatten(), grad.flatten(1, 2).to(tiles.dtype))
            return
        for j in range(self.wide):
            tiles[:, self.keys + j : self.keys + j + grad.shape[1]] += grad[:, :, j]


@dataclass(frozen=True)
class BlockPlan:
    """How a problem is cut: the tile height, zeros around the keys, and the parts (made anew each time)."""

    tile: int
    before: int  # zeros in front of the keys; negative: the first keys are nobody's
    after: int  # zeros behind them
    parts: Callable[[], Iterable[BlockPart]]


def attend(problem: Problem, plan: BlockPlan) -> Tensor:
    """The output of a planned problem."""
    B, H, G, N, M = problem.sizes
    q = problem.query.reshape(B * G, H // G, N, -1)
    k, v = problem.key.reshape(B * G, M, -1), problem.value.reshape(B * G, M, -1)
    out = _Blocks.apply(q, k, v, plan, problem.scale)
    assert isinstance(out, Tensor)
    return out.reshape(B, H, N, -1)


class _SavedBlocks(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]
    plan: BlockPlan
    scale: float


class _Blocks(torch.autograd.Function):
    @staticmethod
    def forward(ctx: _SavedBlocks, q: Tensor, k: Tensor, v: Tensor, plan: BlockPlan, scale: float) -> Tensor:
        width, N, E = max(q.shape[-1], v.shape[-1]), q.shape[2], v.shape[-1]  # the kernel wants one width
        queries = _tiles(q, plan.tile, 0, -N % plan.tile, width)  # Z R n tile W
        keys, values = (_tiles(x, plan.tile, plan.before, plan.after, width) for x in (k, v))
        out = torch.zeros_like(queries)
        normalisers = []
        for part in plan.parts():
            o, lse = _flash(
                _rows(queries, part.rows),
                part.take(keys),
                part.take(values),
                0.0,
                False,
                attn_mask=part.mask,
                scale=scale,
            )
            normalisers.append(lse)
            out[:, :, part.rows] = _heads(o if part.seen is None else o * part.seen, queries)
        ctx.save_for_backward(q, k, v, out, *normalisers)
        ctx.plan, ctx.scale = plan, scale
        return out.flatten(2, 3)[:, :, :N, :E]

    @staticmethod
    def backward(ctx: _SavedBlocks, *grads: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out, *normalisers = ctx.saved_tensors
        plan = ctx.plan
        width, N, M = out.shape[-1], q.shape[2], k.shape[1]
        queries = _tiles(q, plan.tile, 0, -N % plan.tile, width)
        keys, values = (_tiles(x, plan.tile, plan.before, plan.after, width) for x in (k, v))
        upstream = _tiles(grads[0], plan.tile, 0, -N % plan.tile, width)
        # Many tiles add to one key, so half precision would lose the sum.
        sums = torch.float32 if k.dtype in (torch.float16, torch.bfloat16) else k.dtype
        dq, dk, dv = (
            torch.zeros_like(queries),
            torch.zeros_like(keys, dtype=sums),
            torch.zeros_like(values, dtype=sums),
        )
        for part, lse in zip(plan.parts(), normalisers, strict=True):
            rows = _rows(queries, part.rows)
            grad = _rows(upstream, part.rows)
            grad = grad if part.seen is None else grad * part.seen
            parts = _flash_backward(
                grad, rows, part.take(keys), part.take(values), _rows(out, part.rows), lse, 0.0, False,
                attn_mask=part.mask, scale=ctx.scale,
            )  # fmt: skip
            dq[:, :, part.rows] = _heads(parts[0], queries)
            part.give(dk, parts[1])
            part.give(dv, parts[2])
        # Zeros around the keys are dropped again, keys that nobody saw get zeros.
        cropped = (0, 0, max(0, -plan.before), max(0, -plan.after))
        start = max(0, plan.before)
        dk, dv = (pad(x.flatten(1, 2), cropped)[:, start : start + M] for x in (dk, dv))
        return (
            dq.flatten(2, 3)[:, :, :N, : q.shape[-1]],
            dk[..., : k.shape[-1]].to(k.dtype),
            dv[..., : v.shape[-1]].to(v.dtype),
            None,
            None,
        )


def _tiles(x: Tensor, tile: int, before: int, after: int, width: int) -> Tensor:
    """x with zeros around its rows and columns, its rows cut into tiles; contiguous, copied only then."""
    if (before, after, width) == (0, 0, x.shape[-1]):
        return x.contiguous().unflatten(-2, (-1, tile))
    return pad(x, (0, width - x.shape[-1], before, after)).contiguous().unflatten(-2, (-1, tile))


def _rows(tiles: Tensor, rows: slice | Tensor) -> Tensor:
    """Z R n tile D -> Z rows R·tile D: the heads of a group share their keys, so they stand in one block."""
    return tiles[:, :, rows].transpose(1, 2).flatten(2, 3)


def _heads(block: Tensor, like: Tensor) -> Tensor:
    """The inverse of `_rows`."""
    return block.unflatten(2, (like.shape[1], like.shape[3])).transpose(1, 2)


def masks(problem: Problem, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor | None]:
    """(additive mask, rows seen) of query positions q (n, tile) and key positions k (n, wide·tile).

    Positions outside the problem (negative keys, queries past the end) see nothing.
    """
    B, H, G, _, M = problem.sizes
    q, k = q[:, :, None], k[:, None, :]
    inside = (k >= 0) & (q < M)
    allowed = (problem.pattern.allows(q, k) & inside)[None]  # 1 n tile keys
    if problem.segments is not None:
        padded = pad(problem.segments, (1, 1), value=-1)  # positions −1 and M read as padding
        q_segment, k_segment = (padded[:, x.clamp(-1, M) + 1] for x in (q, k))
        allowed = (allowed & same_segment(q_segment, k_segment)).repeat_interleave(G, 0)
    seen = allowed.any(-1, keepdim=True)
    kind = torch.float64 if problem.query.dtype == torch.float64 else torch.float32
    # A row that sees nothing keeps a mask of zeros, so that it has no NaN, and is cleared afterwards.
    mask = torch.zeros(allowed.shape, dtype=kind).masked_fill_(~allowed & seen, -torch.inf)
    heads = H // G
    if isinstance(problem.bias, DistanceBias):
        bias = problem.bias.dense(q, k).unflatten(0, (G, heads)).transpose(1, 2)  # G n R tile keys
        mask = (mask[:, :, None] + bias.repeat(B, *[1] * 4)[: B * G]).flatten(2, 3)
    elif heads > 1:
        mask = mask.repeat(1, 1, heads, 1)
    every = bool(seen.all())
    return mask, None if every else seen.repeat(1, 1, heads, 1).to(problem.query.dtype)
