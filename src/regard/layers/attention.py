"""Attention with weights: one fused projection, any pattern, grouped heads, cache and trace."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, scaled_dot_product_attention

from regard.attention import DistanceBias, attend
from regard.attention.triton import short
from regard.layers import compiled
from regard.layers.cache import CachedKeys, LayerCache
from regard.layers.letters import check_size, divides, ratio
from regard.layers.linear_mixer import LinearAttention, LinearCache, mix_linear
from regard.layers.position import Alibi, Position, Rotary
from regard.layers.slots import attend_slots
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
        if isinstance(pattern, LinearAttention):
            if isinstance(position, Alibi):
                raise ValueError(f"{position} adds to the scores of a softmax, which {pattern} has not")
        elif any(isinstance(atom, LinearAttention) for atom in pattern.atoms()):
            raise ValueError(f"linear stands alone, not inside an expression, got {pattern=}")
        self.pattern = pattern
        self.rotary = position if isinstance(position, Rotary) else None
        self.bias = position.bias(heads) if isinstance(position, Alibi) else None
        # Short sequences go straight from the projection to a kernel, where nothing else touches the scores.
        bare = not isinstance(position, Rotary | Alibi) and not isinstance(pattern, LinearAttention)
        self.band = short.band_in_one_tile(pattern) if bare else None
        self.qkv = nn.Linear(width, (heads + 2 * self.kv_heads) * self.head_width)
        self.out = nn.Linear(heads * self.head_width, width)

    def forward(
        self,
        x: Tensor,
        *,
        segments: Tensor | None = None,
        cache: LayerCache | LinearCache | None = None,
        trace: Trace | None = None,
    ) -> Tensor:
        """Map tokens (B,N,C) to (B,N,C); with a cache they continue what it holds."""
        H, G = self.heads, self.kv_heads
        qkv = self.qkv(x).unflatten(-1, (H + 2 * G, self.head_width))  # B N H+2G D
        if self.band is not None and qkv.is_cuda and segments is cache is None and short.fits(qkv):
            if trace is not None:
                q, k, v = qkv.transpose(1, 2).split([H, G, G], dim=1)  # B H N D
                _record(q, CachedKeys(k, v, None), self.pattern, None, trace)
            return self.out(short.attend_qkv(qkv, H, self.band).flatten(2))
        q, k, v = qkv.transpose(1, 2).split([H, G, G], dim=1)  # B H N D
        if self.rotary is not None:
            start = 0 if cache is None else cache.length
            q, k = self.rotary.turn(q, start), self.rotary.turn(k, start)
        if isinstance(self.pattern, LinearAttention):
            assert cache is None or isinstance(cache, LinearCache)
            out = mix_linear(q, k, v, segments, cache, trace)
        elif torch.compiler.is_compiling() and cache is None and trace is None:
            out = compiled.mix(q, k, v, self.pattern, self.bias, segments)
        else:
            assert cache is None or isinstance(cache, LayerCache)
            seen = CachedKeys(k, v, segments, None) if cache is None else cache.extend(k, v, segments)
            out = _mix(q, seen, self.pattern, self.bias, trace)
        return self.out(out.transpose(1, 2).flatten(2))  # B H N D -> B N H·D

    def first_row(self, x: Tensor) -> Tensor:
        """Row 0 (B,1,C) of full attention over tokens (B,N,C): one query for all keys."""
        wide = self.heads * self.head_width
        weight, bias = self.qkv.weight, self.qkv.bias
        q = linear(x[:, :1], weight[:wide], bias[:wide])
        k, v = linear(x, weight[wide:], bias[wide:]).chunk(2, dim=-1)
        q, k, v = (y.unflatten(-1, (-1, self.head_width)).transpose(1, 2) for y in (q, k, v))  # B H N D
        out = scaled_dot_product_attention(q, k, v, enable_gqa=self.heads != self.kv_heads)
        return self.out(out.transpose(1, 2).flatten(2))


def _mix(
    q: Tensor, seen: CachedKeys, pattern: Pattern, bias: DistanceBias | None, trace: Trace | None
) -> Tensor:
    if seen.positions is not None:
        return _mix_slots(q, seen, pattern, bias, trace)
    if trace is not None:
        _record(q, seen, pattern, bias, trace)
    return attend(q, seen.key, seen.value, pattern, bias=bias, segments=seen.segments)


@torch.no_grad()
def _record(q: Tensor, seen: CachedKeys, pattern: Pattern, bias: DistanceBias | None, trace: Trace) -> None:
    """The weights by a run of its own: the output must not change because someone watches."""
    key, value, segments = seen.key, seen.value, seen.segments
    given = attend(
        q, key, value, pattern, bias=bias, segments=segments, impl="reference", return_weights=True
    )
    trace.record("weights", given[1])


def _mix_slots(
    q: Tensor, seen: CachedKeys, pattern: Pattern, bias: DistanceBias | None, trace: Trace | None
) -> Tensor:
    """Some keys were dropped or overwritten: slots no longer tell positions, so the mask is spelt out."""
    keys, queries = seen.positions, seen.queries
    assert keys is not None
    assert queries is not None
    allowed = (pattern.allows(queries[:, None], keys[None, :]) & (keys >= 0))[None, None]  # 1 1 N S
    if seen.segments is not None:
        assert seen.own is not None
        own = seen.own[:, None, :, None]
        allowed = allowed & (own == seen.segments[:, None, None, :]) & (own >= 0)
    dense = None if bias is None else bias.dense(queries[:, None], keys[None, :])
    return attend_slots(q, seen.key, seen.value, allowed, dense, trace)


def check_heads(
    width: int, heads: int, kv_heads: int | None, head_width: int | None, position: Position | None
) -> tuple[int, int]:
    """(kv_heads, head_width) filled in, or a ValueError where they do not fit together."""
    check_size("width", width)
    check_size("heads", heads)
    if head_width is None:
        if not divides(heads, width):
            raise ValueError(f"heads must divide width unless head_width is given, got {width=}, {heads=}")
        head_width = ratio(width, heads)
    check_size("head_width", head_width)
    kv_heads = heads if kv_heads is None else kv_heads
    check_size("kv_heads", kv_heads)
    if not divides(kv_heads, heads):
        raise ValueError(f"kv_heads must divide heads, got {heads=}, {kv_heads=}")
    if isinstance(position, Rotary) and not divides(2, head_width):
        raise ValueError(f"Rotary turns pairs, so head_width must be even, got {head_width=}")
    return kv_heads, head_width
