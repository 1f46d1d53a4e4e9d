"""Convolution as a matrix."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from regard.grade.functions import Functions, Named, function_task, squeezed
from regard.grade.task import Mistake

Size = int | tuple[int, int]

TEXT = '''"""Convolution is a linear map: its matrix."""

import torch


def conv_matrix(kernel, n, stride=1, padding=0):
    """The matrix K with K @ x.flatten() = convolution of x with the kernel, as torch defines it (no flip).

    kernel (k,) and n an int: signals of n numbers. kernel (kh, kw) and n = (rows, cols): images, flattened
    row by row, as the outputs are. stride and padding (zeros on every side) are ints, for both axes alike.
    """
    raise NotImplementedError
'''


def starts(n: int, k: int, step: int, pad: int, count: str = "") -> list[int]:
    """Where windows of k begin, from −pad on."""
    room = n + (pad if count == "one side" else 2 * pad)
    many = (room - k) // step + 1
    if count == "other side":
        many, pad = (n + pad - k) // step + 1, 0
    many += {"one short": -1, "one more": 1}.get(count, 0)
    if count == "as many":
        many = n
    if count == "rounded down":
        many = (room - k + 1) // step
    if count == "rounded up":
        many = -(-(room - k) // step) + 1
    return [i * step - (0 if count == "not centred" else pad) for i in range(many)]


def conv_matrix(kernel: Tensor, n: Size, stride: int = 1, padding: int = 0, *, kernel_turn: str = "",
                step: str = "", pad: str = "", count: str = "", border: str = "", order: str = "",
                turned: bool = False) -> Tensor:  # fmt: skip
    """The matrix, entry by entry; every keyword is a place to go wrong."""
    flat = kernel.ndim == 1
    if flat:
        sizes, taps, pads = (1, int(n)), kernel[None], (0, padding)  # type: ignore[arg-type]
    else:
        assert isinstance(n, tuple)
        sizes, taps, pads = n, kernel, (padding, padding)
        sizes = (n[1], n[0]) if order == "sizes" else n
    taps = {"flipped": lambda: taps.flip(0, 1), "transposed": lambda: taps if flat else taps.mT,
            "rows flipped": lambda: taps.flip(0), "cols flipped": lambda: taps.flip(1),
            "ones": lambda: torch.ones_like(taps), "normed": lambda: taps / taps.sum()}.get(kernel_turn, lambda: taps)()  # fmt: skip
    if order == "run on" and not flat:
        return conv_matrix(taps.flatten(), sizes[0] * sizes[1], stride, padding)
    steps = {"one": (1, 1), "more": (stride + 1,) * 2, "rows": (stride, 1), "cols": (1, stride),
             "dilation": (1, 1), "kernel": tuple(taps.shape)}.get(step, (stride, stride))  # fmt: skip
    pads = {"none": (0, 0), "rows": (pads[0], 0), "cols": (0, pads[1]), "one less": (max(pads[0] - 1, 0), max(pads[1] - 1, 0)),
            "doubled": (2 * pads[0], 2 * pads[1]),
            "full": (pads[0] + (0 if flat else len(kernel) - 1), pads[1] + len(kernel) - 1),
            "full of both": (pads[0] + taps.shape[0] - 1, pads[1] + taps.shape[1] - 1)}.get(pad, pads)  # fmt: skip
    (R, C), (kh, kw) = sizes, taps.shape
    apart = (1 if flat else stride, stride) if step == "dilation" else (1, 1)
    rows = starts(R, (kh - 1) * apart[0] + 1, steps[0], pads[0], "" if flat else count)
    cols = starts(C, (kw - 1) * apart[1] + 1, steps[1], pads[1], count)
    kept = border == "kept"
    height, width = (R + 2 * pads[0], C + 2 * pads[1]) if kept else (R, C)
    out = torch.zeros(len(rows), len(cols), height, width, dtype=taps.dtype)
    for i, top in enumerate(rows):
        for j, left in enumerate(cols):
            for a in range(kh):
                for b in range(kw):
                    r, c = top + a * apart[0], left + b * apart[1]
                    if kept:
                        r, c = r + pads[0], c + pads[1]
                    elif border == "wraps":
                        r, c = r % R, c % C
                    elif border == "repeats":
                        r, c = min(max(r, 0), R - 1), min(max(c, 0), C - 1)
                    if 0 <= r < height and 0 <= c < width:
                        out[i, j, r, c] += taps[a, b]
    if order == "places":
        out = out.transpose(0, 1)
    elif order == "pixels":
        out = out.transpose(2, 3)
    elif order == "both":
        out = out.transpose(0, 1).transpose(2, 3)
    matrix = out.reshape(len(rows) * len(cols), -1)
    return matrix.T if turned else matrix


def _lines(generator: torch.Generator) -> Iterator[tuple[str, str, tuple[object, ...]]]:
    small, taps = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0, 4.0])
    for kernel, n in ((small, 3), (taps, 5), (taps, 3)):
        yield "a signal", "conv_matrix", (kernel, n)
    for kernel, n, stride, padding in ((small, 4, 2, 0), (taps, 4, 1, 1), (taps, 6, 2, 1), (taps, 8, 3, 2)):
        yield "stride and padding", "conv_matrix", (kernel, n, Named(stride=stride, padding=padding))
    square, wide = torch.tensor([[1.0, 2.0], [4.0, 8.0]]), torch.tensor([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])
    for image, size, stride, padding in ((square, (2, 3), 1, 0), (wide, (3, 5), 1, 0), (square, (3, 4), 1, 1),
                                         (square, (4, 5), 2, 0), (wide, (3, 4), 2, 1)):  # fmt: skip
        named = Named(stride=stride, padding=padding) if stride > 1 or padding else Named()
        yield "an image", "conv_matrix", (image, size, *([named] if named else []))


CONV_TASK = function_task(
    name="conv-matrix", title="Convolution as a matrix", skeleton=TEXT, lesson="weight-sharing",
    parts={"a signal": 1, "stride and padding": 2, "an image": 2},
    functions=Functions(
        definitions={"conv_matrix": conv_matrix}, cases=_lines, read=squeezed,
        spellings={"conv_matrix": ("convolution_matrix", "toeplitz", "conv_to_matrix", "toeplitz_matrix")},
    ),
    mistakes=(
        Mistake("kernel-flipped", "the matrix of the flipped kernel: convolution as in mathematics, not as in torch", {"kernel_turn": "flipped"}),
        Mistake("kernel-transposed", "the matrix of the transposed kernel", {"kernel_turn": "transposed"}),
        Mistake("kernel-rows-flipped", "the matrix of a kernel whose rows stand upside down", {"kernel_turn": "rows flipped"}),
        Mistake("kernel-cols-flipped", "the matrix of a kernel whose columns are mirrored", {"kernel_turn": "cols flipped"}),
        Mistake("ones-not-kernel", "ones where the kernel's numbers belong", {"kernel_turn": "ones"}),
        Mistake("kernel-normed", "a kernel that is divided by its sum", {"kernel_turn": "normed"}),
        Mistake("stride-ignored", "stride 1, whatever the stride", {"step": "one"}),
        Mistake("stride-plus-one", "windows stride + 1 apart", {"step": "more"}),
        Mistake("stride-rows-only", "the stride along rows of places alone: within a row it is 1", {"step": "rows"}),
        Mistake("stride-one-axis", "the stride within a row alone: from row to row it is 1", {"step": "cols"}),
        Mistake("windows-adjacent", "windows side by side, as if the stride were the kernel's size", {"step": "kernel"}),
        Mistake("stride-as-dilation", "the stride between the kernel's numbers (dilation) in place of between windows", {"step": "dilation"}),
        Mistake("padding-ignored", "no padding", {"pad": "none"}),
        Mistake("padding-rows-only", "padding above and below alone", {"pad": "rows"}),
        Mistake("padding-cols-only", "padding left and right alone", {"pad": "cols"}),
        Mistake("padding-one-less", "padding − 1 zeros", {"pad": "one less"}),
        Mistake("padding-doubled", "twice the padding on every side", {"pad": "doubled"}),
        Mistake("padding-full", "padding of k − 1 more zeros: every overlap counts (full convolution)", {"pad": "full"}),
        Mistake("padding-full-on-both-axes", "padding of kh − 1 and kw − 1 more zeros: every overlap counts (full convolution)", {"pad": "full of both"}),
        Mistake("padding-one-side", "padding in front alone", {"count": "one side"}),
        Mistake("padding-behind-only", "padding behind alone", {"count": "other side"}),
        Mistake("padding-not-centred", "as many windows as with padding, but the first begins at the first number, not at the padding", {"count": "not centred"}),
        Mistake("last-window-missing", "one window too few: ⌊(n + 2·padding − k)/stride⌋ without the + 1", {"count": "one short"}),
        Mistake("windows-rounded-down", "⌊(n + 2·padding − k + 1)/stride⌋ windows: the + 1 belongs behind the division", {"count": "rounded down"}),
        Mistake("window-too-many", "one window too many, which hangs over", {"count": "one more"}),
        Mistake("windows-rounded-up", "as many windows as rounding up gives: the last one hangs over", {"count": "rounded up"}),
        Mistake("square-matrix", "as many outputs as inputs", {"count": "as many"}),
        Mistake("columns-over-padding", "columns for the padding, too: the matrix maps the padded input", {"border": "kept"}),
        Mistake("circulant", "windows that go on at the other end, in place of zeros", {"border": "wraps"}),
        Mistake("circulant-square", "a circulant matrix: every row is the one above, shifted round", {"border": "wraps", "count": "as many"}),
        Mistake("border-repeated", "padding with the last number in place of zeros", {"border": "repeats"}),
        Mistake("matrix-transposed", "the transpose of the matrix", {"turned": True}),
        Mistake("rows-cols-swapped", "the matrix for images of cols × rows", {"order": "sizes"}),
        Mistake("places-in-column-order", "outputs flattened column by column", {"order": "places"}),
        Mistake("pixels-in-column-order", "images flattened column by column", {"order": "pixels"}),
        Mistake("all-in-column-order", "images and outputs flattened column by column", {"order": "both"}),
        Mistake("image-rows-run-on", "the image as one long signal: windows run on from the end of a row into the next", {"order": "run on"}),
    ),
)  # fmt: skip
