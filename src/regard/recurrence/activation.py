"""The elementwise functions that fast paths know, by name and by function."""

from collections.abc import Callable

import torch
from torch import Tensor

Activation = Callable[[Tensor], Tensor]


def identity(x: Tensor) -> Tensor:
    """Give back x itself: with it a recurrence is linear."""
    return x


ACTIVATIONS: dict[str, Activation] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "identity": identity,
}
_NAMES: dict[object, str] = {
    **{function: name for name, function in ACTIVATIONS.items()},
    torch.nn.functional.relu: "relu",
}


def activation_name(activation: Activation) -> str | None:
    """Name an activation that fast paths know, or None for any other function.

    >>> activation_name(torch.tanh), activation_name(torch.sin)
    ('tanh', None)
    """
    return _NAMES.get(activation)


def check_activation(name: str, activation: object) -> None:
    """Raise unless `activation` can be called; a name is a common slip, so it is told apart."""
    if not callable(activation):
        raise ValueError(f"{name} must be a function such as torch.tanh, got {name}={activation!r}")


def activation_by_name(name: str) -> Activation:
    """Look up the activation a configuration names."""
    if name not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got activation={name!r}")
    return ACTIVATIONS[name]
