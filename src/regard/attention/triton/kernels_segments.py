"""Triton kernels: how far the segments of a tile reach, so that other tiles are left out unseen."""

import triton
import triton.language as tl


@triton.jit
def segment_extents(labels, least, most, n, tiles, SIZE: tl.constexpr):
    """The least and the largest label of each tile, padding left out (then least > most)."""
    tile, b = tl.program_id(0) % tiles, tl.program_id(0) // tiles
    row = tile * SIZE + tl.arange(0, SIZE)
    found = tl.load(labels + b.to(tl.int64) * n + row, mask=row < n, other=-1)
    top = tl.full((), 1, found.dtype) << (found.dtype.primitive_bitwidth - 2)
    tl.store(least + tl.program_id(0), tl.min(tl.where(found < 0, top, found), 0))
    tl.store(most + tl.program_id(0), tl.max(found, 0))


@triton.jit
def segment_bounds(
    least, most, their_least, their_most, bounds, tiles, theirs, size, limit, BLOCK: tl.constexpr
):
    """From where to where tiles lie whose labels may be those of a tile: [lo, hi) in positions, or [0, 0)."""
    b = tl.program_id(0) // tiles
    lo, hi = tl.load(least + tl.program_id(0)), tl.load(most + tl.program_id(0))
    first, last = theirs, 0
    for start in range(0, theirs, BLOCK):
        j = start + tl.arange(0, BLOCK)
        inside = j < theirs
        a = tl.load(their_least + b * theirs + j, mask=inside, other=0)
        z = tl.load(their_most + b * theirs + j, mask=inside, other=-1)
        meets = inside & (z >= 0) & (a <= hi) & (lo <= z)
        first = tl.minimum(first, tl.min(tl.where(meets, j, theirs), 0))
        last = tl.maximum(last, tl.max(tl.where(meets, j + 1, 0), 0))
    some = last > 0
    tl.store(bounds + tl.program_id(0) * 2, tl.where(some, first * size, 0))
    tl.store(bounds + tl.program_id(0) * 2 + 1, tl.where(some, tl.minimum(last * size, limit), 0))
