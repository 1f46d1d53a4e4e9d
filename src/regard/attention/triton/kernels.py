"""Triton kernels: attention over a band, a window, segments, or a list of tiles; the forward pass.

Rows are queries and columns keys. A kernel visits only column tiles that can hold an allowed pair. Which
those are comes either from arithmetic (`Reach`, segment bounds) or from a `TileList`, whose partial tiles
carry their mask as bytes. Scores are kept in base 2. The groups of arguments are those of `arguments`.
"""

import triton
import triton.language as tl

# A hidden score is so far below the lowest running maximum that its weight is exactly zero, and both are
# finite: a row whose first tiles are all masked needs no branch and meets no NaN.
HIDDEN = tl.constexpr(-1.0e30)
LOWEST = tl.constexpr(-1.0e20)
NEVER = tl.constexpr(1.0e30)  # the normaliser of a row without keys: its weights vanish in the backward pass


@triton.jit
def _place(sizes, heads):
    """Tile, residue class (a dilated pattern is one band each), head and batch of a program; rows and keys."""
    tile, z = tl.program_id(0) % sizes.tiles, tl.program_id(0) // sizes.tiles
    residue, head = z % sizes.step, z // sizes.step
    rows = (sizes.N - residue + sizes.step - 1) // sizes.step
    keys = (sizes.M - residue + sizes.step - 1) // sizes.step
    return tile, residue, head, head // heads, head % heads, rows, keys


@triton.jit
def _long(x):
    """In 64 bits, whether it is a number of the compiler's or of the launch."""
    return tl.full((), 0, tl.int64) + x


@triton.jit
def _at(x, b, h, residue):
    """Where a head's first row stands; 64 bits, as long sequences of many heads pass 2³¹ elements."""
    return x.data + (b.to(tl.int64) * x.batch + h.to(tl.int64) * x.head + residue.to(tl.int64) * x.row)


@triton.jit
def _stride(row, sizes, KIND: tl.constexpr):
    """How far two rows of a residue class lie apart."""
    stride = row
    if KIND.long:
        stride = _long(row)
    return stride * sizes.step


@triton.jit
def _shift(b, rows, keys, marks, KIND: tl.constexpr):
    """Where the first query stands: such that the last ones meet, or where its row of the batch says."""
    shift = keys - rows
    if KIND.starts:
        shift = tl.load(marks.starts + b).to(tl.int32)
    return shift


@triton.jit
def _listed(offsets, tile, inner: tl.constexpr):
    """From where to where the tiles of a list reach, in tiles of the loop."""
    return tl.load(offsets + tile) * inner, tl.load(offsets + tile + 1) * inner


@triton.jit
def _mask_at(tiles, e, tile, inner: tl.constexpr, KIND: tl.constexpr):
    """Where the bytes of a partial tile stand, for the part of it that the loop is at."""
    mask_id = tl.load(tiles.mask_of + e // inner).to(tl.int64)
    corner = (
        tiles.masks + (mask_id * KIND.size + tile * KIND.rows % KIND.size) * KIND.size + e % inner * KIND.cols
    )
    return corner + tl.arange(0, KIND.rows)[:, None] * KIND.size + tl.arange(0, KIND.cols)[None, :]


@triton.jit
def _columns_of(tile, shift, rows, keys, b, marks, sizes, reach, KIND: tl.constexpr):
    """`_columns` of a tile of rows, and no further than its segments reach."""
    q0, q1 = tile * KIND.rows + shift, tl.minimum((tile + 1) * KIND.rows, rows) + shift
    lo, every, until, hi = _columns(q0, q1, keys, reach, KIND)
    if KIND.segments:
        at = marks.bounds + (b * sizes.tiles + tile) * 2
        lo, hi = tl.maximum(lo, tl.load(at)), tl.minimum(hi, tl.load(at + 1))
    return lo, every, until, hi


@triton.jit
def _columns(q0, q1, M, reach, KIND: tl.constexpr):
    """Columns [lo, hi) that some row of q0 ≤ q < q1 sees, and [every, until) that all of them see."""
    lo, every, hi, until = 0, 0, M, M
    if KIND.back:
        lo, every = tl.maximum(lo, q0 - reach.back), tl.maximum(every, q1 - 1 - reach.back)
    if KIND.window:
        lo = tl.maximum(lo, q0 // reach.window * reach.window)
        every = tl.maximum(every, (q1 - 1) // reach.window * reach.window)
        hi = tl.minimum(hi, ((q1 - 1) // reach.window + 1) * reach.window)
        until = tl.minimum(until, (q0 // reach.window + 1) * reach.window)
    if KIND.causal:
        hi, until = tl.minimum(hi, q1 - reach.gap), tl.minimum(until, q0 + 1 - reach.gap)
    return lo, every, until, hi


@triton.jit
def _rows(k0, k1, first, last, reach, KIND: tl.constexpr):
    """Row positions [lo, hi) among [first, last) that may see some column of k0 ≤ k < k1."""
    lo, hi = first, last
    if KIND.causal:
        lo = tl.maximum(lo, k0 + reach.gap)
    if KIND.back:
        hi = tl.minimum(hi, k1 + reach.back)
    if KIND.window:
        lo = tl.maximum(lo, k0 // reach.window * reach.window)
        hi = tl.minimum(hi, ((k1 - 1) // reach.window + 1) * reach.window)
    return lo, hi


@triton.jit
def _seen(q, k, M, reach, KIND: tl.constexpr):
    """Which of the pairs (q broadcast with k) the band allows."""
    if KIND.causal and KIND.back:
        # One unsigned comparison for 0 ≤ q − k ≤ back; no band has a gap.
        seen = (q - k).to(tl.uint32, bitcast=True) <= reach.back.to(tl.uint32)
    elif KIND.causal:
        seen = k <= q - reach.gap
    elif KIND.back:
        seen = q - k <= reach.back
    else:
        seen = (q - q) <= k  # every pair; with more queries than keys some stand before the first
    if KIND.window:
        seen = seen & (q // reach.window == k // reach.window)
    if not KIND.causal or KIND.starts:  # else a causal row never reaches past the last key
        seen = seen & (k < M)
    return seen


@triton.jit
def _tanh(x):
    """The hyperbolic tangent: a series where the quotient would lose its digits."""
    y = x * x
    series = x * (1 + y * (-0.33333333 + y * (0.13333333 + y * (-0.053968254 + y * 0.021869488))))
    e = tl.exp2(-2.8853900817779268 * tl.abs(x))
    quotient = tl.where(x < 0, -1.0, 1.0) * (1 - e) / (1 + e)
    return tl.where(tl.abs(x) < 0.25, series, quotient)


@triton.jit
def _mixed(x):
    """The bijection of `drops`."""
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)


@triton.jit
def _row_keys(marks, head, row):
    """The two keys of `drops` for each row."""
    seed = tl.load(marks.seed)
    low, high = seed.to(tl.uint32), (seed >> 32).to(tl.uint32)
    first = _mixed(low + _mixed(high ^ (head.to(tl.uint32) * 0x9E3779B1)))
    first = _mixed(first + row.to(tl.uint32) * 0x9E3779B1)
    return first, _mixed(first ^ high ^ 0x846CA68B)


@triton.jit
def _kept(first, second, from_last, threshold):
    """Whether dropout keeps the weights of rows with these keys and columns counted from the last one."""
    x = _mixed(from_last.to(tl.uint32) * 0x9E3779B1 + first) ^ second
    x = x * 0xC2B2AE35
    return (x ^ (x >> 15)) >= threshold.to(tl.uint32)


@triton.jit
def _scores(a, b, q, k, q_segment, k_segment, mask_at, needed, slope, M, numbers, reach, KIND: tl.constexpr,
            MASKED: tl.constexpr):  # fmt: skip
    """Scores of a·b in base 2 / scale, hidden where not allowed, and what softcap bent them by; q and k are
    positions shaped to broadcast."""
    s = tl.dot(a, b, input_precision=KIND.precision)
    bend = s
    if KIND.capped:
        t = _tanh(s * numbers.uncap)
        s, bend = t * numbers.cap, 1 - t * t
    if KIND.slopes:
        s -= (slope / numbers.scale) * tl.abs(q - k).to(tl.float32)
    if KIND.listed:
        if MASKED:
            seen = tl.load(mask_at) != 0
            if KIND.segments:
                seen = seen & (q_segment == k_segment) & (k_segment >= 0)
            s = tl.where(seen, s, HIDDEN)
        elif KIND.segments:
            s = tl.where((q_segment == k_segment) & (k_segment >= 0), s, HIDDEN)
    elif needed:  # one branch per tile keeps the loop in one piece, so that its loads stay pipelined
        seen = _seen(q, k, M, reach, KIND)
        if KIND.segments:
            seen = seen & (q_segment == k_segment) & (k_segment >= 0)
        s = tl.where(seen, s, HIDDEN)
    return s, bend


@triton.jit
def _tile(
    pointer, stride, start, limit, width, HEIGHT: tl.constexpr, WIDTH: tl.constexpr, KIND: tl.constexpr
):
    """HEIGHT × WIDTH of a matrix from row `start`; rows from `limit` and columns from `width` on read as zero."""
    # The start moves one 64-bit base; the offsets inside the tile are 32 bits wide and the same in every turn.
    row, column = tl.arange(0, HEIGHT), tl.arange(0, WIDTH)
    at = pointer + _long(start) * stride + (row[:, None] * stride + column[None, :])
    if KIND.padded:
        return tl.load(at, mask=(row[:, None] < limit - start) & (column[None, :] < width), other=0.0)
    if KIND.even:
        return tl.load(at)
    return tl.load(at, mask=row[:, None] < limit - start, other=0.0)


@triton.jit
def _put(pointer, stride, start, limit, width, values, HEIGHT: tl.constexpr, WIDTH: tl.constexpr,
         KIND: tl.constexpr, CHAINED: tl.constexpr):  # fmt: skip
    """The inverse of `_tile`; chained, the values are added to what stands there."""
    if CHAINED:
        values += _tile(pointer, stride, start, limit, width, HEIGHT, WIDTH, KIND).to(tl.float32)
    row, column = tl.arange(0, HEIGHT), tl.arange(0, WIDTH)
    at = pointer + _long(start) * stride + (row[:, None] * stride + column[None, :])
    values = values.to(pointer.dtype.element_ty)
    if KIND.padded:
        tl.store(at, values, mask=(row[:, None] < limit - start) & (column[None, :] < width))
    elif KIND.even:
        tl.store(at, values)
    else:
        tl.store(at, values, mask=row[:, None] < limit - start)


@triton.jit
def _labels(labels, b, row, n):
    """The segments of some positions of one batch row; −1 outside."""
    return tl.load(labels + b.to(tl.int64) * n + row, mask=row < n, other=-1)


@triton.jit(do_not_specialize=["reach"])
def forward(Q, K, V, O, LSE, marks, tiles, sizes, reach, numbers, KIND: tl.constexpr):
    tile, residue, head, b, h, rows, keys = _place(sizes, sizes.H)
    g = h // (sizes.H // sizes.G)
    if KIND.stepped and tile * KIND.rows >= rows:  # classes differ by a row
        return
    at_q, at_o, at_k, at_v = (
        _at(Q, b, h, residue),
        _at(O, b, h, residue),
        _at(K, b, g, residue),
        _at(V, b, g, residue),
    )
    LSE += head.to(tl.int64) * sizes.N + residue

    row = tile * KIND.rows + tl.arange(0, KIND.rows)
    shift = _shift(b, rows, keys, marks, KIND)
    position = row + shift
    q = _tile(at_q, _stride(Q.row, sizes, KIND), tile * KIND.rows, rows, sizes.D, KIND.rows, KIND.width, KIND)
    o_stride = _stride(O.row, sizes, KIND)
    q_segment, slope, first, second = 0, 0.0, 0, 0
    if KIND.segments:
        q_segment = _labels(marks.of_query, b, row, sizes.N)[:, None]
    if KIND.slopes:
        slope = tl.load(marks.slopes + h)
    if KIND.dropped:
        first, second = _row_keys(marks, head, row * sizes.step + residue)
        first, second = first[:, None], second[:, None]
    top = tl.full([KIND.rows], LOWEST, tl.float32)
    total = tl.full([KIND.rows], 0.0, tl.float32)
    out = tl.full([KIND.rows, KIND.tall], 0.0, tl.float32)
    if KIND.chained:  # go on from what the shape before has made
        before = tl.load(LSE + row.to(tl.int64) * sizes.step, mask=row < rows, other=NEVER)
        some = before < NEVER
        top, total = tl.where(some, before, top), tl.where(some, 1.0, 0.0)
        out = _tile(at_o, o_stride, tile * KIND.rows, rows, sizes.E, KIND.rows, KIND.tall, KIND).to(
            tl.float32
        )

    if KIND.listed:
        inner: tl.constexpr = KIND.size // KIND.cols
        listed = tile * KIND.rows // KIND.size
        # Full tiles need no mask; without the partial ones the loops stay free of branches.
        start, stop = _listed(tiles.full_offsets, listed, inner)
        for e in range(start, stop):
            k0 = tl.load(tiles.full + e // inner) * KIND.size + e % inner * KIND.cols
            out, total, top = _absorb(
                out, total, top, q, K, V, at_k, at_v, k0, b, residue, position, q_segment, first, second, slope, keys,
                tiles.masks, False, marks, sizes, reach, numbers, KIND, False)  # fmt: skip
        start, stop = _listed(tiles.partial_offsets, listed, inner)
        for e in range(start, stop):
            k0 = tl.load(tiles.partial + e // inner) * KIND.size + e % inner * KIND.cols
            mask_at = _mask_at(tiles, e, tile, inner, KIND)
            out, total, top = _absorb(
                out, total, top, q, K, V, at_k, at_v, k0, b, residue, position, q_segment, first, second, slope, keys,
                mask_at, True, marks, sizes, reach, numbers, KIND, True)  # fmt: skip
    else:
        lo, every, until, hi = _columns_of(tile, shift, rows, keys, b, marks, sizes, reach, KIND)
        for k0 in range(lo // KIND.cols * KIND.cols, hi, KIND.cols):
            needed = (k0 < every) | (k0 + KIND.cols > until) | KIND.segments
            out, total, top = _absorb(
                out, total, top, q, K, V, at_k, at_v, k0, b, residue, position, q_segment, first, second, slope, keys,
                0, needed, marks, sizes, reach, numbers, KIND, False)  # fmt: skip

    empty = total == 0
    total = tl.where(empty, 1.0, total)
    out = out / total[:, None]
    lse = tl.where(empty, NEVER, top + tl.log2(total))
    _put(at_o, o_stride, tile * KIND.rows, rows, sizes.E, out, KIND.rows, KIND.tall, KIND, False)
    tl.store(LSE + row.to(tl.int64) * sizes.step, lse, mask=row < rows)


@triton.jit
def _absorb(out, total, top, q, K, V, at_k, at_v, k0, b, residue, position, q_segment, first, second, slope, keys,
            mask_at, needed, marks, sizes, reach, numbers, KIND: tl.constexpr, MASKED: tl.constexpr):  # fmt: skip
    """One tile of keys into the running softmax."""
    column = k0 + tl.arange(0, KIND.cols)
    k = _tile(at_k, _stride(K.row, sizes, KIND), k0, keys, sizes.D, KIND.cols, KIND.width, KIND)
    k_segment = 0
    if KIND.segments:
        k_segment = _labels(marks.of_key, b, column, sizes.M)[None, :]
    s, _ = _scores(q, tl.trans(k), position[:, None], column[None, :], q_segment, k_segment, mask_at, needed, slope,
                   keys, numbers, reach, KIND, MASKED)  # fmt: skip
    new_top = tl.maximum(
        top, tl.max(s, 1) * numbers.scale
    )  # the scale is positive: one multiply-add per score
    p = tl.exp2(s * numbers.scale - new_top[:, None])
    shrink = tl.exp2(top - new_top)
    total = total * shrink + tl.sum(p, 1)
    if KIND.dropped:
        from_last = (sizes.M - 1 - residue - column * sizes.step)[None, :]
        p = tl.where(_kept(first, second, from_last, reach.threshold), p * numbers.spread, 0.0)
    v = _tile(at_v, _stride(V.row, sizes, KIND), k0, keys, sizes.E, KIND.cols, KIND.tall, KIND)
    out = tl.dot(p.to(v.dtype), v, out * shrink[:, None], input_precision=KIND.precision)
    return out, total, new_top
