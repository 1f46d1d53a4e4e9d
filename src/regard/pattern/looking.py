"""What a value does not say about itself, found by looking at every pair: slow, but right.

Cells are looked at a few million at a time, so that memory stays bounded at any length.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.pattern.spans import Span

if TYPE_CHECKING:
    from regard.pattern.base import Atom, Pattern  # for their types alone: a pattern asks this file

CELLS = 1 << 21  # looked at at a time: a mask and a few integers for each
MOST_CELLS = 1 << 38  # about an hour


def check_cells(pattern: Pattern, count: int) -> None:
    """Raise where looking would take for ever."""
    if count <= MOST_CELLS:
        return
    silent = ", ".join(type(atom).__name__ for atom in pattern.atoms() if not atom.gives("spans"))
    advice = f"; {silent} would be counted quickly with spans" if silent else ""
    raise ValueError(f"{pattern} has {count:,} pairs to look at one by one, at most {MOST_CELLS:,}{advice}")


def seen(pattern: Pattern, q: Tensor, k: Tensor) -> Tensor:
    """The mask of these queries (n,) and keys (m,), bool (n, m)."""
    return pattern.allows(q[:, None], k[None, :]).expand(len(q), len(k))


def _pieces(q: Tensor, m: int) -> Iterator[tuple[int, Tensor, Tensor]]:
    """(where they begin, some queries, some keys) that cover all queries and m keys."""
    wide = max(1, min(m, CELLS))
    for at in range(0, len(q), max(1, CELLS // wide)):
        for lo in range(0, m, wide):
            yield at, q[at : at + max(1, CELLS // wide)], torch.arange(lo, min(lo + wide, m))


def rows(pattern: Pattern, q: Tensor, m: int, end: Tensor) -> Tensor:
    """How many of the keys [0, end) each query sees, for end ≤ m."""
    distinct, which = torch.unique_consecutive(q, return_inverse=True)  # pictures ask often for one row
    check_cells(pattern, len(distinct) * m)
    first = torch.searchsorted(which, torch.arange(len(distinct) + 1))
    out = torch.zeros_like(q)
    for at, queries, keys in _pieces(distinct, m):
        before = torch.zeros(len(queries), len(keys) + 1, dtype=torch.int32)
        torch.cumsum(seen(pattern, queries, keys), 1, dtype=torch.int32, out=before[:, 1:])
        part = slice(int(first[at]), int(first[at + len(queries)]))
        stop = (end[part] - keys[0]).clamp(0, len(keys))
        out[part] += before[which[part] - at, stop]
    return out


def totals(pattern: Pattern, stop: int) -> list[int]:
    """pairs(0), pairs(1), …, pairs(stop − 1): a pair counts from the later of its two positions on."""
    check_cells(pattern, stop**2)
    new = torch.zeros(stop, dtype=torch.long)  # at n, the pairs with query or key n − 1
    for _, queries, keys in _pieces(torch.arange(stop - 1), stop - 1):
        found = seen(pattern, queries, keys)
        earlier = keys[None, :] <= queries[:, None]
        new[queries + 1] += (found & earlier).sum(1)
        new[keys + 1] += (found & ~earlier).sum(0)
    return new.cumsum(0).tolist()


def spans(atom: Atom, q: Tensor, m: int) -> list[Span]:
    """The runs of keys that each query sees, the first of each row, the second, and so on."""
    row, lo, hi = [], [], []
    wide = max(1, m)
    for part in torch.arange(len(q)).split(max(1, CELLS // wide)):
        edges = torch.zeros(len(part), m + 2, dtype=torch.int8)
        edges[:, 1:-1] = seen(atom, q[part], torch.arange(m))
        turns = edges.diff(dim=1)
        begins, ends = (turns == 1).nonzero(), (turns == -1).nonzero()
        row.append(begins[:, 0] + part[0])
        lo.append(begins[:, 1])
        hi.append(ends[:, 1])
    if not row:
        return []
    rows_of, starts, stops = torch.cat(row), torch.cat(lo), torch.cat(hi)
    count = torch.bincount(rows_of, minlength=len(q))
    nth = torch.arange(len(rows_of)) - (count.cumsum(0) - count)[rows_of]
    out = []
    for i in range(int(count.max())):
        chosen = nth == i
        both = torch.zeros(2, len(q), dtype=torch.long)
        both[0, rows_of[chosen]], both[1, rows_of[chosen]] = starts[chosen], stops[chosen]
        out.append(Span(both[0], both[1]))
    return out
