"""Our Triton kernels as a backend: which problems they take, how they are cut, and their gradient."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from math import log

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from regard.attention.bands import bands_of
from regard.attention.once import once
from regard.attention.problem import Attended, Form, Problem, Segments
from regard.attention.triton.arguments import Marks, Pieces, Rows, TileList
from regard.attention.triton.launch import Kernel
from regard.attention.triton.plan import LOG2E, Arranged, Launch, arrange, ceil

LN2 = log(2)
WIDEST = 256  # head widths
NEVER = 1e30  # the normaliser of a row without keys, as the kernels write it
DTYPES = (torch.bfloat16, torch.float16, torch.float32)
# A forward pass: from query, key, value and how they are run, the output and the normalisers in base 2.
Ahead = Callable[[Tensor, Tensor, Tensor, Arranged], tuple[Tensor, Tensor]]


def refuses(form: Form) -> str | None:  # noqa: PLR0911 - a list of reasons
    """Why the kernels cannot take the problem, or None."""
    if not installed():
        return "triton is not installed"
    if form.device.type != "cuda" and not interpreted():
        return f"they run on CUDA, the query is on {form.device}"
    if form.dtype not in DTYPES:
        return f"they know bfloat16, float16 and float32, got {form.dtype}"
    if max(form.D, form.E) > WIDEST:
        return f"they know widths up to {WIDEST}, got D={form.D}, E={form.E}"
    if "bias" in form.uses:
        return "a bias tensor is n×m; they take a DistanceBias"
    if (beyond := form.asks_beyond("slopes", "segments", "offset", "softcap", "dropout", "lse")) is not None:
        return beyond
    if form.empty:
        return "there is nothing to compute"
    if "offset" in form.uses:
        bands = bands_of(form.pattern)
        if bands is None or any(band.step > 1 or band.documents is not None for band in bands):
            return f"an offset of each row moves the tiles of {form.pattern}"
    return None


@cache
def installed() -> bool:
    """Whether there is a Triton."""
    return find_spec("triton") is not None


@cache
def interpreted() -> bool:
    """Whether Triton's interpreter runs the kernels, on CPU tensors."""
    if not installed():
        return False
    # Triton decides when a kernel is defined; the interpreter then takes CPU tensors.
    from regard.attention.triton import kernels

    return type(kernels.forward).__name__ == "InterpretedFunction"


def attend(problem: Problem) -> Attended:
    """The output of our kernels."""
    return differentiable(problem, arrange(problem), forward)


def differentiable(problem: Problem, a: Arranged, ahead: Ahead) -> Attended:
    """The output of a forward pass, whose gradients are those of our kernels."""
    q, k, v, slopes = a.query, a.key, a.value, a.slopes
    if torch.is_grad_enabled() and (
        q.requires_grad or k.requires_grad or v.requires_grad or (slopes is not None and slopes.requires_grad)
    ):
        out, lse = _Tiles.apply(q, k, v, slopes, a, ahead)
    else:
        out, lse = ahead(q, k, v, a)
    return Attended(out, natural(lse) if problem.lse else None)


def natural(lse: Tensor) -> Tensor:
    """The normalisers of the kernels as natural logarithms; −∞ where a row sees nothing."""
    return (lse * LN2).masked_fill(lse >= NEVER, -torch.inf)


def _marks(a: Arranged, launch: Launch, by_key: bool) -> Marks | None:
    if not a.plan.beside:
        return None
    none = a.query
    of_query = of_key = bounds = slopes = none
    if a.segments is not None:
        of_query, of_key = a.segments
        if not launch.kind.listed:
            bounds = segment_bounds(a.segments, launch.kind.rows, launch.kind.cols, by_key)
    if a.slopes is not None:
        slopes = a.slopes.detach() * (LOG2E * launch.sizes.step)
    return Marks(
        of_query,
        of_key,
        bounds,
        slopes,
        none if a.offset is None else a.offset,
        none if a.seed is None else a.seed,
    )


def segment_bounds(segments: Segments, rows: int, cols: int, by_key: bool) -> Tensor:
    """For each tile of queries the keys [lo, hi) whose segments overlap its own; int32 (B, tiles, 2).

    With `by_key`, for each tile of keys the query rows. All on the device, nothing waits.
    """
    sides = []
    for labels, size in zip(segments, (rows, cols), strict=True):
        B, n = labels.shape
        tiles = ceil(n, size)
        least, most = labels.new_empty((B, tiles)), labels.new_empty((B, tiles))
        key = (B, n, size, labels.dtype)
        EXTENTS.start(B * tiles, (labels, least, most, n, tiles, size), {}, key, (labels,))
        sides.append((least, most, size, n))
    mine, theirs = reversed(sides) if by_key else sides
    tiles, count = mine[0].shape[1], theirs[0].shape[1]
    bounds = labels.new_empty((B, tiles, 2), dtype=torch.int32)
    block = max(16, min(1024, 1 << (count - 1).bit_length()))
    arguments = (*mine[:2], *theirs[:2], bounds, tiles, count, *theirs[2:], block)
    BOUNDS.start(B * tiles, arguments, {}, (B, *arguments[5:], labels.dtype), (labels,))
    return bounds


def forward(q: Tensor, k: Tensor, v: Tensor, a: Arranged) -> tuple[Tensor, Tensor]:
    """The output (B,H,N,E), and each row's normaliser in base 2 (B,H,N), for the backward pass."""
    B, H, _, N, _, _, E = a.plan.form.sizes
    out, lse = q.new_empty((B, H, N, E)), q.new_empty((B, H, N), dtype=torch.float32)
    arrays = (Rows.of(q), Rows.of(k), Rows.of(v), Rows.of(out), lse)
    for i in range(len(a.plan.bands)):
        launch = a.plan.launch(i, "forward", a)
        launch.start(FORWARD, arrays, (_marks(a, launch, False), _by_query(a)), (q, k, v))
    return out, lse


def backward(
    grad: Tensor,
    of_lse: Tensor | None,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    a: Arranged,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The gradients of query, key, value and, where they are learned, slopes."""
    grad = grad if grad.stride(3) == 1 else grad.contiguous()
    plan = a.plan
    dq, dk, dv = q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)
    delta = torch.empty_like(lse)
    dslope = torch.empty_like(lse) if plan.learned else None
    dlse = None if of_lse is None else of_lse.float().contiguous()
    Q, K, V, O, DO = Rows.of(q), Rows.of(k), Rows.of(v), Rows.of(out), Rows.of(grad)  # noqa: E741
    by_query = (Q, K, V, O, DO, dq, lse, delta, dlse, dslope)
    by_key = (Q, K, V, DO, dk, dv, lse, delta)
    # The normaliser is that of all bands together, so each adds its part of the gradients.
    for i in range(len(plan.bands)):
        launch = plan.launch(i, "query", a, grad, of_lse is not None)
        launch.start(QUERY, by_query, (_marks(a, launch, False), _by_query(a)), (q, k, v, out, grad))
        launch = plan.launch(i, "key", a, grad)
        shared = _pieces(a, dk, dv)
        launch.start(KEY, by_key, (_marks(a, launch, True), _by_key(a), shared), (q, k, v, grad))
        if shared is not None and shared.sheets:
            _add_sheets(a, shared, dk, dv)
    return dq, dk, dv, None if dslope is None else dslope.sum((0, 2))


def _by_query(a: Arranged) -> TileList | None:
    return None if a.lists is None else TileList(*a.lists.by_query.tensors(), a.lists.masks)


def _by_key(a: Arranged) -> TileList | None:
    return None if a.lists is None else TileList(*a.lists.by_key.tensors(), a.lists.masks)


def _pieces(a: Arranged, dk: Tensor, dv: Tensor) -> Pieces | None:
    """The pieces of the lists by key, and memory for what the pieces of one key tile add up."""
    if a.lists is None:
        return None
    sheets, size = a.lists.sheets, a.lists.size
    if not sheets:
        return Pieces(a.lists.pieces, dk, dv, 0)
    of_k, of_v = (
        x.new_empty((*x.shape[:2], sheets, size, x.shape[3]), dtype=torch.float32) for x in (dk, dv)
    )
    return Pieces(a.lists.pieces, of_k, of_v, sheets)


def _add_sheets(a: Arranged, shared: Pieces, dk: Tensor, dv: Tensor) -> None:
    lists = a.lists
    assert lists is not None
    slots, rows = len(lists.shared), 16
    for sheets, grad in ((shared.dk, dk), (shared.dv, dv)):
        B, G, M, D = grad.shape
        numbers = (lists.sheets, slots, M, D, lists.size, rows, max(16, 1 << (D - 1).bit_length()))
        arguments = (sheets, grad, lists.shared, lists.first_sheet, *numbers)
        programs = B * G * slots * (lists.size // rows)
        SHEETS.start(programs, arguments, {}, (programs, grad.dtype, *numbers), (grad,))


FORWARD = Kernel("kernels", "forward")
QUERY, KEY = Kernel("kernels_back", "backward_query"), Kernel("kernels_back", "backward_key")
SHEETS = Kernel("kernels_back", "add_sheets")
EXTENTS = Kernel("kernels_segments", "segment_extents")
BOUNDS = Kernel("kernels_segments", "segment_bounds")


class _SavedTiles(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]
    arranged: Arranged


class _Tiles(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: _SavedTiles,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        slopes: Tensor | None,
        arranged: Arranged,
        ahead: Ahead,
    ) -> tuple[Tensor, Tensor]:
        out, lse = ahead(q, k, v, arranged)
        ctx.save_for_backward(q, k, v, out, lse, *arranged.beside())
        ctx.arranged = arranged
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    def backward(ctx: _SavedTiles, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse = ctx.saved_tensors[:5]
        grad = torch.zeros_like(out) if grads[0] is None else grads[0]
        # What comes is the gradient of a logarithm in base 2, and zero for a row without keys.
        of_lse = None if grads[1] is None else grads[1] * LOG2E
        found: tuple[Tensor | None, ...] = backward(grad, of_lse, q, k, v, out, lse, ctx.arranged)
        if torch.is_grad_enabled():
            found = once(found, "impl='triton'", (q, k, v, grad))
        return *found, None, None
