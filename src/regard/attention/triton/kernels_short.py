"""Triton kernels: attention of a short sequence whose queries, keys and values lie side by side.

A whole head fits one tile, or a tile and a small rest (64 patches and a class token are 64 + 1), so a program
makes its softmax in one piece: nothing is kept for the backward pass but the inputs, and one kernel gives all
three gradients, in the layout in which they came.
"""

import triton
import triton.language as tl

from regard.attention.triton.kernels import HIDDEN, _seen


@triton.jit
def _rows(pointer, start, stride, n, D, SIZE: tl.constexpr, WIDTH: tl.constexpr):
    """SIZE × WIDTH from row `start`; what lies outside reads as zero."""
    row, col = start + tl.arange(0, SIZE)[:, None], tl.arange(0, WIDTH)[None, :]
    return tl.load(pointer + row * stride + col, mask=(row < n) & (col < D), other=0.0)


@triton.jit
def _put(pointer, start, stride, n, D, values, SIZE: tl.constexpr, WIDTH: tl.constexpr):
    """The inverse of `_rows`."""
    row, col = start + tl.arange(0, SIZE)[:, None], tl.arange(0, WIDTH)[None, :]
    values = values.to(pointer.dtype.element_ty)
    tl.store(pointer + row * stride + col, values, mask=(row < n) & (col < D))


@triton.jit
def _scores(q, k, row, col, scale, n, reach, ROWS: tl.constexpr, COLS: tl.constexpr, KIND: tl.constexpr):
    """Scores in base 2 of rows from `row` and columns from `col`, hidden where not allowed."""
    i, j = row + tl.arange(0, ROWS)[:, None], col + tl.arange(0, COLS)[None, :]
    return tl.where(_seen(i, j, n, reach, KIND) & (j < n), tl.dot(q, tl.trans(k)) * scale, HIDDEN)


@triton.jit
def _weights(q, k, k_rest, row, scale, n, reach, ROWS: tl.constexpr, KIND: tl.constexpr):
    """The weights of ROWS queries over the tile of keys and over the rest.

    A query sees at least itself; rows past the last are no concern.
    """
    s = _scores(q, k, row, 0, scale, n, reach, ROWS, KIND.size, KIND)
    most = tl.max(s, 1)
    if KIND.rest:
        s_rest = _scores(q, k_rest, row, KIND.size, scale, n, reach, ROWS, KIND.rest, KIND)
        most = tl.maximum(most, tl.max(s_rest, 1))
        p_rest = tl.exp2(s_rest - most[:, None])
    p = tl.exp2(s - most[:, None])
    total = tl.sum(p, 1)
    if KIND.rest:
        total += tl.sum(p_rest, 1)
        p_rest = p_rest / total[:, None]
    else:
        p_rest = p
    return p / total[:, None], p_rest


@triton.jit
def _outputs(x, out, k, v, k_rest, v_rest, row, row_stride, scale, n, D, reach, ROWS: tl.constexpr,
             KIND: tl.constexpr):  # fmt: skip
    q = _rows(x, row, row_stride, n, D, ROWS, KIND.width)
    p, p_rest = _weights(q, k, k_rest, row, scale, n, reach, ROWS, KIND)
    y = tl.dot(p.to(v.dtype), v)
    if KIND.rest:
        y = tl.dot(p_rest.to(v.dtype), v_rest, y)
    _put(out, row, KIND.H * D, n, D, y, ROWS, KIND.width)


@triton.jit(do_not_specialize=["reach"])
def short_forward(x, out, scale, n, D, batch_stride, row_stride, reach, KIND: tl.constexpr):
    b, h = tl.program_id(0) // KIND.H, tl.program_id(0) % KIND.H
    g = h // (KIND.H // KIND.G)
    x += b.to(tl.int64) * batch_stride
    out += b.to(tl.int64) * n * (KIND.H * D) + h * D
    keys, values = x + (KIND.H + g) * D, x + (KIND.H + KIND.G + g) * D
    k = _rows(keys, 0, row_stride, n, D, KIND.size, KIND.width)
    v = _rows(values, 0, row_stride, n, D, KIND.size, KIND.width)
    k_rest, v_rest = k, v
    if KIND.rest:
        k_rest = _rows(keys, KIND.size, row_stride, n, D, KIND.rest, KIND.width)
        v_rest = _rows(values, KIND.size, row_stride, n, D, KIND.rest, KIND.width)
    _outputs(x + h * D, out, k, v, k_rest, v_rest, 0, row_stride, scale, n, D, reach, KIND.size, KIND)
    if KIND.rest:
        _outputs(
            x + h * D, out, k, v, k_rest, v_rest, KIND.size, row_stride, scale, n, D, reach, KIND.rest, KIND
        )


@triton.jit
def _gradients(x, grad, dx, k, v, k_rest, v_rest, dk, dv, dk_rest, dv_rest, row, row_stride, scale, n, D, reach,
               natural, ROWS: tl.constexpr, KIND: tl.constexpr):  # fmt: skip
    """Writes dq of ROWS queries and adds what they send to the keys and values."""
    q = _rows(x, row, row_stride, n, D, ROWS, KIND.width)
    dy = _rows(grad, row, KIND.H * D, n, D, ROWS, KIND.width)  # zero past the last row, which so adds nothing
    p, p_rest = _weights(q, k, k_rest, row, scale, n, reach, ROWS, KIND)
    dv = tl.dot(tl.trans(p).to(v.dtype), dy, dv)
    dp = tl.dot(dy, tl.trans(v))
    delta = tl.sum(p * dp, 1)
    if KIND.rest:
        dv_rest = tl.dot(tl.trans(p_rest).to(v.dtype), dy, dv_rest)
        dp_rest = tl.dot(dy, tl.trans(v_rest))
        delta += tl.sum(p_rest * dp_rest, 1)
    ds = (p * (dp - delta[:, None]) * natural).to(v.dtype)
    dq = tl.dot(ds, k)
    dk = tl.dot(tl.trans(ds), q, dk)
    if KIND.rest:
        ds_rest = (p_rest * (dp_rest - delta[:, None]) * natural).to(v.dtype)
        dq = tl.dot(ds_rest, k_rest, dq)
        dk_rest = tl.dot(tl.trans(ds_rest), q, dk_rest)
    _put(dx, row, (KIND.H + 2 * KIND.G) * D, n, D, dq, ROWS, KIND.width)
    return dk, dv, dk_rest, dv_rest


@triton.jit(do_not_specialize=["reach"])
def short_backward(x, grad, dx, scale, natural, n, D, batch_stride, row_stride, reach, KIND: tl.constexpr):
    """The gradient of the whole projection; `natural` is the scale of scores that are not in base 2."""
    b, g = tl.program_id(0) // KIND.G, tl.program_id(0) % KIND.G
    dx_stride = (KIND.H + 2 * KIND.G) * D
    x += b.to(tl.int64) * batch_stride
    dx += b.to(tl.int64) * n * dx_stride
    grad += b.to(tl.int64) * n * (KIND.H * D)
    at_k, at_v = (KIND.H + g) * D, (KIND.H + KIND.G + g) * D
    k = _rows(x + at_k, 0, row_stride, n, D, KIND.size, KIND.width)
    v = _rows(x + at_v, 0, row_stride, n, D, KIND.size, KIND.width)
    dk = tl.full((KIND.size, KIND.width), 0.0, tl.float32)
    dv = tl.full((KIND.size, KIND.width), 0.0, tl.float32)
    k_rest, v_rest, dk_rest, dv_rest = k, v, dk, dv
    if KIND.rest:
        k_rest = _rows(x + at_k, KIND.size, row_stride, n, D, KIND.rest, KIND.width)
        v_rest = _rows(x + at_v, KIND.size, row_stride, n, D, KIND.rest, KIND.width)
        dk_rest = tl.full((KIND.rest, KIND.width), 0.0, tl.float32)
        dv_rest = tl.full((KIND.rest, KIND.width), 0.0, tl.float32)
    for h in range(g * (KIND.H // KIND.G), (g + 1) * (KIND.H // KIND.G)):
        dk, dv, dk_rest, dv_rest = _gradients(
            x + h * D, grad + h * D, dx + h * D, k, v, k_rest, v_rest, dk, dv, dk_rest, dv_rest, 0, row_stride,
            scale, n, D, reach, natural, KIND.size, KIND,
        )  # fmt: skip
        if KIND.rest:
            dk, dv, dk_rest, dv_rest = _gradients(
                x + h * D, grad + h * D, dx + h * D, k, v, k_rest, v_rest, dk, dv, dk_rest, dv_rest, KIND.size,
                row_stride, scale, n, D, reach, natural, KIND.rest, KIND,
            )  # fmt: skip
    _put(dx + at_k, 0, dx_stride, n, D, dk, KIND.size, KIND.width)
    _put(dx + at_v, 0, dx_stride, n, D, dv, KIND.size, KIND.width)
    if KIND.rest:
        _put(dx + at_k, KIND.size, dx_stride, n, D, dk_rest, KIND.rest, KIND.width)
        _put(dx + at_v, KIND.size, dx_stride, n, D, dv_rest, KIND.rest, KIND.width)
