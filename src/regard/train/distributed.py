"""Several processes on one model, by PyTorch's own engine: DDP, or FSDP2 for models that do not fit.

Groups of `context` processes share each sequence (`train/sequences.py`), and the groups share the batch.

Start them with `torchrun --nproc-per-node N -m regard train …`; torchrun tells each its number.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeGuard, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from regard.parallel import MeshRanks
from regard.train.mesh import mesh_of, weights_mesh
from regard.train.sequences import Sequences, check_model
from regard.train.stopping import Stopped

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor

T = TypeVar("T")


@dataclass(frozen=True)
class Team:
    """This process among all that train together.

    >>> Team().leads, Team(rank=1, world=2).leads
    (True, False)
    """

    rank: int = 0
    world: int = 1
    sharding: str = "replicate"
    context: int = 1  # processes that share a sequence, neighbours in their order
    sequences: Sequences | None = None  # those of the model that is trained, where they are shared

    @property
    def groups(self) -> int:
        """How many groups share a batch."""
        return self.world // self.context

    @property
    def group(self) -> int:
        """The number of this process's group.

        >>> [Team(rank, 4, context=2).group for rank in range(4)]
        [0, 0, 1, 1]
        """
        return self.rank // self.context

    @property
    def leads(self) -> bool:
        """Whether this process writes files and speaks."""
        return self.rank == 0

    @property
    def shards(self) -> bool:
        """Whether each process holds a part of the weights."""
        return self.world > 1 and self.sharding != "replicate"

    def place(self, model: nn.Module, device: torch.device) -> nn.Module:
        """The model on its device; sharded where the recipe says so."""
        model = model.to(device)
        if self.shards:
            from torch.distributed.fsdp import fully_shard

            mesh = weights_mesh(mesh_of(device, self.world, self.context), self.sharding)
            for block in getattr(model, "blocks", ()):
                fully_shard(block, mesh=mesh)
            # Shards again after every forward: between steps all weights are seen in their shards.
            fully_shard(model, mesh=mesh, reshard_after_forward=True)
        return model

    def sharing(self, model: nn.Module, device: torch.device) -> Team:
        """The same team, which shares the sequences of a model where the recipe says so."""
        if self.context == 1:
            return self
        self.together(lambda: check_model(model, self.context))
        ranks = MeshRanks(mesh_of(device, self.world, self.context)["context"])
        return replace(self, sequences=Sequences(ranks, model))

    def wrap(self, objective: nn.Module) -> nn.Module:
        """The objective with its gradients averaged over all processes."""
        if self.world == 1 or self.shards:
            return objective
        device = next(objective.parameters()).device
        return nn.parallel.DistributedDataParallel(
            objective, device_ids=None if device.type == "cpu" else [device.index]
        )

    def gathering(self, objective: nn.Module, *, last: bool) -> AbstractContextManager[None]:
        """Gradients meet in the last part of a batch only."""
        whole = getattr(objective, "_orig_mod", objective)  # what torch.compile wrapped
        if self.shards:
            from torch.distributed.fsdp import FSDPModule

            assert isinstance(whole.model, FSDPModule)
            whole.model.set_requires_gradient_sync(last)
            return nullcontext()
        if last or not isinstance(whole, nn.parallel.DistributedDataParallel):
            return nullcontext()
        return whole.no_sync()

    def share(self, batches: Iterable[T]) -> Iterator[tuple[int, T]]:
        """This group's batches of those that all score together, each with how often it counts: once.

        Where they do not come out even, the last one is scored again for company and counts 0 times: with
        sharded weights, a model answers only when it is asked in all processes.

        >>> [list(Team(rank, 2).share("abc")) for rank in (0, 1)]
        [[(1, 'a'), (1, 'c')], [(1, 'b'), (0, 'c')]]
        """
        number, batch = -1, None
        for number, batch in enumerate(batches):
            if number % self.groups == self.group:
                yield 1, batch
        if batch is not None and number % self.groups < self.group:
            yield 0, batch

    def sum(self, x: Tensor) -> None:
        """Add up a tensor over all processes, in place."""
        if self.world > 1:
            dist.all_reduce(x)

    def norm(self, grads: Sequence[Tensor]) -> Tensor:
        """The length of the gradient over all weights."""
        found = torch.nn.utils.get_total_norm(list(grads))
        return found.full_tensor() if is_sharded(found) else found

    def gathered(self, value: T) -> list[T]:
        """What each process has to say, told to all."""
        if self.world == 1:
            return [value]
        out = [value] * self.world
        dist.all_gather_object(out, value)
        return out

    def together(self, work: Callable[[], T]) -> T:
        """What the work of this process gives; where one process fails, all end with its cause."""
        fault: Exception | None = None
        try:
            out = work()
        except Exception as error:
            if self.world == 1:
                raise
            fault = error
        faults = self.gathered(None if fault is None else (isinstance(fault, OSError), str(fault)))
        if fault is not None:
            raise fault
        for rank, found in enumerate(faults):
            if found is not None:
                kind = OSError if found[0] else Stopped
                raise kind(f"process {rank} of {self.world}: {found[1]}")
        return out

    def led(self, work: Callable[[], T]) -> T:
        """What the leader's work gives, told to all, as is its fault."""
        done = self.together(lambda: work() if self.leads else None)
        return self.gathered(done)[0]  # type: ignore[return-value]

    def leave(self) -> None:
        """End the group."""
        if self.world > 1 and dist.is_initialized():
            dist.destroy_process_group()


ALONE = Team()


def join(device: torch.device, sharding: str, context: int = 1) -> Team:
    """The group that torchrun started, or a team of one."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        return Team(context=context)
    rank = int(os.environ["RANK"])
    if device.type == "mps":
        raise ValueError(f"an Apple GPU is for one process, got device=mps and {world} processes")
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return Team(rank, world, sharding, context)


def lost(error: RuntimeError) -> bool:
    """Whether an error says that another process cannot be reached any more."""
    # Of gloo, whose operations fail as plain RuntimeErrors inside the engine, only the text is known.
    words = ("gloo", "NCCL", "Connection", "TCPStore", "store->get")
    return isinstance(error, dist.DistError) or any(word in str(error) for word in words)


def is_sharded(x: Tensor) -> TypeGuard[DTensor]:
    """Whether a tensor's parts are with several processes; torch need not load its half second for none."""
    kinds = sys.modules.get("torch.distributed.tensor")
    return kinds is not None and isinstance(x, kinds.DTensor)


def local(x: Tensor) -> Tensor:
    """The part of a sharded tensor that this process holds; any other tensor as it is."""
    return x.to_local() if is_sharded(x) else x


def whole_weights(model: nn.Module) -> dict[str, Tensor]:
    """All weights of a model, put together from their shards."""
    return {
        name: (x.full_tensor() if is_sharded(x) else x).detach() for name, x in model.state_dict().items()
    }
