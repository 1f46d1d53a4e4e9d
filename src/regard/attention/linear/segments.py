"""Segments for linear time: equal ones are brought together, since one carried sum serves one at a time."""

import torch
from torch import Tensor


def gathering(segments: Tensor) -> Tensor | None:
    """The stable order (B, M) that makes equal segments adjacent, or None if they already are.

    >>> gathering(torch.tensor([[0, 0, 1, -1]])) is None
    True
    >>> gathering(torch.tensor([[5, 2, 5, 2]])).tolist()
    [[1, 3, 0, 2]]
    """
    ordered, order = segments.sort(dim=-1, stable=True)
    # Sorting leaves the fewest borders; as many as before means that nothing was scattered.
    return None if torch.equal(_borders(segments), _borders(ordered)) else order


def _borders(segments: Tensor) -> Tensor:
    return (segments[:, 1:] != segments[:, :-1]).sum(-1)


def take(x: Tensor, order: Tensor) -> Tensor:
    """The positions of x (B,H,M) or (B,H,M,W), rearranged per batch row by order (B,M)."""
    index = order[:, None, :].expand(x.shape[:3])
    return x.gather(2, index if x.ndim == 3 else index[..., None].expand(x.shape))
