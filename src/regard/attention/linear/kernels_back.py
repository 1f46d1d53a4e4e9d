"""GPU kernels of the backward of causal linear attention.

With g_i = grad_i / den_i and δ_i = grad_i·out_i, the derivatives are sums over the same pairs:
dq_i = Σ_j k_j (g_i·v_j − δ_i/den_i), dk_j = Σ_i q_i (g_i·v_j − δ_i/den_i), dv_j = Σ_i (q_i·k_j) g_i.
The first walks forward with the sums of the forward pass; the others walk backward with Σ q [g, −δ/den]ᵀ.
"""
# A kernel takes its pointers and strides one by one, and triton reads its annotations as its own.
# mypy: disable-error-code="no-untyped-def"

import triton
import triton.language as tl

from regard.attention.linear.kernels import (
    block,
    entering,
    head_and_part,
    largest,
    leave,
    slope,
    through,
    tile,
)


@triton.jit
def query_walk(
    q, k, v, grad, segments, table, inverse, dq, delta,
    q_b, q_h, q_n, k_b, k_h, k_n, v_b, v_h, v_n, g_b, g_h, g_n, N, H, G, span,
    D: tl.constexpr, E: tl.constexpr, DP: tl.constexpr, EP: tl.constexpr, STRIDE: tl.constexpr,
    BLOCK: tl.constexpr, FEATURE: tl.constexpr, SEGMENTS: tl.constexpr,
):  # fmt: skip
    """dq_i = Σ_j k_j (grad_i·v_j − δ_i) / den_i, and δ_i = grad_i·out_i, summed anew: out was rounded."""
    bh, bg, b, h, g, part, parts, lo = head_and_part(H, G, span)
    q += b * q_b + h * q_h + lo * q_n
    k += b * k_b + g * k_h + lo * k_n
    v += b * v_b + g * v_h + lo * v_n
    grad += b * g_b + h * g_h + lo * g_n
    dq += (bh.to(tl.int64) * N + lo) * D
    inverse += bh.to(tl.int64) * N + lo
    delta += bh.to(tl.int64) * N + lo
    segments += b * N + lo
    size = tl.minimum(span, N - part * span)
    d = tl.arange(0, DP)
    S, z = entering(table, bg * (parts + 1) + part, STRIDE, DP, EP)
    if SEGMENTS:
        before = tl.load(segments - 1, mask=part > 0, other=-1)
    for at in range(0, size, BLOCK):
        rows, live, seen, own = block(segments, at, size, BLOCK, SEGMENTS)
        qt = tile(q, q_n, rows, live, D, DP, FEATURE)
        kt = tile(k, k_n, rows, live, D, DP, FEATURE)
        vt = tile(v, v_n, rows, live, E, EP, "identity")
        gt = tile(grad, g_n, rows, live, E, EP, "identity")
        inv = tl.load(inverse + rows, mask=live, other=0.0)
        part_dq = through(gt, tl.trans(S), True)
        past = tl.broadcast_to(z[None, :], (BLOCK, DP))
        if SEGMENTS:
            part_dq = tl.where((own == before)[:, None], part_dq, 0.0)
            past = tl.where((own == before)[:, None], past, 0.0)
        pull = tl.dot(gt, tl.trans(vt), input_precision="ieee")
        scores = tl.where(seen, tl.dot(qt, tl.trans(kt), input_precision="ieee"), 0.0)
        own_delta = inv * (tl.sum(scores * pull, 1) + tl.sum(qt.to(tl.float32) * part_dq, 1))
        pull = tl.where(seen, pull - own_delta[:, None], 0.0)
        part_dq -= own_delta[:, None] * past
        part_dq = tl.dot(pull.to(kt.dtype), kt, part_dq, input_precision="ieee") * inv[:, None]
        to = (rows < size)[:, None] & (d < D)[None, :]
        tl.store(dq + rows[:, None] * D + d[None, :], slope(part_dq, qt, FEATURE).to(qt.dtype), mask=to)
        tl.store(delta + rows, own_delta, mask=rows < size)
        if SEGMENTS:
            last = tl.load(segments + tl.minimum(at + BLOCK, size) - 1)
            S = tl.where(last == before, S, 0.0)
            z = tl.where(last == before, z, 0.0)
            kt = tl.where((own == last)[:, None], kt, 0.0).to(kt.dtype)
            before = last
        S = tl.dot(tl.trans(kt), vt, S, input_precision="ieee")
        z += tl.sum(kt.to(tl.float32), 0)


@triton.jit
def query_totals(
    q, grad, segments, table, inverse, delta, q_b, q_h, q_n, g_b, g_h, g_n, N, H, G, span,
    D: tl.constexpr, E: tl.constexpr, DP: tl.constexpr, EP: tl.constexpr, STRIDE: tl.constexpr,
    BLOCK: tl.constexpr, FEATURE: tl.constexpr, SEGMENTS: tl.constexpr,
):  # fmt: skip
    """A row of the backward table: Σ q [g, −δ/den]ᵀ over the part and its heads, or its first segment."""
    bg, part, parts = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    b, lo = (bg // G).to(tl.int64), (part * span).to(tl.int64)
    segments += b * N + lo
    size = tl.minimum(span, N - part * span)
    if SEGMENTS:
        first = tl.load(segments)
    S = tl.zeros((DP, EP), tl.float32)
    Q = tl.zeros((BLOCK, DP), tl.float32)
    for r in range(0, H // G):
        h = ((bg % G) * (H // G) + r).to(tl.int64)
        head_q, head_g = q + b * q_b + h * q_h + lo * q_n, grad + b * g_b + h * g_h + lo * g_n
        scalars = (b * H + h) * N + lo
        for at in range(0, size, BLOCK):
            rows = at + tl.arange(0, BLOCK)
            live = rows < size
            if SEGMENTS:
                own = tl.load(segments + rows, mask=live, other=-1)
                live = live & (own >= 0) & (own == first)
            qt = tile(head_q, q_n, rows, live, D, DP, FEATURE)
            gt = tile(head_g, g_n, rows, live, E, EP, "identity")
            inv = tl.load(inverse + scalars + rows, mask=live, other=0.0)
            drop = tl.load(delta + scalars + rows, mask=live, other=0.0) * inv
            top = largest(inv, qt.dtype == tl.float16)
            gt = (gt.to(tl.float32) * (inv / top)[:, None]).to(qt.dtype)
            S += tl.dot(tl.trans(qt), gt, input_precision="ieee") * top
            Q -= qt.to(tl.float32) * drop[:, None]
    leave(table, bg * (parts + 1) + parts - part, S, tl.sum(Q, 0), STRIDE, DP, EP)


@triton.jit
def key_block(
    dk, dv, S, z, kt, vt, q, grad, inverse, delta, q_n, g_n, rows, live, seen, first,
    D: tl.constexpr, E: tl.constexpr, DP: tl.constexpr, EP: tl.constexpr, FEATURE: tl.constexpr,
    SEGMENTS: tl.constexpr,
):  # fmt: skip
    """Add one block of one head's queries to the derivatives of the same block of keys, and to the sums."""
    qt = tile(q, q_n, rows, live, D, DP, FEATURE)
    gt = tile(grad, g_n, rows, live, E, EP, "identity")
    inv = tl.load(inverse + rows, mask=live, other=0.0)
    shift = tl.load(delta + rows, mask=live, other=0.0)
    top = largest(inv, qt.dtype == tl.float16)
    weight = inv / top
    scaled = (gt.to(tl.float32) * weight[:, None]).to(qt.dtype)
    scores = tl.where(
        seen, tl.dot(kt, tl.trans(qt), input_precision="ieee"), 0.0
    )  # keys down, queries across
    dv += tl.dot(scores.to(qt.dtype), scaled, input_precision="ieee") * top
    pull = tl.dot(vt, tl.trans(gt), input_precision="ieee") - shift[None, :]
    pull = tl.where(seen, pull * weight[None, :], 0.0)
    dk += tl.dot(pull.to(qt.dtype), qt, input_precision="ieee") * top
    if SEGMENTS:
        qt = tl.where(first[:, None], qt, 0.0).to(qt.dtype)
    S += tl.dot(tl.trans(qt), scaled, input_precision="ieee") * top
    z -= tl.sum(qt.to(tl.float32) * (shift * inv)[:, None], 0)
    return dk, dv, S, z


@triton.jit
def key_walk(
    q, k, v, grad, segments, table, inverse, delta, dk, dv,
    q_b, q_h, q_n, k_b, k_h, k_n, v_b, v_h, v_n, g_b, g_h, g_n, N, G, span, REPEATS: tl.constexpr,
    D: tl.constexpr, E: tl.constexpr, DP: tl.constexpr, EP: tl.constexpr, STRIDE: tl.constexpr,
    BLOCK: tl.constexpr, FEATURE: tl.constexpr, SEGMENTS: tl.constexpr,
):  # fmt: skip
    """dk and dv of one part, from its end to its beginning."""
    bg, part, parts = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    b, g, lo = (bg // G).to(tl.int64), (bg % G).to(tl.int64), (part * span).to(tl.int64)
    q += b * q_b + g * REPEATS * q_h + lo * q_n
    k += b * k_b + g * k_h + lo * k_n
    v += b * v_b + g * v_h + lo * v_n
    grad += b * g_b + g * REPEATS * g_h + lo * g_n
    inverse += bg.to(tl.int64) * REPEATS * N + lo
    delta += bg.to(tl.int64) * REPEATS * N + lo
    dk += (bg.to(tl.int64) * N + lo) * D
    dv += (bg.to(tl.int64) * N + lo) * E
    segments += b * N + lo
    size = tl.minimum(span, N - part * span)
    lane, d, e = tl.arange(0, BLOCK), tl.arange(0, DP), tl.arange(0, EP)
    seen = lane[:, None] <= lane[None, :]  # keys down, queries across
    S, z = entering(table, bg * (parts + 1) + parts - 1 - part, STRIDE, DP, EP)
    first = lane >= 0
    if SEGMENTS:
        after = tl.load(segments + size, mask=part + 1 < parts, other=-1)
    blocks = tl.cdiv(size, BLOCK)
    for step in range(0, blocks):
        at = (blocks - 1 - step) * BLOCK
        rows = at + lane
        live = rows < size
        if SEGMENTS:
            own = tl.load(segments + rows, mask=live, other=-1)
            live = live & (own >= 0)
            seen = (lane[:, None] <= lane[None, :]) & (own[:, None] == own[None, :])
        kt = tile(k, k_n, rows, live, D, DP, FEATURE)
        vt = tile(v, v_n, rows, live, E, EP, "identity")
        part_dv = through(kt, S, False)
        part_dk = through(vt, tl.trans(S), True) + z[None, :]
        if SEGMENTS:
            part_dv = tl.where((own == after)[:, None], part_dv, 0.0)
            part_dk = tl.where((own == after)[:, None], part_dk, 0.0)
            border = tl.load(segments + at)
            S = tl.where(border == after, S, 0.0)
            z = tl.where(border == after, z, 0.0)
            first = own == border
            after = border
        # A loop of one turn would keep the compiler from fetching the next block early.
        if REPEATS == 1:
            part_dk, part_dv, S, z = key_block(
                part_dk, part_dv, S, z, kt, vt, q, grad, inverse, delta, q_n, g_n, rows, live, seen, first,
                D, E, DP, EP, FEATURE, SEGMENTS,
            )  # fmt: skip
        else:
            for r in range(0, REPEATS):
                part_dk, part_dv, S, z = key_block(
                    part_dk, part_dv, S, z, kt, vt, q + r * q_h, grad + r * g_h, inverse + r * N,
                    delta + r * N, q_n, g_n, rows, live, seen, first, D, E, DP, EP, FEATURE, SEGMENTS,
                )  # fmt: skip
        into = rows < size
        part_dk = slope(part_dk, kt, FEATURE)
        tl.store(
            dk + rows[:, None] * D + d[None, :], part_dk.to(kt.dtype), mask=into[:, None] & (d < D)[None, :]
        )
        tl.store(
            dv + rows[:, None] * E + e[None, :], part_dv.to(vt.dtype), mask=into[:, None] & (e < E)[None, :]
        )
