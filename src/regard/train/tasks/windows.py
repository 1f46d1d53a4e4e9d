"""A long run of tokens cut into windows: each epoch at another offset and in another order, none left out."""

from collections.abc import Iterator

import torch
from torch import Tensor

from regard.data.draws import generator
from regard.train.order import LongShuffle, Stream

MANY = 1 << 24  # windows beyond which their order is no longer held in memory


class Windows:
    """The windows of `length` tokens in tokens (T,), as a stream of their starts.

    >>> windows = Windows(torch.arange(11), length=3, seed=0)
    >>> windows.count, windows.rows(torch.tensor([2, 5]), extra=1).tolist()
    (2, [[2, 3, 4, 5], [5, 6, 7, 8]])
    """

    def __init__(self, tokens: Tensor, *, length: int, seed: int) -> None:
        self.tokens, self.length, self.seed = tokens, length, seed
        # One window fewer than fit, so that all of them fit at every offset.
        self.count = max(1, (len(tokens) - 1) // length - 1)
        if len(tokens) <= length:
            raise ValueError(f"the text must be longer than the context, got {len(tokens)} tokens, {length=}")
        self.stream = Stream(self.count, self._starts, tokens.device)

    def _starts(self, epoch: int) -> Tensor | LongShuffle:
        draws = generator(self.seed, "windows", epoch)
        room = min(self.length, len(self.tokens) - 1 - self.count * self.length + 1)
        offset = int(torch.randint(room, (), generator=draws))
        if self.count > MANY:
            return LongShuffle(self.count, draws, self.tokens.device, scale=self.length, offset=offset)
        return torch.randperm(self.count, generator=draws).mul_(self.length).add_(offset)

    def rows(self, starts: Tensor, extra: int) -> Tensor:
        """The windows (B, length + extra) at these starts."""
        at = torch.arange(self.length + extra, device=starts.device)
        return self.tokens[starts[:, None] + at].long()


def consecutive(tokens: Tensor, length: int, batch: int) -> Iterator[Tensor]:
    """All of tokens (T,) as windows (B, length + 1) one after another, the last one shorter: every token but
    the first is a target exactly once.

    >>> [part.tolist() for part in consecutive(torch.arange(6), length=2, batch=8)]
    [[[0, 1, 2], [2, 3, 4]], [[4, 5]]]
    """
    whole = (len(tokens) - 1) // length
    if whole:
        starts, at = (torch.arange(count, device=tokens.device) for count in (whole, length + 1))
        for part in starts.split(batch):
            yield tokens[part[:, None] * length + at].long()
    if whole * length < len(tokens) - 1:
        yield tokens[None, whole * length :].long()
