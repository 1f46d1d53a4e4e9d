"""Checks of arguments at the public edge, and the error for a library that is not installed."""

import importlib
from types import ModuleType


def check_int(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise unless `value` is an integer of at least `least` and, where given, at most `most`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} must be an integer, got {name}={value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {name}={value}")
    if most is not None and value > most:
        raise ValueError(f"{name} must be at most {most:,}, got {name}={value}")


def need(module: str, extra: str) -> ModuleType:
    """Import an optional library, or say which extra of this package brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{module} is not installed: pip install 'regard[{extra}]'") from error
