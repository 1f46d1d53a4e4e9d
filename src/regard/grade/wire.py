"""How the judge and a student's code in its sandbox talk: messages of plain values and tensors, no pickles.

Nothing that comes out of the sandbox is believed: a message that is too long, too deep or malformed raises
`BadMessage`, and a tensor is read only if its bytes are as many as its shape says.
"""

from __future__ import annotations

import json
import math
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

LONGEST = 64 << 20  # bytes of one message
DEEPEST = 24  # nested values
WIDEST = 20_000  # items of one list
TEXT = 20_000  # characters of one text
TYPES = {
    str(kind).removeprefix("torch."): kind
    for kind in (
        torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.complex128,
        torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
    )
}  # fmt: skip


class BadMessage(Exception):  # noqa: N818 - it says what came
    """What came is no message of ours."""


class Silence(Exception):  # noqa: N818 - it says what happened
    """Nothing came in time, or the other side is gone; `gone` tells which."""

    def __init__(self, gone: bool) -> None:
        super().__init__("the other side is gone" if gone else "no answer in time")
        self.gone = gone


@dataclass(frozen=True)
class Handle:
    """An object that stays in the sandbox, by its number."""

    number: int


@dataclass(frozen=True)
class Foreign:
    """An object of the student's that cannot leave the sandbox, by the name of its kind."""

    kind: str


def pack(message: Mapping[str, object]) -> bytes:
    """A message as bytes: its length, JSON, and the tensors behind it.

    >>> unpack(pack({"x": torch.tensor([1.0, 2.0]), "sizes": (2, 3)}))
    {'x': tensor([1., 2.]), 'sizes': (2, 3)}
    """
    blobs: list[bytes] = []
    body = {str(key): _plain(value, blobs, 0) for key, value in message.items()}
    head = json.dumps({"body": body, "blobs": [len(blob) for blob in blobs]}).encode()
    return b"".join([struct.pack(">I", len(head)), head, *blobs])


def _plain(value: object, blobs: list[bytes], depth: int) -> object:  # noqa: PLR0911 - one kind after another
    """A value as JSON has it; what is not plain has a dict with one tag around it."""
    if depth > DEEPEST:
        return {"foreign": "a value nested too deeply"}
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < 1 << 200 else {"foreign": "int of many digits"}
    if isinstance(value, str):
        return str(value[:TEXT])
    if isinstance(value, Tensor):
        return _tensor(value, blobs)
    if isinstance(value, Handle):
        return {"handle": value.number}
    if isinstance(value, Foreign):
        return {"foreign": value.kind[:200]}
    if isinstance(value, list | tuple):
        inner = [_plain(one, blobs, depth + 1) for one in value[:WIDEST]]
        return {"list" if isinstance(value, list) else "tuple": inner}
    if isinstance(value, Mapping):
        items = list(value.items())[:WIDEST]
        return {
            "dict": [[_plain(k, blobs, depth + 1), _plain(v, blobs, depth + 1)] for k, v in items],
        }
    return _other(value, blobs, depth)


def _other(value: object, blobs: list[bytes], depth: int) -> object:
    """NumPy's arrays and numbers are tensors too; the rest stays where it is."""
    kind = type(value)
    if kind.__module__ == "numpy" and hasattr(value, "dtype") and hasattr(value, "tolist"):
        try:
            return _tensor(torch.as_tensor(value), blobs)
        except (TypeError, ValueError, RuntimeError):
            return {"foreign": kind.__name__[:200]}
    return {"foreign": kind.__name__[:200]}


def _tensor(value: Tensor, blobs: list[bytes]) -> object:
    name = str(value.dtype).removeprefix("torch.")
    try:
        value = value.detach()
        value = (value.to_dense() if value.layout != torch.strided else value).cpu().resolve_conj()
        data = value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    except (TypeError, ValueError, RuntimeError):
        return {"foreign": f"tensor of {name}"}
    if name not in TYPES or len(data) > LONGEST // 2:
        return {"foreign": f"tensor of {name} with shape {tuple(value.shape)}"}
    blobs.append(data)
    return {"tensor": len(blobs) - 1, "dtype": name, "shape": list(value.shape)}


def unpack(data: bytes) -> dict[str, object]:
    """The message in these bytes."""
    (long,) = struct.unpack(">I", data[:4])
    head = _head(data[4 : 4 + long])
    blobs, at = [], 4 + long
    for size in head["blobs"]:  # type: ignore[attr-defined]
        blobs.append(data[at : at + size])
        at += size
    body = head["body"]
    assert isinstance(body, dict)
    return {key: _value(value, blobs) for key, value in body.items()}


def _head(text: bytes) -> dict[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadMessage("no JSON") from error
    fine = isinstance(found, dict) and isinstance(found.get("body"), dict)
    sizes = found.get("blobs") if fine else None
    if not isinstance(sizes, list) or not all(type(size) is int and 0 <= size <= LONGEST for size in sizes):
        raise BadMessage("no head of a message")
    return found


def _value(plain: object, blobs: list[bytes]) -> object:
    if not isinstance(plain, dict):
        if isinstance(plain, list):
            raise BadMessage("a list without a tag")
        return plain
    tag = next(iter(plain), "")
    inner = plain.get(tag)
    if tag == "tensor":
        return _read(inner, plain.get("dtype"), plain.get("shape"), blobs)
    if tag == "handle" and type(inner) is int:
        return Handle(inner)
    if tag == "foreign" and isinstance(inner, str):
        return Foreign(inner)
    if tag in ("list", "tuple") and isinstance(inner, list):
        values = [_value(one, blobs) for one in inner]
        return values if tag == "list" else tuple(values)
    if tag == "dict" and isinstance(inner, list) and all(isinstance(o, list) and len(o) == 2 for o in inner):
        return {_key(_value(k, blobs)): _value(v, blobs) for k, v in inner}
    raise BadMessage(f"no value: {tag[:20]}")


def _key(key: object) -> object:
    return key if isinstance(key, str | int | float | bool | tuple) or key is None else repr(key)[:200]


def _read(index: object, kind: object, shape: object, blobs: list[bytes]) -> Tensor:
    if not isinstance(index, int) or not 0 <= index < len(blobs) or kind not in TYPES:
        raise BadMessage("no tensor")
    sides = (
        [side for side in shape if type(side) is int and 0 <= side <= LONGEST]
        if isinstance(shape, list)
        else []
    )
    blob, dtype = blobs[index], TYPES[str(kind)]
    if (
        not isinstance(shape, list)
        or len(sides) != len(shape)
        or len(blob) != math.prod(sides) * dtype.itemsize
    ):
        raise BadMessage("a tensor of another size than it says")
    if not blob:
        return torch.empty(sides, dtype=dtype)
    return torch.frombuffer(bytearray(blob), dtype=dtype).reshape(sides)


class Channel:
    """One end of a connection on which whole messages go to and fro."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end

    def send(self, message: Mapping[str, object]) -> None:
        """Send a message; raises Silence where nobody is there any more."""
        try:
            self.end.settimeout(None)
            self.end.sendall(pack(message))
        except OSError as error:
            raise Silence(gone=True) from error

    def receive(self, seconds: float | None = None) -> dict[str, object]:
        """The next message, or Silence after so many seconds, or BadMessage."""
        until = None if seconds is None else time.monotonic() + seconds
        first = self._bytes(4, until)
        (long,) = struct.unpack(">I", first)
        if not 0 < long <= LONGEST:
            raise BadMessage("a message of no sensible length")
        head = self._bytes(long, until)
        sizes = _head(head)["blobs"]
        total = sum(sizes)  # type: ignore[call-overload]
        if total > LONGEST:
            raise BadMessage("a message that is too long")
        return unpack(first + head + self._bytes(total, until))

    def _bytes(self, count: int, until: float | None) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise Silence(gone=False)
            self.end.settimeout(left)
            try:
                part = self.end.recv(min(count - len(parts), 1 << 20))
            except TimeoutError as error:
                raise Silence(gone=False) from error
            except OSError as error:
                raise Silence(gone=True) from error
            if not part:
                raise Silence(gone=True)
            parts += part
        return bytes(parts)

    def close(self) -> None:
        """Hang up."""
        self.end.close()
