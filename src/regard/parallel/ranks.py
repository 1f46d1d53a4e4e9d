"""The processes among which a sequence lies, and messages between them: torch.distributed underneath."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from zlib import crc32

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh

_AGREED: dict[dist.ProcessGroup, set[tuple[object, ...]]] = {}  # what all ranks of a group called alike
Wait = Callable[[], None]  # until all messages have come and gone


class Ranks(ABC):
    """This process as one of `size`, each of which holds a part of every sequence."""

    rank: int
    size: int

    @abstractmethod
    def start(self, sends: Mapping[int, Tensor], receives: Mapping[int, Tensor]) -> Wait:
        """Begin to send each tensor to its rank and to fill each from its rank; all ranks call in order."""

    @abstractmethod
    def agree(self, call: tuple[object, ...], device: torch.device) -> None:
        """Raise on all ranks unless all of them call alike."""


class MeshRanks(Ranks):
    """The processes along a mesh of one dimension."""

    def __init__(self, mesh: DeviceMesh) -> None:
        if not isinstance(mesh, DeviceMesh) or mesh.ndim != 1:
            got = f"{mesh.ndim} dimensions" if isinstance(mesh, DeviceMesh) else type(mesh).__name__
            advice = "; of a larger one take a dimension by its name, mesh['context']"
            raise ValueError(
                f"mesh must be a torch.distributed DeviceMesh of one dimension, got {got}{advice}"
            )
        self.group = mesh.get_group()
        self.rank, self.size = mesh.get_local_rank(), mesh.size()

    def start(self, sends: Mapping[int, Tensor], receives: Mapping[int, Tensor]) -> Wait:
        """Begin to send each tensor to its rank and to fill each from its rank."""
        there = [dist.get_global_rank(self.group, peer) for peer in range(self.size)]
        ops = [dist.P2POp(dist.irecv, x, there[peer], self.group) for peer, x in receives.items()]
        ops += [dist.P2POp(dist.isend, x, there[peer], self.group) for peer, x in sends.items()]
        under_way = dist.batch_isend_irecv(ops) if ops else []

        def wait() -> None:
            for one in under_way:
                one.wait()
            ops.clear()  # until here the tensors had to stay

        return wait

    def agree(self, call: tuple[object, ...], device: torch.device) -> None:
        """Raise on all ranks unless all of them call alike; asked before the first call of each kind.

        A rank with other sizes would read what nobody sent, without an error. NCCL also sets its connections
        up in the first call of a group, which all must take part in.
        """
        known = _AGREED.setdefault(self.group, set())
        if call in known:
            return
        own = torch.tensor([crc32(str(one).encode()) for one in call], device=device)
        for rank, theirs in enumerate(self.gathered(own)):
            if not torch.equal(own, theirs):
                differs = [one for one, same in zip(call, (own == theirs).tolist(), strict=True) if not same]
                raise ValueError(
                    f"all ranks must call alike: rank {self.rank} differs from rank {rank} by "
                    f"{', '.join(map(str, differs))}"
                )
        known.add(call)

    def sum(self, x: Tensor) -> Tensor:
        """The sum over all ranks."""
        x = x.clone()
        dist.all_reduce(x, group=self.group)
        return x

    def gathered(self, x: Tensor) -> list[Tensor]:
        """The tensors of all ranks, which have one shape."""
        out = [torch.empty_like(x) for _ in range(self.size)]
        dist.all_gather(out, x.contiguous(), group=self.group)
        return out
