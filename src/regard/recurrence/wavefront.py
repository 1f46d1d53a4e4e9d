"""The grid recurrence by anti-diagonals, on any device: all cells of one diagonal in two products.

Both neighbours of a cell on diagonal d lie on diagonal d − 1: the left one in the same row, the top one in
the row above. A diagonal is copied into a small buffer (cells, B, h), where the cells that have a left
neighbour, and those that have a top one, are contiguous rows; two such buffers take turns. Missing
neighbours are left out of the products, not multiplied as zeros.
"""

import torch
from torch import Tensor

_ACTIVATE = {"tanh": torch.tanh_, "relu": torch.relu_, "sigmoid": torch.sigmoid_}


def forward(state: Tensor, W_left: Tensor, W_top: Tensor, activation: str) -> None:
    """Replace the projections in `state` (B, rows, cols, h) by hidden states, diagonal after diagonal."""
    _, rows, cols, _ = state.shape
    buffers = _buffers(state)
    left, top = _by_columns(W_left.T), _by_columns(W_top.T)
    for d in range(rows + cols - 1):
        cells = _diagonal(state, d)
        now, before = buffers[d % 2][: len(cells)], buffers[1 - d % 2]
        now.copy_(cells)
        first, stop = _rows_of(d, rows, cols)
        earlier, end = _rows_of(d - 1, rows, cols)
        _add(now, first, stop, before, earlier, end, left)
        _add(now, first, stop, before, earlier + 1, end + 1, top)
        if activation != "identity":
            _ACTIVATE[activation](now)
        cells.copy_(now)


def backward(grad: Tensor, hidden: Tensor, W_left: Tensor, W_top: Tensor, activation: str) -> None:
    """Replace the gradients of the states in `grad` by those of the pre-activations, last diagonal first."""
    _, rows, cols, _ = grad.shape
    buffers = _buffers(grad)
    left, top = _by_columns(W_left), _by_columns(W_top)
    for d in reversed(range(rows + cols - 1)):
        cells = _diagonal(grad, d)
        now, after = buffers[d % 2][: len(cells)], buffers[1 - d % 2]
        now.copy_(cells)
        first, stop = _rows_of(d, rows, cols)
        later, end = _rows_of(d + 1, rows, cols)
        _add(now, first, stop, after, later, end, left)
        _add(now, first, stop, after, later - 1, end - 1, top)
        _chain(now, _diagonal(hidden, d), activation)
        cells.copy_(now)


def _rows_of(d: int, rows: int, cols: int) -> tuple[int, int]:
    """First row of diagonal d, and the row after its last; empty outside the grid."""
    return max(0, d - cols + 1), min(d + 1, rows)


def _buffers(grid: Tensor) -> Tensor:
    B, rows, cols, h = grid.shape
    return grid.new_empty(2, min(rows, cols), B, h)


def _diagonal(grid: Tensor, d: int) -> Tensor:
    """The cells of diagonal d as a view (cells, B, h), top row first."""
    B, rows, cols, h = grid.shape
    assert grid.is_contiguous()
    first, stop = _rows_of(d, rows, cols)
    step = max(1, cols - 1) * h  # one row down and one column to the left
    return grid.as_strided((stop - first, B, h), (step, rows * cols * h, 1), (first * (cols - 1) + d) * h)


def _add(now: Tensor, first: int, stop: int, other: Tensor, start: int, end: int, weight: Tensor) -> None:
    """Add other · weight, where `now` holds rows first..stop and `other`, renumbered, rows start..end."""
    low, high = max(first, start), min(stop, end)
    if low < high:
        h = now.shape[2]
        target, source = now[low - first : high - first], other[low - start : high - start]
        target.view(-1, h).addmm_(source.view(-1, h), weight)


def _by_columns(weight: Tensor) -> Tensor:
    """The same matrix stored by columns: else MKL adds products of few rows term by term, rounding each."""
    return weight.T.contiguous().T


def _chain(grad: Tensor, hidden: Tensor, activation: str) -> None:
    """Multiply by the derivative of the activation, which all four functions give from their value."""
    if activation == "tanh":
        torch.ops.aten.tanh_backward.grad_input(grad, hidden, grad_input=grad)
    elif activation == "sigmoid":
        torch.ops.aten.sigmoid_backward.grad_input(grad, hidden, grad_input=grad)
    elif activation == "relu":
        torch.ops.aten.threshold_backward.grad_input(grad, hidden, 0, grad_input=grad)
    else:
        assert activation == "identity"
