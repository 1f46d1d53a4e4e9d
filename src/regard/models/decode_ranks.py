"""Decoding a prompt that lies on many ranks: each keeps the keys that it made, and the query goes to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh

from regard.layers import Cache
from regard.layers.rank_past import RankPast
from regard.models.decode_store import Request
from regard.parallel import MeshRanks, Ranks, Shard, Turn
from regard.parallel.turn import home_of

if TYPE_CHECKING:  # `GPT.generate` is the door to this file, which knows a model as its argument alone
    from regard.models.gpt import GPT


def ranks_for(request: Request, mesh: DeviceMesh | Ranks, impl: str) -> Ranks:
    """The ranks of a mesh, or a ValueError where they cannot decode what is asked."""
    if impl not in ("auto", "plain"):
        raise ValueError(f"over a mesh the model itself decodes, impl='plain', got {impl=}")
    if request.segments is not None or len({len(prompt) for prompt in request.prompts}) > 1:
        raise ValueError("over a mesh prompts have one length and no segments")
    return mesh if isinstance(mesh, Ranks) else MeshRanks(mesh)


@torch.no_grad()
def over_ranks(request: Request, ranks: Ranks) -> Iterator[Tensor]:
    """Yield (B,) tokens up to `count` times, the same on all ranks; what is asked is checked already."""
    model = request.model
    tokens = torch.stack(list(request.prompts))  # B T
    T, patterns = tokens.shape[1], model.config.patterns
    shard: Shard = Shard(ranks, T, patterns)
    deal = shard.deal
    cache = Cache([RankPast(pattern, T + request.count) for pattern in patterns])
    own, at = shard.cut(tokens), T - 1
    ended = torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
    last = tokens[:, -1]
    for i in range(request.count):
        if i:
            at += 1
            shard = Turn(ranks, deal, at)
            own = last[:, None][:, : len(shard.positions)]
        x = model.features(own, shard=shard, cache=cache)  # B N C
        logits = _told(model, x, home_of(deal, at), ranks)
        # All draw alike, from numbers that are the same everywhere.
        last = torch.where(ended, last, request.how.pick(logits, request.generator).to(last.dtype))
        yield last
        ended = ended | torch.isin(last, request.stops)
        if bool(ended.all()):
            return


def _told(model: GPT, x: Tensor, home: int, ranks: Ranks) -> Tensor:
    """The logits (B,V) of the last token, from the rank where it is to all ranks."""
    if ranks.rank == home:
        logits = model.logits(x[:, -1]).contiguous()
        ranks.start({rank: logits for rank in range(ranks.size) if rank != home}, {})()
        return logits
    empty = x.new_empty(len(x), model.config.vocab_size)
    ranks.start({}, {home: empty})()
    return empty
