"""`attend_sharded`: attention over a sequence that lies on many ranks, by the exchange its pattern plans."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import inf
from typing import Any

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh

from regard.attention import BACKENDS, DistanceBias
from regard.attention.by_head import attend_by_head
from regard.attention.drops import draw_seed
from regard.attention.engine import with_sinks
from regard.attention.inputs import check_on, pattern_of
from regard.attention.problem import check_tensors
from regard.parallel.halves import ScoreOptions, begin, end
from regard.parallel.ranks import MeshRanks, Ranks
from regard.pattern import Deal, Exchange, Pattern
from regard.pattern.dealing import dealt

Dealing = str | Sequence[int] | Deal


def attend_sharded(  # noqa: PLR0913 - what `attend` takes, and where the sequence lies
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern | str | Sequence[Pattern | str] | Exchange,
    *,
    mesh: DeviceMesh | Ranks,
    n: int | None = None,
    deal: Dealing = "auto",
    is_causal: bool = False,
    scale: float | Tensor | None = None,
    bias: DistanceBias | None = None,
    segments: Tensor | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    dropout: float = 0.0,
    impl: str = "auto",
    return_lse: bool = False,
    generator: torch.Generator | None = None,
) -> Any:  # the output, or a tuple of it and the normalisers
    """Attention of the queries (B,H,N,D) that this rank holds, over the keys of all ranks: (B,H,N,E).

    `query`, `key` and `value` (and `segments`, (B,N)) hold this rank's part of a sequence of n positions, as
    `shard_sequence` gives it; all else is as in `attend`, and so is the result, to rounding. `pattern` may be
    a plan, `pattern.exchange(n, ranks)`; else one is made for `deal` and n, by default the parts of all ranks
    together, and kept. All ranks call it alike, and if one of them goes backward, all do.

    Dropout draws as one process would where `generator` has the same seed on all ranks. A tensor that all
    ranks share (`scale`, `sinks`, slopes) gets each rank's part of its gradient, to be added up as that of a
    weight.
    """
    ranks = mesh if isinstance(mesh, Ranks) else MeshRanks(mesh)
    if not isinstance(pattern, str | Pattern | Exchange):
        whole = _length(ranks, query) if n is None else n
        every = tuple(pattern_of(one, is_causal) for one in pattern)
        given = {
            "mask": None, "scale": scale, "bias": bias, "segments": segments, "softcap": softcap,
            "sinks": sinks, "dropout": dropout, "impl": impl, "return_lse": return_lse,
            "generator": generator,
        }  # fmt: skip
        held = dealt(every, whole, ranks.size, deal)

        def alone(q: Tensor, k: Tensor, v: Tensor, one: Pattern, *, mask: None, **more: Any) -> Any:
            return attend_sharded(q, k, v, one, mesh=ranks, n=whole, deal=held, **more)

        return attend_by_head(alone, query, key, value, every, given)
    check_tensors(query, key, value)
    plan = plan_of(pattern, ranks, query, n, deal, is_causal)
    asked, query = asked_of(
        query, key, scale=scale, bias=bias, softcap=softcap, dropout=dropout, generator=generator, impl=impl,
        lse=return_lse or sinks is not None,
    )  # fmt: skip
    found = end(begin(query, key, value, segments, plan, ranks, asked))
    if sinks is not None:
        found = with_sinks(found, sinks, query.shape[1])
    return (found.out, found.lse) if return_lse else found.out


def plan_of(
    pattern: Pattern | str | Exchange,
    ranks: Ranks,
    query: Tensor,
    n: int | None = None,
    deal: Dealing = "auto",
    is_causal: bool = False,
) -> Exchange:
    """The plan of a call, for as many ranks as there are."""
    if isinstance(pattern, Exchange):
        if is_causal or n not in (None, pattern.n) or deal != "auto":
            raise ValueError("a plan has its own pattern, n and deal: leave is_causal, n and deal out")
        if pattern.ranks != ranks.size:
            raise ValueError(f"the plan is for {pattern.ranks} ranks, the mesh has {ranks.size}")
        return pattern
    whole = _length(ranks, query) if n is None else n
    kind = deal if isinstance(deal, str | Deal) else tuple(deal)
    return planned(pattern_of(pattern, is_causal), whole, ranks.size, kind)


@lru_cache(maxsize=256)
def planned(pattern: Pattern, n: int, ranks: int, deal: str | tuple[int, ...] | Deal) -> Exchange:
    """The plan, kept for the next call."""
    return pattern.exchange(n, ranks, deal)


def _length(ranks: Ranks, query: Tensor) -> int:
    if not isinstance(ranks, MeshRanks):
        raise ValueError("n must be given, or a plan: only the ranks of a mesh can be asked for it")
    return int(ranks.sum(torch.tensor([query.shape[-2]], device=query.device)))


def asked_of(  # noqa: PLR0913 - the arguments of `attend_sharded`
    query: Tensor,
    key: Tensor,
    *,
    scale: float | Tensor | None = None,
    bias: DistanceBias | None = None,
    softcap: float | None = None,
    dropout: float = 0.0,
    generator: torch.Generator | None = None,
    impl: str = "auto",
    lse: bool = False,
) -> tuple[ScoreOptions, Tensor]:
    """The checked arguments, and the query: a scale that is a tensor is in it already."""
    if query.shape[2] != key.shape[2]:
        raise ValueError(
            f"a rank holds as many queries as keys, got query {tuple(query.shape)}, key {tuple(key.shape)}"
        )
    if impl != "auto" and impl not in BACKENDS:
        raise ValueError(f"impl must be 'auto' or one of {', '.join(BACKENDS)}, got {impl=}")
    H = query.shape[1]
    if bias is not None and (not isinstance(bias, DistanceBias) or len(bias.slopes) != H):
        got = f"{len(bias.slopes)} slopes" if isinstance(bias, DistanceBias) else type(bias).__name__
        raise ValueError(f"bias must be a DistanceBias with one slope for each of H={H} heads, got {got}")
    if softcap is not None and not softcap > 0:
        raise ValueError(f"softcap must be positive, got {softcap=}")
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout=}")
    if isinstance(scale, Tensor):
        check_on(query, scale=scale)
        query, scale = (query * scale).to(query.dtype), 1.0
    factor = query.shape[3] ** -0.5 if scale is None else float(scale)
    seed = draw_seed(query.device, generator) if dropout else None
    return ScoreOptions(factor, bias, None if softcap == inf else softcap, dropout, seed, impl, lse), query
