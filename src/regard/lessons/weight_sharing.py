"""Lesson: a convolution is a linear layer that shares its weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy
import torch

from regard.lessons.exercises.weight_sharing import EXERCISES
from regard.lessons.figures import grid
from regard.lessons.lesson import Lesson
from regard.lessons.parts import Block, Check, Formula, Picture, Table, table
from regard.sharing import LocallyConnected1d, compare, conv_matrix, draw_matrix, output_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KERNEL = ["k1", "k2", "k3"]


def outputs() -> list[Formula]:
    """The first, second and last output of a filter of three on nine inputs."""
    x = sympy.Matrix(sympy.symbols("x_1:10"))
    y = conv_matrix(KERNEL, 9) * x
    return [
        Formula(f"{name} output:", sympy.Eq(sympy.Symbol(f"y_{i + 1}"), y[i]))
        for name, i in (("The first", 0), ("The second", 1), ("The last", len(y) - 1))
    ]


def matrix() -> list[Block | Formula | Picture]:
    """The matrix that does the same."""
    found = conv_matrix(KERNEL, 9)
    return [
        Formula(f"As one matrix, {found.rows} × {found.cols}: y = Kx with", found),
        Picture(
            "matrix",
            _picture,
            "The 7 by 9 matrix of the filter: the same three weights on three diagonals, zeros elsewhere",
        ),
    ]


def _picture() -> Figure:
    found = conv_matrix(KERNEL, 9).tolist()
    shade = {"0": 0.0, "k1": 1.0, "k2": 0.66, "k3": 0.33}
    text = [["" if str(e) == "0" else str(e) for e in row] for row in found]
    return grid(
        [[shade[str(e)] for e in row] for row in found],
        title="One filter, seven times",
        text=text,
        rows=[f"y{i + 1}" for i in range(7)],
        cols=[f"x{i + 1}" for i in range(9)],
    )


def variants() -> list[Block]:
    """Padding adds rows at both ends, a stride leaves rows out."""
    return [
        Block(
            draw_matrix(conv_matrix(KERNEL, 9, padding=1)),
            "Padding 1, so that there are as many outputs as inputs:",
        ),
        Block(draw_matrix(conv_matrix(KERNEL, 9, stride=2)), "Stride 2, every other row:"),
    ]


def checked() -> list[Check]:
    """The matrix against torch, and the weights of the three layers."""
    generator = torch.Generator().manual_seed(0)
    kernel, x = (torch.randn(size, generator=generator, dtype=torch.float64) for size in (3, 9))
    run = torch.nn.functional.conv1d(x[None, None], kernel[None, None])[0, 0]
    error = (conv_matrix(kernel, 9) @ x - run).abs().max().item()
    unshared = LocallyConnected1d(1, 1, 9, 3, bias=False)
    weights = sum(p.numel() for p in unshared.parameters())
    mean = conv_matrix(torch.full((3,), 1 / 3, dtype=torch.float64), 9) @ x
    means = torch.stack([x[i : i + 3].mean() for i in range(7)])
    same = all(
        len(conv_matrix(torch.ones(k), n, s, p)) == output_size(n, k, s, p)
        for n in range(1, 12)
        for k in range(1, 6)
        for s in range(1, 4)
        for p in range(3)
        if k <= n + 2 * p
    )
    return [
        Check("Kx is what torch's convolution computes", error < 1e-12, f"largest difference {error:.1e}"),
        Check(
            "without sharing, each of the 7 outputs has 3 weights of its own",
            weights == 7 * 3,
            f"{weights} weights instead of 3",
        ),
        Check(
            "equal weights 1/k make the averaging filter",
            torch.allclose(mean, means),
            "all 7 outputs are means of three neighbours",
        ),
        Check(
            "the size formula counts the rows of K",
            same,
            "every n ≤ 11, k ≤ 5, stride ≤ 3, padding ≤ 2 that fits",
        ),
    ]


def size_law() -> Formula:
    """How many windows fit."""
    n, k, p, s = sympy.symbols("n k p s", positive=True, integer=True)
    law = sympy.Add(sympy.floor((n + 2 * p - k) / s), 1, evaluate=False)
    return Formula("With padding p and stride s there are", law)


def large_layer() -> list[Table | Check]:
    """The layer of the sheet: 256×256 RGB, 32 filters of 5×5, stride 2."""
    found = compare(image=(3, 256, 256), filters=32, kernel=5, stride=2)
    rows = [
        ["convolution", found.shared, "one kernel per filter"],
        ["locally connected", found.unshared, "one kernel per filter and place"],
        ["dense", found.dense, f"{found.inputs_count:,} × {found.outputs_count:,}"],
    ]
    printed = 508_302
    return [
        table(
            ["layer", "weights", "which are"],
            rows,
            "A 256×256 RGB image, 32 filters of 5×5, stride 2, biases not counted:",
        ),
        Check(
            "a printed solution says 508302 outputs: two digits are swapped",
            found.outputs_count != printed,
            f"32 · 126 · 126 = {found.outputs_count:,}, so the dense layer has {found.dense:.4g} weights",
        ),
    ]


LESSON = Lesson(
    name="weight-sharing",
    title="Convolution is a shared linear layer",
    question=(
        "A filter of three weights slides over nine inputs. Write its outputs, then the matrix that does the "
        "same as one "
        "linear layer. What do padding, stride and giving up the sharing change, and how much does sharing "
        "save on a "
        "256×256 RGB image?"
    ),
    steps=(
        "At each place the filter multiplies the three inputs under it by the same three weights and adds. "
        "(As everywhere in deep learning, the filter is not flipped.)",
        outputs,
        "An output is a row of weights times the whole input, with zeros where the filter does not lie. "
        "Moving the filter by "
        "one moves the row by one: the matrix has one value along each diagonal.",
        matrix,
        variants,
        size_law,
        checked,
        "A linear layer of the same shape would have a weight in every cell of K. Zeros outside the band say "
        "that a unit looks "
        "at its neighbourhood only; equal diagonals say that it looks for the same thing everywhere. Both "
        "save weights:",
        large_layer,
    ),
    exercises=EXERCISES,
)
