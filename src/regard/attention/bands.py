"""The part of the patterns that arithmetic on a row answers: bands, windows, residue classes, documents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import torch

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
from regard.pattern.sweep import truth_columns

FARTHEST = 1 << 30  # no distance is larger, and sums of two of them fit 32 bits


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

    def within(self, m: int) -> Band | None:
        """The same over m keys in numbers that kernels can add up, or None where nothing is left of it.

        >>> Band(causal=True, back=9, step=100).within(50)
        Band(causal=True, gap=0, back=0, window=None, step=1, documents=None)
        """
        if self.step > 1 and self.gap * self.step >= m:
            return None
        if self.step > 1 and self.step >= m:  # each position is a class of its own
            return replace(self, back=0, step=1)
        back, window = (None if x is None else min(x, FARTHEST) for x in (self.back, self.window))
        return replace(self, back=back, window=window)


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


@lru_cache(maxsize=1024)
def first_key(pattern: Pattern, n: int, m: int) -> int:
    """The first of m keys that the last n queries may need: to leave out all before it changes nothing.

    >>> first_key(Strided(back=3), 1, 100), first_key(Windowed(size=30), 1, 100), first_key(Full(), 1, 100)
    (96, 90, 0)
    """
    back = looks_back(pattern)
    if back is not None:
        return max(0, m - n - back)
    band = band_of(pattern)
    if band is None or band.window is None or band.documents is not None:
        return 0
    return (m - n) // band.window * band.window


@lru_cache(maxsize=1024)
def looks_back(pattern: Pattern) -> int | None:
    """How far back the pattern looks, where the distance alone decides and it is bounded; else None."""
    kept = pattern.keys_kept()
    if not pattern.by_distance or kept is None or kept == 0:
        return None
    return None if _may_look_ahead(pattern) else kept - 1


def _may_look_ahead(pattern: Pattern) -> bool:
    """Whether a query may see a later key, as far as its values say that they never do."""
    atoms, key = pattern.atoms(), torch.tensor([1 << 30])
    found = {atom: atom.above(key) for atom in atoms}  # of all distances at once: q − k alone decides
    unsure = [atom for atom, queries in found.items() if queries is None or bool(queries[0] < queries[1])]
    if len(unsure) > 10:
        return True
    columns, every = truth_columns(len(unsure))
    table = dict.fromkeys(atoms, 0) | dict(zip(unsure, columns, strict=True))
    return bool(pattern.fold(table.__getitem__) & every)


@lru_cache(maxsize=1024)
def bands_of(pattern: Pattern, m: int = FARTHEST) -> tuple[Band, ...] | None:
    """Disjoint bands that together make the pattern over m keys, or None.

    The strided pattern of Child et al. is a band and, from two strides back on, its residue class: of n²/2
    tiles that all hold something, almost nothing is left.

    >>> [band.step for band in bands_of(SparseStrided(stride=16)) or ()]
    [1, 16]
    """
    bands: tuple[Band, ...]
    if isinstance(pattern, SparseStrided) and pattern.stride > 1:
        bands = Band(causal=True, back=pattern.stride), Band(causal=True, gap=2, step=pattern.stride)
    elif (band := band_of(pattern)) is not None:
        bands = (band,)
    else:
        return None
    return tuple(left for band in bands if (left := band.within(m)) is not None)


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
