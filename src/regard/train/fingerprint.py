"""A fingerprint of data as a task sees them, so that a run does not go on with others unnoticed."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any

import torch
from torch import Tensor


def fingerprint(*parts: Any) -> str:
    """The SHA-256 of tensors, texts and data sets; a set's own name, which may be a path, does not count.

    >>> one, other = torch.tensor([1, 2]), torch.tensor([2, 1])
    >>> fingerprint(one, "a") == fingerprint(one.clone(), "a")
    True
    >>> len({fingerprint(one), fingerprint(other), fingerprint(one.float()), fingerprint("12")})
    4
    """
    found = sha256()
    for part in parts:
        _add(found, part)
    return found.hexdigest()


def _add(found: Any, part: Any) -> None:
    if isinstance(part, Tensor):
        x = part.detach().cpu().contiguous()
        found.update(f"tensor {x.dtype} {tuple(x.shape)} ".encode())
        found.update(x.flatten().view(torch.uint8).numpy() if x.numel() else b"")
    elif isinstance(part, str):
        data = part.encode("utf-8", "surrogatepass")
        found.update(f"text {len(data)} ".encode() + data)
    elif isinstance(part, tuple | list):
        found.update(f"list {len(part)} ".encode())
        for one in part:
            _add(found, one)
    elif is_dataclass(part) and not isinstance(part, type):
        for field in fields(part):
            value, default = getattr(part, field.name), field.default
            # A field at its default does not count, so that data keep their print when such a field is new.
            if field.name != "name" and not (isinstance(value, type(default)) and value == default):
                found.update(f"field {field.name} ".encode())
                _add(found, value)
    else:
        found.update(f"value {part!r} ".encode())
