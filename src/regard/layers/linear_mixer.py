"""Linear attention as the mixer of a layer: the softmax dropped, so that the past is one small matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, cast

import torch
from torch import Tensor

from regard.attention import Choice, DistanceBias, linear_attend
from regard.attention.linear.attend import chosen_linear
from regard.attention.linear.chunked import absorb
from regard.attention.linear.features import elu1
from regard.attention.linear.reference import State, accumulator
from regard.attention.problem import Form
from regard.layers.cache import LayerPast
from regard.layers.letters import HeadSizes, Number
from regard.layers.position import Alibi, Position
from regard.layers.shapes import Shape
from regard.layers.tracing import Trace
from regard.pattern import Causal, Full, Pattern

# elu + 1 is always positive, so no denominator vanishes.
linear = cast("Callable[..., Tensor]", partial(linear_attend, feature="elu1", check=False))
onward = cast("Callable[..., tuple[Tensor, State]]", partial(linear, causal=True, return_state=True))


@dataclass(frozen=True)
class LinearAttention:
    """Every token weighed by φ(q)·φ(k) with φ = elu + 1, of those before it or of all.

    Decoding keeps a state, and no keys.

    >>> from regard.layers import Attention
    >>> Attention(48, heads=6, pattern=Causal(), mixer=LinearAttention())(torch.zeros(5, 7, 48)).shape
    torch.Size([5, 7, 48])
    """

    word: ClassVar = "linear "  # before the name of a layer's pattern
    asks: ClassVar[tuple[str, ...]] = ()  # of the engine, beside the pattern

    def check(self, pattern: Pattern, position: Position | None) -> None:
        """Raise unless a layer can sum over the pattern, and nothing is to be added to scores."""
        if pattern not in (Causal(), Full()):
            raise ValueError(f"pattern must be Causal() or Full() under mixer={self}, got pattern={pattern}")
        if isinstance(position, Alibi):
            raise ValueError(f"position={position} adds to the scores of a softmax, which mixer={self} lacks")

    def shape(self, sizes: HeadSizes, pattern: Pattern, position: Position | None) -> LinearMixShape:
        """What lies between the projections."""
        return LinearMixShape(*sizes, looks_back=pattern == Causal())

    def cache(self, pattern: Pattern, capacity: int) -> LinearCache:
        """An empty past of a layer."""
        if pattern != Causal():
            raise ValueError(f"a linear layer can be decoded under Causal() alone, got pattern={pattern}")
        return LinearCache(capacity)

    def memory(self, pattern: Pattern, keys: Tensor, places: object, capacity: int) -> StateMemory:
        """What decoding keeps of a layer, whose keys (B,G,0,D) are to come: as much at any capacity."""
        B, G, _, D = keys.shape
        acc = accumulator(keys.dtype)
        return StateMemory((keys.new_zeros(B, G, D, D, dtype=acc), keys.new_zeros(B, G, D, dtype=acc)))

    def mix(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        pattern: Pattern,
        *,
        bias: DistanceBias | None,
        segments: Tensor | None,
        cache: LayerPast | None,
        trace: Trace | None,
    ) -> Tensor:
        """What queries (B,H,N,D) gather, over all tokens or continuing what a cache holds."""
        if cache is not None:
            assert isinstance(cache, LinearCache)
            return cache.mix(q, k, v, segments)
        causal = pattern == Causal()
        if trace is not None:  # as values, the unit vectors show their weights
            (B, G, N, _), unit = k.shape, torch.eye(k.shape[2], dtype=q.dtype, device=q.device)
            with torch.no_grad():
                weights = linear(q, k, unit.expand(B, G, N, N), causal=causal, segments=segments)
            trace.record("weights", weights)
        return linear(q, k, v, causal=causal, segments=segments)

    def choose(self, form: Form) -> Choice:
        """What runs a problem of this form, and why."""
        return chosen_linear(form.dtype, form.device, (form.D, form.E), form.pattern == Causal())


@dataclass(frozen=True)
class LinearMixShape(Shape):
    """Linear attention: running sums in place of keys, kept for later tokens where it looks back only."""

    heads: Number
    kv_heads: Number
    head_width: Number
    looks_back: bool


class LinearCache(LayerPast):
    """The past of one linear layer: S = Σ φ(k) vᵀ and z = Σ φ(k), over the keys of the current segment.

    >>> cache = LinearCache(capacity=100)
    >>> for _ in range(10):
    ...     out = cache.mix(*torch.ones(3, 1, 2, 1, 4))
    >>> cache.length, cache.nbytes
    (10, 160)
    """

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.state: State | None = None
        self.segment: Tensor | None = None  # B, the one that the state belongs to

    @property
    def nbytes(self) -> int:
        """The bytes of the state."""
        return 0 if self.state is None else sum(part.nbytes for part in self.state)

    def mix(self, q: Tensor, k: Tensor, v: Tensor, segments: Tensor | None = None) -> Tensor:
        """Take in the next keys (B,G,N,D) and values; give what their queries (B,H,N,D) gather."""
        first, self.length = self.length == 0, self.admit(q.shape[2], segments, "a linear layer")
        if segments is None:
            out, self.state = onward(q, k, v, state=self.state)
            return out
        if first:
            self.segment = segments[:, -1]
            others = ((segments != segments[:, -1:]) | (segments < 0))[:, None, :, None]  # B 1 N 1
            keys, values = (x.masked_fill(others, 0.0) for x in (elu1(k), v))
            self.state = absorb(keys, values, None, accumulator(k.dtype))
            return linear(q, k, v, causal=True, segments=segments)
        each = (x.split(1, dim=2) for x in (q, k, v))
        return torch.cat([self._step(*part) for part in zip(*each, segments.T, strict=True)], 2)

    def _step(self, q: Tensor, k: Tensor, v: Tensor, segment: Tensor) -> Tensor:
        """One position; a row that begins another segment forgets, and padding neither sees nor is seen."""
        assert self.state is not None
        assert self.segment is not None
        goes_on = (segment == self.segment).view(-1, 1, 1, 1)
        empty = (segment < 0).view(-1, 1, 1, 1)
        S, z = self.state
        before = (S * goes_on, z * goes_on[..., 0])
        out, (S, z) = onward(q, k, v, state=before)
        self.state = (torch.where(empty, before[0], S), torch.where(empty[..., 0], before[1], z))
        self.segment = segment
        return out.masked_fill(empty, 0.0)


@dataclass(frozen=True, eq=False)
class StateMemory:
    """The state of a linear layer for a batch of rows, always in the same memory."""

    parts: State

    def cache(self, capacity: int) -> LinearCache:
        """An empty cache, of which `take` can take over what it holds."""
        return LinearCache(capacity)

    def take(self, rows: Tensor, cache: LayerPast) -> None:
        """Let some rows go on from what a cache holds."""
        assert isinstance(cache, LinearCache)
        assert cache.state is not None
        for mine, found in zip(self.parts, cache.state, strict=True):
            mine[rows] = found

    def step(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """What the queries (B,H,D) of the next tokens gather; their keys and values (B,G,D) are taken in."""
        S, z = self.parts
        B, H, D = q.shape
        G = k.shape[1]
        fq, fk = elu1(q).to(S.dtype).view(B, G, H // G, D), elu1(k).to(S.dtype)
        S += fk[..., None] * v.to(S.dtype)[..., None, :]
        z += fk
        out = (fq @ S) / (fq @ z[..., None])
        return out.to(q.dtype).view(B, H, -1)
