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
from regard.attention.linear.reference import State, accumulator, aged, rates_on
from regard.attention.problem import Form
from regard.layers.cache import LayerPast
from regard.layers.letters import HeadSizes, Number
from regard.layers.position import Alibi, Position
from regard.layers.shapes import Shape
from regard.layers.tracing import Trace
from regard.parallel import HeldKeys, Shard
from regard.pattern import Causal, Full, Pattern
from regard.values import Terse, unsaid

# elu + 1 is always positive, so no denominator vanishes.
linear = cast("Callable[..., Tensor]", partial(linear_attend, feature="elu1", check=False))
onward = cast("Callable[..., tuple[Tensor, State]]", partial(linear, causal=True, return_state=True))


def rates_of(decay: str | None, heads: int) -> tuple[float, ...] | None:
    """How fast each key head forgets, or None where none does.

    >>> rates_of("alibi", 4)
    (0.25, 0.0625, 0.015625, 0.00390625)
    """
    if decay is None:
        return None
    slopes = Alibi().bias(heads).slopes
    assert isinstance(slopes, tuple)
    return slopes


def fading(decay: str | None, heads: int, device: torch.device) -> Tensor | None:
    """The same as a tensor (G,)."""
    rates = rates_of(decay, heads)
    return None if rates is None else rates_on(rates, device)


@dataclass(frozen=True, repr=False)
class LinearAttention(Terse):
    """Every token weighed by φ(q)·φ(k) with φ = elu + 1, of those before it or of all.

    With `decay="alibi"` weights fall with the distance, times exp(−rate·distance), and the rates of the key
    heads are the slopes of `Alibi`. Decoding keeps a state, and no keys.

    >>> from regard.layers import Attention
    >>> Attention(48, heads=6, pattern=Causal(), mixer=LinearAttention("alibi"))(torch.zeros(5, 7, 48)).shape
    torch.Size([5, 7, 48])
    """

    decay: str | None = unsaid(None)
    word: ClassVar = "linear "  # before the name of a layer's pattern
    asks: ClassVar[tuple[str, ...]] = ()  # of the engine, beside the pattern

    def __post_init__(self) -> None:
        if self.decay not in (None, "alibi"):
            raise ValueError(f"decay must be None or 'alibi', got decay={self.decay!r}")

    def check(self, pattern: Pattern, position: Position | None) -> None:
        """Raise unless a layer can sum over the pattern, and nothing is to be added to scores."""
        fits = (Causal(), Full()) if self.decay is None else (Causal(),)
        if pattern not in fits:
            said = " or ".join(f"{type(one).__name__}()" for one in fits)
            raise ValueError(f"pattern must be {said} under mixer={self}, got pattern={pattern}")
        if isinstance(position, Alibi):
            raise ValueError(
                f"position={position} adds to the scores of a softmax, which mixer={self} lacks: its weights "
                "fall with the distance by decay='alibi'"
            )

    def shape(self, sizes: HeadSizes, pattern: Pattern, position: Position | None) -> LinearMixShape:
        """What lies between the projections."""
        return LinearMixShape(*sizes, looks_back=pattern == Causal(), decays=self.decay is not None)

    def cache(self, pattern: Pattern, capacity: int) -> LinearCache:
        """An empty past of a layer."""
        if pattern != Causal():
            raise ValueError(f"a linear layer can be decoded under Causal() alone, got pattern={pattern}")
        return LinearCache(capacity, self.decay)

    def memory(self, pattern: Pattern, keys: Tensor, places: object, capacity: int) -> StateMemory:
        """What decoding keeps of a layer, whose keys (B,G,0,D) are to come: as much at any capacity."""
        B, G, _, D = keys.shape
        acc = accumulator(keys.dtype)
        parts = (keys.new_zeros(B, G, D, D, dtype=acc), keys.new_zeros(B, G, D, dtype=acc))
        return StateMemory(parts, self.decay)

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
        rates = rates_of(self.decay, k.shape[1])
        sums = partial(linear, causal=pattern == Causal(), segments=segments, decay=rates)
        if trace is not None:  # as values, the unit vectors show their weights
            (B, G, N, _), unit = k.shape, torch.eye(k.shape[2], dtype=q.dtype, device=q.device)
            with torch.no_grad():
                weights = sums(q, k, unit.expand(B, G, N, N))
            trace.record("weights", weights)
        return sums(q, k, v)

    def mix_shard(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        pattern: Pattern,
        shard: Shard,
        *,
        bias: DistanceBias | None,
        segments: Tensor | None,
        past: HeldKeys | None = None,
    ) -> Tensor:
        """It cannot: its sums go along the whole sequence, one rank after another."""
        raise ValueError("LinearAttention() mixes whole sequences: over several ranks, take Softmax()")

    def choose(self, form: Form) -> Choice:
        """What runs a problem of this form, and why."""
        decays = self.decay is not None
        return chosen_linear(form.dtype, form.device, (form.D, form.E), form.pattern == Causal(), decays)


@dataclass(frozen=True)
class LinearMixShape(Shape):
    """Linear attention: running sums in place of keys, kept for later tokens where it looks back only."""

    heads: Number
    kv_heads: Number
    head_width: Number
    looks_back: bool
    decays: bool = False


class LinearCache(LayerPast):
    """The past of one linear layer: S = Σ φ(k) vᵀ and z = Σ φ(k), over the keys of the current segment.

    >>> cache = LinearCache(capacity=100)
    >>> for _ in range(10):
    ...     out = cache.mix(*torch.ones(3, 1, 2, 1, 4))
    >>> cache.length, cache.nbytes
    (10, 160)
    """

    def __init__(self, capacity: int, decay: str | None = None) -> None:
        super().__init__(capacity)
        self.decay = decay
        self.state: State | None = None
        self.segment: Tensor | None = None  # B, the one that the state belongs to

    @property
    def nbytes(self) -> int:
        """The bytes of the state."""
        return 0 if self.state is None else sum(part.nbytes for part in self.state)

    def mix(self, q: Tensor, k: Tensor, v: Tensor, segments: Tensor | None = None) -> Tensor:
        """Take in the next keys (B,G,N,D) and values; give what their queries (B,H,N,D) gather."""
        first, self.length = self.length == 0, self.admit(q.shape[2], segments, "a linear layer")
        rates = rates_of(self.decay, k.shape[1])
        if segments is None:
            out, self.state = onward(q, k, v, state=self.state, decay=rates)
            return out
        if first:
            latest = ((segments >= 0) * torch.arange(1, k.shape[2] + 1, device=k.device)).argmax(1)
            self.segment = segments.gather(1, latest[:, None])[:, 0]
            others = ((segments != self.segment[:, None]) | (segments < 0))[:, None, :, None]  # B 1 N 1
            keys, values = (x.masked_fill(others, 0.0) for x in (elu1(k), v))
            fades = fading(self.decay, k.shape[1], k.device)
            self.state = absorb(keys, values, None, accumulator(k.dtype), fades)
            return linear(q, k, v, causal=True, segments=segments, decay=rates)
        each = (x.split(1, dim=2) for x in (q, k, v))
        return torch.cat([self._step(*part) for part in zip(*each, segments.T, strict=True)], 2)

    def _step(self, q: Tensor, k: Tensor, v: Tensor, segment: Tensor) -> Tensor:
        """One position; a row that begins another segment forgets, and padding neither sees nor is seen."""
        assert self.state is not None
        assert self.segment is not None
        empty = (segment < 0).view(-1, 1, 1, 1)
        goes_on = empty | (segment == self.segment).view(-1, 1, 1, 1)
        S, z = aged(self.state, fading(self.decay, k.shape[1], k.device), 1)
        before = (S * goes_on, z * goes_on[..., 0])
        out, (S, z) = onward(q, k, v, state=before)
        self.state = (torch.where(empty, before[0], S), torch.where(empty[..., 0], before[1], z))
        self.segment = torch.where(segment < 0, self.segment, segment)
        return out.masked_fill(empty, 0.0)


@dataclass(frozen=True, eq=False)
class StateMemory:
    """The state of a linear layer for a batch of rows, always in the same memory."""

    parts: State
    decay: str | None = None

    def cache(self, capacity: int) -> LinearCache:
        """An empty cache, of which `take` can take over what it holds."""
        return LinearCache(capacity, self.decay)

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
        if (rates := fading(self.decay, G, S.device)) is not None:
            left = torch.exp(-rates).to(S.dtype)[:, None]
            S *= left[..., None]
            z *= left
        S += fk[..., None] * v.to(S.dtype)[..., None, :]
        z += fk
        out = (fq @ S) / (fq @ z[..., None])
        return out.to(q.dtype).view(B, H, -1)
