"""Checks of tensors at the public edge of the recurrences."""

from collections.abc import Mapping

import torch
from torch import Tensor


class Sides:
    """Sizes of named axes, learnt from the first tensor that has them and required of the others."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}

    def check(self, name: str, value: object, axes: str) -> None:
        """Raise unless `value` is a tensor with these axes, none of them empty, of the known sizes."""
        letters = axes.split()
        rule = f"{name} must have shape ({', '.join(letters)}{',' if len(letters) == 1 else ''})"
        if not isinstance(value, Tensor):
            raise ValueError(f"{name} must be a tensor, got {type(value).__name__}")
        shape = tuple(value.shape)
        if len(shape) != len(letters):
            raise ValueError(f"{rule}, got {name}.shape={shape}")
        if 0 in shape:
            raise ValueError(f"{rule} with every side at least 1, got {name}.shape={shape}")
        known = {letter: self.sizes[letter] for letter in letters if letter in self.sizes}
        for letter, side in zip(letters, shape, strict=True):
            if self.sizes.setdefault(letter, side) != side:
                given = ", ".join(f"{letter}={size}" for letter, size in (known or self.sizes).items())
                raise ValueError(f"{rule} with {given}, got {name}.shape={shape}")


def check_axes(needed: Mapping[str, tuple[object, str]], **optional: tuple[object, str]) -> None:
    """Raise unless each value has its axes, equal letters for equal sizes; an optional one may be None."""
    sides = Sides()
    for name, (value, axes) in {**needed, **optional}.items():
        if name in needed or value is not None:
            sides.check(name, value, axes)


def check_alike(**tensors: Tensor | None) -> None:
    """Raise unless all tensors are floating point and share the dtype and device of the first."""
    (first_name, first), *others = tensors.items()
    assert first is not None
    if not first.dtype.is_floating_point:
        raise ValueError(f"{first_name} must be floating point, got {first_name}.dtype={first.dtype}")
    for name, tensor in others:
        if tensor is None:
            continue
        if tensor.dtype != first.dtype:
            raise ValueError(
                f"{name} must have the dtype of {first_name}, "
                f"got {name}.dtype={tensor.dtype}, {first_name}.dtype={first.dtype}"
            )
        if tensor.device != first.device:
            raise ValueError(
                f"{name} must be on the device of {first_name}, "
                f"got {name}.device={tensor.device}, {first_name}.device={first.device}"
            )


def autocast_dtype(x: Tensor) -> torch.dtype | None:
    """The dtype that autocast wants on the device of x, or None where it is off."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
