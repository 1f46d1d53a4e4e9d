"""All ranks in one process, one after another: the same work, and a table in place of the network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import torch
from torch import Tensor

from regard.parallel.ranks import Ranks, Wait


class Mailbox:
    """Messages under way from rank to rank, numbered by sender and by receiver; what was sent is counted."""

    def __init__(self) -> None:
        self.under_way: dict[tuple[int, int, int], Tensor] = {}
        self.sent: Counter[tuple[int, int]] = Counter()
        self.awaited: Counter[tuple[int, int]] = Counter()
        self.bytes: Counter[tuple[int, int]] = Counter()


class SimulatedRanks(Ranks):
    """One of several ranks that take turns in this process.

    All of them begin before any of them ends, so that each message is there when it is waited for; so does
    their backward pass, if it is one for all of them.

    >>> import torch
    >>> a, b = SimulatedRanks.world(2)
    >>> received = torch.zeros(2)
    >>> waits = [a.start({1: torch.ones(2)}, {}), b.start({}, {0: received})]
    >>> for wait in waits:
    ...     wait()
    >>> received.tolist()
    [1.0, 1.0]
    """

    def __init__(self, rank: int, size: int, mailbox: Mailbox) -> None:
        self.rank, self.size, self.mailbox = rank, size, mailbox

    @classmethod
    def world(cls, size: int) -> list[SimulatedRanks]:
        """All ranks."""
        mailbox = Mailbox()
        return [cls(rank, size, mailbox) for rank in range(size)]

    def agree(self, call: tuple[object, ...], device: torch.device) -> None:
        """Who simulates them calls for all."""

    def start(self, sends: Mapping[int, Tensor], receives: Mapping[int, Tensor]) -> Wait:
        """Put messages into the table; they are taken out when they are waited for."""
        box = self.mailbox
        for peer, x in sends.items():
            way = (self.rank, peer)
            box.under_way[*way, box.sent[way]] = x.detach().clone()
            box.sent[way] += 1
            box.bytes[way] += x.nbytes
        awaited = []  # as on a network, the first message is for who began to wait first
        for peer, x in receives.items():
            way = (peer, self.rank)
            awaited.append(((*way, box.awaited[way]), x))
            box.awaited[way] += 1

        def wait() -> None:
            for way, x in awaited:
                if way not in box.under_way:
                    raise RuntimeError(f"rank {way[1]} waits for rank {way[0]}, which has not sent anything")
                x.copy_(box.under_way.pop(way))

        return wait
