"""Linear attention in linear time with plain torch: pairs inside a chunk, one carried sum between chunks.

Everything here is one trilinear map, out_i = Σ_j (a_i·b_j) c_j over the j on one side of i. Its three
derivatives are the same map with the letters exchanged and the side turned, so the hand-written backward
calls the forward, saves nothing but a, b and c, and can be differentiated again.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.nn.functional import pad

from regard.attention.linear.reference import (
    Found,
    LinearProblem,
    State,
    accumulator,
    aged,
    faded,
    reciprocal,
    widest,
)

SLAB = 1 << 18  # scores alive at a time: one megabyte of float32, so that they stay in cache
STRETCH = 1 << 20  # numbers in the queries of one stretch of a long sequence


@dataclass(frozen=True)
class SumRange:
    """Which j a row i sums over: j ≤ i, or j ≥ i if `reverse`; never i itself if `strict`."""

    chunk: int
    reverse: bool = False
    strict: bool = False
    segments: Tensor | None = None  # (B·G, chunks, chunk), equal ones adjacent, or None
    decay: Tensor | None = None  # (G,): a pair counts exp(−decay·|i − j|), or None

    def turned(self) -> "SumRange":
        """The same pairs seen from the other end."""
        return replace(self, reverse=not self.reverse)

    def triangle(self, rows: int, cols: int, device: torch.device) -> Tensor:
        """How much pairs inside one chunk count, (rows, cols) or, where they decay, (G, 1, rows, cols).

        The heads of a group repeat the positions.
        """
        i = torch.arange(rows, device=device)[:, None] % self.chunk
        j = torch.arange(cols, device=device)[None, :] % self.chunk
        before, after = (i, j) if self.reverse else (j, i)
        seen = before < after if self.strict else before <= after
        return seen if self.decay is None else seen * faded(self.decay, (i - j).abs())[:, None]

    def fading(self, count: int, *, entering: bool) -> Tensor | None:
        """What each row reads of the sum that enters its chunk, or adds to the one that leaves.

        A sum between two chunks stands at the last position of the left one, whichever way it goes. What
        comes out broadcasts to (G, chunks, count, D).
        """
        if self.decay is None:
            return None
        at = torch.arange(count, device=self.decay.device) % self.chunk
        return faded(self.decay, at + 1 if entering != self.reverse else self.chunk - 1 - at)[
            :, None, :, None
        ]

    def passing(self, K: int, chunks: int) -> Tensor | None:
        """What part of the carried sum each chunk lets through, (B·G, chunks), or None for all of it."""
        left = None
        if self.decay is not None:
            left = per_row(faded(self.decay, self.chunk), K)[:, None].expand(K, chunks)
        if self.segments is None:
            return left
        goes_on = self.border(entering=False) == self.border(entering=True)
        return goes_on if left is None else goes_on * left

    def border(self, entering: bool) -> Tensor:
        """The segment that lies on the border where the carried sum leaves, or enters, each chunk."""
        assert self.segments is not None
        leaving = self.segments[:, :, 0 if self.reverse else -1]
        # The first chunk takes the last one's by wrapping around: what enters there is zero anyway.
        return leaving.roll(-1 if self.reverse else 1, 1) if entering else leaving


def carried(b: Tensor, c: Tensor, total: Tensor, keep: Tensor | None, reverse: bool) -> tuple[Tensor, Tensor]:
    """The sum Σ b cᵀ that enters each chunk of a block (K,chunks,D,E), and the one that leaves the block.

    `total` enters the block, in float64 because the sum is long; each chunk lets the part `keep` through.
    """
    totals = b.mT @ c
    entering = torch.empty_like(totals)
    for i in reversed(range(b.shape[1])) if reverse else range(b.shape[1]):
        entering[:, i] = total
        total = totals[:, i] + (total if keep is None else total * keep[:, i, None, None])
    return entering, total


def per_row(x: Tensor, K: int) -> Tensor:
    """What holds for each key head (G,…), for every row of the batch: (B·G,…)."""
    return x.repeat(K // len(x), *[1] * (x.ndim - 1))


def _mix(a: Tensor, b: Tensor, c: Tensor, start: Tensor, over: SumRange) -> tuple[Tensor, Tensor]:
    (K, chunks, rows, _), cols = a.shape, b.shape[2]
    triangle = over.triangle(rows, cols, a.device)
    if over.decay is not None:
        triangle = per_row(triangle.to(start.dtype), K)
    out = start.new_empty(K, chunks, rows, c.shape[3])
    total, keep = start.to(widest(start.device)), over.passing(K, chunks)
    reading, adding = over.fading(rows, entering=True), over.fading(cols, entering=False)
    if over.segments is not None:
        leaving, entering = over.border(entering=False), over.border(entering=True)
    size = max(1, SLAB // (K * rows * cols))
    blocks = range(0, chunks, size)
    for lo in reversed(blocks) if over.reverse else blocks:
        part = slice(lo, lo + size)
        q, k, v = (x[:, part].to(start.dtype) for x in (a, b, c))
        scores = (q @ k.mT).mul_(triangle)
        if reading is not None and adding is not None:
            q, k = q * per_row(reading.to(q.dtype), K), k * per_row(adding.to(k.dtype), K)
        if over.segments is not None:
            marks = over.segments[:, part]
            i, j = (marks.repeat(1, 1, n // over.chunk) for n in (rows, cols))
            scores.mul_(i[..., :, None] == j[..., None, :])
            q = q * (i == entering[:, part, None])[..., None]
            k = k * (j == leaving[:, part, None])[..., None]
        sums, total = carried(k, v, total, None if keep is None else keep[:, part], over.reverse)
        out[:, part] = (scores @ v).add_(q @ sums)
    return out, total.to(start.dtype)


class _SavedMix(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]
    over: SumRange


class _Mix(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: _SavedMix, a: Tensor, b: Tensor, c: Tensor, start: Tensor, over: SumRange
    ) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(a, b, c, start)
        ctx.over = over
        return _mix(a, b, c, start, over)

    @staticmethod
    def backward(ctx: _SavedMix, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        a, b, c, start = ctx.saved_tensors
        out, end = grads
        da, _ = mix(out, c, b, start.mT, ctx.over)
        db, _ = mix(c, out, a, end.mT, ctx.over.turned())
        dc, dstart = mix(b, a, out, end, ctx.over.turned())
        return da.to(a.dtype), db.to(b.dtype), dc.to(c.dtype), dstart, None


def mix(a: Tensor, b: Tensor, c: Tensor, start: Tensor, over: SumRange) -> tuple[Tensor, Tensor]:
    """Row i's Σ_j (a_i·b_j) c_j + a_i·start, and the carried start + Σ_j b_j c_jᵀ, computed in start's type.

    a (K,chunks,rows,D), b (K,chunks,cols,D), c (K,chunks,cols,E), start (K,D,E); rows and cols are
    multiples of the chunk, one multiple per head that shares the sum.

    >>> a, c = torch.ones(1, 2, 2, 1), torch.arange(4.0).view(1, 2, 2, 1)
    >>> out, end = mix(a, a, c, torch.zeros(1, 1, 1), SumRange(chunk=2))
    >>> out.flatten().tolist(), end.item()
    ([0.0, 1.0, 3.0, 6.0], 6.0)
    """
    out, end = _Mix.apply(a, b, c, start, over)
    return out, end


def fold(x: Tensor, groups: int, chunk: int) -> Tensor:
    """Cut the sequence into chunks and stack the heads of a group: B H N W -> B·G chunks R·chunk W."""
    B, H, N, W = x.shape
    repeats, chunks = H // groups, -(-N // chunk)
    if N % chunk:  # padding by nothing would still copy
        x = pad(x, (0, 0, 0, chunks * chunk - N))
    x = x.reshape(B, groups, repeats, chunks, chunk, W)
    return x.transpose(2, 3).reshape(B * groups, chunks, repeats * chunk, W)


def unfold(x: Tensor, shape: tuple[int, ...], chunk: int) -> Tensor:
    """The inverse of `fold`: back to `shape` (B, H, N, ...)."""
    B, H, N = shape[:3]
    K, chunks, rows, W = x.shape
    x = x.view(K, chunks, rows // chunk, chunk, W).transpose(1, 2)
    return x.reshape(B, H, chunks * chunk, W)[:, :, :N]


def absorb(
    k: Tensor, v: Tensor, state: State | None, dtype: torch.dtype, decay: Tensor | None = None
) -> State:
    """The state after these keys, from none or from an earlier one; summed by chunks, to round less."""
    (B, G, M, D), E = k.shape, v.shape[3]
    if decay is not None:
        k = k.to(dtype) * faded(decay, torch.arange(M - 1, -1, -1, device=k.device)).to(dtype)[..., None]
        state = None if state is None else aged(state, decay, M)
    a, b = (fold(x.to(dtype), G, 128) for x in (k, v))
    sums, keys = (a.mT @ b).sum(1).view(B, G, D, E), k.sum(-2, dtype=dtype)
    return (sums, keys) if state is None else (state[0] + sums, state[1] + keys)


def linear_chunked(problem: LinearProblem) -> Found:
    """The same three results as `linear_reference`, in time and memory that grow with N.

    Segmented calls have as many queries as keys, and equal segments are adjacent.
    """
    q, k, v, causal = problem.query, problem.key, problem.value, problem.causal
    segments, state, decay = problem.segments, problem.state, problem.decay
    work, kept = working_type(q, k, v), accumulator(q.dtype)
    if segments is not None:
        q, k, v = (x.masked_fill(segments[:, None, :, None] < 0, 0.0) for x in (q, k, v))
    if state is not None:
        state = state[0].to(work), state[1].to(work)
    if causal and q.shape[2] < k.shape[2]:  # keys before the first query are nothing but a state
        earlier = k.shape[2] - q.shape[2]
        state = absorb(k[:, :, :earlier], v[:, :, :earlier], state, work, decay)
        k, v = k[:, :, earlier:], v[:, :, earlier:]
    # A long sequence goes stretch by stretch, the state between them: what is in use stays in cache.
    length = stretch_length(q, v) if causal and segments is None else max(q.shape[2], k.shape[2])
    lengths: int | list[int] = length
    if decay is not None and segments is None:
        lengths = cut(q.shape[2], length, chunk_size(q.shape[2], q.shape[3], v.shape[3]))
    outs, dens = [], []
    for some_q, some_k, some_v in zip(*(x.split(lengths, 2) for x in (q, k, v)), strict=True):
        both, state = _sums(LinearProblem(some_q, some_k, some_v, causal, segments, state, decay), work)
        dens.append(both[..., -1])
        outs.append((both[..., :-1] * reciprocal(dens[-1])[..., None]).to(q.dtype))
    assert state is not None
    return torch.cat(outs, 2), torch.cat(dens, 2), (state[0].to(kept), state[1].to(kept))


def working_type(*inputs: Tensor) -> torch.dtype:
    """The type to compute in: float64 for float32 that will be differentiated, otherwise the accumulator.

    The gradient of q is a difference of sums over all keys, Σ k (g·v) − δ Σ k, where the definition
    subtracts pair by pair; in float32 that would more than double the definition's own rounding error.
    """
    learning = torch.is_grad_enabled() and any(x.requires_grad for x in inputs)
    dtype = inputs[0].dtype
    wide = learning and dtype == torch.float32
    return widest(inputs[0].device) if wide else accumulator(dtype)


def cut(n: int, length: int, chunk: int) -> list[int]:
    """Stretches of whole chunks, then what is left over: a sum that decays would do so over padding too.

    >>> cut(21, length=8, chunk=4), cut(3, length=8, chunk=3)
    ([8, 8, 4, 1], [3])
    """
    whole = n - n % chunk
    stretches = [min(length, whole - at) for at in range(0, whole, length)]
    return [*stretches, n - whole] if n > whole else stretches


def _sums(problem: LinearProblem, work: torch.dtype) -> tuple[Tensor, State]:
    """Numerators and, as one more column, denominators (B,H,N,E+1); and the state after these keys."""
    q, k, v, causal = problem.query, problem.key, problem.value, problem.causal
    segments, state, decay = problem.segments, problem.state, problem.decay
    (B, H, N, D), G, E = q.shape, k.shape[1], v.shape[3]
    if not causal and segments is None:
        S, z = absorb(k, v, state, work)
        table = torch.cat((S, z[..., None]), -1)
        return (q.to(work).reshape(B, G, -1, D) @ table).view(B, H, N, E + 1), (S, z)
    chunk = chunk_size(N, D, E)
    a, b, c = (fold(x, G, chunk) for x in (q, k, torch.cat((v, v.new_ones(*v.shape[:3], 1)), -1)))
    start = a.new_zeros(B * G, D, E + 1, dtype=work)
    if state is not None:
        start = torch.cat((state[0], state[1][..., None]), -1).flatten(0, 1)
    if segments is not None:
        segments = pad(segments, (0, -N % chunk), value=-1).view(B, -1, chunk).repeat_interleave(G, 0)
    over = SumRange(chunk, segments=segments, decay=decay)
    both, end = mix(a, b, c, start, over)
    if not causal:
        both = both + mix(a, b, c, start, replace(over, reverse=True, strict=True))[0]
    end = end.view(B, G, D, E + 1)
    return unfold(both, q.shape, chunk), (end[..., :E], end[..., E])


def stretch_length(q: Tensor, v: Tensor) -> int:
    """Positions whose queries are about a million numbers, in whole chunks."""
    (B, H, N, D), E = q.shape, v.shape[3]
    chunk = chunk_size(N, D, E)
    return chunk * max(4, STRETCH // (B * H * chunk * max(1, D, E)))


def chunk_size(length: int, width: int, value_width: int) -> int:
    """The length that measured best: long chunks score more pairs, short ones carry more sums."""
    widest = max(width, value_width)
    return min(length, 32 if widest <= 8 else 64 if widest <= 64 else 128)
