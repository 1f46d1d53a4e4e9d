"""Which examples a step sees, and what it draws: pure functions of the seed and the step, with no state.

So a run that goes on after a crash needs to remember a step number and nothing else about its data.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from regard.data.draws import generator
from regard.errors import check_int


def shuffled(count: int, seed: int, epoch: int) -> Tensor:
    """The numbers below `count` in the order of one epoch.

    >>> sorted(shuffled(4, seed=0, epoch=3).tolist())
    [0, 1, 2, 3]
    """
    return torch.randperm(count, generator=generator(seed, "order", epoch))


class LongShuffle:
    """The numbers below `count` in an order of chance, each found when asked for, as scale · x + offset.

    A Feistel network of a power of four; what it sends beyond `count` goes through it again.

    >>> order = LongShuffle(5, generator(0), torch.device("cpu"))
    >>> sorted(order[0:5].tolist()), torch.equal(order[1:3], order[0:5][1:3])
    ([0, 1, 2, 3, 4], True)
    """

    ROUNDS = 6

    def __init__(
        self, count: int, draws: torch.Generator, device: torch.device, *, scale: int = 1, offset: int = 0
    ) -> None:
        self.count, self.device, self.scale, self.offset = count, device, scale, offset
        self.half = max(1, -(-(count - 1).bit_length() // 2))
        self.keys = torch.randint(2**31, (self.ROUNDS,), generator=draws).tolist()

    def __getitem__(self, at: slice) -> Tensor:
        x = self._mixed(torch.arange(*at.indices(self.count)))
        while (beyond := x >= self.count).any():
            x[beyond] = self._mixed(x[beyond])
        return (x * self.scale + self.offset).to(self.device)

    def _mixed(self, x: Tensor) -> Tensor:
        mask = (1 << self.half) - 1
        left, right = x >> self.half, x & mask
        for key in self.keys:
            hashed = (right + key) * 0x9E3779B1
            left, right = right, left ^ ((hashed ^ (hashed >> 13)) >> 7 & mask)
        return left << self.half | right


class Stream:
    """Epoch after epoch without end: position p is item p mod count of epoch p div count.

    A batch may straddle two epochs, so that no example is lost at an epoch's end.

    >>> stream = Stream(3, lambda epoch: torch.arange(3) + 10 * epoch, torch.device("cpu"))
    >>> stream.take(1, 7).tolist()
    [1, 2, 10, 11, 12, 20]
    """

    def __init__(
        self, count: int, items: Callable[[int], Tensor | LongShuffle], device: torch.device
    ) -> None:
        check_int("count", count, 1)
        self.count, self.items, self.device = count, items, device
        self._kept: dict[int, Tensor | LongShuffle] = {}

    def take(self, start: int, stop: int) -> Tensor:
        """The items at positions start to stop − 1, on the device."""
        first, last = start // self.count, (stop - 1) // self.count
        parts = [
            self._epoch(epoch)[
                max(start - epoch * self.count, 0) : min(stop - epoch * self.count, self.count)
            ]
            for epoch in range(first, last + 1)
        ]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def batch(self, step: int, size: int) -> Tensor:
        """The items of a step."""
        return self.take(step * size, (step + 1) * size)

    def _epoch(self, epoch: int) -> Tensor | LongShuffle:
        if epoch not in self._kept:
            # Two epochs are kept: one that ends inside a batch, and the next.
            self._kept = {old: items for old, items in self._kept.items() if old == epoch - 1}
            items = self.items(epoch)
            self._kept[epoch] = items.to(self.device) if isinstance(items, Tensor) else items
        return self._kept[epoch]


def by_length(stream: Stream, lengths: Tensor, *, batch: int, pool: int, seed: int) -> Stream:
    """The stream regrouped so that the examples of a batch have like lengths.

    Each pool of `pool` batches is sorted by length, with chance among equals, and its batches are shuffled.
    Unlike an epoch's buckets, all batches have the same size, so that several processes can share each.

    >>> lengths = torch.tensor([5, 1, 9, 2, 8, 4])
    >>> plain = Stream(6, lambda epoch: shuffled(6, 0, epoch), torch.device("cpu"))
    >>> near = by_length(plain, lengths, batch=2, pool=3, seed=0)
    >>> sorted(sorted(lengths[near.take(i, i + 2)].tolist()) for i in (0, 2, 4))
    [[1, 2], [4, 5], [8, 9]]
    """

    def items(number: int) -> Tensor:
        members = stream.take(number * batch * pool, (number + 1) * batch * pool).cpu()
        draws = generator(seed, "buckets", number)
        jitter = torch.rand(len(members), generator=draws)
        ranked = members[torch.argsort(lengths[members] + jitter)].view(pool, batch)
        return ranked[torch.randperm(pool, generator=draws)].flatten()

    return Stream(batch * pool, items, stream.device)


class Examples:
    """The numbers below `count`, in another order each epoch; given lengths, those of a batch are alike.

    >>> Examples(3, seed=0, device=torch.device("cpu")).batch(0, 3).sort().values.tolist()
    [0, 1, 2]
    """

    def __init__(self, count: int, *, seed: int, device: torch.device, lengths: Tensor | None = None) -> None:
        self.stream = Stream(count, lambda epoch: shuffled(count, seed, epoch), device)
        self.seed, self.lengths = seed, lengths
        self._near: dict[int, Stream] = {}

    def batch(self, step: int, size: int) -> Tensor:
        """The examples of a step."""
        stream = self.stream
        if self.lengths is not None:
            if size not in self._near:
                self._near[size] = by_length(stream, self.lengths, batch=size, pool=16, seed=self.seed)
            stream = self._near[size]
        return stream.batch(step, size)
