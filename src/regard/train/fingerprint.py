"""A fingerprint of data as a task sees them, so that a run does not go on with others unnoticed."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from hashlib import sha256

import torch
from torch import Tensor


def fingerprint(*parts: object) -> str:
    """The SHA-256 of tensors, texts and data sets; a set's own name, which may be a path, does not count.

    >>> one, other = torch.tensor([1, 2]), torch.tensor([2, 1])
    >>> fingerprint(one, "a") == fingerprint(one.clone(), "a")
    True
    >>> len({fingerprint(one), fingerprint(other), fingerprint(one.float()), fingerprint("12")})
    4
    """
    found = sha256()
    for chunk in (chunk for part in parts for chunk in _bytes(part)):
        found.update(chunk)
    return found.hexdigest()


def _bytes(part: object) -> Iterator[bytes | memoryview]:
    """A part as bytes, with its kind and its size before it."""
    if isinstance(part, Tensor):
        x = part.detach().cpu().contiguous()
        yield f"tensor {x.dtype} {tuple(x.shape)} ".encode()
        yield x.flatten().view(torch.uint8).numpy().data if x.numel() else b""
    elif isinstance(part, str):
        data = part.encode("utf-8", "surrogatepass")
        yield f"text {len(data)} ".encode() + data
    elif isinstance(part, tuple | list):
        yield f"list {len(part)} ".encode()
        for one in part:
            yield from _bytes(one)
    elif isinstance(digest := getattr(part, "digest", None), str) and digest:
        yield f"digest {digest} ".encode()  # of what was prepared on the disk and not changed since
    elif is_dataclass(part) and not isinstance(part, type):
        for field in fields(part):
            value, default = getattr(part, field.name), field.default
            # A field at its default does not count, so that data keep their print when such a field is new.
            if field.name != "name" and not (isinstance(value, type(default)) and value == default):
                yield f"field {field.name} ".encode()
                yield from _bytes(value)
    else:
        yield f"value {part!r} ".encode()
