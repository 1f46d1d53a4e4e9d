"""The part of the patterns that arithmetic on a row answers: bands, windows, residue classes, documents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from regard.pattern import (
    And,
    Blocks,
    Causal,
    Dilated,
    Documents,
    Full,
    Pattern,
    SparseStrided,
    Strided,
    Windowed,
)


@dataclass(frozen=True)
class Shape:
    """Keys k with k ≤ q − gap if `causal`, q − k ≤ back, the same window, the same document.

    With `step` it holds on each residue class of the positions alone, in the class's own numbers.
    """

    causal: bool = False
    gap: int = 0
    back: int | None = None
    window: int | None = None
    step: int = 1
    documents: Documents | None = None


@lru_cache(maxsize=1024)
def shape_of(pattern: Pattern) -> Shape | None:
    """The shape that equals the pattern, or None where there is none.

    >>> from regard.pattern import Global
    >>> shape_of(Causal() & Strided(back=3))
    Shape(causal=True, gap=0, back=3, window=None, step=1, documents=None)
    >>> shape_of(Global(first=1)) is None
    True
    """
    parts = pattern.parts if isinstance(pattern, And) else (pattern,)
    out = Shape()
    for part in parts:
        joined = _join(out, part)
        if joined is None:
            return None
        out = joined
    return out


def union_of(pattern: Pattern) -> tuple[Shape, ...] | None:
    """Disjoint shapes that together make the pattern, or None.

    The strided pattern of Child et al. is a band and, from two strides back on, its residue class: of n²/2
    tiles that all hold something, almost nothing is left.

    >>> [shape.step for shape in union_of(SparseStrided(stride=16)) or ()]
    [1, 16]
    """
    if isinstance(pattern, SparseStrided) and pattern.stride > 1:
        return Shape(causal=True, back=pattern.stride), Shape(causal=True, gap=2, step=pattern.stride)
    shape = shape_of(pattern)
    return None if shape is None else (shape,)


def _join(shape: Shape, part: Pattern) -> Shape | None:  # noqa: PLR0911 - one line per pattern
    if shape.step > 1 and part != Causal():
        return None
    match part:
        case Full():
            return shape
        case Causal():
            return replace(shape, causal=True)
        case Strided(back):
            least = back if shape.back is None else min(back, shape.back)
            return replace(shape, causal=True, back=least)
        case Windowed(size) if shape.window in (None, size):
            return replace(shape, causal=True, window=size)
        case Blocks(size) if shape.window in (None, size):
            return replace(shape, window=size)
        case Dilated(back, 1):
            return _join(shape, Strided(back))
        case Dilated(back, step) if shape in (Shape(), Shape(causal=True)):
            return Shape(causal=True, back=back, step=step)
        case Documents() if shape.documents in (None, part):
            return replace(shape, documents=part)
    return None
