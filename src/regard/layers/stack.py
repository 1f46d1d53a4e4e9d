"""Blocks in sequence, each with a pattern of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn

from regard.errors import check_int
from regard.layers.attention import Attention, Mixer
from regard.layers.block import Assembly, TransformerBlock
from regard.layers.cache import Cache
from regard.layers.position import Position
from regard.layers.softmax_mixer import Softmax
from regard.layers.tracing import Trace
from regard.pattern import (
    And,
    Causal,
    Dilated,
    Full,
    Pattern,
    SparseFixed,
    SparseStrided,
    Strided,
    Windowed,
    parse,
)

Value = TypeVar("Value", Pattern, Mixer, Position)
WORDS: dict[object, str] = {Pattern: "a regard.pattern value", Position: "a position"}


class Stack(nn.ModuleList):
    """Blocks one after another; the arguments of `Attention` are shared, the patterns are one per block.

    Mixers and positions are cycled over the blocks.

    >>> from regard.layers import PreNorm
    >>> from regard.pattern import Causal, Strided
    >>> stack = Stack([Strided(back=2), Causal()], PreNorm(), width=48, heads=6)
    >>> stack(torch.zeros(5, 7, 48)).shape
    torch.Size([5, 7, 48])
    """

    def __init__(  # noqa: PLR0913 - what `Attention` takes, and what a block does
        self,
        patterns: Sequence[Pattern],
        assembly: Assembly,
        *,
        width: int,
        heads: int,
        kv_heads: int | None = None,
        head_width: int | None = None,
        mixer: Mixer | Sequence[Mixer] = Softmax(),  # noqa: B008 - a frozen value
        position: Position | Sequence[Position] | None = None,
        dropout: float = 0.0,
    ) -> None:
        def attention(pattern: Pattern, mixer: Mixer, position: Position | None) -> Attention:
            return Attention(
                width,
                heads,
                kv_heads=kv_heads,
                head_width=head_width,
                pattern=pattern,
                mixer=mixer,
                position=position,
                projections=assembly.projections,
            )

        depth = len(patterns)
        places = cycle(position, depth) if position is not None else [None] * depth
        super().__init__(
            TransformerBlock(attention(*layer), assembly, dropout=dropout)
            for layer in zip(patterns, cycle(mixer, depth), places, strict=True)
        )

    def forward(
        self,
        x: Tensor,
        *,
        segments: Tensor | None = None,
        cache: Cache | None = None,
        trace: Trace | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Map tokens (B,N,C) to (B,N,C)."""
        for i, block in enumerate(self):
            x = cast(TransformerBlock, block)(
                x,
                segments=segments,
                cache=None if cache is None else cache.layers[i],
                trace=None if trace is None else trace.inside(str(i)),
                generator=generator,
            )
        return x

    def cache(self, capacity: int) -> Cache:
        """An empty cache for so many positions."""
        layers = [cast(TransformerBlock, block).attention for block in self]
        return Cache([layer.mixer.cache(layer.pattern, capacity) for layer in layers])

    def first(self, x: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        """Token 0 (B,1,C) of what comes out where the last block sees everything."""
        *before, last = self
        for block in before:
            x = block(x, generator=generator)
        return cast(TransformerBlock, last).first(x, generator=generator)


def one_or_more(name: str, given: Any, kind: Any) -> Any:
    """One pattern or mixer as it is, several as a tuple, or a ValueError; patterns may be texts."""
    if kind is Pattern and isinstance(given, str):
        return parse(given)
    if kind is Pattern and isinstance(given, list | tuple):
        given = [parse(one) if isinstance(one, str) else one for one in given]
    if isinstance(given, kind):
        return given
    several = tuple(given) if isinstance(given, Iterable) else ()
    if not several or not all(isinstance(one, kind) for one in several):
        what = WORDS.get(kind, "Softmax(), LinearAttention()")
        raise ValueError(f"{name} must be {what} or a sequence of them, got {given!r}")
    return several


def cycle(given: Value | Sequence[Value], depth: int) -> tuple[Value, ...]:
    """One pattern, mixer or position per block: the given ones over and over.

    >>> from regard.pattern import Causal, Strided
    >>> cycle([Strided(back=1), Causal()], depth=3)
    (Strided(back=1), Causal(), Strided(back=1))
    """
    check_int("depth", depth, 0)
    checked = one_or_more("pattern", given, Pattern | Mixer | Position)
    values = checked if isinstance(checked, tuple) else (checked,)
    return tuple(values[i % len(values)] for i in range(depth))


def causal(pattern: Pattern) -> Pattern:
    """`pattern & Causal()`, left as it is where it looks back only.

    >>> from regard.pattern import Strided
    >>> causal(Strided(back=3)), causal(Full())
    (Strided(back=3), Causal())
    """
    if isinstance(pattern, Full):
        return Causal()
    if isinstance(pattern, Causal | Strided | Windowed | Dilated | SparseStrided | SparseFixed):
        return pattern
    if isinstance(pattern, And) and Causal() in pattern.parts:
        return pattern
    return pattern & Causal()
