"""The tile lists of a pattern as a kernel reads them, made once per pattern, size and device."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.memory import KeptByBytes
from regard.pattern import Pattern
from regard.pattern.tiling import DENSE, alike, cells

SIZES = (64, 128)
MOST_ENTRIES = 1 << 24  # of the finer lists, before the coarser ones are taken
MOST_MASKS = 1 << 30  # bytes
MOST_KEPT = 1 << 30  # bytes of lists held for the next call
LONGEST = 64  # tiles of queries that one program adds up for a tile of keys


@dataclass(frozen=True)
class Lists:
    """Compressed rows of full and of partial tiles; a partial tile names its mask."""

    full_offsets: Tensor
    full_columns: Tensor
    partial_offsets: Tensor
    partial_columns: Tensor
    partial_masks: Tensor

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """All of it, in order."""
        return (
            self.full_offsets,
            self.full_columns,
            self.partial_offsets,
            self.partial_columns,
            self.partial_masks,
        )

    def to(self, device: torch.device) -> Lists:
        """The same on a device."""
        return Lists(*(x.to(device) for x in self.tensors()))


@dataclass(frozen=True)
class TileLists:
    """For each tile of queries its key tiles, for each tile of keys its query tiles, and the masks.

    A tile of keys that many queries see is cut into pieces, so that no program works long alone. A piece is
    (key tile, full from, to, partial from, to, sheet): those of one key tile fill a sheet each, −1 is alone.
    """

    size: int
    by_query: Lists
    by_key: Lists
    masks: Tensor  # int8 (kinds, size, size), queries by keys
    pieces: Tensor  # int32 (pieces, 6)
    shared: Tensor  # the key tiles with several pieces
    first_sheet: Tensor  # int32, where the sheets of each of those begin, and where the last ones end
    sheets: int

    @property
    def nbytes(self) -> int:
        """The bytes of all of it."""
        rest = (self.masks, self.pieces, self.shared, self.first_sheet)
        return sum(x.nbytes for x in (*self.by_query.tensors(), *self.by_key.tensors(), *rest))


KEPT: KeptByBytes[TileLists] = KeptByBytes(MOST_KEPT, lambda lists: lists.nbytes)


def tile_lists(pattern: Pattern, n: int, m: int, device: torch.device) -> TileLists:
    """The lists of the last n of m queries."""
    return KEPT.get((pattern, n, m, device), lambda: _made(pattern, n, m, device))


@torch.inference_mode(False)
def _made(pattern: Pattern, n: int, m: int, device: torch.device) -> TileLists:
    size = SIZES[0]
    if n * m > MOST_ENTRIES * size**2:
        coarse = pattern.tiles(n, m, 16 * size)  # quick, and each of its tiles holds at most 16² finer ones
        size = size if (coarse.full + coarse.partial) * 16**2 <= MOST_ENTRIES else SIZES[1]
    tiles = pattern.tiles(n, m, size)
    rows, columns = tiles.shape
    full, partial = tiles.full_at, tiles.partial_at
    if m % size:
        # A short last tile of keys needs a mask even where all of it is seen.
        short = full[1] == columns - 1
        partial = torch.cat([partial[0], full[0][short]]), torch.cat([partial[1], full[1][short]])
        full = full[0][~short], full[1][~short]
    kinds, masks = _masks(pattern, partial, n, m, size)

    def lists(major: int, count: int) -> Lists:
        parts = []
        for pair, extra in ((full, None), (partial, kinds)):
            order = torch.argsort(pair[major] * max(rows, columns) + pair[1 - major])
            offsets = torch.zeros(count + 1, dtype=torch.int32)
            torch.cumsum(torch.bincount(pair[major], minlength=count), 0, out=offsets[1:])
            parts += [offsets, pair[1 - major][order].int(), *([] if extra is None else [extra[order].int()])]
        return Lists(*parts)

    by_key = lists(1, columns)
    pieces, shared, first_sheet = _pieces(by_key)
    masks, pieces, shared, first = (x.to(device) for x in (masks, pieces, shared, first_sheet))
    by_query = lists(0, rows).to(device)
    return TileLists(size, by_query, by_key.to(device), masks, pieces, shared, first, int(first_sheet[-1]))


def _pieces(lists: Lists) -> tuple[Tensor, Tensor, Tensor]:
    """(pieces of at most LONGEST full and as many partial tiles, key tiles with several, their sheets)."""
    full, partial = lists.full_offsets.long(), lists.partial_offsets.long()
    counts = (
        torch.maximum(full.diff(), partial.diff())
        .add(LONGEST - 1)
        .div(LONGEST, rounding_mode="floor")
        .clamp(min=1)
    )
    column = torch.repeat_interleave(torch.arange(len(counts)), counts)
    part = torch.arange(len(column)) - (counts.cumsum(0) - counts)[column]
    shared = (counts > 1).nonzero()[:, 0]
    alone = (counts == 1)[column]
    sheet = torch.where(alone, -1, (~alone).cumsum(0) - 1)
    first_sheet = torch.zeros(len(shared) + 1, dtype=torch.int32)
    torch.cumsum(counts[shared], 0, out=first_sheet[1:])
    bounds = []
    for offsets in (full, partial):
        start = offsets[column] + part * LONGEST
        bounds += [torch.minimum(x, offsets[column + 1]) for x in (start, start + LONGEST)]
    return torch.stack([column, *bounds, sheet], 1).int(), shared.int(), first_sheet


def _masks(
    pattern: Pattern, partial: tuple[Tensor, Tensor], n: int, m: int, size: int
) -> tuple[Tensor, Tensor]:
    """(the kind of each partial tile, the mask of each kind)."""
    q0, k0 = partial[0] * size + m - n, partial[1] * size
    if not len(q0):
        return torch.zeros(0, dtype=torch.long), torch.zeros(1, size, size, dtype=torch.int8)
    kinds, first = alike(pattern.atoms(), q0, k0, m, size)
    if len(first) * size * size > MOST_MASKS:
        raise ValueError(
            f"{pattern} has {len(first):,} different partial tiles at {n=}, {m=}; that is too many masks"
        )
    masks = []
    for part in first.split(DENSE // size**2):
        seen, exists = cells(pattern, q0[part], k0[part], m, size)
        masks.append((seen & exists).to(torch.int8))
    return kinds, torch.cat(masks)
