"""Attention over two sets of keys from attention over each: outputs weighed by their rows' sums."""

from __future__ import annotations

import torch

from regard.attention.problem import Attended


def merged(one: Attended, other: Attended) -> Attended:
    """The output and the normalisers over all keys of both; a row that saw nothing weighs nothing.

    >>> three, one = (torch.tensor([[[float(n)]]]).log() for n in (3, 1))
    >>> two, six = (torch.full((1, 1, 1, 1), x) for x in (2.0, 6.0))
    >>> found = merged(Attended(two, three), Attended(six, one))
    >>> round(found.out.item(), 5), round(found.lse.exp().item(), 5)
    (3.0, 4.0)
    """
    assert one.lse is not None
    assert other.lse is not None
    # Finite, so that nothing is ∞ − ∞ where neither saw a key.
    least = torch.finfo(one.lse.dtype).min / 4
    a, b = one.lse.clamp(min=least), other.lse.clamp(min=least)
    share = torch.sigmoid(a - b)[..., None]
    out = one.out * share + other.out * (1 - share)
    nothing = (one.lse == -torch.inf) & (other.lse == -torch.inf)
    return Attended(out.to(one.out.dtype), torch.logaddexp(a, b).masked_fill(nothing, -torch.inf))
