"""Gluon kernel for Hopper: attention over a band or documents; the forward pass.

A warp of its own asks for tiles of keys and values ahead of time; two warpgroups of 64 queries each multiply
and take the softmax, and while a warpgroup takes that of one tile its products of the next ones are under
way. In a band every query sees one stretch of keys [first, last), which is all that a mask has to know.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

# As in `kernels`: hidden scores weigh exactly nothing, and all is finite.
HIDDEN = gl.constexpr(-1.0e30)
LOWEST = gl.constexpr(-1.0e20)
NEVER = gl.constexpr(1.0e30)
HALF = gl.constexpr(64)  # queries of one warpgroup


@gluon.jit
def _work(turn, tiles, KIND: gl.constexpr):
    """Tile and head of one piece of work; in a triangle the longest tiles of a head come first."""
    tile, head = turn % tiles, turn // tiles
    if KIND.causal and not KIND.back:
        tile = tiles - 1 - tile
    return tile, head


@gluon.jit
def _bounds(q0, q1, M, starts, ends, reach, KIND: gl.constexpr):
    """Keys [lo, hi) that some query of q0 ≤ q < q1 sees, and [every, until) that all of them see."""
    lo, every, until, hi = 0, 0, M, M
    if KIND.back:
        lo, every = gl.maximum(lo, q0 - reach.back), gl.maximum(every, q1 - 1 - reach.back)
    if KIND.window:
        lo = gl.maximum(lo, q0 // reach.window * reach.window)
        every = gl.maximum(every, (q1 - 1) // reach.window * reach.window)
        hi = gl.minimum(hi, ((q1 - 1) // reach.window + 1) * reach.window)
        until = gl.minimum(until, (q0 // reach.window + 1) * reach.window)
    if KIND.documents:
        lo, every = gl.maximum(lo, gl.load(starts + q0)), gl.maximum(every, gl.load(starts + q1 - 1))
        hi, until = gl.minimum(hi, gl.load(ends + q1 - 1)), gl.minimum(until, gl.load(ends + q0))
    if KIND.causal:
        hi, until = gl.minimum(hi, q1 - reach.gap), gl.minimum(until, q0 + 1 - reach.gap)
    return lo, every, until, hi


@gluon.jit
def _stretch(q, M, starts, ends, reach, KIND: gl.constexpr):
    """For each query the keys [first, last) that it sees."""
    first, last = gl.maximum(q - q, 0), gl.minimum(q - q + M, M)
    if KIND.back:
        first = gl.maximum(first, q - reach.back)
    if KIND.window:
        first = gl.maximum(first, q // reach.window * reach.window)
        last = gl.minimum(last, (q // reach.window + 1) * reach.window)
    if KIND.documents:
        first = gl.maximum(first, gl.load(starts + q, mask=q < M, other=0))
        last = gl.minimum(last, gl.load(ends + q, mask=q < M, other=0))
    if KIND.causal:
        last = gl.minimum(last, q + 1 - reach.gap)
    return first, last


@gluon.jit
def _tiles(tile, starts, ends, sizes, reach, KIND: gl.constexpr):
    """The tiles of keys [begin, end) of a tile of queries, at least one."""
    shift = sizes.M - sizes.N
    q0 = tile * (2 * HALF) + shift
    lo, _, _, hi = _bounds(q0, gl.minimum(q0 + 2 * HALF, sizes.M), sizes.M, starts, ends, reach, KIND)
    begin = lo // KIND.cols
    return begin, gl.maximum((hi + KIND.cols - 1) // KIND.cols, begin + 1)


@gluon.jit
def _produce(Q, K, V, starts, ends, sizes, reach, q_tiles, k_tiles, v_tiles, bars, KIND: gl.constexpr):
    """The warp that fetches: queries of each piece of work, and a ring of tiles of keys and of values."""
    q_full, q_empty, k_full, k_empty, v_full, v_empty = bars
    stages: gl.constexpr = KIND.stages
    count, done = 0, 0
    for turn in range(gl.program_id(0), sizes.total, gl.num_programs(0)):
        tile, head = _work(turn, sizes.tiles, KIND)
        b, h = head // sizes.H, head % sizes.H
        g = h // (sizes.H // sizes.G)
        mbarrier.wait(q_empty, (done & 1) ^ 1)
        mbarrier.expect(q_full, 2 * Q.block_type.nbytes)
        tma.async_copy_global_to_shared(Q, [b, h, tile * (2 * HALF), 0], q_full, q_tiles.index(0))
        tma.async_copy_global_to_shared(Q, [b, h, tile * (2 * HALF) + HALF, 0], q_full, q_tiles.index(1))
        begin, end = _tiles(tile, starts, ends, sizes, reach, KIND)
        for t in range(begin, end):
            slot, phase = count % stages, (count // stages & 1) ^ 1
            mbarrier.wait(k_empty.index(slot), phase)
            mbarrier.expect(k_full.index(slot), K.block_type.nbytes)
            tma.async_copy_global_to_shared(
                K, [b, g, t * KIND.cols, 0], k_full.index(slot), k_tiles.index(slot)
            )
            mbarrier.wait(v_empty.index(slot), phase)
            mbarrier.expect(v_full.index(slot), V.block_type.nbytes)
            tma.async_copy_global_to_shared(
                V, [b, g, t * KIND.cols, 0], v_full.index(slot), v_tiles.index(slot)
            )
            count += 1
        done += 1


@gluon.jit
def _weights(s, top, first, last, t, scale, KIND: gl.constexpr, MASKED: gl.constexpr):
    """The weights of a tile's scores, their sums, the new maxima and by what the old ones shrink."""
    if MASKED:
        layout: gl.constexpr = s.type.layout
        column = t * KIND.cols + gl.arange(0, KIND.cols, layout=gl.SliceLayout(0, layout))
        seen = (column[None, :] >= first[:, None]) & (column[None, :] < last[:, None])
        s = gl.where(seen, s, HIDDEN)
    new = gl.maximum(top, gl.max(s, 1) * scale)
    p = gl.exp2(s * scale - new[:, None])
    return p, gl.sum(p, 1), new, gl.exp2(top - new)


@gluon.jit
def _made(sums):
    """Sums of weights, by an instruction that the assembler keeps in its place: no sum is below zero.

    Without it the softmax moves behind the wait for the products that it should run beside.
    """
    return gl.inline_asm_elementwise(
        "{ .reg .pred never; setp.lt.f32 never, $1, 0f00000000; @never st.volatile.shared.b32 [$1], $1; mov.b32 $0, $1; }",
        "=r,r", [sums], dtype=gl.float32, is_pure=False, pack=1)  # fmt: skip


@gluon.jit
def _absorb(out, p, total, top, count, from_tile, to_tile, first, last, q, k_tiles, v_tiles, bars, scale,
            KIND: gl.constexpr, MASKED: gl.constexpr):  # fmt: skip
    """Some tiles of keys into the running softmax; p are the weights of the tile before, not yet multiplied."""
    _, _, k_full, k_empty, v_full, v_empty = bars
    stages: gl.constexpr = KIND.stages
    s_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, KIND.cols, 16])
    o_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, KIND.width, 16])
    p_layout: gl.constexpr = gl.DotOperandLayout(0, o_layout, 2)
    for t in range(from_tile, to_tile):
        # `count` is the number of this tile among all, and the one before it still has its values to give.
        slot, phase = count % stages, count // stages & 1
        before, earlier = (count - 1) % stages, (count - 1) // stages & 1
        k = k_tiles.index(slot).reshape([KIND.cols, KIND.width])
        v = v_tiles.index(before).reshape([KIND.cols, KIND.width])
        mbarrier.wait(k_full.index(slot), phase)
        zeros = gl.full([HALF, KIND.cols], 0.0, gl.float32, s_layout)
        s = warpgroup_mma(q, k.permute((1, 0)), zeros, use_acc=False, is_async=True)
        mbarrier.wait(v_full.index(before), earlier)
        sums = warpgroup_mma(p, v, out, is_async=True)
        s = warpgroup_mma_wait(1, deps=(s,))
        mbarrier.arrive(k_empty.index(slot), count=1)
        weights, added, top, shrink = _weights(s, top, first, last, t, scale, KIND, MASKED)
        if KIND.held:
            added = _made(added)
        out, p = warpgroup_mma_wait(0, deps=(sums, p))
        mbarrier.arrive(v_empty.index(before), count=1)
        total = total * shrink + added
        out = out * gl.convert_layout(shrink, gl.SliceLayout(1, o_layout))[:, None]
        p = gl.convert_layout(weights.to(v_tiles.dtype), p_layout)
        count += 1
    return out, p, total, top, count


@gluon.jit
def _consume(O, LSE, starts, ends, sizes, reach, scale, q_tiles, k_tiles, v_tiles, bars,
             KIND: gl.constexpr, PART: gl.constexpr):  # fmt: skip
    """A warpgroup that computes: one half of the queries of each piece of work."""
    q_full, q_empty, k_full, k_empty, v_full, v_empty = bars
    stages: gl.constexpr = KIND.stages
    s_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, KIND.cols, 16])
    o_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, KIND.width, 16])
    p_layout: gl.constexpr = gl.DotOperandLayout(0, o_layout, 2)
    rows_of_s: gl.constexpr = gl.SliceLayout(1, s_layout)
    rows_of_o: gl.constexpr = gl.SliceLayout(1, o_layout)
    put: gl.constexpr = gl.BlockedLayout([1, 8], [256 // KIND.width, KIND.width // 8], [4, 1], [1, 0])
    shift = sizes.M - sizes.N
    q = q_tiles.index(PART).reshape([HALF, KIND.width])
    count, done = 0, 0
    for turn in range(gl.program_id(0), sizes.total, gl.num_programs(0)):
        tile, head = _work(turn, sizes.tiles, KIND)
        begin, end = _tiles(tile, starts, ends, sizes, reach, KIND)
        row0 = tile * (2 * HALF) + PART * HALF
        q0 = gl.minimum(row0 + shift, sizes.M - 1)
        q1 = gl.minimum(q0 + HALF, sizes.M)
        _, every, until, _ = _bounds(q0, q1, sizes.M, starts, ends, reach, KIND)
        position = row0 + shift + gl.arange(0, HALF, layout=rows_of_s)
        first, last = _stretch(position, sizes.M, starts, ends, reach, KIND)

        top = gl.full([HALF], LOWEST, gl.float32, rows_of_s)
        out = gl.full([HALF, KIND.width], 0.0, gl.float32, o_layout)
        slot, phase = count % stages, count // stages & 1
        k = k_tiles.index(slot).reshape([KIND.cols, KIND.width])
        mbarrier.wait(q_full, done & 1)
        mbarrier.wait(k_full.index(slot), phase)
        zeros = gl.full([HALF, KIND.cols], 0.0, gl.float32, s_layout)
        s = warpgroup_mma(q, k.permute((1, 0)), zeros, use_acc=False, is_async=True)
        s = warpgroup_mma_wait(0, deps=(s,))
        mbarrier.arrive(k_empty.index(slot), count=1)
        weights, total, top, _ = _weights(s, top, first, last, begin, scale, KIND, True)
        p = gl.convert_layout(weights.to(v_tiles.dtype), p_layout)
        count += 1

        # Tiles at both ends of the stretch need a mask, those between do not.
        inner = gl.minimum(gl.maximum((every + KIND.cols - 1) // KIND.cols, begin + 1), end)
        outer = gl.minimum(gl.maximum(until // KIND.cols, inner), end)
        if KIND.back or KIND.window or KIND.documents:
            out, p, total, top, count = _absorb(out, p, total, top, count, begin + 1, inner, first, last, q,
                                                k_tiles, v_tiles, bars, scale, KIND, True)  # fmt: skip
        out, p, total, top, count = _absorb(out, p, total, top, count, inner, outer, first, last, q,
                                            k_tiles, v_tiles, bars, scale, KIND, False)  # fmt: skip
        out, p, total, top, count = _absorb(out, p, total, top, count, outer, end, first, last, q,
                                            k_tiles, v_tiles, bars, scale, KIND, True)  # fmt: skip
        mbarrier.arrive(q_empty, count=1)

        slot, phase = (count - 1) % stages, (count - 1) // stages & 1
        v = v_tiles.index(slot).reshape([KIND.cols, KIND.width])
        mbarrier.wait(v_full.index(slot), phase)
        out = warpgroup_mma(p, v, out, is_async=True)
        out = warpgroup_mma_wait(0, deps=(out,))
        mbarrier.arrive(v_empty.index(slot), count=1)

        empty = total == 0
        total = gl.where(empty, 1.0, total)
        lse = gl.where(empty, NEVER, top + gl.log2(total))
        out = out / gl.convert_layout(total, rows_of_o)[:, None]
        line = head.to(gl.int64) * sizes.N
        row = row0 + gl.arange(0, HALF, layout=rows_of_s)
        gl.store(LSE + line + row, lse, mask=row < sizes.N)
        out = gl.convert_layout(out.to(v_tiles.dtype), put)
        row = row0 + gl.arange(0, HALF, layout=gl.SliceLayout(1, put))
        wide = gl.arange(0, KIND.width, layout=gl.SliceLayout(0, put))
        at = O + line * KIND.width + row[:, None] * KIND.width + wide[None, :]
        gl.store(at, out, mask=(row < sizes.N)[:, None])
        done += 1


@gluon.jit(do_not_specialize=["sizes", "reach"])
def hopper_forward(Q, K, V, O, LSE, starts, ends, sizes, reach, scale, KIND: gl.constexpr):
    """The output, contiguous, and the normalisers in base 2; Q, K and V are descriptors of (B, heads, rows, D)."""
    stages: gl.constexpr = KIND.stages
    q_tiles = gl.allocate_shared_memory(Q.dtype, [2, 1, 1, HALF, KIND.width], Q.layout)
    k_tiles = gl.allocate_shared_memory(K.dtype, [stages, 1, 1, KIND.cols, KIND.width], K.layout)
    v_tiles = gl.allocate_shared_memory(V.dtype, [stages, 1, 1, KIND.cols, KIND.width], V.layout)
    q_full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    q_empty = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    k_full = gl.allocate_shared_memory(gl.int64, [stages, 1], mbarrier.MBarrierLayout())
    k_empty = gl.allocate_shared_memory(gl.int64, [stages, 1], mbarrier.MBarrierLayout())
    v_full = gl.allocate_shared_memory(gl.int64, [stages, 1], mbarrier.MBarrierLayout())
    v_empty = gl.allocate_shared_memory(gl.int64, [stages, 1], mbarrier.MBarrierLayout())
    mbarrier.init(q_full, count=1)
    mbarrier.init(q_empty, count=2)
    for i in gl.static_range(stages):
        mbarrier.init(k_full.index(i), count=1)
        mbarrier.init(k_empty.index(i), count=2)
        mbarrier.init(v_full.index(i), count=1)
        mbarrier.init(v_empty.index(i), count=2)
    bars = (q_full, q_empty, k_full, k_empty, v_full, v_empty)
    gl.warp_specialize(
        [
            (_consume, (O, LSE, starts, ends, sizes, reach, scale, q_tiles, k_tiles, v_tiles, bars, KIND, 0)),
            (_consume, (O, LSE, starts, ends, sizes, reach, scale, q_tiles, k_tiles, v_tiles, bars, KIND, 1)),
            (_produce, (Q, K, V, starts, ends, sizes, reach, q_tiles, k_tiles, v_tiles, bars, KIND)),
        ],
        [4, 1],
        [KIND.registers, 24],
    )
