"""A recorder that a model fills, by name, while it runs as usual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.layers import tracing_widget
from regard.paper import pages
from regard.paper.quantities import number

if TYPE_CHECKING:
    from anywidget import AnyWidget


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

    def __repr__(self) -> str:
        return f"Trace of {len(self)} tensors: {', '.join(self) or 'nothing recorded'}"

    def widget(self) -> AnyWidget:
        """What was recorded to look through in a notebook, map by map (needs the extra `notebook`)."""
        return tracing_widget.widget(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: every tensor with its shape and its range."""
        rows = [
            (name, " × ".join(map(str, x.shape)), *(number(float(edge)) for edge in x.aminmax()))
            if x.numel() and not x.is_complex() and x.dtype != torch.bool
            else (name, " × ".join(map(str, x.shape)), "", "")
            for name, x in self.items()
        ]
        return pages.table(("name", "shape", "least", "most"), rows)
