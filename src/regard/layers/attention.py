"""Attention with weights: one fused projection, any pattern, grouped heads, cache and trace."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.attention import DistanceBias, attend
from regard.errors import check_int
from regard.layers import compiled
from regard.layers.cache import LayerCache, Seen
from regard.layers.position import Alibi, Position, Rotary
from regard.layers.tracing import Trace
from regard.pattern import Full, Pattern


class Attention(nn.Module):
    """Every token gathers from the tokens that the pattern lets it see.

    `kv_heads` groups of keys and values serve `heads` queries. Of the positions, `Rotary` and `Alibi`
    act here; the others were added to the inputs.

    >>> from regard.pattern import Causal
    >>> Attention(48, heads=6, kv_heads=2, pattern=Causal())(torch.zeros(5, 7, 48)).shape
    torch.Size([5, 7, 48])
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        head_width: int | None = None,
        pattern: Pattern = Full(),  # noqa: B008 - a frozen value
        position: Position | None = None,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.kv_heads, self.head_width = check_heads(width, heads, kv_heads, head_width, position)
        if not isinstance(pattern, Pattern):
            raise ValueError(f"pattern must be a regard.pattern value, got {pattern=}")
        self.pattern = pattern
        self.rotary = position if isinstance(position, Rotary) else None
        self.bias = position.bias(heads) if isinstance(position, Alibi) else None
        self.qkv = nn.Linear(width, (heads + 2 * self.kv_heads) * self.head_width)
        self.out = nn.Linear(heads * self.head_width, width)

    def forward(
        self,
        x: Tensor,
        *,
        segments: Tensor | None = None,
        cache: LayerCache | None = None,
        trace: Trace | None = None,
    ) -> Tensor:
        """Map tokens (B,N,C) to (B,N,C); with a cache they continue what it holds."""
        H, G = self.heads, self.kv_heads
        qkv = self.qkv(x).unflatten(-1, (H + 2 * G, self.head_width)).transpose(1, 2)  # B H+2G N D
        q, k, v = qkv.split([H, G, G], dim=1)
        if self.rotary is not None:
            start = 0 if cache is None else cache.length
            q, k = self.rotary.turn(q, start), self.rotary.turn(k, start)
        seen = Seen(k, v, segments, self.pattern, None) if cache is None else cache.extend(k, v, segments)
        if torch.compiler.is_compiling() and cache is None and trace is None:
            out = compiled.mix(q, k, v, self.pattern, self.bias, segments)
        else:
            out = _mix(q, seen, self.bias, trace)
        return self.out(out.transpose(1, 2).flatten(2))  # B H N D -> B N H·D


def _mix(q: Tensor, seen: Seen, bias: Tensor | DistanceBias | None, trace: Trace | None) -> Tensor:
    impl = "auto"
    if seen.positions is not None:
        # Some keys were dropped: rows no longer tell positions, so the mask and the bias are spelt out.
        impl = "sdpa"
        if isinstance(bias, DistanceBias):
            bias = bias.dense(seen.positions[-q.shape[2] :, None], seen.positions[None, :])
    key, value, pattern, segments = seen.key, seen.value, seen.pattern, seen.segments
    if trace is not None:
        # A run of its own: the output must not change because someone watches.
        with torch.no_grad():
            _, weights = attend(
                q, key, value, pattern, bias=bias, segments=segments, impl="reference", return_weights=True
            )
        trace.record("weights", weights)
    return attend(q, key, value, pattern, bias=bias, segments=segments, impl=impl)


def check_heads(
    width: int, heads: int, kv_heads: int | None, head_width: int | None, position: Position | None
) -> tuple[int, int]:
    """(kv_heads, head_width) filled in, or a ValueError where they do not fit together."""
    check_int("width", width, 1)
    check_int("heads", heads, 1)
    if head_width is None:
        if width % heads:
            raise ValueError(f"heads must divide width unless head_width is given, got {width=}, {heads=}")
        head_width = width // heads
    check_int("head_width", head_width, 1)
    kv_heads = heads if kv_heads is None else kv_heads
    check_int("kv_heads", kv_heads, 1)
    if heads % kv_heads:
        raise ValueError(f"kv_heads must divide heads, got {heads=}, {kv_heads=}")
    if isinstance(position, Rotary) and head_width % 2:
        raise ValueError(f"Rotary turns pairs, so head_width must be even, got {head_width=}")
    return kv_heads, head_width
