"""Attention with weights: one fused projection, any pattern and mixer, grouped heads, cache and trace."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from regard.attention import Choice, attend
from regard.attention.engine import attend_projection
from regard.attention.problem import Form
from regard.attention.triton.short import reach_in_one_tile
from regard.layers.cache import LayerPast
from regard.layers.letters import check_size, divides, ratio
from regard.layers.linear_mixer import LinearAttention
from regard.layers.position import Alibi, Position, Rotary
from regard.layers.projections import Projections
from regard.layers.softmax_mixer import Softmax
from regard.layers.tracing import Trace
from regard.pattern import Full, Pattern

Mixer = Softmax | LinearAttention


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
        mixer: Mixer = Softmax(),  # noqa: B008 - a frozen value
        position: Position | None = None,
        projections: Projections = Projections(),  # noqa: B008 - a frozen value
    ) -> None:
        super().__init__()
        self.heads = heads
        self.kv_heads, self.head_width = check_heads(width, heads, kv_heads, head_width, position)
        if not isinstance(pattern, Pattern):
            raise ValueError(f"pattern must be a regard.pattern value, got {pattern=}")
        check_mixer(mixer, pattern, position)
        self.pattern, self.mixer = pattern, mixer
        self.rotary = position if isinstance(position, Rotary) else None
        self.bias = position.bias(heads) if isinstance(position, Alibi) else None
        # Where nothing else touches the scores, a kernel may read the projection as it lies.
        norm = projections.head_norm
        bare = not isinstance(position, Rotary | Alibi) and mixer == Softmax() and norm is None
        self.packs = bare and reach_in_one_tile(pattern) is not None
        self.projections = projections
        self.qkv = nn.Linear(width, (heads + 2 * self.kv_heads) * self.head_width, projections.qkv_bias)
        self.query_norm = None if norm is None else norm.build(self.head_width)
        self.key_norm = None if norm is None else norm.build(self.head_width)
        self.out = nn.Linear(heads * self.head_width, width, projections.out_bias)

    def forward(
        self,
        x: Tensor,
        *,
        segments: Tensor | None = None,
        cache: LayerPast | None = None,
        trace: Trace | None = None,
    ) -> Tensor:
        """Map tokens (B,N,C) to (B,N,C); with a cache they continue what it holds."""
        H, G = self.heads, self.kv_heads
        qkv = self.qkv(x).unflatten(-1, (H + 2 * G, self.head_width))  # B N H+2G D
        if self.packs and segments is cache is trace is None:
            return self.out(attend_projection(qkv, H, self.pattern).transpose(1, 2).flatten(2))
        q, k, v = qkv.transpose(1, 2).split([H, G, G], dim=1)  # B H N D
        q, k = self.normed(q, k)
        if self.rotary is not None:
            start = 0 if cache is None else cache.length
            q, k = self.rotary.turn(q, start), self.rotary.turn(k, start)
        out = self.mixer.mix(
            q, k, v, self.pattern, bias=self.bias, segments=segments, cache=cache, trace=trace
        )
        return self.out(out.transpose(1, 2).flatten(2))  # B H N D -> B N H·D

    def normed(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys (…,D), each normed by itself where the layer does so."""
        if self.query_norm is None or self.key_norm is None:
            return q, k
        return self.query_norm(q), self.key_norm(k)

    def first_row(self, x: Tensor) -> Tensor:
        """Row 0 (B,1,C) of full attention over tokens (B,N,C): one query for all keys."""
        wide = self.heads * self.head_width
        weight, bias = self.qkv.weight, self.qkv.bias
        own, others = (None, None) if bias is None else (bias[:wide], bias[wide:])
        q = linear(x[:, :1], weight[:wide], own)
        k, v = linear(x, weight[wide:], others).chunk(2, dim=-1)
        q, k, v = (y.unflatten(-1, (-1, self.head_width)).transpose(1, 2) for y in (q, k, v))  # B H N D
        q, k = self.normed(q, k)
        return self.out(attend(q, k, v).transpose(1, 2).flatten(2))

    def choose(self, batch: int, n: int, *, segments: bool = False) -> Choice:
        """What `forward` runs for so many sequences of n tokens, outside of torch.compile, and why.

        >>> Attention(48, heads=6).choose(batch=5, n=7).impl
        'sdpa'
        """
        weight = self.qkv.weight
        sizes = (batch, self.heads, self.kv_heads, n, n, self.head_width, self.head_width)
        kind = weight.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight.dtype
        packed = self.packs and not segments
        asked = {"slopes": self.bias is not None, "segments": segments}
        uses = (*(word for word, wanted in asked.items() if wanted), *self.mixer.asks, *["packed"] * packed)
        return self.mixer.choose(Form(sizes, dtype, weight.device, self.pattern, uses))


def check_mixer(mixer: Mixer, pattern: Pattern, position: Position | None) -> None:
    """Raise unless a layer can mix its tokens so, under this pattern and with this position."""
    if not isinstance(mixer, Mixer):
        raise ValueError(f"mixer must be Softmax() or LinearAttention(), got {mixer=}")
    mixer.check(pattern, position)


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
    if isinstance(position, Rotary):
        position.check(head_width)
    return kv_heads, head_width
