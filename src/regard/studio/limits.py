"""What one visitor may ask for, so that sixteen of them can: every handler checks, whatever the page sent."""

from __future__ import annotations

import math
from collections.abc import Sequence

LENGTH = 65_536  # positions of a pattern that is drawn
EXPRESSION = 1_000  # characters of a pattern
VALUES = 8  # single values in one: counting takes time that grows fast with them
PERIOD = 120  # of an expression whose formula is worked out
TOKENS = 1 << 20  # priced
BATCH = 65_536
CONFIG = 20_000  # characters of a config.json
SIZE = 10_000_000  # of a number in it
LAYERS = 4_096
SECONDS = 20  # of computing for one question
LONG = 120  # seconds for what is started by a button: a lesson, the hiding check
MEMORY = 2_000_000_000  # bytes of it
WORKERS = 2  # processes that answer at a time
STREAMS = 2  # processes that stream at a time: who generates keeps nobody else waiting
TEXT = 4_000  # characters of a prompt or a review
READ = 1_024  # tokens of one: an emoji has up to four
NEW = 300  # tokens written at once
UPLOAD = 8_000_000  # bytes
SMALL = 64_000  # bytes of a question that brings no upload
BODY = 12_000_000  # bytes of any request
MINUTES = 10  # for which uploads are counted
VISITOR = 40_000_000  # bytes that one visitor may upload in that time; nothing of it is stored
ATTEMPTS = 10  # wrong tokens in a minute, from one address


CONNECTIONS = 256  # at a time
WAITING = 64  # questions that wait for a process; who comes then is told to come again


class FieldError(ValueError):
    """What is wrong with one field of a question, and which."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def whole(name: str, value: object, least: int, most: int) -> int:
    """A whole number within its limits, or a ValueError that states them.

    >>> whole("n", 16.0, 1, 100)
    16
    >>> whole("n", 1e12, 1, 65536)
    Traceback (most recent call last):
        ...
    regard.studio.limits.FieldError: n must be a whole number from 1 to 65,536, got 1,000,000,000,000
    """
    fine = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not fine or value != int(value) or not least <= value <= most:  # type: ignore[operator, call-overload]
        shown = f"{value:,.15g}" if fine else repr(value)[:60]
        raise FieldError(name, f"{name} must be a whole number from {least:,} to {most:,}, got {shown}")
    return int(value)  # type: ignore[call-overload]


def real(name: str, value: object, least: float, most: float) -> float:
    """A number within its limits."""
    fine = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not fine or not least <= value <= most:  # type: ignore[operator]
        raise FieldError(name, f"{name} must be a number from {least:g} to {most:g}, got {repr(value)[:60]}")
    return float(value)  # type: ignore[arg-type]


def text(name: str, value: object, most: int) -> str:
    """A text that is not too long.

    >>> text("prompt", "x" * 11, 10)
    Traceback (most recent call last):
        ...
    regard.studio.limits.FieldError: prompt may have at most 10 characters here, got 11
    """
    if not isinstance(value, str):
        raise FieldError(name, f"{name} must be a text, got {type(value).__name__}")
    if len(value) > most:
        raise FieldError(name, f"{name} may have at most {most:,} characters here, got {len(value):,}")
    return value


def tokens(name: str, ids: Sequence[int], most: int = READ) -> None:
    """Raise where a text is long to the model, however short it looks.

    >>> tokens("a prompt", range(11), 10)
    Traceback (most recent call last):
        ...
    regard.studio.limits.FieldError: a prompt may have at most 10 tokens here, got 11
    """
    if len(ids) > most:
        raise FieldError(name, f"{name} may have at most {most:,} tokens here, got {len(ids):,}")
