"""Our Triton kernels as a backend: which problems they take, how they are cut, and their gradient."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import log2

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from regard.attention.bands import Band, bands_of
from regard.attention.bias import DistanceBias
from regard.attention.problem import Problem
from regard.attention.triton.tile_lists import TileLists, tile_lists
from regard.errors import need
from regard.pattern import Documents

LOG2E = log2(2.718281828459045)
SCALES = (1e-4, 1e4)
WIDEST = 256  # head widths


def refuses(problem: Problem) -> str | None:
    """Why the kernels cannot take the problem, or None."""
    query, value = problem.query, problem.value
    if query.device.type != "cuda" and not interpreted():
        return f"they run on CUDA, the query is on {query.device}"
    if query.dtype not in (torch.bfloat16, torch.float16, torch.float32):
        return f"they know bfloat16, float16 and float32, got {query.dtype}"
    if max(query.shape[3], value.shape[3]) > WIDEST:
        return f"they know widths up to {WIDEST}, got D={query.shape[3]}, E={value.shape[3]}"
    if isinstance(problem.bias, Tensor):
        return "a bias tensor is n×m; they take a DistanceBias"
    if problem.empty:
        return "there is nothing to compute"
    return None


def interpreted() -> bool:
    """Whether Triton's interpreter runs the kernels, on CPU tensors."""
    # Triton decides when a kernel is defined; the interpreter then takes CPU tensors.
    try:
        from regard.attention.triton import kernels
    except ImportError:
        return False
    return type(kernels.forward).__name__ == "InterpretedFunction"


@dataclass(frozen=True)
class Tiling:
    """How one kernel is cut: rows of queries, columns of keys, and the compiler's dials."""

    rows: int
    cols: int
    warps: int
    stages: int
    registers: int | None = None  # at most so many per thread


@dataclass(frozen=True)
class Tilings:
    """One tiling for each kernel."""

    forward: Tiling
    query: Tiling
    key: Tiling


def tilings(width: int, dtype: torch.dtype) -> Tilings:
    """The tilings measured best on an H200 (see benchmarks), by the wider of the two head widths."""
    if dtype == torch.float32:  # twice the bytes
        small = Tiling(64, 32, 4, 2) if width <= 128 else Tiling(32, 32, 4, 1)
        return Tilings(small, small, replace(small, rows=32))
    if width <= 64:
        return Tilings(Tiling(64, 64, 4, 3), Tiling(64, 64, 4, 3, 168), Tiling(32, 64, 4, 3, 168))
    if width <= 128:
        return Tilings(Tiling(64, 64, 4, 3, 168), Tiling(64, 64, 4, 2), Tiling(32, 64, 4, 3))
    return Tilings(Tiling(64, 64, 8, 2), Tiling(64, 32, 8, 2), Tiling(32, 64, 8, 2))


def attend(problem: Problem) -> Tensor:
    """The output of our kernels."""
    out = _Tiles.apply(*arranged(problem))
    assert isinstance(out, Tensor)
    return out


def arranged(problem: Problem) -> tuple[Tensor, Tensor, Tensor, Work, Tilings]:
    """The arguments of `forward`: query, key and value with dense rows, the work, and how it is cut."""
    need("triton", "triton")
    query, key, value = (
        x if x.stride(3) == 1 else x.contiguous() for x in (problem.query, problem.key, problem.value)
    )
    if not SCALES[0] <= problem.scale <= SCALES[1]:
        # The kernels hide a score by a large negative number before they scale; any other scale goes into q.
        query, problem = query * problem.scale, replace(problem, scale=1.0)
    width = max(query.shape[3], value.shape[3])
    return query, key, value, prepare(problem), tilings(width, query.dtype)


@dataclass(frozen=True)
class Work:
    """What the kernels need beside the tensors."""

    scale: float
    bands: tuple[Band, ...]  # disjoint, one launch each; a single one without meaning where there are lists
    lists: TileLists | None
    segments: Tensor | None
    slopes: tuple[float, ...] | None


def prepare(problem: Problem) -> Work:
    """The work of a problem: arithmetic for bands, cached lists for any other pattern."""
    B, _, _, N, M = problem.sizes
    device = problem.query.device
    bands = bands_of(problem.pattern)
    segments = problem.segments
    if bands is not None and any(band.step > 1 for band in bands) and (N != M or segments is not None):
        bands = None  # the classes of queries and keys would not line up
    if bands is not None and bands[0].documents is not None:
        if segments is None:
            segments = _document_numbers(bands[0].documents, M, device).expand(B, M)
            bands = (replace(bands[0], documents=None),)
        else:
            bands = None
    return Work(
        scale=problem.scale * LOG2E,
        bands=(Band(),) if bands is None else bands,
        lists=tile_lists(problem.pattern, N, M, device) if bands is None else None,
        segments=None if segments is None else segments.int().contiguous(),
        slopes=problem.bias.slopes if isinstance(problem.bias, DistanceBias) else None,
    )


@lru_cache(maxsize=64)
def _document_numbers(documents: Documents, m: int, device: torch.device) -> Tensor:
    return documents.numbers()[:m].int().to(device)


def segment_bounds(segments: Tensor, rows: int, cols: int, n: int, by_key: bool) -> Tensor:
    """For each tile of queries the keys [lo, hi) whose segments overlap its own; int32 (B, tiles, 2).

    With `by_key`, for each tile of keys the query rows. All on the device, nothing waits.
    """
    M = segments.shape[1]
    queries, keys = _extent(segments[:, M - n :], rows), _extent(segments, cols)
    mine, theirs, theirs_size, limit = (keys, queries, rows, n) if by_key else (queries, keys, cols, M)
    overlap = (mine[0][:, :, None] <= theirs[1][:, None, :]) & (theirs[0][:, None, :] <= mine[1][:, :, None])
    count = overlap.shape[2]
    first = overlap.int().argmax(2)
    last = count - overlap.flip(2).int().argmax(2)
    some = overlap.any(2)
    bounds = torch.stack([first * theirs_size, (last * theirs_size).clamp(max=limit)], 2) * some[:, :, None]
    return bounds.int().contiguous()


def _extent(segments: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The least and the largest segment of each tile, padding left out (then least > largest)."""
    padded = torch.nn.functional.pad(segments, (0, -segments.shape[1] % size), value=-1).unflatten(
        1, (-1, size)
    )
    return torch.where(padded < 0, 1 << 30, padded).amin(2), padded.amax(2)


def forward(q: Tensor, k: Tensor, v: Tensor, work: Work, tilings: Tilings) -> tuple[Tensor, Tensor]:
    """The output (B,H,N,E), and each row's normaliser as a logarithm (B,H,N), for the backward pass."""
    from regard.attention.triton import kernels

    (B, H, N, _), E = q.shape, v.shape[3]
    out = torch.empty(B, H, N, E, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, N, dtype=torch.float32, device=q.device)
    for i in range(len(work.bands)):
        launch = _Launch(q, k, v, work, i, tilings.forward)
        kernels.forward[launch.grid(B * H, launch.query_tiles)](
            q, k, v, out, lse, *launch.extras(by_key=False), *launch.by_query(),
            *launch.strides(q, k, v, out), *launch.numbers(launch.query_tiles), **launch.options,
        )  # fmt: skip
    return out, lse


def backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, work: Work, tilings: Tilings
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and value."""
    from regard.attention.triton import kernels_back

    grad = grad if grad.stride(3) == 1 else grad.contiguous()
    B, H = q.shape[:2]
    G = k.shape[1]
    dq, dk, dv = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))
    delta = torch.empty_like(lse)
    # The normaliser is that of all bands together, so each adds its part of the gradients.
    for i in range(len(work.bands)):
        launch = _Launch(q, k, v, work, i, tilings.query)
        kernels_back.backward_query[launch.grid(B * H, launch.query_tiles)](
            q, k, v, out, grad, dq, lse, delta, *launch.extras(by_key=False), *launch.by_query(),
            *launch.strides(q, k, v, out, grad), *launch.numbers(launch.query_tiles), **launch.options,
        )  # fmt: skip
        launch = _Launch(q, k, v, work, i, tilings.key)
        pieces, sheets = launch.by_key(dk, dv)
        kernels_back.backward_key[launch.grid(B * G, launch.key_tiles)](
            q, k, v, grad, dk, dv, lse, delta, *launch.extras(by_key=True), *pieces,
            *launch.strides(q, k, v, grad), *launch.numbers(launch.key_tiles), **launch.options,
        )  # fmt: skip
        launch.gather(sheets, dk, dv)
    return dq, dk, dv


class _SavedTiles(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]
    work: Work
    tilings: Tilings


class _Tiles(torch.autograd.Function):
    @staticmethod
    def forward(ctx: _SavedTiles, q: Tensor, k: Tensor, v: Tensor, work: Work, tilings: Tilings) -> Tensor:
        out, lse = forward(q, k, v, work, tilings)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.work, ctx.tilings = work, tilings
        return out

    @staticmethod
    def backward(ctx: _SavedTiles, *grads: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse = ctx.saved_tensors
        found = backward(grads[0], q, k, v, out, lse, ctx.work, ctx.tilings)
        if torch.is_grad_enabled():
            found = tuple(_Final.apply(x, q, k, v, grads[0]) for x in found)
        return *found, None, None


class _Final(torch.autograd.Function):
    """A gradient that hangs on what it was made from, so that differentiating it is an error and not zero."""

    @staticmethod
    def forward(ctx: FunctionCtx, gradient: Tensor, *origin: Tensor) -> Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> tuple[Tensor | None, ...]:
        raise RuntimeError("impl='triton' has no second derivative; impl='reference' has")


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


class _Launch:
    """The arguments that the three kernels share, for one band of the work."""

    def __init__(self, q: Tensor, k: Tensor, v: Tensor, work: Work, index: int, tiling: Tiling) -> None:
        (_, self.H, self.N, self.D), self.G, self.M, self.E = q.shape, k.shape[1], k.shape[2], v.shape[3]
        self.work, self.tiling, self.none = work, tiling, q
        self.band = band = work.bands[index]
        size = tiling.cols if work.lists is None else work.lists.size
        self.query_tiles = _ceil(_ceil(self.N, band.step), tiling.rows)
        self.key_tiles = _ceil(_ceil(self.M, band.step), tiling.cols)
        if work.lists is not None:
            self.key_tiles = len(work.lists.pieces) * (size // tiling.cols)
        width, value = (max(16, 1 << (x - 1).bit_length()) for x in (self.D, self.E))
        self.options = {
            "CAUSAL": band.causal,
            "BACK": band.back is not None,
            "WINDOW": band.window is not None,
            "SEGMENTS": work.segments is not None,
            "SLOPES": work.slopes is not None,
            "LISTED": work.lists is not None,
            "SIZE": size,
            "ROWS": tiling.rows,
            "COLS": tiling.cols,
            "WIDTH": width,
            "VALUE": value,
            "PADDED": width != self.D or value != self.E,
            "EVEN": band.step == 1
            and all(x % max(tiling.rows, tiling.cols, size) == 0 for x in (self.N, self.M)),
            "STEPPED": band.step > 1,
            "CHAINED": index > 0,
            "PRECISION": "tf32x3" if q.dtype == torch.float32 else "tf32",
            "num_warps": tiling.warps,
            "num_stages": tiling.stages,
        }
        if tiling.registers is not None:
            self.options["maxnreg"] = tiling.registers

    def grid(self, batch: int, tiles: int) -> tuple[int]:
        """One program per tile, batch element, head and residue class."""
        return (batch * self.band.step * tiles,)

    def extras(self, by_key: bool) -> list[Tensor]:
        """Segments, their bounds and slopes; the query stands in where there are none."""
        work = self.work
        segments = bounds = slopes = self.none
        if work.segments is not None:
            segments = work.segments
            if work.lists is None:
                bounds = segment_bounds(segments, self.tiling.rows, self.tiling.cols, self.N, by_key)
        if work.slopes is not None:
            slopes = torch.tensor(work.slopes, device=self.none.device) * (LOG2E * self.band.step)
        return [segments, bounds, slopes]

    def by_query(self) -> list[Tensor]:
        """The lists of key tiles, where there are lists."""
        if self.work.lists is None:
            return [self.none] * 6
        lists = self.work.lists.by_query
        return [
            lists.full_offsets, lists.full_columns, lists.partial_offsets, lists.partial_columns,
            lists.partial_masks, self.work.lists.masks,
        ]  # fmt: skip

    def by_key(self, dk: Tensor, dv: Tensor) -> tuple[list[Tensor | int], list[Tensor]]:
        """(the lists of query tiles, the float32 sheets in which pieces of one key tile add up)."""
        if self.work.lists is None:
            return [*[self.none] * 7, 0], []
        lists, slots = self.work.lists, len(self.work.lists.shared)
        sheets = [
            torch.zeros(*x.shape[:2], slots, lists.size, x.shape[3], dtype=torch.float32, device=x.device)
            for x in (dk, dv)
        ]
        by_key = lists.by_key
        kernel: list[Tensor | int] = [
            lists.pieces, by_key.full_columns, sheets[0], by_key.partial_columns, by_key.partial_masks,
            lists.masks, sheets[1], slots,
        ]  # fmt: skip
        return kernel, sheets

    def gather(self, sheets: list[Tensor], dk: Tensor, dv: Tensor) -> None:
        """Move what was added up in the sheets to where it belongs."""
        lists = self.work.lists
        if lists is None or not len(lists.shared):
            return
        position = (lists.shared[:, None] * lists.size + torch.arange(lists.size, device=dk.device)).flatten()
        inside = position < self.M
        for sheet, grad in zip(sheets, (dk, dv), strict=True):
            grad[:, :, position[inside]] = sheet.flatten(2, 3)[:, :, inside].to(grad.dtype)

    def strides(self, *tensors: Tensor) -> list[int]:
        """Batch, head and row strides of each."""
        return [stride for x in tensors for stride in x.stride()[:3]]

    def numbers(self, tiles: int) -> list[float]:
        """The scalars, in the kernels' order."""
        band = self.band
        back, window = band.back or 0, band.window or 1
        return [
            self.work.scale, self.H, self.G, self.N, self.M, self.D, self.E,
            band.gap, back, window, band.step, tiles,
        ]  # fmt: skip
