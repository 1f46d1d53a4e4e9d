"""Attention on a CPU as blocks: tiles of queries, each with its own few tiles of keys, forward and backward.

Queries and keys are cut into tiles of equal height. A plan is a list of parts; in a part every tile of
queries looks at the same number of key tiles, either consecutive ones, read in place as overlapping views,
or listed ones, which are gathered. torch's fused CPU kernel does the arithmetic of a part in one call; what
it does not know (soft-capping, dropout, slopes that are learned) is spelt out, part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.nn.functional import pad

from regard.attention.bias import DistanceBias
from regard.attention.drops import kept
from regard.attention.once import once
from regard.attention.problem import Attended, Problem, same_segment
from regard.attention.reference import capped

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
    places: Callable[
        [], tuple[Tensor, Tensor]
    ]  # positions (rows, tile) of queries, (rows, wide·tile) of keys

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


def attend(problem: Problem, plan: BlockPlan) -> Attended:
    """The answer to a planned problem."""
    B, H, G, N, M = problem.form.sizes[:5]
    q = problem.query.reshape(B * G, H // G, N, -1)
    k, v = problem.key.reshape(B * G, M, -1), problem.value.reshape(B * G, M, -1)
    slopes = problem.bias.slopes if isinstance(problem.bias, DistanceBias) and problem.bias.learned else None
    if problem.form.dtype == torch.float16:  # which CPUs do not multiply: as float32 it is faster, and closer
        q, k, v = q.float(), k.float(), v.float()
    # One result where one is asked for: of several, torch lets none be changed in place.
    made = _Blocks.apply(q, k, v, slopes, plan, problem)
    out, lse = made if problem.lse else (made, None)
    out = out.reshape(B, H, N, -1).to(problem.form.dtype)
    return Attended(out, None if lse is None else lse.reshape(B, H, N))


class _SavedBlocks(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]
    plan: BlockPlan
    problem: Problem
    beside: int


class _Blocks(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: _SavedBlocks,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        slopes: Tensor | None,
        plan: BlockPlan,
        problem: Problem,
    ) -> Tensor | tuple[Tensor, Tensor]:
        width, N, E = max(q.shape[-1], v.shape[-1]), q.shape[2], v.shape[-1]  # the kernel wants one width
        queries = _tiles(q, plan.tile, 0, -N % plan.tile, width)  # Z R n tile W
        keys, values = (_tiles(x, plan.tile, plan.before, plan.after, width) for x in (k, v))
        flat = queries.new_zeros(*queries.shape[:2], queries.shape[2] * plan.tile, width)
        out = flat.view(queries.shape)
        normalisers = []
        # A row of no part sees nothing.
        whole = (
            q.new_full(queries.shape[:-1], -torch.inf, dtype=normal(q.dtype))
            if problem.lse
            else q.new_zeros(0)
        )
        with torch.no_grad():
            for part in plan.parts():
                rows, some = _rows(queries, part.rows), (part.take(keys), part.take(values))
                if _fused(problem):
                    o, lse = _flash(rows, *some, 0.0, False, attn_mask=part.mask, scale=problem.scale)
                else:
                    o, lse = _explicit(problem, part, rows, *some)
                normalisers.append(lse)
                out[:, :, part.rows] = _heads(o if part.seen is None else o * part.seen, queries)
                if problem.lse:
                    lse = lse if part.seen is None else lse.masked_fill(part.seen[..., 0] == 0, -torch.inf)
                    whole[:, :, part.rows] = _heads(lse[..., None], queries)[..., 0].to(whole.dtype)
        beside = problem.beside()
        ctx.save_for_backward(q, k, v, flat, *beside, *normalisers)
        ctx.plan, ctx.problem, ctx.beside = plan, problem, len(beside)
        ctx.set_materialize_grads(False)
        # No view of what is inside: torch could not tell whether it may be changed in place.
        out = flat if flat.shape[2:] == (N, E) else flat[:, :, :N, :E].contiguous()
        return (out, whole.flatten(2, 3)[:, :, :N]) if problem.lse else out

    @staticmethod
    def backward(ctx: _SavedBlocks, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        q, k, v, flat, *rest = ctx.saved_tensors
        plan, problem, normalisers = ctx.plan, ctx.problem, rest[ctx.beside :]
        width, N, M = flat.shape[-1], q.shape[2], k.shape[1]
        queries = _tiles(q, plan.tile, 0, -N % plan.tile, width)
        out = flat.view(queries.shape)
        keys, values = (_tiles(x, plan.tile, plan.before, plan.after, width) for x in (k, v))
        given = q.new_zeros(*q.shape[:3], v.shape[-1]) if grads[0] is None else grads[0]
        upstream = _tiles(given, plan.tile, 0, -N % plan.tile, width)
        last = grads[1] if len(grads) > 1 else None
        of_lse = None if last is None else _tiles(last[..., None], plan.tile, 0, -N % plan.tile, 1)
        # Many tiles add to one key, so half precision would lose the sum.
        sums = normal(k.dtype)
        dq, dk, dv = (
            torch.zeros_like(queries),
            torch.zeros_like(keys, dtype=sums),
            torch.zeros_like(values, dtype=sums),
        )
        dslopes = None
        for part, lse in zip(plan.parts(), normalisers, strict=True):
            rows, some = _rows(queries, part.rows), (part.take(keys), part.take(values))
            grad = _rows(upstream, part.rows)
            grad = grad if part.seen is None else grad * part.seen
            if _fused(problem) and of_lse is None:
                parts = _flash_backward(
                    grad, rows, *some, _rows(out, part.rows), lse, 0.0, False,
                    attn_mask=part.mask, scale=problem.scale,
                )  # fmt: skip
            else:
                into = None if of_lse is None else _rows(of_lse, part.rows)[..., 0]
                parts = _explicit_backward(problem, part, grad, into, rows, *some)
            dq[:, :, part.rows] = _heads(parts[0], queries)
            part.give(dk, parts[1])
            part.give(dv, parts[2])
            if len(parts) > 3 and parts[3] is not None:
                dslopes = parts[3] if dslopes is None else dslopes + parts[3]
        # Zeros around the keys are dropped again, keys that nobody saw get zeros.
        cropped = (0, 0, max(0, -plan.before), max(0, -plan.after))
        start = max(0, plan.before)
        dk, dv = (pad(x.flatten(1, 2), cropped)[:, start : start + M] for x in (dk, dv))
        found: tuple[Tensor | None, ...] = (
            dq.flatten(2, 3)[:, :, :N, : q.shape[-1]],
            dk[..., : k.shape[-1]].to(k.dtype),
            dv[..., : v.shape[-1]].to(v.dtype),
            dslopes,
        )
        if torch.is_grad_enabled():
            found = once(found, "attention by blocks on a CPU", (q, k, v, given))
        return *found, None, None


def normal(dtype: torch.dtype) -> torch.dtype:
    """The type in which sums are kept."""
    return torch.promote_types(dtype, torch.float32)


def _fused(problem: Problem) -> bool:
    learned = isinstance(problem.bias, DistanceBias) and problem.bias.learned
    return problem.softcap is None and not problem.dropout and not learned


def _explicit(
    problem: Problem, part: BlockPart, rows: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(output, normalisers) of a part as plain operations; rows that see nothing are cleared later."""
    kind = normal(rows.dtype)
    scores = capped(rows.to(kind) @ keys.to(kind).mT * problem.scale, problem.softcap)
    scores = scores + (part.mask if mask is None else mask)
    weights = scores.softmax(-1)
    if problem.dropout:
        weights = weights * _kept(problem, part) / (1 - problem.dropout)
    return (weights.to(values.dtype) @ values), scores.logsumexp(-1)


def _explicit_backward(
    problem: Problem,
    part: BlockPart,
    grad: Tensor,
    of_lse: Tensor | None,
    rows: Tensor,
    keys: Tensor,
    values: Tensor,
) -> list[Tensor | None]:
    """The gradients of a part's rows, keys, values and learned slopes: by running it again."""
    leaves = [x.detach().requires_grad_() for x in (rows, keys, values)]
    mask = None
    with torch.enable_grad():
        if isinstance(problem.bias, DistanceBias) and problem.bias.learned:
            assert isinstance(problem.bias.slopes, Tensor)
            leaves.append(problem.bias.slopes.detach().requires_grad_())
            mask = masks(problem.changed(bias=DistanceBias(leaves[3])), *part.places())[0]
        out, lse = _explicit(problem, part, leaves[0], leaves[1], leaves[2], mask)
    if of_lse is None:
        return list(torch.autograd.grad(out, leaves, grad))
    if part.seen is not None:
        of_lse = of_lse * part.seen[..., 0]
    return list(torch.autograd.grad((out, lse), leaves, (grad, of_lse.to(lse.dtype))))


def _kept(problem: Problem, part: BlockPart) -> Tensor:
    """Which weights (Z, rows, R·tile, wide·tile) of a part dropout keeps."""
    B, H, G = problem.form.sizes[:3]
    assert problem.seed is not None
    q, k = problem.drawn(*part.places())
    head = torch.arange(B * H).view(B * G, 1, H // G, 1, 1)
    found = kept(problem.seed, problem.dropout, head, q[None, :, None, :, None], k[None, :, None, None])
    return found.flatten(2, 3)


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

    Positions outside the problem (before it, or past its end) see nothing.
    """
    B, H, G, N, M = problem.form.sizes[:5]
    q, k = q[:, :, None], k[:, None, :]
    inside = (k >= 0) & (k < M) & (q < M)
    # A pattern may look positions up, so it is asked about those inside only.
    allowed = (problem.pattern.allows(q.clamp(max=M - 1), k.clamp(0, M - 1)) & inside)[None]  # 1 n tile keys
    if problem.segments is not None:
        # Positions outside read as padding.
        of_q, of_k = (pad(x, (1, 1), value=-1) for x in problem.segments)
        q_segment, k_segment = of_q[:, (q - (M - N)).clamp(-1, N) + 1], of_k[:, k.clamp(-1, M) + 1]
        allowed = (allowed & same_segment(q_segment, k_segment)).repeat_interleave(G, 0)
    seen = allowed.any(-1, keepdim=True)
    kind = normal(problem.form.dtype)
    # A row that sees nothing keeps a mask of zeros, so that it has no NaN, and is cleared afterwards.
    mask = torch.zeros(allowed.shape, dtype=kind).masked_fill_(~allowed & seen, -torch.inf)
    heads = H // G
    if isinstance(problem.bias, DistanceBias):
        bias = problem.bias.dense(*problem.standing(q, k), kind).transpose(0, 1)  # H n tile keys
        bias = bias.unflatten(0, (G, heads)).transpose(1, 2)  # G n R tile keys
        mask = (mask[:, :, None] + bias.repeat(B, *[1] * 4)[: B * G]).flatten(2, 3)
    elif heads > 1:
        mask = mask.repeat(1, 1, heads, 1)
    every = bool(seen.all())
    return mask, None if every else seen.repeat(1, 1, heads, 1).to(problem.form.dtype)
