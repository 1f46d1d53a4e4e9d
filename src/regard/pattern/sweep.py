"""Cut many rows at once into segments between sorted edges, and know which spans cover each segment."""

from collections.abc import Hashable, Iterator
from functools import cache
from itertools import pairwise
from typing import Generic, TypeVar

import torch
from torch import Tensor

T = TypeVar("T", bound=Hashable)


class Numbering(Generic[T]):
    """Numbers for things in the order in which they come; a set of them is an integer with those bits."""

    def __init__(self) -> None:
        self.items: dict[T, int] = {}

    def number(self, item: T) -> int:
        """The number of a thing, a new one where it comes for the first time."""
        return self.items.setdefault(item, len(self.items))

    def on(self, bits: int) -> list[T]:
        """The things of a set."""
        return [item for item, number in self.items.items() if bits >> number & 1]


@cache
def truth_columns(count: int) -> tuple[list[int], int]:
    """The columns of a truth table of so many letters, a bit for each line, and the one that always holds.

    >>> [f"{column:04b}" for column in truth_columns(2)[0]], f"{truth_columns(2)[1]:04b}"
    (['1010', '1100'], '1111')
    """
    always = (1 << (1 << count)) - 1
    # 2^i lines with zero, then as many with one, over and over: a repeating fraction.
    return [always // ((1 << (1 << i)) + 1) << (1 << i) for i in range(count)], always


@cache
def comparators(count: int) -> tuple[tuple[int, int], ...]:
    """Batcher's odd-even merge network: compare-exchanges that sort `count` columns in this order.

    A network works on whole columns with minimum and maximum, which for the few edges of a row is far
    faster than sorting each row.
    """
    out = []
    p = 1
    while p < count:
        k = p
        while k >= 1:
            for j in range(k % p, count - k, 2 * k):
                for i in range(min(k, count - j - k)):
                    if (i + j) // (p * 2) == (i + j + k) // (p * 2):
                        out.append((i + j, i + j + k))
            k //= 2
        p *= 2
    return tuple(out)


class Edges:
    """Positions, one per row, at which sets of bits toggle; equal positions are merged."""

    def __init__(self, start: Tensor, end: Tensor) -> None:
        self.start, self.end = start, end
        self.positions: list[Tensor] = []
        self.masks: list[int] = []
        self.alike: dict[tuple[int, ...], list[int]] = {}  # by a few of their numbers, to compare few in full
        self._toggle(start, 0)
        self._toggle(end, 0)

    def add(self, lo: Tensor, hi: Tensor, bit: int) -> None:
        """Set the bit on lo ≤ x < hi, cut to the universe start ≤ x < end."""
        lo = torch.maximum(torch.minimum(lo, self.end), self.start)
        hi = torch.maximum(torch.minimum(hi, self.end), lo)
        self._toggle(lo, 1 << bit)
        self._toggle(hi, 1 << bit)

    def _toggle(self, position: Tensor, mask: int) -> None:
        alike = self.alike.setdefault(tuple(position[:: len(position) // 4 + 1].tolist()), [])
        for i in alike:
            if torch.equal(self.positions[i], position):
                self.masks[i] ^= mask
                return
        alike.append(len(self.positions))
        self.positions.append(position)
        self.masks.append(mask)

    @property
    def size(self) -> int:
        """How many positions there are."""
        return len(self.positions) * len(self.end)

    @property
    def cost(self) -> int:
        """About how many steps `segments` takes: a compare-exchange is two, a look at a column eight."""
        return 2 * len(comparators(len(self.positions))) * len(self.end) + 8 * self.size

    def merge_rows(self) -> Tensor:
        """Keep one of each run of equal rows, where that halves them; how many rows each stands for."""
        new = torch.ones(len(self.end), dtype=torch.bool)
        new[1:] = False
        for position in self.positions:
            new[1:] |= position[1:] != position[:-1]
            if 2 * int(new.sum()) > len(new):
                return torch.ones(len(new), dtype=torch.long)
        first = new.nonzero()[:, 0]
        self.positions = [position.gather(0, first) for position in self.positions]
        self.start, self.end = self.start.gather(0, first), self.end.gather(0, first)
        return first.diff(append=torch.tensor([len(new)]))

    def segments(self, states: list[int]) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield (lo, hi, index into `states`) for each segment, left to right; `states` grows as needed.

        A state is the set of bits that are on, as an integer of any size.
        """
        shift = (len(self.positions) - 1).bit_length()
        largest = int(self.end.max()) + 1 if len(self.end) else 1
        narrow = torch.int32 if largest << shift < 1 << 31 else torch.int64  # half the memory to sort
        columns = [((position << shift) + i).to(narrow) for i, position in enumerate(self.positions)]
        for i, j in comparators(len(columns)):
            columns[i], columns[j] = (
                torch.minimum(columns[i], columns[j]),
                torch.maximum(columns[i], columns[j]),
            )
        known = {state: i for i, state in enumerate(states)}
        if 0 not in known:
            known[0] = len(states)
            states.append(0)
        state = torch.full_like(columns[0], known[0], dtype=torch.long)
        position = (columns[0] >> shift).long()
        low = (1 << shift) - 1
        for column, following in pairwise(columns):
            key = (state << shift) + (column & low)
            seen = torch.bincount(key, minlength=len(states) << shift).nonzero()[:, 0].tolist()
            table = torch.zeros(len(states) << shift, dtype=torch.long)
            for entry in seen:
                after = states[entry >> shift] ^ self.masks[entry & low]
                if after not in known:
                    known[after] = len(states)
                    states.append(after)
                table[entry] = known[after]
            state = table.gather(0, key)
            lo, position = position, (following >> shift).long()
            yield lo, position, state
