"""GPU kernels of causal linear attention: each program walks one part of one head with the sum in registers.

The sequence is cut into parts. One pass over k and v gives each part's total Σ k [v, 1]ᵀ, a scan turns the
totals into the sum that enters each part, and a walk over the part's blocks adds what lies inside; no sum per
block ever reaches memory. The backward is the same three steps from the other end, with Σ q [g, −δ/den]ᵀ.

A table row holds S (DP,EP), z (DP) and one number more, the summed key lengths for the check. Row r is what
enters the r-th part in walking order, and the last row is what leaves the sequence.
"""
# A kernel takes its pointers and strides one by one, and triton reads its annotations as its own.
# mypy: disable-error-code="no-untyped-def"

import triton
import triton.language as tl


@triton.jit
def tile(base, stride, rows, live, WIDTH: tl.constexpr, PADDED: tl.constexpr, FEATURE: tl.constexpr):
    """φ of the rows of a matrix, zero where a row is not live and right of its width."""
    cols = tl.arange(0, PADDED)
    mask = live[:, None] & (cols < WIDTH)[None, :]
    x = tl.load(base + rows[:, None] * stride + cols[None, :], mask=mask, other=0.0)
    if FEATURE == "relu":
        x = tl.where(x > 0, x, 0.0).to(x.dtype)
    if FEATURE == "elu1":
        y = x.to(tl.float32)
        x = tl.where(mask, tl.where(y > 0, y + 1.0, tl.exp(tl.minimum(y, 0.0))), 0.0).to(x.dtype)
    return x


@triton.jit
def slope(grad, x, FEATURE: tl.constexpr):
    """The gradient before the feature, from the one after it and from x, the feature's own value."""
    if FEATURE == "relu":
        grad = tl.where(x > 0, grad, 0.0)
    if FEATURE == "elu1":
        grad = grad * tl.minimum(x.to(tl.float32), 1.0)
    return grad


@triton.jit
def through(x, sums, EXACT: tl.constexpr):
    """x · sums for sums in float32: rounded to x's type once or, if EXACT, as two terms.

    The backward subtracts two such products that nearly cancel when values share a mean.
    """
    if x.dtype == tl.float32:
        return tl.dot(x, sums, input_precision="ieee")
    if x.dtype == tl.float16:  # a long sum leaves float16's range
        top = tl.max(tl.abs(sums))
        top = tl.where(top > 0, top, 1.0)
        sums = sums / top
    high = sums.to(x.dtype)
    y = tl.dot(x, high)
    if EXACT:
        y = tl.dot(x, (sums - high.to(tl.float32)).to(x.dtype), y)
    if x.dtype == tl.float16:
        y = y * top
    return y


@triton.jit
def largest(weights, HALF: tl.constexpr):
    """What to divide weights by so that float16 holds the small ones; 1 for other types."""
    top = 1.0
    if HALF:
        top = tl.max(tl.abs(weights))
        top = tl.where(top > 0, top, 1.0)
    return top


@triton.jit
def lengths(x):
    """‖x‖ of each row."""
    x = x.to(tl.float32)
    return tl.sqrt(tl.sum(x * x, 1))


@triton.jit
def entering(table, row, STRIDE: tl.constexpr, DP: tl.constexpr, EP: tl.constexpr):
    """S and z of one row of the table."""
    d, e = tl.arange(0, DP), tl.arange(0, EP)
    base = table + row.to(tl.int64) * STRIDE
    return tl.load(base + d[:, None] * EP + e[None, :]), tl.load(base + DP * EP + d)


@triton.jit
def leave(table, row, S, z, STRIDE: tl.constexpr, DP: tl.constexpr, EP: tl.constexpr):
    """Write S and z as one row of the table."""
    d, e = tl.arange(0, DP), tl.arange(0, EP)
    base = table + row.to(tl.int64) * STRIDE
    tl.store(base + d[:, None] * EP + e[None, :], S)
    tl.store(base + DP * EP + d, z)


@triton.jit
def key_totals(
    k, v, segments, table, k_b, k_h, k_n, v_b, v_h, v_n, N, G, span,
    D: tl.constexpr, E: tl.constexpr, DP: tl.constexpr, EP: tl.constexpr, STRIDE: tl.constexpr,
    BLOCK: tl.constexpr, FEATURE: tl.constexpr, SEGMENTS: tl.constexpr, CHECK: tl.constexpr,
):  # fmt: skip
    """Row part + 1 of the table: Σ k [v, 1]ᵀ over the part, or over its last segment."""
    bg, part, parts = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    b, g, lo = (bg // G).to(tl.int64), (bg % G).to(tl.int64), (part * span).to(tl.int64)
    k += b * k_b + g * k_h + lo * k_n
    v += b * v_b + g * v_h + lo * v_n
    segments += b * N + lo
    size = tl.minimum(span, N - part * span)
    if SEGMENTS:
        last = tl.load(segments + size - 1)
    S = tl.zeros((DP, EP), tl.float32)
    K = tl.zeros((BLOCK, DP), tl.float32)  # summed over its rows once, at the end
    reach = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, size, BLOCK):
        rows = at + tl.arange(0, BLOCK)
        live = rows < size
        if SEGMENTS:
            own = tl.load(segments + rows, mask=live, other=-1)
            live = live & (own >= 0) & (own == last)
        kt = tile(k, k_n, rows, live, D, DP, FEATURE)
        vt = tile(v, v_n, rows, live, E, EP, "identity")
        S = tl.dot(tl.trans(kt), vt, S, input_precision="ieee")
        K += kt.to(tl.float32)
        if CHECK:
            reach += lengths(kt)
    row = bg * (parts + 1) + part + 1
    leave(table, row, S, tl.sum(K, 0), STRIDE, DP, EP)
    if CHECK:
        tl.store(table + row.to(tl.int64) * STRIDE + DP * EP + DP, tl.sum(reach))


@triton.jit
def keep_or_add(keep_left, left, keep_right, right):
    """Two steps of sum -> sum·keep + new, as one."""
    return keep_left * keep_right, left * keep_right + right


@triton.jit
def scan(
    table, segments, N, G, span, parts,
    STRIDE: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
    SEGMENTS: tl.constexpr, REVERSE: tl.constexpr,
):  # fmt: skip
    """Turn the table's start (row 0) and totals into running sums, in place; a sum ends with its segment."""
    bg = tl.program_id(0)
    rows, cols = tl.arange(0, ROWS), tl.program_id(1) * COLS + tl.arange(0, COLS)
    at = table + bg.to(tl.int64) * (parts + 1) * STRIDE + rows[:, None] * STRIDE + cols[None, :]
    mask = (rows <= parts)[:, None] & (cols < WIDTH)[None, :]
    x = tl.load(at, mask=mask, other=0.0)
    if SEGMENTS:
        segments += (bg // G).to(tl.int64) * N
        lo = (parts - rows if REVERSE else rows - 1) * span
        hi = tl.minimum(lo + span, N)
        if not REVERSE:  # the last position before the part, and the part's last
            lo, hi = lo - 1, hi - 1
        inside = (rows > 0) & (rows <= parts) & (lo >= 0) & (hi < N)
        left = tl.load(segments + lo, mask=inside, other=-1)
        keep = inside & (left == tl.load(segments + hi, mask=inside, other=-1))
        keep = tl.broadcast_to(keep.to(tl.float32)[:, None], (ROWS, COLS))
        _, x = tl.associative_scan((keep, x), 0, keep_or_add)
    else:
        x = tl.cumsum(x, 0)
    tl.store(at, x, mask=mask)


@triton.jit
def head_and_part(H, G, span):
    """A program's head, group and part, in 64 bits where they move a pointer, and where the part begins."""
    bh, part = tl.program_id(0), tl.program_id(1)
    bg = (bh // H) * G + (bh % H) // (H // G)
    b, h, g = (bh // H).to(tl.int64), (bh % H).to(tl.int64), (bg % G).to(tl.int64)
    return bh, bg, b, h, g, part, tl.num_programs(1), (part * span).to(tl.int64)


@triton.jit
def block(segments, at, size, BLOCK: tl.constexpr, SEGMENTS: tl.constexpr):
    """The rows of a block, which of them are there, the pairs that are seen, and each row's segment."""
    lane = tl.arange(0, BLOCK)
    rows = at + lane
    live, seen, own = rows < size, lane[:, None] >= lane[None, :], lane
    if SEGMENTS:
        own = tl.load(segments + rows, mask=live, other=-1)
        live = live & (own >= 0)
        seen = seen & (own[:, None] == own[None, :])
    return rows, live, seen, own


@triton.jit
def forward_walk(
    q, k, v, segments, table, out, inverse, doubt, q_b, q_h, q_n, k_b, k_h, k_n, v_b, v_h, v_n, N, H, G, span,
    D: tl.constexpr, E: tl.constexpr, DP: tl.constexpr, EP: tl.constexpr, STRIDE: tl.constexpr,
    BLOCK: tl.constexpr, FEATURE: tl.constexpr, SEGMENTS: tl.constexpr, CHECK: tl.constexpr,
):  # fmt: skip
    """The outputs and the inverse denominators; `doubt` becomes 1 if a denominator may be unsafe."""
    bh, bg, b, h, g, part, parts, lo = head_and_part(H, G, span)
    q += b * q_b + h * q_h + lo * q_n
    k += b * k_b + g * k_h + lo * k_n
    v += b * v_b + g * v_h + lo * v_n
    out += (bh.to(tl.int64) * N + lo) * E
    inverse += bh.to(tl.int64) * N + lo
    segments += b * N + lo
    size = tl.minimum(span, N - part * span)
    e = tl.arange(0, EP)
    row = bg * (parts + 1) + part
    S, z = entering(table, row, STRIDE, DP, EP)
    reach = 0.0
    if CHECK:
        reach = tl.load(table + row.to(tl.int64) * STRIDE + DP * EP + DP)
    if SEGMENTS:
        before = tl.load(segments - 1, mask=part > 0, other=-1)
    for at in range(0, size, BLOCK):
        rows, live, seen, own = block(segments, at, size, BLOCK, SEGMENTS)
        if SEGMENTS:
            last = tl.load(segments + tl.minimum(at + BLOCK, size) - 1)
        qt = tile(q, q_n, rows, live, D, DP, FEATURE)
        kt = tile(k, k_n, rows, live, D, DP, FEATURE)
        vt = tile(v, v_n, rows, live, E, EP, "identity")
        scores = tl.where(seen, tl.dot(qt, tl.trans(kt), input_precision="ieee"), 0.0)
        num = through(qt, S, False)
        den = tl.sum(qt.to(tl.float32) * z[None, :], 1)
        if SEGMENTS:
            num = tl.where((own == before)[:, None], num, 0.0)
            den = tl.where(own == before, den, 0.0)
        den += tl.sum(scores, 1)
        num = tl.dot(scores.to(vt.dtype), vt, num, input_precision="ieee")
        inv = tl.where(den == 0, 0.0, 1.0 / tl.where(den == 0, 1.0, den))
        to = (rows < size)[:, None] & (e < E)[None, :]
        tl.store(out + rows[:, None] * E + e[None, :], (num * inv[:, None]).to(vt.dtype), mask=to)
        tl.store(inverse + rows, inv, mask=rows < size)
        if CHECK:
            length = lengths(kt)
            if SEGMENTS:
                sight = tl.sum(tl.where(seen, length[None, :], 0.0), 1) + tl.where(own == before, reach, 0.0)
                reach = tl.where(last == before, reach, 0.0) + tl.sum(tl.where(own == last, length, 0.0))
            else:
                sight = tl.cumsum(length, 0) + reach
                reach += tl.sum(length)
            # A little over the rule's 1e-6: what is doubted here is judged again outside.
            unsafe = live & (tl.abs(den) <= 1.01e-6 * lengths(qt) * sight)
            tl.store(doubt, 1, mask=tl.max(unsafe.to(tl.int32)) > 0)
        if SEGMENTS:
            S = tl.where(last == before, S, 0.0)
            z = tl.where(last == before, z, 0.0)
            kt = tl.where((own == last)[:, None], kt, 0.0).to(kt.dtype)
            before = last
        S = tl.dot(tl.trans(kt), vt, S, input_precision="ieee")
        z += tl.sum(kt.to(tl.float32), 0)
