"""Where the class token looked, as a picture."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from regard.grade.comparing import number
from regard.grade.modules import tried_case
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
    Views,
)

SKELETON = '''"""Where the class token looked, as large as the image. Loops, reshapes, NumPy: that is yours."""

import torch


def heat_map(alphas, img_size):
    """alphas (B, L, H, 1+P, 1+P), as VisionTransformer returns them -> maps (B, img_size, img_size).

    Token 0 is the class token, tokens 1 to P are the patches of a square image, read row by row. A patch's value
    is the weight that the class token (as query) gives it, averaged over all layers and heads; every pixel has
    the value of its patch. Scaling a whole map (to a sum, a mean or a maximum of one, or to 0 … 1) is allowed.
    """
    raise NotImplementedError
'''


def heat_map(
    alphas: Tensor, size: int, *, layers: str = "mean", heads: str = "mean", row: str = "class", cells: str = "patches",
    grid: str = "rows", pixels: str = "nearest", scaled: str = "no", images: str = "all",
    order: str = "heads first",
) -> Tensor:  # fmt: skip
    """Maps (B, size, size)."""
    over = {"mean": lambda z, i: z.mean(i), "sum": lambda z, i: z.sum(i), "max": lambda z, i: z.amax(i), "first": lambda z, i: z.select(i, 0),
            "last": lambda z, i: z.select(i, -1), "min": lambda z, i: z.amin(i), "product": lambda z, i: z.prod(i)}  # fmt: skip
    one = layers == heads and layers in ("max", "min")
    a = over[layers](alphas, (1, 2)) if one else alphas
    if not one:
        a = over[layers](alphas, 1) if order == "layers first" else over[heads](alphas, 2)
        a = (
            over[heads](a, 1)
            if order == "layers first"
            else _rolled(a)
            if layers == "rollout"
            else _rolled(a, 0.0)
            if layers == "chained"
            else over[layers](a, 1)
        )
    T = a.shape[-1]
    scores = {  # (B, T)
        "class": lambda: a[:, 0], "column": lambda: a[:, :, 0], "last": lambda: a[:, -1], "first patch": lambda: a[:, 1], "mean": lambda: a.mean(1),
        "mean of patches": lambda: a[:, 1:].mean(1), "diagonal": lambda: a.diagonal(dim1=1, dim2=2), "last column": lambda: a[:, :, -1],
        "mean of columns": lambda: a.mean(2), "sum": lambda: a.sum(1),
    }[row]()  # fmt: skip
    kept = {"patches": scores[:, 1:], "all but the last": scores[:, :-1], "logarithm": scores[:, 1:].log()}[
        cells
    ]
    if cells == "patches" and scaled == "softmax":
        kept = kept.softmax(-1)
    side = round((T - 1) ** 0.5)
    p = size // side
    kept = kept.flip(1) if grid == "reversed" else kept
    square = kept.unflatten(1, (side, side))
    square = {"columns": square.mT, "upside down": square.flip(1), "mirrored": square.flip(2)}.get(
        grid, square
    )
    ways: dict[str, Callable[[Tensor], Tensor]] = {
        "nearest": lambda z: z.repeat_interleave(p, 1).repeat_interleave(p, 2), "tiled": lambda z: z.repeat(1, p, p), "small": lambda z: z,
        "rows only": lambda z: z.repeat_interleave(p, 1), "columns only": lambda z: z.repeat_interleave(p, 2),
        "flat": lambda z: z.flatten(1), "channel": lambda z: ways["nearest"](z)[:, None], "flat, large": lambda z: ways["nearest"](z).flatten(1),
        "corner": lambda z: functional.pad(z, (0, size - side, 0, size - side)), "spread": lambda z: ways["nearest"](z) / p**2,
        "channel last": lambda z: ways["nearest"](z)[..., None], "columns as patches": lambda z: z.repeat(1, p, 1).repeat_interleave(p, 2),
        "rows as patches": lambda z: z.repeat_interleave(p, 1).repeat(1, 1, p),
        "flat repeated": lambda z: z.flatten(1).repeat_interleave(p * p, 1).unflatten(1, (size, size)),
        "bilinear": lambda z: functional.interpolate(z[:, None], size=(size, size), mode="bilinear")[:, 0],
        "bilinear, corners": lambda z: functional.interpolate(z[:, None], size=(size, size), mode="bilinear", align_corners=True)[:, 0],
        "bicubic": lambda z: functional.interpolate(z[:, None], size=(size, size), mode="bicubic")[:, 0],
        "stride of patches": lambda z: _with_wrong_stride(z, size, p), "stride of patches, class kept": lambda z: _with_wrong_stride(z, size, p, 0),
    }  # fmt: skip
    found = ways[pixels](square)
    ends = tuple(range(1, found.ndim))
    low, high = found.amin(ends, keepdim=True), found.amax(ends, keepdim=True)
    found = {
        "sum": lambda z: z / z.sum(ends, keepdim=True), "patches sum": lambda z: z / square.sum((1, 2)).view(-1, *[1] * len(ends)),
        "mean": lambda z: z / z.mean(ends, keepdim=True), "max": lambda z: z / high, "ends": lambda z: (z - low) / (high - low),
        "255": lambda z: z / high * 255, "inverted": lambda z: 1 - z, "max of the batch": lambda z: z / z.max(),
        "standard": lambda z: (z - z.mean(ends, keepdim=True)) / z.std(ends, keepdim=True),
        "ends of the batch": lambda z: (z - z.min()) / (z.max() - z.min()),
    }.get(scaled, lambda z: z)(found)  # fmt: skip
    return {"all": lambda z: z, "first": lambda z: z[:1], "one": lambda z: z[0], "mean": lambda z: z.mean(0), "all the mean": lambda z: z.mean(0, keepdim=True).expand_as(z)}[images](found)  # fmt: skip


def _rolled(layers: Tensor, own: float = 0.5) -> Tensor:
    """Attention rollout of layers (B, L, T, T)."""
    eye = torch.eye(layers.shape[-1])
    flow = eye.expand(len(layers), *eye.shape)
    for layer in layers.unbind(1):
        flow = ((1 - own) * layer + own * eye) @ flow
    return flow


def _with_wrong_stride(square: Tensor, size: int, p: int, first: int = 1) -> Tensor:
    """Pixels that look up row · p + column, p being the patch's side and not the grid's."""
    place = torch.arange(size) // p
    flat = square.flatten(1)
    return flat[:, (place[:, None] * p + place + first - 1).clamp(max=flat.shape[1] - 1)]


NAMES = ("heat_map", "class_token_heat_map", "heatmap", "cls_heat_map", "class_heat_map", "attention_heat_map", "get_heat_map",
         "cls_token_heat_map")  # fmt: skip


def _observe(student: Student) -> Observed:
    name, generator = student.need(*NAMES), student.generator(1)
    tried: list[Tried] = []
    ways: list[Act] = [
        lambda alphas, size: student.call(name, alphas, size),
        lambda alphas, size: student.call(name, alphas, size, size // round((alphas.shape[-1] - 1) ** 0.5)),
    ]
    act = ways[0]
    for part, B, L, H, side, size in (
        ("two by two patches", 1, 1, 1, 2, 4), ("two by two patches", 1, 2, 3, 2, 6), ("more patches", 1, 2, 2, 3, 6),
        ("more patches", 2, 3, 2, 4, 12),
    ):  # fmt: skip
        T = 1 + side * side
        alphas = (2 * torch.randn(B, L, H, T, T, generator=generator)).softmax(-1)
        if not tried:
            act = _fitting(ways, alphas, size)
        case = Case(part, f"alphas (B {B}, L {L}, H {H}, {T}, {T}), img_size {size}", (alphas, size))
        tried.append(_one(student, case, act))
    return Observed(tuple(tried))


Act = Callable[[Tensor, int], object]


def _one(student: Student, case: Case, act: Act) -> Tried:
    alphas, size = case.inputs
    assert isinstance(alphas, Tensor)
    assert isinstance(size, int)
    return tried_case(student, case, lambda: {"map": as_numbers(act(alphas, size))})


def _fitting(ways: list[Act], alphas: Tensor, size: int) -> Act:
    """The way of calling that the function takes: some ask for patch_size, too."""
    for way in ways:
        try:
            way(alphas, size)
        except StudentError as error:
            if error.kind == "TypeError" and "argument" in error.text and not error.line:
                continue
        return way
    return ways[0]


def as_numbers(value: object) -> object:
    """Lists of maps and arrays as one tensor."""
    found = number(value)
    return value if found is None else found


def _predict(candidate: Candidate, case: Case, choices: Choices) -> Views:
    alphas, size = case.inputs
    assert isinstance(alphas, Tensor)
    assert isinstance(size, int)
    return {"map": heat_map(alphas, size, **{name: str(value) for name, value in choices.items()})}


MISTAKES = tuple(
    Mistake(name, says, choices)
    for name, says, choices in (
        ("class-token-kept", "a map of tokens 0 to P−1: the class token is left in, and all patches are one off", {"cells": "all but the last"}),
        ("grid-transposed", "a map with rows and columns exchanged", {"grid": "columns"}),
        ("grid-reversed", "a map of the patches from the last to the first", {"grid": "reversed"}),
        ("grid-upside-down", "a map upside down", {"grid": "upside down"}),
        ("grid-mirrored", "a mirrored map", {"grid": "mirrored"}),
        ("column-read", "the weights that patches give the class token (a column) in place of those that it gives them (its row)", {"row": "column"}),
        ("last-row", "the row of the last patch in place of the class token's", {"row": "last"}),
        ("patch-row", "the row of the first patch in place of the class token's", {"row": "first patch"}),
        ("last-row-class-at-end", "the last row without its last weight, as if the class token stood at the end", {"row": "last", "cells": "all but the last"}),
        ("mean-of-rows", "the mean of all rows in place of the class token's", {"row": "mean"}),
        ("sum-of-rows", "the sum of all rows in place of the class token's", {"row": "sum"}),
        ("mean-of-patch-rows", "the mean of the patches' rows in place of the class token's", {"row": "mean of patches"}),
        ("diagonal-read", "the weights of patches on themselves", {"row": "diagonal"}),
        ("last-layer-only", "the last layer in place of the mean of all", {"layers": "last"}),
        ("first-layer-only", "the first layer in place of the mean of all", {"layers": "first"}),
        ("first-head-only", "the first head in place of the mean of all", {"heads": "first"}),
        ("last-head-only", "the last head in place of the mean of all", {"heads": "last"}),
        ("first-layer-first-head", "the first head of the first layer in place of the mean of all", {"layers": "first", "heads": "first"}),
        ("last-layer-first-head", "the first head of the last layer in place of the mean of all", {"layers": "last", "heads": "first"}),
        ("max-over-heads", "the greatest weight over heads in place of their mean", {"heads": "max"}),
        ("max-over-heads-of-mean", "the greatest over heads of the layers' mean in place of the mean of all", {"heads": "max", "order": "layers first"}),
        ("max-over-layers", "the greatest weight over layers in place of their mean", {"layers": "max"}),
        ("max-over-heads-and-layers", "the greatest weight over layers and heads in place of their mean", {"layers": "max", "heads": "max"}),
        ("summed", "the sum over layers and heads in place of the mean", {"layers": "sum", "heads": "sum"}),
        ("mean-over-layers-only", "the sum over heads in place of the mean", {"heads": "sum"}),
        ("mean-over-heads-only", "the sum over layers in place of the mean", {"layers": "sum"}),
        ("layers-multiplied", "the product of the layers' weights, number by number", {"layers": "product"}),
        ("rollout", "attention rollout: layers multiplied as matrices, with residuals", {"layers": "rollout"}),
        ("layers-chained", "layers multiplied as matrices in place of their mean", {"layers": "chained"}),
        ("tiled", "the small map again and again in place of every value for its patch", {"pixels": "tiled"}),
        ("tiled-rows", "rows of the small map again and again", {"pixels": "columns as patches"}),
        ("tiled-columns", "columns of the small map again and again", {"pixels": "rows as patches"}),
        ("grid-not-enlarged", "a map as small as the grid of patches", {"pixels": "small"}),
        ("rows-enlarged-only", "a map that is enlarged along one axis alone", {"pixels": "rows only"}),
        ("columns-enlarged-only", "a map that is enlarged along its second axis alone", {"pixels": "columns only"}),
        ("flat", "a row of patches in place of a map", {"pixels": "flat"}),
        ("flat-pixels", "a row of pixels in place of a map", {"pixels": "flat, large"}),
        ("repeated-in-memory", "values repeated one after another and then cut into rows: a patch becomes a stretch", {"pixels": "flat repeated"}),
        ("map-in-corner", "the small map in a corner of a large one", {"pixels": "corner"}),
        ("channel-kept", "maps of shape (B, 1, img_size, img_size)", {"pixels": "channel"}),
        ("channel-last", "maps of shape (B, img_size, img_size, 1)", {"pixels": "channel last"}),
        ("values-spread", "a patch's value divided by its number of pixels", {"pixels": "spread"}),
        ("stride-of-patch", "patches counted by patch_size in a row in place of by img_size // patch_size", {"pixels": "stride of patches"}),
        ("smoothed", "values between the patches' (bilinear) in place of every pixel with its patch's", {"pixels": "bilinear"}),
        ("smoothed-corners", "values between the patches' (bilinear, corners aligned) in place of every pixel with its patch's", {"pixels": "bilinear, corners"}),
        ("smoothed-bicubic", "values between the patches' (bicubic) in place of every pixel with its patch's", {"pixels": "bicubic"}),
        ("logarithm", "logarithms of the weights", {"cells": "logarithm"}),
        ("softmax-again", "a second softmax, over the patches", {"scaled": "softmax"}),
        ("values-inverted", "1 minus the weights", {"scaled": "inverted"}),
        ("scaled-by-batch", "maps divided by the greatest value of the whole batch", {"scaled": "max of the batch"}),
        ("scaled-by-batch-ends", "maps scaled to 0 … 1 over the whole batch", {"scaled": "ends of the batch"}),
        ("standardised", "maps of mean 0 and deviation 1", {"scaled": "standard"}),
        ("first-image-only", "the map of the first image alone", {"images": "first"}),
        ("batch-axis-dropped", "the first image's map without a batch axis", {"images": "one"}),
        ("batch-averaged", "the mean of all images' maps", {"images": "mean"}),
        ("batch-averaged-for-all", "the mean of all images' maps for every image", {"images": "all the mean"}),
    )
)  # fmt: skip
TASK = Assignment(
    name="heat-map", title="Heat map of the class token", skeleton=SKELETON, symbols=(NAMES,), lesson="heads",
    parts=(PartPoints("two by two patches", 1), PartPoints("more patches", 2)), observe=_observe, predict=_predict,
    accepts=tuple({"scaled": how} for how in ("sum", "patches sum", "mean", "max", "ends", "255")), mistakes=MISTAKES,
    method="values of the function for random attention maps, up to a scale of the whole map", tolerance=1e-5,
)  # fmt: skip
