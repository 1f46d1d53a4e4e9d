"""One row times a matrix at the speed of memory, in Gluon: weights flow through a ring in shared memory.

Programs stay, each with a stretch of the rows, look at what is multiplied once, and have up to STAGES copies on
their way at any time. With EARLY the ring is filled while the kernel in front still runs: weights are written
by nobody, and only what is multiplied with them has to be waited for.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.language.extra import cuda

from regard.attention.triton.kernels_decode import bent


@gluon.jit
def _copy(slot, weight, tile, chunk, end, rows, width, TALL: gl.constexpr, BLOCK: gl.constexpr,
          EVEN: gl.constexpr, GATED: gl.constexpr, tiles: gl.constexpr):  # fmt: skip
    """Ask for a chunk of columns of a tile of rows; from row `end` on, for nothing."""
    r = gl.arange(0, TALL, layout=gl.SliceLayout(1, tiles))
    k = chunk * BLOCK + gl.arange(0, BLOCK, layout=gl.SliceLayout(0, tiles))
    n = tile * TALL + r
    row = n
    if GATED:
        n = tile * (TALL // 2) + r // 2
        row = n + r % 2 * rows
    there = (n < end)[:, None]
    if not EVEN:
        there = there & (k < width)[None, :]
    start = weight + row.to(gl.int64)[:, None] * width + k[None, :]
    async_copy.async_copy_global_to_shared(slot, start, mask=there)
    async_copy.commit_group()


@gluon.jit
def stream_kernel(x, weight, scales, bias, gamma, beta, y, best, best_at, rows, width, eps,
                  TALL: gl.constexpr, BLOCK: gl.constexpr, HIGH: gl.constexpr, BESIDE: gl.constexpr,
                  CHUNKS: gl.constexpr, PARTS: gl.constexpr, STAGES: gl.constexpr, WORD: gl.constexpr,
                  EVEN: gl.constexpr, FINE: gl.constexpr, NORM: gl.constexpr, SCALED: gl.constexpr, BIAS: gl.constexpr,
                  BEND: gl.constexpr, GATED: gl.constexpr, ADD: gl.constexpr, BEST: gl.constexpr,
                  EARLY: gl.constexpr):  # fmt: skip
    """y (rows) = weight (rows,width) · x, x normed first or not; then bias, bend, residual, argmax.

    SCALED: the weights are int8, with a scale for each row. GATED: rows of gates stand before as many rows of
    what they let through, and take turns in a tile. A thread has HIGH rows, BESIDE warps share a row, WORD
    numbers are 16 bytes of weights; PARTS is CHUNKS rounded up to a power of two, EVEN says that the chunks
    fill the columns. FINE: what is multiplied is held in float32, otherwise in the model's type.
    """
    pid, programs = gl.program_id(0), gl.num_programs(0)
    if EARLY:
        cuda.gdc_launch_dependents()
    ROWS: gl.constexpr = TALL // 2 if GATED else TALL
    tiles: gl.constexpr = gl.BlockedLayout([HIGH, WORD], [1, 32], [gl.num_warps() // BESIDE, BESIDE], [1, 0])
    down: gl.constexpr = gl.SliceLayout(1, tiles)
    flat: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[1, 0])
    count = gl.cdiv(rows, ROWS)
    first, last = pid * count // programs, (pid + 1) * count // programs
    end = gl.minimum(rows, last * ROWS)
    ring = gl.allocate_shared_memory(weight.dtype.element_ty, [STAGES, TALL, BLOCK], flat)
    for stage in gl.static_range(STAGES):
        _copy(ring.index(stage), weight, first + stage // CHUNKS, stage % CHUNKS, end, rows, width,
              TALL, BLOCK, EVEN, GATED, tiles)  # fmt: skip
    # What is multiplied, once for all rows of this program.
    wide: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [1, gl.num_warps()], [1, 0])
    part = gl.arange(0, PARTS, layout=gl.SliceLayout(1, wide))
    k = part[:, None] * BLOCK + gl.arange(0, BLOCK, layout=gl.SliceLayout(0, wide))[None, :]
    inside = k < width
    kind: gl.constexpr = gl.float32 if FINE else gamma.dtype.element_ty
    if NORM != "":
        gain = gl.load(gamma + k, mask=inside, other=0.0)
        if NORM == "layer":
            shift = gl.load(beta + k, mask=inside, other=0.0)
    held = gl.allocate_shared_memory(kind, [PARTS, BLOCK], flat)
    if EARLY:
        cuda.gdc_wait()
    v = gl.load(x + k, mask=inside, other=0.0).to(gl.float32)
    if NORM == "rms":
        v = v * gl.rsqrt(gl.sum(gl.sum(v * v, 1), 0) / width + eps) * gain.to(gl.float32)
    if NORM == "layer":
        mean = gl.sum(gl.sum(v, 1), 0) / width
        off = gl.where(inside, v - mean, 0.0)
        v = off * gl.rsqrt(gl.sum(gl.sum(off * off, 1), 0) / width + eps)
        v = v * gain.to(gl.float32) + shift.to(gl.float32)
    held.store(v.to(kind))
    held = held._reinterpret(kind, [PARTS, 1, BLOCK], flat)
    top = float("-inf")
    top_at = 0
    slot = 0
    ahead_tile, ahead_chunk = first + STAGES // CHUNKS, STAGES % CHUNKS
    for tile in range(first, last):
        n = tile * ROWS + gl.arange(0, ROWS, layout=down)
        real = n < rows
        if SCALED:
            scale = gl.load(scales + n, mask=real, other=0.0)
            scale_u = gl.load(scales + rows + n, mask=real, other=0.0) if GATED else scale
        if BIAS:
            constant = gl.load(bias + n, mask=real, other=0.0).to(gl.float32)
            constant_u = constant
            if GATED:
                constant_u = gl.load(bias + rows + n, mask=real, other=0.0).to(gl.float32)
        if ADD:
            before = gl.load(y + n, mask=real, other=0.0)
        acc = gl.zeros([TALL, BLOCK], gl.float32, layout=tiles)
        for chunk in range(CHUNKS):
            async_copy.wait_group(STAGES - 1)
            w = ring.index(slot).load(tiles).to(gl.float32)
            acc += w * held.index(chunk).load(tiles).to(gl.float32)
            _copy(ring.index(slot), weight, ahead_tile, ahead_chunk, end, rows, width,
                  TALL, BLOCK, EVEN, GATED, tiles)  # fmt: skip
            slot = gl.where(slot == STAGES - 1, 0, slot + 1)
            around = ahead_chunk == CHUNKS - 1
            ahead_tile = gl.where(around, ahead_tile + 1, ahead_tile)
            ahead_chunk = gl.where(around, 0, ahead_chunk + 1)
        out = gl.sum(acc, 1)
        if GATED:
            gate, through = gl.split(gl.reshape(out, [ROWS, 2]))
            out = gl.convert_layout(gate, down)
            through = gl.convert_layout(through, down)
        if SCALED:
            out *= scale
        if BIAS:
            out += constant
        if BEND != "":
            out = bent(out, BEND)
        if GATED:
            if SCALED:
                through *= scale_u
            if BIAS:
                through += constant_u
            out *= through
        if ADD:
            out += before
        gl.store(y + n, out.to(y.dtype.element_ty), mask=real)
        if BEST:
            out = gl.where(real, out, float("-inf"))
            most = gl.max(out, 0)
            at = gl.min(gl.where(out == most, n, rows), 0)
            if most > top:  # of equals, the first
                top_at = at
                top = most
    if BEST:
        gl.store(best + pid, top)
        gl.store(best_at + pid, top_at)
    async_copy.wait_group(0)
