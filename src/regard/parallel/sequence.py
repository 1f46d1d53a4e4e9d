"""A sequence cut into the parts of its ranks, and put together again."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh

from regard.parallel.attend import Dealing, plan_of
from regard.parallel.ranks import MeshRanks, Ranks
from regard.pattern import Exchange, Pattern


def shard_sequence(
    x: Tensor,
    pattern: Pattern | str | Exchange,
    *,
    mesh: DeviceMesh | Ranks,
    dim: int = -2,
    deal: Dealing = "auto",
) -> Tensor:
    """This rank's part of a tensor whose positions lie along `dim`, and which every rank has whole.

    >>> from regard.parallel import SimulatedRanks
    >>> ranks = SimulatedRanks.world(2)
    >>> [shard_sequence(torch.arange(8), "causal", mesh=one, dim=0).tolist() for one in ranks]
    [[0, 1, 6, 7], [2, 3, 4, 5]]
    """
    ranks = mesh if isinstance(mesh, Ranks) else MeshRanks(mesh)
    n = x.shape[dim]
    plan = plan_of(pattern, ranks, x, None if isinstance(pattern, Exchange) else n, deal)
    if plan.n != n:
        raise ValueError(f"the plan is for n={plan.n} positions, got {n} along {dim=} of {tuple(x.shape)}")
    stretches = [x.narrow(dim, a, b - a) for a, b in plan.deal.stretches(ranks.rank)]
    return stretches[0] if len(stretches) == 1 else torch.cat(stretches, dim)


@torch.no_grad()
def gather_sequence(
    x: Tensor,
    pattern: Pattern | str | Exchange,
    *,
    mesh: DeviceMesh | MeshRanks,
    dim: int = -2,
    n: int | None = None,
    deal: Dealing = "auto",
) -> Tensor:
    """The whole tensor on every rank, from the parts that all hold; to look at, it has no gradient."""
    ranks = mesh if isinstance(mesh, MeshRanks) else MeshRanks(mesh)
    whole = x.transpose(dim, 0).contiguous()
    if n is None and not isinstance(pattern, Exchange):
        n = int(ranks.sum(torch.tensor([len(whole)], device=x.device)))
    plan = plan_of(pattern, ranks, x, n, deal)
    positions = [plan.held[rank].positions().to(x.device) for rank in range(ranks.size)]
    most = max(map(len, positions))
    padded = whole.new_zeros(most, *whole.shape[1:])  # parts may differ in length, what is gathered may not
    padded[: len(whole)] = whole
    out = whole.new_empty(plan.n, *whole.shape[1:])
    for at, part in zip(positions, ranks.gathered(padded), strict=True):
        out[at] = part[: len(at)]
    return out.transpose(dim, 0)
