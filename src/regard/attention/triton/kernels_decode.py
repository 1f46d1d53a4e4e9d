# mypy: ignore-errors
"""Triton kernels of one decoding step: few rows, so every weight is read once and nothing else matters.

The residual stream and all sums are float32. A program computes a few rows of a product, with all loads of
their weights in flight at once; the norm before it is computed again by every program, for it costs nothing.

With EARLY a kernel starts while the one before still runs (programmatic dependent launch, from Hopper on): it
asks for its weights, which nobody writes, and only then waits. So the memory never rests between two kernels.
"""

import triton
import triton.language as tl
from triton.language.extra import cuda

LOWEST = tl.constexpr(-1.0e30)
TURN = tl.constexpr(6.283185307179586)


@triton.jit
def _announce(EARLY: tl.constexpr):
    if EARLY:
        cuda.gdc_launch_dependents()


@triton.jit
def _await(EARLY: tl.constexpr):
    if EARLY:
        cuda.gdc_wait()


@triton.jit
def bent(x, BEND: tl.constexpr):
    if BEND == "silu":
        return x / (1.0 + tl.exp(-x))
    if BEND == "gelu tanh":
        inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
        return x * (1.0 - 1.0 / (tl.exp(2.0 * inner) + 1.0))  # (1 + tanh) / 2
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit
def _normed(x, inside, gain, shift, width, eps, NORM: tl.constexpr):
    if NORM == "rms":
        return x * tl.rsqrt(tl.sum(x * x, 0) / width + eps) * gain.to(tl.float32)
    mean = tl.sum(x, 0) / width
    off = tl.where(inside, x - mean, 0.0)
    scale = tl.rsqrt(tl.sum(off * off, 0) / width + eps)
    return off * scale * gain.to(tl.float32) + shift.to(tl.float32)


@triton.jit
def embed_kernel(token, at, table, positions, waves, x, cos, sin, turns, amplitude, width, half,
                 BLOCK: tl.constexpr, HALF: tl.constexpr, LEARNED: tl.constexpr, WAVES: tl.constexpr,
                 COUNTS: tl.constexpr, ROTARY: tl.constexpr, EARLY: tl.constexpr):  # fmt: skip
    """x (B,C) = table[token] + position; for Rotary the cosines and sines (B, D/2) of this step."""
    b = tl.program_id(0)
    _announce(EARLY)
    _await(EARLY)
    t, p = tl.load(token + b), tl.load(at + b)
    c = tl.arange(0, BLOCK)
    inside = c < width
    out = tl.load(table + t * width + c, mask=inside, other=0.0).to(tl.float32)
    if LEARNED:
        out += tl.load(positions + p * width + c, mask=inside, other=0.0).to(tl.float32)
    if WAVES:
        # The angle in float64, brought near zero there: at position 10⁶ float32 would be off by 0.06.
        angle = p.to(tl.float64) * tl.load(waves + c // 2, mask=inside, other=0.0)
        angle = (angle - tl.floor(angle / TURN) * TURN).to(tl.float32)
        out += tl.where(c % 2 == 0, tl.sin(angle), tl.cos(angle))
    if COUNTS:
        out += (p + 1).to(tl.float32) * tl.load(waves).to(tl.float32)
    tl.store(x + b * width + c, out, mask=inside)
    if ROTARY:
        d = tl.arange(0, HALF)
        angle = p.to(tl.float64) * tl.load(turns + d, mask=d < half, other=0.0)
        angle = (angle - tl.floor(angle / TURN) * TURN).to(tl.float32)
        tl.store(cos + b * half + d, tl.cos(angle) * amplitude, mask=d < half)
        tl.store(sin + b * half + d, tl.sin(angle) * amplitude, mask=d < half)


@triton.jit
def project_kernel(x, weight, scales, bias, gamma, beta, y, best, best_at, rows, width, eps,
                   B: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, CHUNKS: tl.constexpr,
                   NORM: tl.constexpr, SCALED: tl.constexpr, BIAS: tl.constexpr, BEND: tl.constexpr,
                   GATED: tl.constexpr, ADD: tl.constexpr, BEST: tl.constexpr, EARLY: tl.constexpr):  # fmt: skip
    """y (B,rows) = weight (rows,width) · x, x normed first or not; then bias, bend, residual, argmax.

    SCALED: the weights are int8, with a scale for each row. GATED: rows of gates stand before as many rows of
    what they let through.
    """
    pid = tl.program_id(0)
    _announce(EARLY)
    n = pid * ROWS + tl.arange(0, ROWS)
    k = tl.arange(0, BLOCK)
    real = n < rows
    base = weight + n.to(tl.int64)[:, None] * width
    beside = base + rows.to(tl.int64) * width
    inside = k < width
    there = real[:, None] & inside[None, :]
    # The first weights are asked for before the inputs are looked at, so that both travel together.
    w = tl.load(base + k[None, :], mask=there, other=0)
    if GATED:
        u = tl.load(beside + k[None, :], mask=there, other=0)
    if NORM != "":
        gain = tl.load(gamma + k, mask=inside, other=0.0)
        shift = tl.load(beta + k, mask=inside, other=0.0) if NORM == "layer" else gain
    if SCALED:
        scale = tl.load(scales + n, mask=real, other=0.0)
        scale_u = tl.load(scales + rows + n, mask=real, other=0.0) if GATED else scale
    if BIAS:
        constant = tl.load(bias + n, mask=real, other=0.0).to(tl.float32)
        constant_u = tl.load(bias + rows + n, mask=real, other=0.0).to(tl.float32) if GATED else constant
    _await(EARLY)
    for b in tl.static_range(B):
        v = tl.load(x + b * width + k, mask=inside, other=0.0).to(tl.float32)
        if NORM != "":
            v = _normed(v, inside, gain, shift, width, eps, NORM)
        acc = w.to(tl.float32) * v[None, :]
        if GATED:
            through = u.to(tl.float32) * v[None, :]
        for chunk in tl.static_range(1, CHUNKS):
            at = chunk * BLOCK + k
            more = at < width
            v = tl.load(x + b * width + at, mask=more, other=0.0).to(tl.float32)
            more = real[:, None] & more[None, :]
            acc += tl.load(base + at[None, :], mask=more, other=0).to(tl.float32) * v[None, :]
            if GATED:
                through += tl.load(beside + at[None, :], mask=more, other=0).to(tl.float32) * v[None, :]
        out = tl.sum(acc, 1)
        if SCALED:
            out *= scale
        if BIAS:
            out += constant
        if BEND != "":
            out = bent(out, BEND)
        if GATED:
            more_out = tl.sum(through, 1)
            if SCALED:
                more_out *= scale_u
            if BIAS:
                more_out += constant_u
            out *= more_out
        if ADD:
            out += tl.load(y + b * rows + n, mask=real, other=0.0)
        tl.store(y + b * rows + n, out.to(y.dtype.element_ty), mask=real)
        if BEST:
            out = tl.where(real, out, float("-inf"))
            i = tl.argmax(out, 0)
            tl.store(best + b * tl.num_programs(0) + pid, tl.max(out, 0))
            tl.store(best_at + b * tl.num_programs(0) + pid, pid * ROWS + i)


@triton.jit(do_not_specialize=["size", "first", "recent"])
def attend_kernel(qkv, key, value, at, mask, slopes, cos, sin, query_gain, key_gain, out, part, part_ml, done,
                  size, first, recent, scale, eps, H: tl.constexpr, G: tl.constexpr, D: tl.constexpr,
                  WIDE: tl.constexpr, EACH: tl.constexpr, SLOTS: tl.constexpr, SPLITS: tl.constexpr,
                  DOT: tl.constexpr, NORM: tl.constexpr, ROTARY: tl.constexpr,
                  SLOPES: tl.constexpr, MASKED: tl.constexpr, EARLY: tl.constexpr):  # fmt: skip
    """One group of heads of one row over a share of its slots; the new key and value are written to theirs.

    The last program of a group to finish adds up what all of them found. DOT: by tensor cores, which multiply
    sixteen rows at once, however few heads there are.
    """
    row, split = tl.program_id(0), tl.program_id(1)
    _announce(EARLY)
    _await(EARLY)
    b, g = row // G, row % G
    p = tl.load(at + b)
    d = tl.arange(0, WIDE)
    h = tl.arange(0, EACH)
    inside = d < D
    mine = (h < H // G)[:, None] & inside[None, :]
    start = qkv + b * (H + 2 * G) * D
    q_at = start + (g * (H // G) + h)[:, None] * D
    k_at = start + (H + g) * D
    q = tl.load(q_at + d[None, :], mask=mine, other=0.0).to(tl.float32)
    k_new = tl.load(k_at + d, mask=inside, other=0.0).to(tl.float32)
    v_new = tl.load(start + (H + G + g) * D + d, mask=inside, other=0.0).to(tl.float32)
    across = (d + D // 2) % D
    if ROTARY:
        q_across = tl.load(q_at + across[None, :], mask=mine, other=0.0).to(tl.float32)
        k_across = tl.load(k_at + across, mask=inside, other=0.0).to(tl.float32)
    if NORM:
        q_norm = tl.rsqrt(tl.sum(q * q, 1) / D + eps)[:, None]
        k_norm = tl.rsqrt(tl.sum(k_new * k_new, 0) / D + eps)
        q *= q_norm * tl.load(query_gain + d, mask=inside, other=0.0).to(tl.float32)[None, :]
        k_new *= k_norm * tl.load(key_gain + d, mask=inside, other=0.0).to(tl.float32)
        if ROTARY:
            q_across *= q_norm * tl.load(query_gain + across, mask=inside, other=0.0).to(tl.float32)[None, :]
            k_across *= k_norm * tl.load(key_gain + across, mask=inside, other=0.0).to(tl.float32)
    if ROTARY:
        c = tl.load(cos + b * (D // 2) + d % (D // 2), mask=inside, other=0.0)
        turned = tl.load(sin + b * (D // 2) + d % (D // 2), mask=inside, other=0.0)
        turned = tl.where(d < D // 2, -turned, turned)
        q = q * c[None, :] + q_across * turned[None, :]
        k_new = k_new * c + k_across * turned
    kind = key.dtype.element_ty
    k_new, v_new = k_new.to(kind), v_new.to(kind)
    slot = tl.where(p < first, p, first + (p - first) % recent)
    past = row.to(tl.int64) * size * D
    if split == 0:
        tl.store(key + past + slot * D + d, k_new, mask=inside)
        tl.store(value + past + slot * D + d, v_new, mask=inside)
    filled = tl.minimum(p + 1, size).to(tl.int32)
    share = tl.cdiv(tl.cdiv(filled, SPLITS), SLOTS) * SLOTS
    low = split * share
    high = tl.minimum(low + share, filled)
    scale *= 1.4426950408889634  # scores are in base 2
    # The new key is at hand; memory has it only for the steps to come.
    own = (low <= slot) & (slot < high)
    if MASKED:
        own = own & (tl.load(mask + b * size + slot) != 0)
    own_score = tl.sum(q * k_new.to(tl.float32)[None, :], 1) * scale
    m = tl.where(own, own_score, LOWEST)
    l = tl.where(own, 1.0, tl.zeros((EACH,), tl.float32))
    acc = tl.where(own, v_new.to(tl.float32)[None, :], tl.zeros((EACH, WIDE), tl.float32))
    if DOT:
        q_dot = q.to(kind)
    for begin in range(low, high, SLOTS):
        s = begin + tl.arange(0, SLOTS)
        seen = (s < high) & (s != slot)
        there = past + s[:, None].to(tl.int64) * D + d[None, :]
        load = (s < high)[:, None] & inside[None, :]
        k = tl.load(key + there, mask=load, other=0.0)
        v = tl.load(value + there, mask=load, other=0.0)
        if DOT:
            scores = tl.dot(q_dot, tl.trans(k)) * scale
        else:
            scores = tl.sum(q[:, None, :] * k.to(tl.float32)[None, :, :], 2) * scale  # EACH SLOTS
        if SLOPES:
            held = tl.where(s < first, s, p - (p - s) % recent)
            slope = tl.load(slopes + g * (H // G) + h, mask=h < H // G, other=0.0) * 1.4426950408889634
            scores -= slope[:, None] * (p - held).to(tl.float32)[None, :]
        if MASKED:
            seen = seen & (tl.load(mask + b * size + s, mask=seen, other=0) != 0)
        scores = tl.where(seen[None, :], scores, LOWEST)
        top = tl.maximum(m, tl.max(scores, 1))
        weights = tl.where(seen[None, :], tl.exp2(scores - top[:, None]), 0.0)
        shrink = tl.exp2(m - top)
        l = l * shrink + tl.sum(weights, 1)
        if DOT:
            acc = tl.dot(weights.to(kind), v, acc * shrink[:, None])
        else:
            acc = acc * shrink[:, None] + tl.sum(weights[:, :, None] * v.to(tl.float32)[None, :, :], 1)
        m = top
    to = out + b * H * D + (g * (H // G) + h)[:, None] * D + d[None, :]
    if SPLITS == 1:
        tl.store(to, (acc / tl.where(l > 0, l, 1.0)[:, None]).to(out.dtype.element_ty), mask=mine)
    else:
        spot = row * SPLITS + split
        tl.store(part + spot * EACH * WIDE + h[:, None] * WIDE + d[None, :], acc)
        tl.store(part_ml + spot * 2 * EACH + h, m)
        tl.store(part_ml + spot * 2 * EACH + EACH + h, l)
        tl.debug_barrier()  # every thread's part is out before the count says so
        if tl.atomic_add(done + row, 1, sem="acq_rel") == SPLITS - 1:
            m = tl.full((EACH,), LOWEST, tl.float32)
            l = tl.zeros((EACH,), tl.float32)
            acc = tl.zeros((EACH, WIDE), tl.float32)
            for i in range(SPLITS):
                spot = row * SPLITS + i
                m_i = tl.load(part_ml + spot * 2 * EACH + h, cache_modifier=".cg")
                l_i = tl.load(part_ml + spot * 2 * EACH + EACH + h, cache_modifier=".cg")
                a_i = tl.load(
                    part + spot * EACH * WIDE + h[:, None] * WIDE + d[None, :], cache_modifier=".cg"
                )
                top = tl.maximum(m, m_i)
                old, fresh = tl.exp2(m - top), tl.exp2(m_i - top)
                l = l * old + l_i * fresh
                acc = acc * old[:, None] + a_i * fresh[:, None]
                m = top
            tl.store(to, (acc / tl.where(l > 0, l, 1.0)[:, None]).to(out.dtype.element_ty), mask=mine)
            tl.store(done + row, 0)


@triton.jit(do_not_specialize=["parts", "stop_count", "room"])
def settle_kernel(best, best_at, token, at, ended, stops, found, count, parts, stop_count, room,
                  BLOCK: tl.constexpr, STOPS: tl.constexpr, EARLY: tl.constexpr):  # fmt: skip
    """The likeliest token of each row from the best of each program; then everything moves on by one."""
    b = tl.program_id(0)
    _announce(EARLY)
    _await(EARLY)
    i = tl.arange(0, BLOCK)
    top = tl.full((), float("-inf"), tl.float32)
    chosen = tl.full((), 0, tl.int32)
    for begin in range(0, parts, BLOCK):
        x = tl.load(best + b * parts + begin + i, mask=begin + i < parts, other=float("-inf"))
        here = tl.max(x, 0)
        if here > top:  # of equals, the first
            chosen = tl.load(best_at + b * parts + begin + tl.argmax(x, 0))
            top = here
    over = tl.load(ended + b)
    new = tl.where(over != 0, tl.load(token + b), chosen.to(tl.int64))
    tl.store(token + b, new)
    n = tl.load(count + b)
    tl.store(found + (n % room) * tl.num_programs(0) + b, new)
    tl.store(count + b, n + 1)
    tl.store(at + b, tl.load(at + b) + 1)
    if STOPS:
        s = tl.arange(0, STOPS)
        stopped = tl.load(stops + s, mask=s < stop_count, other=-1) == new
        tl.store(ended + b, over | tl.max(stopped.to(tl.int32), 0))


@triton.jit
def add_norm_kernel(x, branch, gamma, beta, y, width, eps, BLOCK: tl.constexpr, NORM: tl.constexpr,
                    ADD: tl.constexpr):  # fmt: skip
    """x += branch, y = norm(x), one row per program."""
    b = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    inside = k < width
    v = tl.load(x + b * width + k, mask=inside, other=0.0)
    if ADD:
        v += tl.load(branch + b * width + k, mask=inside, other=0.0).to(tl.float32)
        tl.store(x + b * width + k, v, mask=inside)
    gain = tl.load(gamma + k, mask=inside, other=0.0)
    shift = tl.load(beta + k, mask=inside, other=0.0) if NORM == "layer" else gain
    out = _normed(v, inside, gain, shift, width, eps, NORM)
    tl.store(y + b * width + k, out.to(y.dtype.element_ty), mask=inside)


@triton.jit
def bend_kernel(x, y, width, BLOCK: tl.constexpr, BEND: tl.constexpr, GATED: tl.constexpr):
    """y (B,width) = bend(x), or, of x (B,2·width), bend of the first half times the second."""
    b = tl.program_id(0)
    k = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = k < width
    row = x + b * width * (2 if GATED else 1)
    out = bent(tl.load(row + k, mask=inside, other=0.0).to(tl.float32), BEND)
    if GATED:
        out *= tl.load(row + width + k, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + b * width + k, out.to(y.dtype.element_ty), mask=inside)
