"""Small trained models that ship with the package, each with its card; `regard.train.open_run` opens one."""

from pathlib import Path

from regard.train.runs.opening import load_shipped as load
from regard.train.runs.opening import shipped as names
from regard.zoo.adding import MOST_BYTES, add, put, size


def card(name: str, folder: Path | None = None) -> str:
    """A model's card: data, command, seed, score, cost."""
    return load(name, folder).card


__all__ = ["MOST_BYTES", "add", "card", "load", "names", "put", "size"]
