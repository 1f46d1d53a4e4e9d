"""How problems of one form are run by our kernels: tiles, bands or lists, and what a launch is told."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from math import e, log2

import torch
from torch import Tensor

from regard.attention.bands import Band, bands_of
from regard.attention.bias import DistanceBias
from regard.attention.drops import threshold
from regard.attention.memory import KeptByBytes
from regard.attention.problem import Form, Problem, Segments
from regard.attention.triton.arguments import Numbers, Reach, Sizes, TileKind
from regard.attention.triton.launch import Kernel
from regard.attention.triton.tile_lists import TileLists, tile_lists
from regard.pattern import Documents

LOG2E = log2(e)
SCALES = (1e-4, 1e4)
FAR = 1 << 31  # numbers apart: past it offsets inside a tile need 64 bits


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

    def beside(self) -> list[Tensor]:
        """What a backward pass reads beside the inputs; saved, so that torch notices a change in between."""
        every = (*(self.segments or ()), self.slopes, self.offset, self.seed)
        return [x for x in every if x is not None]


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
            tiles = ceil(ceil(length, band.step), height)
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


def ceil(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)
