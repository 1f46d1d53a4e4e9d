"""From what callers have to one checked `Problem`: tensors, text, masks, documents, offsets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import inf

import torch
from torch import Tensor

from regard.attention.bias import DistanceBias
from regard.attention.drops import draw_seed
from regard.attention.problem import Problem, Segments, check_tensors, form_of
from regard.pattern import Causal, Full, Pattern, parse

AUTOCAST = ("cuda", "cpu", "xpu", "mps")
NARROW = (torch.uint8, torch.int8, torch.int16)
_parse = lru_cache(maxsize=256)(parse)


def pattern_of(pattern: object, is_causal: bool = False) -> Pattern:
    """A pattern that was given as a value or as text, and its causal part where that is asked for."""
    if isinstance(pattern, str):
        if torch.compiler.is_compiling():
            from regard.attention.text_in_trace import parsed_in_trace

            pattern = parsed_in_trace(pattern)
        else:
            pattern = _parse(pattern)
    if isinstance(pattern, Tensor):
        raise ValueError(
            "pattern must be a regard.pattern value or its text, got a tensor; masks go to mask="
        )
    if callable(pattern) and not isinstance(pattern, Pattern | type):
        told = "a function becomes one as `allows` of a class below regard.pattern.Atom"
        raise ValueError(f"pattern must be a regard.pattern value or its text; {told}")
    if not isinstance(pattern, Pattern):
        raise ValueError(
            f"pattern must be a regard.pattern value or its text, got {repr(pattern).splitlines()[0]}"
        )
    if not is_causal:
        return pattern
    return Causal() if pattern == Full() else pattern & Causal()


def with_heads(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor, bool]:
    """The three with an axis of heads, and whether it had to be added."""
    headless = all(isinstance(x, Tensor) and x.ndim == 3 for x in (query, key, value))
    if headless:
        query, key, value = query[:, None], key[:, None], value[:, None]
    return query, key, value, headless


def autocasted(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The three in the type of torch.autocast, where that is on."""
    kind = query.device.type
    if kind in AUTOCAST and torch.is_autocast_enabled(kind) and query.dtype != torch.float64:
        # As torch's own kernels do, so that the type of the result does not depend on who runs.
        cast = torch.get_autocast_dtype(kind)
        if all(isinstance(x, Tensor) and x.is_floating_point() for x in (key, value)):
            return query.to(cast), key.to(cast), value.to(cast)
    return query, key, value


def check_on(query: Tensor, **others: Tensor | None) -> None:
    """Raise unless these lie where the query lies."""
    for name, x in others.items():
        if x is not None and not isinstance(x, Tensor):
            raise ValueError(f"{name} must be a torch tensor, got {type(x).__name__}")
        if x is not None and x.device != query.device:
            raise ValueError(
                f"all tensors must be on one device, got query {query.device}, {name} {x.device}"
            )


def problem_of(  # noqa: PLR0913 - the arguments of `attend`
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern,
    *,
    scale: float | Tensor | None = None,
    bias: Tensor | DistanceBias | None = None,
    mask: Tensor | None = None,
    segments: Tensor | None = None,
    key_segments: Tensor | None = None,
    cu_seqlens: Tensor | None = None,
    offset: int | Tensor | None = None,
    softcap: float | None = None,
    dropout: float = 0.0,
    generator: torch.Generator | None = None,
    lse: bool = False,
    weights: bool = False,
) -> Problem:
    """The problem, or a ValueError that names the arguments and their values."""
    if not isinstance(query, Tensor):
        check_tensors(query, key, value)
    query, key, value = autocasted(query, key, value)
    factor = query.shape[-1] ** -0.5 if scale is None and query.shape[-1] else scale
    bare = bias is mask is segments is key_segments is cu_seqlens is offset is softcap is None
    if bare and factor.__class__ is float and not (dropout or weights or lse):  # most calls
        form = form_of(query, key, value, pattern, (), factor)
        return Problem(query, key, value, pattern, factor, form=form)
    check_tensors(query, key, value)
    (B, H, N, _), M = query.shape, key.shape[2]
    start = None if offset is None else _offset(offset, query, B)
    if isinstance(factor, Tensor):  # its gradient goes through the query
        check_on(query, scale=factor)
        query, factor = (query * factor).to(query.dtype), 1.0
    factor = 1.0 if factor is None else float(factor)
    if bias is not None:
        _check_bias(bias, query, (B, H, N, M))
    if mask is not None:
        mask = _mask(mask, query, (B, H, N, M))
    if cu_seqlens is not None:
        segments = _packed_documents(cu_seqlens, segments, query, B, M)
    pair = None
    if segments is not None or key_segments is not None:
        pair = _segments(segments, key_segments, query, start, (B, N, M))
    if softcap is not None and not softcap > 0:
        raise ValueError(f"softcap must be positive, got {softcap=}")
    softcap = None if softcap == inf else softcap
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout=}")
    seed = draw_seed(query.device, generator) if dropout else None
    return Problem(
        query, key, value, pattern, factor, bias, pair, mask, start,
        softcap=softcap, dropout=dropout, seed=seed, lse=lse, weights=weights,
    )  # fmt: skip


def _offset(offset: int | Tensor, query: Tensor, B: int) -> Tensor:
    if isinstance(offset, int) and not isinstance(offset, bool) and offset >= 0:
        return torch.full((1,), offset, device=query.device)
    check_on(query, offset=offset if isinstance(offset, Tensor) else None)
    if (
        not isinstance(offset, Tensor)
        or offset.shape != (B,)
        or offset.dtype not in (torch.int32, torch.int64)
    ):
        got = f"{tuple(offset.shape)} {offset.dtype}" if isinstance(offset, Tensor) else repr(offset)
        raise ValueError(f"offset must be an integer from 0 on or integers of shape (B,) = ({B},), got {got}")
    if offset.device.type == "cpu" and offset.numel() and int(offset.min()) < 0:
        raise ValueError(f"offset must not be negative, got {offset.tolist()}")
    return offset.long()


def _check_bias(bias: Tensor | DistanceBias, query: Tensor, shape: tuple[int, int, int, int]) -> None:
    if isinstance(bias, DistanceBias):
        if len(bias.slopes) != shape[1]:
            raise ValueError(
                f"DistanceBias needs one slope per head, got {len(bias.slopes)} slopes, H={shape[1]}"
            )
    elif isinstance(bias, Tensor):
        check_on(query, bias=bias)
        if not _broadcasts(bias, shape) or not bias.is_floating_point():
            got = f"{tuple(bias.shape)} {bias.dtype}"
            raise ValueError(f"bias must be floating and broadcast to (B, H, N, M) = {shape}, got {got}")
    else:
        raise ValueError(f"bias must be a tensor or a DistanceBias, got {type(bias).__name__}")


def _mask(mask: Tensor, query: Tensor, shape: tuple[int, int, int, int]) -> Tensor:
    check_on(query, mask=mask)
    if not _broadcasts(mask, shape) or mask.dtype != torch.bool:
        got = f"{tuple(mask.shape)} {mask.dtype}" + ("; numbers go to bias=" * mask.is_floating_point())
        raise ValueError(f"mask must be boolean and broadcast to (B, H, N, M) = {shape}, got {got}")
    return mask.view(*[1] * (4 - mask.ndim), *mask.shape)


def _broadcasts(x: Tensor, shape: Sequence[int]) -> bool:
    pairs = zip(reversed(x.shape), reversed(shape), strict=False)
    return x.ndim <= 4 and all(size in (1, whole) for size, whole in pairs)


def _segments(
    segments: Tensor | None,
    key_segments: Tensor | None,
    query: Tensor,
    start: Tensor | None,
    sizes: tuple[int, int, int],
) -> Segments:
    """The segments of queries and keys; where only keys have some, queries see those that are no padding."""
    B, N, M = sizes
    if key_segments is None:
        assert segments is not None
        every = _labels("segments", segments, query, (B, M), "M")
        if start is not None:
            at = start[:, None] + torch.arange(N, device=query.device)
            inside = at < M
            own = every.gather(1, at.clamp(max=M - 1).expand(B, N)).masked_fill(~inside, -1)
            return Segments(own, every)
        if N > M:
            raise ValueError(f"segments need at most as many queries as keys, got N={N}, M={M}")
        return Segments(every if N == M else every[:, M - N :], every)
    keys = _labels("key_segments", key_segments, query, (B, M), "M")
    if segments is not None:
        return Segments(_labels("segments", segments, query, (B, N), "N"), keys)
    return Segments(keys.new_zeros(1).expand(B, N), (keys >= 0).to(keys.dtype) - 1)


def _labels(name: str, given: Tensor, query: Tensor, shape: tuple[int, int], letter: str) -> Tensor:
    check_on(query, **{name: given})
    whole = not given.is_floating_point() and given.dtype not in (torch.bool, torch.uint64)
    if tuple(given.shape) != shape or not whole:
        got = f"{tuple(given.shape)} {given.dtype}"
        got += "; of a padding mask make torch.where(padding, -1, 0)" if given.dtype == torch.bool else ""
        raise ValueError(f"{name} must be integers of shape (B, {letter}) = {shape}, got {got}")
    if given.dtype in (torch.int32, torch.int64):
        return given
    return given.int() if given.dtype in NARROW else given.long()


def _packed_documents(cu: Tensor, segments: Tensor | None, query: Tensor, B: int, M: int) -> Tensor:
    """The numbers (1,M) of documents that lie one behind another: document d begins at cu[d]."""
    check_on(query, cu_seqlens=cu)
    if segments is not None:
        raise ValueError("cu_seqlens and segments say the same: give one of them")
    if B != 1 or cu.ndim != 1 or len(cu) < 1 or cu.dtype not in (torch.int32, torch.int64):
        got = f"{tuple(cu.shape)} {cu.dtype}, B={B}"
        raise ValueError(f"cu_seqlens must be integers (documents + 1,) for one packed row, B=1, got {got}")
    if cu.device.type == "cpu":  # elsewhere it would wait for the device
        ends = cu.tolist()
        if ends[0] != 0 or ends != sorted(ends) or ends[-1] > M:
            got = f"{ends[:4]}…{ends[-1:]}" if len(ends) > 8 else str(ends)
            raise ValueError(f"cu_seqlens must grow from 0 to at most {M=}, got {got}")
    at = torch.arange(M, device=query.device, dtype=cu.dtype)
    number = torch.bucketize(at, cu[1:].contiguous(), right=True)
    return torch.where(at < cu[-1], number, -1)[None].int()
