"""What a forward pass saw, to look through in a notebook: tensors by name, map by map."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.errors import need
from regard.paper.widgets import widget_class

if TYPE_CHECKING:
    from anywidget import AnyWidget

MOST = 256  # rows and columns of a map that are sent to the page


def widget(seen: Mapping[str, Tensor]) -> AnyWidget:
    """A list of what was recorded, a slider over its maps (heads, examples), and values on hover."""
    tensors = {name: x for name, x in seen.items() if x.numel() and x.ndim and not x.is_complex()}
    if not tensors:
        raise ValueError(f"nothing to show: a trace is filled by a forward pass, got {len(seen)} tensors")
    base = widget_class("widget_trace.js")
    traits = need("traitlets", "notebook")
    fields = {
        "names": traits.List().tag(sync=True), "name": traits.Unicode().tag(sync=True),
        "at": traits.Int().tag(sync=True), "maps": traits.Int().tag(sync=True),
        "sides": traits.List().tag(sync=True), "values": traits.Bytes().tag(sync=True),
    }  # fmt: skip
    names = list(tensors)
    weights = [name for name in names if name.endswith("weights")]
    first = (weights or names)[0]
    shapes = [[name, list(x.shape)] for name, x in tensors.items()]
    made: AnyWidget = type("TraceWidget", (base,), fields)(
        names=shapes, **_map(tensors[first], 0), name=first
    )

    def follow(change: Mapping[str, object]) -> None:
        name = made.name if made.name in tensors else first
        with made.hold_sync():
            made.set_trait("name", name)
            for key, value in _map(tensors[name], made.at).items():
                made.set_trait(key, value)

    made.observe(follow, ["name", "at"])
    return made


def _map(x: Tensor, at: int) -> dict[str, object]:
    """One matrix over the last two axes, as bytes; `at` counts over the axes before them."""
    x = x[None] if x.ndim == 1 else x
    count = prod(x.shape[:-2])
    at = min(max(at, 0), count - 1)
    matrix = x.reshape(count, *x.shape[-2:])[at, :MOST, :MOST].to("cpu", torch.float32).contiguous()
    return {"at": at, "maps": count, "sides": list(matrix.shape), "values": matrix.numpy().tobytes()}
