"""The next token of a sequence that lies on many ranks: its query goes to the keys, and they stay."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.attention import DistanceBias
from regard.attention.engine import run
from regard.attention.problem import Attended, Problem, WholePositions
from regard.parallel.halves import ScoreOptions
from regard.parallel.held import HeldKeys
from regard.parallel.merge import merged
from regard.parallel.ranks import Ranks
from regard.parallel.shard import Shard
from regard.pattern import Deal, Full, Pattern
from regard.pattern.intervals import Intervals
from regard.pattern.needs import needed


class Turn(Shard):
    """The part of one rank in a step of decoding: on one rank the token at position `at`, else none.

    Tokens behind those that were dealt out are written on one rank after another. The rank that writes a
    token sends its query to the ranks with keys that it may see, and to no other; each answers with its part
    of the output and its normaliser. All ranks go through all layers, most of them without any token.
    """

    def __init__(self, ranks: Ranks, deal: Deal, at: int) -> None:
        self.ranks, self.deal, self.n, self.at = ranks, deal, at + 1, at
        self.home = home_of(deal, at)
        mine = [at] if ranks.rank == self.home else []
        self.positions = torch.tensor(mine, dtype=torch.long)
        self._known: dict[Pattern, tuple[int, ...]] = {}

    def answering(self, pattern: Pattern) -> tuple[int, ...]:
        """The other ranks that hold a key which the query may see.

        >>> from regard.parallel import SimulatedRanks
        >>> from regard.pattern import Causal, Strided
        >>> turn = Turn(SimulatedRanks.world(4)[0], Deal.even(16, 4), at=17)
        >>> turn.home, turn.answering(Strided(back=3)), turn.answering(Causal())
        (1, (0, 3), (0, 2, 3))
        """
        if pattern not in self._known:
            seen = needed(pattern, [self.at, self.n], self.n)[0]
            found = {
                rank for rank in range(self.ranks.size) if (seen & self.deal.intervals(rank)).size
            } | self._written(seen)
            self._known[pattern] = tuple(sorted(found - {self.home}))
        return self._known[pattern]

    def _written(self, seen: Intervals) -> set[int]:
        """The ranks of those seen positions that were written one after another."""
        first, size = self.deal.n, self.ranks.size
        late = seen & Intervals(torch.tensor([first]), torch.tensor([max(first, self.at)]))
        out: set[int] = set()
        for lo, hi in zip(late.lo.tolist(), late.hi.tolist(), strict=True):
            out |= {home_of(self.deal, at) for at in range(lo, min(hi, lo + size))}
            if len(out) == size:
                break
        return out

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
        """What the query (B,H,1,D) gathers from the past of all ranks; (B,H,0,E) on ranks without a query."""
        if past is None or segments is not None:
            raise ValueError("a step of decoding needs the past of its layer, and takes no segments")
        B, H, _, D = query.shape
        asked = ScoreOptions(D**-0.5 if scale is None else scale, bias, softcap)
        kind = torch.promote_types(query.dtype, torch.float32)
        answer = query.new_empty(B, H, 1, value.shape[3] + 1, dtype=kind)
        others, home, start = self.answering(pattern), self.home, self.ranks.start
        if self.ranks.rank == home:
            past.keep(key, value, self.positions, self.at)
            answers = {rank: torch.empty_like(answer) for rank in others}
            wait = start({rank: query.contiguous() for rank in others}, answers)
            found = [self._met(query, past, asked)]
            wait()
            found += [Attended(x[..., :-1], x[..., -1]) for x in answers.values()]
            whole = found[0]
            for part in found[1:]:
                whole = merged(whole, part)
            return whole.out.to(query.dtype)
        if self.ranks.rank in others:
            theirs = query.new_empty(B, H, 1, D)
            start({}, {home: theirs})()
            found_here = self._met(theirs, past, asked)
            assert found_here.lse is not None
            answer[..., :-1], answer[..., -1] = found_here.out, found_here.lse
            start({home: answer}, {})()
        return query.new_zeros(B, H, 0, value.shape[3])

    def _met(self, query: Tensor, past: HeldKeys, asked: ScoreOptions) -> Attended:
        """Output and normaliser over the keys of this rank, in numbers fine enough to be added up."""
        key, value, at = past.seen(self.at)
        kind = torch.promote_types(query.dtype, torch.float32)
        places = None
        if asked.bias is not None:
            here = torch.tensor([self.at], device=query.device)
            places = WholePositions(here, at.to(query.device), self.n)
        problem = Problem(
            query.to(kind), key.to(kind), value.to(kind), Full(), asked.scale, asked.bias,
            softcap=asked.softcap, lse=True, places=places,
        )  # fmt: skip
        return run(problem)


def home_of(deal: Deal, at: int) -> int:
    """The rank that a position lies on: as dealt out, and behind that one rank after another.

    >>> [home_of(Deal.zigzag(8, 2), at) for at in (0, 2, 7, 8, 9, 10)]
    [0, 1, 0, 0, 1, 0]
    """
    if at >= deal.n:
        return (at - deal.n) % deal.ranks
    return next(rank for rank in range(deal.ranks) if any(a <= at < b for a, b in deal.stretches(rank)))
