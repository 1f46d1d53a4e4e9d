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
    _kept,
    _labels,
    _listed,
    _mask_at,
    _place,
    _put,
    _row_keys,
    _rows,
    _scores,
    _shift,
    _stride,
    _tile,
)

LN2 = tl.constexpr(0.6931471805599453)


@triton.jit(do_not_specialize=["reach"])
def backward_query(Q, K, V, O, DO, DQ, LSE, DELTA, DLSE, DSLOPE, marks, tiles, sizes, reach, numbers,
                   KIND: tl.constexpr):  # fmt: skip
    """dq, and delta = Σ do·o of each row for the other kernel, less the gradient of its normaliser; where slopes
    are learned, what each row asks of its head's slope. All that is written is contiguous."""
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
    at_do = _at(DO, b, h, residue)
    mine = head.to(tl.int64) * sizes.N + residue
    DQ += mine * sizes.D

    row = tile * KIND.rows + tl.arange(0, KIND.rows)
    line = mine + row.to(tl.int64) * sizes.step
    shift = _shift(b, rows, keys, marks, KIND)
    position = row + shift
    q = _tile(at_q, _stride(Q.row, sizes, KIND), tile * KIND.rows, rows, sizes.D, KIND.rows, KIND.width, KIND)
    do = _tile(
        at_do, _stride(DO.row, sizes, KIND), tile * KIND.rows, rows, sizes.E, KIND.rows, KIND.tall, KIND
    )
    o = _tile(at_o, _stride(O.row, sizes, KIND), tile * KIND.rows, rows, sizes.E, KIND.rows, KIND.tall, KIND)
    delta = tl.sum(do.to(tl.float32) * o.to(tl.float32), 1)
    if KIND.of_lse:
        delta -= tl.load(DLSE + line, mask=row < rows, other=0.0)
    tl.store(DELTA + line, delta, mask=row < rows)
    lse = tl.load(LSE + line, mask=row < rows, other=NEVER)
    q_segment, slope, first, second = 0, 0.0, 0, 0
    if KIND.segments:
        q_segment = _labels(marks.of_query, b, row, sizes.N)[:, None]
    if KIND.slopes:
        slope = tl.load(marks.slopes + h)
    if KIND.dropped:
        first, second = _row_keys(marks, head, row * sizes.step + residue)
        first, second = first[:, None], second[:, None]
    dq = tl.full([KIND.rows, KIND.width], 0.0, tl.float32)
    dslope = tl.full([KIND.rows], 0.0, tl.float32)

    if KIND.listed:
        inner: tl.constexpr = KIND.size // KIND.cols
        listed = tile * KIND.rows // KIND.size
        start, stop = _listed(tiles.full_offsets, listed, inner)
        for e in range(start, stop):
            k0 = tl.load(tiles.full + e // inner) * KIND.size + e % inner * KIND.cols
            dq, dslope = _absorb_dq(
                dq, dslope, q, do, lse, delta, K, V, at_k, at_v, k0, b, residue, position, q_segment, first, second,
                slope, keys, tiles.masks, False, marks, sizes, reach, numbers, KIND, False)  # fmt: skip
        start, stop = _listed(tiles.partial_offsets, listed, inner)
        for e in range(start, stop):
            k0 = tl.load(tiles.partial + e // inner) * KIND.size + e % inner * KIND.cols
            mask_at = _mask_at(tiles, e, tile, inner, KIND)
            dq, dslope = _absorb_dq(
                dq, dslope, q, do, lse, delta, K, V, at_k, at_v, k0, b, residue, position, q_segment, first, second,
                slope, keys, mask_at, True, marks, sizes, reach, numbers, KIND, True)  # fmt: skip
    else:
        lo, every, until, hi = _columns_of(tile, shift, rows, keys, b, marks, sizes, reach, KIND)
        for k0 in range(lo // KIND.cols * KIND.cols, hi, KIND.cols):
            needed = (k0 < every) | (k0 + KIND.cols > until) | KIND.segments
            dq, dslope = _absorb_dq(
                dq, dslope, q, do, lse, delta, K, V, at_k, at_v, k0, b, residue, position, q_segment, first, second,
                slope, keys, 0, needed, marks, sizes, reach, numbers, KIND, False)  # fmt: skip
    dq *= numbers.scale * LN2  # from base 2 back to e
    _put(
        DQ,
        sizes.D * sizes.step,
        tile * KIND.rows,
        rows,
        sizes.D,
        dq,
        KIND.rows,
        KIND.width,
        KIND,
        KIND.chained,
    )
    if KIND.learned:
        dslope *= -sizes.step
        if KIND.chained:
            dslope += tl.load(DSLOPE + line, mask=row < rows, other=0.0)
        tl.store(DSLOPE + line, dslope, mask=row < rows)


@triton.jit
def _absorb_dq(dq, dslope, q, do, lse, delta, K, V, at_k, at_v, k0, b, residue, position, q_segment, first, second,
               slope, keys, mask_at, needed, marks, sizes, reach, numbers,
               KIND: tl.constexpr, MASKED: tl.constexpr):  # fmt: skip
    """One tile of keys into dq."""
    column = k0 + tl.arange(0, KIND.cols)
    k = _tile(at_k, _stride(K.row, sizes, KIND), k0, keys, sizes.D, KIND.cols, KIND.width, KIND)
    v = _tile(at_v, _stride(V.row, sizes, KIND), k0, keys, sizes.E, KIND.cols, KIND.tall, KIND)
    k_segment = 0
    if KIND.segments:
        k_segment = _labels(marks.of_key, b, column, sizes.M)[None, :]
    s, bend = _scores(q, tl.trans(k), position[:, None], column[None, :], q_segment, k_segment, mask_at, needed, slope,
                      keys, numbers, reach, KIND, MASKED)  # fmt: skip
    p = tl.exp2(s * numbers.scale - lse[:, None])
    dp = tl.dot(do, tl.trans(v), input_precision=KIND.precision)
    if KIND.dropped:
        from_last = (sizes.M - 1 - residue - column * sizes.step)[None, :]
        dp = tl.where(_kept(first, second, from_last, reach.threshold), dp * numbers.spread, 0.0)
    ds = p * (dp - delta[:, None])
    if KIND.learned:
        dslope += tl.sum(ds * tl.abs(position[:, None] - column[None, :]).to(tl.float32), 1)
    if KIND.capped:
        ds *= bend
    dq = tl.dot(ds.to(k.dtype), k, dq, input_precision=KIND.precision)
    return dq, dslope


@triton.jit(do_not_specialize=["reach"])
def backward_key(
    Q, K, V, DO, DK, DV, LSE, DELTA, marks, tiles, shared, sizes, reach, numbers, KIND: tl.constexpr
):
    """dk and dv of one tile of keys, over all query heads of its group; DK and DV are contiguous."""
    tile, residue, group, b, g, rows, keys = _place(sizes, sizes.G)
    if KIND.stepped and tile * KIND.cols >= keys:  # classes differ by a row
        return
    first_key, sheet, piece = tile * KIND.cols, -1, 0
    if KIND.listed:
        # A piece is (key tile, full from, to, partial from, to, sheet or −1): long lists are cut into several.
        piece = shared.pieces + tile // (KIND.size // KIND.cols) * 6
        first_key = tl.load(piece) * KIND.size + tile % (KIND.size // KIND.cols) * KIND.cols
        sheet = tl.load(piece + 5)
    at_k, at_v = _at(K, b, g, residue), _at(V, b, g, residue)
    column = first_key + tl.arange(0, KIND.cols)
    shift = _shift(b, rows, keys, marks, KIND)
    k = _tile(at_k, _stride(K.row, sizes, KIND), first_key, keys, sizes.D, KIND.cols, KIND.width, KIND)
    v = _tile(at_v, _stride(V.row, sizes, KIND), first_key, keys, sizes.E, KIND.cols, KIND.tall, KIND)
    k_segment = 0
    if KIND.segments:
        k_segment = _labels(marks.of_key, b, column, sizes.M)[:, None]
    dk = tl.full([KIND.cols, KIND.width], 0.0, tl.float32)
    dv = tl.full([KIND.cols, KIND.tall], 0.0, tl.float32)
    for member in range(sizes.H // sizes.G):
        h = g * (sizes.H // sizes.G) + member
        at_q, at_do = _at(Q, b, h, residue), _at(DO, b, h, residue)
        head = b * sizes.H + h
        mine = head.to(tl.int64) * sizes.N + residue
        slope = 0.0
        if KIND.slopes:
            slope = tl.load(marks.slopes + h)
        if KIND.listed:
            inner: tl.constexpr = KIND.size // KIND.rows
            start, stop = tl.load(piece + 1) * inner, tl.load(piece + 2) * inner
            for e in range(start, stop):
                r0 = tl.load(tiles.full + e // inner) * KIND.size + e % inner * KIND.rows
                dk, dv = _absorb_dkv(
                    dk, dv, k, v, Q, DO, at_q, at_do, LSE + mine, DELTA + mine, r0, b, head, residue, shift, column,
                    k_segment, slope, rows, keys, tiles.masks, False, marks, sizes, reach, numbers, KIND, False)  # fmt: skip
            start, stop = tl.load(piece + 3) * inner, tl.load(piece + 4) * inner
            for e in range(start, stop):
                r0 = tl.load(tiles.partial + e // inner) * KIND.size + e % inner * KIND.rows
                mask_id = tl.load(tiles.mask_of + e // inner).to(tl.int64)
                corner = (
                    tiles.masks
                    + (mask_id * KIND.size + e % inner * KIND.rows) * KIND.size
                    + first_key % KIND.size
                )
                mask_at = (
                    corner + tl.arange(0, KIND.rows)[None, :] * KIND.size + tl.arange(0, KIND.cols)[:, None]
                )
                dk, dv = _absorb_dkv(
                    dk, dv, k, v, Q, DO, at_q, at_do, LSE + mine, DELTA + mine, r0, b, head, residue, shift, column,
                    k_segment, slope, rows, keys, mask_at, True, marks, sizes, reach, numbers, KIND, True)  # fmt: skip
        else:
            k1 = tl.minimum((tile + 1) * KIND.cols, keys)
            lo, hi = _rows(tile * KIND.cols, k1, shift, rows + shift, reach, KIND)
            if KIND.segments:
                at = marks.bounds + (b * sizes.tiles + tile) * 2
                lo, hi = tl.maximum(lo, tl.load(at) + shift), tl.minimum(hi, tl.load(at + 1) + shift)
            for r0 in range((lo - shift) // KIND.rows * KIND.rows, hi - shift, KIND.rows):
                # Rows past the last have weight zero, columns past the last are not stored: neither needs a mask.
                _, every, until, _ = _columns(r0 + shift, r0 + shift + KIND.rows, keys, reach, KIND)
                needed = (tile * KIND.cols < every) | (k1 > until) | KIND.segments
                dk, dv = _absorb_dkv(
                    dk, dv, k, v, Q, DO, at_q, at_do, LSE + mine, DELTA + mine, r0, b, head, residue, shift, column,
                    k_segment, slope, rows, keys, 0, needed, marks, sizes, reach, numbers, KIND, False)  # fmt: skip
    dk *= numbers.scale * LN2  # from base 2 back to e
    if KIND.listed:  # a constant of the compiler, so that other kernels have no such branch
        if sheet >= 0:
            # Several programs share these keys: each fills a float32 sheet, and `add_sheets` adds them up in order.
            line = (group * shared.sheets + sheet).to(tl.int64) * KIND.size + first_key % KIND.size
            line += tl.arange(0, KIND.cols)
            wide, tall = tl.arange(0, KIND.width), tl.arange(0, KIND.tall)
            tl.store(shared.dk + line[:, None] * sizes.D + wide[None, :], dk, mask=wide[None, :] < sizes.D)
            tl.store(shared.dv + line[:, None] * sizes.E + tall[None, :], dv, mask=tall[None, :] < sizes.E)
            return
    DK += (group.to(tl.int64) * sizes.M + residue) * sizes.D
    DV += (group.to(tl.int64) * sizes.M + residue) * sizes.E
    _put(DK, sizes.D * sizes.step, first_key, keys, sizes.D, dk, KIND.cols, KIND.width, KIND, KIND.chained)
    _put(DV, sizes.E * sizes.step, first_key, keys, sizes.E, dv, KIND.cols, KIND.tall, KIND, KIND.chained)


@triton.jit
def _absorb_dkv(dk, dv, k, v, Q, DO, at_q, at_do, LSE, DELTA, r0, b, head, residue, shift, column, k_segment, slope,
                rows, keys, mask_at, needed, marks, sizes, reach, numbers,
                KIND: tl.constexpr, MASKED: tl.constexpr):  # fmt: skip
    """One tile of queries into dk and dv, with keys as rows."""
    row = r0 + tl.arange(0, KIND.rows)
    q = _tile(at_q, _stride(Q.row, sizes, KIND), r0, rows, sizes.D, KIND.rows, KIND.width, KIND)
    do = _tile(at_do, _stride(DO.row, sizes, KIND), r0, rows, sizes.E, KIND.rows, KIND.tall, KIND)
    lse = tl.load(LSE + row.to(tl.int64) * sizes.step, mask=row < rows, other=NEVER)
    delta = tl.load(DELTA + row.to(tl.int64) * sizes.step, mask=row < rows, other=0.0)
    q_segment = 0
    if KIND.segments:
        q_segment = _labels(marks.of_query, b, row, sizes.N)[None, :]
    s, bend = _scores(k, tl.trans(q), (row + shift)[None, :], column[:, None], q_segment, k_segment, mask_at, needed,
                      slope, keys, numbers, reach, KIND, MASKED)  # fmt: skip
    p = tl.exp2(s * numbers.scale - lse[None, :])
    dp = tl.dot(v, tl.trans(do), input_precision=KIND.precision)
    used = p
    if KIND.dropped:
        first, second = _row_keys(marks, head, row * sizes.step + residue)
        from_last = (sizes.M - 1 - residue - column * sizes.step)[:, None]
        kept = _kept(first[None, :], second[None, :], from_last, reach.threshold)
        used, dp = tl.where(kept, p * numbers.spread, 0.0), tl.where(kept, dp * numbers.spread, 0.0)
    dv = tl.dot(used.to(do.dtype), do, dv, input_precision=KIND.precision)
    ds = p * (dp - delta[None, :])
    if KIND.capped:
        ds *= bend
    dk = tl.dot(ds.to(q.dtype), q, dk, input_precision=KIND.precision)
    return dk, dv


@triton.jit
def add_sheets(SHEETS, GRAD, owners, first_sheet, sheets, slots, M, D,
               SIZE: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):  # fmt: skip
    """Add up the sheets of each key tile that has several, in their order, into its rows of a gradient."""
    part, z = tl.program_id(0) % (SIZE // ROWS), tl.program_id(0) // (SIZE // ROWS)
    slot, group = z % slots, z // slots
    row, wide = part * ROWS + tl.arange(0, ROWS)[:, None], tl.arange(0, WIDTH)[None, :]
    total = tl.full([ROWS, WIDTH], 0.0, tl.float32)
    for sheet in range(tl.load(first_sheet + slot), tl.load(first_sheet + slot + 1)):
        line = (group * sheets + sheet).to(tl.int64) * SIZE + row
        total += tl.load(SHEETS + line * D + wide, mask=wide < D, other=0.0)
    position = tl.load(owners + slot) * SIZE + row
    at = GRAD + (group.to(tl.int64) * M + position) * D + wide
    tl.store(at, total.to(GRAD.dtype.element_ty), mask=(position < M) & (wide < D))
