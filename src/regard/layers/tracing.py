"""A recorder that a model fills, by name, while it runs as usual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torch import Tensor


class Trace(Mapping[str, Tensor]):
    """What a forward pass saw: tensors by name, in the order in which they arose.

    >>> import torch
    >>> trace = Trace()
    >>> trace.inside("blocks").inside("2").record("attention.weights", torch.ones(1))
    >>> list(trace)
    ['blocks.2.attention.weights']
    """

    def __init__(self) -> None:
        self._seen: dict[str, Tensor] = {}
        self._prefix = ""

    def inside(self, name: str) -> Trace:
        """The same recorder for a part of the model: what it records gets the part's name in front."""
        part = Trace()
        part._seen, part._prefix = self._seen, f"{self._prefix}{name}."
        return part

    def record(self, name: str, tensor: Tensor) -> None:
        """Keep a tensor, cut off from the gradient's graph."""
        self._seen[self._prefix + name] = tensor.detach()

    def __getitem__(self, name: str) -> Tensor:
        full = self._prefix + name
        if full not in self._seen:
            raise KeyError(f"nothing recorded as {full!r}; recorded: {', '.join(self._seen) or 'nothing'}")
        return self._seen[full]

    def __iter__(self) -> Iterator[str]:
        return (name.removeprefix(self._prefix) for name in self._seen if name.startswith(self._prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)
