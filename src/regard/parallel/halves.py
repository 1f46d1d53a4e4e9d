"""The two halves of a call: what begins the exchange and needs none of it, and what waits for it.

Between them a simulated mesh gives all ranks their turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention import DistanceBias
from regard.attention.engine import run
from regard.attention.inputs import autocasted
from regard.attention.problem import Attended, Problem, Segments, WholePositions
from regard.parallel.merge import merged
from regard.parallel.ranks import Ranks, Wait
from regard.parallel.transfer import Transfer, assembled, exchanged, received, sent
from regard.parallel.work import KeyRow, Part, RankWork, work_of
from regard.pattern import Exchange, Full

WHOLE = ("cpu",)  # where backends beside the definition know distances and draws of a whole sequence
LARGEST = 1 << 27  # cells at a time, where only the definition knows distances or draws of a whole sequence


@dataclass(frozen=True, eq=False)
class ScoreOptions:
    """What is asked of attention besides tensors and pattern."""

    scale: float
    bias: DistanceBias | None = None
    softcap: float | None = None
    dropout: float = 0.0
    seed: Tensor | None = None
    impl: str = "auto"
    lse: bool = False


@dataclass(frozen=True, eq=False)
class PlacedKeys:
    """Keys and values that lie in this process, where they stand, and their segments (B,M)."""

    key: Tensor
    value: Tensor
    positions: Tensor
    segments: Tensor | None


@dataclass(frozen=True, eq=False)
class Begun:
    """A call after its first half: the exchange is under way, and what needs none is done."""

    query: Tensor
    here: PlacedKeys
    work: RankWork
    asked: ScoreOptions
    transfer: Transfer
    tie: Tensor
    labels: tuple[Wait, dict[int, Tensor]] | None  # the segments of others, under way
    own: list[Attended | None]  # of each part


def begin(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    segments: Tensor | None,
    plan: Exchange,
    ranks: Ranks,
    asked: ScoreOptions,
) -> Begun:
    """Start the exchange, and meanwhile attend to what is here."""
    query, key, value = autocasted(query, key, value)
    work = work_of(plan, ranks.rank)
    if query.shape[2] != len(work.positions):
        raise ValueError(
            f"rank {ranks.rank} holds {len(work.positions)} of n={plan.n} positions, dealt {plan.deal.name}; "
            f"got query {tuple(query.shape)}"
        )
    if segments is not None and (
        segments.shape != (query.shape[0], query.shape[2]) or segments.is_floating_point()
    ):
        got = f"{tuple(segments.shape)} {segments.dtype}"
        raise ValueError(f"segments must be integers (B, N) of this rank's part, got {got}")
    (B, H, _, D), (_, G, _, E) = query.shape, value.shape
    kind = "no segments" if segments is None else f"segments {segments.dtype}"
    forms = (f"batch {B}", f"heads {H}, {G}", f"widths {D}, {E}", str(query.dtype), kind)
    ranks.agree((str(plan.pattern), f"n={plan.n} dealt {plan.deal.name}", *forms), query.device)
    labels = None
    if segments is not None:
        labels = exchanged(ranks, work, segments[..., None])
    transfer, tie = sent(ranks, work, key, value)
    here = PlacedKeys(key, value, work.positions, segments)
    own: list[Attended | None] = []
    for part in work.parts:
        lse = asked.lse or part.later is not None
        own.append(_met(part, part.own, query, here, here, work, asked, lse=lse))
    return Begun(query, here, work, asked, transfer, tie, labels, own)


def end(begun: Begun) -> Attended:
    """Wait for the keys of others, attend to them too, and put everything together."""
    query, here, work, asked = begun.query, begun.here, begun.work, begun.asked
    key, value = received(begun.transfer, begun.tie, here.key, here.value)
    segments = None
    if begun.labels is not None and here.segments is not None:
        wait, arriving = begun.labels
        wait()
        segments = assembled(work, arriving, here.segments[..., None])[..., 0]
    there = PlacedKeys(key, value, work.foreign, segments)
    found = []
    for part, own in zip(work.parts, begun.own, strict=True):
        later = _met(part, part.later, query, here, there, work, asked, lse=True)
        both = [one for one in (own, later) if one is not None]
        found.append(merged(*both) if len(both) == 2 else both[0] if both else _nothing(query, value, part))
    if not found:
        found = [_nothing(query, value, Part(slice(0, 0), None, None))]
    out = found[0].out if len(found) == 1 else torch.cat([one.out for one in found], 2)
    if not work.receives:
        # Nothing came, and gradients of what was sent may yet: the graph has to lead there.
        out = out + (key.sum() + value.sum())
    if not asked.lse:
        return Attended(out)
    return Attended(out, torch.cat([one.lse for one in found if one.lse is not None], 2))


def _met(
    part: Part,
    row: KeyRow | None,
    query: Tensor,
    here: PlacedKeys,
    keys: PlacedKeys,
    work: RankWork,
    asked: ScoreOptions,
    *,
    lse: bool,
) -> Attended | None:
    """What the queries of a part gather from a row of keys."""
    if row is None:
        return None
    places = pair = None
    if asked.dropout or (asked.bias is not None and row.apart):
        q, k = work.positions[part.rows], keys.positions[row.keys]
        places = WholePositions(q.to(query.device), k.to(query.device), work.n)
    if here.segments is not None and keys.segments is not None:
        pair = Segments(here.segments[:, part.rows], keys.segments[:, row.keys])
    problem = Problem(
        query[:, :, part.rows], keys.key[:, :, row.keys], keys.value[:, :, row.keys], row.pattern,
        asked.scale, asked.bias, pair, softcap=asked.softcap, dropout=asked.dropout, seed=asked.seed,
        lse=lse, places=places,
    )  # fmt: skip
    if places is None or query.device.type in WHOLE or asked.impl != "auto":
        return run(problem, asked.impl)
    return _by_rows(problem, places)


def _by_rows(problem: Problem, places: WholePositions) -> Attended:
    """A problem that elsewhere than on a CPU only the definition takes: some rows at a time."""
    B, H, _, N, M = problem.form.sizes[:5]
    k = torch.arange(M, device=problem.form.device)
    found = []
    for rows in torch.arange(N, device=k.device).split(max(1, LARGEST // max(1, B * H * M))):
        some = slice(int(rows[0]), int(rows[-1]) + 1)
        allowed = problem.pattern.allows((rows + M - N)[:, None], k[None, :]).expand(len(rows), M)
        pair = problem.segments
        part = problem.changed(
            query=problem.query[:, :, some],
            pattern=Full(),
            mask=allowed[None, None],
            segments=None if pair is None else Segments(pair.query[:, some], pair.key),
            places=places._replace(query=places.query[some]),
        )
        found.append(run(part))
    lse = [one.lse for one in found if one.lse is not None]
    return Attended(torch.cat([one.out for one in found], 2), torch.cat(lse, 2) if lse else None)


def _nothing(query: Tensor, value: Tensor, part: Part) -> Attended:
    """The result of queries that see no key at all: zeros, with a place in the gradient's graph."""
    B, H = query.shape[:2]
    rows = query[:, :, part.rows]
    kind = torch.promote_types(query.dtype, torch.float32)
    out = rows.new_zeros(B, H, rows.shape[2], value.shape[3]) + query[:0].sum()
    return Attended(out, rows.new_full((B, H, rows.shape[2]), -torch.inf, dtype=kind))
