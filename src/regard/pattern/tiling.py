"""Which tiles of the n×m mask are full, partial or empty, found from the geometry and not from the mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.pattern.spans import Span
from regard.pattern.sweep import Edges, Numbering, truth_columns

if TYPE_CHECKING:
    from regard.pattern.base import Atom, Pattern

CHUNK = 1024  # query tiles at a time, to begin with
SPARSE = 1 << 20  # tiles per chunk below which chunks grow
DENSE = 1 << 24  # cells looked at at a time, where only looking helps

EMPTY, PARTIAL, FULL, UNSURE = range(4)  # states of a tile
SURE, MAYBE, ALL = "sure", "maybe", "all"  # some query sees it, may see it, all queries see it


@dataclass(frozen=True)
class TileMap:
    """The non-empty tiles of n queries by m keys, as compressed rows.

    Query tile i covers queries from i·size on; its full key tiles are
    `full_columns[full_offsets[i]:full_offsets[i + 1]]`, ascending, and its partial ones likewise.
    """

    n: int
    m: int
    size: int
    full_offsets: Tensor
    full_columns: Tensor
    partial_offsets: Tensor
    partial_columns: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """How many tiles of queries and of keys there are."""
        return -(-self.n // self.size), -(-self.m // self.size)

    @property
    def full(self) -> int:
        """How many tiles are full."""
        return len(self.full_columns)

    @property
    def partial(self) -> int:
        """How many tiles are partial."""
        return len(self.partial_columns)

    @property
    def full_at(self) -> tuple[Tensor, Tensor]:
        """The row and the column of each full tile, int64."""
        return _places(self.full_offsets, self.full_columns)

    @property
    def partial_at(self) -> tuple[Tensor, Tensor]:
        """The row and the column of each partial tile, int64."""
        return _places(self.partial_offsets, self.partial_columns)

    def cells(self) -> int:
        """The cells of all non-empty tiles: what a tiled kernel computes."""
        height = (self.n - torch.arange(self.shape[0]) * self.size).clamp(max=self.size)
        width = (self.m - torch.arange(self.shape[1]) * self.size).clamp(max=self.size)
        return sum(int((height[row] * width[col]).sum()) for row, col in (self.full_at, self.partial_at))

    def dense(self) -> Tensor:
        """The state of every tile as an int8 grid: 0 empty, 1 partial, 2 full."""
        out = torch.zeros(self.shape, dtype=torch.int8)
        out[self.partial_at], out[self.full_at] = PARTIAL, FULL
        return out

    def as_dict(self) -> dict[str, object]:
        """How many tiles there are of each state."""
        return {
            "size": self.size,
            "shape": list(self.shape),
            "full": self.full,
            "partial": self.partial,
            "empty": self.shape[0] * self.shape[1] - self.full - self.partial,
        }


def _places(offsets: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    return torch.repeat_interleave(torch.arange(len(offsets) - 1), offsets.diff()), columns.long()


@dataclass(frozen=True)
class TileSpan:
    """Keys that some query of a tile sees (`any_`) and that all of them see (`all_`).

    `sure` says that the two are exact: what lies between them is seen by some queries and not by others.
    """

    any_lo: Tensor
    any_hi: Tensor
    all_lo: Tensor
    all_hi: Tensor
    sure: bool

    @staticmethod
    def unsure(lo: Tensor, hi: Tensor) -> TileSpan:
        """Nothing is known but that all seen keys lie in [lo, hi)."""
        return TileSpan(lo, hi, lo, lo, sure=False)


def tile_spans(first: list[Span], last: list[Span]) -> list[TileSpan]:
    """The spans of tiles whose first and last query have these spans, every end monotone in between."""
    out = []
    for a, b in zip(first, last, strict=True):
        some = torch.minimum(a.lo, b.lo), torch.maximum(a.hi, b.hi)
        every = torch.maximum(a.lo, b.lo), torch.minimum(a.hi, b.hi)
        out.append(TileSpan(*some, *every, sure=True) if a.thinning is None else TileSpan.unsure(*some))
    return out


def tiles(pattern: Pattern, n: int, m: int, size: int) -> TileMap:
    """The tile map of the last n of m queries with m keys."""
    states = _by_distance(pattern, n, m, size) if pattern.by_distance else by_sweep(pattern, n, m, size)
    rows, columns, kinds = (torch.cat(part) if part else torch.zeros(0, dtype=torch.int32) for part in states)
    count = -(-n // size)
    out = []
    for kind in (FULL, PARTIAL):
        chosen = kinds == kind
        offsets = torch.zeros(count + 1, dtype=torch.int32)
        torch.cumsum(torch.bincount(rows[chosen], minlength=count), 0, out=offsets[1:])
        out += [offsets, columns[chosen]]
    return TileMap(n, m, size, *out)


States = tuple[list[Tensor], list[Tensor], list[Tensor]]


def _by_distance(pattern: Pattern, n: int, m: int, size: int) -> States:
    """Tiles on one diagonal are alike; a prefix sum over the distances tells what each holds."""
    shift, reach = m - n, m + size
    low, high = -n - size, reach
    before = torch.zeros(high - low + 1, dtype=torch.int32)
    torch.cumsum(pattern.allows(torch.arange(low, high), torch.tensor(0)), 0, out=before[1:])

    def judge(q0: Tensor, height: Tensor, k0: Tensor, width: Tensor) -> Tensor:
        first, last = q0 - k0 - width + 1, q0 - k0 + height
        seen = before[last - low] - before[first - low]
        return torch.where(seen == 0, EMPTY, torch.where(seen == last - first, FULL, PARTIAL))

    query_tiles, key_tiles = -(-n // size), -(-m // size)
    whole = torch.tensor(size)
    diagonals = torch.arange(-key_tiles + 1, max(query_tiles, 1))[
        : query_tiles + key_tiles
    ]  # query tile minus key tile
    kinds = judge(diagonals * size + shift, whole, torch.tensor(0), whole)
    diagonals, kinds = diagonals[kinds != EMPTY].flip(0), kinds[kinds != EMPTY].flip(0)
    out: States = ([], [], [])
    for start in range(0, query_tiles, CHUNK):
        row = torch.arange(start, min(start + CHUNK, query_tiles), dtype=torch.int32)
        column = row[:, None] - diagonals.int()
        exists = (column >= 0) & (column < key_tiles)
        column, kind = column[exists], kinds.expand(len(row), -1)[exists]
        row = row[:, None].expand(exists.shape)[exists]
        ragged = ((row + 1) * size > n) | ((column + 1) * size > m)
        if ragged.any():
            q0, k0 = row[ragged].long() * size, column[ragged].long() * size
            kind = kind.clone()
            kind[ragged] = judge(q0 + shift, (n - q0).clamp(max=size), k0, (m - k0).clamp(max=size))
            row, column, kind = row[kind != EMPTY], column[kind != EMPTY], kind[kind != EMPTY]
        for part, values in zip(out, (row, column, kind.to(torch.int8)), strict=True):
            part.append(values)
    return out


def by_sweep(pattern: Pattern, n: int, m: int, size: int) -> States:
    """Cut each row of tiles where a span begins or ends; look inside only where logic does not decide."""
    atoms, key_tiles = pattern.atoms(), -(-m // size)
    sweep = _TileSweep(pattern, atoms)
    out: States = ([], [], [])
    start, chunk, count = 0, CHUNK, -(-n // size)
    if not all(atom.monotone or atom.gives("tile_groups") for atom in atoms):
        chunk = max(1, min(chunk, SPARSE // key_tiles))  # every tile is to be looked at
    while start < count:
        row = torch.arange(start, min(start + chunk, count))
        start += chunk
        q0 = row * size + m - n
        q1 = (q0 + size).clamp(max=m)
        rows, columns, kinds = sweep.rows(q0, q1, m, size, key_tiles)
        unsure = kinds == UNSURE
        if unsure.any():
            where = row[rows[unsure]]
            kinds[unsure] = _look(pattern, atoms, where * size + m - n, columns[unsure] * size, m, size)
        order = torch.argsort(rows * key_tiles + columns)
        order = order[kinds[order] != EMPTY]
        out[0].append(row[rows[order]].int())
        out[1].append(columns[order].int())
        out[2].append(kinds[order].to(torch.int8))
        if len(rows) < SPARSE:  # few tiles so far: larger chunks cost little memory and save time
            chunk *= 2
    return out


class _TileSweep:
    """The sweep over spans, with the verdict on each combination of them remembered."""

    def __init__(self, pattern: Pattern, atoms: list[Atom]) -> None:
        self.pattern, self.atoms = pattern, atoms
        self.spans: Numbering[tuple[Atom, int, int, str]] = Numbering()  # atom, group, span and its kind
        self.states: list[int] = []
        self.verdicts: list[int] = []

    def rows(
        self, q0: Tensor, q1: Tensor, m: int, size: int, key_tiles: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The (row, column, verdict) of every tile that may hold something."""
        edges = Edges(torch.zeros_like(q0), torch.full_like(q0, key_tiles))
        for atom in self.atoms:
            for g, group in enumerate(atom.tile_groups(q0, q1, m, size)):
                for s, span in enumerate(group):
                    lo, hi = span.any_lo.clamp(0, m), span.any_hi.clamp(0, m)
                    # An empty span touches no tile, wherever its ends stand.
                    last = torch.where(hi > lo, -(-hi // size), lo // size)
                    edges.add(lo // size, last, self.spans.number((atom, g, s, SURE if span.sure else MAYBE)))
                    if span.sure:
                        lo, hi = span.all_lo.clamp(0, m), span.all_hi.clamp(0, m)
                        last = torch.where(
                            hi == m, key_tiles, hi // size
                        )  # a short last tile is all there is
                        last = torch.where(hi > lo, last, 0)
                        edges.add(-(-lo // size), last, self.spans.number((atom, g, s, ALL)))
        found = []
        for lo, hi, state in edges.segments(self.states):
            while len(self.verdicts) < len(self.states):
                self.verdicts.append(self._verdict(self.states[len(self.verdicts)]))
            verdict = torch.tensor(self.verdicts)[state]
            length = (hi - lo) * (verdict != EMPTY)
            row = torch.repeat_interleave(length)
            column = torch.arange(len(row)) - (length.cumsum(0) - length)[row] + lo[row]
            found.append((row, column, verdict[row]))
        rows, columns, kinds = (torch.cat(parts) for parts in zip(*found, strict=True))
        return rows, columns, kinds

    def _verdict(self, state: int) -> int:
        on: dict[Atom, dict[int, list[str]]] = {atom: {} for atom in self.atoms}
        for atom, group, _, _ in self.spans.items:
            on[atom].setdefault(group, [])
        for atom, group, _, kind in self.spans.on(state):
            on[atom][group].append(kind)
        kinds = {atom: _join([_group(group) for group in groups.values()]) for atom, groups in on.items()}
        open_atoms = [atom for atom in self.atoms if kinds[atom] in (PARTIAL, UNSURE)]
        if len(open_atoms) > 10:
            return UNSURE
        columns, every = truth_columns(len(open_atoms))
        table = dict(zip(open_atoms, columns, strict=True))
        whole = {atom: every if kind == FULL else 0 for atom, kind in kinds.items()}
        result = self.pattern.fold((whole | table).__getitem__) & every
        if result in (0, every):
            return FULL if result else EMPTY
        # Where one value alone decides and it is known to be mixed in the tile, so is the expression.
        alone = [a for a in open_atoms if result in (table[a], every & ~table[a])]
        return PARTIAL if alone and kinds[alone[0]] == PARTIAL else UNSURE


def _group(kinds: list[str]) -> int:
    if ALL in kinds:
        return FULL
    if not kinds:
        return EMPTY
    # Two spans in one tile may complete each other.
    return PARTIAL if kinds == [SURE] else UNSURE


def _join(groups: list[int]) -> int:
    """The state of a tile whose groups of rows have these states."""
    if len(set(groups)) == 1:
        return groups[0]
    some = PARTIAL in groups or {EMPTY, FULL} <= set(groups)
    return PARTIAL if some else UNSURE if groups else EMPTY


def _look(pattern: Pattern, atoms: list[Atom], q0: Tensor, k0: Tensor, m: int, size: int) -> Tensor:
    """The states of the tiles at (q0, k0), by looking at one of each kind cell by cell."""
    kind, first = alike(atoms, q0, k0, m, size)
    verdicts = []
    for part in first.split(max(1, DENSE // size**2)):
        seen, exists = cells(pattern, q0[part], k0[part], m, size)
        some, every = (seen & exists).any((1, 2)), (seen | ~exists).all((1, 2))
        verdicts.append(torch.where(every, FULL, torch.where(some, PARTIAL, EMPTY)))
    return torch.cat(verdicts)[kind]


def alike(atoms: list[Atom], q0: Tensor, k0: Tensor, m: int, size: int) -> tuple[Tensor, Tensor]:
    """(the kind of each tile at (q0, k0), the first tile of each kind); tiles of a kind are equal."""
    kind = torch.zeros_like(q0)
    ragged = [(m - q0).clamp(max=size), (m - k0).clamp(max=size)]
    for key in [*ragged, *(key for atom in atoms for key in atom.tile_key(q0, k0, size))]:
        # Rank after each number: the pairs seen so far stay few, so that the next product cannot overflow.
        kind = torch.unique(kind * (int(key.max() - key.min()) + 1) + key - key.min(), return_inverse=True)[1]
    first = torch.full((int(kind.max()) + 1,), len(kind))
    return kind, first.scatter_reduce_(0, kind, torch.arange(len(kind)), "amin")


def cells(pattern: Pattern, q0: Tensor, k0: Tensor, m: int, size: int) -> tuple[Tensor, Tensor]:
    """What the tiles at (q0, k0) allow, and which of their cells exist: bool (tiles, size, size) each."""
    cell = torch.arange(size)
    q, k = (q0[:, None] + cell)[:, :, None], (k0[:, None] + cell)[:, None, :]
    exists = (q < m) & (k < m)
    # A value may look its positions up: it is never asked about one that does not exist.
    seen = pattern.allows(q.clamp(max=m - 1), k.clamp(max=m - 1))
    return seen.expand(exists.shape), exists
