"""Our Triton kernels as a backend: which problems they take, how they are cut, and their gradient."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.util import find_spec
from math import e, log, log2

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from regard.attention.bands import Band, bands_of
from regard.attention.bias import DistanceBias
from regard.attention.drops import threshold
from regard.attention.memory import KeptByBytes
from regard.attention.problem import Attended, Form, Problem, Segments
from regard.attention.triton.arguments import Marks, Numbers, Pieces, Reach, Rows, Sizes, TileKind, TileList
from regard.attention.triton.launch import Kernel
from regard.attention.triton.tile_lists import TileLists, tile_lists
from regard.pattern import Documents

LOG2E, LN2 = log2(e), log(2)
SCALES = (1e-4, 1e4)
WIDEST = 256  # head widths
FAR = 1 << 31  # numbers apart: past it offsets inside a tile need 64 bits
NEVER = 1e30  # the normaliser of a row without keys, as the kernels write it
DTYPES = (torch.bfloat16, torch.float16, torch.float32)


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


@dataclass(frozen=True)
class Tiling:
    """How one kernel is cut: rows of queries, columns of keys, and the compiler's dials."""

    rows: int
    cols: int
    warps: int
    stages: int
    registers: int | None = None  # at most so many per thread

    def options(self) -> dict[str, int]:
        """The keywords of a launch."""
        limit = {} if self.registers is None else {"maxnreg": self.registers}
        return {"num_warps": self.warps, "num_stages": self.stages} | limit


@dataclass(frozen=True)
class Tilings:
    """One tiling for each kernel."""

    forward: Tiling
    query: Tiling
    key: Tiling


@cache
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


def attend(problem: Problem) -> Attended:
    """The output of our kernels."""
    a = arrange(problem)
    q, k, v, slopes = a.query, a.key, a.value, a.slopes
    if torch.is_grad_enabled() and (
        q.requires_grad or k.requires_grad or v.requires_grad or (slopes is not None and slopes.requires_grad)
    ):
        out, lse = _Tiles.apply(q, k, v, slopes, a)
    else:
        out, lse = forward(q, k, v, a)
    return Attended(out, natural(lse) if problem.lse else None)


def natural(lse: Tensor) -> Tensor:
    """The normalisers of the kernels as natural logarithms; −∞ where a row sees nothing."""
    return (lse * LN2).masked_fill(lse >= NEVER, -torch.inf)


@dataclass(slots=True, eq=False)
class Arranged:
    """A problem as the kernels take it: dense rows, bands or lists, and all that lies beside."""

    query: Tensor
    key: Tensor
    value: Tensor
    plan: Plan
    lists: TileLists | None = None
    segments: Segments | None = None
    slopes: Tensor | None = None
    offset: Tensor | None = None
    seed: Tensor | None = None


def arrange(problem: Problem) -> Arranged:
    """The problem with dense rows and a plan: arithmetic for bands, cached lists for any other pattern."""
    form, bias = problem.form, problem.bias
    plan = plan_of(form, problem.softcap, problem.dropout, isinstance(bias, DistanceBias) and bias.learned)
    query, key, value = problem.query, problem.key, problem.value
    if not plan.dense:
        query, key, value = (x if x.stride(3) == 1 else x.contiguous() for x in (query, key, value))
    if plan.scaled is not None:
        query = query * plan.scaled
    a = Arranged(query, key, value, plan)
    if plan.listed:
        a.lists = tile_lists(form.pattern, form.N, form.M, form.device)
    if plan.beside:
        segments = problem.segments
        if plan.documents is not None:
            numbers = _document_numbers(plan.documents, form.M, form.device).expand(form.B, form.M)
            segments = Segments(numbers[:, form.M - form.N :], numbers)
        if segments is not None:
            a.segments = Segments(segments.query.contiguous(), segments.key.contiguous())
        if isinstance(bias, DistanceBias):
            a.slopes = bias.tensor(form.device, torch.float32)
        if problem.offset is not None:
            a.offset = problem.offset.expand(form.B).contiguous()
        a.seed = problem.seed
    return a


_NUMBERS: KeptByBytes[Tensor] = KeptByBytes(1 << 28, lambda numbers: numbers.nbytes)


def _document_numbers(documents: Documents, m: int, device: torch.device) -> Tensor:
    return _NUMBERS.get((documents, m, device), lambda: documents.numbers()[:m].int().to(device))


@dataclass(frozen=True, eq=False)
class Plan:
    """How problems of one form are run: disjoint bands, one launch each, or lists. One form has one plan."""

    form: Form
    bands: tuple[Band, ...]  # a single one without meaning where there are lists
    listed: bool
    documents: Documents | None
    tilings: Tilings
    numbers: Numbers
    threshold: int
    capped: bool
    learned: bool
    dense: bool  # rows lie as the kernels read them
    scaled: float | None  # what the query is multiplied by beforehand
    beside: bool  # something lies beside the tensors
    launches: dict[tuple, Launch] = field(default_factory=dict)

    def launch(
        self, index: int, part: str, a: Arranged, grad: Tensor | None = None, of_lse: bool = False
    ) -> Launch:
        """What the kernels of a part are told for one of the bands."""
        cut = None if a.lists is None else (a.lists.size, len(a.lists.pieces))
        key = (index, part, of_lse, cut, None if grad is None else grad.stride())
        found = self.launches.get(key)
        if found is None:
            found = self.launches[key] = Launch.of(self, index, part, a, grad, of_lse)
        return found


@lru_cache(maxsize=1 << 14)
def plan_of(form: Form, softcap: float | None, dropout: float, learned: bool) -> Plan:
    """The plan for problems of a form."""
    bands, documents = bands_of(form.pattern, form.M), None
    apart = form.N != form.M or "segments" in form.uses
    if bands is not None and apart and any(band.step > 1 for band in bands):
        bands = None  # the classes of queries and keys would not line up
    if bands is not None and bands[0].documents is not None:
        if "segments" in form.uses:
            bands = None
        else:
            documents = bands[0].documents
            bands = (replace(bands[0], documents=None),)
    # The kernels hide a score by a large negative number before they scale; any other scale goes into q.
    inside = SCALES[0] <= form.scale <= SCALES[1]
    scale, cap = form.scale if inside else 1.0, 1.0 if softcap is None else softcap
    return Plan(
        form=form,
        bands=(Band(),) if bands is None else bands,
        listed=bands is None,
        documents=documents,
        tilings=tilings(max(form.D, form.E), form.dtype),
        numbers=Numbers(scale * LOG2E, cap / scale, scale / cap, 1 / (1 - dropout)),
        threshold=threshold(dropout),
        capped=softcap is not None,
        learned=learned,
        dense=all(strides[3] == 1 for strides in form.strides),
        scaled=None if inside else form.scale,
        beside=documents is not None or bool({"segments", "slopes", "offset", "dropout"} & set(form.uses)),
    )


@dataclass(frozen=True, eq=False)
class Launch:
    """One kernel for one band: its arguments that are no tensors, its grid and its dials."""

    kind: TileKind
    sizes: Sizes
    reach: Reach
    numbers: Numbers
    options: dict[str, int]
    programs: int

    @classmethod
    def of(cls, plan: Plan, index: int, part: str, a: Arranged, grad: Tensor | None, of_lse: bool) -> Launch:
        """The launch of one band in one part of the work: "forward", "query" or "key"."""
        form, band, tiling = plan.form, plan.bands[index], getattr(plan.tilings, part)
        B, H, G, N, M, D, E = form.sizes
        size = tiling.cols if a.lists is None else a.lists.size
        if part == "key" and a.lists is not None:
            tiles = len(a.lists.pieces) * (size // tiling.cols)
        else:
            length, height = (M, tiling.cols) if part == "key" else (N, tiling.rows)
            tiles = _ceil(_ceil(length, band.step), height)
        width, tall = (max(16, 1 << (x - 1).bit_length()) for x in (D, E))
        every = max(tiling.rows, tiling.cols, size)
        apart = max(x.stride(2) for x in (a.query, a.key, a.value, *([] if grad is None else [grad])))
        kind = TileKind(
            causal=band.causal, back=band.back is not None, window=band.window is not None,
            segments=a.segments is not None, slopes=a.slopes is not None,
            learned=plan.learned, listed=plan.listed, starts=a.offset is not None, capped=plan.capped,
            dropped=plan.threshold > 0, of_lse=of_lse, stepped=band.step > 1, chained=index > 0,
            long=max(apart, E) * band.step * every >= FAR,
            size=size, rows=tiling.rows, cols=tiling.cols, width=width, tall=tall,
            padded=width != D or tall != E, even=band.step == 1 and N % every == 0 and M % every == 0,
            precision="tf32x3" if form.dtype == torch.float32 else "tf32",
        )  # fmt: skip
        reach = Reach(band.gap, band.back or 0, band.window or 1, plan.threshold)
        programs = B * (G if part == "key" else H) * band.step * tiles
        sizes = Sizes(H, G, N, M, D, E, band.step, tiles)
        return cls(kind, sizes, reach, plan.numbers, tiling.options(), programs)

    def start(self, kernel: Kernel, arrays: tuple, groups: tuple, tensors: tuple[Tensor, ...]) -> None:
        """Start the kernel; `tensors` are those that others have made, which may lie anywhere."""
        arguments = (*arrays, *groups, self.sizes, self.reach, self.numbers, self.kind)
        marks = groups[0]
        if marks is None:
            kernel.start(self.programs, arguments, self.options, self, tensors)
        else:
            # A launch belongs to one form, which says all but the type of labels.
            kernel.start(
                self.programs, arguments, self.options, (self, marks.of_query.dtype), (*tensors, *marks)
            )


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


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
        tiles = _ceil(n, size)
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
        ctx: _SavedTiles, q: Tensor, k: Tensor, v: Tensor, slopes: Tensor | None, arranged: Arranged
    ) -> tuple[Tensor, Tensor]:
        out, lse = forward(q, k, v, arranged)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.arranged = arranged
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    def backward(ctx: _SavedTiles, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse = ctx.saved_tensors
        grad = torch.zeros_like(out) if grads[0] is None else grads[0]
        # What comes is the gradient of a logarithm in base 2, and zero for a row without keys.
        of_lse = None if grads[1] is None else grads[1] * LOG2E
        found: tuple[Tensor | None, ...] = backward(grad, of_lse, q, k, v, out, lse, ctx.arranged)
        if torch.is_grad_enabled():
            found = tuple(None if x is None else _Final.apply(x, q, k, v, grad) for x in found)
        return *found, None


class _Final(torch.autograd.Function):
    """A gradient that hangs on what it was made from, so that differentiating it is an error and not zero."""

    @staticmethod
    def forward(ctx: FunctionCtx, gradient: Tensor, *origin: Tensor) -> Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> tuple[Tensor | None, ...]:
        raise RuntimeError("impl='triton' has no second derivative; impl='reference' has")
