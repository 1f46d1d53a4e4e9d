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
def _scores(q, k, row, col, n, scale, back, window, CAUSAL: tl.constexpr, BACK: tl.constexpr,
            WINDOW: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):  # fmt: skip
    """Scores in base 2 of rows from `row` and columns from `col`, hidden where not allowed."""
    i, j = row + tl.arange(0, ROWS)[:, None], col + tl.arange(0, COLS)[None, :]
    seen = _seen(i, j, 0, 0, n, 0, back, window, CAUSAL, BACK, WINDOW, False) & (j < n)
    return tl.where(seen, tl.dot(q, tl.trans(k)) * scale, HIDDEN)


@triton.jit
def _weights(q, k, k_rest, row, n, scale, back, window, CAUSAL: tl.constexpr, BACK: tl.constexpr,
             WINDOW: tl.constexpr, ROWS: tl.constexpr, SIZE: tl.constexpr, REST: tl.constexpr):  # fmt: skip
    """The weights of ROWS queries over the tile of keys and over the rest.

    A query sees at least itself; rows past the last are no concern.
    """
    s = _scores(q, k, row, 0, n, scale, back, window, CAUSAL, BACK, WINDOW, ROWS, SIZE)
    most = tl.max(s, 1)
    if REST:
        s_rest = _scores(q, k_rest, row, SIZE, n, scale, back, window, CAUSAL, BACK, WINDOW, ROWS, REST)
        most = tl.maximum(most, tl.max(s_rest, 1))
        p_rest = tl.exp2(s_rest - most[:, None])
    p = tl.exp2(s - most[:, None])
    total = tl.sum(p, 1)
    if REST:
        total += tl.sum(p_rest, 1)
        p_rest = p_rest / total[:, None]
    else:
        p_rest = p
    return p / total[:, None], p_rest


@triton.jit
def _outputs(x, out, k, v, k_rest, v_rest, row, row_stride, out_stride, scale, n, D, back, window,
             CAUSAL: tl.constexpr, BACK: tl.constexpr, WINDOW: tl.constexpr, ROWS: tl.constexpr,
             SIZE: tl.constexpr, REST: tl.constexpr, WIDTH: tl.constexpr):  # fmt: skip
    q = _rows(x, row, row_stride, n, D, ROWS, WIDTH)
    p, p_rest = _weights(q, k, k_rest, row, n, scale, back, window, CAUSAL, BACK, WINDOW, ROWS, SIZE, REST)
    y = tl.dot(p.to(v.dtype), v)
    if REST:
        y = tl.dot(p_rest.to(v.dtype), v_rest, y)
    _put(out, row, out_stride, n, D, y, ROWS, WIDTH)


@triton.jit
def short_forward(x, out, scale, n, D, batch_stride, row_stride, back, window,
                   H: tl.constexpr, G: tl.constexpr, CAUSAL: tl.constexpr, BACK: tl.constexpr,
                   WINDOW: tl.constexpr, SIZE: tl.constexpr, REST: tl.constexpr, WIDTH: tl.constexpr):  # fmt: skip
    b, h = tl.program_id(0) // H, tl.program_id(0) % H
    g = h // (H // G)
    x += b.to(tl.int64) * batch_stride
    out += b.to(tl.int64) * n * (H * D) + h * D
    k = _rows(x + (H + g) * D, 0, row_stride, n, D, SIZE, WIDTH)
    v = _rows(x + (H + G + g) * D, 0, row_stride, n, D, SIZE, WIDTH)
    k_rest, v_rest = k, v
    if REST:
        k_rest = _rows(x + (H + g) * D, SIZE, row_stride, n, D, REST, WIDTH)
        v_rest = _rows(x + (H + G + g) * D, SIZE, row_stride, n, D, REST, WIDTH)
    _outputs(x + h * D, out, k, v, k_rest, v_rest, 0, row_stride, H * D, scale, n, D, back, window,
             CAUSAL, BACK, WINDOW, SIZE, SIZE, REST, WIDTH)  # fmt: skip
    if REST:
        _outputs(x + h * D, out, k, v, k_rest, v_rest, SIZE, row_stride, H * D, scale, n, D, back, window,
                 CAUSAL, BACK, WINDOW, REST, SIZE, REST, WIDTH)  # fmt: skip


@triton.jit
def _gradients(x, grad, dx, k, v, k_rest, v_rest, dk, dv, dk_rest, dv_rest, row, row_stride, grad_stride,
               dx_stride, scale, n, D, back, window, log2e, CAUSAL: tl.constexpr, BACK: tl.constexpr,
               WINDOW: tl.constexpr, ROWS: tl.constexpr, SIZE: tl.constexpr, REST: tl.constexpr,
               WIDTH: tl.constexpr):  # fmt: skip
    """Writes dq of ROWS queries and adds what they send to the keys and values."""
    q = _rows(x, row, row_stride, n, D, ROWS, WIDTH)
    dy = _rows(grad, row, grad_stride, n, D, ROWS, WIDTH)  # zero past the last row, which so adds nothing
    p, p_rest = _weights(q, k, k_rest, row, n, scale, back, window, CAUSAL, BACK, WINDOW, ROWS, SIZE, REST)
    dv = tl.dot(tl.trans(p).to(v.dtype), dy, dv)
    dp = tl.dot(dy, tl.trans(v))
    delta = tl.sum(p * dp, 1)
    if REST:
        dv_rest = tl.dot(tl.trans(p_rest).to(v.dtype), dy, dv_rest)
        dp_rest = tl.dot(dy, tl.trans(v_rest))
        delta += tl.sum(p_rest * dp_rest, 1)
    ds = (p * (dp - delta[:, None]) * (scale / log2e)).to(v.dtype)
    dq = tl.dot(ds, k)
    dk = tl.dot(tl.trans(ds), q, dk)
    if REST:
        ds_rest = (p_rest * (dp_rest - delta[:, None]) * (scale / log2e)).to(v.dtype)
        dq = tl.dot(ds_rest, k_rest, dq)
        dk_rest = tl.dot(tl.trans(ds_rest), q, dk_rest)
    _put(dx, row, dx_stride, n, D, dq, ROWS, WIDTH)
    return dk, dv, dk_rest, dv_rest


@triton.jit
def short_backward(x, grad, dx, scale, n, D, batch_stride, row_stride, back, window, log2e,
                    H: tl.constexpr, G: tl.constexpr, CAUSAL: tl.constexpr, BACK: tl.constexpr,
                    WINDOW: tl.constexpr, SIZE: tl.constexpr, REST: tl.constexpr, WIDTH: tl.constexpr):  # fmt: skip
    b, g = tl.program_id(0) // G, tl.program_id(0) % G
    dx_stride = (H + 2 * G) * D
    x += b.to(tl.int64) * batch_stride
    dx += b.to(tl.int64) * n * dx_stride
    grad += b.to(tl.int64) * n * (H * D)
    k = _rows(x + (H + g) * D, 0, row_stride, n, D, SIZE, WIDTH)
    v = _rows(x + (H + G + g) * D, 0, row_stride, n, D, SIZE, WIDTH)
    dk = tl.zeros((SIZE, WIDTH), tl.float32)
    dv = tl.zeros((SIZE, WIDTH), tl.float32)
    k_rest, v_rest, dk_rest, dv_rest = k, v, dk, dv
    if REST:
        k_rest = _rows(x + (H + g) * D, SIZE, row_stride, n, D, REST, WIDTH)
        v_rest = _rows(x + (H + G + g) * D, SIZE, row_stride, n, D, REST, WIDTH)
        dk_rest = tl.zeros((REST, WIDTH), tl.float32)
        dv_rest = tl.zeros((REST, WIDTH), tl.float32)
    for h in range(g * (H // G), (g + 1) * (H // G)):
        dk, dv, dk_rest, dv_rest = _gradients(
            x + h * D, grad + h * D, dx + h * D, k, v, k_rest, v_rest, dk, dv, dk_rest, dv_rest, 0, row_stride,
            H * D, dx_stride, scale, n, D, back, window, log2e, CAUSAL, BACK, WINDOW, SIZE, SIZE, REST, WIDTH,
        )  # fmt: skip
        if REST:
            dk, dv, dk_rest, dv_rest = _gradients(
                x + h * D, grad + h * D, dx + h * D, k, v, k_rest, v_rest, dk, dv, dk_rest, dv_rest, SIZE,
                row_stride, H * D, dx_stride, scale, n, D, back, window, log2e, CAUSAL, BACK, WINDOW, REST,
                SIZE, REST, WIDTH,
            )  # fmt: skip
    _put(dx + (H + g) * D, 0, dx_stride, n, D, dk, SIZE, WIDTH)
    _put(dx + (H + G + g) * D, 0, dx_stride, n, D, dv, SIZE, WIDTH)
    if REST:
        _put(dx + (H + g) * D, SIZE, dx_stride, n, D, dk_rest, REST, WIDTH)
        _put(dx + (H + G + g) * D, SIZE, dx_stride, n, D, dv_rest, REST, WIDTH)
