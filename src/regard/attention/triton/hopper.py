"""Our Gluon kernel as a backend: for Hopper, over one band or documents; backward by our other kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec

import torch
from torch import Tensor

from regard.attention.bands import Band, bands_of
from regard.attention.memory import KeptByBytes
from regard.attention.problem import Attended, Form, Problem
from regard.attention.triton import tiles
from regard.attention.triton.arguments import Extent, HopperKind, Reach
from regard.attention.triton.launch import Kernel
from regard.attention.triton.plan import SCALES, Arranged, arrange, ceil
from regard.pattern import Documents

DTYPES = (torch.bfloat16, torch.float16)
WIDTHS = (64, 128)
ROWS, PART = 128, 64  # queries of a program, and of each of its two warpgroups
REGISTERS = {"num_warps": 4, "maxnreg": 168}  # three warpgroups share 64 Ki registers
HOPPER = 9  # the major number of its compute capability


def refuses(form: Form) -> str | None:  # noqa: PLR0911 - a list of reasons
    """Why the kernel cannot take the problem, or None."""
    if not installed():
        return "it needs Triton 3.6 or later, which has Gluon"
    if (why := _machine(form.device)) is not None:
        return why
    if form.dtype not in DTYPES:
        return f"it knows bfloat16 and float16, got {form.dtype}"
    if form.D != form.E or form.D not in WIDTHS:
        return f"it knows widths of 64 and 128, got D={form.D}, E={form.E}"
    if (beyond := form.asks_beyond("lse")) is not None:
        return beyond
    if form.empty:
        return "there is nothing to compute"
    if form.N > form.M:
        return f"it takes no more queries than keys, got {form.N} and {form.M}"
    if not SCALES[0] <= form.scale <= SCALES[1]:
        return f"it takes scales from {SCALES[0]:g} to {SCALES[1]:g}, got {form.scale:g}"
    bands = bands_of(form.pattern, form.M)
    if bands is None or len(bands) != 1 or bands[0].step > 1:
        return f"it knows one stretch of keys for each query, got {form.pattern}"
    return None


@cache
def installed() -> bool:
    """Whether there is a Triton with Gluon for Hopper."""
    try:
        return find_spec("triton.experimental.gluon.nvidia.hopper") is not None
    except ImportError:
        return False


@cache
def _machine(device: torch.device) -> str | None:
    if device.type != "cuda":
        return f"it runs on CUDA, the query is on {device}"
    if torch.version.hip is not None or torch.cuda.get_device_capability(device)[0] != HOPPER:
        return f"it is made for Hopper GPUs, got {torch.cuda.get_device_name(device)}"
    return None


def attend(problem: Problem) -> Attended:
    """The output of the kernel; gradients are those of our other kernels."""
    return tiles.differentiable(problem, arrange(problem), forward)


def forward(q: Tensor, k: Tensor, v: Tensor, a: Arranged) -> tuple[Tensor, Tensor]:
    """The output (B,H,N,E), and each row's normaliser in base 2 (B,H,N), as `tiles.forward` gives them."""
    form = a.plan.form
    B, H, _, N, _, D, _ = form.sizes
    out, lse = q.new_empty((B, H, N, D)), q.new_empty((B, H, N), dtype=torch.float32)
    launch = _launch(form)
    starts, ends = (
        (lse, lse) if launch.documents is None else _stretches(launch.documents, form.M, form.device)
    )
    cols = launch.kind.cols
    described = (_described(q, PART), _described(k, cols), _described(v, cols))
    beside = (starts, ends, launch.extent, launch.reach, a.plan.numbers.scale, launch.kind)
    FORWARD.start(launch.programs, (*described, out, lse, *beside), REGISTERS, form, (out,))
    return out, lse


FORWARD = Kernel("kernels_hopper", "hopper_forward")


def kind_of(band: Band, width: int) -> HopperKind:
    """How the work is cut for heads of a width."""
    return HopperKind(
        causal=band.causal, back=band.back is not None, window=band.window is not None,
        documents=band.documents is not None, cols=128, width=width, stages=2, registers=240, held=True,
    )  # fmt: skip


def stays(kind: HopperKind) -> bool:
    """Whether as many programs as there are multiprocessors go through the work: where all of it is alike."""
    return kind.back or kind.window


@dataclass(frozen=True, eq=False)
class HopperLaunch:
    """What a launch is told beside its tensors."""

    kind: HopperKind
    extent: Extent
    reach: Reach
    documents: Documents | None
    programs: int


@lru_cache(maxsize=1 << 12)
def _launch(form: Form) -> HopperLaunch:
    bands = bands_of(form.pattern, form.M)
    assert bands is not None
    band = bands[0]
    B, H, G, N, M, D, _ = form.sizes
    kind, count = kind_of(band, D), ceil(N, ROWS)
    total = B * H * count
    programs = min(total, _processors(form.device)) if stays(kind) else total
    reach = Reach(band.gap, band.back or 0, band.window or 1, 0)
    return HopperLaunch(kind, Extent(H, G, N, M, count, total), reach, band.documents, programs)


@cache
def _processors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count


_STRETCHES: KeptByBytes[tuple[Tensor, Tensor]] = KeptByBytes(1 << 28, lambda pair: 2 * pair[0].nbytes)


def _stretches(documents: Documents, m: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Where the document of each position begins and ends; int32."""

    def made() -> tuple[Tensor, Tensor]:
        lengths = torch.tensor(documents.lengths)
        last = lengths.cumsum(0)
        first, last = (torch.repeat_interleave(x, lengths)[:m].int() for x in (last - lengths, last))
        return first.to(device), last.to(device)

    return _STRETCHES.get((documents, m, device), made)


def _described(x: Tensor, rows: int) -> object:
    """A tensor as the copy engine is told of it: rows of so many per tile, lying where 16 bytes begin."""
    step = 16 // x.element_size()
    strides = [s if n > 1 else x.shape[3] for s, n in zip(x.stride()[:3], x.shape[:3], strict=True)]
    if x.stride(3) != 1 or x.data_ptr() % 16 or any(s % step or s == 0 for s in strides):
        x = x.clone(memory_format=torch.contiguous_format)
        strides = [s if n > 1 else x.shape[3] for s, n in zip(x.stride()[:3], x.shape[:3], strict=True)]
    make, layout = _descriptor(rows, x.shape[3], x.dtype)
    return make(x, list(x.shape), [*strides, 1], [1, 1, rows, x.shape[3]], layout)


@cache
def _descriptor(rows: int, width: int, dtype: torch.dtype) -> tuple[Callable[..., object], object]:
    gl = import_module("triton.experimental.gluon.language")
    element = gl.bfloat16 if dtype == torch.bfloat16 else gl.float16
    layout = gl.NVMMASharedLayout.get_default_for([1, 1, rows, width], element)
    return import_module("triton.experimental.gluon.nvidia.hopper").TensorDescriptor, layout
