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
class Band:
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
def band_of(pattern: Pattern) -> Band | None:
    """The band that equals the pattern, or None where there is none.

    >>> from regard.pattern import Global
    >>> band_of(Causal() & Strided(back=3))
    Band(causal=True, gap=0, back=3, window=None, step=1, documents=None)
    >>> band_of(Global(first=1)) is None
    True
    """
    parts = pattern.parts if isinstance(pattern, And) else (pattern,)
    out = Band()
    for part in parts:
        joined = _join(out, part)
        if joined is None:
            return None
        out = joined
    return out


def bands_of(pattern: Pattern) -> tuple[Band, ...] | None:
    """Disjoint bands that together make the pattern, or None.

    The strided pattern of Child et al. is a band and, from two strides back on, its residue class: of n²/2
    tiles that all hold something, almost nothing is left.

    >>> [band.step for band in bands_of(SparseStrided(stride=16)) or ()]
    [1, 16]
    """
    if isinstance(pattern, SparseStrided) and pattern.stride > 1:
        return Band(causal=True, back=pattern.stride), Band(causal=True, gap=2, step=pattern.stride)
    band = band_of(pattern)
    return None if band is None else (band,)


def _join(band: Band, part: Pattern) -> Band | None:  # noqa: PLR0911 - one line per pattern
    if band.step > 1 and part != Causal():
        return None
    match part:
        case Full():
            return band
        case Causal():
            return replace(band, causal=True)
        case Strided(back):
            least = back if band.back is None else min(back, band.back)
            return replace(band, causal=True, back=least)
        case Windowed(size) if band.window in (None, size):
            return replace(band, causal=True, window=size)
        case Blocks(size) if band.window in (None, size):
            return replace(band, window=size)
        case Dilated(back, 1):
            return _join(band, Strided(back))
        case Dilated(back, step) if band in (Band(), Band(causal=True)):
            return Band(causal=True, back=back, step=step)
        case Documents() if band.documents in (None, part):
            return replace(band, documents=part)
    return None
