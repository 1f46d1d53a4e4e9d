"""A question's fields, each checked as it is read."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from regard.studio import limits
from regard.studio.limits import FieldError


class Body:
    """The JSON object that a page sent; every reader raises a `FieldError` that names its field.

    >>> body = Body({"n": 24, "pattern": "causal"})
    >>> body.whole("n", 1, 64), body.text("pattern", 100), body.choice("deal", ("even", "zigzag"), "even")
    (24, 'causal', 'even')
    """

    def __init__(self, fields: object) -> None:
        if not isinstance(fields, dict):
            raise ValueError("a question must be a JSON object")
        self.fields: dict[str, object] = fields

    def _given(self, name: str, default: object) -> object:
        value = self.fields.get(name)
        if value is None and default is None:
            raise FieldError(name, f"{name} is missing")
        return default if value is None else value

    def whole(self, name: str, least: int, most: int, default: int | None = None) -> int:
        """A whole number within its limits."""
        return limits.whole(name, self._given(name, default), least, most)

    def real(self, name: str, least: float, most: float, default: float | None = None) -> float:
        """A number within its limits."""
        return limits.real(name, self._given(name, default), least, most)

    def text(self, name: str, most: int, default: str | None = None) -> str:
        """A text that is not too long."""
        return limits.text(name, self._given(name, default), most)

    def choice(self, name: str, choices: Sequence[str], default: str | None = None) -> str:
        """One of these words."""
        value = self._given(name, default)
        if value not in choices:
            raise FieldError(name, f"{name} must be one of {', '.join(choices)}, got {str(value)[:60]!r}")
        return str(value)

    def flag(self, name: str, default: bool | None = None) -> bool:
        """Yes or no."""
        value = self._given(name, default)
        if not isinstance(value, bool):
            raise FieldError(name, f"{name} must be true or false, got {str(value)[:60]!r}")
        return value

    def items(self, name: str, most: int, default: list[object] | None = None) -> list[object]:
        """A list that is not too long; what is in it is the caller's to check."""
        value = self._given(name, default)
        if not isinstance(value, list) or len(value) > most:
            got = f"{len(value):,} of them" if isinstance(value, list) else type(value).__name__
            raise FieldError(name, f"{name} must be a list of at most {most:,}, got {got}")
        return value

    def file(self, name: str) -> bytes:
        """The bytes of an upload, sent as base64."""
        value = limits.text(name, self._given(name, None), limits.BODY)
        try:
            data = base64.b64decode(value, validate=True)
        except binascii.Error:
            raise FieldError(name, f"{name} must be base64") from None
        if len(data) > limits.UPLOAD:
            raise FieldError(name, f"a file may have at most {limits.UPLOAD:,} bytes, got {len(data):,}")
        return data
