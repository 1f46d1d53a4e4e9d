"""Recurrences: one number of state, a vector of state, and a state for every cell of a grid."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from regard.grade.functions import Functions, function_task
from regard.grade.task import Mistake

SCALAR = '''"""A recurrence with one number of state."""


def scalar_rnn(x, w_x, w_h):
    """All states [h_1, …, h_T] of h_t = w_x·x_t + w_h·h_{t−1}, from h_0 = 0, for a list x of numbers."""
    raise NotImplementedError
'''
VECTOR = '''"""A recurrence with a vector of state."""

import torch


def vector_rnn(x, W_x, W_h, b):
    """All states (B, T, h) of h_t = tanh(W_x x_t + W_h h_{t−1} + b), from h_0 = 0.

    x (B, T, c), W_x (h, c), W_h (h, h), b (h).
    """
    raise NotImplementedError
'''
GRID = '''"""A recurrence over a grid."""

import torch


def grid_rnn(x, W_in, W_left, W_top):
    """All states (B, rows, cols, h); neighbours outside the grid are zero:

    h[row, col] = tanh(W_in x[row, col] + W_left h[row, col−1] + W_top h[row−1, col])

    x (B, rows, cols, c), W_in (h, c), W_left (h, h), W_top (h, h).
    """
    raise NotImplementedError
'''


def scalar_rnn(x: list[float], w_x: float, w_h: float, *, order: str = "", first: str = "zero",
               gives: str = "all") -> object:  # fmt: skip
    """The states, in a loop."""
    h, states = 0.0, []
    if first == "x_1":
        h = x[0]
    if order == "swapped":
        w_x, w_h = w_h, w_x
    for i, x_t in enumerate(x):
        if first == "x_1" and i == 0:
            states.append(h)
            continue
        if order == "late":
            states.append(h)
        h = w_h * x_t + w_x * h if order == "crossed" else w_x * x_t + w_h * h
        h = w_x * x_t - w_h * (states[-1] if states else 0.0) if order == "minus" else h
        h = w_h * (w_x * x_t + (states[-1] if states else 0.0)) if order == "outside" else h
        h = w_x * x_t + (states[-1] if states else 0.0) if order == "unweighted" else h
        if order != "late":
            states.append(h)
    if gives == "with h_0":
        return [0.0, *states]
    return states[-1] if gives == "last" else states[::-1] if gives == "reversed" else states


def _scalars(generator: torch.Generator) -> Iterator[tuple[str, str, tuple[object, ...]]]:
    yield "first states", "scalar_rnn", ([3.0, 1.0], 1.0, -1.0)
    yield "first states", "scalar_rnn", ([2.0], 0.5, 4.0)
    yield "states", "scalar_rnn", ([3.0, 1.0, 4.0, 1.0, 5.0], 2.0, 0.5)
    yield "states", "scalar_rnn", ([-1.0, 2.5, 0.0, 7.0], 0.25, -3.0)


SCALAR_TASK = function_task(
    name="scalar-rnn", title="A recurrence of one number", skeleton=SCALAR, lesson="rnn-recurrences",
    parts={"first states": 1, "states": 2},
    functions=Functions(definitions={"scalar_rnn": scalar_rnn}, cases=_scalars, spellings={}),
    mistakes=(
        Mistake("weights-swapped", "the recurrence with w_x and w_h exchanged", {"order": "swapped"}),
        Mistake("state-too-early", "the states before each step, from h_0 to h_{T−1}", {"order": "late"}),
        Mistake("state-unweighted", "the recurrence with h_{t−1} in place of w_h·h_{t−1}", {"order": "unweighted"}),
        Mistake("minus-in-place-of-plus", "w_x·x_t − w_h·h_{t−1}", {"order": "minus"}),
        Mistake("weight-around-both", "w_h·(w_x·x_t + h_{t−1})", {"order": "outside"}),
        Mistake("starts-with-x", "a state that begins as x_1, without w_x", {"first": "x_1"}),
        Mistake("last-state-only", "the last state alone", {"gives": "last"}),
        Mistake("states-reversed", "the states from the last to the first", {"gives": "reversed"}),
        Mistake("h0-included", "the states with h_0 in front", {"gives": "with h_0"}),
    ),
)  # fmt: skip


def vector_rnn(x: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor, *, activation: str = "tanh", state: str = "kept",
               bias: str = "once", gives: str = "all", turned: bool = False, way: str = "") -> Tensor:  # fmt: skip
    """The states, in a loop."""
    h, states = x.new_zeros(len(x), len(W_h)), []
    W_h = W_h.T if turned else W_h
    act = {"tanh": torch.tanh, "relu": torch.relu, "sigmoid": torch.sigmoid, "none": lambda z: z}[activation]
    steps = x.unbind(1)[::-1] if way == "backwards" else x.unbind(1)
    if way == "batch as time":
        steps, h = x.unbind(0), x.new_zeros(x.shape[1], len(W_h))
    for x_t in steps:
        total = x_t @ W_x.T + (0 if bias == "none" else b) + (b if bias == "twice" else 0)
        if state == "outside":
            h = act(total) + h @ W_h.T
        elif state == "forgotten":
            h = act(total)
        elif state == "unweighted":
            h = act(total + h)
        else:
            h = act(total + h @ W_h.T)
        states.append(h)
    out = torch.stack(states, 0 if way == "batch as time" else 1)
    if way == "backwards":
        out = out.flip(1)
    return {"all": out, "last": out[:, -1], "with h_0": torch.cat([torch.zeros_like(out[:, :1]), out], 1),
            "time first": out.transpose(0, 1)}[gives]  # fmt: skip


def _random(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator)


def _vectors(generator: torch.Generator) -> Iterator[tuple[str, str, tuple[object, ...]]]:
    for part, B, T, c, h in (("one step", 1, 1, 2, 2), ("states", 1, 2, 1, 2), ("states", 2, 5, 3, 4)):
        args = (
            _random(generator, B, T, c),
            _random(generator, h, c),
            _random(generator, h, h),
            _random(generator, h),
        )
        yield part, "vector_rnn", args


VECTOR_TASK = function_task(
    name="vector-rnn", title="A recurrence of vectors", skeleton=VECTOR, lesson="rnn-recurrences",
    parts={"one step": 1, "states": 2},
    functions=Functions(definitions={"vector_rnn": vector_rnn}, cases=_vectors, spellings={"vector_rnn": ("rnn",)}),
    mistakes=(
        Mistake("relu-in-place-of-tanh", "the recurrence with relu in place of tanh", {"activation": "relu"}),
        Mistake("sigmoid-in-place-of-tanh", "the recurrence with a sigmoid in place of tanh", {"activation": "sigmoid"}),
        Mistake("no-activation", "the recurrence without tanh", {"activation": "none"}),
        Mistake("state-outside", "tanh of the input alone, with W_h h_{t−1} added after it", {"state": "outside"}),
        Mistake("state-forgotten", "every step from zero: h_{t−1} is not used", {"state": "forgotten"}),
        Mistake("state-unweighted", "the recurrence with h_{t−1} in place of W_h h_{t−1}", {"state": "unweighted"}),
        Mistake("bias-forgotten", "the recurrence without its bias", {"bias": "none"}),
        Mistake("bias-twice", "the recurrence with its bias added twice", {"bias": "twice"}),
        Mistake("w-h-transposed", "the recurrence with the transpose of W_h", {"turned": True}),
        Mistake("last-state-only", "the last state alone", {"gives": "last"}),
        Mistake("h0-included", "the states with h_0 in front", {"gives": "with h_0"}),
        Mistake("time-first", "states of shape (T, B, h) in place of (B, T, h)", {"gives": "time first"}),
        Mistake("read-backwards", "the recurrence from the last input to the first", {"way": "backwards"}),
        Mistake("batch-as-time", "a recurrence along the batch in place of time", {"way": "batch as time"}),
    ),
)  # fmt: skip


def grid_rnn(x: Tensor, W_in: Tensor, W_left: Tensor, W_top: Tensor, *, sides: str = "", activation: str = "tanh",
             corner: str = "top-left", border: str = "zero", turned: bool = False) -> Tensor:  # fmt: skip
    """The states, in a double loop."""
    B, rows, cols, _ = x.shape
    act = {"tanh": torch.tanh, "none": lambda z: z, "relu": torch.relu, "sigmoid": torch.sigmoid}[activation]
    if sides == "swapped":
        W_left, W_top = W_top, W_left
    if turned:
        W_left, W_top = W_left.T, W_top.T
    if corner != "top-left":
        axes = {"top-right": (2,), "bottom-left": (1,), "bottom-right": (1, 2)}[corner]
        return grid_rnn(x.flip(axes), W_in, W_left, W_top, activation=activation).flip(axes)
    zero = x.new_zeros(B, len(W_in))
    h = [[zero] * cols for _ in range(rows)]
    for row in range(rows):
        for col in range(cols):
            left = h[row][col - 1] if col or border == "wraps" else zero
            top = h[row - 1][col] if row or border == "wraps" else zero
            if sides == "diagonal for top":
                top = h[row - 1][col - 1] if row and col else zero
            if border == "carries" and not col and row:
                left = h[row - 1][cols - 1]
            parts = [x[:, row, col] @ W_in.T]
            parts += [left @ W_left.T] if sides != "top only" else []
            parts += [top @ W_top.T] if sides != "left only" else []
            if sides == "diagonal" and row and col:
                parts.append(h[row - 1][col - 1] @ W_top.T)
            h[row][col] = sum(act(part) for part in parts) if sides == "apart" else act(sum(parts))
    return torch.stack([torch.stack(line, 1) for line in h], 1)


def _grids(generator: torch.Generator) -> Iterator[tuple[str, str, tuple[object, ...]]]:
    for part, B, rows, cols, c, h in (
        ("one row or column", 1, 1, 3, 1, 1), ("one row or column", 1, 3, 1, 1, 2),
        ("a grid", 1, 2, 2, 1, 1), ("a grid", 2, 3, 4, 2, 3),
    ):  # fmt: skip
        x = _random(generator, B, rows, cols, c)
        yield part, "grid_rnn", (x, *(_random(generator, h, side) for side in (c, h, h)))


GRID_TASK = function_task(
    name="grid-rnn", title="A recurrence over a grid", skeleton=GRID, lesson="grid-rnn",
    parts={"one row or column": 1, "a grid": 2},
    functions=Functions(definitions={"grid_rnn": grid_rnn}, cases=_grids, spellings={}),
    mistakes=(
        Mistake("neighbours-swapped", "W_left on the cell above and W_top on the cell to the left", {"sides": "swapped"}),
        Mistake("top-forgotten", "a recurrence along each row alone: the cell above is not used", {"sides": "left only"}),
        Mistake("left-forgotten", "a recurrence along each column alone: the cell to the left is not used", {"sides": "top only"}),
        Mistake("activation-on-each-term", "tanh of every term and then their sum", {"sides": "apart"}),
        Mistake("diagonal-added", "a recurrence in which the cell above and to the left counts, too", {"sides": "diagonal"}),
        Mistake("diagonal-in-place-of-top", "a recurrence that reads the cell above and to the left in place of the cell above", {"sides": "diagonal for top"}),
        Mistake("no-activation", "the recurrence without tanh", {"activation": "none"}),
        Mistake("relu-in-place-of-tanh", "the recurrence with relu in place of tanh", {"activation": "relu"}),
        Mistake("sigmoid-in-place-of-tanh", "the recurrence with a sigmoid in place of tanh", {"activation": "sigmoid"}),
        Mistake("border-wraps", "index −1 at the border, which is the other side of the grid", {"border": "wraps"}),
        Mistake("border-carries", "rows that begin with the last state of the row above", {"border": "carries"}),
        Mistake("other-corner", "a scan that begins at the bottom right", {"corner": "bottom-right"}),
        Mistake("right-to-left", "a scan from right to left", {"corner": "top-right"}),
        Mistake("weights-transposed", "the transposes of W_left and W_top", {"turned": True}),
    ),
)  # fmt: skip
