"""Whether two values are the same: tensors up to rounding, numbers, texts, and collections of these."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def same(got: object, want: object, tolerance: float) -> bool:  # noqa: PLR0911 - one kind after another
    """Equal in shape and value; lists and numbers count as tensors, and types of numbers do not matter.

    >>> same([1, 2], torch.tensor([1.0, 2.0]), 0.0), same(torch.ones(2), torch.ones(1, 2), 0.0)
    (True, False)
    """
    if isinstance(want, str) or isinstance(got, str):
        return got == want
    if isinstance(want, Mapping):
        return (
            isinstance(got, Mapping)
            and set(got) == set(want)
            and all(same(got[key], value, tolerance) for key, value in want.items())
        )
    a, b = number(got), number(want)
    if a is None or b is None:
        if isinstance(want, list | tuple) and isinstance(got, list | tuple):
            return len(got) == len(want) and all(map(lambda x, y: same(x, y, tolerance), got, want))
        return got == want if a is None and b is None else False
    if a.shape != b.shape:
        return False
    if a.numel() == 0:
        return True
    if a.is_complex() or not torch.isfinite(b).all():
        return bool(torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))
    if not torch.isfinite(a).all():
        return False
    return bool(((a - b).abs() <= tolerance * (1 + b.abs().max())).all())


def number(value: object) -> Tensor | None:
    """A number, tensor or nested list of numbers as a tensor of float64; None for anything else."""
    if isinstance(value, Tensor):
        return value.detach() if value.is_complex() else value.detach().double()
    if isinstance(value, bool | int | float):
        return torch.tensor(float(value), dtype=torch.float64)
    if isinstance(value, list | tuple) and value:
        parts = [number(one) for one in value]
        if any(part is None or part.shape != parts[0].shape for part in parts if parts[0] is not None):
            return None
        return torch.stack(parts) if parts[0] is not None else None  # type: ignore[arg-type]
    return None


def difference(got: object, want: object) -> str:
    """In one line how two values differ: their kinds, their shapes, or the first numbers that do."""
    if want is True and isinstance(got, bool | str):  # a property
        return got if isinstance(got, str) else "that does not hold"
    a, b = number(got), number(want)
    if a is None or b is None:
        return f"found {short(got)}, expected {short(want)}"
    if a.shape != b.shape:
        return f"the shape is {tuple(a.shape)}, expected {tuple(b.shape)}"
    if a.is_complex() or b.is_complex():
        return "the numbers are complex"
    if torch.isnan(a).any():
        return f"{int(torch.isnan(a).sum())} of {a.numel()} numbers are NaN"
    off = (a - b).abs()
    at = int(off.flatten().argmax())
    place = tuple(int(i) for i in torch.unravel_index(torch.tensor(at), a.shape)) if a.ndim else ()
    where = f" at {list(place)}" if place else ""
    count = int((off > 1e-4 * (1 + b.abs().max())).sum())
    many = f", {count} of {a.numel()} numbers differ" if a.numel() > 1 else ""
    return f"found {a.flatten()[at].item():.4g}{where}, expected {b.flatten()[at].item():.4g}{many}"


def short(value: object, width: int = 160) -> str:
    """A value as text of bounded length, tensors as nested lists of few digits."""
    if isinstance(value, Tensor):
        if value.numel() > 64:
            return f"a tensor of shape {tuple(value.shape)}"
        rounded = value.tolist() if not value.is_floating_point() else _rounded(value.tolist())
        return str(rounded)[:width]
    text = repr(value)
    return text if len(text) <= width else text[: width - 1] + "…"


def _rounded(value: object) -> object:
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
