"""Convolution as what it is, a linear map: the matrix K with K · x = convolution of x.

Every entry of K is an entry of the kernel. Which one is found once, as indices; the dense, the sparse and
the symbolic matrix are three ways to write the same list down.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import torch
from torch import Tensor

from regard.sharing.sizes import output_size, pair

if TYPE_CHECKING:
    import sympy

Size = int | tuple[int, int]
Kernel = Tensor | Sequence[object]


@dataclass(frozen=True)
class Entries:
    """Places (row, col) of a matrix of this shape, and the flat index into the kernel that stands there."""

    row: Tensor
    col: Tensor
    source: Tensor
    shape: tuple[int, int]


Names = Sequence[str] | Sequence[Sequence[str]]


@overload
def conv_matrix(
    kernel: Tensor, n: Size, stride: Size = 1, padding: Size = 0, sparse: bool = False
) -> Tensor: ...
@overload
def conv_matrix(
    kernel: Names, n: Size, stride: Size = 1, padding: Size = 0, sparse: bool = False
) -> sympy.ImmutableMatrix: ...
@overload
def conv_matrix(
    kernel: Kernel, n: Size, stride: Size = 1, padding: Size = 0, sparse: bool = False
) -> Tensor | sympy.ImmutableMatrix: ...
def conv_matrix(
    kernel: Kernel, n: Size, stride: Size = 1, padding: Size = 0, sparse: bool = False
) -> Tensor | sympy.ImmutableMatrix:
    """The matrix K such that K · x is the convolution (as torch defines it: no flip) of the flattened x.

    The kernel has shape (k,), (kh, kw), (out, in, k) or (out, in, kh, kw); n is a length, or (rows, cols) for
    an image. With channels x is flattened as (in, rows, cols) and K · x as (out, rows, cols). `sparse` gives
    a CSR tensor; a kernel of strings gives a sympy matrix. The dense matrix passes gradients to its kernel.

    A 2×2 mean over a 3×3 image:

    >>> image = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    >>> K = conv_matrix(torch.full((2, 2), 0.25), (3, 3))
    >>> (K @ image.flatten()).view(2, 2)
    tensor([[3., 4.],
            [6., 7.]])
    >>> print(conv_matrix(["k1", "k2", "k3"], 5))
    Matrix([[k1, k2, k3, 0, 0], [0, k1, k2, k3, 0], [0, 0, k1, k2, k3]])
    """
    values, shape = _values(kernel)
    entries = conv_entries(shape, n, stride, padding)
    if not isinstance(values, Tensor):
        if sparse:
            raise ValueError("sparse must be False for a kernel of names: a sympy matrix has no CSR form")
        return _symbolic(values, entries)
    if sparse:
        return _csr(values.flatten(), entries)
    dense = values.new_zeros(entries.shape)
    return dense.index_put((entries.row, entries.col), values.flatten()[entries.source])


def conv_entries(shape: tuple[int, ...], n: Size, stride: Size = 1, padding: Size = 0) -> Entries:
    """Where a kernel of this shape stands in its matrix, row by row; entries over the padding are left out.

    >>> entries = conv_entries((2,), 3)
    >>> entries.shape, entries.row.tolist(), entries.col.tolist(), entries.source.tolist()
    ((2, 3), [0, 0, 1, 1], [0, 1, 1, 2], [0, 1, 0, 1])
    """
    if len(shape) not in (1, 2, 3, 4) or 0 in shape:
        raise ValueError(
            "kernel must have shape (k,), (kh, kw), (out, in, k) or (out, in, kh, kw), none of them 0, "
            f"got kernel.shape={tuple(shape)}"
        )
    flat = len(shape) in (1, 3)
    if flat != isinstance(n, int):
        wanted = "an integer for a 1-D kernel" if flat else "(rows, cols) for a 2-D kernel"
        raise ValueError(f"n must be {wanted}, got n={n!r}, kernel.shape={tuple(shape)}")
    # Along each axis: which input position each tap of each window reads.
    outer, sides = ((1, 1), shape) if len(shape) < 3 else (shape[:2], shape[2:])
    if flat:
        sides = (1, *sides)
        n = (1, n)  # type: ignore[assignment]
    sizes = pair("n", n, 1)
    strides = _sides("stride", stride, 1, flat)
    paddings = _sides("padding", padding, 0, flat)
    counts = [output_size(*axis) for axis in zip(sizes, sides, strides, paddings, strict=True)]
    read = [
        torch.arange(count)[:, None] * step - pad + torch.arange(side)
        for count, step, pad, side in zip(counts, strides, paddings, sides, strict=True)
    ]
    # Axes in the order of rows then columns of K: out, window row, window col | in, tap row, tap col.
    outs, ins = outer
    full = (outs, counts[0], counts[1], ins, sides[0], sides[1])
    o, a, b, i, u, v = torch.meshgrid(*map(torch.arange, full), indexing="ij")
    y, x = read[0][a, u], read[1][b, v]
    inside = (y >= 0) & (y < sizes[0]) & (x >= 0) & (x < sizes[1])
    row = (o * counts[0] + a) * counts[1] + b
    col = (i * sizes[0] + y) * sizes[1] + x
    source = ((o * ins + i) * sides[0] + u) * sides[1] + v
    cells = counts[0] * counts[1], sizes[0] * sizes[1]
    return Entries(row[inside], col[inside], source[inside], (outs * cells[0], ins * cells[1]))


def _sides(name: str, value: Size, least: int, flat: bool) -> tuple[int, int]:
    """Stride or padding of both axes; a 1-D kernel is one row high and moves within its row."""
    if not flat:
        return pair(name, value, least)
    if not isinstance(value, int):
        raise ValueError(f"{name} must be an integer for a 1-D kernel, got {name}={value!r}")
    return (1 if least == 1 else 0), pair(name, value, least)[1]


def _values(kernel: Kernel) -> tuple[Tensor | list[object], tuple[int, ...]]:
    """A numeric kernel as a tensor, one with names as a flat list, and its shape."""
    if isinstance(kernel, Tensor):
        return kernel, tuple(kernel.shape)
    leaves, shape = _flatten(kernel)
    if all(isinstance(leaf, int | float) for leaf in leaves):
        return torch.tensor(leaves).view(shape), shape
    return leaves, shape


def _flatten(kernel: object) -> tuple[list[object], tuple[int, ...]]:
    if isinstance(kernel, str) or not isinstance(kernel, Sequence):
        return [kernel], ()
    parts = [_flatten(part) for part in kernel]
    shapes = {shape for _, shape in parts}
    if len(shapes) > 1:
        raise ValueError(f"kernel must be a full array, got rows of shapes {sorted(shapes)}")
    inner = shapes.pop() if shapes else ()
    return [leaf for leaves, _ in parts for leaf in leaves], (len(parts), *inner)


def _symbolic(leaves: list[object], entries: Entries) -> sympy.ImmutableMatrix:
    import sympy

    symbols = [sympy.Symbol(leaf) if isinstance(leaf, str) else sympy.sympify(leaf) for leaf in leaves]
    matrix = sympy.zeros(*entries.shape)
    for row, col, source in zip(
        *(t.tolist() for t in (entries.row, entries.col, entries.source)), strict=True
    ):
        matrix[row, col] = symbols[source]
    return sympy.ImmutableMatrix(matrix)


def _csr(values: Tensor, entries: Entries) -> Tensor:
    """Entries are ordered by row, but within a row by channel and tap: the same as by column."""
    ends = torch.bincount(entries.row, minlength=entries.shape[0]).cumsum(0)
    offsets = torch.cat([ends.new_zeros(1), ends]).to(values.device)
    columns = entries.col.to(values.device)
    with warnings.catch_warnings():  # torch says once per process that CSR is in beta
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            offsets,
            columns,
            values[entries.source.to(values.device)],
            size=entries.shape,
            check_invariants=True,
        )
