"""This rank's part of the sequences that a model reads: where its tokens stand, and attention over all."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh

from regard.attention import DistanceBias
from regard.parallel.attend import Dealing, attend_sharded, planned
from regard.parallel.held import HeldKeys
from regard.parallel.ranks import MeshRanks, Ranks
from regard.pattern import Exchange, Pattern
from regard.pattern.dealing import dealt


class Shard:
    """The part of one rank, for all layers of a model: they share the sequence, so they share its dealing.

    >>> from regard.parallel import SimulatedRanks
    >>> from regard.pattern import Causal, Strided
    >>> ranks = SimulatedRanks.world(2)[0]
    >>> shard = Shard(ranks, n=8, patterns=[Strided(back=1), Causal()])
    >>> shard.positions.tolist(), shard.cut(torch.arange(8)[None]).tolist()
    ([0, 1, 6, 7], [[0, 1, 6, 7]])
    """

    def __init__(
        self, mesh: DeviceMesh | Ranks, n: int, patterns: Sequence[Pattern], deal: Dealing = "auto"
    ) -> None:
        self.ranks = mesh if isinstance(mesh, Ranks) else MeshRanks(mesh)
        self.n, self.deal = n, dealt(tuple(dict.fromkeys(patterns)), n, self.ranks.size, deal)
        self.positions = self.deal.intervals(self.ranks.rank).positions()  # int64, of this rank

    def plan(self, pattern: Pattern) -> Exchange:
        """What the ranks exchange in a layer of this pattern."""
        return planned(pattern, self.n, self.ranks.size, self.deal)

    def check(self, count: int) -> None:
        """Raise unless these are as many tokens as this rank holds."""
        if count != len(self.positions):
            rank, own = self.ranks.rank, len(self.positions)
            raise ValueError(f"rank {rank} holds {own} of n={self.n} positions, got {count} tokens")

    def cut(self, x: Tensor, dim: int = 1) -> Tensor:
        """This rank's part of a tensor with all positions along `dim`."""
        if x.shape[dim] != self.n:
            raise ValueError(f"the shard is of n={self.n} positions, got {tuple(x.shape)} along {dim=}")
        return x.index_select(dim, self.positions.to(x.device))

    def attend(  # noqa: PLR0913 - what a layer asks of attention
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        pattern: Pattern,
        *,
        scale: float | None = None,
        bias: DistanceBias | None = None,
        softcap: float | None = None,
        segments: Tensor | None = None,
        past: HeldKeys | None = None,
    ) -> Tensor:
        """Attention of this rank's queries (B,H,N,D) over the keys of all ranks: (B,H,N,E).

        With a past, which must be empty, this rank's keys go into it: decoding goes on from there.
        """
        plan = self.plan(pattern)
        if past is not None:
            if past.count:
                raise ValueError(f"a whole sequence begins a past, got one of {past.count} positions")
            past.keep(key, value, self.positions, self.n)
        out = attend_sharded(
            query, key, value, plan, mesh=self.ranks, scale=scale, bias=bias, softcap=softcap,
            segments=segments,
        )  # fmt: skip
        assert isinstance(out, torch.Tensor)
        return out
