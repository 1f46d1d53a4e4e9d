"""What the ranks of a long sequence must exchange: exactly the keys that a pattern lets their queries see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.paper.quantities import about, fine_percent
from regard.pattern import exchange_svg, far
from regard.pattern.dealing import Deal, Tails, dealt, imbalance
from regard.pattern.intervals import between, stacked, unstacked
from regard.pattern.needs import needed
from regard.pattern.runs import Runs

if TYPE_CHECKING:
    from regard.pattern.base import Pattern  # for its type alone: a pattern plans through this file

EACH = 256  # bytes of a key and its value, where none are named: one head of 64 in bfloat16
SHOWN = 16  # ranks that are listed one by one


@dataclass(frozen=True, eq=False)
class Exchange:
    """Who holds which positions, and which keys of others each rank must receive: no more and none twice.

    >>> from regard.pattern import Strided
    >>> plan = Strided(back=3).exchange(n=16, ranks=4)
    >>> [str(keys) for keys in plan.needed]
    ['nothing', '1…3', '5…7', '9…11']
    >>> str(plan.sent(1, to=2)), plan.keys, plan.bytes(each=256)
    ('5…7', 9, 2304)
    """

    pattern: Pattern
    deal: Deal
    needed: tuple[Runs, ...]  # by rank, without what it holds itself
    pairs: tuple[int, ...]  # by rank, which it computes

    @property
    def n(self) -> int:
        """How many positions there are."""
        return self.deal.n

    @property
    def ranks(self) -> int:
        """How many ranks there are."""
        return self.deal.ranks

    @cached_property
    def held(self) -> tuple[Runs, ...]:
        """The positions of each rank."""
        return tuple(self.deal.held(rank) for rank in range(self.ranks))

    def sent(self, rank: int, to: int) -> Runs:
        """The keys that a rank sends to another."""
        return Runs.of(self.needed[to] & self.deal.intervals(rank))

    @cached_property
    def between(self) -> Tensor:
        """How many keys each rank (row) sends to each other (column): int64 (ranks, ranks)."""
        bounds, holders = torch.tensor(self.deal.bounds), torch.tensor(self.deal.holders)
        out = torch.zeros(self.ranks, self.ranks, dtype=torch.long)
        for to, keys in enumerate(self.needed):
            out[:, to].index_add_(0, holders, keys.below(bounds).diff())
        return out

    @property
    def received_keys(self) -> tuple[int, ...]:
        """How many keys each rank receives."""
        return tuple(keys.count for keys in self.needed)

    @property
    def sent_keys(self) -> tuple[int, ...]:
        """How many keys each rank sends, counted once for each receiver."""
        return tuple(self.between.sum(1).tolist())

    @property
    def keys(self) -> int:
        """How many keys are sent, all together."""
        return sum(self.received_keys)

    def bytes(self, each: int = EACH) -> int:
        """How many bytes are sent, all together, where a key and its value take `each`."""
        return self.keys * each

    @property
    def ring_keys(self) -> int:
        """How many keys a ring sends, in which every key visits every rank."""
        return self.n * (self.ranks - 1)

    @property
    def share_of_ring(self) -> float:
        """What is sent as a part of what a ring sends (0 where a ring would send nothing)."""
        return self.keys / self.ring_keys if self.ring_keys else 0.0

    @property
    def imbalance(self) -> float:
        """The pairs of the rank that has most of them, in times the mean."""
        return imbalance(self.pairs)

    @property
    def nbytes(self) -> int:
        """The memory of the plan itself."""
        return sum(keys.nbytes for keys in self.needed)

    def as_dict(self, each: int = EACH, *, runs: bool = True) -> dict[str, object]:
        """Everything as plain values; runs, if they are wanted, are [start, length, step, times]."""
        ranks = [
            {
                "held": held.as_dict() if runs else held.count,
                "needed": keys.as_dict() if runs else keys.count,
                "sent_keys": sent,
                "received_bytes": keys.count * each,
                "sent_bytes": sent * each,
                "pairs": pairs,
            }
            for held, keys, sent, pairs in zip(
                self.held, self.needed, self.sent_keys, self.pairs, strict=True
            )
        ]
        return {
            "pattern": str(self.pattern),
            "n": self.n,
            "ranks": self.ranks,
            "deal": self.deal.name,
            "bytes_of_a_key": each,
            "exchanged_keys": self.keys,
            "exchanged_bytes": self.bytes(each),
            "share_of_ring": self.share_of_ring,
            "imbalance": self.imbalance,
            "by_rank": ranks,
        }

    def rows(self, each: int = EACH) -> list[tuple[str, ...]]:
        """(rank, positions, pairs, bytes received, bytes sent), the last ranks left out where there are many.

        >>> from regard.pattern import Causal
        >>> Causal().exchange(n=16, ranks=2).rows()[0]
        ('0', '8', '68', '2,048', '1,024')
        """
        shown = zip(self.held, self.pairs, self.received_keys, self.sent_keys, strict=True)
        return [
            (str(rank), *(f"{x:,}" for x in (held.count, pairs, received * each, sent * each)))
            for rank, (held, pairs, received, sent) in enumerate(shown)
        ][:SHOWN]

    def summary(self, each: int = EACH) -> str:
        """The exchange in one sentence."""
        total = self.bytes(each)
        told = f"{self.keys:,} keys go to other ranks, at {each:,} bytes each with its value {total:,} bytes"
        told += f" ({about(total, True)})" if total >= 1 << 10 else ""
        if self.ring_keys:
            told += f", {fine_percent(self.share_of_ring)} of a ring's"
        return f"{told}; the busiest rank has {self.imbalance:.3f} times the mean of pairs"

    def draw(self, width: int = 64) -> str:
        """A line for each rank over the positions: '#' its own, 'o' received, '.' neither."""
        edges = torch.arange(min(width, self.n) + 1) * self.n // max(1, min(width, self.n))
        lines = []
        for rank in range(self.ranks):
            both = (self.deal.intervals(rank), self.needed[rank])
            cells = zip(*(keys.below(edges).diff().tolist() for keys in both), strict=True)
            lines.append("".join("#" if own else "o" if other else "." for own, other in cells))
        return "\n".join(lines)

    def svg(self, each: int = EACH) -> str:
        """The same as a picture, with pairs and bytes beside each rank."""
        return exchange_svg.svg(self, each)

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        return self.told()

    def told(self, each: int = EACH) -> str:
        """The plan as lines: what each rank holds, computes, receives and sends, and all together."""
        head = ("rank", "positions", "pairs", "bytes in", "bytes out")
        rows = [head, *self.rows(each)]
        wide = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = ["  ".join(f"{cell:>{w}}" for cell, w in zip(row, wide, strict=True)) for row in rows]
        more = [f"… and {self.ranks - SHOWN:,} ranks more"] if self.ranks > SHOWN else []
        title = f"{self.pattern} at n = {self.n:,} on {self.ranks:,} ranks, dealt {self.deal.name}"
        return "\n".join([title, *lines, *more, self.summary(each)])

    def __eq__(self, that: object) -> bool:
        return isinstance(that, Exchange) and (self.pattern, self.deal) == (that.pattern, that.deal)

    def __hash__(self) -> int:
        return hash((self.pattern, self.deal))


def exchange(pattern: Pattern, n: int, ranks: int, deal: str | Sequence[int] | Deal = "auto") -> Exchange:
    """The plan for n positions on so many ranks."""
    tails = Tails((pattern,), n)
    found = dealt((pattern,), n, ranks, deal, tails)
    keys = far.received(pattern, found)
    if keys is None:
        bounds, holders, apart = found.bounds, found.holders, n + 2
        own = stacked([between(stretch) for stretch in pairwise(bounds)], holders, apart)
        foreign = stacked(needed(pattern, list(bounds), n), holders, apart) - own
        keys = tuple(Runs.of(one) for one in unstacked(foreign, ranks, apart))
    return Exchange(pattern, found, keys, tuple(found.pairs(tails)))
