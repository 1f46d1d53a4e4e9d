"""Softmax attention as the mixer of a layer: any pattern, and a past of keys and values in slots."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import ClassVar

import torch
from torch import Tensor

from regard.attention import Choice, DistanceBias
from regard.attention.engine import chosen, run
from regard.attention.inputs import problem_of
from regard.attention.problem import Form, Problem, Segments
from regard.layers.cache import CachedKeys, LayerCache, LayerPast
from regard.layers.letters import HeadSizes, Number
from regard.layers.position import Alibi, Position
from regard.layers.shapes import Shape
from regard.layers.slots import Layout, layout_of
from regard.layers.tracing import Trace
from regard.parallel import HeldKeys, Shard
from regard.pattern import Full, Pattern
from regard.values import Terse, unsaid

ENDLESS = 1 << 62  # positions, more than anyone counts to


@dataclass(frozen=True, repr=False)
class Softmax(Terse):
    """Every token weighed by the softmax of its score, of those that the pattern shows.

    Scores are products times `scale`, 1/√head_width unless it is given; a `softcap` bends them into ±softcap
    (Gemma 2). Decoding keeps the keys and values that the pattern can still show.
    """

    scale: float | None = unsaid(None)
    softcap: float | None = unsaid(None)
    word: ClassVar = ""  # before the name of a layer's pattern

    def __post_init__(self) -> None:
        for name, value in (("scale", self.scale), ("softcap", self.softcap)):
            if value is not None and not 0 < value < inf:
                raise ValueError(f"{name} must be positive, got {name}={value!r}")

    @property
    def asks(self) -> tuple[str, ...]:
        """What is asked of the engine beside the pattern."""
        return () if self.softcap is None else ("softcap",)

    def check(self, pattern: Pattern, position: Position | None) -> None:
        """Every pattern and every position will do."""

    def shape(self, sizes: HeadSizes, pattern: Pattern, position: Position | None) -> SoftmaxShape:
        """What lies between the projections."""
        return SoftmaxShape(
            *sizes,
            pattern,
            biased=isinstance(position, Alibi),
            scaled=None if self.scale is None else self.scale != 1,
            softcap=self.softcap is not None,
        )

    def cache(self, pattern: Pattern, capacity: int) -> LayerCache:
        """An empty past of a layer."""
        return LayerCache(pattern, capacity)

    def memory(self, pattern: Pattern, keys: Tensor, places: Places, capacity: int) -> SlotMemory:
        """What decoding keeps of a layer, whose keys (B,G,0,D) are to come; `places` are those of others."""
        if pattern not in places:
            places[pattern] = PatternSlots(pattern, capacity)
        B, G, _, D = keys.shape
        S = places[pattern].layout.size
        rows = torch.arange(B, device=keys.device)
        parts = (keys.new_zeros(B, G, S, D), keys.new_zeros(B, G, S, D))
        return SlotMemory(places[pattern], parts, rows, self)

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
        assert cache is None or isinstance(cache, LayerCache)
        seen = CachedKeys(k, v, segments) if cache is None else cache.extend(k, v, segments)
        if seen.positions is None:
            problem = problem_of(
                q, seen.key, seen.value, pattern, scale=self.scale, bias=bias, segments=seen.segments,
                softcap=self.softcap,
            )  # fmt: skip
        else:
            problem = self._over_slots(q, seen, pattern, bias)
        if trace is not None:
            # By a run of its own: the output must not change because someone watches.
            with torch.no_grad():
                weights = run(problem.changed(weights=True)).weights
            assert weights is not None
            trace.record("weights", weights)
        return run(problem).out

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
        """What the queries (B,H,N,D) of one rank gather from the tokens of all ranks."""
        return shard.attend(
            q, k, v, pattern, scale=self.scale, bias=bias, softcap=self.softcap, segments=segments, past=past
        )

    def scale_of(self, width: int) -> float:
        """What products of queries and keys of this width are multiplied by."""
        return width**-0.5 if self.scale is None else self.scale

    def _over_slots(
        self, q: Tensor, seen: CachedKeys, pattern: Pattern, bias: DistanceBias | None
    ) -> Problem:
        """Some keys were dropped or overwritten: each slot says where its key stands."""
        assert seen.positions is not None
        assert seen.queries is not None
        segments = None
        if seen.segments is not None:
            assert seen.own is not None
            segments = Segments(seen.own, seen.segments)
        scale, offset, slots = self.scale_of(q.shape[3]), seen.queries[:1], seen.positions[None]
        return Problem(
            q, seen.key, seen.value, pattern, scale, bias, segments, offset=offset, slots=slots,
            softcap=self.softcap,
        )  # fmt: skip

    def choose(self, form: Form) -> Choice:
        """What runs a problem of this form, and why."""
        return chosen(form)


@dataclass(frozen=True)
class SoftmaxShape(Shape):
    """Scores, softmax and weighted sums over a pattern; keys are cached where it looks back only.

    `held` are the numbers that a cache keeps of a position, unless they are its keys and values; one that
    is `early` has dropped, between two tokens, the key that the next one will not see.
    """

    heads: Number
    kv_heads: Number
    head_width: Number
    pattern: Pattern
    biased: bool = False
    cached: bool = True
    value_width: Number | None = None  # None: as wide as a head
    scaled: bool | None = None  # None: by 1/√head_width
    softcap: bool = False
    held: Number | None = None
    early: bool = False

    @property
    def values(self) -> Number:
        """The width of a value."""
        return self.head_width if self.value_width is None else self.value_width


class PatternSlots:
    """What all layers of one pattern share: where keys lie, and at each step which slots may be seen.

    Every key has a place: one that is never seen again goes to a ring of one slot.
    """

    def __init__(self, pattern: Pattern, capacity: int) -> None:
        self.pattern, self.layout = pattern, _roomy(pattern, capacity)
        self.segments: Tensor | None = None  # B S, where the prompts have segments
        self.slot: Tensor | int = 0  # where the new key goes
        self.filled = 0  # no slot from here on holds anything
        self.allowed: Tensor | None = None  # B or 1, 1, 1, filled
        self.bias: Tensor | None = None  # B or 1, H, 1, filled

    @property
    def endless(self) -> bool:
        """Whether a longer sequence would be laid out alike: a ring, not just as many slots as a ring has."""
        layout, longest = self.layout, _roomy(self.pattern, ENDLESS)
        return layout.table is not None or (layout.first, layout.recent) == (longest.first, longest.recent)


Places = dict[Pattern, PatternSlots]


@dataclass(frozen=True, eq=False)
class SlotMemory:
    """The keys and values (B,G,S,D) of a layer for a batch of rows, always in the same memory."""

    place: PatternSlots
    parts: tuple[Tensor, Tensor]
    rows: Tensor  # 0 … B − 1
    mixer: Softmax
    forms: dict[bool, Form] = field(default_factory=dict)  # of steps without and with a mask or bias

    def cache(self, capacity: int) -> LayerCache:
        """An empty cache, of which `take` can take over what it holds."""
        return LayerCache(self.place.pattern, capacity, self.place.layout)

    def take(self, rows: Tensor, cache: LayerPast) -> None:
        """Let some rows go on from what a cache holds."""
        assert isinstance(cache, LayerCache)
        found = (cache.key, cache.value, cache.segments)
        for mine, new in zip((*self.parts, self.place.segments), found, strict=True):
            if mine is not None:
                assert new is not None
                mine[rows] = new

    def step(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """What the queries (B,H,D) of the next tokens gather; their keys and values (B,G,D) are taken in."""
        place, (B, G, _) = self.place, k.shape
        for x, new in zip(self.parts, (k, v), strict=True):
            self._write(x, new)
        key, value = (x[:, :, : place.filled] for x in self.parts)
        scale, softcap = self.mixer.scale_of(q.shape[2]), self.mixer.softcap
        plain = place.allowed is None and place.bias is None
        # The heads of a group are further queries of its keys, where the mask does not tell them apart.
        q = q.reshape(B, G, q.shape[1] // G, -1) if plain else q[:, :, None]
        # From step to step only the number of keys differs, for which nobody asks who runs plain scores.
        form = self.forms.get(plain) if softcap is None else None
        problem = Problem(
            q,
            key,
            value,
            Full(),
            scale,
            place.bias,
            mask=place.allowed,
            softcap=softcap,
            form=form,  # type: ignore[arg-type]
        )
        self.forms[plain] = problem.form
        return run(problem).out

    def _write(self, x: Tensor, new: Tensor) -> None:
        slot, layout, rows = self.place.slot, self.place.layout, self.rows
        if isinstance(slot, int):
            x[:, :, slot] = new
        elif layout.table is None:
            x[rows, :, slot] = new
        elif layout.size:  # some keys are never seen again, and have no slot
            to, lost = slot.expand(len(x)).clamp(min=0), (slot < 0).expand(len(x))[:, None, None]
            x[rows, :, to] = torch.where(lost, x[rows, :, to], new)


def _roomy(pattern: Pattern, capacity: int) -> Layout:
    layout = layout_of(pattern, capacity)
    bounded = pattern.keys_kept() is not None
    if layout.table is None and layout.recent == 0 and bounded and layout.first < capacity:
        return Layout(layout.first, 1)
    return layout
