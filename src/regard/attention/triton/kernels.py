"""Triton kernels: attention over a band, a window, segments, or a list of tiles; the forward pass.

Rows are queries and columns keys. A kernel visits only column tiles that can hold an allowed pair. Which
those are comes either from arithmetic (`back`, `window`, causal or not, segment bounds) or from the tile
lists of a `TileMap`, whose partial tiles carry their mask as bytes. Scores are kept in base 2.
"""

import triton
import triton.language as tl

# A hidden score is so far below the lowest running maximum that its weight is exactly zero, and both are
# finite: a row whose first tiles are all masked needs no branch and meets no NaN.
HIDDEN = tl.constexpr(-1.0e30)
LOWEST = tl.constexpr(-1.0e20)
NEVER = tl.constexpr(1.0e30)  # the normaliser of a row without keys: its weights vanish in the backward pass


@triton.jit
def _place(step, tiles, heads, N, M):
    """Tile, residue class (a dilated pattern is one band each), head and batch of a program; rows and keys."""
    tile, z = tl.program_id(0) % tiles, tl.program_id(0) // tiles
    residue, head = z % step, z // step
    rows, keys = (N - residue + step - 1) // step, (M - residue + step - 1) // step
    return tile, residue, head, head // heads, head % heads, rows, keys


@triton.jit
def _at(pointer, b, h, residue, of_batch, of_head, of_row):
    """Where a head's first row stands; 64 bits, as long sequences of many heads pass 2³¹ elements."""
    return pointer + (b.to(tl.int64) * of_batch + h.to(tl.int64) * of_head + residue.to(tl.int64) * of_row)


@triton.jit
def _listed(offsets, tile, inner: tl.constexpr):
    """From where to where the tiles of a list reach, in tiles of the loop."""
    return tl.load(offsets + tile) * inner, tl.load(offsets + tile + 1) * inner


@triton.jit
def _mask_at(masks, mask_ids, e, tile, inner: tl.constexpr,
             SIZE: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):  # fmt: skip
    """Where the bytes of a partial tile stand, for the part of it that the loop is at."""
    mask_id = tl.load(mask_ids + e // inner).to(tl.int64)
    corner = masks + (mask_id * SIZE + tile * ROWS % SIZE) * SIZE + e % inner * COLS
    return corner + tl.arange(0, ROWS)[:, None] * SIZE + tl.arange(0, COLS)[None, :]


@triton.jit
def _columns_of(tile, rows, keys, BOUNDS, b, tiles, gap, back, window, CAUSAL: tl.constexpr, BACK: tl.constexpr,
                WINDOW: tl.constexpr, SEGMENTS: tl.constexpr, ROWS: tl.constexpr):  # fmt: skip
    """`_columns` of a tile of rows, and no further than its segments reach."""
    q0, q1 = tile * ROWS + (keys - rows), tl.minimum((tile + 1) * ROWS, rows) + (keys - rows)
    lo, every, until, hi = _columns(q0, q1, keys, gap, back, window, CAUSAL, BACK, WINDOW)
    if SEGMENTS:
        at = BOUNDS + (b * tiles + tile) * 2
        lo, hi = tl.maximum(lo, tl.load(at)), tl.minimum(hi, tl.load(at + 1))
    return lo, every, until, hi


@triton.jit
def _columns(q0, q1, M, gap, back, window, CAUSAL: tl.constexpr, BACK: tl.constexpr, WINDOW: tl.constexpr):
    """Columns [lo, hi) that some row of q0 ≤ q < q1 sees, and [every, until) that all of them see."""
    lo, every, hi, until = 0, 0, M, M
    if BACK:
        lo, every = tl.maximum(lo, q0 - back), tl.maximum(every, q1 - 1 - back)
    if WINDOW:
        lo = tl.maximum(lo, q0 // window * window)
        every = tl.maximum(every, (q1 - 1) // window * window)
        hi = tl.minimum(hi, ((q1 - 1) // window + 1) * window)
        until = tl.minimum(until, (q0 // window + 1) * window)
    if CAUSAL:
        hi, until = tl.minimum(hi, q1 - gap), tl.minimum(until, q0 + 1 - gap)
    return lo, every, until, hi


@triton.jit
def _rows(
    k0, k1, first, last, gap, back, window, CAUSAL: tl.constexpr, BACK: tl.constexpr, WINDOW: tl.constexpr
):
    """Row positions [lo, hi) among [first, last) that may see some column of k0 ≤ k < k1."""
    lo, hi = first, last
    if CAUSAL:
        lo = tl.maximum(lo, k0 + gap)
    if BACK:
        hi = tl.minimum(hi, k1 + back)
    if WINDOW:
        lo = tl.maximum(lo, k0 // window * window)
        hi = tl.minimum(hi, ((k1 - 1) // window + 1) * window)
    return lo, hi


@triton.jit
def _seen(q, k, q_segment, k_segment, M, gap, back, window,
          CAUSAL: tl.constexpr, BACK: tl.constexpr, WINDOW: tl.constexpr, SEGMENTS: tl.constexpr):  # fmt: skip
    """Which of the pairs (q broadcast with k) are allowed."""
    if CAUSAL and BACK:
        # One unsigned comparison for 0 ≤ q − k ≤ back; no band has a gap.
        seen = (q - k).to(tl.uint32, bitcast=True) <= back.to(tl.uint32)
    elif CAUSAL:
        seen = k <= q - gap
    elif BACK:
        seen = q - k <= back
    else:
        seen = (q - q) <= k  # every pair; with more queries than keys some stand before the first
    if WINDOW:
        seen = seen & (q // window == k // window)
    if SEGMENTS:
        seen = seen & (q_segment == k_segment) & (k_segment >= 0)
    if not CAUSAL:  # a causal row never reaches past the last key
        seen = seen & (k < M)
    return seen


@triton.jit
def _scores(a, b, q, k, q_segment, k_segment, mask_at, needed, scale, slope, M, gap, back, window,
            CAUSAL: tl.constexpr, BACK: tl.constexpr, WINDOW: tl.constexpr, SEGMENTS: tl.constexpr,
            SLOPES: tl.constexpr, MASKED: tl.constexpr, LISTED: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """Scores of a·b in base 2 / scale, hidden where not allowed; q and k are positions shaped to broadcast."""
    s = tl.dot(a, b, input_precision=PRECISION)
    if SLOPES:
        s -= (slope / scale) * tl.abs(q - k).to(tl.float32)
    if LISTED:
        if MASKED:
            seen = tl.load(mask_at) != 0
            if SEGMENTS:
                seen = seen & (q_segment == k_segment) & (k_segment >= 0)
            s = tl.where(seen, s, HIDDEN)
        elif SEGMENTS:
            s = tl.where((q_segment == k_segment) & (k_segment >= 0), s, HIDDEN)
    elif needed:  # one branch per tile keeps the loop in one piece, so that its loads stay pipelined
        seen = _seen(q, k, q_segment, k_segment, M, gap, back, window, CAUSAL, BACK, WINDOW, SEGMENTS)
        s = tl.where(seen, s, HIDDEN)
    return s


@triton.jit
def _tile(pointer, stride, start, limit, width,
          HEIGHT: tl.constexpr, WIDTH: tl.constexpr, PADDED: tl.constexpr, EVEN: tl.constexpr):  # fmt: skip
    """HEIGHT × WIDTH of a matrix from row `start`; rows from `limit` and columns from `width` on read as zero."""
    # The start moves one 64-bit base; the offsets inside the tile are 32 bits wide and the same in every turn.
    row, column = tl.arange(0, HEIGHT), tl.arange(0, WIDTH)
    at = pointer + (tl.full((), 0, tl.int64) + start) * stride + (row[:, None] * stride + column[None, :])
    if PADDED:
        return tl.load(at, mask=(row[:, None] < limit - start) & (column[None, :] < width), other=0.0)
    if EVEN:
        return tl.load(at)
    return tl.load(at, mask=row[:, None] < limit - start, other=0.0)


@triton.jit
def _put(pointer, stride, start, limit, width, values,
         HEIGHT: tl.constexpr, WIDTH: tl.constexpr, PADDED: tl.constexpr, EVEN: tl.constexpr,
         CHAINED: tl.constexpr):  # fmt: skip
    """The inverse of `_tile`; chained, the values are added to what stands there."""
    if CHAINED:
        values += _tile(pointer, stride, start, limit, width, HEIGHT, WIDTH, PADDED, EVEN).to(tl.float32)
    row, column = tl.arange(0, HEIGHT), tl.arange(0, WIDTH)
    at = pointer + (tl.full((), 0, tl.int64) + start) * stride + (row[:, None] * stride + column[None, :])
    values = values.to(pointer.dtype.element_ty)
    if PADDED:
        tl.store(at, values, mask=(row[:, None] < limit - start) & (column[None, :] < width))
    elif EVEN:
        tl.store(at, values)
    else:
        tl.store(at, values, mask=row[:, None] < limit - start)


@triton.jit(do_not_specialize=["gap", "back", "window"])
def forward(Q, K, V, O, LSE, SEGMENT, BOUNDS, SLOPE,
            full_offsets, full_columns, partial_offsets, partial_columns, partial_masks, masks,
            q_b, q_h, q_n, k_b, k_h, k_n, v_b, v_h, v_n, o_b, o_h, o_n,
            scale, H, G, N, M, D, E, gap, back, window, step, tiles,
            CAUSAL: tl.constexpr, BACK: tl.constexpr, WINDOW: tl.constexpr, SEGMENTS: tl.constexpr,
            SLOPES: tl.constexpr, LISTED: tl.constexpr, SIZE: tl.constexpr,
            ROWS: tl.constexpr, COLS: tl.constexpr, WIDTH: tl.constexpr, VALUE: tl.constexpr,
            PADDED: tl.constexpr, EVEN: tl.constexpr, STEPPED: tl.constexpr, CHAINED: tl.constexpr,
            PRECISION: tl.constexpr):  # fmt: skip
    tile, residue, head, b, h, rows_here, keys_here = _place(step, tiles, H, N, M)
    g = h // (H // G)
    if STEPPED and tile * ROWS >= rows_here:  # classes differ by a row
        return
    Q, O = _at(Q, b, h, residue, q_b, q_h, q_n), _at(O, b, h, residue, o_b, o_h, o_n)
    K, V = _at(K, b, g, residue, k_b, k_h, k_n), _at(V, b, g, residue, v_b, v_h, v_n)
    LSE += head.to(tl.int64) * N + residue

    row = tile * ROWS + tl.arange(0, ROWS)
    shift = keys_here - rows_here  # queries are the last rows
    position = row + shift
    q = _tile(Q, q_n * step, tile * ROWS, rows_here, D, ROWS, WIDTH, PADDED, EVEN)
    q_segment, slope = 0, 0.0
    if SEGMENTS:
        q_segment = tl.load(SEGMENT + b * M + position, mask=row < rows_here, other=-1)[:, None]
    if SLOPES:
        slope = tl.load(SLOPE + h)
    top = tl.full([ROWS], LOWEST, tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    out = tl.zeros([ROWS, VALUE], tl.float32)
    if CHAINED:  # go on from what the shape before has made
        before = tl.load(LSE + row.to(tl.int64) * step, mask=row < rows_here, other=NEVER)
        some = before < NEVER
        top, total = tl.where(some, before, top), tl.where(some, 1.0, 0.0)
        out = _tile(O, o_n * step, tile * ROWS, rows_here, E, ROWS, VALUE, PADDED, EVEN).to(tl.float32)

    if LISTED:
        inner: tl.constexpr = SIZE // COLS
        listed = tile * ROWS // SIZE
        # Full tiles need no mask; without the partial ones the loops stay free of branches.
        first, last = _listed(full_offsets, listed, inner)
        for e in range(first, last):
            k0 = tl.load(full_columns + e // inner) * SIZE + e % inner * COLS
            out, total, top = _absorb(
                out, total, top, q, K, V, SEGMENT + b * M, k0, position, q_segment, masks, False, k_n * step, v_n * step,
                scale, slope, keys_here, D, E, gap, back, window, CAUSAL, BACK, WINDOW, SEGMENTS, SLOPES,
                False, True, COLS, WIDTH, VALUE, PADDED, EVEN, PRECISION)  # fmt: skip
        first, last = _listed(partial_offsets, listed, inner)
        for e in range(first, last):
            k0 = tl.load(partial_columns + e // inner) * SIZE + e % inner * COLS
            mask_at = _mask_at(masks, partial_masks, e, tile, inner, SIZE, ROWS, COLS)
            out, total, top = _absorb(
                out, total, top, q, K, V, SEGMENT + b * M, k0, position, q_segment, mask_at, True, k_n * step, v_n * step,
                scale, slope, keys_here, D, E, gap, back, window, CAUSAL, BACK, WINDOW, SEGMENTS, SLOPES,
                True, True, COLS, WIDTH, VALUE, PADDED, EVEN, PRECISION)  # fmt: skip
    else:
        lo, every, until, hi = _columns_of(tile, rows_here, keys_here, BOUNDS, b, tiles, gap, back, window,
                                           CAUSAL, BACK, WINDOW, SEGMENTS, ROWS)  # fmt: skip
        for k0 in range(lo // COLS * COLS, hi, COLS):
            needed = (k0 < every) | (k0 + COLS > until) | SEGMENTS
            out, total, top = _absorb(
                out, total, top, q, K, V, SEGMENT + b * M, k0, position, q_segment, masks, needed, k_n * step, v_n * step,
                scale, slope, keys_here, D, E, gap, back, window, CAUSAL, BACK, WINDOW, SEGMENTS, SLOPES,
                False, False, COLS, WIDTH, VALUE, PADDED, EVEN, PRECISION)  # fmt: skip

    empty = total == 0
    total = tl.where(empty, 1.0, total)
    out = out / total[:, None]
    lse = tl.where(empty, NEVER, top + tl.log2(total))
    _put(O, o_n * step, tile * ROWS, rows_here, E, out, ROWS, VALUE, PADDED, EVEN, False)
    tl.store(LSE + row.to(tl.int64) * step, lse, mask=row < rows_here)


@triton.jit
def _absorb(out, total, top, q, K, V, SEGMENT, k0, position, q_segment, mask_at, needed, k_n, v_n,
            scale, slope, M, D, E, gap, back, window,
            CAUSAL: tl.constexpr, BACK: tl.constexpr, WINDOW: tl.constexpr, SEGMENTS: tl.constexpr,
            SLOPES: tl.constexpr, MASKED: tl.constexpr, LISTED: tl.constexpr, COLS: tl.constexpr,
            WIDTH: tl.constexpr, VALUE: tl.constexpr, PADDED: tl.constexpr, EVEN: tl.constexpr,
            PRECISION: tl.constexpr):  # fmt: skip
    """One tile of keys into the running softmax."""
    column = k0 + tl.arange(0, COLS)
    k = _tile(K, k_n, k0, M, D, COLS, WIDTH, PADDED, EVEN)
    k_segment = 0
    if SEGMENTS:
        k_segment = tl.load(SEGMENT + column, mask=column < M, other=-1)[None, :]
    s = _scores(q, tl.trans(k), position[:, None], column[None, :], q_segment, k_segment, mask_at, needed,
                scale, slope, M, gap, back, window, CAUSAL, BACK, WINDOW, SEGMENTS, SLOPES, MASKED, LISTED, PRECISION)  # fmt: skip
    new_top = tl.maximum(top, tl.max(s, 1) * scale)  # the scale is positive: one multiply-add per score
    p = tl.exp2(s * scale - new_top[:, None])
    shrink = tl.exp2(top - new_top)
    total = total * shrink + tl.sum(p, 1)
    v = _tile(V, v_n, k0, M, E, COLS, VALUE, PADDED, EVEN)
    out = tl.dot(p.to(v.dtype), v, out * shrink[:, None], input_precision=PRECISION)
    return out, total, new_top
