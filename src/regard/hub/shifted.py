"""Attention over a bounded cache whose first keys move along with the window: see `rotation`."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.attention import attend
from regard.hub.anchored import attend_anchored, pairs_seen
from regard.hub.arguments import Arguments, masked
from regard.hub.masks import MaskSpec
from regard.hub.slots import SlottedKeys
from regard.pattern import Full, Pattern


def attend_shifted(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern,
    spec: MaskSpec,
    held: SlottedKeys,
    given: Arguments,
) -> Tensor | tuple[Tensor, Tensor]:
    """What `attend` gives where the distance to the first keys is counted in the cache."""
    assert held.shift is not None
    shift, N, first = held.shift, query.shape[2], held.shift.first
    if spec.real is not None:
        raise ValueError('positions="cache" takes rows without padding')
    if held.start + N <= shift.size:  # the window has not moved on
        return attend_anchored(query, key, value, pattern, spec, None, held, given)
    seen = pairs_seen(query, key, pattern, spec, None, held)
    by = shift.by(torch.arange(held.start, held.start + N, device=query.device))
    if N == 1:
        moved = torch.cat([shift.rotate(key[:, :, :first], by.expand(first)), key[:, :, first:]], dim=2)
        return attend(query, moved, value, Full(), **masked(given, seen))
    if given["return_weights"] or given["dropout"] or given["sinks"] is not None:
        raise ValueError('positions="cache" gives no weights, sinks or dropout for several queries at a time')
    # Each query has moved on by its own: the first keys are asked by queries that are turned back.
    parts = [
        attend(q, key[:, :, at], value[:, :, at], Full(), **masked(given, seen[..., at]), return_lse=True)
        for q, at in ((query, slice(first, None)), (shift.rotate(query, -by), slice(0, first)))
    ]
    total = torch.logaddexp(*(lse for _, lse in parts))
    return sum((out * (lse - total).exp()[..., None] for out, lse in parts), torch.zeros(())).to(query.dtype)
