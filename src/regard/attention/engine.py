"""`attend`, and `choose`, which says what it would do and why: the one place where that is decided."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol, cast

import torch
from torch import Tensor

from regard.attention import flash, sdpa
from regard.attention.bands import band_of, bands_of, first_key, looks_back
from regard.attention.bias import DistanceBias
from regard.attention.inputs import AUTOCAST, pattern_of, problem_of, with_heads
from regard.attention.problem import CALLED, Attended, Choice, Form, Problem, Segments
from regard.attention.triton import short
from regard.pattern import Full, Pattern

SMALL = 1 << 15  # pairs below which one masked call beats any plan on a CPU
MIDDLE = 1 << 18  # and those below which kept masks of tiles beat a plan made anew
NEAR = 256  # positions that residue classes must reach, for folding to be worth while
KERNELS = ("triton", "hopper", "short", "flash", "mixed", "flex")  # which read their inputs as they are
# Measured on an H200: multiplications of scores below which starting FlashAttention-4's kernels takes longer
# than running them, and keys of a row up to which our forward pass is ahead, for widths to 64 and wider ones.
STARTED = 12_000_000_000
FEW_KEYS = (1400, 200)
LONG = 4096  # an average document from which each is worth its own kernels
# And by head width the keys of a row from which the Gluon kernel is; at width 64 it is behind (NOTES).
MANY_KEYS = {128: 1000}
FEW = 16  # queries that a cache serves at a time


class Backend(Protocol):
    """What the module of a backend has."""

    def refuses(self, form: Form) -> str | None:
        """Why it cannot take a problem of this form, or None."""

    def attend(self, problem: Problem) -> Attended:
        """The answer to a problem that it does not refuse."""


BACKENDS = {
    "reference": "the definition; any device and dtype, everything that can be asked; time and memory N·M",
    "sdpa": "torch's fused kernels; patterns other than full and causal go through a dense mask",
    "folded": "windows, blocks and residue classes folded into the batch",
    "chunked": "bands by chunks of queries with their stretch of keys; CPU",
    "gathered": "the non-empty tiles of any pattern gathered per query tile; CPU",
    "packed": "documents packed in a row, each on its own; CPU",
    "triton": "our kernels over bands, windows, segments and tile lists; CUDA",
    "hopper": "our Gluon kernel forward over a band or documents; Hopper",
    "short": "our kernel for short sequences, straight from the fused projection of a layer; CUDA",
    "flash": "FlashAttention-4, where flash-attn-4 is installed; Hopper and Blackwell",
    "mixed": "our kernels forward, FlashAttention-4 backward",
    "slots": "few queries over the slots of a cache, wherever their keys stand",
    "flex": "FlexAttention with block lists from our tiles; CUDA",
}
MODULES = {name: f"cpu.{name}" for name in ("folded", "chunked", "gathered", "packed")} | {
    "triton": "triton.tiles",
    "short": "triton.short",
    "hopper": "triton.hopper",
}


def attend(  # noqa: PLR0913 - the signature is the public contract
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern | str | Sequence[Pattern | str] = Full(),  # noqa: B008 - a frozen value
    *,
    is_causal: bool = False,
    scale: float | Tensor | None = None,
    bias: Tensor | DistanceBias | None = None,
    mask: Tensor | None = None,
    segments: Tensor | None = None,
    key_segments: Tensor | None = None,
    cu_seqlens: Tensor | None = None,
    offset: int | Tensor | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    dropout: float = 0.0,
    impl: str = "auto",
    return_weights: bool = False,
    return_lse: bool = False,
    generator: torch.Generator | None = None,
) -> Any:  # the output, or a tuple of it and what else was asked for
    """Attention of query (B,H,N,D) over key (B,G,M,D) and value (B,G,M,E): (B,H,N,E).

    A pair counts where the pattern allows it and, with `segments` (B,M), both positions carry the same
    non-negative number. The N queries are the last of the M positions. `impl` names a backend, which runs or
    raises; "auto" chooses one.

    >>> from regard.pattern import Strided
    >>> x = torch.eye(3).view(1, 1, 3, 3)
    >>> out, weights = attend(x, x, x, Strided(back=1), scale=0.0, return_weights=True)
    >>> weights[0, 0].tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]

    `pattern` is a value, its text, or one of either for each of the H heads; `is_causal` joins it with
    `Causal()`. `query`, `key` and `value` may lack the axis of heads. `mask`, boolean, and `bias`, added to
    the scores, broadcast to (B,H,N,M). `key_segments` (B,M) hides keys below zero from every query, or from
    those whose `segments`, then (B,N), differ. `cu_seqlens` are the starts and the end of documents packed in
    one row. With `offset`, a number or (B,), queries stand from there on instead of at the end.

    Scores are softcap·tanh(q·k·scale / softcap) + bias; `sinks` (H,) join the sum that a row is divided by.
    `dropout` drops weights by a seed that `generator` draws, alike on every backend (one seed for the heads
    of each pattern). `return_weights` adds the weights (before dropout) to the result, `return_lse` the
    logarithm of each row's sum (−inf: no key).
    """
    if impl != "auto" and impl not in BACKENDS:
        raise ValueError(f"impl must be 'auto' or one of {', '.join(BACKENDS)}, got {impl=}")
    if isinstance(pattern, list | tuple):
        from regard.attention.by_head import attend_by_head

        given = {
            "is_causal": is_causal, "scale": scale, "bias": bias, "mask": mask, "segments": segments,
            "key_segments": key_segments, "cu_seqlens": cu_seqlens, "offset": offset, "softcap": softcap,
            "sinks": sinks, "dropout": dropout, "impl": impl, "return_weights": return_weights,
            "return_lse": return_lse, "generator": generator,
        }  # fmt: skip
        return attend_by_head(attend, query, key, value, pattern, given)
    query, key, value, headless = with_heads(query, key, value)
    problem = problem_of(
        query, key, value, pattern_of(pattern, is_causal), scale=scale, bias=bias, mask=mask,
        segments=segments, key_segments=key_segments, cu_seqlens=cu_seqlens, offset=offset, softcap=softcap,
        dropout=dropout, generator=generator, lse=return_lse or sinks is not None, weights=return_weights,
    )  # fmt: skip
    found = run(problem, impl)
    if sinks is not None:
        found = with_sinks(found, sinks, problem.form.H)
    if headless:
        out, lse, weights = (None if x is None else x.squeeze(1) for x in found)
        assert out is not None
        found = Attended(out, lse, weights)
    if not (return_weights or return_lse):
        return found.out
    return (found.out, *([found.weights] if return_weights else []), *([found.lse] if return_lse else []))


def run(problem: Problem, impl: str = "auto") -> Attended:
    """The answer to a checked problem: what every call, layer and decoding step comes down to."""
    if torch.compiler.is_compiling():
        from regard.attention.operation import run_compiled

        return run_compiled(problem, impl)
    if problem.form.N < problem.form.M:
        problem = narrowed(problem)
    if impl == "auto":
        problem = from_offset(problem)
        impl = chosen(problem.form).impl
        found = backend(impl)
    else:
        found = backend(impl)
        if (why := found.refuses(problem.form)) is not None:
            raise ValueError(f"impl={impl!r} cannot: {why}")
    kind = problem.form.device.type
    if impl in KERNELS or kind not in AUTOCAST or not torch.is_autocast_enabled(kind):
        return found.attend(problem)
    with torch.autocast(kind, enabled=False):  # the inputs are cast; what is made of them has digits to spare
        return found.attend(problem)


def attend_projection(qkv: Tensor, heads: int, pattern: Pattern) -> Tensor:
    """Attention of a layer's projection (B,N,H+2G,D), queries first, then keys and values: (B,H,N,D).

    Where a kernel reads the projection as it lies, it is never split.
    """
    B, N, every, D = qkv.shape
    groups = (every - heads) // 2
    if not torch.compiler.is_compiling():
        form = projection_form((B, heads, groups, N, N, D, D), qkv.dtype, qkv.device, pattern)
        if chosen(form).impl == "short":
            return short.attend_packed(qkv, heads, form.scale, pattern).transpose(1, 2)
    q, k, v = qkv.transpose(1, 2).split([heads, groups, groups], dim=1)  # B H N D
    return run(Problem(q, k, v, pattern, D**-0.5, packed=qkv)).out


@lru_cache(maxsize=1 << 14)
def projection_form(
    sizes: tuple[int, int, int, int, int, int, int],
    dtype: torch.dtype,
    device: torch.device,
    pattern: Pattern,
) -> Form:
    """The form of attention straight from a projection."""
    pattern.resolve(sizes[3], sizes[4])
    return Form(sizes, dtype, device, pattern, ("packed",), sizes[5] ** -0.5)


@lru_cache(maxsize=32)
def backend(impl: str) -> Backend:
    """The module that runs it."""
    return cast(Backend, import_module(f"regard.attention.{MODULES.get(impl, impl)}"))


def narrowed(problem: Problem) -> Problem:
    """The same problem without the keys in front that no query can see."""
    form = problem.form
    if form.empty or form.asks_beyond("slopes", "segments", "softcap", "dropout", "lse") is not None:
        return problem
    first = first_key(form.pattern, form.N, form.M)
    if first == 0 or any(atom.total is not None for atom in form.pattern.atoms()):
        return problem
    parts = problem.segments
    return problem.changed(
        key=problem.key[:, :, first:],
        value=problem.value[:, :, first:],
        segments=None if parts is None else Segments(parts.query, parts.key[:, first:]),
    )


def from_offset(problem: Problem) -> Problem:
    """The same problem over the stretch of keys that each row of the batch can see, as slots, on a CPU."""
    form = problem.form
    if "offset" not in form.uses or form.device.type != "cpu" or form.empty:
        return problem
    back = looks_back(problem.pattern)
    if back is None or 2 * (back + form.N) > form.M or form.asks_beyond("offset", "slopes", "segments"):
        return problem
    assert problem.offset is not None
    at = problem.offset[:, None] - back + torch.arange(back + form.N)  # B or 1, keys
    held, index = torch.where((at >= 0) & (at < form.M), at, -1), at.clamp(0, form.M - 1)
    index = index.expand(form.B, -1)

    def taken(x: Tensor) -> Tensor:
        return x.gather(2, index[:, None, :, None].expand(-1, x.shape[1], -1, x.shape[3]))

    parts = problem.segments
    return problem.changed(
        key=taken(problem.key),
        value=taken(problem.value),
        segments=None if parts is None else Segments(parts.query, parts.key.gather(1, index)),
        slots=held,
    )


def with_sinks(found: Attended, sinks: Tensor, H: int) -> Attended:
    """What is left of output and weights when each row also weighs a score that has no value."""
    if not isinstance(sinks, Tensor) or sinks.shape != (H,) or not sinks.is_floating_point():
        got = f"{tuple(sinks.shape)} {sinks.dtype}" if isinstance(sinks, Tensor) else type(sinks).__name__
        raise ValueError(f"sinks must be floating numbers of shape (H,) = ({H},), got {got}")
    assert found.lse is not None
    least = torch.finfo(found.lse.dtype).min
    # Finite, so that nothing is ∞ − ∞: a row without keys, below a sink that takes nothing.
    lse, sink = found.lse.clamp(min=least), sinks.to(found.lse.dtype).clamp(min=least / 2)[:, None]
    share = torch.sigmoid(lse - sink)[..., None]
    weights = None if found.weights is None else (found.weights * share).to(found.weights.dtype)
    nothing = (found.lse == -torch.inf) & (sinks == -torch.inf)[:, None]
    total = torch.logaddexp(lse, sink.expand_as(lse)).masked_fill(nothing, -torch.inf)
    return Attended((found.out * share).to(found.out.dtype), total, weights)


def choose(  # noqa: PLR0913 - what `attend` takes
    query: Tensor,
    key: Tensor,
    pattern: Pattern | str | Sequence[Pattern | str] = Full(),  # noqa: B008 - a frozen value
    *,
    value: Tensor | None = None,
    is_causal: bool = False,
    scale: float | Tensor | None = None,
    bias: Tensor | DistanceBias | None = None,
    mask: Tensor | None = None,
    segments: Tensor | None = None,
    key_segments: Tensor | None = None,
    cu_seqlens: Tensor | None = None,
    offset: int | Tensor | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    dropout: float = 0.0,
    return_weights: bool = False,
    return_lse: bool = False,
) -> Choice:
    """What `attend(…, impl="auto")` would run, and why.

    >>> x = torch.zeros(1, 1, 8, 4)
    >>> choose(x, x, "causal")
    Choice(impl='sdpa', why="torch's fused kernel knows the causal triangle")

    Where heads have patterns of their own, each of them may have its backend: `impl` then names them all.
    """
    value = key if value is None else value
    if isinstance(pattern, list | tuple):
        from regard.attention.by_head import choose_by_head

        given = {
            "is_causal": is_causal, "scale": scale, "bias": bias, "mask": mask, "segments": segments,
            "key_segments": key_segments, "cu_seqlens": cu_seqlens, "offset": offset, "softcap": softcap,
            "sinks": sinks, "dropout": dropout, "return_weights": return_weights, "return_lse": return_lse,
        }  # fmt: skip
        return choose_by_head(choose, query, key, value, pattern, given)
    query, key, value, _ = with_heads(query, key, value)
    problem = problem_of(
        query, key, value, pattern_of(pattern, is_causal), scale=scale, bias=bias, mask=mask,
        segments=segments, key_segments=key_segments, cu_seqlens=cu_seqlens, offset=offset, softcap=softcap,
        dropout=dropout, lse=return_lse or sinks is not None, weights=return_weights,
    )  # fmt: skip
    return chosen(from_offset(narrowed(problem) if problem.form.N < problem.form.M else problem).form)


@lru_cache(maxsize=1 << 14)
def chosen(form: Form) -> Choice:  # noqa: PLR0911 - a list of cases
    """What runs a problem of this form, and why."""
    if form.empty:
        return (
            Choice("sdpa", "there is nothing to compute") if sdpa.refuses(form) is None else _definition(form)
        )
    if "weights" in form.uses:
        return Choice("reference", "only the definition returns weights")
    if form.device.type == "cuda" and _runs("short", form):
        return Choice("short", "a head fits one tile, and the projection is read as it lies")
    if form.device.type == "cuda" and (choice := _chosen_flash(form)) is not None:
        return choice
    if form.plain and sdpa.fused(form) and not _goes_dense(form):
        full = form.pattern == Full()
        return Choice(
            "sdpa", f"torch's fused kernel knows {'full attention' if full else 'the causal triangle'}"
        )
    few = "slots" in form.uses or (form.N <= FEW and form.asks_beyond("mask", "bias", "offset") is None)
    if few and _runs("slots", form):
        return Choice("slots", "few queries over the slots of a cache, whose mask is small")
    if "bias" in form.uses or "mask" in form.uses:
        dense = "bias tensor" if "bias" in form.uses else "mask"
        if sdpa.refuses(form) is None:
            return Choice("sdpa", f"a {dense} is dense already, so a dense mask costs nothing more")
        return _definition(form)
    if form.device.type == "cuda":
        return _chosen_cuda(form)
    if form.device.type == "cpu":
        return _chosen_cpu(form)
    if sdpa.refuses(form) is None:
        return Choice("sdpa", f"on {form.device.type} torch's kernel with a dense mask is what runs")
    return _definition(form)


def _worth_folding(form: Form) -> bool:
    band = band_of(form.pattern)
    assert band is not None
    if band.documents is not None:
        return False
    return band.step == 1 or (form.N * form.M > SMALL and (band.back or 0) * band.step > NEAR)


def _definition(form: Form) -> Choice:
    asked = " and ".join(CALLED.get(word, word) for word in form.uses if word != "packed")
    return Choice("reference", f"only the definition takes {asked}")


def _runs(impl: str, form: Form) -> bool:
    return backend(impl).refuses(form) is None


def _goes_dense(form: Form) -> bool:
    """Whether torch would fall to its quadratic path: of grouped heads it has no kernel in float32."""
    return (
        form.device.type == "cuda"
        and form.dtype == torch.float32
        and form.H != form.G
        and _runs("triton", form)
    )


def _chosen_flash(form: Form) -> Choice | None:
    """FlashAttention-4 where it was measured ahead, for both passes or for the backward one."""
    if flash.refuses(form) is not None or (form.plain and _folds(form)):
        return None
    keys = flash.keys_of_a_row(form.pattern, form.N, form.M)
    if keys is None:
        return None  # lists of tiles cost it more than they cost us
    width = max(form.D, form.E)
    if form.B * form.H * form.N * keys * width < STARTED:
        return None  # starting its kernels would take longer than they run
    band = band_of(form.pattern)
    whole = band is not None and band.back is None
    if whole or keys > FEW_KEYS[width > 64]:
        return Choice("flash", f"of rows of {keys:,.0f} keys FlashAttention-4 is the best kernel")
    if _runs("mixed", form):
        return Choice("mixed", f"rows of {keys:,.0f} keys by our kernel, backward by FlashAttention-4")
    return None


def _folds(form: Form) -> bool:
    """Whether the pattern falls into whole problems that torch's kernels run best, on a GPU."""
    if not _runs("folded", form):
        return False
    band = band_of(form.pattern)
    assert band is not None
    if band.documents is not None:
        return not flash.installed() and LONG * len(band.documents.lengths) <= form.N
    return (band.window or 0) >= 64


def _chosen_cuda(form: Form) -> Choice:
    if form.dtype == torch.float64:
        return Choice("reference", "float64 is for definitions")
    if form.plain and _folds(form):
        return Choice("folded", "windows and long documents are whole problems that torch's kernels run best")
    refusal = backend("triton").refuses(form)
    if refusal is None:
        return _chosen_kernel(form)
    if sdpa.refuses(form) is None:
        return Choice("sdpa", f"a dense mask, because our kernels cannot: {refusal}")
    return Choice("reference", f"the definition, because our kernels cannot: {refusal}")


def _chosen_kernel(form: Form) -> Choice:
    """Which of our own kernels for any length."""
    if form.D in MANY_KEYS and _runs("hopper", form):
        keys = flash.keys_of_a_row(form.pattern, form.N, form.M)
        amount = 0 if keys is None else form.B * form.H * form.N * keys * form.D
        if keys is not None and keys >= MANY_KEYS[form.D] and amount >= STARTED:
            return Choice("hopper", f"rows of {keys:,.0f} keys by our Gluon kernel for Hopper")
    if bands_of(form.pattern) is not None:
        return Choice("triton", "the keys of a row follow from arithmetic")
    return Choice("triton", "the non-empty tiles are listed and only those are computed")


def _chosen_cpu(form: Form) -> Choice:  # noqa: PLR0911 - a list of cases
    pairs, dense = form.N * form.M, sdpa.refuses(form) is None
    if _runs("folded", form) and _worth_folding(form):
        return Choice("folded", "windows and residue classes fold into the batch")
    if pairs <= SMALL and dense:
        return Choice("sdpa", "so few pairs that one masked call is fastest")
    if form.plain and pairs <= MIDDLE:
        return Choice("gathered", "the masks of so few tiles are kept for the next call")
    if _runs("chunked", form):
        return Choice("chunked", "a band needs only a stretch of keys per chunk of queries")
    if _runs("packed", form):
        return Choice("packed", "each document of a row is a problem of its own")
    if not _runs("gathered", form):
        return (
            Choice("sdpa", "a dense mask: an offset of each row moves the tiles")
            if dense
            else _definition(form)
        )
    share = _share(form.pattern, form.N, form.M)
    if share > 0.6 and dense:
        return Choice("sdpa", f"{share:.0%} of the tiles hold allowed pairs, so a dense mask wastes little")
    return Choice("gathered", f"only {share:.0%} of the tiles hold allowed pairs, and those are gathered")


@lru_cache(maxsize=256)
def _share(pattern: Pattern, n: int, m: int) -> float:
    tiles = pattern.tiles(n, m)
    return (tiles.full + tiles.partial) / (tiles.shape[0] * tiles.shape[1])
