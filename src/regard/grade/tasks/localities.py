"""The locally connected layer: its own weights are recovered from its answers, and must be where they may be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.grade.comparing import short
from regard.grade.modules import first_of, properties, tried_case
from regard.grade.sandbox import StudentError
from regard.grade.student import Student
from regard.grade.task import (
    Assignment,
    Candidate,
    Case,
    Choices,
    Mistake,
    Observed,
    PartPoints,
    Tried,
    Trouble,
    Views,
)
from regard.grade.tasks.convolutions import starts
from regard.grade.wire import Handle

TEXT = '''"""A locally connected layer: the windows of a convolution, each place with a kernel and a bias of its own."""

import torch
from torch import nn


class LocallyConnected2d(nn.Module):
    def __init__(self, in_channels, out_channels, size, kernel, stride=1, padding=0):
        """size: (rows, cols) of the images; kernel, stride, padding: ints, for both axes alike.

        What the weights are called and how they are stored is yours, and whether there is a bias at all.
        """
        super().__init__()
        raise NotImplementedError

    def forward(self, x):
        """x (B, in_channels, rows, cols) -> (B, out_channels, rows', cols'), places as in a convolution."""
        raise NotImplementedError
'''
NAMES = (
    "LocallyConnected",
    "LocallyConnectedLayer",
    "LocallyConnected2dLayer",
    "LocalConv2d",
    "LocallyConnectedConv2d",
)
ONE, MANY, MOVED, OWN, MODULE = (
    "one channel", "channels", "stride and padding", "weights of its own at every place", "as a module",
)  # fmt: skip
NOT_LINEAR = Mistake(
    "activation-added", "something that is not linear in its input: a layer has no activation of its own"
)
SHARED = Mistake("weights-shared", "the same kernel at every place: that is a convolution")
ALONG_ROWS = Mistake("weights-shared-along-rows", "the same kernel at all places of a row")
ALONG_COLS = Mistake("weights-shared-along-columns", "the same kernel at all places of a column")
FILTERS = Mistake("filters-share-weights", "the same kernel for every filter")
CHANNELS = Mistake("channels-share-weights", "the same kernel for every input channel")
BIAS = Mistake("bias-shared", "one bias for all places of a filter, though every place has its own")
BIAS_FILTERS = Mistake(
    "bias-shared-by-filters", "one bias for all filters of a place, though each has its own"
)
FIXED = Mistake(
    "weights-not-learned", "the right values, but with weights that are no parameters of the module"
)


@dataclass(frozen=True)
class WindowSizes:
    """What a layer is made with."""

    ins: int
    outs: int
    size: tuple[int, int]
    kernel: int
    stride: int = 1
    padding: int = 0

    def __str__(self) -> str:
        rest = f", stride={self.stride}, padding={self.padding}" if self.stride > 1 or self.padding else ""
        return f"LocallyConnected2d({self.ins}, {self.outs}, {self.size}, {self.kernel}{rest})"

    def arguments(self) -> tuple[object, ...]:
        """All of it, by place."""
        return self.ins, self.outs, self.size, self.kernel, self.stride, self.padding


LAYOUTS = (
    (ONE, WindowSizes(1, 1, (2, 3), 2)), (ONE, WindowSizes(1, 1, (3, 4), 2)), (MANY, WindowSizes(2, 3, (3, 4), 2)),
    (MOVED, WindowSizes(1, 1, (3, 5), 2, stride=2)), (MOVED, WindowSizes(1, 1, (2, 3), 2, padding=1)),
    (MOVED, WindowSizes(2, 2, (5, 4), 3, stride=2, padding=1)),
)  # fmt: skip


def windows(layout: WindowSizes, *, step: str = "", pad: str = "", count: str = "", window: str = "", turn: str = "",
            across: str = "all", order: str = "") -> Views:  # fmt: skip
    """The shape of what comes out, and which inputs (columns) each output (row) may depend on."""
    (rows, cols), k = layout.size, layout.kernel
    reach = {"short": k - 1, "long": k + 1}.get(window, k)
    stride = {"one": 1, "more": layout.stride + 1, "kernel": k}.get(step, layout.stride)
    padding = {"none": 0, "doubled": 2 * layout.padding}.get(pad, layout.padding)
    tops, lefts = (
        starts(side, k if window != "long" else reach, stride, padding, count) for side in (rows, cols)
    )
    sees = torch.zeros(len(tops), len(lefts), rows, cols)
    for i, top in enumerate(tops):
        for j, left in enumerate(lefts):
            sees[i, j, max(top, 0) : max(top + reach, 0), max(left, 0) : max(left + reach, 0)] = 1
    if turn == "places":
        sees = sees.transpose(0, 1).reshape(sees.shape)
    many, pixels = len(tops) * len(lefts), rows * cols
    every = sees.reshape(1, many, 1, pixels).expand(layout.outs, many, layout.ins, pixels)
    if across == "own":
        own = torch.eye(max(layout.outs, layout.ins))[: layout.outs, : layout.ins]
        every = every * own[:, None, :, None]
    if order == "places first":  # (places, filters) seen as (filters, places)
        every = every.transpose(0, 1)
    if order == "channels last":
        every = every.transpose(0, 1)
    matrix = every.reshape(layout.outs * many, layout.ins * pixels)
    shape: tuple[int, ...] = (layout.outs, len(tops), len(lefts))
    shape = {
        "channels last": (*shape[1:], shape[0]),
        "flat": (layout.outs, many),
        "all flat": (layout.outs * many,),
    }.get(order, shape)
    if turn == "size":
        shape = (layout.outs, len(lefts), len(tops))
    return {"shape of an output": shape, "inputs that each output depends on": torch.ones_like(matrix) if across == "dense" else matrix}  # fmt: skip


def _respond(student: Student, made: Handle, layout: WindowSizes, at: Tensor) -> tuple[Tensor, Tensor]:
    """What the layer gives at a point, and by how much that changes with each input."""
    many = layout.ins * math.prod(layout.size)
    x = torch.cat([torch.zeros(1, many), torch.eye(many)]) + at.flatten()
    y = first_of(student.call(made, x.view(many + 1, layout.ins, *layout.size)))
    if not isinstance(y, Tensor) or y.ndim < 2 or len(y) != many + 1 or not y.is_floating_point():
        shape = tuple(y.shape) if isinstance(y, Tensor) else type(y).__name__
        raise StudentError("ValueError", f"for x {(many + 1, layout.ins, *layout.size)} it gives {shape}")
    return y[0], y[1:] - y[0]


def _observe(student: Student) -> Observed:
    name = student.need("LocallyConnected2d", *NAMES)
    tried: list[Tried] = []
    for number, (part, layout) in enumerate(LAYOUTS):
        x = 3 * torch.randn(layout.ins, *layout.size, generator=student.generator(number))

        def act(layout: WindowSizes = layout, x: Tensor = x) -> Views:
            made, _ = student.build(name, *layout.arguments())
            slopes = [_respond(student, made, layout, at)[1] for at in (x, -x)]
            some = torch.stack(slopes).abs().amax(0) > 1e-4  # input, filter, row, col
            seen = some.flatten(1).T.double()
            return {
                "shape of an output": tuple(slopes[0].shape[1:]),
                "inputs that each output depends on": seen,
            }

        tried.append(tried_case(student, Case(part, str(layout), (layout,)), act))
    tried += _own(student, name)
    return Observed(tuple(tried))


def _own(student: Student, name: str) -> Iterator[Tried]:
    """Whether all these weights are there, differ, and are learned."""
    layout = WindowSizes(2, 3, (3, 4), 2)
    try:
        made, entries = student.build(name, *layout.arguments())
        zero = torch.zeros(layout.ins, *layout.size)
        bias, slope = _respond(student, made, layout, zero)
        x = torch.randn(2, layout.ins, *layout.size, generator=student.generator(9))
        value = first_of(student.call(made, x))
    except StudentError as error:
        for part in (OWN, MODULE):
            yield Case(part, str(layout)), Trouble(error.kind, error.text, error.line)
        return
    flat = slope.flatten(1)
    linear = torch.einsum("bi,ij->bj", x.flatten(1), flat) + bias.flatten()
    straight = isinstance(value, Tensor) and value.numel() == linear.numel()
    if isinstance(value, Tensor) and straight:
        straight = torch.allclose(value.reshape(linear.shape), linear, atol=1e-3, rtol=1e-3)

    yield _held(
        NOT_LINEAR,
        MODULE,
        "the layer at a random x",
        straight,
        "it is not the linear map that basis images give",
    )
    seen = windows(layout)
    matrix, shape = seen["inputs that each output depends on"], seen["shape of an output"]
    assert isinstance(matrix, Tensor)
    assert isinstance(shape, tuple)
    if straight and tuple(bias.shape) == shape:
        yield from _shared(layout, flat.T, matrix, bias)
        learned = sum(one.value.numel() for one in entries if one.learned and one.value is not None)
        kernels = flat.T[matrix > 0]
        distinct = len({round(one, 4) for one in kernels.tolist()})
        few = f"{learned} numbers are parameters"
        yield _held(FIXED, MODULE, f"{distinct} different weights in its kernels", learned >= distinct, few)
    else:
        yield Case(OWN, "its kernels"), Trouble("Untold", "they cannot be told apart in what it gives")
    yield from properties(student, made, MODULE, (x,))


def _held(flaw: Mistake, part: str, call: str, holds: bool, otherwise: str) -> Tried:
    return Case(part, call, (), flaw), {"holds": True if holds else otherwise}


def _shared(layout: WindowSizes, slope: Tensor, matrix: Tensor, bias: Tensor) -> Iterator[Tried]:
    taps = layout.kernel**2
    if not bool(((slope.abs() > 1e-4) <= (matrix > 0)).all()):
        yield Case(OWN, "its kernels"), Trouble("Untold", "they reach beyond their windows")
        return
    kernels = slope[matrix > 0].view(*bias.shape, layout.ins, taps)  # out, row, col, in, tap

    def differ(flaw: Mistake, call: str, a: Tensor, b: Tensor, otherwise: bool = False) -> Tried:
        same = f"both are {short(a.flatten()[: a.shape[-1]])}"
        return _held(flaw, OWN, call, otherwise or not torch.allclose(a, b, atol=1e-4), same)

    rows = not torch.allclose(kernels[:, 1:], kernels[:, :-1], atol=1e-4)
    cols = not torch.allclose(kernels[:, :, 1:], kernels[:, :, :-1], atol=1e-4)
    down, across = (kernels[:, 1:], kernels[:, :-1]), (kernels[:, :, 1:], kernels[:, :, :-1])
    yield differ(SHARED, "kernels at two places", *across, rows)
    yield differ(ALONG_ROWS, "kernels at two places of a row", *across, not rows)
    yield differ(ALONG_COLS, "kernels at two places of a column", *down, not cols)
    yield differ(FILTERS, "kernels of two filters", kernels[1:], kernels[:-1])
    yield differ(CHANNELS, "kernels on two channels", kernels[..., 1:, :], kernels[..., :-1, :])
    if (rows or cols) and bool((bias.abs() > 1e-4).any()):
        yield differ(BIAS, "biases at two places", bias, bias[:, :1, :1].expand_as(bias))
        yield differ(BIAS_FILTERS, "biases of two filters", bias[1:], bias[:-1])


def predict(candidate: Candidate, case: Case, choices: Choices) -> Views:
    """Where weights may be, under these choices."""
    if case.flaw is not None:
        return {"holds": True}
    layout = case.inputs[0]
    assert isinstance(layout, WindowSizes)
    return windows(layout, **choices)  # type: ignore[arg-type]


LOCAL_TASK = Assignment(
    name="locally-connected", title="Locally connected layer", skeleton=TEXT, lesson="weight-sharing",
    symbols=(("LocallyConnected2d", *NAMES),), observe=_observe, predict=predict,
    parts=(PartPoints(ONE, 1), PartPoints(MANY, 1), PartPoints(MOVED, 2), PartPoints(OWN, 2), PartPoints(MODULE, 1)),
    method="the layer's linear map is recovered from its answers: weights must be in the windows, and differ",
    mistakes=(
        Mistake("stride-ignored", "windows one apart, whatever the stride", {"step": "one"}),
        Mistake("stride-plus-one", "windows stride + 1 apart", {"step": "more"}),
        Mistake("windows-adjacent", "windows side by side, as if the stride were the kernel's size", {"step": "kernel"}),
        Mistake("padding-ignored", "no padding", {"pad": "none"}),
        Mistake("padding-doubled", "twice the padding on every side", {"pad": "doubled"}),
        Mistake("padding-one-side", "padding above and to the left alone", {"count": "one side"}),
        Mistake("padding-behind-only", "padding below and to the right alone", {"count": "other side"}),
        Mistake("padding-not-centred", "windows that begin at the first pixel, not at the padding", {"count": "not centred"}),
        Mistake("last-window-missing", "one window too few along each axis: the + 1 is missing", {"count": "one short"}),
        Mistake("window-one-short", "windows of kernel − 1 pixels", {"window": "short"}),
        Mistake("window-one-long", "windows of kernel + 1 pixels", {"window": "long"}),
        Mistake("rows-cols-swapped", "a layer for images of cols × rows", {"turn": "size"}),
        Mistake("places-in-column-order", "places counted column by column, in an output whose rows are read row by row", {"turn": "places"}),
        Mistake("dense", "a dense layer: every output depends on every input", {"across": "dense"}),
        Mistake("channels-apart", "filters that see one input channel each", {"across": "own"}),
        Mistake("channels-last", "outputs (B, rows', cols', out_channels): channels belong first", {"order": "channels last"}),
        Mistake("places-flat", "outputs (B, out_channels, places), whose places are not brought back into rows and columns", {"order": "flat"}),
        Mistake("all-flat", "flat outputs, which are not brought back into channels, rows and columns", {"order": "all flat"}),
        Mistake("output-order", "outputs whose axes are mixed by a reshape: places and filters must be exchanged first", {"order": "places first"}),
    ),
)  # fmt: skip
