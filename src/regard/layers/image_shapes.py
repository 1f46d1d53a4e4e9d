"""The shapes of layers over images: patches, and convolutions with shared weights or with a place's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from regard.layers.letters import Number
from regard.layers.shapes import Shape

Sides = int | tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class PatchShape(Shape):
    """Patches (rows, cols) of an image to tokens."""

    channels: Number
    width: Number
    patch: Sides
    sizes: ClassVar = ("channels", "width")


@dataclass(frozen=True, kw_only=True)
class ConvolutionShape(Shape):
    """A convolution over an image, or along tokens where `flat`; `local` gives each place its own weights.

    With `padding="same"` there are as many places as before, and a square kernel may be a letter.
    """

    inputs: Number
    outputs: Number
    kernel: Number | tuple[int, int]
    stride: Sides = 1
    padding: Sides | Literal["same"] = 0
    bias: bool = True
    flat: bool = False
    local: bool = False
    sizes: ClassVar = ("inputs", "outputs")
