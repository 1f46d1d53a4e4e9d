"""Checks of numbers that several values of a recipe make at birth."""

from __future__ import annotations

from typing import Any


def check_shares(**shares: Any) -> None:
    """Raise unless every one is a number from 0 to 1.

    >>> check_shares(warmup=1.5)
    Traceback (most recent call last):
        ...
    ValueError: warmup must be a share from 0 to 1, got warmup=1.5
    """
    for name, value in shares.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ValueError(f"{name} must be a share from 0 to 1, got {name}={value!r}")


def check_rates(**rates: Any) -> None:
    """Raise unless every one is a number of at least 0."""
    for name, value in rates.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise ValueError(f"{name} must be a number of at least 0, got {name}={value!r}")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise unless the value is one of these words."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {name}={value!r}")
