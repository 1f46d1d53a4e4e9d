"""Which slot a key goes to, and which keys the slots hold: a function of the last position alone."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.pattern import Causal, Pattern, Strided
from regard.pattern.spans import Positions


@dataclass(frozen=True, eq=False)
class Layout:
    """`first` slots that keep their key, then a ring of `recent` that the later keys go round.

    Nothing else needs to be remembered: the position of the newest key says what every slot holds, so that
    a decoding step has fixed shapes and reads one number per row from the device.

    >>> Layout(first=1, recent=3).held(torch.tensor([0, 2, 9])).tolist()
    [[0, -1, -1, -1], [0, 1, 2, -1], [0, 7, 8, 9]]
    """

    first: int
    recent: int
    table: Tensor | None = None  # for a geometry: (total, S), what the slots hold after each position

    @property
    def size(self) -> int:
        """How many slots there are."""
        return self.first + self.recent if self.table is None else self.table.shape[1]

    @property
    def plain(self) -> bool:
        """Whether key p always lies in slot p."""
        return self.table is None and self.recent == 0

    def slot(self, position: Positions) -> Positions:
        """Where the key of a position goes, for integers or tensors; only without a table."""
        assert self.table is None
        if self.recent == 0:
            return position  # from `first` on there is no place
        turned = self.first + (position - self.first) % self.recent
        if isinstance(position, Tensor):
            return torch.where(position < self.first, position, turned)
        return position if position < self.first else turned

    def held(self, last: Tensor) -> Tensor:
        """The positions (B,S) that the slots hold when `last` (B,) are the newest; −1 where nothing."""
        if self.table is not None:
            return self.table.to(last.device)[last]
        s = torch.arange(self.size, device=last.device)
        newest = last[:, None]
        if self.recent == 0:
            return torch.where(s <= newest, s, -1)
        ring = newest - (newest - s) % self.recent
        ring = torch.where(ring >= self.first, ring, -1)
        return torch.where(s < self.first, torch.where(s <= newest, s, -1), ring)


def layout_of(pattern: Pattern, capacity: int) -> Layout:
    """The fewest slots with which the pattern can be decoded up to `capacity` positions.

    >>> layout_of(Strided(back=3), 1000).size, layout_of(Causal(), 1000).size
    (4, 1000)
    """
    kept = pattern.kept()
    totals = [atom.total for atom in pattern.atoms() if atom.total is not None]
    if (kept is None or kept.other) and totals:
        return Layout(0, 0, _table(pattern, min(totals)))
    if kept is None or kept.other or (kept.total > capacity and not totals):
        return Layout(first=capacity, recent=0)
    return Layout(first=kept.first, recent=kept.recent)


def shows_all_held(pattern: Pattern) -> bool:
    """Whether a query sees every key that the slots hold, so that no mask is needed."""
    return type(pattern) in (Causal, Strided)


def _table(pattern: Pattern, total: int) -> Tensor:
    """What the slots hold after each position of a geometry: a key leaves when no later query sees it."""
    positions = torch.arange(total)
    last_seen = torch.stack(
        [((positions + 1) * pattern.allows(positions, k)).amax() - 1 for k in positions]
    ).tolist()
    slots: list[int] = []  # the key in each
    rows: list[list[int]] = []
    for p in range(total):
        slots = [k if k >= 0 and last_seen[k] >= p else -1 for k in slots]
        if last_seen[p] >= p:
            if -1 in slots:
                slots[slots.index(-1)] = p
            else:
                slots.append(p)
        rows.append(list(slots))
    return torch.tensor([row + [-1] * (len(slots) - len(row)) for row in rows]).view(total, len(slots))
