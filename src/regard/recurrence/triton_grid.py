"""The grid recurrence on a GPU: one persistent Triton program per batch element walks every diagonal.

Batch elements never meet, so a program needs no word from any other: it goes through the rows + cols − 1
anti-diagonals of its own grid, each a product of at most min(rows, cols) cells with the two weight
matrices, and reads the neighbours it has just written back from the cache. The backward is the same walk
from the opposite corner with transposed weights; it leaves the gradients of the pre-activations.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

INTERPRETED = bool(triton.knobs.runtime.interpret)  # kernels run in Python, also on a CPU


@triton.jit
def _tanh(x):  # type: ignore[no-untyped-def]
    # A polynomial near zero, where 1 − 2 / (e + 1) would cancel; it interpolates (tanh x − x) / x³ in x².
    s = x * x
    p = -0.006269119679927826 * s + 0.021110959351062775
    p = p * s - 0.053873948752880096
    p = p * s + 0.13332915306091309
    p = p * s - 0.3333333134651184
    size = 1.0 - 2.0 / (tl.exp(2.0 * tl.abs(x)) + 1.0)
    return tl.where(s < 0.36, x + x * s * p, tl.where(x < 0, -size, size))


@triton.jit
def _activate(x, ACTIVATION: tl.constexpr):  # type: ignore[no-untyped-def]
    if ACTIVATION == "tanh":
        x = _tanh(x)
    elif ACTIVATION == "sigmoid":
        x = 1.0 / (1.0 + tl.exp(-x))
    elif ACTIVATION == "relu":
        x = tl.maximum(x, 0.0)
    return x


@triton.jit
def _chain(grad, h, ACTIVATION: tl.constexpr):  # type: ignore[no-untyped-def]
    # The derivative of φ follows from its value h.
    if ACTIVATION == "tanh":
        grad *= 1.0 - h * h
    elif ACTIVATION == "sigmoid":
        grad *= h * (1.0 - h)
    elif ACTIVATION == "relu":
        grad = tl.where(h > 0, grad, 0.0)
    return grad


@triton.jit
def _walk(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0915, PLR0917 - kernels take plain arguments
    state,
    hidden,
    w_left,
    w_top,
    rows,
    cols,
    width,
    ACTIVATION: tl.constexpr,
    REVERSE: tl.constexpr,
    PRECISION: tl.constexpr,
    H: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    RESIDENT: tl.constexpr,
):
    """Overwrite `state` (B, rows, cols, width): inputs by states, or in reverse gradients by gradients."""
    grid = tl.program_id(0).to(tl.int64) * rows * cols * width
    state += grid
    hidden += grid
    sign = 1
    origin = 0
    if REVERSE:  # cell (row, col) of the walk lies at the mirrored place in memory
        sign = -1
        origin = rows * cols - 1
    n = tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    if RESIDENT:
        weight = n[None, :] * width + k[:, None]
        inside = (n[None, :] < width) & (k[:, None] < width)
        left_weight = tl.load(w_left + weight, mask=inside, other=0.0)
        top_weight = tl.load(w_top + weight, mask=inside, other=0.0)
    diagonal = 0
    # `while`, because Triton may pipeline a `for` and would then read neighbours before they are written.
    while diagonal < rows + cols - 1:
        start = tl.maximum(0, diagonal - cols + 1)
        stop = tl.minimum(diagonal + 1, rows)
        while start < stop:
            row = start + tl.arange(0, BLOCK_M)
            col = diagonal - row
            cell = (origin + sign * (row * cols + col)).to(tl.int64) * width
            here = row < stop
            has_left = (here & (col > 0))[:, None]
            has_top = (here & (row > 0))[:, None]
            left = state + cell[:, None] - sign * width
            top = state + cell[:, None] - sign * cols * width
            for n0 in tl.static_range(0, H, BLOCK_N):
                place = cell[:, None] + n0 + n[None, :]
                kept = here[:, None] & (n0 + n[None, :] < width)
                if RESIDENT:  # the neighbours first: they are what the products wait for
                    fits = k[None, :] < width
                    a = tl.load(left + k[None, :], mask=has_left & fits, other=0.0)
                    b = tl.load(top + k[None, :], mask=has_top & fits, other=0.0)
                total = tl.load(state + place, mask=kept, other=0.0).to(tl.float32)
                if REVERSE:
                    h = tl.load(hidden + place, mask=kept, other=0.0).to(tl.float32)
                if RESIDENT:
                    total = tl.dot(a, left_weight, total, input_precision=PRECISION)
                    total = tl.dot(b, top_weight, total, input_precision=PRECISION)
                else:
                    for k0 in tl.range(0, H, BLOCK_K):
                        fits = k0 + k[None, :] < width
                        a = tl.load(left + k0 + k[None, :], mask=has_left & fits, other=0.0)
                        b = tl.load(top + k0 + k[None, :], mask=has_top & fits, other=0.0)
                        weight = (n0 + n[None, :]) * width + k0 + k[:, None]
                        inside = (n0 + n[None, :] < width) & (k0 + k[:, None] < width)
                        u = tl.load(w_left + weight, mask=inside, other=0.0)
                        v = tl.load(w_top + weight, mask=inside, other=0.0)
                        total = tl.dot(a, u, total, input_precision=PRECISION)
                        total = tl.dot(b, v, total, input_precision=PRECISION)
                total = _chain(total, h, ACTIVATION) if REVERSE else _activate(total, ACTIVATION)
                tl.store(state + place, total.to(state.dtype.element_ty), mask=kept)
            start += BLOCK_M
        tl.debug_barrier()  # what this program wrote is visible to all its threads
        diagonal += 1


def forward(state: Tensor, W_left: Tensor, W_top: Tensor, activation: str) -> None:
    """Replace the projections in `state` (B, rows, cols, h) by hidden states."""
    _launch(state, state, W_left.contiguous(), W_top.contiguous(), activation, reverse=False)


def backward(grad: Tensor, hidden: Tensor, W_left: Tensor, W_top: Tensor, activation: str) -> None:
    """Replace the gradients of the states in `grad` by those of the pre-activations."""
    _launch(grad, hidden, W_left.T.contiguous(), W_top.T.contiguous(), activation, reverse=True)


def plan(dtype: torch.dtype, rows: int, cols: int, width: int) -> dict[str, int | str | bool]:
    """Block sizes and arithmetic for one launch.

    Half precision keeps both weight matrices in shared memory up to h 128. float32 takes three tf32
    products for one, since a single one would be a thousand times less exact, and streams the weights.
    """
    H = max(16, triton.next_power_of_2(width))
    M = min(64, max(16, triton.next_power_of_2(min(rows, cols))))
    if dtype == torch.float32:
        return _blocks(H, M, min(H, 128), min(H, 32), "tf32x3", warps=8)
    if H <= 128:
        return _blocks(H, M, H, H, "ieee", warps=8)
    return _blocks(H, M, 64, 64, "ieee", warps=4)


def _blocks(H: int, M: int, N: int, K: int, precision: str, warps: int) -> dict[str, int | str | bool]:
    return {
        "H": H,
        "BLOCK_M": M,
        "BLOCK_N": N,
        "BLOCK_K": K,
        "RESIDENT": N == K == H,
        "PRECISION": precision,
        "num_warps": warps,
        "num_stages": 1 if N == K == H else 2,
    }


def _launch(
    state: Tensor, hidden: Tensor, w_left: Tensor, w_top: Tensor, activation: str, *, reverse: bool
) -> None:
    B, rows, cols, width = state.shape
    assert state.is_contiguous()
    assert hidden.is_contiguous()
    blocks = plan(state.dtype, rows, cols, width)
    with torch.cuda.device_of(state):
        _walk[(B,)](
            state, hidden, w_left, w_top, rows, cols, width, ACTIVATION=activation, REVERSE=reverse, **blocks
        )
