"""Linear attention as the choice of a layer: the softmax dropped, so that the past is one small matrix."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention import linear_attend
from regard.attention.linear.features import elu1
from regard.attention.linear.reference import visible
from regard.errors import check_int
from regard.layers.tracing import Trace
from regard.pattern import Causal
from regard.pattern.spans import CacheBound

FEATURE = "elu1"  # always positive, so no denominator vanishes


@dataclass(frozen=True)
class LinearAttention(Causal, word="linear"):
    """Every earlier position, weighed by φ(q)·φ(k) with φ = elu + 1; decoding keeps a state, and no keys.

    It stands where a pattern stands, alone or in a sequence, but not inside an expression.

    >>> from regard.pattern import parse
    >>> str(LinearAttention()), parse("linear"), LinearAttention().keys_kept()
    ('linear', LinearAttention(), 0)
    """

    def kept(self) -> CacheBound | None:
        """No keys: their sum is enough."""
        return CacheBound()


class LinearCache:
    """The past of one linear layer: S = Σ φ(k) vᵀ and z = Σ φ(k), over the keys of the current segment.

    >>> cache = LinearCache(capacity=100)
    >>> for _ in range(10):
    ...     out = cache.mix(*torch.ones(3, 1, 2, 1, 4))
    >>> cache.length, cache.nbytes
    (10, 160)
    """

    bounded = True

    def __init__(self, capacity: int) -> None:
        check_int("capacity", capacity, 1)
        self.capacity, self.length = capacity, 0
        self.state: tuple[Tensor, Tensor] | None = None  # B G D E and B G D
        self.segment: Tensor | None = None  # B, the one that the state belongs to

    @property
    def held(self) -> int:
        """How many keys are held: none."""
        return 0

    @property
    def nbytes(self) -> int:
        """The bytes of the state."""
        return 0 if self.state is None else sum(part.nbytes for part in self.state)

    def mix(self, q: Tensor, k: Tensor, v: Tensor, segments: Tensor | None = None) -> Tensor:
        """Take in the next keys (B,G,N,D) and values; give what their queries (B,H,N,D) gather."""
        if self.length + q.shape[2] > self.capacity:
            stop = self.length + q.shape[2]
            raise ValueError(
                f"the cache of {LinearAttention()} ends at {self.capacity} positions, got {stop}"
            )
        if self.length and (segments is None) != (self.segment is None):
            raise ValueError("segments must be given at every step of a cache or at none")
        first = self.length == 0
        self.length += q.shape[2]
        if segments is None:
            out, self.state = linear_attend(
                q, k, v, causal=True, feature=FEATURE, state=self.state, return_state=True, check=False
            )
            return out
        if first:
            self.segment = segments[:, -1]
            mine = ((segments == segments[:, -1:]) & (segments >= 0))[:, None, :, None]  # B 1 N 1
            acc = torch.promote_types(k.dtype, torch.float32)
            kept = elu1(k).to(acc).masked_fill(~mine, 0.0)
            self.state = (kept.mT @ v.to(acc).masked_fill(~mine, 0.0), kept.sum(2))
            out = linear_attend(q, k, v, causal=True, feature=FEATURE, segments=segments, check=False)
            assert isinstance(out, Tensor)
            return out
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
        out, (S, z) = linear_attend(
            q, k, v, causal=True, feature=FEATURE, state=before, return_state=True, check=False
        )
        self.state = (torch.where(empty, before[0], S), torch.where(empty[..., 0], before[1], z))
        self.segment = segment
        return out.masked_fill(empty, 0.0)


def mix_linear(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    segments: Tensor | None,
    cache: LinearCache | None,
    trace: Trace | None,
) -> Tensor:
    """Linear attention of a layer: over all tokens, or continuing what a cache holds."""
    if cache is not None:
        return cache.mix(q, k, v, segments)
    if trace is not None:
        with torch.no_grad():
            trace.record("weights", linear_weights(q, k, segments))
    impl = "chunked" if torch.compiler.is_compiling() else "auto"  # the compiler fuses plain torch
    out = linear_attend(q, k, v, causal=True, feature=FEATURE, segments=segments, check=False, impl=impl)
    assert isinstance(out, Tensor)
    return out


def linear_weights(q: Tensor, k: Tensor, segments: Tensor | None) -> Tensor:
    """The weights (B,H,N,N) that linear attention applies, never made outside of a trace."""
    q, k = elu1(q), elu1(k).repeat_interleave(q.shape[1] // k.shape[1], 1)
    seen = visible(q.shape[2], q.shape[2], True, segments, q.device)
    scores = (q @ k.mT).masked_fill(~seen, 0.0)
    return scores / scores.sum(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)
