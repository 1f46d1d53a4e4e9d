"""Triton kernels of the backward pass: dq by tiles of queries, dk and dv by tiles of keys.

Both compute the weights anew from the saved normaliser; see `kernels` for how tiles are found.
"""

import triton
import triton.language as tl

from regard.attention.triton.kernels import (
    NEVER,
    _at,
    _columns,
    _columns_of,
    _listed,
    _mask_at,
    _place,
    _put,
    _rows,
    _scores,
    _tile,
)


@triton.jit(do_not_specialize=["gap", "back", "window"])
def backward_query(Q, K, V, O, DO, DQ, LSE, DELTA, SEGMENT, BOUNDS, SLOPE,
                   full_offsets, full_columns, partial_offsets, partial_columns, partial_masks, masks,
                   q_b, q_h, q_n, k_b, k_h, k_n, v_b, v_h, v_n, o_b, o_h, o_n, d_b, d_h, d_n,
                   scale, H, G, N, M, D, E, gap, back, window, step, tiles,
                   CAUSAL: tl.constexpr, BACK: tl.constexpr, WINDOW: tl.constexpr, SEGMENTS: tl.constexpr,
                   SLOPES: tl.constexpr, LISTED: tl.constexpr, SIZE: tl.constexpr,
                   ROWS: tl.constexpr, COLS: tl.constexpr, WIDTH: tl.constexpr, VALUE: tl.constexpr,
                   PADDED: tl.constexpr, EVEN: tl.constexpr, STEPPED: tl.constexpr, CHAINED: tl.constexpr,
                   PRECISION: tl.constexpr):  # fmt: skip
    """dq, and delta = Σ do·o of each row for the other kernel; DQ and DELTA are contiguous."""
    tile, residue, head, b, h, rows_here, keys_here = _place(step, tiles, H, N, M)
    g = h // (H // G)
    if STEPPED and tile * ROWS >= rows_here:  # classes differ by a row
        return
    Q, O = _at(Q, b, h, residue, q_b, q_h, q_n), _at(O, b, h, residue, o_b, o_h, o_n)
    K, V = _at(K, b, g, residue, k_b, k_h, k_n), _at(V, b, g, residue, v_b, v_h, v_n)
    DO = _at(DO, b, h, residue, d_b, d_h, d_n)
    DQ += (head.to(tl.int64) * N + residue) * D
    LSE += head.to(tl.int64) * N + residue
    DELTA += head.to(tl.int64) * N + residue

    row = tile * ROWS + tl.arange(0, ROWS)
    shift = keys_here - rows_here
    position = row + shift
    q = _tile(Q, q_n * step, tile * ROWS, rows_here, D, ROWS, WIDTH, PADDED, EVEN)
    do = _tile(DO, d_n * step, tile * ROWS, rows_here, E, ROWS, VALUE, PADDED, EVEN)
    o = _tile(O, o_n * step, tile * ROWS, rows_here, E, ROWS, VALUE, PADDED, EVEN)
    delta = tl.sum(do.to(tl.float32) * o.to(tl.float32), 1)
    tl.store(DELTA + row.to(tl.int64) * step, delta, mask=row < rows_here)
    lse = tl.load(LSE + row.to(tl.int64) * step, mask=row < rows_here, other=NEVER)
    q_segment, slope = 0, 0.0
    if SEGMENTS:
        q_segment = tl.load(SEGMENT + b * M + position, mask=row < rows_here, other=-1)[:, None]
    if SLOPES:
        slope = tl.load(SLOPE + h)
    dq = tl.zeros([ROWS, WIDTH], tl.float32)

    if LISTED:
        inner: tl.constexpr = SIZE // COLS
        listed = tile * ROWS // SIZE
        first, last = _listed(full_offsets, listed, inner)
        for e in range(first, last):
            k0 = tl.load(full_columns + e // inner) * SIZE + e % inner * COLS
            dq = _absorb_dq(dq, q, do, lse, delta, K, V, SEGMENT + b * M, k0, position, q_segment, masks, False,
                            k_n * step, v_n * step, scale, slope, keys_here, D, E, gap, back, window,
                            CAUSAL, BACK, WINDOW, SEGMENTS, SLOPES, False, True, COLS, WIDTH, VALUE,
                            PADDED, EVEN, PRECISION)  # fmt: skip
        first, last = _listed(partial_offsets, listed, inner)
        for e in range(first, last):
            k0 = tl.load(partial_columns + e // inner) * SIZE + e % inner * COLS
            mask_at = _mask_at(masks, partial_masks, e, tile, inner, SIZE, ROWS, COLS)
            dq = _absorb_dq(dq, q, do, lse, delta, K, V, SEGMENT + b * M, k0, position, q_segment, mask_at, True,
                            k_n * step, v_n * step, scale, slope, keys_here, D, E, gap, back, window,
                            CAUSAL, BACK, WINDOW, SEGMENTS, SLOPES, True, True, COLS, WIDTH, VALUE,
                            PADDED, EVEN, PRECISION)  # fmt: skip
    else:
        lo, every, until, hi = _columns_of(tile, rows_here, keys_here, BOUNDS, b, tiles, gap, back, window,
                                           CAUSAL, BACK, WINDOW, SEGMENTS, ROWS)  # fmt: skip
        for k0 in range(lo // COLS * COLS, hi, COLS):
            needed = (k0 < every) | (k0 + COLS > until) | SEGMENTS
            dq = _absorb_dq(dq, q, do, lse, delta, K, V, SEGMENT + b * M, k0, position, q_segment, masks, needed,
                            k_n * step, v_n * step, scale, slope, keys_here, D, E, gap, back, window,
                            CAUSAL, BACK, WINDOW, SEGMENTS, SLOPES, False, False, COLS, WIDTH, VALUE,
                            PADDED, EVEN, PRECISION)  # fmt: skip
    dq *= scale * 0.6931471805599453  # from base 2 back to e
    _put(DQ, D * step, tile * ROWS, rows_here, D, dq, ROWS, WIDTH, PADDED, EVEN, CHAINED)


@triton.jit
def _absorb_dq(dq, q, do, lse, delta, K, V, SEGMENT, k0, position, q_segment, mask_at, needed, k_n, v_n,
               scale, slope, M, D, E, gap, back, window,
               CAUSAL: tl.constexpr, BACK: tl.constexpr, WINDOW: tl.constexpr, SEGMENTS: tl.constexpr,
               SLOPES: tl.constexpr, MASKED: tl.constexpr, LISTED: tl.constexpr, COLS: tl.constexpr,
               WIDTH: tl.constexpr, VALUE: tl.constexpr, PADDED: tl.constexpr, EVEN: tl.constexpr,
               PRECISION: tl.constexpr):  # fmt: skip
    """One tile of keys into dq."""
    column = k0 + tl.arange(0, COLS)
    k = _tile(K, k_n, k0, M, D, COLS, WIDTH, PADDED, EVEN)
    v = _tile(V, v_n, k0, M, E, COLS, VALUE, PADDED, EVEN)
    k_segment = 0
    if SEGMENTS:
        k_segment = tl.load(SEGMENT + column, mask=column < M, other=-1)[None, :]
    s = _scores(q, tl.trans(k), position[:, None], column[None, :], q_segment, k_segment, mask_at, needed,
                scale, slope, M, gap, back, window, CAUSAL, BACK, WINDOW, SEGMENTS, SLOPES, MASKED, LISTED, PRECISION)  # fmt: skip
    p = tl.exp2(s * scale - lse[:, None])
    dp = tl.dot(do, tl.trans(v), input_precision=PRECISION)
    ds = p * (dp - delta[:, None])
    return tl.dot(ds.to(k.dtype), k, dq, input_precision=PRECISION)


@triton.jit(do_not_specialize=["gap", "back", "window"])
def backward_key(Q, K, V, DO, DK, DV, LSE, DELTA, SEGMENT, BOUNDS, SLOPE,
                 pieces, full_rows, SHARED_DK, partial_rows, partial_masks, masks, SHARED_DV, slots,
                 q_b, q_h, q_n, k_b, k_h, k_n, v_b, v_h, v_n, d_b, d_h, d_n,
                 scale, H, G, N, M, D, E, gap, back, window, step, tiles,
                 CAUSAL: tl.constexpr, BACK: tl.constexpr, WINDOW: tl.constexpr, SEGMENTS: tl.constexpr,
                 SLOPES: tl.constexpr, LISTED: tl.constexpr, SIZE: tl.constexpr,
                 ROWS: tl.constexpr, COLS: tl.constexpr, WIDTH: tl.constexpr, VALUE: tl.constexpr,
                 PADDED: tl.constexpr, EVEN: tl.constexpr, STEPPED: tl.constexpr, CHAINED: tl.constexpr,
                 PRECISION: tl.constexpr):  # fmt: skip
    """dk and dv of one tile of keys, over all query heads of its group; DK and DV are contiguous."""
    tile, residue, group, b, g, rows_here, keys_here = _place(step, tiles, G, N, M)
    if STEPPED and tile * COLS >= keys_here:  # classes differ by a row
        return
    first_key, slot = tile * COLS, -1
    if LISTED:
        # A piece is (key tile, full from, to, partial from, to, slot or −1): long lists are cut into several.
        piece = pieces + tile // (SIZE // COLS) * 6
        first_key = tl.load(piece) * SIZE + tile % (SIZE // COLS) * COLS
        slot = tl.load(piece + 5)
    K, V = _at(K, b, g, residue, k_b, k_h, k_n), _at(V, b, g, residue, v_b, v_h, v_n)
    column = first_key + tl.arange(0, COLS)
    shift = keys_here - rows_here
    k = _tile(K, k_n * step, first_key, keys_here, D, COLS, WIDTH, PADDED, EVEN)
    v = _tile(V, v_n * step, first_key, keys_here, E, COLS, VALUE, PADDED, EVEN)
    k_segment = 0
    if SEGMENTS:
        k_segment = tl.load(SEGMENT + b * M + column, mask=column < keys_here, other=-1)[:, None]
    dk = tl.zeros([COLS, WIDTH], tl.float32)
    dv = tl.zeros([COLS, VALUE], tl.float32)
    for member in range(H // G):
        h = g * (H // G) + member
        at_q = _at(Q, b, h, residue, q_b, q_h, q_n)
        at_do = _at(DO, b, h, residue, d_b, d_h, d_n)
        at_lse = LSE + (b * H + h).to(tl.int64) * N + residue
        at_delta = DELTA + (b * H + h).to(tl.int64) * N + residue
        slope = 0.0
        if SLOPES:
            slope = tl.load(SLOPE + h)
        if LISTED:
            inner: tl.constexpr = SIZE // ROWS
            first, last = tl.load(piece + 1) * inner, tl.load(piece + 2) * inner
            for e in range(first, last):
                r0 = tl.load(full_rows + e // inner) * SIZE + e % inner * ROWS
                dk, dv = _absorb_dkv(dk, dv, k, v, at_q, at_do, at_lse, at_delta, SEGMENT + b * M, r0, shift, column,
                                     k_segment, masks, False, q_n, d_n, step, scale, slope, rows_here, keys_here,
                                     D, E, gap, back, window, CAUSAL, BACK, WINDOW, SEGMENTS, SLOPES, False, True, ROWS,
                                     WIDTH, VALUE, PADDED, EVEN, PRECISION)  # fmt: skip
            first, last = tl.load(piece + 3) * inner, tl.load(piece + 4) * inner
            for e in range(first, last):
                r0 = tl.load(partial_rows + e // inner) * SIZE + e % inner * ROWS
                mask_id = tl.load(partial_masks + e // inner).to(tl.int64)
                corner = masks + (mask_id * SIZE + e % inner * ROWS) * SIZE + first_key % SIZE
                mask_at = corner + tl.arange(0, ROWS)[None, :] * SIZE + tl.arange(0, COLS)[:, None]
                dk, dv = _absorb_dkv(dk, dv, k, v, at_q, at_do, at_lse, at_delta, SEGMENT + b * M, r0, shift, column,
                                     k_segment, mask_at, True, q_n, d_n, step, scale, slope, rows_here, keys_here,
                                     D, E, gap, back, window, CAUSAL, BACK, WINDOW, SEGMENTS, SLOPES, True, True, ROWS,
                                     WIDTH, VALUE, PADDED, EVEN, PRECISION)  # fmt: skip
        else:
            k1 = tl.minimum((tile + 1) * COLS, keys_here)
            lo, hi = _rows(tile * COLS, k1, shift, keys_here, gap, back, window, CAUSAL, BACK, WINDOW)
            if SEGMENTS:
                at = BOUNDS + (b * tiles + tile) * 2
                lo, hi = tl.maximum(lo, tl.load(at) + shift), tl.minimum(hi, tl.load(at + 1) + shift)
            for r0 in range((lo - shift) // ROWS * ROWS, hi - shift, ROWS):
                # Rows past the last have weight zero, columns past the last are not stored: neither needs a mask.
                _, every, until, _ = _columns(
                    r0 + shift, r0 + shift + ROWS, keys_here, gap, back, window, CAUSAL, BACK, WINDOW)  # fmt: skip
                needed = (tile * COLS < every) | (k1 > until) | SEGMENTS
                dk, dv = _absorb_dkv(dk, dv, k, v, at_q, at_do, at_lse, at_delta, SEGMENT + b * M, r0, shift, column,
                                     k_segment, masks, needed, q_n, d_n, step, scale, slope, rows_here, keys_here,
                                     D, E, gap, back, window, CAUSAL, BACK, WINDOW, SEGMENTS, SLOPES, False, False, ROWS,
                                     WIDTH, VALUE, PADDED, EVEN, PRECISION)  # fmt: skip
    dk *= scale * 0.6931471805599453  # from base 2 back to e
    if LISTED:  # a constant of the compiler, so that other kernels have no such branch
        if slot >= 0:
            # Several programs share these keys: they meet in a float32 sheet.
            sheet = ((group * slots + slot).to(tl.int64) * SIZE + first_key % SIZE) + tl.arange(0, COLS)
            wide, tall = tl.arange(0, WIDTH), tl.arange(0, VALUE)
            tl.atomic_add(SHARED_DK + sheet[:, None] * D + wide[None, :], dk, mask=wide[None, :] < D)
            tl.atomic_add(SHARED_DV + sheet[:, None] * E + tall[None, :], dv, mask=tall[None, :] < E)
            return
    DK += (group.to(tl.int64) * M + residue) * D
    DV += (group.to(tl.int64) * M + residue) * E
    _put(DK, D * step, first_key, keys_here, D, dk, COLS, WIDTH, PADDED, EVEN, CHAINED)
    _put(DV, E * step, first_key, keys_here, E, dv, COLS, VALUE, PADDED, EVEN, CHAINED)


@triton.jit
def _absorb_dkv(dk, dv, k, v, Q, DO, LSE, DELTA, SEGMENT, r0, shift, column, k_segment, mask_at, needed, q_n, d_n, step,
                scale, slope, N, M, D, E, gap, back, window,
                CAUSAL: tl.constexpr, BACK: tl.constexpr, WINDOW: tl.constexpr, SEGMENTS: tl.constexpr,
                SLOPES: tl.constexpr, MASKED: tl.constexpr, LISTED: tl.constexpr, ROWS: tl.constexpr,
                WIDTH: tl.constexpr, VALUE: tl.constexpr, PADDED: tl.constexpr, EVEN: tl.constexpr,
                PRECISION: tl.constexpr):  # fmt: skip
    """One tile of queries into dk and dv, with keys as rows."""
    row = r0 + tl.arange(0, ROWS)
    q = _tile(Q, q_n * step, r0, N, D, ROWS, WIDTH, PADDED, EVEN)
    do = _tile(DO, d_n * step, r0, N, E, ROWS, VALUE, PADDED, EVEN)
    lse = tl.load(LSE + row.to(tl.int64) * step, mask=row < N, other=NEVER)
    delta = tl.load(DELTA + row.to(tl.int64) * step, mask=row < N, other=0.0)
    q_segment = 0
    if SEGMENTS:
        q_segment = tl.load(SEGMENT + row + shift, mask=row < N, other=-1)[None, :]
    s = _scores(k, tl.trans(q), (row + shift)[None, :], column[:, None], q_segment, k_segment, mask_at, needed,
                scale, slope, M, gap, back, window, CAUSAL, BACK, WINDOW, SEGMENTS, SLOPES, MASKED, LISTED, PRECISION)  # fmt: skip
    p = tl.exp2(s * scale - lse[None, :])
    dv = tl.dot(p.to(do.dtype), do, dv, input_precision=PRECISION)
    dp = tl.dot(v, tl.trans(do), input_precision=PRECISION)
    ds = p * (dp - delta[None, :])
    dk = tl.dot(ds.to(q.dtype), q, dk, input_precision=PRECISION)
    return dk, dv
