"""Blocks in sequence, each with a pattern of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from regard.errors import check_int
from regard.layers.attention import Attention
from regard.layers.block import Assembly, TransformerBlock
from regard.layers.cache import Cache
from regard.layers.position import Position
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
)


class Stack(nn.ModuleList):
    """Blocks one after another; the arguments of `Attention` are shared, the patterns are one per block.

    >>> from regard.layers import PreNorm
    >>> from regard.pattern import Causal, Strided
    >>> stack = Stack([Strided(back=2), Causal()], PreNorm(), width=48, heads=6)
    >>> stack(torch.zeros(5, 7, 48)).shape
    torch.Size([5, 7, 48])
    """

    def __init__(
        self,
        patterns: Sequence[Pattern],
        assembly: Assembly,
        *,
        width: int,
        heads: int,
        kv_heads: int | None = None,
        head_width: int | None = None,
        position: Position | None = None,
        dropout: float = 0.0,
    ) -> None:
        def attention(pattern: Pattern) -> Attention:
            sizes = {"kv_heads": kv_heads, "head_width": head_width}
            return Attention(width, heads, pattern=pattern, position=position, **sizes)

        super().__init__(
            TransformerBlock(attention(pattern), assembly, dropout=dropout) for pattern in patterns
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

    def first(self, x: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        """Token 0 (B,1,C) of what comes out where the last block sees everything."""
        *before, last = self
        for block in before:
            x = block(x, generator=generator)
        return cast(TransformerBlock, last).first(x, generator=generator)


def check_pattern(pattern: Pattern | Sequence[Pattern]) -> Pattern | tuple[Pattern, ...]:
    """One pattern as it is, several as a tuple, or a ValueError."""
    if isinstance(pattern, Pattern):
        return pattern
    patterns = tuple(pattern) if isinstance(pattern, Iterable) else ()
    if not patterns or not all(isinstance(one, Pattern) for one in patterns):
        raise ValueError(f"pattern must be a regard.pattern value or a sequence of them, got {pattern!r}")
    return patterns


def cycle(pattern: Pattern | Sequence[Pattern], depth: int) -> tuple[Pattern, ...]:
    """One pattern per block: the given ones over and over.

    >>> from regard.pattern import Causal, Strided
    >>> cycle([Strided(back=1), Causal()], depth=3)
    (Strided(back=1), Causal(), Strided(back=1))
    """
    check_int("depth", depth, 0)
    checked = check_pattern(pattern)
    patterns = (checked,) if isinstance(checked, Pattern) else checked
    return tuple(patterns[i % len(patterns)] for i in range(depth))


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
