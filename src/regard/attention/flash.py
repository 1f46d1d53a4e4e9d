"""FlashAttention-4, where it is installed: bands by its window, documents packed, the rest by our tiles."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.attention.bands import band_of
from regard.attention.joined import dense, joined, wants_gradients
from regard.attention.memory import KeptByBytes
from regard.attention.problem import Attended, Form, Problem
from regard.pattern import (
    Axial,
    Blocks,
    Causal,
    Dilated,
    Full,
    Global,
    Local,
    Neighbourhood,
    Pattern,
    Prefix,
    SparseFixed,
    SparseStrided,
    Strided,
    Windowed,
)  # fmt: skip

if TYPE_CHECKING:
    from regard.pattern.base import Atom

WIDEST = 128  # head widths
SIZE = 128  # of the tiles that its kernels visit
MOST_ENTRIES = 1 << 26  # of padded tile lists
MOST_KEPT = 1 << 30  # bytes of them held for the next call
# Patterns whose `allows` is arithmetic on two integers, which its compiler follows.
ARITHMETIC = (
    Axial, Blocks, Causal, Dilated, Full, Global, Local, Neighbourhood, Prefix, SparseFixed, SparseStrided,
    Strided, Windowed,
)  # fmt: skip


def refuses(form: Form) -> str | None:
    """Why FlashAttention-4 cannot take the problem, or None."""
    if form.device.type != "cuda":
        return f"it runs on CUDA, the query is on {form.device}"
    if not installed():
        return "flash-attn-4 is not installed; pip install flash-attn-4"
    if (major := _capability(form.device)) not in (9, 10):
        return f"it is for Hopper and Blackwell, got compute capability {major}"
    return cannot(form)


def cannot(form: Form) -> str | None:  # noqa: PLR0911 - a list of reasons
    """Why no GPU would run it, or None."""
    if form.dtype not in (torch.bfloat16, torch.float16):
        return f"it knows bfloat16 and float16, got {form.dtype}"
    if max(form.D, form.E) > WIDEST or form.D % 8 or form.E % 8:
        return f"it takes widths up to {WIDEST} that 8 divides, got D={form.D}, E={form.E}"
    if (beyond := form.asks_beyond("lse")) is not None:
        return beyond
    if form.empty:
        return "there is nothing to compute"
    if form.scale <= 0:
        return f"it takes a positive scale, got {form.scale}"
    if told(form.pattern, form.N, form.M) is None:
        strange = [str(atom) for atom in form.pattern.atoms() if type(atom) not in ARITHMETIC]
        if strange:
            return f"its compiler cannot follow {strange[0]}"
        rows, columns = (-(-x // SIZE) for x in (form.N, form.M))
        if rows * columns > MOST_ENTRIES:
            return f"its padded lists of tiles would hold {rows * columns:,} entries"
    return None


def _capability(device: torch.device) -> int:
    return torch.cuda.get_device_capability(device)[0]


@cache
def installed() -> bool:
    """Whether there is a FlashAttention-4."""
    return find_spec("flash_attn") is not None and find_spec("flash_attn.cute") is not None


def attend(problem: Problem) -> Attended:
    """The output of its kernels."""
    problem = dense(problem)
    if wants_gradients(problem):
        return joined(problem, forward, backward, "flash")
    out, lse = _run(problem.query, problem.key, problem.value, problem.form, problem.lse)
    return Attended(out, lse)


def forward(q: Tensor, k: Tensor, v: Tensor, form: Form) -> tuple[Tensor, Tensor]:
    """The output (B,H,N,E) and the normalisers (B,H,N)."""
    out, lse = _run(q, k, v, form, True)
    assert lse is not None
    return out, lse


def _run(q: Tensor, k: Tensor, v: Tensor, form: Form, keep: bool) -> tuple[Tensor, Tensor | None]:
    way = way_of(form)
    q, k, v = (way.rows(x) for x in (q, k, v))
    out, lse = _interface()._flash_attn_fwd(q, k, v, **way.forward(form), return_lse=keep)[:2]
    return way.heads(out, form), way.of_rows(lse, form) if keep else None


def backward(
    grad: Tensor, of_lse: Tensor | None, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, form: Form
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and value."""
    way = way_of(form)
    grad = grad if grad.stride(3) == 1 else grad.contiguous()
    rows = [way.rows(x) for x in (q, k, v, out, grad)]
    found = _interface()._flash_attn_bwd(
        *rows,
        way.to_rows(lse),
        **way.backward(form),
        dlse=None if of_lse is None else way.to_rows(of_lse.float()),
    )
    dq, dk, dv = (way.heads(x, form) for x in found[:3])
    return dq, dk, dv


@cache
def _interface() -> Any:
    # Its compiler says so of every kernel without further tensors, over several lines, to no consequence.
    warnings.filterwarnings("ignore", "Argument aux_data", UserWarning)
    return import_module("flash_attn.cute.interface")


@dataclass(frozen=True, eq=False)
class Way:
    """How a form is told to FlashAttention-4: a window, documents in one packed row, or lists of tiles."""

    window: dict[str, int]
    starts: Tensor | None = None  # of the documents, and the end of the last
    longest: int = 0
    lists: Tiles | None = None
    mask: Callable[..., object] | None = None

    def rows(self, x: Tensor) -> Tensor:
        """B H N D -> B N H D, or B·N H D."""
        x = x.transpose(1, 2)
        return x if self.starts is None else x.flatten(0, 1)

    def heads(self, x: Tensor, form: Form) -> Tensor:
        """B N H D or B·N H D -> B H N D."""
        return (x if self.starts is None else x.unflatten(0, (form.B, -1))).transpose(1, 2)

    def to_rows(self, x: Tensor) -> Tensor:
        """B H N, or H B·N."""
        return x if self.starts is None else x.transpose(0, 1).flatten(1)

    def of_rows(self, x: Tensor, form: Form) -> Tensor:
        """B H N or H B·N -> B H N."""
        return x if self.starts is None else x.unflatten(1, (form.B, -1)).transpose(0, 1)

    def forward(self, form: Form) -> dict[str, object]:
        """The keywords of the forward pass."""
        given = self._both(form)
        if self.lists is not None:
            given["block_sparse_tensors"] = self.lists.given(self.lists.by_query)
        return given

    def backward(self, form: Form) -> dict[str, object]:
        """The keywords of the backward pass."""
        same = torch.are_deterministic_algorithms_enabled()
        given = self._both(form) | {"deterministic": same}
        if self.lists is not None:
            given["block_sparse_tensors"] = self.lists.given(self.lists.by_key, same)
        return given

    def _both(self, form: Form) -> dict[str, object]:
        given: dict[str, object] = {"softmax_scale": form.scale, **self.window}
        if self.starts is not None:
            given |= {"cu_seqlens_q": self.starts, "cu_seqlens_k": self.starts}
            given |= {"max_seqlen_q": self.longest, "max_seqlen_k": self.longest}
        if self.mask is not None:
            given["mask_mod"] = self.mask
        return given


def way_of(form: Form) -> Way:
    """The way of a form, made once."""
    key = (form.pattern, form.B, form.N, form.M, form.device)
    return _WAYS.get(key, lambda: _made(form))


_WAYS: KeptByBytes[Way] = KeptByBytes(MOST_KEPT, lambda way: 1 if way.lists is None else way.lists.nbytes)


@torch.inference_mode(False)
def _made(form: Form) -> Way:
    words = told(form.pattern, form.N, form.M)
    if words is None:
        return Way({}, lists=Tiles.of(form), mask=_mask(form.pattern, form.M - form.N))
    window, lengths = words
    if lengths is None:
        return Way(window)
    ends = torch.tensor(lengths, dtype=torch.int32).repeat(form.B).cumsum(0, dtype=torch.int32)
    starts = torch.nn.functional.pad(ends, (1, 0)).to(form.device)
    return Way(window, starts, max(lengths))


@lru_cache(maxsize=1 << 12)
def told(pattern: Pattern, n: int, m: int) -> tuple[dict[str, int], tuple[int, ...] | None] | None:
    """The pattern in its words: a window, and the lengths of documents. None: it takes lists of tiles."""
    if isinstance(pattern, Local):
        return {"window_size_left": pattern.reach, "window_size_right": pattern.reach}, None
    band = band_of(pattern)
    if band is None or band.step > 1 or (band.back is not None and not band.causal):
        return None
    window: dict[str, int] = {"causal": band.causal}
    if band.back is not None and band.back < m - 1:
        window = {"window_size_left": band.back, "window_size_right": 0}
    if band.window is None and band.documents is None:
        return window, None
    if n != m or (band.window is not None and band.documents is not None):
        return None
    if band.documents is not None:
        return window, band.documents.lengths
    assert band.window is not None
    size = min(band.window, m)
    return window, (size,) * (m // size) + ((m % size,) if m % size else ())


def keys_of_a_row(pattern: Pattern, n: int, m: int) -> float | None:
    """About how many keys a query sees on average, of a pattern that it is told of in words; else None."""
    words = told(pattern, n, m)
    if words is None:
        return None
    window, lengths = words
    causal = ("causal" in window and window["causal"]) or window.get("window_size_right") == 0
    seen = m - (n - 1) / 2 if causal else m
    if lengths is not None:
        seen = sum(length * length for length in lengths) / sum(lengths) / (2 if causal else 1)
    if (left := window.get("window_size_left")) is not None:
        seen = min(seen, left + 1 + window["window_size_right"])
    return seen


def _mask(pattern: Pattern, shift: int) -> Callable[..., object]:
    """The pattern as a function of one query and one key, which its compiler follows into the kernel."""

    def allowed(batch: object, head: object, q: Tensor, k: Tensor, sizes: object, beside: object) -> object:
        def value_of(atom: Atom) -> Tensor:
            return atom.allows(q[0] + shift, k[0])

        return (pattern.fold(value_of),)  # vectors of one, as q and k are

    # What its kernels are kept by.
    allowed.__cute_hash__ = f"regard {pattern} from {shift}"  # type: ignore[attr-defined]
    return allowed


@dataclass(frozen=True, eq=False)
class PaddedLists:
    """How many partial and how many full tiles each row of tiles has, and which, padded to one width."""

    partial: tuple[Tensor, Tensor]  # int32 (1,1,rows), (1,1,rows,most)
    full: tuple[Tensor, Tensor]

    @classmethod
    def of(
        cls, full: tuple[Tensor, Tensor], partial: tuple[Tensor, Tensor], rows: int, device: torch.device
    ) -> PaddedLists:
        """From the (row, column) of each tile."""
        made = []
        for rows_of, columns_of in (partial, full):
            order = torch.argsort(rows_of * (1 << 31) + columns_of)
            row, column = rows_of[order], columns_of[order]
            counts = torch.bincount(row, minlength=rows)
            found = torch.zeros(rows, max(1, int(counts.max())), dtype=torch.int32)
            found[row, torch.arange(len(row)) - (counts.cumsum(0) - counts)[row]] = column.int()
            made.append((counts.int()[None, None].to(device), found[None, None].to(device)))
        return cls(*made)

    @property
    def nbytes(self) -> int:
        """The bytes of all of it."""
        return sum(x.nbytes for x in (*self.partial, *self.full))


@dataclass(frozen=True, eq=False)
class Tiles:
    """The key tiles of each query tile, and the query tiles of each key tile."""

    by_query: PaddedLists
    by_key: PaddedLists

    @classmethod
    def of(cls, form: Form) -> Tiles:
        """Those of a form's pattern."""
        tiles = form.pattern.tiles(form.N, form.M, SIZE)
        full, partial = tiles.full_at, tiles.partial_at
        rows, columns = tiles.shape
        by_query = PaddedLists.of(full, partial, rows, form.device)
        return cls(by_query, PaddedLists.of(full[::-1], partial[::-1], columns, form.device))

    @property
    def nbytes(self) -> int:
        """The bytes of all of it."""
        return self.by_query.nbytes + self.by_key.nbytes

    def given(self, lists: PaddedLists, ordered: bool = False) -> object:
        """The lists as it takes them, `ordered` so that gradients are added up in one order."""
        sparsity = import_module("flash_attn.cute.block_sparsity")
        order = dict.fromkeys(("dq_write_order", "dq_write_order_full"))
        if ordered:
            every = (*self.by_query.partial, *self.by_query.full, *self.by_key.partial, *self.by_key.full)
            order = dict(zip(order, sparsity.compute_dq_write_order(*every), strict=True))
        return sparsity.BlockSparseTensorsTorch(*lists.partial, *lists.full, block_size=(SIZE, SIZE), **order)
