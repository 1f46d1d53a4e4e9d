"""The arguments of one attention call, checked once before any kernel runs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.bias import DistanceBias
from regard.pattern import Pattern


@dataclass(frozen=True)
class Problem:
    """Checked arguments: query (B,H,N,D), key (B,G,M,D), value (B,G,M,E), and what shapes the scores."""

    query: Tensor
    key: Tensor
    value: Tensor
    pattern: Pattern
    scale: float
    bias: Tensor | DistanceBias | None = None
    segments: Tensor | None = None

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """B, H, G, N, M."""
        # As numbers: under torch.jit.trace, which some counters use, a size is a tensor.
        B, H, N, _ = map(int, self.query.shape)
        return B, H, int(self.key.shape[1]), N, int(self.key.shape[2])

    @property
    def plain(self) -> bool:
        """Whether the pattern alone decides: no bias, no segments."""
        return self.bias is None and self.segments is None

    @property
    def empty(self) -> bool:
        """Whether a query, a key or a value has no numbers at all."""
        return 0 in (self.query.numel(), self.key.numel(), self.value.numel())

    def positions(self) -> tuple[Tensor, Tensor]:
        """Where the queries (N, 1) and the keys (1, M) stand."""
        _, _, _, N, M = self.sizes
        device = self.query.device
        return torch.arange(M - N, M, device=device)[:, None], torch.arange(M, device=device)[None, :]

    def allowed(self) -> Tensor:
        """The pairs that the pattern and the segments allow: bool, broadcastable to (B, 1, N, M)."""
        _, _, _, N, M = self.sizes
        q, k = self.positions()
        allowed = self.pattern.allows(q, k).expand(N, M)[None, None]
        if self.segments is None:
            return allowed
        return allowed & same_segment(self.segments[:, M - N :, None], self.segments[:, None, :])[:, None]


def same_segment(q: Tensor, k: Tensor) -> Tensor:
    """Whether two positions lie in one segment; negative segments are padding."""
    return (q == k) & (k >= 0)


def check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern,
    scale: float | None,
    bias: Tensor | DistanceBias | None,
    segments: Tensor | None,
) -> Problem:
    """The problem, or a ValueError that names the arguments and their values."""
    shapes = f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError(f"query, key and value must have 4 axes (batch, heads, length, width), got {shapes}")
    (B, H, N, D), (G, M) = map(int, query.shape), map(int, key.shape[1:3])
    if key.shape[0] != B or value.shape[0] != B:
        raise ValueError(f"query, key and value must have one batch size, got {shapes}")
    if key.shape[3] != D:
        raise ValueError(f"query and key must have one width, got {shapes}")
    if value.shape[1:3] != (G, M):
        raise ValueError(f"key and value must have the same heads and length, got {shapes}")
    if (G == 0 and H) or (G and H % G):
        raise ValueError(f"the key heads must divide the query heads, got H={H}, G={G}")
    if D == 0:
        raise ValueError(f"the width must be at least 1, got {shapes}")
    if not query.dtype == key.dtype == value.dtype or not query.is_floating_point():
        dtypes = f"query {query.dtype}, key {key.dtype}, value {value.dtype}"
        raise ValueError(f"query, key and value must share one floating dtype, got {dtypes}")
    tensors = {"query": query, "key": key, "value": value}
    tensors |= {"segments": segments} if segments is not None else {}
    tensors |= {"bias": bias} if isinstance(bias, Tensor) else {}
    if len({tensor.device for tensor in tensors.values()}) > 1:
        devices = ", ".join(f"{name} {tensor.device}" for name, tensor in tensors.items())
        raise ValueError(f"all tensors must be on one device, got {devices}")
    if not isinstance(pattern, Pattern):
        raise ValueError(f"pattern must be a regard.pattern value, got {repr(pattern).splitlines()[0]}")
    pattern.resolve(N, M)
    _check_bias(bias, (B, H, N, M))
    if segments is not None:
        _check_segments(segments, B, N, M)
    return Problem(query, key, value, pattern, D**-0.5 if scale is None else scale, bias, segments)


def _check_bias(bias: Tensor | DistanceBias | None, shape: tuple[int, int, int, int]) -> None:
    if isinstance(bias, DistanceBias):
        if len(bias.slopes) != shape[1]:
            raise ValueError(
                f"DistanceBias needs one slope per head, got {len(bias.slopes)} slopes, H={shape[1]}"
            )
    elif isinstance(bias, Tensor):
        fits = bias.ndim <= 4 and all(
            size in (1, whole) for size, whole in zip(reversed(bias.shape), reversed(shape), strict=False)
        )
        if not fits or not bias.is_floating_point():
            got = f"{tuple(bias.shape)} {bias.dtype}"
            raise ValueError(f"bias must be floating and broadcast to (B, H, N, M) = {shape}, got {got}")
    elif bias is not None:
        raise ValueError(f"bias must be a tensor or a DistanceBias, got {type(bias).__name__}")


def _check_segments(segments: Tensor, B: int, N: int, M: int) -> None:
    if segments.shape != (B, M) or segments.is_floating_point() or segments.dtype == torch.bool:
        got = f"{tuple(segments.shape)} {segments.dtype}"
        raise ValueError(f"segments must be integers of shape (B, M) = {(B, M)}, got {got}")
    if N > M:
        raise ValueError(f"segments need at most as many queries as keys, got N={N}, M={M}")
