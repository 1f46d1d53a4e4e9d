"""Lesson: a convolution is a linear layer that shares its weights."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import sympy
import torch

from regard.lessons.exercises.weight_sharing import EXERCISES
from regard.lessons.figures import grid
from regard.lessons.lesson import Lesson
from regard.lessons.parts import Block, Check, Formula, Picture, Table, equal, table
from regard.sharing import (
    LocallyConnected1d,
    LocallyConnected2d,
    compare,
    conv_matrix,
    draw_matrix,
    output_size,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KERNEL = ["k1", "k2", "k3"]
LETTERS = "abcdefghijklmnopqrstu"


def outputs() -> list[Formula]:
    """The first, second and last output of a filter of three on nine inputs."""
    x = sympy.Matrix(sympy.symbols("x_1:10"))
    y = conv_matrix(KERNEL, 9) * x
    return [
        Formula(f"{name} output:", sympy.Eq(sympy.Symbol(f"y_{i + 1}"), y[i]))
        for name, i in (("The first", 0), ("The second", 1), ("The last", len(y) - 1))
    ]


def matrix() -> list[Formula | Picture]:
    """The matrix that does the same."""
    found = conv_matrix(KERNEL, 9)
    return [
        Formula(f"As one matrix, {found.rows} × {found.cols}: y = Mx with", found),
        Picture(
            "matrix",
            lambda: _drawn(found, "One filter, seven times"),
            "The 7 by 9 matrix of the filter: the same three weights on three diagonals, zeros elsewhere",
        ),
    ]


def _drawn(matrix: sympy.Matrix, title: str) -> Figure:
    """The matrix as squares, one shade for each letter."""
    cells = [["" if entry == 0 else str(entry) for entry in row] for row in matrix.tolist()]
    letters = sorted({word for row in cells for word in row} - {""})
    shade = {word: 1 - i / (1.2 * len(letters)) for i, word in enumerate(letters)} | {"": 0.0}
    return grid(
        [[shade[word] for word in row] for row in cells],
        title=title,
        text=cells,
        rows=[f"y{i + 1}" for i in range(matrix.rows)],
        cols=[f"x{i + 1}" for i in range(matrix.cols)],
    )


def variants() -> list[Block | Formula | Check]:
    """Padding adds rows at both ends, a stride leaves rows out, and both do both."""
    padded = conv_matrix(KERNEL, 9, padding=1)
    both = conv_matrix(KERNEL, 9, stride=2, padding=1)
    y = both * sympy.Matrix(sympy.symbols("x_1:10"))
    named = (("Together, the first output:", 0), ("the second:", 1), ("and the last:", len(y) - 1))
    return [
        Block(draw_matrix(padded), "Padding 1, so that there are as many outputs as inputs:"),
        Block(draw_matrix(conv_matrix(KERNEL, 9, stride=2)), "Stride 2, every other row:"),
        Block(draw_matrix(both), "Padding 1 and stride 2 together, every other row of the padded matrix:"),
        *(Formula(says, sympy.Eq(sympy.Symbol(f"y_{i + 1}"), y[i])) for says, i in named),
        Check(
            "padding 1 and stride 2 together give 5 outputs",
            both.rows == output_size(9, 3, 2, 1) == 5 and both == padded[::2, :],
            f"⌊(9 − 3 + 2)/2⌋ + 1 = {output_size(9, 3, 2, 1)}, and M has {both.rows} rows",
        ),
    ]


def unshared() -> list[Block | Picture | Check]:
    """The same windows without sharing: a letter for every weight."""
    layer = LocallyConnected1d(1, 1, 9, 3, bias=False)
    found = _lettered()
    with torch.no_grad():
        layer.weight.copy_(torch.arange(1.0, 22.0).view_as(layer.weight))  # a, b, c … as 1, 2, 3 …
        M = layer(torch.eye(9)[:, None])[:, 0].T  # column j is what the j-th input alone gives
    numbered = found.subs({sympy.Symbol(letter): i for i, letter in enumerate(LETTERS, 1)})
    return [
        Block(draw_matrix(found), f"{len(LETTERS)} different weights, where there were {len(KERNEL)}:"),
        Picture(
            "unshared",
            lambda: _drawn(found, "Without sharing: 21 weights"),
            "The 7 by 9 matrix without sharing: the same band, with 21 different letters from a to u",
        ),
        Check(
            "without sharing, each of the 7 outputs has 3 weights of its own",
            M.int().tolist() == numbered.tolist(),
            f"`LocallyConnected1d` has {layer.weight.numel()} weights and this matrix, letter by letter",
        ),
    ]


def _lettered() -> sympy.Matrix:
    """Row i has the letters 3i, 3i + 1 and 3i + 2 of the alphabet under its window."""
    found = sympy.zeros(7, 9)
    for k, letter in enumerate(LETTERS):
        found[k // 3, k // 3 + k % 3] = sympy.Symbol(letter)
    return found


def size_law() -> Formula:
    """How many windows fit."""
    W, K, P, S = sympy.symbols("W K P S", positive=True, integer=True)
    places = sympy.Add(W, -K, 2 * P, evaluate=False)
    law = sympy.Add(sympy.floor(sympy.Mul(places, 1 / S, evaluate=False)), 1, evaluate=False)
    return Formula("Outputs along one side:", law, as_written=True)


def checked() -> list[Check]:
    """The matrix against torch, the averaging filter, and the size formula."""
    generator = torch.Generator().manual_seed(0)
    kernel, x = (torch.randn(size, generator=generator, dtype=torch.float64) for size in (3, 9))
    run = torch.nn.functional.conv1d(x[None, None], kernel[None, None])[0, 0]
    mean = conv_matrix(torch.full((3,), 1 / 3, dtype=torch.float64), 9) @ x
    means = torch.stack([x[i : i + 3].mean() for i in range(7)])
    cases = product(range(1, 12), range(1, 6), range(1, 4), range(3))
    fits = [(W, K, S, P) for W, K, S, P in cases if W + 2 * P >= K]
    wrong = sum(len(conv_matrix(torch.ones(K), W, S, P)) != (W - K + 2 * P) // S + 1 for W, K, S, P in fits)
    return [
        equal("Mx is what torch's convolution computes", (conv_matrix(kernel, 9) @ x, run)),
        Check(
            "equal weights 1/k make the averaging filter",
            torch.allclose(mean, means),
            "all 7 outputs are means of three neighbours",
        ),
        Check(
            "the size formula counts the rows of M",
            wrong == 0,
            f"{len(fits)} cases, every W ≤ 11, K ≤ 5, S ≤ 3, P ≤ 2 that fits; {wrong} differ",
        ),
    ]


def averaged() -> list[Formula | Check]:
    """Two dimensions: the mean of 2×2 neighbours in a 3×3 image."""
    image = sympy.Matrix(3, 3, range(1, 10))
    named = conv_matrix([["k1", "k2"], ["k3", "k4"]], (3, 3))
    quarter = sympy.Rational(1, 4)
    K = conv_matrix([[quarter, quarter], [quarter, quarter]], (3, 3))
    out = (K * image.reshape(9, 1)).reshape(2, 2)
    run = torch.nn.functional.avg_pool2d(torch.arange(1.0, 10.0).view(1, 3, 3), 2, stride=1)[0]
    return [
        Formula("An image of 3×3 pixels:", image),
        Formula(f"A filter of 2×2 on it is a matrix of {named.rows} × {named.cols}:", named),
        Formula("With k₁ = k₂ = k₃ = k₄ = 1/4 it takes means, and the four outputs are:", out),
        Check(
            "the means are 3, 4, 6 and 7, and torch finds the same",
            out.tolist() == [[3, 4], [6, 7]] and run.tolist() == [[3, 4], [6, 7]],
            f"the first is (1 + 2 + 4 + 5)/4 = {sympy.Rational(1 + 2 + 4 + 5, 4)}",
        ),
    ]


def large_layer() -> list[Table | Check]:
    """The layer of the sheet: 256×256 RGB, 32 filters of 5×5, stride 2; shapes without any memory behind."""
    found = compare(image=(3, 256, 256), filters=32, kernel=5, stride=2)
    with torch.device("meta"):
        image = torch.empty(1, 3, 256, 256)
        conv = torch.nn.Conv2d(3, 32, 5, stride=2)
        local = LocallyConnected2d(3, 32, (256, 256), 5, stride=2)
        dense = torch.nn.Linear(image.numel(), found.outputs_count)
        shapes = {tuple(conv(image).shape), tuple(local(image).shape)}
    rows: list[list[object]] = []
    for name, weight, bias in (
        ("convolution", conv.weight, conv.bias),
        ("locally connected", local.weight, local.bias),
        ("dense", dense.weight, dense.bias),
    ):
        assert bias is not None
        rows.append([name, times(weight.shape), weight.numel(), times(bias.shape), bias.numel()])
    printed = 508_302
    return [
        table(
            ["layer", "shape of the weights", "weights", "shape of the biases", "biases"],
            rows,
            f"One image, {times(found.image)} (channels, rows, columns), becomes {times(found.outputs)}: "
            f"⌊(256 − 5)/2⌋ + 1 = {output_size(256, 5, 2)} places along each side. The shapes are: filters, "
            "channels, rows, columns for the convolution; places, inputs under a window, filters for the "
            "locally connected layer; outputs, inputs for the dense one:",
        ),
        Check(
            "the layers have the weights that `compare` counts, and give outputs of this shape",
            [row[2] for row in rows] == [found.shared, found.unshared, found.dense]
            and shapes == {(1, *found.outputs)},
            f"32·3·5·5 = {found.shared:,}; {found.shared:,}·126·126 = {found.unshared:,}; "
            f"{found.inputs_count:,} × {found.outputs_count:,} = {found.dense:,}",
        ),
        Check(
            "a printed solution says 508302 outputs: two digits are swapped",
            found.outputs_count != printed,
            f"32 · 126 · 126 = {found.outputs_count:,}, so the dense layer has {found.dense:.4g} weights",
        ),
    ]


def times(shape: Sequence[int]) -> str:
    """A shape as people write it: 32×3×5×5."""
    return "×".join(f"{side:,}" for side in shape)


LESSON = Lesson(
    name="weight-sharing",
    title="Convolution is a shared linear layer",
    question=(
        "A filter of three weights slides over nine inputs. Write its outputs, then the matrix that does the "
        "same as one linear layer. What do padding, stride and giving up the sharing change, and how much "
        "does sharing save on a 256×256 RGB image?"
    ),
    steps=(
        "At each place the filter multiplies the three inputs under it by the same three weights and adds. "
        "(As everywhere in deep learning, the filter is not flipped.)",
        outputs,
        "An output is a row of weights times the whole input, with zeros where the filter does not lie. "
        "Moving the filter by one moves the row by one: the matrix has one value along each diagonal.",
        matrix,
        "**Padding and stride.** Padding puts zeros before the first and after the last input, so that the "
        "filter may hang over the ends; the weights that lie on a zero do not appear in the matrix. A stride "
        "moves the filter by more than one place at a time.",
        variants,
        "**The size.** Four letters decide it: W inputs along a side, K weights of the filter along that "
        "side, P zeros put at *each* end, and S places from one window to the next. (The exercises write n, "
        "k, p, s.) With the zeros there are W + 2P places, and the filter can start at the first W + 2P − K "
        "+ 1 of them. It starts at the first place and then at every S-th: one window, and (W − K + 2P)/S "
        "more, rounded down because a last, incomplete move is not made.",
        size_law,
        checked,
        "**Without sharing** every window keeps its place and gets weights of its own, here a to u.",
        unshared,
        "**Two dimensions.** The image is read row by row into one long vector. The weights of one row of "
        "the filter stand side by side; those of the next row stand one image row further on.",
        averaged,
        "A linear layer of the same shape would have a weight in every cell of M. Zeros outside the band say "
        "that a unit looks at its neighbourhood only; equal diagonals say that it looks for the same thing "
        "everywhere. Both save weights:",
        large_layer,
    ),
    exercises=EXERCISES,
)
