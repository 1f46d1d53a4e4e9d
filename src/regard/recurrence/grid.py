"""The recurrence over a grid: its definition, and the choice among ways to compute it."""

import importlib
import importlib.util
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from regard.recurrence import wavefront
from regard.recurrence.activation import Activation, activation_name, check_activation
from regard.recurrence.checks import autocast_dtype, check_alike, check_axes
from regard.recurrence.sweep import GridSweep, SweepPlan, Walker

IMPLS = ("auto", "reference", "wavefront", "triton")
# The axes (of B rows cols c) along which a scan from each corner runs backwards.
STARTS: dict[str, tuple[int, ...]] = {
    "top-left": (),
    "top-right": (2,),
    "bottom-left": (1,),
    "bottom-right": (1, 2),
}
_TRITON_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
_TRITON_WIDTH = 256


@dataclass(frozen=True)
class GridChoice:
    """What "auto" would run, and why."""

    impl: str
    why: str


def grid_rnn(
    x: Tensor,
    W_in: Tensor,
    W_left: Tensor,
    W_top: Tensor,
    activation: Activation = torch.tanh,
    *,
    b: Tensor | None = None,
    start: str = "top-left",
    impl: str = "auto",
) -> Tensor:
    """h[row, col] = φ(W_in x[row, col] + W_left h[row, col−1] + W_top h[row−1, col] + b), missing ones zero.

    x (B, rows, cols, c) and W_in (h, c) give (B, rows, cols, h). `start` is the corner where the scan begins;
    from the right, W_left weighs the neighbour to the right, from the bottom, W_top the one below.

    Counting the monotone paths from the corner to each cell:

    >>> from regard.recurrence import grid_rnn, identity
    >>> one = torch.ones(1, 1)
    >>> corner = torch.zeros(1, 3, 4, 1)
    >>> corner[0, 0, 0] = 1
    >>> grid_rnn(corner, one, one, one, identity)[0, :, :, 0]
    tensor([[ 1.,  1.,  1.,  1.],
            [ 1.,  2.,  3.,  4.],
            [ 1.,  3.,  6., 10.]])
    """
    weights = {"W_in": (W_in, "h c"), "W_left": (W_left, "h h"), "W_top": (W_top, "h h")}
    check_axes({"x": (x, "B rows cols c"), **weights}, b=(b, "h"))
    check_activation("activation", activation)
    if start not in STARTS:
        raise ValueError(f"start must be one of {', '.join(STARTS)}, got start={start!r}")
    dtype = autocast_dtype(x)
    if dtype is not None:
        x, W_in, W_left, W_top = x.to(dtype), W_in.to(dtype), W_left.to(dtype), W_top.to(dtype)
        b = None if b is None else b.to(dtype)
    check_alike(x=x, W_in=W_in, W_left=W_left, W_top=W_top, b=b)
    if impl not in IMPLS:
        raise ValueError(f"impl must be one of {', '.join(IMPLS)}, got impl={impl!r}")
    if impl == "auto":
        impl = choose(x, W_in, activation).impl

    flipped = STARTS[start]
    with torch.autocast(x.device.type, enabled=False):
        if impl == "reference":
            return reference(x.flip(flipped), W_in, W_left, W_top, activation, b).flip(flipped)
        name = activation_name(activation)
        if name is None:
            known = "activation tanh, relu, sigmoid or identity"
            raise ValueError(f"impl={impl!r} needs {known}, got activation={activation!r}")
        return GridSweep.apply(x, W_in, W_left, W_top, b, SweepPlan(name, flipped, _walker(impl, x, W_in)))


def reference(
    x: Tensor, W_in: Tensor, W_left: Tensor, W_top: Tensor, activation: Activation, b: Tensor | None = None
) -> Tensor:
    """The definition: one cell after the other, row by row."""
    _, rows, cols, _ = x.shape
    cell: dict[tuple[int, int], Tensor] = {}
    for row in range(rows):
        for col in range(cols):
            total = x[:, row, col] @ W_in.T
            if b is not None:
                total = total + b
            if col > 0:
                total = total + cell[row, col - 1] @ W_left.T
            if row > 0:
                total = total + cell[row - 1, col] @ W_top.T
            cell[row, col] = activation(total)
    return torch.stack([torch.stack([cell[row, col] for col in range(cols)], 1) for row in range(rows)], 1)


def choose(x: Tensor, W_in: Tensor, activation: Activation = torch.tanh) -> GridChoice:
    """Say what impl="auto" would run for these arguments of `grid_rnn`.

    >>> choose(torch.zeros(1, 3, 4, 2), torch.zeros(5, 2))
    GridChoice(impl='wavefront', why='x is on cpu; the kernel needs cuda')
    >>> choose(torch.zeros(1, 3, 4, 2), torch.zeros(5, 2), torch.sin).impl
    'reference'
    """
    if activation_name(activation) is None:
        return GridChoice("reference", "the gradient of this activation is known to autograd alone")
    obstacle = _triton_obstacle(x, W_in)
    if obstacle is None and x.device.type != "cuda":
        obstacle = f"x is on {x.device}; the kernel needs cuda"
    return (
        GridChoice("triton", "one kernel walks all diagonals")
        if obstacle is None
        else GridChoice("wavefront", obstacle)
    )


def _triton_obstacle(x: Tensor, W_in: Tensor) -> str | None:
    """Why the kernel cannot run on any device, or None."""
    if x.dtype not in _TRITON_DTYPES:
        return f"the kernel knows float32, bfloat16 and float16, x is {x.dtype}"
    if len(W_in) > _TRITON_WIDTH:
        return f"the kernel takes h up to {_TRITON_WIDTH}, h is {len(W_in)}"
    if importlib.util.find_spec("triton") is None:
        return "triton is not installed"
    return None


def _walker(impl: str, x: Tensor, W_in: Tensor) -> Walker:
    if impl == "wavefront":
        return wavefront
    obstacle = _triton_obstacle(x, W_in)
    if obstacle is None:
        kernel = importlib.import_module("regard.recurrence.triton_grid")
        if x.device.type == "cuda" or kernel.INTERPRETED:
            return cast(Walker, kernel)
        obstacle = f"x is on {x.device}; the kernel needs cuda"
    raise ValueError(f"impl='triton' cannot run: {obstacle}")
