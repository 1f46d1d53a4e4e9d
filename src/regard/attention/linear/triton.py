"""Causal linear attention on a GPU: the launches around the kernels, with a hand-written backward."""

from dataclasses import dataclass
from functools import cached_property

import torch
import triton
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn.functional import pad

from regard.attention.linear import kernels as ahead
from regard.attention.linear import kernels_back as back
from regard.attention.linear.chunked import absorb
from regard.attention.linear.features import FEATURES
from regard.attention.linear.reference import Found, LinearProblem, State, reciprocal

INTERPRETED = not isinstance(ahead.scan, triton.JITFunction)  # TRITON_INTERPRET=1: the kernels run on a CPU


@dataclass(frozen=True)
class Tile:
    """How one kernel is cut: positions per block, warps per program, blocks in flight."""

    block: int
    warps: int
    stages: int
    registers: int | None = None  # a limit per thread, so that more programs share a processor

    def launch(self) -> dict[str, int]:
        """The keywords of a launch."""
        limit = {} if self.registers is None else {"maxnreg": self.registers}
        return {"BLOCK": self.block, "num_warps": self.warps, "num_stages": self.stages} | limit


@dataclass(frozen=True)
class Tuning:
    """The cut of every kernel, and how many programs to aim at over batch, heads and parts."""

    totals: Tile
    forward: Tile
    queries: Tile
    keys: Tile
    programs: int = 1024

    @classmethod
    def of(cls, dtype: torch.dtype, width: int) -> "Tuning":
        """The default for a type and the larger of the two head widths."""
        if dtype == torch.float32:  # exact products take registers instead of tensor cores
            tile = Tile(16, 4, 1)
            return cls(tile, tile, tile, tile)
        if width > 64:  # the sum alone fills half the registers of four warps
            return cls(Tile(64, 8, 3), Tile(64, 8, 2), Tile(32, 8, 2), Tile(32, 8, 2))
        return cls(Tile(64, 4, 3), Tile(64, 4, 2), Tile(64, 4, 2), Tile(64, 4, 2))

    def span(self, length: int, heads: int) -> int:
        """Positions per part: a multiple of every block, and at most 255 parts (the scan is one tile)."""
        unit = max(tile.block for tile in (self.totals, self.forward, self.queries, self.keys))
        parts = min(255, max(1, self.programs // heads))
        return triton.cdiv(triton.cdiv(length, parts), unit) * unit


@dataclass(frozen=True)
class LaunchPlan:
    """What the launches of one call share."""

    B: int
    H: int
    G: int
    N: int
    D: int
    E: int
    feature: str
    check: bool
    tuning: Tuning

    @cached_property
    def padded(self) -> tuple[int, int]:
        """The widths as the tensor cores want them."""
        return max(16, triton.next_power_of_2(self.D)), max(16, triton.next_power_of_2(self.E))

    @cached_property
    def span(self) -> int:
        """Positions per part."""
        return self.tuning.span(self.N, self.B * self.H)

    @cached_property
    def parts(self) -> int:
        """Parts per sequence."""
        return triton.cdiv(self.N, self.span)

    @cached_property
    def stride(self) -> int:
        """Numbers in a row of a table: S, z, the summed key lengths, and room to keep rows aligned."""
        DP, EP = self.padded
        return DP * EP + DP + 4

    @cached_property
    def constants(self) -> dict[str, int | str]:
        """The compile-time constants that every walking kernel takes."""
        DP, EP = self.padded
        widths = {"D": self.D, "E": self.E, "DP": DP, "EP": EP, "STRIDE": self.stride}
        return widths | {"FEATURE": self.feature}

    def row(self, state: State, reach: Tensor) -> Tensor:
        """A state as a row of a table, (B·G, stride)."""
        DP, EP = self.padded
        S = pad(state[0], (0, EP - self.E, 0, DP - self.D)).reshape(self.B * self.G, -1)
        z = pad(state[1], (0, DP - self.D)).reshape(self.B * self.G, -1)
        return torch.cat((S, z, pad(reach.reshape(-1, 1), (0, 3))), 1)

    def state(self, row: Tensor) -> State:
        """The state in a row of a table."""
        DP, EP = self.padded
        S = row[:, : DP * EP].view(self.B, self.G, DP, EP)[:, :, : self.D, : self.E]
        return S, row[:, DP * EP : DP * EP + self.D].unflatten(0, (self.B, self.G))

    def table(self, start: Tensor | None, like: Tensor) -> Tensor:
        """Room for what enters each part; the first row is the start."""
        table = like.new_empty(self.B * self.G, self.parts + 1, self.stride, dtype=torch.float32)
        table[:, 0] = 0.0 if start is None else start
        return table

    def scan(self, table: Tensor, segments: Tensor | None, reverse: bool) -> Tensor:
        """Turn totals into what enters each part, in place; returns the row that leaves the sequence."""
        width, cols = self.stride - (4 if reverse else 3), 32
        ahead.scan[(len(table), triton.cdiv(width, cols))](
            table, segments if segments is not None else table, self.N, self.G, self.span, self.parts,
            STRIDE=self.stride, WIDTH=width, ROWS=triton.next_power_of_2(self.parts + 1), COLS=cols,
            SEGMENTS=segments is not None, REVERSE=reverse, num_warps=4,
        )  # fmt: skip
        return table[:, -1].clone()


def rows_first(x: Tensor) -> Tensor:
    """x with its last axis contiguous, as the kernels read it."""
    return x if x.stride(-1) == 1 or x.shape[-1] == 1 else x.contiguous()


class _SavedWalk(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[bool, ...]
    plan: LaunchPlan


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: _SavedWalk,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        start: Tensor | None,
        segments: Tensor | None,
        plan: LaunchPlan,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        q, k, v = rows_first(q), rows_first(k), rows_first(v)
        flags = {"SEGMENTS": segments is not None, "CHECK": plan.check}
        table = plan.table(start, q)
        marks = table if segments is None else segments  # not read without segments
        out = q.new_empty(plan.B, plan.H, plan.N, plan.E)
        inverse = q.new_empty(plan.B, plan.H, plan.N, dtype=torch.float32)
        doubt = q.new_zeros((), dtype=torch.int32) if plan.check else inverse  # not written without check
        ahead.key_totals[(plan.B * plan.G, plan.parts)](
            k, v, marks, table, *k.stride()[:3], *v.stride()[:3], plan.N, plan.G, plan.span,
            **plan.constants, **flags, **plan.tuning.totals.launch(),
        )  # fmt: skip
        end = plan.scan(table, segments, reverse=False)
        ahead.forward_walk[(plan.B * plan.H, plan.parts)](
            q, k, v, marks, table, out, inverse, doubt,
            *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], plan.N, plan.H, plan.G, plan.span,
            **plan.constants, **flags, **plan.tuning.forward.launch(),
        )  # fmt: skip
        ctx.save_for_backward(q, k, v, table, inverse, segments)  # type: ignore[arg-type]
        ctx.plan = plan
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(inverse, doubt)
        return out, end, inverse, doubt

    @staticmethod
    @once_differentiable
    def backward(ctx: _SavedWalk, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        q, k, v, table, inverse, segments = ctx.saved_tensors
        plan = ctx.plan
        # Only the state may have been used.
        grad = q.new_zeros(*q.shape[:3], plan.E) if grads[0] is None else rows_first(grads[0])
        constants = plan.constants | {"SEGMENTS": segments is not None}
        marks = table if segments is None else segments
        dq, dk, dv = (x.new_empty(x.shape) for x in (q, k, v))
        delta = torch.empty_like(inverse)
        strides = *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *grad.stride()[:3]
        back.query_walk[(plan.B * plan.H, plan.parts)](
            q, k, v, grad, marks, table, inverse, dq, delta, *strides, plan.N, plan.H, plan.G, plan.span,
            **constants, **plan.tuning.queries.launch(),
        )  # fmt: skip
        table = plan.table(grads[1], q)
        back.query_totals[(plan.B * plan.G, plan.parts)](
            q, grad, marks, table, inverse, delta, *q.stride()[:3], *grad.stride()[:3],
            plan.N, plan.H, plan.G, plan.span, **constants, **plan.tuning.totals.launch(),
        )  # fmt: skip
        start = plan.scan(table, segments, reverse=True)
        back.key_walk[(plan.B * plan.G, plan.parts)](
            q, k, v, grad, marks, table, inverse, delta, dk, dv, *strides, plan.N, plan.G, plan.span,
            REPEATS=plan.H // plan.G, **constants, **plan.tuning.keys.launch(),
        )  # fmt: skip
        return dq, dk, dv, start if ctx.needs_input_grad[3] else None, None, None


def linear_triton(
    problem: LinearProblem, *, feature: str = "identity", check: bool = True, tuning: Tuning | None = None
) -> Found:
    """The same results as `linear_reference`, for causal calls; q and k are given before their feature.

    The denominators come back only if `check` and one of them may be unsafe; asking waits for the device.
    """
    assert problem.causal
    q, k, v, segments, state = problem.query, problem.key, problem.value, problem.segments, problem.state
    reach = None if state is None else torch.linalg.vector_norm(state[1].detach(), dim=-1)
    earlier = k.shape[2] - q.shape[2]
    if earlier > 0:  # keys before the first query are nothing but a state
        past = FEATURES[feature](k[:, :, :earlier])
        state = absorb(past, v[:, :, :earlier], state, torch.float32)
        length = torch.linalg.vector_norm(past.detach(), dim=-1, dtype=torch.float32).sum(-1)
        reach = length if reach is None else reach + length
        k, v = k[:, :, earlier:], v[:, :, earlier:]
    (B, H, N, D), G, E = q.shape, k.shape[1], v.shape[3]
    if tuning is None:
        tuning = Tuning.of(q.dtype, max(D, E))
    plan = LaunchPlan(B, H, G, N, D, E, feature, check, tuning)
    start = None if state is None or reach is None else plan.row(state, reach)
    segments = None if segments is None else segments.contiguous()
    with torch.cuda.device_of(q):  # the backward pass has its own guard, from autograd
        out, end, inverse, doubt = _Linear.apply(q, k, v, start, segments, plan)
    doubtful = check and bool(doubt.item())
    return out, reciprocal(inverse) if doubtful else None, plan.state(end)
