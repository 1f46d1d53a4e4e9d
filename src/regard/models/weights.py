"""Weights by name into a model: all of them, in the right shapes, or none."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn


def place(model: nn.Module, weights: Mapping[str, Tensor], source: str) -> None:
    """Make the tensors the model's own, or raise a ValueError and leave the model as it was.

    >>> place(nn.Linear(2, 2), {"weight": nn.Linear(2, 3).weight}, source="it")
    Traceback (most recent call last):
        ...
    ValueError: it does not fit Linear: missing bias; weight is (3, 2) instead of (2, 2)
    """
    wanted = model.state_dict()
    faults = []
    if missing := [name for name in wanted if name not in weights]:
        faults.append(f"missing {listed(missing)}")
    if left := [name for name in weights if name not in wanted]:
        faults.append(f"left over {listed(left)}")
    faults += [
        f"{name} is {tuple(weights[name].shape)} instead of {tuple(wanted[name].shape)}"
        for name in wanted
        if name in weights and weights[name].shape != wanted[name].shape
    ][:3]
    if faults:
        raise ValueError(f"{source} does not fit {type(model).__name__}: {'; '.join(faults)}")
    model.load_state_dict({name: weights[name].detach().contiguous() for name in wanted}, assign=True)


def listed(names: list[str], most: int = 8) -> str:
    """Names on one line, the first few of many."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
