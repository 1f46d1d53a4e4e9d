"""PatchEmbed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from regard.grade.modules import first_of, properties, tried_case
from regard.grade.readings import affine_maps
from regard.grade.sandbox import StudentError
from regard.grade.student import Entry, Student
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
from regard.grade.wire import Handle

SKELETON = '''"""An image becomes a sentence of patches. A convolution, unfold, reshapes or loops: that is yours."""

import torch
from torch import nn


class PatchEmbed(nn.Module):
    def __init__(self, img_size, patch_size, nin, nout):
        """Square images of nin channels; patch_size divides img_size. Sets self.num_patches, an int."""
        super().__init__()
        raise NotImplementedError

    def forward(self, img):
        """img (B, nin, img_size, img_size) -> tokens (B, num_patches, nout).

        Patches do not overlap and are read row by row, as text is. The same linear map, with or without bias,
        makes a token of each.
        """
        raise NotImplementedError
'''
SIDE, PATCH, CHANNELS, OUT = 6, 2, 2, 5


@dataclass(frozen=True)
class PatchMaps:
    """W (out, C, p, p) and bias (out); `image` is a map (P, out, C, S, S) for every token, found by probing."""

    weight: Tensor
    bias: Tensor
    image: Tensor | None = None


def patch_readings(entries: Sequence[Entry], channels: int, patch: int, out: int) -> Iterator[PatchMaps]:
    """All ways to see these parameters as a map of patches: a convolution, or a matrix in two layouts."""
    for one in entries:
        if one.kind == "conv" and one.value is not None and one.value.shape == (out, channels, patch, patch):
            bias = next((b.value for b in entries if b.path == one.path and b.name == "bias"), None)
            yield PatchMaps(one.value, torch.zeros(out) if bias is None else bias)
    p, c = patch, channels
    loose = [e.value for e in entries if e.kind == "own" and e.value is not None and e.value.shape == (out,)]
    for m in affine_maps(entries, c * p * p):
        if len(m.full) == out:
            flat, found = m.full[:, :-1], m.full[:, -1]
            for bias in (found, *(() if found.any() else loose)):  # a bias may have any name
                yield PatchMaps(flat.reshape(out, c, p, p), bias)
                yield PatchMaps(flat.reshape(out, p, p, c).permute(0, 3, 1, 2), bias)


def embed(  # what comes out is (B, P, out) but for the mistakes that change its shape
    img: Tensor, maps: PatchMaps, *, cut: str = "rows", tokens: str = "all", activation: str = "none",
    pixels: str = "as they are",
) -> Tensor:  # fmt: skip
    """Tokens (B, P, out) of images (B, C, S, S)."""
    p, (B, C, S, _) = maps.weight.shape[-1], img.shape
    g = S // p
    img = {
        "as they are": lambda z: z, "first channel": lambda z: z[:, :1].expand(-1, C, -1, -1),
        "channels averaged": lambda z: z.mean(1, keepdim=True).expand(-1, C, -1, -1), "channels reversed": lambda z: z.flip(1),
        "turned": lambda z: z.mT, "upside down": lambda z: z.flip(2), "mirrored": lambda z: z.flip(3),
        "divided": lambda z: z / 255,
    }[pixels](img)  # fmt: skip
    rows = img.reshape(B, C, g, p, g, p).permute(0, 2, 4, 1, 3, 5)  # B g g C p p
    flat = maps.weight.flatten(1)
    by_pixel = maps.weight.permute(0, 2, 3, 1).flatten(1)
    if cut == "overlapping":
        found = functional.conv2d(img, maps.weight, stride=max(1, p // 2)).flatten(2).mT + maps.bias
    elif cut == "at every pixel":
        found = functional.conv2d(img, maps.weight).flatten(2).mT + maps.bias
    elif cut in ("own map for each patch", "another linear map"):
        assert maps.image is not None
        kept = maps.image * _own_patch(S, p)[:, None, None] if cut.startswith("own") else maps.image
        found = torch.einsum("bcrs,nocrs->bno", img, kept) + maps.bias
    elif cut == "reshaped":
        found = img.reshape(B, g * g, -1) @ flat.T + maps.bias
    elif cut == "reshaped, channels last":
        found = img.permute(0, 2, 3, 1).reshape(B, g * g, -1) @ by_pixel.T + maps.bias
    elif cut == "reshaped by pixel":
        found = img.reshape(B, g * g, -1) @ by_pixel.T + maps.bias
    elif cut == "unfold not turned":
        found = functional.unfold(img, p, stride=p).reshape(B, g * g, -1) @ flat.T + maps.bias
    elif cut == "blocks without exchange":
        found = img.reshape(B, C, g, p, g, p).reshape(B, g * g, -1) @ flat.T + maps.bias
    elif cut == "every g-th pixel":
        found = (
            img.reshape(B, C, p, g, p, g).permute(0, 3, 5, 1, 2, 4).flatten(3).flatten(1, 2) @ flat.T
            + maps.bias
        )
    else:
        patches = rows.transpose(1, 2) if cut == "columns" else rows
        patches = patches.flatten(3).flatten(1, 2)  # B P C·p·p
        if cut == "normed":
            patches = (patches - patches.mean(-1, keepdim=True)) / patches.std(-1, keepdim=True)
        elif cut == "zig-zag":
            patches = torch.cat(
                [line.flip(1) if i % 2 else line for i, line in enumerate(patches.split(g, 1))], 1
            )
        found = patches @ flat.T + maps.bias
    acts = {"none": lambda z: z, "relu": torch.relu, "gelu": functional.gelu, "tanh": torch.tanh,
            "norm": lambda z: functional.layer_norm(z, z.shape[-1:]), "no bias": lambda z: z - maps.bias}  # fmt: skip
    found = acts[activation](found)
    P, out = found.shape[1:]
    ways = {
        "all": lambda z: z, "reversed": lambda z: z.flip(1), "not turned": lambda z: z.mT, "reshaped": lambda z: z.mT.reshape(B, P, out),
        "grid": lambda z: z.unflatten(1, (g, g)), "channels, grid": lambda z: z.mT.unflatten(2, (g, g)),
        "batch": lambda z: z.flatten(0, 1), "one less": lambda z: z[:, :-1], "one row less": lambda z: z[:, :-g],
        "one column less": lambda z: z.unflatten(1, (g, g))[:, :, :-1].flatten(1, 2),
        "one more": lambda z: torch.cat([torch.zeros(B, 1, out), z], 1), "flat": lambda z: z.flatten(1),
        "mean": lambda z: z.mean(1), "batch second": lambda z: z.transpose(0, 1), "first": lambda z: z[:, 0],
    }  # fmt: skip
    return ways[tokens](found)


def _own_patch(side: int, patch: int) -> Tensor:
    """For every token (P, S, S) the pixels of its patch."""
    g = side // patch
    place = torch.arange(side) // patch
    return (place[:, None] * g + place == torch.arange(g * g)[:, None, None]).float()


def _probed(student: Student, made: Handle) -> Iterator[PatchMaps]:
    """Every pixel alone: what it adds to every token."""
    numbers = CHANNELS * SIDE * SIDE
    basis = torch.eye(numbers).view(numbers, CHANNELS, SIDE, SIDE)
    try:
        found = student.call(made, torch.cat([torch.zeros_like(basis[:1]), basis]))
    except StudentError:
        return
    P = (SIDE // PATCH) ** 2
    if isinstance(found, Tensor) and found.shape == (numbers + 1, P, OUT) and found.is_floating_point():
        image = (found[1:] - found[:1]).permute(1, 2, 0).reshape(P, OUT, CHANNELS, SIDE, SIDE)
        weight = image[0, :, :, :PATCH, :PATCH]
        # Weights are random: pixels that count nothing, or channels that count the same, are a mistake to be named.
        if (weight.abs().amax(0) > 1e-6).all() and not torch.allclose(weight[:, 0], weight[:, 1], atol=1e-6):
            yield PatchMaps(weight, found[0, 0], image)


def _observe(student: Student) -> Observed:
    made, entries = student.build(student.need("PatchEmbed", *SPELLINGS), SIDE, PATCH, CHANNELS, OUT)
    generator = student.generator(1)
    x = torch.randn(2, CHANNELS, SIDE, SIDE, generator=generator)
    tried: list[Tried] = []

    def told() -> Views:
        value = student.get(made, "num_patches")
        return {"num_patches": value if isinstance(value, int | float | Tensor) else "none"}

    for call, img in (("one image", x[:1]), ("two images", x), ("an image of ones", torch.ones_like(x[:1]))):
        case = Case("tokens", f"{call} {tuple(img.shape)}, patch_size {PATCH}", (img,))
        tried.append(tried_case(student, case, lambda img=img: {"tokens": first_of(student.call(made, img))}))  # type: ignore[misc]
    tried.append(tried_case(student, Case("num_patches", f"img_size {SIDE}, patch_size {PATCH}"), told))
    tried += properties(student, made, "as a module", (x,))
    candidates = [*_probed(student, made), *patch_readings(entries, CHANNELS, PATCH, OUT)]
    return Observed(tuple(tried), tuple(Candidate(one) for one in candidates))


def _predict(candidate: Candidate, case: Case, choices: Choices) -> Views:
    if case.flaw is not None:
        return {"holds": True}
    chosen = {name: str(value) for name, value in choices.items()}
    number = chosen.pop("number", "all")
    if not case.inputs:
        g = SIDE // PATCH
        told = {"all": g * g, "side": g, "pixels": SIDE * SIDE, "over": SIDE * SIDE // PATCH, "one more": g * g + 1,
                "patch": PATCH * PATCH, "sum": 2 * g, "channels": g * g * CHANNELS, "none": "none"}  # fmt: skip
        return {"num_patches": told[number]}
    maps, img = candidate.weights, case.inputs[0]
    if not isinstance(maps, PatchMaps):
        raise ValueError("no reading of the weights fits")
    assert isinstance(img, Tensor)
    return {"tokens": embed(img, maps, **chosen)}


SPELLINGS = ("PatchEmbedding", "PatchEmbeddings", "Patchify")
CUT_MISTAKES = (
    Mistake("column-order", "patches that are read column by column in place of row by row", {"cut": "columns"}),
    Mistake("patches-reversed", "patches from the last to the first", {"tokens": "reversed"}),
    Mistake("patches-zig-zag", "patches whose every other row is read from right to left", {"cut": "zig-zag"}),
    Mistake("tokens-reshaped", "tokens by a reshape of (B, nout, P) that mixes features with patches; exchange the axes", {"tokens": "reshaped"}),
    Mistake("image-reshaped", "a reshape of the image, which cuts it into stretches of its memory and not into squares", {"cut": "reshaped"}),
    Mistake("rows-in-place-of-patches", "a reshape of the image with channels last, which cuts it into stretches of rows and not into squares", {"cut": "reshaped, channels last"}),
    Mistake("axes-not-exchanged", "a reshape into blocks without exchanging their axes: what is mapped are no squares", {"cut": "reshaped by pixel"}),
    Mistake("unfold-not-turned", "the columns of unfold reshaped in place of transposed", {"cut": "unfold not turned"}),
    Mistake("pixels-strided", "patches made of every so-manyth pixel of the whole image in place of squares", {"cut": "every g-th pixel"}),
    Mistake("overlapping", "patches that overlap: the stride is half of patch_size", {"cut": "overlapping"}),
    Mistake("stride-one", "a patch at every pixel: the stride is one", {"cut": "at every pixel"}),
    Mistake("patch-normalised", "patches that are normalised before they are mapped", {"cut": "normed"}),
    Mistake("image-turned", "patches of the image with rows and columns exchanged", {"pixels": "turned"}),
    Mistake("image-upside-down", "patches of the image upside down", {"pixels": "upside down"}),
    Mistake("image-mirrored", "patches of the mirrored image", {"pixels": "mirrored"}),
    Mistake("first-channel-only", "the first channel in place of all", {"pixels": "first channel"}),
    Mistake("channels-averaged", "the mean of the channels in place of each", {"pixels": "channels averaged"}),
)  # fmt: skip
MISTAKES = (
    *CUT_MISTAKES,
    Mistake("channels-not-last", "tokens of shape (B, nout, P) in place of (B, P, nout)", {"tokens": "not turned"}),
    Mistake("grid-kept", "tokens of shape (B, rows, cols, nout), which are no sequence yet", {"tokens": "grid"}),
    Mistake("convolution-kept", "what the convolution gives, (B, nout, rows, cols), which is no sequence yet", {"tokens": "channels, grid"}),
    Mistake("batch-flattened", "tokens without a batch axis: (B·P, nout)", {"tokens": "batch"}),
    Mistake("batch-second", "tokens of shape (P, B, nout): the batch is not the first axis", {"tokens": "batch second"}),
    Mistake("tokens-flattened", "all tokens of an image in one row, (B, P·nout)", {"tokens": "flat"}),
    Mistake("tokens-averaged", "the mean of all tokens", {"tokens": "mean"}),
    Mistake("first-token-only", "the first token alone", {"tokens": "first"}),
    Mistake("last-patch-missing", "all patches but the last", {"tokens": "one less"}),
    Mistake("last-row-missing", "all rows of patches but the last", {"tokens": "one row less"}),
    Mistake("last-column-missing", "all columns of patches but the last", {"tokens": "one column less"}),
    Mistake("class-token-added", "a token of zeros before the patches; the class token is not PatchEmbed's affair", {"tokens": "one more"}),
    Mistake("activation-added", "tokens through a relu; the map is linear", {"activation": "relu"}),
    Mistake("gelu-added", "tokens through GELU; the map is linear", {"activation": "gelu"}),
    Mistake("tanh-added", "tokens through tanh; the map is linear", {"activation": "tanh"}),
    Mistake("tokens-normed", "tokens through a LayerNorm; the map is linear", {"activation": "norm"}),
    Mistake("num-patches-side", "num_patches of one side: it is img_size // patch_size, squared", {"number": "side"}),
    Mistake("num-patches-pixels", "num_patches as img_size² // patch_size: patch_size must be squared, too", {"number": "over"}),
    Mistake("num-patches-of-image", "num_patches as the number of pixels", {"number": "pixels"}),
    Mistake("num-patches-with-class", "num_patches with one more for a class token", {"number": "one more"}),
    Mistake("num-patches-doubled", "num_patches as twice img_size // patch_size in place of its square", {"number": "sum"}),
    Mistake("num-patches-by-channel", "num_patches times the number of channels", {"number": "channels"}),
    Mistake("num-patches-missing", "no num_patches", {"number": "none"}),
    Mistake("map-not-shared", "a linear map of its own for each patch in place of one for all", {"cut": "own map for each patch"}, "weight-sharing"),
    Mistake("not-patches", "a linear map of the image whose tokens are not one patch each", {"cut": "another linear map"}),
)  # fmt: skip
TASK = Assignment(
    name="patch-embed", title="PatchEmbed", skeleton=SKELETON, symbols=(("PatchEmbed", *SPELLINGS),), lesson="positions",
    parts=(PartPoints("tokens", 3), PartPoints("num_patches", 1), PartPoints("as a module", 1)),
    observe=_observe, predict=_predict, mistakes=MISTAKES,
    method=(
        "the map of a patch is probed (every pixel alone), or found among the parameters by shape; then tokens are "
        "compared with the definition that has this map"
    ),
)  # fmt: skip
